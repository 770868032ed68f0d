"""Which stretches of text to ask about: drawn at random, or those that a tagger doubts most."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from askance._arrays import FloatArray, IntArray
from askance._checks import as_count, require_generator, shown
from askance.errors import EmptyDataError, InputError
from askance.text.corpus.corpus import Corpus
from askance.text.corpus.region_sampling import sample_regions

if TYPE_CHECKING:
    from askance.text.tagger.tagger import CountTagger

# Sentences whose probabilities are held at a time.
_SENTENCES = 4096
_UNSPLIT = "a sign such as the last of {!r} is part of its word; put a blank before it where it has a tag of its own"


class Stretch(NamedTuple):
    """Some words in a row, of which nothing is known yet.

    Attributes:
        sentence: its number in the corpus.
        start: first token, counted within the sentence from 0.
        end: the token after the last.
    """

    sentence: int
    start: int
    end: int


def draw_stretches(
    corpus: Corpus,
    *,
    window: int | None,
    n: int | None = None,
    per_sentence: int = 1,
    without: Iterable[int] = (),
    rng: np.random.Generator,
) -> list[Stretch]:
    """Draw stretches of text at random; no tags are needed, and none are looked at.

    Places are drawn as `sample_regions` draws them: a stretch of w tokens of a sentence of L begins at a position that
    is uniform on 0 … L − w. A sentence of at most w tokens is taken whole, one without tokens not at all.

    Args:
        corpus: the sentences, with tags or without.
        window: w, or None for whole sentences.
        n: how many stretches; as many as there are where these are fewer. None: all.
        per_sentence: stretches of each sentence, all different, of which n are then drawn.
        without: numbers of sentences that are left out, such as those asked about before.
        rng: source of random numbers.

    Returns:
        Stretches in the order of the text.

    >>> corpus = Corpus.of([["the", "dog", "barks"], ["a", "cat"], ["it", "rains", "again"]])
    >>> draw_stretches(corpus, window=2, n=2, rng=np.random.default_rng(0))
    [Stretch(sentence=0, start=1, end=3), Stretch(sentence=1, start=0, end=2)]
    """
    require_generator(rng)
    kept = _left(corpus, without)
    most = None if n is None else as_count(n, "n", minimum=1)
    # Any tags will do: only the places are used.
    bare = corpus.take(kept.tolist()).with_tags(np.zeros(int(corpus.lengths[kept].sum())), ("",))
    drawn = sample_regions(bare, window=window, per_sentence=per_sentence, rng=rng)
    number = drawn.sentence
    chosen = np.arange(len(drawn))
    if most is not None and most < len(drawn):
        chosen = np.sort(rng.choice(len(drawn), most, replace=False))
    start = drawn.start - bare.starts[number]
    return [Stretch(int(kept[number[i]]), int(start[i]), int(start[i] + drawn.lengths[i])) for i in chosen.tolist()]


def next_stretches(
    tagger: CountTagger, corpus: Corpus, n: int, *, window: int | None, without: Iterable[int] = ()
) -> list[Stretch]:
    """The stretches that a tagger doubts most, at most one of each sentence, the most doubtful first.

    The doubt about a word is 1 − max_b P(b), and that of a stretch the sum over its words: how many of them the tagger
    expects to get wrong. Doubts of a tagger that knows little mean little: begin with stretches drawn at random.

    Args:
        tagger: trained.
        corpus: the sentences.
        n: how many stretches; as many as there are sentences where these are fewer.
        window: words of a stretch, or None for whole sentences; shorter sentences are taken whole.
        without: numbers of sentences that are left out, such as those asked about before.

    >>> from askance.text import CountTagger, RegionCounts
    >>> known = Corpus.of([["the", "dog"], ["the", "cat"]], tags=[["D", "N"], ["D", "N"]])
    >>> tagger = CountTagger("node").fit(RegionCounts.of_labels(known))
    >>> text = Corpus.of([["the", "dog", "the", "cat"], ["the", "xy", "zy"]])
    >>> next_stretches(tagger, text, 1, window=2)
    [Stretch(sentence=1, start=1, end=3)]
    """
    most = as_count(n, "n", minimum=1)
    size = None if window is None else as_count(window, "window", minimum=1)
    kept = _left(corpus, without)
    doubtful: list[tuple[float, Stretch]] = []
    for sentence, table in _probabilities(tagger, corpus, kept):
        length = len(table) if size is None else min(size, len(table))
        doubt = np.convolve(1 - table.max(axis=1), np.ones(length), "valid")
        start = int(doubt.argmax())
        doubtful.append((float(doubt[start]), Stretch(sentence, start, start + length)))
    doubtful.sort(key=lambda entry: -entry[0])  # stable: of equal doubts the first of the text comes first
    return [stretch for _, stretch in doubtful[:most]]


def note_on_signs(sentences: Iterable[Sequence[str]]) -> str | None:
    """What to know of text that no program has split into words; None of text where most last words end in no sign.

    >>> note_on_signs([["it", "rains."], ["it", "pours", "."]])
    "a sign such as the last of 'rains.' is part of its word; put a blank before it where it has a tag of its own"
    >>> note_on_signs([["it", "rains", "."], ["Mr.", "Lee", "left"]])
    """
    last = [words[-1] for words in sentences if words]
    signed = [word for word in last if unicodedata.category(word[-1])[0] == "P" and any(map(str.isalnum, word))]
    return _UNSPLIT.format(signed[0]) if 2 * len(signed) >= len(last) > 0 else None


def _left(corpus: Corpus, without: Iterable[int]) -> IntArray:
    """Numbers of the sentences that have tokens and are not left out."""
    if not isinstance(corpus, Corpus):
        raise InputError(f"corpus is {shown(corpus)}; allowed: a Corpus.", remedy="Take read_sentences(path).")
    free = corpus.lengths > 0
    for number in without:
        if not isinstance(number, (int, np.integer)) or not 0 <= number < len(corpus):
            raise InputError(
                f"without holds {shown(number)}; allowed: numbers of sentences, 0 to {len(corpus) - 1}.",
                remedy="Count sentences from 0.",
            )
        free[number] = False
    if not free.any():
        raise EmptyDataError(
            f"none of the {len(corpus)} sentences is left to ask about.", remedy="Give more text, or leave out less."
        )
    return np.flatnonzero(free)


def _probabilities(tagger: CountTagger, corpus: Corpus, kept: IntArray) -> Iterator[tuple[int, FloatArray]]:
    """Sentences and P(tag) of their words, each of shape (words, tags)."""
    for first in range(0, len(kept), _SENTENCES):
        part = kept[first : first + _SENTENCES].tolist()
        yield from zip(part, tagger.predict_proba(corpus.take(part)), strict=True)
