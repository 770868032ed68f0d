"""Posteriors of tokens added up by type and tag.

Every thread runs through all tokens and takes those of its own types. So every row of the result is the work of one
thread, always in the same order, and the sums do not depend on the number of threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from askance._kernels.compiler import compiled
from askance._kernels.region_layout import MISSED, shared_probability


@compiled
def collect(
    layout: Any,
    probabilities: Any,
    posterior: Any,
    weights: Any,
    members: Any,
    part: Any,
    parts: Any,
    grid: Any,
    counts: Any,
) -> None:
    """Add the posteriors of tokens to the counts of their types, for types with the number `part` modulo `parts`.

    Args:
        layout: `RegionLayout`.
        probabilities: p(tag | type), shape (T, K).
        posterior: of every token and group, flat, at layout.place.
        weights: how much each region counts, shape (R,).
        members: numbers of regions.
        part: which types.
        parts: among how many parts types are divided.
        grid: as in `askance.evidence.exact_sums`: what is added is rounded by it; 0: it is not.
        counts: shape (T, K); rows of these types are overwritten.
    """
    kinds, tags = probabilities.shape
    saved = np.empty(tags)
    tag_of, tokens, all_asked = layout.tag, layout.tokens, layout.asked
    for kind in range(part, kinds, parts):
        counts[kind] = 0.0
    for r in members:
        begin, groups = layout.offsets[r], layout.offsets[r + 1] - layout.offsets[r]
        first, last, closed = layout.asked_offsets[r], layout.asked_offsets[r + 1], layout.closed[r]
        start, place = layout.start[r], layout.place[r]
        for i in range(layout.length[r]):
            kind = tokens[start + i]
            if kind % parts != part:
                continue
            at = place + i * groups
            for j in range(groups):
                tag = tag_of[begin + j]
                if tag >= 0:
                    counts[kind, tag] += weights[r] * posterior[at + j] + grid - grid
                    continue
                # Tags that were not looked for share in proportion to p: all get theirs, the others give it back.
                # So do those that were, in what was missed.
                p = shared_probability(probabilities, kind, all_asked, first, last, closed, tag)
                weight = weights[r] * posterior[at + j] / p
                if tag == MISSED and not closed:
                    for e in range(first, last):
                        counts[kind, all_asked[e]] += weight * probabilities[kind, all_asked[e]] + grid - grid
                    continue
                kept = first if tag == MISSED else last
                for e in range(first, kept):
                    saved[e - first] = counts[kind, all_asked[e]]
                for b in range(tags):
                    counts[kind, b] += weight * probabilities[kind, b] + grid - grid
                for e in range(first, kept):
                    counts[kind, all_asked[e]] = saved[e - first]
