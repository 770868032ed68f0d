"""What evidence says of every share, as values with bounds that are known beforehand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from askance._arrays import FloatArray
from askance._checks import number, shown
from askance.channels.finite import FiniteChannel
from askance.channels.statistics.base import StatisticsChannel
from askance.channels.sum_law import CountLaw
from askance.errors import InputError
from askance.estimation.sequences.bets import BoundedValues
from askance.evidence.pooled import taken_apart
from askance.evidence.responses import Responses
from askance.evidence.tally import Tally, of_answers, of_statistics
from askance.models.enumerated import Enumerated


class _Part(NamedTuple):
    """Reports through one channel: their codes, how many there are of each, and their sampling weights; (r,) each."""

    channel: FiniteChannel
    codes: Any
    counts: FloatArray
    weights: FloatArray


def values_of(evidence: Any, largest_weight: float | None) -> Iterator[tuple[Any, BoundedValues]]:
    """Every answer, and the values of all reports for its share."""
    if of_statistics(evidence):
        yield from _of_entries(evidence)
        return
    parts = _parts(evidence, largest_weight)
    betas = [_functions(part.channel) for part in parts]
    labels, heaviest = parts[0].channel.outputs.labels, 1.0 if largest_weight is None else float(largest_weight)
    for j, label in enumerate(labels):
        yield label, _joined(parts, [own[j] for own in betas], 1 / len(labels), heaviest)


# -- answers -----------------------------------------------------------------------------------------------------------


def _parts(evidence: Any, largest_weight: float | None) -> list[_Part]:
    """What was seen through every channel of the design, also where nothing was seen: stakes must not depend on it."""
    tallies = list(evidence.values()) if isinstance(evidence, Mapping) else [evidence]
    if tallies and all(map(of_answers, tallies)):
        return [
            _Part(part.channel, np.arange(len(part.sums)), part.sums.astype(np.float64), np.ones(len(part.sums)))
            for tally in tallies
            for part in taken_apart(tally)
        ]
    channels = evidence.channels if isinstance(evidence, Responses) else ()
    if not channels or not all(isinstance(channel, FiniteChannel) and channel.has_law for channel in channels):
        raise InputError(
            argument="evidence",
            got=shown(evidence),
            allowed="a Tally, {way: Tally}, or Responses of noised answers with a known law",
            remedy="Count with Tally(channel).add(reports).",
        )
    if any(chunk.clusters is not None for chunk in evidence.chunks):
        raise InputError(
            "the evidence has clusters, whose answers may depend on each other; allowed: independent rows.",
            remedy="Fit a regression with clusters, and take coefficient_sequence(fit, planned).",
        )
    _require_weights(evidence, largest_weight)
    return [_folded(channel, [c for c in evidence.chunks if c.channel == channel]) for channel in channels]


def _require_weights(evidence: Responses[Any], largest_weight: float | None) -> None:
    """Refuse sampling weights above what was said beforehand."""
    own = [float(chunk.weights.max(initial=0.0)) for chunk in evidence.chunks if chunk.weights is not None]
    if largest_weight is not None:
        number(largest_weight, "largest_weight", 0, open=True)
    if own and (largest_weight is None or max(own) > largest_weight):
        raise InputError(
            argument="largest_weight",
            got=shown(largest_weight),
            allowed=f"at least {max(own):.4g}, as large as a sampling weight of the evidence",
            remedy="Give the largest weight that anybody can have, in units in which weights are 1 on average.",
        )


def _folded(channel: FiniteChannel, chunks: Sequence[Any]) -> _Part:
    """Rows with equal report and weight counted together."""
    blocks = [np.zeros((0, 3))]
    for chunk in chunks:
        one = np.ones(len(chunk))
        weights, count = (one if own is None else own for own in (chunk.weights, chunk.multiplicity))
        blocks.append(np.column_stack([chunk.codes, weights, count]))
    columns = np.concatenate(blocks)
    rows, place = np.unique(columns[:, :2], axis=0, return_inverse=True)
    counts = np.asarray(np.bincount(place.ravel(), weights=columns[:, 2], minlength=len(rows)), dtype=np.float64)
    return _Part(channel, rows[:, 0].astype(np.intp), counts, rows[:, 1])


def _functions(channel: FiniteChannel) -> FloatArray:
    """β of the share of every answer, shape (m, k): the plain one, which is known before any report."""
    others = channel.observation_function(Enumerated.saturated(channel.outputs)).coefficients
    return np.vstack([1 - others.sum(axis=0), others])


def _joined(parts: Sequence[_Part], betas: Sequence[FloatArray], guess: float, heaviest: float) -> BoundedValues:
    """The values of one answer through all channels; how much is bet on each follows from guessed shares.

    All answers are guessed to be equally frequent. With σ² the variance of β through a channel, λ = c σ̄/σ² is best to
    bet per unit of β, where 1/σ̄² is the mean of 1/σ² over the channels.
    """
    laws = [part.channel.matrix.mean(axis=1) for part in parts]
    lows, highs = (
        np.array([end(beta[law > 0]) for beta, law in zip(betas, laws, strict=True)]) for end in (np.min, np.max)
    )
    spread = np.array([law @ (beta - guess) ** 2 for beta, law in zip(betas, laws, strict=True)])
    scales = np.sqrt((guess - lows) * (highs - guess) / np.mean(1 / spread)) / spread
    sizes = [len(part.codes) for part in parts]
    return BoundedValues(
        values=np.concatenate([beta[part.codes] for part, beta in zip(parts, betas, strict=True)]),
        counts=np.concatenate([part.counts for part in parts]),
        low=np.repeat(lows, sizes),
        high=np.repeat(highs, sizes),
        scale=np.repeat(scales, sizes),
        precision=np.repeat(1 / spread, sizes),
        weights=np.concatenate([part.weights for part in parts]),
        largest_weight=heaviest,
    )


# -- statistics --------------------------------------------------------------------------------------------------------


def _of_entries(tally: Tally[StatisticsChannel]) -> Iterator[tuple[Any, BoundedValues]]:
    """Everything that a channel counts, a bit or a label, as a share of the way from its least to its largest rate."""
    law = tally.channel.sum_law
    if not isinstance(law, CountLaw):
        raise InputError(
            f"{tally.channel!r} adds numbers up, and counts nothing; allowed: channels that count answers, labels or "
            "bits.",
            remedy="Take tally.mean() and its standard_errors() once all planned reports are there.",
        )
    labels = tally.channel.outputs.labels if hasattr(tally.channel, "outputs") else None
    for trials in law.trials(tally.sums, tally.n_observations):
        if len(trials.low) != len(law.low):  # draws, whose rates are known, and all entries together
            continue
        for e in np.flatnonzero(trials.high > trials.low):
            low, width = trials.low[e], trials.high[e] - trials.low[e]
            hits = np.array([trials.of[e] - trials.hits[e], trials.hits[e]], dtype=np.float64)
            values, one = (np.array([0.0, 1.0]) - low) / width, np.ones(2)
            name = trials.name(int(e)) if labels is None else labels[e]
            yield name, BoundedValues(values, hits, values[0] * one, values[1] * one, one, one, one)
