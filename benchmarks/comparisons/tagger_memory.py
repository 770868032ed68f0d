"""Peak memory of training on a million tokens, counts of all tags in windows of ten, one region per sentence.

Sentences are made up: words drawn from 60,000 types by Zipf's law, each with one of 40 tags, or two. As for `memory`,
every reading is a process of its own.
"""

from __future__ import annotations

import subprocess
import sys

from benchmarks.comparisons.streaming_memory import peak_megabytes
from benchmarks.harness.comparison import Case, Comparison, Reading, Side, Subject, Target, no_warm_up

_TOKENS, _TYPES, _TAGS, _LENGTH = 1_000_000, 60_000, 40, 20


def askance(case: Case, n: int) -> Reading:
    """The peak, in MB."""

    def read() -> float:
        child = subprocess.run([sys.executable, "-m", __name__], check=True, capture_output=True, text=True)
        return float(child.stdout)

    return Reading(read, warm_up=no_warm_up)


def peak_of_training() -> float:
    """Train, and return the peak of this process."""
    import numpy as np

    from askance.text import Corpus, CountTagger, sample_regions

    rng = np.random.default_rng(0)
    drawn = rng.zipf(1.3, 4 * _TOKENS) - 1
    types = drawn[drawn < _TYPES][:_TOKENS]
    letters = np.array(list("abcdefghijklmnopqrst"))
    words = ["".join(letters[[(t // 20**i) % 20 for i in range(4)]]) + str(t % 7) for t in range(_TYPES)]
    tags = np.where(rng.random(len(types)) < 0.9, types % _TAGS, (types * 7) % _TAGS)
    rows = types.reshape(-1, _LENGTH).tolist()
    names = [f"T{k}" for k in range(_TAGS)]
    labels = tags.reshape(-1, _LENGTH).tolist()
    corpus = Corpus.of([[words[t] for t in row] for row in rows], tags=[[names[k] for k in row] for row in labels])
    CountTagger("node").fit(sample_regions(corpus, window=10, tags="all", rng=rng))
    return peak_megabytes()


COMPARISON = Comparison(
    name="tagger-memory",
    question="How much memory does training on a million tokens take?",
    subject=Subject.FOOTPRINT,
    unit="MB",
    cases=({"tokens": "10⁶ in 50,000 sentences"},),
    ours=Side("askance", askance),
    target=Target(2000.0, at_least=False),
    better="less",
)

if __name__ == "__main__":
    print(peak_of_training())
