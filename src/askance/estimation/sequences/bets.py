"""Bets on a mean between 0 and 1, settled with counts alone.

Reports have values β with mean μ, each between two numbers a and b that are known beforehand. A bet of size c that μ is
larger multiplies its capital by

    1 + c κ (β − μ) / √((μ − a)(b − μ))

with every report, never by less than 0: where c is so large that it could, it is cut. κ is the ratio of that root, the
largest standard deviation possible, to one that is guessed beforehand. Every factor falls with μ, and so does the
capital: the means it leaves possible are an interval, whose lower end is where the capital is 2/α. Bets that μ is
smaller are the same for 1 − β.

With sampling weights w ≤ w_max the factor is 1 + c κ w (β − μ)/√…: the weighted mean is where w (β − μ) has mean 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from askance._arrays import FloatArray
from askance.estimation.sequences.stakes import Stakes

# The largest part of a capital that one report can take.
_MOST = 0.98
# Means are told from the ends of their range down to this part of it.
_TINY = 1e-15


class Bounds(NamedTuple):
    """Means that are not contradicted; where all between 0 and 1 are, both ends are the one that is closer.

    Attributes:
        log_doubt: the logarithm of what bets against all of these means have won; it is x or more, at any look, with
            probability 2 e^−x at most.
    """

    lower: float
    upper: float
    log_doubt: float


@dataclass(frozen=True, eq=False)
class BoundedValues:
    """Values of reports, unbiased for one mean; arrays of shape (r,), equal reports counted together.

    Attributes:
        values: β.
        counts: how many reports have it.
        low: a ≤ 0, the smallest value through the same channel.
        high: b ≥ 1, the largest.
        scale: κ; more for reports that say more.
        precision: how much a report counts for the estimate.
        weights: sampling weights.
        largest_weight: w_max, known beforehand.
    """

    values: FloatArray
    counts: FloatArray
    low: FloatArray
    high: FloatArray
    scale: FloatArray
    precision: FloatArray
    weights: FloatArray
    largest_weight: float = 1.0

    @property
    def estimate(self) -> tuple[float, float]:
        """The mean of β, cut to [0, 1], and its standard error; NaN where there is nothing."""
        scaled = self.weights * self.precision
        total = float(self.counts @ scaled)
        if not total:
            return math.nan, math.nan
        mean = float((self.counts * scaled) @ self.values) / total
        return min(max(mean, 0.0), 1.0), math.sqrt(float(self.counts @ (scaled * (self.values - mean)) ** 2)) / total

    def bounds(self, stakes: Stakes) -> Bounds:
        """The means against which nobody has won."""
        mirrored = self.mirrored()
        doubt = float(max(self.excess(1.0, stakes), mirrored.excess(1.0, stakes))) + stakes.log_win
        return Bounds(self._lower(stakes), 1 - mirrored._lower(stakes), doubt)

    def _lower(self, stakes: Stakes) -> float:
        from scipy.optimize import brentq

        if self.excess(0.0, stakes) <= 0:
            return 0.0
        if self.excess(1.0, stakes) >= 0:
            return 1.0
        # A little lower than the root that is found to so many digits.
        return max(float(brentq(self.excess, 0.0, 1.0, args=(stakes,), xtol=1e-12)) - 1e-11, 0.0)

    def mirrored(self) -> BoundedValues:
        """The same of 1 − μ: what is bet on it, is bet that μ is smaller."""
        return replace(self, values=1 - self.values, low=1 - self.high, high=1 - self.low)

    def excess(self, mean: float, stakes: Stakes) -> Any:
        """log(capital) − log(2/α) of bets that the mean is larger, which falls with it; counts may be (r, looks)."""
        width = self.high - self.low
        q = np.clip((mean - self.low) / width, _TINY, 1 - _TINY)
        fraction = stakes.sizes[:, None] * (self.scale * np.sqrt(q / (1 - q)))
        np.minimum(fraction, _MOST / self.largest_weight, out=fraction)
        gain = self.weights * ((self.values - self.low) / width - q) / q
        return stakes.excess(np.log1p(fraction * gain) @ self.counts)
