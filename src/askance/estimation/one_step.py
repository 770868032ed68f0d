"""One scoring step on the marginal likelihood from the moment estimate: efficient, and no non-convex search."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from askance.design.covariances import Weighting
from askance.estimation.common import choose_covariance_kind, likelihood_covariance
from askance.estimation.fit import Fit, Outcome
from askance.estimation.moments import fit_moments
from askance.estimation.protocols import CovarianceKind, Problem
from askance.estimation.standard import PRIOR_SCALE

# The step may not move any standardised parameter by more than this many log-odds. It shrinks like 1/√n, so the limit
# matters only where the reports say too little for a step to be trusted.
_LONGEST_STEP = 2.0


def fit_one_step(
    problem: Problem,
    *,
    weighting: Weighting = "best",
    covariance: CovarianceKind | None = None,
    prior_scale: float = PRIOR_SCALE,
) -> Fit:
    """θ̂ = θ_mom + J(θ_mom)⁻¹ ∇ℓ(θ_mom), with J = Cov E[φ|o] the information of a report.

    One step from a √n-consistent start has the covariance of the maximum of the marginal likelihood, Σ_marg. It is
    safeguarded: limited in length, and halved until the likelihood does not fall. Where the moment estimate needed
    its weak prior, so does the step.

    Args:
        problem: model and evidence.
        weighting: which β for the start.
        covariance: "expected" (default: Σ_marg at θ̂), "observed" or "robust".
        prior_scale: standard deviation of the weak prior, in log-odds.
    """
    kind = choose_covariance_kind(problem, covariance, ("expected", "observed", "robust"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = fit_moments(problem, weighting=weighting, prior_scale=prior_scale)
    for warning in caught:
        warnings.warn(warning.message, warning.category, stacklevel=3)
    n, repaired = problem.n_observations, start.diagnostics.repaired
    precision = problem.standard.prior_precision(prior_scale) / n if repaired else None
    likelihood = problem.likelihood(precision)
    before = likelihood.value(start.theta)
    information = likelihood.expected_information(start.theta) + (0.0 if precision is None else precision)
    step = np.asarray(-np.linalg.solve(information, likelihood.gradient(start.theta)), dtype=np.float64)
    share = min(1.0, _LONGEST_STEP / max(problem.standard.size(step), 1e-300))
    rounding = 1e-13 * (1 + abs(before))
    while likelihood.value(start.theta + share * step) > before + rounding:
        share /= 2
        if share < 1e-3:
            share = 0.0
            break
    theta = start.theta + share * step
    if precision is not None:
        spread, used = np.linalg.inv(likelihood.expected_information(theta) + precision) / n, "posterior"
    else:
        spread, used = likelihood_covariance(problem, likelihood, theta, kind), str(kind)
    messages = start.diagnostics.messages
    if share < 1:
        messages += (f"the scoring step was damped to {share:.3g} of its length",)
    return problem.fit(
        Outcome(
            theta=theta,
            covariance=np.asarray(spread),
            method="one-step",
            covariance_kind=used,
            converged=start.converged,
            raw_statistics=start.raw_statistics,
            diagnostics=replace(start.diagnostics, damped=share < 1, messages=messages),
        )
    )
