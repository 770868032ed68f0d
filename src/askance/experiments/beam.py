"""Sums over tag sequences by a beam: after every token only the most probable states are kept.

A state says how many tokens of each group were used. It is told from others by a 64-bit sum of a fixed pseudo-random
number per token of a group, so that states too many to be numbered do no harm. States that cannot reach the least
counts any more are dropped, so some sequence always survives. With a beam as wide as there are states the sum is exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from askance._arrays import AnyArray, IntArray
from askance._kernels.compiler import compiled
from askance._kernels.region_layout import load_weights
from askance._kernels.splitmix import GAMMA, mix
from askance.text.corpus.regions import RegionCounts
from askance.text.counts.likelihood import CountLikelihood


class BeamLikelihood(CountLikelihood):
    """The likelihood of counts as the paper has it: `width` states are kept after every token.

    >>> from askance.text.corpus.corpus import Corpus
    >>> from askance.text.corpus.regions import Region
    >>> corpus = Corpus.of([["the", "dog"]])
    >>> likelihood = BeamLikelihood(RegionCounts.of(corpus, "DN", [Region(0, 0, 2, {"D": 1, "N": 1})]), 500)
    >>> print(f"{np.exp(likelihood(np.log([[0.9, 0.1], [0.2, 0.8]]))[0]):.2f}")  # 0.9 · 0.8 + 0.1 · 0.2
    0.74
    """

    def __init__(self, regions: RegionCounts, width: int, **options: Any) -> None:
        """Prepare all that does not depend on p.

        Args:
            regions: the counts.
            width: states that are kept.
            options: as `CountLikelihood` has them; the method is a beam.
        """
        super().__init__(regions, method="sinkhorn", **options)
        self.width = width

    def _approximate(self, p: AnyArray, regions: IntArray) -> None:
        self._split(
            search,
            np.minimum(self._cost[regions], self._layout.length[regions] * self.width * 100.0),
            (self._layout, p, regions),
            (self.width, self._posterior, self._value),
        )


@compiled
def search(
    layout: Any, probabilities: Any, members: Any, first: Any, last: Any, width: Any, posterior: Any, value: Any
) -> None:
    """Sum over the sequences that a beam keeps, for regions members[first] … members[last − 1].

    Args:
        layout: `RegionLayout`.
        probabilities: p(tag | type), shape (T, K).
        members: numbers of regions.
        first: first of them.
        last: the one after the last.
        width: states kept after every token.
        posterior: flat, filled in at layout.place.
        value: log of the sum, for every region.
    """
    for number in range(first, last):
        region = members[number]
        begin, end, length = layout.offsets[region], layout.offsets[region + 1], layout.length[region]
        low, high, groups = layout.low[begin:end], layout.high[begin:end], end - begin
        names, weights = _names(groups), np.empty(length * groups)
        load_weights(layout, probabilities, region, weights, 0, groups, 1)
        keys, digits, forward = np.zeros(1, dtype=np.uint64), np.zeros((1, groups), dtype=np.int32), np.ones(1)
        # The transitions of all tokens: which state, which group, to which state, and how much.
        ends, logarithm = np.zeros(length + 1, dtype=np.int64), 0.0
        most = length * width * groups
        origin, group, target = np.empty(most, np.int32), np.empty(most, np.int32), np.empty(most, np.int32)
        flow, reached = np.empty(most), np.empty(length + 1, dtype=np.int64)
        for i in range(length):
            weight = weights[i * groups : (i + 1) * groups]
            at, reached[i] = ends[i], forward.size
            count = _extend(digits, low, high, length - i - 1, origin[at:], group[at:])
            ends[i + 1] = at + count
            moves, into = flow[at : at + count], np.empty(count, dtype=np.uint64)
            for x in range(count):
                moves[x] = forward[origin[at + x]] * weight[group[at + x]]
                into[x] = keys[origin[at + x]] + names[group[at + x]]
            chosen, sums = _merge(into, moves, width, target[at : at + count])
            scale, wider = sums.sum(), np.empty((sums.size, groups), dtype=np.int32)
            for y in range(sums.size):
                wider[y] = digits[origin[at + chosen[y]]]
                wider[y, group[at + chosen[y]]] += 1
            keys, digits, forward = into[chosen], wider, sums / scale
            logarithm += np.log(scale)
            for x in range(count):
                moves[x] /= scale
        reached[length] = forward.size
        value[region] = logarithm
        at = layout.place[region]
        _go_back(ends, origin, group, target, flow, reached, groups, posterior[at : at + length * groups])


@compiled
def _names(groups: Any) -> Any:
    """A number for each group: `splitmix.scattered`."""
    names = np.empty(groups, dtype=np.uint64)
    for j in range(groups):
        names[j] = mix(np.uint64(j + 1) * GAMMA)
    return names


@compiled
def _extend(digits: Any, low: Any, high: Any, left: Any, origin: Any, group: Any) -> Any:
    """All ways on from the states, with `left` tokens after this one; returns how many there are."""
    count = 0
    for state in range(digits.shape[0]):
        needed = 0
        for j in range(low.size):
            needed += max(0, low[j] - digits[state, j])
        for j in range(low.size):
            if digits[state, j] < high[j] and needed - (digits[state, j] < low[j]) <= left:
                origin[count], group[count] = state, j
                count += 1
    return count


@compiled
def _merge(into: Any, moves: Any, width: Any, target: Any) -> Any:
    """Equal states made one, and the `width` largest kept: a transition to each, and their sums."""
    order = np.argsort(into)
    chosen, sums, states = np.empty(into.size, dtype=np.int64), np.zeros(into.size), -1
    for x in range(into.size):
        if x == 0 or into[order[x]] != into[order[x - 1]]:
            states += 1
            chosen[states] = order[x]
        sums[states] += moves[order[x]]
        target[order[x]] = states
    states += 1
    if states > width:
        best = np.argsort(-sums[:states])[:width]
        rank = np.full(states, -1, dtype=np.int32)
        rank[best] = np.arange(width)
        for x in range(into.size):
            target[x] = rank[target[x]]
        return chosen[best], sums[best]
    return chosen[:states], sums[:states]


@compiled
def _go_back(
    ends: Any, origin: Any, group: Any, target: Any, flow: Any, reached: Any, groups: Any, posterior: Any
) -> None:
    """Posteriors from the transitions, from the last token to the first.

    A move carries F(s) p / scale; what it is worth is that times B of its target, over the sum. B of a state is the
    worth of all moves from it over F(s), which in turn is all that the moves into it carry.
    """
    length = ends.size - 1
    posterior[:] = 0.0
    backward = np.ones(reached[length])
    for i in range(length - 1, -1, -1):
        worth, carried = np.zeros(reached[i]), np.zeros(reached[i])
        for x in range(ends[i], ends[i + 1]):
            if target[x] >= 0:
                posterior[i * groups + group[x]] += flow[x] * backward[target[x]]
                worth[origin[x]] += flow[x] * backward[target[x]]
        for x in range(ends[max(i - 1, 0)], ends[i]):
            if target[x] >= 0:
                carried[target[x]] += flow[x]
        backward = worth / np.maximum(carried, 1e-300)
