"""What the estimators share: checks at the start, the covariance at the end."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from askance._arrays import FloatArray
from askance.design.covariances import invert_information
from askance.errors import EmptyDataError, InputError
from askance.estimation.fit import Diagnostics, Fit
from askance.estimation.likelihood import MarginalLikelihood
from askance.evidence.tally import Tally
from askance.models.enumerated import Enumerated

#: Which covariance: from the model's expected information, from the observed curvature, or robust to a wrong model.
CovarianceKind: TypeAlias = Literal["expected", "observed", "robust"]


def identified(model: Enumerated, evidence: Tally) -> None:
    """Refuse empty evidence, a channel about other outputs, and statistics that are redundant in the model."""
    evidence.channel.require_outputs_of(model)
    if not evidence.n_observations:
        raise EmptyDataError("there are no reports.", remedy="Add observations to the tally before estimating.")
    invert_information(model.fisher_information(np.zeros(model.dimension)), model, "the model")


def choose_covariance_kind(
    asked: CovarianceKind | None, *, default: CovarianceKind, allowed: tuple[CovarianceKind, ...]
) -> CovarianceKind:
    """The covariance to compute."""
    if asked is None:
        return default
    if asked not in allowed:
        raise InputError(f"covariance is {asked!r}; allowed here: {', '.join(allowed)}.", remedy="Leave it out.")
    return asked


def likelihood_covariance(
    likelihood: MarginalLikelihood, theta: FloatArray, kind: CovarianceKind, n: int
) -> FloatArray:
    """Cov(θ̂) of a likelihood estimator: J⁻¹/n, H⁻¹/n, or the sandwich H⁻¹GH⁻¹/n; shape (d, d)."""
    model = likelihood.model
    if kind == "expected":
        return invert_information(likelihood.expected_information(theta), model, "the channel") / n
    bread = invert_information(likelihood.hessian(theta), model, "the likelihood at the estimate")
    if kind == "observed":
        return bread / n
    return np.asarray(bread @ likelihood.score_covariance(theta) @ bread / n)


def log_likelihood(model: Enumerated, evidence: Tally, theta: FloatArray) -> float:
    """Σ_o counts(o) log (S p_θ)(o)."""
    value = MarginalLikelihood(model, evidence.channel, evidence.frequencies).value(theta)
    return -value * evidence.n_observations


def build_fit(
    model: Enumerated,
    evidence: Tally,
    theta: FloatArray,
    covariance: FloatArray,
    method: str,
    covariance_kind: str,
    converged: bool,
    raw_statistics: FloatArray | None,
    diagnostics: Diagnostics,
) -> Fit:
    """Put a result together."""
    return Fit(
        model=model,
        theta=theta,
        covariance=covariance,
        n_observations=evidence.n_observations,
        method=method,
        covariance_kind=covariance_kind,
        converged=converged,
        log_likelihood=log_likelihood(model, evidence, theta),
        raw_statistics=raw_statistics,
        channel=evidence.channel.specification(),
        privacy_level=evidence.channel.privacy_level,
        diagnostics=diagnostics,
    )
