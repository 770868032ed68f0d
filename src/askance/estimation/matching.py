"""From sufficient statistics to parameters: the convex step shared by all moment estimators."""

from __future__ import annotations

import numpy as np

from askance._arrays import FloatArray
from askance.estimation.newton import Solution, newton
from askance.estimation.prior import ran_off
from askance.models.protocols import FiniteModel

# μ̂ closer to the boundary of the polytope than this share counts as on it: no distribution of the family has it.
_BOUNDARY = 1e-9


class MomentMatching:
    """f(θ) = A(θ) − μ̂ᵀθ + ½ θᵀΛθ: convex, minimised where the model's statistics equal μ̂ (less Λθ)."""

    def __init__(self, model: FiniteModel, statistics: FloatArray, precision: FloatArray | None = None) -> None:
        self.model, self.statistics = model, statistics
        self._precision = np.zeros((model.dimension, model.dimension)) if precision is None else precision

    def value(self, theta: FloatArray) -> float:
        """f(θ)."""
        fit = self.model.log_partition(theta) - float(self.statistics @ theta)
        return fit + 0.5 * float(theta @ self._precision @ theta)

    def gradient(self, theta: FloatArray) -> FloatArray:
        """μ(θ) − μ̂ + Λθ, shape (d,)."""
        return np.asarray(self.model.mean_statistics(theta) - self.statistics + self._precision @ theta)

    def hessian(self, theta: FloatArray) -> FloatArray:
        """I(θ) + Λ, shape (d, d)."""
        return np.asarray(self.model.fisher_information(theta) + self._precision)


class NoisyMoments:
    """f(θ) = ½ (μ̂ − μ(θ))ᵀ C⁻¹ (μ̂ − μ(θ)) + ½ θᵀΛθ: μ̂ is Gaussian around μ(θ) with its own covariance C.

    Not convex, but close to it where the residual is small. Its Hessian at the minimum is the posterior precision.
    """

    def __init__(
        self, model: FiniteModel, statistics: FloatArray, covariance: FloatArray, precision: FloatArray
    ) -> None:
        self.model, self.statistics, self._precision = model, statistics, precision
        self._weights = np.linalg.pinv(covariance, hermitian=True)

    def value(self, theta: FloatArray) -> float:
        """f(θ)."""
        residual = self.statistics - self.model.mean_statistics(theta)
        return 0.5 * float(residual @ self._weights @ residual + theta @ self._precision @ theta)

    def gradient(self, theta: FloatArray) -> FloatArray:
        """−I C⁻¹ (μ̂ − μ(θ)) + Λθ, shape (d,)."""
        residual = self.statistics - self.model.mean_statistics(theta)
        return np.asarray(self._precision @ theta - self.model.fisher_information(theta) @ self._weights @ residual)

    def hessian(self, theta: FloatArray) -> FloatArray:
        """I C⁻¹ I + Λ − K₃[C⁻¹ (μ̂ − μ)], shape (d, d); K₃[v] = E[(φ−μ)(φ−μ)ᵀ (φ−μ)ᵀv] is the third cumulant."""
        information = self.model.fisher_information(theta)
        centred = self.model.table - self.model.mean_statistics(theta)[:, None]
        pull = self._weights @ (self.statistics - self.model.mean_statistics(theta))
        skew = (centred * (np.exp(self.model.log_probabilities(theta)) * (pull @ centred))) @ centred.T
        return np.asarray(information @ self._weights @ information + self._precision - skew)


def match_moments(model: FiniteModel, statistics: FloatArray, start: FloatArray | None = None) -> Solution:
    """θ with μ(θ) = μ̂; `escaped` when μ̂ is outside the marginal polytope or on its boundary.

    Outside, some direction θ separates μ̂ from every φ(y): μ̂ᵀθ ≥ max_y φ(y)ᵀθ. Newton's iterates run into such a
    direction, and the inequality, checked at each of them, is the proof.
    """

    def outside(theta: FloatArray) -> bool:
        size = float(np.abs(theta * model.statistic_ranges).max())
        gap = float((theta @ model.table).max() - statistics @ theta)
        return (size > 1 and gap <= _BOUNDARY * size) or ran_off(theta, model)

    origin = np.zeros(model.dimension) if start is None else start
    return newton(MomentMatching(model, statistics), origin, model.statistic_ranges, escaped=outside)


def match_noisy_moments(
    model: FiniteModel, statistics: FloatArray, covariance: FloatArray, precision: FloatArray
) -> tuple[Solution, FloatArray]:
    """The posterior mode of θ given μ̂ ~ N(μ(θ), C) and θ ~ N(0, Λ⁻¹), and the posterior covariance there."""
    # Matching against a ridge of the prior's shape is convex and gives a start on the right side.
    n_equivalent = 1.0 / max(float(np.trace(covariance)) / model.dimension, 1e-300)
    ridge = newton(
        MomentMatching(model, statistics, precision / n_equivalent), np.zeros(model.dimension), model.statistic_ranges
    )
    objective = NoisyMoments(model, statistics, covariance, precision)
    solution = newton(objective, ridge.theta, model.statistic_ranges, tolerance=1e-12, max_iterations=1000)
    return solution, np.asarray(np.linalg.inv(objective.hessian(solution.theta)), dtype=np.float64)
