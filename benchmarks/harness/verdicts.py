"""Who wins: one line for every question and peer, and everything that askance loses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.harness.alternate import OURS
from benchmarks.harness.comparison import Case, Comparison, case_label
from benchmarks.harness.report import gain_text, quantity, wish
from benchmarks.harness.results import Record, Row


@dataclass(frozen=True)
class _Duel:
    """Ours against one use of a peer in one case: how much better ours was, one figure per repetition."""

    row: Row
    gains: tuple[float, ...]
    neutral: float

    @property
    def outcome(self) -> str:
        if min(self.gains) > self.neutral:
            return "ahead"
        return "behind" if max(self.gains) < self.neutral else "even"


def _duels(comparison: Comparison, record: Record, case: Case) -> list[_Duel]:
    neutral = 0.0 if comparison.by_difference else 1.0
    found = ((row, record.gains(comparison, row)) for row in record.rows_of(case))
    return [_Duel(row, gains, neutral) for row, gains in found if gains]


def summary_lines(comparison: Comparison, record: Record) -> list[list[str]]:
    """Cells of one line for every peer, for other uses of ours, and for the target."""
    duels = {case_label(case): _duels(comparison, record, case) for case in record.cases}
    every = [duel for found in duels.values() for duel in found]
    lines: list[list[str]] = []
    for peer in dict.fromkeys(_peer(comparison, record, duel.row) for duel in every if duel.row.environment != OURS):
        best = {}
        for label, found in duels.items():
            theirs = [duel for duel in found if _peer(comparison, record, duel.row) == peer]
            if theirs:
                best[label] = min(theirs, key=lambda duel: median(duel.gains))
        lines.append([peer, _overall(best.values(), comparison), _outcomes(best)])
    if not lines:
        for side in dict.fromkeys(duel.row.side for duel in every):
            overall = _overall((duel for duel in every if duel.row.side == side), comparison)
            lines.append([f"{side} (askance itself)", f"{comparison.ours.name}: {overall}", ""])
    if record.target is not None:
        lines.append(["own target", _medians(record), _target_verdict(record)])
    lines += [[failure.side, "", f"**not measured**: {failure.message}"] for failure in record.failures]
    if not lines:
        lines.append(["", _medians(record), ""])
    first = f"{comparison.question} ([{comparison.name}](#{comparison.name}))"
    return [[first if number == 0 else "″", *line] for number, line in enumerate(lines)]


def defeats(comparison: Comparison, record: Record) -> list[str]:
    """A sentence for every case in which a peer's median, or our target, is not reached."""
    found = []
    link = f"[{comparison.name}](#{comparison.name})"
    for case in record.cases:
        for duel in _duels(comparison, record, case):
            if duel.row.environment != OURS and median(duel.gains) < duel.neutral:
                gain = gain_text(duel.gains, by_difference=comparison.by_difference)
                note = ", even" if duel.outcome == "even" else ""
                found.append(f"- {link}, {case_label(case)}: {duel.row.side}, {gain}{note}")
        for row in record.rows_of(case):
            if record.target is not None and record.target_met(row) is False:
                value = quantity(row.value, record.unit)
                found.append(f"- {link}, {case_label(case)}: {value}, wanted {wish(record.target, record.unit)}")
    return found


def _peer(comparison: Comparison, record: Record, row: Row) -> str:
    """The package that gave the environment its purpose, with its version; the interpreter comes before it.

    Uses of one peer that differ in how good they are, not in how fast, are told apart.
    """
    versions = record.versions.get(row.environment, {})
    named = [f"{package} {version}" for package, version in versions.items() if package != "python"]
    name = named[0] if named else row.environment
    return f"{name} ({row.side})" if comparison.by_difference else name


def _overall(duels: Iterable[_Duel], comparison: Comparison) -> str:
    """The median over cases of the medians, and the range of everything."""
    found = list(duels)
    low, high = min(min(duel.gains) for duel in found), max(max(duel.gains) for duel in found)
    middle = median(median(duel.gains) for duel in found)
    return gain_text((low, middle, high), by_difference=comparison.by_difference)


def _outcomes(best: dict[str, _Duel]) -> str:
    by_outcome = {
        name: [label for label, duel in best.items() if duel.outcome == name] for name in ("ahead", "even", "behind")
    }
    if len(by_outcome["ahead"]) == len(best):
        return "ahead" if len(best) == 1 else f"ahead in all {len(best)} cases"
    return "; ".join(
        f"{'**behind**' if name == 'behind' else name}{_where(labels, len(best), name)}"
        for name, labels in by_outcome.items()
        if labels
    )


def _where(labels: Sequence[str], cases: int, name: str) -> str:
    if len(labels) == cases:
        return "" if cases == 1 else f" in all {cases} cases"
    return f" in {len(labels)} of {cases} cases" + ("" if name == "ahead" else f" ({'; '.join(labels)})")


def _medians(record: Record) -> str:
    """The range of our medians over cases."""
    ours = [row.value for row in record.rows if row.is_ours]
    if not ours:
        return ""
    low, high = quantity(min(ours), record.unit), quantity(max(ours), record.unit)
    return low if low == high else f"{low} to {high}"


def _target_verdict(record: Record) -> str:
    assert record.target is not None
    ours = [row for row in record.rows if row.is_ours]
    missed = [case_label(row.case) for row in ours if not record.target_met(row)]
    text = f"{wish(record.target, record.unit)}: "
    if not ours:
        return text + "not measured"
    return text + (f"**missed** in {len(missed)} of {len(ours)} cases ({'; '.join(missed)})" if missed else "met")
