"""Ball release: means, variances and covariances of vectors. Statistical tests have a false-alarm rate of 1e-7 each."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from askance import Enumerated, build_channel, certify, recommend
from askance._kernels.directions import UNIT
from askance.channels.statistics import BallRelease
from askance.errors import InputError, ShapeError
from tests.vector_mixture import RATE, check_means_and_covariances, mixture


@pytest.mark.parametrize(("level", "candidates"), [(1, None), (4, None), ("1/2", 4), (6, 32)])
def test_means_and_covariances_are_as_stated(level: Any, candidates: int | None) -> None:
    check_means_and_covariances(BallRelease(3, level, 2, candidates), 200_000)


def test_covariance_of_one_vector_follows_from_the_score() -> None:
    """Along v only the score matters; across v the components are N(0, 1)."""
    channel = BallRelease(3, 4, 2)
    covariance = channel.mean_covariance([[2.0, 0.0, 0.0]])
    choice, scale = channel.choice, 4 / channel.choice.gain**2
    np.testing.assert_allclose(covariance, np.diag([scale * choice.second_moment - 4, scale, scale]), rtol=1e-12)
    np.testing.assert_allclose(channel.excess_covariance([[2.0, 0.0, 0.0]]), covariance, rtol=1e-12)
    total = np.trace(BallRelease(10, 1).mean_covariance(np.eye(10)[:1])) * BallRelease(10, 1).choice.gain ** 2
    assert total / 10 == pytest.approx(1.0002, abs=1e-4)  # next to directions without information


def test_sums_are_those_of_the_directions() -> None:
    channel = BallRelease(2, 1, 3)
    reports = channel.simulate(np.zeros((40, 2)), np.random.default_rng(2))
    made = np.rint(channel.debias(reports) * UNIT * channel.choice.gain / 3).astype(np.int64)
    assert channel.sums(reports).tolist() == [*made.sum(axis=0), *(made**2).sum(axis=0)]
    assert channel.sums(reports).dtype == np.int64


def test_longer_vectors_are_told_better() -> None:
    """With the radius twice as large as needed variances are four times as large."""
    exact, wide = BallRelease(4, 1, 1), BallRelease(4, 1, 2)
    for vectors in (np.zeros((1, 4)), 0.5 * np.eye(4)):
        ratio = np.diag(wide.mean_covariance(vectors)) / np.diag(exact.mean_covariance(vectors))
        assert (np.abs(ratio - 4) < 0.05).all()


def test_statistics_are_the_vectors() -> None:
    channel = BallRelease(2, 1)
    assert channel.dimension == channel.truth_width == 2
    assert np.array_equal(channel.statistics([[0.5, 0.5]]), [[0.5, 0.5]])
    first, second = channel.worst_pair()
    assert np.array_equal(first, -second)


def test_a_single_report_has_a_variance() -> None:
    channel = BallRelease(2, 1)
    report = channel.randomize_one([0.6, -0.8])
    assert int(report["seed"], 16) < 2**64
    assert 0 <= report["choice"] < channel.candidates
    assert channel.variances(channel.sums(channel.randomize([[0.6, -0.8]])), 1).min() > 0


def test_simulated_reports_have_the_stated_likelihood() -> None:
    """The best of one's own vector are chosen with probability p, those of the opposite one with s·low."""
    channel, n = BallRelease(3, 2, candidates=32), 20_000
    choice, vector = channel.choice, channel.worst_pair()[0]
    reports = channel.simulate(np.repeat(vector, n, axis=0), np.random.default_rng(16))
    found = channel.log_likelihood(reports, np.concatenate(channel.worst_pair()))
    likely = [choice.top * choice.high, choice.top * choice.low]
    for seen, share in zip((found > math.log(choice.low) + 1).sum(axis=0), map(float, likely), strict=True):
        assert abs(seen - n * share) < stats.norm.isf(RATE / 4) * math.sqrt(n * share * (1 - share))


# -- a ball around another centre --------------------------------------------------------------------------------------

CENTRE = np.array([0.5, -4.0, 0.0])


def test_a_centre_shifts_everything_and_changes_nothing_else() -> None:
    """Reports are the same bit for bit, means are shifted, variances and the level stay."""
    vectors, weights = mixture()
    plain, shifted = BallRelease(3, 2, 2), BallRelease(3, 2, 2, centre=CENTRE)
    vectors = np.trunc(vectors * 1024) / 1024  # so that nothing is rounded on the way to the centre and back
    truth = vectors[np.random.default_rng(3).choice(len(vectors), p=weights, size=3_000)]
    here = plain.simulate(truth, np.random.default_rng(4))
    there = shifted.simulate(truth + CENTRE, np.random.default_rng(4))
    for name, column in here.columns.items():
        assert np.array_equal(column, there.columns[name])
    sums, n = plain.sums(here), len(here)
    assert np.array_equal(sums, shifted.sums(there))
    np.testing.assert_allclose(shifted.mean(sums, n), plain.mean(sums, n) + CENTRE, rtol=1e-14)
    np.testing.assert_allclose(shifted.debias(there), plain.debias(here) + CENTRE, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(shifted.variances(sums, n), plain.variances(sums, n))
    np.testing.assert_allclose(
        shifted.mean_covariance(vectors + CENTRE, weights), plain.mean_covariance(vectors, weights), rtol=1e-12
    )
    np.testing.assert_array_equal(shifted.log_likelihood(there, vectors + CENTRE), plain.log_likelihood(here, vectors))
    np.testing.assert_array_equal(shifted.statistics(vectors + CENTRE), vectors + CENTRE)
    assert certify(shifted).to_json() == certify(plain).to_json()
    assert np.array_equal(shifted.worst_pair()[0], plain.worst_pair()[0] + CENTRE)


def test_a_centre_is_part_of_what_a_channel_is() -> None:
    """It is written down and makes another fingerprint; a centre of 0 is none."""
    plain, shifted = BallRelease(3, 2), BallRelease(3, 2, centre=CENTRE)
    assert BallRelease(3, 2, centre=[0, -0.0, 0]).fingerprint == plain.fingerprint
    assert shifted.fingerprint != plain.fingerprint
    again = build_channel(shifted.specification())
    assert again == shifted
    assert BallRelease(2, 1, centre="1/2").specification()["centre"] == 0.5
    with pytest.raises(
        InputError, match=r"row 0 is too long; allowed: a norm from the centre of at most 1, the radius"
    ):
        shifted.randomize([[0.5, -2.5, 0.0]])
    with pytest.raises(ShapeError, match="centre has shape"):
        BallRelease(3, 2, centre=[1, 2])


@pytest.mark.parametrize(
    ("table", "radius", "centre"), [([[0, 0, 1, 1], [0, 1, 0, 1]], 0.5**0.5, 0.5), ([[-1, 1]], 1, 0)]
)
def test_recommendations_take_the_smaller_ball(table: list[list[int]], radius: float, centre: float) -> None:
    """Bits lie within half the distance of ½; what is centred already stays around 0."""
    rows = {row.name: row.channel for row in recommend(Enumerated(table), 1).channels}
    ball = rows["ball-release"]
    assert isinstance(ball, BallRelease)
    assert ball.radius == pytest.approx(radius, rel=1e-12)
    assert ball.centre.tolist() == [centre] * len(table)
