"""What may appear in each region, and how often: region counts made ready for sums over tag sequences."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from askance._arrays import FloatArray, IntArray
from askance._kernels.region_layout import OTHER, RegionLayout
from askance.errors import InputError
from askance.text.regions import RegionCounts

# Fewer regions side by side waste the vectors of the processor; with more states they take too much memory.
_LEAST_LANES, _MANY_CELLS = 8, 2**20


def lay_out(regions: RegionCounts) -> RegionLayout:
    """The groups of every region, with bounds made as tight as the length allows.

    Since counts sum to the length L, a group with bounds [l, h] has at least L − Σ h' and at most L − Σ l' tokens, over
    the other groups. Groups that are left without tokens are dropped; those with large bounds come first.

    >>> from askance.text.corpus import Corpus
    >>> from askance.text.regions import Region
    >>> corpus = Corpus.of([["the", "dog", "barks"]])
    >>> regions = RegionCounts.of(corpus, "DNV", [Region(0, 0, 3, {"D": (1, 3), "N": 1, "V": (0, 9)})])
    >>> layout = lay_out(regions)
    >>> layout.tag, layout.low, layout.high
    (array([0, 1, 2], dtype=int32), array([1, 1, 0], dtype=int32), array([2, 1, 1], dtype=int32))
    """
    length, count = regions.lengths, len(regions)
    of, sizes = regions.entry_region, np.diff(regions.offsets)
    least, most = (np.bincount(of, bound, count).astype(np.int64) for bound in (regions.low, regions.high))
    unasked = np.flatnonzero(~regions.closed & (sizes < len(regions.tagset)))
    region = np.concatenate([of, unasked])
    tag = np.concatenate([regions.tag.astype(np.int32), np.full(len(unasked), OTHER, dtype=np.int32)])
    low = np.concatenate([regions.low, np.zeros(len(unasked), dtype=np.int64)])
    high = np.concatenate([regions.high, length[unasked]])
    most[unasked] += length[unasked]
    wrong = np.flatnonzero((least > length) | (most < length))
    if len(wrong):
        r = int(wrong[0])
        raise InputError(
            f"region {r} has {length[r]} tokens and counts from {least[r]} to {most[r]} together; allowed: counts that "
            f"may sum to {length[r]}.",
            remedy="Check regions with check_region, as RegionCounts.of does.",
        )
    low, high = (
        np.maximum(low, (length - most)[region] + high),
        np.minimum(high, (length - least)[region] + low),
    )
    kept = np.flatnonzero(high > 0)
    kept = kept[np.lexsort((tag[kept], -low[kept], -high[kept], region[kept]))]
    groups = np.bincount(region[kept], minlength=count)
    return RegionLayout(
        start=regions.start,
        length=length,
        tokens=regions.corpus.tokens,
        offsets=_sums(groups),
        tag=tag[kept],
        low=low[kept].astype(np.int32),
        high=high[kept].astype(np.int32),
        asked_offsets=regions.offsets,
        asked=regions.tag,
        place=_sums(groups * length)[:-1],
    )


def dp_cost(layout: RegionLayout) -> FloatArray:
    """About what an exact sum costs: states of the dynamic program × groups, shape (R,)."""
    groups = np.diff(layout.offsets)
    return np.exp(np.bincount(_region_of(layout), np.log1p(layout.high), len(groups))) * groups


def is_settled(layout: RegionLayout) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Regions of one group, or with counts that exclude nothing: their tokens are independent; shape (R,)."""
    region = _region_of(layout)
    binding = (layout.low > 0) | (layout.high < layout.length[region])
    groups = np.diff(layout.offsets)
    return np.asarray((np.bincount(region, binding, len(groups)) == 0) | (groups == 1))


def in_blocks(layout: RegionLayout, chosen: IntArray, most_cells: int, most_lanes: int) -> tuple[IntArray, IntArray]:
    """Regions with the same bounds put together: their numbers in that order, and where blocks begin and end.

    Args:
        layout: all regions.
        chosen: numbers of those that are wanted.
        most_cells: a block has at most about this many states of all its regions together, but at least a
            few regions.
        most_lanes: and at most this many regions.
    """
    shapes: dict[bytes, list[int]] = defaultdict(list)
    bounds = np.stack([layout.low, layout.high], axis=1)
    offsets = layout.offsets.tolist()
    for r in chosen.tolist():
        shapes[bounds[offsets[r] : offsets[r + 1]].tobytes()].append(r)
    members: list[int] = []
    ends = [0]
    for same in shapes.values():
        cells = float(np.prod(layout.high[offsets[same[0]] : offsets[same[0] + 1]] + 1.0))
        least = _LEAST_LANES if cells <= _MANY_CELLS else 1
        lanes = int(min(max(most_cells // cells // least * least, least), most_lanes))
        members += same
        ends += [len(members) - left for left in range(len(same) - lanes, 0, -lanes)] + [len(members)]
    return np.array(members, dtype=np.int64), np.array(ends, dtype=np.int64)


def _region_of(layout: RegionLayout) -> IntArray:
    return np.repeat(np.arange(len(layout.start)), np.diff(layout.offsets))


def _sums(sizes: IntArray) -> IntArray:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
