"""List experiments: intervals of shares and coefficients, by likelihood and by means."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from acceptance.check import Figure, check
from askance import ListExperiment, Responses, estimate
from askance._arrays import FloatArray
from askance.errors import AskanceWarning

TERMS = ["Intercept", "old"]
CELLS = np.array([[1.0, 0.0], [1.0, 1.0]])
#: Effects on the answer, and the law of three items where x is 0 and where it is 1: no binomial one.
TRAIT = np.array([-0.8, 0.6])
ITEMS = np.array([[0.15, 0.25, 0.35, 0.25], [0.1, 0.35, 0.3, 0.25]])
PEOPLE = 3_000


def truth() -> FloatArray:
    """P(answer, items) in both cells, shape (2, 8): independent given x."""
    trait = 1 / (1 + np.exp(-CELLS @ TRAIT))
    return np.concatenate([(1 - trait)[:, None] * ITEMS, trait[:, None] * ITEMS], axis=1)


def draw(design: ListExperiment, rng: np.random.Generator) -> Responses[Any]:
    """One survey; a quarter of all is in every cell and group."""
    evidence: Responses[Any] = Responses(design.arms)
    for group, channel in design.arms.items():
        for x, law in zip(CELLS, truth(), strict=True):
            counts = rng.multinomial(PEOPLE // 4, channel.matrix @ law)
            reports = np.repeat(np.array(channel.observations.labels), counts)
            evidence = evidence.add(np.tile(x, (len(reports), 1)), reports, arm=[group] * len(reports))
    return evidence


def coefficients(method: str) -> FloatArray:
    """What the first coefficients estimate: log-odds, or shares and their difference."""
    share = 1 / (1 + np.exp(-CELLS @ TRAIT))
    return np.array([share[0], share[1] - share[0]]) if method == "linear" else TRAIT


@check("lists")
def lists(rng: np.random.Generator, simulations: int) -> Iterator[Figure]:
    """95 % intervals cover 93.5 to 96.5 %: share and effects, three items, 3,000 respondents, 2,000 surveys at most."""
    design, share, surveys = ListExperiment(3), truth()[:, 4:].sum() / 2, min(simulations, 2_000)
    methods = ("marginal", "linear", "least-squares")
    covered = {method: np.zeros(3) for method in methods}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AskanceWarning)
        for _ in range(surveys):
            evidence = draw(design, rng)
            for method in methods:
                model = design.model(TERMS, method)
                options: dict[str, Any] = {"starts": 1} if method == "marginal" else {}
                fit = estimate(model, evidence, **options)
                lower, upper = fit.confidence_interval()
                found = fit.shares("trait")
                inside = (lower[:2] <= coefficients(method)) & (coefficients(method) <= upper[:2])
                covered[method] += np.append(inside, found.lower[1] <= share <= found.upper[1])
    for method, counts in covered.items():
        for name, count in zip(("intercept", "effect", "share"), counts, strict=True):
            yield Figure("lists", f"{method}, {name}", count / surveys, 0.935, 0.965, f"{surveys} surveys")
