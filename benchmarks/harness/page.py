"""RESULTS.md: every stored result for readers; the questions first, the tables they are answered from after them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from benchmarks.harness.comparison import Comparison, Subject
from benchmarks.harness.report import cells, columns, version_lines
from benchmarks.harness.results import Origin, Record
from benchmarks.harness.verdicts import defeats, summary_lines

_HEAD = """\
# Results

<!-- --8<-- [start:body] -->
Written by `python -m benchmarks`, from the files in `benchmarks/results/`; an edit by hand is lost with the next run.
How it is measured, and what was left out to keep a run short: `benchmarks/README.md`.

- **× 3** means that askance is three times as good as the other (three times as fast, a third of the seconds); below
  1, askance is worse. Brackets hold the lowest and the highest repetition. Where a ratio says nothing, as for an R², it
  is the difference, ours − theirs. Where askance is compared with itself, the use that the figure is for is named.
- "ahead": better in every repetition; "behind": worse in every repetition; "even": repetitions disagree.
- Of several uses of one peer, the summary takes the one that is best for the peer, case by case.
- The machine is shared: other programs ran on it at the same time. CPU time is measured, and contenders alternate, so
  that both feel the same weather; that lessens the disturbance and does not remove it. Other
  machines, and the same one on another day, may differ by tens of percent.
"""
# The documentation shows what is between this mark and the one above.
_END = "<!-- --8<-- [end:body] -->"
_SUMMARY = ("question", "peer", "askance is better by (range), or its value", "verdict")


def render(comparisons: Mapping[str, Comparison], records: Mapping[str, Record], more: Sequence[str] = ()) -> str:
    """The whole page, from comparisons and stored records by name; lines of more sections come last."""
    ordered = [c for subject in Subject for c in comparisons.values() if c.subject is subject]
    measured = [(comparison, records[comparison.name]) for comparison in ordered if comparison.name in records]
    lines = [_HEAD, "## Summary", "", *table(_SUMMARY, (line for pair in measured for line in summary_lines(*pair)))]
    lines += ["", "## Where askance is behind, or misses its own target", ""]
    lines += [line for pair in measured for line in defeats(*pair)] or ["Nowhere in what was measured."]
    missing = [
        f"- {comparison.question} (`{comparison.name}`)" for comparison in ordered if comparison.name not in records
    ]
    if missing:
        lines += ["", "## Not measured yet", "", *missing]
    for subject in Subject:
        parts = [part for pair in measured if pair[0].subject is subject for part in _details(*pair)]
        lines += ["", f"## {subject}", *parts] if parts else []
    return "\n".join([*lines, *more, "", _END]) + "\n"


def _details(comparison: Comparison, record: Record) -> list[str]:
    rows = [cells(comparison, record, row) for case in record.cases for row in record.rows_of(case)]
    heads = columns(comparison)
    used = [number for number in range(len(heads)) if any(row[number] for row in rows)]
    return [
        "",
        f"### {comparison.name}",
        "",
        comparison.question,
        "",
        *table([heads[number] for number in used], ([row[number] for number in used] for row in rows)),
        "",
        *(f"- **not measured**: {failure.side}: {failure.message}" for failure in record.failures),
        f"- `{record.origin.command}`, {record.repetitions} repetitions in {duration(record.seconds)}",
        f"- {where(record.origin)}",
        *(f"- {line}" for line in version_lines(record)),
    ]


def duration(seconds: float) -> str:
    """In seconds, or minutes where there are two or more."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def where(origin: Origin) -> str:
    """Date, commit and machine of figures."""
    state = {True: "", False: " with changes in src/", None: ""}[origin.sources_clean]
    return f"{origin.date}, commit {origin.commit}{state}; {origin.machine}"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a table in Markdown."""
    return [_line(columns), _line(["---"] * len(columns)), *(_line(row) for row in rows)]


def _line(row: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
