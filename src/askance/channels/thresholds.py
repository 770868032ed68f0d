"""Integer thresholds: the probabilities a sampler really has."""

from __future__ import annotations

import decimal
import math
from collections.abc import Sequence
from fractions import Fraction

from askance._kernels.draw import TOTAL

_DIGITS = decimal.Context(prec=60)


def apportion(probabilities: Sequence[Fraction], total: int = TOTAL) -> list[int]:
    """Integers in proportion to the probabilities that sum to `total`, by largest remainders.

    Zeros stay 0, and what is positive stays positive, so that no possible observation becomes impossible.

    >>> apportion([Fraction(2, 3), Fraction(1, 3), Fraction(0)], total=8)
    [5, 3, 0]
    """
    exact = [p * total for p in probabilities]
    units = [max(math.floor(e), 1) if e > 0 else 0 for e in exact]
    missing = total - sum(units)
    if missing < 0:  # the ones given to tiny probabilities come out of the largest
        units[units.index(max(units))] += missing
    by_remainder = sorted(range(len(exact)), key=lambda i: units[i] - exact[i])
    for i in by_remainder[: max(missing, 0)]:
        units[i] += 1
    return units


def log_rounded_up(ratio: Fraction) -> float:
    """The smallest float that is at least log(ratio): a level that is safe to state.

    >>> log_rounded_up(Fraction(1))
    0.0
    """
    digits = _DIGITS.ln(_DIGITS.divide(decimal.Decimal(ratio.numerator), decimal.Decimal(ratio.denominator)))
    nearest = float(digits)
    # 1e-30 absorbs the rounding of the 60-digit logarithm and nothing else.
    if Fraction(nearest) < Fraction(digits) - Fraction(1, 10**30):
        return math.nextafter(nearest, math.inf)
    return nearest


def exp_rounded_down(level: Fraction) -> Fraction:
    """A rational at most e^level, and below it by less than 1e-50 of it."""
    digits = _DIGITS.exp(_DIGITS.divide(decimal.Decimal(level.numerator), decimal.Decimal(level.denominator)))
    return Fraction(digits) * (1 - Fraction(1, 10**55))
