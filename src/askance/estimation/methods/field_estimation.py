"""Fitting a random field to noised tables, so that noise does not make it explode."""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

import numpy as np

from askance._arrays import FloatArray
from askance._checks import shown
from askance.errors import ConvergenceWarning, InputError, RepairWarning
from askance.estimation.outcome import Notice, Outcome
from askance.estimation.parameter_scale import FIELD_PRIOR_SCALE
from askance.estimation.problems.field_likelihood import ReportLoss, TableLoss
from askance.estimation.problems.field_problem import ARRIVED, FieldProblem
from askance.estimation.problems.field_tables import free_parameters
from askance.estimation.results.field_fit import FieldDiagnostics, enough_reports

FieldMethod: TypeAlias = Literal["moments", "ridge", "one-step", "marginal"]

# Below this share of determined parameters, the reports say next to nothing.
_SCARCE = 0.1


def fit_field(
    problem: FieldProblem, method: FieldMethod, *, prior_scale: float = FIELD_PRIOR_SCALE, covariance: bool = True
) -> Outcome:
    """Fit a field without covariates; see `estimate_field`."""
    problem = problem.with_prior_scale(require_prior_scale(prior_scale))
    start = problem.ridge(ARRIVED) if method == "ridge" else problem.start()
    loss: ReportLoss | None = problem.likelihood() if method in ("one-step", "marginal") else None
    if method == "ridge":
        found = start
    elif method == "one-step":
        assert loss is not None
        found = problem.step(loss, problem.solve(start, None))
    else:
        found = problem.solve(start, loss)
    stopped = Notice(ConvergenceWarning, "the fit of the field did not converge")
    notices: tuple[Notice, ...] = () if found.converged else (stopped,)
    field, evidence = problem.measured.field, problem.evidence
    spread = np.broadcast_to(np.float64(np.nan), (field.dimension, field.dimension))  # no memory behind it
    diagnostics = FieldDiagnostics(
        negative_cells=int(np.count_nonzero((evidence.statistics < 0) | (evidence.statistics > 1))),
        parameters=free_parameters(field),
        iterations=found.evaluations,
    )
    known = covariance and problem.dense
    if known:
        spread, diagnostics = _posterior(problem, found.theta, loss, diagnostics)
        notices += scarce(diagnostics, evidence.n_observations)
    return Outcome(
        theta=found.theta,
        covariance=spread,
        method=method,
        covariance_kind="posterior" if known else "none",
        converged=found.converged,
        diagnostics=diagnostics,
        raw_statistics=evidence.statistics,
        log_likelihood=-math.inf if loss is None else -loss.value(problem.measured.mean(found.theta)),
        prior_scale=prior_scale,
        notices=notices,
    )


def require_prior_scale(prior_scale: float) -> float:
    """Refuse a prior that is none; an infinite scale is no prior, which a field may do without."""
    if isinstance(prior_scale, bool) or not isinstance(prior_scale, (int, float)) or not prior_scale > 0:
        raise InputError(
            f"prior_scale is {shown(prior_scale)}; allowed: above 0.", remedy="Leave it out: 1 suits most fields."
        )
    return prior_scale


def scarce(diagnostics: FieldDiagnostics, n: int) -> tuple[Notice, ...]:
    """That the prior decides nearly all; empty where it does not."""
    if not diagnostics.effective_parameters < _SCARCE * diagnostics.parameters:
        return ()
    text = (
        f"{n:,} reports say next to nothing about this field: {diagnostics.effective_parameters:.1f} of its "
        f"{diagnostics.parameters} parameters are determined by them, the others by the prior; about "
        f"{diagnostics.enough_reports:,} reports would determine half of them"
    )
    return (Notice(RepairWarning, text),)


def _posterior(
    problem: FieldProblem, theta: FloatArray, loss: TableLoss | None, before: FieldDiagnostics
) -> tuple[FloatArray, FieldDiagnostics]:
    """H⁻¹, and what it says about the part of the prior."""
    from scipy.special import chdtrc

    measured, evidence = problem.measured, problem.evidence
    gaussian, slopes = problem.gaussian(theta), measured.jacobian(theta)
    mean = measured.mean(theta)
    values, vectors = np.linalg.eigh(problem.hessian(loss or gaussian, theta, slopes))
    values = np.maximum(values, max(problem.precision, 1e-14 * float(values[-1])))
    covariance = np.asarray((vectors / values) @ vectors.T)
    informed = np.maximum(values - problem.precision, 0)  # what the reports add to the prior's precision
    effective = float(np.sum(informed / values))
    scaled = slopes @ vectors / np.sqrt(values)
    errors = np.sqrt(np.sum(scaled**2, axis=1))
    shift = np.abs(slopes @ (covariance @ (problem.precision * theta)))
    distance = 2 * gaussian.value(mean)
    freedom = max(gaussian.curvature(mean).rank() - effective, 0.0)
    diagnostics = FieldDiagnostics(
        negative_cells=before.negative_cells,
        distance=distance,
        degrees_of_freedom=freedom,
        p_value=float(chdtrc(freedom, distance)) if freedom >= 0.5 else 1.0,
        parameters=before.parameters,
        effective_parameters=effective,
        prior_pull=float(np.max(shift[errors > 0] / errors[errors > 0], initial=0.0)),
        enough_reports=enough_reports(informed, problem.precision, before.parameters, evidence.n_observations),
        iterations=before.iterations,
    )
    return covariance, diagnostics
