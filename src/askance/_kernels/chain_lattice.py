"""Sums over the tag sequences of a chain that have given counts, where few tags are left to choose from at each token.

Only *candidates*, some of the entries of a token (`chain_sweep`), are used. The nodes of layer t of the lattice are the
different (numbers of tokens used of each group, entry of token t) that candidates can lead to and that can still be
completed group by group; arcs connect them to their followers. Forward and backward sums run over the arcs, so the sum
over the sequences that are left is exact, and it costs what there is left to choose, however long the region is.

Numbers used are compared by a sum of random 64-bit numbers, one for each group: two that differ agree as good as never.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from askance._kernels.compiler import compiled
from askance._kernels.splitmix import GAMMA, mix


@compiled
def sum_lattices(
    layout: Any,
    members: Any,
    candidates: Any,
    most_arcs: Any,
    edges: Any,
    boundary: Any,
    numbers: Any,
    value: Any,
    pairs: Any,
    weight: Any,
) -> None:
    """Sums and posteriors of the regions `members`.

    Args:
        layout: `EntryLayout`.
        members: numbers of regions.
        candidates: flat, at layout.place: whether a token may be in an entry.
        most_arcs: lattices with more arcs than this are given up.
        edges: factors of tags, shape (K, K).
        boundary: `Boundary`.
        numbers: flat, at layout.place: factors of every token and entry, replaced by posteriors.
        value: filled in: log of the sum; NaN where there is no sequence, or too many arcs: posteriors are then 0.
        pairs: posteriors of edges times the weight of the region are added, shape (K, K).
        weight: of every region, shape (R,).
    """
    widest, longest, entries = 1, 1, 1
    for r in members:
        widest = max(widest, layout.group_offsets[r + 1] - layout.group_offsets[r])
        entries = max(entries, layout.entry_offsets[r + 1] - layout.entry_offsets[r])
        longest = max(longest, layout.length[r])
    size = 1
    while size < 4 * most_arcs:
        size *= 2
    keys, entry = np.empty(most_arcs, dtype=np.uint64), np.empty(most_arcs, dtype=np.int32)
    used = np.empty((most_arcs, widest), dtype=np.int16)
    forward, backward = np.empty(most_arcs), np.empty(most_arcs)
    source, target = np.empty(most_arcs, dtype=np.int32), np.empty(most_arcs, dtype=np.int32)
    table, stamp = np.empty(size, dtype=np.int32), np.zeros(size, dtype=np.int64)
    layers, arcs = np.empty(longest + 1, dtype=np.int64), np.empty(longest + 1, dtype=np.int64)
    scales, later = np.empty(longest), np.empty((longest + 1, widest), dtype=np.int16)
    names, clock = np.empty(widest, dtype=np.uint64), np.zeros(1, dtype=np.int64)
    room = entry, forward, source, target, layers, arcs, scales, keys, used, table, stamp, clock
    for g in range(widest):
        names[g] = mix(np.uint64(g + 1) * GAMMA)
    for r in members:
        begin, length, at = layout.entry_offsets[r], layout.length[r], layout.place[r]
        count = layout.entry_offsets[r + 1] - begin
        groups = slice(layout.group_offsets[r], layout.group_offsets[r + 1])
        low, high = layout.low[groups], layout.high[groups]
        group, tag = layout.group[begin : begin + count], layout.tag[begin : begin + count]
        w = numbers[at : at + length * count]
        for t in range(length):
            for j in range(count):
                w[t * count + j] *= layout.factor[begin + j]
        chosen = candidates[at : at + length * count]
        _later(chosen, group, length, count, low.size, later)
        region = w, chosen, group, tag, low, high, later
        logarithm = _layers(region, edges, boundary.before[begin : begin + count], names, length, room)
        value[r] = logarithm
        for j in range(count):
            boundary.into[begin + j] = boundary.out[begin + j] = 0.0
        if np.isnan(logarithm):
            w[:] = 0.0
            continue
        value[r] += _pull(region, edges, boundary, begin, length, room, backward, pairs, weight[r])


@compiled
def _later(chosen: Any, group: Any, length: Any, count: Any, groups: Any, later: Any) -> None:
    """How many tokens from t on may be in each group."""
    for g in range(groups):
        later[length, g] = 0
    for t in range(length - 1, -1, -1):
        for g in range(groups):
            later[t, g] = later[t + 1, g]
        for j in range(count):
            if chosen[t * count + j] and later[t, group[j]] == later[t + 1, group[j]]:
                later[t, group[j]] += 1


@compiled
def _find(key: Any, j: Any, keys: Any, entry: Any, table: Any, stamp: Any, now: Any) -> Any:
    """Where the node (key, j) of this layer is in the table, or the free place where it belongs."""
    mask = np.uint64(table.size - 1)
    place = (key ^ (np.uint64(j) * GAMMA)) & mask
    while stamp[place] == now:
        node = table[place]
        if keys[node] == key and entry[node] == j:
            break
        place = (place + np.uint64(1)) & mask
    return place


@compiled
def _fits(
    used: Any, node: Any, j: Any, listed: Any, count: Any, group: Any, low: Any, high: Any, later: Any, t: Any
) -> Any:
    """Whether the numbers of a node (−1: none yet), with token t in entry j, can still come out right.

    Only groups of the candidates of the token, listed[:count], have fewer tokens left than before.
    """
    if (used[node, group[j]] if node >= 0 else 0) >= high[group[j]]:
        return False
    for x in range(count):
        g = group[listed[x]]
        number = (used[node, g] if node >= 0 else 0) + (1 if g == group[j] else 0)
        if number + later[t + 1, g] < low[g]:
            return False
    return True


@compiled
def _layers(region: Any, edges: Any, before: Any, names: Any, length: Any, room: Any) -> Any:
    """All nodes, arcs and forward sums (each layer scaled to 1); returns the log of the scales, NaN if in vain."""
    w, chosen, group, tag, low, high, later = region
    entry, forward, source, target, layers, arcs, scales, keys, used, table, stamp, clock = room
    count, nodes, links, logarithm = group.size, 0, 0, 0.0
    layers[0] = arcs[0] = 0
    listed = np.empty(count, dtype=np.int64)
    for g in range(low.size):
        if later[0, g] < low[g]:
            return np.nan
    for t in range(length):
        clock[0] += 1
        n_listed = 0
        for j in range(count):
            if chosen[t * count + j]:
                listed[n_listed] = j
                n_listed += 1
        first, last = (layers[t - 1], layers[t]) if t else (-1, 0)
        for node in range(first, last):
            for x in range(n_listed):
                j = listed[x]
                if not _fits(used, node, j, listed, n_listed, group, low, high, later, t):
                    continue
                if links == source.size or nodes == keys.size:
                    return np.nan
                key = (keys[node] if node >= 0 else np.uint64(0)) + names[group[j]]
                place = _find(key, j, keys, entry, table, stamp, clock[0])
                if stamp[place] != clock[0]:
                    stamp[place], table[place] = clock[0], nodes
                    keys[nodes], entry[nodes], forward[nodes] = key, j, 0.0
                    for g in range(low.size):
                        used[nodes, g] = used[node, g] if node >= 0 else 0
                    used[nodes, group[j]] += 1
                    nodes += 1
                weight = w[t * count + j]
                if node >= 0:
                    weight *= forward[node] * edges[tag[entry[node]], tag[j]]
                else:
                    weight *= before[j]
                forward[table[place]] += weight
                source[links], target[links] = node, table[place]
                links += 1
        layers[t + 1], arcs[t + 1] = nodes, links
        total = 0.0
        for node in range(layers[t], nodes):
            total += forward[node]
        if not total > 0.0:
            return np.nan
        for node in range(layers[t], nodes):
            forward[node] /= total
        scales[t] = total
        logarithm += np.log(total)
    return logarithm


@compiled
def _pull(
    region: Any, edges: Any, boundary: Any, begin: Any, length: Any, room: Any, backward: Any, pairs: Any, weight: Any
) -> Any:
    """Backward sums and posteriors, in place of the factors; returns the logarithm of what comes after the region."""
    w, group, tag = region[0], region[2], region[3]
    entry, forward, source, target, layers, arcs, scales = room[:7]
    total, count = 0.0, group.size
    for node in range(layers[length - 1], layers[length]):
        backward[node] = boundary.after[begin + entry[node]]
        total += forward[node] * backward[node]
    for node in range(layers[length - 1], layers[length]):
        backward[node] /= total
        boundary.out[begin + entry[node]] += forward[node] / total
    for node in range(layers[length - 1]):
        backward[node] = 0.0
    for t in range(length - 1, -1, -1):
        for link in range(arcs[t], arcs[t + 1]):
            node, reached = source[link], target[link]
            j = entry[reached]
            step = w[t * count + j] / scales[t] * backward[reached]
            if node < 0:
                boundary.into[begin + j] += step
                continue
            step *= edges[tag[entry[node]], tag[j]]
            backward[node] += step
            pairs[tag[entry[node]], tag[j]] += forward[node] * step * weight
    w[:] = 0.0
    for t in range(length):
        for node in range(layers[t], layers[t + 1]):
            w[t * count + entry[node]] += forward[node] * backward[node]
    return np.log(total)
