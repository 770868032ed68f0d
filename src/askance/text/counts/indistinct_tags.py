"""Tags that counts cannot tell apart, or cannot place: seen from the counts alone, exactly, before anything is fitted.

Two tags are alike where they have the same count (or range) in every region. With the two exchanged the evidence stays
as it is, so that every tagger has a twin with the two exchanged that fits as well, and chance decides between them. No
other renaming of tags leaves the evidence as it is: one that does so takes each tag to another with equal counts.

A tag is even where it is the same share c of every region, N_rb = c L_r with 0 < c < 1. P(tag | word) = c for all words
then explains the counts without a remainder: they do not depend on which words there are.

Labels, and lists of the tags that a word may have, are regions of one word: what they tell apart is not alike.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from askance._arrays import IntArray
from askance.errors import IndistinctTagsWarning
from askance.text.corpus.regions import RegionCounts

# Fewer regions may be even by accident, as one always is.
_FEWEST = 10
# Groups of tags in a message, and names of each, at most.
_GROUPS, _NAMES = 4, 8


@dataclass(frozen=True)
class IndistinctTags:
    """What counts do not tell about tags.

    Attributes:
        alike: groups of tags with equal counts in all regions, those in most regions first.
        even: tags that are the same share of every region that was looked through for them.
    """

    alike: tuple[tuple[str, ...], ...]
    even: tuple[str, ...]

    def about(self, tag: str | None) -> IndistinctTags:
        """What concerns this tag; None: all."""
        if tag is None:
            return self
        alike = tuple(group for group in self.alike if tag in group)
        return IndistinctTags(alike, tuple(name for name in self.even if name == tag))

    def messages(self) -> list[str]:
        """What is known, what is not and what to do, for people; empty where nothing is to be said."""
        said = []
        groups = [group for group in self.alike if not set(group) <= set(self.even)]  # even says more
        if groups:
            more = f"; and {len(groups) - _GROUPS} more groups" if len(groups) > _GROUPS else ""
            said.append(
                f"{'; '.join(map(_listed, groups[:_GROUPS]))}{more} have equal counts in all regions and cannot be "
                "told apart: the counts say which words have one of these tags, and chance decides which of them. "
                "Label a few sentences that hold them, or count shorter stretches, of which some have one without the "
                "other."
            )
        if self.even:
            are, them = ("is", "it") if len(self.even) == 1 else ("are", "them")
            said.append(
                f"{_listed(self.even)} {are} the same share of every region, whatever its words, so that the counts do "
                f"not say which words have {them}: what a tagger makes of {them} is a guess. Label a few sentences "
                f"that hold {them}, or count stretches of which some have more."
            )
        return said


def indistinct_tags(regions: RegionCounts) -> IndistinctTags:
    """The tags that counts of these regions cannot tell apart, or cannot place.

    Tags that nobody counted, or that never appear, are not among them.

    >>> from askance.text.corpus.corpus import Corpus
    >>> from askance.text.corpus.regions import Region
    >>> corpus = Corpus.of([["it", "rains", "."], ["he", "and", "she", "sleep", "."]])
    >>> told = [Region(0, 0, 3, {"N": 1, "V": 1, "P": 1}), Region(1, 0, 5, {"N": 2, "C": 1, "V": 1, "P": 1})]
    >>> indistinct_tags(RegionCounts.of(corpus, "NVPC", told)).alike
    (('V', 'P'),)
    """
    counted = regions.with_positive_weight()
    groups: dict[bytes, list[int]] = {}
    sizes: dict[bytes, int] = {}
    even = []
    for tag, entries in _told(counted):
        if not counted.high[entries].any():
            continue
        key = b"|".join(column[entries].tobytes() for column in (counted.entry_region, counted.low, counted.high))
        groups.setdefault(key, []).append(tag)
        sizes[key] = len(entries)
        if _is_even(counted, entries):
            even.append(regions.tagset[tag])
    alike = sorted((key for key, tags in groups.items() if len(tags) > 1), key=lambda key: -sizes[key])
    return IndistinctTags(tuple(tuple(regions.tagset[tag] for tag in groups[key]) for key in alike), tuple(even))


def warn_of_indistinct(regions: RegionCounts, *, stacklevel: int) -> None:
    """Say which tags the counts cannot tell apart, or cannot place."""
    for message in indistinct_tags(regions).messages():
        warnings.warn(message, IndistinctTagsWarning, stacklevel=stacklevel + 1)


def _told(regions: RegionCounts) -> Iterator[tuple[int, IntArray]]:
    """Tags, and the numbers of their entries that say more than no entry would.

    Without an entry a tag is 0 times in a closed region, and 0 to L times in another.
    """
    of = regions.entry_region
    idle = np.where(regions.closed[of], regions.high == 0, (regions.low == 0) & (regions.high >= regions.lengths[of]))
    telling = np.flatnonzero(~idle)
    telling = telling[np.argsort(regions.tag[telling], kind="stable")]
    tags, first = np.unique(regions.tag[telling], return_index=True)
    yield from zip(tags.tolist(), np.split(telling, first[1:]), strict=len(tags) > 0)


def _is_even(regions: RegionCounts, entries: npt.NDArray[np.intp]) -> bool:
    """Whether these entries, all that tell of a tag, make it the same share of all regions with an answer."""
    of, count = regions.entry_region[entries], regions.low[entries].astype(np.int64)
    length = regions.lengths[of]
    answered = int((~regions.closed[of]).sum()) + int(regions.closed.sum())  # no entry in a closed region is 0
    return (
        len(entries) == answered >= _FEWEST
        and bool((count == regions.high[entries]).all())
        and 0 < count[0] < length[0]
        and bool((count * length[0] == count[0] * length).all())
    )


def _listed(tags: tuple[str, ...]) -> str:
    """As in: NOUN, VERB and ADJ."""
    if len(tags) > _NAMES:
        return f"{', '.join(tags[:_NAMES])} and {len(tags) - _NAMES} more tags"
    return " and ".join([", ".join(tags[:-1]), tags[-1]] if len(tags) > 1 else tags)
