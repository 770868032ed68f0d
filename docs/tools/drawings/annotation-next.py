"""Which stretches next: those that the tagger is least sure of, beside others drawn at random."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from askance import CountTagger
from askance.experiments.tagging_corpus import corpora
from askance.text import Corpus, Region, RegionCounts, Stretch, next_stretches, sample_regions

BLUE, GREY = "#0072b2", "#777777"
WINDOW, FIRST, STEP, LAST, SEED = 5, 100, 100, 500, 0


def counted(corpus: Corpus, stretch: Stretch) -> Region:
    """A stretch and its true counts."""
    tags = corpus.tags_of(stretch.sentence)[stretch.start : stretch.end]
    return Region(*stretch, {str(tag): tags.count(tag) for tag in set(tags)})


def accuracies() -> tuple[list[int], list[float], list[float]]:
    """Numbers of questions, and accuracy with stretches drawn at random and chosen."""
    train, test = corpora("simulated", SEED, 1000, 300)
    sizes = list(range(FIRST, LAST + 1, STEP))
    everything = sample_regions(train, window=WINDOW, rng=np.random.default_rng(SEED))
    told = [everything.region(number) for number in range(FIRST)]
    drawn, chosen = [], []
    for size in sizes:
        tagger = CountTagger().fit(RegionCounts.of(train, train.tagset, told))
        chosen.append(tagger.score(test))
        drawn.append(CountTagger().fit(everything.take(range(size))).score(test))
        asked = {region.sentence for region in told}
        told += [counted(train, each) for each in next_stretches(tagger, train, STEP, window=WINDOW, without=asked)]
    return sizes, drawn, chosen


def draw() -> Figure:
    """Accuracy against the number of questions, for both."""
    sizes, drawn, chosen = accuracies()
    figure = Figure(figsize=(7, 3.2), facecolor="white", layout="constrained")
    axis = figure.subplots()
    axis.plot(sizes, chosen, "o-", ms=5, color=BLUE)
    axis.plot(sizes, drawn, "s--", ms=5, color=GREY)
    axis.annotate(
        "the most doubtful", (sizes[2], chosen[2]), (0, 8), textcoords="offset points", ha="right", color=BLUE
    )
    axis.annotate("drawn at random", (sizes[2], drawn[2]), (6, -16), textcoords="offset points", color=GREY)
    axis.set_xticks(sizes)
    axis.set_xlabel("questions answered, five words each", fontsize=10)
    axis.set_ylabel("share of words tagged correctly", fontsize=10)
    axis.spines[["top", "right"]].set_visible(False)
    return figure
