"""Random fields with public covariates: do intervals of effects and of conditional tables cover?"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from acceptance.check import Figure, check
from askance import CliqueRelease
from askance._arrays import FloatArray
from askance.estimation.field import estimate_field
from askance.estimation.problems.field_problem import FieldMethod
from askance.estimation.results.conditional_field_fit import ConditionalFieldFit
from askance.evidence.responses import Responses
from askance.models.random_field import RandomField

TREE = RandomField([2, 3, 2, 2], [[0, 1], [1, 2], [1, 3]], covariates=["income", "year"])
RING = RandomField([2, 2, 2, 2], [[0, 1], [1, 2], [2, 3], [3, 0]], covariates=["income", "year"])
# Where tables given x are looked at.
POINTS = np.array([[0.0, 2010.0], [1.0, 2020.0]])
SIMULATED = 20_000


def _people(rng: np.random.Generator) -> FloatArray:
    """Covariates in awkward units: one skewed, one far from 0."""
    return np.column_stack([rng.gamma(2.0, 0.5, SIMULATED), rng.integers(2005, 2025, SIMULATED).astype(np.float64)])


def _theta(field: RandomField, rng: np.random.Generator) -> FloatArray:
    """Moderate ties and effects; coefficients of the year are per year, and tables make up for its origin."""
    theta = 0.4 * rng.normal(size=field.dimension)
    for v in range(len(field.sizes)):
        places = field.coefficients(np.arange(field.dimension), v).astype(np.int64)
        theta[places[1]] /= 10.0
        number = next(i for i, clique in enumerate(field.cliques) if v in clique)
        cells = field.table(np.arange(field.dimension), number).astype(np.int64)
        own = np.moveaxis(cells, field.cliques[number].index(v), 0)
        for value in range(field.sizes[v]):
            theta[own[value]] -= 2015 * theta[places[1, value]]
    return theta


def _truth(field: RandomField, theta: FloatArray) -> FloatArray:
    effects = [field.coefficients(theta, v) for v in range(len(field.sizes))]
    tables = [field.marginal(theta, clique, POINTS[i : i + 1])[0] for i in (0, 1) for clique in field.cliques]
    return np.concatenate([*((b[:, 1:] - b[:, :1]).ravel() for b in effects), *(table.ravel() for table in tables)])


def _hits(fit: ConditionalFieldFit, truth: FloatArray) -> FloatArray:
    found = [fit.effects(v) for v in range(len(fit.field.sizes))]
    tables = [fit.marginal(clique, point) for point in POINTS for clique in fit.field.cliques]
    lower, upper = (
        np.concatenate([getattr(each, end).ravel() for each in [*found, *tables]]) for end in ("lower", "upper")
    )
    return ((lower <= truth) & (truth <= upper)).astype(np.float64)


@check("fields-covariates")
def fields_covariates(rng: np.random.Generator, simulations: int) -> Iterator[Figure]:
    """95 % intervals cover 94 to 96 % (averaged over effects and cells given x) where no repair acted, n = 20,000."""
    count = max(simulations // 50, 1)
    methods: tuple[FieldMethod, ...] = ("moments", "one-step", "marginal")
    for name, field, level in (("tree", TREE, 3.0), ("ring", RING, 2.0)):
        channel, theta = CliqueRelease(field.sizes, field.cliques, level), _theta(field, rng)
        truth = _truth(field, theta)
        covered = {method: np.zeros(len(truth)) for method in methods}
        repaired, ratios = dict.fromkeys(methods, 0), []
        for _ in range(count):
            x = _people(rng)
            seen = Responses(channel).add(x, channel.simulate(field.sample(theta, len(x), rng, x), rng))
            for method in methods:
                fit = estimate_field(field, seen, method)
                covered[method] += _hits(fit, truth) / count
                repaired[method] += fit.diagnostics.repaired
                ratios.append(fit.diagnostics.distance / fit.diagnostics.degrees_of_freedom)
        for method, shares in covered.items():
            note = f"{shares.size} targets, {shares.min():.3f}–{shares.max():.3f}, repaired {repaired[method]}"
            case = f"{name}, {method}, level {level:g}"
            yield Figure("fields-covariates", case, float(shares.mean()), 0.94, 0.96, note)
        yield Figure("fields-covariates", f"{name}, distance over its mean", float(np.mean(ratios)), 0.9, 1.1)
