"""Hidden answers that explain what was seen: formulas, tables, designs with arms, several at once, the numbers of R."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askance import (
    Direct,
    Factor,
    ForcedResponse,
    HiddenVariables,
    Outcome,
    Responses,
    StochasticLieDetector,
    Warner,
    estimate,
    load,
    regress,
    save,
)
from askance._arrays import AnyArray, FloatArray
from askance.channels.product import product_channel
from askance.errors import AskanceError, InputError
from askance.estimation.problems.hidden_problem import HiddenProblem
from askance.survey.hidden_terms import HiddenTerm, take_hidden
from askance.survey.read_outcomes import read_outcome
from askance.survey.tables import Columns

from .real_data import needs_data
from .test_cli import assert_one_line, call, parsed

DESIGN = ForcedResponse("2/3", "1/6")
NO_YES = ["no", "yes"]


def table(n: int = 1200, seed: int = 4) -> dict[str, Any]:
    """A survey with a hidden answer that explains all outcomes."""
    rng = np.random.default_rng(seed)
    age, female = rng.uniform(20, 70, n).round(), rng.integers(0, 2, n)
    trait = rng.random(n) < 1 / (1 + np.exp(2 - age / 30))
    truth = np.where(trait, "yes", "no")
    votes = rng.random(n) < 1 / (1 + np.exp(0.5 - trait - 0.01 * age))
    return {
        "said": DESIGN.simulate(truth, rng),
        "also": Warner("4/5").simulate(np.where(rng.random(n) < 0.4, "yes", "no"), rng),
        "age": age,
        "female": female,
        "votes": np.where(votes, "yes", "no"),
        "children": rng.poisson(np.exp(0.2 + 0.5 * trait)),
        "income": 20 + 0.1 * age + 3 * trait + rng.normal(size=n),
        "weight": rng.uniform(0.5, 2, n),
        "place": np.arange(n) // 20,
        "truth": truth,
    }


DATA = table()


# -- formulas ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "rest", "hidden"),
    [
        ("y ~ a + hidden(said)", "y ~ a", [HiddenTerm("said")]),
        ("y ~ hidden(said) + a", "y ~ a", [HiddenTerm("said")]),
        ("y~hidden(said)", "y ~ 1", [HiddenTerm("said")]),
        ("y ~ hidden(said) + hidden(`b c`) + a:b", "y ~ a : b", [HiddenTerm("said"), HiddenTerm("b c")]),
        ("y ~ a + hidden(said ~ a + C(b)) - 1", "y ~ a - 1", [HiddenTerm("said", "a + C(b)")]),
        ("y ~ `age of` + hidden(said)", "y ~ `age of`", [HiddenTerm("said")]),
        ("y ~ a", "y ~ a", []),
    ],
)
def test_hidden_terms_are_taken_out(text: str, rest: str, hidden: list[HiddenTerm]) -> None:
    assert take_hidden(text) == (rest, tuple(hidden))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("votes ~ age:hidden(said)", "interaction"),
        ("votes ~ age*hidden(said)", "interaction"),
        ("votes ~ (age + hidden(said))", "interaction"),
        ("votes ~ hidden(said):age", "interaction"),
        ("hidden(said) ~ age", "stands right of ~"),
        ("votes ~ hidden(said + age)", "no hidden answer"),
        ("votes ~ hidden(__import__('os').system('true'))", "no hidden answer"),
        ("votes ~ hidden()", "no hidden answer"),
        ("votes ~ hidden(said ~ )", "no hidden answer"),
        ("votes ~ hidden(said) + hidden(said)", "twice"),
        ("votes ~ age + hidden(sad)", "no column 'sad'"),
        ("votes ~ log(hidden(said))", "hidden"),
        ("votes ~ age + said + hidden(said)", "said holds the reports of hidden.said., and stands where values are"),
        ("votes ~ hidden(said ~ age + C(said))", "Leave said out"),
        ("said ~ age + hidden(said)", "Leave said out"),
    ],
)
def test_refused_formulas(text: str, words: str) -> None:
    with pytest.raises(AskanceError, match=words):
        regress(text, DATA, DESIGN)


def test_choices_that_do_not_fit() -> None:
    with pytest.raises(InputError, match="no hidden answer that explains one"):
        regress("said ~ age", DATA, DESIGN, outcome="number")
    with pytest.raises(InputError, match="outcome is 'amount'"):
        regress("income ~ hidden(said)", DATA, DESIGN, outcome="amount")
    with pytest.raises(InputError, match="holds texts"):
        regress("votes ~ hidden(said)", DATA, DESIGN, outcome="count")
    with pytest.raises(InputError, match="method is 'one-step'"):
        regress("votes ~ hidden(said)", DATA, DESIGN, method="one-step")
    with pytest.raises(InputError, match="a design each"):
        regress("votes ~ hidden(said) + hidden(also)", DATA, DESIGN)
    with pytest.raises(InputError, match="channel is 'dice'"):
        regress("votes ~ hidden(said)", DATA, "dice")  # type: ignore[call-overload]
    with pytest.raises(InputError, match="different values"):
        regress("income ~ hidden(said)", DATA, DESIGN, outcome="category")


@pytest.mark.parametrize(
    ("values", "family", "codes"),
    [
        (["b", "a", "b"], "category", [1, 0, 1]),
        ([True, False, True], "category", [1, 0, 1]),
        ([0, 1, 1], "category", [0, 1, 1]),
        ([0, 1, 2], "count", [0, 1, 2]),
        ([1, 2, 3], "number", [1, 2, 3]),
        ([0.5, 1, 2], "number", [0.5, 1, 2]),
    ],
)
def test_what_a_column_holds(values: list[Any], family: str, codes: list[float]) -> None:
    outcome = read_outcome(Columns.of({"y": values})["y"])
    assert outcome.family == family
    np.testing.assert_array_equal(outcome.values, codes)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([1, 2, 2], 'is read as a number, though it holds 1 and 2 alone: outcome="category" reads them as two answers'),
        ([0, 3, 1], 'is read as a count, for it holds whole numbers from 0 on; outcome="number" reads it otherwise'),
        ([1, 2, 3], 'is read as a number; outcome="category" takes its values for answers'),
        ([value / 7 for value in range(20)], "is read as a number"),
    ],
)
def test_a_note_says_how_an_outcome_is_read(values: list[Any], told: str) -> None:
    assert read_outcome(Columns.of({"y": values})["y"]).note == f"outcome 'y' {told}"


# -- fits --------------------------------------------------------------------------------------------------------------


def test_a_formula_is_the_model_by_hand(tmp_path: Path) -> None:
    """The same numbers as from arrays; kept in a file, and coding new data."""
    fit: Any = regress("votes ~ age + hidden(said)", DATA, DESIGN)
    x = np.column_stack([np.ones(len(DATA["age"])), DATA["age"], DATA["votes"] == "yes"])
    terms = ["Intercept", "age"]
    model = HiddenVariables(
        [Factor("said", NO_YES, terms)], [Outcome("votes", "category", terms, after=["said"], outputs=NO_YES)]
    )
    by_hand = estimate(model, Responses(DESIGN).add(x, DATA["said"]))
    np.testing.assert_allclose(fit.theta, by_hand.theta, rtol=1e-7)
    np.testing.assert_allclose(fit.covariance, by_hand.covariance, rtol=1e-6)
    assert fit.method == "marginal"
    assert "outcome 'votes' is read as categories, 'yes' against 'no'" in fit.messages
    assert fit.design.formula == "votes ~ age + hidden(said)"
    save(fit, tmp_path / "a.fit")
    again: Any = load(tmp_path / "a.fit")
    assert again.summary() == fit.summary()
    new = {"age": [30.0, 60.0]}
    np.testing.assert_allclose(again.shares("said", new).estimate, fit.shares("said", new).estimate)


def test_terms_of_its_own(tmp_path: Path) -> None:
    fit: Any = regress("votes ~ female + hidden(said ~ age)", DATA, DESIGN)
    assert fit.parameter_names == (
        *("said:Intercept", "said:age"),
        *("votes:Intercept", "votes:female", "votes:said[yes]"),
    )
    save(fit, tmp_path / "a.fit")
    again: Any = load(tmp_path / "a.fit")
    new = {"age": [30.0, 60.0], "female": [0, 1]}
    np.testing.assert_allclose(again.shares("said", new).estimate, fit.shares("said", new).estimate)


@pytest.mark.parametrize("name", ["income", "children"])
def test_numbers_and_counts_have_both_methods(name: str) -> None:
    """The corrected score is the default, and says what the likelihood says and whether both agree."""
    fit: Any = regress(f"{name} ~ age + hidden(said)", DATA, DESIGN)
    assert fit.method == "moments"
    other: Any = regress(f"{name} ~ age + hidden(said)", DATA, DESIGN, method="marginal")
    place = fit.model.effects[0]
    beside = f"by the likelihood: {name}:said[yes] {other.theta[place]:.4g}"
    assert any(message.startswith(beside) for message in fit.messages)
    tests = [[m for m in one.messages if m.startswith("Hausman test")] for one in (fit, other)]
    assert tests[0] == tests[1]
    assert tests[0][0].endswith("both agree")
    assert f"by the corrected score: {name}:said[yes] {fit.theta[place]:.4g}" in "\n".join(other.messages)


def test_weights_clusters_and_rows_with_gaps() -> None:
    data = DATA | {"income": np.where(np.arange(1200) < 3, np.nan, DATA["income"])}
    fit: Any = regress("income ~ age + hidden(said)", data, DESIGN, missing="drop", weights="weight", cluster="place")
    assert fit.n_observations == 1197
    assert "3 of 1200 rows dropped for missing values" in fit.messages
    assert fit.covariance_kind == "cluster-robust"
    likelihood: Any = regress("votes ~ hidden(said)", DATA, DESIGN, weights="weight")
    assert likelihood.covariance_kind == "robust"


def test_arms_and_nuisances() -> None:
    """A half asked directly; and a design with groups of its own, which has no unbiased guess."""
    half = np.arange(1200) % 2
    said = np.where(half == 1, DATA["said"], DATA["truth"])
    arms = {0: Direct(NO_YES), 1: DESIGN}
    both: Any = regress("income ~ hidden(said)", DATA | {"said": said, "half": half}, arms, arm="half")
    alone: Any = regress("income ~ hidden(said)", DATA, DESIGN)
    assert both.standard_errors[-2] < alone.standard_errors[-2]
    detector = StochasticLieDetector(["1/5", "4/5"], groups=[0, 1])
    rng = np.random.default_rng(2)
    pairs: AnyArray = np.array(detector.combinations(DATA["truth"], np.where(rng.random(1200) < 0.8, "yes", "no")))
    told = np.where(half == 1, detector.arms[1].simulate(pairs, rng), detector.arms[0].simulate(pairs, rng))
    fit: Any = regress("income ~ hidden(told)", DATA | {"told": told, "half": half}, detector, arm="half")
    assert fit.method == "marginal"
    assert "income:trait[yes]" in fit.parameter_names
    assert any("the likelihood stands alone" in message for message in fit.messages)
    with pytest.raises(InputError, match="terms of its own"):
        regress("income ~ hidden(told ~ age)", DATA | {"told": told, "half": half}, detector, arm="half")


def test_several_hidden_answers_are_one_channel() -> None:
    """S of the pair is the Kronecker product; positive may differ."""
    second = Warner("4/5")
    channel = product_channel([DESIGN, second])
    np.testing.assert_allclose(channel.matrix, np.kron(DESIGN.matrix, second.matrix), atol=1e-15)
    designs = {"said": DESIGN, "also": second}
    fit: Any = regress("income ~ hidden(said) + hidden(also)", DATA, designs)
    assert fit.parameter_names[:3] == ("said:Intercept", "also:Intercept", "also:said[yes]")
    assert fit.parameter_names[3:6] == ("income:Intercept", "income:said[yes]", "income:also[yes]")
    data = DATA | {"also": np.where(DATA["also"] == "yes", "b", "a")}
    other: Any = regress("income ~ hidden(said) + hidden(also)", data, designs, positive={"also": "b"})
    np.testing.assert_allclose(other.theta, fit.theta, rtol=1e-9)


def test_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["said", "age", "votes", "children"])
        writer.writerows(zip(*(DATA[name] for name in ("said", "age", "votes", "children")), strict=True))
    design = ("--design", "forced-response", "--truth", "2/3", "--yes", "1/6")
    told = parsed(call("fit", str(path), "--formula", "votes ~ age + hidden(said)", *design, "--json"))
    fit: Any = regress("votes ~ age + hidden(said)", DATA, DESIGN)
    assert [row["name"] for row in told["coefficients"]] == list(fit.parameter_names)
    np.testing.assert_allclose([row["estimate"] for row in told["coefficients"]], fit.theta, rtol=1e-6)
    shown = call("fit", str(path), "--formula", "children ~ hidden(said)", "--outcome", "number", *design)
    assert "children:log deviation" in shown.out
    assert "Hausman test" in shown.out
    guessed = parsed(call("fit", str(path), "--formula", "children ~ hidden(said)", *design, "--json"))["messages"]
    assert any("--outcome number reads it otherwise" in message for message in guessed)
    refused = call("fit", str(path), "--formula", "votes ~ age:hidden(said)", *design)
    assert_one_line(refused, ("interaction", "hidden(column)"))


# -- the numbers of R --------------------------------------------------------------------------------------------------


def test_nigeria() -> None:
    """Civic activity explained by hidden contacts: the maximum, of which rr stops short at −3128.42."""
    with gzip.open(needs_data("rr_nigeria.csv.gz"), "rt", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if all(row.values())]
    data = {name: [float(row[name]) for row in rows] for name in rows[0] if name != "Quesid"}
    terms = "cov_asset_index + cov_married + I(cov_age/10) + I((cov_age/10)**2) + cov_education + cov_female"
    fit: Any = regress(f"civic ~ {terms} + hidden(rr_q1)", data, DESIGN)
    assert fit.n_observations == 2423
    assert (fit.theta[-1], fit.standard_errors[-1]) == pytest.approx((0.407, 0.161), abs=0.002)
    assert fit.log_likelihood == pytest.approx(-3127.08, abs=0.005)


def test_rrlin() -> None:
    """Two hidden answers that explain a number, by the likelihood: R's estimates lie a little below its maximum."""
    with gzip.open(needs_data("r_designs_other.csv.gz"), "rt", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["case"] == "RRlin"]
    data = {
        "first": [int(row["response"]) for row in rows],
        "second": [int(float(row["response2_or_group"])) for row in rows],
        "x": [float(row["x"]) for row in rows],
    }
    designs = {"first": Warner("1/6"), "second": Warner("0.35")}
    fit: Any = regress("x ~ hidden(first) + hidden(second)", data, designs, method="marginal")
    theirs = _rrlin()
    np.testing.assert_allclose(fit.standard_errors[3:6], theirs[:, 1], rtol=0.005)
    np.testing.assert_allclose(fit.theta[3:6], theirs[:, 0], atol=0.004 * theirs[:, 1].max())
    # With the effects held where R stopped, the best that the other parameters can do is lower.
    problem = HiddenProblem(fit.model, fit.evidence)
    held = problem.inward(np.concatenate([fit.theta[:3], theirs[:, 0], fit.theta[6:]]))
    free = [0, 1, 2, 6]
    for _ in range(20):
        hessian, slope = problem.likelihood().hessian(held), problem.likelihood().gradient(held)
        held[free] -= np.linalg.solve(hessian[np.ix_(free, free)], slope[free])
    lower = problem.log_likelihood(held)
    assert 0 < fit.log_likelihood - lower < 1e-4
    assert any(message.startswith("by the corrected score: x:first[yes]") for message in fit.messages)


def _rrlin() -> FloatArray:
    with open(needs_data("r_answers.csv"), encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["function"] == "RRlin"]
    return np.array([[float(row["estimate"]), float(row["std_error"])] for row in rows])
