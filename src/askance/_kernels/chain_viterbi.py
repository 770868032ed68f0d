"""The best sequence of a chain (Viterbi), and sequences drawn from it."""

from __future__ import annotations

from typing import Any

import numpy as np

from askance._kernels.compiler import compiled


@compiled
def best_sequences(starts: Any, scores: Any, edges: Any, codes: Any) -> None:
    """The tags with the highest score of every sentence; the first of equals.

    Args:
        starts: sentence s has the tokens starts[s] … starts[s + 1] − 1.
        scores: of tokens, first and last included, shape (N, K).
        edges: shape (K, K).
        codes: filled in, shape (N,).
    """
    tags, longest = scores.shape[1], 1
    for s in range(starts.size - 1):
        longest = max(longest, starts[s + 1] - starts[s])
    origin = np.empty((longest, tags), dtype=np.int32)
    here, best = np.empty(tags, dtype=scores.dtype), np.empty(tags, dtype=scores.dtype)
    for s in range(starts.size - 1):
        begin, end = starts[s], starts[s + 1]
        if begin == end:
            continue
        for k in range(tags):
            here[k] = scores[begin, k]
        for t in range(begin + 1, end):
            come = origin[t - begin]
            for k in range(tags):
                best[k] = here[0] + edges[0, k]
                come[k] = 0
            for i in range(1, tags):
                reached = here[i]
                for k in range(tags):
                    value = reached + edges[i, k]
                    better = value > best[k]
                    best[k] = value if better else best[k]
                    come[k] = np.int32(i) if better else come[k]
            for k in range(tags):
                here[k] = best[k] + scores[t, k]
        tag = 0
        for k in range(1, tags):
            if here[k] > here[tag]:
                tag = k
        for t in range(end - 1, begin - 1, -1):
            codes[t] = tag
            tag = origin[t - begin, tag]


@compiled
def draw_sequences(starts: Any, alpha: Any, factors: Any, uniform: Any, codes: Any) -> None:
    """Tags drawn from the last token backwards: P(y_t | y_{t+1}) ∝ α_t(y_t) E(y_t, y_{t+1}).

    Args:
        starts: sentence s has the tokens starts[s] … starts[s + 1] − 1.
        alpha: forward sums of tokens, shape (N, K).
        factors: E, shape (K, K).
        uniform: a number between 0 and 1 for every token, shape (N,).
        codes: filled in, shape (N,).
    """
    tags = alpha.shape[1]
    weight = np.empty(tags)
    for s in range(starts.size - 1):
        following = -1
        for t in range(starts[s + 1] - 1, starts[s] - 1, -1):
            total = 0.0
            for k in range(tags):
                total += alpha[t, k] * (factors[k, following] if following >= 0 else 1.0)
                weight[k] = total
            left, tag = uniform[t] * total, 0
            while tag < tags - 1 and weight[tag] <= left:
                tag += 1
            codes[t] = tag
            following = tag
