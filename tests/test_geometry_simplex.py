"""Pictures of the simplex: the family, lines of equal moments and the steps of estimation, each number anew."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from askance import Coarsened, Enumerated, MatrixChannel, RandomizedResponse, Tally
from askance.geometry import Picture, likelihood_picture, simplex_picture
from tests.geometry_examples import CURVE, FIGURE_S, STEPS, log_likelihood, outside_example, simplex_example, slope

FAMILIES = {
    "figure": CURVE,
    "steps": STEPS,
    "tie": Enumerated([[1, 1, 0]]),
    "close": Enumerated([[0, 1, 1.001]]),
    "base": Enumerated([[0, 1, 3]], log_base_measure=[0, 30, -4]),
    "tied base": Enumerated([[2, -1, -1]], log_base_measure=[0, 1, 0]),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_points_of_the_family_are_its_members(name: str) -> None:
    model = FAMILIES[name]
    family = simplex_picture(model, FIGURE_S).data["family"]
    theta, p = np.array(family["theta"]), np.array(family["probabilities"])
    scores = theta[:, None] * model.table[0] + model.log_base_measure
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    np.testing.assert_allclose(p, weights / weights.sum(axis=1, keepdims=True), atol=1e-14)
    assert (np.diff(theta) > 0).all()
    # Closed: from one limit to the other without a gap that could be seen.
    whole = np.concatenate([family["limits"][:1], p, family["limits"][1:]])
    assert np.linalg.norm(np.diff(whole, axis=0), axis=1).max() <= 0.01
    np.testing.assert_allclose(whole[[0, -1]], whole[[1, -2]], atol=2e-8)


def test_limits_of_the_family() -> None:
    limits = simplex_picture(FAMILIES["tied base"], FIGURE_S).data["family"]["limits"]
    np.testing.assert_allclose(limits[0], np.array([0, np.e, 1]) / (1 + np.e), atol=1e-15)
    assert limits[1] == [1, 0, 0]


@pytest.mark.parametrize("example", [simplex_example, outside_example])
def test_moment_lines_have_their_moment(example: Callable[[], Picture]) -> None:
    data = example().data
    phi = np.array(data["statistics"])
    wanted = {"truth": data["points"]["truth"]["moment"][0], "projection": data["points"]["projection"]["moment"][0]}
    wanted["observed"] = float(phi @ np.linalg.solve(FIGURE_S.matrix, data["frequencies"]))
    for line in data["moment_lines"]:
        assert line["moment"] == pytest.approx(wanted[line["of"]], abs=1e-10)
        for p in line["segment"] + line["through"]:
            assert phi @ p == pytest.approx(line["moment"], abs=1e-12)
            assert sum(p) == pytest.approx(1, abs=1e-12)
        inside = phi.min() <= line["moment"] <= phi.max()
        assert len(line["segment"]) == (2 if inside else 0)
        # Both ends are on the border, so that the line is drawn in its whole length.
        assert all(min(p) == 0 for p in line["segment"])


def test_lines_of_the_examples() -> None:
    """Inside the simplex r̂ is on the line of μ̂; outside it has a line of its own."""
    assert [line["of"] for line in simplex_example().data["moment_lines"]] == ["observed", "truth"]
    lines = outside_example().data["moment_lines"]
    assert [line["of"] for line in lines] == ["observed", "projection", "truth"]
    assert lines[0]["segment"] == []


def test_the_steps_of_estimation_inside_the_simplex() -> None:
    data = simplex_example().data
    points, q = data["points"], np.array([0.28, 0.32, 0.4])
    free = np.linalg.solve(FIGURE_S.matrix, q)
    np.testing.assert_allclose(points["unconstrained"]["probabilities"], free, atol=1e-12)
    np.testing.assert_allclose(points["projection"]["probabilities"], free, atol=1e-12)
    assert points["unconstrained"]["inside"]
    for name in ("family_projection", "moment_estimate"):
        weights = np.exp(np.array(points[name]["theta"]) * CURVE.table[0])
        np.testing.assert_allclose(points[name]["probabilities"], weights / weights.sum(), atol=1e-14)
        assert weights @ CURVE.table[0] / weights.sum() == pytest.approx(CURVE.table[0] @ free, abs=1e-9)
    best = points["maximum_likelihood"]
    tally = Tally(FIGURE_S, [280, 320, 400])
    assert abs(slope(CURVE, tally, np.array(best["theta"]))[0]) < 1e-12
    heights = log_likelihood(CURVE, tally, np.linspace(-8, 8, 20_001)[:, None])
    assert heights.max() <= best["average_log_likelihood"] <= heights.max() + 1e-6


def test_the_steps_of_estimation_outside_the_simplex() -> None:
    """Row 12 of the paper's corrections: S†q̂ = (7, −2, −4), and an argmin that is not the Euclidean projection."""
    far = simplex_picture(CURVE, FIGURE_S, Tally(FIGURE_S, [1, 0, 0])).data["points"]
    np.testing.assert_allclose(far["unconstrained"]["probabilities"], [7, -2, -4], atol=1e-9)
    np.testing.assert_allclose(far["projection"]["probabilities"], [1, 0, 0], atol=1e-9)
    points = outside_example().data["points"]
    assert not points["unconstrained"]["inside"]
    np.testing.assert_allclose(points["projection"]["probabilities"], [0, 0, 1], atol=1e-9)
    assert points["moment_estimate"]["repaired"]
    grid = np.array([(a, b, 100 - a - b) for a in range(101) for b in range(101 - a)]) / 100
    misfit = ((grid @ FIGURE_S.matrix.T - [0.441, 0.502, 0.057]) ** 2).sum(axis=1)
    np.testing.assert_allclose(grid[misfit.argmin()], [0, 0, 1])


@pytest.mark.parametrize(("counts", "corner"), [([1, 0, 0], 0), ([0, 0, 1], 1)])
def test_where_only_a_limit_of_the_family_has_the_moment(counts: list[int], corner: int) -> None:
    """φ is extreme at outputs 0 and 1: with r̂ there no θ has its moment, the closed family does."""
    point = simplex_picture(CURVE, FIGURE_S, Tally(FIGURE_S, counts)).data["points"]["family_projection"]
    assert point["theta"] is None
    assert point["probabilities"] == np.eye(3)[corner].tolist()


def test_the_likeliest_member_may_be_a_limit() -> None:
    channel = RandomizedResponse("1/2", outputs=3)
    tally = Tally(channel, [90, 5, 5])
    best = simplex_picture(STEPS, channel, tally).data["points"]["maximum_likelihood"]
    assert (best["theta"], best["probabilities"]) == (None, [1, 0, 0])
    heights = log_likelihood(STEPS, tally, np.linspace(-20, 20, 2001)[:, None])
    assert heights.max() <= best["average_log_likelihood"] + 1e-15


def test_a_channel_that_cannot_see_the_statistic() -> None:
    """No β: no moment estimate, but r̂ and p̂ with the line of r̂."""
    channel = Coarsened([[0, 1], [2]])
    data = simplex_picture(CURVE, channel, Tally(channel, [60, 40])).data
    assert data["points"]["moment_estimate"] is None
    np.testing.assert_allclose(data["points"]["projection"]["probabilities"], [0.3, 0.3, 0.4], atol=1e-12)
    assert [line["of"] for line in data["moment_lines"]] == ["projection"]
    assert data["moment_lines"][0]["moment"] == pytest.approx(1.2)
    Picture(data).figure.canvas.draw()


def test_a_channel_that_says_nothing() -> None:
    channel = MatrixChannel([["1/2"] * 3, ["1/2"] * 3])
    tally = Tally(channel, [5, 6])
    assert simplex_picture(CURVE, channel, tally).data["points"]["maximum_likelihood"] is None
    data = likelihood_picture(CURVE, channel, tally).data
    assert (data["maxima"], data["moment_estimate"], data["higher_at_infinity"]) == ([], None, False)
    Picture(data).figure.canvas.draw()


def test_more_observations_than_outputs() -> None:
    """S†q̂ need not sum to 1; it is shown as it is."""
    channel = MatrixChannel([[0.5, 0.1, 0.2], [0.2, 0.5, 0.1], [0.2, 0.2, 0.4], [0.1, 0.2, 0.3]])
    picture = simplex_picture(CURVE, channel, Tally(channel, [30, 30, 10, 30]))
    free = picture.data["points"]["unconstrained"]
    wanted = np.linalg.lstsq(channel.matrix, [0.3, 0.3, 0.1, 0.3], rcond=None)[0]
    np.testing.assert_allclose(free["probabilities"], wanted, atol=1e-12)
    assert not free["inside"]
    picture.figure.canvas.draw()
