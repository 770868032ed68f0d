"""Limited-memory descent (L-BFGS) for smooth functions in coordinates of about unit curvature.

Written out because SciPy's takes a third of a second to import: more than ten fits of a small field take together.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from askance._arrays import FloatArray

# Steps that the curvature is guessed from.
_MEMORY = 20
# A step must lower the function by this share of what its slope promises.
_SUFFICIENT = 1e-4
# Decreases smaller than this share of the value are lost in rounding and not asked for.
_ROUNDING = 1e-14


@dataclass(frozen=True)
class Descent:
    """Where it ended.

    Attributes:
        point: the last and lowest point.
        value: of the function there.
        steps: how many were taken.
        evaluations: how often the function was asked.
        slope: the largest entry of the gradient there.
    """

    point: FloatArray
    value: float
    steps: int
    evaluations: int
    slope: float


def descend(
    function: Callable[[FloatArray], tuple[float, FloatArray]], start: FloatArray, tolerance: float, steps: int
) -> Descent:
    """Minimise until no entry of the gradient exceeds the tolerance, or for so many steps.

    Args:
        function: value and gradient at a point.
        start: where to begin.
        tolerance: on the largest entry of the gradient.
        steps: at most.

    >>> descend(lambda x: (float((x - 3) @ (x - 3)), 2 * (x - 3)), np.zeros(2), 1e-9, 100).point
    array([3., 3.])
    """
    point, (value, gradient), evaluations, taken = start, function(start), 1, 0
    memory: deque[tuple[FloatArray, FloatArray, float]] = deque(maxlen=_MEMORY)
    while taken < steps and np.abs(gradient).max(initial=0.0) > tolerance:
        direction = -_curved(gradient, memory)
        slope = float(gradient @ direction)
        if slope >= 0:  # the memory misleads
            memory.clear()
            direction, slope = -gradient, -float(gradient @ gradient)
        share, slack = 1.0, _ROUNDING * (1 + abs(value))
        while True:
            trial = point + share * direction
            trial_value, trial_gradient = function(trial)
            evaluations += 1
            if trial_value <= value + _SUFFICIENT * share * slope + slack:
                break
            share *= _shorter(value, slope * share, trial_value)
            if share < 1e-12:
                return Descent(point, value, taken, evaluations, float(np.abs(gradient).max(initial=0.0)))
        step, change = trial - point, trial_gradient - gradient
        bend = float(step @ change)
        if bend > 1e-12 * float(step @ step):
            memory.append((step, change, 1 / bend))
        point, value, gradient, taken = trial, trial_value, trial_gradient, taken + 1
    return Descent(point, value, taken, evaluations, float(np.abs(gradient).max(initial=0.0)))


def _curved(gradient: FloatArray, memory: deque[tuple[FloatArray, FloatArray, float]]) -> FloatArray:
    """The gradient times the inverse curvature that the last steps have shown."""
    out, shares = gradient.copy(), []
    for step, change, weight in reversed(memory):
        share = weight * float(step @ out)
        out -= share * change
        shares.append(share)
    if memory:
        _, change, weight = memory[-1]
        out /= weight * float(change @ change)
    for (step, change, weight), share in zip(memory, reversed(shares), strict=True):
        out += (share - weight * float(change @ out)) * step
    return out


def _shorter(value: float, slope: float, trial: float) -> float:
    """The share of a failed step at which a parabola through what is known has its lowest point; a tenth to a half."""
    excess = trial - value - slope
    return min(max(-slope / (2 * excess), 0.1), 0.5) if np.isfinite(excess) and excess > 0 else 0.1
