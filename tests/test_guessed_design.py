"""Plans through designs with nuisances and lists: errors as formulas and fits of exact tables have them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from askance import (
    CheatingDetection,
    CrosswiseControl,
    Enumerated,
    GuessedDesign,
    ListExperiment,
    OtherArm,
    Responses,
    Share,
    Softmax,
    StochasticLieDetector,
    Warner,
    estimate,
    plan_survey,
)
from askance.errors import InputError, NotIdentifiedError

from .test_cli import assert_one_line, call, parsed

YES_NO = Enumerated.saturated(["no", "yes"])
FIFTH = [float(np.log(1 / 4))]
QUARTER = [float(np.log(1 / 3))]
LIE = StochasticLieDetector(["1/5", "4/5"])
ITEMS = [0.15, 0.25, 0.35, 0.25]


def test_the_error_of_the_lie_detector_is_that_of_the_literature() -> None:
    """π̂ = 1 + (λ₂ − λ₁)/(p₂ − p₁): two groups, two unknowns, so that the likelihood tells no more."""
    yes = np.array([0.25 * 0.75 + 0.75 * (1 - p) for p in (0.2, 0.8)])
    for parts in (["1/2", "1/2"], ["1/4", "3/4"]):
        design = GuessedDesign(LIE, {"honest": "3/4"}, parts)
        row = plan_survey(YES_NO, design, QUARTER, target=Share("yes"), n=1000).designs[0]
        expected = (yes * (1 - yes) / np.array([float(Fraction(part)) for part in parts])).sum() / 0.36
        assert row.unit_error**2 == pytest.approx(expected, rel=1e-9)
        assert row.method == "marginal"


def test_errors_are_those_of_a_fit_to_an_exact_table_with_covariates() -> None:
    """Shares of a quarter and three quarters in two cells: every cell has a whole number of each report."""
    evidence: Any = Responses(LIE.arms)
    for cell, counts in ((0, {1: 630, 2: 270}), (1, {1: 610, 2: 490})):
        for group, yes in counts.items():
            said = ["yes"] * yes + ["no"] * (800 - yes)
            evidence = evidence.add(np.tile([1.0, cell], (800, 1)), said, arm=[group] * 800)
    fit = estimate(LIE.model(["Intercept", "old"]), evidence, covariance="expected")
    theta = np.array([*QUARTER, -2 * QUARTER[0]])
    np.testing.assert_allclose(fit.theta[:2], theta, atol=1e-8)
    planned = GuessedDesign(LIE, {"honest": 0.75}).covariance(
        theta, np.array([[1.0, 0], [1, 1]]), np.full(2, 0.5), ["Intercept", "old"]
    )
    np.testing.assert_allclose(planned / 3200, fit.covariance[:2, :2], rtol=1e-6)
    model = Softmax(["no", "yes"], ["Intercept", "old"])
    x = np.array([[1.0, 0], [1, 1]])
    row = plan_survey(model, GuessedDesign(LIE, {"honest": 0.75}), theta, x, target="old", n=3200).designs[0]
    assert row.standard_error == pytest.approx(float(np.sqrt(fit.covariance[1, 1])), rel=1e-6)


def test_a_list_by_the_difference_in_means_and_by_the_likelihood() -> None:
    design, theta = GuessedDesign(ListExperiment(3), {"items": ITEMS}), [float(np.log(3 / 7))]
    variance = float(np.dot(ITEMS, np.arange(4) ** 2) - np.dot(ITEMS, np.arange(4)) ** 2)
    means = plan_survey(YES_NO, design, theta, target=Share("yes"), n=2000, method="moments").designs[0]
    assert means.unit_error**2 == pytest.approx(2 * (2 * variance + 0.21), rel=1e-12)
    evidence: Any = Responses(design.design.arms)
    for group, counts in ((0, [150, 250, 350, 250]), (1, [105, 220, 320, 280, 75])):
        said = np.repeat(np.arange(len(counts)), counts)
        evidence = evidence.add(np.ones((1000, 1)), said, arm=[group] * 1000)
    fit = estimate(ListExperiment(3).model(["Intercept"]), evidence, covariance="expected")
    likelihood = plan_survey(YES_NO, design, theta, target=Share("yes"), n=2000, method="best").designs[0]
    assert likelihood.standard_error == pytest.approx(float(fit.shares("trait").standard_error[1]), rel=1e-6)
    assert likelihood.standard_error < means.standard_error


def test_one_share_of_items_is_a_binomial_law() -> None:
    one = GuessedDesign(ListExperiment(2, control_law="binomial"), {"items": 0.5})
    all_of_them = GuessedDesign(ListExperiment(2, control_law="binomial"), {"items": ["1/4", "1/2", "1/4"]})
    rows = plan_survey(YES_NO, [one, all_of_them], QUARTER, target=Share("yes"), n=500).designs
    assert rows[0].unit_error == pytest.approx(rows[1].unit_error, rel=1e-12)
    free = GuessedDesign(ListExperiment(2), {"items": 0.5})
    assert plan_survey(YES_NO, free, QUARTER, target=Share("yes"), n=500).designs[0].unit_error >= rows[0].unit_error


def test_power_takes_the_error_where_the_null_holds_and_arms_are_compared() -> None:
    design = GuessedDesign(CheatingDetection(["1/5", "7/10"]), {"cheats": 0.1})
    row = plan_survey(YES_NO, design, QUARTER, target=Share("yes"), null=0.1, power=0.8).designs[0]
    at_null = plan_survey(YES_NO, design, [float(np.log(1 / 9))], target=Share("yes"), n=row.n).designs[0]
    assert row.null_error == pytest.approx(at_null.standard_error, rel=1e-9)
    assert row.power == pytest.approx(0.8, abs=0.001)
    against = OtherArm(0.25, design)
    both = plan_survey(YES_NO, Warner("3/4"), QUARTER, target=Share("yes"), against=against, n=1000).designs[0]
    warner = plan_survey(YES_NO, Warner("3/4"), QUARTER, target=Share("yes"), n=1000).designs[0]
    assert both.unit_error**2 == pytest.approx(2 * (row.unit_error**2 + warner.unit_error**2), rel=1e-9)


def test_power_of_lists_does_not_follow_from_errors_at_a_share_near_zero() -> None:
    """With the 51 respondents of the formula of the score test, likelihood-ratio tests have a power of .42, not .8."""
    design = GuessedDesign(ListExperiment(3), {"items": 0.4})
    options: dict[str, Any] = {"target": Share("yes"), "power": 0.8, "alternative": "greater"}
    for null in (0, 0.02, 0.1):
        with pytest.raises(InputError, match="hardly anybody says yes to all items") as refused:
            plan_survey(YES_NO, design, FIFTH, null=null, **options)
        assert 'test="wald"' in str(refused.value)
        wald = plan_survey(YES_NO, design, FIFTH, null=null, test="wald", **options).designs[0]
        means = plan_survey(YES_NO, design, FIFTH, null=null, method="moments", **options).designs[0]
        assert 400 < wald.n < 1.1 * means.n
    # Where the null is on the other side, and between two lists, both errors are alike.
    plan_survey(YES_NO, design, FIFTH, null=0.3, **options | {"alternative": "less"})
    plan_survey(YES_NO, design, FIFTH, against=0.1, target=Share("yes"), power=0.8)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: GuessedDesign(LIE, {}), ("needs guesses of honest", "given: none")),
        (lambda: GuessedDesign(LIE, {"honest": 1}), ("the guess of honest is 1", "above 0, below 1")),
        (lambda: GuessedDesign(ListExperiment(3), {"items": [0.5, 0.5]}), ("one share, or 4",)),
        (lambda: GuessedDesign(ListExperiment(3), {"items": [0.5, 0.2, 0.2, 0.2]}), ("the sum of the guess of items",)),
        (lambda: GuessedDesign(ListExperiment(2, groups=["c", "a", "b"]), {"items": 0.5, "b": 0.5}), ("sensitive",)),
        (lambda: GuessedDesign(Warner("3/4"), {}), ("design is Warner", "groups of its own")),  # type: ignore[arg-type]
    ],
)
def test_guesses_that_are_none(make: Any, told: tuple[str, ...]) -> None:
    with pytest.raises(InputError) as refused:
        make()
    for part in told:
        assert part in str(refused.value)


def test_what_is_not_planned() -> None:
    options: dict[str, Any] = {"target": Share("yes"), "n": 100}
    skewed = GuessedDesign(ListExperiment(3, control_law="binomial"), {"items": [0.4, 0.1, 0.1, 0.4]})
    with pytest.raises(InputError, match="no binomial distribution"):
        plan_survey(YES_NO, skewed, QUARTER, **options)
    honest = GuessedDesign(LIE, {"honest": 0.5})
    with pytest.raises(InputError, match="no difference in means"):
        plan_survey(YES_NO, honest, QUARTER, method="moments", **options)
    three = Enumerated.saturated(["a", "b", "c"])
    with pytest.raises(InputError, match="allowed with designs with groups: no and yes"):
        plan_survey(three, honest, [0, 0], target=Share("a"), n=100)
    # Beside an innocuous question that half answer with yes, nobody can tell who hides.
    blind = GuessedDesign(CrosswiseControl("1/6", anchor="1/2", known="4/5"), {"random": 0.1, "hides": 0.1})
    with pytest.raises(NotIdentifiedError, match="hides"):
        plan_survey(YES_NO, blind, QUARTER, **options)


def test_the_command() -> None:
    words = ("plan", "survey", "--prevalence", "0.25", "--design", "stochastic-lie-detector:truth=1/5,4/5")
    found = parsed(call(*words, "--guess", "honest=0.75", "--standard-error", "0.02", "--json"))
    assert found["designs"][0]["n"] == 5430
    assert found["designs"][0]["parameters"] == {"truth": "1/5,4/5", "guessed honest": "0.75"}
    assert_one_line(call(*words, "--standard-error", "0.02"), ("needs guesses of honest", "--guess honest="))
    twice = ("--guess", "honest=0.5", "--guess", "honest=0.6")
    assert_one_line(call(*words, *twice, "--standard-error", "0.02"), ("--guess honest is given twice",))
    other = ("--guess", "honest=0.5", "--guess", "cheats=0.6")
    assert_one_line(call(*words, *other, "--standard-error", "0.02"), ("--guess cheats", "no design has that"))
