"""Exact sums over tag sequences that begin from tilted tokens, for regions whose sums would underflow otherwise.

With q_ij the tilted distributions (`region_tilt`), s_j the counts of a sequence and b_j the bound that counts in D,

    Π_i p = e^D Π_j v_j^{b_j − s_j} Π_i q,      so   log Z = D + log Σ_sequences Π_j v_j^{b_j − s_j} Π_i q.

Counts that are numbers have s_j = b_j. Factors never exceed 1, and q has rows and columns with the right sums: nothing
underflows. States, how many tokens of each group were used, are numbered as in `region_sweep`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from askance._kernels.compiler import compiled
from askance._kernels.digits import count_down, count_up


@compiled
def sum_tilted(layout: Any, members: Any, first: Any, last: Any, tilts: Any, posterior: Any, value: Any) -> None:
    """Sum over the sequences of the tilted regions members[first] … members[last − 1].

    Args:
        layout: `RegionLayout`.
        members: numbers of regions.
        first: first of them.
        last: the one after the last.
        tilts: log v of every group.
        posterior: flat; q at layout.place is replaced by the posterior.
        value: D of every region, replaced by log Z; a region without a sequence stays tilted.
    """
    for number in range(first, last):
        region = members[number]
        begin, end, length = layout.offsets[region], layout.offsets[region + 1], layout.length[region]
        low, high, tilt, at = layout.low[begin:end], layout.high[begin:end], tilts[begin:end], layout.place[region]
        q = posterior[at : at + length * (end - begin)]
        stride, cells = np.empty(high.size, dtype=np.int64), 1
        for j in range(high.size):
            stride[j] = cells
            cells *= high[j] + 1
        forward, backward, gamma = np.zeros(cells), np.zeros(cells), np.zeros(q.size)
        _push(q, length, high, stride, forward)
        _pull(q, length, low, high, tilt, stride, forward, backward, gamma)
        if backward[0] > 0.0:
            value[region] += np.log(backward[0])
            q[:] = gamma / backward[0]


@compiled
def _push(q: Any, length: Any, high: Any, stride: Any, forward: Any) -> None:
    """Forward sums from the empty state upwards; states that cannot be reached cost nothing."""
    groups, used, digit = high.size, 0, np.zeros(high.size, dtype=np.int64)
    forward[0] = 1.0
    for state in range(forward.size):
        if used < length and forward[state] > 0.0:
            for j in range(groups):
                if digit[j] < high[j]:
                    forward[state + stride[j]] += forward[state] * q[used * groups + j]
        used += count_up(digit, high, 0)


@compiled
def _pull(
    q: Any, length: Any, low: Any, high: Any, tilt: Any, stride: Any, forward: Any, backward: Any, gamma: Any
) -> None:
    """Backward sums from the last state downwards, and posteriors times the sum."""
    groups, used, digit = high.size, high.sum(), high.astype(np.int64)
    for state in range(forward.size - 1, -1, -1):
        if forward[state] > 0.0 and used == length:
            complete, exponent = True, 0.0
            for j in range(groups):
                complete &= digit[j] >= low[j]
                exponent -= tilt[j] * (digit[j] - (low[j] if tilt[j] > 0.0 else high[j]))
            backward[state] = np.exp(exponent) if complete else 0.0
        elif forward[state] > 0.0:
            for j in range(groups):
                if digit[j] < high[j]:
                    share = q[used * groups + j] * backward[state + stride[j]]
                    backward[state] += share
                    gamma[used * groups + j] += forward[state] * share
        used += count_down(digit, high, 0)
