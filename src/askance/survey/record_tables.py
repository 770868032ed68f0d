"""Tables of respondents whose records are to be noised.

What is refused is told by row and column, never by its value: standard error may well be kept in a log.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from askance._checks import shorten
from askance.categories import Categories, Label
from askance.channels.registry import AnyChannel
from askance.channels.statistics.base import StatisticsChannel
from askance.errors import IncompatibleEvidenceError, InputError, LabelError, MissingValueError
from askance.formats.reports import report_writer
from askance.survey.files import read_table
from askance.survey.tables import Column, Columns, ColumnTwiceError, as_written

# Records noised at a time.
_PIECE = 1 << 16
# Numbers noised at a time, where records are long.
_NUMBERS = 1 << 22
# First lines of such values, and of numbers, hold no names.
_BOOLEANS, _GAPS = frozenset({"true", "false"}), frozenset({"", "na", "nan", "n/a", "null", "none", "inf", "-inf"})
_NUMBER = re.compile(r"\s*[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?\s*")


def read_people(path: Path, *, texts: bool = False) -> Columns:
    """The table of a file; see `read_table`. A file without names of columns is refused."""
    table: Columns | None
    try:
        table = read_table(path, texts=texts)
    except ColumnTwiceError:
        table = None  # refused below: in a table without names, what is there twice is what the first respondent told
    if table is None:
        raise InputError(
            f"the first line of {path} holds something twice; allowed: names of columns, each once.",
            remedy="Put a line of names in front, or rename one of the columns.",
        )
    _refuse_headless(table, path)
    return table


def complete_rows(columns: Sequence[Column], path: Path, *, drop: bool) -> list[int]:
    """The rows without gaps in these columns; where there are others, they are left out, or refused."""
    missing = np.any([column.missing for column in columns], axis=0)
    if not drop:
        for column in columns:
            require_complete(column, path)
    return np.flatnonzero(~missing).tolist()


def _refuse_headless(table: Columns, path: Path) -> None:
    """A first line of numbers is a respondent, not names: taken as names, it would be lost, and be shown."""
    values = [name.strip().lower() for name in table.names]
    if any(value and (_NUMBER.fullmatch(value) or value in _BOOLEANS) for value in values) and all(
        _NUMBER.fullmatch(value) or value in _BOOLEANS or value in _GAPS for value in values
    ):
        raise InputError(
            f"the first line of {path} holds numbers only; allowed: names of columns.",
            remedy="Put a line of names in front.",
        )


def refuse_answers_as_names(
    table: Columns, wanted: Sequence[str] | None, labels: Sequence[Categories], path: Path, *, but: str | None = None
) -> None:
    """A column called by an answer has none: the first respondent is no name, which messages and reports would show.

    Which column it is tells what the first respondent said, so it is not named. Columns that are all there may be
    called as they like where somebody named them.

    Args:
        table: the table.
        wanted: names of columns that were asked for, or None for all.
        labels: what its columns may hold; of none, numbers.
        path: where the table is.
        but: a column that holds no answers.
    """
    if wanted is not None and all(name in table.names for name in wanted):
        return
    names = [name for name in table.names if name != but]
    if labels:
        answers = any(label_of(name, known) is not None for known in labels for name in names)
    else:
        answers = any(_NUMBER.fullmatch(name) for name in names)
    if answers:
        raise InputError(
            f"the first line of {path} holds an answer; allowed: names of columns.",
            remedy="Put a line of names in front. Where a column is really called so, name it with --columns.",
        )


def refuse_other_columns(columns: Sequence[str], purpose: str, names: Sequence[str], path: Path) -> None:
    """Refuse columns that the purpose names in another order, or instead of which it names others of the table."""
    meant = purpose.split(",")
    if purpose and meant != list(columns) and set(meant) <= set(names):
        raise IncompatibleEvidenceError(
            f"{path}: the columns are {shorten(list(columns))}, and the purpose is {purpose!r}.",
            remedy=f"Take the columns that it names, in their order: --columns {purpose}.",
        )


def write_noised(
    output: Path,
    channel: AnyChannel,
    noised: Callable[[slice], Any],
    n: int,
    ids: Sequence[str] | None,
    *,
    split: int | None,
    doing: Callable[[str], None],
) -> int:
    """Write the reports of n rows, as many rows at a time as are quickly noised; how many were written.

    Args:
        output: where they go, whole or not at all.
        channel: what makes them.
        noised: the reports of some of the rows.
        n: how many rows there are.
        ids: of the rows, where reports have any.
        split: into how many files they go by their id.
        doing: is told which row it is.
    """
    width = channel.truth_width if isinstance(channel, StatisticsChannel) else 1
    step = max(1, min(_PIECE, _NUMBERS // width))
    with report_writer(output, channel, ids=ids is not None, split=split) as writer:
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            doing(f"row {start + 1:,} of {n:,}")
            writer.write(noised(rows), None if ids is None else ids[rows])
    return writer.written


def require_complete(column: Column, path: Path) -> None:
    """Refuse a column with gaps."""
    if column.missing.any():
        raise _missing(column, int(column.missing.argmax()), path)


def _missing(column: Column, row: int, path: Path) -> MissingValueError:
    return MissingValueError(
        f"{path}, row {row + 1}: the value of column {column.name!r} is missing.",
        remedy="Leave respondents with missing values out (--missing drop, where there is one), and count them.",
    )


def require_numbers(column: Column, path: Path, rows: Sequence[int] | None = None) -> None:
    """Refuse a column of texts; of those rows, where some were dropped."""
    numbers = list(range(len(column.values)) if rows is None else rows)
    if column.kind in ("number", "boolean") or not numbers:
        return
    texts = map(str, column.values[numbers].tolist())
    row = next((row for row, text in zip(numbers, texts, strict=True) if not _NUMBER.fullmatch(text)), numbers[0])
    raise InputError(
        f"{path}, row {row + 1}: column {column.name!r} is no number; allowed: numbers.",
        remedy="Turn texts into numbers first, or choose other columns.",
    )


def read_ids(column: Column, path: Path, rows: Sequence[int] | None = None) -> list[str]:
    """Ids as texts, each once; of those rows, where some were dropped."""
    numbers = list(range(len(column.values)) if rows is None else rows)
    gap = next((row for row in numbers if column.missing[row]), None)
    if gap is not None:
        raise _missing(column, gap, path)
    ids = [as_written(value) for value in column.values[numbers].tolist()]
    met: dict[str, int] = {}
    for row, id in zip(numbers, ids, strict=True):
        first = met.setdefault(id, row)
        if first != row or not id:
            raise InputError(
                f"{path}, row {row + 1}: column {column.name!r} is {f'that of row {first + 1}' if id else 'empty'}; "
                "allowed: one text per respondent.",
                remedy="Give every respondent an id of their own, or leave --id-column out.",
            )
    return ids


def label_of(value: Any, labels: Categories) -> Label | None:
    """The label that a value of a table, or a text, stands for: itself, or the one that is written like it."""
    if labels.are_codes:
        text = as_written(value)
        return int(text) if re.fullmatch("[0-9]{1,18}", text) and int(text) < len(labels) else None
    alike = [label for label in labels if type(label) is type(value) and label == value]
    alike = alike or [label for label in labels if as_written(label) == as_written(value)]
    return alike[0] if len(alike) == 1 else None


def read_labels(column: Column, labels: Categories, rows: Sequence[int], path: Path) -> list[Label]:
    """The labels that the values of some rows stand for."""
    values = column.values[rows].tolist()
    meaning = {value: label_of(value, labels) for value in set(values)}
    for row, value in zip(rows, values, strict=True):
        if meaning[value] is None:
            raise LabelError(
                f"{path}, row {row + 1}: column {column.name!r} is none of the labels; allowed: "
                f"{shorten(labels.labels)}.",
                remedy="Recode the column, or give the channel these labels.",
            )
    return [meaning[value] for value in values]  # type: ignore[misc]
