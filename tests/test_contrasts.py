"""Differences and ratios of shares against the delta method by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from askance import RegressionFit
from askance._arrays import FloatArray
from askance.errors import InputError
from tests.cr2 import by_cluster

from .regressions import fitted, numeric_error, respondents


@pytest.fixture(scope="module", params=[["no", "yes"], ["a", "b", "c"]], ids=["two", "three"])
def fit(request: pytest.FixtureRequest) -> RegressionFit:
    return fitted(request.param)


def _means(fit: RegressionFit, theta: FloatArray) -> FloatArray:
    """Shares by level, shape (3, m)."""
    x = respondents()
    p = fit.model.probabilities(theta, x)
    return np.array([p[x[:, 3] == level].mean(axis=0) for level in (0, 1, 2)])


def test_differences_between_groups(fit: RegressionFit) -> None:
    def differences(theta: FloatArray) -> FloatArray:
        low, middle, high = _means(fit, theta)
        return np.array([middle - low, high - low, high - middle])

    found = fit.prevalence(by="level").contrasts(confidence=0.9)
    assert found.pairs == ((1, 0), (2, 0), (2, 1))
    assert found.between == "groups"
    assert found.columns == tuple(fit.model.outputs.labels)
    np.testing.assert_allclose(found.estimate, differences(fit.theta), rtol=1e-9)
    np.testing.assert_allclose(found.standard_error, numeric_error(fit, differences), rtol=1e-5)
    np.testing.assert_allclose(found.upper - found.lower, 2 * norm.ppf(0.95) * found.standard_error)
    np.testing.assert_allclose(found.p_value, 2 * norm.sf(np.abs(found.estimate / found.standard_error)))


def test_ratios_against_a_reference(fit: RegressionFit) -> None:
    def log_ratios(theta: FloatArray) -> FloatArray:
        low, middle, high = np.log(_means(fit, theta))
        return np.array([low - middle, high - middle])

    found = fit.prevalence(by="level").contrasts(1, ratio=True)
    error = numeric_error(fit, log_ratios)
    assert found.pairs == ((0, 1), (2, 1))
    np.testing.assert_allclose(np.log(found.estimate), log_ratios(fit.theta), atol=1e-9)
    np.testing.assert_allclose(found.standard_error / found.estimate, error, rtol=1e-5)
    np.testing.assert_allclose(found.upper, np.exp(log_ratios(fit.theta) + norm.ppf(0.975) * error), rtol=1e-4)
    assert "/" in found.table().rows[0][-6]


def test_differences_between_answers(fit: RegressionFit) -> None:
    def differences(theta: FloatArray) -> FloatArray:
        p = _means(fit, theta)
        return (p[:, 1:] - p[:, :1]).T

    found = fit.prevalence(by="level").contrasts(fit.model.outputs.labels[0], between="answers")
    assert found.columns == (0, 1, 2)
    np.testing.assert_allclose(found.estimate, differences(fit.theta), rtol=1e-9)
    np.testing.assert_allclose(found.standard_error, numeric_error(fit, differences), rtol=1e-5)
    assert fit.prevalence().contrasts().between == "answers"


def test_two_sets_of_covariates_are_two_groups(fit: RegressionFit) -> None:
    def difference(theta: FloatArray) -> FloatArray:
        one, other = fit.model.probabilities(theta, np.array([[1, 0, 0.5, 1], [1, 1, 0.5, 1]]))
        return np.asarray(other - one)

    found = fit.prevalence([[1, 0, 0.5, 1], [1, 1, 0.5, 1]], by=["man", "woman"]).contrasts("man")
    np.testing.assert_allclose(found.standard_error[0], numeric_error(fit, difference), rtol=1e-5)


def test_a_population_of_respondents_adds_what_groups_vary_by_themselves(fit: RegressionFit) -> None:
    x = respondents()
    p = fit.model.probabilities(fit.theta, x)
    plain = fit.prevalence(by="level").contrasts().standard_error ** 2
    wider = fit.prevalence(by="level", population=True).contrasts().standard_error ** 2
    own = np.array([p[x[:, 3] == level].var(axis=0, ddof=1) / (x[:, 3] == level).sum() for level in (0, 1, 2)])
    np.testing.assert_allclose(wider - plain, [own[1] + own[0], own[2] + own[0], own[2] + own[1]], rtol=1e-7)
    shares = fit.prevalence(by="level", population=True)
    between = shares.contrasts(fit.model.outputs.labels[0], between="answers").standard_error ** 2
    before = fit.prevalence(by="level").contrasts(fit.model.outputs.labels[0], between="answers").standard_error ** 2
    gaps = p[:, 1:] - p[:, :1]
    own = np.array([gaps[x[:, 3] == level].var(axis=0, ddof=1) / (x[:, 3] == level).sum() for level in (0, 1, 2)])
    np.testing.assert_allclose(between - before, own.T, rtol=1e-7)


def test_clusters_that_span_groups_make_them_vary_together() -> None:
    clusters, weights = np.random.default_rng(3).integers(0, 40, 600), np.random.default_rng(4).uniform(0.5, 2, 600)
    fit, x = fitted(["no", "yes"], clusters=clusters, weights=weights), respondents()
    p = fit.model.probabilities(fit.theta, x)[:, 1]
    shares = fit.prevalence(by="female", population=True)
    parts = np.zeros((2, 40))
    for group in (0, 1):
        inside = x[:, 1] == group
        residual = np.where(inside, weights * (p - np.average(p[inside], weights=weights[inside])), 0.0)
        sums = np.array([residual[clusters == c].sum() for c in range(40)])
        left = 1 - by_cluster(np.where(inside, weights, 0.0), clusters) / weights[inside].sum()  # CR2 of a mean
        parts[group] = sums / np.sqrt(left) / weights[inside].sum()
    added = shares.contrasts().standard_error[0, 1] ** 2
    added -= fit.prevalence(by="female").contrasts().standard_error[0, 1] ** 2
    assert added == pytest.approx(float(((parts[1] - parts[0]) ** 2).sum()), rel=1e-7)
    assert shares.covariance is not None
    np.testing.assert_allclose(np.einsum("gaga->ga", shares.covariance), shares.standard_error**2, rtol=1e-10)


def test_what_cannot_be_compared_is_refused(fit: RegressionFit) -> None:
    shares = fit.prevalence(by="level")
    with pytest.raises(InputError, match="reference is 7; allowed: 0, 1"):
        shares.contrasts(7)
    with pytest.raises(InputError, match="between is 'levels'"):
        shares.contrasts(between="levels")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="one of the groups only"):
        fit.prevalence().contrasts(between="groups")
    x = respondents()
    many = fit.prevalence(x, by=np.arange(600))
    assert many.covariance is None
    with pytest.raises(InputError, match="Form fewer groups"):
        many.contrasts()


def test_the_table_says_how_many_comparisons_there_are(fit: RegressionFit) -> None:
    table = fit.prevalence(by="level").contrasts().table()
    count = 3 if len(fit.model.outputs) == 2 else 9
    assert len(table.rows) == count
    assert table.notes == [f"{count} comparisons: p-values and intervals are not adjusted for their number"]
    assert "1 − 0" in table.to_text()
    assert "covariance" not in fit.prevalence().to_json()
