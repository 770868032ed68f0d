"""Surveys in which the arm of every row says how it was asked: one regression, its coefficients and its share."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from acceptance.check import Figure, survey_check
from acceptance.surveys import inside, simulated
from askance import Crosswise, Direct, ForcedResponse, Responses, Softmax, estimate
from askance.categories import Label
from askance.channels import FiniteChannel
from askance.scale.shipping import Sender

OUTPUTS = ["no", "yes"]
TERMS = ["Intercept", "female"]
THETA = np.array([-0.8, 0.5])
#: The design and the respondents of every arm: two dice, cards, and a random part asked directly.
ARMS: dict[Label, tuple[FiniteChannel, int]] = {
    "dice": (ForcedResponse("2/3", "1/6"), 600),
    "second wave": (ForcedResponse("3/4", "1/8"), 500),
    "birthdays": (Crosswise("1/4"), 600),
    "direct": (Direct(OUTPUTS), 300),
}


def draw(rng: np.random.Generator) -> Responses[FiniteChannel]:
    """One survey; half of every arm is female."""
    evidence: Responses[FiniteChannel] = Responses({arm: channel for arm, (channel, _) in ARMS.items()})
    for arm, (channel, n) in ARMS.items():
        x = np.column_stack([np.ones(n), np.arange(n) % 2])
        truth = np.array(OUTPUTS)[(rng.random(n) < 1 / (1 + np.exp(-x @ THETA))).astype(np.int64)]
        evidence = evidence.add(x, channel.simulate(truth, rng), arm=[arm] * n)
    return evidence


def survey(method: str, rng: np.random.Generator) -> dict[str, bool]:
    """One survey: which intervals cover, and whether the fit was repaired."""
    share = float((1 / (1 + np.exp(-np.array([[1, 0], [1, 1]]) @ THETA))).mean())
    fit = estimate(Softmax(OUTPUTS, TERMS), draw(rng), method)
    lower, upper = fit.confidence_interval(0.95)
    table = fit.prevalence()
    holds = bool(table.lower.ravel()[1] <= share <= table.upper.ravel()[1])
    return {"repaired": fit.repaired, **inside(lower, THETA, upper, TERMS), "share": holds}


@survey_check("mixed-arms")
def mixed_arms(rng: np.random.Generator, simulations: int, engine: Sender) -> Iterator[Figure]:
    """95 % intervals of coefficients and of the share, given the covariates, by the methods of regressions."""
    for method in ("one-step", "marginal", "moments"):
        found = simulated(engine, partial(survey, method), simulations, rng)
        note = f"repaired {found.pop('repaired').mean():.1%}"
        for name, holds in found.items():
            yield Figure(
                "mixed-arms", f"{method}, covered, {name}", float(holds.mean()), 0.935, 0.965, note, len(holds)
            )
