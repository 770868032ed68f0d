"""SplitMix64: 64-bit words that look random, word number c of a seed being mix(seed + (c + 1)·γ)."""

from __future__ import annotations

from typing import Any

import numpy as np

from askance._arrays import WordArray
from askance._kernels.compiler import compiled

#: γ, what a state grows by from word to word: 2⁶⁴ over the golden ratio, made odd.
GAMMA = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_27, _30, _31 = np.uint64(27), np.uint64(30), np.uint64(31)


@compiled
def mix(state: Any) -> Any:
    """The output function, a bijection of 64-bit words: of an array of them or, compiled, of one.

    >>> mix.plain(np.array([1234567], dtype=np.uint64) + GAMMA)
    array([6457827717110365317], dtype=uint64)
    """
    state = (state ^ (state >> _30)) * _FIRST
    state = (state ^ (state >> _27)) * _SECOND
    return state ^ (state >> _31)


def scattered(count: int) -> WordArray:
    """The first words of seed 0, shape (count,): sums of them tell sets of numbers below `count` apart, nearly surely.

    >>> scattered(2)
    array([16294208416658607535,  7960286522194355700], dtype=uint64)
    """
    return np.asarray(mix.plain(np.arange(1, count + 1, dtype=np.uint64) * GAMMA))
