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
    globals()["_load_weights"] = region_layout.compiled_load()
    return compile_loop(_normalise)


_load_weights = region_layout.load_weights


def _normalise(
    layout: Any, probabilities: Any, members: Any, first: Any, last: Any, posterior: Any, value: Any
) -> None:
    """Posteriors (flat, at layout.place) and log Z of the regions members[first] … members[last − 1]."""
    for number in range(first, last):
        region = members[number]
        groups, at = layout.offsets[region + 1] - layout.offsets[region], layout.place[region]
        _load_weights(layout, probabilities, region, posterior, at, groups, 1)
        logarithm = 0.0
        for _ in range(layout.length[region]):
            total = 0.0
            for j in range(groups):
                total += posterior[at + j]
            for j in range(groups):
                posterior[at + j] /= total
            logarithm += np.log(total)
            at += groups
        value[region] = logarithm
