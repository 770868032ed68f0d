"""Results for people (a table on screen) and for machines (JSON)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.harness.comparison import Comparison, Target, case_label
from benchmarks.harness.results import Record, Row

# Of a table that goes into a file or a log, where no terminal says how wide it is.
_PIPED_WIDTH = 150


def quantity(value: float, unit: str) -> str:
    """A value as people read it: 12.3 M reports/s, 0.045 s."""
    for size, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g} {prefix} {unit}".rstrip()
    return f"{value:.3g} {unit}".rstrip()


def gain_text(gains: Sequence[float], *, by_difference: bool) -> str:
    """The median and, in brackets, the range: × 12.3 (11.8–12.9), or +0.12 (+0.11 to +0.13)."""
    low, middle, high = min(gains), median(gains), max(gains)
    if by_difference:
        return f"{_difference(middle)} ({_difference(low)} to {_difference(high)})"
    return f"× {_factor(middle)} ({_factor(low)}–{_factor(high)})"


def _factor(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _difference(value: float) -> str:
    return f"{value:+,.0f}" if abs(value) >= 100 else f"{value:+.3f}"


def wish(target: Target, unit: str) -> str:
    """A target in words."""
    return f"{'≥' if target.at_least else '≤'} {quantity(target.limit, unit)}"


def columns(comparison: Comparison) -> tuple[str, ...]:
    """Heads of the table of a comparison, with one line a contender and case."""
    return "case", "contender", "median (range)", f"{comparison.ours.name}: better by (range)", "target"


def cells(comparison: Comparison, record: Record, row: Row) -> list[str]:
    """One line of the table of a comparison."""
    gains, met = record.gains(comparison, row), record.target_met(row)
    gain = gain_text(gains, by_difference=comparison.by_difference) if gains else ""
    verdict = "" if met is None or record.target is None else wish(record.target, record.unit)
    verdict += "" if met is None else ": met" if met else ": MISSED"
    low, high = quantity(min(row.values), ""), quantity(max(row.values), "")
    value = f"{quantity(row.value, record.unit)} ({low} to {high})"
    return [case_label(row.case), row.side, value, gain, verdict]


def version_lines(record: Record) -> list[str]:
    """What ran in every environment."""
    return [
        f"{environment}: " + ", ".join(f"{package} {version}" for package, version in versions.items())
        for environment, versions in record.versions.items()
    ]


def as_json(comparisons: Mapping[str, Comparison], records: Sequence[Record]) -> str:
    """Everything, medians included."""
    content: list[dict[str, Any]] = []
    for record in records:
        entry = asdict(record)
        for row, line in zip(record.rows, entry["rows"], strict=True):
            gains = record.gains(comparisons[record.name], row)
            gain = median(gains) if gains else None
            line |= {"median": row.value, "median_gain": gain, "target_met": record.target_met(row)}
        content.append(entry)
    return json.dumps(content, indent=2, ensure_ascii=False)


def show(comparison: Comparison, record: Record) -> None:
    """The table of one comparison on standard output."""
    table = Table(*columns(comparison), title=record.name, title_justify="left")
    for case in record.cases:
        for row in record.rows_of(case):
            table.add_row(*cells(comparison, record, row), style="bold" if row.is_ours else None)
    console = Console()
    if not console.is_terminal:
        console.width = _PIPED_WIDTH
    console.print(table)
    for line in version_lines(record):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
