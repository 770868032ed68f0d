"""From sufficient statistics to the parameters of a model without covariates: one convex fit."""

from __future__ import annotations

import numpy as np

from askance._arrays import FloatArray
from askance.estimation.parameter_scale import Standard
from askance.estimation.solvers.newton import Solution, newton
from askance.models.protocols import FiniteModel

# μ̂ closer to the boundary of the polytope than this share counts as on it: no distribution of the family has it.
BOUNDARY = 1e-9


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


def is_outside(model: FiniteModel, statistics: FloatArray, theta: FloatArray, standard: Standard) -> bool:
    """Whether θ separates the statistics from the model's polytope (or nearly so), or has run off to infinity."""
    size = standard.size(theta)
    gap = float((theta @ model.table).max() - statistics @ theta)
    return (size > 1 and gap <= BOUNDARY * size) or standard.ran_off(theta, model.fisher_information)


def match_moments(model: FiniteModel, statistics: FloatArray) -> Solution:
    """θ with μ(θ) = μ̂; `escaped` when μ̂ is outside the marginal polytope or on its boundary.

    Outside, some direction θ separates μ̂ from every φ(y). Newton's iterates run into such a direction, and the
    inequality, checked at each of them, is the proof.
    """
    standard = Standard.of_ranges(model.statistic_ranges)
    return newton(
        MomentMatching(model, statistics),
        np.zeros(model.dimension),
        standard,
        escaped=lambda theta: is_outside(model, statistics, theta, standard),
    )
