"""Events that tell two truths apart: looked for on pilot reports, so that a sampler that leaks is caught leaking.

An event is {score ≥ τ} or {score ≤ τ} for a number that is worked out from every report. Some scores are what the
channel itself says (its likelihood ratio, its β); others are learned from pilot reports alone and owe nothing to what
the channel says about itself: which values of which columns are more frequent under one truth than under the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from askance._arrays import AnyArray, FloatArray, IntArray
from askance._kernels import bits
from askance.channels.statistics.base import HasReportLikelihood, StatisticsChannel
from askance.channels.statistics.reports import Column, Reports

#: A number for every report, shape (n,).
Score: TypeAlias = Callable[[Reports], FloatArray]
# Up to this many possible reports each is counted by itself.
_FEW_REPORTS = 1 << 12
# Up to this many values of a column, or of several together, each is counted by itself.
_FEW_VALUES = 1 << 16
# Thresholds tried for one score.
_THRESHOLDS = 512
# Learned log ratios below this many standard errors count as noise: thousands of them would drown what is there.
_NOISE = 3.0
# Equal scores of equal reports must stay equal when other reports are scored with them.
_DIGITS = 9
# Numbers held at a time while reports are scored.
_AT_A_TIME = 1 << 22


def estimated_bound(likelier: AnyArray, n: int, rarer: AnyArray, m: int, z: float) -> FloatArray:
    """About what a lower bound of log P(E|first)/P(E|second) will be for counts of an event among n and m reports.

    log (a + ½)/(n + 1) − log (b + ½)/(m + 1) − z (1/√(a + ½) + 1/√(b + ½)): good enough to choose an event by.
    """
    a, b = likelier + 0.5, rarer + 0.5
    return np.asarray(np.log(a / (n + 1)) - np.log(b / (m + 1)) - z * (a**-0.5 + b**-0.5))


@dataclass(frozen=True)
class Choice:
    """An event {score ≥ τ} or {score ≤ τ} of one of several scores.

    Attributes:
        number: which score.
        threshold: τ.
        above: whether the event is score ≥ τ, otherwise score ≤ τ.
        swapped: whether the event is likelier under the second truth.
        bound: what the pilot reports promise.
    """

    number: int
    threshold: float
    above: bool
    swapped: bool
    bound: float

    def contains(self, scores: FloatArray) -> NDArray[np.bool_]:
        """Whether reports of these scores belong to the event."""
        return np.asarray(scores >= self.threshold if self.above else scores <= self.threshold)


def best_choice(first: Sequence[FloatArray], second: Sequence[FloatArray], z: float) -> Choice:
    """The event of the largest estimated bound, over all scores, thresholds and both orders of the truths.

    Args:
        first: scores of pilot reports of the first truth, one array per score.
        second: the same of the second truth.
        z: how many standard errors each side is pushed by.
    """
    choices = [
        _best_threshold(i, np.sort(a), np.sort(b), z) for i, (a, b) in enumerate(zip(first, second, strict=True))
    ]
    return max(choices, key=lambda choice: choice.bound)


def _best_threshold(number: int, first: FloatArray, second: FloatArray, z: float) -> Choice:
    values = np.unique(np.concatenate([first, second]))
    if len(values) > _THRESHOLDS:
        values = np.unique(values[np.linspace(0, len(values) - 1, _THRESHOLDS).astype(np.int64)])
    n, m = len(first), len(second)
    above = n - np.searchsorted(first, values, "left"), m - np.searchsorted(second, values, "left")
    below = np.searchsorted(first, values, "right"), np.searchsorted(second, values, "right")
    events = [counts for a, b in (above, below) for counts in ((a, n, b, m), (b, m, a, n))]
    bounds = np.stack([estimated_bound(*counts, z) for counts in events])
    way, place = np.unravel_index(np.argmax(bounds), bounds.shape)
    return Choice(number, float(values[place]), bool(way < 2), bool(way % 2), float(bounds[way, place]))


@dataclass(frozen=True)
class Candidate:
    """A score worth trying, and how its events are called."""

    score: Score
    name: str
    describe: Callable[[float, bool], str] | None = None

    def describe_event(self, choice: Choice) -> str:
        """The event in words."""
        if self.describe is not None:
            return self.describe(choice.threshold, choice.above)
        return f"{self.name} {'at least' if choice.above else 'at most'} {choice.threshold:.6g}"


def score_in_pieces(score: Score, reports: Reports) -> FloatArray:
    """The scores of all reports; dense tables of wide reports are made for a few at a time."""
    step = max(_AT_A_TIME // max(sum(c.width for c in reports.channel.columns), reports.channel.dimension), 1)
    parts = [score(reports[start : start + step]) for start in range(0, len(reports), step)]
    return np.asarray(np.round(np.concatenate([np.zeros(0), *parts]), _DIGITS))


# -- what the channel says ---------------------------------------------------------------------------------------------


def stated_score(channel: StatisticsChannel, truths: tuple[AnyArray, AnyArray]) -> Candidate:
    """What a channel itself says: its log likelihood ratio, or β along φ − φ′ where it has no likelihood."""
    if isinstance(channel, HasReportLikelihood):
        both = np.concatenate(truths)

        def ratio(reports: Reports) -> FloatArray:
            assert isinstance(channel, HasReportLikelihood)
            told = channel.log_likelihood(reports, both)
            with np.errstate(invalid="ignore"):
                return np.nan_to_num(told[:, 0] - told[:, 1], nan=0.0, posinf=1e9, neginf=-1e9)

        return Candidate(ratio, "the log likelihood ratio is")
    direction = np.subtract(*(channel.statistics(truth)[0] for truth in truths))
    scale = float(np.abs(direction).max()) or 1.0
    return Candidate(lambda reports: np.asarray(channel.debias(reports) @ (direction / scale)), "β along φ − φ′ is")


# -- what pilot reports say --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Digit:
    """One whole number of a report: an integer column, one of several integers, or a short row of bits."""

    column: str
    position: int | None
    limit: int
    is_bits: bool = False

    def read(self, columns: Mapping[str, AnyArray]) -> IntArray:
        """Its values, shape (n,)."""
        values = columns[self.column]
        return (values if self.position is None else values[:, self.position]).astype(np.int64)

    def describe(self, value: int) -> str:
        """Words for one value; bits in their order, the first one first."""
        if self.is_bits:
            return f"{self.column} = {format(value, f'0{self.limit.bit_length() - 1}b')[::-1]}"
        return f"{self.column}{'' if self.position is None else f'[{self.position}]'} = {value}"


@dataclass(frozen=True)
class Cells:
    """Some digits of a report read as one number, shape (n,)."""

    digits: tuple[Digit, ...]

    @property
    def size(self) -> int:
        """How many values there are."""
        return math.prod(digit.limit for digit in self.digits)

    def codes(self, columns: Mapping[str, AnyArray]) -> IntArray:
        """The number of every report, shape (n,)."""
        total = np.zeros(len(columns[self.digits[0].column]), dtype=np.int64)
        for digit in self.digits:
            total = total * digit.limit + digit.read(columns)
        return total

    def describe(self, code: int) -> str:
        """Words for one value."""
        parts = []
        for digit in reversed(self.digits):
            code, value = divmod(code, digit.limit)
            parts.append(digit.describe(value))
        return ", ".join(reversed(parts))


@dataclass(frozen=True)
class Anatomy:
    """What can be counted about the reports of a channel without knowing what they mean.

    Attributes:
        cells: numbers whose every value is counted.
        bit_columns: columns whose every bit is counted.
    """

    cells: tuple[Cells, ...]
    bit_columns: tuple[Column, ...]

    @classmethod
    def of(cls, channel: StatisticsChannel) -> Anatomy:
        """Whole reports where few are possible; otherwise integer columns (together where few) and single bits."""
        digits = [_digits(column) for column in channel.columns]
        if all(digits):
            everything = Cells(tuple(digit for group in digits for digit in group))
            if everything.size <= _FEW_REPORTS:
                return cls((everything,), ())
        integers = [d for group, c in zip(digits, channel.columns, strict=True) if c.kind == "integer" for d in group]
        together = Cells(tuple(integers))
        alone = [Cells((digit,)) for digit in integers if digit.limit <= _FEW_VALUES]
        cells = [together] if integers and together.size <= _FEW_VALUES else alone
        for column, group in zip(channel.columns, digits, strict=True):
            if column.kind == "integers" and column.limit * column.width <= _FEW_VALUES:
                cells += [Cells((digit,)) for digit in group]
        return cls(tuple(cells), tuple(column for column in channel.columns if column.kind == "bits"))


def _digits(column: Column) -> tuple[Digit, ...]:
    """The whole numbers a column consists of; none of a long row of bits or of a seed, which have too many values."""
    if column.kind == "seed" or (column.kind == "bits" and 1 << column.width > _FEW_REPORTS):
        return ()
    if column.kind == "bits":
        return (Digit(column.name, 0, 1 << column.width, is_bits=True),)
    if column.kind == "integers":
        return tuple(Digit(column.name, i, column.limit) for i in range(column.width))
    return (Digit(column.name, None, column.limit),)


@dataclass(frozen=True)
class Counts:
    """How often every value of every cell, and every bit, was seen among n reports."""

    n: int
    cells: tuple[IntArray, ...]
    ones: tuple[IntArray, ...]

    @classmethod
    def of(cls, anatomy: Anatomy, chunks: Iterable[Reports]) -> Counts:
        """Count chunks of reports."""
        n, counts = 0, tuple(np.zeros(cells.size, dtype=np.int64) for cells in anatomy.cells)
        ones = tuple(np.zeros(column.width, dtype=np.int64) for column in anatomy.bit_columns)
        for reports in chunks:
            n, columns = n + len(reports), reports.columns
            for total, cells in zip(counts, anatomy.cells, strict=True):
                total += np.bincount(cells.codes(columns), minlength=cells.size)
            for total, column in zip(ones, anatomy.bit_columns, strict=True):
                total += bits.count_bits(columns[column.name], column.width, compiled_loop=len(reports) >= 4096)
        return cls(n, counts, ones)


def learned_scores(anatomy: Anatomy, first: Counts, second: Counts, z: float) -> list[Candidate]:
    """Two scores from pilot counts: the single value or bit that tells most, and all of them together.

    Together they are added as if independent (naive Bayes); where whole reports are counted, that is their ratio.
    """
    tables = tuple(clear_log_ratios(a, first.n, b, second.n) for a, b in zip(first.cells, second.cells, strict=True))
    on, off = [], []
    for a, b in zip(first.ones, second.ones, strict=True):
        on.append(clear_log_ratios(a, first.n, b, second.n))
        off.append(clear_log_ratios(first.n - a, first.n, second.n - b, second.n))
    candidates: list[Candidate] = []
    if tables or on:
        whole = len(tables) == 1 and not on
        describe = partial(_describe_cells, anatomy.cells[0], tables[0]) if whole else None
        score = partial(_added, anatomy, tables, tuple(on), tuple(off))
        candidates.append(Candidate(score, "the score learned from pilot reports is", describe))
    single = _single(anatomy, first, second, z)
    return candidates if single is None else [single, *candidates]  # of equal events the one easier to grasp


def clear_log_ratios(a: IntArray, n: int, b: IntArray, m: int) -> FloatArray:
    """Log of estimated ratios of probabilities; 0 where the counts may well be of equal ones."""
    ratios = np.log((a + 0.5) / (n + 1)) - np.log((b + 0.5) / (m + 1))
    errors = np.sqrt(1 / (a + 0.5) + 1 / (b + 0.5))
    return np.where(np.abs(ratios) > _NOISE * errors, ratios, 0.0)


def _added(
    anatomy: Anatomy,
    tables: tuple[FloatArray, ...],
    on: tuple[FloatArray, ...],
    off: tuple[FloatArray, ...],
    reports: Reports,
) -> FloatArray:
    total = np.zeros(len(reports))
    for cells, table in zip(anatomy.cells, tables, strict=True):
        total += table[cells.codes(reports.columns)]
    for column, one, zero in zip(anatomy.bit_columns, on, off, strict=True):
        total += bits.unpack(reports.columns[column.name], column.width) @ (one - zero) + zero.sum()
    return total


def _describe_cells(cells: Cells, table: FloatArray, threshold: float, above: bool) -> str:
    rounded = np.round(table, _DIGITS)
    inside = np.flatnonzero(rounded >= threshold if above else rounded <= threshold)
    most = cells.describe(int(inside[np.argmax(table[inside] if above else -table[inside])]))
    return most if len(inside) == 1 else f"one of {len(inside)} of {cells.size} reports, such as {most}"


def _single(anatomy: Anatomy, first: Counts, second: Counts, z: float) -> Candidate | None:
    """The one value, or bit, of the largest estimated bound."""
    singles: list[tuple[float, Score, str]] = []
    for cells, a, b in zip(anatomy.cells, first.cells, second.cells, strict=True):
        bound, code = _largest(a, first.n, b, second.n, z)
        singles.append((bound, partial(_is_value, cells, code), cells.describe(code)))
    for column, a, b in zip(anatomy.bit_columns, first.ones, second.ones, strict=True):
        for value in (0, 1):
            seen, other = (a, b) if value else (first.n - a, second.n - b)
            bound, j = _largest(seen, first.n, other, second.n, z)
            singles.append((bound, partial(_is_bit, column, j, value), f"bit {j} of {column.name} is {value}"))
    if not singles:
        return None
    _, score, name = max(singles, key=lambda single: single[0])
    named = {(1.0, True): name, (0.0, False): f"not: {name}"}
    return Candidate(score, name, lambda threshold, above: named.get((threshold, above), "any report"))


def _largest(a: IntArray, n: int, b: IntArray, m: int, z: float) -> tuple[float, int]:
    bounds = np.maximum(estimated_bound(a, n, b, m, z), estimated_bound(b, m, a, n, z))
    return float(bounds.max()), int(np.argmax(bounds))


def _is_value(cells: Cells, code: int, reports: Reports) -> FloatArray:
    return np.asarray(cells.codes(reports.columns) == code, dtype=np.float64)


def _is_bit(column: Column, j: int, value: int, reports: Reports) -> FloatArray:
    word = reports.columns[column.name][:, j // bits.WORD] >> np.uint64(j % bits.WORD)
    return np.asarray((word & np.uint64(1)) == value, dtype=np.float64)
