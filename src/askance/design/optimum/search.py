"""The optimum over all staircase rows: over all of them at once, or by column generation where they are too many."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple, cast

import numpy as np

from askance._arrays import FloatArray
from askance.design.optimum.interior_point import Criterion, Errors, Optimum, errors_of, minimise
from askance.design.optimum.prior import Prior
from askance.design.optimum.problem import ChannelProblem
from askance.design.optimum.staircase import (
    Subsets,
    all_subsets,
    chunks_of_subsets,
    few_rows,
    first_subsets,
    interior_start,
    rows_of,
    satisfying,
)
from askance.errors import NotIdentifiedError

#: Up to so many classes of outputs all rows are taken at once; up to the second, all are looked at for the proof.
DIRECT, ENUMERATED = 14, 20
# Column generation: rounds, and rows that join in each.
_ROUNDS, _JOINING = 60, 150
# Where the bound cannot be proved anyhow, a smaller number of rounds and a gap of this size will do.
_LOCAL_ROUNDS, _LOCAL_GAP = 20, 1e-4
_DIRECTIONS = 12
# Rows whose share is below this part of the largest are not in the support.
_SUPPORT = 1e-9
# When rows are dropped for good: the most that can be without losing anything.
_SUPPORTS = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10)
# Directions in which rows carry less than this are not told at all.
_REACH = 1e-7
# Local search for rows that would help, where they cannot be enumerated.
_LOCAL_STARTS = 100


class Found(NamedTuple):
    """An optimal design and the proof.

    Attributes:
        subsets: of its rows, shape (m, k).
        x: their shares, shape (k,).
        shares: of the points of the prior, under which the proof holds, shape (K,).
        bound: no channel of the level has a smaller error.
        proved: whether every possible row was looked at for the bound.
    """

    subsets: Subsets
    x: FloatArray
    shares: FloatArray
    bound: float
    proved: bool


def search(problem: ChannelProblem, *, worst: bool, tolerance: float) -> Found:
    """The design of least error, with few rows and a lower bound for all channels."""
    try:
        return _Search(problem, worst, tolerance).run()
    except np.linalg.LinAlgError:
        raise NotIdentifiedError(
            "some outputs are so rare at this guess of θ that floats cannot tell designs apart.",
            remedy="Give a less extreme guess, or statistics of similar size.",
        ) from None


@dataclass(frozen=True)
class _Search:
    """Least error over the rows of a problem, on average or (`worst`) at the worst θ, to that relative gap."""

    problem: ChannelProblem
    worst: bool
    tolerance: float

    def run(self) -> Found:
        m = self.problem.outputs
        if m <= DIRECT:
            subsets = all_subsets(m)
            optimum = self._minimise(subsets)
            bound, _ = self._bound(subsets, optimum, [subsets])
            proved = True
        else:
            subsets, optimum, bound = self._generate()
            proved = m <= ENUMERATED
        few, best = self._prune(subsets, optimum)
        if self.worst and m <= DIRECT and best.value - bound > self.tolerance * best.value:
            # Over few rows the search comes closer, and its shares of the θ make the sharper bound.
            sharper, _ = self._bound(subsets, optimum._replace(shares=best.shares), [subsets])
            bound = max(bound, sharper)
        return Found(few, best.x, best.shares, bound, proved)

    def _minimise(self, subsets: Subsets) -> Optimum:
        start = interior_start(subsets, self.problem.ratio)
        return self._least(self.problem.criteria(subsets), subsets, start, self.problem.prior.weights)

    def _least(self, criteria: list[Criterion], subsets: Subsets, start: FloatArray, shares: FloatArray) -> Optimum:
        rows = rows_of(subsets, self.problem.ratio)
        return minimise(criteria, rows, start, shares, worst=self.worst, tolerance=self.tolerance / 10)

    def _bound(self, subsets: Subsets, optimum: Optimum, candidates: Iterable[Subsets]) -> tuple[float, Subsets]:
        """`lower_bound`; for the worst θ by the average that has the same optimum, which is sharper in floats."""
        if self.worst:
            averaged = replace(self.problem, prior=Prior(self.problem.prior.points, optimum.shares))
            optimum = replace(self, problem=averaged, worst=False)._minimise(subsets)
        return lower_bound(self.problem, subsets, optimum, candidates)

    # -- too many rows to take at once -----------------------------------------------------------------------------

    def _generate(self) -> tuple[Subsets, Optimum, float]:
        """Column generation: solve over some rows, add those that would help most, until none does."""
        rng = np.random.default_rng(0)
        subsets = first_subsets(self.problem.table, rng, _DIRECTIONS)
        bound, enumerated = -np.inf, self.problem.outputs <= ENUMERATED
        rounds = _ROUNDS if enumerated else _LOCAL_ROUNDS
        for number in range(rounds):
            optimum = self._minimise(subsets)
            if enumerated:
                candidates: Iterable[Subsets] = chunks_of_subsets(self.problem.outputs)
            else:
                candidates = [_climb(self.problem, subsets, optimum, rng)]
            this, helpful = self._bound(subsets, optimum, candidates)
            bound = max(bound, this)
            if optimum.value - bound <= (self.tolerance / 2 if enumerated else _LOCAL_GAP) * optimum.value:
                break
            # A subset and its complement together say nothing about the sum of rows, so that both can join any design.
            joined = np.unique(np.concatenate([subsets, helpful, ~helpful], axis=1), axis=1)
            if joined.shape[1] == subsets.shape[1] or number == rounds - 1:
                break
            subsets = joined
        return subsets, optimum, bound

    # -- few rows --------------------------------------------------------------------------------------------------

    def _prune(self, subsets: Subsets, optimum: Optimum) -> tuple[Subsets, Optimum]:
        """The same information from as few rows as a vertex has: at most as many as there are numbers to keep.

        All M_k(x) and Σ x_A B_A = 1 are kept by a linear program over the rows in use, whose vertices have few rows;
        then the design is optimised over these rows alone.
        """
        kept, best = self._supported(subsets, optimum)
        vectors = np.concatenate([criterion.vectors for criterion in self.problem.criteria(kept)])
        few, x = few_rows(rows_of(kept, self.problem.ratio), vectors, best.x)
        if few.size < kept.shape[1]:
            fewer = self._restricted(kept[:, few], x, best.shares)
            if fewer is not None and fewer.value <= best.value * (1 + self.tolerance):
                return kept[:, few], fewer
        return kept, best

    def _supported(self, subsets: Subsets, optimum: Optimum) -> tuple[Subsets, Optimum]:
        """Without the rows that are hardly used: as many as can go without a loss, or else those that cost least."""
        designs: list[tuple[Subsets, Optimum]] = []
        for least in _SUPPORTS:
            used = np.flatnonzero(optimum.x > least * optimum.x.max())
            kept = subsets[:, used]
            best = self._restricted(kept, optimum.x[used], optimum.shares)
            if best is None:
                continue
            designs.append((kept, best))
            if best.value <= optimum.value * (1 + self.tolerance):
                break
        if not designs:
            raise NotIdentifiedError(
                "the optimal channel is at the edge of what floats hold: no few observations make it up.",
                remedy="Change the level or the guess of θ a little.",
            )
        return min(designs, key=lambda design: design[1].value)

    def _restricted(self, subsets: Subsets, x: FloatArray, shares: FloatArray) -> Optimum | None:
        """The optimum over some rows only, from a design with Σ x_A B_A = 1 nearly; None where there is none."""
        rows = rows_of(subsets, self.problem.ratio)
        x = satisfying(rows, x)
        if x.min() <= 0 or np.abs(1 - rows @ x).max() > 1e-12:
            return None
        criteria = [_within_reach(criterion, x) for criterion in self.problem.criteria(subsets)]
        if any(criterion is None for criterion in criteria):
            return None
        try:
            optimum = self._least(cast(list[Criterion], criteria), subsets, x, shares)
        except np.linalg.LinAlgError:
            return None
        exact = satisfying(rows, optimum.x)
        return optimum._replace(x=exact) if exact.min() > 0 else None


def lower_bound(
    problem: ChannelProblem, subsets: Subsets, optimum: Optimum, candidates: Iterable[Subsets]
) -> tuple[float, Subsets]:
    """What no design over the candidates goes below, and the candidates that would help most.

    By convexity f(z) ≥ f(x) + ∇f(x)·(z − x), and the linear program min ∇f·z over the polytope is bounded by its dual:
    Σ_y λ_y for every λ with λ·B_A ≤ ∇f_A. Multipliers that are not feasible are made so by lowering all alike.
    """
    chosen = problem.criteria(subsets)
    errors = errors_of(chosen, optimum.x, curvature=False)
    prices_of = _Prices(problem, subsets, optimum)
    # Two sets of multipliers, each with the largest amount by which they are too high.
    both = np.stack([_best_multipliers(problem, subsets, optimum, errors), optimum.multipliers])
    too_high = np.zeros(2)
    missing, names = np.empty(0), np.empty((len(subsets), 0), dtype=np.bool_)
    for piece in candidates:
        rows = rows_of(piece, problem.ratio)
        cuts = (both @ rows - prices_of(piece)) / rows.sum(axis=0)
        too_high = np.maximum(too_high, cuts.max(axis=1, initial=0.0))
        cut = cuts.max(axis=0)
        best = np.argsort(-cut, kind="stable")[:_JOINING]
        best = best[cut[best] > 0]
        missing, names = np.concatenate([missing, cut[best]]), np.concatenate([names, piece[:, best]], axis=1)
    least = float((both.sum(axis=1) - too_high * len(subsets)).max())
    value = float(optimum.shares @ errors.values)
    gradient = optimum.shares @ errors.gradients
    joining = np.argsort(-missing, kind="stable")[:_JOINING]
    return value + float(least - gradient @ optimum.x), names[:, joining]


class _Prices:
    """Σ_k w_k ∇f_k of rows that need not be part of the design: ∇f of a row v is −‖Lᵀ M⁻¹ v‖²."""

    def __init__(self, problem: ChannelProblem, subsets: Subsets, optimum: Optimum) -> None:
        self._problem, self._shares = problem, optimum.shares
        self._factors = []
        for criterion in problem.criteria(subsets):
            root = np.linalg.cholesky((criterion.vectors * optimum.x) @ criterion.vectors.T)
            self._factors.append((root, np.linalg.solve(root, criterion.loading)))

    def __call__(self, subsets: Subsets) -> FloatArray:
        prices = np.zeros(subsets.shape[1])
        for share, (root, Q), criterion in zip(
            self._shares, self._factors, self._problem.criteria(subsets), strict=True
        ):
            prices -= share * ((Q.T @ np.linalg.solve(root, criterion.vectors)) ** 2).sum(axis=0)
        return prices


def _best_multipliers(problem: ChannelProblem, subsets: Subsets, optimum: Optimum, errors: Errors) -> FloatArray:
    """Those of the linear program over the rows at hand; of the search where the program fails."""
    from scipy.optimize import linprog

    rows = rows_of(subsets, problem.ratio)
    gradient = optimum.shares @ errors.gradients
    scale = float(np.abs(gradient).max())
    solved = linprog(gradient / scale, A_eq=rows, b_eq=np.ones(len(rows)), method="highs")
    if solved.status != 0:
        return optimum.multipliers
    return np.asarray(solved.eqlin.marginals * scale, dtype=np.float64)


def _climb(problem: ChannelProblem, subsets: Subsets, optimum: Optimum, rng: np.random.Generator) -> Subsets:
    """Rows that would help, by flipping one output at a time from many starts until none helps more.

    `lower_bound` takes the better of two sets of multipliers: rows are looked for that cut either.
    """
    errors = errors_of(problem.criteria(subsets), optimum.x, curvature=False)
    prices_of = _Prices(problem, subsets, optimum)
    both = (_best_multipliers(problem, subsets, optimum, errors), optimum.multipliers)
    starts = subsets[:, optimum.x > _SUPPORT * optimum.x.max()]
    climbed = [_climb_from(problem, multipliers, prices_of, starts, rng) for multipliers in both]
    return np.unique(np.concatenate(climbed, axis=1), axis=1)


def _climb_from(
    problem: ChannelProblem, multipliers: FloatArray, prices_of: _Prices, starts: Subsets, rng: np.random.Generator
) -> Subsets:
    """From some rows and from random ones, to those that cut these multipliers most."""

    def cut(candidates: Subsets) -> FloatArray:
        rows = rows_of(candidates, problem.ratio)
        full = candidates.all(axis=0) | ~candidates.any(axis=0)
        return np.where(full, -np.inf, (multipliers @ rows - prices_of(candidates)) / rows.sum(axis=0))

    m = problem.outputs
    current = np.concatenate([starts, rng.random((m, _LOCAL_STARTS)) < rng.random(_LOCAL_STARTS)], axis=1)
    value = cut(current)
    for _ in range(4 * m):
        flipped = current[:, :, None] ^ np.eye(m, dtype=bool)[:, None, :]  # (m, sets, which is flipped)
        values = cut(flipped.reshape(m, -1)).reshape(-1, m)
        best = values.argmax(axis=1)
        gains = values[np.arange(len(best)), best] > value
        if not gains.any():
            break
        current[best[gains], np.flatnonzero(gains)] ^= True
        value = np.where(gains, values[np.arange(len(best)), best], value)
    return current[:, np.isfinite(value)]


def _within_reach(criterion: Criterion, x: FloatArray) -> Criterion | None:
    """In coordinates of what these rows span; None where the loading is not in it."""
    basis, sizes, _ = np.linalg.svd(criterion.vectors * np.sqrt(x), full_matrices=False)
    basis = basis[:, sizes > _REACH * sizes[0]]
    loading = basis.T @ criterion.loading
    if np.abs(criterion.loading - basis @ loading).max() > _REACH * np.abs(criterion.loading).max():
        return None
    return Criterion(basis.T @ criterion.vectors, loading)
