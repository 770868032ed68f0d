"""Memory while 10⁶ respondents' 1024 statistics are noised and summed in chunks of 10⁴: bounded by the chunk.

As for `memory`, every reading is a process of its own, started by a worker that has not imported NumPy.
"""

from __future__ import annotations

import subprocess
import sys

from benchmarks.comparisons.statistics_wide import wide_channel
from benchmarks.comparisons.streaming_memory import peak_megabytes
from benchmarks.harness.comparison import Case, Comparison, Reading, Side, Subject, Target, no_warm_up

_CHUNK = 10**4
_CHUNKS = 100
_WARM_UP_CHUNKS = 3


def askance(case: Case, n: int) -> Reading:
    """Growth of the peak after the first chunks, in MB."""

    def read() -> float:
        child = subprocess.run([sys.executable, "-m", __name__], check=True, capture_output=True, text=True)
        return float(child.stdout)

    return Reading(read, warm_up=no_warm_up)


def growth_while_streaming() -> float:
    """Stream, and return by how many MB the peak of this process grew after the warm-up."""
    from askance import Tally

    channel, truth = wide_channel(_CHUNK)
    tally, settled = Tally(channel), 0.0
    for chunk in range(_CHUNKS):
        tally = tally.add(channel.randomize(truth))
        if chunk + 1 == _WARM_UP_CHUNKS:
            settled = peak_megabytes()
    assert tally.n_observations == _CHUNK * _CHUNKS
    return peak_megabytes() - settled


COMPARISON = Comparison(
    name="statistics-memory",
    question=(
        "How much does the peak of memory grow while 10⁶ respondents' 1024 statistics are noised and summed in chunks?"
    ),
    subject=Subject.FOOTPRINT,
    unit="MB",
    cases=({"reports": "10⁶ of 1024 bits in chunks of 10⁴"},),
    ours=Side("askance", askance),
    target=Target(5.0, at_least=False),
    better="less",
)

if __name__ == "__main__":
    print(growth_while_streaming())
