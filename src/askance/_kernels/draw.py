"""Inverse-transform draws from integer thresholds.

A random word w is uniform on {0, …, 2⁶²−1}. Observation o is drawn when `cumulative[o−1] ≤ w < cumulative[o]`, so its
probability is an integer over 2⁶², exactly. The compiled loops start the search from a guide table (the first
candidate for the leading bits of w), which makes the expected number of comparisons about one and a half whatever
the number of observations.

`*_plain` are the NumPy twins: the same bits from the same words. They serve small inputs, where starting the compiler
would cost more than the work, and they are what the tests compare the compiled loops with.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from askance._arrays import CodeArray, GuideArray, IntArray, WordArray
from askance._kernels.compiler import compiled

#: Words are compared on this many bits; sums of thresholds then still fit a signed 64-bit integer.
PRECISION_BITS = 62
#: The number of different words: thresholds of a column sum to this.
TOTAL = 1 << PRECISION_BITS
#: The low bits of a 64-bit word that are not looked at.
DISCARDED_BITS = 64 - PRECISION_BITS
_SHIFT = np.uint64(DISCARDED_BITS)
# Guide tables have about this many cells, over all columns.
_GUIDE_CELLS = 1 << 15
# Up to this many thresholds are all compared with a single word.
_COMPARED = 1 << 10


def guide_table(cumulative: IntArray) -> GuideArray:
    """First candidate per leading bits of the word: shape (columns, 2^g) for cumulative thresholds (columns, k).

    Cells are many more than observations as long as all of them fit the processor's cache: then nearly every cell lies
    within one observation, and the search behind it is a branch that the processor predicts.
    """
    columns, size = cumulative.shape
    least = max(size - 1, 1).bit_length() + 1
    bits = max(least, min(least + 5, _GUIDE_CELLS.bit_length() - 1 - (columns - 1).bit_length()))
    cell_starts = np.arange(1 << bits, dtype=np.int64) << (PRECISION_BITS - bits)
    guide = [np.searchsorted(column, cell_starts, side="right") for column in cumulative]
    return np.ascontiguousarray(guide, dtype=np.int32)


def draw_columns_plain(truth: CodeArray, words: WordArray, cumulative: IntArray) -> IntArray:
    """Draw o given y: `cumulative` (m, k) holds the cumulative thresholds of every column of S."""
    w = (words >> _SHIFT).astype(np.int64)
    return np.asarray((w[:, None] >= cumulative[truth]).sum(axis=1))


def draw_mixture_plain(truth: CodeArray, words: WordArray, reveal: int, cumulative: IntArray) -> IntArray:
    """Reveal y when the word is below `reveal`, otherwise draw from the base distribution `cumulative` (1, k)."""
    w = (words >> _SHIFT).astype(np.int64)
    return np.where(w < reveal, truth, np.searchsorted(cumulative[0], w, side="right"))


def place_of(number: np.int64, thresholds: IntArray) -> int:
    """How many of a column's cumulative thresholds (k,) are at most the number: the observation that is drawn.

    Up to a thousand are all compared and counted, without a branch. Halving branches on every comparison, and a
    processor is quicker where it guessed a branch: where the observation is a likely one for its truth.
    """
    if thresholds.size <= _COMPARED:
        return int(np.count_nonzero(thresholds <= number))
    return int(thresholds.searchsorted(number, side="right"))


def guide_shift(guide: GuideArray) -> int:
    """How many low bits of a word the guide table ignores."""
    return PRECISION_BITS - (int(guide.shape[1]).bit_length() - 1)


@compiled
def draw_columns(truth: Any, words: Any, cumulative: Any, guide: Any, shift: Any, out: Any) -> None:
    for i in range(truth.size):
        y = truth[i]
        w = np.int64(words[i] >> _SHIFT)
        o = guide[y, w >> shift]
        while w >= cumulative[y, o]:
            o += 1
        out[i] = o


@compiled
def draw_mixture(truth: Any, words: Any, reveal: Any, cumulative: Any, guide: Any, shift: Any, out: Any) -> None:
    # Two loops on purpose. In one, the compiler branches on `w < reveal`, which no processor can predict; apart, the
    # second becomes a vectorised selection.
    for i in range(truth.size):
        w = np.int64(words[i] >> _SHIFT)
        o = guide[0, w >> shift]
        while w >= cumulative[0, o]:
            o += 1
        out[i] = o
    for i in range(truth.size):
        told = np.int64(words[i] >> _SHIFT) < reveal
        out[i] = truth[i] if told else out[i]
