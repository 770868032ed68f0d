"""Randomized response: exact levels, at any number of outputs."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askance import Enumerated, MatrixChannel, RandomizedResponse, Tally, asymptotics, certify
from askance.channels.thresholds import apportion, exp_rounded_down, log_rounded_up
from askance.design import randomized_response_excess_covariance


@given(
    level=st.floats(1e-3, 12),
    size=st.integers(2, 400),
)
@settings(max_examples=80, deadline=None)
def test_for_privacy_level_spends_the_level_exactly(level: float, size: int) -> None:
    channel = RandomizedResponse.for_privacy_level(level, outputs=size)
    assert channel.privacy_level <= level
    assert channel.privacy_level > level * (1 - 1e-9)
    largest = math.expm1(level) / (math.expm1(level) + size)
    assert channel.reveal_probability == pytest.approx(largest, rel=1e-9)


@given(
    level=st.floats(0.05, 10),
    weights=st.lists(st.integers(1, 50), min_size=2, max_size=12),
)
@settings(max_examples=80, deadline=None)
def test_for_privacy_level_with_any_base(level: float, weights: list[int]) -> None:
    base = [Fraction(w, sum(weights)) for w in weights]
    channel = RandomizedResponse.for_privacy_level(level, base)
    assert level * (1 - 1e-9) < channel.privacy_level <= level
    assert channel.privacy_level == pytest.approx(MatrixChannel(channel.matrix).privacy_level, rel=1e-12)
    np.testing.assert_allclose(channel.base_distribution, [float(b) for b in base], rtol=1e-12)


def test_exact_level_of_a_given_reveal_probability() -> None:
    for size, epsilon in ((256, 0.1), (2, 0.5), (1000, 0.01)):
        channel = RandomizedResponse(epsilon, outputs=size)
        assert channel.privacy_level == pytest.approx(math.log1p(epsilon * size / (1 - epsilon)), rel=1e-14)


def test_always_telling_the_truth_has_no_level() -> None:
    channel = RandomizedResponse(1, outputs=3)
    assert channel.privacy_level == math.inf
    assert np.array_equal(channel.matrix, np.eye(3))
    assert certify(channel).unbiased


def test_wide_channels_never_build_the_matrix() -> None:
    size = 300_000
    channel = RandomizedResponse.for_privacy_level(2, outputs=size)
    rng = np.random.default_rng(0)
    truth = rng.integers(0, size, 10_000)
    tally = Tally(channel).add(channel.simulate(truth, rng))
    model = Enumerated(np.linspace(0, 1, size)[None, :])
    beta = channel.observation_function(model)
    certificate = certify(channel)
    assert tally.n_observations == 10_000
    assert beta.coefficients.shape == (1, size)
    assert certificate.proved_by == "structure"
    assert 1.99 < certificate.privacy_level <= 2
    assert "matrix" not in channel.__dict__


def test_randomized_response_equals_its_matrix() -> None:
    channel = RandomizedResponse("1/3", ["1/2", "1/3", "1/6"])
    dense = MatrixChannel(channel.matrix)
    model = Enumerated([[1.0, 2.0, 4.0], [0.0, 1.0, 0.0]])
    np.testing.assert_allclose(
        channel.observation_function(model).coefficients,
        dense.observation_function(model).coefficients,
        rtol=1e-12,
        atol=1e-13,
    )


@pytest.mark.parametrize("epsilon", [0.05, 0.4, 0.9, 1.0])
def test_closed_form_of_the_excess_covariance_equals_enumeration(epsilon: float) -> None:
    model = Enumerated([[0, 0, 1, 1], [0, 1, 0, 1]])
    channel = RandomizedResponse(epsilon, [0.1, 0.2, 0.3, 0.4])
    result = asymptotics(model, channel, [1.0, -0.5])
    assert result.excess_covariance is not None
    np.testing.assert_allclose(
        result.excess_covariance,
        randomized_response_excess_covariance(model, channel, [1.0, -0.5]),
        rtol=1e-10,
        atol=1e-10,
    )


@given(
    weights=st.lists(st.integers(0, 10**9), min_size=1, max_size=30).filter(any),
    total=st.integers(10**3, 2**62),
)
def test_apportioned_units_sum_up_and_are_close(weights: list[int], total: int) -> None:
    shares = [Fraction(w, sum(weights)) for w in weights]
    units = apportion(shares, total)
    assert sum(units) == total
    bumped = sum(0 < share * total < 1 for share in shares)
    for share, unit in zip(shares, units, strict=True):
        assert (unit == 0) == (share == 0)
        assert abs(unit - share * total) <= 1 + bumped


@given(numerator=st.integers(1, 2**62), denominator=st.integers(1, 2**62))
def test_logarithms_are_rounded_up(numerator: int, denominator: int) -> None:
    ratio = Fraction(numerator, denominator)
    up = log_rounded_up(ratio)
    assert exp_rounded_down(Fraction(up)) * (1 + Fraction(1, 10**50)) >= ratio
    assert up - 2 * math.ulp(up) <= math.log(numerator) - math.log(denominator) + 1e-12
