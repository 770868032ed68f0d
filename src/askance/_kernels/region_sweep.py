"""Exact sums over all tag sequences with given counts, for many regions of the same shape at a time.

With p_ij the probability that token i is in group j, the likelihood of counts is

    Z = Σ over sequences (j_1 … j_L) whose counts lie in the bounds of Π_i p_{i, j_i}.

A state says how many tokens of each group were used, as digits of a mixed-radix number; their sum is the number of
tokens read. So all predecessors of a state have smaller numbers, and one sweep upwards gives the forward sums F, one
downwards the backward sums B and the posteriors: γ_ij = Σ_{s: |s| = i} F(s) p_ij B(s + e_j) / Z.

Regions with equal bounds have the same states, and go through the sweeps side by side, in *lanes*: all that depends on
the state alone is done once for all of them, and the compiler makes vectors of the rest. The digit with the largest
radix runs innermost, because for the same other digits it walks along the tokens: states and probabilities are then
contiguous.

Rows of p are scaled to sum to 1, so no F or B exceeds 1, and F(s) B(s) is Z times a posterior probability: as long as Z
is far from the smallest floating-point number nothing that matters is lost. Other regions are reported back for a sum
with columns scaled as well (`region_tilted`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from askance._kernels.compiler import compiled
from askance._kernels.digits import count_down, count_up
from askance._kernels.region_layout import FLOOR, shared_probability

#: Below this the sum of a region is not trusted.
TINY = 1e-200
# Products are turned into logarithms when they get this small, or large.
_SMALL, _LARGE = 1e-250, 1e250
# Unsigned, or every index is checked for being negative, which costs more than the sums.
_U = np.uint64


@compiled
def sum_blocks(
    layout: Any, probabilities: Any, members: Any, ends: Any, first: Any, last: Any, posterior: Any, value: Any
) -> None:
    """Sums and posteriors of the regions of blocks `first` … `last` − 1.

    Args:
        layout: `RegionLayout`.
        probabilities: p(tag | type), shape (T, K).
        members: numbers of regions, block by block; the regions of a block have the same bounds.
        ends: block b is members[ends[b]] … members[ends[b + 1] − 1].
        first: first block.
        last: the block after the last.
        posterior: flat, filled in at layout.place: the posterior of every token and group.
        value: log Z of every region, NaN where Z is below `TINY`.
    """
    states, entries, widest = 1, 1, 1
    for block in range(first, last):
        region, lanes = members[ends[block]], ends[block + 1] - ends[block]
        groups, cells = layout.offsets[region + 1] - layout.offsets[region], lanes
        for g in range(layout.offsets[region], layout.offsets[region + 1]):
            cells *= layout.high[g] + 1
        states, widest = max(states, cells), max(widest, groups)
        entries = max(entries, groups * layout.length[region] * lanes)
    forward, backward = np.empty(states), np.empty(states)
    p, gamma = np.empty(entries), np.empty(entries)
    scale = np.empty(members.size + 1)
    digit, stride = np.empty(widest, dtype=np.int64), np.empty(widest, dtype=np.int64)
    for block in range(first, last):
        begin, lanes = ends[block], ends[block + 1] - ends[block]
        region = members[begin]
        low = layout.low[layout.offsets[region] : layout.offsets[region + 1]]
        high = layout.high[layout.offsets[region] : layout.offsets[region + 1]]
        length, groups = layout.length[region], low.size
        for lane in range(lanes):
            scale[lane] = _load(layout, probabilities, members[begin + lane], p, lane, lanes)
        _forward(high, length, lanes, p, forward, digit, stride)
        _backward(low, high, length, lanes, p, (forward, backward, gamma), digit, stride)
        for lane in range(lanes):
            region, total = members[begin + lane], backward[lane]
            value[region] = np.log(total) + scale[lane] if total > TINY else np.nan
            at = layout.place[region]
            for j in range(groups):
                for i in range(length):
                    share = gamma[(j * length + i) * lanes + lane]
                    posterior[at + i * groups + j] = share / total if total > TINY else 0.0


@compiled
def _load(layout: Any, probabilities: Any, region: Any, p: Any, lane: Any, lanes: Any) -> Any:
    """Fill a lane of `p` (groups, length, lanes), rows scaled to 1; returns the logarithm of the scale.

    As `load_weights`, with the scaling in the same loop: for short regions a second one would show.
    """
    begin, groups = layout.offsets[region], layout.offsets[region + 1] - layout.offsets[region]
    length, logarithm, product = layout.length[region], 0.0, 1.0
    tags, factors, tokens, asked = layout.tag, layout.factor, layout.tokens, layout.asked
    first, last, closed = layout.asked_offsets[region], layout.asked_offsets[region + 1], layout.closed[region]
    start = layout.start[region]
    for i in range(length):
        kind, total = tokens[start + i], 0.0
        for j in range(groups):
            tag = tags[begin + j]
            if tag >= 0:
                weight = max(np.float64(probabilities[kind, tag]), FLOOR)
            else:
                weight = shared_probability(probabilities, kind, asked, first, last, closed, tag)
            weight *= factors[begin + j]
            p[(j * length + i) * lanes + lane] = weight
            total += weight
        for j in range(groups):
            p[(j * length + i) * lanes + lane] /= total
        product *= total
        if product < _SMALL or product > _LARGE:
            logarithm, product = logarithm + np.log(product), 1.0
    return logarithm + np.log(product)


@compiled
def _forward(high: Any, length: Any, lanes: Any, p: Any, forward: Any, digit: Any, stride: Any) -> None:
    """F of all states, digit 0 innermost, lanes within; states with more than `length` tokens are left alone."""
    groups, cells = high.size, 1
    for j in range(groups):
        stride[j], digit[j] = cells * lanes, 0
        cells *= high[j] + 1
    row, used = (high[0] + 1) * lanes, 0  # tokens used by all groups but the first
    for outer in range(cells // (high[0] + 1)):
        if used <= length:
            base, size = _U(outer * row), _U((min(np.int64(high[0]), length - used) + 1) * lanes)
            for x in range(size):
                forward[base + x] = 0.0
            if outer == 0:
                for x in range(_U(lanes)):
                    forward[x] = 1.0
            for j in range(1, groups):
                if digit[j] > 0:
                    source, at = base - _U(stride[j]), _U((j * length + used - 1) * lanes)
                    for x in range(size):
                        forward[base + x] += p[at + x] * forward[source + x]
            at, following = _U(used * lanes), base + _U(lanes)
            for x in range(size - _U(lanes)):
                forward[following + x] += p[at + x] * forward[base + x]
        used += count_up(digit, high, 1)


@compiled
def _backward(low: Any, high: Any, length: Any, lanes: Any, p: Any, sums: Any, digit: Any, stride: Any) -> None:
    """B of all states and Z γ, from the last state to the first; F and `stride` as `_forward` left them."""
    forward, backward, gamma = sums
    groups, cells, used = high.size, np.int64(high[0]) + 1, 0
    for j in range(1, groups):
        digit[j] = high[j]
        used += high[j]
        cells *= high[j] + 1
    for x in range(_U(groups * length * lanes)):
        gamma[x] = 0.0
    row, outers = (high[0] + 1) * lanes, cells // (high[0] + 1)
    for outer in range(outers - 1, -1, -1):
        if used <= length:
            base, left = _U(outer * row), length - used
            size = _U((min(np.int64(high[0]), left) + 1) * lanes)
            for x in range(size):
                backward[base + x] = 0.0
            if left <= high[0]:  # the sequence may end with `left` tokens of the first group
                allowed = left >= low[0]
                for j in range(1, groups):
                    allowed &= digit[j] >= low[j]
                for x in range(_U(lanes)):
                    backward[base + _U(left * lanes) + x] = 1.0 if allowed else 0.0
            size = _U(min(np.int64(high[0]) + 1, left) * lanes)
            for j in range(1, groups):
                if digit[j] < high[j]:
                    source, at = base + _U(stride[j]), _U((j * length + used) * lanes)
                    for x in range(size):
                        step = p[at + x] * backward[source + x]
                        backward[base + x] += step
                        gamma[at + x] += forward[base + x] * step
            for k in range(min(np.int64(high[0]), left) - 1, -1, -1):
                at, here = _U((used + k) * lanes), base + _U(k * lanes)
                following = here + _U(lanes)
                for x in range(_U(lanes)):
                    step = p[at + x] * backward[following + x]
                    backward[here + x] += step
                    gamma[at + x] += forward[here + x] * step
        used += count_down(digit, high, 1)
