"""Intervals of shares at or near 0 and 1, from the profile of the likelihood."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from askance._arrays import AnyArray, FloatArray
from askance._kernels.softmax_pass import OBSERVED
from askance._threads import one_thread
from askance.estimation.freedom import freedom_of, quantile
from askance.estimation.parameter_scale import PRIOR_SCALE
from askance.estimation.problems.conditional import Block, times, weighted
from askance.estimation.problems.hidden_problem import HiddenProblem
from askance.estimation.problems.share_average import ShareAverage
from askance.estimation.solvers.function_profile import highest, largest_share

if TYPE_CHECKING:
    from askance.estimation.results.hidden_fit import HiddenFit

# A share is near its end where it is within so many standard errors of it: beyond, its law is not skewed any more.
# Within three the usual intervals are plainly wrong; at five or six they still miss twice as often on one side.
_NEAR = 8.0
# Where the likelihood tells less than this part of what is known of a share at θ̂, and a weak prior the rest, there is
# no variance to compare with.
_KNOWN = 0.5
# Scores whose variance is a smaller share of their mean square do not vary.
_CONSTANT = 1e-9
# Scores add up to 0 where what they add up to moves the share by less than so many standard errors.
_PULL = 0.25
#: What a table says of such intervals.
PROFILED = (
    "intervals ({}) hold every share that the likelihood does not reject (its profile): estimate ± errors misleads "
    "where a share is near 0 or 1 for its error, or the data alone do not settle it"
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
    is, as Rao and Scott do. Where θ̂ is on the end both variances vanish, and what weights and clusters make of the
    mean of the scores stands for their ratio, with the quantiles of t of that mean.

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
    from scipy.special import ndtr

    assert fit.evidence is not None
    problem = HiddenProblem(fit.model, fit.evidence)
    theta = problem.inward(fit.theta)
    peak = highest(problem, theta)
    for k in np.flatnonzero(near).tolist():
        if k == 1 and len(near) == 2:
            lower[1], upper[1] = 1 - upper[0], 1 - lower[0]
            break
        scale, freedom = _scale(problem, theta, averages[k], sampling, k)
        reach = float(quantiles[k])
        if fit.freedom is None:  # a weak prior acted, or there are no clusters
            reach = float(quantile(float(2 * ndtr(reach) - 1), freedom))
        deviance = reach**2
        others = ShareAverage(*averages[k].place, ~averages[k].members)
        upper[k] = largest_share(problem, peak, averages[k], deviance, scale)
        lower[k] = 1 - largest_share(problem, peak, others, deviance, scale)
    return Ends(np.minimum(lower, estimate), np.maximum(upper, estimate), near)


def _scale(
    problem: HiddenProblem,
    theta: FloatArray,
    average: ShareAverage,
    sampling: Callable[[FloatArray], FloatArray] | None,
    k: int,
) -> tuple[Callable[[FloatArray], float], float]:
    """How much larger than the likelihood says the variance of a share is, as a function of θ; degrees of freedom.

    What weights and clusters make of it is known at θ̂ alone, where scores add up to 0: elsewhere their squares grow
    with the very fall of the likelihood they are to be compared with.
    """
    likelihood, n = problem.likelihood(), problem.n_observations
    weak = problem.standard.prior_precision(PRIOR_SCALE) / n  # where a nuisance is at its end it has no information
    robust, freedom = 1.0, np.inf
    if problem.has_weights or problem.has_clusters:
        robust, freedom = _robust_ratio(problem, theta, average, weak)
    if sampling is None:
        return lambda _: robust, freedom

    def ratio(theta: FloatArray) -> float:
        slope = average(theta).gradient
        whole = float(slope @ np.linalg.solve(likelihood.expected_information(theta) + weak, slope))
        return robust if whole <= 0 else robust + n * float(sampling(theta)[k]) / whole

    return ratio, freedom


def _robust_ratio(
    problem: HiddenProblem, theta: FloatArray, average: ShareAverage, weak: FloatArray
) -> tuple[float, float]:
    """Of the robust variance of a share at θ̂ to the model's, and its degrees of freedom where θ̂ is at an end.

    At an end both variances vanish, and scores do not add up to 0 there but to what a weak prior holds against.
    """
    likelihood, n = problem.likelihood(), problem.n_observations
    slope, information = average(theta).gradient, likelihood.expected_information(theta)
    along: FloatArray = np.asarray(np.linalg.solve(information + weak, slope), dtype=np.float64)
    plain, pull = float(along @ information @ along), float(along @ likelihood.gradient(theta))
    if plain > _KNOWN * float(slope @ along) and n * pull**2 < _PULL**2 * plain:
        return float(along @ likelihood.score_covariance(theta) @ along) / plain, np.inf
    return _ratio_at_end(problem, theta, along)


def _ratio_at_end(problem: HiddenProblem, theta: FloatArray, along: FloatArray) -> tuple[float, float]:
    """The variance of the mean of u, the scores along a direction, with weights and clusters, to that without.

    Both are about the mean of u, which is not 0 at an end. Of clusters it is CR2 of a mean. Where u does not vary it
    has no variance: unequal weights are then worth what Kish says, and clusters nothing.
    """

    def sums(block: Block) -> tuple[FloatArray, ...]:
        u, ones = scored(block), np.ones(len(block.codes))
        w, squares = times(ones, block.weights), times(ones, block.squares)
        return tuple(np.asarray(part) for part in (w @ u, w @ u**2, squares.sum(), squares @ u, squares @ u**2))

    def scored(block: Block) -> FloatArray:
        return problem.scores(replace(block, weights=None), theta, OBSERVED) @ along

    rows, n, whole = problem.rows, problem.n_observations, problem.rows.total_weight
    first, second, kish, once, twice = (float(part) for part in rows.total(sums))
    mean = first / whole
    plain = second / whole - mean**2
    if plain < _CONSTANT * second / whole:
        return kish * n / whole**2, np.inf
    if not problem.has_clusters:
        return (twice - 2 * mean * once + mean**2 * kish) * n / whole**2 / plain, np.inf

    def about_mean(block: Block) -> FloatArray:
        return weighted(block, (scored(block) - mean)[:, None])

    spread = problem.clustered(rows, about_mean, lambda block: (np.array([[_weight(block)]]),))
    freedom = float(freedom_of(spread.freedom, np.ones(1)))
    return float(spread.squares[0, 0]) * n / whole**2 / plain, freedom


def _weight(block: Block) -> float:
    return float(len(block.codes) if block.weights is None else block.weights.sum())
