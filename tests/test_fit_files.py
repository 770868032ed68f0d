"""Files of fits of every model, and of the formulas behind regressions: `fit/2`."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askance import (
    CliqueRelease,
    ForcedResponse,
    RandomField,
    RegressionFit,
    Responses,
    Softmax,
    estimate_field,
    load,
    regress,
    save,
)
from askance.errors import FormatError, InputError
from askance.estimation import ConditionalFieldFit, LinearFit
from askance.formats import fit_to_json
from askance.formats.container import pack, unpack
from askance.formats.fit_file import fit_from_json, fit_from_parts, fit_to_parts
from askance.survey.calculations import read_calculation
from askance.survey.saved_calculations import calculation_from_json, calculation_to_json

from .golden.contents import FOLDER
from .golden.fits import golden_fits_2

DESIGN = ForcedResponse("2/3", "1/6")


# -- every model -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(golden_fits_2()))
def test_golden_files_are_read_and_written_again(name: str, tmp_path: Path) -> None:
    fit, again = golden_fits_2()[name], load(FOLDER / name)
    assert type(again) is type(fit)
    assert fit_to_json(again) == fit_to_json(fit)
    assert again.summary(0.9) == fit.summary(0.9)
    assert again.to_json() == fit.to_json()
    for made in (fit, again):
        save(made, tmp_path / name)
        assert (tmp_path / name).read_bytes() == (FOLDER / name).read_bytes()


@pytest.mark.parametrize("name", list(golden_fits_2()))
def test_every_fit_has_the_same_vocabulary(name: str) -> None:
    fit = golden_fits_2()[name]
    size = len(fit.theta)
    assert fit.covariance.shape == (size, size)
    for values in (fit.coefficients, fit.standard_errors, fit.p_values, *fit.confidence_interval()):
        assert values.shape == (size,)
    assert len(fit.parameter_names) == size
    assert fit.messages == (*fit.alarms, *fit.diagnostics.messages)
    assert fit.repaired is fit.diagnostics.repaired
    assert {"method", "n", "channel", "converged", "log_likelihood", "messages"} <= set(fit.to_json())
    table = fit.table()
    assert fit.to_latex() == table.to_latex()
    assert fit.to_html() == table.to_html()
    assert len(fit.to_frame()) == len(table.rows)
    if np.isfinite(fit.covariance).all():
        test = fit.wald_test(fit.parameter_names[0])
        assert test.p_value == pytest.approx(fit.p_values[0])


@pytest.mark.parametrize("name", ["linear.fit", "conditional_field.fit", "field.fit", "regression.fit"])
@pytest.mark.parametrize("field", ["theta", "covariance", "raw_statistics", "model", "diagnostics", "n"])
def test_forged_headers_are_refused(name: str, field: str) -> None:
    header, payload = unpack((FOLDER / name).read_bytes(), "a.fit")
    for value in (None, [1.0, 2.0], [["a"]], {"array": [3]}, {"array": [-1]}, "text", -1):
        if value is None and field in ("covariance", "raw_statistics"):
            continue  # not known
        with pytest.raises(FormatError, match=r"a\.fit"):
            fit_from_parts({**header, field: value}, payload, "a.fit")


def test_large_arrays_stand_behind_the_header() -> None:
    fit, d = golden_fits_2()["regression.fit"], 120
    assert isinstance(fit, RegressionFit)
    large = dataclasses.replace(
        fit,
        model=Softmax(["no", "yes"], [f"x{j}" for j in range(d)]),
        theta=np.arange(d) / 7,
        covariance=np.diag(np.arange(1, d + 1) / 7),
        raw_statistics=None,
        design=None,
        in_basis=None,
    )
    header, payload = fit_to_parts(large)
    assert header["covariance"] == {"array": [d, d]}
    assert len(payload) == 8 * d * d
    again = fit_from_parts(json.loads(json.dumps(header)), payload, "a.fit")
    np.testing.assert_array_equal(again.covariance, large.covariance)
    for bad in (payload[:-8], payload + bytes(8), payload[:-1], payload[:-8] + np.array([np.nan]).tobytes()):
        with pytest.raises(FormatError):
            fit_from_parts(header, bad, "a.fit")


def test_a_loaded_linear_regression_predicts() -> None:
    fit = golden_fits_2()["linear.fit"]
    again = load(FOLDER / "linear.fit")
    assert isinstance(fit, LinearFit)
    assert isinstance(again, LinearFit)
    x = np.array([[1.0, 9.0], [2.0, 4.0]])
    np.testing.assert_array_equal(again.predict(x), fit.predict(x))
    assert again.slopes.tolist() == fit.theta[1:].tolist()


def test_a_loaded_field_with_covariates_asks_for_them(tmp_path: Path) -> None:
    field, rng = RandomField([2, 2], [[0, 1]], covariates=["age"]), np.random.default_rng(3)
    channel, x = CliqueRelease([2, 2], [[0, 1]], 4), rng.normal(size=(800, 1))
    records = rng.integers(0, 2, (800, 2))
    fit = estimate_field(field, Responses(channel).add(x, channel.simulate(records, rng)))
    save(fit, tmp_path / "a.fit")
    again = load(tmp_path / "a.fit")
    assert isinstance(again, ConditionalFieldFit)
    assert again.to_json() == fit.to_json()
    one, two = fit.marginal([0], x[:5]), again.marginal([0], x[:5])
    assert one.to_json() == two.to_json()
    with pytest.raises(InputError, match=r"never written to a file.*Give x: rows of age"):
        again.marginal([0])
    assert again.x is None


# -- formulas ----------------------------------------------------------------------------------------------------------


def survey(n: int = 300) -> dict[str, Any]:
    rng = np.random.default_rng(5)
    return {
        "said": DESIGN.simulate(rng.choice(["no", "yes"], n), rng),
        "age": rng.uniform(20, 60, n),
        "hours per week": rng.uniform(1, 40, n),
        "k": rng.integers(0, 3, n),
        "flag": rng.random(n) < 0.5,
        "region": rng.choice(["north", "south", "east"], n),
    }


FORMULAS = [
    "said ~ 1",
    "said ~ .",
    "said ~ center(age) + scale(log(`hours per week`)):region",
    "said ~ poly(age, 2) + bs(`hours per week`, df=4)",
    "said ~ cr(age, df=4, constraints='center') + flag",
    "said ~ C(k, contr.sum) + C(region, Treatment('south'))",
    "said ~ 0 + region:flag + C(k):age",
    "said ~ I(20 < age < 40) + I(~(age > 30) | (k == 1)) + I(-age**2 // 3 % 7) + age.clip(30, upper=50)",
    "said ~ np.where(age > 30, 1, 0) + I(isin(region, ['north', 'east'])) + I(np.pi * age)",
    "said ~ C(np.where(age > 40, 'a', 'b')) + C(region, {'a': [1, 2, 0.5]})",
]


def saved(formula: str, path: Path) -> tuple[RegressionFit, RegressionFit]:
    fit = regress(formula, survey(), DESIGN)
    save(fit, path)
    again = load(path)
    assert isinstance(again, RegressionFit)
    return fit, again


@pytest.mark.filterwarnings("ignore::askance.errors.AskanceWarning")
@pytest.mark.parametrize("formula", FORMULAS)
def test_a_loaded_fit_predicts_new_data(formula: str, tmp_path: Path) -> None:
    fit, again = saved(formula, tmp_path / "a.fit")
    new = {name: values[7:19] for name, values in survey().items() if name != "said"}
    np.testing.assert_array_equal(again.design.matrix(new), fit.design.matrix(new))
    assert again.predict(new).to_json() == fit.predict(new).to_json()
    assert again.prevalence(new, by="region").to_json() == fit.prevalence(new, by="region").to_json()
    assert again.summary() == fit.summary()
    save(again, tmp_path / "b.fit")
    assert (tmp_path / "b.fit").read_bytes() == (tmp_path / "a.fit").read_bytes()


def test_a_loaded_fit_refuses_in_the_same_words(tmp_path: Path) -> None:
    fit, again = saved("said ~ log(age) + region + C(k)", tmp_path / "a.fit")
    good = {"age": [30.0, 40.0], "region": ["north", "south"], "k": [0, 1]}
    bad: list[dict[str, Any]] = [
        {**good, "region": ["north", "west"]},
        {**good, "k": [0, 7]},
        {"age": [30.0], "k": [0]},
        {**good, "age": [30.0, None]},
        {**good, "age": [30.0, 0.0]},
        {**good, "age": ["young", "old"]},
    ]
    for data in bad:
        with pytest.raises(InputError) as first:
            fit.predict(data)
        with pytest.raises(InputError) as second:
            again.predict(data)
        assert (type(first.value), str(first.value)) == (type(second.value), str(second.value))


def test_no_respondent_is_in_the_file(tmp_path: Path) -> None:
    table = survey() | {"region": ["north", "south", "east"] * 100}
    save(regress("said ~ center(age) + region", table, DESIGN), tmp_path / "a.fit")
    text = (tmp_path / "a.fit").read_text(encoding="utf-8")
    assert not any(repr(float(age)) in text for age in table["age"])


def nodes(content: Any) -> list[dict[str, Any]]:
    """All nodes of a tree."""
    inner = content.values() if isinstance(content, dict) else content if isinstance(content, list) else ()
    own = [content] if isinstance(content, dict) and "node" in content else []
    return own + [node for part in inner for node in nodes(part)]


ATTACKS: dict[str, Callable[[dict[str, Any]], object]] = {
    "a function that is none": lambda tree: tree["func"].update(id="__import__"),
    "a lambda": lambda tree: tree.update(node="Lambda"),
    "a comprehension": lambda tree: tree["args"][0].update(node="ListComp"),
    "an attribute": lambda tree: tree["args"].__setitem__(
        0, {"node": "Attribute", "at": [0, 1], "value": tree["args"][0], "attr": "__class__"}
    ),
    "another column": lambda tree: nodes(tree["args"])[0].update(id="salary"),
    "no argument": lambda tree: tree.update(args=[]),
    "a text for an argument": lambda tree: tree.update(args=["age"]),
    "unknown field": lambda tree: tree.update(code="1"),
    "no place": lambda tree: tree.pop("at"),
    "far place": lambda tree: tree.update(at=[0, 1 << 40]),
    "an operator for a value": lambda tree: tree["args"].__setitem__(0, {"node": "Add"}),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_trees_of_anything_else_are_refused(attack: str, tmp_path: Path) -> None:
    content = fit_to_json(regress("said ~ log(age)", survey(), DESIGN))
    ATTACKS[attack](content["design"]["calculations"]["log(age)"]["tree"])
    with pytest.raises(FormatError, match=r"a\.fit"):
        fit_from_json(content, "a.fit")


DESIGNS: list[tuple[str, Any]] = [
    ("format", "formula/2"),
    ("columns", ["region"]),
    ("terms", ["Intercept"]),
    ("factors", [["1"], ["salary"]]),
    ("factors", [["__import__('os')"]]),
    ("factors", 3),
    ("calculations", {"center(age)": "center(age)"}),
    ("kinds", {"region": "lambda"}),
    ("output", "pandas"),
    ("categories", {"region": {"a": 1}}),
    ("levels", [["region"]]),
    ("memories", [["center(age) 0", {"object": "os.system"}]]),
]


@pytest.mark.parametrize(("field", "value"), DESIGNS)
def test_forged_designs_are_refused(field: str, value: Any, tmp_path: Path) -> None:
    content = fit_to_json(regress("said ~ center(age) + region", survey(), DESIGN))
    path = tmp_path / "a.fit"
    path.write_bytes(pack({**content, "design": {**content["design"], field: value}}))
    with pytest.raises(FormatError, match=r"a\.fit"):
        load(path)


@pytest.mark.parametrize("source", ["", "age +\n1", "a" * 5001])
def test_texts_of_calculations_are_as_short_as_typed_ones(source: str) -> None:
    """Messages look up every node in the text: a long one would keep whoever loads the file waiting."""
    content = calculation_to_json(read_calculation("age + 1", ["age"]))
    with pytest.raises(FormatError, match="characters; allowed: 1 to 5,000, on one line"):
        calculation_from_json({**content, "source": source}, "age + 1", "a file")
