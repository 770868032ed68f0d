"""Repairs of moments that belong to no distribution: the same whichever answer is listed first, and intervals hold."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

from askance import Enumerated, MatrixChannel, RandomizedResponse, Responses, Softmax, Tally, estimate
from askance.errors import ImpossibleReportsWarning, RepairWarning
from askance.estimation.results.fit import DistributionFit

METHODS = ("moments", "one-step", "marginal")


@pytest.mark.parametrize("method", METHODS)
def test_repairs_do_not_depend_on_the_order_of_the_answers(method: str) -> None:
    """Whichever answer is listed first, and so has no parameter of its own."""
    channel, counts = RandomizedResponse("1/4", outputs=5), np.array([260, 90, 110, 60, 80])
    found = []
    for order in ([0, 1, 2, 3, 4], [4, 0, 2, 1, 3], [1, 2, 3, 4, 0]):
        with pytest.warns(RepairWarning):
            fit = estimate(Enumerated.saturated(5), Tally(channel, counts[order].tolist()), method)
        table = fit.probabilities()
        found.append(np.stack([table.estimate, table.lower, table.upper])[:, np.argsort(order)])
    np.testing.assert_allclose(found[1:], [found[0]] * 2, atol=1e-6)


def test_the_first_of_many_answers_may_be_the_commonest() -> None:
    """Independent priors for log-odds against it make it next to impossible: they give 0.167 (0.100 to 0.234)."""
    k, rng = 64, np.random.default_rng(2)
    shares = 1 / np.arange(1, k + 1) ** 1.1
    shares /= shares.sum()
    channel = RandomizedResponse.for_privacy_level(1, outputs=k)
    tally = Tally(channel).add(channel.simulate(rng.choice(k, size=20_000, p=shares), rng))
    with pytest.warns(RepairWarning):
        table = estimate(Enumerated.saturated(k), tally).probabilities()
    assert table.estimate[0] == pytest.approx(shares[0], abs=0.02)  # 0.250
    assert table.lower[0] < shares[0] < table.upper[0]


def test_intervals_of_repaired_shares_hold() -> None:
    """Exact: the probability of every tally of 24 reports in which an interval holds the share, summed."""
    channel, model = RandomizedResponse("1/2", outputs=3), Enumerated.saturated(3)
    shares, n = np.array([0.85, 0.14, 0.01]), 24
    reported, covered = np.log(channel.apply(shares)), np.zeros(3)
    for first in range(n + 1):
        for second in range(n + 1 - first):
            counts = [first, second, n - first - second]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RepairWarning)
                table = estimate(model, Tally(channel, counts), "moments").probabilities()
            likely = math.exp(math.lgamma(n + 1) - sum(math.lgamma(c + 1) for c in counts) + reported @ counts)
            covered += likely * ((table.lower <= shares) & (shares <= table.upper))
    assert (covered > 0.93).all()


def test_unbiased_shares_stay_beside_repaired_ones() -> None:
    channel = RandomizedResponse("1/2", outputs=["a", "b", "c"])
    with pytest.warns(RepairWarning):
        fit = estimate(Enumerated.saturated(channel.outputs), Tally(channel, [650, 200, 150]))
    assert isinstance(fit, DistributionFit)
    assert fit.unbiased_shares is not None
    shares, errors = fit.unbiased_shares
    reported = np.array([0.65, 0.2, 0.15])
    np.testing.assert_allclose(shares, 2 * reported - 1 / 3, atol=1e-12)
    np.testing.assert_allclose(errors, 2 * np.sqrt(reported * (1 - reported) / 1000), rtol=2e-3)
    assert estimate(Enumerated.saturated(channel.outputs), Tally(channel, [500, 300, 200])).unbiased_shares is None


@pytest.mark.parametrize("method", METHODS)
def test_repaired_regressions_do_not_depend_on_the_order_of_the_answers(method: str) -> None:
    """Twelve respondents of a group all said "a": the group's shares of the others run off."""
    rng = np.random.default_rng(0)
    x = np.column_stack([np.ones(600), rng.normal(size=600), np.arange(600) < 12])
    said = np.array(["a", "b", "c"])[rng.choice(3, 600, p=[0.5, 0.3, 0.2])]
    said[:12] = "a"
    found = []
    for order in (["a", "b", "c"], ["c", "a", "b"], ["b", "c", "a"]):
        channel = RandomizedResponse("1/2", outputs=order)
        with pytest.warns(RepairWarning):
            fit = estimate(Softmax(channel.outputs, ["1", "x", "group"]), Responses(channel).add(x, said), method)
        shares = dict(zip(order, fit.model.probabilities(fit.theta, x[:1])[0].tolist(), strict=True))
        found.append([shares["a"], shares["b"], shares["c"]])
    np.testing.assert_allclose(found[1:], [found[0]] * 2, atol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_whether_a_repair_is_needed_does_not_depend_on_the_order(method: str) -> None:
    channel = RandomizedResponse.for_privacy_level("0.7", outputs=3)
    found = []
    for counts in ([37, 37, 26], [26, 37, 37], [37, 26, 37]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RepairWarning)
            fit = estimate(Enumerated.saturated(3), Tally(channel, counts), method)
        found.append((fit.diagnostics.repaired, round(float(np.min(fit.model.probabilities(fit.theta))), 4)))
    assert len(set(found)) == 1


def test_every_method_keeps_the_unbiased_shares_beside_repaired_ones() -> None:
    channel = RandomizedResponse("1/2", outputs=3)
    for method in METHODS:
        with pytest.warns(RepairWarning):
            fit = estimate(Enumerated.saturated(3), Tally(channel, [650, 200, 150]), method)
        assert isinstance(fit, DistributionFit)
        assert fit.unbiased_shares is not None
        np.testing.assert_allclose(fit.unbiased_shares[0], [0.9667, 0.0667, -0.0333], atol=1e-4)


def test_one_step_keeps_them_where_only_its_likelihood_runs_off() -> None:
    channel = MatrixChannel(np.random.default_rng(3).dirichlet(np.full(5, 0.7), size=3).T)
    with pytest.warns(RepairWarning):
        fit = estimate(Enumerated.saturated(3), Tally(channel, [0, 7, 21, 5, 7]))
    assert isinstance(fit, DistributionFit)
    assert fit.unbiased_shares is not None


def test_shares_far_below_0_do_not_get_intervals_of_no_width() -> None:
    """An unbiased share of −0.22 ± 0.04: an interval of what it does not contradict would be empty."""
    channel = RandomizedResponse("1/2", outputs=3)
    with pytest.warns(RepairWarning), pytest.warns(ImpossibleReportsWarning):
        fit = estimate(Enumerated.saturated(3), Tally(channel, [300, 278, 35]), "moments")
    table = fit.probabilities()
    assert table.upper[2] > 1.5 * table.standard_error[2]


@pytest.mark.parametrize("counts", [[4, 10, 10], [4, 5, 15], [4, 9, 11]])
def test_likelihoods_that_are_flat_on_the_very_boundary(counts: list[int]) -> None:
    with pytest.warns(RepairWarning):
        fit = estimate(Enumerated.saturated(3), Tally(RandomizedResponse("1/2", outputs=3), counts), "marginal")
    assert np.isfinite(fit.standard_errors).all()
