"""Whether all is well with what comes in: reports that are impossible, ways of asking that disagree, who declines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from askance._checks import as_count
from askance.errors import InputError, NotIdentifiedError
from askance.estimation.checks.surprise import alarms_of
from askance.estimation.results.regression_fit import RegressionFit
from askance.estimation.sequences.confidence_sequence import ConfidenceSequence
from askance.estimation.sequences.share_sequence import share_sequence
from askance.estimation.sequences.stakes import Stakes
from askance.evidence.tally import Tally
from askance.survey.arm_agreement import arm_agreement

#: The reports to a question: their tally, or one for every way of asking.
Reported: TypeAlias = Tally[Any] | Mapping[str, Tally[Any]]


@dataclass(frozen=True)
class Finding:
    """Something to know of the reports to a question, beside what they say.

    Attributes:
        question: which; "" for all.
        kind: what it is about.
        alarm: whether estimates are not to be trusted until it is explained.
        text: in words.
    """

    question: str
    kind: Literal["impossible", "arms", "declined", "duplicates", "conflicts", "not told"]
    alarm: bool
    text: str


def impossible(question: str, tally: Tally[Any], at: ConfidenceSequence) -> list[Finding]:
    """Reports that did not come through the channel: by the bound of one look, at one in a million, or of all.

    What is less sure than that, and leaves no share at the confidence of the intervals, is no alarm yet.
    """
    alarms = [notice.text for notice in alarms_of(tally)] or list(at.alarms)
    texts = alarms or list(at.notes)
    return [Finding(question, "impossible", bool(alarms), f"{question}: {text}") for text in texts]


def by_way(reported: Reported, planned: int, options: Mapping[str, Any]) -> dict[str, ConfidenceSequence]:
    """What each of several ways of asking tells by itself, all of them together at the confidence of one."""
    ways = {} if isinstance(reported, Tally) else {way: own for way, own in reported.items() if own.n_observations}
    each = {**options, "confidence": 1 - (1 - options["confidence"]) / max(len(ways), 1)}
    return {way: share_sequence(own, planned, **each) for way, own in ways.items() if len(ways) > 1}


def ways_apart(question: str, told: Mapping[str, ConfidenceSequence]) -> list[Finding]:
    """Ways of asking whose intervals, at all looks together, have nothing in common."""
    if not told:
        return []
    lowest = np.array([at.lower for at in told.values()])
    highest = np.array([at.upper for at in told.values()])
    gaps = lowest.max(axis=0) - highest.min(axis=0)
    worst = int(np.flatnonzero(gaps > gaps.max() - 1e-9)[-1])  # of no and yes, which are equally far apart, yes
    if gaps[worst] <= 0:
        return []
    few, many = list(told)[int(np.argmin(highest[:, worst]))], list(told)[int(np.argmax(lowest[:, worst]))]
    return [
        Finding(
            question,
            "arms",
            True,
            f"{question}: {few} and {many} do not tell the same: {few} has at most "
            f"{100 * highest[:, worst].min():.1f} % of {told[few].names[worst]!r}, {many} at least "
            f"{100 * lowest[:, worst].max():.1f} %",
        )
    ]


def arms_apart(question: str, fit: RegressionFit, at: ConfidenceSequence) -> list[Finding]:
    """Arms of a regression whose shares, given covariates, differ by more than looking explains."""
    if fit.evidence is None or len({chunk.arm for chunk in fit.evidence.chunks}) < 2 or np.isnan(at.lower).any():
        return []
    try:
        told = arm_agreement(fit)
    except (InputError, NotIdentifiedError) as error:
        return [Finding(question, "arms", False, f"{question}: {error.message}")]
    reach = Stakes(at.planned, at.first, at.confidence).reach(at.n)
    far = np.nan_to_num(np.abs(told.difference) / told.difference_error)
    if far.max() <= reach:
        return []
    arm, answer = np.unravel_index(int(np.argmax(far)), far.shape)
    return [
        Finding(
            question,
            "arms",
            True,
            f"{question}: {told.arms[arm]} and {told.arms[0]} do not tell the same: the share of "
            f"{told.outputs[answer]!r} differs by {100 * told.difference[arm, answer]:+.1f} points, "
            f"{far.max():.1f} standard errors; looking explains {reach:.1f}",
        )
    ]


def counted(n: Mapping[str, int], declined: Mapping[str, int], duplicates: int, conflicts: int) -> Iterator[Finding]:
    """Who gave no answer, and what came twice."""
    for question, count in declined.items():
        if as_count(count, "declined"):
            share = count / (count + n.get(question, 0))
            people = "person" if count == 1 else "people"
            text = (
                f"{question}: {count:,} {people} ({100 * share:.1f} %) gave no answer; shares are those of the others"
            )
            yield Finding(question, "declined", False, text)
    if as_count(duplicates, "duplicates"):
        yield Finding("", "duplicates", False, f"entries that came again, and were counted once: {duplicates:,}")
    if as_count(conflicts, "conflicts"):
        text = f"entries that came again with other content, and were refused: {conflicts:,}; somebody sent two answers"
        yield Finding("", "conflicts", False, text)
