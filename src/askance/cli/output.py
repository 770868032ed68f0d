"""How results are printed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import click


def print_json(content: Any) -> None:
    """One JSON document on standard output; no NaN, no infinity."""
    click.echo(json.dumps(content, ensure_ascii=False, allow_nan=False, indent=2))


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A plain table that fits the terminal; without column names when they are all empty."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=any(columns), header_style="bold")
    for i, column in enumerate(columns):
        table.add_column(Text(column), no_wrap=i == 0)  # names and flags stay whole
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console = Console(highlight=False)
    if title:
        console.print(Text(title, style="italic"))
    console.print(table)
    console.print()
