"""Simulated surveys in which respondents met one of three designs: one fit to all, and what it loses."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np

from acceptance.check import Figure, check
from acceptance.regression_surveys import CELLS, TERMS, draw_survey
from askance import Crosswise, Direct, ForcedResponse, Softmax, Together, estimate
from askance._arrays import FloatArray
from askance.channels import FiniteChannel
from askance.errors import RepairWarning

OUTPUTS = ["no", "yes"]
#: How many met each design.
DESIGNS: tuple[tuple[FiniteChannel, int], ...] = (
    (Direct(OUTPUTS), 500),
    (ForcedResponse("2/3", "1/6"), 2_000),
    (Crosswise("1/4"), 2_000),
)
THETA = np.array([-0.8, 0.3, -0.5])


def information(model: Softmax, channel: FiniteChannel, theta: FloatArray) -> FloatArray:
    """J of one report when respondents are drawn from the cells, by enumeration: E Σ_o s sᵀ q with s = ∇ log q."""
    total = np.zeros((len(theta), len(theta)))
    for x, p in zip(CELLS, model.probabilities(theta, CELLS), strict=True):
        law = channel.apply(p)
        slopes = (channel.matrix[:, 1] - channel.matrix[:, 0]) * p[0] * p[1]
        total += np.outer(x, x) * float((slopes**2 / law).sum()) / len(CELLS)
    return total


@check("together")
def together(rng: np.random.Generator, simulations: int) -> Iterator[Figure]:
    """One fit to direct answers, forced response and crosswise: 95 % intervals cover, and no information is lost."""
    model = Softmax(OUTPUTS, TERMS)
    least = np.linalg.inv(sum(n * information(model, channel, THETA) for channel, n in DESIGNS))
    for method, longest in (("moments", np.inf), ("one-step", 1.02), ("marginal", 1.02)):
        covered, errors, repaired = np.zeros(len(THETA)), np.zeros(len(THETA)), 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RepairWarning)
            for _ in range(simulations):
                parts = [draw_survey(model, channel, THETA, n, rng) for channel, n in DESIGNS]
                fit = estimate(model, Together(*parts), method)
                lower, upper = fit.confidence_interval(0.95)
                covered += (lower <= THETA) & (upper >= THETA)
                errors += fit.standard_errors
                repaired += fit.diagnostics.repaired
        for place, name in enumerate(TERMS):
            note = f"repaired {repaired / simulations:.1%}"
            yield Figure("together", f"{method}, covered, {name}", covered[place] / simulations, 0.935, 0.965, note)
            ratio = errors[place] / simulations / np.sqrt(least[place, place])
            yield Figure("together", f"{method}, s.e. over the least, {name}", float(ratio), 0.0, longest)
