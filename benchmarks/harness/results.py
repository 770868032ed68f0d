"""What a run yields: plain values that the reports, and JSON, are made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median

from benchmarks.harness.comparison import Case, Target


@dataclass(frozen=True)
class Row:
    """One contender in one case.

    Attributes:
        values: one per repetition; units per CPU second, or the reading.
        ratios: ours ÷ theirs, one per repetition; empty for ours.
    """

    comparison: str
    case: Case
    side: str
    is_ours: bool
    unit: str
    units_per_call: int
    calls: int
    values: tuple[float, ...]
    ratios: tuple[float, ...] = ()
    target: Target | None = None

    @property
    def value(self) -> float:
        """The median over repetitions."""
        return median(self.values)

    @property
    def ratio(self) -> float | None:
        """The median of ours ÷ theirs over repetitions."""
        return median(self.ratios) if self.ratios else None

    @property
    def target_met(self) -> bool | None:
        """Whether the median reaches the target; None without one."""
        return None if self.target is None else self.target.met_by(self.value)


@dataclass(frozen=True)
class Failure:
    """A contender that could not be measured."""

    comparison: str
    side: str
    message: str


@dataclass
class Results:
    """Everything a report says."""

    command: str
    date: str
    machine: str
    repetitions: int
    rows: list[Row] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    versions: dict[str, dict[str, str]] = field(default_factory=dict)
