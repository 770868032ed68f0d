"""Exact sums over the tag sequences of a chain that have given counts, for many regions of the same shape at a time.

A token is in one of n *entries*, a tag as a member of a group; groups are counted. A state says how many tokens of each
group were used, as digits of a mixed-radix number whose sum is the number of tokens read, and which entry came last:

    F(s, j) = w_{|s|}(j) Σ_i F(s − e_{g(j)}, i) E(i, j),       F(e_{g(j)}, j) = w_1(j) before(j),
    B(s, i) = Σ_j E(i, j) w_{|s|+1}(j) B(s + e_{g(j)}, j),     B(s, i) = after(i) where s is complete.

Z = Σ_j before(j) w_1(j) B(e_{g(j)}, j); the posterior of a token is Σ_{|s| = t} F(s, j) B(s, j) / Z, and that of edges
is added up over all positions. Regions of the same shape go through the sweeps side by side, in `LANES` lanes, the
innermost axis; those without a region hold zeros. Lanes are read, reckoned with and written as tuples, all at once, so
that sums stay in registers: loops over lanes would write every term to memory, and would be checked for overlapping
arrays every time they are entered, which costs more than the sums.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from askance._arrays import AnyArray, FloatArray, IntArray
from askance._kernels.compiler import compiled
from askance._kernels.digits import count_down, count_up

#: Regions that are summed side by side; `_get`, `_put` and the like write them out.
LANES = 8
#: Below this a sum is not trusted.
TINY = 1e-250
# Unsigned, or every index is checked for being negative, which costs more than the sums.
_U = np.uint64
_Lanes: TypeAlias = tuple[float, float, float, float, float, float, float, float]
_ZEROS: _Lanes = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
_ONES: _Lanes = (1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)


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


@compiled
def _get(table: Any, row: Any) -> _Lanes:
    """A row of lanes."""
    return (
        table[row, 0], table[row, 1], table[row, 2], table[row, 3],
        table[row, 4], table[row, 5], table[row, 6], table[row, 7],
    )  # fmt: skip


@compiled
def _put(table: Any, row: Any, x: _Lanes) -> None:
    """Write a row of lanes."""
    table[row, 0], table[row, 1], table[row, 2], table[row, 3] = x[0], x[1], x[2], x[3]
    table[row, 4], table[row, 5], table[row, 6], table[row, 7] = x[4], x[5], x[6], x[7]


@compiled
def _times(x: _Lanes, y: _Lanes) -> _Lanes:
    """Products, lane by lane."""
    return x[0] * y[0], x[1] * y[1], x[2] * y[2], x[3] * y[3], x[4] * y[4], x[5] * y[5], x[6] * y[6], x[7] * y[7]


@compiled
def _plus_times(total: _Lanes, x: _Lanes, y: _Lanes) -> _Lanes:
    """Products added to a total, lane by lane."""
    return (
        total[0] + x[0] * y[0], total[1] + x[1] * y[1], total[2] + x[2] * y[2], total[3] + x[3] * y[3],
        total[4] + x[4] * y[4], total[5] + x[5] * y[5], total[6] + x[6] * y[6], total[7] + x[7] * y[7],
    )  # fmt: skip


@compiled
def sum_blocks(
    layout: Any, members: Any, ends: Any, edges: Any, boundary: Any, numbers: Any, value: Any, pairs: Any, weight: Any
) -> None:
    """Sums and posteriors of all blocks.

    Args:
        layout: `EntryLayout`.
        members: numbers of regions, block by block; the regions of a block have the same bounds and groups of entries.
        ends: block b is members[ends[b]] … members[ends[b + 1] − 1], at most `LANES` regions.
        edges: factors of tags, shape (K, K).
        boundary: `Boundary`.
        numbers: flat, at layout.place: factors of every token and entry, replaced by posteriors.
        value: filled in: log Z of every region, NaN where it is below `TINY`: its factors then stay.
        pairs: posteriors of edges times the weight of the region are added, shape (K, K).
        weight: of every region, shape (R,).
    """
    states, cells, most, widest = _sizes(layout, members, ends)
    forward, backward = np.empty((states, LANES)), np.empty((states, LANES))
    w, gamma = np.empty((cells, LANES)), np.empty((cells, LANES))
    local, joint = np.empty((most * most, LANES)), np.empty((most * most, LANES))
    # Rows of entries: before, after, Z ∂Z / ∂after, and a place for w_{t+1}(j) B(s + e_j, j).
    first, last, out, step = (
        np.empty((most, LANES)), np.empty((most, LANES)), np.empty((most, LANES)), np.empty((most, LANES))
    )  # fmt: skip
    scale, total = np.empty(LANES), np.empty(LANES)
    digit, stride = np.empty(widest, dtype=np.int64), np.empty(widest, dtype=np.int64)
    rows = w, local, first, forward, last, backward, gamma, joint, step, out
    counters = digit, stride, np.empty((2, most), dtype=np.int64)
    for block in range(ends.size - 1):
        own = members[ends[block] : ends[block + 1]]
        region = own[0]
        groups = slice(layout.group_offsets[region], layout.group_offsets[region + 1])
        low, high = layout.low[groups], layout.high[groups]
        group = layout.group[layout.entry_offsets[region] : layout.entry_offsets[region + 1]]
        length = layout.length[region]
        _load(layout, own, edges, boundary, numbers, rows, scale)
        _forward(high, group, length, rows, counters)
        _backward(low, high, group, length, rows, counters, total)
        _store(layout, own, rows, (total, scale), boundary, numbers, value, pairs, weight)


@compiled
def _sizes(layout: Any, members: Any, ends: Any) -> Any:
    """The largest numbers of states × entries, of tokens × entries, of entries, and of groups."""
    states, cells, most, widest = 1, 1, 1, 1
    for block in range(ends.size - 1):
        region = members[ends[block]]
        entries = layout.entry_offsets[region + 1] - layout.entry_offsets[region]
        count = entries
        for g in range(layout.group_offsets[region], layout.group_offsets[region + 1]):
            count *= layout.high[g] + 1
        states = max(states, count)
        cells = max(cells, layout.length[region] * entries)
        most = max(most, entries)
        widest = max(widest, layout.group_offsets[region + 1] - layout.group_offsets[region])
    return states, cells, most, widest


@compiled
def _load(layout: Any, own: Any, edges: Any, boundary: Any, numbers: Any, rows: Any, scale: Any) -> None:
    """Factors of tokens, rows (length, entries), and of edges, (entries, entries), largest 1 each; the boundary."""
    w, local, first, last = rows[0], rows[1], rows[2], rows[4]
    entries, length = layout.entry_offsets[own[0] + 1] - layout.entry_offsets[own[0]], layout.length[own[0]]
    for lane in range(own.size, LANES):
        w[: length * entries, lane], local[: entries * entries, lane] = 0.0, 0.0
        first[:entries, lane], last[:entries, lane] = 0.0, 0.0
    for lane in range(own.size):
        region = own[lane]
        begin, logarithm, largest = layout.entry_offsets[region], 0.0, 0.0
        for i in range(entries):
            for j in range(entries):
                factor = edges[layout.tag[begin + i], layout.tag[begin + j]]
                local[i * entries + j, lane] = factor
                largest = max(largest, factor)
        for x in range(entries * entries):
            local[x, lane] /= largest
        logarithm = (length - 1) * np.log(largest)
        for t in range(length):
            at, largest = layout.place[region] + t * entries, 0.0
            for j in range(entries):
                factor = numbers[at + j] * layout.factor[begin + j]
                w[t * entries + j, lane] = factor
                largest = max(largest, factor)
            for j in range(entries):
                w[t * entries + j, lane] /= largest
            logarithm += np.log(largest)
        scale[lane] = logarithm
        for j in range(entries):
            first[j, lane], last[j, lane] = boundary.before[begin + j], boundary.after[begin + j]


@compiled
def _split(digit: Any, high: Any, group: Any, lists: Any) -> Any:
    """Entries of groups that were used, to lists[0], and of those that may still be, to lists[1]; how many of each."""
    n_used, n_open = 0, 0
    for j in range(group.size):
        count = digit[group[j]]
        lists[0, n_used] = j
        n_used += 1 if count > 0 else 0
        lists[1, n_open] = j
        n_open += 1 if count < high[group[j]] else 0
    return n_used, n_open


@compiled
def _forward(high: Any, group: Any, length: Any, rows: Any, counters: Any) -> None:
    """F of all states, from each to those with one token more; entries of groups not used are left alone."""
    w, local, first, forward = rows[:4]
    digit, stride, lists = counters
    groups, entries, cells, used = high.size, group.size, 1, 0
    for g in range(groups):
        stride[g], digit[g] = cells, 0
        cells *= high[g] + 1
    for state in range(cells):
        if used < length:
            n_used, n_open = _split(digit, high, group, lists)
            for b in range(n_open):
                j = lists[1, b]
                total = _get(first, _U(j)) if used == 0 else _ZEROS
                for a in range(n_used):
                    i = lists[0, a]
                    total = _plus_times(total, _get(forward, _U(state * entries + i)), _get(local, _U(i * entries + j)))
                target = _U((state + stride[group[j]]) * entries + j)
                _put(forward, target, _times(total, _get(w, _U(used * entries + j))))
        used += count_up(digit, high, 0)


@compiled
def _end(
    complete: Any, entries: Any, base: Any, at: Any, last: Any, forward: Any, backward: Any, gamma: Any, out: Any
) -> None:
    """B of a state with all tokens, 0 unless it is complete, and what it adds to Z γ and Z ∂Z / ∂after."""
    for i in entries:
        here, token, own = _U(base + i), _U(at + i), _U(i)
        if complete:
            begun, ending = _get(forward, here), _get(last, own)
            _put(backward, here, ending)
            _put(gamma, token, _plus_times(_get(gamma, token), begun, ending))
            _put(out, own, _plus_times(_get(out, own), begun, _ONES))
        else:
            _put(backward, here, _ZEROS)


@compiled
def _backward(low: Any, high: Any, group: Any, length: Any, rows: Any, counters: Any, total: Any) -> None:
    """B of all states, Z γ, Z times the posteriors of edges (without E), Z ∂Z / ∂after, and Z itself."""
    w, local, first, forward, last, backward, gamma, joint, step, out = rows
    digit, stride, lists = counters
    groups, entries, used, cells = high.size, group.size, 0, 1
    for g in range(groups):
        digit[g] = high[g]
        used += high[g]
        cells *= high[g] + 1
    gamma[: length * entries], joint[: entries * entries], out[:entries] = 0.0, 0.0, 0.0
    for state in range(cells - 1, -1, -1):
        base, at = state * entries, (used - 1) * entries
        n_used, n_open = _split(digit, high, group, lists)
        if used == length:
            complete = True
            for g in range(groups):
                complete &= digit[g] >= low[g]
            _end(complete, lists[0, :n_used], base, at, last, forward, backward, gamma, out)
        elif used < length:
            for b in range(n_open):
                j = lists[1, b]
                source = _U((state + stride[group[j]]) * entries + j)
                _put(step, _U(j), _times(_get(w, _U(used * entries + j)), _get(backward, source)))
            for a in range(n_used):
                i = lists[0, a]
                begun, sent = _get(forward, _U(base + i)), _ZEROS
                for b in range(n_open):
                    j = lists[1, b]
                    edge, onward = _U(i * entries + j), _get(step, _U(j))
                    sent = _plus_times(sent, _get(local, edge), onward)
                    _put(joint, edge, _plus_times(_get(joint, edge), begun, onward))
                _put(backward, _U(base + i), sent)
                _put(gamma, _U(at + i), _plus_times(_get(gamma, _U(at + i)), begun, sent))
        used += count_down(digit, high, 0)
    # `step` is what the last state, the empty one, left there: w_1(j) B(e_j, j); Z from it.
    z = _ZEROS
    for j in range(entries):
        z = _plus_times(z, _get(first, _U(j)), _get(step, _U(j)))
    for x in range(LANES):
        total[x] = z[x]


@compiled
def _store(
    layout: Any, own: Any, rows: Any, lanes: Any, boundary: Any, numbers: Any, value: Any, pairs: Any, weight: Any
) -> None:
    """Results of a block to where they belong."""
    local, first, gamma, joint, out = rows[1], rows[2], rows[6], rows[7], rows[9]
    total, scale = lanes
    for lane in range(own.size):
        region = own[lane]
        begin, length = layout.entry_offsets[region], layout.length[region]
        entries, trusted = layout.entry_offsets[region + 1] - begin, total[lane] > TINY
        value[region] = np.log(total[lane]) + scale[lane] if trusted else np.nan
        inverse = 1.0 / total[lane] if trusted else 0.0
        at = layout.place[region]
        for j in range(entries):
            share = first[j, lane]
            boundary.into[begin + j] = gamma[j, lane] * inverse / share if share > 0.0 else 0.0
            boundary.out[begin + j] = out[j, lane] * inverse
        if trusted:
            for x in range(length * entries):
                numbers[at + x] = gamma[x, lane] * inverse
        for i in range(entries):
            for j in range(entries):
                share = joint[i * entries + j, lane] * local[i * entries + j, lane]
                pairs[layout.tag[begin + i], layout.tag[begin + j]] += share * inverse * weight[region]
