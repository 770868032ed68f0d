"""Formats of text files: by name, and for JSON by the first object; and which column or field holds the tags."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias, cast, get_args

from askance._checks import did_you_mean, one_of, shown
from askance.errors import FormatError, InputError
from askance.text.io.annotation_spans import Tool
from askance.text.io.annotation_tools import tool_of_file
from askance.text.io.lines import OpenText, Source, name_of

TextFormat: TypeAlias = Literal["tsv", "conllu", "jsonl", "text", "doccano", "label-studio", "prodigy"]

_SUFFIXES: dict[str, TextFormat] = {
    ".tsv": "tsv",
    ".tab": "tsv",
    ".conllu": "conllu",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".txt": "text",
}
# Columns that blanks or tabs separate, in an order that differs from file to file.
_COLUMNS = (".conll", ".iob", ".iob2", ".bio", ".bmes", ".pos")


def format_of(source: Source, format: str | None = None) -> TextFormat:
    """The format that is asked for, or else the one that the name of the file tells.

    >>> format_of("train.tsv.gz"), format_of("input", "text")
    ('tsv', 'text')
    """
    if format is not None:
        return cast(TextFormat, one_of(format, get_args(TextFormat), "format", ""))
    suffixes = [suffix.lower() for suffix in Path(name_of(source)).suffixes]
    last = suffixes[-2:-1] if suffixes[-1:] == [".gz"] else suffixes[-1:]
    if not last or last[0] not in _SUFFIXES:
        raise InputError(
            f"the name of {name_of(source)} tells no format; allowed: {', '.join(_SUFFIXES)}, also with .gz.",
            remedy=_remedy(name_of(source), last[0] if last else ""),
        )
    return _SUFFIXES[last[0]]


def tabs_for_blanks(name: str, target: str) -> str:
    """The command that separates columns by tabs instead of blanks.

    >>> print(tabs_for_blanks("my corpus.conll.gz", "tabs.tsv"))
    zcat 'my corpus.conll.gz' | tr -s ' ' '\\t' > tabs.tsv
    """
    command = r"tr -s ' ' '\t'"
    quoted, place = shlex.quote(name), shlex.quote(target)
    return f"zcat {quoted} | {command} > {place}" if name.endswith(".gz") else f"{command} < {quoted} > {place}"


def _remedy(name: str, suffix: str) -> str:
    """What to do about a name that tells no format."""
    if suffix in _COLUMNS:
        return (
            "Turn it into .tsv, words first and columns separated by tabs: "
            f"{tabs_for_blanks(name, Path(name.removesuffix('.gz')).with_suffix('.tsv').name)}. If it has the ten "
            "columns of CoNLL-U, call it .conllu."
        )
    formats = ", ".join(get_args(TextFormat))
    return f"Give it such an ending; Python and `askance tag` may also be told the format: {formats}."


def format_within(source: OpenText, format: str | None = None) -> TextFormat:
    """The format, where need be by the first object of a file of JSON, which can be read again after."""
    if format is not None:
        return format_of(source, format)
    suffixes = [suffix.lower() for suffix in Path(source.name).suffixes if suffix.lower() != ".gz"]
    if suffixes[-1:] == [".json"]:
        tool = tool_of_file(source)
        if tool is None:
            raise InputError(
                f"{name_of(source)} is like no export of an annotation tool; allowed: {', '.join(get_args(Tool))}.",
                remedy="Export it again as JSON, or rename it .jsonl where every line is an object.",
            )
        return tool
    kind = format_of(source)
    if kind != "jsonl":
        return kind
    try:
        return tool_of_file(source) or kind
    except FormatError:  # whoever reads the lines will say what is wrong with them
        return kind


def tool_of_format(kind: TextFormat) -> Tool | None:
    """The annotation tool whose format it is, if any."""
    return kind if kind in ("doccano", "label-studio", "prodigy") else None


# -- tags --------------------------------------------------------------------------------------------------------------


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
        column = names.index(wanted.casefold())
    elif isinstance(wanted, int) or re.fullmatch("[0-9]{1,6}", wanted):
        column = int(wanted) - 1
    else:
        column = -1
    if not 0 <= column < width or column in words:
        free = [i for i in range(width) if i not in words]
        listed = [columns[i] for i in free] if columns else []
        numbers = f"numbers {free[0] + 1} to {width}" if len(free) > 1 else f"number {width}" if free else "none"
        raise InputError(
            f"is {shown(wanted)}, which is no column of tags in {name}",
            argument="tag_column",
            allowed=", ".join([*map(repr, listed), numbers]),
            remedy=did_you_mean(wanted, listed, "Name a column of the header line, or count from 1."),
        )
    return column


def field_of(tag_column: str | int | None) -> str:
    """The field of JSON lines that holds the tags."""
    if isinstance(tag_column, int) or tag_column in ("id", "tokens"):
        raise InputError(
            f"is {shown(tag_column)}; allowed for JSON lines: the name of a field with tags",
            argument="tag_column",
            remedy='Leave it out, for "tags".',
        )
    return "tags" if tag_column is None else tag_column
