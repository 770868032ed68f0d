"""The paper's estimator: average β, then one convex fit."""

from __future__ import annotations

import warnings

import numpy as np

from askance._arrays import FloatArray
from askance.design.covariances import Weighting, invert_information, observation_function
from askance.errors import ConvergenceWarning, RepairWarning
from askance.estimation.common import (
    CovarianceKind,
    build_fit,
    choose_covariance_kind,
    identified,
)
from askance.estimation.fit import Diagnostics, Fit
from askance.estimation.matching import match_moments, match_noisy_moments
from askance.estimation.prior import PRIOR_SCALE, prior_precision
from askance.evidence.tally import Tally
from askance.models.enumerated import Enumerated

REPAIR_MESSAGE = (
    "the unbiased statistics of these reports belong to no distribution (sampling noise carried them outside); θ is "
    "the posterior mode under a weak prior, and intervals describe that posterior: they need not cover at their "
    "nominal rate"
)


def fit_moments(
    model: Enumerated,
    evidence: Tally,
    *,
    weighting: Weighting = "best",
    covariance: CovarianceKind | None = None,
    prior_scale: float = PRIOR_SCALE,
) -> Fit:
    """μ̂ = mean of β(o), then θ̂ = argmax μ̂ᵀθ − A(θ).

    Where μ̂ lies outside the marginal polytope no such θ exists. The fit is then noise-aware: μ̂ is taken as Gaussian
    around μ(θ) with its own covariance, θ gets a weak prior, and the fit says so.

    Args:
        model: what to fit.
        evidence: tallies of reports.
        weighting: which β where several are unbiased: "best" for the observed distribution, or "plain".
        covariance: "robust" (default: the covariance of β over the reports, right even when the model is not) or
            "expected" (Σ_mom at θ̂).
        prior_scale: standard deviation of the weak prior, in log-odds across the range of a statistic.
    """
    kind = choose_covariance_kind(covariance, default="robust", allowed=("robust", "expected"))
    identified(model, evidence)
    smoothed = evidence.smoothed_frequencies
    beta = observation_function(model, evidence.channel, smoothed, weighting)
    statistics = beta.mean(evidence.frequencies)
    n = evidence.n_observations
    solution = match_moments(model, statistics)
    if solution.converged:
        at = evidence.frequencies if kind == "robust" else _predicted(model, evidence, solution.theta)
        inverse = invert_information(model.fisher_information(solution.theta), model, "the model")
        spread = inverse @ beta.covariance(at) @ inverse / n
        diagnostics = Diagnostics(iterations=solution.iterations)
        return build_fit(model, evidence, solution.theta, spread, "moments", kind, True, statistics, diagnostics)
    warnings.warn(f"moments: {REPAIR_MESSAGE}.", RepairWarning, stacklevel=3)
    noise = beta.covariance(smoothed) / n
    repaired, spread = match_noisy_moments(model, statistics, noise, prior_precision(model, prior_scale))
    if not repaired.converged:
        warnings.warn("moments: the noise-aware fit did not converge.", ConvergenceWarning, stacklevel=3)
    diagnostics = Diagnostics(iterations=repaired.iterations, repaired=True, messages=(REPAIR_MESSAGE,))
    return build_fit(
        model, evidence, repaired.theta, spread, "moments", "posterior", repaired.converged, statistics, diagnostics
    )


def _predicted(model: Enumerated, evidence: Tally, theta: FloatArray) -> FloatArray:
    return evidence.channel.apply(np.exp(model.log_probabilities(theta)))
