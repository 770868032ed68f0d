"""Simulated surveys with covariates: do intervals cover, with and without clusters of respondents?"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
from scipy.special import ndtr

from acceptance.check import Figure, check
from askance import ForcedResponse, RandomizedResponse, Responses, Softmax, estimate
from askance._arrays import FloatArray
from askance.channels import FiniteChannel
from askance.errors import RepairWarning
from askance.evidence.chunks import Chunk

# Ten kinds of respondents: five ages, two sexes.
CELLS = np.array([[1.0, age, sex] for age in (-2.0, -1.0, 0.0, 1.0, 2.0) for sex in (0.0, 1.0)])
TERMS = ["Intercept", "age", "female"]


def draw_survey(
    model: Softmax, channel: FiniteChannel, theta: FloatArray, n: int, rng: np.random.Generator
) -> Responses:
    """Kinds of respondents at random, then reports from their exact law, kept as counts of equal rows."""
    laws = np.array([channel.apply(p) for p in model.probabilities(theta, CELLS)])
    sizes = rng.multinomial(n, np.full(len(CELLS), 1 / len(CELLS)))
    counts = np.array([rng.multinomial(size, law) for size, law in zip(sizes, laws, strict=True)])
    cell, code = np.nonzero(counts)
    return Responses(channel, (Chunk(CELLS[cell], code, counts[cell, code].astype(float)),))


def share_covered(
    model: Softmax,
    channel: FiniteChannel,
    theta: FloatArray,
    n: int,
    method: str,
    simulations: int,
    rng: np.random.Generator,
) -> tuple[FloatArray, float]:
    """How often each 95 % interval covers, and how often a repair acted."""
    covered, repaired = np.zeros(len(theta)), 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RepairWarning)
        for _ in range(simulations):
            fit = estimate(model, draw_survey(model, channel, theta, n, rng), method)
            lower, upper = fit.confidence_interval(0.95)
            covered += (lower <= theta) & (theta <= upper)
            repaired += fit.diagnostics.repaired
    return covered / simulations, repaired / simulations


@check("regression")
def regression(rng: np.random.Generator, simulations: int) -> Iterator[Figure]:
    """95 % intervals of every coefficient cover 94 to 96 %: binary and 4 categories, level 1 and 3, n = 40,000."""
    cases = {
        "binary": (2, np.array([-0.8, 0.3, -0.5])),
        "4 categories": (4, np.array([-0.2, 0.2, -0.3, 0.1, -0.2, 0.3, -0.6, 0.1, 0.4])),
    }
    for label, (size, theta) in cases.items():
        model = Softmax(size, TERMS)
        for level in (1.0, 3.0):
            channel = RandomizedResponse.for_privacy_level(level, outputs=size)
            for method in ("moments", "one-step"):
                shares, repaired = share_covered(model, channel, theta, 40_000, method, simulations, rng)
                for name, share in zip(model.parameter_names, shares, strict=True):
                    case = f"{method}, {label}, level {level:g}, {name}"
                    yield Figure("regression", case, float(share), 0.94, 0.96, f"repaired {repaired:.1%}")


def clustered_truth(p: FloatArray, cluster: FloatArray, correlation: float, rng: np.random.Generator) -> FloatArray:
    """Yes/no answers with exactly these probabilities that agree within clusters: a Gaussian copula."""
    shared = rng.normal(size=int(cluster.max()) + 1)[cluster.astype(int)]
    latent = np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * rng.normal(size=len(p))
    return np.asarray(ndtr(latent) < p)


@check("clusters")
def clusters(rng: np.random.Generator, simulations: int) -> Iterator[Figure]:
    """Cluster-robust intervals cover when answers and covariates agree within 300 clusters of 15; plain ones beside."""
    design, model, theta = ForcedResponse("2/3", "1/6"), Softmax(["no", "yes"], TERMS), np.array([-0.8, 0.3, -0.5])
    cluster = np.repeat(np.arange(300), 15)
    count = simulations // 2
    for method in ("moments", "one-step"):
        robust, plain = np.zeros(3), np.zeros(3)
        for _ in range(count):
            village = CELLS[rng.integers(len(CELLS), size=300)][cluster]
            x = np.column_stack([village[:, :2], CELLS[rng.integers(len(CELLS), size=len(cluster)), 2]])
            p = model.probabilities(theta, x)[:, 1]
            said = design.simulate(np.where(clustered_truth(p, cluster.astype(float), 0.4, rng), "yes", "no"), rng)
            for evidence, total in (
                (Responses(design).add(x, said, clusters=cluster), robust),
                (Responses(design).add(x, said), plain),
            ):
                lower, upper = estimate(model, evidence, method).confidence_interval(0.95)
                total += (lower <= theta) & (theta <= upper)
        for name, share, without in zip(TERMS, robust / count, plain / count, strict=True):
            note = f"without clusters {without:.3f}"
            yield Figure("clusters", f"{method}, forced response, {name}", float(share), 0.94, 0.96, note)
