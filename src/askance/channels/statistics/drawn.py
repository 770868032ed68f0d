"""Channels that draw what a report is about: blocks of statistics, of which noised bits or codes are sent."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import ClassVar

import numpy as np

from askance._arrays import AnyArray, FloatArray, IntArray
from askance._kernels.draw import TOTAL
from askance.channels.randomness import WordSource, pieces, whole_numbers
from askance.channels.statistics.base import Averaging, Enumeration, HasReportLikelihood, StatisticsChannel
from askance.channels.statistics.flips import Flips
from askance.channels.statistics.reports import Column


class DrawnStatistics(StatisticsChannel):
    """A report is about some statistics, drawn whatever the truth is; i with probability p_i, i and j with p_ij."""

    #: How often each block of statistics is drawn, over 2⁶², where a report is about one block.
    _drawn: Sequence[int]

    @cached_property
    def _cumulative(self) -> IntArray:
        return np.cumsum(np.array(self._drawn, dtype=np.int64))

    @property
    def _block_probabilities(self) -> FloatArray:
        """How often each block is drawn, shape (blocks,)."""
        return np.array(self._drawn, dtype=np.int64) / TOTAL

    def _block_of(self, numbers: IntArray) -> IntArray:
        """The block that random numbers below 2⁶² draw."""
        return np.searchsorted(self._cumulative, numbers, side="right")

    def _drawn_covariance(
        self,
        mean: FloatArray,
        second: FloatArray,
        variance: FloatArray,
        together: FloatArray | float,
        averaging: Averaging,
    ) -> FloatArray:
        """The limit of n · Cov(μ̂), of E x, E[x xᵀ] and Var β of what is estimated on the inner scale, shape (d, d).

        `together` is r_ij = p_ij/(p_i p_j). Averages within what was drawn have Var β_i/p_i and r_ij Cov(x_i, x_j);
        printed ones E β_i²/p_i and r_ij E[x_i x_j], less E x E xᵀ.
        """
        product, slope = np.outer(mean, mean), np.broadcast_to(self._slope, mean.shape)
        if averaging == "within":
            covariance = together * (second - product)
            np.fill_diagonal(covariance, variance / self._sent)
        else:
            covariance = together * second
            np.fill_diagonal(covariance, (variance + mean**2) / self._sent)
            covariance -= product
        return np.asarray(covariance * np.outer(slope, slope))


class DrawnBits(DrawnStatistics, HasReportLikelihood):
    """A block of k statistics is drawn, and its number is sent with a code: one noised bit for each of the k.

    A statistic of mean t on the inner scale is sent as 1 with probability s + (p − s) t. Which block was drawn says
    nothing about the truth.
    """

    flips: Flips
    #: The statistics of every block, shape (blocks, k).
    _places: IntArray
    #: Whether sums list all blocks of one code together, rather than all codes of one block.
    _by_code: ClassVar[bool] = False
    #: The codes at which the level is attained.
    _worst_codes: Sequence[int]

    def _set_columns(self, block: Column, code: Column) -> None:
        self.columns, self.sums_size = (block, code), block.limit * code.limit

    @abstractmethod
    def _thresholds(self, encoded: AnyArray, block: IntArray) -> IntArray:
        """How many of 2⁶² words make each bit of the block a 1, shape (n, k)."""

    @abstractmethod
    def _shares(self, truth: AnyArray) -> FloatArray:
        """T of every statistic, shape (n, d)."""

    @property
    def _weights(self) -> IntArray:
        """What each bit is worth in a code, the first most, shape (k,)."""
        return np.asarray(1 << np.arange(self._places.shape[1])[::-1])

    # -- drawing ---------------------------------------------------------------------------------------------------

    def _many_words(self, n: int) -> int:
        return n * (1 + len(self._weights))

    def _draw(self, encoded: AnyArray, source: WordSource, out: Mapping[str, AnyArray], *, compiled: bool) -> None:
        size = 1 + len(self._weights)
        block_name, code_name = (column.name for column in self.columns)
        for rows in pieces(len(encoded), words=size):
            words = whole_numbers(source, size * (rows.stop - rows.start)).reshape(size, -1)
            block = self._block_of(words[0])
            bits = self._thresholds(encoded[rows], block) > words[1:].T
            out[block_name][rows], out[code_name][rows] = block, bits @ self._weights

    # -- estimating ------------------------------------------------------------------------------------------------

    def _told(self, columns: Mapping[str, AnyArray]) -> tuple[IntArray, AnyArray]:
        """The block of every report, (n,), and its bits, (n, k)."""
        block, code = (columns[column.name].astype(np.int64) for column in self.columns)
        return block, (code[:, None] & self._weights) > 0

    def _sums(self, columns: Mapping[str, AnyArray]) -> IntArray:
        """How often each block was sent with each code."""
        outer, inner = self.columns[::-1] if self._by_code else self.columns
        cells = columns[outer.name].astype(np.int64) * inner.limit + columns[inner.name]
        return np.bincount(cells, minlength=self.sums_size)

    def _by_statistic(self, sums: IntArray, counted: AnyArray) -> IntArray:
        """How many reports are about each statistic with the codes that are counted (codes, k), shape (d,)."""
        codes, totals = self.columns[1].limit, np.zeros(self.dimension, dtype=np.int64)
        counts = sums.reshape(codes, -1).T if self._by_code else sums.reshape(-1, codes)
        np.add.at(totals, self._places, counts @ counted)
        return totals

    def _seen(self, sums: IntArray) -> IntArray:
        return self._by_statistic(sums, np.ones((self.columns[1].limit, len(self._weights)), dtype=np.int64))

    def _ones(self, sums: IntArray) -> IntArray:
        """How many reports have the bit of each statistic, shape (d,)."""
        return self._by_statistic(sums, (np.arange(self.columns[1].limit)[:, None] & self._weights) > 0)

    def _average(self, sums: IntArray, n: int) -> FloatArray:
        """(share of ones among the reports about a statistic − s)/(p − s)."""
        return self.flips.debias(self._ones(sums) / np.maximum(self._seen(sums), 1))

    def _spread(self, sums: IntArray, n: int) -> tuple[FloatArray, FloatArray]:
        return self.flips.smoothed(self._ones(sums), self._seen(sums))

    def _debias(self, columns: Mapping[str, AnyArray]) -> FloatArray:
        """The printed β: what was drawn, over the probability of drawing it."""
        block, bits = self._told(columns)
        shares, places = np.zeros((len(block), self.dimension)), self._places[block]
        sent = np.broadcast_to(self._sent, self.dimension)[places]
        np.put_along_axis(shares, places, self.flips.debias(bits.astype(np.float64)) / sent, axis=1)
        return self._outer(shares)

    def _log_likelihood(self, columns: Mapping[str, AnyArray], truth: AnyArray) -> FloatArray:
        (block, bits), shares = self._told(columns), self._shares(truth).T
        ones, zeros = self.flips.ones(shares), self.flips.zeros(shares)
        total = np.repeat(np.log(self._block_probabilities)[block][:, None], len(truth), axis=1)
        for bit, place in zip(bits.T, self._places[block].T, strict=True):
            total += np.log(np.where(bit[:, None], ones[place], zeros[place]))
        return total

    # -- proving ---------------------------------------------------------------------------------------------------

    def is_unbiased(self) -> bool:
        """Every block is drawn sometimes, and bits of ones and zeros differ."""
        return self.flips.keep > self.flips.raised and min(self._drawn) > 0

    def worst_observations(self) -> tuple[str, ...]:
        """The worst codes of every block; of the first where they are many."""
        shown = 1 if self.enumerate_exactly() is None else len(self._places)
        return tuple(f"{block}:{code}" for block in range(shown) for code in self._worst_codes)

    def _enumerated(self, points: AnyArray, statistics: Sequence[Sequence[Fraction]], slope: IntArray) -> Enumeration:
        """S and β on encoded points, (m, …), whose statistics are slope · t + (1 − slope), d rows of m."""
        span, raised = self.flips.keep - self.flips.raised, self.flips.raised
        sent = [sum(self._drawn[b] for b in np.argwhere(self._places == s)[:, 0]) for s in range(self.dimension)]
        scale, widths = span * math.lcm(*sent), [int(width) for width in slope]
        reports = []
        for block, drawn in enumerate(self._drawn):
            thresholds = self._thresholds(points, np.full(len(points), block)).tolist()
            for code, bits in enumerate(product((0, 1), repeat=len(self._weights))):
                pairs = [list(zip(row, bits, strict=True)) for row in thresholds]
                weights = [drawn * math.prod(p if bit else TOTAL - p for p, bit in row) for row in pairs]
                values = [scale * (1 - width) for width in widths]
                for place, bit in zip(self._places[block].tolist(), bits, strict=True):
                    share = (TOTAL * bit - raised) * TOTAL * (scale // (span * sent[place]))
                    values[place] += widths[place] * share
                reports.append((f"{block}:{code}", weights, values))
        return Enumeration.of(reports, statistics, TOTAL ** (1 + len(self._weights)), scale)
