"""Exports of survey software: what they put around the answers, recognised by what a file holds.

Qualtrics writes two more lines below the names (the questions, and an ImportId of every column), as CSV or as TSV in
UTF-16. LimeSurvey and formr write ordinary tables, with columns of their own that say who finished; formr also as JSON.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from askance._checks import one_of, shorten
from askance._words import words
from askance.errors import FormatError, InputError
from askance.survey.tables import Column, Columns, first_line

#: Where a file comes from; "plain": names in the first line, and nothing else but rows.
Source: TypeAlias = Literal["plain", "qualtrics", "limesurvey", "formr"]
SOURCES: tuple[str, ...] = get_args(Source)
_NAMES = {"qualtrics": "Qualtrics", "limesurvey": "LimeSurvey", "formr": "formr"}
# Columns that only such an export has, in one of its spellings.
_COLUMNS: dict[str, tuple[set[str], ...]] = {
    "limesurvey": (
        {"submitdate", "lastpage", "startlanguage"},
        {"Response ID", "Date submitted", "Last page", "Start language"},
    ),
    "formr": ({"session", "created", "modified", "ended"},),
}
# Lines of Qualtrics below the names, and where they are looked for: questions may be long.
_LINES, _HEAD = 2, 1 << 22
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def in_utf8(content: bytes, name: str) -> bytes:
    """The content without its byte order mark, and as UTF-8 where that says it is UTF-16."""
    if not content.startswith(_UTF16):
        return content.removeprefix(codecs.BOM_UTF8)
    try:
        return content.decode("utf-16").encode()
    except UnicodeError:
        raise FormatError(f"{name} is damaged UTF-16 text.", remedy="Save the file as UTF-8.") from None


def csv_of_records(content: bytes, name: str) -> bytes:
    """A JSON list of flat objects as CSV, so that its cells are read as those of all text files."""
    remedy = 'Write a list of objects: [{"said": "yes", "age": 31}, …].'
    try:
        records = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{name} is not JSON ({first_line(error)}).", remedy=remedy) from None
    if not isinstance(records, list) or not records or not all(isinstance(record, dict) for record in records):
        raise FormatError(f"{name} is no list of objects, one for every row.", remedy=remedy)
    names = list(dict.fromkeys(key for record in records for key in record))
    nested = [key for key in names if any(isinstance(record.get(key), dict | list) for record in records)]
    if nested:
        raise FormatError(f"{name}: {nested[0]!r} holds lists or objects.", remedy="Leave it out, or flatten it.")
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(names)
    for record in records:
        cells = (record.get(key) for key in names)
        writer.writerow([str(cell).lower() if isinstance(cell, bool) else cell for cell in cells])
    return text.getvalue().encode(errors="replace")


def without_lines_of_qualtrics(content: bytes, delimiter: str, name: str, source: str | None) -> tuple[bytes, bool]:
    """The content with the names in its only line of header, and whether it came from Qualtrics."""
    lines = io.BytesIO(content[:_HEAD])
    reader = csv.reader((line.decode("utf-8", errors="replace") for line in lines), delimiter=delimiter)
    ends: list[int] = [0]
    records: list[list[str]] = []
    try:
        while len(records) < 1 + _LINES and (record := next(reader, None)) is not None:
            records.append(record)
            ends.append(lines.tell())
    except csv.Error:  # a cell beyond any question
        records = []
    exported = len(records) == 1 + _LINES and len(records[0]) == len(records[-1]) and _are_import_ids(records[-1])
    if source == "qualtrics" and not exported:
        raise FormatError(
            f"{name} is no export of Qualtrics: its third line does not hold an ImportId of every column.",
            remedy=words("Export it again as CSV, or read it with {source=plain}."),
        )
    if not exported or source not in (None, "qualtrics"):
        return content, False
    return content[: ends[1]] + content[ends[-1] :], True


def _are_import_ids(cells: Iterable[str]) -> bool:
    """Whether all cells are such as {"ImportId":"QID1_TEXT"}."""
    return all(cell.lstrip().startswith('{"ImportId"') for cell in cells)


def check_source(source: str | None) -> None:
    """Refuse sources that nobody knows."""
    if source is not None:
        one_of(source, SOURCES, "source", "Leave it out to have it recognised.")


def notes_on(table: Columns, name: str, source: str | None, *, of_qualtrics: bool) -> list[str]:
    """How a table was read, and how many of its rows may not count."""
    if source == "qualtrics" and not of_qualtrics:
        raise InputError(
            f"{name} is no text; allowed for exports of Qualtrics: .csv and .tsv.", remedy=words("Leave {source} out.")
        )
    kinds = ["qualtrics"] if of_qualtrics else [kind for kind in _COLUMNS if _looks_like(table, kind)]
    if source in _COLUMNS and source not in kinds:
        raise FormatError(
            f"{name} is no export of {_NAMES[source]}: it lacks {shorten(sorted(_COLUMNS[source][0]))}.",
            remedy=words("Read it with {source=plain}."),
        )
    if not kinds or source == "plain":
        return []
    kind = source or kinds[0]
    said = [f"{_LINES} lines below the names left out"] if kind == "qualtrics" else []
    said += [text for column, count, what in _DOUBTS[kind] if (text := _counted(table, column, count, what))]
    return [f"read as an export of {_NAMES[kind]}" + (f": {'; '.join(said)}" if said else "")]


def _looks_like(table: Columns, kind: str) -> bool:
    return any(columns <= set(table.names) for columns in _COLUMNS[kind])


def _counted(table: Columns, name: str, which: Callable[[Column], Any], what: str) -> str:
    """How many rows are doubtful by one column, such as "3 of 120 rows are not finished (Finished)"."""
    count = int(np.sum(which(table[name]))) if name in table else 0
    return f"{count} of {len(table)} rows {what} ({name})" if count else ""


def _is_one_of(*values: Any) -> Callable[[Column], Any]:
    return lambda column: [not gap and value in values for value, gap in _cells(column)]


def _cells(column: Column) -> Iterable[tuple[Any, bool]]:
    return zip(column.values.tolist(), column.missing.tolist(), strict=True)


# Rows that whoever collected them may not want to count, by the columns that tell; none is left out unasked.
_DOUBTS: dict[str, list[tuple[str, Callable[[Column], Any], str]]] = {
    "qualtrics": [
        ("Status", _is_one_of("Survey Preview", 1), "are previews"),
        ("Finished", _is_one_of("False", 0), "are not finished"),
    ],
    "limesurvey": [
        ("submitdate", lambda column: column.missing, "were not submitted"),
        ("Date submitted", lambda column: column.missing, "were not submitted"),
    ],
    "formr": [
        ("session", lambda column: ["XXX" in str(value) for value, gap in _cells(column) if not gap], "are tests"),
        ("ended", lambda column: column.missing, "were not ended"),
    ],
}
