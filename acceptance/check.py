"""What a check is: a function that yields figures, each with the range it must lie in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil, floor
from typing import TypeAlias

import numpy as np

from askance.scale.shipping import Sender

#: What intervals promise.
COVERAGE = 0.95
# Last digits of a limit times a number of surveys.
_LAST = 1e-6


@dataclass(frozen=True)
class Figure:
    """One measured number and the range that is asked for.

    Attributes:
        check: which check it is of.
        case: what was measured.
        value: the number.
        low, high: the range.
        note: what else is worth knowing.
        surveys: of how many surveys it is the share whose 95 % intervals hold the truth; None: it is another number.
    """

    check: str
    case: str
    value: float
    low: float
    high: float
    note: str = ""
    surveys: int | None = None

    @property
    def met(self) -> bool:
        return self.low <= self.value <= self.high

    @property
    def false_alarm(self) -> float | None:
        """The probability to leave the range by chance, were the true rate 95 %: binomial, both sides."""
        if self.surveys is None:
            return None
        from scipy.stats import binom

        fewest, most = ceil(self.low * self.surveys - _LAST), floor(self.high * self.surveys + _LAST)
        return float(binom.cdf(fewest - 1, self.surveys, COVERAGE) + binom.sf(most, self.surveys, COVERAGE))


#: Called with a generator and the number of simulations.
Check: TypeAlias = Callable[[np.random.Generator, int], Iterator[Figure]]
#: Called with an engine too, on which its surveys run: see `acceptance.surveys`.
SurveyCheck: TypeAlias = Callable[[np.random.Generator, int, Sender], Iterator[Figure]]

CHECKS: dict[str, SurveyCheck] = {}


def check(name: str) -> Callable[[Check], Check]:
    """Enter a check that runs in this process, whatever the engine."""

    def enter(function: Check) -> Check:
        CHECKS[name] = lambda rng, simulations, engine: function(rng, simulations)
        return function

    return enter


def survey_check(name: str) -> Callable[[SurveyCheck], SurveyCheck]:
    """Enter a check whose surveys run on an engine."""

    def enter(function: SurveyCheck) -> SurveyCheck:
        CHECKS[name] = function
        return function

    return enter
