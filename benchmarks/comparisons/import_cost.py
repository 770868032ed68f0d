"""What `import askance` costs beyond `import numpy`: user and system seconds of fresh interpreters."""

from __future__ import annotations

import resource
import subprocess
import sys
from statistics import median

from benchmarks.harness.comparison import Case, Comparison, Reading, Side, Subject, Target

_PAIRS = 3


def askance(case: Case, n: int) -> Reading:
    """The median of a few alternating differences."""

    def read() -> float:
        return median(
            _cpu_seconds(f"import numpy; {case['statement']}") - _cpu_seconds("import numpy") for _ in range(_PAIRS)
        )

    return Reading(read)


def _cpu_seconds(code: str) -> float:
    before = children_seconds()
    subprocess.run([sys.executable, "-c", code], check=True)
    return children_seconds() - before


def children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


COMPARISON = Comparison(
    name="import",
    question="How long does `import askance` take beyond `import numpy`?",
    subject=Subject.FOOTPRINT,
    unit="s",
    cases=tuple({"statement": code} for code in ("import askance", "from askance import RandomizedResponse")),
    ours=Side("askance", askance),
    target=Target(0.3, at_least=False),
    better="less",
)
