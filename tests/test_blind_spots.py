"""Channels made for a few θ: whether they tell these apart, and the θ between them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import minimum_spanning_tree

from askance import Enumerated, MatrixChannel, Prior, RandomizedResponse, optimal_channel, plan
from askance.design import asymptotics
from askance.design.covariances import marginal_information
from askance.design.optimum.blind_spots import _shortest_tree, blind_spot
from askance.errors import AskanceWarning, BlindSpotWarning

SCALE = Enumerated([list(range(10))])
TWO = Enumerated([[0, 0, 1, 1], [0, 1, 0, 1]])


@pytest.mark.parametrize("name", ["minimax", "prior"])
def test_mirrored_guesses_on_a_scale_are_told_apart_by_nobody(name: str) -> None:
    """The best channel for ±0.6 tells how far out people are, and not on which side: S p is the same for both."""
    points: dict[str, Any] = {name: [[-0.6], [0.6]]}
    with pytest.warns(BlindSpotWarning, match=re.escape("hardly tells θ = (-0.6) and θ = (0.6) apart")) as told:
        channel = optimal_channel(SCALE, 1, **points)
    assert told[0].filename == __file__
    assert "Give θ between them too, (0) at least" in str(told[0].message)
    left, right = (channel.apply(SCALE.probabilities(np.array([x]))) for x in (-0.6, 0.6))
    assert left == pytest.approx(right, abs=1e-12)
    assert marginal_information(SCALE, channel, np.zeros(1)) == pytest.approx(0, abs=1e-25)


@pytest.mark.parametrize("name", ["minimax", "prior"])
def test_the_remedy_works(name: str) -> None:
    """With 0 among the guesses there is no warning, and the error at 0 is finite."""
    points: dict[str, Any] = {name: [[-0.6], [0.0], [0.6]]}
    channel = optimal_channel(SCALE, 1, **points)
    errors = [float(asymptotics(SCALE, channel, [x]).marginal[0, 0]) for x in (-0.6, 0.0, 0.6)]
    assert max(errors) < 10
    left, right = (channel.apply(SCALE.probabilities(np.array([x]))) for x in (-0.6, 0.6))
    assert np.abs(left - right).max() > 0.1


def test_lopsided_guesses_name_the_place() -> None:
    """Between −0.5 and 0.7 information vanishes at 0.13; a few points of a prior have the same fate as minimax."""
    with pytest.warns(BlindSpotWarning, match=r"at θ = \(0\.1\d+\) it has 0\.00\d+ of the information"):
        channel = optimal_channel(SCALE, 1, prior=Prior.weighted([[-0.5], [0.7]], [1, 1]))
    found = blind_spot(SCALE, channel, channel.points)
    assert found is not None
    assert not found.is_alike
    near = [float(marginal_information(SCALE, channel, np.array([x]))[0, 0]) for x in np.linspace(-0.5, 0.7, 2001)]
    assert min(near) < 1e-5 * min(near[0], near[-1])
    assert found.between[0] == pytest.approx(np.linspace(-0.5, 0.7, 2001)[int(np.argmin(near))], abs=1.2 / 32)


def test_several_parameters() -> None:
    """Opposite corners of a square: the channel tells how far out, and (0, 0) is where it goes blind."""
    with pytest.warns(BlindSpotWarning, match=re.escape("(0, 0) at least")):
        optimal_channel(TWO, 1, minimax=[[3, 3], [-3, -3]])
    optimal_channel(TWO, 1, minimax=[[3, 3], [0, 0], [-3, -3]])


@pytest.mark.parametrize("points", [[[-0.6], [0.6]], [[-0.5], [0.7]], [[-0.6], [-0.6]]])
def test_channels_for_moments_are_never_blind(points: list[list[float]]) -> None:
    """An unbiased β of the statistics tells all θ apart; and one θ, even given twice, has nothing between."""
    optimal_channel(SCALE, 1, minimax=points, target="moments")
    optimal_channel(SCALE, 1, minimax=points[:1] * 2)


def test_plans_that_seek_a_level_warn_of_the_channel_at_that_level_alone() -> None:
    """Small levels, which the search comes across, are blind; 5.6, which it finds in one case, is not."""
    model, guesses = Enumerated([[0, 1, 2, 3, 4]]), [[-2.0], [2.0]]
    found = plan(model, "optimal", prior=guesses, n=9000, standard_error=0.027)
    assert 5 < found.designs[-1].privacy_level < 6
    with pytest.warns(BlindSpotWarning) as told:
        found = plan(model, "optimal", prior=guesses, n=9000, standard_error=0.05)
    assert 1 < found.designs[-1].privacy_level < 2
    assert len(told) == 1


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.floats(-2, 2), st.floats(-2, 2)), min_size=2, max_size=5, unique=True),
    st.floats(0.2, 3),
)
def test_invertible_channels_have_no_blind_spot(points: list[tuple[float, float]], level: float) -> None:
    """Randomized response tells the same share of the information nearly everywhere."""
    channel = RandomizedResponse.for_privacy_level(level, outputs=4)
    assert blind_spot(TWO, channel, np.array(points)) is None


@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(1, 4))
@settings(max_examples=40, deadline=None)
def test_the_tree_joins_all_points_by_the_least_length(seed: int, count: int, dimension: int) -> None:
    points = np.random.default_rng(seed).normal(size=(count, dimension))
    pairs = _shortest_tree(points)
    joined = {0}
    for i, j in pairs:
        assert i in joined
        joined.add(j)
    assert joined == set(range(count))
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    least = float(minimum_spanning_tree(distances).sum())
    assert sum(distances[i, j] for i, j in pairs) == pytest.approx(least)


@pytest.mark.parametrize("distance", [1e-3, 1e-9, 1e-12, 1e-16, 1e-110, 5e-324])
def test_theta_that_differ_by_rounding_are_one_place(distance: float) -> None:
    channel = RandomizedResponse.for_privacy_level(1, outputs=4)
    for point in (0.0, 1.0):
        assert blind_spot(TWO, channel, np.array([[point, 0.0], [point, distance]])) is None


def test_the_place_is_named_whichever_way_it_is_found() -> None:
    """Three θ in a row, blind at 0, between the last two; −2 and 1.5 look nearly alike."""
    model = Enumerated([[-1, 0, 1]])
    folded = MatrixChannel([["3/4", "1/4", "3/4"], ["1/4", "3/4", "1/4"]])
    found = blind_spot(model, folded, np.array([[-2.0], [-1.0], [1.5]]))
    assert found is not None
    assert found.between == pytest.approx([0], abs=3.5 / 32)
    assert issubclass(BlindSpotWarning, AskanceWarning)
