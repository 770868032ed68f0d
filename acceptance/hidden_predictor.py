"""Intervals for the effect of a hidden answer on what was seen: their coverage in simulated surveys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from acceptance.check import Figure, survey_check
from acceptance.surveys import simulated
from askance import Factor, ForcedResponse, HiddenVariables, Outcome, Responses, estimate
from askance._arrays import FloatArray
from askance.scale.shipping import Sender

NAME = "hidden-predictor"
#: What the issue asks for in 2,000 surveys: 3 standard errors on either side of .95, a false-alarm rate of .002 each.
LOW, HIGH = 0.935, 0.965
_PEOPLE, _MOST_SURVEYS = 1_500, 2_000
_TERMS = ("Intercept", "age")
_DESIGN = ForcedResponse("2/3", "1/6")
_Draw = Callable[[FloatArray, np.random.Generator], FloatArray]


def _yes_no(mean: FloatArray, rng: np.random.Generator) -> FloatArray:
    return (rng.random(len(mean)) < 1 / (1 + np.exp(-mean))).astype(float)


def _count(mean: FloatArray, rng: np.random.Generator) -> FloatArray:
    return rng.poisson(np.exp(mean)).astype(float)


def _number(mean: FloatArray, rng: np.random.Generator) -> FloatArray:
    return mean + rng.normal(size=len(mean))


def _skewed(mean: FloatArray, rng: np.random.Generator) -> FloatArray:
    return mean + 2 * (rng.exponential(size=len(mean)) - 1)


# Family, method, what the outcome is given its mean, and the effect of the hidden answer.
_CASES: dict[str, tuple[Any, str, _Draw, float]] = {
    "yes or no, likelihood": ("category", "marginal", _yes_no, 0.8),
    "number, corrected score": ("number", "moments", _number, 0.5),
    "number with skewed errors, corrected score": ("number", "moments", _skewed, 0.5),
    "number with skewed errors and no effect, corrected score": ("number", "moments", _skewed, 0.0),
    "count, corrected score": ("count", "moments", _count, 0.5),
    "number, likelihood": ("number", "marginal", _number, 0.5),
}


def survey(case: str, rng: np.random.Generator) -> dict[str, bool]:
    """Whether the 95 % interval of one survey holds the effect."""
    family, method, draw, effect = _CASES[case]
    x = np.column_stack([np.ones(_PEOPLE), rng.normal(size=_PEOPLE)])
    trait = (rng.random(_PEOPLE) < 1 / (1 + np.exp(0.8 - 0.5 * x[:, 1]))).astype(float)
    y = draw(x @ [0.3, 0.4] + effect * trait, rng)
    outcome = Outcome("y", family, _TERMS, after=["said"], outputs=2 if family == "category" else None)
    model = HiddenVariables([Factor("said", ["no", "yes"], _TERMS)], [outcome])
    said = _DESIGN.simulate(np.where(trait == 1, "yes", "no"), rng)
    # One start: where laws hold, the maximum near it is the best.
    options: dict[str, Any] = {"starts": [np.zeros(model.dimension if method == "marginal" else len(_TERMS))]}
    fit = estimate(model, Responses(_DESIGN).add(np.column_stack([x, y]), said), method, **options)
    lower, upper = fit.confidence_interval()
    place = model.effects[0]
    return {"covered": bool(lower[place] < effect < upper[place])}


@survey_check(NAME)
def coverage(rng: np.random.Generator, simulations: int, engine: Sender) -> Iterator[Figure]:
    """Of the effect, for every family, and under skewed errors by the corrected score."""
    surveys = min(simulations, _MOST_SURVEYS)
    for case in _CASES:
        share = float(simulated(engine, partial(survey, case), surveys, rng)["covered"].mean())
        yield Figure(NAME, case, share, LOW, HIGH, f"{surveys:,} surveys of {_PEOPLE:,}", surveys)
