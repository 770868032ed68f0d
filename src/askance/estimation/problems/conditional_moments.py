"""The paper's estimator with covariates: debiased indicators of the outputs, then one convex fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from askance._arrays import FloatArray
from askance._kernels.softmax_pass import PRIOR, TARGET
from askance.design.covariances import Weighting, invert_information, observation_function
from askance.estimation.problems.conditional import (
    Block,
    logits,
    moment,
    weighted,
)
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


class ConditionalMatching(SumOverRows):
    """f(θ) = Ê A(θ; x) − μ̂ᵀθ + ½ θᵀΛθ: convex."""

    against = PRIOR

    def __init__(self, problem: ResponsesProblem, statistics: FloatArray, precision: FloatArray | None = None) -> None:
        super().__init__(problem, precision)
        self._statistics = statistics

    def _sums(self, theta: FloatArray) -> tuple[float, FloatArray, FloatArray | None]:
        value, gradient, hessian = super()._sums(theta)
        return value - float(self._statistics @ theta), gradient - self._statistics, hessian


class _TargetMatching(SumOverRows):
    """The same with μ̂ as it adds up row by row: for some of the rows, a start that costs next to nothing."""

    against = TARGET


class ConditionalMoments:
    """μ̂ = Ê β(o) ⊗ x, where β holds the debiased indicators of the outputs."""

    def __init__(self, problem: ResponsesProblem, weighting: Weighting) -> None:
        self._problem = problem
        indicators = Enumerated.saturated(problem.model.outputs)
        self.beta = observation_function(indicators, problem.channel, problem.frequencies, weighting)
        targets = np.ascontiguousarray(self.beta.coefficients.T)  # (k, K)
        self._targets = targets[:, 0].copy() if problem.rows.n_free == 1 else targets
        self._rows = problem.rows.aimed(self._targets)
        (sums,) = problem.rows.total(lambda block: (moment(block.x, weighted(block, self._targets[block.codes])),))
        self.statistics: FloatArray = sums.ravel() / problem.rows.total_weight
        self._matching = ConditionalMatching(problem, self.statistics)

    def matching(self, precision: FloatArray | None = None) -> ConditionalMatching:
        """Ê A(θ; x) − μ̂ᵀθ, with or without a ridge."""
        return self._matching if precision is None else ConditionalMatching(self._problem, self.statistics, precision)

    def start(self) -> FloatArray:
        """A cheap start: the fit to a thinned sample, or 0 where the sample has none."""
        problem = self._problem
        if problem.rows.n_rows < THINNED_FROM:
            return np.zeros(problem.model.dimension)
        sample = problem.rows.thinned(problem.evidence, problem.rows.n_rows // THINNED_TO).aimed(self._targets)
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
        coefficients = problem.model.blocks(theta)

        def largest(block: Block) -> tuple[FloatArray, ...]:
            z = logits(block, coefficients)
            best = np.maximum(z if z.ndim == 1 else z.max(axis=1), 0.0)
            return (np.asarray(weighted(block, best).sum()),)

        top = float(problem.rows.total(largest)[0])
        gap = top / problem.rows.total_weight - float(self.statistics @ theta)
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
            along = problem.model.blocks(direction)

            def third(block: Block, p: FloatArray) -> FloatArray:
                u = logits(block, along)
                if p.ndim == 1:
                    return p * (1.0 - p) * (1.0 - 2.0 * p) * u
                slope = p * (u - (p * u).sum(axis=1)[:, None])
                crossed = slope[:, :, None] * p[:, None, :]
                return np.asarray(np.eye(p.shape[1]) * slope[:, None, :] - crossed - crossed.transpose(0, 2, 1))

            return problem.curvature(at, third)

        return NoisyMoments(self.statistics, noise, precision, mean, matching.hessian, skewness, problem.standard)

    def _noise(self, theta: FloatArray) -> FloatArray:
        """Ê Cov[β | x] ⊗ x xᵀ under the model, shape (d, d)."""
        R, S = self.beta.coefficients, self._problem.channel.matrix

        def of_row(block: Block, p: FloatArray) -> FloatArray:
            share = p[:, None] if p.ndim == 1 else p
            q = (1.0 - share.sum(axis=1))[:, None] * S[:, 0] + share @ S[:, 1:].T
            second = np.einsum("no,ao,bo->nab", q, R, R)
            result = second - share[:, :, None] * share[:, None, :]
            return np.asarray(result[:, 0, 0] if p.ndim == 1 else result)

        return self._problem.curvature(theta, of_row)

    def _spread(self, theta: FloatArray) -> FloatArray:
        """n · Cov of the mean of (β − μ(θ; x)) over the reports, shape (d, d)."""
        return self._problem.score_covariance(self._rows, theta, TARGET)

    def covariance(self, theta: FloatArray, kind: CovarianceKind) -> FloatArray:
        """I⁻¹ G I⁻¹ / n with G the covariance of β − μ(θ; x), over the reports (robust) or under the model."""
        problem = self._problem
        inverse = invert_information(self._matching.hessian(theta), problem.parameter_names, "the model")
        spread = self._noise(theta) if kind == "expected" else self._spread(theta)
        return np.asarray(inverse @ spread @ inverse / problem.n_observations)
