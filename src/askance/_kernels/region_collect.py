"""Posteriors of tokens added up by type and tag.

Every thread runs through all tokens and takes those of its own types. So every row of the result is the work of one
thread, always in the same order, and the sums do not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from askance._kernels import region_layout
from askance._kernels.compiler import compile_loop


@cache
def compiled() -> Callable[..., None]:
    """Compile the loop, or load it from the cache of an earlier run."""
    globals()["_group_probability"] = compile_loop(region_layout.group_probability)
    return compile_loop(_collect)


_group_probability = region_layout.group_probability


def _collect(layout: Any, probabilities: Any, posterior: Any, members: Any, part: Any, parts: Any, counts: Any) -> None:
    """Add the posteriors of tokens to the counts of their types, for types with the number `part` modulo `parts`.

    Args:
        layout: `RegionLayout`.
        probabilities: p(tag | type), shape (T, K).
        posterior: of every token and group, flat, at layout.place.
        members: numbers of regions.
        part: which types.
        parts: among how many parts types are divided.
        counts: shape (T, K); rows of these types are overwritten.
    """
    kinds, tags = probabilities.shape
    saved = np.empty(tags)
    for kind in range(part, kinds, parts):
        counts[kind] = 0.0
    for r in members:
        begin, groups = layout.offsets[r], layout.offsets[r + 1] - layout.offsets[r]
        for i in range(layout.length[r]):
            kind = layout.tokens[layout.start[r] + i]
            if kind % parts != part:
                continue
            at = layout.place[r] + i * groups
            for j in range(groups):
                tag = layout.tag[begin + j]
                if tag >= 0:
                    counts[kind, tag] += posterior[at + j]
                    continue
                # Tags that were not looked for share in proportion to p: all get theirs, the others give it back.
                weight = posterior[at + j] / _group_probability(layout, probabilities, r, kind, tag)
                asked = layout.asked[layout.asked_offsets[r] : layout.asked_offsets[r + 1]]
                for x in range(asked.size):
                    saved[x] = counts[kind, asked[x]]
                for b in range(tags):
                    counts[kind, b] += weight * probabilities[kind, b]
                for x in range(asked.size):
                    counts[kind, asked[x]] = saved[x]
