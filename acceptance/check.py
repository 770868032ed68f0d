"""What a check is: a function that yields figures, each with the range it must lie in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np


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


Check: TypeAlias = Callable[[np.random.Generator, int], Iterator[Figure]]

CHECKS: dict[str, Check] = {}


def check(name: str) -> Callable[[Check], Check]:
    """Enter a check under a name; it is called with a generator and the number of simulations."""

    def enter(function: Check) -> Check:
        CHECKS[name] = function
        return function

    return enter
