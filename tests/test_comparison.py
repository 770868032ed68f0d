"""Fits side by side."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from askance import Fit, ForcedResponse, StochasticLieDetector, compare_fits, regress
from askance.errors import InputError

DESIGN = ForcedResponse("2/3", "1/6")


def _data(n: int = 1500) -> dict[str, Any]:
    rng = np.random.default_rng(2)
    age = rng.normal(size=n)
    truth = np.where(rng.random(n) < 1 / (1 + np.exp(1 - age)), "yes", "no")
    return {"said": DESIGN.simulate(truth, rng), "age": age, "female": rng.integers(0, 2, n).astype(float)}


def _hidden() -> Fit:
    rng, lies = np.random.default_rng(4), StochasticLieDetector(["1/5", "4/5"])
    pairs = np.array(lies.combinations(*(np.where(rng.random(1500) < p, "yes", "no") for p in (0.3, 0.75))))
    group = rng.integers(1, 3, 1500)
    said = np.where(group == 1, lies.arms[1].simulate(pairs, rng), lies.arms[2].simulate(pairs, rng))
    fit: Fit = regress("said ~ 1", {"said": said, "group": group}, lies, arm="group")
    return fit


def test_columns_are_fits_and_rows_their_parameters() -> None:
    data = _data()
    one = regress("said ~ age", data, DESIGN, method="marginal")
    other = regress("said ~ female", {name: values[:900] for name, values in data.items()}, DESIGN, method="moments")
    found = compare_fits({"one": one, "other": other})
    assert found.parameter_names == ("Intercept", "age", "female")
    cells = [row[1:] for row in found.table().rows]
    assert cells[0] == ("Intercept", f"{one.theta[0]:.4f}", f"{other.theta[0]:.4f}")
    assert cells[1] == ("", f"({one.standard_errors[0]:.4f})", f"({other.standard_errors[0]:.4f})")
    assert cells[2:4] == [("age", f"{one.theta[1]:.4f}", ""), ("", f"({one.standard_errors[1]:.4f})", "")]
    about = {name: values for name, *values in cells[6:]}
    assert about["reports"] == ["1,500", "900"]
    assert about["AIC"] == [f"{one.aic:.2f}", "–"]
    assert about["method"] == ["marginal", "moments"]
    assert about["errors"] == ["expected", "robust"]
    assert any("different numbers of reports" in note for note in found.table().notes)
    assert "*" not in found.summary()
    frame = found.to_frame("pandas")
    assert frame["fit"].tolist() == ["one", "one", "other", "other"]
    assert frame["estimate"].tolist() == [*one.theta.tolist(), *other.theta.tolist()]


def test_stars_only_where_asked() -> None:
    fit = regress("said ~ age", _data(), DESIGN, method="marginal")
    assert fit.p_values[1] < 0.001
    found = compare_fits([fit], stars=True)
    assert list(found.fits) == list(compare_fits(fit).fits) == ["(1)"]
    assert found.table().rows[2][2] == f"{fit.theta[1]:.4f}***"
    assert r"\*\*\*" in found.to_markdown()
    assert any("P < 0.05" in note for note in found.table().notes)


def test_hidden_variables_stand_beside_answers() -> None:
    hidden, answer = _hidden(), regress("said ~ 1", _data(), DESIGN)
    found = compare_fits({"lies": hidden, "dice": answer})
    assert found.parameter_names == ("trait:Intercept", "honest:Intercept", "Intercept")
    assert found.to_json()["fits"][0]["aic"] == pytest.approx(4 - 2 * hidden.log_likelihood)
    assert len([note for note in found.table().notes if note.startswith("design of ")]) == 2


def test_what_is_wrong_with_a_fit_is_said() -> None:
    fit = regress("said ~ age", _data(), DESIGN)
    stopped = replace(fit, converged=False, alarm="these reports cannot be")
    text = compare_fits({"good": fit, "bad": stopped}).summary()
    assert text.startswith("ALARM: bad: these reports cannot be")
    assert "bad: the solver did not converge" in text


@pytest.mark.parametrize("fits", [{}, [3], {"a": "fit"}])
def test_refusals(fits: Any) -> None:
    with pytest.raises(InputError, match="allowed: fits, by their names"):
        compare_fits(fits)
