"""Shares of hidden answers while reports come in: intervals that hold at all looks at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from askance._arrays import FloatArray
from askance._checks import number, shown
from askance.channels.finite import FiniteChannel
from askance.errors import EmptyDataError, InputError
from askance.estimation.results.results import Result
from askance.estimation.sequences.bets import BoundedValues
from askance.estimation.sequences.stakes import Stakes
from askance.evidence.pooled import taken_apart
from askance.evidence.responses import Responses
from askance.evidence.tally import Tally, of_answers
from askance.models.enumerated import Enumerated
from askance.tables import Column, Table, Tabulated, interval_columns


@dataclass(frozen=True, eq=False)
class ConfidenceSequence(Result, Tabulated):
    """Intervals at one look, of a kind that holds at all looks at once; arrays of shape (d,).

    Attributes:
        names: of answers or of parameters.
        estimate: of each.
        lower: lower ends; NaN where it is too early to tell.
        upper: upper ends.
        n: reports so far.
        planned: at which intervals are meant to be narrow.
        first: reports at the first look.
        confidence: that an interval holds at all looks, of every name by itself.
        of: what is estimated, "share" or "coefficient".
        notes: what a reader should know.
        alarms: what a reader must know first.
    """

    names: tuple[Any, ...]
    estimate: FloatArray
    lower: FloatArray
    upper: FloatArray
    n: int
    planned: int
    first: int
    confidence: float
    of: str
    notes: tuple[str, ...] = ()
    alarms: tuple[str, ...] = ()

    def table(self) -> Table:
        """Every estimate with its interval."""
        kind, first = ("decimal", "answer") if self.of == "share" else ("number", "parameter")
        figures = (self.estimate, self.lower, self.upper)
        return Table(
            (Column(first), Column(self.of, kind, "estimate"), *interval_columns(self.confidence, kind)),  # type: ignore[arg-type]
            list(zip(self.names, *(values.tolist() for values in figures), strict=True)),
            title=f"{self.n:,} of {self.planned:,} planned reports",
            notes=[f"{100 * self.confidence:g} % intervals that hold at all looks at once", *self.notes],
            alarms=self.alarms,
            most_rows=len(self.names),
        )


class _Part(NamedTuple):
    """Reports through one channel: their codes, how many there are of each, and their sampling weights; (r,) each."""

    channel: FiniteChannel
    codes: Any
    counts: FloatArray
    weights: FloatArray


def share_sequence(
    evidence: Tally[FiniteChannel] | Responses[FiniteChannel],
    planned: int,
    *,
    first: int | None = None,
    confidence: float = 0.95,
    largest_weight: float | None = None,
) -> ConfidenceSequence:
    """The share of every answer, with an interval that holds at all looks at once.

    An interval of a fixed n holds at that n. Who looks at one again and again while answers come in, and stops when it
    says what was hoped for, is misled far more often than it says. These intervals hold at every look with probability
    `confidence`, for any n and any rule to stop, and are about 1.6 times as wide. They are proved for every number of
    reports: bets on the bounded β of the channel, see `askance.estimation.sequences.bets`; counts are all they need.

    Respondents must come in an order that has nothing to do with their answers, and `planned`, `first` and
    `largest_weight` must be fixed before the first answer is seen.

    Args:
        evidence: counts of answers, also pooled ones, or rows, also of several arms and with sampling weights; not in
            clusters, whose answers may depend on each other.
        planned: number of reports at which the intervals are meant to be narrow.
        first: number of reports at the first look; default: a fiftieth of `planned`.
        confidence: of all looks together, for every answer by itself.
        largest_weight: no sampling weight is larger, in units in which weights are 1 on average.

    >>> from askance import ForcedResponse, Tally
    >>> print(share_sequence(Tally(ForcedResponse("2/3", "1/6"), [700, 300]), 5000).summary())
    1,000 of 5,000 planned reports
    <BLANKLINE>
    answer   share   2.5 %  97.5 %
    ------------------------------
    no      0.8000  0.7305  0.8654
    yes     0.2000  0.1346  0.2695
    ------------------------------
    95 % intervals that hold at all looks at once
    """
    stakes = Stakes(planned, first, confidence)
    parts = _parts(evidence, largest_weight)
    n = int(sum(part.counts.sum() for part in parts))
    if n == 0:
        raise EmptyDataError("there are no reports.", remedy="Add reports before estimating.")
    outputs, heaviest = parts[0].channel.outputs, 1.0 if largest_weight is None else float(largest_weight)
    functions = [_values(part.channel) for part in parts]
    estimates, bounds = [], []
    for j in range(len(outputs)):
        values = _joined(parts, [own[j] for own in functions], 1 / len(outputs), heaviest)
        estimates.append(_mean(values))
        bounds.append(values.bounds(stakes))
    lower, upper, contradicted = (np.array(column) for column in zip(*bounds, strict=True))
    alarm = (
        f"no shares bring about such reports: whatever the truth, chance does that at any look with probability "
        f"{1 - confidence:.2g} at most for each answer; devices had other probabilities, or reports are forged"
    )
    return ConfidenceSequence(
        tuple(outputs.labels), np.array(estimates), lower, upper, n, planned, stakes.first_look, confidence, "share",
        alarms=(alarm,) if contradicted.any() else (),
    )  # fmt: skip


def _parts(evidence: Any, largest_weight: float | None) -> list[_Part]:
    """What was seen through every channel."""
    if of_answers(evidence):
        tallies = taken_apart(evidence)
        return [
            _Part(t.channel, np.arange(len(t.counts)), t.counts.astype(np.float64), np.ones(len(t.counts)))
            for t in tallies
        ]
    if not isinstance(evidence, Responses) or not isinstance(evidence.channels[0], FiniteChannel):
        raise InputError(
            argument="evidence",
            got=shown(evidence),
            allowed="a Tally or Responses of noised answers",
            remedy="Count with Tally(channel).add(reports).",
        )
    if any(chunk.clusters is not None for chunk in evidence.chunks):
        raise InputError(
            "evidence has clusters, whose answers may depend on each other; allowed: independent rows.",
            remedy="Look at a regression with clusters instead: coefficient_sequence(fit, planned).",
        )
    weighted = any(chunk.weights is not None for chunk in evidence.chunks)
    largest = max((float(c.weights.max(initial=0)) for c in evidence.chunks if c.weights is not None), default=1.0)
    if weighted and not (
        largest_weight is not None and largest <= number(largest_weight, "largest_weight", minimum=0.0)
    ):
        raise InputError(
            argument="largest_weight", got=shown(largest_weight),
            allowed=f"at least {largest:.4g}, the largest of the evidence, where rows have sampling weights",
            remedy="Give the largest weight that anybody can have, in units in which they are 1 on average.",
        )  # fmt: skip
    return [_folded(chunk) for chunk in evidence.chunks]


def _folded(chunk: Any) -> _Part:
    """Rows of a chunk with equal report and weight counted together."""
    count = np.ones(len(chunk)) if chunk.multiplicity is None else chunk.multiplicity
    weights = np.ones(len(chunk)) if chunk.weights is None else chunk.weights
    rows, place = np.unique(np.column_stack([chunk.codes, weights]), axis=0, return_inverse=True)
    return _Part(chunk.channel, rows[:, 0].astype(np.intp), np.bincount(place.ravel(), weights=count), rows[:, 1])


def _values(channel: FiniteChannel) -> FloatArray:
    """β of the share of every answer, shape (m, k): the plain one, which is known before any report."""
    others = channel.observation_function(Enumerated.saturated(channel.outputs)).coefficients
    return np.vstack([1 - others.sum(axis=0), others])


def _joined(parts: Sequence[_Part], betas: Sequence[FloatArray], guess: float, heaviest: float) -> BoundedValues:
    """The values of one answer through all channels; how much is bet on each follows from guessed shares.

    All answers are guessed to be equally frequent. With σ² the variance of β through a channel, λ = c σ̄/σ² is best to
    bet per unit of β, where 1/σ̄² is the mean of 1/σ² over the channels.
    """
    rooms, spreads = [], []
    for part, beta in zip(parts, betas, strict=True):
        q = part.channel.matrix.mean(axis=1)
        low, high = beta[q > 0].min(), beta[q > 0].max()
        rooms.append((low, high, np.sqrt((guess - low) * (high - guess))))
        spreads.append(float(q @ (beta - guess) ** 2))
    whole = np.sqrt(1 / np.mean(1 / np.array(spreads)))
    columns = [
        (beta[part.codes], part.counts, *np.broadcast_arrays(low, high, root * whole / spread, part.codes)[:3], part.weights)
        for part, beta, (low, high, root), spread in zip(parts, betas, rooms, spreads, strict=True)
    ]  # fmt: skip
    return BoundedValues(*(np.concatenate(column) for column in zip(*columns, strict=True)), heaviest)


def _mean(values: BoundedValues) -> float:
    """The mean of β, cut to [0, 1], in which channels that say more count for more."""
    spread = values.scale / np.sqrt(np.maximum((0.5 - values.low) * (values.high - 0.5), 1e-300))
    weight = values.counts * values.weights * spread
    return float(np.clip(weight @ values.values / weight.sum(), 0.0, 1.0))
