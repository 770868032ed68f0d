"""Intervals of shares at or near 0 and 1, from the profile of the likelihood."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from askance._arrays import AnyArray, FloatArray
from askance._threads import one_thread
from askance.estimation.parameter_scale import PRIOR_SCALE
from askance.estimation.problems.hidden_problem import HiddenProblem
from askance.estimation.problems.share_average import ShareAverage
from askance.estimation.solvers.function_profile import largest_share

if TYPE_CHECKING:
    from askance.estimation.results.hidden_fit import HiddenFit

# A share is near its end where it is within so many standard errors of it.
_NEAR = 3.0
#: What a table says of such intervals.
PROFILED = (
    "from the profile of the likelihood, since a share is at or near 0 or 1, or the data alone do not settle it: {}"
)


class Ends(NamedTuple):
    """Ends of the intervals of the K values of a variable, and which are from a profile, shape (K,) each."""

    lower: FloatArray
    upper: FloatArray
    profiled: AnyArray


@one_thread
def boundary_intervals(
    fit: HiddenFit,
    averages: Sequence[ShareAverage],
    estimate: FloatArray,
    errors: FloatArray,
    ends: tuple[FloatArray, FloatArray],
    quantiles: FloatArray,
    sampling: Callable[[FloatArray], FloatArray] | None = None,
) -> Ends:
    """The given intervals, but the profile's where a share is near its end or a weak prior acted.

    Errors at an end are too small or too large, since a share cannot vary there as it does elsewhere. The profile knows
    no errors. On the end itself it covers more often than it says. Where there are weights, clusters or respondents
    drawn from a population, 2 (sup ℓ − ℓ) is divided by how much larger than the model says the variance of the share
    is, as Rao and Scott do.

    Args:
        fit: of the hidden variables, with its evidence.
        averages: g of every value; they add up to 1.
        estimate: their shares, shape (K,).
        errors: standard errors, shape (K,).
        ends: of the usual intervals, shape (K,) each.
        quantiles: of the confidence, for every value, shape (K,).
        sampling: of θ, the variances of g over samples of respondents, shape (K,); None: not part of the errors.
    """
    lower, upper = ends[0].copy(), ends[1].copy()
    near = fit.repaired | (np.minimum(estimate, 1 - estimate) < _NEAR * errors)
    near = np.broadcast_to(near, estimate.shape) & np.isfinite(quantiles) & (fit.evidence is not None)
    if len(near) == 2 and near.any():
        near = np.array([True, True])  # each is what the other leaves
    if not near.any():
        return Ends(lower, upper, near)
    assert fit.evidence is not None
    problem = HiddenProblem(fit.model, fit.evidence)
    theta = problem.inward(fit.theta)
    for k in np.flatnonzero(near).tolist():
        if k == 1 and len(near) == 2:
            lower[1], upper[1] = 1 - upper[0], 1 - lower[0]
            break
        scale, deviance = _scale(problem, averages[k], sampling, k), float(quantiles[k]) ** 2
        others = ShareAverage(*averages[k].place, ~averages[k].members)
        upper[k] = largest_share(problem, theta, averages[k], deviance, scale)
        lower[k] = 1 - largest_share(problem, theta, others, deviance, scale)
    return Ends(np.minimum(lower, estimate), np.maximum(upper, estimate), near)


def _scale(
    problem: HiddenProblem, average: ShareAverage, sampling: Callable[[FloatArray], FloatArray] | None, k: int
) -> Callable[[FloatArray], float]:
    """How much larger than the likelihood says the variance of a share is, as a function of θ."""
    special = problem.has_weights or problem.has_clusters
    if not special and sampling is None:
        return lambda _: 1.0
    likelihood, n = problem.likelihood(), problem.n_observations
    weak = problem.standard.prior_precision(PRIOR_SCALE) / n  # where a nuisance is at its end it has no information

    def ratio(theta: FloatArray) -> float:
        slope, information = average(theta).gradient, likelihood.expected_information(theta)
        along = np.linalg.solve(information + weak, slope)
        plain, whole = float(along @ information @ along), float(slope @ along)
        result = float(along @ likelihood.score_covariance(theta) @ along) / plain if special and plain > 0 else 1.0
        return result if sampling is None or whole <= 0 else result + n * float(sampling(theta)[k]) / whole

    return ratio
