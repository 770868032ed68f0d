"""The paper's geometry: relax to all distributions, then project onto the family."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import numpy as np

from askance._arrays import FloatArray
from askance._checks import one_of
from askance._words import words
from askance.errors import ConvergenceWarning, IncompatibleEvidenceError, RepairWarning
from askance.estimation.methods.common import check_prior_scale
from askance.estimation.outcome import Diagnostics, Notice, Outcome
from askance.estimation.parameter_scale import PRIOR_SCALE
from askance.estimation.problems.matching import MomentMatching, match_moments
from askance.estimation.problems.simplex import closest_distribution, likeliest_distribution
from askance.estimation.problems.tally_problem import TallyProblem
from askance.estimation.protocols import Problem
from askance.estimation.solvers.newton import newton
from askance.evidence.tally import Tally

#: How far an observed distribution q̂ is from S r.
Divergence: TypeAlias = Literal["euclidean", "kl"]


def nearest_distribution(evidence: Tally, divergence: Divergence) -> tuple[FloatArray, tuple[Notice, ...]]:
    """r̂ = argmin over all distributions r of D(q̂, S r), shape (m,), and what there is to say about it."""
    if one_of(divergence, get_args(Divergence), "divergence", "The default is euclidean.") == "euclidean":
        return closest_distribution(evidence.channel.matrix, evidence.frequencies), ()
    r, converged = likeliest_distribution(evidence.channel, evidence.frequencies)
    return r, () if converged else (Notice(ConvergenceWarning, "EM stopped before its gap closed"),)


def fit_projection(
    problem: Problem, *, divergence: Divergence = "euclidean", prior_scale: float = PRIOR_SCALE
) -> Outcome:
    """r̂ = argmin over all distributions of D(q̂, S r), then the member of the family closest to r̂ in KL(r̂ ‖ p).

    This is where the pseudo-inverse has its place. It always answers, also where S cannot see some statistic; the
    answer is then an interpolation (for deterministic S: one EM iteration from θ = 0), biased in general, and no
    covariance is claimed. With S of full column rank and r̂ inside the simplex it agrees with the moment estimator
    that uses the plain β.

    Args:
        problem: a model without covariates and tallies of reports.
        divergence: D: "euclidean" or "kl".
        prior_scale: standard deviation of the weak prior, used only when r̂ is on the boundary of the family.
    """
    check_prior_scale(prior_scale)
    if not isinstance(problem, TallyProblem):
        raise IncompatibleEvidenceError(
            "projection works on tallies, and the evidence has covariates.", remedy=words("Use {method=moments}.")
        )
    if not all(channel.has_law for channel in problem.channels):
        raise IncompatibleEvidenceError(
            "projection compares shares of reports with those of a channel, and of candidate sets none are known.",
            remedy=words("Use {method=marginal}."),
        )
    model, evidence, standard = problem.model, problem.evidence, problem.standard
    r, notices = nearest_distribution(evidence, divergence)
    statistics = model.table @ r
    n, dimension = evidence.n_observations, model.dimension
    solution = match_moments(model, statistics)
    messages: tuple[str, ...] = ()
    repaired = not solution.converged
    if repaired:
        message = "the closest distribution gives some outputs probability 0; a weak prior keeps θ finite"
        notices += (Notice(RepairWarning, message),)
        messages += (message,)
        matching = MomentMatching(model, statistics, standard.prior_precision(prior_scale) / n)
        solution = newton(matching, np.zeros(dimension), standard)
    if np.linalg.matrix_rank(evidence.channel.matrix) < len(r):
        messages += ("S is not of full column rank: the estimate interpolates, and no covariance is claimed",)
    elif r.min() <= 0 or repaired or divergence == "kl":
        messages += ("the estimate is not a linear function of the frequencies: no covariance is claimed",)
    if messages:
        spread, kind = np.full((dimension, dimension), np.nan), "none"
    else:
        spread, kind = problem.moments("plain").covariance(solution.theta, "robust"), "robust"
    return Outcome(
        theta=solution.theta,
        covariance=spread,
        method="projection",
        covariance_kind=kind,
        converged=solution.converged,
        raw_statistics=statistics,
        diagnostics=Diagnostics(solution.iterations, repaired=repaired, messages=messages),
        notices=notices,
    )
