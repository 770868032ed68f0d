"""Least squares for means of counts: groups one after the other, with errors that know of the earlier ones."""

from __future__ import annotations

import numpy as np

from askance.errors import ConvergenceWarning
from askance.estimation.methods.common import choose_covariance_kind
from askance.estimation.outcome import Diagnostics, Notice, Outcome
from askance.estimation.problems.means_problem import MeansProblem, SquaredErrors
from askance.estimation.protocols import CovarianceKind
from askance.estimation.solvers.newton import newton

_RAN_OFF = (
    "the squared errors keep falling as {} runs off to infinity: the share is 0 or 1 for some covariates, or the "
    "counts do not show it; take the method linear or marginal"
)


def fit_least_squares(problem: MeansProblem, *, covariance: CovarianceKind | None = None) -> Outcome:
    """θ̂ that solves ψ(θ) = 0 (`MeansProblem`), with the sandwich A⁻¹ B A⁻ᵀ: robust, since no law is assumed.

    Args:
        problem: model and evidence.
        covariance: "robust", the only one.
    """
    choose_covariance_kind(problem, covariance, ("robust",))
    model, n = problem.model, problem.n_observations
    theta, gone, ends = np.zeros(model.dimension), [], []
    for group, names in enumerate(model.groups):
        errors = SquaredErrors(problem, group, theta)
        ends.append(
            newton(errors, np.zeros(errors.own.stop - errors.own.start), errors.standard, escaped=errors.ran_off)
        )
        theta = errors.whole(ends[-1].theta)
        gone += [names[-1]] if ends[-1].escaped else []
    spread, freedom = np.full((len(theta), len(theta)), np.nan), None
    if not gone:
        inverse, freedom = problem.inverse(theta), problem.freedom(problem.rows, theta, 0)
        spread = np.asarray(inverse @ problem.score_covariance(problem.rows, theta, 0) @ inverse.T / n)
    text = _RAN_OFF.format(" and ".join(gone)) if gone else ""
    converged = all(end.converged for end in ends)
    notices = (Notice(ConvergenceWarning, text or "the search for least squares stopped early"),)
    return Outcome(
        theta=theta,
        covariance=spread,
        method="linear" if model.link == "linear" else "least-squares",
        covariance_kind="none" if gone else "robust",
        freedom=freedom,
        converged=converged,
        diagnostics=Diagnostics(sum(end.iterations for end in ends), messages=(text,) if text else ()),
        notices=problem.robust_notices if converged else (*problem.robust_notices, *notices),
    )
