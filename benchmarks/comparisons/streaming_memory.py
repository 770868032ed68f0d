"""Memory while 10⁸ answers are randomised and counted in chunks of 10⁶: it must not grow with their number.

Every reading is a process of its own, because a peak never falls. It is started by a worker that has not imported
NumPy: on Linux a process inherits the peak of the one that started it.
"""

from __future__ import annotations

import resource
import subprocess
import sys

from benchmarks.harness.comparison import Case, Comparison, Reading, Side, Subject, Target, no_warm_up

_CHUNK = 10**6
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
    import numpy as np

    from askance.channels import RandomizedResponse
    from askance.evidence import Tally

    channel = RandomizedResponse.for_privacy_level(1, outputs=16)
    rng = np.random.default_rng(7)
    tally, settled = Tally(channel), 0.0
    for chunk in range(_CHUNKS):
        truth = rng.integers(16, size=_CHUNK, dtype=np.uint8)
        tally = tally.add(channel.randomize(truth))
        if chunk + 1 == _WARM_UP_CHUNKS:
            settled = peak_megabytes()
    assert tally.n_observations == _CHUNK * _CHUNKS
    return peak_megabytes() - settled


def peak_megabytes() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6


COMPARISON = Comparison(
    name="memory",
    question="How much does the peak of memory grow while 10⁸ answers are noised and counted in chunks?",
    subject=Subject.FOOTPRINT,
    unit="MB",
    cases=({"reports": "10⁸ in chunks of 10⁶"},),
    ours=Side("askance", askance),
    target=Target(5.0, at_least=False),
    better="less",
)

if __name__ == "__main__":
    print(growth_while_streaming())
