"""From what a method found to the fit that a user sees: in the units and names of the model and the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import singledispatch
from typing import Any

import numpy as np

from askance._arrays import FloatArray
from askance.channels.registry import AnyChannel
from askance.channels.statistics.scale_pilot import Scales
from askance.errors import AskanceWarning
from askance.estimation.outcome import Diagnostics, Outcome
from askance.estimation.problems.basis import Basis, BasisEstimate
from askance.estimation.problems.conditional_field_problem import ConditionalFieldProblem
from askance.estimation.problems.field_problem import FieldProblem
from askance.estimation.problems.hidden_problem import HiddenProblem
from askance.estimation.problems.linear_problem import LinearProblem
from askance.estimation.problems.means_problem import MeansProblem
from askance.estimation.problems.moment_repair import MomentRepair
from askance.estimation.problems.pilot_problem import PilotProblem
from askance.estimation.problems.responses_problem import ResponsesProblem
from askance.estimation.problems.tally_problem import DistributionProblem
from askance.estimation.results.conditional_field_fit import ConditionalFieldFit
from askance.estimation.results.field_fit import FieldFit
from askance.estimation.results.fit import DistributionFit
from askance.estimation.results.hidden_fit import HiddenFit
from askance.estimation.results.linear_fit import LinearFit
from askance.estimation.results.maxima import listed_maxima
from askance.estimation.results.means_fit import MeansFit
from askance.estimation.results.regression_fit import RegressionFit
from askance.estimation.solvers.noisy import with_unbiased_moments
from askance.evidence.together import several
from askance.models.linear import LinearModel
from askance.models.random_field import RandomField


@singledispatch
def fit_of(problem: Any, outcome: Outcome, alarm: str = "") -> Any:
    """The fit of a problem's kind.

    Args:
        problem: model and evidence.
        outcome: what a method found, in the coordinates of the problem.
        alarm: why the reports cannot have come through the channel; empty where they can.
    """
    raise TypeError(f"no fit is made of a {type(problem).__name__}")


@fit_of.register(DistributionProblem)
def _(problem: DistributionProblem[Any], outcome: Outcome, alarm: str = "") -> DistributionFit:
    outcome = with_unbiased_moments(outcome, lambda: problem.moments("best"))
    return DistributionFit(
        model=problem.model,
        raw_covariance=outcome.raw_covariance,
        channel=_specification(problem.channels),
        privacy_level=max(channel.privacy_level for channel in problem.channels),
        **_shared(problem, outcome, alarm),
    )


def _shared(problem: DistributionProblem[Any] | ResponsesProblem, outcome: Outcome, alarm: str) -> Any:
    """What fits with and without covariates have; doubts about their errors stay with them, in tables and files."""
    doubts = (notice.text for notice in outcome.notices if notice.kind is AskanceWarning)
    return {
        "theta": outcome.theta,
        "covariance": outcome.covariance,
        "n_observations": problem.n_observations,
        "method": outcome.method,
        "covariance_kind": outcome.covariance_kind,
        "freedom": outcome.freedom,
        "converged": outcome.converged,
        "log_likelihood": problem.log_likelihood(outcome.theta),
        "raw_statistics": outcome.raw_statistics,
        "diagnostics": replace(outcome.diagnostics, messages=(*outcome.diagnostics.messages, *doubts)),
        "alarm": alarm,
    }


@fit_of.register
def _(problem: HiddenProblem, outcome: Outcome, alarm: str = "") -> HiddenFit:
    told, units = _of_rows(problem, outcome, alarm), problem.units
    diagnostics = told["diagnostics"]
    maxima = tuple(
        replace(maximum, theta=tuple(units.outward(np.array(maximum.theta)).tolist())) for maximum in diagnostics.maxima
    )
    listed = listed_maxima(problem.model, maxima, prior=bool(diagnostics.repaired))
    return HiddenFit(
        **told
        | {
            "theta": units.outward(outcome.theta),
            "covariance": outcome.covariance * np.outer(units.factors, units.factors),
            "freedom": outcome.freedom and outcome.freedom.turned(np.diag(units.factors)),
            "diagnostics": replace(diagnostics, maxima=maxima, messages=(*diagnostics.messages, *listed)),
        }
    )


@fit_of.register
def _(problem: MeansProblem, outcome: Outcome, alarm: str = "") -> MeansFit:
    return MeansFit(**_of_rows(problem, outcome, alarm))


def _of_rows(problem: ResponsesProblem, outcome: Outcome, alarm: str) -> dict[str, Any]:
    """What fits to rows with covariates have."""
    clustered = outcome.covariance_kind == "robust" and problem.has_clusters
    kind = "cluster-robust" if problem.evidence.strata is None else "stratified"
    return {
        **_shared(problem, outcome, alarm),
        **({"covariance_kind": kind} if clustered else {}),
        "model": problem.model,
        "channel": _specification(problem.channels),
        "privacy_level": max(channel.privacy_level for channel in problem.channels),
        "evidence": problem.evidence,
    }


@fit_of.register
def _(problem: ResponsesProblem, outcome: Outcome, alarm: str = "") -> RegressionFit:
    basis, told = problem.rows.basis, _of_rows(problem, outcome, alarm)
    if basis is not None:
        told |= {
            **_outward(outcome, basis),
            "in_basis": BasisEstimate(basis, outcome.theta, outcome.covariance, outcome.freedom),
        }
    return RegressionFit(**told, replicates=outcome.replicates)


def _specification(channels: Sequence[AnyChannel]) -> dict[str, Any]:
    """How outputs were seen; where there were several ways, a list of them."""
    return several([channel.specification() for channel in channels])


def _outward(outcome: Outcome, basis: Basis) -> dict[str, Any]:
    """What an outcome about θ̃ says about θ."""
    maxima = tuple(
        replace(maximum, theta=tuple(basis.parameters(np.array(maximum.theta)).tolist()))
        for maximum in outcome.diagnostics.maxima
    )
    raw = outcome.raw_statistics
    return {
        "theta": basis.parameters(outcome.theta),
        "covariance": basis.covariance(outcome.covariance),
        "freedom": None
        if outcome.freedom is None
        else outcome.freedom.turned(basis.transformation(len(outcome.theta))),
        "raw_statistics": None if raw is None else basis.statistics(raw),
        "diagnostics": replace(outcome.diagnostics, maxima=maxima),
    }


@fit_of.register
def _(problem: FieldProblem, outcome: Outcome, alarm: str = "") -> FieldFit:
    field, evidence, told = problem.measured.field, problem.evidence, problem.evidence.told
    fit = FieldFit(
        theta=outcome.theta,
        covariance=outcome.covariance,
        n_observations=evidence.n_observations,
        raw_statistics=told.statistics,
        raw_standard_errors=told.standard_errors,
        channel=evidence.channel,
        privacy_level=evidence.privacy_level,
        **_of_field(field, told.cliques, outcome, alarm),
    )
    if problem.measured.whole is field:  # the solver ended with them; the field would plan its sums anew
        vars(fit)["statistics"] = problem.measured.own_mean(outcome.theta)
    return fit


@fit_of.register
def _(problem: ConditionalFieldProblem, outcome: Outcome, alarm: str = "") -> ConditionalFieldFit:
    field, channels, transform = problem.field, problem.channels, problem.design.to_theta
    own, factor, covariance = outcome.covariance, None, outcome.covariance
    if outcome.covariance_kind != "none":
        covariance = np.asarray(transform @ own @ transform.T)
        values, vectors = np.linalg.eigh((own + own.T) / 2)
        factor = np.asarray(transform @ (vectors * np.sqrt(values.clip(0.0))))
    told = problem.told
    return ConditionalFieldFit(
        theta=np.asarray(transform @ outcome.theta),
        covariance=covariance,
        x=field.distinct_rows(problem.x),
        n_observations=problem.n_observations,
        raw_statistics=told.statistics,
        raw_standard_errors=told.standard_errors,
        channel=_specification(channels),
        privacy_level=max(channel.privacy_level for channel in channels),
        factor=factor,
        **_of_field(field, told.cliques, outcome, alarm),
    )


def _of_field(field: RandomField, cliques: Sequence[tuple[int, ...]], outcome: Outcome, alarm: str) -> Any:
    """What fits of fields with and without covariates have."""
    return {
        "model": field,
        "method": outcome.method,
        "prior_scale": outcome.prior_scale,
        "converged": outcome.converged,
        "log_likelihood": outcome.log_likelihood,
        "measured": tuple(tuple(field.variables[v] for v in clique) for clique in cliques),
        "diagnostics": outcome.diagnostics,
        "alarm": alarm,
    }


@fit_of.register
def _(problem: PilotProblem, outcome: Outcome, alarm: str = "") -> Scales:
    centres, scales = np.split(outcome.theta, 2)
    return Scales(centres, scales, problem.tested.n_observations)


@fit_of.register
def _(problem: LinearProblem, outcome: Outcome, alarm: str = "") -> LinearFit:
    release, repair = problem.release, outcome.diagnostics.repair
    return linear_fit(
        release.field,
        outcome.theta,
        outcome.covariance,
        problem.gram,
        repair,
        n_observations=problem.tested.n_observations,
        pilot_observations=release.pilot_observations,
        channel=release.channel.specification(),
        privacy_level=release.privacy_level,
        weighted=release.shrinks,
        diagnostics=Diagnostics(repaired=repair.acted, messages=outcome.diagnostics.messages),
        alarm=alarm,
    )


def linear_fit(
    field: LinearModel,
    standard: FloatArray,
    covariance: FloatArray,
    gram: FloatArray,
    repair: MomentRepair,
    **known: Any,
) -> LinearFit:
    """Back to the units of the data."""
    matrix, offset = field.to_original()
    repaired = gram.copy()
    repaired[:-1, :-1] = repair.repaired
    return LinearFit(
        model=field,
        theta=matrix @ standard + offset,
        covariance=matrix @ covariance @ matrix.T,
        raw_statistics=gram,
        repaired_moments=repaired,
        repair=repair,
        **known,
    )
