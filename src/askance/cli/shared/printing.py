"""How results are printed."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import click

# Between columns.
_GAP = 2


class Card(NamedTuple):
    """What a command has done, line by line.

    Attributes:
        title: above it.
        rows: for people: a name and a value each.
        content: the same for programs.
        notes: below, each on a line of its own.
    """

    title: str
    rows: Sequence[tuple[str, str]]
    content: Mapping[str, Any]
    notes: Sequence[str] = ()


def show(result: Any, as_json: bool, *arguments: Any, **more: Any) -> None:
    """Print a result: a `Card`, or whatever has `summary` and `to_json`.

    Args:
        result: what was found.
        as_json: whether to print JSON.
        arguments: of `summary` and `to_json`, such as a confidence.
        more: for programs, after what the result itself says, such as `warnings`.
    """
    card = result if isinstance(result, Card) else None
    if as_json:
        print_json({**(card.content if card else result.to_json(*arguments)), **more})
    elif card is None:
        click.echo(result.summary(*arguments))
    else:
        print_table(card.title, ["", ""], card.rows)
        for note in card.notes:
            click.echo(f"note: {note}")


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
        whole: no cell is broken or cut, even where lines become longer than the terminal is wide.
    """
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), show_header=any(columns), header_style="bold")
    for i, column in enumerate(columns):
        table.add_column(Text(column), no_wrap=whole or i == 0)  # names and flags stay whole
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
