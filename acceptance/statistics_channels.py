"""Simulated telemetry: do intervals of means and parameters cover, through every channel on statistics?"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from acceptance.check import Figure, check
from askance import (
    BallRelease,
    CliqueRelease,
    CoordinateRelease,
    Enumerated,
    Hybrid,
    Hypercube,
    PerValue,
    QuadraticRelease,
    SubsetSelection,
    Tally,
    estimate,
    estimate_mean,
)
from askance._arrays import AnyArray
from askance.channels import StatisticsChannel

PAPER = Enumerated([[0, 0, 1, 1], [0, 1, 0, 1]])
RESPONDENTS = 2000


def _cases(level: float, rng: np.random.Generator) -> dict[str, tuple[StatisticsChannel, AnyArray]]:
    """Channels, each with the truth of a small population from which respondents are drawn."""
    vectors = rng.normal(size=(200, 3))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True) * rng.uniform(1, 2, (200, 1))
    return {
        "coordinate-release": (CoordinateRelease(3, level), rng.random((200, 3))),
        "per-value, one-hot": (PerValue(4, level, l1_norm=1), np.eye(4)),
        "per-value, sparse, tuned": (PerValue(6, level, max_l1_norm=2, density="1/6"), np.eye(6)[:3]),
        "subset-selection": (SubsetSelection(9, level), np.arange(9)),
        "clique-release": (CliqueRelease([2, 3], [[0, 1], [1]], level), rng.integers(0, [2, 3], (200, 2))),
        "hypercube": (Hypercube(3, level), rng.random((200, 3))),
        "hybrid": (Hybrid(3, level), rng.random((200, 3))),
        "ball-release": (BallRelease(3, level), vectors),
        "quadratic-release": (QuadraticRelease(2, level), vectors[:, :2]),
    }


@check("statistics")
def statistics(rng: np.random.Generator, simulations: int) -> Iterator[Figure]:
    """95 % intervals of means cover 94 to 96 % (averaged over the statistics), n = 2,000."""
    for level in (1.0, 4.0):
        for name, (channel, population) in _cases(level, rng).items():
            truth = channel.statistics(population).mean(axis=0)
            covered = np.zeros(channel.dimension)
            for _ in range(simulations):
                people = population[rng.integers(len(population), size=RESPONDENTS)]
                tally = Tally(channel).add(channel.simulate(people, rng))
                lower, upper = estimate_mean(tally).confidence_interval()
                covered += (lower <= truth) & (truth <= upper)
            note = (
                f"{channel.dimension} statistics, {covered.min() / simulations:.3f}–{covered.max() / simulations:.3f}"
            )
            yield Figure(
                "statistics", f"{name}, level {level:g}", float(covered.mean()) / simulations, 0.94, 0.96, note
            )


@check("statistics-fit")
def statistics_fit(rng: np.random.Generator, simulations: int) -> Iterator[Figure]:
    """95 % intervals of parameters cover 94 to 96 %, n = 20,000."""
    theta = np.array([1.0, -0.5])
    for level in (1.0, 4.0):
        channels = {
            "coordinate-release": CoordinateRelease(2, level),
            "coordinate-release, tuned": CoordinateRelease.for_model(PAPER, level, theta),
            "per-value": PerValue.for_model(PAPER, level),
            "hypercube": Hypercube(2, level),
            "subset-selection": SubsetSelection(4, level),
        }
        for name, channel in channels.items():
            covered = np.zeros(2)
            for _ in range(simulations):
                y = PAPER.sample(theta, 20_000, rng)
                truth = y if isinstance(channel, SubsetSelection) else PAPER.statistics(y)
                fit = estimate(PAPER, Tally(channel).add(channel.simulate(truth, rng)))
                lower, upper = fit.confidence_interval()
                covered += (lower <= theta) & (theta <= upper)
            for parameter, share in zip(PAPER.parameter_names, covered / simulations, strict=True):
                yield Figure("statistics-fit", f"{name}, level {level:g}, {parameter}", float(share), 0.94, 0.96)
