"""Every row of docs/notation.md leads to something that exists."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import NamedTuple

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "notation.md"


class Row(NamedTuple):
    symbol: str
    word: str
    paths: list[str]


def rows_of(page: str) -> list[Row]:
    """The rows of all tables with three columns, without headings; `\\|` is a bar inside a cell."""
    rows = []
    for line in page.splitlines():
        if not line.startswith("|"):
            continue
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if cells[0] == "Symbol" or set("".join(cells)) <= set("-: "):
            continue
        assert len(cells) == 3, f"{line!r} has {len(cells)} cells"
        rows.append(Row(cells[0], cells[1], re.findall(r"`([\w.]+)`", cells[2])))
    return rows


def resolve(path: str) -> object:
    """The attribute at a dotted path: the longest importable module, then attribute by attribute.

    A field of a dataclass counts although the class has no such attribute when it has no default.
    """
    parts = path.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for name in parts[length:]:
            fields = getattr(found, "__dataclass_fields__", {})
            found = fields[name] if name in fields else getattr(found, name)
        return found
    raise ModuleNotFoundError(path)


ROWS = rows_of(PAGE.read_text(encoding="utf-8"))


def test_the_dictionary_is_not_empty() -> None:
    assert len(ROWS) >= 20


def test_every_symbol_has_one_row() -> None:
    symbols = [row.symbol for row in ROWS]
    assert len(set(symbols)) == len(symbols)


@pytest.mark.parametrize("row", ROWS, ids=[row.symbol for row in ROWS])
def test_every_row_leads_to_an_attribute(row: Row) -> None:
    assert row.symbol
    assert row.word
    assert row.paths, "no path in backticks"
    for path in row.paths:
        assert path.startswith("askance.")
        resolve(path)


@pytest.mark.parametrize(
    "path", ["askance.channels.RandomizedResponse.epsilon", "askance.no_such_module.thing", "askance.estimation.Fit.mu"]
)
def test_a_path_that_leads_nowhere_is_noticed(path: str) -> None:
    with pytest.raises((AttributeError, ModuleNotFoundError)):
        resolve(path)


def test_a_row_is_read_with_its_bars_and_all_its_paths() -> None:
    page = "| Symbol | Word | In the code |\n|---|---|---|\n| S(o \\| y) | channel | `askance.a`, `askance.b.c` |\n"
    assert rows_of(page) == [Row("S(o \\| y)", "channel", ["askance.a", "askance.b.c"])]
