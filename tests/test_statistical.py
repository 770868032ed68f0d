"""Quick versions of the acceptance checks, with a declared false-alarm rate of at most 1e-6 each."""

from __future__ import annotations

import numpy as np
import pytest
from acceptance.finite_surveys import FOUR, PAPER, TWO, simulate_surveys
from scipy.stats import binom, chi2

from askance import Enumerated, RandomizedResponse, Tally, asymptotics, estimate
from askance._arrays import FloatArray
from askance.design.covariances import observation_function
from askance.estimation.checks.channel_fit import channel_fit_test
from tests.test_statistics_fit import CHANNELS, MODEL, THETA, tally_of

FALSE_ALARM = 1e-6


SATURATED = {"2 outputs": (TWO, [-1.0]), "4 outputs": (FOUR, [-0.5, 0.2, -1.0])}


@pytest.mark.parametrize(("model", "theta"), SATURATED.values(), ids=list(SATURATED))
@pytest.mark.parametrize("level", [1.0, 3.0])
def test_one_step_is_the_moment_estimate_where_all_shares_are_free(
    model: Enumerated, theta: list[float], level: float
) -> None:
    """Then moments are efficient: what holds of their intervals holds of those of one-step."""
    channel = RandomizedResponse.for_privacy_level(level, outputs=model.outputs)
    q = channel.apply(model.probabilities(np.array(theta)))
    for counts in np.random.default_rng(6).multinomial(20_000, q, size=10):
        moments, one_step = (estimate(model, Tally(channel, counts), method) for method in ("moments", "one-step"))
        np.testing.assert_allclose(one_step.theta, moments.theta, rtol=0, atol=1e-9 * moments.standard_errors.min())
        np.testing.assert_allclose(one_step.covariance, moments.covariance, rtol=1e-9)


@pytest.mark.parametrize(
    ("method", "model", "theta"),
    [
        *(pytest.param("moments", *case, id=f"moments, {name}") for name, case in SATURATED.items()),
        *(pytest.param(method, PAPER, [2.0, -0.1], id=f"{method}, two effects") for method in ("moments", "one-step")),
    ],
)
@pytest.mark.parametrize("level", [1.0, 3.0])
def test_intervals_cover_at_their_rate(method: str, model: Enumerated, theta: list[float], level: float) -> None:
    """300 surveys: the count of covering intervals is binomial; true coverage is within 94 to 96 %."""
    simulations = 300
    result = simulate_surveys(model, np.array(theta), level, 20_000, method, simulations, np.random.default_rng(6))
    per_side = FALSE_ALARM / (2 * len(theta))
    for count in result.coverage * simulations:
        assert binom.cdf(round(count), simulations, 0.94) > per_side
        assert binom.sf(round(count) - 1, simulations, 0.96) > per_side


@pytest.mark.parametrize("level", [1.0, 3.0])
def test_one_step_reaches_the_covariance_of_the_marginal_likelihood(level: float) -> None:
    """(θ̂ − θ)ᵀ (Σ_marg/n)⁻¹ (θ̂ − θ) over 300 surveys at n = 50,000 is χ² up to second-order terms of a few percent."""
    theta, n, simulations = np.array([2.0, -0.1]), 50_000, 300
    channel = RandomizedResponse.for_privacy_level(level, outputs=4)
    limit = asymptotics(PAPER, channel, theta).marginal
    result = simulate_surveys(PAPER, theta, level, n, "one-step", simulations, np.random.default_rng(7))
    for mse, variance in zip(result.scaled_mse, np.diag(limit), strict=True):
        statistic = simulations * mse / variance
        assert statistic < 1.05 * chi2.isf(FALSE_ALARM / 4, simulations)
        assert statistic > chi2.isf(1 - FALSE_ALARM / 4, simulations) / 1.05


@pytest.mark.parametrize("name", CHANNELS)
def test_standard_errors_from_noised_statistics_are_those_of_many_repetitions(name: str) -> None:
    """A chi-square of 400 z-scores (200 surveys, two parameters): false alarm about 1e-6 two-sided."""
    rng = np.random.default_rng(len(name))
    channel = CHANNELS[name]
    fits = [estimate(MODEL, tally_of(channel, 20_000, rng)) for _ in range(200)]
    z = np.array([np.linalg.solve(np.linalg.cholesky(fit.covariance), fit.theta - THETA) for fit in fits])
    assert abs((z**2).sum() - z.size) < 5 * np.sqrt(2 * z.size)


def test_the_level_of_the_test_of_a_design_holds() -> None:
    """At the boundary (nobody says yes) a 5 % test rejects at most 5 %: 400 surveys, false-alarm rate 1e-6."""
    rng = np.random.default_rng(1)
    channel = RandomizedResponse("1/2", outputs=3)
    rejections = 0
    for counts in rng.multinomial(500, channel.apply(np.array([0.5, 0.5, 0.0])), size=400):
        rejections += channel_fit_test(Tally(channel, counts), replicates=99, rng=rng).p_value <= 0.05
    assert binom.sf(rejections - 1, 400, 0.05) > FALSE_ALARM


def test_moments_are_unbiased_however_small_the_survey() -> None:
    """The mean of μ̂ over all tallies of 3 reports, weighted by their exact probabilities, is μ up to rounding."""
    channel = RandomizedResponse("1/3", outputs=4)
    theta = np.array([0.7, -0.3])
    q = channel.apply(PAPER.probabilities(theta))
    beta = observation_function(PAPER, channel, q, "best")
    mean: FloatArray = np.zeros(2)
    for first in range(4):
        for second in range(4):
            for third in range(4):
                tally = Tally(channel).add([first, second, third])
                mean += q[first] * q[second] * q[third] * beta.mean(tally.frequencies)
    np.testing.assert_allclose(mean, PAPER.mean_statistics(theta), atol=1e-13)
