"""Vectors of signs packed 64 to a word: turned round where they point the wrong way.

Bit 1 stands for +1 and bit 0 for −1. Two vectors of d signs that differ in D places have the inner product d − 2D, and
D is the number of ones of their exclusive or, so that 64 signs are compared at once.

A vector o of random signs is to lean towards the truth v when a coin says so, and away from it otherwise: where ⟨o, v⟩
has the wrong sign, o is replaced by −o; where it is 0, there is no wrong sign and o stays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from askance._arrays import WordArray
from askance._kernels.bits import ones_of
from askance._kernels.compiler import compiled
from askance._kernels.draw import DISCARDED_BITS

_SHIFT = np.uint64(DISCARDED_BITS)
_ALL = np.uint64(2**64 - 1)
_NONE = np.uint64(0)


@compiled
def turn(truth: Any, coins: Any, keep: Any, dimension: Any, mask: Any, out: Any) -> None:
    """Turn the random rows of `out` (n, words) towards, or away from, those of `truth`.

    `coins` (n,) are random words: towards where the 62 bits are below `keep`. `mask` has ones where the last word of a
    row holds signs.
    """
    rows, width = truth.shape
    for i in range(rows):
        own, drawn = truth[i], out[i]
        differing = np.int64(0)
        for w in range(width):
            differing += np.int64(ones_of(own[w] ^ drawn[w]))
        inner = dimension - 2 * differing
        towards = np.int64(coins[i] >> _SHIFT) < keep
        wrong = (inner < 0) if towards else (inner > 0)
        turned = _ALL if wrong else _NONE
        for w in range(width - 1):
            drawn[w] ^= turned
        drawn[width - 1] ^= turned & mask


def turn_plain(truth: WordArray, coins: WordArray, keep: int, dimension: int, mask: np.uint64, out: WordArray) -> None:
    """The same bits as the compiled loop, by NumPy."""
    inner = dimension - 2 * np.bitwise_count(truth ^ out).sum(axis=1, dtype=np.int64)
    towards = (coins >> _SHIFT).astype(np.int64) < keep
    wrong = np.where(towards, inner < 0, inner > 0)
    out[wrong] ^= _ALL
    out[:, -1] &= mask
