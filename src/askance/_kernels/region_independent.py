"""Regions whose tokens are independent given the counts: one token each, one group, or counts that exclude nothing.

Then Z = Π_i Σ_j p_ij, and the posterior of a token is p_ij / Σ_k p_ik.
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
    return compile_loop(_normalise)


_group_probability = region_layout.group_probability


def _normalise(
    layout: Any, probabilities: Any, members: Any, first: Any, last: Any, posterior: Any, value: Any
) -> None:
    """Posteriors (flat, at layout.place) and log Z of the regions members[first] … members[last − 1]."""
    for number in range(first, last):
        region = members[number]
        begin, end, at, logarithm = layout.offsets[region], layout.offsets[region + 1], layout.place[region], 0.0
        for i in range(layout.length[region]):
            kind, total = layout.tokens[layout.start[region] + i], 0.0
            for g in range(begin, end):
                weight = _group_probability(layout, probabilities, region, kind, layout.tag[g])
                posterior[at + g - begin] = weight
                total += weight
            for g in range(begin, end):
                posterior[at + g - begin] /= total
            logarithm += np.log(total)
            at += end - begin
        value[region] = logarithm
