"""Fitting a chain: L(scores) − λ/2 ‖θ‖² − μ ‖θ‖₁ by limited-memory descent, for any evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from askance._arrays import AnyArray, SparseRows
from askance.errors import InputError
from askance.estimation.solvers.large_tables import add_multiple, dot
from askance.estimation.solvers.lbfgs import minimise
from askance.text.chain.evidence import ChainObjective, Gradient
from askance.text.chain.potentials import ChainPotentials
from askance.text.counts.equal_columns import MergedColumns

# Steps remembered.
_MEMORY = 8
_CURVATURE = 0.3
# Features overlap, so that the guess for single ones misleads close to the optimum: its root does far better there.
_MILD_FROM = 18


@dataclass(frozen=True, eq=False)
class ChainParameters:
    """θ of a chain.

    Attributes:
        theta: of features, shape (F, K): those of the word, then those of neighbours by distance.
        edges: e(previous, next), shape (K, K).
        first: shape (K,).
        last: shape (K,).
    """

    theta: AnyArray
    edges: AnyArray
    first: AnyArray
    last: AnyArray

    @classmethod
    def zeros(cls, features: int, tags: int, dtype: type = np.float32) -> ChainParameters:
        """All zero."""
        return cls(
            np.zeros((features, tags), dtype),
            np.zeros((tags, tags), dtype),
            np.zeros(tags, dtype),
            np.zeros(tags, dtype),
        )

    def checked(self) -> ChainParameters:
        """The same as arrays of one floating-point type, the largest of theirs; not finite ones are refused."""
        arrays = [np.asarray(array) for array in (self.theta, self.edges, self.first, self.last)]
        single = all(array.dtype == np.float32 for array in arrays)
        arrays = [array.astype(np.float32 if single else np.float64, copy=False) for array in arrays]
        if not all(np.isfinite(array).all() for array in arrays):
            raise InputError("parameters of a chain hold values that are not finite.", remedy="Train it again.")
        return ChainParameters(*arrays)


@dataclass(frozen=True)
class ChainFit:
    """A fitted chain."""

    parameters: ChainParameters  # θ
    objective: float  # log-likelihood minus the penalty there
    log_likelihood: float  # without the penalty
    iterations: int  # steps of the descent
    converged: bool  # whether it came to rest
    evaluations: int  # how often the likelihood was worked out
    stopped: bool = False  # whether it was told to stop


class ChainProblem:
    """Minus the objective as a function of one array: rows for groups of equal features, K edges, first and last.

    Args:
        designs: by distance, which word has which feature, shape (T + 1, columns).
        objective: the log-likelihood.
        l2: λ.
        l1: μ.
        first_steps: for so many steps the curvature is guessed from how often features appear.
    """

    def __init__(
        self,
        designs: dict[int, SparseRows],
        objective: ChainObjective,
        l2: float,
        first_steps: int = 1,
        l1: float = 0.0,
    ) -> None:
        from scipy import sparse

        self._columns = {d: MergedColumns.of(design) for d, design in designs.items()}
        self._transposed = {d: c.matrix.T for d, c in self._columns.items()}
        self._squares = {
            d: sparse.csr_array((c.matrix.data**2, c.matrix.indices, c.matrix.indptr), shape=c.matrix.shape).T
            for d, c in self._columns.items()
        }
        self._objective, self._l2, self._first_steps = objective, float(l2), first_steps
        self.tags = objective.tags
        sizes = [c.matrix.shape[1] for c in self._columns.values()]
        ends = np.cumsum([0, *sizes])
        self._slices = {d: slice(int(a), int(b)) for d, a, b in zip(designs, ends, ends[1:], strict=False)}
        self.edges = slice(int(ends[-1]), int(ends[-1]) + self.tags)
        self.features = sum(design.shape[1] for design in designs.values())
        self.dtype = next(iter(designs.values())).dtype
        # One coefficient u for m equal columns stands for u / √m in each: together √m |u|.
        roots = [c.roots for c in self._columns.values()]
        self.l1 = float(l1) * np.concatenate([*roots, np.ones((self.tags + 2, 1), dtype=self.dtype)]) if l1 else 0.0
        self._gradient: Gradient | None = None

    def potentials(self, point: AnyArray) -> ChainPotentials:
        """Scores at a point."""
        tables = {d: np.asarray(c.matrix @ point[self._slices[d]]) for d, c in self._columns.items()}
        after = self.edges.stop
        return ChainPotentials(self._objective.places, tables, point[self.edges], point[after], point[after + 1])

    def __call__(self, point: AnyArray) -> tuple[float, AnyArray]:
        """Value and gradient, without the L1 penalty."""
        likelihood = self._objective(self.potentials(point))
        self._gradient = likelihood
        gradient = np.empty_like(point)
        for d, place in self._slices.items():
            gradient[place] = self._transposed[d] @ likelihood.tables[d]
        gradient[self.edges] = likelihood.pairs
        gradient[self.edges.stop], gradient[self.edges.stop + 1] = likelihood.first, likelihood.last
        np.negative(gradient, out=gradient)
        add_multiple(self._l2, point, gradient)
        return self._l2 / 2 * dot(point, point) - likelihood.value, gradient

    def curvature(self, step: int) -> AnyArray | None:
        """A guess of the second derivatives; None: as before."""
        if 0 < step < self._first_steps:
            return None
        likelihood = self._gradient
        assert likelihood is not None
        guess = np.empty((self.edges.stop + 2, self.tags), dtype=likelihood.tables[0].dtype)
        for d, place in self._slices.items():
            spread = likelihood.spread[d]
            if step == 0:  # far from the maximum γ (1 − γ) says little about the curvature on the way
                covered = np.sum(spread, axis=1, keepdims=True) / max(1 - 1 / self.tags, 0.5)
                guess[place] = self._squares[d] @ covered
            else:
                guess[place] = self._squares[d] @ spread
        pairs = likelihood.model_pairs
        guess[self.edges] = pairs.sum() / self.tags if step == 0 else pairs
        guess[self.edges.stop :] = pairs.sum() / self.tags if step == 0 else pairs.sum(axis=1)
        if step:
            guess *= guess.dtype.type(_CURVATURE)
        guess += guess.dtype.type(self._l2)
        return np.sqrt(guess, out=guess) if step >= _MILD_FROM else guess

    def penalty(self, point: AnyArray) -> float:
        """λ/2 ‖θ‖² + μ ‖θ‖₁."""
        absolute = float(np.sum(self.l1 * np.abs(point), dtype=np.float64)) if np.any(self.l1) else 0.0
        return self._l2 / 2 * dot(point, point) + absolute

    def reduce(self, parameters: ChainParameters) -> AnyArray:
        """The array of given parameters."""
        ends = np.cumsum([0, *(c.columns for c in self._columns.values())])
        parts = [
            c.reduce(parameters.theta[a:b]) for c, a, b in zip(self._columns.values(), ends, ends[1:], strict=False)
        ]
        return np.concatenate([*parts, parameters.edges, parameters.first[None], parameters.last[None]])

    def expand(self, point: AnyArray) -> ChainParameters:
        """Parameters of all features."""
        theta = np.concatenate([c.expand(point[self._slices[d]]) for d, c in self._columns.items()])
        after = self.edges.stop
        return ChainParameters(theta, point[self.edges].copy(), point[after].copy(), point[after + 1].copy())


def descend(
    problem: ChainProblem,
    start: ChainParameters | None,
    *,
    max_iterations: int,
    tolerance: float,
    progress: Callable[[int, float], None] | None = None,
    stop: Callable[[ChainParameters], bool] | None = None,
) -> ChainFit:
    """Maximise L − λ/2 ‖θ‖² − μ ‖θ‖₁ from a start, default 0; tolerance, progress and stop as for `fit_node`."""
    if start is None:
        start = ChainParameters.zeros(problem.features, problem.tags, problem.dtype)
    stopped = False

    def after(iteration: int, value: float, point: AnyArray) -> bool:
        nonlocal stopped
        if progress is not None:
            progress(iteration, -value)
        stopped = stop is not None and bool(stop(problem.expand(point)))
        return stopped

    result = minimise(
        problem,
        problem.reduce(start).astype(problem.dtype),
        problem.curvature,
        memory=_MEMORY,
        max_iterations=max_iterations,
        tolerance=tolerance,
        after=after,
        l1=problem.l1,
    )
    return ChainFit(
        problem.expand(result.point),
        -result.value,
        -result.value + problem.penalty(result.point),
        result.iterations,
        result.converged,
        result.evaluations,
        stopped,
    )
