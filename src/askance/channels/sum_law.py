"""What sums of reports can be, and what they are on average: stated once per channel, for states and for tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from askance._arrays import AnyArray, FloatArray, IntArray

# Counts that add up to no more have exact totals in 64 bits.
_LARGEST_TOTAL = 2.0**62


@dataclass(frozen=True, eq=False)
class Trials:
    """Sums of independent numbers between 0 and 1, such as how many of some reports have a bit set.

    Truths are whatever they are, one for every report; given them, reports are independent. So the terms of entry e are
    independent, and the mean of their expectations lies between `low` and `high`: outside of that only chance can be.

    Attributes:
        hits: the sums, shape (e,).
        of: the numbers of terms, shape (e,).
        low: the smallest mean that truths can bring about, shape (e,).
        high: the largest, shape (e,).
        name: what entry e is, for people.
        variance: the largest variance of one term, shape (e,); None where nothing better is known than that of a term
            that is 0 or 1.
        unit: what shares are shares of, for people.
    """

    hits: AnyArray
    of: AnyArray
    low: FloatArray
    high: FloatArray
    name: Callable[[int], str]
    variance: FloatArray | None = None
    unit: str = "of reports"


class SumLaw(Protocol):
    """How the sums of a channel come about."""

    def violation(self, sums: IntArray, n: int) -> str | None:
        """Why no n reports add up to these sums, in words; None where some may."""

    def trials(self, sums: IntArray, n: int) -> Iterator[Trials]:
        """The sums as hits among trials, with the means that truths can bring about."""


@dataclass(frozen=True, eq=False)
class CountLaw:
    """Sums that count entries: a report is about some blocks of entries, and sets so many entries of each.

    With m_b the number of reports about block b, the sums of n reports have

        0 ≤ count of an entry of b ≤ m_b,    Σ counts of b = size_b m_b,    m_b ≤ n,    Σ_b m_b = drawn · n,

    and all whole numbers that have this are the sums of some n reports. For deal drawn · n blocks out, m_b of each and
    equal ones in a row, to n people in turn: as m_b ≤ n, nobody gets a block twice, and everybody gets `drawn` of them.
    Entries are dealt to the reports about their block in the same way. Without a size any entries may be set.

    Attributes:
        low: smallest probability of an entry over all truths, in a report about its block, shape (entries,).
        high: the largest, shape (entries,).
        noun: what an entry is called.
        size: how many entries of each block a report about it sets, shape (blocks,); None for any number.
        block: to which block every entry belongs, shape (entries,); None where there is one, and all reports are
            about it.
        share: how often each block is drawn, whatever the truth, shape (blocks,); None as for `block`.
        drawn: how many blocks a report is about.
        told: whether the sums end with the numbers m_b; otherwise they follow from the counts.
        block_noun: what a block is called.
        total: smallest and largest mean number of set entries, where entries are independent and truths bound it.
        labels: what entries are called, where they have names of their own.

    >>> law = CountLaw(np.full(3, 0.2), np.full(3, 0.6), "label", size=np.array([2]))
    >>> law.violation(np.array([5, 5, 0]), 5), law.violation(np.array([5, 5, 1]), 5)
    (None, 'they add up to 11; allowed: 10, as every report has 2')
    """

    low: FloatArray
    high: FloatArray
    noun: str
    size: IntArray | None = None
    block: IntArray | None = None
    share: FloatArray | None = None
    drawn: int = 1
    told: bool = False
    block_noun: str = ""
    total: tuple[float, float] | None = None
    labels: Sequence[object] | None = None

    def violation(self, sums: IntArray, n: int) -> str | None:
        """The first thing that is wrong."""
        if (wrong := _outside(sums, 0, n)) is not None:
            if self.labels is None:
                return f"sum {wrong} is {sums[wrong]}; allowed: 0 to {n}"
            return f"{self.name(wrong)} is {sums[wrong]}; allowed: at least 0, at most {n}"
        if self.size is None:
            return None
        counts, totals = sums[: len(self.low)], self._totals(sums)
        if float(counts.sum(dtype=np.float64)) > _LARGEST_TOTAL:
            return f"they add up to {counts.sum(dtype=np.float64):.3g}; allowed: at most 2⁶²"
        reports = self._reports(sums, n)
        if self.block is not None:
            if reports.max(initial=0) > n:
                return (
                    f"{self._block_name(int(np.argmax(reports)))} is in {reports.max()} reports; allowed: at most {n}"
                )
            if int(reports.sum()) != self.drawn * n:
                of = f"{self.drawn} {self.block_noun}{'s' if self.drawn > 1 else ''}"
                return f"reports are about {reports.sum()} {self.block_noun}s; allowed: {self.drawn * n}, {of} each"
        wrong_totals = np.flatnonzero(totals != self.size * reports)
        if wrong_totals.size:
            b = int(wrong_totals[0])
            which = "they" if self.block is None else f"those of {self._block_name(b)}"
            allowed = self.size[b] * reports[b]
            return f"{which} add up to {totals[b]}; allowed: {allowed}, as every report has {self.size[b]}"
        over = np.flatnonzero(counts > self._of(reports))
        if over.size:
            e = int(over[0])
            return f"{self.name(e)} is in {counts[e]} reports; allowed: at most {self._of(reports)[e]}"
        return None

    def trials(self, sums: IntArray, n: int) -> Iterator[Trials]:
        """How often blocks were drawn, entries set, and all entries together."""
        counts, reports = sums[: len(self.low)], self._reports(sums, n)
        if self.share is not None:
            yield Trials(reports, np.full(len(reports), n), self.share, self.share, self._block_name)
        unit = "of reports" if self.block is None else f"of the reports about that {self.block_noun}"
        yield Trials(counts, self._of(reports), self.low, self.high, self.name, unit=unit)
        if self.total is not None:
            low, high = (np.array([mean / len(counts)]) for mean in self.total)
            whole, of = self._totals(sums), np.array([n * len(counts)])
            yield Trials(whole, of, low, high, self._all_name, unit="of them are set")

    def name(self, entry: int) -> str:
        """An entry, such as "bit 3 of clique 0"."""
        if self.block is None:
            return f"{self.noun} {entry}" if self.labels is None else f"{self.labels[entry]!r}"
        own = self.block[entry]
        return f"{self.noun} {np.count_nonzero(self.block[:entry] == own)} of {self._block_name(int(own))}"

    def _block_name(self, block: int) -> str:
        return f"{self.block_noun} {block}"

    def _all_name(self, _: int) -> str:
        return f"all {self.noun}s together"

    def _totals(self, sums: IntArray) -> IntArray:
        """Σ counts by block."""
        counts = sums[: len(self.low)]
        if self.block is None:
            return np.array([counts.sum()])
        totals = np.zeros(0 if self.size is None else len(self.size), dtype=np.int64)
        np.add.at(totals, self.block, counts)
        return totals

    def _reports(self, sums: IntArray, n: int) -> IntArray:
        """m_b: how many reports are about every block."""
        if self.block is None:
            return np.array([n])
        return sums[len(self.low) :] if self.told else self._totals(sums)

    def _of(self, reports: IntArray) -> IntArray:
        """How many reports are about the block of every entry."""
        return np.broadcast_to(reports[0], len(self.low)) if self.block is None else reports[self.block]


@dataclass(frozen=True, eq=False)
class MomentLaw:
    """Sums of whole numbers a_e of n reports, and then of the squares of r_e = a_e/unit, rounded (unit 1: not at all).

    Attributes:
        least: smallest a_e, shape (e,).
        most: largest a_e, shape (e,).
        low: smallest mean of a_e over all truths, shape (e,).
        high: the largest, shape (e,).
        variance: a bound on the variance of a_e, shape (e,).
        unit: what r is rounded to.
        products: the two places whose product entry e is; a product squared is at most that of the two squares. None
            where entries are no products.
    """

    least: AnyArray
    most: AnyArray
    low: FloatArray
    high: FloatArray
    variance: FloatArray
    unit: int = 1
    products: tuple[IntArray, IntArray] | None = None

    def violation(self, sums: IntArray, n: int) -> str | None:
        """Beyond the ranges: squares that are smaller than the sums let them be, or odd where the sums are even."""
        first, squares = np.split(sums, 2)
        largest = np.maximum(-self.least, self.most) // self.unit + (self.unit > 1)
        for values, low, high in ((first, self.least, self.most), (squares, 0 * largest, largest**2)):
            wrong = _outside(values, n * low, n * high)
            if wrong is not None:
                e, what = wrong, "" if values is first else " of squares"
                return f"sum {e}{what} is {values[e]}; allowed: {n * low[e]} to {n * high[e]}"
        # Σ r² is at least (Σ r)²/n, and at least |Σ r|, for r are whole numbers; rounding moves each by half a unit.
        reach = np.maximum(np.abs(first) / self.unit - (n / 2 if self.unit > 1 else 0), 0.0)
        small = np.flatnonzero(squares * (1 + 1e-12) < np.maximum(reach, reach**2 / max(n, 1)))
        if small.size:
            return f"the sum {small[0]} of squares is {squares[small[0]]}, too small for a sum of {first[small[0]]}"
        if self.unit == 1 and ((first - squares) & 1).any():
            return "a sum is odd and that of its squares even, or the other way round"
        return self._violation_of_products(first)

    def name(self, entry: int) -> str:
        """An entry, such as "product 0,2" of two components."""
        if self.products is None:
            return f"component {entry}"
        first, second = self.products
        return f"product {first[entry]},{second[entry]}"

    def _violation_of_products(self, first: IntArray) -> str | None:
        if self.products is None:
            return None
        diagonal = first[self.products[0] == self.products[1]].astype(np.float64)
        larger = np.flatnonzero(
            first.astype(np.float64) ** 2 > diagonal[self.products[0]] * diagonal[self.products[1]] * (1 + 1e-12)
        )
        return f"sum {larger[0]} is {first[larger[0]]}, too large for the squares beside it" if larger.size else None

    def trials(self, sums: IntArray, n: int) -> Iterator[Trials]:
        """The sums of a_e, on a scale from 0 to 1."""
        width, first = (self.most - self.least).astype(np.float64), sums[: len(self.low)]
        low, high = (self.low - self.least) / width, (self.high - self.least) / width
        hits = (first - n * self.least.astype(np.float64)) / width
        of, scaled = np.full(len(first), n), self.variance / width**2
        yield Trials(hits, of, low, high, self.name, scaled, "of the way from smallest to largest")


def _outside(values: IntArray, low: AnyArray | int, high: AnyArray | int) -> int | None:
    """The first place of a value that is out of its range."""
    wrong = np.flatnonzero((values < low) | (values > high))
    return int(wrong[0]) if wrong.size else None
