"""Predicted covariances are met: Σ_mom and Σ_marg against n · Cov of estimates from simulated tallies.

Tallies are drawn from their exact law, multinomial in S p_θ, which is that of n respondents.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

import numpy as np

from acceptance.check import Figure, check
from askance import (
    CoordinateRelease,
    Enumerated,
    MatrixChannel,
    PerValue,
    RandomizedResponse,
    Tally,
    asymptotics,
    estimate,
    optimal_channel,
)
from askance._arrays import FloatArray, IntArray
from askance.channels import FiniteChannel, StatisticsChannel
from askance.design.statistics_covariances import all_reports, report_matrix
from askance.errors import RepairWarning

LEVEL = 1
WITHIN = 0.05
LEAST_FITS = 2000

#: From the counts of all possible observations to θ̂.
Estimator: TypeAlias = Callable[[IntArray], FloatArray]


class Prediction(NamedTuple):
    """One estimator through one channel.

    Attributes:
        label: both in words.
        frequencies: q = S p_θ, of all possible observations, shape (k,).
        estimator: from their counts to θ̂.
        sigma: the predicted limit of n Cov θ̂, shape (d, d).
    """

    label: str
    frequencies: FloatArray
    estimator: Estimator
    sigma: FloatArray


class Met(NamedTuple):
    """What simulated tallies gave.

    Attributes:
        ratios: n Cov θ̂ over Σ, as eigenvalues: from the smallest over all directions to the largest, shape (d,).
        plain: tr of the plain empirical n Cov θ̂ over tr Σ.
        error: the standard error of `plain`.
        repaired: the share of fits that needed a repair.
    """

    ratios: FloatArray
    plain: float
    error: float
    repaired: float


def _on_outputs(name: str, model: Enumerated, theta: FloatArray, channel: FiniteChannel) -> Iterator[Prediction]:
    limit, frequencies = asymptotics(model, channel, theta), channel.apply(model.probabilities(theta))

    def marginal(counts: IntArray) -> FloatArray:
        # Where there are so many answers, the highest maximum is the one near the truth.
        return estimate(model, Tally(channel, counts), "marginal", starts=[theta]).theta

    yield Prediction(f"{name}, marginal", frequencies, marginal, limit.marginal)
    if limit.moments is not None:
        yield Prediction(
            f"{name}, moments",
            frequencies,
            lambda counts: estimate(model, Tally(channel, counts), "moments").theta,
            limit.moments,
        )


def _on_statistics(name: str, model: Enumerated, theta: FloatArray, channel: StatisticsChannel) -> Iterator[Prediction]:
    """Moments from the sums of reports; the likelihood from the same reports as observations of a written-out S."""
    reports, S = all_reports(channel), report_matrix(channel, model.table.T)
    assert reports is not None
    assert S is not None
    limit, frequencies = asymptotics(model, channel, theta), S @ model.probabilities(theta)
    sums = np.array([channel.sums(reports[i : i + 1]) for i in range(len(reports))])

    def moments(counts: IntArray) -> FloatArray:
        return estimate(model, Tally(channel, counts @ sums, int(counts.sum())), "moments").theta

    yield Prediction(f"{name}, moments", frequencies, moments, limit.moments)
    assert limit.marginal is not None
    written = MatrixChannel(S / S.sum(axis=0), outputs=model.outputs)
    likelihood = next(iter(_on_outputs(name, model, theta, written)))
    yield likelihood._replace(sigma=limit.marginal)


def predictions(model: Enumerated, theta: FloatArray) -> Iterator[Prediction]:
    """Every channel with every estimator that it allows."""
    box = {"lower": model.table.min(axis=1), "statistic_bound": model.statistic_ranges}
    yield from _on_outputs(
        "randomized response", model, theta, RandomizedResponse.for_privacy_level(LEVEL, outputs=model.outputs)
    )
    yield from _on_statistics("coordinate release", model, theta, CoordinateRelease(model.dimension, LEVEL, **box))
    yield from _on_statistics("per-value", model, theta, PerValue.for_model(model, LEVEL))
    yield from _on_outputs("optimal for the likelihood", model, theta, optimal_channel(model, LEVEL, theta))
    yield from _on_outputs("optimal for moments", model, theta, optimal_channel(model, LEVEL, theta, target="moments"))


def simulate(prediction: Prediction, n: int, fits: int, rng: np.random.Generator) -> Met:
    """Estimate from `fits` tallies of n answers.

    The covariance of counts is known, n (diag q − q qᵀ). So θ̂ is regressed on the counts, the part that is linear in
    them gets its exact covariance, and only the rest is left to chance: the ratios are far more exact than `plain`.
    """
    q, sigma = prediction.frequencies, prediction.sigma
    counts = rng.multinomial(n, q / q.sum(), size=fits)
    repaired = 0
    estimates = []
    for row in counts:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", RepairWarning)
            estimates.append(prediction.estimator(row))
        repaired += bool(caught)
    errors = math.sqrt(n) * (np.array(estimates) - np.mean(estimates, axis=0))
    moved = (counts / n - q) * math.sqrt(n)
    moved -= moved.mean(axis=0)
    slope = np.linalg.lstsq(moved, errors, rcond=1e-9)[0]
    left = errors - moved @ slope
    covariance = slope.T @ (np.diag(q) - np.outer(q, q)) @ slope + left.T @ left / (fits - 1)
    inverse = np.linalg.inv(np.linalg.cholesky(sigma))
    squares = (errors**2).sum(axis=1) / np.trace(sigma)
    return Met(
        np.linalg.eigvalsh(inverse @ covariance @ inverse.T),
        float(squares.sum() / (fits - 1)),
        float(squares.std(ddof=1) / math.sqrt(fits)),
        repaired / fits,
    )


@check("predicted-covariances")
def predicted_covariances(rng: np.random.Generator, simulations: int) -> Iterator[Figure]:
    """n Cov θ̂ over the prediction in the direction that it meets worst, within 5 %, at large n."""
    two = Enumerated([[0, 0, 1, 1], [0, 1, 0, 1]])
    cases = {
        "weak": (two, np.array([2.0, -0.1]), 10**6),
        "strong": (two, np.array([5.0, -1.0]), 10**8),  # where outputs of probability 0.002 must be many
        "4 categories": (Enumerated.saturated(4), np.array([-0.5, 0.2, -1.0]), 10**6),
    }
    fits = max(LEAST_FITS, simulations // 5)
    for label, (model, theta, n) in cases.items():
        for prediction in predictions(model, theta):
            met = simulate(prediction, n, fits, rng)
            worst = float(met.ratios[np.argmax(np.abs(np.log(met.ratios)))])
            note = f"{fits:,} fits, n = {n:,}; plain tr n Cov / tr Σ {met.plain:.3f} ± {met.error:.3f}"
            if met.repaired:
                note += f", repaired {met.repaired:.1%}"
            yield Figure("predicted-covariances", f"{label}: {prediction.label}", worst, 1 - WITHIN, 1 + WITHIN, note)
