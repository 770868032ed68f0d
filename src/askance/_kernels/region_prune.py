"""Sums over tag sequences that leave out what tilting has shown to be all but impossible.

After tilting (`region_tilt`) most tokens are nearly certain of their group. Entries q_ij below a threshold are dropped;
what is left connects tokens and groups into components, and since every token uses a group of its component, and every
group has all its tokens there, the sum over sequences is a product of sums over components, each with few states. With
s_j the counts of a sequence and b_j the bound that counts in D,

    Π_i p = e^D Π_j v_j^{b_j − s_j} Π_i q,      so   log Z = D + Σ_components log Σ_sequences Π_j v_j^{b_j − s_j} Π_i q.

Counts that are numbers have s_j = b_j. Factors never exceed 1, and q has rows and columns with the right sums: nothing
underflows. With the threshold 0 the sum is exact. A component with too many states keeps its tilted posteriors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from askance._kernels.compiler import compiled
from askance._kernels.digits import count_down, count_up

# Where the entries that are left allow no sequence at all, the threshold falls by this, at most so often.
_FALL, _ATTEMPTS = 0.1, 3


@compiled
def prune(
    layout: Any,
    members: Any,
    first: Any,
    last: Any,
    threshold: Any,
    most_cost: Any,
    tilts: Any,
    posterior: Any,
    value: Any,
) -> None:
    """Sum over what is left of the tilted regions members[first] … members[last − 1].

    Args:
        layout: `RegionLayout`.
        members: numbers of regions.
        first: first of them.
        last: the one after the last.
        threshold: entries below it are dropped.
        most_cost: components with more states × groups stay tilted.
        tilts: log v of every group.
        posterior: flat; q at layout.place is replaced by the posterior.
        value: D of every region, replaced by log Z.
    """
    for number in range(first, last):
        region = members[number]
        begin, end, length = layout.offsets[region], layout.offsets[region + 1], layout.length[region]
        low, high, tilt, at = layout.low[begin:end], layout.high[begin:end], tilts[begin:end], layout.place[region]
        q = posterior[at : at + length * (end - begin)]
        below = threshold
        for _ in range(_ATTEMPTS):
            logarithm, gamma = _components(q, low, high, tilt, length, below, most_cost)
            if logarithm > -np.inf:
                value[region] += logarithm
                q[:] = gamma
                break
            below *= _FALL


@compiled
def _components(q: Any, low: Any, high: Any, tilt: Any, length: Any, threshold: Any, most_cost: Any) -> Any:
    """log of the sum over all components, −∞ where no sequence is left, and posteriors."""
    groups = low.size
    kept, owner = _connect(q, length, groups, threshold)
    gamma, logarithm = np.zeros(q.size), 0.0
    tokens, used = np.empty(length, dtype=np.int64), np.empty(groups, dtype=np.int64)
    for node in range(length + groups):
        if owner[node] != node:
            continue
        size, width = 0, 0
        for i in range(length):
            if owner[i] == node:
                tokens[size] = i
                size += 1
        for j in range(groups):
            if owner[length + j] == node:
                used[width] = j
                width += 1
        logarithm += _component(q, kept, gamma, tokens[:size], used[:width], low, high, tilt, most_cost)
        if logarithm == -np.inf:
            break
    return logarithm, gamma


@compiled
def _connect(q: Any, length: Any, groups: Any, threshold: Any) -> Any:
    """q without small entries (each token and group keeps its largest), and of each token and group its component."""
    kept, owner = q.copy(), np.arange(length + groups)
    largest = np.zeros(length + groups)
    for i in range(length):
        for j in range(groups):
            largest[i] = max(largest[i], q[i * groups + j])
            largest[length + j] = max(largest[length + j], q[i * groups + j])
    for i in range(length):
        for j in range(groups):
            entry = q[i * groups + j]
            if entry >= threshold or entry == largest[i] or entry == largest[length + j]:
                a, b = _root(owner, i), _root(owner, length + j)
                owner[max(a, b)] = min(a, b)
            else:
                kept[i * groups + j] = 0.0
    for node in range(length + groups):
        owner[node] = _root(owner, node)
    return kept, owner


@compiled
def _root(owner: Any, node: Any) -> Any:
    """The node that stands for a component."""
    while owner[node] != node:
        owner[node] = owner[owner[node]]
        node = owner[node]
    return node


@compiled
def _component(
    q: Any, kept: Any, gamma: Any, tokens: Any, used: Any, low: Any, high: Any, tilt: Any, most_cost: Any
) -> Any:
    """log of the sum over a component, −∞ where there is no sequence; fills in its posteriors."""
    groups, size, least, most = low.size, tokens.size, 0, 0
    for j in used:
        least += low[j]
        most += high[j]
    if size < least or size > most:
        return -np.inf
    if used.size == 1:
        logarithm = 0.0
        for i in tokens:
            gamma[i * groups + used[0]] = 1.0
            logarithm += np.log(kept[i * groups + used[0]])
        return logarithm - tilt[used[0]] * (size - (low[used[0]] if tilt[used[0]] > 0.0 else high[used[0]]))
    stride, limits = np.empty(used.size, dtype=np.int64), np.minimum(high[used].astype(np.int64), size)
    cells = _states(limits, stride)
    if cells * used.size > most_cost:
        for i in tokens:
            gamma[i * groups : (i + 1) * groups] = q[i * groups : (i + 1) * groups]
        return 0.0
    forward, backward = np.zeros(int(cells)), np.zeros(int(cells))
    _push(kept, tokens, used, limits, groups, stride, forward)
    _pull(kept, tokens, used, low, high, limits, tilt, groups, stride, forward, backward, gamma)
    if not backward[0] > 0.0:
        return -np.inf
    for i in tokens:
        for j in used:
            gamma[i * groups + j] /= backward[0]
    return np.log(backward[0])


@compiled
def _states(limits: Any, stride: Any) -> Any:
    """How many states there are, as a float, with digits up to these limits, and what a digit is worth."""
    cells = 1.0
    for a in range(limits.size):
        stride[a] = np.int64(min(cells, 2.0**62))
        cells *= limits[a] + 1
    return cells


@compiled
def _push(kept: Any, tokens: Any, used: Any, limits: Any, groups: Any, stride: Any, forward: Any) -> None:
    """Forward sums from the empty state upwards; states that cannot be reached cost nothing."""
    width, size, total = used.size, tokens.size, 0
    digit = np.zeros(width, dtype=np.int64)
    forward[0] = 1.0
    for state in range(forward.size):
        if total < size and forward[state] > 0.0:
            row = tokens[total] * groups
            for a in range(width):
                weight = kept[row + used[a]]
                if weight > 0.0 and digit[a] < limits[a]:
                    forward[state + stride[a]] += forward[state] * weight
        total += count_up(digit, limits, 0)


@compiled
def _pull(
    kept: Any,
    tokens: Any,
    used: Any,
    low: Any,
    high: Any,
    limits: Any,
    tilt: Any,
    groups: Any,
    stride: Any,
    forward: Any,
    backward: Any,
    gamma: Any,
) -> None:
    """Backward sums from the last state downwards, and posteriors times the sum."""
    width, size, digit, total = used.size, tokens.size, limits.copy(), limits.sum()
    for state in range(forward.size - 1, -1, -1):
        if forward[state] > 0.0:
            if total == size:
                allowed, exponent = True, 0.0
                for a in range(width):
                    j = used[a]
                    allowed &= digit[a] >= low[j]
                    exponent -= tilt[j] * (digit[a] - (low[j] if tilt[j] > 0.0 else high[j]))
                backward[state] = np.exp(exponent) if allowed else 0.0
            else:
                row = tokens[total] * groups
                for a in range(width):
                    weight = kept[row + used[a]]
                    if weight > 0.0 and digit[a] < limits[a]:
                        step = weight * backward[state + stride[a]]
                        backward[state] += step
                        gamma[row + used[a]] += forward[state] * step
        total += count_down(digit, limits, 0)
