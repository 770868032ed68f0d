"""Limited-memory descent (L-BFGS) for smooth functions of a few coordinates or of millions.

A step is D ∘ gradient corrected by the last few steps, where D is one over a guess of the curvature of every
coordinate. The better the guess the fewer steps have to be remembered. Arrays keep their type (float32 halves the time,
which is all spent on reading and writing them); sums over all coordinates are accumulated in float64. Penalties on
absolute values, with which many coordinates end at 0, are in `askance.estimation.solvers.orthants`.

Written out because SciPy's takes a third of a second to import, more than ten fits of a small field take together, and
knows neither single precision nor absolute values.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from askance._arrays import AnyArray
from askance.estimation.solvers.large_tables import add_multiple, dot
from askance.estimation.solvers.orthants import L1Penalty

#: Value and gradient at a point.
Function: TypeAlias = Callable[[AnyArray], tuple[float, AnyArray]]

# A step must lower the function by this share of what its slope promises.
_SUFFICIENT = 1e-4
# Where the gradient tells the end, decreases smaller than this share of the value are not asked for.
_ROUNDING = 1e-14
# Over so many steps a gain is averaged before it is called small: single steps are uneven.
_STEPS = 3
_MOST_TRIALS = 25


@dataclass(frozen=True)
class Minimum:
    """Where a descent ended.

    Attributes:
        point: the last and lowest point.
        value: of the function there, with the L1 penalty.
        gradient: of the function there, without the L1 penalty.
        iterations: steps taken.
        evaluations: how often the function was asked.
        converged: whether it ended because it had arrived.
    """

    point: AnyArray
    value: float
    gradient: AnyArray
    iterations: int
    evaluations: int
    converged: bool

    @property
    def slope(self) -> float:
        """The largest entry of the gradient."""
        return _largest(self.gradient)


def minimise(
    function: Function,
    start: AnyArray,
    curvature: Callable[[int], AnyArray | None] = lambda step: None,
    *,
    memory: int = 20,
    max_iterations: int,
    tolerance: float = 0.0,
    flat: float | None = None,
    after: Callable[[int, float, AnyArray], bool] | None = None,
    l1: AnyArray | float = 0.0,
) -> Minimum:
    """Minimise f(x) + Σ l1 ∘ |x|: descend until the gradient is `flat`, or steps gain less than `tolerance` of it.

    Args:
        function: value and gradient of f at a point; a value that is not finite makes the step shorter.
        start: where to begin, an array of any shape.
        curvature: before step i = 0, 1, …: a guess of the second derivatives of f where it was last asked, in the
            shape of the start, or None where the last guess stays; 1 where there was none.
        memory: steps remembered.
        max_iterations: at most so many steps.
        tolerance: on the mean gain of the last three steps, and on a tenth of the slope of the next (about a fifth of
            what is still to be gained), as shares of the value; not asked where `flat` is said.
        flat: on the largest entry of the gradient.
        after: told step, value (with the penalty) and point; True ends the descent.
        l1: weights of the absolute values, 0 or more, of a shape that broadcasts to that of the start. What they hold
            at 0 is exactly 0 at the end.

    >>> target = np.array([[1.0, 2.0]])
    >>> result = minimise(lambda x: (float(((x - target) ** 2).sum()), 2 * (x - target)), np.zeros((1, 2)),
    ...     lambda i: np.full((1, 2), 4.0), memory=2, max_iterations=50, tolerance=1e-12)
    >>> result.point, result.converged
    (array([[1., 2.]]), True)
    >>> minimise(lambda x: (float(((x - target) ** 2).sum()), 2 * (x - target)), np.zeros((1, 2)),
    ...     lambda i: np.full((1, 2), 2.0), memory=2, max_iterations=50, tolerance=1e-12, l1=3.0).point
    array([[0. , 0.5]])
    """
    penalty = L1Penalty.of(l1, start)
    if penalty is not None:
        function = penalty.added_to(function)
    point = start
    value, gradient = function(point)
    if not math.isfinite(value):
        return Minimum(point, value, gradient, 0, 1, False)
    steps: deque[_Step] = deque(maxlen=memory)
    recent: deque[float] = deque([value], maxlen=_STEPS + 1)
    rounding, evaluations, scale = 4 * float(np.finfo(start.dtype).eps), 1, np.ones_like(start)
    for iteration in range(max_iterations):
        if flat is not None and _largest(gradient) <= flat:
            return Minimum(point, value, gradient, iteration, evaluations, True)
        guess = curvature(iteration)
        if guess is not None:
            scale = np.divide(1, guess, out=guess)
        slopes, direction, slope = _downhill(point, gradient, scale, steps, penalty)
        slack = rounding * abs(value) if flat is None else _ROUNDING * (1 + abs(value))
        if flat is None:
            allowed = max(tolerance * abs(value), slack)
            gained = recent[0] - value if len(recent) > _STEPS else math.inf
            if -slope <= slack or (gained <= _STEPS * allowed and -slope <= 10 * allowed):
                return Minimum(point, value, gradient, iteration, evaluations, True)
        lower, trials = _search(function, point, value, direction, slope, slack, penalty, slopes)
        evaluations += trials
        if lower is None:
            return Minimum(point, value, gradient, iteration, evaluations, False)
        point, value, new_gradient, step = lower
        change = np.subtract(new_gradient, gradient, out=gradient)
        bend = dot(step, change)
        if bend > 0:
            steps.append(_Step(step, change, bend))
        gradient = new_gradient
        recent.append(value)
        if after is not None and after(iteration + 1, value, point):
            return Minimum(point, value, gradient, iteration + 1, evaluations, False)
    return Minimum(point, value, gradient, max_iterations, evaluations, flat is not None and _largest(gradient) <= flat)


def _largest(gradient: AnyArray) -> float:
    """The largest entry, whatever its sign."""
    return float(np.abs(gradient).max(initial=0.0))


@dataclass(frozen=True)
class _Step:
    """A step, the change of the gradient along it, and their product."""

    step: AnyArray
    change: AnyArray
    bend: float


def _direction(gradient: AnyArray, scale: AnyArray, steps: deque[_Step]) -> tuple[AnyArray, float]:
    """Minus the inverse of the curvature times the gradient (the two-loop recursion), and the slope along it."""
    result = np.negative(gradient)
    shares = []
    for past in reversed(steps):
        shares.append(dot(past.step, result) / past.bend)
        add_multiple(-shares[-1], past.change, result)
    result *= scale
    if steps:
        last = steps[-1]
        result *= result.dtype.type(last.bend / dot(last.change, last.change * scale))
    for past, share in zip(steps, reversed(shares), strict=True):
        add_multiple(share - dot(past.change, result) / past.bend, past.step, result)
    slope = dot(gradient, result)
    if steps and not -math.inf < slope <= 0:  # what is remembered misleads
        steps.clear()
        return _direction(gradient, scale, steps)
    return result, slope


def _downhill(
    point: AnyArray, gradient: AnyArray, scale: AnyArray, steps: deque[_Step], penalty: L1Penalty | None
) -> tuple[AnyArray, AnyArray, float]:
    """Slopes of the function with its penalty, the direction to go, and the slope along it."""
    if penalty is None:
        return gradient, *_direction(gradient, scale, steps)
    slopes = penalty.pseudo_gradient(point, gradient)
    direction, _ = _direction(slopes, scale, steps)
    penalty.align(direction, point, slopes)
    return slopes, direction, dot(slopes, direction)


def _search(
    function: Function,
    point: AnyArray,
    value: float,
    direction: AnyArray,
    slope: float,
    slack: float,
    penalty: L1Penalty | None,
    slopes: AnyArray,
) -> tuple[tuple[AnyArray, float, AnyArray, AnyArray] | None, int]:
    """The first point along the direction that is low enough, with value, gradient and step; and the number of trials.

    The direction is overwritten.
    """
    share = 1.0
    for trial in range(1, _MOST_TRIALS + 1):
        if penalty is None:
            candidate, step = point + direction, direction
        else:
            candidate, step, promise = _within_orthant(penalty, point, direction, slopes)
            slope = promise / share
        reached, gradient = function(candidate)
        if reached <= value + _SUFFICIENT * share * slope + slack:
            return (candidate, reached, gradient, step), trial
        # The lowest point of the parabola through what is known; where that is nowhere, a tenth.
        excess = reached - value - share * slope
        shorter = -share * slope / (2 * excess) if excess < math.inf else 0.0
        shorter = min(max(shorter, 0.1), 0.5)
        share *= shorter
        direction *= direction.dtype.type(shorter)
    return None, _MOST_TRIALS


def _within_orthant(
    penalty: L1Penalty, point: AnyArray, direction: AnyArray, slopes: AnyArray
) -> tuple[AnyArray, AnyArray, float]:
    """The point that a direction leads to without a change of sign, the step to there, and what its slopes promise."""
    candidate = point + direction
    step = penalty.cut(candidate, point)
    promise = dot(slopes, step)
    if promise > 0:  # only what was cut would have paid for entries that rise: go on without these
        direction *= direction * slopes < 0
        return _within_orthant(penalty, point, direction, slopes)
    return candidate, step, promise
