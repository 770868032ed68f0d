"""Which column or field of a file holds the tags."""

from __future__ import annotations

import re
from collections.abc import Sequence

from askance._checks import did_you_mean, shown
from askance.errors import InputError


def column_of(
    wanted: str | int | None, columns: Sequence[str], width: int, words: Sequence[int], name: str, *, default: int
) -> int:
    """The number, from 0, of the column with the tags; never one of those that hold words or numbers of words.

    Args:
        wanted: a name, or a number counted from 1; None: the default.
        columns: names of the columns, if known.
        width: how many there are.
        words: which of them hold no tags, from 0.
        name: of the file.
        default: what is taken if nothing is wanted.

    >>> column_of("upos", ["form", "UPOS"], 2, (0,), "a.tsv", default=1)
    1
    """
    if wanted is None:
        return default
    names = [column.casefold() for column in columns]
    if isinstance(wanted, str) and wanted.casefold() in names:
        found = names.index(wanted.casefold())
    elif isinstance(wanted, int) or re.fullmatch("[0-9]{1,6}", wanted):
        found = int(wanted) - 1
    else:
        found = -1
    if not 0 <= found < width or found in words:
        free = [i for i in range(width) if i not in words]
        listed = [columns[i] for i in free] if columns else []
        numbers = f"numbers {free[0] + 1} to {width}" if len(free) > 1 else f"number {width}" if free else "none"
        raise InputError(
            f"is {shown(wanted)}, which is no column of tags in {name}",
            argument="tag_column",
            allowed=", ".join([*map(repr, listed), numbers]),
            remedy=did_you_mean(wanted, listed, "Name a column of the header line, or count from 1."),
        )
    return found


def field_of(tag_column: str | int | None) -> str:
    """The field of JSON lines that holds the tags."""
    if isinstance(tag_column, int) or tag_column in ("id", "tokens"):
        raise InputError(
            f"is {shown(tag_column)}; allowed for JSON lines: the name of a field with tags",
            argument="tag_column",
            remedy='Leave it out, for "tags".',
        )
    return "tags" if tag_column is None else tag_column
