"""Damped Newton steps for smooth objectives of moderate dimension, convex or not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from askance._arrays import FloatArray
from askance.estimation.parameter_scale import Standard
from askance.estimation.protocols import Objective

# The longest step, in standardised parameters (log-odds).
_LONGEST_STEP = 5.0
# Curvatures below this share of the largest are lifted to it.
_FLOOR = 1e-14
# Decreases smaller than this share of the value are lost in rounding and not asked for.
_ROUNDING = 1e-14
# Near the end a step squares the error: two decrements tell the next, where the last is this small.
_NEAR = 1e-10
# A curvature below minus this share of the largest is negative, not rounding.
_SADDLE = 1e-8


@dataclass(frozen=True)
class Solution:
    """Where an iteration ended.

    Attributes:
        theta: the last iterate.
        value: the objective there.
        converged: whether the Newton decrement fell below the tolerance.
        escaped: whether the iteration was stopped because θ ran off to infinity.
        iterations: how many steps were taken.
    """

    theta: FloatArray
    value: float
    converged: bool
    escaped: bool
    iterations: int


def newton(
    objective: Objective,
    start: FloatArray,
    standard: Standard,
    *,
    tolerance: float = 1e-20,
    settled: float = 0.0,
    max_iterations: int = 300,
    escaped: Callable[[FloatArray], bool] | None = None,
    finish: Callable[[FloatArray], object] | None = None,
) -> Solution:
    """Minimise by Newton steps with flipped negative curvature and backtracking.

    The tolerance is on the squared Newton decrement gᵀH⁻¹g. For an average log-likelihood over n reports, n times the
    decrement is the squared distance to the optimum in standard errors.

    Args:
        objective: what to minimise.
        start: where to begin, shape (d,).
        standard: coordinates that make the steps independent of units.
        tolerance: on the squared decrement.
        settled: a decrement that nothing more is done about: where it is what a step will leave, that step is the last.
        max_iterations: how many steps at most.
        escaped: tells that θ has run off and the iteration should end.
        finish: what is asked for next at the last θ, and before its value: one pass over rows gives both.
    """
    theta, value, before = start, np.nan, np.inf
    for iteration in range(max_iterations):
        # The Hessian first: an objective that sums over rows has value and gradient from the same pass.
        hessian, gradient = standard.hessian(objective.hessian(theta)), standard.gradient(objective.gradient(theta))
        value = value if iteration else objective.value(start)
        step, downhill = descent(hessian, gradient)
        decrement = float(-gradient @ step)
        if decrement <= tolerance and downhill is not None:
            # A saddle, or the top of a ridge: the gradient vanishes, but one direction still leads down.
            lower = _leave_saddle(objective, theta, value, standard.to_parameters(downhill))
            if lower is not None:
                theta, value = lower
                continue
        last = decrement <= tolerance or np.abs(step).max() < 1e-13
        last = last or (decrement < _NEAR and downhill is None and decrement**3 < settled * before**2)
        before = decrement
        if last and finish is not None:
            finish(theta + standard.to_parameters(step))
        trial, trial_value = _backtrack(objective, theta, value, standard.to_parameters(step), decrement)
        if last:
            # One more step after the test is passed costs little and makes the digits exact: the value can no longer
            # tell, and is not asked.
            gone = escaped is not None and escaped(trial)
            return Solution(trial, trial_value, not gone, gone, iteration)
        if np.array_equal(trial, theta):
            return Solution(theta, value, False, False, iteration)
        theta, value = trial, trial_value
        if escaped is not None and escaped(theta):
            return Solution(theta, value, False, True, iteration)
    return Solution(theta, value, False, False, max_iterations)


def descent(hessian: FloatArray, gradient: FloatArray) -> tuple[FloatArray, FloatArray | None]:
    """−|H|⁻¹ g, floored curvatures, no longer than the longest step; and a direction of negative curvature, if any."""
    values, vectors = np.linalg.eigh((hessian + hessian.T) / 2)
    curvature = np.abs(values)
    curvature = np.maximum(curvature, max(_FLOOR * curvature.max(), 1e-300))
    step = -vectors @ ((vectors.T @ gradient) / curvature)
    downhill = vectors[:, 0] if values[0] < -_SADDLE * curvature.max() else None
    return np.asarray(step * min(1.0, _LONGEST_STEP / max(np.abs(step).max(), 1e-300))), downhill


def _leave_saddle(
    objective: Objective, theta: FloatArray, value: float, direction: FloatArray
) -> tuple[FloatArray, float] | None:
    """The lower of two points on either side along a direction of negative curvature; None if neither is lower."""
    for length in (1.0, 0.1, 0.01):
        sides = [(objective.value(theta + sign * length * direction), sign) for sign in (1.0, -1.0)]
        best, sign = min(sides)
        if best < value - _ROUNDING * (1.0 + abs(value)):
            return theta + sign * length * direction, best
    return None


def _backtrack(
    objective: Objective, theta: FloatArray, value: float, step: FloatArray, decrement: float
) -> tuple[FloatArray, float]:
    """Halve the step until the objective falls enough; the start itself if it never does."""
    slack = _ROUNDING * (1.0 + abs(value))
    share = 1.0
    for _ in range(60):
        trial = theta + share * step
        trial_value = objective.value(trial)
        if np.isfinite(trial_value) and trial_value <= value - 1e-4 * share * decrement + slack:
            return trial, trial_value
        share /= 2
    return theta, value
