"""Inverse-transform draws from integer thresholds.

A random word w is uniform on {0, …, 2⁶²−1}. Observation o is drawn when `cumulative[o−1] ≤ w < cumulative[o]`, so its
probability is an integer over 2⁶², exactly. The compiled loops start the search from a guide table (the first
candidate for the leading bits of w), which makes the expected number of comparisons about one and a half whatever
the number of observations.

`*_plain` are the NumPy twins: the same bits from the same words. They serve small inputs, where starting the compiler
would cost more than the work, and they are what the tests compare the compiled loops with.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from askance._arrays import CodeArray, IntArray, WordArray

#: Words are compared on this many bits; sums of thresholds then still fit a signed 64-bit integer.
PRECISION_BITS = 62
#: The number of different words: thresholds of a column sum to this.
TOTAL = 1 << PRECISION_BITS
_DISCARDED_BITS = np.uint64(64 - PRECISION_BITS)


def guide_table(cumulative: IntArray) -> IntArray:
    """First candidate per leading bits of the word: shape (columns, 2^g) for cumulative thresholds (columns, k).

    g grows with the number of observations, so that about two guide cells share an observation.
    """
    bits = int(np.ceil(np.log2(max(cumulative.shape[1], 2)))) + 1
    cell_starts = np.arange(1 << bits, dtype=np.int64) << (PRECISION_BITS - bits)
    guide = [np.searchsorted(column, cell_starts, side="right") for column in cumulative]
    return np.ascontiguousarray(guide, dtype=np.int64)


def draw_columns_plain(truth: CodeArray, words: WordArray, cumulative: IntArray) -> IntArray:
    """Draw o given y: `cumulative` (m, k) holds the cumulative thresholds of every column of S."""
    w = (words >> _DISCARDED_BITS).astype(np.int64)
    return np.asarray((w[:, None] >= cumulative[truth]).sum(axis=1))


def draw_mixture_plain(truth: CodeArray, words: WordArray, reveal: int, cumulative: IntArray) -> IntArray:
    """Reveal y when the word is below `reveal`, otherwise draw from the base distribution `cumulative` (1, k)."""
    w = (words >> _DISCARDED_BITS).astype(np.int64)
    return np.where(w < reveal, truth, np.searchsorted(cumulative[0], w, side="right"))


def guide_shift(guide: IntArray) -> int:
    """How many low bits of a word the guide table ignores."""
    return PRECISION_BITS - (int(guide.shape[1]).bit_length() - 1)


class CompiledDraws(NamedTuple):
    """The two loops, compiled."""

    columns: Callable[..., None]
    mixture: Callable[..., None]


@cache
def compiled() -> CompiledDraws:
    """Compile the loops, or load them from the cache of an earlier run; Numba is imported here and nowhere else."""
    import numba

    try:
        jit = numba.njit(cache=True, nogil=True)
        return CompiledDraws(jit(_draw_columns), jit(_draw_mixture))
    except RuntimeError:  # no folder to keep the compiled code in: compile once per process
        jit = numba.njit(nogil=True)
        return CompiledDraws(jit(_draw_columns), jit(_draw_mixture))


def _draw_columns(truth: Any, words: Any, cumulative: Any, guide: Any, shift: Any, out: Any) -> None:
    for i in range(truth.size):
        y = truth[i]
        w = np.int64(words[i] >> _DISCARDED_BITS)
        o = guide[y, w >> shift]
        while w >= cumulative[y, o]:
            o += 1
        out[i] = o


def _draw_mixture(truth: Any, words: Any, reveal: Any, cumulative: Any, guide: Any, shift: Any, out: Any) -> None:
    for i in range(truth.size):
        w = np.int64(words[i] >> _DISCARDED_BITS)
        if w < reveal:
            out[i] = truth[i]
        else:
            o = guide[0, w >> shift]
            while w >= cumulative[0, o]:
                o += 1
            out[i] = o
