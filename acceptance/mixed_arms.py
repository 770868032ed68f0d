"""Surveys in which the arm of every row says how it was asked: one regression, its coefficients and its share."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np

from acceptance.check import Figure, check
from askance import Crosswise, Direct, ForcedResponse, Responses, Softmax, estimate
from askance.categories import Label
from askance.channels import FiniteChannel
from askance.errors import RepairWarning

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


@check("mixed-arms")
def mixed_arms(rng: np.random.Generator, simulations: int) -> Iterator[Figure]:
    """95 % intervals of coefficients and of the share, given the covariates, by the methods of regressions."""
    model = Softmax(OUTPUTS, TERMS)
    share = float((1 / (1 + np.exp(-np.array([[1, 0], [1, 1]]) @ THETA))).mean())
    for method in ("one-step", "marginal", "moments"):
        covered, repaired = np.zeros(len(THETA) + 1), 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RepairWarning)
            for _ in range(simulations):
                fit = estimate(model, draw(rng), method)
                lower, upper = fit.confidence_interval(0.95)
                table = fit.prevalence()
                ends = table.lower.ravel()[1], table.upper.ravel()[1]
                covered += [*((lower <= THETA) & (upper >= THETA)), ends[0] <= share <= ends[1]]
                repaired += fit.diagnostics.repaired
        for name, count in zip([*TERMS, "share"], covered, strict=True):
            note = f"repaired {repaired / simulations:.1%}"
            yield Figure("mixed-arms", f"{method}, covered, {name}", float(count) / simulations, 0.935, 0.965, note)
