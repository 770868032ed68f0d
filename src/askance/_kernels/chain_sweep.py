"""Exact sums over the tag sequences of a chain that have given counts, for many regions of the same shape at a time.

A token is in one of n *entries*, a tag as a member of a group; groups are counted. A state says how many tokens of each
group were used, as digits of a mixed-radix number whose sum is the number of tokens read, and which entry came last:

    F(s, j) = w_{|s|}(j) Σ_i F(s − e_{g(j)}, i) E(i, j),       F(e_{g(j)}, j) = w_1(j) before(j),
    B(s, i) = Σ_j E(i, j) w_{|s|+1}(j) B(s + e_{g(j)}, j),     B(s, i) = after(i) where s is complete.

Z = Σ_j before(j) w_1(j) B(e_{g(j)}, j); the posterior of a token is Σ_{|s| = t} F(s, j) B(s, j) / Z, and that of edges
is added up over all positions. Regions of the same shape go through the sweeps side by side, in *lanes*, which are
innermost everywhere: the compiler makes vectors of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from askance._arrays import AnyArray, FloatArray, IntArray
from askance._kernels.compiler import compile_loop

#: Below this a sum is not trusted.
TINY = 1e-250
# Unsigned, or every index is checked for being negative, which costs more than the sums.
_U = np.uint64


class EntryLayout(NamedTuple):
    """R regions, their groups and entries, as arrays.

    Attributes:
        length: tokens, shape (R,).
        group_offsets: groups of region r are group_offsets[r] … group_offsets[r + 1] − 1, shape (R + 1,).
        low: least count of every group.
        high: largest count of every group.
        entry_offsets: like group_offsets, of the entries, shape (R + 1,).
        tag: of every entry.
        group: of every entry, counted within its region.
        factor: of every entry.
        place: where the numbers of region r are, as (length, entries), in one flat array; shape (R,).
    """

    length: IntArray
    group_offsets: IntArray
    low: npt.NDArray[np.int32]
    high: npt.NDArray[np.int32]
    entry_offsets: IntArray
    tag: npt.NDArray[np.int32]
    group: npt.NDArray[np.int32]
    factor: FloatArray
    place: IntArray


class Boundary(NamedTuple):
    """What comes before and after a region, by entry, flat as the entries.

    Attributes:
        before: given: factors of the entry of the first token.
        after: given: factors of the entry of the last token.
        into: found: Z⁻¹ ∂Z / ∂before.
        out: found: Z⁻¹ ∂Z / ∂after.
    """

    before: AnyArray
    after: AnyArray
    into: AnyArray
    out: AnyArray


@cache
def compiled() -> Callable[..., None]:
    """Compile the loop, or load it from the cache of an earlier run."""
    for helper in (_load, _forward, _backward, _store, _sizes):
        globals()[helper.__name__] = compile_loop(helper)
    return compile_loop(_sum_blocks)


def _sum_blocks(
    layout: Any, members: Any, ends: Any, edges: Any, boundary: Any, numbers: Any, value: Any, pairs: Any, weight: Any
) -> None:
    """Sums and posteriors of all blocks.

    Args:
        layout: `EntryLayout`.
        members: numbers of regions, block by block; the regions of a block have the same bounds and groups of entries.
        ends: block b is members[ends[b]] … members[ends[b + 1] − 1].
        edges: factors of tags, shape (K, K).
        boundary: `Boundary`.
        numbers: flat, at layout.place: factors of every token and entry, replaced by posteriors.
        value: filled in: log Z of every region, NaN where it is below `TINY`: its factors then stay.
        pairs: posteriors of edges times the weight of the region are added, shape (K, K).
        weight: of every region, shape (R,).
    """
    states, cells, squares, widest = _sizes(layout, members, ends)
    forward, backward = np.empty(states), np.empty(states)
    w, gamma = np.empty(cells), np.empty(cells)
    local, joint = np.empty(squares), np.empty(squares)
    step = np.empty(states)
    scale = np.empty(members.size + 1)
    digit, stride = np.empty(widest, dtype=np.int64), np.empty(widest, dtype=np.int64)
    for block in range(ends.size - 1):
        own = members[ends[block] : ends[block + 1]]
        region, lanes = own[0], own.size
        groups = slice(layout.group_offsets[region], layout.group_offsets[region + 1])
        low, high = layout.low[groups], layout.high[groups]
        group = layout.group[layout.entry_offsets[region] : layout.entry_offsets[region + 1]]
        length = layout.length[region]
        _load(layout, own, edges, numbers, w, local, scale)
        first = np.empty(group.size * lanes)
        last = np.empty(group.size * lanes)
        for lane in range(lanes):
            at = layout.entry_offsets[own[lane]]
            for j in range(group.size):
                first[j * lanes + lane] = boundary.before[at + j]
                last[j * lanes + lane] = boundary.after[at + j]
        _forward(high, group, length, lanes, w, local, first, forward, digit, stride)
        total, out = _backward(
            low, high, group, length, lanes, w, local, first, last, forward, backward, gamma, joint, step, digit, stride
        )
        _store(
            layout, own, local, joint, gamma, first, last, out, total, scale, boundary, numbers, value, pairs, weight
        )


def _sizes(layout: Any, members: Any, ends: Any) -> Any:
    """The largest numbers of states × entries × lanes, of tokens × entries × lanes, of entries² × lanes; of groups."""
    states, cells, squares, widest = 1, 1, 1, 1
    for block in range(ends.size - 1):
        region, lanes = members[ends[block]], ends[block + 1] - ends[block]
        entries = layout.entry_offsets[region + 1] - layout.entry_offsets[region]
        count = entries * lanes
        for g in range(layout.group_offsets[region], layout.group_offsets[region + 1]):
            count *= layout.high[g] + 1
        states = max(states, count)
        cells = max(cells, layout.length[region] * entries * lanes)
        squares = max(squares, entries * entries * lanes)
        widest = max(widest, layout.group_offsets[region + 1] - layout.group_offsets[region])
    return states, cells, squares, widest


def _load(layout: Any, own: Any, edges: Any, numbers: Any, w: Any, local: Any, scale: Any) -> None:
    """Factors of tokens, shape (length, entries, lanes), and of edges, (entries, entries, lanes), largest 1 each."""
    lanes = own.size
    for lane in range(lanes):
        region = own[lane]
        begin, length = layout.entry_offsets[region], layout.length[region]
        entries, logarithm, largest = layout.entry_offsets[region + 1] - begin, 0.0, 0.0
        for i in range(entries):
            for j in range(entries):
                largest = max(largest, edges[layout.tag[begin + i], layout.tag[begin + j]])
        for i in range(entries):
            for j in range(entries):
                factor = edges[layout.tag[begin + i], layout.tag[begin + j]] / largest
                local[(i * entries + j) * lanes + lane] = factor
        logarithm = (length - 1) * np.log(largest)
        for t in range(length):
            at, largest = layout.place[region] + t * entries, 0.0
            for j in range(entries):
                largest = max(largest, numbers[at + j] * layout.factor[begin + j])
            for j in range(entries):
                w[(t * entries + j) * lanes + lane] = numbers[at + j] * layout.factor[begin + j] / largest
            logarithm += np.log(largest)
        scale[lane] = logarithm


def _forward(
    high: Any,
    group: Any,
    length: Any,
    lanes: Any,
    w: Any,
    local: Any,
    first: Any,
    forward: Any,
    digit: Any,
    stride: Any,
) -> None:
    """F of all states; those with more than `length` tokens, and entries of groups not used, are left alone."""
    groups, entries, cells, used = high.size, group.size, 1, 0
    for g in range(groups):
        stride[g], digit[g] = cells, 0
        cells *= high[g] + 1
    row = entries * lanes
    for state in range(1, cells):
        for g in range(groups):
            if digit[g] < high[g]:
                digit[g] += 1
                used += 1
                break
            used -= digit[g]
            digit[g] = 0
        if used > length:
            continue
        for j in range(entries):
            own = group[j]
            if digit[own] == 0:
                continue
            here, at = _U(state * row + j * lanes), _U(((used - 1) * entries + j) * lanes)
            if used == 1:
                for x in range(_U(lanes)):
                    forward[here + x] = w[at + x] * first[_U(j * lanes) + x]
                continue
            before = (state - stride[own]) * row
            for x in range(_U(lanes)):
                forward[here + x] = 0.0
            for i in range(entries):
                left = digit[group[i]] - (1 if group[i] == own else 0)
                if left > 0:
                    source, edge = _U(before + i * lanes), _U((i * entries + j) * lanes)
                    for x in range(_U(lanes)):
                        forward[here + x] += forward[source + x] * local[edge + x]
            for x in range(_U(lanes)):
                forward[here + x] *= w[at + x]


def _backward(
    low: Any,
    high: Any,
    group: Any,
    length: Any,
    lanes: Any,
    w: Any,
    local: Any,
    first: Any,
    last: Any,
    forward: Any,
    backward: Any,
    gamma: Any,
    joint: Any,
    step: Any,
    digit: Any,
    stride: Any,
) -> Any:
    """B of all states, Z γ and Z times the posteriors of edges (without E); returns Z and Z ∂Z / ∂after."""
    groups, entries, used, cells = high.size, group.size, 0, 1
    for g in range(groups):
        digit[g] = high[g]
        used += high[g]
        cells *= high[g] + 1
    row = entries * lanes
    for x in range(_U(length * row)):
        gamma[x] = 0.0
    for x in range(_U(entries * row)):
        joint[x] = 0.0
    out, total = np.zeros(row), np.zeros(lanes)
    for state in range(cells - 1, -1, -1):
        if used <= length:
            base, at = state * row, (used - 1) * row
            if used == length:
                complete = True
                for g in range(groups):
                    complete &= digit[g] >= low[g]
                for i in range(entries):
                    if digit[group[i]] == 0:
                        continue
                    here, own = _U(base + i * lanes), _U(i * lanes)
                    for x in range(_U(lanes)):
                        backward[here + x] = last[own + x] if complete else 0.0
                        out[own + x] += forward[here + x] if complete else 0.0
            else:
                for j in range(entries):
                    if digit[group[j]] < high[group[j]]:
                        source, here = _U((state + stride[group[j]]) * row + j * lanes), _U(j * lanes)
                        token = _U(used * row + j * lanes)
                        for x in range(_U(lanes)):
                            step[here + x] = w[token + x] * backward[source + x]
                for i in range(entries):
                    if digit[group[i]] == 0:
                        continue
                    here = _U(base + i * lanes)
                    for x in range(_U(lanes)):
                        backward[here + x] = 0.0
                    for j in range(entries):
                        if digit[group[j]] < high[group[j]]:
                            edge, source = _U((i * entries + j) * lanes), _U(j * lanes)
                            for x in range(_U(lanes)):
                                backward[here + x] += local[edge + x] * step[source + x]
                                joint[edge + x] += forward[here + x] * step[source + x]
            for i in range(entries):
                if digit[group[i]] > 0:
                    here, token = _U(base + i * lanes), _U(at + i * lanes)
                    for x in range(_U(lanes)):
                        gamma[token + x] += forward[here + x] * backward[here + x]
        for g in range(groups):
            if digit[g] > 0:
                digit[g] -= 1
                used -= 1
                break
            digit[g] = high[g]
            used += high[g]
    # `step` is what the last state, the empty one, left there: w_1(j) B(e_j, j); Z from it.
    for j in range(entries):
        for x in range(lanes):
            total[x] += first[j * lanes + x] * step[j * lanes + x]
    return total, out


def _store(
    layout: Any,
    own: Any,
    local: Any,
    joint: Any,
    gamma: Any,
    first: Any,
    last: Any,
    out: Any,
    total: Any,
    scale: Any,
    boundary: Any,
    numbers: Any,
    value: Any,
    pairs: Any,
    weight: Any,
) -> None:
    """Results of a block to where they belong."""
    lanes = own.size
    for lane in range(lanes):
        region = own[lane]
        begin, length = layout.entry_offsets[region], layout.length[region]
        entries, trusted = layout.entry_offsets[region + 1] - begin, total[lane] > TINY
        value[region] = np.log(total[lane]) + scale[lane] if trusted else np.nan
        inverse = 1.0 / total[lane] if trusted else 0.0
        at = layout.place[region]
        for j in range(entries):
            share = first[j * lanes + lane]
            boundary.into[begin + j] = gamma[j * lanes + lane] * inverse / share if share > 0.0 else 0.0
            boundary.out[begin + j] = out[j * lanes + lane] * inverse
        if trusted:
            for x in range(length * entries):
                numbers[at + x] = gamma[x * lanes + lane] * inverse
        for i in range(entries):
            for j in range(entries):
                x = (i * entries + j) * lanes + lane
                pairs[layout.tag[begin + i], layout.tag[begin + j]] += joint[x] * local[x] * inverse * weight[region]
