"""Public random directions: a 64-bit seed stands for K candidate vectors of integers that are nearly Gaussian.

The specification, to the bit, is docs/directions.md. In short: word number c of a seed is SplitMix64's
mix(seed + (c + 1)·γ), a word makes two components, and a component is the sum of two entries of a table of 65,536
rounded normal quantiles, so that it is N(0, UNIT²) to about five digits. Component j of candidate i comes from word
i·⌈width/2⌉ + ⌊j/2⌋: any of them can be worked out without the others. Nothing here is secret.

Candidates are ranked by their inner products with a vector of integers, which fit 64 bits; so every processor finds the
same ranks. The `*_plain` twins give the same bits by NumPy.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from askance._arrays import AnyArray, IntArray, WordArray
from askance._kernels.compiler import compiled
from askance._kernels.splitmix import GAMMA, mix
from askance.errors import AskanceError

#: What a standard deviation of 1 is in the integers of a component.
UNIT = 1 << 12
#: No component is larger, in either direction.
LARGEST_COMPONENT = 25_958
#: SHA-256 of the table, as 65,536 little-endian 16-bit integers.
TABLE_DIGEST = "df811207de4339d3cc49c90ba07ea0ace92f1fb69536f8ee3d2d4493d02cf9d5"
#: Products of two components are rounded to multiples of 2^17 before they are squared: 2³³ squares then fit 64 bits.
SQUARE_SHIFT = 17
_ROUNDING = 1 << (SQUARE_SHIFT - 1)

_CELLS = 1 << 16
_SCALE = 2896.31
_OUTERMOST = (11_522, 12_979)
_16, _32, _48 = np.uint64(16), np.uint64(32), np.uint64(48)
_LOW = np.uint64(_CELLS - 1)
# The plain twins work out about this many components at a time.
_AT_A_TIME = 1 << 18


@cache
def normal_table() -> AnyArray:
    """T: rounded quantiles of the normal distribution, int16 (65536,), T[65535 − a] = −T[a].

    For 32768 ≤ a < 65534 the entry is 2896.31·Φ⁻¹((a + ½)/65536) to the nearest integer, never nearer than 9e-6 to a
    tie; the last two are 11,522 and 12,979. Quantiles alone would lack a little of the tails; these two put the second,
    fourth and sixth moments of the sum of two entries right, with relative errors of 3e-8, 2e-6 and 3e-6.
    """
    from scipy.special import ndtri

    upper = np.rint(_SCALE * ndtri((np.arange(_CELLS // 2, _CELLS) + 0.5) / _CELLS)).astype(np.int16)
    upper[-2:] = _OUTERMOST
    table = np.concatenate([-upper[::-1], upper])
    digest = hashlib.sha256(table.astype("<i2").tobytes()).hexdigest()
    if digest != TABLE_DIGEST:
        raise AskanceError(
            f"the table of normal quantiles has SHA-256 {digest}; allowed: {TABLE_DIGEST}.",
            remedy="The inverse normal distribution of this SciPy is off; install another version of it.",
        )
    table.flags.writeable = False
    return table


def words_per_candidate(width: int) -> int:
    """How many words of a seed the components of one candidate take."""
    return -(-width // 2)


# -- plain twins -------------------------------------------------------------------------------------------------------


def candidates_plain(seeds: WordArray, candidates: AnyArray, table: AnyArray, width: int) -> IntArray:
    """The candidates of some numbers: seeds (n,) and numbers (n, c) give components (n, c, width)."""
    stride = words_per_candidate(width)
    counters = candidates.astype(np.uint64)[..., None] * np.uint64(stride) + np.arange(1, stride + 1, dtype=np.uint64)
    words = mix.plain(np.asarray(seeds[:, None, None] + counters * GAMMA, dtype=np.uint64))
    table = table.astype(np.int64)
    even = table[words & _LOW] + table[(words >> _16) & _LOW]
    odd = table[(words >> _32) & _LOW] + table[words >> _48]
    return np.stack([even, odd], axis=-1).reshape(*words.shape[:2], 2 * stride)[..., :width]


def keys_plain(directions: IntArray, units: IntArray, *, magnitude: bool) -> IntArray:
    """What candidates are ranked by, from the largest: K·score + (K − 1 − number), so that ties go by number.

    directions (n, K, width) and units (n, width) give (n, K); the score is ⟨g, u⟩, or |⟨g, u⟩| for `magnitude`.
    """
    scores = (directions @ units[..., None])[..., 0]
    count = directions.shape[1]
    return np.asarray((np.abs(scores) if magnitude else scores) * count + np.arange(count - 1, -1, -1))


def choose_plain(
    units: AnyArray, seeds: WordArray, ranks: AnyArray, table: AnyArray, count: int, magnitude: bool, out: AnyArray
) -> None:
    """The number of the candidate of each rank (0 is the best of `count`), into `out` (n,)."""
    for rows in _pieces(len(seeds), count * units.shape[1]):
        every = np.broadcast_to(np.arange(count), (rows.stop - rows.start, count))
        directions = candidates_plain(seeds[rows], every, table, units.shape[1])
        keys = np.sort(keys_plain(directions, units[rows].astype(np.int64), magnitude=magnitude), axis=1)
        key = np.take_along_axis(keys, count - 1 - ranks[rows].astype(np.int64)[:, None], axis=1)[:, 0]
        out[rows] = count - 1 - key % count


def ranks_plain(
    units: AnyArray, seeds: WordArray, chosen: AnyArray, table: AnyArray, count: int, magnitude: bool, out: AnyArray
) -> None:
    """The rank of the chosen candidate of each seed for each of m unit vectors (m, width), into `out` (n, m)."""
    for rows in _pieces(len(seeds), count * units.shape[1]):
        every = np.broadcast_to(np.arange(count), (rows.stop - rows.start, count))
        directions = candidates_plain(seeds[rows], every, table, units.shape[1])
        for j, unit in enumerate(units.astype(np.int64)):
            keys = keys_plain(directions, np.broadcast_to(unit, (len(directions), len(unit))), magnitude=magnitude)
            mine = np.take_along_axis(keys, chosen[rows].astype(np.int64)[:, None], axis=1)
            out[rows, j] = (keys > mine).sum(axis=1)


def directions_plain(seeds: WordArray, chosen: AnyArray, table: AnyArray, width: int, out: AnyArray) -> None:
    """The first components of the chosen candidates, into `out` (n, at most width)."""
    for rows in _pieces(len(seeds), width):
        out[rows] = candidates_plain(seeds[rows], chosen[rows][:, None], table, width)[:, 0, : out.shape[1]]


def sum_vectors_plain(seeds: WordArray, chosen: AnyArray, table: AnyArray, width: int, out: IntArray) -> None:
    """Add Σ g_j and Σ g_j² over reports to the two rows of `out` (2, dim)."""
    for rows in _pieces(len(seeds), width):
        components = candidates_plain(seeds[rows], chosen[rows][:, None], table, width)[:, 0, : out.shape[1]]
        out += [components.sum(axis=0), (components * components).sum(axis=0)]


def sum_products_plain(seeds: WordArray, chosen: AnyArray, table: AnyArray, width: int, out: IntArray) -> None:
    """Add Σ g_i g_j and Σ (g_i g_j / 2^17, rounded)² of reports, i ≤ j < width − 1 row by row, to `out` (2, pairs)."""
    first, second = np.triu_indices(width - 1)
    for rows in _pieces(len(seeds), max(width, len(first))):
        components = candidates_plain(seeds[rows], chosen[rows][:, None], table, width)[:, 0]
        products = components[:, first] * components[:, second]
        rounded = (products + _ROUNDING) >> SQUARE_SHIFT
        out += [products.sum(axis=0), (rounded * rounded).sum(axis=0)]


def _pieces(rows: int, size: int) -> Iterator[slice]:
    step = max(_AT_A_TIME // size, 1)
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))


# -- compiled loops ----------------------------------------------------------------------------------------------------


@compiled
def _score(state: Any, unit: Any, table: Any) -> Any:
    """⟨g, u⟩ of the candidate whose words follow `state`; `unit` has an even number of entries."""
    score = np.int64(0)
    for j in range(0, unit.size, 2):
        state += GAMMA
        word = mix(state)
        score += unit[j] * (np.int64(table[word & _LOW]) + np.int64(table[(word >> _16) & _LOW]))
        score += unit[j + 1] * (np.int64(table[(word >> _32) & _LOW]) + np.int64(table[word >> _48]))
    return score


@compiled
def _make(state: Any, table: Any, out: Any) -> None:
    """The components of the candidate whose words follow `state`, an even number of them."""
    for j in range(0, out.size, 2):
        state += GAMMA
        word = mix(state)
        out[j] = np.int64(table[word & _LOW]) + np.int64(table[(word >> _16) & _LOW])
        out[j + 1] = np.int64(table[(word >> _32) & _LOW]) + np.int64(table[word >> _48])


@compiled
def _of_rank(keys: Any, rank: Any) -> Any:
    """The key that exactly `rank` others exceed; `keys`, no two of them equal, are overwritten.

    Quickselect in two passes a round: keys above a pivot are counted, then those on the side of the sought one are
    moved to the front. Neither pass branches on a key, which is what makes textbook quickselect slow.
    """
    size = keys.size
    while True:
        pivot = keys[size // 2]
        above = 0
        for key in keys[:size]:
            above += key > pivot
        if above == rank:
            return pivot
        kept = 0
        if above > rank:
            for i in range(size):
                key = keys[i]
                keys[kept] = key
                kept += key > pivot
        else:
            rank -= above + 1
            for i in range(size):
                key = keys[i]
                keys[kept] = key
                kept += key < pivot
        size = kept


@compiled
def choose(units: Any, seeds: Any, ranks: Any, table: Any, count: Any, magnitude: Any, out: Any) -> None:
    keys = np.empty(count, dtype=np.int64)
    step = GAMMA * np.uint64(units.shape[1] // 2)
    for row in range(seeds.size):
        unit, state, rank = units[row], seeds[row], np.int64(ranks[row])
        for i in range(count):
            score = _score(state, unit, table)
            state += step
            keys[i] = (abs(score) if magnitude else score) * count + (count - 1 - i)
        out[row] = count - 1 - _of_rank(keys, rank) % count


@compiled
def ranks(units: Any, seeds: Any, chosen: Any, table: Any, count: Any, magnitude: Any, out: Any) -> None:
    truths, width = units.shape
    step = GAMMA * np.uint64(width // 2)
    made = np.empty(width, dtype=np.int64)
    mine = np.empty(truths, dtype=np.int64)
    for row in range(seeds.size):
        state = seeds[row] + np.uint64(chosen[row]) * step
        for j in range(truths):
            score = _score(state, units[j], table)
            mine[j] = (abs(score) if magnitude else score) * count + (count - 1 - np.int64(chosen[row]))
            out[row, j] = 0
        state = seeds[row]
        for i in range(count):
            _make(state, table, made)
            state += step
            for j in range(truths):
                score = np.int64(0)
                for t in range(width):
                    score += made[t] * units[j, t]
                key = (abs(score) if magnitude else score) * count + (count - 1 - i)
                out[row, j] += key > mine[j]


@compiled
def directions(seeds: Any, chosen: Any, table: Any, width: Any, out: Any) -> None:
    stride = (width + 1) // 2
    step = GAMMA * np.uint64(stride)
    made = np.empty(out.shape[1] + out.shape[1] % 2, dtype=np.int64)
    for row in range(seeds.size):
        _make(seeds[row] + np.uint64(chosen[row]) * step, table, made)
        for j in range(out.shape[1]):
            out[row, j] = made[j]


@compiled
def sum_vectors(seeds: Any, chosen: Any, table: Any, width: Any, out: Any) -> None:
    dim = out.shape[1]
    step = GAMMA * np.uint64((width + 1) // 2)
    made = np.empty(dim + dim % 2, dtype=np.int64)
    first, second = out[0], out[1]
    for row in range(seeds.size):
        _make(seeds[row] + np.uint64(chosen[row]) * step, table, made)
        for j in range(dim):
            first[j] += made[j]
            second[j] += made[j] * made[j]


@compiled
def sum_products(seeds: Any, chosen: Any, table: Any, width: Any, out: Any) -> None:
    dim = width - 1
    step = GAMMA * np.uint64((width + 1) // 2)
    made = np.empty(dim + dim % 2, dtype=np.int64)
    first, second = out[0], out[1]
    for row in range(seeds.size):
        _make(seeds[row] + np.uint64(chosen[row]) * step, table, made)
        start = 0
        for i in range(dim):
            mine, others = made[i], made[i:dim]
            sums, squares = first[start : start + dim - i], second[start : start + dim - i]
            start += dim - i
            for j in range(others.size):
                product = mine * others[j]
                sums[j] += product
                rounded = (product + _ROUNDING) >> SQUARE_SHIFT
                squares[j] += rounded * rounded
