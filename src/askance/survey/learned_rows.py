"""What a first pass over files learns for a formula: levels, what functions with a memory remember, and reports."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Literal

import numpy as np

from askance._arrays import AnyArray, FloatArray, IntArray
from askance._words import words
from askance.errors import AskanceWarning, EmptyDataError, InputError, MissingValueError
from askance.estimation.outcome import Notice, tell
from askance.survey.calculations import OF_NUMBERS, Calculation
from askance.survey.drawn import Drawn
from askance.survey.file_parts import FilePart
from askance.survey.formula import FormulaDesign, ParsedFormula
from askance.survey.levels import counts_of, examine_counts
from askance.survey.tables import Column, Columns, Kind

# Functions that learn from all values of their columns.
_MEMORY = re.compile(rf"\b({'|'.join(OF_NUMBERS)})\(")
_CATEGORIES = re.compile(r"\b(C|hashed)\(")
# More categories than this are a column of names by mistake.
_MOST_LEVELS = 5_000
# So many different values, and rows, are gone through at once to learn from them.
_MOST_VALUES, _MOST_ROWS = 1 << 20, 50_000_000
# Rows that show formulas what columns hold, beside those with every level.
_SHOWN = 20


@dataclass(frozen=True)
class Uses:
    """What columns of files are for: small, so that it travels.

    Attributes:
        answer: of the reports.
        columns: of the terms.
        others: of arms, weights, clusters and strata.
        arm: of the arms.
        drawn: of strata, of the clusters in them, and, where it is told, of their number; empty without strata.
        counted: columns whose different numbers are categories.
        remembered: of every calculation with a memory, its columns.
        listed: levels that formulas name.
        missing: what to do about rows with a missing value.
    """

    answer: str
    columns: tuple[str, ...]
    others: tuple[str, ...]
    arm: str | None
    drawn: tuple[str, ...]
    counted: frozenset[str]
    remembered: Mapping[str, tuple[str, ...]]
    listed: Mapping[str, tuple[Any, ...]]
    missing: Literal["error", "drop"]

    @classmethod
    def of(
        cls,
        parsed: ParsedFormula,
        others: Sequence[str],
        arm: str | None,
        drawn: Drawn,
        missing: Literal["error", "drop"],
    ) -> Uses:
        """Of a formula."""
        clusters = (drawn.strata, drawn.cluster, drawn.fpc) if drawn.strata is not None else ()
        groups = tuple(name for name in clusters if name is not None)
        calculations = parsed.calculations.values()
        counted = {name for c in calculations if _CATEGORIES.search(c.text) for name in c.columns}
        remembered = {c.text: c.columns for c in calculations if _MEMORY.search(c.text)}
        listed = {name: tuple(levels) for c in calculations for name, levels in c.listed.items()}
        return cls(
            parsed.answer, parsed.columns, tuple(others), arm, groups, frozenset(counted), remembered, listed, missing
        )

    @property
    def names(self) -> tuple[str, ...]:
        """All columns."""
        return tuple(dict.fromkeys((self.answer, *self.columns, *self.others)))

    def complete(self, part: FilePart, also: Sequence[str] = ()) -> Iterator[tuple[Columns, AnyArray]]:
        """Rows of a part that miss nothing, some at a time, and which of the part they are."""
        start = 0
        for table in part.read([*self.names, *(name for name in also if name not in self.names)]):
            gaps = np.zeros(len(table), dtype=bool)
            for name in self.names:
                column = table[name]
                if self.missing == "drop" and name in self.listed:
                    column = column.only(self.listed[name])
                gaps |= column.missing
            if self.missing == "error" and gaps.any():
                raise MissingValueError(
                    f"{part.place}: of {len(table)} rows, {gaps.sum()} rows miss a value.",
                    remedy=words("Fill them in, or leave these rows out with {missing=drop}."),
                )
            kept = np.flatnonzero(~gaps)
            yield table if len(kept) == len(table) else table.part(table.names, kept), start + kept
            start += len(table)


@dataclass
class Learned:
    """What is known after a pass; what two parts taught is put together in any order.

    Attributes:
        rows: how many there were, and how many of them were complete.
        kinds: of every column.
        examples: rows that show a column with a value, by both, each with its place among all; the first ones besides.
        levels: of columns of categories, how many complete rows have each.
        answers: pairs of arm and report.
        clusters: of strata, what their columns hold in some row.
        values: of calculations with a memory, the different values of their columns, (v, q), and how often each came.
        orders: of categories that have an order of their own.
    """

    rows: tuple[int, int]
    kinds: dict[str, Kind] = field(default_factory=dict)
    examples: dict[tuple[str, Any], tuple[tuple[int, int], tuple[Any, ...]]] = field(default_factory=dict)
    levels: dict[str, Counter[Any]] = field(default_factory=dict)
    answers: frozenset[tuple[Any, ...]] = frozenset()
    clusters: frozenset[tuple[Any, ...]] = frozenset()
    values: dict[str, tuple[FloatArray, IntArray]] = field(default_factory=dict)
    orders: dict[str, frozenset[tuple[Any, ...] | None]] = field(default_factory=dict)


def learned(part: FilePart, uses: Uses) -> Learned:
    """What one part teaches."""
    known = reduce(
        both, (_taught(table, part.block, kept, uses) for table, kept in uses.complete(part)), Learned((0, 0))
    )
    known.rows = sum(part.sizes), known.rows[1]
    return known


def _taught(table: Columns, block: int, kept: IntArray, uses: Uses) -> Learned:
    """What some complete rows teach: those of that part, by its first block, and with these numbers in it."""
    known = Learned((0, len(kept)))
    if not len(kept):
        return known
    columns = {name: table[name] for name in uses.names}
    known.kinds = {name: column.kind for name, column in columns.items()}
    known.orders = {name: frozenset({column.levels}) for name, column in columns.items()}
    places: dict[tuple[str, Any], int] = {
        ("", (block, number)): row for row, number in enumerate(kept[:_SHOWN].tolist())
    }
    for name in uses.columns:
        if columns[name].kind not in ("number", "time", "mixed") or name in uses.counted:
            places |= {(name, value): row for value, row in _firsts(columns[name], name).items()}
            known.levels[name] = counts_of(columns[name])
    rows = list(places.values())  # no others become Python's objects, which take four times the memory
    shown = [columns[name].values[rows].tolist() for name in uses.columns]
    for key, row, *example in zip(places, kept[rows].tolist(), *shown, strict=True):
        known.examples[key] = (block, row), tuple(example)
    if uses.arm is None:
        known.answers = frozenset(("", value) for value in columns[uses.answer].distinct())
    else:
        known.answers = _together(columns[uses.arm], columns[uses.answer])
    known.clusters = _together(*(columns[name] for name in uses.drawn))
    for text, names in uses.remembered.items():
        stacked = np.column_stack([_numbers(columns[name]) for name in names])
        known.values[text] = _counted(stacked, np.ones(len(stacked), dtype=np.int64), text)
    return known


def _together(*columns: Column) -> frozenset[tuple[Any, ...]]:
    """What columns hold in some row."""
    return frozenset(zip(*(column.values.tolist() for column in columns), strict=True))


def both(one: Learned, other: Learned) -> Learned:
    """What two parts teach."""
    first, second = one.rows, other.rows
    for name in one.kinds.keys() & other.kinds.keys():
        if one.kinds[name] != other.kinds[name]:
            raise InputError(
                f"column {name!r} holds {one.kinds[name]} in some files and {other.kinds[name]} in others.",
                remedy="Write all files with the same kinds of columns.",
            )
    examples = dict(one.examples)
    for key, example in other.examples.items():
        examples[key] = min(example, examples.get(key, example), key=lambda own: own[0])
    first_rows = sorted((key for key in examples if key[0] == ""), key=lambda key: key[1])
    for key in first_rows[_SHOWN:]:
        del examples[key]
    values = dict(one.values) | dict(other.values)
    for text in one.values.keys() & other.values.keys():
        (mine, its), (more, often) = one.values[text], other.values[text]
        values[text] = _counted(np.concatenate([mine, more]), np.concatenate([its, often]), text)
    orders = {
        name: one.orders.get(name, frozenset()) | other.orders.get(name, frozenset())
        for name in one.orders.keys() | other.orders.keys()
    }
    levels = {name: one.levels.get(name, Counter()) + count for name, count in other.levels.items()}
    rows = first[0] + second[0], first[1] + second[1]
    answers, clusters = one.answers | other.answers, one.clusters | other.clusters
    kinds, levels = one.kinds | other.kinds, one.levels | levels
    return Learned(rows, kinds, examples, levels, answers, clusters, values, orders)


def design_of(parsed: ParsedFormula, known: Learned) -> FormulaDesign:
    """The design that a formula makes of all rows."""
    if not known.rows[1]:
        raise EmptyDataError(
            f"all {known.rows[0]} rows miss some value.", remedy="Leave out the column that is mostly missing."
        )
    shown = shown_rows(parsed, known)
    levels = {
        name: Counter({value: own[value] for value in shown[name].distinct()}) for name, own in known.levels.items()
    }
    tell(Notice(AskanceWarning, doubt) for doubt in examine_counts(parsed, known.kinds, levels.__getitem__))
    design, _ = FormulaDesign.learn(parsed, shown)
    for text, (values, counts) in known.values.items():
        _remember(design, parsed.calculations, text, values, counts)
    design.respondents = None
    return design


def shown_rows(parsed: ParsedFormula, known: Learned) -> Columns:
    """The first rows, and for every level of a category one that has it."""
    shown = [row for _, row in sorted(known.examples.values(), key=lambda own: own[0])]
    columns = {}
    for place, name in enumerate(parsed.columns):
        orders = known.orders[name]
        levels = next(iter(orders)) if len(orders) == 1 else None
        columns[name] = shown_column(name, known.kinds[name], [row[place] for row in shown], levels)
    return Columns(list(columns), len(shown), columns.__getitem__)


def _remember(
    design: FormulaDesign, calculations: Mapping[str, Calculation], text: str, values: FloatArray, counts: IntArray
) -> None:
    """What a calculation learns from all rows instead of those that were shown."""
    import pandas as pd

    if counts.sum() > _MOST_ROWS:
        raise InputError(
            f"{text} learns from all of {counts.sum():,} rows; allowed: {_MOST_ROWS:,}.",
            remedy="Write what it would learn into the formula, as in I((age - 45) / 10).",
        )
    rows = np.repeat(values, counts, axis=0)
    frame = pd.DataFrame(dict(zip(calculations[text].columns, rows.T, strict=True)))
    fresh: dict[str, Any] = {}
    calculations[text].compute(frame, fresh)
    design.state.update(fresh)


def _firsts(column: Column, name: str) -> dict[Any, int]:
    """The first row of every value."""
    if column.values.dtype == object:
        firsts: dict[Any, int] = {}
        for row, value in enumerate(column.values.tolist()):
            firsts.setdefault(value, row)
    else:
        values, rows = np.unique(column.values, return_index=True)
        firsts = dict(zip(values.tolist(), rows.tolist(), strict=True))
    if len(firsts) > _MOST_LEVELS:
        raise InputError(
            f"column {name!r} has {len(firsts):,} categories; allowed: {_MOST_LEVELS:,}.",
            remedy="Leave it out, or merge categories.",
        )
    return firsts


def _numbers(column: Column) -> FloatArray:
    if column.kind not in ("number", "boolean"):
        raise InputError(f"column {column.name!r} holds {column.kind}, not numbers.", remedy="Name another column.")
    return column.values.astype(np.float64)


def _counted(values: FloatArray, counts: IntArray, text: str) -> tuple[FloatArray, IntArray]:
    """Different rows of values, in order, and how often each came."""
    different, place = np.unique(values, axis=0, return_inverse=True)
    if len(different) > _MOST_VALUES:
        raise InputError(
            f"{text} learns from more than {_MOST_VALUES:,} different values.",
            remedy="Write what it would learn into the formula, as in I((age - 45) / 10), or round the column.",
        )
    return different, np.rint(np.bincount(place.reshape(-1), weights=counts)).astype(np.int64)


def shown_column(name: str, kind: Kind, values: list[Any], levels: tuple[Any, ...] | None = None) -> Column:
    """A column of these values, none of which is missing."""
    if kind == "category" and levels is None:
        kind = "text"
    dtype: Any = {"number": np.float64, "boolean": bool}.get(kind, object)
    array = np.empty(len(values), dtype=dtype)
    array[:] = values
    return Column(name, kind, array, np.zeros(len(values), dtype=bool), levels)
