"""Tables for people: what `summary()` prints of shares, effects and predictions; groups by columns of the formula."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from askance import ForcedResponse, RandomizedResponse, RegressionFit, Responses, Softmax, estimate, regress
from askance.errors import InputError, UnmodelledGroupsWarning
from askance.estimation.results.result_tables import percent
from tests.cr2 import by_cluster

from .regressions import assert_same

DESIGN = ForcedResponse("2/3", "1/6")


def survey(n: int = 1200, design: Any = DESIGN) -> dict[str, Any]:
    """A table with gaps; few different values, so that equal rows are folded."""
    rng = np.random.default_rng(8)
    age = rng.integers(2, 6, n).astype(float)
    age[:20] = np.nan
    region = rng.choice(["north", "south"], n)
    region[rng.random(n) < 0.3] = "east"
    labels = list(design.outputs.labels)
    said = design.simulate(rng.choice(labels, n), rng)
    return {"said": said, "age": age, "region": region, "w": rng.integers(1, 4, n), "village": rng.integers(0, 40, n)}


def fitted(**options: Any) -> RegressionFit:
    return regress("said ~ I(age - 3) + C(region)", survey(), DESIGN, missing="drop", **options)


# -- groups by columns of the formula ----------------------------------------------------------------------------------


@pytest.mark.parametrize("population", [False, True])
@pytest.mark.parametrize("by", ["region", "age"])
def test_columns_of_the_formula_group_those_who_were_fitted(by: str, population: bool) -> None:
    table = survey()
    kept = ~np.isnan(table["age"])
    complete = {name: values[kept] for name, values in table.items()}
    fit = fitted()
    assert fit.evidence is not None
    assert fit.evidence.chunks[0].multiplicity is not None
    assert_same(fit.prevalence(by=by, population=population), fit.prevalence(complete, by=by, population=population))


def test_groups_keep_weights_and_clusters() -> None:
    table = survey()
    kept = ~np.isnan(table["age"])
    complete = {name: values[kept] for name, values in table.items()}
    fit = fitted(weights="w", cluster="village")
    found = fit.prevalence(by="region")
    assert_same(found, fit.prevalence(complete, by="region", weights=complete["w"]))
    assert found.by == "region"
    # Clusters widen what is said of the population: residuals are summed within them.
    p = fit.model.probabilities(fit.theta, fit.design.matrix(complete))
    added = fit.prevalence(by="region", population=True).standard_error ** 2 - found.standard_error**2
    for g, name in enumerate(found.groups):
        inside = complete["region"] == name
        w = np.where(inside, complete["w"], 0.0)
        residual = w[:, None] * (p - found.estimate[g])
        villages = np.unique(complete["village"][inside])
        sums = np.array([residual[complete["village"] == village].sum(axis=0) for village in villages])
        left = 1 - by_cluster(w[inside], complete["village"][inside]) / w.sum()  # CR2 of a mean
        expected = (sums**2 / left[:, None]).sum(axis=0) / w.sum() ** 2
        np.testing.assert_allclose(added[g], expected, rtol=1e-8)
    with pytest.warns(UnmodelledGroupsWarning, match="does not have 'village'"):
        assert len(fit.prevalence(by="village").groups) == 40


def test_other_columns_are_refused_with_a_way_out() -> None:
    with pytest.raises(InputError, match=r"by is 'village'; allowed: 'age', 'region'.*Put it into the formula"):
        fitted().prevalence(by="village")


# -- what is printed ---------------------------------------------------------------------------------------------------


def test_the_regression_names_its_weights_and_clusters() -> None:
    text = fitted(weights="w", cluster="village").summary()
    assert "note: weighted by w\n" in text
    assert text.endswith("note: std. errors: CR2, 40 clusters by village, with Satterthwaite's degrees of freedom")
    assert "weighted" not in fitted().summary()
    table = survey()
    x = np.column_stack([np.ones(1200), table["region"] == "east"]).astype(float)
    model = Softmax(DESIGN.outputs, ["Intercept", "east"])
    unnamed = estimate(model, Responses(DESIGN).add(x, table["said"], weights=table["w"]))
    assert unnamed.summary().endswith("note: weighted by sampling weights")


def test_one_share_is_one_sentence() -> None:
    fit = fitted()
    shares = fit.prevalence(confidence=0.9, population=True)
    p, low, high = (percent(table[0, 1]) for table in (shares.estimate, shares.lower, shares.upper))
    assert shares.summary().splitlines() == [
        f"share of yes  {p} (90 % interval {low} to {high})",
        "for the population that the respondents were drawn from",
    ]
    assert "for these respondents as they are" in fit.prevalence().summary()


def test_groups_are_rows() -> None:
    shares = fitted().prevalence(by="region")
    lines = shares.summary().splitlines()
    assert lines[0] == "Share of yes"
    assert lines[2].split() == ["region", "respondents", "share", "std.", "error", "2.5", "%", "97.5", "%"]
    for g, line in enumerate(lines[4:7]):
        figures = (shares.estimate, shares.standard_error, shares.lower, shares.upper)
        words = [str(shares.groups[g]), f"{shares.n_respondents[g]:.0f}", *(percent(table[g, 1]) for table in figures)]
        assert " ".join(line.split()) == " ".join(words)


def test_several_answers_are_blocks() -> None:
    outputs = ["never", "once", "often"]
    design = RandomizedResponse("0.6", outputs=outputs)
    fit = regress("said ~ age + C(region)", survey(design=design), design, missing="drop")
    shares = fit.prevalence()
    lines = shares.summary().splitlines()
    assert [line.split()[2] for line in lines[:3]] == outputs
    assert [line.split()[3] for line in lines[:3]] == [f"{100 * p:.1f}" for p in shares.estimate[0]]
    new = {"age": [2, 3], "region": ["east", "north"]}
    for table in (fit.prevalence(by="region"), fit.marginal_effects(terms=["age"]), fit.predict(new)):
        text = table.summary()
        assert [line for line in text.splitlines() if line in outputs] == outputs
        assert max(map(len, text.splitlines())) <= 100


def test_effects_are_in_points_with_as_many_digits_as_are_known() -> None:
    fit = fitted()
    effects = fit.marginal_effects(terms=["I(age - 3)"])
    row = effects.summary().splitlines()[4].split()
    change, error = 100 * effects.estimate[0, 1], 100 * effects.standard_error[0, 1]
    assert row[:6] == ["I(age", "-", "3)", "slope", f"{change:+.1f}", f"{error:.1f}"]
    years = regress("said ~ I(1000 * age) + C(region)", survey(), DESIGN, missing="drop")
    small = years.marginal_effects(terms=["I(1000 * age)"]).summary().splitlines()[4].split()
    assert float(small[4]) == pytest.approx(change / 1000, rel=0.5, abs=1e-4)
    assert float(small[5]) == pytest.approx(error / 1000, rel=0.05)


def test_predictions_are_rows_and_long_tables_are_cut() -> None:
    fit = fitted()
    found = fit.predict({"age": [2, 5], "region": ["east", "north"]}, confidence=0.8)
    lines = found.summary().splitlines()
    assert lines[0] == "Probability of yes"
    assert lines[2].split() == ["row", "probability", "std.", "error", "10", "%", "90", "%"]
    assert lines[5].split()[:2] == ["1", f"{100 * found.estimate[1, 1]:.1f}"]
    many = fit.predict({"age": [2] * 500, "region": ["east"] * 500}).summary()
    assert "… and 300 more rows" in many


def test_unknown_errors_are_dashes() -> None:
    assert [percent(value) for value in (0.0, 0.5, 0.0005, 0.0001, float("nan"))] == [
        *("0.0 %", "50.0 %", "0.1 %", "0.01 %", "–"),
    ]
