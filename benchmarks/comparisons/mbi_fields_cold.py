"""The first fit of `mbi-fields` in a fresh interpreter, imports and compilation included: user and system seconds."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.comparisons.import_cost import children_seconds
from benchmarks.comparisons.mbi_fields import CASES, MBI, Tables, askance_fit, mbi_fit
from benchmarks.harness.comparison import Case, Comparison, Reading, Side, Subject, no_warm_up


def _cost_of(argument: str) -> float:
    before = children_seconds()
    subprocess.run([sys.executable, "-m", __name__, *argument.split()], check=True)
    return children_seconds() - before


def _first_fit(who: str, case: Case) -> Reading:
    """The cost of a process with the fit, less that of one that makes the tables only."""
    number = CASES.index(case)
    # Once for the smallest case, so that no first reading pays for fetching packages from the disk.
    warm_up = (lambda: _cost_of(f"{who} 0")) if number == 0 else no_warm_up
    return Reading(lambda: _cost_of(f"{who} {number}") - _cost_of(f"nobody {number}"), warm_up)


def askance(case: Case, n: int) -> Reading:
    """Ours."""
    return _first_fit("askance", case)


def mbi(case: Case, n: int) -> Reading:
    """Theirs."""
    return _first_fit("mbi", case)


COMPARISON = Comparison(
    name="mbi-fields-cold",
    question="How long does the first such fit take in a fresh interpreter?",
    subject=Subject.FIELDS,
    unit="s",
    cases=CASES,
    ours=Side("askance", askance),
    peers=(Side("mbi", mbi, MBI),),
    better="less",
)

if __name__ == "__main__":
    _tables = Tables(CASES[int(sys.argv[2])])
    if sys.argv[1] != "nobody":
        (askance_fit if sys.argv[1] == "askance" else mbi_fit)(_tables)
