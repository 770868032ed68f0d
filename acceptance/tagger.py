"""Taggers from counts: accuracy on CoNLL-2000, and on other corpora beside it."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np

from acceptance.check import Figure, check
from askance.text.corpus.corpus import Corpus
from askance.text.corpus.region_sampling import sample_regions
from askance.text.corpus.regions import RegionCounts
from askance.text.io.tagged_text import read_tagged
from askance.text.tagger.tagger import CountTagger, TaggerMethod

# Seeds of the regions: at least so many, at most so many.
LEAST_SEEDS, MOST_SEEDS = 5, 10
WINDOWS: tuple[int | None, ...] = (5, 10, 20, None)
MOMENTS = {5: 0.927, 10: 0.933, 20: 0.935, None: 0.934}
NODE = {5: 0.931, 10: 0.940, 20: 0.945, None: 0.945}
# Of 44 tags, so many are asked for in every region.
ASKED = {2: 0.83, 5: 0.875}
CONLL = ("conll2000.train.tsv.gz", "conll2000.test.tsv.gz")
OTHERS = {
    "gold Wall Street Journal": ("ptb_sample.wsj01.tsv.gz", "ptb_sample.wsj00.tsv.gz"),
    "UD English EWT": ("ud.en_ewt.train.tsv.gz", "ud.en_ewt.test.tsv.gz"),
    "UD French Sequoia": ("ud.fr_sequoia.train.tsv.gz", "ud.fr_sequoia.test.tsv.gz"),
}


@cache
def corpora(names: tuple[str, str]) -> tuple[Corpus, Corpus]:
    """Training and test sentences; all that is learned comes from the first."""
    folder = os.environ.get("ASKANCE_DATA")
    if not folder:
        raise SystemExit("the tagger's checks need the data: set ASKANCE_DATA to their folder.")
    train, test = (read_tagged(Path(folder) / name) for name in names)
    return train, test


def seeds_of(rng: np.random.Generator, simulations: int) -> list[int]:
    count = min(max(simulations, LEAST_SEEDS), MOST_SEEDS)
    return [int(seed) for seed in rng.integers(2**32, size=count)]


def scores(
    names: tuple[str, str], method: TaggerMethod, seeds: list[int], window: int | None, tags: int | str = "all"
) -> tuple[list[float], list[float]]:
    """Test accuracy for every seed, and processor seconds of training."""
    train, test = corpora(names)
    found, seconds = [], []
    for seed in seeds:
        regions = sample_regions(train, window=window, tags=tags, rng=np.random.default_rng(seed))
        tagger = CountTagger(method).fit(regions)
        assert tagger.training is not None
        found.append(tagger.score(test))
        seconds.append(tagger.training.seconds)
    return found, seconds


def labelled_scores(names: tuple[str, str], seeds: list[int], window: int | None) -> list[float]:
    """The same tokens, each with its label."""
    train, test = corpora(names)
    found = []
    for seed in seeds:
        regions = sample_regions(train, window=window, tags="all", rng=np.random.default_rng(seed))
        covered = np.zeros(train.n_tokens + 1, dtype=np.int64)
        np.add.at(covered, regions.start, 1)
        np.add.at(covered, regions.end, -1)
        chosen = np.cumsum(covered)[:-1] > 0
        labels = RegionCounts.of_labels(train).take(chosen)
        found.append(CountTagger("moments").fit(labels).score(test))
    return found


def window_name(window: int | None) -> str:
    return "sentence" if window is None else f"window {window}"


def figure_of(name: str, case: str, found: list[float], seconds: list[float], low: float = -math.inf) -> Figure:
    note = f"{len(found)} seeds, {min(found):.4f} to {max(found):.4f}"
    if seconds:
        note += f", {np.median(seconds):.1f} s of processor time to train"
    return Figure(name, case, float(np.mean(found)), low, math.inf, note)


@check("tagger-conll")
def tagger_conll(rng: np.random.Generator, simulations: int) -> Iterator[Figure]:
    """CoNLL-2000, one region per sentence, all tags: moments, likelihood of counts, and labels of the same tokens."""
    seeds = seeds_of(rng, simulations)
    for window in WINDOWS:
        for method, asked in (("moments", MOMENTS), ("node", NODE)):
            found, seconds = scores(CONLL, method, seeds, window)  # type: ignore[arg-type]
            yield figure_of("tagger-conll", f"{window_name(window)}, {method}", found, seconds, asked[window])
        yield figure_of("tagger-conll", f"{window_name(window)}, labelled", labelled_scores(CONLL, seeds, window), [])


@check("tagger-asked")
def tagger_asked(rng: np.random.Generator, simulations: int) -> Iterator[Figure]:
    """CoNLL-2000, window 5, a few tags drawn anew for every region."""
    seeds = seeds_of(rng, simulations)
    for tags, low in ASKED.items():
        found, seconds = scores(CONLL, "node", seeds, 5, tags)
        yield figure_of("tagger-asked", f"window 5, {tags} tags asked, node", found, seconds, low)
        found, seconds = scores(CONLL, "moments", seeds, 5, tags)
        yield figure_of("tagger-asked", f"window 5, {tags} tags asked, moments", found, seconds)


@check("tagger-others")
def tagger_others(rng: np.random.Generator, simulations: int) -> Iterator[Figure]:
    """The same settings on corpora that nothing was chosen on."""
    seeds = seeds_of(rng, simulations)
    for corpus, names in OTHERS.items():
        for window in WINDOWS:
            found, seconds = scores(names, "node", seeds, window)
            yield figure_of("tagger-others", f"{corpus}, {window_name(window)}, node", found, seconds)
            yield figure_of(
                "tagger-others", f"{corpus}, {window_name(window)}, labelled", labelled_scores(names, seeds, window), []
            )
