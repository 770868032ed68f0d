"""How far the fits of `mbi-fields` are from the true tables: mean total variation over tables and random fields."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from benchmarks.comparisons.mbi_fields import CASES, MBI, Tables, askance_fit, mbi_fit
from benchmarks.harness.comparison import Case, Comparison, Reading, Side

# Fields that the distance is averaged over: fewer where one fit takes mbi ten seconds.
_FIELDS, _LARGE_FIELDS = 20, 4


def _mean_distance(fit: Callable[[Tables], Any], case: Case) -> Reading:
    @cache  # the same in every repetition
    def read() -> float:
        seeds = range(_LARGE_FIELDS if str(case["field"]).startswith("10 ") else _FIELDS)
        distances = [(tables := Tables(case, seed)).distance(fit(tables)) for seed in seeds]
        return sum(distances) / len(distances)

    return Reading(read)


def askance(case: Case, n: int) -> Reading:
    """Ours."""
    return _mean_distance(askance_fit, case)


def mbi(case: Case, n: int) -> Reading:
    """Theirs."""
    return _mean_distance(mbi_fit, case)


COMPARISON = Comparison(
    name="mbi-fields-distance",
    unit="total variation",
    cases=CASES,
    ours=Side("askance", askance),
    peers=(Side("mbi", mbi, MBI),),
)
