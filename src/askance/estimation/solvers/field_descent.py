"""Limited-memory descent (L-BFGS) for smooth functions in coordinates of about unit curvature.

Written out because SciPy's takes a third of a second to import: more than ten fits of a small field take together.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from askance._arrays import FloatArray
from askance.models.table_maps import matrix_product

# Steps that the curvature is guessed from.
_MEMORY = 20
# A step must lower the function by this share of what its slope promises.
_SUFFICIENT = 1e-4
# Up to this many rows, one thread factorises a matrix whole.
_BLOCK = 64
# Decreases smaller than this share of the value are lost in rounding and not asked for.
_ROUNDING = 1e-14


@dataclass(frozen=True)
class Descent:
    """Where it ended.

    Attributes:
        point: the last and lowest point.
        evaluations: how often the function was asked.
        slope: the largest entry of the gradient there.
    """

    point: FloatArray
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
    point, (value, gradient), evaluations = start, function(start), 1
    memory: deque[tuple[FloatArray, FloatArray, float]] = deque(maxlen=_MEMORY)
    for _ in range(steps):
        if np.abs(gradient).max(initial=0.0) <= tolerance:
            break
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
                return Descent(point, evaluations, float(np.abs(gradient).max(initial=0.0)))
        step, change = trial - point, trial_gradient - gradient
        bend = float(step @ change)
        if bend > 1e-12 * float(step @ step):
            memory.append((step, change, 1 / bend))
        point, value, gradient = trial, trial_value, trial_gradient
    return Descent(point, evaluations, float(np.abs(gradient).max(initial=0.0)))


def inverse_root(matrix: FloatArray) -> FloatArray:
    """R with RᵀR = M⁻¹, for a symmetric positive matrix M (d, d); of a singular one, as far as it can be told.

    >>> root = inverse_root(np.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> (root.T @ root * 3).round(9)
    array([[ 2., -1.],
           [-1.,  2.]])
    """
    try:
        return _triangular_root(matrix)
    except np.linalg.LinAlgError:  # singular to all digits
        values, vectors = np.linalg.eigh(matrix)
        return np.asarray((vectors / np.sqrt(np.maximum(values, 1e-14 * values[-1]))).T)


def _triangular_root(matrix: FloatArray) -> FloatArray:
    """By blocks, [[A, B], [Bᵀ, C]] from A and C − BᵀA⁻¹B, small enough for one thread.

    Several take ten times as long as one where the machine has something else to do.
    """
    if len(matrix) <= _BLOCK:
        return np.asarray(np.linalg.inv(np.linalg.cholesky(matrix)))
    half = len(matrix) // 2
    out = np.zeros_like(matrix)
    out[:half, :half] = first = _triangular_root(matrix[:half, :half])
    across = matrix_product(first, matrix[:half, half:])
    out[half:, half:] = second = _triangular_root(matrix[half:, half:] - matrix_product(across.T, across))
    out[half:, :half] = -matrix_product(second, matrix_product(across.T, first))
    return out


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
