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
# After so many guesses in a row the bracket is cut in two: errors may be flat, or jump.
_GUESSES = 4


def smallest_level(excess: Callable[[Fraction], float]) -> Fraction | None:
    """The smallest multiple of 10⁻⁴ up to 20 where excess(level) ≤ 0; None where there is none.

    The excess, log σ²/σ²_allowed, falls with the level; where it does not everywhere, as where a channel changes its
    shape with the level, one is found that is enough though the multiple below is not. It is bracketed by doubling and
    halving from 1, so that no channel is built far from where it is wanted, and narrowed down by secants on log-levels.
    Only multiples are looked at, each once: a channel may take long to build.

    >>> smallest_level(lambda level: float(2 - level))
    Fraction(2, 1)
    >>> smallest_level(lambda level: 1.0) is None
    True
    """

    @cache
    def at(step: int) -> float:
        return excess(Fraction(step, STEPS))

    low = high = STEPS
    while at(high) > 0:
        if high == LARGEST_LEVEL * STEPS:
            return None
        low, high = high, min(2 * high, LARGEST_LEVEL * STEPS)
    while at(low) <= 0:
        if low == 1:
            return Fraction(1, STEPS)
        low, high = low // 2, low
    return Fraction(_first_reached(at, low, high), STEPS)


def _first_reached(at: Callable[[int], float], low: int, high: int) -> int:
    """A step of at most 0 that comes after one above 0, where at(low) > 0 ≥ at(high)."""
    before, last, guesses = low, high, 0
    while high - low > 1:
        guess = _secant(before, at(before), last, at(last)) if guesses < _GUESSES else math.nan
        if not low < guess <= high:  # nowhere near: the middle, on log-levels
            guess, guesses = math.sqrt(low * high), -1
        # Just above the guess: if that is enough, the step below, which is not, ends the search.
        step = min(max(math.ceil(guess), low + 1), high - 1)
        low, high = (step, high) if at(step) > 0 else (low, step)
        before, last, guesses = last, step, guesses + 1
    return high


def _secant(a: int, at_a: float, b: int, at_b: float) -> float:
    """Where the line through two points is 0, on log-levels; NaN where it is nowhere."""
    if at_a == at_b:
        return math.nan
    logarithm = math.log(b) + math.log(b / a) * at_b / (at_a - at_b)
    return math.exp(logarithm) if logarithm < 100 else math.nan
