"""The defaults of private linear regression on simulated populations, none of them like the housing data.

A report takes milliseconds at high levels, and the mean of n of them is normal with a covariance that the channel
knows. So means are drawn from that normal distribution instead of being summed up: tens of surveys then cost what one
would. The first figures say that surveys made of reports come out the same.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from acceptance.check import Figure, check
from askance._arrays import FloatArray
from askance.channels.statistics.base import Averaging, StatisticsChannel
from askance.channels.statistics.moment_release import MomentRelease
from askance.design.regression_release import regression_release
from askance.errors import RepairWarning
from askance.estimation.linear import simulate_linear
from askance.estimation.problems.moment_repair import repair_design
from askance.evidence.tally import Tally
from askance.models.linear import LinearModel

NAME = "private-regression-defaults"
KINDS = ("normal", "exponential", "log-normal, correlated", "two tight groups")
COLUMNS, PEOPLE, LEVELS = (3, 8, 15), (5_000, 16_000, 100_000), (1, 2, 4, 8)
#: Options of `regression_release` and `repair_design` that the defaults must not stay behind.
ALTERNATIVES: dict[str, dict[str, Any]] = {
    "share_within=.75": {"share_within": "3/4"},
    "share_within=1": {"share_within": 1},
    "moments": {"channel": "moments"},
    "ridge": {"repair": "ridge"},
}
MOST_BEHIND = 0.05
# Respondents that stand for the population, surveys drawn from each population, and how many populations at most.
_SIZE, _SURVEYS, _MOST_POPULATIONS = 8_000, 30, 40
# Surveys made of reports, per population.
_REAL = 8


class DrawnTally(Tally[StatisticsChannel]):
    """A tally whose means were drawn, not summed."""

    def __init__(self, channel: StatisticsChannel, mean: FloatArray, errors: FloatArray, n: int) -> None:
        super().__init__(channel)
        self.n_observations = n
        self._mean, self._errors = mean, errors

    def mean(self, averaging: Averaging = "within") -> FloatArray:
        return self._mean

    def standard_errors(self, averaging: Averaging = "within") -> FloatArray:
        return self._errors


@dataclass(frozen=True)
class Population:
    """People with standardised x and y, and R² on all of them for any coefficients."""

    x: FloatArray
    y: FloatArray

    @property
    def field(self) -> LinearModel:
        return _field(self.x.shape[1])

    def score(self, standard: FloatArray) -> float:
        """Centred R² of (intercept, coefficients); x is clipped, y is not."""
        errors = self.y - self.field.predict(standard, self.x)
        return float(1 - (errors**2).mean() / self.y.var())

    def least_squares(self) -> float:
        """R² without noise."""
        z = self.field.standardise(self.x, self.y).z
        return self.score(self.field.solve(z.T @ z / len(z)))


@cache
def _field(columns: int) -> LinearModel:
    return LinearModel(columns, scales=(np.zeros(columns + 1), np.ones(columns + 1)))


@cache
def _release(columns: int, level: int, n: int, channel: str, share_within: Any) -> MomentRelease:
    given: dict[str, Any] = {"channel": channel, "share_within": share_within, "n_respondents": n}
    return regression_release(_field(columns), level, **given)


def draw_population(kind: str, columns: int, rng: np.random.Generator) -> Population:
    """Linear in x with R² near .6; columns, and with skewed ones the errors, as the kind says."""
    own = rng.normal(size=(_SIZE, columns))
    if kind == "exponential":
        x = rng.exponential(size=(_SIZE, columns))
    elif kind == "log-normal, correlated":
        x = np.exp(math.sqrt(0.5) * (own + rng.normal(size=(_SIZE, 1))))
    elif kind == "two tight groups":  # correlations of .9 within each, every third column skewed
        shared = rng.normal(size=(_SIZE, 2))[:, np.arange(columns) % 2]
        mixed = 0.95 * shared + math.sqrt(1 - 0.95**2) * own
        x = np.where(np.arange(columns) % 3 == 0, np.exp(0.7 * mixed), mixed)
    else:
        x = own
    x = _standard(x)
    errors = rng.normal(size=_SIZE)
    if kind in ("exponential", "log-normal, correlated"):
        errors = np.exp(0.8 * errors)
    signal = x @ rng.normal(size=columns)
    return Population(x, _standard(math.sqrt(0.6) * _standard(signal) + math.sqrt(0.4) * _standard(errors)))


def _standard(values: FloatArray) -> FloatArray:
    return np.asarray((values - values.mean(axis=0)) / values.std(axis=0))


def drawn_scores(
    people: Population, level: int, n: int, rng: np.random.Generator, repair: Any = "auto", **plan: Any
) -> FloatArray:
    """R² of surveys of n respondents, their means drawn."""
    release = _release(people.x.shape[1], level, n, plan.get("channel", "auto"), plan.get("share_within"))
    rows = release.encode(people.x, people.y).rows
    mean, covariance = release.channel.statistics(rows).mean(axis=0), release.channel.mean_covariance(rows) / n
    values, vectors = np.linalg.eigh(covariance)
    root, errors = vectors * np.sqrt(np.maximum(values, 0)), np.sqrt(np.diag(covariance))
    found = []
    for noise in rng.standard_normal((_SURVEYS, len(mean))):
        tally = DrawnTally(release.channel, mean + root @ noise, errors, n)
        gram = release.gram(tally)
        gram[:-1, :-1] = repair_design(gram[:-1, :-1], release.noise(tally), repair).repaired
        found.append(people.score(people.field.solve(gram)))
    return np.array(found)


def real_scores(people: Population, level: int, n: int, rng: np.random.Generator) -> FloatArray:
    """R² of surveys of n respondents, each of whom sends a report."""
    found = []
    for _ in range(_REAL):
        chosen = rng.integers(len(people.y), size=n)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RepairWarning)
            scales = (people.field.centres, people.field.scales)
            fit = simulate_linear(people.x[chosen], people.y[chosen], level, rng, scales=scales)
        found.append(people.score(fit.theta))
    return np.array(found)


def _agreement(kind: str, columns: int, level: int, n: int, seed: int, populations: int) -> Figure:
    drawn, real = [], []
    for number in range(populations):
        people = draw_population(kind, columns, np.random.default_rng([seed, number, columns]))
        drawn.append(drawn_scores(people, level, n, np.random.default_rng([seed, number, 1])))
        real.append(real_scores(people, level, n, np.random.default_rng([seed, number, 2])))
    # Populations differ in the same way for both: their spread is that within them.
    error = math.sqrt(sum(float(part.var(axis=1).mean() / part.size) for part in map(np.array, (drawn, real))))
    gap = (float(np.mean(real)) - float(np.mean(drawn))) / error
    note = f"{np.mean(real):.3f} of reports, {np.mean(drawn):.3f} drawn, standard error {error:.3f}"
    return Figure(
        NAME, f"reports minus drawn, in standard errors: {kind}, p = {columns}, level {level}", gap, -4, 4, note
    )


@check(NAME)
def defaults(rng: np.random.Generator, simulations: int) -> Iterator[Figure]:
    """R² with all defaults minus that of the best alternative, for every kind, p, n and level."""
    seed, populations = int(rng.integers(2**32)), min(simulations, _MOST_POPULATIONS)
    yield _agreement("normal", 3, 2, 5_000, seed, populations)
    yield _agreement("log-normal, correlated", 8, 1, 16_000, seed, populations)
    for kind in KINDS:
        for columns in COLUMNS:
            several = [
                draw_population(kind, columns, np.random.default_rng([seed, number, columns]))
                for number in range(populations)
            ]
            exact = float(np.mean([people.least_squares() for people in several]))
            for n in PEOPLE:
                for level in LEVELS:
                    yield _figure(f"{kind}, p = {columns}, n = {n:,}, level {level}", several, exact, level, n, seed)


def _figure(case: str, several: list[Population], exact: float, level: int, n: int, seed: int) -> Figure:
    def mean(**options: Any) -> float:
        # The same noise for all alternatives, as far as they can use the same.
        rngs = [np.random.default_rng([seed, number, n, level]) for number in range(len(several))]
        scores = [drawn_scores(people, level, n, own, **options) for people, own in zip(several, rngs, strict=True)]
        return float(np.mean(scores))

    usual = mean()
    others = {name: mean(**options) for name, options in ALTERNATIVES.items()}
    best = max(others, key=lambda name: others[name])
    encoding = _release(several[0].x.shape[1], level, n, "auto", None).encoding
    note = f"{encoding} {usual:.3f}, {best} {others[best]:.3f}, least squares {exact:.3f}"
    return Figure(NAME, case, usual - others[best], -MOST_BEHIND, math.inf, note)
