"""What no number of respondents can do is refused in words that say what can be done."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from askance import Coarsened, Enumerated, MatrixChannel, Softmax, Warner
from askance._arrays import FloatArray
from askance.errors import (
    AskanceError,
    EmptyDataError,
    IncompatibleEvidenceError,
    InputError,
    LabelError,
    MissingValueError,
    NotIdentifiedError,
    ProbabilityError,
    ShapeError,
)
from askance.planning import Share, design_at_level, guess_survey, plan_survey, sample_covariates
from tests.test_plan import YES_NO, logit, sample_x

IMPOSSIBLE: list[tuple[dict[str, Any], str]] = [
    ({"standard_error": 0.0}, "no number of respondents makes an estimate exact"),
    ({"interval_width": -1.0}, "above 0"),
    ({"standard_error": math.nan}, "above 0"),
    ({"standard_error": 1e-30}, "nearest that is possible"),
    ({"n": 0}, "at least 1"),
    ({"n": 10.5}, "whole number"),
    ({"n": 10, "standard_error": 0.1}, "one of them"),
    ({"effect": 0.0}, "no number of respondents detects that"),
    ({"effect": 0.1, "power": 1.0}, "below 1"),
    ({"effect": 0.1, "power": 0.04}, "above 0.05"),
    ({"effect": 0.1, "confidence": 1.0}, "confidence is 1"),
    ({"effect": 0.9}, "below 0.7"),
    ({}, "no effect is given"),
    ({"n": 10, "method": "projection"}, "one-step, moments"),
]


@pytest.mark.parametrize(("goal", "message"), IMPOSSIBLE)
def test_impossible_goals(goal: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        plan_survey(YES_NO, [Warner("2/3")], [logit(0.3)], target=Share("yes"), **goal)


def test_a_coefficient_guessed_to_be_zero_cannot_be_detected() -> None:
    guess = guess_survey(0.3, {}, {"age": np.arange(5.0)})
    with pytest.raises(InputError, match="effect=…"):
        plan_survey(guess.model, [Warner("2/3")], guess.theta, guess.x, target="age")
    assert plan_survey(guess.model, [Warner("2/3")], guess.theta, guess.x, target="age", n=9).effect is None


def test_designs_without_information() -> None:
    nothing = MatrixChannel([[0.5, 0.5], [0.5, 0.5]], outputs=["no", "yes"])
    x, model = sample_x(9, 2), Softmax(["no", "yes"], ["Intercept", "age"])
    with pytest.raises(NotIdentifiedError, match="matrix"):
        plan_survey(model, [nothing], [0.0, 1.0], x, target="age", n=100)
    with pytest.raises(NotIdentifiedError, match="the channel"):
        plan_survey(YES_NO, [nothing], [0.0], target="yes", n=100)
    coarse = Coarsened([["a", "b"], ["c"]])
    trend = Enumerated([[0, 1, 2]], outputs=["a", "b", "c"], parameter_names=["trend"])
    assert plan_survey(trend, [coarse], [0.2], target="trend", n=100).designs[0].price > 1
    with pytest.raises(NotIdentifiedError, match='method="one-step"'):
        plan_survey(trend, [coarse], [0.2], target="trend", n=100, method="moments")


@pytest.mark.parametrize(
    ("columns", "named"),
    [
        ({"a": np.arange(6.0), "b": 2 * np.arange(6.0) + 1}, "'b' is a combination of 'Intercept', 'a'"),
        ({"a": np.zeros(6)}, "'a' is 0 in every row"),
        ({"a": np.full(6, 3.0)}, "'a' is a combination of 'Intercept'"),
        ({"a": np.arange(2.0), "b": np.arange(2.0) ** 2 + 1}, "'b' is a combination"),
    ],
)
def test_collinear_covariates(columns: dict[str, FloatArray], named: str) -> None:
    guess = guess_survey(0.3, {}, columns)
    with pytest.raises(NotIdentifiedError, match=named):
        plan_survey(guess.model, [Warner("2/3")], guess.theta, guess.x, target="a", n=100)


def test_wrong_arguments() -> None:
    model, x = Softmax(["no", "yes"], ["Intercept", "age"]), sample_x(5, 2)
    warner = [Warner("2/3")]
    cases: list[tuple[type[AskanceError], Any, Any, Any, Any]] = [
        (InputError, model, [0.0, 1.0], None, "age"),
        (InputError, YES_NO, [0.0], x, "yes"),
        (InputError, model, [0.0, 1.0], x, "height"),
        (LabelError, model, [0.0, 1.0], x, Share("maybe")),
        (ShapeError, model, [0.0], x, "age"),
        (ShapeError, model, [0.0, 1.0], x[:, :1], "age"),
        (EmptyDataError, model, [0.0, 1.0], x[:0], "age"),
        (MissingValueError, model, [0.0, 1.0], np.where(x == x[1, 1], np.nan, x), "age"),
        (MissingValueError, model, [0.0, math.inf], x, "age"),
        (IncompatibleEvidenceError, Softmax([0, 1], ["Intercept", "age"]), [0.0, 1.0], x, "age"),
    ]
    for error, some, theta, rows, target in cases:
        with pytest.raises(error):
            plan_survey(some, warner, theta, rows, target=target, n=100)
    with pytest.raises(InputError, match="channels is empty"):
        plan_survey(model, [], [0.0, 1.0], x, target="age", n=100)
    for weights in ([1.0], [-1.0, 1, 1, 1, 1], [0.0] * 5):
        with pytest.raises(InputError, match="weights"):
            plan_survey(model, warner, [0.0, 1.0], x, target="age", n=100, weights=weights)


@pytest.mark.parametrize(
    "text",
    [
        "age",
        "age:normal(40)",
        "age:normal(40,0)",
        "age:poisson(3)",
        "b:bernoulli(1.2)",
        "u:uniform(2,1)",
        "a:normal(x,1)",
    ],
)
def test_descriptions_refused(text: str) -> None:
    with pytest.raises(InputError, match="allowed"):
        sample_covariates([text], np.random.default_rng(0))


def test_guesses_refused() -> None:
    with pytest.raises(ProbabilityError):
        guess_survey(20)
    with pytest.raises(LabelError, match="'age'"):
        guess_survey(0.2, {"age": 1.0})
    with pytest.raises(InputError, match="twice"):
        sample_covariates(["a:normal(0,1)", "a:normal(0,1)"], np.random.default_rng(0))
    with pytest.raises(InputError, match="Intercept"):
        guess_survey(0.2, {}, {"Intercept": np.ones(3)})
    with pytest.raises(ShapeError):
        guess_survey(0.2, {}, {"a": np.ones(3), "b": np.ones(4)})
    with pytest.raises(InputError, match="not a yes/no design"):
        design_at_level("direct", 1)
    with pytest.raises(InputError, match="above 0"):
        design_at_level("warner", 0)
