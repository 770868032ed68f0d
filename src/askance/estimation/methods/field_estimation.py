"""Fitting a random field to noised tables, so that noise does not make it explode."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from askance._checks import shown
from askance.errors import ConvergenceWarning, InputError, RepairWarning
from askance.estimation.outcome import Notice, Outcome
from askance.estimation.parameter_scale import FIELD_PRIOR_SCALE
from askance.estimation.problems.conditional_field_problem import ConditionalFieldProblem
from askance.estimation.problems.field_problem import FieldMethod, FieldPosterior, FieldProblem
from askance.estimation.results.field_fit import FieldDiagnostics, enough_reports

# Below this share of determined parameters, the reports say next to nothing.
_SCARCE = 0.1


def fit_field(
    problem: FieldProblem | ConditionalFieldProblem,
    method: FieldMethod,
    *,
    prior_scale: float = FIELD_PRIOR_SCALE,
    covariance: bool = True,
) -> Outcome:
    """Fit a field, with covariates or without; see `estimate_field`."""
    if isinstance(prior_scale, bool) or not isinstance(prior_scale, (int, float)) or not prior_scale > 0:
        raise InputError(
            f"prior_scale is {shown(prior_scale)}; allowed: above 0.", remedy="Leave it out: 1 suits most fields."
        )
    under: Any = problem.with_prior_scale(prior_scale)
    optimum, loss = under.fitted(method)
    (raw, _), d = under.raw_tables, under.dimension
    diagnostics = FieldDiagnostics(
        negative_cells=int(np.count_nonzero((raw < 0) | (raw > 1))),
        parameters=under.parameters(),
        iterations=optimum.evaluations,
    )
    notices = [] if optimum.converged else [Notice(ConvergenceWarning, "the fit of the field did not converge")]
    spread, known = np.broadcast_to(np.float64(np.nan), (d, d)), covariance and under.dense  # no memory behind it
    if known:
        posterior = under.posterior(optimum.theta, loss)
        spread, diagnostics = posterior.covariance, _read(posterior, diagnostics, under.precision, under.n_observations)
        if diagnostics.effective_parameters < _SCARCE * diagnostics.parameters:
            notices.append(_scarce(diagnostics, under.n_observations))
    return Outcome(
        theta=optimum.theta,
        covariance=spread,
        method=method,
        covariance_kind="posterior" if known else "none",
        converged=optimum.converged,
        diagnostics=diagnostics,
        log_likelihood=-math.inf if loss is None else under.log_likelihood(loss, optimum.theta),
        prior_scale=prior_scale,
        notices=tuple(notices),
    )


def _read(posterior: FieldPosterior, before: FieldDiagnostics, precision: float, n: int) -> FieldDiagnostics:
    """What a posterior says about the tables and the part of the prior."""
    from scipy.special import chdtrc

    distance, freedom = posterior.distance, posterior.freedom
    return replace(
        before,
        distance=distance,
        degrees_of_freedom=freedom,
        p_value=float(chdtrc(freedom, distance)) if freedom >= 0.5 else 1.0,
        effective_parameters=posterior.effective,
        prior_pull=posterior.pull,
        enough_reports=enough_reports(posterior.informed, precision, before.parameters, n),
    )


def _scarce(diagnostics: FieldDiagnostics, n: int) -> Notice:
    """That the prior decides nearly all."""
    text = (
        f"{n:,} reports say next to nothing about this field: {diagnostics.effective_parameters:.1f} of its "
        f"{diagnostics.parameters} parameters are determined by them, the others by the prior; about "
        f"{diagnostics.enough_reports:,} reports would determine half of them"
    )
    return Notice(RepairWarning, text)
