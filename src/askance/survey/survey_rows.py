"""The rows of a table that a formula is about: complete, coded, with weights and groups, before any fit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from askance._arrays import AnyArray, FloatArray
from askance._checks import did_you_mean, one_of, shorten
from askance._words import words
from askance.errors import AskanceWarning, InputError, NotIdentifiedError
from askance.estimation.outcome import Notice, tell
from askance.models.softmax import Covariates
from askance.survey.drawn import Drawn
from askance.survey.formula import FormulaDesign, ParsedFormula, parse_formula
from askance.survey.levels import examine_levels
from askance.survey.tables import Column, Columns, Table, complete_rows

# What columns of sampling weights are mostly called: weight, wgt, w2, pspwght, FINALWT, haven_pw.
_WEIGHTS = re.compile(r"weight|we?ght|wgt|wts?(?![a-z])|(?:^|_)p?w\d*(?:_|$)", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class SurveyRows:
    """What a formula says of a table.

    Attributes:
        parsed: the formula.
        written: the table as it was given.
        table: the same without blanks around texts.
        mask: which rows are complete; None: all.
        drawn: how respondents were drawn.
        others: columns beside those of the formula: of weights, clusters, arms.
    """

    parsed: ParsedFormula
    written: Columns
    table: Columns
    mask: AnyArray | None
    drawn: Drawn
    others: Sequence[str] = field(default=())

    @classmethod
    def read(
        cls, formula: str, data: Table, missing: Literal["error", "drop"], drawn: Drawn, **columns: str | None
    ) -> SurveyRows:
        """The complete rows of a table.

        Args:
            formula: `report ~ terms`.
            data: the table.
            missing: what to do about rows with a missing value in a column that is used.
            drawn: how respondents were drawn.
            columns: names of columns beside those and those of the formula, by what they are for; None: there is none.
        """
        one_of(missing, ("error", "drop"), "missing", "The default is error.")
        written = Columns.of(data)
        table = written.trimmed()
        others = other_columns(table, drawn, **columns)
        parsed = parse_formula(formula, table, leave_out=others)
        if missing == "drop":
            table = parsed.without_unlisted(table)
        mask = complete_rows(table, [parsed.answer, *parsed.columns, *others], missing)
        tell(Notice(AskanceWarning, doubt) for doubt in examine_levels(parsed, table, mask))
        return cls(parsed, written, table, mask, drawn, others)

    def __len__(self) -> int:
        return len(self.table) if self.mask is None else int(self.mask.sum())

    def column(self, name: str) -> Column:
        """A column of the complete rows, without blanks around texts."""
        return self.table[name].take(self.mask)

    def as_written(self, name: str) -> Column:
        """A column of the complete rows, as it was given."""
        return self.written[name].take(self.mask)

    @cached_property
    def coded(self) -> tuple[FormulaDesign, Covariates]:
        """The design that the formula makes of these rows, and its x, shape (n, p); refuses useless columns."""
        design, x = FormulaDesign.learn(self.parsed, self.table, self.mask, self.others)
        _check_constant(x, design.terms)
        return design, x

    def groups(self, name: str, role: str = "cluster") -> AnyArray:
        """Which group every row is in, by the values of a column, shape (n,); refuses a single one."""
        column = self.column(name)
        if column.values.dtype == object:
            place = {value: code for code, value in enumerate(dict.fromkeys(column.values.tolist()))}
            codes = np.array([place[value] for value in column.values.tolist()])
        else:
            codes = np.unique(column.values, return_inverse=True)[1]
        if codes.max() == 0:
            raise InputError(
                f"column {name!r} holds one {role} only; allowed: at least 2.",
                remedy=words(f"Leave {{{role}}} out."),
            )
        return np.asarray(codes)

    def weights(self, name: str, *, zero: bool = False) -> FloatArray:
        """Sampling weights of the rows, shape (n,); refuses what is not above 0, or below it where 0 is allowed."""
        return read_weights(self.column(name), zero=zero)

    @property
    def on_dropped(self) -> str:
        """How many rows were left out; empty where none was."""
        return on_dropped(len(self.table), len(self))

    @property
    def on_blanks(self) -> list[str]:
        """In which columns blanks around texts were left out, and in how many rows."""
        told = []
        for name in dict.fromkeys([*self.parsed.columns, *self.others]):
            if self.table[name] is not self.written[name]:
                pairs = zip(self.as_written(name).values, self.column(name).values, strict=True)
                if count := sum(before != after for before, after in pairs):
                    told.append(f"column {name!r}: blanks around the values of {count} rows are left out")
        return told


def other_columns(table: Columns, drawn: Drawn, **columns: str | None) -> list[str]:
    """Columns beside those of a formula, of those of a table; refuses what is no name, and weights that are not there.

    Args:
        table: the columns there are.
        drawn: how respondents were drawn.
        columns: names of more columns, by what they are for; None: there is none.
    """
    columns = drawn.columns(table.names) | columns
    _check_names(**columns)
    _check_weights(drawn.weights, table)
    return [name for name in columns.values() if name is not None]


def on_dropped(total: int, kept: int) -> str:
    """How many rows were left out; empty where none was."""
    return "" if kept == total else f"{total - kept} of {total} rows dropped for missing values"


def read_weights(column: Column, *, zero: bool = False) -> FloatArray:
    """Sampling weights, shape (n,); refuses what is not above 0, or below it where 0 is allowed."""
    if column.kind not in ("number", "boolean"):
        raise InputError(
            f"column {column.name!r} holds {column.kind}, not weights.", remedy="Name a column of numbers."
        )
    numbers = column.values.astype(np.float64)
    bad = ~(np.isfinite(numbers) & ((numbers >= 0) if zero else (numbers > 0)))
    if bad.any():
        below = "below" if zero else "not above"
        raise InputError(
            f"column {column.name!r} holds the weight {numbers[bad][0]:g} ({bad.sum()} rows are {below} 0).",
            remedy="Leave these rows out.",
        )
    return numbers


def require_varied(parsed: ParsedFormula, reports: AnyArray, rows: int) -> None:
    """Refuse to explain what never varies; its share alone can be estimated. Reports of so many rows, or the different
    ones."""
    if parsed.columns and bool((reports == reports[0]).all()):
        only = reports[:1].tolist()[0]
        raise NotIdentifiedError(
            f"column {parsed.answer!r} holds only {only!r} ({rows} rows): there is nothing to explain.",
            remedy=f"Check the column and the rows kept; for a share alone, write {parsed.answer} ~ 1.",
        )


def require_rows(model: Any, rows: int) -> None:
    """Refuse more parameters than rows."""
    if model.dimension > rows:
        raise NotIdentifiedError(
            f"{model.dimension} parameters cannot be estimated from {rows} rows.", remedy="Leave out terms."
        )


def _check_names(**columns: object) -> None:
    """Refuse a column itself where its name is asked for."""
    for option, value in columns.items():
        if value is not None and not isinstance(value, str):
            name = getattr(value, "name", None)
            raise InputError(
                f"{option} is a {type(value).__name__}; allowed: the name of a column of the data.",
                remedy=f"Put it into the table, and write {option}={(name if isinstance(name, str) else option)!r}.",
            )


def _check_weights(name: str | None, table: Columns) -> None:
    """Refuse weights that are not in the table, with the columns that may be meant."""
    if name is not None and name not in table:
        likely = [column for column in table.names if _WEIGHTS.search(column)]
        others = (
            f"Those that may be weights: {shorten(likely)}." if likely else "Check the spelling, capitals included."
        )
        remedy = did_you_mean(name, likely, others)
        raise InputError(f"there is no column {name!r} of weights.", remedy=remedy)


def _check_constant(x: Covariates, terms: tuple[str, ...]) -> None:
    """Refuse columns of zeros, and more than one column that is the same in every row."""
    top, bottom = (
        np.asarray(e.toarray() if hasattr(e, "toarray") else e).ravel() for e in (x.max(axis=0), x.min(axis=0))
    )
    constant = np.flatnonzero(top == bottom)
    useless = [j for j in constant if top[j] == 0 or (len(constant) > 1 and terms[j] != "Intercept")]
    if useless:
        raise NotIdentifiedError(
            f"{terms[useless[0]]} is {top[useless[0]]:g} in every row: its effect cannot be told.",
            remedy="Leave it out, or check the rows kept.",
        )
