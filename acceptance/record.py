"""What a check found, stored beside the goals: one JSON file a check, and a page of all of them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.harness.page import duration, table, where
from benchmarks.harness.results import Origin

from acceptance.check import Figure
from askance.formats.disk import write_whole

#: The folder of this package, with results/ and RESULTS.md.
HOME = Path(__file__).resolve().parent
_FORMAT = "askance acceptance 1"

_HEAD = """\
# What was asked, and what was measured

<!-- --8<-- [start:body] -->
Written by `python -m acceptance --store` from the files in `acceptance/results/`; an edit by hand is lost with the next
run. Every figure stands beside the range that was asked for before it was measured. Commands give the same figures
again, on any engine; those of real data need `ASKANCE_DATA`, their folder.
"""
# The documentation shows what is between this mark and the one above.
_END = "<!-- --8<-- [end:body] -->"


@dataclass(frozen=True)
class Record:
    """One run of one check; `seconds` by the clock on the wall, on the engine that was at hand."""

    name: str
    origin: Origin
    seconds: float
    figures: tuple[Figure, ...]

    def save(self, folder: Path = HOME) -> None:
        """Write it in place of an older one of the same check."""
        results = folder / "results"
        results.mkdir(parents=True, exist_ok=True)
        content = {"format": _FORMAT, **asdict(self), "figures": [told(figure) for figure in self.figures]}
        text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        write_whole(results / f"{self.name}.json", text.encode())


def told(figure: Figure) -> dict[str, Any]:
    """A figure as JSON has it: numbers without an end are words."""
    values = {**asdict(figure), "met": figure.met, "false_alarm": figure.false_alarm}
    return {name: str(value) if _is_endless(value) else value for name, value in values.items()}


def stored(folder: Path = HOME) -> dict[str, Record]:
    """Every stored record by name."""
    return {path.stem: _read(path) for path in sorted((folder / "results").glob("*.json"))}


def render(names: Iterable[str], folder: Path = HOME) -> None:
    """Write RESULTS.md from what is stored of these checks, in their order."""
    write_whole(folder / "RESULTS.md", page(names, stored(folder)).encode())


def page(names: Iterable[str], records: dict[str, Record]) -> str:
    """The whole page; what was missed is said first."""
    wanted = list(names)
    there = [records[name] for name in wanted if name in records]
    figures = [figure for record in there for figure in record.figures]
    missed = [figure for figure in figures if not figure.met]
    lines = [_HEAD, f"{len(figures) - len(missed)} of {len(figures)} figures are in their range. {alarms(figures)}", ""]
    lines += [
        f"- **missed**: {figure.check}, {figure.case}: {value(figure)}, asked {asked(figure)}" for figure in missed
    ]
    lines += [f"- not measured: {name}" for name in wanted if name not in records]
    for record in there:
        rows = [(one.case, value(one), asked(one), "" if one.met else "**missed**", one.note) for one in record.figures]
        lines += ["", f"## {record.name}", "", *table(("case", "measured", "asked", "", "note"), rows), ""]
        lines += [f"- `{record.origin.command}`, {duration(record.seconds)}", f"- {where(record.origin)}"]
    return "\n".join([*lines, "", _END]) + "\n"


def value(figure: Figure) -> str:
    """The number, with the digits that are told apart."""
    return f"{figure.value:.4g}"


def asked(figure: Figure) -> str:
    """The range in words."""
    if math.isinf(figure.low) and math.isinf(figure.high):
        return "–"
    if math.isinf(figure.low):
        return f"≤ {figure.high:g}"
    if math.isinf(figure.high):
        return f"≥ {figure.low:g}"
    return f"{figure.low:g} to {figure.high:g}"


def alarms(figures: Iterable[Figure]) -> str:
    """How likely one of the shares of intervals leaves its range by chance."""
    chances = [figure.false_alarm for figure in figures if figure.false_alarm is not None]
    if not chances:
        return ""
    return (
        f"Were all intervals right 95 % of the time, one of {len(chances)} shares of intervals would leave its range "
        f"by chance with probability {min(sum(chances), 1.0):.2g} at most (binomial, their sum)."
    )


def _is_endless(value: object) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def _read(path: Path) -> Record:
    content = json.loads(path.read_text(encoding="utf-8"))
    if content.pop("format") != _FORMAT:
        raise SystemExit(f"{path} is no record of a check. Measure it again: python -m acceptance --store --only NAME")
    figures = tuple(_figure(one) for one in content.pop("figures"))
    return Record(**content | {"origin": Origin(**content["origin"]), "figures": figures})


def _figure(one: dict[str, Any]) -> Figure:
    value, low, high = (float(one[name]) for name in ("value", "low", "high"))
    return Figure(one["check"], one["case"], value, low, high, one["note"], one["surveys"])
