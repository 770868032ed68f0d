"""Clique release: one small table of a few variables is drawn, and its cell is told, mostly by subset selection."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any, Self

import numpy as np

from askance._arrays import AnyArray, ArrayLike, FloatArray, IntArray
from askance._checks import Number, as_array, as_floats, as_positive_level, shown
from askance._kernels import bits
from askance._kernels.compiler import COMPILED_PAYS_FROM
from askance._kernels.draw import place_of
from askance._words import Place, words
from askance.channels.randomness import WordSource, pieces, whole_numbers
from askance.channels.registry import COUNTS, DISTRIBUTION, GROUPS, MATRICES, Example, Parameter, register
from askance.channels.reports import impossible_report
from askance.channels.statistics.base import Averaging, Enumeration, HasReportLikelihood
from askance.channels.statistics.choices import SPENT, as_draw_distribution
from askance.channels.statistics.cliques import CliqueTables
from askance.channels.statistics.drawn import DrawnStatistics
from askance.channels.statistics.listed_table import TableSampler, ToldTable, enumerate_tables, label, read_tables
from askance.channels.statistics.reports import Column, bits_as_json
from askance.channels.statistics.table_release import TableRelease, best_probabilities
from askance.channels.sum_law import CountLaw, SumLaw
from askance.channels.thresholds import apportion
from askance.channels.words import Words
from askance.errors import InputError, MissingValueError, ShapeError

# A proof by enumeration multiplies all statistics, observations and records; beyond this many structure is used.
_ENUMERATED_ENTRIES = 1 << 20


@register(
    family="statistics",
    summary="draw one table of a few variables and send some of its cells, the true one rather often among them",
    use="a record has several categorical variables and tables of a few of them are wanted, as for a graphical model",
    parameters=[
        Parameter("sizes", COUNTS, "number of values of every variable"),
        Parameter("cliques", GROUPS, "the tables: each a list of variables, counted from 0"),
        SPENT,
        Parameter(
            "clique_probabilities", DISTRIBUTION, "how often each table is drawn (default: least variance)", None
        ),
        Parameter(
            "table_channels", MATRICES, "matrices through which cells are told (default: subset selection)", None
        ),
    ],
    examples=[
        Example(sizes=[2, 3, 2], cliques=[[0, 1], [1, 2]], privacy_level=1),
        Example(sizes=[2, 2, 2], cliques=[[0, 1], [0, 2], [1, 2]], privacy_level=2),
        Example(sizes=[3, 2], cliques=[["0"], ["1", "0"]], privacy_level="1/2", clique_probabilities=["1/4", "3/4"]),
        # As text, as it stands behind a flag; a matrix has a level of its own, here log 1.1.
        Example(
            sizes=[2, 3],
            cliques=[[0], [0, 1]],
            privacy_level=1,
            clique_probabilities=["1/2", "1/2"],
            table_channels='[[["11/32", "5/16"], ["5/16", "11/32"], ["11/32", "11/32"]], null]',
        ),
    ],
)
class CliqueRelease(DrawnStatistics, HasReportLikelihood):
    """Draw a clique c with probability π_c, spend the whole level on its table of w_c cells by subset selection.

    The statistics are the indicators of the cells of all tables, one table after the other; the cells of a table are in
    C order of its variables (the last variable runs fastest), and `table` gives a table its shape. The level is the
    largest over cliques; all are calibrated to α. Averages are taken within each clique: n Cov(μ̂) is block-diagonal
    with V_c/π_c, V_c the covariance of subset selection on table c, where the printed β has blocks
    (V_c + μ_c μ_cᵀ)/π_c less μ μᵀ. The default π_c ∝ √tr V_c (uniform truth) has the least trace.

    Args:
        sizes: number of values of every variable, each at least 2.
        cliques: lists of variables (counted from 0), one for every table; a table has at most 65,536 cells.
        privacy_level: α.
        clique_probabilities: π, one probability above 0 per clique.
        table_channels: for every clique None (subset selection), or through what its cell is told instead: S (k, w_c)
            with S[o, cell] = P(o | cell), numbers or fractions as text, or a channel such as `optimal_channel` finds.
            Its level must not exceed α, and it must have an unbiased β.

    >>> channel = CliqueRelease([2, 3, 2], [[0, 1], [1, 2]], 1)
    >>> channel.privacy_level, channel.dimension, channel.statistic_names[5]
    (1.0, 12, '0,1=1,2')
    >>> records = np.tile([[0, 2, 1], [1, 0, 1]], (200_000, 1))
    >>> reports = channel.simulate(records, np.random.default_rng(5))
    >>> channel.table(channel.mean(channel.sums(reports), len(reports)), [0, 1]).round(1) + 0.0
    array([[0. , 0. , 0.5],
           [0.5, 0. , 0. ]])
    """

    kind = "clique-release"
    device_mapping = "clique"

    def __init__(
        self,
        sizes: Iterable[int],
        cliques: Iterable[Iterable[int | str]],
        privacy_level: Number,
        *,
        clique_probabilities: Iterable[Number] | None = None,
        table_channels: Iterable[Any] | None = None,
    ) -> None:
        self.tables: CliqueTables = CliqueTables(sizes, cliques)
        cells = self.tables.cells
        self._level = as_positive_level(privacy_level)
        by_cells = {w: TableRelease.for_privacy_level(w, self._level) for w in set(cells)}
        self._listed = read_tables(table_channels, self.tables, self._level)
        self.releases: tuple[ToldTable, ...] = tuple(self._listed.get(i, by_cells[w]) for i, w in enumerate(cells))
        self._given = as_draw_distribution(clique_probabilities, "clique_probabilities", len(cells), "clique")
        drawn = self._given or best_probabilities([release.total_variance for release in self.releases])
        # With listed tables floats decide π, which other machines may round in another way: it is written down.
        self._given = drawn if self._listed else self._given
        self._drawn = apportion(drawn)
        self.dimension: int = self.tables.offsets[-1]
        #: Where the bits of every table begin in the sums; the last is their end.
        self.bit_offsets: list[int] = [0, *accumulate(release.bits for release in self.releases)]
        told = "the cells, or the observation, of the table" if self._listed else "the cells of the table"
        self.columns = (
            Column("clique", "integer", limit=len(cells), description="which table was drawn"),
            Column(
                "subset", "bits", max(release.bits for release in self.releases), description=f"{told} that are sent"
            ),
        )
        self.sums_size = self.bit_offsets[-1] + len(cells)

    @classmethod
    def from_parameters(cls, **values: Any) -> Self:
        """Build from the registry's parameters; table channels may be JSON, as they stand behind a flag."""
        tables = values.pop("table_channels", None)
        return cls(**values, table_channels=MATRICES.read(tables) if isinstance(tables, str) else tables)

    @cached_property
    def clique_probabilities(self) -> FloatArray:
        """π: how often each clique is drawn, shape (cliques,)."""
        return self._block_probabilities

    @property
    def statistic_names(self) -> tuple[str, ...]:
        """Variables and their values, such as "0,1=2,0"."""
        return self.tables.names()

    @property
    def truth_width(self) -> int:
        """The number of variables."""
        return len(self.tables.sizes)

    def table(self, values: ArrayLike, clique: int | Sequence[int]) -> FloatArray:
        """The part of a vector of statistics (…, d) that belongs to one clique, as its table.

        Args:
            values: means or variances, one per statistic.
            clique: its number, or its variables in the order in which they were given.

        Returns:
            one axis per variable of the clique, shape (…, sizes of its variables).
        """
        array = as_floats(values, "values")
        if array.ndim == 0 or array.shape[-1] != self.dimension:
            raise ShapeError(
                f"values has shape {array.shape}; allowed: (…, {self.dimension}), one number per statistic.",
                remedy="Give what mean or variances returns.",
            )
        number = self.tables.number(clique)
        part = array[..., self.tables.offsets[number] : self.tables.offsets[number + 1]]
        return part.reshape(*array.shape[:-1], *self.tables.shapes[number])

    # -- drawing ---------------------------------------------------------------------------------------------------

    @cached_property
    def _sampler(self) -> TableSampler:
        return TableSampler(self.releases, self.clique_probabilities)

    def _rows(self, truth: ArrayLike) -> AnyArray:
        rows = as_array(truth, "the records")
        if rows.ndim != 2 or rows.shape[1] != self.truth_width:
            raise ShapeError(
                f"the records have shape {rows.shape}; allowed: (n, {self.truth_width}), one row per respondent.",
                remedy=f"Give the values of all {self.truth_width} variables, or build the channel for others.",
            )
        return rows

    def _read(self, truth: AnyArray, offset: int) -> AnyArray:
        values = truth if truth.dtype.kind in "iu" else as_floats(truth, "the records", secret=True)
        wrong = (values < 0) | (values >= np.array(self.tables.sizes))
        if values.dtype.kind == "f":
            wrong |= values != np.floor(values)
        if wrong.any():
            row, variable = map(int, np.argwhere(wrong)[0])
            where = Place("variable", variable, row + offset)
            allowed = f"whole numbers from 0 to {self.tables.sizes[variable] - 1}"
            if values[row, variable] != values[row, variable]:
                remedy = "Leave respondents with missing values out, and count them."
                raise MissingValueError("is missing", argument=where, allowed=allowed, remedy=remedy)
            remedy = words("Recode the records, or build the channel with larger {sizes}.")
            raise InputError("is none of its values", argument=where, allowed=allowed, remedy=remedy)
        # Small integers stay small; what NumPy would turn into floats when it is multiplied does not.
        return values if values.dtype.kind in "iu" and values.dtype != np.uint64 else values.astype(np.int64)

    def _many_words(self, n: int) -> int:
        return n * (3 + bits.words_for(self.columns[1].width))

    def _draw(self, encoded: AnyArray, source: WordSource, out: Mapping[str, AnyArray], *, compiled: bool) -> None:
        for rows in pieces(len(encoded)):
            clique = out["clique"][rows] = self._block_of(whole_numbers(source, rows.stop - rows.start))
            cells = self.tables.cells_of(encoded[rows], clique)
            self._sampler.draw(clique, cells, source, out["subset"][rows], compiled=compiled)

    def _report(self, encoded: AnyArray, words: Words) -> dict[str, Any]:
        """One word for the clique, then those of its table."""
        clique = place_of(words.number(), self._cumulative)
        cell = int(self.tables.cells_of(encoded, np.array([clique]))[0])
        told = self.releases[clique].told(cell, words)
        return {"clique": clique, "subset": bits_as_json(told, self.columns[1].width)}

    def device_truth(self) -> dict[str, Any]:
        """Variables and tables."""
        return {"sizes": list(self.tables.sizes), "cliques": [list(clique) for clique in self.tables.cliques]}

    def check_reports(self, columns: Mapping[str, AnyArray]) -> None:
        """Refuse subsets of another size, and cells beyond those of the table."""
        clique, sets = columns["clique"], columns["subset"]
        row = self._sampler.first_impossible(clique, sets)
        if row is not None:
            number, dense = int(clique[row]), bits.unpack(sets[row : row + 1], sets.shape[1] * bits.WORD)[0]
            release, what = self.releases[number], "observations" if number in self._listed else "cells"
            what = f"{what} {shown(np.flatnonzero(dense).tolist())} of clique {number} in column 'subset'"
            raise impossible_report(row, what, f"exactly {release.subset_size} of 0 to {release.bits - 1}")

    # -- estimating ------------------------------------------------------------------------------------------------

    def _parts(self) -> Iterator[tuple[int, slice, ToldTable]]:
        """Number, statistics and release of every clique."""
        for number, release in enumerate(self.releases):
            yield number, slice(self.tables.offsets[number], self.tables.offsets[number + 1]), release

    def bit_counts(self, sums: IntArray) -> IntArray:
        """How many reports have each bit of each table, shape (bits of all tables,); see `bit_offsets`."""
        return sums[: self.bit_offsets[-1]]

    def reports_seen(self, sums: IntArray) -> IntArray:
        """How many reports are about each clique, shape (cliques,)."""
        return sums[self.bit_offsets[-1] :]

    def _own_bits(self, number: int) -> slice:
        return slice(self.bit_offsets[number], self.bit_offsets[number + 1])

    @cached_property
    def _by_cell(self) -> tuple[IntArray, FloatArray, FloatArray]:
        """The clique, b and a − b of every statistic, three arrays (d,); 0 and 1 where β itself is summed."""
        owner = np.repeat(np.arange(len(self.releases)), self.tables.cells)
        sent = [
            (table.outside, table.gain) if isinstance(table, TableRelease) else (0.0, 1.0) for table in self.releases
        ]
        outside, gain = np.array(sent).T
        return owner, outside[owner], gain[owner]

    def _sums_by_cell(self, sums: IntArray) -> AnyArray:
        """Per cell how many reports have it or, where tables are told through a matrix, Σ β; shape (d,)."""
        counts = self.bit_counts(sums)
        if not self._listed:
            return counts
        parts = {number: counts[self._own_bits(number)] for number in range(len(self.releases))}
        return np.concatenate([self._listed[i].debias(own) if i in self._listed else own for i, own in parts.items()])

    def _sums(self, columns: Mapping[str, AnyArray]) -> IntArray:
        """How many reports of its clique have each bit, then how many reports each clique has."""
        clique, sets = columns["clique"], columns["subset"]
        seen = np.bincount(clique, minlength=len(self.tables.cliques))
        order, ends = np.argsort(clique, kind="stable"), np.cumsum(seen)
        supports, many = np.zeros(self.bit_offsets[-1], dtype=np.int64), len(clique) >= COMPILED_PAYS_FROM
        for number, release in enumerate(self.releases):
            if seen[number]:
                rows = order[ends[number] - seen[number] : ends[number]]
                own = sets[rows, : bits.words_for(release.bits)]
                supports[self._own_bits(number)] = bits.count_bits(own, release.bits, compiled_loop=many)
        return np.concatenate([supports, seen])

    def _sum_law(self) -> SumLaw:
        """A block for every clique, with its bits; then the numbers of reports."""
        low, high = np.concatenate([release.sent_range() for release in self.releases], axis=1)
        return CountLaw(
            low,
            high,
            "bit",
            size=np.array([release.subset_size for release in self.releases]),
            block=np.repeat(np.arange(len(self.releases)), np.diff(self.bit_offsets)),
            share=self.clique_probabilities,
            told=True,
            block_noun="clique",
        )

    @property
    def _sent(self) -> FloatArray:
        return np.asarray(self.clique_probabilities[self._by_cell[0]])

    def _seen(self, sums: IntArray) -> IntArray:
        return np.asarray(self.reports_seen(sums)[self._by_cell[0]])

    def _drawn_blocks(self, sums: IntArray) -> tuple[str, IntArray]:
        return "clique", self.reports_seen(sums)

    def _average(self, sums: IntArray, n: int) -> FloatArray:
        """(share of the clique's reports that have a cell − b)/(a − b); of a matrix, R q̂."""
        _, outside, gain = self._by_cell
        return np.asarray((self._sums_by_cell(sums) / np.maximum(self._seen(sums), 1) - outside) / gain)

    def _spread(self, sums: IntArray, n: int) -> tuple[FloatArray, FloatArray]:
        _, outside, gain = self._by_cell
        sent = (self._sums_by_cell(sums) + 0.5) / (self._seen(sums) + 1)
        within = sent * (1 - sent) / gain**2
        for number, table in self._listed.items():
            part = slice(self.tables.offsets[number], self.tables.offsets[number + 1])
            counts = np.asarray(self.bit_counts(sums)[self._own_bits(number)] + 0.5, dtype=np.float64)
            sent[part], within[part] = table.debias(counts / counts.sum()), table.variances(counts)
        return np.asarray((sent - outside) / gain), within

    def _debias(self, columns: Mapping[str, AnyArray]) -> FloatArray:
        """The printed β: the cells of the clique that was drawn, over the probability of drawing it."""
        values = np.zeros((len(columns["clique"]), self.dimension))
        for number, part, release in self._parts():
            rows = np.flatnonzero(columns["clique"] == number)
            dense = bits.unpack(columns["subset"][rows], release.bits).astype(np.float64)
            values[rows, part] = release.debias(dense) / self.clique_probabilities[number]
        return values

    def _statistics(self, rows: AnyArray) -> FloatArray:
        values = np.zeros((len(rows), self.dimension))
        np.put_along_axis(values, self.tables.cells_in_all(self._read(rows, 0)) + self.tables.offsets[:-1], 1.0, axis=1)
        return values

    def _mean_covariance(self, truth: AnyArray, weights: FloatArray, averaging: Averaging) -> FloatArray:
        printed = averaging == "printed"
        cells, result = self.tables.cells_in_all(self._read(truth, 0)), np.zeros((self.dimension, self.dimension))
        mean = np.zeros(self.dimension)
        for number, part, release in self._parts():
            shares = np.asarray(np.bincount(cells[:, number], weights, release.cells), dtype=np.float64)
            second = release.covariance(shares) + (np.outer(shares, shares) if printed else 0)
            result[part, part] = second / self.clique_probabilities[number]
            mean[part] = shares
        return result - np.outer(mean, mean) if printed else result

    def _log_likelihood(self, columns: Mapping[str, AnyArray], truth: AnyArray) -> FloatArray:
        clique, cells = columns["clique"].astype(np.int64), self.tables.cells_in_all(self._read(truth, 0))
        result, logs = np.empty((len(clique), len(cells))), np.log(self.clique_probabilities)
        for number, release in enumerate(self.releases):
            rows = np.flatnonzero(clique == number)
            own = columns["subset"][rows, : bits.words_for(release.bits)]
            result[rows] = release.log_likelihood(own, cells[:, number]) + logs[number]
        return result

    # -- proving ---------------------------------------------------------------------------------------------------

    def largest_ratio(self) -> Fraction:
        """The largest over cliques: which one was drawn says nothing about the truth."""
        return max(release.ratio for release in self.releases)

    def is_unbiased(self) -> bool:
        """Every clique is drawn sometimes, and sends its true cell more often than others."""
        return all(release.is_unbiased for release in self.releases) and min(self._drawn) > 0

    def worst_pair(self) -> tuple[AnyArray, AnyArray]:
        """Two records that differ in every variable, and so in every table, as far as the worst table lets them."""
        zeros = np.zeros((1, self.truth_width), dtype=np.int64)
        pair, worst = (zeros, zeros + 1), self._worst_clique()
        for record, cell in zip(pair, self.releases[worst].worst_cells() or (), strict=False):
            record[0, list(self.tables.cliques[worst])] = np.unravel_index(cell, self.tables.shapes[worst])
        return pair

    def _worst_clique(self) -> int:
        return max(range(len(self.releases)), key=lambda number: self.releases[number].ratio)

    def worst_observations(self) -> tuple[str, ...]:
        """The subsets of the clique of the largest ratio; one that tells the worst pair apart where they are many."""
        exact, worst = self.enumerate_exactly(), self.largest_ratio()
        if exact is not None:
            pairs = zip(exact.observations, exact.weights, strict=True)
            return tuple(o for o, row in pairs if Fraction(max(row), min(row)) == worst)
        number = self._worst_clique()
        cell, other = (int(self.tables.cells_in_all(record)[0, number]) for record in self.worst_pair())
        return (label(number, self.releases[number].worst_subset(cell, other)),)

    def enumerate_exactly(self) -> Enumeration | None:
        """On records in which every cell of every table occurs: level and β depend on one table at a time."""
        entries = sum(release.number_of_subsets for release in self.releases) * self.dimension**2
        if entries > _ENUMERATED_ENTRIES or not all(release.has_exact_beta for release in self.releases):
            return None
        records = self.tables.covering_records()
        cells = self.tables.cells_in_all(np.array(records)).tolist()
        return enumerate_tables(self.releases, self._drawn, cells, self.statistics(records))

    # -- describing ------------------------------------------------------------------------------------------------

    def parameters(self) -> dict[str, Any]:
        """The parameters of the registry, from which the same thresholds are built again."""
        written: dict[str, Any] = {
            "sizes": list(self.tables.sizes),
            "cliques": [list(clique) for clique in self.tables.cliques],
            "privacy_level": str(self._level),
        }
        if self._given is not None:
            written["clique_probabilities"] = [str(p) for p in self._given]
        if self._listed:  # an empty list is subset selection: TOML knows no null
            every = range(len(self.releases))
            written["table_channels"] = [self._listed[i].parameter() if i in self._listed else [] for i in every]
        return written

    def thresholds(self) -> dict[str, Any]:
        """Cliques are drawn by `cliques` (over 2⁶²); then as in subset selection on the table, or by its `columns`."""
        return {"cliques": list(self._drawn), "tables": [release.thresholds() for release in self.releases]}

    def _fingerprint_parts(self) -> tuple[Any, ...]:
        cliques, parts = map(list, self.tables.cliques), (release.fingerprint_part() for release in self.releases)
        return list(self.tables.sizes), list(cliques), list(parts), self._drawn
