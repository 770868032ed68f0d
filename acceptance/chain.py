"""Chains from counts: accuracy on CoNLL-2000 and other corpora, from labels, from both, and where people miscount."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from acceptance.check import Figure, check
from acceptance.tagger import CONLL, OTHERS, WINDOWS, corpora, figure_of, scores, seeds_of, window_name
from askance.text.corpus.region_sampling import sample_regions
from askance.text.corpus.regions import RegionCounts
from askance.text.counts.miscounts import Miscounts, off_by_one
from askance.text.tagger.tagger import CountTagger

CHAIN = {5: 0.962, 10: 0.970, 20: 0.970, None: 0.968}
LABELS = 0.977
# Accuracies differ by whole tokens, of which no test file has 10⁹: any gain at all.
ABOVE_ZERO = 1e-9
CORPORA = {**OTHERS, "UD Greek GDT": ("ud.el_gdt.train.tsv.gz", "ud.el_gdt.test.tsv.gz")}
# Sentences with labels, and with counts of a window of ten.
LABELLED, COUNTED, MIXED_WINDOW = 100, 1000, 10
# The share of counts that are off by one, of stretches that two people count, and how many tags are asked for where
# not all are.
WRONG, TWICE, ASKED = 0.1, 0.1, 5
MISCOUNT_WINDOWS = (5, 10)


@check("chain-conll")
def chain_conll(rng: np.random.Generator, simulations: int) -> Iterator[Figure]:
    """CoNLL-2000, one region per sentence, all tags, the tagger as it comes."""
    seeds = seeds_of(rng, simulations)
    for window in WINDOWS:
        found, seconds = scores(CONLL, "auto", seeds, window)
        yield figure_of("chain-conll", f"{window_name(window)}, auto", found, seconds, CHAIN[window])


@check("chain-labels")
def chain_labels(rng: np.random.Generator, simulations: int) -> Iterator[Figure]:
    """CoNLL-2000, all labels: features of the word, and of its neighbours too; nothing is drawn."""
    train, test = corpora(CONLL)
    labels = RegionCounts.of_labels(train)
    alone, around = (CountTagger("chain", radius=radius).fit(labels) for radius in (0, 1))
    accuracy = [tagger.score(test) for tagger in (alone, around)]
    for radius, tagger, value, low in zip((0, 1), (alone, around), accuracy, (LABELS, -math.inf), strict=True):
        assert tagger.training is not None
        note = f"{tagger.training.seconds:.1f} s of processor time to train"
        yield Figure("chain-labels", f"all labels, radius {radius}", value, low, math.inf, note)
    yield Figure(
        "chain-labels", "all labels, radius 1 less radius 0", accuracy[1] - accuracy[0], ABOVE_ZERO, math.inf, "once"
    )


@check("chain-others")
def chain_others(rng: np.random.Generator, simulations: int) -> Iterator[Figure]:
    """Corpora that nothing was chosen on: the chain, and what it gains on the model without edges, seed by seed."""
    seeds = seeds_of(rng, simulations)
    for corpus, names in CORPORA.items():
        for window in WINDOWS:
            case = f"{corpus}, {window_name(window)}"
            chain, seconds = scores(names, "chain", seeds, window)
            yield figure_of("chain-others", f"{case}, chain", chain, seconds)
            node, _ = scores(names, "node", seeds, window)
            yield figure_of("chain-others", f"{case}, chain less node", _differences(chain, node), [], 0.0)


@check("chain-mixed")
def chain_mixed(rng: np.random.Generator, simulations: int) -> Iterator[Figure]:
    """A few labelled sentences of CoNLL-2000 and counts of others, together and each alone."""
    found: dict[str, list[float]] = {"labels alone": [], "counts alone": [], "both": []}
    train, test = corpora(CONLL)
    for seed in seeds_of(rng, simulations):
        own = np.random.default_rng(seed)
        drawn = own.permutation(len(train))[: LABELLED + COUNTED]
        labels = RegionCounts.of_labels(train.take(drawn[:LABELLED]))
        counts = sample_regions(train.take(drawn[LABELLED:]), window=MIXED_WINDOW, tags="all", rng=own)
        for name, parts in zip(found, ([labels], [counts], [labels, counts]), strict=True):
            found[name].append(CountTagger().fit(RegionCounts.join(parts)).score(test))
    for name, values in found.items():
        yield figure_of("chain-mixed", f"{LABELLED} labelled and {COUNTED} counted sentences, {name}", values, [])
    best = [max(pair) for pair in zip(found["labels alone"], found["counts alone"], strict=True)]
    yield figure_of("chain-mixed", "both less the better of the two", _differences(found["both"], best), [], ABOVE_ZERO)


@check("chain-miscounts")
def chain_miscounts(rng: np.random.Generator, simulations: int) -> Iterator[Figure]:
    """CoNLL-2000, a tenth of the counts off by one: what it costs, and how much of that the channel brings back.

    Where all tags are asked, most wrong counts do not sum to the length and can be left out; the rates of the channel
    are estimated. Where a few are, they cannot be seen; the rates are then those that the errors were drawn with.
    """
    seeds = seeds_of(rng, simulations)
    for window in MISCOUNT_WINDOWS:
        for tags, channel in (("all", "estimated"), (ASKED, "known")):
            found: dict[str, list[float]] = {"clean": [], "ignored": [], f"channel, {channel} rates": []}
            for seed in seeds:
                accuracies = miscount_scores(window, tags, seed)
                for values, accuracy in zip(found.values(), accuracies, strict=True):
                    values.append(accuracy)
            case = f"window {window}, {tags} tags asked"
            for name, values in found.items():
                yield figure_of("chain-miscounts", f"{case}, {name}", values, [])
            _, ignored, modelled = found.values()
            gain = _differences(modelled, ignored)
            # Where a few tags are asked the errors cannot be seen, and nothing is promised.
            low = ABOVE_ZERO if tags == "all" else -math.inf
            yield figure_of("chain-miscounts", f"{case}, channel less ignored", gain, [], low)


def miscount_scores(window: int, tags: int | str, seed: int) -> tuple[float, float, float]:
    """Test accuracy with clean counts, with wrong ones taken as they are where they can be, and with the channel."""
    train, test = corpora(CONLL)
    rng = np.random.default_rng(seed)
    clean = counted_twice(sample_regions(train, window=window, tags=tags, rng=rng), rng)
    wrong = off_by_one(clean, WRONG, rng)
    channel = CountTagger(miscounts="estimate" if tags == "all" else known_rates(clean))
    fits = CountTagger().fit(clean), CountTagger().fit(wrong.take(can_be(wrong))), channel.fit(wrong)
    first, second, third = (tagger.score(test) for tagger in fits)
    return first, second, third


def counted_twice(regions: RegionCounts, rng: np.random.Generator) -> RegionCounts:
    """All regions by one annotator, and some of them by another one too."""
    count = len(regions)
    again = np.flatnonzero(rng.random(count) < TWICE)
    both = regions.take(np.concatenate([np.arange(count), again]))
    who = np.repeat([0, 1], [count, len(again)]).astype(np.int32)
    return replace(both, annotator=who, annotators=("first", "second"))


def can_be(regions: RegionCounts) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Regions whose counts fit their length, shape (R,)."""
    low, high = regions.bounds()
    return np.asarray((low.sum(axis=1) <= regions.lengths) & (high.sum(axis=1) >= regions.lengths))


def known_rates(clean: RegionCounts) -> Miscounts:
    """The channel with as many misses and extras as `off_by_one` makes: of the positive counts, half of the share each.

    Misses are per token of a tag that was asked for, extras per count, zeros included.
    """
    either = WRONG / 2 * int((clean.low > 0).sum())
    return Miscounts(missed=either / float(clean.low.sum()), extra=either / len(clean.low))


def _differences(left: list[float], right: list[float]) -> list[float]:
    return [a - b for a, b in zip(left, right, strict=True)]
