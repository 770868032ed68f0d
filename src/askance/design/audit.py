"""Audits: a lower bound on the privacy level from what the real sampler does, whatever the channel says of itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from askance._arrays import AnyArray, CodeArray, FloatArray, IntArray
from askance._checks import as_count, number, require_generator, shorten, shown
from askance.channels.finite import FiniteChannel, require_channel
from askance.channels.registry import AnyChannel
from askance.channels.statistics.base import StatisticsChannel
from askance.channels.statistics.reports import Reports
from askance.design.audit_events import (
    Anatomy,
    Candidate,
    Choice,
    Counts,
    best_choice,
    clear_log_ratios,
    estimated_bound,
    learned_scores,
    score_in_pieces,
    stated_score,
)
from askance.errors import InputError

#: How many reports are drawn unless told otherwise.
DEFAULT_TRIALS = 200_000
# Fewer say nothing about any event.
_FEWEST_TRIALS = 1000
# No more of either truth are kept in memory to choose an event by.
_MOST_PILOTS = 1 << 20
# Bytes of truth, and reports, handed to the sampler at a time.
_BYTES_AT_A_TIME = 1 << 28
_REPORTS_AT_A_TIME = 1 << 16
# Outputs of a channel on answers that are tried against each other, at most; fewer where observations are many.
_MOST_OUTPUTS = 64
_MOST_COMPARISONS = 1 << 22

#: Told now and then what is being done.
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Audit:
    """What an audit found.

    Attributes:
        lower_bound: with probability `confidence` the level of the sampler is at least this.
        stated_level: what the channel promises; infinite where it promises nothing.
        privacy_level: the level computed from its thresholds.
        trials: how many reports were drawn.
        confidence: of the lower bound.
        event: the reports that tell the two truths apart, in words.
        likelier: the truth under which the event is likelier, in words.
        rarer: the other truth.
        frequencies: how often the event was seen under either, on reports that had no part in choosing it.
    """

    lower_bound: float
    stated_level: float
    privacy_level: float
    trials: int
    confidence: float
    event: str
    likelier: str
    rarer: str
    frequencies: tuple[float, float]

    @property
    def holds(self) -> bool:
        """Whether nothing was found against the stated level."""
        return self.lower_bound <= self.stated_level

    def to_json(self) -> dict[str, Any]:
        """Plain values; an infinite level is None."""
        levels = {
            name: None if math.isinf(value) else value
            for name, value in (("stated_level", self.stated_level), ("privacy_level", self.privacy_level))
        }
        return {**self.__dict__, **levels, "frequencies": list(self.frequencies), "holds": self.holds}


def audit(
    channel: AnyChannel,
    trials: int = DEFAULT_TRIALS,
    confidence: float = 0.999,
    rng: np.random.Generator | None = None,
    *,
    stated_level: float | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Bound the privacy level of a channel from below by drawing from its real sampler.

    Where `certify` proves the level from thresholds, an audit believes nothing: it draws reports of two truths, finds
    on a pilot part of them an event E that is likelier under one truth, and on the rest bounds
    log P(E|y)/P(E|y′) from below by Clopper and Pearson's exact intervals, each side at (1 − confidence)/2. A sound
    channel fails with a probability of at most 1 − confidence. A bound below the stated level proves nothing; a bound
    above it proves that the promise is broken.

    Args:
        channel: on answers (the pair of outputs is looked for on the pilot part) or on statistics (its `worst_pair`).
        trials: how many reports are drawn in all.
        confidence: of the bound.
        rng: a seeded generator for `simulate`, in tests; without it the cryptographic `randomize` is audited.
        stated_level: the promise to hold the channel to (default: its own).
        progress: told now and then how many reports have been drawn.

    >>> from askance import RandomizedResponse
    >>> found = audit(RandomizedResponse.for_privacy_level(1, outputs=4), rng=np.random.default_rng(0))
    >>> round(found.lower_bound, 2), found.stated_level, found.holds
    (0.97, 1.0, True)
    """
    if not isinstance(channel, StatisticsChannel):
        require_channel(channel)
    count = as_count(trials, "trials", minimum=_FEWEST_TRIALS, maximum=1 << 36)
    _require_confidence(confidence)
    if rng is not None:
        require_generator(rng)
    promised = getattr(channel, "stated_level", channel.privacy_level) if stated_level is None else stated_level
    if not promised >= 0:
        raise InputError(argument="stated_level", got=shown(stated_level), allowed="0 or more", remedy="Leave it out.")
    meter = _Meter(count, progress)
    if isinstance(channel, StatisticsChannel):
        measured = _run_statistics(channel, count, confidence, rng, meter)
    else:
        measured = _run_answers(channel, count, confidence, rng, meter)
    return Audit(
        lower_bound=log_ratio_bound(measured.hits, measured.drawn, confidence),
        stated_level=float(promised),
        privacy_level=channel.privacy_level,
        trials=meter.done,
        confidence=float(confidence),
        event=measured.event,
        likelier=measured.likelier,
        rarer=measured.rarer,
        frequencies=(measured.hits[0] / measured.drawn[0], measured.hits[1] / measured.drawn[1]),
    )


def log_ratio_bound(hits: tuple[int, int], drawn: tuple[int, int], confidence: float) -> float:
    """A lower bound of log P(E|y)/P(E|y′) from hits among draws, by Clopper and Pearson; never below 0.

    This is what an audit of a sampler of your own needs: draw from it with y and with y′, count an event E that was
    chosen beforehand, and see whether the bound exceeds the level that is stated.

    Args:
        hits: how often E was seen with y, and with y′.
        drawn: of how many draws each.
        confidence: that the bound is right, 0.5 to 1 − 1e-12.

    >>> round(log_ratio_bound((900, 100), (1000, 1000), 0.95), 3)
    1.99
    >>> log_ratio_bound((5, 7), (10, 10), 0.95)
    0.0
    """
    from scipy.special import betainccinv, betaincinv

    _require_confidence(confidence)
    tail = (1 - confidence) / 2
    n, m = (as_count(count, "drawn", minimum=1) for count in drawn)
    a, b = (as_count(count, "hits", maximum=most) for count, most in zip(hits, (n, m), strict=True))
    lowest = float(betaincinv(a, n - a + 1, tail)) if a else 0.0
    highest = float(betainccinv(b + 1, m - b, tail)) if b < m else 1.0
    return max(math.log(lowest / highest), 0.0) if lowest > 0 else 0.0


def _require_confidence(confidence: float) -> None:
    number(confidence, "confidence", 0.5, 1 - 1e-12, allowed="0.5 to 1 − 1e-12", remedy="The default is 0.999.")


@dataclass(frozen=True)
class _Found:
    event: str
    likelier: str
    rarer: str
    hits: tuple[int, int]
    drawn: tuple[int, int]


class _Meter:
    """Counts draws, and says so about ten times."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self.total, self.done, self._progress, self._next = total, 0, progress, 0

    def add(self, count: int) -> None:
        self.done += count
        if self._progress is not None and self.done >= self._next:
            self._next = self.done + self.total // 10
            self._progress(f"drew {self.done:,} of {self.total:,} reports")


def _standard_errors(confidence: float) -> float:
    from scipy.special import ndtri

    return float(-ndtri((1 - confidence) / 2))


# -- channels on statistics --------------------------------------------------------------------------------------------


def _run_statistics(
    channel: StatisticsChannel, trials: int, confidence: float, rng: np.random.Generator | None, meter: _Meter
) -> _Found:
    """A twelfth of the reports of each truth to learn scores, a twelfth to choose among events, the rest to measure."""
    truths, z = channel.worst_pair(), _standard_errors(confidence)

    def draw(which: int, count: int) -> Iterator[Reports]:
        return _reports(channel, truths[which], count, rng, meter)

    pilot = min(trials // 12, _MOST_PILOTS)
    rest = trials // 2 - 2 * pilot
    anatomy = Anatomy.of(channel)
    counts = [Counts.of(anatomy, draw(which, pilot)) for which in (0, 1)]
    candidates = [stated_score(channel, truths), *learned_scores(anatomy, counts[0], counts[1], z)]
    first, second = [_scores(candidates, draw(which, pilot)) for which in (0, 1)]
    choice = best_choice(first, second, z)
    candidate, order = candidates[choice.number], (1, 0) if choice.swapped else (0, 1)
    hits = [
        sum(int(choice.contains(score_in_pieces(candidate.score, reports)).sum()) for reports in draw(which, rest))
        for which in order
    ]
    words = [shown(np.asarray(truths[which]).tolist()[0]) for which in order]
    return _Found(candidate.describe_event(choice), words[0], words[1], (hits[0], hits[1]), (rest, rest))


def _reports(
    channel: StatisticsChannel, truth: AnyArray, count: int, rng: np.random.Generator | None, meter: _Meter
) -> Iterator[Reports]:
    """Reports of one truth, some at a time."""
    row = np.asarray(truth)
    if row.dtype.kind == "f" and row.size > _REPORTS_AT_A_TIME // 16 and np.isin(row, (0, 1)).all():
        row = row.astype(np.uint8)  # wide rows of 0 and 1 take an eighth of the room
    step = min(max(_BYTES_AT_A_TIME // row.nbytes, 1), _REPORTS_AT_A_TIME)
    for start in range(0, count, step):
        rows = np.repeat(row, min(step, count - start), axis=0)
        reports = channel.randomize(rows) if rng is None else channel.simulate(rows, rng)
        meter.add(len(reports))
        yield reports


def _scores(candidates: list[Candidate], chunks: Iterator[Reports]) -> list[FloatArray]:
    """The scores of every candidate over all chunks."""
    parts: list[list[FloatArray]] = [[] for _ in candidates]
    for reports in chunks:
        for part, candidate in zip(parts, candidates, strict=True):
            part.append(score_in_pieces(candidate.score, reports))
    return [np.concatenate(part) for part in parts]


# -- channels on answers -----------------------------------------------------------------------------------------------


def _run_answers(
    channel: FiniteChannel, trials: int, confidence: float, rng: np.random.Generator | None, meter: _Meter
) -> _Found:
    """A sixth of the draws over all outputs to find a pair, a sixth to choose an event, the rest to measure it."""
    z = _standard_errors(confidence)

    def count(output: int, draws: int) -> IntArray:
        return _count(channel, output, draws, rng, meter)

    tried, stated = _outputs_tried(channel)
    pilot = max(min(trials // 6, 2 * _MOST_PILOTS) // len(tried), 2)
    # Observations are put in order by one half and judged by the other: by the same draws chance looks like a leak.
    halves = [np.stack([count(y, pilot // 2) for y in tried], axis=1) for _ in range(2)]
    pilots = dict(zip(tried, (halves[0] + halves[1]).T, strict=True))
    seen_worst = _best_pair(halves[0], halves[1], pilot // 2, z)
    pairs = dict.fromkeys([(tried[seen_worst[0]], tried[seen_worst[1]]), stated])
    draws = min(trials // 6, 2 * _MOST_PILOTS) // (2 * len(pairs))
    choices: list[tuple[Choice, tuple[int, int], FloatArray]] = []
    for pair in pairs:
        first, second = (count(y, draws) for y in pair)
        tables = [
            _stated_ratios(channel, pair),
            clear_log_ratios(pilots[pair[0]], 2 * (pilot // 2), pilots[pair[1]], 2 * (pilot // 2)),
        ]
        choice = best_choice([np.repeat(t, first) for t in tables], [np.repeat(t, second) for t in tables], z)
        choices.append((choice, pair, tables[choice.number]))
    choice, pair, table = max(choices, key=lambda chosen: chosen[0].bound)
    inside = np.flatnonzero(choice.contains(table)).tolist()
    likelier, rarer = (pair[1], pair[0]) if choice.swapped else pair
    rest = (trials - meter.done) // 2
    hits = [int(count(y, rest)[inside].sum()) for y in (likelier, rarer)]
    seen = shorten([channel.observations.labels[o] for o in inside])
    labels = channel.outputs.labels
    return _Found(f"seen: {seen}", shown(labels[likelier]), shown(labels[rarer]), (hits[0], hits[1]), (rest, rest))


def _outputs_tried(channel: FiniteChannel) -> tuple[list[int], tuple[int, int]]:
    """Outputs to compare: all where they are few, otherwise some spread over all; and the pair stated to be worst."""
    size, observations = len(channel.outputs), len(channel.observations)
    largest, smallest = channel.extreme_weights()
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(largest > 0, largest / smallest, 0.0)
    row = channel.apply_transposed(np.eye(1, observations, int(np.argmax(ratios)))[0])
    stated = int(np.argmax(row)), int(np.argmin(row))
    most = max(min(math.isqrt(_MOST_COMPARISONS // observations), _MOST_OUTPUTS), 2)
    if size <= most:
        return list(range(size)), stated
    spread = np.linspace(0, size - 1, most).astype(np.int64).tolist()
    return list(dict.fromkeys([*stated, *spread]))[:most], stated


def _stated_ratios(channel: FiniteChannel, pair: tuple[int, int]) -> FloatArray:
    """Log S(o|y)/S(o|y′) of every observation as the channel states it, shape (k,)."""
    first, second = (channel.apply(np.eye(1, len(channel.outputs), y)[0]) for y in pair)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.nan_to_num(np.log(first) - np.log(second), nan=0.0, posinf=1e9, neginf=-1e9)
    return np.asarray(ratios.round(9))


def _count(channel: FiniteChannel, output: int, count: int, rng: np.random.Generator | None, meter: _Meter) -> IntArray:
    """How often every observation was drawn for one output, shape (k,)."""
    total = np.zeros(len(channel.observations), dtype=np.int64)
    for start in range(0, count, _REPORTS_AT_A_TIME):
        codes: CodeArray = np.full(min(_REPORTS_AT_A_TIME, count - start), output, dtype=np.int64)
        truth = channel.outputs.decode(codes)
        seen = channel.randomize(truth) if rng is None else channel.simulate(truth, rng)
        total += np.bincount(channel.observations.encode(seen), minlength=len(total))
        meter.add(len(codes))
    return total


def _best_pair(ordering: IntArray, judging: IntArray, n: int, z: float) -> tuple[int, int]:
    """The ordered pair of columns of largest estimated bound, from two tables of counts (k, c) of n draws each.

    For a pair the best event of any size holds the observations of largest ratio: those are added one by one.
    """
    best, pair = -math.inf, (0, 1)
    for y in range(ordering.shape[1]):
        order = np.argsort(-(ordering[:, [y]] + 0.5) / (ordering + 0.5), axis=0, kind="stable")
        mine = np.cumsum(judging[:, y][order], axis=0)
        other = np.cumsum(np.take_along_axis(judging, order, axis=0), axis=0)
        bounds = estimated_bound(mine, n, other, n, z).max(axis=0)
        bounds[y] = -np.inf
        if bounds.max() > best:
            best, pair = float(bounds.max()), (y, int(np.argmax(bounds)))
    return pair
