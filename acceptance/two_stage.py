"""Two stages against every channel that can be chosen without knowing θ: equal people, equal level, less error."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from acceptance.check import Figure, check
from askance import CoordinateRelease, Enumerated, PerValue, RandomizedResponse, Tally, estimate, optimal_channel
from askance._arrays import FloatArray
from askance.channels import FiniteChannel, MatrixChannel, SubsetSelection
from askance.channels.statistics.base import StatisticsChannel
from askance.design.covariances import asymptotics, marginal_information
from askance.design.statistics_covariances import report_matrix, truths_of
from askance.errors import RepairWarning
from askance.estimation.two_stage import TwoStage

MODEL = Enumerated([[0, 0, 1, 1], [0, 1, 0, 1]])
THETA = np.array([5.0, -1.0])
LEVEL = 1
PEOPLE = 1_000_000
# Enough for the limit of large n to hold.
MANY_PEOPLE = 4_000_000
# Where the gain is looked for, but not promised: small surveys have small pilots.
FEWER_PEOPLE = (30_000, 100_000, 300_000)
# At least 40 % less in the trace of the covariance.
GOAL = 0.6
# The limit may be missed by this many standard deviations of the simulation: one false alarm in 2,000 runs.
_SIGMAS = 3.5
# Beyond the simulation's own error: n is finite.
_FINITE_SAMPLE = 0.03


class Spread(NamedTuple):
    """n tr of the empirical covariance of θ̂ over surveys, its relative standard error, and n times the mean error²."""

    trace: float
    relative_error: float
    mean_square: float


def _written_out(channel: StatisticsChannel) -> MatrixChannel:
    """A channel on statistics as the table of its possible reports, so that it has a likelihood."""
    matrix = report_matrix(channel, truths_of(MODEL, channel).rows)
    assert matrix is not None
    return MatrixChannel(matrix, outputs=MODEL.outputs)


def rivals() -> dict[str, FiniteChannel]:
    """What can be chosen without knowing θ, as channels with a likelihood."""
    found: dict[str, FiniteChannel] = {
        "coordinate release": _written_out(CoordinateRelease(2, LEVEL)),
        "randomized response": RandomizedResponse.for_privacy_level(LEVEL, outputs=MODEL.outputs),
        "per-value": _written_out(PerValue(2, LEVEL)),
        "per-value of indicators": _written_out(PerValue(4, LEVEL, l1_norm=1)),
    }
    for size in (1, 2, 3):
        found[f"subset selection, {size} of 4"] = _written_out(SubsetSelection(MODEL.outputs, LEVEL, size))
    return found


def _spread(estimates: list[FloatArray], n: int) -> Spread:
    table = np.array(estimates)
    squares = ((table - table.mean(axis=0)) ** 2).sum(axis=1)
    mean = float(squares.mean())
    relative = float(squares.std(ddof=1)) / mean / math.sqrt(len(squares))
    return Spread(
        n * mean * len(squares) / (len(squares) - 1), relative, n * float(((table - THETA) ** 2).sum(axis=1).mean())
    )


class Stages(NamedTuple):
    """Simulated surveys in two stages: spread of θ̂, share of surveys whose guess was limited, number of surveys."""

    spread: Spread
    limited: float
    surveys: int


def _rival_spreads(
    channels: dict[str, FiniteChannel], n: int, count: int, rng: np.random.Generator
) -> dict[str, Spread]:
    """Every rival with every estimator that it has.

    Reports are independent with law S p_θ: their counts are drawn at once, by a multinomial, which is the same law as
    asking people one by one. Coordinate release is also estimated from its sums, by averages within coordinates.
    """
    p, release = MODEL.probabilities(THETA), CoordinateRelease(2, LEVEL)
    spreads = {}
    for name, channel in channels.items():
        frequencies = channel.apply(p)
        estimates: dict[str, list[FloatArray]] = {}
        for _ in range(count):
            counts = rng.multinomial(n, frequencies / frequencies.sum())
            for method in ("one-step", "moments"):
                estimates.setdefault(method, []).append(estimate(MODEL, Tally(channel, counts), method).theta)
            if name == "coordinate release":
                # Possible reports are listed coordinate by coordinate; sums have all zeros first, then all ones.
                sums = Tally(release, counts.reshape(2, 2).T.ravel(), n)
                estimates.setdefault("within coordinates", []).append(estimate(MODEL, sums).theta)
        for method, found in estimates.items():
            spreads[f"{name} ({method})"] = _spread(found, n)
    return spreads


def _two_stage_spread(n: int, count: int, rng: np.random.Generator) -> Stages:
    """Both stages simulated, the second channel found anew in every survey."""
    stages = TwoStage(MODEL, LEVEL, pilot_fraction=0.1)
    estimates, limited = [], 0
    for _ in range(count):
        fit, run = stages.simulate(THETA, n, rng)
        assert fit.privacy_level <= LEVEL
        estimates.append(fit.theta)
        limited += run.guess.is_limited
    return Stages(_spread(estimates, n), limited / count, count)


def predicted_ratio() -> float:
    """tr (f J_pilot + (1 − f) J_opt)⁻¹ over the least tr Σ of a rival, all at the true θ: the limit for large n."""
    stages = TwoStage(MODEL, LEVEL)
    share = float(stages.pilot_fraction)
    optimum = optimal_channel(MODEL, LEVEL, THETA)
    first, second = (marginal_information(MODEL, channel, THETA) for channel in (stages.pilot_channel, optimum))
    traces = [np.trace(asymptotics(MODEL, rival, THETA).marginal) for rival in rivals().values()]
    return float(np.trace(np.linalg.inv(share * first + (1 - share) * second)) / min(traces))


def _figure(n: int, stages: Stages, rival: str, spread: Spread, low: float, high: float) -> Figure:
    ratio = stages.spread.trace / spread.trace
    error = ratio * math.hypot(stages.spread.relative_error, spread.relative_error)
    note = (
        f"± {error:.3f}; n tr Cov {stages.spread.trace:,.0f} against {spread.trace:,.0f}; n mean square "
        f"{stages.spread.mean_square:,.0f} against {spread.mean_square:,.0f}; guess limited {stages.limited:.0%}; "
        f"{stages.surveys:,} surveys"
    )
    return Figure("two-stage", f"tr Cov / {rival}, n = {n:,}", ratio, low, high, note)


@check("two-stage")
def two_stage(rng: np.random.Generator, simulations: int) -> Iterator[Figure]:
    """tr Cov θ̂ of two stages over that of the best rival, as measured at the same n."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RepairWarning)
        for n in (*FEWER_PEOPLE, PEOPLE):
            # Squared errors have long tails: 4,000 surveys give the ratio to ± 0.02, fewer miss by chance.
            count = max(4000, simulations // 2) if n == PEOPLE else 300
            spreads = _rival_spreads(rivals(), n, count, rng)
            best = min(spreads, key=lambda name: spreads[name].trace)
            stages = _two_stage_spread(n, count, rng)
            goal = GOAL if n == PEOPLE else math.inf
            yield _figure(n, stages, f"best without a guess: {best}", spreads[best], 0.0, goal)
            if n == PEOPLE:
                for rival, spread in spreads.items():
                    yield _figure(n, stages, rival, spread, 0.0, GOAL)
        # The limit itself, against the rival that has the least tr Σ.
        count, name = max(300, simulations // 5), "coordinate release"
        spread = _rival_spreads({name: rivals()[name]}, MANY_PEOPLE, count, rng)[f"{name} (within coordinates)"]
        stages = _two_stage_spread(MANY_PEOPLE, count, rng)
        limit = predicted_ratio()
        reach = _SIGMAS * limit * math.hypot(stages.spread.relative_error, spread.relative_error) + _FINITE_SAMPLE
        described = f"{name}, predicted {limit:.4f}"
        yield _figure(MANY_PEOPLE, stages, described, spread, limit - reach, limit + reach)
