"""Reports with covariates and several hidden variables, as a problem to solve."""

from __future__ import annotations

from functools import cached_property, partial
from typing import Any, NoReturn

import numpy as np

from askance._arrays import FloatArray
from askance._kernels.softmax_pass import EXPECTED, FLAT, OBSERVED, OF_MODEL, SQUARED
from askance.errors import InputError, NotIdentifiedError
from askance.estimation.parameter_scale import Standard
from askance.estimation.problems.conditional import Block, Rows, weighted
from askance.estimation.problems.covariate_scale import decorrelated
from askance.estimation.problems.responses_problem import ResponsesProblem
from askance.estimation.problems.sum_over_rows import SumOverRows
from askance.evidence.responses import Responses
from askance.models.hidden import Factor, HiddenVariables
from askance.models.softmax import log_sum_exp

# Scores below this are what is left of terms that cancel.
_ROUNDING = 1e-14


class HiddenPass:
    """What the model says of some rows at θ.

    The *complete score* of a combination h is ∇ log p_θ(h | x): for every factor, (Φ_h − E Φ) ⊗ z, given what h says of
    earlier variables. Everything else is made of it: with r the distribution of h given the report, the score of the
    report is E_r of it (Fisher), and minus its Hessian is E_r of the complete information less Cov_r of it (Louis).

    Attributes:
        probabilities: p_θ(h | x), shape (n, H).
    """

    def __init__(self, model: HiddenVariables, theta: FloatArray, x: Any) -> None:
        self.model = model
        log_p = np.zeros((x.shape[0], len(model.outputs)))
        self._parts = []
        for factor, block, conditionals in zip(model.factors, model.blocks, model.conditionals, strict=True):
            coefficients = theta[block].reshape(len(factor.table), -1)
            for part in conditionals:
                z = model.columns(factor, x, part.indicators)
                scores = z @ coefficients.T @ factor.table + factor.log_base
                scores -= log_sum_exp(scores)[:, None]
                log_p[:, part.members] += scores[:, part.values]
                p = np.exp(scores)
                self._parts.append((factor, block, part, z, p, p @ factor.table.T))
        self._log = log_p
        self.probabilities = np.exp(log_p)

    def posterior(self, likelihood: FloatArray) -> tuple[FloatArray, FloatArray]:
        """P(h | x, o), shape (n, H), and log P(o | x), shape (n,), for S(o | h) of the report of every row."""
        with np.errstate(divide="ignore"):
            joint = np.log(likelihood) + self._log
        top = joint.max(axis=1, keepdims=True)
        shares = np.exp(joint - top)
        total = shares.sum(axis=1)
        return shares / total[:, None], np.log(total) + top[:, 0]

    def scores(self, weights: FloatArray) -> FloatArray:
        """Σ_h w_h times the complete score of h, shape (n, d), for w of shape (n, H)."""
        result = np.zeros((len(weights), self.model.dimension))
        for factor, block, part, z, _, mean in self._parts:
            own = weights[:, part.members]
            away = own @ factor.table[:, part.values].T - own.sum(axis=1)[:, None] * mean
            result[:, block] += (away[:, :, None] * z[:, None, :]).reshape(len(z), -1)
        return result

    def complete_information(self, weights: FloatArray) -> FloatArray:
        """Σ of w_h times the complete information of h over rows and combinations, shape (d, d)."""
        result = np.zeros((self.model.dimension,) * 2)
        for factor, block, part, z, p, mean in self._parts:
            own, table = weights[:, part.members].sum(axis=1), factor.table
            spread = np.einsum("nk,sk,tk->nst", p, table, table) - mean[:, :, None] * mean[:, None, :]
            inner = np.einsum("nst,ni,nj->sitj", own[:, None, None] * spread, z, z, optimize=True)
            size = block.stop - block.start
            result[block, block] += inner.reshape(size, size)
        return result

    def combination(self, h: int) -> FloatArray:
        """The complete score of one combination, shape (n, d)."""
        only = np.zeros((len(self._log), self._log.shape[1]))
        only[:, h] = 1.0
        return self.scores(only)


def hidden_sums(block: Block, model: HiddenVariables, theta: FloatArray, curvature: int) -> tuple[FloatArray, ...]:
    """Of a block: −Σ w log P(o | x), its gradient (d,) and, unless it is flat, a curvature (d, d)."""
    at = HiddenPass(model, theta, block.x)
    if curvature == OF_MODEL:
        return np.zeros(()), np.zeros(model.dimension), at.complete_information(weighted(block, at.probabilities))
    r, log_q = at.posterior(block.S[block.codes])
    score, ones = at.scores(r), np.ones(len(r)) if block.weights is None else block.weights
    sums = np.asarray(-(ones @ log_q)), -(ones @ score)
    if curvature == FLAT:
        return sums
    if curvature == EXPECTED and not block.has_law:  # products of scores have the right mean; what is rounding is none
        told = np.where(np.abs(score) > _ROUNDING, score, 0.0)
        return *sums, told.T @ (ones[:, None] * told)
    if curvature == SQUARED:
        squares = ones if block.squares is None else block.squares
        return *sums, score.T @ (squares[:, None] * score)
    if curvature == OBSERVED:
        curved = at.complete_information(ones[:, None] * r) + score.T @ (ones[:, None] * score)
        for h in range(r.shape[1]):
            own = at.combination(h)
            curved -= own.T @ ((ones * r[:, h])[:, None] * own)
        return *sums, curved
    assert curvature == EXPECTED
    curved = np.zeros((model.dimension,) * 2)
    for row in block.S:
        joint = at.probabilities * row
        q = joint.sum(axis=1)
        own = at.scores(joint)
        curved += own.T @ ((ones / np.maximum(q, np.finfo(np.float64).tiny))[:, None] * own)
    return *sums, curved


class HiddenLikelihood(SumOverRows):
    """f(θ) = −Ê log Σ_h S(o|h) p_θ(h|x) + ½ θᵀ(Λ/n)θ: not convex in general."""

    problem: HiddenProblem
    curved = OBSERVED

    def expected_information(self, theta: FloatArray) -> FloatArray:
        """Ê Σ_o q_o s_o s_oᵀ with s_o the score of a report o, shape (d, d)."""
        return self._curvature(theta, EXPECTED)

    def score_covariance(self, theta: FloatArray) -> FloatArray:
        """n · Cov of the mean score."""
        return self.problem.score_covariance(self._rows, theta, OBSERVED)

    def _sums(self, theta: FloatArray) -> tuple[float, FloatArray, FloatArray | None]:
        value, gradient, *curved = self.problem.summed(self._rows, theta, self._wanted)
        return float(value), gradient, curved[0] if curved else None


class HiddenProblem(ResponsesProblem):
    """`HiddenVariables` with `Responses` whose channels are about their combinations.

    The likelihood is the only way in: where combinations outnumber what is seen, no unbiased β exists.
    """

    model: HiddenVariables  # type: ignore[assignment]

    def __init__(self, model: HiddenVariables, evidence: Responses, like: HiddenProblem | None = None) -> None:
        super().__init__(model, evidence, like)  # type: ignore[arg-type]

    def summed(self, rows: Rows, theta: FloatArray, curvature: int) -> tuple[FloatArray, ...]:
        """`hidden_sums` of all blocks, per report."""
        sums = rows.total(partial(hidden_sums, model=self.model, theta=theta, curvature=curvature))
        return tuple(part / rows.total_weight for part in sums)

    @cached_property
    def standard(self) -> Standard:
        """Of every factor its own: covariates standardised, indicators of earlier values as they are."""
        size = self.model.dimension
        matrix, inverse, unit = np.zeros((3, size, size))
        for factor, block in zip(self.model.factors, self.model.blocks, strict=True):
            own = self._standard(factor, (block.stop - block.start) // len(factor.table))
            matrix[block, block], inverse[block, block] = own.matrix, own.inverse
            unit[block, block] = np.eye(len(own.matrix)) if own.unit is None else own.unit
        return Standard(matrix, inverse, unit)

    def _standard(self, factor: Factor, width: int) -> Standard:
        places = [self.model.terms.index(term) for term in factor.terms]
        first, second = self.rows.moments
        A = decorrelated(first[places], second[np.ix_(places, places)], factor.terms)
        copies = width // len(A) if factor.apart else 1
        plain = width - copies * len(A)
        centred = factor.table - factor.table.mean(axis=1, keepdims=True)
        information = 4 * centred @ centred.T / len(factor.outputs)

        def whole(part: FloatArray) -> FloatArray:
            inner = np.eye(width)
            inner[: width - plain, : width - plain] = np.kron(np.eye(copies), part)
            return np.asarray(np.kron(np.eye(len(factor.table)), inner))

        unit = np.asarray(np.kron(information, np.eye(width)), dtype=np.float64)
        return Standard(whole(np.asarray(np.linalg.inv(A).T)), whole(np.asarray(A.T)), unit)

    def _basis(self) -> None:
        """None: factors have columns of their own, which their standard coordinates serve."""

    def moments(self, weighting: Any) -> NoReturn:
        """Refused: there are none."""
        raise NotIdentifiedError(
            "hidden variables have no unbiased statistics here: combinations outnumber what is seen.",
            remedy="Take the method marginal.",
        )

    def likelihood(self, precision: FloatArray | None = None) -> HiddenLikelihood:  # type: ignore[override]
        """The marginal likelihood."""
        return HiddenLikelihood(self, precision)

    def information(self, theta: FloatArray) -> FloatArray:
        """Of the hidden variables themselves, per row, shape (d, d)."""
        return self.summed(self.rows, theta, OF_MODEL)[2]

    def distance(self, a: FloatArray, b: FloatArray) -> float:
        """The largest difference between probabilities of combinations, over the first rows of every design."""
        pairs = (
            (HiddenPass(self.model, a, block.x), HiddenPass(self.model, b, block.x))
            for block in self.rows.first_blocks()
        )
        return max(float(np.abs(one.probabilities - other.probabilities).max()) for one, other in pairs)

    def expected_statistics(self, theta: FloatArray) -> NoReturn:
        """Refused: factors have no common statistics."""
        raise InputError("solver is 'em'; allowed with hidden variables: newton, lbfgs.", remedy="Leave it out.")

    def scores(self, block: Block, theta: FloatArray, against: int) -> FloatArray:
        """Weighted scores of the reports of a block, with the sign of the gradient, shape (n, d)."""
        at = HiddenPass(self.model, theta, block.x)
        return -weighted(block, at.scores(at.posterior(block.S[block.codes])[0]))

    def score_covariance(self, rows: Rows, theta: FloatArray, against: int) -> FloatArray:
        """n · Cov of the mean score, with weights and clusters, shape (d, d)."""
        if self.has_clusters:
            return self._clustered(rows, theta, against)
        return np.asarray(self.summed(rows, theta, SQUARED)[2] * (self.n_observations / rows.total_weight))
