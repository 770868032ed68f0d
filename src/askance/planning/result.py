"""A plan: the direct question as the yardstick, and every channel beside it."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from askance.planning.comparison import OtherArm
from askance.planning.counts import Counted
from askance.planning.hypothesis import Hypothesis
from askance.planning.subject import AnyDesign
from askance.tables import Table, Tabulated


@dataclass(frozen=True)
class PlannedDesign:
    """What one design needs or buys.

    Attributes:
        design: its name: the kind in the registry, and how it was tuned.
        parameters: what builds it there.
        privacy_level: the smallest valid level; infinite when there is no guarantee.
        unit_error: σ, the standard error times √n; averaged in variance where there are several guesses.
        n: respondents: needed for the goal, or as given.
        standard_error: σ/√n.
        interval_width: 2 z σ/√n.
        power: of the test, by the normal approximation; None without one.
        null_error: the standard error that the test compares the estimate with; None without one.
        price: σ² over that of the direct question: how many respondents do the work of one who is asked directly.
        rough: whether n is so small that the normal approximation cannot be trusted.
        method: the estimator that reaches it.
        worst_error: the standard error at the worst of the guesses.
        bias: how far from the target the estimate stays whatever n is: 0 but for regressions whose devices shrink or
            clip far-out values. Errors, intervals and power are about what the estimate tends to.
        tends_to: what that is; None where it is the target, or several numbers.
        channel: the channel itself; None for the direct question.
        counted: which numbers of yes reports reject, with the exact power and size; None where it takes more than
            their number, or there is no test.
    """

    design: str
    parameters: dict[str, Any]
    privacy_level: float
    unit_error: float
    n: int
    standard_error: float
    interval_width: float
    power: float | None
    null_error: float | None
    price: float
    rough: bool
    method: str
    worst_error: float
    bias: float = 0.0
    tends_to: float | None = None
    channel: AnyDesign | None = None
    counted: Counted | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain values; an infinite level is None."""
        plain = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "channel"}
        plain["counted"] = None if self.counted is None else dict(self.counted.__dict__)
        return {**plain, "privacy_level": None if math.isinf(self.privacy_level) else self.privacy_level}


def is_tuned(name: str) -> bool:
    """Whether designs of a name are made for the target: the optimum, and what is tuned.

    >>> is_tuned("optimal"), is_tuned("per-value, tuned"), is_tuned("per-value")
    (True, True, False)
    """
    return name == "optimal" or name.endswith(", tuned")


@dataclass(frozen=True)
class OtherShares:
    """What a design that is made for one number tells about the rest.

    Attributes:
        design: its name.
        standard_error: the largest of the shares of all outputs but the target.
    """

    design: str
    standard_error: float


def rank(design: PlannedDesign, unknown: str) -> tuple[float, float]:
    """What designs are sorted by: their error with its bias; or what was sought, those with a large bias last.

    Differences in the last digits do not count.
    """
    if unknown == "precision":
        return float(f"{math.hypot(design.standard_error, design.bias):.9g}"), 0.0
    biased = design.bias if design.bias > design.standard_error else 0.0
    sought = design.privacy_level if unknown == "privacy_level" else design.unit_error
    return biased, float(f"{sought:.9g}")


@dataclass(frozen=True)
class Plan(Tabulated):
    """A plan: the direct question as the yardstick, and every design beside it.

    Attributes:
        target: what is to be learned, in words.
        value: its value at the guess of θ (averaged over several); None where it is several numbers.
        unknown: what was solved for: "n", "precision" or "privacy_level".
        goal: what was asked for: "n", "standard_error", "interval_width" or "power".
        wanted: how much of it.
        method: the estimator that was asked for.
        confidence: of intervals.
        effect: how far the guess lies from the null value; None when no test is planned.
        guesses: at how many θ errors were predicted.
        direct: the direct question.
        designs: one entry per channel, in the order given; the best first where none were given.
        skipped: channels that do not fit or do not reach the goal, and why.
        others: where designs were made for one number of several, what the best of them tells about the rest.
        test: null value, alternative, level and rule; None when no test is planned.
        against: the other arm, where the target is a difference of shares.
    """

    target: str
    value: float | None
    unknown: str
    goal: str
    wanted: float
    method: str
    confidence: float
    effect: float | None
    guesses: int
    direct: PlannedDesign
    designs: tuple[PlannedDesign, ...]
    skipped: dict[str, str]
    others: OtherShares | None = None
    test: Hypothesis | None = None
    against: OtherArm | None = None

    @property
    def best(self) -> PlannedDesign:
        """The design of least error, respondents or privacy level, whichever was sought."""
        return min(self.designs, key=lambda design: rank(design, self.unknown))

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        rows = [design.to_json() for design in self.designs]
        others = None if self.others is None else dict(self.others.__dict__)
        told = {"direct": self.direct.to_json(), "designs": rows, "skipped": dict(self.skipped), "others": others}
        test = None if self.test is None else self.test.to_json()
        against = None if self.against is None else self.against.to_json()
        return {**self.__dict__, **told, "test": test, "against": against}

    def table(self) -> Table:
        """The direct question and every design, with all figures."""
        from askance.planning.plan_table import table_of

        return table_of(self)

    def summary(self) -> str:
        """A table for people."""
        from askance.planning.plan_table import as_text

        return as_text(self)

    def text(self, design: str | None = None) -> str:
        """A paragraph for a preregistration: of one design, by its name, or one for each."""
        from askance.planning.plan_text import paragraphs

        return paragraphs(self, design)

    def plot(self, path: str | Path) -> None:
        """Draw respondents against standard error, or the levels that were sought, into a PNG file."""
        from askance.planning.plan_plot import plot_plan

        plot_plan(self, Path(path))
