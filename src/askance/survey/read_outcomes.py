"""What a column that a hidden answer may explain holds: categories, counts or numbers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from askance._arrays import FloatArray
from askance._checks import one_of, shorten
from askance._words import words
from askance.errors import InputError
from askance.models.outcome import FAMILIES, Family
from askance.survey.tables import Column, plain_value

# So few different numbers may be codes of answers.
_FEW_VALUES = 10
# More categories than this are a number by mistake.
_MOST_CATEGORIES = 50


class ReadOutcome(NamedTuple):
    """A column as an outcome: family, labels of categories, values (or codes of these), shape (n,), and a note."""

    family: Family
    labels: tuple[Any, ...] | None
    values: FloatArray
    note: str


def read_outcome(column: Column, asked: str | None = None) -> ReadOutcome:
    """A column without missing values; texts, yes and no, 0 and 1 are categories, whole numbers from 0 on are counts.

    >>> from askance.survey.tables import Columns
    >>> read_outcome(Columns.of({"children": [0, 2, 1]})["children"]).family
    'count'
    """
    if asked is not None:
        one_of(asked, FAMILIES, "outcome", "Leave it out: what the column holds decides.")
    if column.kind not in ("text", "category", "boolean", "number"):
        raise InputError(
            f"column {column.name!r} holds {column.kind} values; allowed for an outcome: categories or numbers.",
            remedy="Recode it.",
        )
    numeric = column.kind in ("number", "boolean")
    if asked in ("count", "number") and not numeric:
        raise InputError(
            f"column {column.name!r} holds texts ({shorten(column.distinct())}), which are no {asked}s.",
            remedy=words("Turn them into numbers first, or leave {outcome} out."),
        )
    family, why = (asked, "") if asked is not None else _guessed(column)
    if family == "category":
        return _categories(column)
    note = words("outcome {0} is read as a {1}{2}", repr(column.name), family, why)
    return ReadOutcome(family, None, column.values.astype(np.float64), note)  # type: ignore[arg-type]


def _guessed(column: Column) -> tuple[str, str]:
    values = column.distinct()
    if column.kind != "number" or set(values) <= {0.0, 1.0}:
        return "category", ""
    if len(values) == 2:
        two = f", though it holds {plain_value(values[0])!r} and {plain_value(values[1])!r} alone"
        return "number", words("{0}: {outcome=category} reads them as two answers", two)
    if min(values) == 0 and all(value == int(value) for value in values):
        return "count", words(", for it holds whole numbers from 0 on; {outcome=number} reads it otherwise")
    codes = len(values) <= _FEW_VALUES
    return "number", words("; {outcome=category} takes its values for answers" if codes else "")


def _categories(column: Column) -> ReadOutcome:
    values = column.distinct()
    if not 2 <= len(values) <= _MOST_CATEGORIES:
        raise InputError(
            f"column {column.name!r} holds {len(values)} different values ({shorten(values)}); allowed for categories: "
            f"2 to {_MOST_CATEGORIES}.",
            remedy=words("Check the rows kept; or say what it is by {outcome=number} or {outcome=count}."),
        )
    labels = tuple(plain_value(value) for value in values)
    labels = labels if column.kind != "boolean" else tuple(map(str, labels))
    place = {value: float(code) for code, value in enumerate(values)}
    codes = np.array([place[value] for value in column.values.tolist()])
    against = f"{labels[1]!r} against {labels[0]!r}" if len(labels) == 2 else f"all against {labels[0]!r}"
    return ReadOutcome("category", labels, codes, f"outcome {column.name!r} is read as categories, {against}")
