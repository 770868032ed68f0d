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
    """A table that fits the terminal."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title or None, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console(highlight=False).print(table)
