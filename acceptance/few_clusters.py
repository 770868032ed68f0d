"""Surveys of twelve clusters, of one size and with sizes of 8 to 1: CR2 with Satterthwaite's df covers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial

import numpy as np

from acceptance.check import Figure, survey_check
from acceptance.surveys import inside, simulated
from askance import ForcedResponse, Responses, Softmax, estimate
from askance._arrays import FloatArray, IntArray
from askance.scale.shipping import Sender

DESIGN = ForcedResponse("2/3", "1/6")
MODEL = Softmax(["no", "yes"], ["Intercept", "x", "z"])
THETA = np.array([-0.4, 0.5, 0.4])
#: Rows of the clusters; every other cluster has z = 1.
SIZES = {"balanced": [100] * 12, "8 to 1": [40, 40, 40, 40, 60, 60, 80, 80, 100, 100, 320, 320]}
# Correlation of the latent variables of two people of a cluster.
_CORRELATION = 0.1
_FREEDOM = tuple(f"df of {term}" for term in MODEL.terms)


def draw_clusters(sizes: list[int], rng: np.random.Generator) -> tuple[FloatArray, IntArray, FloatArray]:
    """x (n, 3), clusters (n,) and truths (n,): alike within clusters, while P(yes | x) is that of the model exactly."""
    from scipy.special import ndtr

    clusters = np.repeat(np.arange(len(sizes)), sizes)
    shift = np.sqrt(0.3) * rng.normal(size=len(sizes))[clusters] + np.sqrt(0.7) * rng.normal(size=len(clusters))
    x = np.column_stack([np.ones(len(clusters)), shift, (clusters % 2).astype(np.float64)])
    latent = np.sqrt(_CORRELATION) * rng.normal(size=len(sizes))[clusters]
    latent += np.sqrt(1 - _CORRELATION) * rng.normal(size=len(clusters))
    return x, clusters, (ndtr(latent) < MODEL.probabilities(THETA, x)[:, 1]).astype(np.int64)


@cache
def share_in_population() -> float:
    """E P(yes | x) over people and clusters, by quadrature over the normal x and both values of z."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    values = [MODEL.probabilities(THETA, np.column_stack([nodes * 0 + 1, nodes, nodes * 0 + z]))[:, 1] for z in (0, 1)]
    return float(np.mean([weights @ value for value in values]) / weights.sum())


def survey(sizes: str, method: str, rng: np.random.Generator) -> dict[str, float]:
    """One survey: whether the fit was repaired, and if not, which intervals cover, and degrees of freedom."""
    x, clusters, truth = draw_clusters(SIZES[sizes], rng)
    reports = DESIGN.simulate(np.array(["no", "yes"])[truth], rng)
    fit = estimate(MODEL, Responses(DESIGN).add(x, reports, clusters=clusters), method)
    if fit.repaired:
        return {"repaired": True}
    lower, upper = fit.confidence_interval()
    shares = fit.prevalence(population=True)
    return {
        "repaired": False,
        **dict(zip(_FREEDOM, fit.degrees_of_freedom.tolist(), strict=True)),
        **inside(lower, THETA, upper, MODEL.terms),
        "share": bool(shares.lower[0, 1] <= share_in_population() <= shares.upper[0, 1]),
        "x and z": bool(fit.wald_test(["x", "z"], THETA[1:]).p_value >= 0.05),
    }


@survey_check("few-clusters")
def few_clusters(rng: np.random.Generator, simulations: int, engine: Sender) -> Iterator[Figure]:
    """12 clusters: 95 % intervals of coefficients and of the share, and tests of two coefficients at once.

    With 2,000 simulations a figure whose true rate is 95 % leaves 92.5–97.5 % with probability 7·10⁻⁷ (binomial, both
    sides), one of 20 figures with less than 2·10⁻⁵.
    """
    for sizes in SIZES:
        for method in ("one-step", "moments"):
            found = simulated(engine, partial(survey, sizes, method), simulations, rng)
            repaired, freedom = found.pop("repaired").mean(), [found.pop(name).mean() for name in _FREEDOM]
            note = f"repaired {repaired:.1%}, mean df {np.round(freedom, 1).tolist()}"
            for name, holds in found.items():
                yield Figure(
                    "few-clusters", f"{sizes}, {method}, {name}", float(holds.mean()), 0.925, 0.975, note, len(holds)
                )
