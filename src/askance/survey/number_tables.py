"""Columns of numbers, of a table that must hold nothing else in them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from askance._arrays import FloatArray
from askance.errors import InputError
from askance.survey.files import read_table
from askance.survey.tables import Columns


def read_points(path: Path, wanted: Sequence[str], flag: str) -> FloatArray:
    """Columns of numbers by their names, shape (rows, d); other columns do not matter.

    Never by position: a file without a first line of names would lose a row, and swapped columns would go unnoticed.

    Args:
        path: of the table.
        wanted: the names.
        flag: what the table is called in whatever is wrong with it.
    """
    remedy = f"The first line must name the columns: {','.join(wanted)}."
    try:
        table = read_table(path)
    except InputError as error:
        raise InputError(f"{flag} {path}: {error.message}", remedy=f"{error.remedy} {remedy}") from None
    names = table.names
    missing = [name for name in wanted if name not in names]
    if missing and all(map(_is_number, names)):
        raise InputError(
            f"{flag} {path} starts with {','.join(names)}, which are numbers, not names of columns.", remedy=remedy
        )
    if missing:
        raise InputError(
            f"{flag} {path} has the columns {', '.join(names)}, but none for {', '.join(missing)}.", remedy=remedy
        )
    remedy = f"Give one column of numbers for each of {', '.join(wanted)}."
    columns = numeric_columns(table, path, wanted, flag, remedy)
    return np.column_stack(list(columns.values()))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def numeric_columns(table: Columns, path: Path, names: Sequence[str], flag: str, remedy: str) -> dict[str, FloatArray]:
    """The named columns of a table, or all, as numbers; refused where they hold others, or gaps, or there are no rows.

    Args:
        table: that was read.
        path: where it came from.
        names: of the columns; none for all.
        flag: what the table is called in whatever is wrong with it.
        remedy: the way out.
    """
    if not len(table):
        raise InputError(f"{flag} {path} has no rows.", remedy=remedy)
    columns: dict[str, FloatArray] = {}
    for name in names or table.names:
        column = table[name]
        if column.kind not in ("number", "boolean") or column.missing.any():
            content = f"{int(column.missing.sum())} missing values" if column.missing.any() else f"{column.kind} values"
            raise InputError(f"{flag} {path}: {name} holds {content}; allowed: numbers.", remedy=remedy)
        columns[name] = np.asarray(column.values, dtype=np.float64)
    return columns
