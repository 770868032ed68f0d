"""Intervals of shares at or near 0 and 1, from the profile of the likelihood."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from askance._arrays import AnyArray, FloatArray
from askance._threads import one_thread
from askance.estimation.parameter_scale import PRIOR_SCALE
from askance.estimation.problems.conditional import times
from askance.estimation.problems.hidden_problem import HiddenProblem
from askance.estimation.problems.share_average import ShareAverage
from askance.estimation.solvers.function_profile import largest_share

if TYPE_CHECKING:
    from askance.estimation.results.hidden_fit import HiddenFit

# A share is near its end where it is within so many standard errors of it.
_NEAR = 3.0
# Where the likelihood tells less than this part of what is known of a share at θ̂, and a weak prior the rest, there is
# no variance to compare with.
_KNOWN = 0.5
# Scores add up to 0 where what they add up to moves the share by less than so many standard errors.
_PULL = 0.25
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
    is, as Rao and Scott do. Where θ̂ is on the end there is no such ratio: weights have Kish's there,
    and clusters count as none.

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
        scale, deviance = _scale(problem, theta, averages[k], sampling, k), float(quantiles[k]) ** 2
        others = ShareAverage(*averages[k].place, ~averages[k].members)
        upper[k] = largest_share(problem, theta, averages[k], deviance, scale)
        lower[k] = 1 - largest_share(problem, theta, others, deviance, scale)
    return Ends(np.minimum(lower, estimate), np.maximum(upper, estimate), near)


def _scale(
    problem: HiddenProblem,
    theta: FloatArray,
    average: ShareAverage,
    sampling: Callable[[FloatArray], FloatArray] | None,
    k: int,
) -> Callable[[FloatArray], float]:
    """How much larger than the likelihood says the variance of a share is, as a function of θ.

    What weights and clusters make of it is known at θ̂ alone, where scores add up to 0: elsewhere their squares grow
    with the very fall of the likelihood they are to be compared with.
    """
    likelihood, n = problem.likelihood(), problem.n_observations
    weak = problem.standard.prior_precision(PRIOR_SCALE) / n  # where a nuisance is at its end it has no information
    robust = _robust_ratio(problem, theta, average, weak) if problem.has_weights or problem.has_clusters else 1.0
    if sampling is None:
        return lambda _: robust

    def ratio(theta: FloatArray) -> float:
        slope = average(theta).gradient
        whole = float(slope @ np.linalg.solve(likelihood.expected_information(theta) + weak, slope))
        return robust if whole <= 0 else robust + n * float(sampling(theta)[k]) / whole

    return ratio


def _robust_ratio(problem: HiddenProblem, theta: FloatArray, average: ShareAverage, weak: FloatArray) -> float:
    """Of the robust variance of a share at θ̂ to the model's; what unequal weights make of any mean where it is none.

    At an end both variances vanish, and scores do not add up to 0 there but to what a weak prior holds against.
    """
    likelihood, n = problem.likelihood(), problem.n_observations
    slope, information = average(theta).gradient, likelihood.expected_information(theta)
    along = np.linalg.solve(information + weak, slope)
    plain, pull = float(along @ information @ along), float(along @ likelihood.gradient(theta))
    if plain > _KNOWN * float(slope @ along) and n * pull**2 < _PULL**2 * plain:
        return float(along @ likelihood.score_covariance(theta) @ along) / plain
    if not problem.has_weights:
        return 1.0
    squares = problem.rows.total(lambda block: (np.array(times(np.ones(len(block.codes)), block.squares).sum()),))[0]
    return float(squares) * n / problem.rows.total_weight**2  # Kish
