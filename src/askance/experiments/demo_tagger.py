"""A tagger learned from counts in a made-up language, beside labels and beside knowing nothing of words."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from askance.experiments.narrow import WIDTH as NARROW
from askance.experiments.narrow import finish
from askance.experiments.seeds import trial_seed
from askance.experiments.tables import text_table
from askance.experiments.tagging_corpus import corpora
from askance.formats.figure_file import figure_bytes
from askance.geometry.style import BLUE, DARK, VERMILION, new_figure
from askance.tables import Table
from askance.text.corpus.corpus import NO_TAG, Corpus
from askance.text.corpus.region import as_range
from askance.text.corpus.region_sampling import sample_regions
from askance.text.corpus.regions import RegionCounts
from askance.text.tagger.evaluation import Evaluation, evaluate_tags
from askance.text.tagger.tagger import CountTagger

# Sentences that are shown are no longer than this.
_LONGEST_SHOWN = 10


@dataclass(frozen=True)
class TaggerConfig:
    """What is simulated.

    Attributes:
        sentences: of the training text; one stretch of each is counted.
        test_sentences: of the text that taggers are scored on.
        windows: words in a stretch; examples are of the one in the middle.
        examples: how many questions and tagged sentences are shown.
        confidence: of intervals of accuracy.
        seed: of the language, the sentences and the stretches.
    """

    sentences: int = 400
    test_sentences: int = 300
    windows: tuple[int, ...] = (2, 5, 10)
    examples: int = 4
    confidence: float = 0.95
    seed: int = 0


def run_tagger(config: TaggerConfig, progress: Callable[[str], None] = lambda step: None) -> dict[str, Any]:
    """Count, train and score for every window; the result is plain JSON.

    >>> result = run_tagger(TaggerConfig(sentences=60, test_sentences=20, windows=(5,), examples=1))
    >>> result["windows"][0]["counts"]["accuracy"] > result["majority"]["accuracy"]
    True
    """
    train, test = corpora("simulated", config.seed, config.sentences, config.test_sentences)
    shown = config.windows[len(config.windows) // 2]
    windows, questions, tagged, majority = [], [], [], {}
    for window in config.windows:
        progress(f"counts in {window} words")
        rng = np.random.default_rng(trial_seed(config.seed, f"regions-{window}"))
        regions = sample_regions(train, window=window, tags="all", rng=rng)
        tagger = CountTagger().fit(regions)
        same = CountTagger().fit(RegionCounts.of_labels(_labels_within(train, regions)))
        windows.append(
            {
                "words": window,
                "counted_words": int(regions.lengths.sum()),
                "counts": _score(tagger.evaluate(test), config.confidence),
                "labels_of_these_words": _score(same.evaluate(test), config.confidence),
            }
        )
        if window == shown:
            questions = _questions(regions, config.examples)
            tagged = _tagged(tagger, test, config.examples)
            code = _most_counted(regions)
            always = evaluate_tags(test, np.full(test.n_tokens, code), regions.tagset)
            majority = {"tag": regions.tagset[code], **_score(always, config.confidence)}
    progress("labels of all words")
    full = CountTagger().fit(RegionCounts.of_labels(train))
    return {
        "config": asdict(config),
        "text": {
            "training_words": train.n_tokens,
            "test_words": test.n_tokens,
            "different_words": len(train.words),
            "tags": list(train.tagset),
        },
        "windows": windows,
        "majority": majority,
        "labels": _score(full.evaluate(test), config.confidence),
        "shown_window": shown,
        "questions": questions,
        "tagged": tagged,
    }


def _score(evaluation: Evaluation, confidence: float) -> dict[str, float]:
    lower, upper = evaluation.interval(confidence)
    return {"accuracy": round(evaluation.accuracy, 12), "lower": round(lower, 12), "upper": round(upper, 12)}


def _labels_within(train: Corpus, regions: RegionCounts) -> Corpus:
    """The same text with the labels of the counted words alone."""
    tags = np.full(train.n_tokens, NO_TAG, dtype=np.int16)
    for start, end in zip(regions.start.tolist(), regions.end.tolist(), strict=True):
        tags[start:end] = train.require_tags()[start:end]
    return train.with_tags(tags, train.tagset)


def _most_counted(regions: RegionCounts) -> int:
    """The code of the tag that was counted most often: what is known without looking at words."""
    return int(np.bincount(regions.tag, weights=regions.low, minlength=len(regions.tagset)).argmax())


def _questions(regions: RegionCounts, size: int) -> list[dict[str, Any]]:
    """The first stretches that were counted, and the counts."""
    questions = []
    for number in range(min(size, len(regions))):
        region = regions.region(number)
        words = regions.corpus.sentence(region.sentence)[region.start : region.end]
        counts = {tag: as_range(count, len(words))[0] for tag, count in region.counts.items()}
        questions.append({"words": list(words), "counts": counts})
    return questions


def _tagged(tagger: CountTagger, test: Corpus, size: int) -> list[dict[str, Any]]:
    """The first short test sentences with given and true tags; not chosen by how well they come out."""
    numbers = np.flatnonzero(test.lengths <= _LONGEST_SHOWN)[:size].tolist()
    predicted = tagger.predict([test.sentence(number) for number in numbers])
    return [
        {"words": list(test.sentence(number)), "given": list(tags), "true": list(test.tags_of(number))}
        for number, tags in zip(numbers, predicted, strict=True)
    ]


def tagger_tables(result: Mapping[str, Any]) -> list[Table]:
    """Accuracy of every way to learn, then questions and answers, then tagged sentences."""
    confidence, majority = result["config"]["confidence"], result["majority"]
    rows = [(f"always {majority['tag']}, the tag counted most", "counts", *_accuracy(majority))]
    for window in result["windows"]:
        told = f"{window['words']} words of each sentence"
        rows.append((told, "counts", *_accuracy(window["counts"])))
        rows.append((told, "labels", *_accuracy(window["labels_of_these_words"])))
    rows.append(("all words", "labels", *_accuracy(result["labels"])))
    interval = f"{100 * confidence:g} % interval"
    asked = [
        (" ".join(q["words"]), ", ".join(f"{count} × {tag}" for tag, count in q["counts"].items()))
        for q in result["questions"]
    ]
    tagged = [
        (
            " ".join(f"{word}/{tag}" for word, tag in zip(sentence["words"], sentence["given"], strict=True)),
            _mistakes_text(sentence),
        )
        for sentence in result["tagged"]
    ]
    return [
        text_table("words tagged correctly, in percent", ("learned from", "told", "correct", interval), rows),
        text_table("what annotators see and say", ("words", "counts"), asked),
        text_table("sentences it has not seen, as tagged from counts", ("word/tag", "mistakes"), tagged),
    ]


def _accuracy(score: Mapping[str, float]) -> tuple[str, str]:
    return f"{100 * score['accuracy']:.1f}", f"{100 * score['lower']:.1f}–{100 * score['upper']:.1f}"


def _mistakes_text(sentence: Mapping[str, Any]) -> str:
    rows = zip(sentence["words"], sentence["given"], sentence["true"], strict=True)
    return ", ".join(f"{word} is {true}" for word, guess, true in rows if guess != true) or "none"


def draw_tagger(result: Mapping[str, Any], *, narrow: bool = False) -> bytes:
    """Draw the result: accuracy over the words in a stretch, from counts and from labels, with labels of all as a line.

    Args:
        result: of `run_tagger`.
        narrow: whether the picture is as narrow as a phone.

    Returns:
        the picture, as PNG.
    """
    config, windows = result["config"], result["windows"]
    figure = new_figure(NARROW if narrow else 8, 3.8)
    axis = figure.subplots()
    places = np.arange(len(windows))
    kinds = (("counts", "counts", BLUE, -0.08), ("labels_of_these_words", "labels of the same words", VERMILION, 0.08))
    for key, label, colour, offset in kinds:
        low, middle, high = (
            np.array([window[key][name] for window in windows]) for name in ("lower", "accuracy", "upper")
        )
        reach = [middle - low, high - middle]
        axis.errorbar(places + offset, middle, yerr=reach, fmt="o", ms=5, capsize=4, color=colour, label=label)
    axis.axhline(result["labels"]["accuracy"], color=DARK, lw=1.2, label="labels of all words")
    # Far below everything else: a line for it would leave the others no room.
    axis.plot([], [], " ", label=f"the commonest tag, always: {result['majority']['accuracy']:.2f}, below")
    axis.set_xticks(places, [str(window["words"]) for window in windows])
    axis.set_xlim(-0.5, len(windows) - 0.5)
    lowest = min(window[key]["lower"] for window in windows for key, *_ in kinds)
    axis.set_ylim(max(0.0, math.floor(20 * lowest - 1) / 20), 1.0)
    axis.set_xlabel("words that are counted, or labelled, in each sentence")
    axis.set_ylabel("share of words tagged correctly")
    axis.legend(frameon=False, fontsize=9, loc="lower right")
    finish(axis, f"{config['sentences']:,} sentences of a made-up language", 11)
    return figure_bytes(figure, "png")
