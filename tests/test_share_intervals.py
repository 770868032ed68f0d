"""Intervals of shares: Wilson's without noise, and coverage by enumeration with it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from askance import Direct, Enumerated, ForcedResponse, Tally, estimate
from askance.errors import AskanceWarning
from askance.estimation.results.share_intervals import share_interval

Z = 1.959963984540054


@given(st.floats(0, 1), st.floats(1e-6, 0.3), st.integers(1, 10**6), st.floats(0.5, 4))
def test_ends_are_the_shares_that_the_estimate_just_does_not_contradict(
    p: float, error: float, n: int, z: float
) -> None:
    lower, upper = (float(end[0]) for end in share_interval(np.array([p]), np.array([error]), z, n))
    assert 0 <= lower <= p + 1e-12
    assert p - 1e-12 <= upper <= 1
    noise = max(n * error**2 - p * (1 - p), 0.0)
    size = (p * (1 - p) + noise) / error**2
    for end in (lower, upper):
        if 0 < end < 1:
            assert (end - p) ** 2 == pytest.approx(z**2 * (end * (1 - end) + noise) / size, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("yes", [0, 1, 10, 50, 99])
def test_answers_seen_as_they_are_have_the_interval_of_wilson(yes: int) -> None:
    p, n = yes / 100, 100
    error = np.sqrt(p * (1 - p) / n)
    middle, reach = p + Z**2 / (2 * n), Z * np.sqrt(p * (1 - p) / n + Z**2 / (4 * n**2))
    expected = [(middle - reach) / (1 + Z**2 / n), (middle + reach) / (1 + Z**2 / n)]
    if yes:  # without a single one the error is 0 by the delta method, and says nothing
        found = share_interval(np.array([p]), np.array([error]), Z, n)
        np.testing.assert_allclose(np.concatenate(found), expected, atol=1e-12)


def test_unknown_errors_give_unknown_intervals_and_certain_shares_certain_ones() -> None:
    lower, upper = share_interval(np.array([0.2, 0.0]), np.array([np.nan, 0.0]), Z, 10)
    assert np.isnan([lower[0], upper[0]]).all()
    assert (lower[1], upper[1]) == (0.0, 0.0)


@pytest.mark.parametrize("share", [0.002, 0.01, 0.02, 0.08, 0.3, 0.95])
@pytest.mark.parametrize("n", [1000, 5000])
def test_coverage_of_rare_shares_through_a_design(share: float, n: int) -> None:
    """Exactly, over all counts of reports: 2/3 tell the truth, 1/6 say yes and 1/6 no whatever it is."""
    counts = np.arange(n + 1)
    q = counts / n
    p, error = np.clip((q - 1 / 6) * 1.5, 0, 1), 1.5 * np.sqrt(q * (1 - q) / n)
    lower, upper = share_interval(p, error, Z, n)
    chance = binom.pmf(counts, n, 1 / 6 + share * 2 / 3)
    assert 0.94 <= chance[(lower <= share) & (share <= upper)].sum() <= 0.98


@pytest.mark.parametrize("yes", [155, 170, 200])
def test_a_rare_answer_has_an_interval_that_says_something(yes: int) -> None:
    design = ForcedResponse("2/3", "1/6")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AskanceWarning)  # below one in six no share explains the reports
        fit = estimate(Enumerated.saturated(design.outputs), Tally(design, [1000 - yes, yes]))
    shares = fit.probabilities()
    assert shares.upper[1] < 0.1
    assert shares.lower[1] <= max(0.0, (yes / 1000 - 1 / 6) * 1.5) <= shares.upper[1]


def test_direct_answers_have_the_interval_of_wilson_through_estimate() -> None:
    fit = estimate(Enumerated.saturated(["no", "yes"]), Tally(Direct(["no", "yes"]), [90, 10]), method="supervised")
    shares = fit.probabilities()
    np.testing.assert_allclose([shares.lower[1], shares.upper[1]], [0.0552, 0.1744], atol=1e-4)
