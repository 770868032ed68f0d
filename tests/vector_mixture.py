"""A mixture of vectors, and what the reports of any channel for vectors must have in common with it."""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

from askance._arrays import FloatArray
from askance.channels.statistics import BallRelease, QuadraticRelease

# Of every comparison of frequencies.
RATE = 1e-7


def mixture() -> tuple[FloatArray, FloatArray]:
    """Vectors in a ball of radius 2, on its surface and at 0, with weights."""
    vectors = np.array([[2.0, 0.0, 0.0], [0.0, -1.2, 1.6], [0.5, 0.5, -0.25], [0.0, 0.0, 0.0], [-1.0, -1.0, 0.0]])
    return vectors, np.array([0.3, 0.25, 0.2, 0.1, 0.15])


def check_means_and_covariances(channel: BallRelease | QuadraticRelease, n: int) -> None:
    """χ² of the mean against the stated covariance, and every entry of the sample covariance."""
    (vectors, weights), rng = mixture(), np.random.default_rng(1)
    reports = channel.simulate(vectors[rng.choice(len(vectors), p=weights, size=n)], rng)
    truth = channel.statistics(vectors)
    expected = channel.mean_covariance(vectors, weights)
    sums = channel.sums(reports)
    error = channel.mean(sums, n) - weights @ truth
    assert n * error @ np.linalg.solve(expected, error) < stats.chi2.isf(RATE, len(error))
    beta = channel.debias(reports)
    np.testing.assert_allclose(beta.mean(axis=0), channel.mean(sums, n), rtol=1e-9)
    centred = beta - beta.mean(axis=0)
    products = np.einsum("ni,nj->nij", centred, centred)
    # Of a symmetric matrix, d (d + 1) / 2 entries are compared on two sides.
    entries = len(error) * (len(error) + 1)
    allowed = stats.norm.isf(RATE / entries) * products.std(axis=0) / math.sqrt(n)
    assert (np.abs(products.mean(axis=0) - expected) < allowed).all()
    np.testing.assert_allclose(channel.variances(sums, n), np.diag(products.mean(axis=0)), rtol=1e-4)
