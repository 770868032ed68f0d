"""Fitting a random field to noised tables, so that noise does not make it explode."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args, overload

import numpy as np

from askance._arrays import FloatArray
from askance._checks import did_you_mean, shown
from askance._threads import one_thread
from askance.channels.statistics.clique_release import CliqueRelease
from askance.channels.statistics.reports import Reports
from askance.errors import ConvergenceWarning, InputError, RepairWarning
from askance.estimation.checks.surprise import alarm_of
from askance.estimation.problems.field_evidence import NoisyTables, read_evidence
from askance.estimation.problems.field_likelihood import ReportLoss, TableLoss
from askance.estimation.problems.field_problem import ARRIVED, FieldOptimum, FieldProblem
from askance.estimation.problems.field_tables import MOST_PARAMETERS, MeasuredField, free_parameters
from askance.estimation.results.field_fit import FieldDiagnostics, FieldFit, enough_reports
from askance.evidence.responses import FieldResponses, Responses
from askance.evidence.tally import StatisticsTally, of_statistics
from askance.models.random_field import RandomField

if TYPE_CHECKING:
    from askance.estimation.results.conditional_field_fit import ConditionalFieldFit

FieldMethod: TypeAlias = Literal["moments", "ridge", "one-step", "marginal"]

#: Standard deviation of the prior on every cell of every table of parameters, in log-odds.
FIELD_PRIOR_SCALE = 1.0
# Below this share of determined parameters, the reports say next to nothing.
_SCARCE = 0.1


@overload
def estimate_field(
    field: RandomField,
    evidence: StatisticsTally | Reports | NoisyTables,
    method: FieldMethod | None = None,
    *,
    prior_scale: float = FIELD_PRIOR_SCALE,
    covariance: bool = True,
) -> FieldFit: ...


@overload
def estimate_field(
    field: RandomField,
    evidence: FieldResponses,
    method: FieldMethod | None = None,
    *,
    prior_scale: float = FIELD_PRIOR_SCALE,
    covariance: bool = True,
) -> ConditionalFieldFit: ...


def estimate_field(
    field: RandomField,
    evidence: StatisticsTally | Reports | NoisyTables | FieldResponses,
    method: FieldMethod | None = None,
    *,
    prior_scale: float = FIELD_PRIOR_SCALE,
    covariance: bool = True,
) -> FieldFit | ConditionalFieldFit:
    """Fit a random field to reports about tables of its variables.

    Debiased tables have negative cells and contradict each other, so that no field has them; fitting them exactly
    drives θ to infinity. Here θ has the prior N(0, prior_scale²), weak unless there are few reports, and the tables are
    weighed by their known noise:

    - "moments": least ½ rᵀC⁺r + ½ ‖θ‖²/prior_scale², r = μ̂ − μ(θ), with C the covariance of μ̂ at the fitted field;
    - "ridge": least A(θ) − μ̂ᵀθ + ½ λ‖θ‖², with λ from the size of the noise: convex, quicker, somewhat less precise;
    - "marginal": most probable θ by the likelihood of the reports themselves (clique release);
    - "one-step": one safeguarded step from "moments" towards it.

    The likelihood needs `Reports`, but where all subsets have one cell (large levels, small tables) sums will do.

    A field with public covariates, p_θ(y | x), takes `FieldResponses`: reports with the x of who gave them. All methods
    but "ridge" are as above, with moments β(x, o) = (debiased table, x ⊗ debiased indicators of every variable) less
    what the field expects of the same respondents. "marginal" is then the default: it costs the same, and is the more
    precise.

    Args:
        field: what to fit.
        evidence: reports through `CliqueRelease` for any cliques of the field's variables, or of the cells of the
            field's cliques through `PerValue` or `CoordinateRelease`, or their sums, or `NoisyTables`; with covariates
            `FieldResponses`.
        method: as above; default "moments", with covariates "marginal".
        prior_scale: standard deviation of the prior, in log-odds (of covariates: per standard deviation); infinite for
            none.
        covariance: whether to work out intervals and diagnostics; needs matrices (d, d).

    >>> from askance import CliqueRelease
    >>> field = RandomField({"smokes": ["no", "yes"], "ill": ["no", "yes"]}, [["smokes", "ill"]])
    >>> channel = CliqueRelease(field.sizes, field.cliques, 2)
    >>> records = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [5000, 1000, 2000, 2000], axis=0)
    >>> tally = StatisticsTally(channel).add(channel.simulate(records, np.random.default_rng(2)))
    >>> fit = estimate_field(field, tally)
    >>> fit.marginal(["smokes", "ill"]).estimate.round(2), fit.diagnostics.repaired
    (array([[0.5, 0.1],
           [0.2, 0.2]]), False)
    """
    if method is None:
        method = "marginal" if isinstance(evidence, Responses) else "moments"
    _check(field, evidence, method, prior_scale)
    with one_thread:
        if isinstance(evidence, Responses):
            from askance.estimation.methods.conditional_field import estimate_conditional_field

            alarm = alarm_of(evidence)
            fit = estimate_conditional_field(field, evidence, method, prior_scale, covariance)
            return replace(fit, alarm=alarm) if alarm else fit
        seen = read_evidence(field, evidence)
        alarm = "" if isinstance(evidence, NoisyTables) else alarm_of(evidence)
        measured = MeasuredField(field, seen.cliques)
        problem = FieldProblem(measured, seen, prior_scale, field.dimension <= MOST_PARAMETERS)
        start = problem.ridge(ARRIVED) if method == "ridge" else problem.start()
        loss: TableLoss | None = None
        if method in ("one-step", "marginal"):
            loss = _likelihood(evidence)
        if method == "ridge":
            found = start
        elif method == "one-step":
            assert loss is not None
            found = problem.step(loss, problem.solve(start, None))
        else:
            found = problem.solve(start, loss)
        if not found.converged:
            warnings.warn(f"{method}: the fit of the field did not converge.", ConvergenceWarning, stacklevel=2)
        return _fit(problem, found, method, loss, covariance, alarm)


def _likelihood(evidence: StatisticsTally | Reports | NoisyTables) -> ReportLoss:
    if isinstance(evidence, Reports):
        return ReportLoss.of_reports(evidence)
    if of_statistics(evidence):
        return ReportLoss.of_sums(evidence)
    raise InputError("tables have no likelihood of reports.", remedy="Leave the method out, or take 'ridge'.")


def _check(field: object, evidence: object, method: object, prior_scale: object) -> None:
    if not isinstance(field, RandomField):
        raise InputError(
            f"field is {shown(field)}; allowed: a RandomField.",
            remedy="Give the field first, then the evidence: estimate_field(field, tally).",
        )
    with_covariates = isinstance(evidence, Responses)
    if field.terms and not with_covariates:
        raise InputError(
            f"the field has covariates ({shown(list(field.terms))}), the evidence has none: {shown(evidence)}.",
            remedy="Give reports with their covariates: Responses(channel).add(x, reports).",
        )
    if isinstance(evidence, Responses) and not isinstance(evidence.channel, CliqueRelease):
        raise InputError(
            f"evidence is {shown(evidence)}; allowed with a field: Responses through a CliqueRelease.",
            remedy="Collect with CliqueRelease(field.sizes, field.cliques, level).",
        )
    if with_covariates and not field.terms:
        raise InputError(
            "the evidence has covariates, the field has none.",
            remedy="Build the field with covariates=…, or give the Reports alone.",
        )
    known = tuple(each for each in get_args(FieldMethod) if each != "ridge" or not with_covariates)
    if method not in known:
        raise InputError(
            f"method is {shown(method)}; allowed with a field: {', '.join(known)}.",
            remedy=did_you_mean(method, known, "Leave it out for the default."),
        )
    if isinstance(prior_scale, bool) or not isinstance(prior_scale, (int, float)) or not prior_scale > 0:
        raise InputError(
            f"prior_scale is {shown(prior_scale)}; allowed: above 0.", remedy="Leave it out: 1 suits most fields."
        )


def _fit(
    problem: FieldProblem, found: FieldOptimum, method: str, loss: TableLoss | None, wanted: bool, alarm: str
) -> FieldFit:
    field, evidence, theta = problem.measured.field, problem.evidence, found.theta
    likelihood = -loss.value(problem.measured.mean(theta)) if isinstance(loss, ReportLoss) else -math.inf
    covariance = np.broadcast_to(np.float64(np.nan), (field.dimension, field.dimension))  # no memory behind it
    diagnostics = FieldDiagnostics(
        negative_cells=int(np.count_nonzero((evidence.statistics < 0) | (evidence.statistics > 1))),
        parameters=free_parameters(field),
        iterations=found.evaluations,
    )
    if wanted and problem.dense:
        covariance, diagnostics = _posterior(problem, theta, loss, diagnostics)
    fit = FieldFit(
        field=field,
        theta=theta,
        covariance=covariance,
        method=method,
        prior_scale=problem.prior_scale,
        n_observations=evidence.n_observations,
        converged=found.converged,
        log_likelihood=likelihood,
        measured=tuple(tuple(field.variables[v] for v in clique) for clique in evidence.cliques),
        raw_statistics=evidence.statistics,
        raw_standard_errors=evidence.standard_errors,
        channel=evidence.channel,
        privacy_level=evidence.privacy_level,
        diagnostics=diagnostics,
        alarm=alarm,
    )
    if problem.measured.whole is field:  # the solver ended with them; the field would plan its sums anew
        vars(fit)["statistics"] = problem.measured.own_mean(theta)
    return fit


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
    if effective < _SCARCE * before.parameters:
        warnings.warn(
            f"{evidence.n_observations:,} reports say next to nothing about this field: {effective:.1f} of its "
            f"{before.parameters} parameters are determined by them, the others by the prior; about "
            f"{diagnostics.enough_reports:,} reports would determine half of them.",
            RepairWarning,
            stacklevel=4,
        )
    return covariance, diagnostics
