"""Maximum marginal likelihood: the efficient, non-convex estimator."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Literal, TypeAlias

import numpy as np

from askance._arrays import ArrayLike, FloatArray
from askance._checks import as_count, as_list, as_parameter, require_generator
from askance.channels.statistics.choices import require_choice
from askance.design.covariances import invert_information
from askance.errors import ConvergenceWarning, InputError, MultipleMaximaWarning, NotIdentifiedError, RepairWarning
from askance.estimation.methods.common import (
    check_prior_scale,
    choose_covariance_kind,
    likelihood_covariance,
    says_less_than_the_prior,
    settled,
)
from askance.estimation.methods.moments import fit_moments
from askance.estimation.outcome import Diagnostics, LocalMaximum, Notice, Outcome
from askance.estimation.parameter_scale import PRIOR_SCALE
from askance.estimation.protocols import CovarianceKind, Problem, zeros
from askance.estimation.solvers.lbfgs import minimise
from askance.estimation.solvers.newton import Solution, newton
from askance.estimation.solvers.together import AtMany, climb_together

#: How one start is climbed from.
Solver: TypeAlias = Literal["newton", "em", "lbfgs"]
_Climb: TypeAlias = Callable[[Problem, FloatArray], Solution]

# Two ends are the same maximum when their distributions differ by less than this in every output.
_SAME_MAXIMUM = 1e-4
# Maxima of a sample are where the search in all rows begins: it is left at this squared decrement, and ends that
# differ by less than the second are the same maximum.
_ROUGH, _ABOUT_THE_SAME = 1e-4, 1e-2
_ESCAPE_MESSAGE = (
    "the likelihood keeps growing, or stays flat, as θ runs off to infinity (some outputs look impossible); θ is the "
    "posterior mode under a weak prior, and intervals describe that posterior"
)


def fit_marginal(
    problem: Problem,
    *,
    solver: Solver = "newton",
    starts: int | list[ArrayLike] = 8,
    rng: np.random.Generator | None = None,
    covariance: CovarianceKind | None = None,
    prior_scale: float = PRIOR_SCALE,
) -> Outcome:
    """θ̂ = argmax Ê log Σ_y S(o|y) p_θ(y|x), from several starts.

    The likelihood may have several maxima. The best one found is returned, all are listed in the diagnostics, and a
    `MultipleMaximaWarning` says when starts disagree.

    Args:
        problem: model and evidence.
        solver: "newton" (exact Hessian), "em" (slow, monotone) or "lbfgs" (many parameters).
        starts: number of random starts beside θ = 0, the moment estimate and where else the problem says, or a list of
            starting points.
        rng: generator of the random starts (default: a fixed one, so that results repeat).
        covariance: "expected" (default: Σ_marg at θ̂), "observed" or "robust".
        prior_scale: standard deviation of the weak prior, used only when the likelihood has no finite maximum.
    """
    check_prior_scale(prior_scale)
    kind = choose_covariance_kind(problem, covariance, ("expected", "observed", "robust"))
    require_choice(solver, "solver", tuple(_SOLVERS))
    n = problem.n_observations
    sample = problem.exploration()
    points = _starting_points(problem, sample, starts, rng)
    _require_identified(problem, sample)
    if isinstance(starts, (int, np.integer)):
        points = _explored(problem, sample, points, solver)
    ends = [_SOLVERS[solver](problem, point) for point in points]
    finite = [end for end in ends if not end.escaped]
    spread = _covariance_without_prior(problem, ends, kind, prior_scale)
    messages: tuple[str, ...] = ()
    used, repaired = str(kind), spread is None
    notices = problem.robust_notices if kind == "robust" and not repaired else ()
    if spread is None:
        notices += (Notice(RepairWarning, _ESCAPE_MESSAGE),)
        messages, used = (_ESCAPE_MESSAGE,), "posterior"
        likelihood = problem.likelihood(problem.standard.prior_precision(prior_scale) / n)
        finite = [newton(likelihood, point, problem.standard) for point in points]
        spread = np.asarray(np.linalg.inv(likelihood.hessian(_best(finite).theta)) / n)
    best = _best(finite)
    maxima = _distinct(problem, finite, None if repaired else prior_scale)
    escaped = sum(end.escaped for end in ends)
    if len(maxima) > 1:
        text = (
            f"the likelihood has several maxima ({len(maxima)} found from {len(points)} starts); the best is returned"
        )
        notices += (Notice(MultipleMaximaWarning, text),)
        messages += (text,)
    if not best.converged:
        notices += (Notice(ConvergenceWarning, f"{solver} stopped after {best.iterations} steps"),)
    return Outcome(
        theta=best.theta,
        covariance=spread,
        method="marginal",
        covariance_kind=used,
        freedom=problem.likelihood().freedom(best.theta) if used == "robust" else None,
        converged=best.converged,
        diagnostics=Diagnostics(best.iterations, repaired, False, maxima, escaped, messages),
        notices=notices,
    )


def _best(ends: list[Solution]) -> Solution:
    """The end where the likelihood is largest."""
    return min(ends, key=lambda end: end.value)


def _covariance_without_prior(
    problem: Problem, ends: list[Solution], kind: CovarianceKind, prior_scale: float
) -> FloatArray | None:
    """Of the best end, shape (d, d); None where a prior is needed, since the likelihood has no finite maximum."""
    finite = [end for end in ends if not end.escaped]
    best_finite = min((end.value for end in finite), default=np.inf)
    if any(end.escaped and end.value < best_finite - 1e-10 for end in ends):
        return None
    # On the very boundary the likelihood is flat far out, and a solver may stop there: see what the data say.
    try:
        spread = likelihood_covariance(problem, problem.likelihood(), _best(finite).theta, kind)
    except NotIdentifiedError:  # so flat that some direction is lost; at other θ it was seen (`_require_identified`)
        return None
    return None if says_less_than_the_prior(problem, spread, prior_scale) else spread


def _starting_points(
    problem: Problem, sample: Problem, starts: int | list[ArrayLike], rng: np.random.Generator | None
) -> list[FloatArray]:
    """θ = 0, the moment estimate of the sample if there is one, what the problem says, and random points; or what came.

    Random points are three log-odds wide: so are their sums over the covariates of a row.
    """
    dimension = len(problem.parameter_names)
    if not isinstance(starts, (int, np.integer)):
        points = as_list(starts, "starts", "[[0.0, 1.0]], one point of θ each")
        if not points:
            raise InputError("starts is empty.", remedy="Give at least one point, or a number of random ones.")
        return [problem.inward(as_parameter(start, dimension, f"starts[{i}]")) for i, start in enumerate(points)]
    count = as_count(starts, "starts", maximum=100_000)
    generator = np.random.default_rng(0) if rng is None else require_generator(rng)
    points = [zeros(problem)]
    with suppress(NotIdentifiedError):  # no unbiased β: the likelihood may identify θ all the same
        points.append(fit_moments(sample).theta)
    drawn = generator.normal(scale=3.0 / np.sqrt(problem.n_terms), size=(count, dimension))
    return [*points, *problem.guesses(), *(problem.standard.to_parameters(point) for point in drawn)]


def _require_identified(problem: Problem, sample: Problem) -> None:
    """Refuse, before any search, a model of which the reports say nothing in some direction.

    At a single θ the information may be singular by accident (of symmetry, at 0): it counts when it is so at random
    ones as well. What some of the rows identify, all of them do.
    """
    if sample is not problem:
        with suppress(NotIdentifiedError):
            _require_identified(sample, sample)
            return
    likelihood, generator = problem.likelihood(), np.random.default_rng(0)
    refusal: NotIdentifiedError | None = None
    for scale in (0.0, 1.0, 1.0):
        drawn = generator.normal(scale=scale, size=len(problem.parameter_names))
        information = likelihood.expected_information(problem.standard.to_parameters(drawn))
        try:
            invert_information(information, problem.parameter_names, "the channel")
        except NotIdentifiedError as error:
            refusal = error
        else:
            return
    assert refusal is not None
    raise refusal


def _explored(problem: Problem, sample: Problem, points: list[FloatArray], solver: Solver) -> list[FloatArray]:
    """Where it saves time: look for maxima roughly, and climb from one point per maximum."""
    likelihood = sample.likelihood()
    chosen = min(1, len(points) - 1)  # the moment estimate, where there is one
    if solver == "newton" and isinstance(likelihood, AtMany):
        ends = climb_together(likelihood, np.array(points), sample.standard, _ROUGH)
        return _apart(sample, [ends[chosen], *ends])
    if sample is problem:
        return points
    rough: _Climb = partial(climb_newton, tolerance=_ROUGH) if solver == "newton" else _SOLVERS[solver]
    maxima = [rough(sample, point) for point in points]
    first = maxima[chosen].theta if maxima[chosen].converged else points[chosen]
    return _apart(sample, [first, *(np.array(maximum.theta) for maximum in _distinct(sample, maxima, None))])


def _apart(problem: Problem, points: list[FloatArray]) -> list[FloatArray]:
    """Of points that are about the same the first."""
    kept: list[FloatArray] = []
    for point in points:
        if any(np.array_equal(other, point) for other in kept):
            continue
        if all(problem.distance(other, point) > _ABOUT_THE_SAME for other in kept):
            kept.append(point)
    return kept


def _distinct(problem: Problem, ends: list[Solution], prior_scale: float | None) -> tuple[LocalMaximum, ...]:
    """The different maxima among the ends that converged, best first; with a prior their heights include it.

    Far out the likelihood is flat, and a solver may stop on a plateau, which is no maximum: with a prior scale, an end
    other than the best counts only where the likelihood is more curved than that prior.
    """
    n = problem.n_observations
    distinct: list[tuple[Solution, int]] = []
    for end in sorted((end for end in ends if end.converged), key=lambda end: end.value):
        for i, (other, count) in enumerate(distinct):
            if problem.distance(other.theta, end.theta) < _SAME_MAXIMUM:
                distinct[i] = (other, count + 1)
                break
        else:
            if not distinct or prior_scale is None or _is_peak(problem, end.theta, prior_scale):
                distinct.append((end, 1))
    return tuple(
        LocalMaximum(tuple(end.theta.tolist()), -end.value * n - problem.log_shares, count) for end, count in distinct
    )


def _is_peak(problem: Problem, theta: FloatArray, prior_scale: float) -> bool:
    """Whether n H − Λ is positive definite: in every direction the likelihood falls faster than the weak prior does."""
    curvature = problem.n_observations * problem.likelihood().hessian(theta)
    excess = curvature - problem.standard.prior_precision(prior_scale)
    return bool(np.linalg.eigvalsh(excess).min() > 0)


def climb_newton(problem: Problem, start: FloatArray, tolerance: float = 1e-20) -> Solution:
    """Newton steps with the exact Hessian."""
    likelihood = problem.likelihood()
    finish = likelihood.expected_information if "expected" in problem.covariance_kinds else None
    return newton(
        likelihood,
        start,
        problem.standard,
        tolerance=tolerance,
        settled=settled(problem),
        escaped=problem.ran_off,
        finish=finish,
    )


def climb_em(problem: Problem, start: FloatArray, max_iterations: int = 5_000) -> Solution:
    """EM: expected statistics given the reports, then moment matching; the likelihood never falls."""
    likelihood, standard = problem.likelihood(), problem.standard
    theta = start
    for iteration in range(max_iterations):
        matching = problem.match(problem.expected_statistics(theta))
        step = newton(matching, theta, standard, escaped=problem.ran_off)
        moved = standard.size(step.theta - theta)
        theta = step.theta
        if step.escaped or problem.ran_off(theta):
            return Solution(theta, likelihood.value(theta), False, True, iteration)
        if moved < 1e-10:
            return Solution(theta, likelihood.value(theta), True, False, iteration)
    return Solution(theta, likelihood.value(theta), False, False, max_iterations)


def climb_lbfgs(problem: Problem, start: FloatArray) -> Solution:
    """L-BFGS with the exact gradient, in standardised parameters."""
    likelihood, standard = problem.likelihood(), problem.standard

    def value_and_gradient(scaled: FloatArray) -> tuple[float, FloatArray]:
        theta = standard.to_parameters(scaled)
        return likelihood.value(theta), standard.gradient(likelihood.gradient(theta))

    end = minimise(value_and_gradient, standard.matrix @ start, flat=1e-10, max_iterations=5000)
    theta = standard.to_parameters(end.point)
    gone = problem.ran_off(theta)
    return Solution(theta, end.value, end.slope < 1e-6 and not gone, gone, end.iterations)


_SOLVERS: dict[str, Callable[[Problem, FloatArray], Solution]] = {
    "newton": climb_newton,
    "em": climb_em,
    "lbfgs": climb_lbfgs,
}
