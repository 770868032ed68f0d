"""What `askance demo` costs, three stories with pictures and a page: user and system seconds of a fresh interpreter."""

from __future__ import annotations

import subprocess
import sys
import tempfile

from benchmarks.comparisons.import_cost import children_seconds
from benchmarks.harness.comparison import Case, Comparison, Reading, Side, Subject, Target


def askance(case: Case, n: int) -> Reading:
    """The command as `make demo` calls it."""

    def read() -> float:
        before = children_seconds()
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", "askance", "demo", "--out", folder]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return children_seconds() - before

    return Reading(read)


COMPARISON = Comparison(
    name="demo",
    question="How long does `askance demo` take?",
    subject=Subject.FOOTPRINT,
    unit="s",
    cases=({"command": "askance demo"},),
    ours=Side("askance", askance),
    target=Target(60.0, at_least=False),
    better="less",
)
