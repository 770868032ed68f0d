"""Simulated surveys with covariates: do intervals cover, with and without clusters of respondents?"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product

import numpy as np
from scipy.special import ndtr

from acceptance.check import Figure, survey_check
from acceptance.surveys import inside, simulated
from askance import ForcedResponse, RandomizedResponse, Responses, Softmax, estimate
from askance._arrays import FloatArray
from askance.channels import FiniteChannel
from askance.evidence.chunks import Chunk
from askance.scale.shipping import Sender

# Ten kinds of respondents: five ages, two sexes.
CELLS = np.array([[1.0, age, sex] for age in (-2.0, -1.0, 0.0, 1.0, 2.0) for sex in (0.0, 1.0)])
TERMS = ["Intercept", "age", "female"]
_PLAIN = [f"{term} without clusters" for term in TERMS]


def draw_survey(
    model: Softmax, channel: FiniteChannel, theta: FloatArray, n: int, rng: np.random.Generator
) -> Responses:
    """Kinds of respondents at random, then reports from their exact law, kept as counts of equal rows."""
    laws = np.array([channel.apply(p) for p in model.probabilities(theta, CELLS)])
    sizes = rng.multinomial(n, np.full(len(CELLS), 1 / len(CELLS)))
    counts = np.array([rng.multinomial(size, law) for size, law in zip(sizes, laws, strict=True)])
    cell, code = np.nonzero(counts)
    return Responses(channel, (Chunk(CELLS[cell], code, counts[cell, code].astype(float)),))


#: Outputs and effects.
CASES = {
    "binary": (2, np.array([-0.8, 0.3, -0.5])),
    "4 categories": (4, np.array([-0.2, 0.2, -0.3, 0.1, -0.2, 0.3, -0.6, 0.1, 0.4])),
}


def survey(case: str, level: float, method: str, rng: np.random.Generator) -> dict[str, bool]:
    """One survey of 40,000 people: which intervals cover, and whether the fit was repaired."""
    size, theta = CASES[case]
    model, channel = Softmax(size, TERMS), RandomizedResponse.for_privacy_level(level, outputs=size)
    fit = estimate(model, draw_survey(model, channel, theta, 40_000, rng), method)
    lower, upper = fit.confidence_interval(0.95)
    return {"repaired": fit.repaired, **inside(lower, theta, upper, model.parameter_names)}


@survey_check("regression")
def regression(rng: np.random.Generator, simulations: int, engine: Sender) -> Iterator[Figure]:
    """95 % intervals of every coefficient cover 94 to 96 %: binary and 4 categories, level 1 and 3, n = 40,000."""
    for label, level, method in product(CASES, (1.0, 3.0), ("moments", "one-step")):
        found = simulated(engine, partial(survey, label, level, method), simulations, rng)
        note = f"repaired {found.pop('repaired').mean():.1%}"
        for name, holds in found.items():
            case = f"{method}, {label}, level {level:g}, {name}"
            yield Figure("regression", case, float(holds.mean()), 0.94, 0.96, note)


def clustered_truth(p: FloatArray, cluster: FloatArray, correlation: float, rng: np.random.Generator) -> FloatArray:
    """Yes/no answers with exactly these probabilities that agree within clusters: a Gaussian copula."""
    shared = rng.normal(size=int(cluster.max()) + 1)[cluster.astype(int)]
    latent = np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * rng.normal(size=len(p))
    return np.asarray(ndtr(latent) < p)


def clustered_survey(method: str, rng: np.random.Generator) -> dict[str, bool]:
    """One survey of 300 clusters of 15: which intervals cover, robust ones and plain ones."""
    design, model, theta = ForcedResponse("2/3", "1/6"), Softmax(["no", "yes"], TERMS), CASES["binary"][1]
    cluster = np.repeat(np.arange(300), 15)
    village = CELLS[rng.integers(len(CELLS), size=300)][cluster]
    x = np.column_stack([village[:, :2], CELLS[rng.integers(len(CELLS), size=len(cluster)), 2]])
    p = model.probabilities(theta, x)[:, 1]
    said = design.simulate(np.where(clustered_truth(p, cluster.astype(float), 0.4, rng), "yes", "no"), rng)
    found = dict[str, bool]()
    for names, evidence in (
        (TERMS, Responses(design).add(x, said, clusters=cluster)),
        (_PLAIN, Responses(design).add(x, said)),
    ):
        lower, upper = estimate(model, evidence, method).confidence_interval(0.95)
        found |= inside(lower, theta, upper, names)
    return found


@survey_check("clusters")
def clusters(rng: np.random.Generator, simulations: int, engine: Sender) -> Iterator[Figure]:
    """Cluster-robust intervals cover when answers and covariates agree within 300 clusters of 15; plain ones beside."""
    for method in ("moments", "one-step"):
        found = simulated(engine, partial(clustered_survey, method), simulations // 2, rng)
        for name, plain in zip(TERMS, _PLAIN, strict=True):
            note = f"without clusters {found[plain].mean():.3f}"
            case = f"{method}, forced response, {name}"
            yield Figure("clusters", case, float(found[name].mean()), 0.94, 0.96, note)
