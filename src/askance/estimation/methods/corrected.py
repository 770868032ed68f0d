"""Corrected scores: effects of what is hidden on outcomes, by unbiased guesses of what is hidden."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from askance._arrays import ArrayLike, FloatArray
from askance._kernels.softmax_pass import OBSERVED
from askance.errors import ConvergenceWarning, InputError, NotIdentifiedError
from askance.estimation.methods.marginal import fit_marginal
from askance.estimation.outcome import Diagnostics, Notice, Outcome
from askance.estimation.problems.conditional import Block, weighted
from askance.estimation.problems.corrected_score import StackedOutcomes
from askance.estimation.problems.hidden_problem import HiddenProblem
from askance.estimation.solvers.newton import newton
from askance.evidence.responses import Responses
from askance.models.hidden import HiddenVariables


def fit_corrected(
    problem: HiddenProblem, *, starts: int | list[ArrayLike] = 8, covariance: Literal["robust"] | None = None
) -> Outcome:
    """γ̂ of outcomes from Σ_i Σ_h β_h(o_i) s_h(y_i, x_i; γ) = 0, and what is hidden by its own likelihood, beside it.

    Refused where the channels have no β, and where there is no outcome.

    Args:
        problem: model and evidence.
        starts: of the likelihood of what is hidden, as in `fit_marginal`; the corrected score needs none.
        covariance: "robust", the only one: that of stacked scores, with weights and clusters.
    """
    model = problem.model
    if not model.outcomes:
        raise NotIdentifiedError(
            "there are no unbiased moments of several hidden variables; allowed without an outcome: marginal.",
            remedy="Take the method marginal.",
        )
    if covariance not in (None, "robust"):
        raise InputError(f"covariance is {covariance!r}; allowed here: robust.", remedy="Leave it out.")
    score = StackedOutcomes.corrected(problem)
    start = newton(score.unaware(), np.zeros(score.place.stop - score.place.start), score.standard)
    end = newton(score, start.theta, score.standard)
    alone = without_outcomes(problem)
    hidden = fit_marginal(alone, starts=starts)
    theta = np.concatenate([hidden.theta, end.theta])
    n, inner = problem.n_observations, alone.model
    # A likelihood that a weak prior closes has a posterior: its inverse covariance stands for the information.
    bread = np.zeros((model.dimension,) * 2)
    bread[: inner.dimension, : inner.dimension] = (
        n * hidden.covariance
        if hidden.diagnostics.repaired
        else np.linalg.inv(alone.likelihood().hessian(hidden.theta))
    )
    bread[score.place, score.place] = score.bread(end.theta)

    def alone_of(block: Block) -> Block:
        return replace(block, x=block.x[:, : len(inner.terms)])

    def stacked(block: Block) -> FloatArray:
        own = -alone.scores(replace(alone_of(block), weights=None), hidden.theta, OBSERVED)
        return np.hstack([own, score.scores(block, end.theta)])

    def working(block: Block) -> tuple[FloatArray, ...]:
        """Products of the stacked scores, whose law is not known, and their slopes."""
        own, slopes = stacked(block), np.zeros((model.dimension,) * 2)
        slopes[: inner.dimension, : inner.dimension] = alone.row_information(alone_of(block), hidden.theta, OBSERVED)
        slopes[score.place, score.place] = score.slopes(block, end.theta)
        return own.T @ weighted(block, own), slopes

    # What a weak prior holds has no spread to be made larger.
    spread = problem.spread(stacked, None if hidden.diagnostics.repaired else working)
    notices = (*problem.robust_notices, *hidden.notices)
    if not end.converged:
        notices += (Notice(ConvergenceWarning, f"the corrected score stopped after {end.iterations} steps"),)
    return Outcome(
        theta=theta,
        covariance=np.asarray(bread @ spread.squares @ bread.T / n),
        method="moments",
        covariance_kind="robust",
        freedom=spread.freedom,
        converged=end.converged and hidden.converged,
        diagnostics=Diagnostics(end.iterations, hidden.diagnostics.repaired, messages=hidden.diagnostics.messages),
        notices=notices,
    )


def without_outcomes(problem: HiddenProblem) -> HiddenProblem:
    """What is hidden, from reports without outcomes."""
    covariates, evidence = problem.model.covariates, problem.evidence
    model = HiddenVariables(problem.model.factors, covariates=covariates)
    chunks = [replace(chunk, x=chunk.x[:, : len(covariates)]) for chunk in evidence.chunks]
    return HiddenProblem(model, Responses(evidence.arms, chunks, strata=evidence.strata))
