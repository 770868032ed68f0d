"""Integer thresholds: the probabilities a sampler really has."""

from __future__ import annotations

import decimal
import math
from collections.abc import Sequence
from fractions import Fraction

from askance._kernels.draw import TOTAL
from askance.errors import ProbabilityError

_DIGITS = decimal.Context(prec=60)


def apportion(probabilities: Sequence[Fraction], total: int = TOTAL) -> list[int]:
    """Integers in proportion to the probabilities that sum to `total`, by largest remainders.

    Zeros stay 0, and what is positive stays positive, so that no possible observation becomes impossible.

    >>> apportion([Fraction(2, 3), Fraction(1, 3), Fraction(0)], total=8)
    [5, 3, 0]
    """
    common = math.lcm(*(p.denominator for p in probabilities))
    scaled = [p.numerator * (common // p.denominator) * total for p in probabilities]
    units, remainders = [], []
    for value in scaled:
        whole, rest = divmod(value, common)
        raised = whole == 0 and rest > 0  # what is positive stays positive
        units.append(1 if raised else whole)
        remainders.append(rest - common if raised else rest)
    missing = total - sum(units)
    if missing < 0:
        _take_from_the_largest(units, -missing)
    elif missing:
        for i in sorted(range(len(units)), key=remainders.__getitem__, reverse=True)[:missing]:
            units[i] += 1
    return units


def _take_from_the_largest(units: list[int], excess: int) -> None:
    """What was given to tiny probabilities comes out of the largest, which stay positive."""
    for i in sorted(range(len(units)), key=units.__getitem__, reverse=True):
        taken = max(min(excess, units[i] - 1), 0)
        units[i] -= taken
        excess -= taken
    if excess:
        raise ProbabilityError(
            f"{sum(unit > 0 for unit in units)} positive probabilities do not fit {sum(units) - excess} thresholds.",
            remedy="Give fewer outcomes, or larger probabilities.",
        )


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
