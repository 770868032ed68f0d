"""Quadratic release: second moments of vectors. Statistical tests have a false-alarm rate of 1e-7 each."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from askance._kernels.directions import UNIT
from askance.channels.statistics import QuadraticRelease
from askance.errors import ShapeError
from tests.vector_mixture import RATE, check_means_and_covariances


@pytest.mark.parametrize(("level", "candidates"), [(1, None), (4, None), ("1/2", 4), (6, 32)])
def test_means_and_covariances_are_as_stated(level: Any, candidates: int | None) -> None:
    check_means_and_covariances(QuadraticRelease(3, level, 2, candidates), 100_000)


@pytest.mark.parametrize("vector", [[0.6, -0.8], [1.0, 0.0], [0.3, 0.4], [0.0, 0.0]])
def test_covariance_of_one_vector_by_quadrature(vector: list[float]) -> None:
    """E over g = h u + z, z ⊥ u Gaussian by quadrature, h on five points that have its second and fourth moment."""
    channel = QuadraticRelease(2, 2)
    choice = channel.choice
    unit = np.array([*vector, math.sqrt(max(1 - np.dot(vector, vector), 0))])
    basis = np.linalg.svd(unit[None])[2]
    basis[0] = unit
    far = math.sqrt(choice.fourth_moment / choice.second_moment)
    share = choice.second_moment / far**2
    scores, likely = np.array([-far, 0.0, far]), np.array([share / 2, 1 - share, share / 2])
    nodes, weights = np.polynomial.hermite_e.hermegauss(8)
    weights = weights / weights.sum()
    grid = np.stack(np.meshgrid(scores, nodes, nodes, indexing="ij"), axis=-1).reshape(-1, 3) @ basis
    law = np.einsum("i,j,k->ijk", likely, weights, weights).reshape(-1)
    beta = np.stack([grid[:, 0] ** 2 - 1, grid[:, 0] * grid[:, 1], grid[:, 1] ** 2 - 1], axis=1) / choice.gain
    mean = law @ beta
    np.testing.assert_allclose(mean, channel.statistics([vector])[0], atol=1e-10)
    covariance = (beta * law[:, None]).T @ beta - np.outer(mean, mean)
    np.testing.assert_allclose(channel.mean_covariance([vector]), covariance, atol=1e-10)
    np.testing.assert_allclose(channel.excess_covariance([vector]), covariance, atol=1e-10)


def test_total_variance_next_to_no_information() -> None:
    """The total over pairs is 1.10 times that of directions without information at level 1, 2.4 to 2.5 times at 8."""
    for level, candidates, expected in ((1, None, 1.095), (4, None, 1.560), (8, None, 2.416), (8, 4096, 2.484)):
        channel = QuadraticRelease(10, level, 1, candidates)
        total = np.trace(channel.mean_covariance(np.eye(10)[:1])) * channel.choice.gain**2
        assert total / (2 * 10 + 45) == pytest.approx(expected, abs=1e-3)
        choice = channel.choice
        assert choice.second_moment == pytest.approx(1 + choice.gain, rel=1e-12)


def test_sums_are_those_of_the_directions() -> None:
    channel = QuadraticRelease(2, 1, 3)
    reports = channel.simulate(np.zeros((40, 2)), np.random.default_rng(2))
    beta = channel.debias(reports) * UNIT**2 * channel.choice.gain / 9
    made = np.rint(beta + UNIT**2 * np.array([1, 0, 1])).astype(np.int64)
    rounded = (made + (1 << 16)) >> 17
    assert channel.sums(reports).tolist() == [*made.sum(axis=0), *(rounded**2).sum(axis=0)]


def test_statistics_names_and_gram() -> None:
    channel = QuadraticRelease(3, 1)
    assert channel.dimension == 6
    assert channel.truth_width == 3
    assert channel.statistic_names == ("0,0", "0,1", "0,2", "1,1", "1,2", "2,2")
    vector = np.array([0.5, -0.25, 0.75])
    triangle = channel.statistics(vector[None])[0]
    assert np.array_equal(channel.gram(triangle), np.outer(vector, vector))
    with pytest.raises(ShapeError, match=r"allowed: \(6,\)"):
        channel.gram(np.zeros(9))


def test_worst_pair_is_orthogonal() -> None:
    first, second = QuadraticRelease(3, 1, 2).worst_pair()
    assert np.array_equal(first, [[2, 0, 0]])
    assert np.array_equal(second, [[0, 2, 0]])
    first, second = QuadraticRelease(1, 1).worst_pair()
    assert (first.tolist(), second.tolist()) == ([[1.0]], [[0.0]])


def test_a_single_report_has_a_variance() -> None:
    channel = QuadraticRelease(2, 1)
    report = channel.randomize_one([0.6, -0.8])
    assert int(report["seed"], 16) < 2**64
    assert 0 <= report["choice"] < channel.candidates
    assert channel.variances(channel.sums(channel.randomize([[0.6, -0.8]])), 1).min() > 0


def test_simulated_reports_have_the_stated_likelihood() -> None:
    """The best of one's own vector are chosen with probability p, whichever way it points."""
    channel, n = QuadraticRelease(3, 2, candidates=32), 20_000
    choice, vector = channel.choice, channel.worst_pair()[0]
    reports = channel.simulate(np.repeat(vector, n, axis=0), np.random.default_rng(16))
    found = channel.log_likelihood(reports, np.concatenate([vector, -vector]))
    likely = [choice.top * choice.high] * 2
    for seen, share in zip((found > math.log(choice.low) + 1).sum(axis=0), map(float, likely), strict=True):
        assert abs(seen - n * share) < stats.norm.isf(RATE / 4) * math.sqrt(n * share * (1 - share))
