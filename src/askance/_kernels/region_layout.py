"""Regions as the loops see them: every tag that may appear in a region, with bounds, and where its tokens are.

A *group* of a region is a tag that was counted, or all tags that were not looked for, together (`OTHER`). A token
belongs to one group, so the groups of a region of L tokens have counts that sum to L.

Where people miscount, a tag's group has the tokens that were seen, and tokens that were not, whatever tag that was
looked for they have, are a group of their own (`MISSED`). Groups have factors, and regions a shift, such that the sum
over sequences is the probability of the counts (`lay_out` says which).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from askance._arrays import FloatArray, IntArray
from askance._kernels.compiler import compiled

#: The group of all tags that were not looked for.
OTHER = -1
#: The group of tokens with a tag that was looked for that were not counted.
MISSED = -2
#: Probabilities below this are taken as this: a token whose tag is all but impossible never makes a fit infinite.
FLOOR = 1e-30


class RegionLayout(NamedTuple):
    """R regions as arrays.

    Attributes:
        start: first token, shape (R,).
        length: tokens, shape (R,).
        tokens: type of every token of the corpus.
        offsets: groups of region r are offsets[r] … offsets[r + 1] − 1, shape (R + 1,).
        tag: tag of each group, `OTHER` or `MISSED`, shape (G,); within a region the groups with large bounds come
            first.
        low: least count, shape (G,); together with `high` as tight as the length of the region makes it.
        high: largest count, at least 1, shape (G,).
        asked_offsets: like offsets, of the tags that were looked for, shape (R + 1,).
        asked: those tags, sorted within each region, shape (E,).
        closed: whether all tags were looked for, shape (R,).
        place: where the posteriors of region r are, as (length, groups), in one flat array; shape (R,).
        factor: what the probability of each group is multiplied with, shape (G,).
        shift: what is added to the log-likelihood of each region, shape (R,).
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
    closed: npt.NDArray[np.bool_]
    place: IntArray
    factor: FloatArray
    shift: FloatArray


@compiled
def load_weights(
    layout: Any, probabilities: Any, region: Any, weights: Any, at: Any, token_step: Any, group_step: Any
) -> None:
    """Factor × p of every token i and group j of a region, into weights[at + i token_step + j group_step].

    One call for a region, and arrays taken out of the layout once: to do so for every token would cost more than the
    rest.
    """
    begin, end, start = layout.offsets[region], layout.offsets[region + 1], layout.start[region]
    first, last, closed = layout.asked_offsets[region], layout.asked_offsets[region + 1], layout.closed[region]
    tags, factors, asked, tokens = layout.tag, layout.factor, layout.asked, layout.tokens
    for i in range(layout.length[region]):
        kind = tokens[start + i]
        for g in range(begin, end):
            if tags[g] >= 0:
                p = max(np.float64(probabilities[kind, tags[g]]), FLOOR)
            else:
                p = shared_probability(probabilities, kind, asked, first, last, closed, tags[g])
            weights[at + i * token_step + (g - begin) * group_step] = p * factors[g]


@compiled
def shared_probability(
    probabilities: Any, kind: Any, asked: Any, first: Any, last: Any, closed: Any, group: Any
) -> Any:
    """p of all tags of the group `OTHER` or `MISSED` together; asked[first] … asked[last − 1] were looked for."""
    total = 0.0
    if group == MISSED and closed:
        for b in range(probabilities.shape[1]):
            total += probabilities[kind, b]
    elif group == MISSED:
        for e in range(first, last):
            total += probabilities[kind, asked[e]]
    else:
        for b in range(probabilities.shape[1]):
            # The tags that were looked for are sorted: they are met one by one.
            if first < last and asked[first] == b:
                first += 1
            else:
                total += probabilities[kind, b]
    return max(total, FLOOR)
