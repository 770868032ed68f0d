"""Counts of tags in stretches of sentences: what an annotator tells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from askance._arrays import AnyArray, FloatArray, IntArray
from askance._checks import shown
from askance.errors import InputError, LabelError
from askance.text.corpus import NO_TAG, Corpus

#: How many there are: a number, or least and most; None is open.
Count: TypeAlias = int | tuple[int | None, int | None]

#: The code of an annotator who is not known.
NO_ANNOTATOR = -1
_WEIGHT_REMEDY = "1 is usual; 0 leaves the region out."


@dataclass(frozen=True)
class Region:
    """One stretch and what is known of it.

    Attributes:
        sentence: its number in the corpus.
        start: first token, counted within the sentence from 0.
        end: the token after the last.
        counts: by tag, how many there are: a number, or (low, high) with None for open.
        closed: whether tags that are not in `counts` do not appear at all (every tag was looked for).
        weight: how much it counts, 0 or more: 2 is as if it were there twice, 0 as if it were not there.
        annotator: who counted; None is unknown.
    """

    sentence: int
    start: int
    end: int
    counts: Mapping[str, Count]
    closed: bool = True
    weight: float = 1.0
    annotator: str | None = None


@dataclass(frozen=True, eq=False)
class RegionCounts:
    """Regions of a corpus, held as integers.

    Region r has the tokens start[r] … end[r] − 1 of the corpus. Its known tags are the entries e from offsets[r] up to
    offsets[r + 1]: tag[e] appears at least low[e] and at most high[e] times. Tags without an entry do not appear where
    closed[r], and were not looked for otherwise. A labelled token is a closed region of length 1 with count 1, and a
    token with a few allowed tags one whose allowed tags have counts 0 to 1: all kinds of supervision are regions.
    Regions may overlap; each is then taken as evidence of its own.

    Attributes:
        corpus: the sentences; only their words are used.
        tagset: K names of tags.
        start: shape (R,).
        end: shape (R,).
        closed: shape (R,).
        offsets: shape (R + 1,).
        tag: shape (E,).
        low: shape (E,).
        high: shape (E,), at most the length of the region, except where counts may be miscounted.
        weight: how much each region counts, shape (R,); None: all 1.
        annotator: who counted each, as codes into `annotators`, −1 unknown, shape (R,); None: all unknown.
        annotators: their names.

    >>> corpus = Corpus.of([["the", "dog", "barks"]])
    >>> regions = RegionCounts.of(corpus, ["DT", "NN", "VB"], [Region(0, 0, 3, {"DT": 1, "NN": (1, 2), "VB": (0, 1)})])
    >>> regions.lengths, regions.low, regions.high, regions.is_exact
    (array([3]), array([1, 1, 0], dtype=int32), array([1, 2, 1], dtype=int32), array([False]))
    """

    corpus: Corpus
    tagset: tuple[str, ...]
    start: IntArray
    end: IntArray
    closed: npt.NDArray[np.bool_]
    offsets: IntArray
    tag: npt.NDArray[np.int16]
    low: npt.NDArray[np.int32]
    high: npt.NDArray[np.int32]
    weight: FloatArray | None = None
    annotator: npt.NDArray[np.int32] | None = None
    annotators: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, corpus: Corpus, tagset: Sequence[str], regions: Iterable[Region], *, may_miscount: bool = False
    ) -> RegionCounts:
        """From regions one by one, each checked.

        Args:
            corpus: the sentences.
            tagset: names of tags.
            regions: the regions.
            may_miscount: whether counts that cannot be are accepted (`check_region`).
        """
        if len(set(tagset)) != len(tagset):
            raise InputError(f"the tag set is {shown(tagset)}; allowed: different names.", remedy="Give each once.")
        code = {name: k for k, name in enumerate(tagset)}
        starts, ends, closed, sizes, weights, by = [], [], [], [], [], []
        annotators: dict[str, int] = {}
        entries: list[tuple[int, int, int]] = []
        for region in regions:
            if not isinstance(region, Region) or not 0 <= region.sentence < len(corpus):
                raise InputError(
                    f"a region is {shown(region)}; allowed: a Region of sentence 0 to {len(corpus) - 1}.",
                    remedy="Write Region(sentence, start, end, counts), counting sentences from 0.",
                )
            name, size = corpus.name(region.sentence), int(corpus.lengths[region.sentence])
            check_region(region, size, code, name, may_miscount=may_miscount)
            base, length = int(corpus.starts[region.sentence]), region.end - region.start
            starts.append(base + region.start)
            ends.append(base + region.end)
            closed.append(region.closed or len(region.counts) == len(code))
            sizes.append(len(region.counts))
            weights.append(float(region.weight))
            who = region.annotator
            by.append(NO_ANNOTATOR if who is None else annotators.setdefault(who, len(annotators)))
            entries += sorted((code[name], *as_range(count, length)) for name, count in region.counts.items())
        table = np.array(entries, dtype=np.int64).reshape(-1, 3)
        return cls(
            corpus,
            tuple(tagset),
            np.array(starts, dtype=np.int64),
            np.array(ends, dtype=np.int64),
            np.array(closed, dtype=bool),
            np.concatenate([[0], np.cumsum(np.array(sizes, dtype=np.int64))]).astype(np.int64),
            table[:, 0].astype(np.int16),
            table[:, 1].astype(np.int32),
            table[:, 2].astype(np.int32),
            None if all(each == 1.0 for each in weights) else np.array(weights),
            np.array(by, dtype=np.int32) if annotators else None,
            tuple(annotators),
        )

    @classmethod
    def of_labels(cls, corpus: Corpus) -> RegionCounts:
        """Every labelled token as a region of its own: full supervision."""
        tags = np.full(corpus.n_tokens, NO_TAG, dtype=np.int16) if corpus.tags is None else corpus.tags
        where = np.flatnonzero(tags != NO_TAG)
        ones = np.ones(len(where), dtype=np.int32)
        offsets = np.arange(len(where) + 1)
        return cls(corpus, corpus.tagset, where, where + 1, ones.astype(bool), offsets, tags[where], ones, ones)

    @classmethod
    def join(cls, parts: Sequence[RegionCounts]) -> RegionCounts:
        """The regions of all, over their corpora one after the other; all must have the same tag set."""
        tagset = parts[0].tagset
        for part in parts:
            if part.tagset != tagset:
                raise LabelError(
                    f"regions have the tag sets {shown(list(tagset))} and {shown(list(part.tagset))}; allowed: one.",
                    remedy="Read them with one tag set.",
                )
        places = np.cumsum([0, *(part.corpus.n_tokens for part in parts)])
        entries = np.cumsum([0, *(len(part.tag) for part in parts)])
        annotators = tuple(dict.fromkeys(name for part in parts for name in part.annotators))
        # An unknown annotator, −1, is the last of each list.
        place = [np.array([*map(annotators.index, part.annotators), NO_ANNOTATOR], np.int32) for part in parts]
        codes = [code[part.annotator_codes] for code, part in zip(place, parts, strict=True)]
        weighted = any(part.weight is not None for part in parts)
        return cls(
            Corpus.join([part.corpus for part in parts]),
            tagset,
            np.concatenate([part.start + place for part, place in zip(parts, places, strict=False)]),
            np.concatenate([part.end + place for part, place in zip(parts, places, strict=False)]),
            np.concatenate([part.closed for part in parts]),
            np.concatenate([[0], *(part.offsets[1:] + e for part, e in zip(parts, entries, strict=False))]),
            np.concatenate([part.tag for part in parts]),
            np.concatenate([part.low for part in parts]),
            np.concatenate([part.high for part in parts]),
            np.concatenate([part.weights for part in parts]) if weighted else None,
            np.concatenate(codes) if annotators else None,
            annotators,
        )

    def __len__(self) -> int:
        return len(self.start)

    @cached_property
    def lengths(self) -> IntArray:
        """Tokens of every region, shape (R,)."""
        return self.end - self.start

    @cached_property
    def entry_region(self) -> IntArray:
        """The region of every entry, shape (E,)."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    @cached_property
    def is_exact(self) -> npt.NDArray[np.bool_]:
        """Whether all counts of a region are numbers rather than ranges, shape (R,)."""
        ranged = np.bincount(self.entry_region, self.low != self.high, len(self))
        return np.asarray(ranged == 0)

    @cached_property
    def weights(self) -> FloatArray:
        """How much each region counts, shape (R,)."""
        return np.ones(len(self)) if self.weight is None else self.weight

    @cached_property
    def annotator_codes(self) -> npt.NDArray[np.int32]:
        """Who counted each region, −1 unknown, shape (R,)."""
        return np.full(len(self), NO_ANNOTATOR, dtype=np.int32) if self.annotator is None else self.annotator

    def with_weight(self, weight: npt.ArrayLike) -> RegionCounts:
        """The same regions, their weights multiplied.

        Args:
            weight: one for all, or shape (R,); finite, 0 or more.

        >>> corpus = Corpus.of([["a", "b"]], tags=[["x", "y"]])
        >>> RegionCounts.of_labels(corpus).with_weight(0.5).with_weight([1, 3]).weights
        array([0.5, 1.5])
        """
        given = np.asarray(weight, dtype=float)
        if given.shape not in ((), (len(self),)) or not ((given >= 0) & (given < np.inf)).all():
            allowed = f"one, or one for each of the {len(self)} regions, finite, 0 or more."
            raise InputError(f"weight is {shown(weight)}; allowed: {allowed}", remedy=_WEIGHT_REMEDY)
        return replace(self, weight=self.weights * given)

    @cached_property
    def token_counts(self) -> AnyArray:
        """In how many regions the tokens of each type lie, by weight where there are weights, shape (types,)."""
        if self.weight is not None:  # differences of sums would leave small numbers where there are no regions
            first = np.repeat(self.start - (np.cumsum(self.lengths) - self.lengths), self.lengths)
            tokens = self.corpus.tokens[first + np.arange(len(first))]
            return np.bincount(tokens, np.repeat(self.weight, self.lengths), len(self.corpus.words))
        cover = np.zeros(self.corpus.n_tokens + 1, dtype=np.int64)
        np.add.at(cover, self.start, 1)
        np.add.at(cover, self.end, -1)
        weights = np.cumsum(cover)[:-1]
        return np.bincount(self.corpus.tokens, weights, len(self.corpus.words)).astype(np.int64)

    def take(self, numbers: npt.ArrayLike) -> RegionCounts:
        """Some of the regions, by number or mask, in that order."""
        given = np.asarray(numbers)
        chosen = np.flatnonzero(given) if given.dtype == bool else given.astype(np.int64)
        sizes = np.diff(self.offsets)[chosen]
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        where = np.arange(offsets[-1]) + np.repeat(self.offsets[chosen] - offsets[:-1], sizes)
        return RegionCounts(
            self.corpus,
            self.tagset,
            self.start[chosen],
            self.end[chosen],
            self.closed[chosen],
            offsets,
            self.tag[where],
            self.low[where],
            self.high[where],
            None if self.weight is None else self.weight[chosen],
            None if self.annotator is None else self.annotator[chosen],
            self.annotators,
        )

    def with_positive_weight(self) -> RegionCounts:
        """Those with a weight above 0: the others are as if they were not there."""
        return self if self.weight is None or self.weight.all() else self.take(self.weight > 0)

    def with_tagset(self, tagset: Sequence[str]) -> RegionCounts:
        """The same counts within a larger tag set; what was closed stays closed: other tags do not appear."""
        place = {name: code for code, name in enumerate(tagset)}
        missing = [name for name in self.tagset if name not in place]
        if missing:
            raise LabelError(
                f"the regions have the tag {shown(missing[0])}; allowed: {shown(list(tagset))}.",
                remedy="Take regions of one tag set.",
            )
        codes = np.array([place[name] for name in self.tagset], dtype=np.int16)
        tag = codes[self.tag] if len(codes) else self.tag
        return replace(self, tagset=tuple(tagset), tag=tag)

    @cached_property
    def asked(self) -> npt.NDArray[np.bool_]:
        """Which tags somebody looked for, shape (K,)."""
        seen, counted = np.zeros(len(self.tagset), dtype=bool), self.weights > 0
        seen[self.tag[counted[self.entry_region]]] = True
        return seen | bool(self.closed[counted].any())

    @cached_property
    def labelled(self) -> int:
        """How many regions are single tokens with a label."""
        single = self.closed & (self.lengths == 1) & (np.diff(self.offsets) == 1)
        return int(single.sum())

    def region(self, number: int) -> Region:
        """One region, by names."""
        if not 0 <= number < len(self):
            raise InputError(f"there is no region {number}; allowed: 0 to {len(self) - 1}.", remedy="Count from 0.")
        sentence = int(np.searchsorted(self.corpus.starts, self.start[number], side="right")) - 1
        base = int(self.corpus.starts[sentence])
        entries = range(int(self.offsets[number]), int(self.offsets[number + 1]))
        counts: dict[str, Count] = {}
        for e in entries:
            low, high = int(self.low[e]), int(self.high[e])
            counts[self.tagset[self.tag[e]]] = low if low == high else (low, high)
        start, end = int(self.start[number]) - base, int(self.end[number]) - base
        annotator = (*self.annotators, None)[int(self.annotator_codes[number])]  # −1, unknown, is the last
        return Region(sentence, start, end, counts, bool(self.closed[number]), float(self.weights[number]), annotator)

    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Least and most of every tag in every region, dense, shape (R, K) each: for small problems and tests."""
        shape = (len(self), len(self.tagset))
        low, high = np.zeros(shape), np.where(self.closed[:, None], 0.0, self.lengths[:, None] * np.ones(shape))
        low[self.entry_region, self.tag], high[self.entry_region, self.tag] = self.low, self.high
        return low, high

    def __repr__(self) -> str:
        return f"RegionCounts({len(self):,} regions of {self.corpus!r}, {len(self.tagset)} tags)"


def as_range(count: Count, length: int) -> tuple[int, int]:
    """Least and most, where most is at most the length; None is open."""
    if not isinstance(count, (tuple, list)):
        return int(count), int(count)
    low, high = 0 if count[0] is None else int(count[0]), length if count[1] is None else int(count[1])
    return low, min(high, length) if high != low else high


def _is_count(count: object) -> bool:
    if isinstance(count, Integral):
        return not isinstance(count, bool)
    if not isinstance(count, (tuple, list)) or len(count) != 2:
        return False
    return all(each is None or (isinstance(each, Integral) and not isinstance(each, bool)) for each in count)


def check_region(
    region: Region, length: int, tags: Mapping[str, int], sentence: str, *, may_miscount: bool = False
) -> None:
    """Refuse a region outside its sentence, unknown tags, and counts that cannot be.

    Args:
        region: what is checked.
        length: tokens of its sentence.
        tags: the tag set.
        sentence: what the sentence is called in messages.
        may_miscount: accept counts that do not fit the length together, each at most the length + 1. What is known of
            a single token, every tag asked, is a label or a list of allowed tags: it must fit all the same.
    """
    where = f"region {region.start} to {region.end} of sentence {sentence}"
    whole = all(isinstance(each, Integral) for each in (region.start, region.end))
    if not whole or not 0 <= region.start < region.end <= length:
        raise InputError(
            f"{where} is not in it; allowed: 0 ≤ start < end ≤ {length}.",
            remedy="Count tokens from 0; end is the token after the last.",
        )
    if region.weight != 1.0 or region.annotator is not None:
        _check_source(region, where)
    unknown = [name for name in region.counts if name not in tags]
    if unknown:
        raise LabelError(
            f"{where} counts {shown(unknown[0])}; allowed: the tags {shown(list(tags))}.",
            remedy="Correct the tag, or add it to the tag set.",
        )
    closed = region.closed or len(region.counts) == len(tags)
    size, least, most = region.end - region.start, 0, 0
    miscounted = may_miscount and not (closed and size == 1)
    for name, count in region.counts.items():
        low, high = as_range(count, size) if _is_count(count) else (-1, -1)
        if not 0 <= low <= high:
            raise InputError(
                f"{where} has {shown(count)} of {name}; allowed: whole numbers from 0, low at most high.",
                remedy="Give a number, or (low, high), None for open.",
            )
        if miscounted and low > size + 1:
            raise InputError(
                f"{where} has {size} tokens and {low} of {name}; allowed where people miscount: at most {size + 1}.",
                remedy="Correct the count, or the ends of the region.",
            )
        least, most = least + low, most + min(high, size)
    if least > size and not miscounted:
        raise InputError(
            f"{where} has {size} tokens and counts of {least} together; allowed: at most {size}.",
            remedy="Correct the counts, or the ends of the region, or accept such counts with may_miscount=True.",
        )
    if closed and most < size and not miscounted:
        raise InputError(
            f"{where} has {size} tokens and counts of {most} together, every tag asked; allowed: {size}.",
            remedy='Correct the counts, list the tags looked for in "asked", or accept these: may_miscount=True.',
        )


def _check_source(region: Region, where: str) -> None:
    """Refuse a weight or an annotator that is none."""
    weight, who = region.weight, region.annotator
    if not isinstance(weight, (int, float)) or not 0 <= weight < float("inf"):
        raise InputError(f"{where} has the weight {shown(weight)}; allowed: finite, 0 or more.", remedy=_WEIGHT_REMEDY)
    if who is not None and (not isinstance(who, str) or not who):
        raise InputError(f"{where} has the annotator {shown(who)}; allowed: a name, or None.", remedy="Leave it out.")
