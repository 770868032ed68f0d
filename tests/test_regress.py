"""From a table to a fit: the same as by hand, whatever the brand, and typed refusals that name column and way out."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from askance import (
    Coarsened,
    Crosswise,
    Direct,
    DisguisedResponse,
    ForcedResponse,
    MatrixChannel,
    RandomizedResponse,
    Responses,
    Softmax,
    Warner,
    estimate,
    regress,
)
from askance.errors import (
    AskanceError,
    AskanceWarning,
    EmptyDataError,
    IncompatibleEvidenceError,
    InputError,
    LabelError,
    MissingValueError,
    NotIdentifiedError,
    ProbabilityError,
    RepairWarning,
)

DESIGN = ForcedResponse("2/3", "1/6")
N = 3000
FORMULA = "said ~ age + C(region)"


def survey(design: Any = DESIGN, n: int = N) -> dict[str, Any]:
    """A generated survey: a yes/no answer that depends on age and region, said through a design."""
    rng = np.random.default_rng(12)
    age, place = rng.normal(size=n), rng.integers(0, 3, n)
    odds = -0.5 + 0.8 * age + np.array([0.0, 0.5, -0.5])[place]
    truth = np.where(rng.random(n) < 1 / (1 + np.exp(-odds)), *reversed(design.outputs.labels))
    return {
        "said": design.simulate(truth, rng),
        "age": age,
        "region": np.array(["north", "south", "west"])[place],
        "village": rng.integers(0, 60, n),
        "weight": rng.uniform(0.5, 2, n),
        "truth": truth,
    }


DATA = survey()
X = np.column_stack([np.ones(N), DATA["age"], DATA["region"] == "south", DATA["region"] == "west"]).astype(float)
MODEL = Softmax(["no", "yes"], ["Intercept", "age", "C(region)[T.south]", "C(region)[T.west]"])


def numbers(said: Any) -> Any:
    return (np.asarray(said) == "yes").astype(int)


# -- the same as by hand -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["one-step", "moments", "marginal"])
def test_equals_the_fit_by_hand(method: str) -> None:
    fit = regress(FORMULA, DATA, DESIGN, method=method)
    by_hand = estimate(MODEL, Responses(DESIGN).add(X, DATA["said"]), method)
    assert fit.model.parameter_names == MODEL.parameter_names
    assert fit.method == method
    np.testing.assert_allclose(fit.theta, by_hand.theta, rtol=1e-10)
    np.testing.assert_allclose(fit.covariance, by_hand.covariance, rtol=1e-8)
    assert fit.n_observations == N


def test_weights_clusters_and_options_reach_the_fit() -> None:
    fit = regress(FORMULA, DATA, DESIGN, cluster="village", weights="weight")
    evidence = Responses(DESIGN).add(X, DATA["said"], weights=DATA["weight"], clusters=DATA["village"])
    by_hand = estimate(MODEL, evidence)
    np.testing.assert_allclose(fit.theta, by_hand.theta, rtol=1e-10)
    np.testing.assert_allclose(fit.covariance, by_hand.covariance, rtol=1e-8)
    assert fit.covariance_kind == "cluster-robust"
    assert regress(FORMULA, DATA, DESIGN, covariance="robust").covariance_kind == "robust"
    named = {**DATA, "village": [f"v{i}" for i in DATA["village"]]}
    np.testing.assert_allclose(
        regress(FORMULA, named, DESIGN, cluster="village").covariance,
        regress(FORMULA, DATA, DESIGN, cluster="village").covariance,
        rtol=1e-10,
    )


def test_supervised() -> None:
    fit = regress("truth ~ age + C(region)", DATA, Direct(["no", "yes"]), method="supervised")
    by_hand = estimate(MODEL, Responses(Direct(["no", "yes"])).add(X, DATA["truth"]), "supervised")
    np.testing.assert_allclose(fit.theta, by_hand.theta, rtol=1e-10)
    with pytest.raises(IncompatibleEvidenceError, match="ForcedResponse"):
        regress(FORMULA, DATA, DESIGN, method="supervised")


def test_every_brand_gives_the_same_fit() -> None:
    frame = pd.DataFrame(DATA)
    frame.loc[[4, 7], "age"] = np.nan
    frame.loc[5, "region"] = None
    expected = regress(FORMULA, frame, DESIGN, missing="drop")
    assert expected.n_observations == N - 3
    brands: list[Any] = [
        pl.from_pandas(frame),
        pa.Table.from_pandas(frame),
        frame.convert_dtypes(dtype_backend="pyarrow"),
        {name: frame[name].tolist() for name in frame},
    ]
    for data in brands:
        fit = regress(FORMULA, data, DESIGN, missing="drop")
        assert fit.model.parameter_names == expected.model.parameter_names
        np.testing.assert_array_equal(fit.theta, expected.theta)


def test_several_categories() -> None:
    rng = np.random.default_rng(2)
    design = RandomizedResponse("2/3", outputs=["never", "once", "often"])
    truth = np.array(design.outputs.labels)[rng.integers(0, 3, N)]
    fit = regress("said ~ age", {"said": design.simulate(truth, rng), "age": rng.normal(size=N)}, design)
    assert fit.model.parameter_names == ("once:Intercept", "once:age", "often:Intercept", "often:age")


def test_new_data_are_predicted_alike() -> None:
    fit = regress("said ~ center(age) + region", DATA, DESIGN)
    few = {"age": DATA["age"][:5], "region": DATA["region"][:5]}
    assert fit.evidence is not None
    by_hand = fit.model.probabilities(fit.theta, fit.evidence.chunks[0].x[:5])
    np.testing.assert_allclose(fit.model.probabilities(fit.theta, fit.design.matrix(few)), by_hand)
    with pytest.raises(LabelError, match=r"'region' holds 'east'"):
        fit.design.matrix({"age": [0.0], "region": ["east"]})


# -- which value is yes ------------------------------------------------------------------------------------------------

SAME: dict[str, tuple[Any, dict[str, Any]]] = {
    "labels": (DATA["said"], {}),
    "capitals": (np.char.upper(DATA["said"]), {}),
    "blanks": ([f" {each} " for each in DATA["said"]], {}),
    "0 and 1": (numbers(DATA["said"]), {}),
    "0.0 and 1.0": (numbers(DATA["said"]).astype(float), {}),
    "texts of 0 and 1": (numbers(DATA["said"]).astype(str), {}),
    "booleans": (numbers(DATA["said"]).astype(bool), {}),
    "categories": (pd.Categorical(DATA["said"]), {}),
    "yes and nein": (np.where(DATA["said"] == "yes", "yes", "nein"), {}),
    "1 and 2, 2 is yes": (numbers(DATA["said"]) + 1, {"positive": 2}),
    "1 and 2, 1 is yes": (2 - numbers(DATA["said"]), {"positive": "1"}),
    "ja and nein": (np.where(DATA["said"] == "yes", "ja", "nein"), {"positive": "Ja"}),
    "booleans, named": (numbers(DATA["said"]).astype(bool), {"positive": "true"}),
    "booleans, turned": (~numbers(DATA["said"]).astype(bool), {"positive": False}),
    "labels, turned": (np.where(DATA["said"] == "yes", "no", "yes"), {"positive": "no"}),
}


@pytest.mark.parametrize(("said", "options"), SAME.values(), ids=list(SAME))
def test_values_that_mean_the_same(said: Any, options: dict[str, Any]) -> None:
    expected = regress(FORMULA, DATA, DESIGN)
    fit = regress(FORMULA, {**DATA, "said": said}, DESIGN, **options)
    np.testing.assert_array_equal(fit.theta, expected.theta)


def test_a_reading_that_is_not_plain_is_told() -> None:
    assert regress(FORMULA, DATA, DESIGN).diagnostics.messages == ()
    fit = regress(FORMULA, {**DATA, "said": numbers(DATA["said"])}, DESIGN)
    assert fit.diagnostics.messages == ("column 'said': 0 is read as 'no', 1 is read as 'yes'",)


def test_second_observation_of_other_designs() -> None:
    design = Crosswise("1/6")
    data = survey(design)
    said = np.where(data["said"] == "same", 1, 0)
    expected = regress(FORMULA, data, design)
    fit = regress(FORMULA, {**data, "said": said}, design, positive=1)
    np.testing.assert_array_equal(fit.theta, expected.theta)
    assert fit.diagnostics.messages == ("column 'said': 0 is read as 'different', 1 is read as 'same'",)


@pytest.mark.parametrize("design", [Crosswise("1/6"), DisguisedResponse("4/5")], ids=["crosswise", "disguised"])
@pytest.mark.parametrize(
    "said", [DATA["said"], numbers(DATA["said"]), DATA["said"] == "yes"], ids=["texts", "1", "True"]
)
def test_a_yes_is_no_report_of_designs_without_yes(design: Any, said: Any) -> None:
    second = design.observations.labels[1]
    with pytest.raises(LabelError, match=f"say which value means '{second}' by positive="):
        regress(FORMULA, {**DATA, "said": said}, design)
    labelled = np.where(DATA["said"] == "yes", *reversed(design.observations.labels))
    expected = regress(FORMULA, {**DATA, "said": labelled}, design)
    named = regress(FORMULA, {**DATA, "said": said}, design, positive=said[DATA["said"] == "yes"][0].item())
    np.testing.assert_array_equal(named.theta, expected.theta)


def test_labels_of_the_answers_themselves_may_be_anything() -> None:
    never = ForcedResponse("2/3", "1/6", outputs=["never", "ever"])
    fit = regress(FORMULA, {**DATA, "said": numbers(DATA["said"])}, never)
    np.testing.assert_array_equal(fit.theta, regress(FORMULA, DATA, DESIGN).theta)
    asked = MatrixChannel(DESIGN.matrix.tolist(), outputs=["innocent", "guilty"], observations=["no", "yes"])
    fit = regress(FORMULA, {**DATA, "said": numbers(DATA["said"])}, asked)
    assert fit.diagnostics.messages == ("column 'said': 0 is read as 'no', 1 is read as 'yes'",)


MERGED = "column 'said': ' no', 'NO' are read as 'no'; 'Yes' is read as 'yes'"


@pytest.mark.parametrize("positive", [None, "yes", "YES "])
def test_spellings_are_merged_and_told(positive: Any) -> None:
    said = DATA["said"].astype(object)
    yes, no = np.flatnonzero(said == "yes"), np.flatnonzero(said == "no")
    said[yes[:5]], said[no[:7]], said[no[7:9]] = "Yes", "NO", " no"
    fit = regress(FORMULA, {**DATA, "said": said}, DESIGN, positive=positive)
    np.testing.assert_array_equal(fit.theta, regress(FORMULA, DATA, DESIGN).theta)
    assert fit.diagnostics.messages == (MERGED,)


def test_spellings_of_one_value_are_one_value() -> None:
    said = np.where(DATA["said"] == "yes", "Y", "y")
    with pytest.raises(NotIdentifiedError, match="holds only 'yes'"):
        regress(FORMULA, {**DATA, "said": said}, DESIGN, positive="Y")
    merged = np.where(DATA["said"] == "yes", "yes", np.where(DATA["age"] > 0, "nein", "Nein"))
    fit = regress(FORMULA, {**DATA, "said": merged}, DESIGN)
    np.testing.assert_array_equal(fit.theta, regress(FORMULA, DATA, DESIGN).theta)
    assert fit.diagnostics.messages == ("column 'said': 'Nein', 'nein' are read as 'no'",)


@pytest.mark.parametrize("labels", [["1", "2", "3"], [1, 2, 3], [1.0, 2.0, 3.0]])
def test_numbers_and_texts_of_numbers_are_the_same_label(labels: Any) -> None:
    design = RandomizedResponse("2/3", outputs=labels)
    rng = np.random.default_rng(6)
    said, age = rng.integers(1, 4, 900), rng.normal(size=900)
    fits = [regress("said ~ age", {"said": each, "age": age}, design) for each in (said, said * 1.0, said.astype(str))]
    for fit in fits[1:]:
        np.testing.assert_array_equal(fit.theta, fits[0].theta)


THREE = RandomizedResponse("1/2", outputs=["a", "b", "c"])
OUTSIDE: dict[str, tuple[Any, Any, dict[str, Any], type[Exception], str]] = {
    "1 and 2": (numbers(DATA["said"]) + 1, DESIGN, {}, LabelError, r"holds 1, 2; .*'no', 'yes'.*positive"),
    "ja and nein": (np.where(DATA["said"] == "yes", "ja", "nein"), DESIGN, {}, LabelError, "'ja', 'nein'"),
    "third": (["dk", *DATA["said"][1:]], DESIGN, {}, LabelError, "'dk', 'no', 'yes'"),
    "third, positive": (["dk", *DATA["said"][1:]], DESIGN, {"positive": "yes"}, LabelError, "recode"),
    "positive unseen": (DATA["said"], DESIGN, {"positive": 7}, LabelError, "positive is 7"),
    "not of three": (DATA["said"], THREE, {}, LabelError, "'no', 'yes'; the reports of the design are 'a', 'b', 'c'"),
    "positive of three": (DATA["region"], THREE, {"positive": 1}, InputError, "3 reports"),
    "constant": (["no"] * N, DESIGN, {}, NotIdentifiedError, r"'said' holds only 'no' \(3000 rows\)"),
    "coarse": (DATA["said"], Coarsened([["a", "b"], ["c"]]), {"method": "one-step"}, NotIdentifiedError, "cannot see"),
}


@pytest.mark.parametrize(("said", "design", "options", "error", "words"), OUTSIDE.values(), ids=list(OUTSIDE))
def test_answers_outside_the_design(
    said: Any, design: Any, options: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        regress(FORMULA, {**DATA, "said": said}, design, **options)


# -- gaps --------------------------------------------------------------------------------------------------------------


def test_missing_values_are_refused_with_their_counts() -> None:
    holes = {**DATA, "age": [None, None, *DATA["age"][2:]], "said": ["yes", None, None, *DATA["said"][3:]]}
    with pytest.raises(MissingValueError, match=r'3 of 3000 rows miss a value \(said 2, age 2\).*missing="drop"'):
        regress(FORMULA, holes, DESIGN)
    fit = regress(FORMULA, holes, DESIGN, missing="drop")
    assert fit.diagnostics.messages == ("3 of 3000 rows dropped for missing values",)
    expected = regress(FORMULA, {name: values[3:] for name, values in DATA.items()}, DESIGN)
    np.testing.assert_array_equal(fit.theta, expected.theta)


def test_gaps_in_columns_that_are_not_used_do_not_matter() -> None:
    holes = {**DATA, "weight": [None, *DATA["weight"][1:]]}
    assert regress(FORMULA, holes, DESIGN).n_observations == N
    fit = regress(FORMULA, holes, DESIGN, missing="drop", weights="weight")
    assert fit.n_observations == N - 1


# -- bad input ---------------------------------------------------------------------------------------------------------

REFUSED: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "unknown method": ({"method": "projection"}, InputError, "'projection'; allowed: one-step"),
    "unknown option": ({"start": 3}, InputError, "no option 'start'"),
    "unknown missing": ({"missing": "fill"}, InputError, "'fill'; allowed: error, drop"),
    "no channel": ({"channel": "warner"}, InputError, "channel is 'warner'"),
    "cluster": ({"cluster": "vilage"}, InputError, "Did you mean 'village'"),
    "one cluster": ({"cluster": "one"}, InputError, "'one' holds one cluster"),
    "weights": ({"weights": "weigth"}, InputError, "Did you mean 'weight'"),
    "texts as weights": ({"weights": "region"}, InputError, "'region' holds text"),
    "weights themselves": (
        {"weights": pd.Series(DATA["weight"], name="weight")},
        InputError,
        "weights is a Series; allowed: the name of a column .* weights='weight'",
    ),
    "clusters themselves": (
        {"cluster": DATA["village"]},
        InputError,
        "cluster is a ndarray; allowed: the name of a column .* cluster='cluster'",
    ),
    "constant text": ({"formula": "said ~ age + land"}, NotIdentifiedError, "^land is 'DE' in every row: its effect"),
    "constant category": ({"formula": "said ~ C(one)"}, NotIdentifiedError, "^one is 1 in every row: its effect"),
    "constant in a product": ({"formula": "said ~ age * land"}, NotIdentifiedError, "^land is 'DE' in every row"),
    "constant calculation": ({"formula": "said ~ C(age > 99)"}, NotIdentifiedError, r"^C\(age > 99\) is the same in"),
    "weights of 0": ({"weights": "zero"}, InputError, "'zero' holds the weight 0"),
    "collinear": ({"formula": "said ~ age + I(2 * age)"}, NotIdentifiedError, r"'age', 'I\(2 \* age\)' are collinear"),
    "zeros": ({"formula": "said ~ zero"}, NotIdentifiedError, "zero is 0 in every row"),
    "constant": ({"formula": "said ~ one"}, NotIdentifiedError, "one is 1 in every row"),
    "no rows": ({"data": {name: values[:0] for name, values in DATA.items()}}, EmptyDataError, "no rows"),
    "few rows": (
        {"data": {name: values[:3] for name, values in DATA.items()} | {"said": ["yes", "no", "no"]}},
        NotIdentifiedError,
        "4 parameters .* 3 rows",
    ),
}


@pytest.mark.parametrize(("options", "error", "words"), REFUSED.values(), ids=list(REFUSED))
def test_refused(options: dict[str, Any], error: type[Exception], words: str) -> None:
    data = {**DATA, "zero": np.zeros(N), "one": np.ones(N), "land": ["DE"] * N}
    given: dict[str, Any] = {"formula": FORMULA, "data": data, "channel": DESIGN, **options}
    with pytest.raises(error, match=words):
        regress(given.pop("formula"), given.pop("data"), given.pop("channel"), **given)


def test_a_design_without_information_is_refused() -> None:
    blind = MatrixChannel([["1/2", "1/2"], ["1/2", "1/2"]], outputs=["no", "yes"], observations=["no", "yes"])
    with pytest.raises(NotIdentifiedError, match="no information"):
        regress(FORMULA, DATA, blind)
    with pytest.raises(ProbabilityError, match="no information"):
        ForcedResponse(0, "1/2")


def test_perfect_separation_names_the_column() -> None:
    data = {**DATA, "tell": numbers(DATA["truth"])}
    with pytest.warns(RepairWarning, match="'tell'"):
        fit = regress("truth ~ tell", data, Direct(["no", "yes"]), method="supervised")
    assert fit.diagnostics.repaired
    assert "'tell'" in fit.diagnostics.messages[-1]


def test_few_clusters_are_told() -> None:
    fit = regress(FORMULA, {**DATA, "group": np.arange(N) % 8}, DESIGN, cluster="group")
    assert "std. errors: CR2, 8 clusters by group, with Satterthwaite's degrees of freedom" in fit.messages
    assert (fit.degrees_of_freedom < 8).all()
    assert [column.name for column in fit.table().columns][3:6] == ["t", "df", "P>|t|"]


def test_nothing_warns_on_a_plain_survey() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = regress(FORMULA, pl.DataFrame(DATA), Warner("3/4"))
    assert fit.converged
    assert not fit.diagnostics.repaired


def test_nothing_heavy_is_loaded_before_it_is_needed() -> None:
    code = (
        "import askance, sys; askance.regress; from askance.survey import Columns, read_table; "
        "print(*sorted({'pandas', 'polars', 'pyarrow', 'narwhals', 'formulaic', 'scipy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=900, check=True)
    assert done.stdout.strip() == ""


def test_a_constant_text_may_stand_for_the_intercept() -> None:
    fit = regress("said ~ 0 + land", {**DATA, "land": ["DE"] * N}, DESIGN)
    np.testing.assert_allclose(fit.theta, regress("said ~ 1", DATA, DESIGN).theta, rtol=1e-10)


def test_a_number_column_with_a_stray_text_is_refused_by_value() -> None:
    said = ["yes", "no"] * 40
    with pytest.raises(AskanceError, match=r"column 'x' is text: 79 of 80 rows hold numbers, the others '\.'"):
        regress("said ~ x", {"said": said, "x": [str(i) for i in range(79)] + ["."]}, ForcedResponse("2/3", "1/6"))
    with pytest.raises(AskanceError, match="column 'id' has 80 categories for 80 rows"):
        regress("said ~ id", {"said": said, "id": [f"p{i}" for i in range(80)]}, ForcedResponse("2/3", "1/6"))


def test_effects_of_columns_that_share_a_variable_come_with_a_warning() -> None:
    rng = np.random.default_rng(0)
    table = {"said": rng.choice(["yes", "no"], 2000), "age": rng.uniform(20, 60, 2000), "sex": rng.integers(0, 2, 2000)}
    fit = regress("said ~ age + I(age**2) + sex", table, ForcedResponse("2/3", "1/6"), method="marginal")
    assert fit.marginal_effects().terms == ("age", "sex")
    with pytest.warns(AskanceWarning, match="'age' enter several columns"):
        fit.marginal_effects(fit.design.matrix(table))  # an array does not know what its columns are made of


def test_a_shift_outside_brackets_is_refused() -> None:
    table = {"said": ["yes", "no"] * 40, "age": list(range(80))}
    for formula in ("said ~ age - 45", "said ~ age-4.5"):
        with pytest.raises(AskanceError, match=r"Write I\(age"):
            regress(formula, table, ForcedResponse("2/3", "1/6"))
    regress("said ~ I(age - 45) - 1 + C(age > 40)", table, ForcedResponse("2/3", "1/6"))


def test_yes_before_no_is_refused() -> None:
    with pytest.raises(AskanceError, match="yes comes first"):
        ForcedResponse("1/2", "0.4", "0.1", outputs=["yes", "no"])


def test_levels_that_are_not_listed_are_refused_or_dropped() -> None:
    formula = 'said ~ C(region, levels=["south", "north"])'
    with pytest.raises(InputError, match=r"region holds 'west', which levels=\['south', 'north'\] leaves out.*drop"):
        regress(formula, DATA, DESIGN)
    kept = DATA["region"] != "west"
    part = {name: values[kept] for name, values in DATA.items()}
    fit, own = regress(formula, DATA, DESIGN, missing="drop"), regress(formula, part, DESIGN)
    assert fit.n_observations == int(kept.sum())
    assert np.array_equal(fit.theta, own.theta)
    with pytest.raises(InputError, match=r"age > 0 holds False.*Add it to the levels\.$"):
        regress("said ~ C(age > 0, levels=[True])", DATA, DESIGN, missing="drop")


def test_texts_in_place_of_numbers_are_told_by_column() -> None:
    fit = regress("said ~ age", DATA, DESIGN)
    with pytest.raises(InputError, match=r"column 'age' holds texts \('1', 'old'\), at the fit it held numbers"):
        fit.predict({"age": ["old", "1"]})
    with pytest.raises(InputError, match=r"column 'age' mixes kinds of values"):
        fit.predict({"age": ["old", 1]})


def test_the_hidden_answer_explains_nothing() -> None:
    with pytest.raises(InputError, match=r"said holds what was said, .* write said ~ age; .*, age ~ hidden\(said\)\.$"):
        regress("age ~ said", DATA, DESIGN)
    with pytest.raises(LabelError, match="column 'age' holds"):
        regress("age ~ region", DATA, DESIGN)


def test_reports_that_explain_a_column_of_0_and_1_are_noticed() -> None:
    """Both columns can be read as reports; those of the design as they are written stand where they explain."""
    table = {**DATA, "quit": [place % 5 < 2 for place in range(len(DATA["said"]))]}
    told = regress("quit ~ said", table, DESIGN).messages
    assert any("write quit ~ hidden(said)" in message for message in told)
    for formula in ("quit ~ age", "said ~ quit"):
        assert not any("hidden(" in message for message in regress(formula, table, DESIGN).messages)
