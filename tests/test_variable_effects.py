"""Effects of variables, whatever columns they are in: against analytic derivatives and changes by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askance import Direct, ForcedResponse, RandomizedResponse, RegressionFit, load, regress, save
from askance._arrays import FloatArray
from askance.errors import InputError, RepairWarning

from .regressions import assert_same, numeric_error

DESIGN = ForcedResponse("2/3", "1/6")


def survey(n: int = 900, design: Any = DESIGN) -> dict[str, Any]:
    rng = np.random.default_rng(11)
    labels = list(design.outputs.labels)
    table: dict[str, Any] = {
        "age": rng.uniform(20, 70, n),
        "year": rng.integers(1990, 2021, n).astype(float),
        "income": rng.lognormal(size=n),
        "female": rng.integers(0, 2, n).astype(float),
        "region": rng.choice(["north", "east", "south"], n),
        "grade": rng.integers(1, 4, n).astype(float),
        "w": rng.uniform(0.5, 2, n),
        "village": rng.integers(0, 40, n),
    }
    odds = 0.03 * (table["age"] - 45) + 0.6 * (table["region"] == "south")
    truth = np.where(rng.random(n) < 1 / (1 + np.exp(-odds)), labels[-1], labels[0])
    return table | {"said": design.simulate(truth, rng)}


def fitted(formula: str, **options: Any) -> tuple[RegressionFit, dict[str, Any]]:
    data = survey()
    return regress(f"said ~ {formula}", data, DESIGN, method="marginal", **options), data


def yes_slope(
    fit: RegressionFit, data: dict[str, Any], rate: Callable[[FloatArray], FloatArray]
) -> Callable[[FloatArray], FloatArray]:
    """Mean of p (1 − p) · dη/dv, with dη/dv = rate(θ) by hand."""

    def value(theta: FloatArray) -> FloatArray:
        p = fit.model.probabilities(theta, fit.design.matrix(data))[:, 1]
        return np.asarray((p * (1 - p) * rate(theta)).mean())

    return value


def test_age_and_its_square_are_one_variable() -> None:
    fit, data = fitted("age + I(age**2) + female")
    found = fit.marginal_effects()
    assert found.terms == ("age", "female")
    assert found.kinds == ("slope", "0 → 1")
    value = yes_slope(fit, data, lambda theta: theta[1] + 2 * theta[2] * data["age"])
    assert found.estimate[0, 1] == pytest.approx(float(value(fit.theta)), rel=1e-8)
    assert found.estimate[0, 0] == pytest.approx(-float(value(fit.theta)), rel=1e-8)


def test_errors_are_those_of_the_delta_method() -> None:
    fit, data = fitted("I((age - 45) / 10) + I(((age - 45) / 10)**2) * female")
    found = fit.marginal_effects(variables=["age"])
    a = (data["age"] - 45) / 10
    names = fit.parameter_names
    square, both = names.index("I(((age - 45) / 10) ** 2)"), names.index("I(((age - 45) / 10) ** 2):female")

    def rate(theta: FloatArray) -> FloatArray:
        return np.asarray((theta[1] + 2 * a * (theta[square] + theta[both] * data["female"])) / 10)

    value = yes_slope(fit, data, rate)
    assert found.estimate[0, 1] == pytest.approx(float(value(fit.theta)), rel=1e-9)
    assert found.standard_error[0, 1] == pytest.approx(float(numeric_error(fit, value)), rel=1e-6)


@pytest.mark.parametrize(
    ("formula", "rate"),
    [
        ("log(income)", lambda x: 1 / x),
        ("I(1 / income)", lambda x: -1 / x**2),
        ("scale(income)", lambda x: 1 / x.std(ddof=1) * np.ones_like(x)),
        ("np.exp(-income)", lambda x: -np.exp(-x)),
    ],
)
def test_functions_of_a_variable(formula: str, rate: Callable[[FloatArray], FloatArray]) -> None:
    fit, data = fitted(formula)
    value = yes_slope(fit, data, lambda theta: theta[1] * rate(data["income"]))
    assert fit.marginal_effects().estimate[0, 1] == pytest.approx(float(value(fit.theta)), rel=1e-6)


def test_years_keep_their_digits() -> None:
    """Coefficients of a year and its square nearly cancel: in the basis of the fit they do not."""
    fit, data = fitted("year + I(year**2)")
    near, _ = fitted("I(year - 2000) + I((year - 2000)**2)")
    value = yes_slope(near, data, lambda theta: theta[1] + 2 * theta[2] * (data["year"] - 2000))
    found = fit.marginal_effects()
    assert found.estimate[0, 1] == pytest.approx(float(value(near.theta)), rel=1e-5)
    assert found.standard_error[0, 1] == pytest.approx(float(numeric_error(near, value)), rel=1e-5)


def test_splines_are_asked_within_their_range() -> None:
    fit, data = fitted("bs(age, df=5)")
    ages = np.linspace(data["age"].min(), data["age"].max(), 7)
    found = [fit.marginal_effects({"age": [age]}, variables=["age"]).estimate[0, 1] for age in ages]
    h = 1e-4
    inside = ages.clip(ages[0] + h, ages[-1] - h)
    ends = [fit.predict({"age": inside + shift}).estimate[:, 1] for shift in (-h, h)]
    np.testing.assert_allclose(found, (ends[1] - ends[0]) / (2 * h), rtol=1e-2)


def test_categories_go_from_their_reference_to_each_other_level() -> None:
    fit, data = fitted("C(region, Treatment('north')) * I(age - 45) + C(grade)")
    found = fit.marginal_effects(variables=["region", "grade"])
    assert found.terms == ("region", "region", "grade", "grade")
    assert found.kinds == ("north → east", "north → south", "1 → 2", "1 → 3")

    def change(theta: FloatArray) -> FloatArray:
        ends = [
            fit.model.probabilities(theta, fit.design.matrix(data | {"region": [name] * 900})).mean(axis=0)
            for name in ("north", "east", "south")
        ]
        return np.array([ends[1] - ends[0], ends[2] - ends[0]])

    np.testing.assert_allclose(found.estimate[:2], change(fit.theta), rtol=1e-9)
    np.testing.assert_allclose(found.standard_error[:2], numeric_error(fit, change), rtol=1e-6)


def test_what_jumps_goes_up_by_one_and_others_as_asked() -> None:
    fit, data = fitted("I(age > 45) + female")
    found = fit.marginal_effects()
    assert found.kinds == ("+1", "0 → 1")
    moved = fit.predict(data | {"age": data["age"] + 1}).estimate - fit.predict(data).estimate
    np.testing.assert_allclose(found.estimate[0], moved.mean(axis=0), rtol=1e-9)
    ten = fit.marginal_effects(variables={"age": 10})
    moved = fit.predict(data | {"age": data["age"] + 10}).estimate - fit.predict(data).estimate
    assert ten.kinds == ("+10",)
    np.testing.assert_allclose(ten.estimate[0], moved.mean(axis=0), rtol=1e-9)


@pytest.mark.parametrize("options", [{}, {"weights": "w"}, {"weights": "w", "cluster": "village"}])
def test_rows_keep_their_weights_in_every_order(options: dict[str, str]) -> None:
    """Respondents of two arms, in the order of the evidence; several outputs."""
    design, rng = RandomizedResponse("1/2", outputs=["a", "b", "c"]), np.random.default_rng(2)
    data = survey(design=design) | {"version": rng.choice(["cards", "direct"], 900)}
    designs = {"cards": design, "direct": Direct(["a", "b", "c"])}
    fit = regress("said ~ I(age / 10) * female", data, designs, arm="version", **options)
    w = data["w"] if options else None
    assert_same(fit.marginal_effects(), fit.marginal_effects(data, weights=w))


def test_folded_rows_count_as_often_as_they_are() -> None:
    fit, data = fitted("grade + female")
    assert fit.evidence is not None
    assert fit.evidence.chunks[0].multiplicity is not None
    assert_same(fit.marginal_effects(), fit.marginal_effects(data))


def test_many_columns_of_zeros() -> None:
    data = survey()
    data["place"] = np.random.default_rng(3).integers(0, 120, 900).astype(str)
    few = {name: values for name, values in data.items() if name in ("said", "age", "place")}
    with pytest.warns(RepairWarning):  # of so many effects
        fit = regress("said ~ I((age - 45) / 25) + C(place)", few, DESIGN, method="moments")
    value = yes_slope(fit, data, lambda theta: theta[1] / 25 * np.ones(900))
    found = fit.marginal_effects(variables=["age"])
    assert found.estimate[0, 1] == pytest.approx(float(value(fit.theta)), rel=1e-9)


def test_loaded_fits_know_their_variables(tmp_path: Path) -> None:
    fit, data = fitted("age + I(age**2) + C(region)")
    save(fit, tmp_path / "a.fit")
    again = load(tmp_path / "a.fit")
    assert isinstance(again, RegressionFit)
    assert_same(again.marginal_effects(data), fit.marginal_effects(data))
    with pytest.raises(InputError, match=r"needs the covariates.*marginal_effects\(x\)"):
        again.marginal_effects(variables=["age"])


def test_refusals() -> None:
    fit, data = fitted("age + C(region)")
    refused: dict[str, Callable[[], object]] = {
        "variables is 'region2'; allowed: 'age', 'region'": lambda: fit.marginal_effects(variables=["region2"]),
        "variables are given with terms": lambda: fit.marginal_effects(variables=["age"], terms=["age"]),
        "no named columns": lambda: fit.marginal_effects(fit.design.matrix(data), variables=["age"]),
        "change of 'age' is nan": lambda: fit.marginal_effects(variables={"age": float("nan")}),
        "'region' holds categories": lambda: fit.marginal_effects(variables={"region": 1}),
    }
    for words, call in refused.items():
        with pytest.raises(InputError, match=words):
            call()
    with pytest.raises(InputError, match="no variable"):
        fitted("1")[0].marginal_effects()
