"""The hybrid channel: a few statistics are drawn, each is noised by a small table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product
from typing import Any

import numpy as np

from askance._arrays import AnyArray, ArrayLike, FloatArray, GuideArray, IntArray
from askance._checks import Number, as_count, as_positive_level
from askance._kernels import draw, sampled_coordinates
from askance._kernels.draw import TOTAL
from askance.channels.randomness import LONGEST_DRAW, WordSource, pieces
from askance.channels.registry import COUNT, Example, Parameter, register
from askance.channels.reports import impossible_report
from askance.channels.statistics.base import Averaging, Enumeration, HasReportLikelihood
from askance.channels.statistics.bounds import Bounds
from askance.channels.statistics.choices import BOUNDS, DIM, SPENT
from askance.channels.statistics.drawn import DrawnStatistics
from askance.channels.statistics.reports import Column
from askance.channels.statistics.staircase import Staircase, best_staircase
from askance.channels.sum_law import CountLaw, SumLaw

# Sums hold a count for every statistic and code.
_LARGEST_DIMENSION = 1 << 20
_MOST_SAMPLED = 64
# A proof by enumeration lists all observations of all statistics on the grid, up to this many entries.
_ENUMERATED_ENTRIES = 1 << 15
# Positions between grid points are whole multiples of this power of ½: with a grid below 64 they fit 62 bits.
_FRACTION_BITS = 56


@register(
    family="statistics",
    summary="draw a few statistics and send each as one of a few codes",
    use="statistics are many and bounded, not only 0 and 1, and the level is larger (above about 1)",
    parameters=[
        *(DIM, SPENT),
        Parameter("sampled", COUNT, "how many statistics are drawn (default: best for the level)", None),
        *BOUNDS,
    ],
    examples=[
        Example(dim=3, privacy_level=1),
        Example(dim=3, privacy_level=2, sampled=2, lower=-1, statistic_bound=2),
        Example(dim=2, privacy_level="1/2", sampled=2),
        Example(dim=1, privacy_level=3, lower=[10], statistic_bound=["5/2"]),
    ],
)
class Hybrid(DrawnStatistics, HasReportLikelihood):
    """Draw k of d statistics, noise x_j = 2t_j − 1 of each with level α/k by a table of codes, send places and codes.

    Here t = (φ − lower)/c is in [0, 1]^d. The tables are those of `Staircase`: a window mixed with signs, the finite
    and exact form of the hybrid mechanism of Wang et al. (2019). Its worst variance for one number is that of the
    published one at level 1, 5 % less at level 2 and 28 % less at level 4, because windows are as long as is best.

    **Level**: which statistics are drawn says nothing about them, and given x the codes are independent; so it is k
    times the level of the table, attained between φ with all statistics smallest and all largest. A number between two
    grid points is first rounded to one of them at random: this depends on the secret, but comes before the table, so
    that codes have mixtures of its rows and the level is not affected.

    **Estimates**. Let z_j be β of the code of j, with E[z_j|x] = x_j and E[z_j²|x] = M(x_j), and let j be drawn with
    probability p = k/d, i and j together with p₂ = k(k − 1)/(d(d − 1)). Averages of z_j within the reports on j have

        n Cov(x̂)_jj → (E M(x_j) − x̄_j²)/p,     n Cov(x̂)_ij → (p₂/p²) Cov(x_i, x_j),

    as x̂_j − x̄_j is to first order the mean of (z_j − x̄_j)/p over the reports on j, and 0 from others. The printed
    average over all reports, of z_j/p where j was drawn and 0 otherwise, has n Cov = E M(x_j)/p − x̄_j² and
    (p₂/p²) E[x_i x_j] − x̄_i x̄_j. Then φ̂ = lower + c(1 + x̂)/2.

    Args:
        dim: d, the number of statistics.
        privacy_level: α.
        sampled: k, how many are drawn (default: the k of least variance in the worst population, max_x M(x)/k).
        lower: smallest value of each statistic, one number or d.
        statistic_bound: c, largest minus smallest value, one number or d.

    >>> channel = Hybrid(8, 4)
    >>> channel.sampled, channel.table.codes, channel.privacy_level
    (2, 16, 4.0)
    >>> rng = np.random.default_rng(5)
    >>> reports = channel.simulate(np.tile([0.0, 0.2, 0.5, 0.7] * 2, (100_000, 1)), rng)
    >>> channel.mean(channel.sums(reports), len(reports)).round(1)[:4] + 0.0
    array([0. , 0.2, 0.5, 0.7])
    """

    kind = "hybrid"

    def __init__(
        self,
        dim: int,
        privacy_level: Number,
        *,
        sampled: int | None = None,
        lower: ArrayLike = 0.0,
        statistic_bound: ArrayLike = 1.0,
    ) -> None:
        self.dimension = as_count(dim, "dim", minimum=1, maximum=_LARGEST_DIMENSION)
        self._level = as_positive_level(privacy_level)
        self._bounds = Bounds(self.dimension, lower, statistic_bound, binary=False)
        most = min(self.dimension, _MOST_SAMPLED)
        #: k, how many statistics one report is about.
        self.sampled = (
            best_sampled(self._level, most)
            if sampled is None
            else as_count(sampled, "sampled", minimum=1, maximum=most)
        )
        #: How one statistic is noised.
        self.table: Staircase = best_staircase(min(self._level, Fraction(self.stated_level)) / self.sampled)
        self.columns = (
            Column(
                "coordinates",
                "integers",
                width=self.sampled,
                limit=self.dimension,
                description="which statistics were drawn, in increasing order",
            ),
            Column(
                "values", "integers", width=self.sampled, limit=self.table.codes, description="the codes they became"
            ),
        )
        self.sums_size = self.dimension * self.table.codes

    # -- drawing ---------------------------------------------------------------------------------------------------

    @cached_property
    def _guide(self) -> GuideArray:
        return draw.guide_table(self.table.cumulative)

    def _many_words(self, n: int) -> int:
        return 3 * n * self.sampled

    def _read(self, truth: AnyArray, offset: int) -> AnyArray:
        return self._bounds.shares(truth, offset)

    def _draw(self, encoded: AnyArray, source: WordSource, out: Mapping[str, AnyArray], *, compiled: bool) -> None:
        for rows in pieces(len(encoded), words=self.sampled):
            count = rows.stop - rows.start
            coordinates = self._draw_coordinates(count, source, compiled=compiled)
            shares = np.take_along_axis(encoded[rows], coordinates, axis=1).astype(np.float64).reshape(-1)
            points = self._round(shares, source)
            words = source(points.size)
            if compiled:
                codes = np.empty(points.size, dtype=np.int64)
                shift = draw.guide_shift(self._guide)
                draw.draw_columns(points, words, self.table.cumulative, self._guide, shift, codes)
            else:
                codes = draw.draw_columns_plain(points, words, self.table.cumulative)
            out["coordinates"][rows] = coordinates
            out["values"][rows] = codes.reshape(count, self.sampled)

    def _draw_coordinates(self, count: int, source: WordSource, *, compiled: bool) -> IntArray:
        """k of d for everybody, every set equally likely, in increasing order, shape (count, k)."""
        pick = sampled_coordinates.pick if compiled else sampled_coordinates.pick_plain
        bounds, remainders = sampled_coordinates.bounds_for(self.dimension, self.sampled)
        chosen, done = np.empty((count, self.sampled), dtype=np.int64), 0
        while done < count:
            words = source(min(LONGEST_DRAW, sampled_coordinates.most_words(count - done, self.sampled)))
            done = pick(bounds, remainders, words, done, chosen)
        return chosen

    def _round(self, shares: FloatArray, source: WordSource) -> IntArray:
        """Grid points of mean t G: t as a multiple of 2⁻⁵⁶ times G is ⌊·⌋ and a fraction, the chance of one more."""
        positions = (shares * 2.0**_FRACTION_BITS).astype(np.int64) * self.table.grid
        fractions = positions & ((1 << _FRACTION_BITS) - 1)
        drawn = (source(shares.size) >> np.uint64(64 - _FRACTION_BITS)).astype(np.int64)
        return np.asarray((positions >> _FRACTION_BITS) + (drawn < fractions))

    # -- estimating ------------------------------------------------------------------------------------------------

    @property
    def _sent(self) -> float:
        """p = k/d."""
        return self.sampled / self.dimension

    @property
    def _together(self) -> float:
        """p₂/p² = d(k − 1)/(k(d − 1)): how much of a covariance is seen (1 where there is only one statistic)."""
        if self.dimension == 1:
            return 1.0
        return self.dimension * (self.sampled - 1) / (self.sampled * (self.dimension - 1))

    def _sums(self, columns: Mapping[str, AnyArray]) -> IntArray:
        """How often each statistic was sent as each code: d times `table.codes` counts, statistic by statistic."""
        cells = columns["coordinates"].astype(np.int64) * self.table.codes + columns["values"]
        return np.bincount(cells.reshape(-1), minlength=self.sums_size)

    def _sum_law(self) -> SumLaw:
        """A block for every statistic, with the codes it can be sent as; k blocks are drawn."""
        table, d = self.table.probabilities, self.dimension
        return CountLaw(
            np.tile(table.min(axis=0), d),
            np.tile(table.max(axis=0), d),
            "code",
            size=np.ones(d, dtype=np.int64),
            block=np.repeat(np.arange(d), self.table.codes),
            share=np.full(d, self._sent),
            drawn=self.sampled,
            block_noun="statistic",
        )

    def _counts(self, sums: IntArray) -> IntArray:
        return sums.reshape(self.dimension, self.table.codes)

    def _seen(self, sums: IntArray) -> IntArray:
        return np.asarray(self._counts(sums).sum(axis=1))

    def _average(self, sums: IntArray, n: int) -> FloatArray:
        """x̂_j, the average of β over the reports on j."""
        return np.asarray(self._counts(sums) @ self.table.values / np.maximum(self._seen(sums), 1))

    def _spread(self, sums: IntArray, n: int) -> tuple[FloatArray, FloatArray]:
        """From the mean and mean square of β of each statistic, smoothed by one code of a statistic in the middle."""
        smoothed = (self._counts(sums) + self.table.probabilities.mean(axis=0)) / (self._seen(sums)[:, None] + 1)
        first, second = smoothed @ self.table.values, smoothed @ self.table.values**2
        return first, second - first**2

    def _outer(self, inner: FloatArray) -> FloatArray:
        """φ = lower + c(1 + x)/2."""
        return self._bounds.values((1 + inner) / 2)

    @property
    def _slope(self) -> FloatArray:
        return np.asarray(self._bounds.width / 2)

    def _debias(self, columns: Mapping[str, AnyArray]) -> FloatArray:
        """The printed β: x̂_j is β of the code over k/d where j was drawn, and 0 elsewhere."""
        drawn = columns["coordinates"].astype(np.int64)
        signed = np.zeros((len(drawn), self.dimension))
        np.put_along_axis(signed, drawn, self.table.values[columns["values"]] / self._sent, axis=1)
        return self._outer(signed)

    def _mean_covariance(self, truth: AnyArray, weights: FloatArray, averaging: Averaging) -> FloatArray:
        shares = self._bounds.scaled(truth).clip(0, 1)
        signed, second = 2 * shares - 1, weights @ self.table.second_moment(shares)
        mean, products = weights @ signed, (signed * weights[:, None]).T @ signed
        return self._drawn_covariance(mean, products, second - mean**2, self._together, averaging)

    def _log_likelihood(self, columns: Mapping[str, AnyArray], truth: AnyArray) -> FloatArray:
        """Σ over the drawn j of log P(code|x_j), less log C(d, k); codes of numbers off the grid are interpolated."""
        positions = self._bounds.scaled(truth).clip(0, 1) * self.table.grid
        below = np.minimum(positions.astype(np.int64), self.table.grid - 1)
        above = positions - below
        total = np.full((len(columns["values"]), len(truth)), -math.log(math.comb(self.dimension, self.sampled)))
        for place in range(self.sampled):
            drawn, codes = columns["coordinates"][:, place].astype(np.int64), columns["values"][:, place, None]
            point, share = below.T[drawn], above.T[drawn]
            table = self.table.probabilities
            total += np.log((1 - share) * table[point, codes] + share * table[point + 1, codes])
        return total

    def check_reports(self, columns: Mapping[str, AnyArray]) -> None:
        """Statistics are named in increasing order, each once."""
        drawn = columns["coordinates"]
        wrong = (drawn[:, 1:] <= drawn[:, :-1]).any(axis=1)
        if wrong.any():
            row = int(np.argmax(wrong))
            what = f"{drawn[row].tolist()} in column 'coordinates'"
            raise impossible_report(row, what, f"{self.sampled} different ones in increasing order")

    # -- proving ---------------------------------------------------------------------------------------------------

    def largest_ratio(self) -> Fraction:
        """The largest ratio of the table, to the power of k."""
        return self.table.ratio**self.sampled

    def is_unbiased(self) -> bool:
        """Whether Σ_c β(c) P(c|x) = x on the whole grid, checked in whole numbers; every statistic is drawn."""
        return self.table.is_unbiased()

    def worst_pair(self) -> tuple[AnyArray, AnyArray]:
        """All statistics at their largest, and all at their smallest."""
        return self._bounds.extremes()

    def worst_observations(self) -> tuple[str, ...]:
        """Any statistics with codes of the largest ratio; the first where there are many."""
        worst = [code for code, ratio in enumerate(self.table.code_ratios) if ratio == self.table.ratio]
        if self._is_small():
            observed = product(self._sets(), product(worst, repeat=self.sampled))
            return tuple(_label(drawn, codes) for drawn, codes in observed)
        # The last output of a window (the sign +) is likeliest for the largest statistics and rarest for the smallest.
        return (_label(range(self.sampled), [max(worst)] * self.sampled),)

    def _sets(self) -> list[tuple[int, ...]]:
        return list(combinations(range(self.dimension), self.sampled))

    def _is_small(self) -> bool:
        observations = math.comb(self.dimension, self.sampled) * self.table.codes**self.sampled
        return self.dimension <= 16 and observations * (self.table.grid + 1) ** self.dimension <= _ENUMERATED_ENTRIES

    def enumerate_exactly(self) -> Enumeration | None:
        """On all statistics of the grid, of which others are mixtures."""
        if not self._is_small():
            return None
        d, k, table, sets = self.dimension, self.sampled, self.table, self._sets()
        points = list(product(range(table.grid + 1), repeat=d))
        scale = math.lcm(*(value.denominator for value in table.beta)) * k
        reports = []
        for drawn, codes in product(sets, product(range(table.codes), repeat=k)):
            pairs = list(zip(drawn, codes, strict=True))
            weights = [math.prod(table.weights[point[j]][code] for j, code in pairs) for point in points]
            # t̂_j = (1 + x̂_j)/2 with x̂_j = β(code) d/k where j was drawn, and 0 elsewhere
            row = [scale] * d
            for j, code in pairs:
                row[j] += int(table.beta[code] * d * (scale // k))
            reports.append((_label(drawn, codes), weights, row))
        statistics = [[Fraction(point[j], table.grid) for point in points] for j in range(d)]
        return Enumeration.of(reports, statistics, len(sets) * TOTAL**k, 2 * scale)

    # -- describing ------------------------------------------------------------------------------------------------

    def parameters(self) -> dict[str, Any]:
        """The parameters of the registry, from which the same thresholds are built again."""
        written = {"dim": self.dimension, "privacy_level": str(self._level), "sampled": self.sampled}
        return written | self._bounds.parameters()

    def thresholds(self) -> dict[str, Any]:
        """Row i of `codes`: the probabilities of the codes at grid point i, over 2⁶²; `sampled` statistics are sent."""
        return {"sampled": self.sampled, "codes": [list(row) for row in self.table.weights]}

    def _fingerprint_parts(self) -> tuple[Any, ...]:
        table = self.table
        weights = [table.window, table.grid, table.high, table.low, table.keep, table.raised]
        return self.dimension, self.sampled, weights, self._bounds.edges()


def best_sampled(level: Fraction, most: int) -> int:
    """How many statistics to draw: the k with the least max_x M(x)/k at level α/k.

    That is n Var(x̂_j) k/d in the worst population, where half of the people have the worst x and half have −x.

    >>> [best_sampled(Fraction(level), 64) for level in (1, 2, 4, 8, 16)]
    [1, 1, 2, 4, 7]
    """
    best, least = 1, max(best_staircase(level).second_moments)
    for sampled in range(2, most + 1):
        cost = max(best_staircase(level / sampled).second_moments) / sampled
        if cost >= least:
            break
        best, least = sampled, cost
    return best


def _label(drawn: Iterable[int], codes: Iterable[int]) -> str:
    """An observation such as 0,2:5,1 (statistic 0 became code 5, statistic 2 code 1)."""
    return f"{','.join(map(str, drawn))}:{','.join(map(str, codes))}"
