"""The paper's estimator with covariates: debiased indicators of the outputs, then one convex fit."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from askance._arrays import FloatArray
from askance._kernels.softmax_pass import PRIOR, TARGET
from askance._words import words
from askance.channels.observation import ObservationFunction
from askance.design.covariances import Weighting, invert_information, observation_function
from askance.errors import NotIdentifiedError
from askance.estimation.freedom import Freedom
from askance.estimation.outcome import Notice
from askance.estimation.problems.conditional import Block, Rows, gram, logits, moment, softmax, times, weighted
from askance.estimation.problems.matching import BOUNDARY
from askance.estimation.problems.sum_over_rows import SumOverRows
from askance.estimation.protocols import CovarianceKind
from askance.estimation.solvers.newton import newton
from askance.estimation.solvers.noisy import NoisyMoments
from askance.models.enumerated import Enumerated

if TYPE_CHECKING:
    from askance.estimation.problems.responses_problem import ResponsesProblem

# With more rows than this, a thinned sample gives the start of the convex fit.
THINNED_FROM = 100_000
THINNED_TO = 20_000
#: With more parameters than this their covariance is not formed and Newton steps are too expensive.
WIDE_FROM = 2000
# Designs with an unbiased β identify nothing in a direction in which they tell less than this share of the best one.
_NOTHING = 1e-10
# No design counts less than this share of another: what little it tells costs nothing.
_LEAST_SHARE = 1e-6


class ConditionalMatching(SumOverRows):
    """f(θ) = Ê A(θ; x) − μ̂ᵀθ + ½ θᵀΛθ: convex."""

    against = PRIOR

    def __init__(
        self,
        problem: ResponsesProblem,
        statistics: FloatArray,
        precision: FloatArray | None = None,
        rows: Rows | None = None,
    ) -> None:
        super().__init__(problem, precision, rows)
        self._statistics = statistics

    def _sums(self, theta: FloatArray) -> tuple[float, FloatArray, FloatArray | None]:
        value, gradient, hessian = super()._sums(theta)
        return value - float(self._statistics @ theta), gradient - self._statistics, hessian


class _TargetMatching(SumOverRows):
    """The same with μ̂ as it adds up row by row: for some of the rows, a start that costs next to nothing."""

    against = TARGET


class ConditionalMoments:
    """μ̂ = Ê β(o) ⊗ x, where β holds the debiased indicators of the outputs.

    Reports of several designs have a β each. Averages weigh every row by the λ of its design,

        λ_g = d / tr(I⁻¹ G_g),   G_g = Ê_g Cov[β_g | x] ⊗ xxᵀ,

    at a pilot θ (the fit with all λ = 1): one positive number per design, so that the fit stays convex and every
    residual has mean 0 at the truth, whatever λ is. Designs without an unbiased β have no part in it.
    """

    def __init__(self, problem: ResponsesProblem, weighting: Weighting) -> None:
        self._problem = problem
        indicators = Enumerated.saturated(problem.model.outputs)
        betas: list[ObservationFunction | None] = []  # of every channel
        refusal: NotIdentifiedError | None = None
        for channel, frequencies in zip(problem.channels, problem.frequencies, strict=True):
            try:
                betas.append(observation_function(indicators, channel, frequencies, weighting))
            except NotIdentifiedError as error:
                betas, refusal = [*betas, None], error
        if refusal is not None and not any(betas):
            raise refusal
        tables = [None if beta is None else np.ascontiguousarray(beta.coefficients.T) for beta in betas]  # (k, K)
        one = problem.rows.n_free == 1
        self._targets = [table[:, 0].copy() if one and table is not None else table for table in tables]
        self.betas, self._importance = betas, [1.0] * len(betas)
        self._pilot: FloatArray | None = None
        self._average()
        if len(betas) > 1 and problem.model.dimension <= WIDE_FROM:
            if refusal is not None:
                self._require_identified()
            self._importance = self._importances()
            self._average()

    def _average(self) -> None:
        """μ̂, and the objective that matches it."""
        self._rows = self._problem.rows.aimed(self._targets, self._importance)
        (sums,) = self._rows.total(_told_moments)
        self.statistics: FloatArray = sums.ravel() / self._rows.total_weight
        self._matching = ConditionalMatching(self._problem, self.statistics, None, self._rows)

    def _require_identified(self) -> None:
        """Refuse where the designs with an unbiased β alone say nothing in some direction."""
        standard = self._problem.standard
        told = np.linalg.eigvalsh(standard.hessian(self._matching.hessian(np.zeros(self._problem.model.dimension))))
        if told[0] <= _NOTHING * told[-1]:
            raise NotIdentifiedError(
                "some coefficients are seen only through designs that have no unbiased indicators of the outputs.",
                remedy=words("Use {method=marginal}, which needs none."),
            )

    def _importances(self) -> list[float]:
        """λ of every design, with a mean of 1 over the reports."""
        problem, d = self._problem, self._problem.model.dimension
        end = newton(self._matching, self.start(), problem.standard, tolerance=1e-4, max_iterations=20)
        pilot = self._pilot = end.theta if end.converged else np.zeros(d)
        sums = self._rows.total(
            partial(_noises, coefficients=problem.model.blocks(pilot), parts=len(self._targets), dimension=d)
        )
        noises, sizes = sums[::2], [float(size) for size in sums[1::2]]
        # In standard coordinates no direction is lost because its unit is small.
        information = problem.standard.hessian(self._matching.hessian(pilot))
        traces = [
            float(np.trace(np.linalg.solve(information, problem.standard.hessian(noise)))) / size if size else np.inf
            for noise, size in zip(noises, sizes, strict=True)
        ]
        shares = np.array([0.0 if not 0 < trace < np.inf else d / trace for trace in traces])
        if not shares.any():
            return [1.0] * len(sizes)
        kept = np.maximum(shares, _LEAST_SHARE * shares.max())
        return [float(share) for share in kept * sum(sizes) / (kept @ np.array(sizes))]

    def matching(self, precision: FloatArray | None = None) -> ConditionalMatching:
        """Ê A(θ; x) − μ̂ᵀθ, with or without a ridge."""
        if precision is None:
            return self._matching
        return ConditionalMatching(self._problem, self.statistics, precision, self._rows)

    def start(self) -> FloatArray:
        """A cheap start: the pilot, or the fit to a thinned sample, or 0 where the sample has none."""
        problem = self._problem
        if self._pilot is not None:
            return self._pilot
        if problem.rows.n_rows < THINNED_FROM:
            return np.zeros(problem.model.dimension)
        sample = problem.rows.thinned(problem.evidence, problem.rows.n_rows // THINNED_TO)
        sample = sample.aimed(self._targets, self._importance)
        thinned = _TargetMatching(problem, None, sample)
        end = newton(thinned, np.zeros(problem.model.dimension), problem.standard, tolerance=1e-8, max_iterations=20)
        return end.theta if end.converged and problem.standard.size(end.theta) < 10 else np.zeros(len(end.theta))

    def is_outside(self, theta: FloatArray) -> bool:
        """Whether μ̂ᵀθ ≥ Ê max_y φ(x, y)ᵀθ, up to a hair, or θ has run off."""
        problem = self._problem
        size = problem.standard.size(theta)
        if size <= 1:
            return False
        # Ê A(θ; x) bounds the mean of the maxima from above by log m: far from it nothing needs to be summed.
        if self._matching.value(theta) > np.log(len(problem.model.outputs)) + BOUNDARY * size:
            return False
        top = float(self._rows.total(partial(_largest, coefficients=problem.model.blocks(theta)))[0])
        gap = top / self._rows.total_weight - float(self.statistics @ theta)
        return gap <= BOUNDARY * size or problem.ran_off(theta)

    def noisy(self, theta: FloatArray, precision: FloatArray) -> NoisyMoments:
        """μ̂ is Gaussian around Ê μ(θ; x); its covariance is that of β given x under the model near `theta`.

        With weights or clusters it is that of β − μ(θ; x) over the reports, which knows of them.
        """
        problem = self._problem
        special = problem.has_weights or problem.has_clusters
        noise = (self._spread(theta) if special else self._noise(theta)) / problem.n_observations
        matching = self._matching

        def mean(at: FloatArray) -> FloatArray:
            return np.asarray(matching.gradient(at) + self.statistics)

        def skewness(at: FloatArray, direction: FloatArray) -> FloatArray:
            return problem.curvature(self._rows, at, partial(_third, along=problem.model.blocks(direction)))

        return NoisyMoments(self.statistics, noise, precision, mean, matching.hessian, skewness, problem.standard)

    @property
    def robust_notices(self) -> tuple[Notice, ...]:
        """That clusters of the rows in use are few."""
        return self._problem.few_clusters(self._rows)

    def _noise(self, theta: FloatArray) -> FloatArray:
        """Ê Cov[β | x] ⊗ x xᵀ under the model, shape (d, d): n times the covariance of μ̂."""
        noise = self._problem.curvature(self._rows, theta, _squared_noise)
        return np.asarray(noise * (self._problem.n_observations / self._rows.total_weight))

    def _spread(self, theta: FloatArray) -> FloatArray:
        """n · Cov of the mean of (β − μ(θ; x)) over the reports, shape (d, d)."""
        return self._problem.score_covariance(self._rows, theta, TARGET)

    def freedom(self, theta: FloatArray) -> Freedom | None:
        """Of contrasts of θ̂ under the robust covariance."""
        return self._problem.freedom(self._rows, theta, TARGET)

    def covariance(self, theta: FloatArray, kind: CovarianceKind) -> FloatArray:
        """I⁻¹ G I⁻¹ / n with G the covariance of β − μ(θ; x), over the reports (robust) or under the model."""
        problem = self._problem
        inverse = invert_information(self._matching.hessian(theta), problem.parameter_names, "the model")
        spread = self._noise(theta) if kind == "expected" else self._spread(theta)
        return np.asarray(inverse @ spread @ inverse / problem.n_observations)


def _told_moments(block: Block) -> tuple[FloatArray, ...]:
    return (moment(block.x, weighted(block, _told(block))),)


def _noises(block: Block, coefficients: FloatArray, parts: int, dimension: int) -> tuple[FloatArray, ...]:
    """Of every part, Σ Cov[β | x] ⊗ xxᵀ of its rows, and their weight: 0 for all parts but that of the block."""
    p, _ = softmax(logits(block, coefficients))
    # Sums are added up in place: everyone has arrays of its own.
    sums = [array for _ in range(parts) for array in (np.zeros((dimension, dimension)), np.zeros(()))]
    sums[2 * block.part] = gram(block.x, _squared_noise(block, p)).reshape(dimension, dimension)
    sums[2 * block.part + 1] = np.asarray(float(len(block.codes) if block.weights is None else block.weights.sum()))
    return tuple(sums)


def _largest(block: Block, coefficients: FloatArray) -> tuple[FloatArray, ...]:
    """Σ max_y φ(x, y)ᵀθ."""
    z = logits(block, coefficients)
    best = np.maximum(z if z.ndim == 1 else z.max(axis=1), 0.0)
    return (np.asarray(weighted(block, best).sum()),)


def _third(block: Block, p: FloatArray, along: FloatArray) -> FloatArray:
    """How diag P − P Pᵀ of every row changes in a direction."""
    u = logits(block, along)
    if p.ndim == 1:
        return weighted(block, p * (1.0 - p) * (1.0 - 2.0 * p) * u)
    slope = p * (u - (p * u).sum(axis=1)[:, None])
    crossed = slope[:, :, None] * p[:, None, :]
    curved = np.eye(p.shape[1]) * slope[:, None, :] - crossed - crossed.transpose(0, 2, 1)
    return weighted(block, np.asarray(curved))


def _squared_noise(block: Block, p: FloatArray) -> FloatArray:
    return times(_noise_of_rows(block, p), block.squares)


def _told(block: Block) -> FloatArray:
    """The debiased indicators of every row's outputs, (n,) or (n, K)."""
    assert block.targets is not None
    return block.targets[block.codes]


def _noise_of_rows(block: Block, p: FloatArray) -> FloatArray:
    """Cov[β | x] of every row under the model, (n,) or (n, K, K)."""
    assert block.targets is not None
    R, S = block.targets.reshape(len(block.S), -1).T, block.S
    share = p[:, None] if p.ndim == 1 else p
    q = (1.0 - share.sum(axis=1))[:, None] * S[:, 0] + share @ S[:, 1:].T
    second = np.einsum("no,ao,bo->nab", q, R, R)
    result = second - share[:, :, None] * share[:, None, :]
    return np.asarray(result[:, 0, 0] if p.ndim == 1 else result)
