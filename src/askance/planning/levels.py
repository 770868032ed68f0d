"""The smallest privacy level at which a channel reaches a goal."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache

#: Levels are whole multiples of one over this.
STEPS = 10_000
#: No larger level is tried: nothing is hidden there any more.
LARGEST_LEVEL = 20
# Levels in between are whole multiples of one over this.
_FINE = 10**9
# So many grid points below the crossing are looked at: errors are flat where the level hardly matters any more.
_NEIGHBOURS = 5


def smallest_level(excess: Callable[[Fraction], float]) -> Fraction | None:
    """The smallest multiple of 10⁻⁴ up to 20 where excess(level) ≤ 0; None where there is none.

    The excess, log σ²/σ²_allowed, falls with the level. It is bracketed by doubling and halving from 1, so that no
    channel is built far from where it is wanted, narrowed down by Brent's method on log-levels, and settled on the
    grid.

    >>> smallest_level(lambda level: float(2 - level))
    Fraction(2, 1)
    >>> smallest_level(lambda level: 1.0) is None
    True
    """
    excess = cache(excess)
    low = high = 1.0
    if excess(_exact(high)) > 0:
        while excess(_exact(high)) > 0:
            if high >= LARGEST_LEVEL:
                return None
            low, high = high, min(2 * high, float(LARGEST_LEVEL))
    else:
        while excess(_exact(low)) <= 0:
            if low * STEPS <= 1:
                return Fraction(1, STEPS)
            low, high = max(low / 2, 1 / STEPS), low
    return _settle(excess, _crossing(excess, low, high))


def _exact(level: float) -> Fraction:
    return Fraction(round(level * _FINE), _FINE)


def _crossing(excess: Callable[[Fraction], float], low: float, high: float) -> float:
    from scipy.optimize import brentq

    start, end = math.log(low), math.log(high)

    def at(u: float) -> float:
        # The ends themselves, whose signs are known, and short fractions in between.
        level = low if u <= start else high if u >= end else math.exp(u)
        return excess(_exact(level))

    return math.exp(float(brentq(at, start, end, xtol=0.1 / (STEPS * high), rtol=1e-12)))


def _settle(excess: Callable[[Fraction], float], level: float) -> Fraction:
    """The grid point next to the crossing: the smallest at which the goal is met."""
    step = max(1, round(level * STEPS))
    while step < LARGEST_LEVEL * STEPS and excess(Fraction(step, STEPS)) > 0:
        step += 1
    for _ in range(_NEIGHBOURS):
        if step == 1 or excess(Fraction(step - 1, STEPS)) > 0:
            break
        step -= 1
    return Fraction(step, STEPS)
