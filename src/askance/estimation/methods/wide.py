"""Regressions with thousands of coefficients: L-BFGS with a ridge, no covariance."""

from __future__ import annotations

from functools import partial

import numpy as np

from askance._arrays import FloatArray
from askance._checks import number
from askance.design.covariances import Weighting
from askance.errors import ConvergenceWarning, InputError
from askance.estimation.outcome import Diagnostics, Notice, Outcome
from askance.estimation.problems.conditional import Block
from askance.estimation.problems.covariate_scale import require_sizes
from askance.estimation.problems.responses_problem import ResponsesProblem
from askance.estimation.problems.sum_over_rows import SumOverRows
from askance.estimation.solvers.lbfgs import Minimum, minimise

_NO_COVARIANCE = (
    "the model has too many coefficients for a covariance: estimates are penalised and come without standard errors"
)


def fit_wide(
    problem: ResponsesProblem,
    method: str,
    *,
    ridge: float = 0.04,
    weighting: Weighting = "best",
    tolerance: float = 1e-6,
    max_iterations: int = 1000,
) -> Outcome:
    """Minimise Ê A(θ; x) − μ̂ᵀθ (moments), or the negative average log-likelihood (marginal), plus ½ ridge ‖θ‖²/n.

    Args:
        problem: model and evidence, typically with sparse covariates.
        method: "moments" (convex) or "marginal" (from the moment estimate).
        ridge: precision of a normal prior on every coefficient but intercepts; 1/C of scikit-learn. The default is a
            standard deviation of 5 log-odds.
        weighting: which β.
        tolerance: on the largest entry of the gradient.
        max_iterations: of L-BFGS.
    """
    if method not in ("moments", "marginal"):
        raise InputError(
            f"is {method!r}; allowed for {problem.model.dimension} coefficients: moments, marginal",
            argument="method",
            remedy="Choose one of them, or use fewer covariates.",
        )
    number(ridge, "ridge", 0, remedy="The default is 0.04.")
    equations = problem.moments(weighting)
    penalty = np.tile([0.0 if term == "Intercept" else ridge for term in problem.model.terms], problem.rows.n_free)
    penalty /= problem.n_observations
    descend = partial(_descend, penalty=penalty, tolerance=tolerance, max_iterations=max_iterations)
    end = descend(equations.matching(), np.zeros(problem.model.dimension))
    iterations = end.iterations
    if method == "marginal":
        end = descend(problem.likelihood(), end.point)
        iterations += end.iterations
    stopped = Notice(ConvergenceWarning, f"L-BFGS stopped after {iterations} steps")
    d = problem.model.dimension
    return Outcome(
        theta=end.point,
        covariance=np.broadcast_to(np.float64(np.nan), (d, d)),  # no memory behind it
        method=method,
        covariance_kind="none",
        converged=end.converged,
        raw_statistics=equations.statistics,
        diagnostics=Diagnostics(iterations=iterations, messages=(_NO_COVARIANCE,)),
        notices=() if end.converged else (stopped,),
    )


def _descend(
    objective: SumOverRows, start: FloatArray, penalty: FloatArray, tolerance: float, max_iterations: int
) -> Minimum:
    """L-BFGS until no entry of the gradient exceeds the tolerance.

    The curvature along coefficient j is at most ¼ Ê x_j² plus the penalty: a rare category has little of it, and
    without a guess of it such columns are what L-BFGS spends its steps on.
    """
    curvature = 0.2 * _second_moments(objective.problem) + penalty + 1e-12

    def value_and_gradient(theta: FloatArray) -> tuple[float, FloatArray]:
        value = objective.value(theta) + 0.5 * float(penalty @ theta**2)
        return value, np.asarray(objective.gradient(theta) + penalty * theta)

    def guess(step: int) -> FloatArray | None:
        return None if step else curvature

    return minimise(value_and_gradient, start, guess, flat=tolerance, max_iterations=max_iterations)


def _second_moments(problem: ResponsesProblem) -> FloatArray:
    """Ê x_j² for every parameter, shape (d,)."""
    with np.errstate(over="ignore", under="ignore"):
        means = problem.rows.total(_squares)[0] / problem.rows.total_weight
    require_sizes(problem.rows, problem.model, means, zeros=True)
    return np.tile(means, problem.rows.n_free)


def _squares(block: Block) -> tuple[FloatArray, ...]:
    square = block.x**2 if isinstance(block.x, np.ndarray) else block.x.multiply(block.x)
    ones = np.ones(len(block.codes)) if block.weights is None else block.weights
    return (np.asarray(square.T @ ones).ravel(),)
