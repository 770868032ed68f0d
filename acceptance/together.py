"""Simulated surveys in which respondents met one of three designs: one fit to all, and what it loses."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from acceptance.check import Figure, survey_check
from acceptance.regression_surveys import CELLS, TERMS, draw_survey
from acceptance.surveys import inside, simulated
from askance import Crosswise, Direct, ForcedResponse, Softmax, Together, estimate
from askance._arrays import FloatArray
from askance.channels import FiniteChannel
from askance.scale.shipping import Sender

OUTPUTS = ["no", "yes"]
#: How many met each design.
DESIGNS: tuple[tuple[FiniteChannel, int], ...] = (
    (Direct(OUTPUTS), 500),
    (ForcedResponse("2/3", "1/6"), 2_000),
    (Crosswise("1/4"), 2_000),
)
MODEL = Softmax(OUTPUTS, TERMS)
THETA = np.array([-0.8, 0.3, -0.5])
_ERRORS = [f"error of {term}" for term in TERMS]


def information(model: Softmax, channel: FiniteChannel, theta: FloatArray) -> FloatArray:
    """J of one report when respondents are drawn from the cells, by enumeration: E Σ_o s sᵀ q with s = ∇ log q."""
    total = np.zeros((len(theta), len(theta)))
    for x, p in zip(CELLS, model.probabilities(theta, CELLS), strict=True):
        law = channel.apply(p)
        slopes = (channel.matrix[:, 1] - channel.matrix[:, 0]) * p[0] * p[1]
        total += np.outer(x, x) * float((slopes**2 / law).sum()) / len(CELLS)
    return total


def survey(method: str, rng: np.random.Generator) -> dict[str, float]:
    """One survey: which intervals cover, standard errors, and whether the fit was repaired."""
    fit = estimate(MODEL, Together(*(draw_survey(MODEL, channel, THETA, n, rng) for channel, n in DESIGNS)), method)
    lower, upper = fit.confidence_interval(0.95)
    errors = dict(zip(_ERRORS, fit.standard_errors.tolist(), strict=True))
    return {"repaired": fit.repaired, **inside(lower, THETA, upper, TERMS), **errors}


@survey_check("together")
def together(rng: np.random.Generator, simulations: int, engine: Sender) -> Iterator[Figure]:
    """One fit to direct answers, forced response and crosswise: 95 % intervals cover, and no information is lost."""
    least = np.linalg.inv(sum(n * information(MODEL, channel, THETA) for channel, n in DESIGNS))
    for method, longest in (("moments", np.inf), ("one-step", 1.02), ("marginal", 1.02)):
        found = simulated(engine, partial(survey, method), simulations, rng)
        note = f"repaired {found['repaired'].mean():.1%}"
        for place, (name, error) in enumerate(zip(TERMS, _ERRORS, strict=True)):
            yield Figure("together", f"{method}, covered, {name}", float(found[name].mean()), 0.935, 0.965, note)
            ratio = float(found[error].mean() / np.sqrt(least[place, place]))
            yield Figure("together", f"{method}, s.e. over the least, {name}", ratio, 0.0, longest)
