"""Small sentences of three tags, and counts of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from askance.text import (
    Corpus,
    RegionCounts,
    sample_regions,
)

TAGS = ("DT", "NN", "VB")
WORDS = {
    "DT": ["the", "a", "this"],
    "NN": ["dog", "cat", "dogness", "catness", "house"],
    "VB": ["runs", "sits", "eats"],
}


def corpus(sentences: int, seed: int) -> Corpus:
    """Sentences whose words have one tag each, but for "house", which is a verb now and then."""
    rng = np.random.default_rng(seed)
    words, tags = [], []
    for _ in range(sentences):
        own = [TAGS[k] for k in rng.integers(3, size=rng.integers(1, 9))]
        row = [str(rng.choice(WORDS[tag])) for tag in own]
        tags.append(["VB" if w == "house" and rng.random() < 0.2 else t for w, t in zip(row, own, strict=True)])
        words.append(row)
    return Corpus.of(words, tags=tags, tagset=TAGS)


TRAIN, TEST = corpus(300, 0), corpus(100, 1)


def counted(window: int | None = 4, tags: Any = "all") -> RegionCounts:
    return sample_regions(TRAIN, window=window, tags=tags, rng=np.random.default_rng(2))
