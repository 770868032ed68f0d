"""What a comparison yields: plain values that the store, and the reports, are made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median

from benchmarks.harness.comparison import Case, Comparison, Target


@dataclass(frozen=True)
class Row:
    """One contender in one case.

    Attributes:
        environment: where it ran; "askance" for ours, and for other uses of ours.
        values: one per repetition; units per CPU second, or the reading.
    """

    case: Case
    side: str
    environment: str
    is_ours: bool
    units_per_call: int
    calls: int
    values: tuple[float, ...]

    @property
    def value(self) -> float:
        """The median over repetitions."""
        return median(self.values)


@dataclass(frozen=True)
class Failure:
    """A contender that could not be measured."""

    side: str
    message: str


@dataclass(frozen=True)
class Origin:
    """Where and when figures were measured.

    Attributes:
        command: what reproduces them.
        commit: short hash; "unknown" outside of a clone.
        sources_clean: whether src/ was that of the commit; None where nobody knows.
    """

    command: str
    date: str
    machine: str
    commit: str
    sources_clean: bool | None


@dataclass
class Record:
    """Everything about one run of one comparison; `seconds` is how long it took, by the clock on the wall."""

    name: str
    unit: str
    repetitions: int
    origin: Origin
    seconds: float = 0.0
    target: Target | None = None
    rows: list[Row] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    versions: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def cases(self) -> list[Case]:
        """In the order in which they were measured."""
        found: list[Case] = []
        for row in self.rows:
            if row.case not in found:
                found.append(row.case)
        return found

    def rows_of(self, case: Case) -> list[Row]:
        """All contenders of a case, ours first."""
        return sorted((row for row in self.rows if row.case == case), key=lambda row: not row.is_ours)

    def gains(self, comparison: Comparison, row: Row) -> tuple[float, ...]:
        """How much better ours was, one per repetition: a ratio above 1, or a difference above 0, where it was.

        Empty for ours, and where ours was not measured.
        """
        ours = next((other for other in self.rows if other.is_ours and other.case == row.case), None)
        if row.is_ours or ours is None or len(ours.values) != len(row.values):
            return ()
        pairs = zip(ours.values, row.values, strict=True)
        if comparison.by_difference:
            return tuple(a - b if comparison.better == "more" else b - a for a, b in pairs)
        return tuple(a / b if comparison.better == "more" else b / a for a, b in pairs)

    def target_met(self, row: Row) -> bool | None:
        """Whether the median of ours reaches the target; None without one, or for others."""
        return self.target.met_by(row.value) if self.target is not None and row.is_ours else None
