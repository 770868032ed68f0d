"""List experiments of Blair and Imai's data: the numbers of R's list 9.2.6."""

from __future__ import annotations

import csv
import gzip
from functools import cache
from typing import Any

import numpy as np
import pytest

from askance import ListExperiment, list_checks, regress

from .real_data import needs_data

FORMULA = "y ~ south + age + male + college"
NAMES = ["Intercept", "south", "age", "male", "college"]


def answers(case: str) -> list[tuple[float, float, float]]:
    """Estimates, errors and log-likelihood of R, in its order."""
    with open(needs_data("r_answers.csv"), encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["case"] == case]
    return [tuple(float(row[key] or "nan") for key in ("estimate", "std_error", "log_likelihood")) for row in rows]  # type: ignore[misc]


@cache
def survey(name: str) -> dict[str, Any]:
    """A table of one of the experiments."""
    with gzip.open(needs_data(f"ict_{name}.csv.gz"), "rt", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    numbers: dict[str, Any] = {key: [float(row[key]) for row in rows] for key in ("y", *NAMES[1:])}
    return {**numbers, "treat": [{"False": 0, "True": 1}.get(row["treat"], row["treat"]) for row in rows]}


@pytest.mark.parametrize("name", ["race", "affirm"])
@pytest.mark.parametrize(("method", "theirs"), [("linear", "lm"), ("least-squares", "nls"), ("marginal", "ml")])
def test_regressions(name: str, method: str, theirs: str) -> None:
    """R's least squares stop a little short of the least, which moves a flat intercept by .0006."""
    options = {"covariance": "observed"} if method == "marginal" else {}
    design = ListExperiment(3, control_law="binomial")
    fit = regress(FORMULA, survey(name), design, arm="treat", method=method, **options)
    expected = answers(f"{name} {theirs} sensitive") + answers(f"{name} {theirs} control")
    assert fit.parameter_names == tuple(f"{part}:{term}" for part in ("trait", "items") for term in NAMES)
    np.testing.assert_allclose(fit.theta, [row[0] for row in expected], atol=1e-6 if method == "linear" else 0.001)
    errors = [row[1] for row in expected]
    np.testing.assert_allclose(fit.standard_errors, errors, rtol=1e-6 if method == "linear" else 0.002)
    if method == "marginal":
        assert fit.log_likelihood == pytest.approx(expected[0][2], abs=1e-4)


@pytest.mark.parametrize("name", ["race", "affirm"])
def test_the_difference_in_means(name: str) -> None:
    share = regress("y ~ 1", survey(name), ListExperiment(3), arm="treat", method="moments").shares("trait")
    (expected,) = answers(f"{name} difference in means")
    assert (share.estimate[1], share.standard_error[1]) == pytest.approx(expected[:2], rel=1e-6)


@pytest.mark.parametrize(("name", "height"), [("race", -1425.716), ("affirm", -1415.418)])
def test_a_multinomial_law(name: str, height: float) -> None:
    fit = regress(FORMULA, survey(name), ListExperiment(3), arm="treat", covariance="observed")
    assert fit.log_likelihood == pytest.approx(height, abs=0.001)
    law = list_checks(fit, ListExperiment(3)).law
    assert law is not None
    assert law.statistic == pytest.approx(2 * (height - answers(f"{name} ml sensitive")[0][2]), abs=0.01)
    assert law.degrees_of_freedom == 10
    if name == "race":
        assert (fit.theta[1], fit.standard_errors[1]) == pytest.approx((1.934, 0.565), abs=0.002)


@pytest.mark.parametrize(
    ("options", "method", "share"),
    [({}, "moments", 0.0678), ({}, "marginal", 0.1414), ({"dependent": True}, "marginal", 0.105)],
)
@pytest.mark.filterwarnings("ignore:marginal")
def test_what_is_assumed_changes_the_share(options: dict[str, Any], method: str, share: float) -> None:
    """The pair without a restriction is at its boundary, where a weak prior acts."""
    fit = regress("y ~ 1", survey("race"), ListExperiment(3, **options), arm="treat", method=method)
    assert fit.shares("trait").estimate[1] == pytest.approx(share, abs=0.002)


def test_two_sensitive_items_with_the_same_controls() -> None:
    """The linear fit of both is that of each, since controls are the same."""
    design = ListExperiment(3, groups=["control", "affirm", "race"])
    both = regress(FORMULA, survey("multi"), design, arm="treat", method="linear")
    for place, name in enumerate(("affirm", "race")):
        alone = regress(FORMULA, survey(name), ListExperiment(3), arm="treat", method="linear")
        np.testing.assert_allclose(both.theta[5 * place : 5 * place + 5], alone.theta[:5], atol=1e-9)


@pytest.mark.parametrize(("name", "rejected"), [("race", True), ("affirm", False)])
def test_design_effects(name: str, rejected: bool) -> None:
    fit = regress("y ~ 1", survey(name), ListExperiment(3), arm="treat")
    checks = list_checks(fit, ListExperiment(3))
    (test,) = checks.design_effect
    assert test.p_value == pytest.approx(answers(f"{name} ict.test p")[0][0], abs=1e-9)
    assert test.rejected is rejected
    # The likelihood under independence is 1.7 errors from the difference in means; of affirm, 2.4.
    assert checks.hausman is not None
    assert checks.hausman.test.statistic == pytest.approx({"race": 1.73, "affirm": 2.40}[name] ** 2, abs=0.05)


@pytest.mark.filterwarnings("ignore:marginal")
def test_the_sign_of_a_hidden_cause_is_not_determined() -> None:
    """R's joint model of Mexican voters stops at a mode with the effect −2.02 (.66), at −661.43; another is higher."""
    columns = ["male", "age", "age2", "education", "interest", "married", "wealth", "urban"]
    columns += ["havepropoganda", "concurrent"]
    with gzip.open(needs_data("ict_mexico.csv.gz"), "rt", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["mex_loyal"] == "1"]
    names = ["mex_y_all", "mex_t", "mex_votecard", *(f"mex_{name}" for name in columns)]
    data = {name: [float(row[name]) for row in rows] for name in names}
    formula = f"mex_votecard ~ {' + '.join(names[3:])} + hidden(mex_y_all)"
    fit = regress(formula, data, ListExperiment(3, control_law="binomial"), arm="mex_t")
    (effect,) = fit.model.effects
    first, second = fit.diagnostics.maxima
    assert first.theta[effect] == pytest.approx(0.43, abs=0.02)
    assert second.theta[effect] == pytest.approx(-2.02, abs=0.02)
    assert fit.log_likelihood > -661.43
    assert "not determined" in fit.summary().splitlines()[0]
