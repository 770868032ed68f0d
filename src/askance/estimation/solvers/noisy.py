"""The fit that survives moments of no distribution: μ̂ is Gaussian around μ(θ), θ has a weak prior."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from askance._arrays import FloatArray
from askance.errors import NotIdentifiedError
from askance.estimation.outcome import Outcome
from askance.estimation.parameter_scale import Standard
from askance.estimation.protocols import MomentEquations
from askance.estimation.solvers.newton import Solution, newton


class NoisyMoments:
    """f(θ) = ½ r ᵀC⁻¹r + ½ θᵀΛθ with r = μ̂ − μ(θ) and C the covariance of μ̂.

    Not convex, but close to it where the residual is small. Its Hessian at the minimum is the posterior precision.

    Args:
        statistics: μ̂, shape (d,).
        covariance: C, shape (d, d).
        precision: Λ, shape (d, d).
        mean: θ → μ(θ), shape (d,).
        information: θ → ∇μ(θ) = I, shape (d, d).
        skewness: (θ, v) → derivative of I along v, shape (d, d).
        standard: coordinates in which C can be inverted safely.
    """

    def __init__(
        self,
        statistics: FloatArray,
        covariance: FloatArray,
        precision: FloatArray,
        mean: Callable[[FloatArray], FloatArray],
        information: Callable[[FloatArray], FloatArray],
        skewness: Callable[[FloatArray, FloatArray], FloatArray],
        standard: Standard,
    ) -> None:
        self._statistics, self._precision = statistics, precision
        self.covariance: FloatArray = covariance
        # Inverted in standard coordinates, where no direction is lost because its unit is small.
        inner = standard.inverse.T @ covariance @ standard.inverse
        self._weights = standard.inverse @ np.linalg.pinv(inner, hermitian=True) @ standard.inverse.T
        self._mean, self._information, self._skewness = mean, information, skewness

    def value(self, theta: FloatArray) -> float:
        """f(θ)."""
        residual = self._statistics - self._mean(theta)
        return 0.5 * float(residual @ self._weights @ residual + theta @ self._precision @ theta)

    def gradient(self, theta: FloatArray) -> FloatArray:
        """−I C⁻¹ r + Λθ, shape (d,)."""
        residual = self._statistics - self._mean(theta)
        return np.asarray(self._precision @ theta - self._information(theta) @ self._weights @ residual)

    def hessian(self, theta: FloatArray) -> FloatArray:
        """I C⁻¹ I + Λ − ∂I[C⁻¹ r], shape (d, d)."""
        information = self._information(theta)
        pull = self._weights @ (self._statistics - self._mean(theta))
        curvature = information @ self._weights @ information + self._precision
        return np.asarray(curvature - self._skewness(theta, pull))


class NoisyMatch(NamedTuple):
    """The posterior mode of θ given μ̂ ~ N(μ(θ), C) and θ ~ N(0, Λ⁻¹), the posterior covariance there, and C."""

    solution: Solution
    spread: FloatArray
    noise: FloatArray


def with_unbiased_moments(outcome: Outcome, moments: Callable[[], MomentEquations]) -> Outcome:
    """Where a prior acted: with the unbiased statistics beside θ̂ and their covariance, if there are such.

    Args:
        outcome: of any method.
        moments: gives the moment equations, or refuses.
    """
    if outcome.covariance_kind != "posterior" or outcome.raw_covariance is not None:
        return outcome
    try:
        equations = moments()
    except NotIdentifiedError:
        return outcome
    no_prior = np.zeros((len(outcome.theta), len(outcome.theta)))
    noise = equations.noisy(outcome.theta, no_prior).covariance
    return replace(outcome, raw_statistics=equations.statistics, raw_covariance=noise)


def match_noisy_moments(equations: MomentEquations, standard: Standard, precision: FloatArray, n: int) -> NoisyMatch:
    """θ from moments that may belong to no distribution.

    Args:
        equations: with μ̂ and its noise.
        standard: coordinates of the steps.
        precision: Λ, shape (d, d).
        n: number of reports.
    """
    # Matching with a ridge of C is convex, and misses μ̂ by Cθ, which is about its noise: a start on the right side.
    nowhere = np.zeros(len(precision))
    ridge = equations.noisy(nowhere, precision).covariance + precision / n
    start = newton(equations.matching(ridge), nowhere, standard, tolerance=1e-8).theta
    objective = equations.noisy(start, precision)
    # A decrement of 1e-8 is a ten-thousandth of a posterior standard deviation.
    solution = newton(objective, start, standard, tolerance=1e-8, max_iterations=1000)
    spread = np.asarray(np.linalg.inv(objective.hessian(solution.theta)), dtype=np.float64)
    return NoisyMatch(solution, spread, objective.covariance)
