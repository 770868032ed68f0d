"""What a check is: a function that yields figures, each with the range it must lie in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from askance.scale.shipping import Sender


@dataclass(frozen=True)
class Figure:
    """One measured number and the range the issue asks for."""

    check: str
    case: str
    value: float
    low: float
    high: float
    note: str = ""

    @property
    def met(self) -> bool:
        return self.low <= self.value <= self.high


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
