"""How results are printed."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import click

from askance.cli.shared.options import JSON_ASKED
from askance.cli.shared.progress import warnings_told

# Between columns.
_GAP = 2


class Card(NamedTuple):
    """What a command has done, line by line.

    Attributes:
        title: above it.
        rows: for people: a name and a value each, or a cell for each of `columns`.
        content: the same for programs.
        columns: their names.
        others: cards that people see below this one.
    """

    title: str
    rows: Iterable[Sequence[str]]
    content: Mapping[str, Any]
    columns: Sequence[str] = ("", "")
    others: Sequence[Card] = ()


class Text(NamedTuple):
    """What a command has to say, for people and for programs."""

    text: str
    content: Mapping[str, Any]

    def summary(self) -> str:
        """For people."""
        return self.text

    def to_json(self) -> Mapping[str, Any]:
        """For programs."""
        return self.content


def show(result: Any, *arguments: Any, below: Iterable[str] = (), **more: Any) -> None:
    """Print a result: as JSON where --json was given, as text elsewhere.

    Args:
        result: a `Card`, or whatever has `summary` and `to_json`.
        arguments: of `summary` and `to_json`, such as a confidence.
        below: lines for people, after the result.
        more: for programs, after what the result itself says; warnings of the work come last.
    """
    card = result if isinstance(result, Card) else None
    if wants_json():
        from askance.tables import as_json

        content = result.to_json(*arguments) if card is None else card.content
        print_json(as_json({**content, **more, **warnings_told()}))
        return
    if card is None:
        click.echo(result.summary(*arguments))
    else:
        for part in (card, *card.others):
            print_table(part.title, part.columns, part.rows)
    for line in below:
        click.echo(line)


def wants_json() -> bool:
    """Whether --json was given."""
    return bool(click.get_current_context().meta.get(JSON_ASKED))


def print_json(content: Any) -> None:
    """One JSON document on standard output; no NaN, no infinity; escaped where the output has no such letters."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, indent=2)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(content, allow_nan=False, indent=2)
    click.echo(text)


def print_file(text: str) -> None:
    """What could as well be a file, on standard output: UTF-8 as all files are, whatever the terminal speaks."""
    in_memory = not hasattr(sys.stdout, "buffer")  # where a program listens, which knows no bytes
    click.echo(text if in_memory else text.encode("utf-8"), nl=False)


def terminal_width() -> int:
    """Of the terminal, in characters; 80 where there is none."""
    from rich.console import Console

    return Console().width


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, whole: bool = False) -> None:
    """A plain table that fits the terminal; without column names when they are all empty.

    Args:
        title: above it, if any.
        columns: their names.
        rows: of texts.
        whole: no cell is broken, even where lines become longer than the terminal is wide.
    """
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), show_header=any(columns), header_style="bold")
    for i, column in enumerate(columns):
        # Names and flags stay whole; a fingerprint that is too long goes on in the next line.
        table.add_column(Text(column), no_wrap=whole or i == 0, overflow="fold" if i else "ellipsis")
    cells = list(rows)
    for row in cells:
        table.add_row(*(Text(cell) for cell in row))
    console = Console(highlight=False)
    if title:
        console.print(Text(title, style="italic"))
    if whole:
        widths = [max(cell_len(line[i]) for line in (columns, *cells)) for i in range(len(columns))]
        console = Console(highlight=False, width=max(console.width, sum(widths) + _GAP * len(widths)))
    console.print(table)
    console.print()
