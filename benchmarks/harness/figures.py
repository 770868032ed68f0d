"""Figures of programs that start servers, browsers and clusters of their own: shown, and stored with the rest."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

from askance.formats.disk import write_whole
from benchmarks.harness.origin import origin_of
from benchmarks.harness.page import duration, table, where
from benchmarks.harness.results import Origin

#: By the names of columns; rows may have different ones.
Row: TypeAlias = Mapping[str, str | float]
_FORMAT = "askance figures 1"
_SILENT = ("--store", "--json")


@dataclass(frozen=True)
class Figures:
    """What one program measured; `seconds` is how long it took, by the clock on the wall."""

    name: str
    question: str
    origin: Origin
    seconds: float
    rows: Sequence[Row]

    def markdown(self) -> list[str]:
        """The part of RESULTS.md."""
        columns = list(dict.fromkeys(name for row in self.rows for name in row))
        rows = [[_cell(row.get(name, "")) for name in columns] for row in self.rows]
        told = [f"- `{self.origin.command}`, {duration(self.seconds)}", f"- {where(self.origin)}"]
        return ["", f"### {self.name}", "", self.question, "", *table(columns, rows), "", *told]


def add_options(parser: argparse.ArgumentParser) -> None:
    """How figures are shown, and whether they are kept."""
    parser.add_argument("--store", action="store_true", help="keep the figures: benchmarks/results, RESULTS.md")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def tell(name: str, question: str, rows: Sequence[Row], seconds: float, chosen: argparse.Namespace) -> None:
    """Print the rows; store them where that was asked for, and render the page anew."""
    used = " ".join(argument for argument in sys.argv[1:] if argument not in _SILENT)
    figures = Figures(name, question, origin_of(f"python -m benchmarks.{name} {used}".rstrip()), seconds, rows)
    print(json.dumps(rows, indent=2, ensure_ascii=False) if chosen.json else "\n".join(figures.markdown()))
    if chosen.store:
        from benchmarks.comparisons import discover
        from benchmarks.harness.session import Session

        session = Session(discover())
        keep(figures, session.folder)
        session.render()


def keep(figures: Figures, folder: Path) -> None:
    """Write them in place of older ones of the same program."""
    text = json.dumps({"format": _FORMAT, **asdict(figures)}, indent=1, ensure_ascii=False) + "\n"
    path = _folder(folder) / f"{figures.name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text.encode())


def kept(folder: Path) -> list[Figures]:
    """What is stored, by the names of programs."""
    return [_read(path) for path in sorted(_folder(folder).glob("*.json"))]


def section(stored: Iterable[Figures]) -> list[str]:
    """Of RESULTS.md."""
    parts = [line for figures in stored for line in figures.markdown()]
    return ["", "## Servers, pages, clusters and R", *parts] if parts else []


def flat(name: str, figure: Any) -> list[dict[str, Any]]:
    """Rows of a figure by the name of what was done: one for each of its parts that has parts itself."""
    if not isinstance(figure, Mapping):
        return [{"what": name, "value": _plain(figure)}]
    plain = {key: _plain(value) for key, value in figure.items() if not isinstance(value, Mapping)}
    inner = {key: value for key, value in figure.items() if isinstance(value, Mapping)}
    sides = [{"what": name, "side": side} | {key: _plain(own[key]) for key in own} for side, own in inner.items()]
    return ([{"what": name, **plain}] if plain else []) + sides


def _plain(value: Any) -> str | float:
    """Of several values a text."""
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return value if isinstance(value, int | float) else str(value)


def _cell(value: str | float) -> str:
    if isinstance(value, str | bool):
        return str(value)
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _folder(folder: Path) -> Path:
    return folder / "results" / "programs"


def _read(path: Path) -> Figures:
    content = json.loads(path.read_text(encoding="utf-8"))
    if content.pop("format") != _FORMAT:
        raise SystemExit(f"{path} holds no figures of such a program. Measure again with --store.")
    return Figures(**content | {"origin": Origin(**content["origin"])})
