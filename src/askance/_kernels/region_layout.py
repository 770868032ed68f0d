"""Regions as the loops see them: every tag that may appear in a region, with bounds, and where its tokens are.

A *group* of a region is a tag that was counted, or all tags that were not looked for, together (`OTHER`). A token
belongs to one group, so the groups of a region of L tokens have counts that sum to L.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from askance._arrays import IntArray

#: The group of all tags that were not looked for.
OTHER = -1
#: Probabilities below this are taken as this: a token whose tag is all but impossible never makes a fit infinite.
FLOOR = 1e-30


class RegionLayout(NamedTuple):
    """R regions as arrays.

    Attributes:
        start: first token, shape (R,).
        length: tokens, shape (R,).
        tokens: type of every token of the corpus.
        offsets: groups of region r are offsets[r] … offsets[r + 1] − 1, shape (R + 1,).
        tag: tag of each group, or `OTHER`, shape (G,); within a region the groups with large bounds come first.
        low: least count, shape (G,); together with `high` as tight as the length of the region makes it.
        high: largest count, at least 1, shape (G,).
        asked_offsets: like offsets, of the tags that were looked for, shape (R + 1,).
        asked: those tags, shape (E,).
        place: where the posteriors of region r are, as (length, groups), in one flat array; shape (R,).
    """

    start: IntArray
    length: IntArray
    tokens: npt.NDArray[np.int32]
    offsets: IntArray
    tag: npt.NDArray[np.int32]
    low: npt.NDArray[np.int32]
    high: npt.NDArray[np.int32]
    asked_offsets: IntArray
    asked: npt.NDArray[np.int16]
    place: IntArray


def group_probability(layout: Any, probabilities: Any, region: Any, kind: Any, tag: Any) -> Any:
    """p of a group of a region, for a type of word; for compiled loops and for Python."""
    if tag >= 0:
        return max(np.float64(probabilities[kind, tag]), FLOOR)
    total, left = 0.0, layout.asked_offsets[region]
    for b in range(probabilities.shape[1]):
        # The tags that were looked for are sorted: they are met one by one.
        if left < layout.asked_offsets[region + 1] and layout.asked[left] == b:
            left += 1
        else:
            total += probabilities[kind, b]
    return max(total, FLOOR)
