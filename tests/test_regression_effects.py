"""Prevalence and marginal effects against brute force: finite differences, and sums over respondents one by one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import norm

from askance import ForcedResponse, RegressionFit, Responses, Softmax, estimate, regress
from askance._arrays import FloatArray
from askance.estimation.results.share_intervals import share_interval
from tests.cr2 import by_cluster

from .regressions import (
    assert_same,
    fitted,
    numeric_error,
    respondents,
    survey,
)


@pytest.fixture(scope="module", params=[["no", "yes"], ["a", "b", "c", "d"]], ids=["two", "four"])
def fit(request: pytest.FixtureRequest) -> RegressionFit:
    return fitted(request.param)


# -- prevalence --------------------------------------------------------------------------------------------------------


def test_prevalence_is_the_mean_probability_with_delta_method_errors(fit: RegressionFit) -> None:
    x = respondents()

    def mean(theta: FloatArray) -> FloatArray:
        return np.asarray(np.array([fit.model.at(row).probabilities(theta) for row in x]).mean(axis=0))

    table = fit.prevalence()
    np.testing.assert_allclose(table.estimate[0], mean(fit.theta), rtol=1e-10)
    np.testing.assert_allclose(table.standard_error[0], numeric_error(fit, mean), rtol=1e-6)
    assert table.groups == ("all",)
    assert table.n_respondents.tolist() == [600]
    lower, upper = share_interval(table.estimate, table.standard_error, norm.ppf(0.975), 600)
    np.testing.assert_allclose(table.lower, lower)
    np.testing.assert_allclose(table.upper, upper)


def test_prevalence_by_group_with_weights(fit: RegressionFit) -> None:
    x = respondents(80, seed=9)
    rng = np.random.default_rng(1)
    labels, weights = rng.choice(["north", "south", "east"], 80), rng.uniform(0.5, 3, 80)

    def means(theta: FloatArray) -> FloatArray:
        p = fit.model.probabilities(theta, x)
        return np.array([np.average(p[labels == g], axis=0, weights=weights[labels == g]) for g in np.unique(labels)])

    for given in (x, csr_array(x)):
        table = fit.prevalence(given, by=labels, weights=weights, confidence=0.9)
        assert table.groups == ("east", "north", "south")
        assert table.n_respondents.tolist() == [(labels == g).sum() for g in table.groups]
        np.testing.assert_allclose(table.estimate, means(fit.theta), rtol=1e-10)
        np.testing.assert_allclose(table.standard_error, numeric_error(fit, means), rtol=1e-6)


def test_columns_of_x_as_groups(fit: RegressionFit) -> None:
    x = respondents()
    by_name, by_number = fit.prevalence(by="level"), fit.prevalence(by=3)
    by_labels = fit.prevalence(x, by=x[:, 3])
    assert by_name.groups == by_number.groups == by_labels.groups == (0, 1, 2)
    for table in (by_number, by_labels):
        np.testing.assert_allclose(table.estimate, by_name.estimate, rtol=1e-10)
        np.testing.assert_allclose(table.standard_error, by_name.standard_error, rtol=1e-10)
    overall = by_name.n_respondents @ by_name.estimate / 600
    np.testing.assert_allclose(overall, fit.prevalence().estimate[0], rtol=1e-10)


def test_population_adds_the_variance_of_a_mean(fit: RegressionFit) -> None:
    x, weights = respondents(), np.random.default_rng(2).uniform(0.5, 2, 600)
    p = fit.model.probabilities(fit.theta, x)
    plain = fit.prevalence(x).standard_error ** 2
    wider = fit.prevalence(x, population=True).standard_error ** 2
    np.testing.assert_allclose((wider - plain)[0], p.var(axis=0, ddof=1) / 600, rtol=1e-9)
    plain = fit.prevalence(x, by="female", weights=weights).standard_error ** 2
    wider = fit.prevalence(x, by="female", weights=weights, population=True).standard_error ** 2
    for group in (0, 1):
        w, q = weights[x[:, 1] == group], p[x[:, 1] == group]
        residual = w[:, None] * (q - np.average(q, axis=0, weights=w))
        expected = len(w) / (len(w) - 1) * (residual**2).sum(axis=0) / w.sum() ** 2
        np.testing.assert_allclose((wider - plain)[group], expected, rtol=1e-8)


def test_population_of_clusters_sums_within_them() -> None:
    clusters = np.random.default_rng(3).integers(0, 40, 600)
    weights = np.random.default_rng(4).uniform(0.5, 2, 600)
    fit = fitted(["no", "yes"], clusters=clusters, weights=weights)
    p = fit.model.probabilities(fit.theta, respondents())
    table = fit.prevalence(population=True)
    np.testing.assert_allclose(table.estimate[0], np.average(p, axis=0, weights=weights))
    residual = weights[:, None] * (p - np.average(p, axis=0, weights=weights))
    sums = np.array([residual[clusters == c].sum(axis=0) for c in np.unique(clusters)])
    left = 1 - by_cluster(weights, clusters) / weights.sum()  # CR2 of a mean
    expected = (sums**2 / left[:, None]).sum(axis=0) / weights.sum() ** 2
    added = table.standard_error**2 - fit.prevalence().standard_error ** 2
    np.testing.assert_allclose(added[0], expected, rtol=1e-8)


@pytest.mark.parametrize("outputs", [["no", "yes"], ["a", "b", "c"]], ids=len)
def test_collapsed_chunked_and_sparse_evidence_say_the_same(outputs: list[str]) -> None:
    x = respondents(900)[:, [0, 1, 3]]
    model, channel, reports = survey(outputs, x)
    model = Softmax(outputs, ["Intercept", "female", "level"])
    fit = estimate(model, Responses(channel).add(x, reports))
    assert fit.evidence is not None
    assert fit.evidence.chunks[0].multiplicity is not None
    pieces = Responses(channel)
    for part in np.array_split(np.arange(900), 4):
        pieces = pieces.add(x[part], reports[part])
    sparse = Responses(channel).add(csr_array(x), reports)
    for evidence in (pieces, sparse):
        other = replace(fit, evidence=evidence)
        for by in (None, "female", 2):
            for population in (False, True):
                assert_same(
                    fit.prevalence(by=by, population=population), other.prevalence(by=by, population=population)
                )
        assert_same(fit.marginal_effects(), other.marginal_effects())
    assert_same(fit.prevalence(by="level"), fit.prevalence(x, by="level"))


# -- marginal effects --------------------------------------------------------------------------------------------------


def test_marginal_effects_against_finite_differences(fit: RegressionFit) -> None:
    x = respondents()

    def moved(theta: FloatArray, column: int, value: FloatArray | float) -> FloatArray:
        changed = x.copy()
        changed[:, column] = value
        return fit.model.probabilities(theta, changed)

    def effects(theta: FloatArray) -> FloatArray:
        h = 1e-4
        rows = [(moved(theta, 1, 1.0) - moved(theta, 1, 0.0)).mean(axis=0)]
        rows += [(moved(theta, j, x[:, j] + h) - moved(theta, j, x[:, j] - h)).mean(axis=0) / (2 * h) for j in (2, 3)]
        return np.array(rows)

    table = fit.marginal_effects(confidence=0.9)
    assert table.terms == ("female", "age", "level")
    assert table.kinds == ("0 → 1", "slope", "slope")
    np.testing.assert_allclose(table.estimate, effects(fit.theta), rtol=1e-6, atol=1e-10)
    np.testing.assert_allclose(table.standard_error, numeric_error(fit, effects), rtol=1e-4)
    np.testing.assert_allclose(table.estimate.sum(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(table.upper - table.lower, 2 * norm.ppf(0.95) * table.standard_error)
    np.testing.assert_allclose(table.p_value, 2 * norm.sf(np.abs(table.estimate / table.standard_error)))


def test_one_row_knows_its_columns_from_the_evidence(fit: RegressionFit) -> None:
    table = fit.marginal_effects([[1, 1, 0.5, 1]])
    assert table.kinds == ("0 → 1", "slope", "slope")


def test_an_unnamed_intercept_is_found_by_its_values() -> None:
    x = respondents()
    _, channel, reports = survey(["no", "yes"], x)
    fit = estimate(Softmax(["no", "yes"], ["x0", "x1", "x2", "x3"]), Responses(channel).add(2 * x, reports))
    assert fit.marginal_effects().terms == ("x1", "x2", "x3")
    assert fit.marginal_effects().kinds == ("slope",) * 3


@pytest.mark.filterwarnings("ignore::askance.errors.RepairWarning")
def test_a_group_of_one_is_told(fit: RegressionFit) -> None:
    """Its share may follow from a single report; of respondents that are given it follows from none."""
    design = ForcedResponse("2/3", "1/6")
    data = {"said": ["yes", "no"] * 40 + ["yes"], "place": ["town", "country"] * 40 + ["island"]}
    lone = regress("said ~ place", data, design).prevalence(by="place")
    (note,) = lone.notes
    assert note.startswith("one respondent: 'island';")
    assert note[:20] in str(lone)
    assert not fit.prevalence(respondents(3), by=["a", "a", "b"]).notes
