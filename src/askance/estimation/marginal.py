"""Maximum marginal likelihood: the efficient, non-convex estimator."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np

from askance._arrays import ArrayLike, FloatArray
from askance._checks import require_generator
from askance.errors import ConvergenceWarning, InputError, MultipleMaximaWarning, NotIdentifiedError, RepairWarning
from askance.estimation.common import (
    CovarianceKind,
    build_fit,
    choose_covariance_kind,
    identified,
    likelihood_covariance,
)
from askance.estimation.fit import Diagnostics, Fit, LocalMaximum, checked_start
from askance.estimation.likelihood import MarginalLikelihood
from askance.estimation.matching import match_moments
from askance.estimation.moments import fit_moments
from askance.estimation.newton import Solution, newton
from askance.estimation.prior import PRIOR_SCALE, prior_precision, ran_off
from askance.evidence.tally import Tally
from askance.models.enumerated import Enumerated

#: How one start is climbed from.
Solver: TypeAlias = Literal["newton", "em", "lbfgs"]

# Two ends are the same maximum when their distributions differ by less than this in every output.
_SAME_MAXIMUM = 1e-4
_ESCAPE_MESSAGE = (
    "the likelihood keeps growing as θ runs off to infinity (some outputs look impossible); θ is the posterior mode "
    "under a weak prior, and intervals describe that posterior"
)


def fit_marginal(
    model: Enumerated,
    evidence: Tally,
    *,
    solver: Solver = "newton",
    starts: int | list[ArrayLike] = 8,
    rng: np.random.Generator | None = None,
    covariance: CovarianceKind | None = None,
    prior_scale: float = PRIOR_SCALE,
) -> Fit:
    """θ̂ = argmax Σ_o q̂(o) log (S p_θ)(o), from several starts.

    The likelihood may have several maxima. The best one found is returned, all are listed in the diagnostics, and a
    `MultipleMaximaWarning` says when starts disagree.

    Args:
        model: what to fit.
        evidence: tallies of reports.
        solver: "newton" (exact Hessian), "em" (slow, monotone) or "lbfgs" (many parameters).
        starts: number of random starts beside θ = 0 and the moment estimate, or a list of starting points.
        rng: generator of the random starts (default: a fixed one, so that results repeat).
        covariance: "expected" (default: Σ_marg at θ̂), "observed" or "robust".
        prior_scale: standard deviation of the weak prior, used only when the likelihood has no finite maximum.
    """
    kind = choose_covariance_kind(covariance, default="expected", allowed=("expected", "observed", "robust"))
    if solver not in _SOLVERS:
        raise InputError(f"solver is {solver!r}; allowed: {', '.join(_SOLVERS)}.", remedy="Leave it out.")
    identified(model, evidence)
    n = evidence.n_observations
    points = _starting_points(model, evidence, starts, rng)
    likelihood = MarginalLikelihood(model, evidence.channel, evidence.frequencies)
    ends = [_SOLVERS[solver](likelihood, point) for point in points]
    escaped = [end for end in ends if end.escaped]
    finite = [end for end in ends if not end.escaped]
    best_finite = min((end.value for end in finite), default=np.inf)
    repaired = any(end.value < best_finite - 1e-10 for end in escaped)
    messages: tuple[str, ...] = ()
    if repaired:
        warnings.warn(f"marginal: {_ESCAPE_MESSAGE}.", RepairWarning, stacklevel=3)
        messages += (_ESCAPE_MESSAGE,)
        precision = prior_precision(model, prior_scale) / n
        likelihood = MarginalLikelihood(model, evidence.channel, evidence.frequencies, precision)
        finite = [newton(likelihood, point, model.statistic_ranges) for point in points]
    best = min(finite, key=lambda end: end.value)
    maxima = _distinct(model, finite, n)
    if len(maxima) > 1:
        text = (
            f"the likelihood has several maxima ({len(maxima)} found from {len(points)} starts); the best is returned"
        )
        warnings.warn(f"marginal: {text}.", MultipleMaximaWarning, stacklevel=3)
        messages += (text,)
    if not best.converged:
        warnings.warn(f"marginal: {solver} stopped after {best.iterations} steps.", ConvergenceWarning, stacklevel=3)
    diagnostics = Diagnostics(best.iterations, repaired, False, maxima, len(escaped), messages)
    if repaired:
        spread, used = np.linalg.inv(likelihood.hessian(best.theta)) / n, "posterior"
    else:
        spread, used = likelihood_covariance(likelihood, best.theta, kind, n), str(kind)
    return build_fit(model, evidence, best.theta, spread, "marginal", used, best.converged, None, diagnostics)


def _starting_points(
    model: Enumerated, evidence: Tally, starts: int | list[ArrayLike], rng: np.random.Generator | None
) -> list[FloatArray]:
    """θ = 0, the moment estimate where there is one, and random points about three log-odds wide; or what was given."""
    if not isinstance(starts, int):
        return [checked_start(start, model) for start in starts]
    generator = np.random.default_rng(0) if rng is None else require_generator(rng)
    points = [np.zeros(model.dimension)]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RepairWarning)
            points.append(fit_moments(model, evidence).theta)
    except NotIdentifiedError:
        pass  # no unbiased β: the likelihood may identify θ all the same
    points.extend(generator.normal(scale=3.0, size=(starts, model.dimension)) / model.statistic_ranges)
    return points


def _distinct(model: Enumerated, ends: list[Solution], n: int) -> tuple[LocalMaximum, ...]:
    """The different maxima among the ends that converged, best first."""
    found: list[tuple[Solution, int]] = []
    for end in sorted((end for end in ends if end.converged), key=lambda end: end.value):
        p = model.probabilities(end.theta)
        for i, (other, count) in enumerate(found):
            if np.abs(model.probabilities(other.theta) - p).max() < _SAME_MAXIMUM:
                found[i] = (other, count + 1)
                break
        else:
            found.append((end, 1))
    return tuple(LocalMaximum(tuple(end.theta.tolist()), -end.value * n, count) for end, count in found)


def climb_newton(likelihood: MarginalLikelihood, start: FloatArray) -> Solution:
    """Newton steps with the exact Hessian."""
    model = likelihood.model
    return newton(likelihood, start, model.statistic_ranges, escaped=lambda theta: ran_off(theta, model))


def climb_em(likelihood: MarginalLikelihood, start: FloatArray, max_iterations: int = 5_000) -> Solution:
    """EM: expected outputs given the reports, then moment matching; the likelihood never falls."""
    model, theta, value = likelihood.model, start, likelihood.value(start)
    for iteration in range(max_iterations):
        expected = likelihood.expected_outputs(theta)
        step = match_moments(model, model.table @ (expected / expected.sum()), theta)
        new_value = likelihood.value(step.theta)
        moved = float(np.abs((step.theta - theta) * model.statistic_ranges).max())
        theta, value = step.theta, new_value
        if step.escaped or ran_off(theta, model):
            return Solution(theta, value, False, True, iteration)
        if moved < 1e-10:
            return Solution(theta, value, True, False, iteration)
    return Solution(theta, value, False, False, max_iterations)


def climb_lbfgs(likelihood: MarginalLikelihood, start: FloatArray) -> Solution:
    """L-BFGS with the exact gradient, in units of the statistics' ranges."""
    from scipy.optimize import minimize

    model, ranges = likelihood.model, likelihood.model.statistic_ranges
    result = minimize(
        lambda scaled: likelihood.value(scaled / ranges),
        start * ranges,
        jac=lambda scaled: likelihood.gradient(scaled / ranges) / ranges,
        method="L-BFGS-B",
        options={"maxiter": 5000, "ftol": 1e-16, "gtol": 1e-10},
    )
    theta = np.asarray(result.x / ranges)
    flat = bool(np.abs(likelihood.gradient(theta) / ranges).max() < 1e-6)
    return Solution(theta, float(result.fun), flat, ran_off(theta, model), int(result.nit))


_SOLVERS: dict[str, Callable[[MarginalLikelihood, FloatArray], Solution]] = {
    "newton": climb_newton,
    "em": climb_em,
    "lbfgs": climb_lbfgs,
}
