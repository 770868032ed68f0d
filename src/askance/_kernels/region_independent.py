"""Regions whose tokens are independent given the counts: one token each, one group, or counts that exclude nothing.

Then Z = Π_i Σ_j p_ij, and the posterior of a token is p_ij / Σ_k p_ik.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from askance._kernels.compiler import compiled
from askance._kernels.region_layout import load_weights


@compiled
def normalise(layout: Any, probabilities: Any, members: Any, first: Any, last: Any, posterior: Any, value: Any) -> None:
    """Posteriors (flat, at layout.place) and log Z of the regions members[first] … members[last − 1]."""
    for number in range(first, last):
        region = members[number]
        groups, at = layout.offsets[region + 1] - layout.offsets[region], layout.place[region]
        load_weights(layout, probabilities, region, posterior, at, groups, 1)
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
