"""One scoring step on the marginal likelihood from the moment estimate: efficient, and no non-convex search."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from askance.design.covariances import Weighting
from askance.estimation.common import CovarianceKind, build_fit, choose_covariance_kind, likelihood_covariance
from askance.estimation.fit import Fit
from askance.estimation.likelihood import MarginalLikelihood
from askance.estimation.moments import fit_moments
from askance.estimation.prior import PRIOR_SCALE, prior_precision
from askance.evidence.tally import Tally
from askance.models.enumerated import Enumerated

# The step may not move any statistic by more than this many log-odds across its range. It shrinks like 1/√n, so the
# limit matters only where the reports say too little for a step to be trusted.
_LONGEST_STEP = 2.0


def fit_one_step(
    model: Enumerated,
    evidence: Tally,
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
        model: what to fit.
        evidence: tallies of reports.
        weighting: which β for the start.
        covariance: "expected" (default: Σ_marg at θ̂), "observed" or "robust".
        prior_scale: standard deviation of the weak prior, in log-odds across the range of a statistic.
    """
    kind = choose_covariance_kind(covariance, default="expected", allowed=("expected", "observed", "robust"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = fit_moments(model, evidence, weighting=weighting, prior_scale=prior_scale)
    for warning in caught:
        warnings.warn(warning.message, warning.category, stacklevel=3)
    n, repaired = evidence.n_observations, start.diagnostics.repaired
    precision = prior_precision(model, prior_scale) / n if repaired else np.zeros((model.dimension, model.dimension))
    likelihood = MarginalLikelihood(model, evidence.channel, evidence.frequencies, precision)
    information = likelihood.expected_information(start.theta) + precision
    step = -np.linalg.solve(information, likelihood.gradient(start.theta))
    share = min(1.0, _LONGEST_STEP / max(float(np.abs(step * model.statistic_ranges).max()), 1e-300))
    before = likelihood.value(start.theta)
    rounding = 1e-13 * (1 + abs(before))
    while likelihood.value(start.theta + share * step) > before + rounding:
        share /= 2
        if share < 1e-3:
            share = 0.0
            break
    theta = start.theta + share * step
    if repaired:
        spread, kind_used = np.linalg.inv(likelihood.expected_information(theta) + precision) / n, "posterior"
    else:
        spread, kind_used = likelihood_covariance(likelihood, theta, kind, n), str(kind)
    messages = start.diagnostics.messages
    if share < 1:
        messages += (f"the scoring step was damped to {share:.3g} of its length",)
    diagnostics = replace(start.diagnostics, damped=share < 1, messages=messages)
    return build_fit(
        model, evidence, theta, spread, "one-step", kind_used, start.converged, start.raw_statistics, diagnostics
    )
