"""Tables whose cell is told through a matrix of their own, such as an optimiser finds, beside subset selection.

S[o, cell] = P(o | cell), shape (k, w), is written out. A report is the observation o, as k bits of which bit o is set,
so that sums by bit are counts of observations and hold all that reports say. Shares q̂ of observations give

    μ̂ = R q̂,    R = M⁻¹Sᵀ D⁻¹,    M = Sᵀ D⁻¹S,    D = diag q,    q = S 1/w:

of all R with R S = I the one of least covariance where all cells are equally frequent. It depends on S alone, so that
sums stay linear, and its columns sum to 1 as the cells do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence, Sized
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np

from askance._arrays import AnyArray, FloatArray, IntArray, WordArray
from askance._checks import as_list, as_many, shown
from askance._kernels import subsets
from askance._kernels.draw import TOTAL
from askance.channels.finite import FiniteChannel
from askance.channels.matrix import MatrixChannel
from askance.channels.randomness import WordSource
from askance.channels.statistics.base import Enumeration
from askance.channels.statistics.cliques import CliqueTables
from askance.channels.statistics.table_release import (
    SubsetSampler,
    TableRelease,
    first_impossible,
    set_bit,
)
from askance.channels.thresholds import exceeds
from askance.channels.words import Words
from askance.errors import InputError, NotIdentifiedError, ProbabilityError, ShapeError
from askance.models.enumerated import Enumerated

# A matrix has at most so many entries: each is read as a fraction, and β is found from all of them.
_MOST_ENTRIES = 1 << 20
# β is written out in whole numbers up to this many cells: they have a thousand digits (0.2 s at this size).
_MOST_EXACT_CELLS = 16
_ONE = np.uint64(1)
_SUBSET_SELECTION = "or None for subset selection"


class ListedTable:
    """How the cell of one table is told through a channel that is written out.

    Args:
        channel: S, one output per cell, labels apart.
        name: what errors call it.

    Attributes:
        cells: w.
        bits: k, the number of observations.
        subset_size: 1, the bits that are set in a report.
        coefficients: R, shape (w, k).

    >>> table = ListedTable(MatrixChannel([["3/4", "1/4"], ["1/4", "3/4"]]))
    >>> table.ratio, table.debias(np.array([0.5, 0.5])).round(12).tolist()
    (Fraction(3, 1), [0.5, 0.5])
    """

    subset_size = 1

    def __init__(self, channel: MatrixChannel, name: str = "the matrix") -> None:
        self.channel, self.cells, self.bits = channel, len(channel.outputs), len(channel.observations)
        never = np.flatnonzero(channel.extreme_weights()[0] == 0)
        if never.size:
            raise ProbabilityError(
                f"row {never[0]} of {name} is 0 throughout; allowed: observations that occur.",
                remedy="Leave the row out.",
            )
        indicators = Enumerated(np.eye(self.cells), outputs=channel.outputs)
        try:
            beta = channel.observation_function(indicators, channel.matrix.mean(axis=1))
        except NotIdentifiedError:
            rank = np.linalg.matrix_rank(channel.matrix)
            raise NotIdentifiedError(
                f"{name} has rank {rank} for {self.cells} cells: no combination of its {self.bits} observations "
                "averages to the cells, so that there is no unbiased β.",
                remedy=f'Find it by optimal_channel with target="moments", {_SUBSET_SELECTION}.',
            ) from None
        self.coefficients: FloatArray = beta.coefficients

    # -- probabilities ---------------------------------------------------------------------------------------------

    @cached_property
    def ratio(self) -> Fraction:
        """e^level, exactly; refused where an observation excludes a cell."""
        ratio = self.channel.largest_ratio()
        if ratio is None:
            raise ProbabilityError(
                "some observation excludes a cell: there is no level.", remedy="Give all entries of its row above 0."
            )
        return ratio

    @property
    def total_variance(self) -> Fraction:
        """The trace of `covariance` for uniform truth."""
        return Fraction(float(np.trace(self.covariance(np.full(self.cells, 1 / self.cells)))))

    @cached_property
    def _logs(self) -> FloatArray:
        return np.log(self.channel.matrix)

    def log_likelihood(self, sets: WordArray, cells: IntArray) -> FloatArray:
        """Log S(o | cell) of packed reports (n, words) and cells (m,), shape (n, m)."""
        return self._logs[np.ix_(set_bit(sets), cells)]

    def likelihood_terms(self, sets: FloatArray) -> tuple[FloatArray, float, float]:
        """P(o) = Σ S[o, cell] μ: the rows of S, 0 and 1."""
        return self.channel.matrix[sets.argmax(axis=1)], 0.0, 1.0

    # -- estimating ------------------------------------------------------------------------------------------------

    def log_tilts(self, sets: FloatArray) -> FloatArray:
        """Log S(o | cell) of reports as bits (n, k), shape (n, w)."""
        return np.asarray(np.log(self.likelihood_terms(sets)[0]))

    def sent(self, mean: FloatArray) -> FloatArray:
        """S μ: how often every observation is made where true cells have these shares."""
        return np.asarray(self.channel.matrix @ mean)

    def sent_range(self) -> FloatArray:
        """How often an observation is made at least and at most, whatever the true cell is, shape (2, k)."""
        return np.array([self.channel.matrix.min(axis=1), self.channel.matrix.max(axis=1)])

    def debias(self, sent: FloatArray | IntArray) -> FloatArray:
        """R q of counts, shares or bits q (…, k), shape (…, w)."""
        return np.asarray(sent @ self.coefficients.T)

    def variances(self, sent: FloatArray) -> FloatArray:
        """Of one debiased report, by cell, where observations have these shares (up to a factor), shape (w,)."""
        shares = sent / sent.sum()
        centred = self.coefficients - (self.coefficients @ shares)[:, None]
        return np.asarray(centred**2 @ shares)

    def covariance(self, shares: FloatArray) -> FloatArray:
        """R (diag q − q qᵀ) Rᵀ with q = S μ, of shares μ (…, w), shape (…, w, w)."""
        seen = shares @ self.channel.matrix.T
        mean = self.debias(seen)
        second = (self.coefficients * seen[..., None, :]) @ self.coefficients.T
        return np.asarray(second - mean[..., :, None] * mean[..., None, :])

    # -- in whole numbers ------------------------------------------------------------------------------------------

    @property
    def is_unbiased(self) -> bool:
        """True: all singular values of S are above 1e-11 of the largest, which rounding (1e-15) could not bring about.

        Others are refused. Up to 16 cells β itself is proved, by enumeration.
        """
        return True

    @property
    def has_exact_beta(self) -> bool:
        """Whether the table is small enough."""
        return self.cells <= _MOST_EXACT_CELLS

    @cached_property
    def _exact_beta(self) -> tuple[list[list[int]], int]:
        """R as whole numbers (w rows of k) over the second.

        With 2⁶² S = A and whole weights W ≈ 2⁴⁴ D⁻¹, R = 2⁶² (AᵀWA)⁻¹AᵀW is unbiased whatever W is; with these it is
        the one of floats, to 12 digits.
        """
        A = self.channel.integer_weights.astype(object)
        weights = np.array([(self.cells * TOTAL << 44) // total for total in A.sum(axis=1)], dtype=object)
        right = A.T * weights
        solution, scale = solve_exactly((right @ A).tolist(), right.tolist())
        common = math.gcd(scale, *(TOTAL * value for row in solution for value in row))
        return [[TOTAL * value // common for value in row] for row in solution], scale // common

    @property
    def units(self) -> int:
        """What β is over in whole numbers."""
        return self._exact_beta[1]

    @property
    def number_of_subsets(self) -> int:
        """k."""
        return self.bits

    def subsets(self) -> list[tuple[int, ...]]:
        """All reports: one bit set in each."""
        return [tuple(int(bit == o) for bit in range(self.bits)) for o in range(self.bits)]

    def weights_of(self, subset: Sequence[int]) -> tuple[list[int], int]:
        """S(o | cell) by cell, as whole numbers over 2⁶²."""
        return [int(weight) for weight in self.channel.integer_weights[subset.index(1)]], TOTAL

    def beta_of(self, subset: Sequence[int]) -> list[int]:
        """β of all cells, as whole numbers over `units`."""
        o = subset.index(1)
        return [row[o] for row in self._exact_beta[0]]

    def worst_subset(self, cell: int, other: int) -> tuple[int, ...]:
        """The observation of the largest S(o | cell)/S(o | other)."""
        rows = self.channel.integer_weights.tolist()
        best = max(range(self.bits), key=lambda o: Fraction(rows[o][cell], rows[o][other]))
        return tuple(int(bit == best) for bit in range(self.bits))

    def worst_cells(self) -> tuple[int, int]:
        """Where the largest ratio is: the cell for which, and against which, an observation speaks most."""
        rows = self.channel.integer_weights.tolist()
        row = next(row for row in rows if Fraction(max(row), min(row)) == self.ratio)
        return row.index(max(row)), row.index(min(row))

    def thresholds(self) -> dict[str, Any]:
        """By true cell, how often every observation is made: k whole numbers over 2⁶²."""
        return {"columns": self.channel.integer_weights.T.tolist()}

    def fingerprint_part(self) -> list[Any]:
        """A digest of the thresholds."""
        return ["listed", self.channel.fingerprint]

    def parameter(self) -> list[list[str]]:
        """S as it is written down, exactly."""
        rows: list[list[str]] = self.channel.parameters()["matrix"]
        return rows

    # -- drawing ---------------------------------------------------------------------------------------------------

    def draw(self, cells: IntArray, source: WordSource, *, compiled: bool) -> IntArray:
        """One observation for every true cell, by one word each, shape (n,)."""
        out = np.empty(len(cells), dtype=self.channel.observations.code_dtype)
        truth = cells.astype(self.channel.outputs.code_dtype)
        self.channel._draw(truth, source(len(cells)), out, compiled=compiled)
        return out.astype(np.int64)

    def told(self, cell: int, words: Words) -> AnyArray:
        """The observation that one word draws for a true cell (`device/1`), as a set of one; shape (k,)."""
        dense = np.zeros(self.bits, dtype=bool)
        dense[self.channel._draw_one(cell, words.number())] = True
        return dense


#: How the cell of a table is told. Both have `cells`, `bits`, `ratio`, β (`sent`, `debias`, `variances`, `covariance`,
#: `total_variance`), the likelihood (`log_likelihood`, `likelihood_terms`), and the proof in whole numbers (`subsets`,
#: `weights_of`, `beta_of` over `units`). β is linear in the bits, so that means of cells follow from shares of bits.
ToldTable: TypeAlias = TableRelease | ListedTable


def enumerate_tables(
    releases: Sequence[ToldTable], drawn: Sequence[int], cells: Sequence[Sequence[int]], statistics: FloatArray
) -> Enumeration:
    """A draw of one of several tables, written out.

    Args:
        releases: of every table.
        drawn: how often each is drawn, over 2⁶².
        cells: of some records in all tables, m rows.
        statistics: of these records, shape (m, d).
    """
    told = [[(subset, *release.weights_of(subset)) for subset in release.subsets()] for release in releases]
    common = math.lcm(*(total for every in told for _, _, total in every))
    units = [release.units * part for release, part in zip(releases, drawn, strict=True)]
    scale, offsets = math.lcm(*units), [0, *accumulate(release.cells for release in releases)]
    reports = []
    for number, release in enumerate(releases):
        for subset, by_cell, total in told[number]:
            factor = common // total * drawn[number]
            weights = [factor * by_cell[row[number]] for row in cells]
            own = [value * TOTAL * (scale // units[number]) for value in release.beta_of(subset)]
            beta = [*[0] * offsets[number], *own, *[0] * (offsets[-1] - offsets[number + 1])]
            reports.append((label(number, subset), weights, beta))
    exact = [[Fraction(int(value)) for value in row] for row in statistics.T]
    return Enumeration.of(reports, exact, TOTAL * common, scale)


def label(number: int, subset: Sequence[int]) -> str:
    """An observation: the number of the table, and the bits of a report."""
    return f"{number}:{''.join(map(str, subset))}"


def solve_exactly(matrix: Sequence[Sequence[int]], right: Sequence[Sequence[int]]) -> tuple[list[list[int]], int]:
    """X and the determinant of M with M X = det(M) N, for a positive definite M of whole numbers.

    Elimination without fractions (Bareiss): every division is exact, and all pivots are leading minors, above 0.

    >>> solve_exactly([[2, 1], [1, 2]], [[1, 0], [0, 1]])
    ([[2, -1], [-1, 2]], 3)
    """
    rows = [[*left, *more] for left, more in zip(matrix, right, strict=True)]
    previous = 1
    for i, pivot_row in enumerate(rows):
        pivot = pivot_row[i]
        for j, row in enumerate(rows):
            if j != i:
                factor = row[i]
                rows[j] = [(pivot * x - factor * y) // previous for x, y in zip(row, pivot_row, strict=True)]
        previous = pivot
    return [row[len(rows) :] for row in rows], previous


class TableSampler:
    """Draws the reports of tables of either kind, exactly, and knows impossible ones.

    Args:
        tables: of every clique.
        weights: how often each is drawn, about; decides what is quick and nothing else.
    """

    def __init__(self, tables: Sequence[ToldTable], weights: FloatArray) -> None:
        by_subsets = {number: table for number, table in enumerate(tables) if isinstance(table, TableRelease)}
        self._listed = {number: table for number, table in enumerate(tables) if isinstance(table, ListedTable)}
        chosen = list(by_subsets)
        self._subsets = SubsetSampler(list(by_subsets.values()), weights[chosen]) if chosen else None
        self._place = np.zeros(len(tables), dtype=np.int64)  # among those of subset selection
        self._place[chosen] = np.arange(len(chosen))
        self._sizes = np.array([table.subset_size for table in tables], dtype=np.int64)
        self._full = subsets.full_rows(np.array([table.bits for table in tables], dtype=np.int64))

    def draw(self, table: IntArray, cell: IntArray, source: WordSource, out: WordArray, *, compiled: bool) -> None:
        """One report of table `table[i]` with true cell `cell[i]` for every row i of `out` (n, words)."""
        if not self._listed and self._subsets is not None:
            self._subsets.draw(table, cell, source, out, compiled=compiled)
            return
        out[:] = 0
        if self._subsets is not None:
            rows = np.flatnonzero(~np.isin(table, list(self._listed)))
            sets = np.zeros((len(rows), self._subsets.full.shape[1]), dtype=np.uint64)
            self._subsets.draw(self._place[table[rows]], cell[rows], source, sets, compiled=compiled)
            out[rows, : sets.shape[1]] = sets
        for number, listed in self._listed.items():
            rows = np.flatnonzero(table == number)
            if not rows.size:
                continue
            drawn = listed.draw(cell[rows], source, compiled=compiled)
            out[rows, drawn >> 6] = _ONE << (drawn & 63).astype(np.uint64)

    def first_impossible(self, table: AnyArray, sets: WordArray) -> int | None:
        """The first row that its table could not have sent; None where there is none."""
        return first_impossible(table, sets, self._sizes, self._full)


# -- reading -----------------------------------------------------------------------------------------------------------


def read_tables(listed: object, tables: CliqueTables, level: Fraction) -> dict[int, ListedTable]:
    """The tables that have channels of their own, by number, checked against their cells and the level."""
    if listed is None:
        return {}
    entries = as_list(listed, "table_channels", "[None, [[0.6, 0.4], [0.4, 0.6]]]")
    count, remedy = len(tables.cliques), f"Give one per clique: a matrix, {_SUBSET_SELECTION}."
    as_many(entries, count, "table_channels", f"entries for {count} cliques", remedy)
    own = {i: entry for i, entry in enumerate(entries) if not _is_none(entry)}
    return {number: _read_entry(entry, tables, number, level) for number, entry in own.items()}


def _is_none(entry: object) -> bool:
    """Whether there is no matrix; files that know no null have an empty list."""
    return entry is None or (isinstance(entry, (list, tuple)) and not entry)


def _read_entry(entry: object, tables: CliqueTables, number: int, level: Fraction) -> ListedTable:
    name = f"table_channels[{number}], of clique {shown(list(tables.cliques[number]))},"
    try:
        channel = _as_matrix(entry)
    except InputError as error:
        raise type(error)(f"{name} is no channel: {error.message}", remedy=error.remedy) from None
    if len(channel.outputs) != tables.cells[number]:
        raise ShapeError(
            f"has {len(channel.outputs)} columns",
            argument=name,
            allowed=f"{tables.cells[number]}, one per cell of its table",
            remedy="Cells are in C order: the last variable of the clique runs fastest.",
        )
    own, endless = channel.privacy_level, math.isinf(channel.privacy_level)
    if exceeds(own, level):
        stated = "no level, as an observation excludes a cell" if endless else f"level {own!r}"
        raise ProbabilityError(
            f"has {stated}",
            argument=name,
            allowed=f"at most the stated privacy_level, {float(level)!r}",
            remedy=("Give a channel of that level" if endless else "Raise privacy_level, give a channel below it")
            + f", {_SUBSET_SELECTION}.",
        )
    return ListedTable(channel, name.removesuffix(","))


def _as_matrix(entry: Any) -> MatrixChannel:
    """A matrix, or any channel written out as one; without labels, which cells and bits do not have."""
    if isinstance(entry, FiniteChannel):
        _require_entries(len(entry.observations), len(entry.outputs))
        if isinstance(entry, MatrixChannel):
            return MatrixChannel(entry.parameters()["matrix"])
        return MatrixChannel([[Fraction(int(weight), TOTAL) for weight in row] for row in entry.integer_weights])
    rows = as_list(entry, "S", "[[0.6, 0.4], [0.4, 0.6]]")
    _require_entries(len(rows), max((len(row) for row in rows if isinstance(row, Sized)), default=1))
    return MatrixChannel(entry if isinstance(entry, np.ndarray) else rows)


def _require_entries(observations: int, cells: int) -> None:
    if observations * cells > _MOST_ENTRIES:
        raise InputError(
            f"it has {observations:,} observations of {cells:,} cells; allowed: at most {_MOST_ENTRIES:,} entries.",
            remedy=f"Give fewer observations, {_SUBSET_SELECTION}.",
        )
