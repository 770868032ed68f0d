"""P(tag | word) from features of the word: p(b | a) ∝ exp(x_aᵀ θ_b), fitted on types instead of tokens.

All tokens of a type have the same features, so the log-likelihood of tokens collapses to one term for each type,

    Σ_a ( ⟨C_a, X_a θ⟩ − n_a log Σ_b exp X_a θ_b ) − λ/2 ‖θ‖²,

with n_a tokens of type a of which C_ab have tag b: known where tokens are labelled, expected counts otherwise. Nothing
is lost, and a step costs a twentieth.

Features that hold for exactly the same types (most of those of rare words) become one (`equal_columns`), which halves θ
and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from askance._arrays import AnyArray, ArrayLike, SparseRows
from askance._checks import as_count, as_float, as_floats, number
from askance._checks import shape as require_shape
from askance.errors import EmptyDataError, InputError, ShapeError
from askance.estimation.solvers.large_tables import add_multiple, dot
from askance.estimation.solvers.lbfgs import minimise
from askance.text.counts.equal_columns import MergedColumns
from askance.text.node.tables import row_maxima

#: From log p(b | a), shape (T, K), to a log-likelihood and the expected counts of tags by type, shape (T, K).
Objective: TypeAlias = Callable[[AnyArray], tuple[float, AnyArray]]

# Scores are at most this far below the highest of their type: exp stays a normal float32, log p finite.
_LOWEST = -80.0
# Counts may miss their totals by this share: they come out of float32.
_ROUNDING = 1e-3
# Steps remembered; more do not pay with a curvature that is always up to date.
_MEMORY = 3
# Far from the maximum p(1 − p) says little about the curvature on the way: for the first steps from nowhere, or the
# first from a given start, 1 stands for it. Afterwards it is this multiple of what it is. All three by measurement.
_FIRST_STEPS, _FIRST_STEPS_FROM_START = 6, 1
_CURVATURE = 0.3


@dataclass(frozen=True)
class NodeFit:
    """A fitted node model."""

    theta: AnyArray  # θ, shape (F, K)
    objective: float  # log-likelihood − λ/2 ‖θ‖² there
    iterations: int  # steps of the descent
    converged: bool  # whether it came to rest; False where it was stopped or ran out of steps
    evaluations: int  # how often log-likelihood and expected counts were worked out


def log_probabilities(design: SparseRows, theta: AnyArray) -> AnyArray:
    """Log p(b | a) of every type a and tag b, shape (T, K), finite.

    >>> from scipy import sparse
    >>> np.exp(log_probabilities(sparse.csr_array([[1.0], [0.0]]), np.array([[0.0, np.log(3.0)]])))
    array([[0.25, 0.75],
           [0.5 , 0.5 ]])
    """
    scores = np.asarray(design @ theta)
    return _normalise(scores)[0]


def fit_node(
    design: SparseRows,
    totals: ArrayLike,
    objective: Objective | AnyArray,
    *,
    l2: float = 0.3,
    start: AnyArray | None = None,
    tags: int | None = None,
    max_iterations: int = 60,
    tolerance: float = 3e-3,
    progress: Callable[[int, float], None] | None = None,
    stop: Callable[[AnyArray], bool] | None = None,
) -> NodeFit:
    """Maximise L(log p) − λ/2 ‖θ‖².

    Args:
        design: features of the types, shape (T, F); float32, or float64 for a fit in double precision.
        totals: how many tokens of each type there are evidence of, shape (T,). Features of no such type have θ = 0.
        objective: the (expected) counts C of tags by type, shape (T, K), for L = Σ C ∘ log p; or what gives L and C
            from log p. Rows of C sum to `totals`. What is handed in may be overwritten by the next call.
        l2: λ.
        start: θ to start from, shape (F, K); default 0.
        tags: K, where neither counts nor `start` tell.
        max_iterations: at most so many steps.
        tolerance: the fit has converged when three steps gained less than this share of the objective each, and the
            gradient promises little more. At the default tags no longer get better; 1e-8 is for the optimum itself.
        progress: told step and objective.
        stop: told θ after every step; True ends the fit.

    >>> from scipy import sparse
    >>> fit = fit_node(sparse.csr_array(np.eye(2)), [3, 1], np.array([[2.0, 1.0], [0.0, 1.0]]), tolerance=1e-9)
    >>> fit.converged, fit.theta.round(3)
    (True, array([[ 0.284, -0.284],
           [-0.68 ,  0.68 ]]))
    """
    penalty = number(as_float(l2, "l2"), "l2", 0, open=True, remedy="0.3 suits most corpora.")
    as_count(max_iterations, "max_iterations")
    weights = _checked_totals(design, totals)
    if callable(objective):
        evidence = objective
        shape = (design.shape[1], tags) if start is None else np.shape(start)
    else:
        evidence = _constant(_checked_counts(objective, weights))
        shape = (design.shape[1], np.shape(objective)[1])
    problem = _Problem(design, weights, evidence, penalty, _FIRST_STEPS if start is None else _FIRST_STEPS_FROM_START)
    first = problem.reduce(_checked_start(start, shape, design))

    def after(iteration: int, value: float, point: AnyArray) -> bool:
        if progress is not None:
            progress(iteration, -value)
        return stop is not None and bool(stop(problem.expand(point)))

    result = minimise(
        problem,
        first,
        problem.curvature,
        memory=_MEMORY,
        max_iterations=max_iterations,
        tolerance=tolerance,
        after=after,
    )
    if not np.isfinite(result.value):
        raise InputError(
            f"the log-likelihood at the start is {-result.value}; allowed: finite.",
            remedy="Look for regions whose counts cannot be.",
        )
    return NodeFit(problem.expand(result.point), -result.value, result.iterations, result.converged, result.evaluations)


def _checked_totals(design: SparseRows, totals: ArrayLike) -> AnyArray:
    """Totals in the type of the design."""
    weights = as_floats(totals, "totals")
    if weights.shape != (design.shape[0],):
        raise ShapeError(
            f"totals have shape {weights.shape}; allowed: ({design.shape[0]},).", remedy="Give one number per type."
        )
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        wrong = weights[~(np.isfinite(weights) & (weights >= 0))][0]
        raise InputError(f"totals contain {wrong}; allowed: finite, from 0.", remedy="Give numbers of tokens.")
    if not weights.any():
        raise EmptyDataError("all totals are 0: there is nothing to fit.", remedy="Give evidence of some tokens.")
    return weights.astype(design.dtype)


def _checked_counts(counts: AnyArray, totals: AnyArray) -> AnyArray:
    """Counts in the type of the totals, which they sum to."""
    table = as_floats(counts, "counts")
    if table.ndim != 2 or len(table) != len(totals):
        raise ShapeError(
            f"counts have shape {table.shape}; allowed: ({len(totals)}, tags).", remedy="Give one row per type."
        )
    sums = table.sum(axis=1)
    wrong = np.flatnonzero(~(np.abs(sums - totals) <= _ROUNDING * (1 + totals)))
    if len(wrong):
        raise InputError(
            f"counts of type {wrong[0]} sum to {sums[wrong[0]]:g}; allowed: its total, {totals[wrong[0]]:g}.",
            remedy="Give counts without missing values, and their sums as totals.",
        )
    return table.astype(totals.dtype)


def _checked_start(start: AnyArray | None, shape: tuple[int | None, ...], design: SparseRows) -> AnyArray:
    """Where to start, in the type of the design."""
    if len(shape) != 2 or shape[1] is None:
        raise InputError(
            "is not given, and nothing else tells how many there are", argument="tags", remedy="Give tags=K."
        )
    if start is None:
        return np.zeros((design.shape[1], shape[1]), dtype=design.dtype)
    theta = np.asarray(start, dtype=design.dtype)
    require_shape(theta, (design.shape[1], shape[1]), "start", "Give θ of the same features and tags.")
    if not np.isfinite(theta).all():
        raise InputError("start contains values that are not finite; allowed: finite.", remedy="Leave it out.")
    return theta


def _normalise(scores: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Log p and p of every row, shape (T, K) each; the scores are overwritten."""
    scores -= row_maxima(scores)
    np.maximum(scores, scores.dtype.type(_LOWEST), out=scores)
    p = np.exp(scores)
    sums = p @ np.ones(p.shape[1], dtype=p.dtype)
    p *= (1 / sums)[:, None]
    scores -= np.log(sums)[:, None]
    return scores, p


def _constant(counts: AnyArray) -> Objective:
    """L = Σ C ∘ log p, with counts that are known."""
    return lambda log_p: (dot(counts, log_p), counts)


class _Problem:
    """Minus the objective as a function of one θ per group of equal columns, over types that there is evidence of."""

    def __init__(self, design: SparseRows, totals: AnyArray, objective: Objective, l2: float, first_steps: int) -> None:
        from scipy import sparse

        self._covered = np.flatnonzero(totals)
        self._types = len(totals)
        rows = design if len(self._covered) == self._types else design[self._covered]
        self._columns = MergedColumns.of(rows)
        self._design = merged = self._columns.matrix
        squares = sparse.csr_array((merged.data**2, merged.indices, merged.indptr), shape=merged.shape)
        self._transposed, self._squares = merged.T, squares.T
        self._totals = totals[self._covered][:, None]
        self._objective, self._l2 = objective, merged.dtype.type(l2)
        self._first_steps = first_steps
        self._log_p: AnyArray | None = None
        self._p = np.zeros((0, 0))

    def __call__(self, point: AnyArray) -> tuple[float, AnyArray]:
        log_p, self._p = _normalise(np.asarray(self._design @ point))
        value, counts = self._objective(self._for_all_types(log_p))
        residual = self._p * self._totals
        residual -= counts if len(counts) == len(residual) else counts[self._covered]
        gradient = np.asarray(self._transposed @ residual)
        add_multiple(float(self._l2), point, gradient)
        return float(self._l2) / 2 * dot(point, point) - float(value), gradient

    def _for_all_types(self, log_p: AnyArray) -> AnyArray:
        if len(log_p) == self._types:
            return log_p
        if self._log_p is None:  # types without evidence: any distribution does
            self._log_p = np.full((self._types, log_p.shape[1]), -np.log(log_p.shape[1]), dtype=log_p.dtype)
        self._log_p[self._covered] = log_p
        return self._log_p

    def curvature(self, step: int) -> AnyArray | None:
        """A guess of the second derivatives, shape (groups, K); None: as before."""
        if 0 < step < self._first_steps:
            return None
        if step == 0:
            coverage = self._squares @ self._totals
            return np.asarray(np.repeat(coverage + self._l2, self._p.shape[1], axis=1))
        spread = self._p * self._p
        np.subtract(self._p, spread, out=spread)
        spread *= self._totals * self._totals.dtype.type(_CURVATURE)
        guess = np.asarray(self._squares @ spread)
        guess += self._l2
        return guess

    def reduce(self, theta: AnyArray) -> AnyArray:
        """One θ per group, with the same scores, shape (groups, K)."""
        return self._columns.reduce(theta)

    def expand(self, point: AnyArray) -> AnyArray:
        """θ of all columns, shape (F, K)."""
        return self._columns.expand(point)
