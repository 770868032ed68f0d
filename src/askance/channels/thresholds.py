"""Integer thresholds: the probabilities a sampler really has."""

from __future__ import annotations

import decimal
import math
from collections.abc import Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Powers:
    """Π a_i^n_i for fractions a_i: exact, and compact where exponents are large.

    >>> Powers(((Fraction(3, 2), 2), (Fraction(4), 1))).fraction()
    Fraction(9, 1)
    """

    factors: tuple[tuple[Fraction, int], ...]

    def fraction(self) -> Fraction:
        """The product, worked out."""
        return math.prod((base**exponent for base, exponent in self.factors), start=Fraction(1))

    @property
    def bits(self) -> int:
        """About how long the product is when worked out."""
        return sum(base.numerator.bit_length() * exponent for base, exponent in self.factors)

    def log(self) -> decimal.Decimal:
        """Its logarithm to 60 digits, rounded up: not below the true one, and above it by at most 1e-40."""
        total = decimal.Decimal(0)
        for base, exponent in self.factors:
            total = _DIGITS.add(total, _DIGITS.multiply(_log(base), decimal.Decimal(exponent)))
        # 60 digits of a logarithm that is taken at most 2²⁴ times leave an error far below this.
        return _DIGITS.add(total, decimal.Decimal("1e-41"))

    def level(self) -> float:
        """Its logarithm as a float that is safe to state."""
        return _level_rounded_up(self.log())


def _log(ratio: Fraction) -> decimal.Decimal:
    return _DIGITS.ln(as_digits(ratio))


def as_digits(value: Fraction) -> decimal.Decimal:
    """A fraction to 60 digits."""
    return _DIGITS.divide(decimal.Decimal(value.numerator), decimal.Decimal(value.denominator))


def log_rounded_up(ratio: Fraction) -> float:
    """The smallest float that is at least log(ratio): a level that is safe to state.

    >>> log_rounded_up(Fraction(1))
    0.0
    """
    return _level_rounded_up(_log(ratio))


def _level_rounded_up(digits: decimal.Decimal) -> float:
    nearest = float(digits)
    # The slack absorbs the rounding of the 60-digit logarithm and nothing else: a level of 1 stays 1.
    exact = Fraction(digits)
    if Fraction(nearest) < exact * (1 - Fraction(1, 10**30)) - Fraction(1, 10**40):
        return math.nextafter(nearest, math.inf)
    return nearest


def exp_rounded_down(level: Fraction) -> Fraction:
    """A rational at most e^level, and below it by less than 1e-50 of it."""
    digits = _DIGITS.exp(as_digits(level))
    return Fraction(digits) * (1 - Fraction(1, 10**55))


# -- what a level allows -----------------------------------------------------------------------------------------------
# A level is stated as a float, and written as the shortest decimal that is read as this float, which lies a hair beside
# it. What is built stays below both; what is compared was rounded once, upwards, and is held against the float.


def largest_odds(level: Fraction) -> Fraction:
    """What to build for: a rational at most e^level, of the level as written and of its float alike."""
    return exp_rounded_down(min(level, Fraction(float(level))))


def exceeds(level: float, limit: Fraction | float) -> bool:
    """Whether a level, as `log_rounded_up` states it, is above the one that was asked for.

    This is the exact comparison of the ratio with e^limit, for the limit as the float it is stated as: the smallest
    float that is at least log(ratio) is above another float exactly where log(ratio) is. So a channel is always within
    the level that it states, in whatever way this level was written down.

    >>> level = log_rounded_up(Fraction(3))
    >>> exceeds(level, level), exceeds(level, Fraction(repr(level))), exceeds(level, math.nextafter(level, 0))
    (False, False, True)
    """
    return level > float(limit)
