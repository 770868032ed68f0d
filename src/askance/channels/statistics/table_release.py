"""Subset selection on a table: a few cells are sent, the true one rather often.

Of w cells, s are sent. The true cell is among them with probability p = P/2⁶² (P whole), the rest are uniform among the
other cells. A cell is sent with probability

    a = p                   where it is the true one,
    b = (s − p)/(w − 1)     where it is not,

and two cells together with probability (s − 1) p/(w − 1) where one of them is the true one, otherwise
(s − 1)(s − 2p)/((w − 1)(w − 2)). The level is log [p/(1 − p) · (w − s)/s]. With s = 1 it is k-ary randomized response.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any, Self

import numpy as np

from askance._arrays import AnyArray, FloatArray, IntArray, WordArray
from askance._kernels import subsets
from askance._kernels.draw import TOTAL
from askance.channels.randomness import LONGEST_DRAW, WordSource, pieces, whole_numbers
from askance.channels.thresholds import apportion, largest_odds
from askance.channels.words import Words
from askance.errors import ProbabilityError

#: Tables have at most this many cells: a report has one bit per cell.
MOST_CELLS = 1 << 16
# Of a stated level at least this share is spent: what thresholds of 62 bits can hold, except for the tiniest levels.
_LEAST_SHARE = 0.99
# Default probabilities of tables are whole multiples of one over this: short to write down, and as good.
_PROBABILITY_PARTS = 10**9
_ONE = np.uint64(1)


def best_subset_size(cells: int, odds: Fraction) -> int:
    """The s of least variance, summed over the cells, for uniform truth; about w/(e^α + 1), with `odds` = e^α.

    Σ n Var = (w − 1)² (s e^α + w − s)² / (w s (w − s)(e^α − 1)²), which falls up to its minimum and then rises.

    >>> [best_subset_size(16, largest_odds(Fraction(level))) for level in (1, 2, 3)]
    [4, 2, 1]
    """
    near = max(1, min(int(cells / (odds + 1)), cells - 1))
    candidates = range(near, min(near + 1, cells - 1) + 1)
    return min(candidates, key=lambda s: (s * odds + cells - s) ** 2 / (s * (cells - s)))


@dataclass(frozen=True)
class TableRelease:
    """How the cells of one table are sent.

    Attributes:
        cells: w, at least 2.
        subset_size: s, from 1 to w − 1.
        keep: P: the true cell is sent with probability P/2⁶².
    """

    cells: int
    subset_size: int
    keep: int

    @classmethod
    def for_privacy_level(cls, cells: int, level: Fraction, subset_size: int | None = None) -> Self:
        """The largest P whose level is at most the stated one, with the best s where none is given.

        p = s e^α/(s e^α + w − s).

        >>> TableRelease.for_privacy_level(4, Fraction(1)).keep / TOTAL == math.e / (math.e + 3)
        True
        """
        limit = largest_odds(level)
        size = best_subset_size(cells, limit) if subset_size is None else subset_size
        odds = limit * size / (cells - size)
        release = cls(cells, size, int(odds / (1 + odds) * TOTAL))
        if math.log1p(release.ratio - 1) < _LEAST_SHARE * float(level):
            raise ProbabilityError(
                f"is {float(level):.3g}: 62 bits are too few to spend so little on {cells} cells",
                argument="privacy_level",
                remedy="Raise the level; levels above 0.1 are usual.",
            )
        return release

    # -- probabilities ---------------------------------------------------------------------------------------------

    @property
    def bits(self) -> int:
        """One per cell."""
        return self.cells

    @property
    def units(self) -> int:
        """2⁶² (w − 1)(a − b) = P w − 2⁶² s, a whole number; β is a whole number over it."""
        return self.keep * self.cells - TOTAL * self.subset_size

    @property
    def inside(self) -> float:
        """a: how often the true cell is sent."""
        return self.keep / TOTAL

    @property
    def outside(self) -> float:
        """b: how often another cell is sent."""
        return (self.subset_size * TOTAL - self.keep) / ((self.cells - 1) * TOTAL)

    @property
    def gain(self) -> float:
        """a − b."""
        return self.units / ((self.cells - 1) * TOTAL)

    @property
    def ratio(self) -> Fraction:
        """e^level, exactly: a subset with the true cell against the same subset without it."""
        return Fraction(self.keep * (self.cells - self.subset_size), (TOTAL - self.keep) * self.subset_size)

    @cached_property
    def log_probabilities(self) -> FloatArray:
        """Log S(subset | cell) of a subset without, and with, the cell, shape (2,)."""
        without = math.log((TOTAL - self.keep) / TOTAL) - math.log(math.comb(self.cells - 1, self.subset_size))
        return np.array([without, without + math.log(self.ratio)])

    def log_likelihood(self, sets: WordArray, cells: IntArray) -> FloatArray:
        """Log S(subset | cell) of packed subsets (n, words) and cells (m,), shape (n, m)."""
        return self.log_probabilities[members(sets, np.broadcast_to(cells, (len(sets), len(cells))))]

    def likelihood_terms(self, sets: FloatArray) -> tuple[FloatArray, float, float]:
        """P(S) = a₀ + (a₁ − a₀) Σ_{cells in S} μ: the sets themselves, a₀ and a₁ − a₀."""
        without, within = np.exp(self.log_probabilities)
        return sets, without, within - without

    def log_tilts(self, sets: FloatArray) -> FloatArray:
        """Log S(subset | cell) up to a constant of the subset, for subsets as 0 and 1 (n, w), shape (n, w)."""
        return np.asarray(float(np.diff(self.log_probabilities)[0]) * sets)

    # -- estimating ------------------------------------------------------------------------------------------------

    def sent(self, mean: FloatArray) -> FloatArray:
        """b + (a − b) μ: how often every cell is sent where true cells have these shares."""
        return np.asarray(self.outside + self.gain * mean)

    def sent_range(self) -> FloatArray:
        """How often a cell is sent at least (b) and at most (a), whatever the true cell is, shape (2, w)."""
        return np.repeat([[self.outside], [self.inside]], self.cells, axis=1)

    def debias(self, sent: FloatArray) -> FloatArray:
        """(share of reports with the cell − b)/(a − b)."""
        return np.asarray((sent - self.outside) / self.gain)

    def variances(self, sent: FloatArray) -> FloatArray:
        """Of one debiased report, by cell, where each is sent this often: π(1 − π)/(a − b)²."""
        return np.asarray(sent * (1 - sent) / self.gain**2)

    def covariance(self, shares: FloatArray) -> FloatArray:
        """Of one debiased report where true cells have these shares (…, w), shape (…, w, w)."""
        w, s, p = self.cells, self.subset_size, self.inside
        with_true = (s - 1) * p / (w - 1)
        without_true = (s - 1) * (s - 2 * p) / ((w - 1) * max(w - 2, 1))  # of two cells one is the true one
        sent = self.sent(shares)
        together = without_true + (with_true - without_true) * (shares[..., :, None] + shares[..., None, :])
        together[..., np.arange(w), np.arange(w)] = sent
        return np.asarray((together - sent[..., :, None] * sent[..., None, :]) / self.gain**2)

    @property
    def total_variance(self) -> Fraction:
        """The trace of `covariance` for uniform truth, exactly: s(w − s)/w / (a − b)²."""
        gain = Fraction(self.units, (self.cells - 1) * TOTAL)
        return Fraction(self.subset_size * (self.cells - self.subset_size), self.cells) / gain**2

    # -- on a device -----------------------------------------------------------------------------------------------

    def told(self, cell: int, words: Words) -> AnyArray:
        """The subset that words draw for a true cell (`device/1`), in the same steps for every cell, in or out; (w,).

        One word says whether the true cell is in. Then as many other cells as the subset has are drawn, and the last
        gives way to the true one where that is in.
        """
        inside = int(words.number() < self.keep)
        chosen = np.array(words.distinct(self.cells - 1, self.subset_size))
        chosen += chosen >= cell  # the numbers of the others among all
        chosen[-1] = (int(chosen[-1]), cell)[inside]  # both of one type: NumPy takes longer for its own
        dense = np.zeros(self.cells, dtype=bool)
        dense[chosen] = True
        return dense

    # -- in whole numbers ------------------------------------------------------------------------------------------

    @property
    def is_unbiased(self) -> bool:
        """The true cell is sent more often than others."""
        return self.units > 0

    @property
    def has_exact_beta(self) -> bool:
        """Always."""
        return True

    @property
    def number_of_subsets(self) -> int:
        """(w choose s)."""
        return math.comb(self.cells, self.subset_size)

    def subsets(self) -> list[tuple[int, ...]]:
        """All subsets, as 0 and 1 by cell."""
        chosen = combinations(range(self.cells), self.subset_size)
        return [tuple(int(cell in ones) for cell in range(self.cells)) for ones in map(set, chosen)]

    def weights(self) -> tuple[int, int, int]:
        """S(subset | cell) without and with the cell, as whole numbers over the third."""
        without = math.comb(self.cells - 1, self.subset_size)
        with_it = math.comb(self.cells - 1, self.subset_size - 1)
        common = math.lcm(without, with_it)
        return (TOTAL - self.keep) * (common // without), self.keep * (common // with_it), TOTAL * common

    def beta(self, bit: int) -> int:
        """β of a cell that is (1) or is not (0) in the subset, as a whole number over `units`."""
        return bit * (self.cells - 1) * TOTAL - (self.subset_size * TOTAL - self.keep)

    def weights_of(self, subset: Sequence[int]) -> tuple[list[int], int]:
        """S(subset | cell) by cell, as whole numbers over the second."""
        without, with_it, total = self.weights()
        return [with_it if bit else without for bit in subset], total

    def beta_of(self, subset: Sequence[int]) -> list[int]:
        """β of all cells, as whole numbers over `units`."""
        return [self.beta(bit) for bit in subset]

    def worst_subset(self, cell: int, other: int) -> tuple[int, ...]:
        """The first subset that has one cell and not the other."""
        chosen = {
            cell,
            *[number for number in range(self.cells) if number not in (cell, other)][: self.subset_size - 1],
        }
        return tuple(int(number in chosen) for number in range(self.cells))

    def worst_cells(self) -> None:
        """Any two cells will do."""

    def thresholds(self) -> dict[str, Any]:
        """Size of subsets, and how often the true cell is in them."""
        return {"subset_size": self.subset_size, "inside": self.keep}

    def fingerprint_part(self) -> list[int]:
        """w, s and P."""
        return [self.cells, self.subset_size, self.keep]


def best_probabilities(variances: Sequence[Fraction]) -> list[Fraction]:
    """π_c ∝ √tr V_c of tr V_c, which minimises Σ_c tr V_c / π_c; in whole numbers, the same on every machine."""
    roots = [math.isqrt(int(variance * 10**24)) for variance in variances]
    parts = apportion([Fraction(root, sum(roots)) for root in roots], _PROBABILITY_PARTS)
    return [Fraction(part, _PROBABILITY_PARTS) for part in parts]


class SubsetSampler:
    """Draws the subsets of one or several tables, exactly.

    Args:
        releases: the tables.
        weights: how often each is drawn, about; decides what is quick and nothing else.
    """

    def __init__(self, releases: Sequence[TableRelease], weights: AnyArray) -> None:
        cells = np.array([release.cells for release in releases], dtype=np.int64)
        self.sizes = np.array([release.subset_size for release in releases], dtype=np.int64)
        self._keep = np.array([release.keep for release in releases], dtype=np.int64)
        self._cells, self._unfair = cells.astype(np.uint64), subsets.unfair_products(cells)
        #: The full set of every table, shape (tables, words of the widest).
        self.full: WordArray = subsets.full_rows(cells)
        planes, parts, self._tries = subsets.best_planes(cells, self.sizes, weights)
        self._planes = subsets.plane_words(planes, parts)
        self._begin = np.where((parts == 1 << planes)[:, None], self.full, np.uint64(0))

    def draw(self, table: IntArray, cell: IntArray, source: WordSource, out: WordArray, *, compiled: bool) -> None:
        """One subset of table `table[i]` with true cell `cell[i]` for every row i of `out` (n, words)."""
        for rows in pieces(len(out), words=out.shape[1]):
            self._draw_piece(table[rows], cell[rows], source, out[rows], compiled)

    def _draw_piece(self, table: IntArray, cell: IntArray, source: WordSource, out: WordArray, compiled: bool) -> None:
        inside = whole_numbers(source, len(out)) < _of(self._keep, table)
        out[:] = _of(self._begin, table)
        for plane in self._planes:
            words = source(out.size).reshape(out.shape)
            out[:] = subsets.toss(out, _of(plane, table)[:, None], words)
        if len(self._planes):
            out &= _of(self.full, table)
        complete, done = subsets.complete if compiled else subsets.complete_plain, 0
        while done < len(out):
            # Two cells are tried per word, the last of a row often in vain; somewhat more than is likely needed.
            words = source(min(LONGEST_DRAW, int((len(out) - done) * (0.55 * self._tries + 0.5)) + 8))
            done = complete(out, table, cell, inside, self.sizes, self._cells, self._unfair, words, done)

    def first_impossible(self, table: AnyArray, sets: WordArray) -> int | None:
        """The first row that is no subset of its table's size and cells; None where there is none."""
        return first_impossible(table, sets, self.sizes, self.full)


def first_impossible(table: AnyArray, sets: WordArray, sizes: IntArray, full: WordArray) -> int | None:
    """The first row i that has not `sizes[table[i]]` bits set, or one beyond `full[table[i]]`; None where none has."""
    for rows in pieces(len(sets), words=sets.shape[1]):
        own, part = table[rows], sets[rows]
        wrong = subsets.count_ones(part) != _of(sizes, own)
        beyond = part & ~_of(full, own)
        if beyond.any():
            wrong |= beyond.any(axis=1)
        if wrong.any():
            return int(rows.start + np.argmax(wrong))
    return None


def _of(values: AnyArray, table: AnyArray) -> AnyArray:
    """What belongs to the table of every row: where there is only one table, one entry for all rows."""
    return values if len(values) == 1 else values[table]


def members(sets: AnyArray, cells: IntArray) -> AnyArray:
    """Whether cells[i, j] is in the set of row i of packed words (n, L): 0 or 1, shape of `cells`."""
    word = np.take_along_axis(sets, cells >> 6, axis=1)
    return np.asarray((word >> (cells & 63).astype(np.uint64)) & _ONE).astype(np.int64)


def set_bit(sets: WordArray) -> IntArray:
    """Which bit is set in every packed row (n, words) that has one, shape (n,)."""
    word = np.argmax(sets != 0, axis=1)
    alone = np.take_along_axis(sets, word[:, None], axis=1)[:, 0]
    # A power of two is a float without rounding, and its exponent is the bit.
    return np.asarray(word * 64 + np.frexp(alone.astype(np.float64))[1] - 1, dtype=np.int64)
