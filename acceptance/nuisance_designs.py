"""Designs with a nuisance: intervals of the trait, its effects and the nuisance, also where nobody breaks the rules."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from acceptance.check import Figure, check
from askance import (
    CheatingDetection,
    CrosswiseControl,
    HiddenFit,
    Responses,
    StochasticLieDetector,
    UnrelatedQuestionUnknown,
    estimate,
)
from askance._arrays import FloatArray
from askance.channels.armed_design import TRAIT
from askance.channels.hidden_designs import HiddenDesign
from askance.errors import AskanceWarning

TERMS = ["Intercept", "female"]
THETA = np.array([-0.8, 0.6])
CELLS = np.array([[1.0, 0.0], [1.0, 1.0]])


class Case(NamedTuple):
    """A design, how many are in every group, and the share of yes of every nuisance, inside and on the boundary."""

    design: HiddenDesign
    n: int
    inside: tuple[float, ...]
    boundary: tuple[float, ...] | None


CASES = {
    "stochastic-lie-detector": Case(StochasticLieDetector(["1/5", "4/5"]), 1_000, (0.75,), (1.0,)),
    "cheating-detection": Case(CheatingDetection(["1/5", "7/10"]), 1_000, (0.2,), (0.0,)),
    "symmetric cheating-detection": Case(CheatingDetection(["1/5", "1/2"], ["1/10", "3/10"]), 1_500, (0.2,), (0.0,)),
    "unrelated-question-unknown": Case(UnrelatedQuestionUnknown(["4/5", "3/10"]), 1_000, (0.4,), None),
    "crosswise-control": Case(CrosswiseControl("1/6"), 1_000, (0.2,), (0.0,)),
    "crosswise-control, anchor": Case(CrosswiseControl("1/6", known="4/5"), 1_000, (0.15, 0.2), (0.0, 0.0)),
}


def hidden_law(nuisances: tuple[float, ...]) -> FloatArray:
    """Of every combination in every cell of covariates, shape (cells, H)."""
    trait = 1 / (1 + np.exp(-CELLS @ THETA))
    law = np.stack([1 - trait, trait], axis=1)
    for share in nuisances:
        law = (law[:, :, None] * np.array([1 - share, share])).reshape(len(CELLS), -1)
    return law


def draw(case: Case, law: FloatArray, rng: np.random.Generator) -> Responses:
    """One survey; half of every group is in each cell."""
    evidence: Responses = Responses(case.design.arms)
    for group, channel in case.design.arms.items():
        for x, combinations in zip(CELLS, law, strict=True):
            counts = rng.multinomial(case.n // 2, channel.matrix @ combinations)
            reports = np.repeat(np.array(channel.observations.labels), counts)
            evidence = evidence.add(np.tile(x, (len(reports), 1)), reports, arm=[group] * len(reports))
    return evidence


def covered(fit: HiddenFit, law: FloatArray, nuisances: dict[str, float]) -> dict[str, bool]:
    """Whether the intervals that the fit reports hold the truth."""
    truths = {TRAIT: float(law[:, law.shape[1] // 2 :].sum() / len(law)), **nuisances}
    inside = {}
    for name, truth in truths.items():
        table = fit.shares(name)
        inside[f"share of {name}"] = bool(table.lower[1] <= truth <= table.upper[1])
    lower, upper = fit.confidence_interval(0.95)
    for place, term in enumerate(TERMS):
        inside[f"{TRAIT}:{term}"] = bool(lower[place] <= THETA[place] <= upper[place])
    return inside


@check("nuisance-designs")
def nuisance_designs(rng: np.random.Generator, simulations: int) -> Iterator[Figure]:
    """Interior truths are covered by 93.5 to 96.5 % of 95 % intervals; on a boundary by 94 % at least."""
    for name, case in CASES.items():
        for where, shares in (("inside", case.inside), ("boundary", case.boundary)):
            if shares is None:
                continue
            law, counts, repaired = hidden_law(shares), dict[str, int](), 0
            nuisances = dict(zip(case.design.nuisances, shares, strict=True))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", AskanceWarning)
                for _ in range(simulations):
                    fit = estimate(case.design.model(TERMS), draw(case, law, rng), starts=1)
                    for figure, holds in covered(fit, law, nuisances).items():
                        counts[figure] = counts.get(figure, 0) + holds
                    repaired += fit.diagnostics.repaired
            low, high = (0.935, 0.965) if where == "inside" else (0.94, 1.0)
            for figure, count in counts.items():
                note = f"repaired {repaired / simulations:.1%}"
                yield Figure("nuisance-designs", f"{name}, {where}, {figure}", count / simulations, low, high, note)
