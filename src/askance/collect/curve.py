"""How much a tagger learns from counts while they come in: a learning curve of bounded cost."""

from __future__ import annotations

import hashlib
import math
import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from askance.collect.campaign import Counting
from askance.collect.counts import Count
from askance.collect.export import regions_of
from askance.errors import AskanceError, AskanceWarning
from askance.text.corpus.corpus import Corpus
from askance.text.counts.miscounts import Miscounts
from askance.text.io.tagged_text import read_tagged
from askance.text.tagger.tagger import CountTagger

# Counts that taggers of the curve learn from, at most, the least of a point, and steps: what a look costs is bounded.
_MOST, _LEAST, _STEPS = 2000, 20, 20
# One stretch in so many is held out, all that is said of it.
_HELD = 5
# What people may have miscounted, so that every count is possible.
_USUAL = Miscounts(0.02, 0.01)


class CurvePoint(NamedTuple):
    """What a tagger of so many counts does with text that it has not seen; the interval only where that is labelled."""

    counts: int
    right: float
    lower: float
    upper: float


def learning_curve(counting: Counting, counts: Sequence[Count]) -> list[CurvePoint]:
    """What taggers of 1/8, 1/4, 1/2 and all of the counts do with text that they have not seen.

    Where the campaign names labelled text it is the share of its words that get the right tag. Else one stretch in five
    is held out, and it is the share of its counts that are predicted: a tagger that knows all agrees with people as
    they agree with each other. Of more than 2,000 counts 2,000 are used, so that a look has a bounded cost.
    """
    # Which are held out, and which are used first, hangs on numbers of stretches and ids alone, not on time.
    is_held = [counting.labelled is None and _draw(count.stretch) % _HELD == 0 for count in counts]
    held = [count for count, out in zip(counts, is_held, strict=True) if out][: _MOST // _HELD]
    kept = [count for count, out in zip(counts, is_held, strict=True) if not out][:_MOST]
    sizes = [size for size in (len(kept) // 8, len(kept) // 4, len(kept) // 2, len(kept)) if size >= _LEAST]
    if counting.labelled is None and not held:
        return []
    gold = None if counting.labelled is None else _gold(counting)
    points = []
    for size in sizes:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AskanceWarning)
            try:
                tagger = CountTagger("node", miscounts=_USUAL, max_iterations=_STEPS)
                tagger.fit(regions_of(counting, kept[:size]))
            except AskanceError:  # such counts tell nothing yet
                continue
            points.append(_point(tagger, size, counting, held, gold))
    return points


def _draw(stretch: int) -> int:
    return int.from_bytes(hashlib.sha256(str(stretch).encode()).digest()[:4])


def _point(
    tagger: CountTagger, size: int, counting: Counting, held: Sequence[Count], gold: Corpus | None
) -> CurvePoint:
    if gold is not None:
        evaluation = tagger.evaluate(gold)
        return CurvePoint(size, evaluation.accuracy, *evaluation.interval())
    code = {tag: k for k, tag in enumerate(tagger.tagset)}
    numbers = sorted({counting.stretches[count.stretch].sentence for count in held})
    tables = dict(zip(numbers, tagger.predict_proba([counting.sentences[number] for number in numbers]), strict=True))
    right = total = 0
    for count in held:
        stretch = counting.stretches[count.stretch]
        expected = tables[stretch.sentence][stretch.start : stretch.end].sum(axis=0)
        for tag, told in zip(counting.tags, count.counts, strict=True):
            if told is not None:
                right += int(np.rint(expected[code[tag]])) == told
                total += 1
    return CurvePoint(size, right / total, math.nan, math.nan)


def _gold(counting: Counting) -> Corpus:
    """The labelled text, with words that have none of the tags as the rest."""
    assert counting.labelled is not None
    text = read_tagged(counting.labelled)
    if counting.rest:
        return text.with_rest(counting.tags, counting.rest)
    known = frozenset(counting.tags)
    tags = [[tag if tag in known else None for tag in text.tags_of(s)] for s in range(len(text))]
    return Corpus.of([list(words) for words in text.sentences()], tags=tags)
