"""Effects of hidden answers on outcomes, and predictions of these: by enumeration, and errors by formula."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askance import Direct, ForcedResponse, Responses, estimate, load, regress, save
from askance.errors import InputError
from askance.estimation.problems.hidden_problem import HiddenPass
from askance.models.hidden import Factor, HiddenVariables
from askance.models.outcome import Outcome
from askance.survey.fit_results import fit_results
from askance.survey.report import report_page

from .test_cli import assert_one_line, call, parsed

DESIGN = ForcedResponse("2/3", "1/6")


def survey(n: int = 600) -> dict[str, Any]:
    """Hidden answers that go with an outcome of every kind; the same in every run."""
    rng = np.random.default_rng(12)
    age, cheats = rng.integers(20, 60, n), rng.random(n) < 0.4
    return {
        "age": age,
        "said": DESIGN.simulate(np.where(cheats, "yes", "no"), rng),
        "votes": np.where(rng.random(n) < np.where(cheats, 0.3, 0.6), "yes", "no"),
        "party": rng.choice(["a", "b", "c"], n),
        "children": rng.poisson(np.where(cheats, 2.0, 1.0), n),
        "income": 20 + rng.normal(size=n) + 2 * cheats,
    }


DATA = survey()


@pytest.mark.parametrize("outcome", ["votes", "party", "children", "income"])
def test_effects_and_predictions_are_sums_over_what_is_hidden(outcome: str) -> None:
    fit: Any = regress(f"{outcome} ~ age + hidden(said)", DATA, DESIGN)
    model, theta = fit.model, fit.theta
    own = theta[model.blocks[1]]
    gaps, predicted = [], []
    for age in DATA["age"].tolist():
        share = 1 / (1 + math.exp(-(theta[0] + theta[1] * age)))
        no, yes = (by_hand(outcome, own, np.array([1.0, age, hidden])) for hidden in (0.0, 1.0))
        gaps.append(yes - no)
        predicted.append((1 - share) * no + share * yes)
    np.testing.assert_allclose(fit.outcome_effects().estimate[0], np.mean(gaps, axis=0), atol=1e-12)
    found = fit.predict_outcome({"age": DATA["age"]})
    np.testing.assert_allclose(found.estimate, predicted, rtol=1e-12)
    assert (found.lower < found.estimate).all()
    assert (found.estimate < found.upper).all()


def by_hand(outcome: str, theta: Any, z: Any) -> Any:
    """The probability of every category, or the mean."""
    if outcome == "children":
        return np.exp(z @ theta)[None]
    if outcome == "income":
        return (z @ theta[:-1])[None]
    odds = np.exp([0.0, *(theta.reshape(-1, 3) @ z)])
    return odds / odds.sum()


def test_errors_of_a_difference_of_two_shares() -> None:
    """Without covariates: σ(a + b) − σ(a), whose gradient is known; a number's effect is its coefficient."""
    fit: Any = regress("votes ~ hidden(said)", DATA, DESIGN)
    a, b = fit.theta[1:]
    low, high = 1 / (1 + math.exp(-a)), 1 / (1 + math.exp(-a - b))
    slope = np.array([0.0, high * (1 - high) - low * (1 - low), high * (1 - high)])
    effect = fit.outcome_effects(confidence=0.9)
    assert effect.estimate[0, 1] == pytest.approx(high - low, abs=1e-12)
    error = math.sqrt(slope @ fit.covariance @ slope)
    assert effect.standard_error[0, 1] == pytest.approx(error, rel=1e-6)
    assert effect.upper[0, 1] - effect.lower[0, 1] == pytest.approx(2 * 1.6448536 * error, rel=1e-6)
    number: Any = regress("income ~ age + hidden(said)", DATA, DESIGN)
    place = number.parameter_names.index("income:said[yes]")
    assert number.outcome_effects().estimate[0, 0] == pytest.approx(number.theta[place], rel=1e-9)
    assert number.outcome_effects().standard_error[0, 0] == pytest.approx(number.standard_errors[place], rel=1e-6)


def test_other_hidden_answers_stay_as_they_are() -> None:
    """Two hidden answers of which the second depends on the first: the effect of one averages over the other."""
    first, second = Factor("a", ["no", "yes"], ["one"]), Factor("b", ["no", "yes"], ["one"], after=["a"])
    seen = Outcome("y", "category", ["one"], after=["a", "b"], outputs=["no", "yes"])
    model = HiddenVariables([first, second], [seen])
    rng = np.random.default_rng(2)
    hidden = rng.integers(0, 4, 400)
    y = (rng.random(400) < np.array([0.2, 0.4, 0.5, 0.8])[hidden]).astype(float)
    labels = [model.outputs.labels[code] for code in hidden]
    evidence = Responses(Direct(model.outputs)).add(np.column_stack([np.ones(400), y]), labels)
    fit: Any = estimate(model, evidence, "marginal")
    p = HiddenPass(model, fit.theta, np.array([[1.0, 0.0]]), outcomes=False).probabilities[0]
    _, _, _, c, of_a, of_b = fit.theta
    share = {(i, j): 1 / (1 + math.exp(-c - i * of_a - j * of_b)) for i in (0, 1) for j in (0, 1)}
    b_yes, a_yes = p[1] + p[3], p[2] + p[3]
    expected = [
        (1 - b_yes) * (share[1, 0] - share[0, 0]) + b_yes * (share[1, 1] - share[0, 1]),
        (1 - a_yes) * (share[0, 1] - share[0, 0]) + a_yes * (share[1, 1] - share[1, 0]),
    ]
    effects = fit.outcome_effects()
    assert effects.terms == ("a", "b")
    np.testing.assert_allclose(effects.estimate[:, 1], expected, rtol=1e-10)


def test_saved_fits_and_the_command_line(tmp_path: Path) -> None:
    fit: Any = regress("votes ~ age + hidden(said)", DATA, DESIGN)
    save(fit, tmp_path / "votes.fit")
    again: Any = load(tmp_path / "votes.fit")
    new = {"age": [25, 50]}
    np.testing.assert_allclose(again.predict_outcome(new).estimate, fit.predict_outcome(new).estimate, rtol=1e-12)
    people = again.outcome_effects({"age": DATA["age"]})
    np.testing.assert_allclose(people.standard_error, fit.outcome_effects().standard_error, rtol=1e-9)
    (tmp_path / "new.csv").write_text("age\n25\n50\n", encoding="utf-8")
    words = ("predict", str(tmp_path / "votes.fit"), str(tmp_path / "new.csv"))
    told = parsed(call(*words, "--outcome", "--json"))
    assert told["outputs"] == ["votes = no", "votes = yes"]
    np.testing.assert_allclose(told["estimate"], fit.predict_outcome(new).estimate, rtol=1e-12)
    assert parsed(call(*words, "--json"))["outputs"] == ["no", "yes"]
    assert call(*words).out.splitlines()[-1] == "of the hidden answer said; --outcome predicts what it explains"
    assert "of the hidden answer" not in call(*words, "--outcome").out
    results = fit_results(fit, effects=True)
    assert "Average change of the share of votes = yes, in percentage points" in results.summary()
    assert "\nsaid: share of yes " in results.summary()
    titles = [table.title for table in results.kept.kept_tables]
    assert titles[0] == "said: Share of yes"
    assert titles[-1] == "said: Average change of the share of yes, in percentage points"
    assert results.to_json()["outcome_effects"] == fit.outcome_effects().to_json()
    assert fit.outcome_effects().table().to_html() in report_page(results.kept)
    assert fit_results(regress("votes ~ hidden(said)", DATA, DESIGN), effects=True).effects is None
    counts: Any = regress("children ~ age + hidden(said)", DATA, DESIGN)
    assert "Average change of the mean of children" in counts.outcome_effects().summary()
    assert "Mean of children" in counts.predict_outcome(new).summary()


def test_refusals(tmp_path: Path) -> None:
    plain: Any = regress("said ~ age", DATA, DESIGN)
    save(plain, tmp_path / "said.fit")
    (tmp_path / "new.csv").write_text("age\n25\n", encoding="utf-8")
    refused = call("predict", str(tmp_path / "said.fit"), str(tmp_path / "new.csv"), "--outcome")
    assert_one_line(refused, ("--outcome", "has no outcome"))
    fit: Any = regress("votes ~ age + hidden(said)", DATA, DESIGN)
    with pytest.raises(InputError, match="columns Intercept, age"):
        fit.predict_outcome(np.ones((2, 5)))
    with pytest.raises(
        AttributeError, match=r"no attribute 'predict'; take fit.trait.predict\(…\), or fit.predict_outcome"
    ):
        fit.predict({"age": [20]})
    with pytest.raises(AttributeError, match=r"no attribute 'prevalences'$"):
        _ = fit.prevalences
    with pytest.raises(InputError, match="outcome is 'vote'"):
        fit.outcome_effects(outcome="vote")
    save(fit, tmp_path / "votes.fit")
    alone: Any = load(tmp_path / "votes.fit")
    with pytest.raises(InputError, match="needs the covariates"):
        alone.outcome_effects()
