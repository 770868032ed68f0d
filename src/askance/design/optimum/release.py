"""Coordinate release with the release probabilities of least error."""

from __future__ import annotations

import numpy as np

from askance._arrays import ArrayLike
from askance._checks import Number
from askance._threads import one_thread
from askance.channels.statistics.coordinate_release import CoordinateRelease, best_release
from askance.design.covariances import invert_information
from askance.design.optimum.prior import Prior, guess_or_zero
from askance.design.weights import read_weights
from askance.models.enumerated import Enumerated

# Of the largest cost of a statistic.
_LEAST_COST = 1e-9


@one_thread
def optimal_release(
    model: Enumerated,
    privacy_level: Number,
    theta: ArrayLike | None = None,
    *,
    prior: ArrayLike | Prior | None = None,
    weights: ArrayLike | None = None,
) -> CoordinateRelease:
    """Coordinate release of the statistics of a model, with release probabilities of least tr W Σ_mom.

    With averages within coordinates tr W Σ_mom = tr W I⁻¹ + Σ_j c_j/p_j up to what does not depend on p, where
    c_j = (I⁻¹ W I⁻¹)_jj a_j and a_j is the variance of the debiased bit of statistic j: so p_j ∝ √c_j, and with a prior
    the square root of the average. On statistics that are indicators this can be the optimum among all channels
    (`optimal_channel` with target="moments" tells).

    Args:
        model: whose statistics are released, within their ranges.
        privacy_level: above 0.
        theta: a guess of θ, shape (d,) (default: 0).
        prior: several θ, shape (K, d), or a `Prior`, instead.
        weights: how much every parameter matters, shape (d,), or W, shape (d, d).

    >>> model = Enumerated([[0, 0, 1, 1], [0, 1, 0, 1]])
    >>> optimal_release(model, 1, [5, -1]).release_probabilities.round(4)
    array([0.9642, 0.0358])
    """
    points = guess_or_zero(theta, prior, model.dimension)
    matrix, d = read_weights(weights, model.dimension), model.dimension
    bounds = {"lower": model.table.min(axis=1), "statistic_bound": model.statistic_ranges}
    uniform = CoordinateRelease(d, privacy_level, **bounds)
    costs = np.zeros(d)
    for share, at in zip(points.weights, points.points, strict=True):
        inverse = invert_information(model.fisher_information(at), model.parameter_names, "the model")
        # n Cov μ̂ of the uniform release is diag(d a_j).
        variances = np.diag(uniform.mean_covariance(model.table.T, model.probabilities(at))) / d
        costs += share * np.diag(inverse @ matrix @ inverse) * variances
    # What does not matter at all is still released now and then: it must stay estimable.
    costs = np.maximum(costs, _LEAST_COST * costs.max())
    return CoordinateRelease(d, privacy_level, release_distribution=best_release(costs), **bounds)
