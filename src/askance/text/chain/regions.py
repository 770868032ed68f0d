"""Counted regions as the sums of a chain see them: entries of groups, stretches around them, regions of equal shape."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from askance._arrays import FloatArray, IntArray
from askance._kernels.chain_sweep import LANES, EntryLayout
from askance._kernels.region_layout import MISSED, RegionLayout
from askance.text.chain.layout import Batch
from askance.text.corpus.region_groups import in_lanes
from askance.text.corpus.regions import RegionCounts


def stretches(regions: RegionCounts, context: int | None) -> tuple[IntArray, IntArray]:
    """Where the stretches of regions begin and end: with so many words on each side, or all, within their sentences."""
    starts = regions.corpus.starts
    sentence = regions.sentence
    first, last = starts[sentence], starts[sentence + 1]
    if context is None:
        return first, last
    return np.maximum(first, regions.start - context), np.minimum(last, regions.end + context)


def entry_layout(layout: RegionLayout, tags: int) -> EntryLayout:
    """The groups of regions with the tags in them, of K: one, all that were not looked for, or all that were."""
    is_shared, count = layout.tag < 0, len(layout.length)
    shared = np.flatnonzero(is_shared)
    owner = np.repeat(np.arange(count), np.diff(layout.offsets))
    asked = np.zeros((count if len(shared) else 0, tags), dtype=bool)
    if len(shared):
        asked[np.repeat(np.arange(count), np.diff(layout.asked_offsets)), layout.asked] = True
    own, is_missed = owner[shared], (layout.tag[shared] == MISSED)[:, None]
    members = np.where(is_missed, asked[own] | layout.closed[own][:, None], ~asked[own])
    sizes = np.ones(len(layout.tag), dtype=np.int64)
    sizes[shared] = members.sum(axis=1)
    tag = np.repeat(layout.tag, sizes)
    tag[np.repeat(is_shared, sizes)] = np.nonzero(members)[1]
    ends = np.cumsum(sizes)
    group = np.repeat(np.arange(len(layout.tag)) - layout.offsets[:-1][owner], sizes)
    offsets = np.concatenate([[0], ends])[layout.offsets].astype(np.int64)
    cells = np.diff(offsets) * layout.length
    return EntryLayout(
        layout.length,
        layout.offsets,
        layout.low,
        layout.high,
        offsets,
        tag,
        group.astype(np.int32),
        np.repeat(layout.factor, sizes),
        np.cumsum(cells) - cells,
    )


def sum_cost(layout: EntryLayout) -> FloatArray:
    """About what exact sums cost: states × entries², shape (R,)."""
    owner = np.repeat(np.arange(len(layout.length)), np.diff(layout.group_offsets))
    logarithm = np.bincount(owner, np.log1p(layout.high), len(layout.length))
    return np.asarray(np.exp(np.minimum(logarithm, 600.0)) * np.diff(layout.entry_offsets) ** 2.0)


def blocks(layout: EntryLayout) -> tuple[IntArray, IntArray]:
    """Regions of the same shape put together: their numbers in that order, and where blocks begin and end."""
    return in_lanes(enumerate(shape_keys(layout)), lambda _: LANES)


def shape_keys(layout: EntryLayout) -> list[bytes]:
    """What regions must have in common to be summed side by side: length, bounds, and groups of entries."""
    bounds = np.stack([layout.low, layout.high], axis=1)
    groups, entries = layout.group_offsets.tolist(), layout.entry_offsets.tolist()
    return [
        layout.length[r].tobytes()
        + bounds[groups[r] : groups[r + 1]].tobytes()
        + layout.group[entries[r] : entries[r + 1]].tobytes()
        for r in range(len(layout.length))
    ]


@dataclass(eq=False)
class RegionBatch:
    """Where the regions of a batch of stretches, their entries and their cells (tokens × entries) are.

    Regions are numbered as their stretches lie in batches.
    """

    batch: Batch  # the stretches
    left: IntArray  # words of a stretch before its region, shape (n,)
    inside: IntArray  # words of the region, shape (n,)
    right: IntArray  # words behind it, shape (n,)
    tags: int  # K
    layout: EntryLayout  # entries of all regions

    @cached_property
    def starts(self) -> IntArray:
        """First row of every position."""
        return np.array(self.batch.starts, dtype=np.int64)

    @cached_property
    def entries(self) -> slice:
        """Entries of these regions."""
        first, last = int(self.batch.stretches[0]), int(self.batch.stretches[-1]) + 1
        return slice(int(self.layout.entry_offsets[first]), int(self.layout.entry_offsets[last]))

    @cached_property
    def counts(self) -> IntArray:
        """Entries of every region, shape (n,)."""
        return np.diff(self.layout.entry_offsets)[self.batch.stretches]

    @cached_property
    def entry_source(self) -> IntArray:
        """Of every entry, region × K + tag: its place in a table of shape (n, K)."""
        owner = np.repeat(np.arange(len(self.counts)), self.counts)
        return np.asarray(owner * self.tags + self.layout.tag[self.entries])

    @cached_property
    def cells(self) -> slice:
        """Cells of these regions."""
        first = int(self.layout.place[int(self.batch.stretches[0])])
        return slice(first, first + int((self.counts * self.inside).sum()))

    @cached_property
    def token_owner(self) -> IntArray:
        """The region of every token within regions, region by region."""
        return np.repeat(np.arange(len(self.inside)), self.inside)

    @cached_property
    def token_rows(self) -> IntArray:
        """The row of each of these tokens."""
        within = np.arange(len(self.token_owner)) - (np.cumsum(self.inside) - self.inside)[self.token_owner]
        return np.asarray(self.starts[self.left[self.token_owner] + within] + self.token_owner)

    @cached_property
    def cell_entry(self) -> IntArray:
        """The entry of every cell, counted from the first of this batch."""
        sizes = self.counts[self.token_owner]
        base = (np.cumsum(self.counts) - self.counts)[self.token_owner]
        return np.asarray(np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes - base, sizes))

    @cached_property
    def cell_source(self) -> IntArray:
        """Of every cell, row × K + tag: its place in a table of shape (rows, K)."""
        rows = np.repeat(self.token_rows, self.counts[self.token_owner])
        return np.asarray(rows * self.tags + self.layout.tag[self.entries][self.cell_entry])

    @cached_property
    def has_twins(self) -> bool:
        """Whether a tag is in two entries of a region."""
        return len(np.unique(self.entry_source)) < len(self.entry_source)
