"""Reports with covariates and several hidden variables, as a problem to solve."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, NamedTuple, NoReturn

import numpy as np

from askance._arrays import FloatArray
from askance._kernels.softmax_pass import EXPECTED, FLAT, OBSERVED, OF_MODEL, SQUARED
from askance.errors import InputError, NotIdentifiedError
from askance.estimation.parameter_scale import Standard
from askance.estimation.problems.cluster_spread import ClusterSpread
from askance.estimation.problems.conditional import Block, Rows, weighted
from askance.estimation.problems.conditional_likelihood import ConditionalLikelihood
from askance.estimation.problems.covariate_scale import decorrelated
from askance.estimation.problems.outcome_units import OutcomeUnits
from askance.estimation.problems.responses_problem import ResponsesProblem
from askance.evidence.responses import Responses
from askance.models.hidden import Factor, HiddenVariables, Variable
from askance.models.laws import over_columns

# Scores below this are what is left of terms that cancel.
_ROUNDING = 1e-14
# Tables of complete scores are made where they have at most so many numbers: in larger ones memory costs more time than
# passes through Python do.
_TABLE = 5_000
# An effect in log-odds, in logarithms of a mean, or in standard deviations, that leads to other maxima.
_STRONG = 2.0


class _Scored(NamedTuple):
    """The score (Φ_h − m) ⊗ z of one law, as a part of that of every combination h.

    Attributes:
        block: its parameters.
        inside: 1 for the combinations that it is about, else 0, shape (H,).
        table: Φ, shape (T, H), 0 for others.
        mean: m, shape (n, T).
        z: shape (n, p).
    """

    block: slice
    inside: FloatArray
    table: FloatArray
    mean: FloatArray
    z: FloatArray


class HiddenPass:
    """What the model says of some rows at θ.

    The *complete score* of a combination h is ∇ log p_θ(h, y | x): for every factor, (Φ_h − E Φ) ⊗ z, given what h says
    of earlier variables, and for outcomes y that of their law. Everything else is made of it: with r the distribution
    of h given what was seen, the score of that is E_r of it (Fisher), and minus its Hessian is E_r of the complete
    information less Cov_r of it (Louis).

    Args:
        model: of what is hidden, and of outcomes.
        theta: θ, shape (d,), or several, (B, d): what is said below then has a first axis more.
        x: covariates, and outcomes where they count, shape (n, p).
        outcomes: whether they count.

    Attributes:
        log_outcomes: log p_θ(y | x, h), shape (n, H).
    """

    def __init__(self, model: HiddenVariables, theta: FloatArray, x: Any, *, outcomes: bool = True) -> None:
        self.model = model
        self._log_p, self.log_outcomes = np.zeros((2, *theta.shape[:-1], x.shape[0], len(model.outputs)))
        self._parts = []
        for variable, block, members, law in model.laws(theta, x, outcomes=outcomes):
            kept = self._log_p if isinstance(variable, Factor) else self.log_outcomes
            kept[..., members] += law.log_density()
            self._parts.append((block, members, law))

    @cached_property
    def probabilities(self) -> FloatArray:
        """p_θ(h | x), shape (n, H)."""
        return np.asarray(np.exp(self._log_p))

    def posterior(self, likelihood: FloatArray) -> tuple[FloatArray, FloatArray]:
        """P(h | x, o, y), shape (n, H), and log P(o, y | x), shape (n,), for S(o | h) of the report of every row."""
        with np.errstate(divide="ignore"):
            joint = np.log(likelihood) + self._log_p + self.log_outcomes
        top = over_columns(np.maximum, joint)
        shares = np.exp(joint - top[..., None])
        total = over_columns(np.add, shares)
        return shares / total[..., None], np.log(total) + top

    @cached_property
    def _scored(self) -> list[_Scored]:
        scored = []
        for block, members, law in self._parts:
            score, inside = law.score(), np.zeros(len(self.model.outputs))
            inside[members] = 1.0
            table = np.zeros((len(score.table), len(inside)))
            table[:, members] = score.table
            scored.append(_Scored(block, inside, table, score.mean, score.z))
        return scored

    @cached_property
    def _table(self) -> FloatArray | None:
        """The complete scores of all combinations, shape (n, H, d); None where they are too many."""
        shape = (*self._log_p.shape, self.model.dimension)
        if math.prod(shape) > _TABLE:
            return None
        table = np.zeros(shape)
        for part in self._scored:
            away = part.table.T - part.inside[:, None] * part.mean[..., None, :]
            table[..., part.block] += (away[..., None] * part.z[..., None, None, :]).reshape(*shape[:-1], -1)
        return table

    def scores(self, weights: FloatArray) -> FloatArray:
        """Σ_h w_h times the complete score of h, shape (n, d), for w of shape (n, H)."""
        if self._table is not None:
            return np.asarray((weights[..., None, :] @ self._table)[..., 0, :])
        result = np.zeros((*weights.shape[:-1], self.model.dimension))
        for part in self._scored:
            away = weights @ part.table.T - (weights @ part.inside)[..., None] * part.mean
            result[..., part.block] += (away[..., None] * part.z[..., None, :]).reshape(*weights.shape[:-1], -1)
        return result

    def squares(self, weights: FloatArray) -> FloatArray:
        """Σ of w_h times the outer square of the complete score of h, over rows and combinations, shape (d, d)."""
        if self._table is not None:
            rows = self._table.reshape(*weights.shape[:-2], -1, self.model.dimension)
            return np.asarray(_turned(rows) @ (weights.reshape(*weights.shape[:-2], -1, 1) * rows))
        result = np.zeros((*weights.shape[:-2], self.model.dimension, self.model.dimension))
        for place, one in enumerate(self._scored):
            for other in self._scored[place:]:
                if (one.inside * other.inside).any():
                    crossed = _crossed(weights, one, other)
                    result[..., one.block, other.block] += crossed
                    if other is not one:
                        result[..., other.block, one.block] += _turned(crossed)
        return result

    def complete_information(self, weights: FloatArray, *, expected: bool = False) -> FloatArray:
        """Σ of w_h times the complete information of h over rows and combinations, shape (d, d)."""
        result = np.zeros((*weights.shape[:-2], self.model.dimension, self.model.dimension))
        for block, members, law in self._parts:
            result[..., block, block] += law.information(weights[..., members].sum(axis=-1), expected)
        return result

    def report_information(self, S: FloatArray, weights: FloatArray) -> FloatArray:
        """Σ w Σ_o q(o|x)⁻¹ ∇q ∇qᵀ over rows, with q(o|x) = Σ_h S(o|h) p_θ(h|x): of reports, not of outcomes, (d, d)."""
        result = np.zeros((self.model.dimension,) * 2)
        for row in S[S.any(axis=1)]:  # what nobody ever says adds nothing
            joint = self.probabilities * row
            q = joint.sum(axis=1)
            own = self.scores(joint)
            result += own.T @ ((weights / np.maximum(q, np.finfo(np.float64).tiny))[:, None] * own)
        return result


def _turned(matrices: FloatArray) -> FloatArray:
    return np.swapaxes(matrices, -1, -2)


def _crossed(weights: FloatArray, a: _Scored, b: _Scored) -> FloatArray:
    """Σ_h w_h times the scores of two laws, one by the other, over rows: Σ_h w_h (Φ_h − m)(Ψ_h − m′)ᵀ ⊗ z z′ᵀ."""
    total = weights @ (a.inside * b.inside)
    left, right = weights @ (a.table * b.inside).T, weights @ (b.table * a.inside).T
    result = np.empty((*weights.shape[:-2], len(a.table), a.z.shape[-1], len(b.table), b.z.shape[-1]))
    for s, phi in enumerate(a.table):
        for t, psi in enumerate(b.table):
            away = total * b.mean[..., t] - right[..., t]
            spread = weights @ (phi * psi) - left[..., s] * b.mean[..., t] + a.mean[..., s] * away
            result[..., s, :, t, :] = _turned(a.z) @ (spread[..., None] * b.z)
    return result.reshape(*weights.shape[:-2], len(a.table) * a.z.shape[-1], -1)


def hidden_sums(block: Block, model: HiddenVariables, theta: FloatArray, curvature: int) -> tuple[FloatArray, ...]:
    """Of a block: −Σ w log P(o, y | x), its gradient (d,) and, unless it is flat, a curvature (d, d); of every θ.

    What is expected of outcomes is not known in general: products of scores stand for it, as where S is no law.
    """
    at = HiddenPass(model, theta, block.x)
    if curvature == OF_MODEL:
        complete = at.complete_information(weighted(block, at.probabilities), expected=True)
        return np.zeros(()), np.zeros(model.dimension), complete
    r, log_q = at.posterior(block.S[block.codes])
    score, ones = at.scores(r), np.ones(len(block.codes)) if block.weights is None else block.weights
    sums = np.asarray(-(log_q @ ones)), -(ones @ score)
    if curvature == FLAT:
        return sums
    if curvature == EXPECTED and (
        model.outcomes or not block.has_law
    ):  # products of scores have the right mean; what is rounding is none
        told = np.where(np.abs(score) > _ROUNDING, score, 0.0)
        return *sums, told.T @ (ones[:, None] * told)
    if curvature == SQUARED:
        squares = ones if block.squares is None else block.squares
        return *sums, score.T @ (squares[:, None] * score)
    if curvature == OBSERVED:
        told = ones[:, None] * r
        return *sums, at.complete_information(told) + _turned(score) @ (ones[:, None] * score) - at.squares(told)
    assert curvature == EXPECTED
    return *sums, at.report_information(block.S, ones)


class HiddenLikelihood(ConditionalLikelihood):
    """f(θ) = −Ê log Σ_h S(o|h) p_θ(h|x) p_θ(y|x,h) + ½ θᵀ(Λ/n)θ: not convex in general."""

    problem: HiddenProblem

    def at_many(self, thetas: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Values (B,), gradients (B, d) and Hessians (B, d, d), without a prior: of few rows little slower than one."""
        values, gradients, hessians = self.problem.summed(self._rows, thetas, OBSERVED)
        return values, gradients, hessians

    def _sums(self, theta: FloatArray) -> tuple[float, FloatArray, FloatArray | None]:
        value, gradient, *curved = self.problem.summed(self._rows, theta, self._wanted)
        return float(value), gradient, curved[0] if curved else None


class HiddenProblem(ResponsesProblem):
    """`HiddenVariables` with `Responses` whose channels are about their combinations.

    The likelihood is the only way in: where combinations outnumber what is seen, no unbiased β exists.

    Attributes:
        units: in which outcomes that are numbers have standard deviation 1: coordinates of the problem.
    """

    model: HiddenVariables

    # The likelihood has maxima to look for, from many starts: a part of the rows shows where they are.
    thinned_from, thinned_to = 2_000, 500

    def __init__(self, model: HiddenVariables, evidence: Responses, like: HiddenProblem | None = None) -> None:
        super().__init__(model, evidence, like)
        if model.outcomes:
            self.covariance_kinds = tuple(kind for kind in self.covariance_kinds if kind != "expected")
        self.units: OutcomeUnits = OutcomeUnits.of(model, self.evidence) if like is None else like.units
        self.rows = Rows(self.units.scaled(self.evidence), len(model.outputs))
        self.log_shares = self.n_observations * self.units.log_density

    def inward(self, theta: FloatArray) -> FloatArray:
        """Parameters of outcomes as they were given, in units of the problem."""
        return self.units.inward(theta)

    def log_likelihood(self, theta: FloatArray) -> float:
        """Σ log P(o, y | x) over the reports, in the proportions of their weights; densities of numbers as given."""
        return super().log_likelihood(theta) - self.log_shares

    def guesses(self) -> list[FloatArray]:
        """Strong effects of hidden variables on outcomes, of either sign: their likelihood may have other maxima."""
        unit = np.eye(self.model.dimension)
        return [side * _STRONG * unit[place] for place in self.model.effects for side in (1, -1)]

    def summed(self, rows: Rows, theta: FloatArray, curvature: int) -> tuple[FloatArray, ...]:
        """`hidden_sums` of all blocks, per report."""
        sums = rows.total(partial(hidden_sums, model=self.model, theta=theta, curvature=curvature))
        return tuple(part / rows.total_weight for part in sums)

    @cached_property
    def standard(self) -> Standard:
        """Of every variable its own: covariates standardised, indicators of earlier values as they are."""
        size = self.model.dimension
        matrix, inverse, unit = np.eye(size), np.eye(size), np.eye(size)
        for variable, block in zip(self.model.variables, self.model.blocks, strict=True):
            effects = slice(block.start, block.stop - len(variable.others))
            own = self._standard(variable, len(self.model.column_names(variable)))
            matrix[effects, effects], inverse[effects, effects] = own.matrix, own.inverse
            unit[effects, effects] = own.unit
        return Standard(matrix, inverse, unit)

    def _standard(self, variable: Variable, width: int) -> Standard:
        places = [self.model.terms.index(term) for term in variable.terms]
        first, second = self.rows.moments
        A = decorrelated(first[places], second[np.ix_(places, places)], variable.terms)
        copies = width // len(A) if variable.apart else 1
        plain = width - copies * len(A)
        centred = variable.table - variable.table.mean(axis=1, keepdims=True)
        information = np.eye(1) if variable.outputs is None else 4 * centred @ centred.T / len(variable.outputs)

        def whole(part: FloatArray) -> FloatArray:
            inner = np.eye(width)
            inner[: width - plain, : width - plain] = np.kron(np.eye(copies), part)
            return np.asarray(np.kron(np.eye(len(variable.table)), inner))

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

    def likelihood(self, precision: FloatArray | None = None) -> HiddenLikelihood:
        """The marginal likelihood."""
        return HiddenLikelihood(self, precision)

    def information(self, theta: FloatArray) -> FloatArray:
        """Of the hidden variables themselves, per row, shape (d, d)."""
        return self.summed(self.rows, theta, OF_MODEL)[2]

    def distance(self, a: FloatArray, b: FloatArray) -> float:
        """The largest difference between probabilities of combinations, over the first rows of every design.

        Or between parameters of outcomes, in units of the problem.
        """
        pairs = (
            (HiddenPass(self.model, a, block.x, outcomes=False), HiddenPass(self.model, b, block.x, outcomes=False))
            for block in self.rows.first_blocks
        )
        outer = self.standard.matrix @ (a - b)
        seen = outer[self.model.blocks[len(self.model.factors)].start :] if self.model.outcomes else np.zeros(1)
        hidden = max(float(np.abs(one.probabilities - other.probabilities).max()) for one, other in pairs)
        return max(hidden, float(np.abs(seen).max()))

    def expected_statistics(self, theta: FloatArray) -> NoReturn:
        """Refused: factors have no common statistics."""
        raise InputError("solver is 'em'; allowed with hidden variables: newton, lbfgs.", remedy="Leave it out.")

    def spread(
        self,
        scores: Callable[[Block], FloatArray],
        working: Callable[[Block], tuple[FloatArray, ...]] | None = None,
    ) -> ClusterSpread:
        """n · Cov of the weighted mean of a function of rows, (n, q) for those of a block; shape (q, q).

        With its degrees of freedom; `working` as in `clustered`.
        """
        rows, scale = self.rows, self.n_observations / self.rows.total_weight**2
        if not self.has_clusters:
            return ClusterSpread(np.asarray(rows.total(partial(_squares, scores=scores))[0] * scale), None)
        sums = self.clustered(rows, partial(_weighted, scores=scores), working)
        return sums._replace(squares=np.asarray(sums.squares * scale))

    def scores(self, block: Block, theta: FloatArray, against: int) -> FloatArray:
        """Weighted scores of the reports of a block, with the sign of the gradient, shape (n, d)."""
        at = HiddenPass(self.model, theta, block.x)
        return -weighted(block, at.scores(at.posterior(block.S[block.codes])[0]))

    def row_information(self, block: Block, theta: FloatArray, against: int) -> FloatArray:
        """Σ of the expected information of the reports of a block, shape (d, d)."""
        return hidden_sums(block, self.model, theta, EXPECTED)[2]

    def score_covariance(self, rows: Rows, theta: FloatArray, against: int) -> FloatArray:
        """n · Cov of the mean score, with weights and clusters, shape (d, d)."""
        if self.has_clusters:
            return super().score_covariance(rows, theta, against)
        return np.asarray(self.summed(rows, theta, SQUARED)[2] * (self.n_observations / rows.total_weight))


def _squares(block: Block, scores: Callable[[Block], FloatArray]) -> tuple[FloatArray, ...]:
    own = scores(block)
    return (own.T @ (own if block.squares is None else block.squares[:, None] * own),)


def _weighted(block: Block, scores: Callable[[Block], FloatArray]) -> FloatArray:
    return weighted(block, scores(block))
