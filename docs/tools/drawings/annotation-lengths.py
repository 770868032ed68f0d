"""How long and how many: accuracy against questions answered, and against words looked at, by length of the regions."""

from __future__ import annotations

import warnings

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from askance import CountTagger
from askance.errors import ConvergenceWarning
from askance.experiments.tagging_corpus import corpora
from askance.text import RegionCounts, sample_regions

LENGTHS = {2: "#e69f00", 5: "#0072b2", 10: "#d55e00"}
GREY = "#777777"
QUESTIONS = (100, 200, 400, 800)
LABELLED = (20, 40, 80, 160, 320)  # sentences
SEED = 0


def accuracies() -> tuple[dict[int, list[tuple[int, int, float]]], list[tuple[int, float]]]:
    """Questions, words and accuracy for every length; words and accuracy for labels."""
    train, test = corpora("simulated", SEED, max(QUESTIONS), 300)
    rng = np.random.default_rng(SEED)
    counted: dict[int, list[tuple[int, int, float]]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for length in LENGTHS:
            for questions in QUESTIONS:
                regions = sample_regions(train.take(range(questions)), window=length, rng=rng)
                score = CountTagger().fit(regions).score(test)
                counted.setdefault(length, []).append((questions, int(regions.lengths.sum()), score))
        labelled = []
        for sentences in LABELLED:
            labels = RegionCounts.of_labels(train.take(range(sentences)))
            labelled.append((len(labels), CountTagger().fit(labels).score(test)))
    return counted, labelled


def _finish(axis: Axes, ticks: tuple[int, ...], what: str) -> None:
    axis.set_xscale("log")
    axis.set_xticks(ticks, [f"{tick:,}" for tick in ticks], minor=False)
    axis.minorticks_off()
    axis.set_xlabel(what, fontsize=10)
    axis.set_ylim(0.65, 1.0)
    axis.spines[["top", "right"]].set_visible(False)
    axis.tick_params(labelsize=10)


def draw() -> Figure:
    """Left: one point for each number of questions. Right: the same points over the words they cover, and labels."""
    counted, labelled = accuracies()
    figure = Figure(figsize=(7, 3.4), facecolor="white", layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    for length, points in counted.items():
        questions, words, scores = zip(*points, strict=True)
        for axis, places in ((left, questions), (right, words)):
            axis.plot(places, scores, "o-", ms=4, color=LENGTHS[length], label=f"counts in {length} words")
    right.plot(*zip(*labelled, strict=True), "s--", ms=4, color=GREY, label="labels of words")
    left.set_ylabel("share of words tagged correctly", fontsize=10)
    _finish(left, QUESTIONS, "questions answered")
    _finish(right, (250, 500, 1000, 2000, 4000), "words looked at")
    right.legend(frameon=False, fontsize=10, loc="lower right")
    return figure
