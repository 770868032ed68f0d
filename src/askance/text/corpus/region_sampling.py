"""Regions of a labelled corpus and their counts, as an annotator would give them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from askance._arrays import IntArray
from askance._checks import as_count, as_list, did_you_mean, require_generator, shown
from askance.errors import InputError, LabelError
from askance.text.corpus.corpus import Corpus, ends_of, places_of
from askance.text.corpus.regions import RegionCounts

# Regions whose tags are drawn at a time.
_ROWS = 1 << 14


def sample_regions(
    corpus: Corpus,
    *,
    window: int | Literal["sentence"] | None,
    tags: Literal["all"] | int | Sequence[str] = "all",
    per_sentence: int = 1,
    rng: np.random.Generator,
) -> RegionCounts:
    """Draw stretches of sentences and count their tags.

    A stretch of w tokens of a sentence of L begins at a position that is uniform on 0 … L − w, so that every token can
    be seen. A sentence of at most w tokens is its own region.

    Args:
        corpus: fully labelled.
        window: w, or None or "sentence" for whole sentences.
        tags: "all": every tag is looked for. A number: so many tags, drawn anew for each region, uniformly and without
            replacement. A list: these.
        per_sentence: regions of each sentence. No stretch of a sentence is drawn twice, as the second would say nothing
            new, unless tags are drawn: a sentence may then have fewer regions.
        rng: source of random numbers.

    Returns:
        Regions in the order of their sentences. Where every tag is looked for they are closed and list the tags that
        appear; otherwise they list all that were looked for, also with count 0.

    >>> corpus = Corpus.of([["the", "dog", "barks"]], [["DT", "NN", "VB"]])
    >>> sample_regions(corpus, window=2, rng=np.random.default_rng(0)).region(0)
    Region(sentence=0, start=1, end=3, counts={'NN': 1, 'VB': 1}, closed=True, weight=1.0, annotator=None)
    """
    codes = corpus.require_tags()
    require_generator(rng)
    w = None if window is None or window == "sentence" else as_count(window, "window", minimum=1)
    m = as_count(per_sentence, "per_sentence", minimum=1, maximum=10**6)
    asked = _read_tags(tags, corpus.tagset)
    long = np.flatnonzero(corpus.lengths)  # a sentence without tokens has no region
    size = corpus.lengths[long] if w is None else np.minimum(corpus.lengths[long], w)
    free = corpus.lengths[long] - size + 1
    if isinstance(asked, int):
        row = np.repeat(np.arange(len(long)), m)
        begin = rng.integers(0, free[row])
    else:
        row, begin = _distinct(free, m, rng)
    start = corpus.starts[long[row]] + begin
    end = start + size[row]
    n_tags = len(corpus.tagset)
    cells, counts = _present(codes, start, end - start, n_tags)
    if asked is None:
        region, tag = np.divmod(cells, n_tags)
        sizes = np.bincount(region, minlength=len(start))
    else:
        rows = _drawn(asked, len(start), n_tags, rng) if isinstance(asked, int) else np.tile(asked, (len(start), 1))
        tag, sizes = rows.ravel(), np.full(len(start), rows.shape[1])
        counts = _looked_up(rows, cells, counts, n_tags)
    return RegionCounts(
        corpus,
        corpus.tagset,
        start,
        end,
        np.full(len(start), asked is None or bool((sizes == n_tags).all())),
        ends_of(sizes),
        tag.astype(np.int16),
        counts.astype(np.int32),
        counts.astype(np.int32),
    )


def _read_tags(tags: Literal["all"] | int | Sequence[str], tagset: tuple[str, ...]) -> int | IntArray | None:
    """How many tags are drawn, or the codes of those looked for in every region; None for all."""
    if isinstance(tags, str):
        if tags == "all":
            return None
        raise InputError(
            argument="tags", got=shown(tags), allowed="'all', a number, or a list of tags", remedy=f"Give [{tags!r}]."
        )
    if isinstance(tags, (int, np.integer)):
        return as_count(tags, "tags", minimum=1, maximum=len(tagset))
    names = as_list(tags, "tags", '["NN", "VB"]')
    unknown = [name for name in names if name not in tagset]
    if unknown:
        raise LabelError(
            f"holds {shown(unknown[0])}",
            argument="tags",
            allowed=shown(list(tagset)),
            remedy=did_you_mean(unknown[0], tagset, "Give tags that the corpus has."),
        )
    if not names:
        raise InputError(
            "is an empty list", argument="tags", allowed="at least one tag", remedy="Give 'all', or some tags."
        )
    return np.array(sorted({tagset.index(name) for name in names}), dtype=np.int64)


def _distinct(free: IntArray, m: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Up to m different beginnings below free[s] for every sentence s: its number, and the beginning."""
    if m == 1:
        return np.arange(len(free)), rng.integers(0, free)
    row = np.repeat(np.arange(len(free)), free)
    first = np.cumsum(free) - free
    order = np.lexsort((rng.random(len(row)), row))  # a random order within each sentence; the first m are a draw
    rank = np.arange(len(row)) - first[row]
    kept = np.sort(order[rank < m])
    return row[kept], kept - first[row[kept]]


def _present(codes: npt.NDArray[np.int16], start: IntArray, length: IntArray, n_tags: int) -> tuple[IntArray, IntArray]:
    """The cells region × K + tag of tags that appear, sorted, and how often they do."""
    region = np.repeat(np.arange(len(start)), length)
    return np.unique(region * n_tags + codes[places_of(start, length)], return_counts=True)


def _looked_up(rows: IntArray, cells: IntArray, counts: IntArray, n_tags: int) -> IntArray:
    """Counts of the tags in rows (regions, k), flat, from those of the cells that appear; 0 elsewhere."""
    wanted = (np.arange(len(rows))[:, None] * n_tags + rows).ravel()
    place = np.minimum(np.searchsorted(cells, wanted), len(cells) - 1)
    return np.where(cells[place] == wanted, counts[place], 0)


def _drawn(k: int, n: int, n_tags: int, rng: np.random.Generator) -> IntArray:
    """k of the tags for each of n regions, sorted, shape (n, k)."""
    rows = np.empty((n, k), dtype=np.int64)
    for first in range(0, n, _ROWS):
        last = min(first + _ROWS, n)
        rows[first:last] = np.argpartition(rng.random((last - first, n_tags)), k - 1, axis=1)[:, :k]
    return np.sort(rows, axis=1)
