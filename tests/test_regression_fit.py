"""Predictions, posteriors, tests and tables of a regression, against brute force."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import chi2, norm

from askance import Direct, ForcedResponse, RandomizedResponse, RegressionFit, Responses, Softmax, Warner, estimate
from askance._arrays import FloatArray
from askance.channels import FiniteChannel
from askance.errors import (
    EmptyDataError,
    IncompatibleEvidenceError,
    InputError,
    LabelError,
    MissingValueError,
    ShapeError,
)
from askance.estimation.results.results import Result
from askance.survey import Columns, regress

from .families import CHANNELS
from .regressions import (
    TERMS,
    assert_same,
    bare,
    fitted,
    numeric_error,
    respondents,
    survey,
)


@pytest.fixture(scope="module", params=[["no", "yes"], ["a", "b", "c", "d"]], ids=["two", "four"])
def fit(request: pytest.FixtureRequest) -> RegressionFit:
    return fitted(request.param)


# -- prediction and posterior ------------------------------------------------------------------------------------------


def test_predictions_have_intervals_on_the_log_odds_scale(fit: RegressionFit) -> None:
    x = respondents(7, seed=3)

    def log_odds(theta: FloatArray) -> FloatArray:
        p = fit.model.probabilities(theta, x)
        return np.asarray(np.log(p) - np.log1p(-p))

    for given in (x, csr_array(x), x.tolist()):
        table = fit.predict(given, confidence=0.8)
        np.testing.assert_allclose(table.estimate, fit.model.probabilities(fit.theta, x), rtol=1e-12)
        deviation = numeric_error(fit, log_odds)
        np.testing.assert_allclose(
            table.standard_error, numeric_error(fit, lambda t: fit.model.probabilities(t, x)), rtol=1e-6
        )
        for end, sign in ((table.lower, -1), (table.upper, 1)):
            np.testing.assert_allclose(
                np.log(end / (1 - end)), log_odds(fit.theta) + sign * norm.ppf(0.9) * deviation, rtol=1e-6
            )


def test_sure_predictions_keep_their_digits(fit: RegressionFit) -> None:
    far = fit.predict([[1, 0, 5000.0, 0], [1, 0, -5000.0, 0]])
    for array in (far.estimate, far.standard_error, far.lower, far.upper):
        assert np.isfinite(array).all()
        assert ((array >= 0) & (array <= 1)).all()


def brute_posterior(fit: RegressionFit, channel: FiniteChannel, x: FloatArray, codes: list[int]) -> FloatArray:
    joint = fit.model.probabilities(fit.theta, x) * channel.matrix[codes]
    return np.asarray(joint / joint.sum(axis=1)[:, None])


def test_posterior_is_bayes_rule(fit: RegressionFit) -> None:
    assert fit.evidence is not None
    channel = fit.evidence.channel
    x = respondents(9, seed=8)
    codes = [i % len(channel.observations) for i in range(9)]
    table = fit.posterior(x, channel.observations.decode(codes))
    np.testing.assert_allclose(table.estimate, brute_posterior(fit, channel, x, codes), rtol=1e-10)
    np.testing.assert_allclose(table.prior, fit.predict(x).estimate, rtol=1e-10)
    errors = numeric_error(fit, lambda theta: brute_posterior(replace(fit, theta=theta), channel, x, codes))
    np.testing.assert_allclose(table.standard_error, errors, rtol=1e-5)
    assert ((table.lower < table.estimate) & (table.estimate < table.upper)).all()
    for words in ("guesses", "groups of similar respondents", "promise", "factor"):
        assert words in table.message


@pytest.mark.parametrize("name", [name for name, channel in CHANNELS.items() if math.isfinite(channel.privacy_level)])
def test_private_reports_change_odds_by_no_more_than_the_level(name: str) -> None:
    """Every report, every pair of outputs, over a range of covariates and parameters."""
    channel = CHANNELS[name]
    model = Softmax(channel.outputs, ["Intercept", "age"])
    rng = np.random.default_rng(len(name))
    x = np.column_stack([np.ones(5), np.linspace(-2, 2, 5)])
    for theta in rng.normal(size=(3, model.dimension)):
        fit = bare(model, theta, channel)
        for label in channel.observations.labels:
            table = fit.posterior(x, [label] * 5)
            for y, other in itertools.permutations(range(len(model.outputs)), 2):
                after = table.estimate[:, y] / table.estimate[:, other]
                before = table.prior[:, y] / table.prior[:, other]
                assert (after / before <= math.exp(channel.privacy_level) * (1 + 1e-9)).all()


def test_reports_that_reveal_leave_no_doubt() -> None:
    model, channel = Softmax(["a", "b", "c"], ["Intercept"]), Direct(["a", "b", "c"])
    table = bare(model, np.array([0.3, -0.2]), channel).posterior([[1.0]] * 3, ["a", "b", "c"])
    for array in (table.estimate, table.lower, table.upper):
        np.testing.assert_array_equal(array, np.eye(3))
    np.testing.assert_array_equal(table.standard_error, 0)
    assert "no guarantee" in table.message


# -- likelihood ratio --------------------------------------------------------------------------------------------------


def nested(method: str, keep: int = 2, **options: Any) -> tuple[RegressionFit, RegressionFit]:
    x = respondents()
    model, channel, reports = survey(["a", "b", "c"], x)
    full = estimate(model, Responses(channel).add(x, reports), method, **options)
    small = Softmax(["a", "b", "c"], TERMS[:keep])
    return full, estimate(small, Responses(channel).add(x[:, :keep], reports), method, **options)


def test_likelihood_ratio() -> None:
    full, restricted = nested("marginal")
    test = full.likelihood_ratio_test(restricted)
    assert test.statistic == pytest.approx(2 * (full.log_likelihood - restricted.log_likelihood))
    assert test.degrees_of_freedom == 4
    assert test.p_value == pytest.approx(chi2.sf(test.statistic, 4))
    assert test.dropped == ("age", "level")
    assert test.notes == ()
    x = respondents()
    _, channel, reports = survey(["a", "b", "c"], x)
    codes = channel.observations.encode(reports)
    for fit in (full, restricted):
        shares = fit.model.probabilities(fit.theta, x[:, : len(fit.model.terms)]) @ channel.matrix.T
        assert fit.log_likelihood == pytest.approx(np.log(shares[np.arange(600), codes]).sum())


def test_near_the_hypothesis_likelihood_ratio_and_wald_agree() -> None:
    x = respondents()
    _, channel, reports = survey(["no", "yes"], x)
    x[:, 3] = np.random.default_rng(12).permutation(x[:, 3])
    full = estimate(Softmax(["no", "yes"], TERMS), Responses(channel).add(x, reports), "marginal")
    restricted = estimate(Softmax(["no", "yes"], TERMS[:3]), Responses(channel).add(x[:, :3], reports), "marginal")
    ratio, wald = full.likelihood_ratio_test(restricted), full.wald_test("level")
    assert ratio.statistic == pytest.approx(wald.statistic, rel=0.05, abs=0.02)
    assert ratio.p_value == pytest.approx(wald.p_value, abs=0.02)


def test_one_step_likelihood_ratio_has_a_note() -> None:
    full, restricted = nested("one-step")
    exact = nested("marginal")
    test = full.likelihood_ratio_test(restricted)
    assert "one-step" in test.notes[0]
    assert test.statistic == pytest.approx(exact[0].likelihood_ratio_test(exact[1]).statistic, abs=0.5)


def test_likelihood_ratio_refusals() -> None:
    full, restricted = nested("marginal")
    other = fitted(["a", "b", "c"], n=601)
    weighted = fitted(["a", "b", "c"], weights=np.full(600, 2.0))
    cases: list[tuple[RegressionFit, RegressionFit, str]] = [
        (restricted, full, "not nested"),
        (full, full, "same terms"),
        (full, other, "601"),
        (full, replace(restricted, channel=Warner("2/3").specification()), "different designs"),
        (full, replace(restricted, method="moments"), "'moments'"),
        (full, replace(restricted, converged=False), "converge"),
        (full, replace(restricted, covariance_kind="cluster-robust"), "clusters"),
        (weighted, replace(restricted, evidence=None), "weights"),
        (replace(weighted, evidence=None), replace(restricted, evidence=None), "weights"),
        (full, replace(restricted, log_likelihood=full.log_likelihood + 1), "lower maximum"),
        (full, replace(restricted, model=Softmax(["b", "a", "c"], TERMS[:2])), "outputs"),
        (full, replace(restricted, diagnostics=replace(restricted.diagnostics, repaired=True)), "prior"),
    ]
    for larger, smaller, words in cases:
        with pytest.raises((InputError, IncompatibleEvidenceError), match=words) as caught:
            larger.likelihood_ratio_test(smaller)
        assert caught.value.remedy


def test_fits_of_other_respondents_are_not_compared() -> None:
    full, _ = nested("marginal")
    x = respondents(seed=77)
    _, channel, reports = survey(["a", "b", "c"], x)
    other = estimate(Softmax(["a", "b", "c"], TERMS[:2]), Responses(channel).add(x[:, :2], reports), "marginal")
    with pytest.raises(IncompatibleEvidenceError, match="different respondents"):
        full.likelihood_ratio_test(other)


# -- summary -----------------------------------------------------------------------------------------------------------


def test_summary_shows_what_a_reader_looks_for() -> None:
    x = respondents()
    channel = ForcedResponse("2/3", "1/6")
    model, _, reports = survey(["no", "yes"], x, channel)
    fit = estimate(model, Responses(channel).add(x, reports), "marginal")
    text = fit.summary()
    aic, bic = 8 - 2 * fit.log_likelihood, 4 * math.log(600) - 2 * fit.log_likelihood
    assert fit.aic == pytest.approx(aic)
    assert fit.bic == pytest.approx(bic)
    words = ["600", "forced-response: truth 2/3, yes 1/6, no 1/6", "1.609", "marginal", "expected", "converged", "yes"]
    words += [f"{fit.log_likelihood:.3f}", f"{aic:.3f}", f"{bic:.3f}", "P>|z|", "2.5 %", "97.5 %", *TERMS]
    words += [f"{value:.4f}" for value in (*fit.theta, *fit.standard_errors)]
    assert [word for word in words if word not in text] == []
    assert "AIC" not in replace(fit, method="moments").summary()
    one_step = estimate(model, Responses(channel).add(x, reports))
    assert 0 <= one_step.aic - fit.aic < 0.01  # ½ · 0.1² standard errors, twice
    assert 0 <= one_step.bic - fit.bic < 0.01
    assert "AIC" not in replace(fit, covariance_kind="cluster-robust").summary()
    assert "5 %" in fit.summary(confidence=0.9)


def test_summary_stays_within_a_hundred_columns() -> None:
    terms = ["Intercept", "short", "C(region_of_birth_and_residence)[T.North-West] : I(income_per_head ** 2) " * 3]
    channel = RandomizedResponse.for_privacy_level("1.2345", outputs=["never", "once " * 30, "often"])
    model = Softmax(channel.outputs, terms)
    theta = np.array([1e-7, -2e9, 0.5, -1e-5, 33.25, 0.0])
    fit = bare(model, theta, channel)
    fit = replace(fit, diagnostics=replace(fit.diagnostics, messages=("a note that goes on and on " * 9,)))
    text = fit.summary()
    assert max(len(line) for line in text.split("\n")) <= 100
    assert text.count("note: ") == 1
    assert "often (against never)" in text
    unknown = replace(fit, covariance=np.full((6, 6), np.nan), converged=False)
    assert "no valid covariance" in unknown.summary()
    assert "NO" in unknown.summary()
    assert "nan" not in unknown.summary()


# -- data with names, JSON, refusals -----------------------------------------------------------------------------------


class Stacked:
    """A design as the survey part has it."""

    def matrix(self, data: Any) -> FloatArray:
        return np.column_stack([np.ones(len(data["age"])), *(np.asarray(data[t], dtype=float) for t in TERMS[1:])])


def test_tables_with_names_need_a_design(fit: RegressionFit) -> None:
    x = respondents(50)
    data = {"female": x[:, 1], "age": x[:, 2], "level": x[:, 3], "region": np.where(x[:, 2] > 0, "hill", "vale")}
    for wrong in (fit.predict, fit.prevalence, fit.marginal_effects):
        with pytest.raises(InputError, match="dict"):
            wrong(data)
    designed = replace(fit, design=Stacked())
    reports = [fit.evidence.channel.observations.labels[0]] * 50 if fit.evidence else []
    assert_same(designed.predict(data), fit.predict(x))
    assert_same(designed.posterior(data, reports), fit.posterior(x, reports))
    assert_same(designed.marginal_effects(data), fit.marginal_effects(x))
    assert_same(designed.prevalence(data, by="region"), fit.prevalence(x, by=data["region"]))
    assert_same(designed.prevalence(data, by="female"), fit.prevalence(x, by="female"))


def test_tables_of_every_brand_name_their_groups() -> None:
    import pandas as pd
    import polars as pl

    rng = np.random.default_rng(11)
    n, channel = 500, ForcedResponse("2/3", "1/6")
    region = np.where(rng.random(n) < 0.4, "north", "south")
    columns = {
        "said": channel.simulate(np.where(rng.random(n) < 0.4, "yes", "no"), rng),
        "age": rng.normal(40, 10, n),
        "region": region,
    }
    fit = regress("said ~ age + region", columns, channel)
    expected = fit.prevalence(columns, by="region")
    assert expected.groups == ("north", "south")
    assert_same(expected, fit.prevalence(fit.design.matrix(columns), by=region))
    packed = np.zeros(n, dtype=[(name, column.dtype) for name, column in columns.items()])
    for name, column in columns.items():
        packed[name] = column
    for data in (pd.DataFrame(columns), pl.DataFrame(columns), Columns.of(columns), packed):
        assert_same(fit.prevalence(data, by="region"), expected)
        assert_same(fit.predict(data), fit.predict(columns))
    np.testing.assert_allclose(fit.prevalence(by="region[T.south]").estimate, expected.estimate)
    gaps = pd.DataFrame({**columns, "town": pd.array([None, *["a"] * (n - 1)], dtype="string")})
    for data in (gaps, Columns.of(gaps)):
        with pytest.raises(MissingValueError, match="missing"):
            fit.prevalence(data, by="town")


def test_results_are_plain_json(fit: RegressionFit) -> None:
    x = respondents(3)
    reports = [fit.evidence.channel.observations.labels[1]] * 3 if fit.evidence else []
    results: list[Result] = [
        fit.prevalence(by="female"),
        fit.prevalence(x[:1], population=True),
        fit.marginal_effects(),
        fit.predict(x),
        fit.posterior(x, reports),
    ]
    for result in results:
        content = result.to_json()
        assert json.loads(json.dumps(content, allow_nan=False)) == content
    assert results[1].to_json()["standard_error"][0][0] is None
    full, restricted = nested("marginal")
    json.dumps(full.likelihood_ratio_test(restricted).to_json(), allow_nan=False)


REFUSED: dict[str, tuple[Callable[[RegressionFit], object], type[Exception], str]] = {
    "columns": (lambda fit: fit.predict([[1.0, 2.0]]), ShapeError, "Intercept"),
    "one row": (lambda fit: fit.predict([1.0, 0.0, 0.0, 0.0]), ShapeError, "one row"),
    "no rows": (lambda fit: fit.predict(np.zeros((0, 4))), EmptyDataError, "no rows"),
    "nan": (lambda fit: fit.predict([[1.0, 0.0, np.nan, 0.0]]), MissingValueError, "nan"),
    "texts": (lambda fit: fit.predict([["a", "b", "c", "d"]]), InputError, "not a number"),
    "confidence": (lambda fit: fit.predict([[1, 0, 0, 0]], confidence=95), InputError, "95"),
    "by name": (lambda fit: fit.prevalence(by="sex"), InputError, "female"),
    "by number": (lambda fit: fit.prevalence(by=4), InputError, "0 to 3"),
    "by labels": (lambda fit: fit.prevalence(by=["a"] * 600), InputError, "Give x"),
    "by length": (lambda fit: fit.prevalence(respondents(5), by=["a"] * 4), ShapeError, "5 rows"),
    "by missing": (lambda fit: fit.prevalence(respondents(2), by=["a", None]), MissingValueError, "missing"),
    "by mixed": (lambda fit: fit.prevalence(respondents(2), by=np.array(["a", 1], object)), InputError, "mixes"),
    "by many": (lambda fit: fit.prevalence(respondents(2000), by=range(2000)), InputError, "brackets"),
    "weights alone": (lambda fit: fit.prevalence(weights=[1.0] * 600), InputError, "without x"),
    "weights length": (lambda fit: fit.prevalence(respondents(5), weights=[1.0]), ShapeError, "5 rows"),
    "weights zero": (lambda fit: fit.prevalence(respondents(2), weights=[1.0, 0.0]), InputError, "above 0"),
    "report": (lambda fit: fit.posterior(respondents(1), ["maybe"]), LabelError, "maybe"),
    "reports": (lambda fit: fit.posterior(respondents(2), fit.model.outputs.labels[:1]), ShapeError, "2 rows"),
    "loaded": (lambda fit: replace(fit, evidence=None).prevalence(), InputError, r"fit\.prevalence\(x\)"),
    "loaded too": (lambda fit: replace(fit, evidence=None).marginal_effects(), InputError, "female"),
}


@pytest.mark.parametrize(("call", "kind", "words"), REFUSED.values(), ids=list(REFUSED))
def test_refusals(
    call: Callable[[RegressionFit], object], kind: type[Exception], words: str, fit: RegressionFit
) -> None:
    with pytest.raises(kind, match=words) as caught:
        call(fit)
    assert getattr(caught.value, "remedy", "")
