"""Tests of a share by the number of yes reports, whose law is binomial: power and size are sums, not approximations."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from askance._arrays import FloatArray, IntArray
from askance.categories import Label
from askance.planning.hypothesis import Hypothesis
from askance.planning.yes_reports import YesReports

#: Up to so many respondents reports are counted; beyond, normal approximations hold to more digits than are shown.
MOST_COUNTED = 100_000
# So many n are tried at once.
_CHUNK = 4096
# How far the binomial quantile lies from the normal one, at most but for rare rates.
_NEAR = 3
# Rounding errors of the last digits decide nothing.
_DIGITS = 1e-9


@dataclass(frozen=True)
class CountTest:
    """A test that rejects where the number of yes reports, of n, is at most `lower` or at least `upper`.

    With λ₀ the rate of yes reports under the null and z of a side, "score" rejects above n λ₀ + z √(n λ₀(1 − λ₀)),
    "wald" where |k/n − λ₀| exceeds z times its own error √(k/n (1 − k/n)/n), "exact" where a side has probability α
    or less under the null.

    >>> share = Hypothesis(0.0, 0.2, "greater", 0.01, "score")
    >>> test = CountTest(share, YesReports("yes", 1 / 6, 2 / 3))
    >>> test.region(200)
    (-1, 46)
    >>> round(test.power(200), 6), round(test.size(200), 6)
    (0.988873, 0.012833)
    """

    hypothesis: Hypothesis
    reports: YesReports

    @property
    def null_rate(self) -> float:
        """λ₀."""
        return self.reports.rate(self.hypothesis.null)

    @property
    def rate(self) -> float:
        """λ at the guess."""
        return self.reports.rate(self.hypothesis.value)

    def region(self, n: int) -> tuple[int, int]:
        """The largest number that is too small (−1 where none is), and the smallest that is too large (or n + 1)."""
        lower, upper = self.regions(np.array([n]))
        return int(lower[0]), int(upper[0])

    def power(self, n: int) -> float:
        """P(rejected) at the guess."""
        return float(self.rejection(np.array([n]), self.rate)[0])

    def size(self, n: int) -> float:
        """P(rejected) under the null: the true level."""
        return float(self.rejection(np.array([n]), self.null_rate)[0])

    def regions(self, n: IntArray) -> tuple[IntArray, IntArray]:
        """`region` for every n, shape (len(n),) each."""
        side = self.hypothesis.alternative
        lower, upper = self._exact(n) if self.hypothesis.rule == "exact" else self._by_errors(n)
        return np.full_like(n, -1) if side == "greater" else lower, n + 1 if side == "less" else upper

    def rejection(self, n: IntArray, rate: float) -> FloatArray:
        """P(K ≤ lower) + P(K ≥ upper) for K ~ Binomial(n, rate), shape (len(n),)."""
        lower, upper = self.regions(n)
        return _at_most(lower, n, rate) + _at_most(n - upper, n, 1 - rate)

    def smallest_n(self, power: float) -> int | None:
        """The smallest n from which on the power is never below `power`; None where that is beyond `MOST_COUNTED`.

        Power is a sawtooth in n: it falls wherever one more report is needed to reject. Up to a bound every n is
        tried; from there on Hoeffding's inequality says that it is large enough.
        """
        last = self._last_in_doubt(power)
        if last > MOST_COUNTED:
            return None
        for end in range(last, 0, -_CHUNK):  # from above, where the last that is too small is found first
            n = np.arange(max(1, end - _CHUNK + 1), end + 1)
            short = self.rejection(n, self.rate) < power - _DIGITS
            if short.any():
                return int(n[short][-1]) + 1
        return 1

    def _last_in_doubt(self, power: float) -> int:
        """n beyond which power is certain.

        The border lies within a √n + 1 of n λ₀, where a is z/2 (√(λ(1 − λ)) ≤ ½), or √(log(1/α)/2) by Hoeffding for
        exact sides. The power is at least 1 − exp(−2 n t²), t = |λ − λ₀| − a/√n − 1/n.
        """
        exact = self.hypothesis.rule == "exact"
        border = math.sqrt(-math.log(self.hypothesis.side_level) / 2) if exact else self.hypothesis.quantile / 2
        distance = abs(self.rate - self.null_rate)
        sum_of_both = max(0.0, border) + math.sqrt(-math.log1p(-power) / 2)
        root = (sum_of_both + math.sqrt(sum_of_both**2 + 4 * distance)) / (2 * distance)
        return math.ceil(min(root**2, 2.0**62))

    def _by_errors(self, n: IntArray) -> tuple[IntArray, IntArray]:
        z, rate = self.hypothesis.quantile, self.null_rate
        if self.hypothesis.rule == "score":
            centre, reach = n * rate, z * np.sqrt(n * rate * (1 - rate))
        else:  # the two u with (u − λ₀)² = z² u(1 − u)/n
            q = z**2 / n
            centre = n * (2 * rate + q) / (2 * (1 + q))
            reach = math.copysign(1.0, z) * n * np.sqrt(q * (q + 4 * rate * (1 - rate))) / (2 * (1 + q))
        lower = np.ceil(centre - reach - _DIGITS) - 1
        upper = np.floor(centre + reach + _DIGITS) + 1
        return np.clip(lower, -1, n).astype(n.dtype), np.clip(upper, 0, n + 1).astype(n.dtype)

    def _exact(self, n: IntArray) -> tuple[IntArray, IntArray]:
        level, rate = self.hypothesis.side_level, self.null_rate
        return _largest_within(n, rate, level), n - _largest_within(n, 1 - rate, level)


@dataclass(frozen=True)
class Counted:
    """What is exact about a test of n reports.

    Attributes:
        report: the label of the reports that are counted.
        at_most: it rejects where they are so few (−1: never).
        at_least: or so many (n + 1: never).
        power: at the guess.
        size: under the null: how often it raises a false alarm.
    """

    report: Label
    at_most: int
    at_least: int
    power: float
    size: float

    @classmethod
    def of(cls, test: CountTest, n: int) -> Self:
        """Of a test."""
        return cls(test.reports.report, *test.region(n), test.power(n), test.size(n))


def _at_most(k: IntArray, n: IntArray, rate: float) -> FloatArray:
    """P(K ≤ k), also for k = −1."""
    from scipy.special import bdtr

    inside = bdtr(np.clip(k, 0, n).astype(np.float64), n, rate)
    return np.where(k < 0, 0.0, np.asarray(inside, dtype=np.float64))


def _largest_within(n: IntArray, rate: float, level: float) -> IntArray:
    """The largest k with P(K ≤ k) ≤ level, −1 where there is none, by bisection for all n at once.

    It starts near the normal quantile, where that brackets it.
    """
    from scipy.special import ndtri

    allowed = level * (1 + _DIGITS)
    centre = np.floor(n * rate + ndtri(level) * np.sqrt(n * rate * (1 - rate)))
    low, high = (np.clip(centre + shift, -1, n).astype(n.dtype) for shift in (-_NEAR, _NEAR))
    low = np.where(_at_most(low, n, rate) <= allowed, low, -1)  # P(K ≤ low) is within the level,
    high = np.where(_at_most(high, n, rate) > allowed, high, n)  # P(K ≤ high) is not
    while np.any(high - low > 1):
        middle = (low + high) // 2
        fits = _at_most(middle, n, rate) <= allowed
        low, high = np.where(fits, middle, low), np.where(fits, high, middle)
    return low
