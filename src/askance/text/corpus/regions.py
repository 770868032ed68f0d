"""Counts of tags in stretches of sentences: what an annotator tells."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from askance._arrays import AnyArray, FloatArray, IntArray
from askance._checks import as_floats, shown
from askance.errors import InputError, LabelError
from askance.text.corpus.corpus import NO_TAG, Corpus, ends_of, places_of, tag_codes
from askance.text.corpus.region import MOST_WEIGHT, WEIGHT_REMEDY
from askance.text.corpus.region import Count as Count
from askance.text.corpus.region import Region as Region
from askance.text.corpus.region import as_range as as_range
from askance.text.corpus.region import check_region as check_region

#: The code of an annotator who is not known.
NO_ANNOTATOR = -1


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
        code, builder = {name: k for k, name in enumerate(tagset)}, RegionBuilder(tagset)
        for region in regions:
            if not isinstance(region, Region) or not 0 <= region.sentence < len(corpus):
                raise InputError(
                    f"a region is {shown(region)}; allowed: a Region of sentence 0 to {len(corpus) - 1}.",
                    remedy="Write Region(sentence, start, end, counts), counting sentences from 0.",
                )
            name, size = corpus.name(region.sentence), int(corpus.lengths[region.sentence])
            check_region(region, size, code, name, may_miscount=may_miscount)
            start, end = (int(corpus.starts[region.sentence]) + place for place in (region.start, region.end))
            builder.add(start, end, region.counts, region.closed, region.weight, region.annotator)
        return builder.build(corpus, tuple(tagset))

    @classmethod
    def of_labels(cls, corpus: Corpus) -> RegionCounts:
        """Every labelled token as a region of its own: full supervision.

        The tag set is that of the corpus; `corpus.with_tagset` gives labels of another file that of the regions they
        are joined with.

        >>> counted = RegionCounts.of(Corpus.of([["a", "b"]]), "XYZ", [Region(0, 0, 2, {"X": 1, "Z": 1})])
        >>> labels = RegionCounts.of_labels(Corpus.of([["b"]], tags=[["Z"]]).with_tagset(counted.tagset))
        >>> RegionCounts.join([counted, labels])
        RegionCounts(2 regions of Corpus(2 sentences, 3 tokens, 2 types, 3 tags), 3 tags)
        """
        tags = np.full(corpus.n_tokens, NO_TAG, dtype=np.int16) if corpus.tags is None else corpus.tags
        where = np.flatnonzero(tags != NO_TAG)
        ones = np.ones(len(where), dtype=np.int32)
        offsets = np.arange(len(where) + 1)
        return cls(corpus, corpus.tagset, where, where + 1, ones.astype(bool), offsets, tags[where], ones, ones)

    @classmethod
    def join(cls, parts: Sequence[RegionCounts]) -> RegionCounts:
        """The regions of all, over their corpora one after the other; all must have the same tag set (`with_tagset`).

        Sentences of which nothing is known are a part too: `RegionCounts.of(corpus, tagset, [])`.
        """
        if not len(parts):
            raise InputError("there are no regions to join; allowed: one part or more.", remedy="Give a list of parts.")
        tagset = parts[0].tagset
        for part in parts:
            if part.tagset != tagset:
                raise LabelError(
                    f"regions have the tag sets {shown(list(tagset))} and {shown(list(part.tagset))}; allowed: one, in "
                    "the same order.",
                    remedy="Give every part the tag set of all: part.with_tagset(tagset).",
                )
        places = np.cumsum([0, *(part.corpus.n_tokens for part in parts)])
        entries = np.cumsum([0, *(len(part.tag) for part in parts)])
        number: dict[str, int] = {}
        # An unknown annotator, −1, is the last of each list.
        place = [
            np.array([*(number.setdefault(name, len(number)) for name in part.annotators), NO_ANNOTATOR], np.int32)
            for part in parts
        ]
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
            np.concatenate(codes) if number else None,
            tuple(number),
        )

    def __len__(self) -> int:
        return len(self.start)

    @cached_property
    def lengths(self) -> IntArray:
        """Tokens of every region, shape (R,)."""
        return self.end - self.start

    @cached_property
    def sentence(self) -> IntArray:
        """The number of the sentence of every region, shape (R,)."""
        return np.searchsorted(self.corpus.starts, self.start, side="right") - 1

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
    def is_possible(self) -> npt.NDArray[np.bool_]:
        """Whether the counts of a region can sum to its length, shape (R,)."""
        least, most = (np.bincount(self.entry_region, bound, len(self)) for bound in (self.low, self.high))
        return np.asarray((least <= self.lengths) & (~self.closed | (most >= self.lengths)))

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
            weight: one for all, or shape (R,); 0 or more, and at most 1e12 when multiplied.

        >>> corpus = Corpus.of([["a", "b"]], tags=[["x", "y"]])
        >>> RegionCounts.of_labels(corpus).with_weight(0.5).with_weight([1, 3]).weights
        array([0.5, 1.5])
        """
        factor = as_floats(weight, "weight")
        fits = factor.shape in ((), (len(self),)) and bool(((factor >= 0) & (factor < np.inf)).all())
        multiplied = self.weights * factor if fits else np.array([np.inf])
        if (multiplied > MOST_WEIGHT).any():
            allowed = f"one, or one for each of the {len(self)} regions, 0 to {MOST_WEIGHT:g} when multiplied."
            raise InputError(f"weight is {shown(weight)}; allowed: {allowed}", remedy=WEIGHT_REMEDY)
        return replace(self, weight=multiplied)

    @cached_property
    def token_counts(self) -> AnyArray:
        """In how many regions the tokens of each type lie, by weight where there are weights, shape (types,)."""
        if self.weight is not None:  # differences of sums would leave small numbers where there are no regions
            tokens = self.corpus.tokens[places_of(self.start, self.lengths)]
            return np.bincount(tokens, np.repeat(self.weight, self.lengths), len(self.corpus.words))
        cover = np.zeros(self.corpus.n_tokens + 1, dtype=np.int64)
        np.add.at(cover, self.start, 1)
        np.add.at(cover, self.end, -1)
        weights = np.cumsum(cover)[:-1]
        return np.bincount(self.corpus.tokens, weights, len(self.corpus.words)).astype(np.int64)

    def take(self, numbers: npt.ArrayLike) -> RegionCounts:
        """Some of the regions, by number or mask, in that order."""
        listed = np.asarray(numbers)
        chosen = np.flatnonzero(listed) if listed.dtype == bool else listed.astype(np.int64)
        sizes = np.diff(self.offsets)[chosen]
        offsets, where = ends_of(sizes), places_of(self.offsets[chosen], sizes)
        weight = None if self.weight is None else self.weight[chosen]
        annotator = None if self.annotator is None else self.annotator[chosen]
        by_region = {name: getattr(self, name)[chosen] for name in ("start", "end", "closed")}
        by_entry = {name: getattr(self, name)[where] for name in ("tag", "low", "high")}
        return replace(self, offsets=offsets, weight=weight, annotator=annotator, **by_region, **by_entry)

    def with_positive_weight(self) -> RegionCounts:
        """Those with a weight above 0: the others are as if they were not there."""
        return self if self.weight is None or self.weight.all() else self.take(self.weight > 0)

    def with_tagset(self, tagset: Sequence[str]) -> RegionCounts:
        """The same counts within a larger tag set; what was closed stays closed: other tags do not appear."""
        codes = tag_codes(self.tagset, tagset, "the regions have")
        return replace(self, tagset=tuple(tagset), tag=codes[self.tag])

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
        sentence = int(self.sentence[number])
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


class RegionBuilder:
    """Takes regions one at a time, so that a file is never held as objects; tags are numbered as they come.

    Args:
        tagset: tags that are known beforehand.
    """

    def __init__(self, tagset: Iterable[str] = ()) -> None:
        self.codes = {tag: code for code, tag in enumerate(tagset)}
        self._start, self._end, self._sizes, self._closed = array("q"), array("q"), array("q"), array("b")
        self._tag, self._low, self._high = array("i"), array("i"), array("i")
        # Of the regions up to the last that has any: most files have none.
        self._weight, self._annotator = array("d"), array("i")
        self._annotators: dict[str, int] = {}

    def add(
        self, start: int, end: int, counts: Mapping[str, Count], closed: bool, weight: float, annotator: str | None
    ) -> None:
        """One more region that was checked, from token `start` of the corpus up to, not including, `end`."""
        self._start.append(start)
        self._end.append(end)
        self._closed.append(closed)
        self._sizes.append(len(counts))
        for tag, count in counts.items():
            low, high = as_range(count, end - start)
            self._tag.append(self.codes.setdefault(tag, len(self.codes)))
            self._low.append(low)
            self._high.append(high)
        if weight != 1.0 or annotator is not None:
            skipped = len(self._sizes) - len(self._weight) - 1
            code = NO_ANNOTATOR if annotator is None else self._annotators.setdefault(annotator, len(self._annotators))
            self._weight.extend([*[1.0] * skipped, weight])
            self._annotator.extend([*[NO_ANNOTATOR] * skipped, code])

    def build(self, corpus: Corpus, tagset: tuple[str, ...]) -> RegionCounts:
        """All of them, with the tags numbered as in the tag set, which has them all."""
        codes = tag_codes(self.codes, tagset, "the regions have")
        sizes, start, end = (np.array(part, dtype=np.int64) for part in (self._sizes, self._start, self._end))
        tag, low, high = codes[np.array(self._tag, dtype=np.int32)], np.array(self._low), np.array(self._high)
        inside = np.lexsort((tag, np.repeat(np.arange(len(sizes)), sizes)))
        closed = np.array(self._closed, dtype=bool) | (sizes == len(tagset))
        weight, annotator = np.ones(len(sizes)), np.full(len(sizes), NO_ANNOTATOR, dtype=np.int32)
        weight[: len(self._weight)], annotator[: len(self._weight)] = self._weight, self._annotator
        return RegionCounts(
            corpus,
            tagset,
            start,
            end,
            closed,
            ends_of(sizes),
            tag[inside],
            low[inside].astype(np.int32),
            high[inside].astype(np.int32),
            None if (weight == 1).all() else weight,
            annotator if self._annotators else None,
            tuple(self._annotators),
        )
