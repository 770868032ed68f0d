"""One scoring step on the marginal likelihood from the moment estimate: efficient, and no non-convex search."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from askance._arrays import FloatArray
from askance.design.covariances import Weighting
from askance.errors import RepairWarning
from askance.estimation.methods.common import (
    MANY,
    choose_covariance_kind,
    likelihood_covariance,
    says_less_than_the_prior,
)
from askance.estimation.methods.moments import POSTERIOR_MESSAGE, UNCERTAIN_MESSAGE, fit_moments
from askance.estimation.outcome import Notice, Outcome
from askance.estimation.parameter_scale import PRIOR_SCALE
from askance.estimation.protocols import CovarianceKind, Likelihood, Problem

# The step may not move any standardised parameter by more than this many log-odds. It shrinks like 1/√n, so the limit
# matters only where the reports say too little for a step to be trusted.
_LONGEST_STEP = 2.0
# More steps are taken until the maximum of the likelihood is within a fiftieth of a standard error, here squared; a
# tenth of that is left for what the quadratic that measures it does not see.
_NEAR_ENOUGH = 0.018**2
# Where a step leaves a tenth of one, the moment estimate was far off (a few extreme covariates can do that).
_FAR_OFF = 0.01
_MOST_STEPS = 30
# Where reports are few, the curvature that they show may be far from the expected one: below this share of it in some
# direction, it is no guide.
_FLAT = 0.05


def fit_one_step(
    problem: Problem,
    *,
    weighting: Weighting = "best",
    covariance: CovarianceKind | None = None,
    prior_scale: float = PRIOR_SCALE,
) -> Outcome:
    """θ̂ = θ_mom + J(θ_mom)⁻¹ ∇ℓ(θ_mom), with J = Cov E[φ|o] the information of a report.

    One step from a √n-consistent start has the covariance of the maximum of the marginal likelihood, Σ_marg. It is
    safeguarded: limited in length, and halved until the likelihood does not fall. Where the moment estimate needed
    its weak prior, so does the step. Further steps are taken until the maximum is within a fiftieth of a standard error
    in every direction; where one step left more than a tenth, the start was poor, and the fit says how many.

    Args:
        problem: model and evidence.
        weighting: which β for the start.
        covariance: "expected" (default: Σ_marg at θ̂), "observed" or "robust".
        prior_scale: standard deviation of the weak prior, in log-odds.
    """
    kind = choose_covariance_kind(problem, covariance, ("expected", "observed", "robust"))
    start = fit_moments(problem, weighting=weighting, prior_scale=prior_scale)
    end = None if start.diagnostics.repaired else _without_prior(problem, start.theta, kind, prior_scale)
    used, repaired = str(kind), end is None
    # What is said of the robust covariance is about the rows in use, and moments may leave out some.
    of_start = problem.moments(weighting).robust_notices
    messages, notices = start.diagnostics.messages, tuple(n for n in start.notices if n not in of_start)
    notices = (*problem.robust_notices, *notices) if kind == "robust" and not repaired else notices
    if end is None:
        if not start.diagnostics.repaired:
            messages += (UNCERTAIN_MESSAGE, POSTERIOR_MESSAGE)
            notices += (Notice(RepairWarning, f"{UNCERTAIN_MESSAGE}; {POSTERIOR_MESSAGE}"),)
        end, used = _with_prior(problem, start.theta, prior_scale), "posterior"
    if end.share < 1:
        messages += (f"the first scoring step was damped to {end.share:.3g} of its length",)
    if end.far:
        messages += (f"one scoring step was not enough here; {end.steps} were taken",)
    if repaired and "robust" in problem.covariance_kinds and len(problem.covariance_kinds) == 1:
        messages += ("weights and clusters are not part of the posterior's spread",)
    return replace(
        start,
        theta=end.theta,
        covariance=np.asarray(end.covariance),
        method="one-step",
        covariance_kind=used,
        freedom=problem.likelihood().freedom(end.theta) if used == "robust" else None,
        diagnostics=replace(start.diagnostics, repaired=repaired, damped=end.share < 1, messages=messages),
        notices=notices,
    )


class _End(NamedTuple):
    """Where scoring steps end: θ̂, the share of the first step that was taken, how many there were, whether the start
    was far off, and Cov θ̂."""

    theta: FloatArray
    share: float
    steps: int
    far: bool
    covariance: FloatArray


def _without_prior(problem: Problem, start: FloatArray, kind: CovarianceKind, prior_scale: float) -> _End | None:
    """The end of plain steps; None where the likelihood has no finite maximum, though the moments lie inside."""
    likelihood = problem.likelihood()
    theta, share, steps, far = _score(problem, likelihood, start, None)
    if far:
        if problem.ran_off(theta):
            return None
        expected = likelihood_covariance(problem, likelihood, theta, "expected")
        if says_less_than_the_prior(problem, expected, prior_scale):
            return None
    return _End(theta, share, steps, far, likelihood_covariance(problem, likelihood, theta, kind))


def _with_prior(problem: Problem, start: FloatArray, prior_scale: float) -> _End:
    """The end of steps under the weak prior, with the covariance of the posterior."""
    n = problem.n_observations
    precision = problem.standard.prior_precision(prior_scale) / n
    likelihood = problem.likelihood(precision)
    theta, share, steps, far = _score(problem, likelihood, start, precision)
    spread = np.asarray(np.linalg.inv(likelihood.expected_information(theta) + precision) / n)
    return _End(theta, share, steps, far, spread)


def _score(
    problem: Problem, likelihood: Likelihood, start: FloatArray, precision: FloatArray | None
) -> tuple[FloatArray, float, int, bool]:
    """Steps from a start: where they end, the share of the first that was taken, how many, and whether it was far off.

    The first is a scoring step, later ones are Newton's: with J alone they might come near slowly, and what is left
    would seem shorter than it is.
    """
    theta, share, steps, far = start, 1.0, 0, False
    for steps in range(_MOST_STEPS + 1):
        information = likelihood.expected_information(theta) + (0.0 if precision is None else precision)
        gradient = likelihood.gradient(theta)
        step = np.asarray(-np.linalg.solve(information, gradient), dtype=np.float64)
        if steps:
            far = far or float(-gradient @ step) * problem.n_observations >= _FAR_OFF
            step = _to_maximum(problem, likelihood, theta, information, gradient, step)
            # The squared distance that is left, in standard errors.
            if float(step @ information @ step) * problem.n_observations < _NEAR_ENOUGH:
                break
        taken = _safeguarded(likelihood, problem, theta, step)
        share = taken if steps == 0 else share
        theta = theta + taken * step
        if not taken or problem.ran_off(theta):
            break
    return theta, share, steps, far


def _to_maximum(
    problem: Problem,
    likelihood: Likelihood,
    theta: FloatArray,
    information: FloatArray,
    gradient: FloatArray,
    step: FloatArray,
) -> FloatArray:
    """What is left to the maximum: Newton's step; the scoring step where curvature is no guide, or as good as known."""
    if problem.n_observations >= MANY:
        return step
    root = np.linalg.inv(np.linalg.cholesky(information))
    values, vectors = np.linalg.eigh(root @ likelihood.hessian(theta) @ root.T)
    if values[0] < _FLAT:
        return step
    return np.asarray(-root.T @ (vectors @ ((vectors.T @ (root @ gradient)) / values)))


def _safeguarded(likelihood: Likelihood, problem: Problem, theta: FloatArray, step: FloatArray) -> float:
    """The share of a step that may be taken: limited in length, and the likelihood does not fall."""
    share = min(1.0, _LONGEST_STEP / max(problem.standard.size(step), 1e-300))
    before = likelihood.value(theta)
    rounding = 1e-13 * (1 + abs(before))
    while not likelihood.value(theta + share * step) <= before + rounding:
        share /= 2
        if share < 1e-3:
            return 0.0
    return share
