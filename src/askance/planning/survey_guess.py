"""What is guessed before a yes/no survey: who will be asked, how common a yes is, and what it depends on."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from askance._arrays import FloatArray
from askance._checks import number, require_generator
from askance._words import words
from askance.categories import Label
from askance.channels.survey_designs import NO_YES
from askance.errors import InputError, LabelError, ProbabilityError, ShapeError
from askance.models.softmax import Softmax

_DESCRIPTION = re.compile(r"\s*([^:(),=]+?)\s*:\s*([a-z]+)\s*\(([^()]*)\)\s*")
INTERCEPT = "Intercept"
#: Rows of a sample drawn from a description.
SAMPLE_ROWS = 4096


class _Law(NamedTuple):
    """A distribution: its parameters, what is allowed, and its quantile function."""

    parameters: tuple[str, ...]
    allowed: str
    is_allowed: Callable[..., bool]
    quantiles: Callable[..., FloatArray]


def _normal_quantiles(u: FloatArray, mean: float, deviation: float) -> FloatArray:
    from scipy.special import ndtri

    return np.asarray(mean + deviation * ndtri(u))


_LAWS = {
    "normal": _Law(
        ("mean", "deviation"), "deviation above 0", lambda mean, deviation: deviation > 0, _normal_quantiles
    ),
    "uniform": _Law(
        ("low", "high"), "low below high", lambda low, high: low < high, lambda u, low, high: low + (high - low) * u
    ),
    "bernoulli": _Law(
        ("share",),
        "share above 0 and below 1",
        lambda share: 0 < share < 1,
        lambda u, share: np.asarray(u > 1 - share, dtype=np.float64),
    ),
}


class SurveyGuess(NamedTuple):
    """A model with a guess of its parameters and a sample of covariates: what `plan_survey` takes."""

    model: Softmax
    theta: FloatArray
    x: FloatArray


def sample_covariates(
    descriptions: Sequence[str], rng: np.random.Generator, rows: int = SAMPLE_ROWS
) -> dict[str, FloatArray]:
    """Independent columns, shape (rows,) each, as described.

    A description is `name:normal(mean, deviation)`, `name:uniform(low, high)` or `name:bernoulli(share)`. Every column
    is stratified (one value from each of `rows` equally likely slices, in random order), so that means and spreads are
    those described, with hardly any sampling error.

    >>> x = sample_covariates(["age:normal(40, 15)", "female:bernoulli(0.5)"], np.random.default_rng(0))
    >>> round(float(x["age"].mean()), 2), float(x["female"].mean())
    (40.0, 0.5)
    """
    require_generator(rng)
    columns: dict[str, FloatArray] = {}
    for text in descriptions:
        name, law, numbers = _read_description(text)
        if name in columns:
            raise InputError(f"{name!r} is described twice.", remedy="Describe every covariate once.")
        slices = (np.arange(rows) + rng.random(rows)) / rows
        columns[name] = _LAWS[law].quantiles(rng.permutation(slices), *numbers)
    return columns


def _read_description(text: str) -> tuple[str, str, list[float]]:
    matched = _DESCRIPTION.fullmatch(text)
    forms = ", ".join(f"NAME:{name}({','.join(law.parameters)})" for name, law in _LAWS.items())
    if matched is None or matched[2] not in _LAWS:
        raise InputError(
            f"the covariate {text!r} is not described; allowed: {forms}.", remedy='Write "age:normal(40,15)", say.'
        )
    name, kind, inside = matched.groups()
    law = _LAWS[kind]
    try:
        numbers = [float(part) for part in inside.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != len(law.parameters) or not all(map(math.isfinite, numbers)) or not law.is_allowed(*numbers):
        raise InputError(
            f"{text!r}: {kind} takes {' and '.join(law.parameters)}; allowed: numbers, {law.allowed}.",
            remedy=f"Write {name}:{kind}({','.join(law.parameters)}) with numbers.",
        )
    return name, kind, numbers


def guess_survey(
    prevalence: float,
    effects: Mapping[str, float] | None = None,
    covariates: Mapping[str, FloatArray] | None = None,
    *,
    outputs: Sequence[Label] = NO_YES,
) -> SurveyGuess:
    """A logistic model whose overall prevalence is as guessed.

    The coefficients are `effects` (0 where none is given), and the intercept a solves Ê σ(a + x·b) = prevalence.
    Without covariates the model has the intercept alone.

    Args:
        prevalence: guessed share of the second output.
        effects: guessed coefficients by covariate, in log-odds per unit.
        covariates: columns of a sample of x, each of shape (n,).
        outputs: labels of no and yes.

    >>> guess_survey(0.2).theta.round(4)
    array([-1.3863])
    >>> guess = guess_survey(0.2, {"age": 0.5}, {"age": np.array([-2.0, 0.0, 2.0])})
    >>> round(float(guess.model.probabilities(guess.theta, guess.x)[:, 1].mean()), 10)
    0.2
    """
    allowed = "above 0, below 1: nothing varies where everybody answers alike"
    remedy = "Guess a share such as 0.05; a percentage is written as a fraction."
    number(prevalence, "prevalence", 0, 1, open=True, allowed=allowed, remedy=remedy, error=ProbabilityError)
    columns, coefficients = dict(covariates or {}), dict(effects or {})
    for name, value in coefficients.items():
        if name not in columns:
            known = ", ".join(columns) or "none are described"
            raise LabelError(
                f"there is an effect of {name!r}, but covariates: {known}.", remedy=words("Describe it with {x}.")
            )
        if not math.isfinite(value):
            raise InputError(f"the effect of {name!r} is {value}.", remedy="Give a finite number.")
    if INTERCEPT in columns:
        raise InputError(f"a covariate is called {INTERCEPT!r}.", remedy="The intercept is added; rename the column.")
    if len({len(column) for column in columns.values()}) > 1:
        raise ShapeError("the covariates have different lengths.", remedy="Give one value per row in every column.")
    rows = len(next(iter(columns.values()))) if columns else 1
    x = np.column_stack([np.ones(rows), *columns.values()])
    slopes = np.array([coefficients.get(name, 0.0) for name in columns])
    theta = np.concatenate([[_solve_intercept(prevalence, x[:, 1:] @ slopes)], slopes])
    return SurveyGuess(Softmax(outputs, [INTERCEPT, *columns]), theta, x)


def _solve_intercept(prevalence: float, score: FloatArray) -> float:
    """a with mean σ(a + score) = prevalence."""
    from scipy.optimize import brentq
    from scipy.special import expit

    logit = math.log(prevalence) - math.log1p(-prevalence)
    low, high = logit - float(score.max()), logit - float(score.min())
    if high - low < 1e-12:
        return low
    return float(brentq(lambda a: float(expit(a + score).mean()) - prevalence, low, high, xtol=1e-12, rtol=1e-14))
