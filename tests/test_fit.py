"""What a fit offers: errors, intervals, tests, tables."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2, norm

from askance import Enumerated, RandomizedResponse, Tally, estimate
from askance.estimation import DistributionFit


@pytest.fixture
def fit() -> DistributionFit:
    model = Enumerated([[0, 0, 1, 1], [0, 1, 0, 1]], parameter_names=["first", "second"])
    return estimate(model, Tally(RandomizedResponse("1/2", outputs=4), [300, 250, 280, 170]))


def test_intervals_are_symmetric_and_as_wide_as_the_normal_says(fit: DistributionFit) -> None:
    for confidence in (0.5, 0.95, 0.999):
        lower, upper = fit.confidence_interval(confidence)
        np.testing.assert_allclose((upper + lower) / 2, fit.theta)
        np.testing.assert_allclose((upper - lower) / 2, norm.ppf((1 + confidence) / 2) * fit.standard_errors)


def test_wald_tests(fit: DistributionFit) -> None:
    both = fit.wald_test()
    assert both.degrees_of_freedom == 2
    assert both.statistic == pytest.approx(fit.theta @ np.linalg.solve(fit.covariance, fit.theta))
    assert both.p_value == pytest.approx(chi2.sf(both.statistic, 2))
    one = fit.wald_test(["second"], value=0.1)
    assert one.statistic == pytest.approx(((fit.theta[1] - 0.1) / fit.standard_errors[1]) ** 2)
    assert fit.wald_test(["first"]).p_value == pytest.approx(fit.p_values[0])
    difference = fit.wald_test(contrasts=[1, -1])
    variance = np.array([1, -1]) @ fit.covariance @ np.array([1, -1])
    assert difference.statistic == pytest.approx((fit.theta[0] - fit.theta[1]) ** 2 / variance)


def test_probabilities_come_with_delta_method_errors(fit: DistributionFit) -> None:
    table = fit.probabilities()
    assert table.estimate.sum() == pytest.approx(1)
    assert (
        (table.lower > 0) & (table.lower < table.estimate) & (table.estimate < table.upper) & (table.upper < 1)
    ).all()
    step = 1e-6
    slopes = np.array(
        [(fit.model.probabilities(fit.theta + step * u) - fit.model.probabilities(fit.theta)) / step for u in np.eye(2)]
    )
    np.testing.assert_allclose(table.standard_error**2, np.diag(slopes.T @ fit.covariance @ slopes), rtol=1e-4)


def test_summary_shows_what_a_reader_looks_for(fit: DistributionFit) -> None:
    text = fit.summary()
    for word in ("one-step", "1,000", "first", "second", "95 % interval", "converged yes", f"{fit.theta[0]:.4f}"):
        assert word in text
