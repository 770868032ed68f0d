"""What may appear in each region, and how often: region counts made ready for sums over tag sequences."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from askance._arrays import FloatArray, IntArray
from askance._kernels.region_layout import MISSED, OTHER, RegionLayout
from askance.errors import InputError
from askance.text.corpus.corpus import ends_of
from askance.text.corpus.regions import RegionCounts

# Fewer regions side by side waste the vectors of the processor; with more states they take too much memory.
_LEAST_LANES, _MANY_CELLS = 8, 2**20
#: Tokens that may be missed beyond those that the sums tell.
SPARE_MISSES = 2


def lay_out(regions: RegionCounts, missed: FloatArray | None = None, extra: FloatArray | None = None) -> RegionLayout:
    """The groups of every region, with bounds made as tight as the length allows.

    Since counts sum to the length L, a group with bounds [l, h] has at least L − Σ h' and at most L − Σ l' tokens, over
    the other groups. Groups that are left without tokens are dropped; those with large bounds come first.

    Where tokens are missed with probability m and one is counted too many with probability q (`miscounts`), the group
    of a tag with R ≥ 1 has the tokens that were seen, R or R − 1 of them. With a = q / (1 − q) the probability of the
    latter is a times that of the former: so the group has the factor (1 − m) / a, and the region the shift
    R log a + log (1 − q). Tokens that were missed are the group `MISSED` with the factor m. It is cut off at
    max(L − ΣR, 0) + 2 tokens: more than two beyond what the sums tell (which takes as many counts that are too high)
    are left out of the sum. A range [l, h] becomes [l − 1, h] with the factor 1 − m and no shift.

    Args:
        regions: R regions.
        missed: m, shape (R,); None: 0.
        extra: q, shape (R,); None: 0.

    >>> from askance.text.corpus.corpus import Corpus
    >>> from askance.text.corpus.regions import Region
    >>> corpus = Corpus.of([["the", "dog", "barks"]])
    >>> regions = RegionCounts.of(corpus, "DNV", [Region(0, 0, 3, {"D": (1, 3), "N": 1, "V": (0, 9)})])
    >>> layout = lay_out(regions)
    >>> layout.tag, layout.low, layout.high
    (array([0, 1, 2], dtype=int32), array([1, 1, 0], dtype=int32), array([2, 1, 1], dtype=int32))
    """
    length, count = regions.lengths, len(regions)
    rates = [np.zeros(count) if rate is None else rate for rate in (missed, extra)]
    region, tag, low, high, factor = _groups(regions, *rates)
    least, most = (np.bincount(region, bound, count).astype(np.int64) for bound in (low, high))
    _require_possible(length, least, most, (rates[0] > 0) | (rates[1] > 0))
    low, high = (np.maximum(low, (length - most)[region] + high), np.minimum(high, (length - least)[region] + low))
    kept = np.flatnonzero(high > 0)
    kept = kept[np.lexsort((tag[kept], -low[kept], -high[kept], region[kept]))]
    groups = np.bincount(region[kept], minlength=count)
    return RegionLayout(
        start=regions.start,
        length=length,
        tokens=regions.corpus.tokens,
        offsets=ends_of(groups),
        tag=tag[kept],
        low=low[kept].astype(np.int32),
        high=high[kept].astype(np.int32),
        asked_offsets=regions.offsets,
        asked=regions.tag,
        closed=regions.closed,
        place=ends_of(groups * length)[:-1],
        factor=factor[kept],
        shift=_shift(regions, rates[1]),
    )


def _groups(
    regions: RegionCounts, missed: FloatArray, extra: FloatArray
) -> tuple[IntArray, npt.NDArray[np.int32], IntArray, IntArray, FloatArray]:
    """Region, tag, bounds and factor of every group, in no order."""
    of, sizes, length = regions.entry_region, np.diff(regions.offsets), regions.lengths
    unasked = np.flatnonzero(~regions.closed & (sizes < len(regions.tagset)))
    missable = np.flatnonzero((missed > 0) & (regions.closed | (sizes > 0)))
    more = extra[of] > 0
    counted = more & (regions.low == regions.high) & (regions.low > 0)
    q = extra[of[counted]]
    seen = 1 - missed[of]
    seen[counted] *= (1 - q) / q
    reported = np.bincount(of, regions.low, len(regions)).astype(np.int64)
    unseen = np.minimum(np.maximum(length - reported, 0) + SPARE_MISSES, length)[missable]
    specials = np.repeat(np.array([OTHER, MISSED], dtype=np.int32), [len(unasked), len(missable)])
    nothing = np.zeros(len(specials), dtype=np.int64)
    return (
        np.concatenate([of, unasked, missable]),
        np.concatenate([regions.tag.astype(np.int32), specials]),
        np.concatenate([np.maximum(regions.low - more, 0), nothing]),
        np.concatenate([regions.high, length[unasked], unseen]),
        np.concatenate([seen, np.ones(len(unasked)), missed[missable]]),
    )


def _shift(regions: RegionCounts, extra: FloatArray) -> FloatArray:
    """Σ over counts that are numbers of log (1 − q) + R log a, R ≥ 0; tags without an entry in closed regions are 0."""
    shift = np.zeros(len(regions))
    odd = extra > 0
    if not odd.any():
        return shift
    of, exact = regions.entry_region, regions.low == regions.high
    sizes = np.where(regions.closed, len(regions.tagset), np.diff(regions.offsets))
    places = sizes - np.bincount(of, ~exact, len(regions))
    reported = np.bincount(of, regions.low * exact, len(regions))
    shift[odd] = (places * np.log1p(-extra))[odd] + reported[odd] * np.log(extra[odd] / (1 - extra[odd]))
    return shift


def _require_possible(length: IntArray, least: IntArray, most: IntArray, miscounted: npt.NDArray[np.bool_]) -> None:
    """Refuse regions with no sequence at all."""
    wrong = np.flatnonzero((least > length) | (most < length))
    if not len(wrong):
        return
    r = int(wrong[0])
    message = f"region {r} has {length[r]} tokens and counts from {least[r]} to {most[r]} together"
    if miscounted[r]:
        raise InputError(
            f"{message}, what may be miscounted included; allowed: counts that may sum to {length[r]}.",
            remedy="Leave the region out, or let both rates of its annotator's Miscounts be above 0.",
        )
    raise InputError(
        f"{message}; allowed: counts that may sum to {length[r]}.",
        remedy="Check regions with check_region, as RegionCounts.of does, or say how often people miscount: "
        "miscounts=Miscounts(missed=0.05, extra=0.02).",
    )


def dp_cost(layout: RegionLayout) -> FloatArray:
    """About what an exact sum costs: states of the dynamic program × groups, shape (R,)."""
    groups = np.diff(layout.offsets)
    return np.exp(np.bincount(_region_of(layout), np.log1p(layout.high), len(groups))) * groups


def is_settled(layout: RegionLayout) -> npt.NDArray[np.bool_]:
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
    bounds, offsets = np.stack([layout.low, layout.high], axis=1), layout.offsets.tolist()

    def lanes(r: int) -> int:
        cells = float(np.prod(layout.high[offsets[r] : offsets[r + 1]] + 1.0))
        least = _LEAST_LANES if cells <= _MANY_CELLS else 1
        return int(min(max(most_cells // cells // least * least, least), most_lanes))

    return in_lanes(((r, bounds[offsets[r] : offsets[r + 1]].tobytes()) for r in chosen.tolist()), lanes)


def in_lanes(keys: Iterable[tuple[int, bytes]], lanes: Callable[[int], int]) -> tuple[IntArray, IntArray]:
    """Regions with the same key put together, at most as many as there are lanes for the first of them.

    Returns:
        Their numbers in that order, and where blocks begin and end.
    """
    shapes: dict[bytes, list[int]] = defaultdict(list)
    for r, key in keys:
        shapes[key].append(r)
    members: list[int] = []
    ends = [0]
    for same in shapes.values():
        size = lanes(same[0])
        members += same
        ends += [len(members) - left for left in range(len(same) - size, 0, -size)] + [len(members)]
    return np.array(members, dtype=np.int64), np.array(ends, dtype=np.int64)


def _region_of(layout: RegionLayout) -> IntArray:
    return np.repeat(np.arange(len(layout.start)), np.diff(layout.offsets))
