"""What can be said while answers come in, and what cannot: shares, coefficients, progress, and whether all is well.

Intervals hold at all looks at once (`share_sequence`, `coefficient_sequence`). The interval of a fixed n is another
statement, which holds if it was decided beforehand to look at that n alone: it is given once all planned reports are
there, and labelled so. Who has looked before and then takes the narrower of the two is misled in more than 6 % of
surveys instead of 5 %, unless part of α was kept for the end (`kept_for_end`).

Whoever looks again and again must not see what a single answer changed: what is told changes when a whole block of
reports is new (`BLOCK`), and is computed from the counts at the end of that block.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from askance._checks import number
from askance.channels.finite import FiniteChannel
from askance.collect.findings import Finding, Reported, arms_apart, by_way, counted, impossible, ways_apart
from askance.errors import InputError, NotIdentifiedError
from askance.estimation.entry import solve
from askance.estimation.results.fit import ProbabilityTable
from askance.estimation.results.regression_fit import RegressionFit
from askance.estimation.sequences.coefficient_sequence import coefficient_sequence
from askance.estimation.sequences.confidence_sequence import ConfidenceSequence
from askance.estimation.sequences.share_sequence import share_sequence
from askance.estimation.sequences.stakes import Stakes
from askance.evidence.pooled import pool
from askance.evidence.tally import Tally
from askance.models.enumerated import Enumerated
from askance.tables import Column, Table, Tabulated, as_json, interval_columns

#: What is told changes when so many reports are new.
BLOCK = 20


@dataclass(frozen=True, eq=False)
class LiveEstimates(Tabulated):
    """What is told at one look.

    Attributes:
        n: reports to each question.
        planned: reports that were planned.
        confidence: of intervals that hold at all looks, for each by itself.
        shares: of every question that has reports.
        coefficients: of every question with a regression.
        fixed: intervals of a fixed n, by question, where all planned reports are there: another statement.
        findings: what else is to be known.
        ways: of questions that were asked in several ways, what each of them tells by itself.
    """

    n: Mapping[str, int]
    planned: int
    confidence: float
    shares: Mapping[str, ConfidenceSequence]
    coefficients: Mapping[str, ConfidenceSequence] = field(default_factory=dict)
    fixed: Mapping[str, ProbabilityTable] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    ways: Mapping[str, Mapping[str, ConfidenceSequence]] = field(default_factory=dict)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What can be said now, and at the planned number of reports, in plain words."""
        return tuple(_sentence(question, at) for question, at in self.shares.items())

    def table(self) -> Table:
        """Every share and coefficient with its interval: of two answers the second alone."""
        parts = [(f"{question}: share of", at) for question, at in self.shares.items()]
        parts += [(f"{question}: coefficients", at) for question, at in self.coefficients.items()]
        columns = (
            Column("question", "heading"),
            Column("name"),
            Column("estimate", "number"),
            *interval_columns(self.confidence),
            Column(f"± at {self.planned:,}", "number", "expected_reach"),
        )
        rows = [(heading, *row) for heading, at in parts for row in _rows(at)]
        return Table(
            columns,
            rows,
            title=f"{min(self.n.values(), default=0):,} of {self.planned:,} planned reports",
            notes=[
                f"{100 * self.confidence:g} % intervals that hold at all looks at once",
                *(note for at in self.coefficients.values() for note in at.notes),
                *(_fixed_in_words(question, own) for question, own in self.fixed.items()),
                *(finding.text for finding in self.findings if not finding.alarm),
            ],
            alarms=[finding.text for finding in self.findings if finding.alarm],
        )

    def to_json(self) -> dict[str, Any]:
        """Plain values, by question."""
        questions = {
            name: {
                "n": n,
                "progress": n / self.planned,
                "shares": as_records(self.shares.get(name)),
                "ways": {way: {"n": at.n, "shares": as_records(at)} for way, at in self.ways.get(name, {}).items()},
                "coefficients": as_records(self.coefficients.get(name)),
                "notes": list(self.coefficients[name].notes) if name in self.coefficients else [],
                "if_n_was_fixed_beforehand": self.fixed[name].table().to_json() if name in self.fixed else None,
            }
            for name, n in self.n.items()
        }
        content: dict[str, Any] = as_json(
            {
                "planned": self.planned,
                "confidence": self.confidence,
                "questions": questions,
                "sentences": self.sentences,
                "findings": [vars(finding) for finding in self.findings],
            }
        )
        return content


def live_estimates(
    tallies: Mapping[str, Reported],
    planned: int,
    *,
    fits: Mapping[str, RegressionFit] | None = None,
    declined: Mapping[str, int] | None = None,
    duplicates: int = 0,
    conflicts: int = 0,
    first: int | None = None,
    confidence: float = 0.95,
    kept_for_end: float = 0.0,
) -> LiveEstimates:
    """What can be said of the reports so far.

    Args:
        tallies: by question, what its reports add up to; where it was asked in several ways, {way: tally}.
        planned: number of reports that were planned; it must not depend on answers.
        fits: regressions of some questions on open covariates, of the reports so far.
        declined: how many people gave no answer, by question.
        duplicates: how many entries came again, and were counted once.
        conflicts: how many came again with other content, and were refused.
        first: number of reports at the first look; default: a fiftieth of `planned`.
        confidence: of every interval, at all looks together.
        kept_for_end: the part of α that is kept for the interval of a fixed n at the end, from 0 (that interval then
            is a statement of its own) to below 1.

    >>> from askance import ForcedResponse, Tally
    >>> now = live_estimates({"cheated": Tally(ForcedResponse("2/3", "1/6"), [700, 300])}, 5000)
    >>> for part in now.sentences[0].split("; "):
    ...     print(part)
    cheated: 1,000 of 5,000 planned reports
    at this look and all others, the share of 'yes' is between 13.6 % and 26.8 % (95 % confidence)
    at 5,000 it will be known to about ± 3.1 points
    """
    number(kept_for_end, "kept_for_end", 0, 1 - 1e-9)
    alpha, stakes = 1 - confidence, Stakes(planned, first, confidence)
    while_looking = 1 - alpha * (1 - kept_for_end)
    options: dict[str, Any] = {"first": stakes.first, "confidence": while_looking}
    shares, fixed, found = dict[str, ConfidenceSequence](), dict[str, ProbabilityTable](), list[Finding]()
    ways = dict[str, dict[str, ConfidenceSequence]]()
    wholes = {question: _whole(tally) for question, tally in tallies.items()}
    for question, tally in wholes.items():
        if not tally.n_observations:
            continue
        try:
            shares[question] = share_sequence(tallies[question], planned, **options)
        except (InputError, NotIdentifiedError) as error:
            found.append(Finding(question, "not told", False, f"{question}: {error.message}"))
            continue
        found += impossible(question, tally, shares[question])
        if told := by_way(tallies[question], planned, options):
            ways[question] = told
            found += ways_apart(question, told)
        if tally.n_observations >= planned and isinstance(tally.channel, FiniteChannel):
            fixed[question] = _at_the_end(tally, 1 - alpha * (kept_for_end or 1.0))
    coefficients = dict[str, ConfidenceSequence]()
    for question, fit in (fits or {}).items():
        coefficients[question] = coefficient_sequence(fit, planned, **options)
        found += arms_apart(question, fit, coefficients[question])
    n = {question: tally.n_observations for question, tally in wholes.items()}
    found += counted(n, declined or {}, duplicates, conflicts)
    return LiveEstimates(n, planned, while_looking, shares, coefficients, fixed, tuple(found), ways)


# -- estimates ---------------------------------------------------------------------------------------------------------


def _whole(reported: Reported) -> Tally[Any]:
    """All reports to a question, whatever way it was asked in."""
    if isinstance(reported, Tally):
        return reported
    with_reports = [tally for tally in reported.values() if tally.n_observations]
    return pool(with_reports) if len(with_reports) > 1 else (with_reports or list(reported.values()))[0]


def _at_the_end(tally: Tally[Any], confidence: float) -> ProbabilityTable:
    """Intervals of a fixed n; what estimation would warn of is among the findings."""
    fit, _ = solve(Enumerated.saturated(tally.channel.outputs), tally)
    table: ProbabilityTable = fit.probabilities(confidence)
    return table


def _rows(at: ConfidenceSequence) -> Iterator[tuple[Any, ...]]:
    """Name, estimate, lower and upper end, and what is expected: of two answers the second alone."""
    figures = (at.estimate, at.lower, at.upper, at.expected_reach)
    rows = list(zip(at.names, *(values.tolist() for values in figures), strict=True))
    yield from rows[1:] if at.are_answers and len(rows) == 2 else rows


def as_records(at: ConfidenceSequence | None) -> list[dict[str, Any]]:
    """Every name with its estimate and its interval, for programs."""
    if at is None:
        return []
    names = ("name", "estimate", "std_error", "lower", "upper", "expected_reach")
    figures = (at.estimate, at.standard_error, at.lower, at.upper, at.expected_reach)
    return [
        dict(zip(names, row, strict=True)) for row in zip(at.names, *(own.tolist() for own in figures), strict=True)
    ]


def _sentence(question: str, at: ConfidenceSequence) -> str:
    ends = [
        f"the share of {name!r} is between {100 * lower:.1f} % and {100 * upper:.1f} %"
        for name, _, lower, upper, _ in _rows(at)
    ]
    more = f"; at {at.planned:,} it will be known to about ± {100 * float(at.expected_reach.max()):.2g} points"
    return (
        f"{question}: {at.n:,} of {at.planned:,} planned reports; at this look and all others, {', '.join(ends)} "
        f"({100 * at.confidence:g} % confidence){more if at.n < at.planned else ''}"
    )


def _fixed_in_words(question: str, own: ProbabilityTable) -> str:
    ends = [
        f"{label!r} {100 * lower:.1f} % to {100 * upper:.1f} %"
        for label, lower, upper in zip(own.labels, own.lower.tolist(), own.upper.tolist(), strict=True)
    ]
    return (
        f"{question}, another statement, valid only if it was decided beforehand to stop at this n "
        f"({100 * own.confidence:g} %): {', '.join(ends[1:] if len(ends) == 2 else ends)}"
    )
