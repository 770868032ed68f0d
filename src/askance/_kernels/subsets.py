"""Uniform subsets of a given size, as packed bits: a rough set is drawn first, then single cells are put in or out.

Bit j of a row says whether cell j is in. A row starts from any set whose cells were treated alike: the empty set, the
full one, or independent coins, 64 cells per random word and bit plane. Given its size such a set is uniform. Cells that
are missing are then drawn one by one among those that are out (cells too many among those that are in), each uniform,
so the set stays uniform given its size: when the size is right it is a uniform subset, exactly. One cell, the true one,
takes no part: whether it is in was drawn before.

A uniform cell comes from 32 bits x of a random word: ⌊x · w / 2³²⌋, refused where (x · w mod 2³²) < (2³² mod w), which
leaves the same number of x for every cell (Lemire's method). Also refused is a cell that already is where it should go.

All there is to know of an unfinished row are its bits, so the loop may stop in the middle of a row when it has used up
its random words, and the next call goes on from there. The plain twin works on Python integers and gives the same bits
from the same words.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from askance._arrays import AnyArray, IntArray, WordArray
from askance._kernels.bits import WORD, last_word_mask, ones_of, words_for
from askance._kernels.compiler import compiled

_HALF = 32
_HALF_SHIFT = np.uint64(_HALF)
_LOW = np.uint64((1 << _HALF) - 1)
_ONE = np.uint64(1)
_INDEX_SHIFT, _INDEX_MASK = np.uint64(6), np.uint64(WORD - 1)
# Rough sets are drawn from at most this many bit planes; a plane of a word costs about as much as this many cells.
_MOST_PLANES = 8
_COST_OF_A_PLANE = 0.5


def full_rows(cells: IntArray) -> WordArray:
    """The full set of each of several tables, as rows of the widest: shape (tables, words of the widest)."""
    words = words_for(int(cells.max()))
    full = np.zeros((len(cells), words), dtype=np.uint64)
    for row, size in zip(full, cells.tolist(), strict=True):
        last = words_for(size) - 1
        row[:last] = 2**64 - 1
        row[last] = last_word_mask(size)
    return full


def unfair_products(cells: IntArray) -> WordArray:
    """2³² mod w: products whose low half is below this are refused, shape (tables,)."""
    return ((1 << _HALF) % cells).astype(np.uint64)


def best_planes(cells: IntArray, sizes: IntArray, weights: AnyArray) -> tuple[int, IntArray, float]:
    """How to draw rough sets: the number of bit planes, and for each table how many of 2^planes a coin has.

    A guess at what is quickest (any choice is exact), for tables that are drawn with probabilities `weights`; the last
    result is the expected number of cells that are then tried per row.
    """
    words, best = words_for(int(cells.max())), (math.inf, 0, np.zeros(len(cells), dtype=np.int64), 0.0)
    for planes in range(_MOST_PLANES + 1):
        parts = np.rint(sizes / cells * (1 << planes)).astype(np.int64)
        tries = float(weights @ _expected_tries(cells, sizes, parts / (1 << planes)))
        cost = tries + _COST_OF_A_PLANE * planes * words
        if cost < best[0]:
            best = cost, planes, parts, tries
    return best[1:]


def _expected_tries(cells: IntArray, sizes: IntArray, shares: AnyArray) -> AnyArray:
    """About how many cells are tried until a set of independent coins has the right size (normal approximation)."""
    excess, deviation = cells * shares - sizes, np.sqrt(cells * shares * (1 - shares)) + 1e-9
    ratios = (excess / deviation).tolist()
    erf = np.array([math.erf(ratio / math.sqrt(2)) for ratio in ratios])
    density = np.array([math.exp(-min(ratio * ratio / 2, 700.0)) for ratio in ratios])
    distance = deviation * math.sqrt(2 / math.pi) * density + excess * erf
    inside = np.clip((sizes / cells + shares) / 2, 0.5 / cells, 1 - 0.5 / cells)
    return np.asarray((distance - excess) / 2 / (1 - inside) + (distance + excess) / 2 / inside)


def plane_words(planes: int, parts: IntArray) -> WordArray:
    """The bits of `parts` from the lowest, each as a word of ones or zeros, shape (planes, tables)."""
    # 2^planes parts of 2^planes are the full set, from which a row then starts; its bits are ones as well.
    bits = (np.minimum(parts, (1 << planes) - 1)[None, :] >> np.arange(planes)[:, None]) & 1
    return np.where(bits == 1, np.uint64(2**64 - 1), np.uint64(0))


def toss(sets: WordArray, plane: WordArray, words: WordArray) -> WordArray:
    """One plane of coins: a coin of probability a becomes one of (1 + a)/2 where the plane has ones, else of a/2."""
    return np.asarray((sets & words) | (plane & (sets | words)))


def count_ones(words: WordArray) -> IntArray:
    """How many bits of every row (n, L) are set, shape (n,)."""
    ones: AnyArray = np.bitwise_count(words)
    if words.shape[1] == 1:
        return ones[:, 0].astype(np.int64)
    return np.asarray(ones.sum(axis=1, dtype=np.int64))


@compiled
def complete(
    sets: Any, table: Any, truth: Any, inside: Any, sizes: Any, cells: Any, unfair: Any, words: Any, start: Any
) -> int:
    """Bring rows `start`, … of `sets` (n, L) to their sizes, in place; returns the first one not done.

    Row i is a set of cells of table `table[i]`; its true cell `truth[i]` is first taken out, and put in when all else
    is done and `inside[i]`. `sizes`, `cells` and `unfair` (tables,) are s, and as words w and 2³² mod w.
    """
    used = 0
    for i in range(start, sets.shape[0]):
        row, true, size, least = sets[i], np.uint64(truth[i]), cells[table[i]], unfair[table[i]]
        row[true >> _INDEX_SHIFT] &= ~(_ONE << (true & _INDEX_MASK))
        ones = np.uint64(0)
        for word in row:
            ones += ones_of(word)
        rest = sizes[table[i]] - np.int64(inside[i]) - np.int64(ones)
        present = np.uint64(rest < 0)  # whether cells that are in are taken out
        rest = abs(rest)
        while rest > 0:
            if used == words.size:
                return int(i)
            random = words[used]
            used += 1
            for _ in range(2):
                # No branches but the loop's own: none of them could be predicted.
                product = (random & _LOW) * size
                random >>= _HALF_SHIFT
                cell = product >> _HALF_SHIFT
                at, bit = cell >> _INDEX_SHIFT, cell & _INDEX_MASK
                fits = ((row[at] >> bit) & _ONE) == present
                taken = fits & ((product & _LOW) >= least) & (cell != true) & (rest > 0)
                row[at] ^= np.uint64(taken) << bit
                rest -= taken
        row[true >> _INDEX_SHIFT] |= np.uint64(inside[i]) << (true & _INDEX_MASK)
    return int(sets.shape[0])


def complete_plain(
    sets: WordArray,
    table: IntArray,
    truth: IntArray,
    inside: AnyArray,
    sizes: IntArray,
    cells: WordArray,
    unfair: WordArray,
    words: WordArray,
    start: int,
) -> int:
    """The same bits as the compiled loop, by Python integers."""
    random, low = iter(words.tolist()), (1 << _HALF) - 1
    designs = list(zip(sizes.tolist(), cells.tolist(), unfair.tolist(), strict=True))
    for i in range(start, len(sets)):
        (wanted, size, least), true = designs[table[i]], int(truth[i])
        row = int.from_bytes(sets[i].astype("<u8").tobytes(), "little") & ~(1 << true)
        rest = wanted - int(inside[i]) - row.bit_count()
        present, rest = int(rest < 0), abs(rest)
        drawn: int | None = 0
        while rest and (drawn := next(random, None)) is not None:
            for half in (drawn & low, drawn >> _HALF):
                cell, remainder = divmod(half * size, 1 << _HALF)
                if rest and remainder >= least and cell != true and (row >> cell) & 1 == present:
                    row ^= 1 << cell
                    rest -= 1
        if not rest:
            row |= int(inside[i]) << true
        sets[i] = np.frombuffer(row.to_bytes(8 * sets.shape[1], "little"), dtype="<u8")
        if rest:
            return i
    return len(sets)
