"""How far the fits of `mbi-fields` are from the true tables: mean total variation over tables and random fields.

Every repetition has random fields of its own, the same for both.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

from benchmarks.comparisons.mbi_fields import CASES, MBI, Tables, askance_fit, mbi_fit
from benchmarks.harness.comparison import Case, Comparison, Reading, Side, Subject, no_warm_up

# Fields that the distance of one repetition is averaged over: fewer where one fit takes mbi ten seconds.
_FIELDS, _LARGE_FIELDS = 7, 2


def _mean_distance(fit: Callable[[Tables], Any], case: Case) -> Reading:
    fields = _LARGE_FIELDS if str(case["field"]).startswith("10 ") else _FIELDS
    seeds = count()

    def read() -> float:
        distances = [(tables := Tables(case, next(seeds))).distance(fit(tables)) for _ in range(fields)]
        return sum(distances) / fields

    return Reading(read, warm_up=no_warm_up)


def askance(case: Case, n: int) -> Reading:
    """Ours."""
    return _mean_distance(askance_fit, case)


def mbi(case: Case, n: int) -> Reading:
    """Theirs."""
    return _mean_distance(mbi_fit, case)


COMPARISON = Comparison(
    name="mbi-fields-distance",
    question="How far are the fitted tables from the true ones, in total variation?",
    subject=Subject.FIELDS,
    unit="total variation",
    cases=CASES,
    ours=Side("askance", askance),
    peers=(Side("mbi", mbi, MBI),),
    better="less",
)
