"""What is said at one look, in a way that holds at all looks at once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from askance._arrays import FloatArray
from askance.estimation.results.results import Result
from askance.estimation.sequences.stakes import Stakes
from askance.tables import Column, Kind, Table, Tabulated, interval_columns


@dataclass(frozen=True, eq=False)
class ConfidenceSequence(Result, Tabulated):
    """Intervals at one look, of a kind that holds at all looks at once; arrays of shape (d,).

    Attributes:
        of: what is estimated, "share" or "coefficient".
        names: of answers or of parameters.
        estimate: of each.
        standard_error: of the estimate, at this n.
        lower: lower ends; NaN where it is too early to tell.
        upper: upper ends.
        n: reports so far.
        planned: number of reports at which intervals are meant to be narrow.
        first: at the first look.
        confidence: that an interval holds at all looks, of every name by itself.
        notes: what a reader should know.
        alarms: what a reader must know first.
        are_answers: whether everybody has exactly one of the names, so that of two the other share follows.
    """

    of: Literal["share", "coefficient"]
    names: tuple[Any, ...]
    estimate: FloatArray
    standard_error: FloatArray
    lower: FloatArray
    upper: FloatArray
    n: int
    planned: int
    first: int
    confidence: float
    notes: tuple[str, ...] = ()
    alarms: tuple[str, ...] = ()
    are_answers: bool = False

    @property
    def expected_reach(self) -> FloatArray:
        """How far intervals will reach on either side at the planned n, if estimates stay what they are, shape (d,)."""
        reach = Stakes(self.planned, self.first, self.confidence).reach(self.planned)
        return reach * self.standard_error * math.sqrt(self.n / self.planned)

    def table(self) -> Table:
        """Every estimate with its interval."""
        kind: Kind = "decimal" if self.of == "share" else "number"
        named = Column("answer" if self.of == "share" else "parameter")
        figures = (self.estimate, self.lower, self.upper)
        return Table(
            (named, Column(self.of, kind, "estimate"), *interval_columns(self.confidence, kind)),
            list(zip(self.names, *(values.tolist() for values in figures), strict=True)),
            title=f"{self.n:,} of {self.planned:,} planned reports",
            notes=[f"{100 * self.confidence:g} % intervals that hold at all looks at once", *self.notes],
            alarms=self.alarms,
            most_rows=max(len(self.names), 1),
        )
