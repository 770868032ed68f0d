"""Results for people (a table on screen, Markdown) and for machines (JSON)."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.harness.comparison import Target, case_label
from benchmarks.harness.results import Results, Row

_COLUMNS = ("comparison", "case", "contender", "median (range)", "ours ÷ theirs (range)", "target")
# Of a table that goes into a file or a log, where no terminal says how wide it is.
_PIPED_WIDTH = 150


def quantity(value: float, unit: str) -> str:
    """A value as people read it: 12.3 M reports/s, 0.045 s."""
    for size, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g} {prefix} {unit}".rstrip()
    return f"{value:.3g} {unit}".rstrip()


def as_json(results: Results) -> str:
    """Everything, medians included."""
    content: dict[str, Any] = asdict(results)
    for row, entry in zip(results.rows, content["rows"], strict=True):
        entry |= {"median": row.value, "median_ratio": row.ratio, "target_met": row.target_met}
    return json.dumps(content, indent=2)


def show(results: Results) -> None:
    """A table on standard output."""
    table = Table(*_COLUMNS)
    for row in results.rows:
        table.add_row(*_cells(row), style="bold" if row.is_ours else None)
    console = Console()
    if not console.is_terminal:
        console.width = _PIPED_WIDTH
    console.print(table)
    for line in _versions(results):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def as_markdown(results: Results) -> str:
    """The same table with the command, the date, the machine and the versions."""
    lines = [
        "# Benchmarks",
        "",
        f"`{results.command}`, {results.date}; {results.machine}.",
        f"Medians of {results.repetitions} alternating repetitions, CPU time, one thread. A ratio is the median of the "
        "repetitions' ratios, its range in brackets.",
        "",
        _markdown_line(_COLUMNS),
        _markdown_line(["---"] * len(_COLUMNS)),
        *(_markdown_line(_cells(row)) for row in results.rows),
        "",
        *(f"- {line}" for line in _versions(results)),
        *(f"- not measured: {f.comparison}, {f.side}: {f.message}" for f in results.failures),
    ]
    return "\n".join(lines) + "\n"


def _cells(row: Row) -> list[str]:
    ratio = "" if row.ratio is None else f"{row.ratio:.3g} ({min(row.ratios):.3g}–{max(row.ratios):.3g})"
    verdict = "" if row.target is None else f"{_wish(row.target, row.unit)}: {'met' if row.target_met else 'MISSED'}"
    low, high = quantity(min(row.values), ""), quantity(max(row.values), "")
    value = f"{quantity(row.value, row.unit)} ({low}–{high})"
    return [row.comparison, case_label(row.case), row.side, value, ratio, verdict]


def _wish(target: Target, unit: str) -> str:
    return f"{'≥' if target.at_least else '≤'} {quantity(target.limit, unit)}"


def _versions(results: Results) -> list[str]:
    return [
        f"{environment}: " + ", ".join(f"{package} {version}" for package, version in versions.items())
        for environment, versions in results.versions.items()
    ]


def _markdown_line(cells: list[str] | tuple[str, ...]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
