"""Paths of EM over the likelihood: every step against Bayes' rule, and the maximum at which they end."""

from __future__ import annotations

import numpy as np
import pytest

from askance import Enumerated, RandomizedResponse, Tally
from askance._arrays import FloatArray
from askance.geometry import em_paths, likelihood_picture
from tests.geometry_examples import FIGURE_S, STEPS, TWO_MAXIMA, curve_example, log_likelihood, nine_outputs, slope


def one_em_step(model: Enumerated, tally: Tally, theta: FloatArray) -> FloatArray:
    """Σ_o q̂(o) E_θ[φ | o], from Bayes' rule."""
    p = np.exp(theta @ model.table)
    joint = tally.channel.matrix * (p / p.sum())
    posterior = joint / joint.sum(axis=1, keepdims=True)
    return np.asarray(model.table @ (tally.frequencies @ posterior))


def test_em_iterates_match_expected_statistics_and_never_fall() -> None:
    for path in em_paths(STEPS, FIGURE_S, TWO_MAXIMA, [-3, 0, 1, 3.0], 40):
        heights = log_likelihood(STEPS, TWO_MAXIMA, path.iterates)
        np.testing.assert_allclose(path.average_log_likelihood, heights, atol=1e-13)
        assert (np.diff(heights) >= -1e-15).all()
        assert len(path.iterates) == 41
        for before, after in zip(path.iterates, path.iterates[1:], strict=False):
            wanted = one_em_step(STEPS, TWO_MAXIMA, before)
            np.testing.assert_allclose(STEPS.mean_statistics(after), wanted, atol=1e-9)


@pytest.mark.parametrize("start", [-4.0, 0.5, 1.0, 1.3, 5.0])
def test_em_ends_at_the_maximum_up_the_slope(start: float) -> None:
    """With one statistic the EM map is increasing, so that it passes no stationary point."""
    (path,) = em_paths(STEPS, FIGURE_S, TWO_MAXIMA, [start], 5)
    minimum = 1.13  # of the likelihood, between the maxima
    below, above = slope(STEPS, TWO_MAXIMA, np.array([1.1, 1.16]))
    assert below < 0 < above
    assert path.maximum == (0 if start < minimum else 1)


def test_em_of_two_parameters() -> None:
    model, tally, _ = nine_outputs()
    data = likelihood_picture(model, tally.channel, tally, points=11).data
    paths = em_paths(model, tally.channel, tally, [[-1, 3], [3, -1], [3, 3], [-1, -1]], 3)
    for path, signs in zip(paths, [(-1, 1), (1, -1), (1, 1), (-1, -1)], strict=True):
        assert path.maximum is not None
        assert tuple(np.sign(data["maxima"][path.maximum]["theta"])) == signs
        assert (np.diff(log_likelihood(model, tally, path.iterates)) >= -1e-15).all()


def test_em_in_the_picture_is_em() -> None:
    paths = em_paths(STEPS, FIGURE_S, TWO_MAXIMA, [-3, 0, 3], 20)
    data = curve_example().data["em"]
    assert [each["iterates"] for each in data] == [path.iterates.tolist() for path in paths]
    assert [each["maximum"] for each in data] == [path.maximum for path in paths] == [0, 0, 1]


def test_em_stops_where_it_rests() -> None:
    (path,) = em_paths(Enumerated([[0, 1]]), RandomizedResponse("9/10", outputs=2), _even_tally(), [0.3], 500)
    assert len(path.iterates) < 100
    assert path.iterates[-1] == pytest.approx(0, abs=1e-8)


def _even_tally() -> Tally:
    return Tally(RandomizedResponse("9/10", outputs=2), [50, 50])
