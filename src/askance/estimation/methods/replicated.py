"""The estimate once more with every set of replicate weights, for the covariance of the one with the weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from askance._arrays import FloatArray
from askance.design.covariances import Weighting, invert_information
from askance.errors import InputError, NotIdentifiedError
from askance.estimation.freedom import Freedom
from askance.estimation.methods.marginal import climb_newton
from askance.estimation.outcome import Outcome
from askance.estimation.problems.conditional_moments import WIDE_FROM
from askance.estimation.problems.responses_problem import ResponsesProblem
from askance.estimation.solvers.newton import Solution, newton


def with_replicates(problem: object, outcome: Outcome, weighting: Weighting) -> Outcome:
    """What a method found, with the covariance of the replicates; where there are none, or a prior acted, as it is.

    Every replicate goes on from θ̂ to the maximum of its own likelihood, or to the solution of its moment equations.
    """
    if not isinstance(problem, ResponsesProblem) or problem.evidence.replication is None:
        return outcome
    if type(problem) is not ResponsesProblem or problem.model.dimension > WIDE_FROM:
        raise InputError(
            f"replicate weights are offered for regressions on the hidden answer with up to {WIDE_FROM} coefficients.",
            remedy="Leave them out, and name clusters.",
        )
    if outcome.covariance_kind == "posterior":
        return outcome
    replication = problem.evidence.replication
    thetas = np.stack([_again(problem, outcome, r, weighting) for r in range(len(replication.scales))])
    return replace(
        outcome,
        covariance=replication.covariance(thetas),
        covariance_kind="replicates",
        freedom=Freedom(replication.freedom),
        replicates=thetas,
    )


def _again(problem: ResponsesProblem, outcome: Outcome, r: int, weighting: Weighting) -> FloatArray:
    """θ̂ with the weights of replicate r, in the coordinates of the problem, shape (d,)."""
    try:
        own = ResponsesProblem(problem.model, problem.evidence.replicate(r), problem)
        own.standard = problem.standard  # that of its own rows is none where a column is constant in them
        end: Solution | None = _climb(own, outcome, weighting)
        assert end is not None
        # Without this a direction that the rows say nothing of would stay at θ̂, as if it were known.
        invert_information(own.likelihood().expected_information(end.theta), own.parameter_names, "the channel")
    except NotIdentifiedError:
        end = None
    if end is None or end.escaped or not end.converged:
        raise NotIdentifiedError(
            f"with the weights of replicate {r + 1} there is no finite estimate: its rows say too little.",
            remedy="Leave out terms that few clusters tell of.",
        )
    return end.theta


def _climb(problem: ResponsesProblem, outcome: Outcome, weighting: Weighting) -> Solution:
    if outcome.method != "moments":
        return climb_newton(problem, outcome.theta)
    equations = problem.moments(weighting)
    return newton(equations.matching(), outcome.theta, problem.standard, escaped=equations.is_outside)
