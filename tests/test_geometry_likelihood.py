"""Pictures of the likelihood: heights, all maxima and what happens at infinity, against the definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from askance import Enumerated, MatrixChannel, RandomizedResponse, Tally
from askance.errors import InputError
from askance.geometry import Picture, likelihood_picture
from tests.geometry_examples import (
    FIGURE_S,
    STEPS,
    TWO_MAXIMA,
    curve_example,
    down_crossings,
    log_likelihood,
    nine_outputs,
    slope,
    surface_example,
)


def test_the_figure_has_two_maxima() -> None:
    """Figure inv_LL at θ* = −1.1: maxima at −1.1 and 2.265, zero slope, downward curvature, and no other."""
    data = curve_example().data
    places = np.array([each["theta"][0] for each in data["maxima"]])
    assert places.round(3).tolist() == [-1.1, 2.265]
    assert np.abs(slope(STEPS, TWO_MAXIMA, places)).max() < 1e-13
    # With t = e^θ the slope is a polynomial over a positive one; its roots are the stationary points.
    Z, N = np.poly1d([1, 1, 1]), [np.poly1d(row) for row in FIGURE_S.matrix]
    total = -Z.deriv() * N[0] * N[1] * N[2]
    for q, a, b, c in zip(TWO_MAXIMA.frequencies.tolist(), N, N[1:] + N[:1], N[2:] + N[:2], strict=True):
        total = total + q * a.deriv() * b * c * Z
    roots = total.roots[(np.abs(total.roots.imag) < 1e-9) & (total.roots.real > 0)].real
    np.testing.assert_allclose(np.sort(places), np.log(np.sort(roots))[[0, 2]], atol=1e-8)
    around = slope(STEPS, TWO_MAXIMA, (places[:, None] + [-1e-3, 1e-3]).ravel())
    assert (around[::2] > 0).all()
    assert (around[1::2] < 0).all()
    assert len(down_crossings(STEPS, TWO_MAXIMA, np.linspace(-15, 15, 100_001))) == 2
    assert not data["higher_at_infinity"]


def test_the_curve_and_the_marks_have_their_heights() -> None:
    data = curve_example().data
    axis = np.array(data["axes"][0])
    np.testing.assert_allclose(
        data["average_log_likelihood"], log_likelihood(STEPS, TWO_MAXIMA, axis[:, None]), atol=1e-13
    )
    for mark in [*data["maxima"], data["moment_estimate"], data["one_step"], data["truth"]]:
        wanted = log_likelihood(STEPS, TWO_MAXIMA, np.array([mark["theta"]]))[0]
        assert mark["average_log_likelihood"] == pytest.approx(wanted, abs=1e-13)
        assert axis[0] < mark["theta"][0] < axis[-1]
    moment = STEPS.table[0] @ np.linalg.solve(FIGURE_S.matrix, TWO_MAXIMA.frequencies)
    assert data["moment_estimate"]["moment"][0] == pytest.approx(moment, abs=1e-9)
    limits = [float(TWO_MAXIMA.frequencies @ np.log(FIGURE_S.matrix[:, y])) for y in (2, 0)]
    assert [each["average_log_likelihood"] for each in data["limits"]] == pytest.approx(limits, abs=1e-13)


def test_a_likelihood_that_rises_to_infinity() -> None:
    """θ* = −1.5, below −ln 4: one maximum, and a slope up for ever on the right."""
    q = FIGURE_S.apply(STEPS.probabilities([-1.5]))
    data = likelihood_picture(STEPS, FIGURE_S, Tally(FIGURE_S, (q * 1e6).round().astype(int)), em_starts=[6]).data
    assert [round(each["theta"][0], 3) for each in data["maxima"]] == [-1.5]
    assert [each["rises"] for each in data["limits"]] == [False, True]
    assert not data["higher_at_infinity"]
    assert data["em"][0]["maximum"] is None
    certain = likelihood_picture(STEPS, FIGURE_S, Tally(FIGURE_S, [1, 0, 0])).data
    assert certain["higher_at_infinity"]
    Picture(certain).figure.canvas.draw()


weights = st.lists(st.integers(1, 20), min_size=3, max_size=3)


@settings(max_examples=12, deadline=None)
@given(st.lists(weights, min_size=3, max_size=3), st.lists(st.integers(0, 200), min_size=3, max_size=3))
def test_a_finer_grid_finds_no_other_maximum(columns: list[list[int]], counts: list[int]) -> None:
    assume(sum(counts) > 0 and np.linalg.matrix_rank(np.array(columns)) == 3)
    channel = MatrixChannel([[f"{column[o]}/{sum(column)}" for column in columns] for o in range(3)])
    tally = Tally(channel, counts)
    found = likelihood_picture(STEPS, channel, tally, points=11).data["maxima"]
    places = np.sort([each["theta"][0] for each in found])
    inner = places[np.abs(places) < 12]
    finer = down_crossings(STEPS, tally, np.linspace(-12, 12, 30_001))
    np.testing.assert_allclose(inner, finer, atol=1e-3)
    assert (np.abs(slope(STEPS, tally, places)) < 1e-12).all()


def test_all_maxima_of_a_surface_are_found() -> None:
    model, tally, places = nine_outputs()
    assert len(places) == 2
    data = likelihood_picture(model, tally.channel, tally, points=11).data
    found = np.array(sorted(np.round(each["theta"], 6).tolist() for each in data["maxima"]))
    np.testing.assert_allclose(found, [(a, b) for a in places for b in places], atol=1e-4)
    step = 1e-4
    for each in data["maxima"]:
        theta = np.array(each["theta"])
        shifts = theta + step * np.array([[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1], [1, 1], [-1, -1]])
        centre, *ring = log_likelihood(model, tally, shifts)
        assert max(ring) < centre
    one = Tally(FIGURE_S, [237, 410, 352])
    assert np.abs([slope(STEPS, one, np.array(each["theta"])) for each in data["maxima"]]).max() < 1e-12
    heights = [each["average_log_likelihood"] for each in data["maxima"]]
    assert heights == sorted(heights, reverse=True)


def test_the_surface_has_its_heights() -> None:
    data = surface_example().data
    a, b = data["axes"]
    model = Enumerated([[0, 0, 1, 1], [0, 1, 0, 1]])
    tally = Tally(RandomizedResponse("1/2", outputs=4), [160, 110, 230, 100])
    wanted = log_likelihood(model, tally, np.array([(x, y) for y in b for x in a])).reshape(len(b), len(a))
    np.testing.assert_allclose(data["average_log_likelihood"], wanted, atol=1e-13)
    assert len(data["maxima"]) == 1


def test_the_window() -> None:
    axes = likelihood_picture(STEPS, FIGURE_S, TWO_MAXIMA, window=(-2, 1), points=11).data["axes"]
    assert (axes[0][0], axes[0][-1], len(axes[0])) == (-2, 1, 11)
    for wrong in [(1, -2), (0, 0), (0, np.inf), (1, 2, 3), [(-1, 1), (-1, 1)]]:
        with pytest.raises(InputError, match="window is"):
            likelihood_picture(STEPS, FIGURE_S, TWO_MAXIMA, window=wrong)
