"""How much is bet on every report: fixed before the first one, so that intervals hold at every look.

Whoever doubts a mean μ may bet on it. With every report a capital of 1 is multiplied by 1 + c z, where z, the value of
the report less μ in units of a standard deviation, has mean 0 if μ is the truth. The capital then is a martingale, and
by Ville's inequality it *ever* reaches 2/α with probability α/2 at most, however often one looks. What an interval
holds are the means against which no such bet has won 2/α, upwards or downwards.

After n reports the best size is about c = √(2 log(2/α) / n), and n is not known beforehand: the capital is dealt out
evenly over sizes whose logarithms are evenly spaced, from the best one at the planned n to the best one at the first
look. Between the two, intervals are 1.5 to 1.7 times as wide as those of a fixed n; before and after, they hold as
well and are wider.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from askance._arrays import FloatArray
from askance._checks import as_count
from askance.errors import InputError
from askance.estimation.freedom import normal_quantile

# Logarithms of sizes are so far apart at most; the best size may be off by several times as much without harm.
_STEP = 0.2
# Where nothing is said, looking begins at this part of the planned number of reports.
_FIRST = 50


@dataclass(frozen=True)
class Stakes:
    """Sizes of bets, fixed before anything is seen.

    Args:
        planned: reports at which intervals shall be narrow.
        first: reports at the first look; default: a fiftieth of `planned`.
        confidence: 1 − α, of all looks together.

    >>> stakes = Stakes(6000, first=100)
    >>> [round(stakes.reach(n) / 1.96, 2) for n in (100, 600, 6000)]  # against the interval of a fixed n
    [1.65, 1.54, 1.63]
    """

    planned: int
    first: int | None = None
    confidence: float = 0.95

    def __post_init__(self) -> None:
        normal_quantile(self.confidence)  # refuses what is none
        as_count(self.planned, "planned", minimum=1)
        if self.first is not None and as_count(self.first, "first", minimum=1) > self.planned:
            raise InputError(
                argument="first",
                got=self.first,
                allowed=f"at most {self.planned}, the planned number of reports",
                remedy="Give the number of reports at the first look, or leave it out.",
            )

    @property
    def first_look(self) -> int:
        """Reports from which on intervals are narrow."""
        return max(self.planned // _FIRST, 1) if self.first is None else self.first

    @property
    def log_win(self) -> float:
        """log(2/α): what a bet against the truth hardly ever wins."""
        return math.log(2 / (1 - self.confidence))

    @cached_property
    def sizes(self) -> FloatArray:
        """c, each with an equal part of the capital, shape (J,)."""
        small, large = (0.5 * math.log(2 * self.log_win / n) for n in (self.planned, self.first_look))
        return np.asarray(np.exp(np.linspace(small, large, 1 + math.ceil((large - small) / _STEP))))

    def reach(self, n: int) -> float:
        """How many standard errors an interval reaches where the estimate is normal, after n reports.

        It is the r at which bets on a normal mean have won: (1/J) Σ exp(c √n r − c² n/2) = 2/α.
        """
        from scipy.optimize import brentq

        steps = self.sizes * math.sqrt(n)
        highest = float(((self.log_win + math.log(len(steps))) / steps + steps / 2).min())  # one bet alone has won
        return float(brentq(lambda r: self.excess(steps * r - steps**2 / 2), 0.0, highest + 1e-9, xtol=1e-9))

    def excess(self, log_capital: FloatArray) -> Any:
        """By how much the mean of the capitals of all sizes, shape (J, …), exceeds 2/α, in logarithms, shape (…)."""
        largest = log_capital.max(axis=0)
        return largest + np.log(np.exp(log_capital - largest).mean(axis=0)) - self.log_win
