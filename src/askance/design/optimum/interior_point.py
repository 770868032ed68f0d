"""The one convex problem behind all optimal designs, solved by a primal-dual interior point method.

A design is a vector x ≥ 0 with A x = b that says how much of each of N ingredients is taken, such as observations of a
channel. At one θ ingredient i carries the information v_i v_iᵀ, so that a design has M(x) = Σ_i x_i v_i v_iᵀ and leaves
the error

    f(x) = tr(Lᵀ M(x)⁻¹ L),        ∇f_i = −‖Lᵀ M⁻¹ v_i‖²,

which is convex. Several θ give several f_k; wanted is the least Σ_k w_k f_k (a prior), or the least max_k f_k.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from askance._arrays import FloatArray

_MOST_STEPS = 200
# Steps stop short of the boundary by this share, and are shortened by this factor where residuals do not fall.
_TO_BOUNDARY, _SHORTEN, _SHORTEST = 0.99, 0.6, 1e-6
# Added to the unit diagonal of the scaled system: few ingredients may satisfy many constraints at once.
_RIDGE = 1e-14
_LEAST_CENTRING = 1e-6
# The search ends where this many steps together gained less than a factor of two and the gap is small already.
_PATIENCE, _NEAR = 6, 1e-4


@dataclass(frozen=True)
class Criterion:
    """The error at one θ.

    Attributes:
        vectors: v_i as columns, shape (c, N).
        loading: L, shape (c, r).
    """

    vectors: FloatArray
    loading: FloatArray


class Errors(NamedTuple):
    """All criteria at one design.

    Attributes:
        values: f_k, shape (K,).
        gradients: ∇f_k, shape (K, N).
        roots: matrices with ∇²f_k = rootsᵀ roots, each (rows, N).
    """

    values: FloatArray
    gradients: FloatArray
    roots: list[FloatArray]


def errors_of(criteria: Sequence[Criterion], x: FloatArray, *, curvature: bool = True) -> Errors:
    """f_k, its gradient and the root of its Hessian for every criterion.

    With M = R Rᵀ, z_i = R⁻¹ v_i and R⁻¹ L = Q, the second differential is 2 tr(QQᵀ T T), T = Σ_i dx_i z_i z_iᵀ: in the
    eigenbasis of QQᵀ a weighted sum of squares of the entries of T on and above the diagonal.

    Raises:
        numpy.linalg.LinAlgError: M is singular, to rounding.
    """
    values, gradients, roots = [], [], []
    for criterion in criteria:
        V = criterion.vectors
        R = np.linalg.cholesky((V * x) @ V.T)
        Q, Z = np.linalg.solve(R, criterion.loading), np.linalg.solve(R, V)
        values.append(float((Q**2).sum()))
        gradients.append(-((Q.T @ Z) ** 2).sum(axis=0))
        if curvature:
            weights, basis = np.linalg.eigh(Q @ Q.T)
            weights, Z = weights.clip(0), basis.T @ Z
            i, j = np.triu_indices(len(Z))
            scale = np.where(i == j, 2 * weights[i], 2 * (weights[i] + weights[j]))
            kept = scale > 1e-16 * scale.max()
            roots.append(np.sqrt(scale[kept])[:, None] * Z[i[kept]] * Z[j[kept]])
    return Errors(np.array(values), np.array(gradients), roots)


class Optimum(NamedTuple):
    """Where the search ended.

    Attributes:
        x: the design, shape (N,).
        shares: w, of the criteria; with `worst` those under which the average has the same optimum, shape (K,).
        multipliers: of A x = b, shape (number of constraints,).
        value: Σ w_k f_k, or max_k f_k.
        bound: no design has a smaller value: f(x) + min ∇f·(z − x) over all designs z, by multipliers made feasible.
    """

    x: FloatArray
    shares: FloatArray
    multipliers: FloatArray
    value: float
    bound: float


@dataclass
class _State:
    """Primal and dual variables; s are the slacks of x ≥ 0; t bounds the worst criterion, in the end z = t − f."""

    x: FloatArray
    s: FloatArray
    multipliers: FloatArray
    shares: FloatArray
    t: float
    z: FloatArray

    def moved(self, step: _State, length: float) -> _State:
        return _State(*(a + length * b for a, b in zip(self.__dict__.values(), step.__dict__.values(), strict=True)))


def minimise(
    criteria: Sequence[Criterion],
    constraints: FloatArray,
    start: FloatArray,
    shares: FloatArray,
    *,
    worst: bool = False,
    tolerance: float = 1e-9,
    bounding: FloatArray | None = None,
) -> Optimum:
    """The design of least error among x ≥ 0 with A x = A x₀.

    Args:
        criteria: one per θ.
        constraints: A, shape (number of constraints, N).
        start: x₀, all above 0, shape (N,).
        shares: w, above 0 with sum 1, shape (K,); only a start where `worst`.
        worst: whether the largest f_k is minimised instead of Σ w_k f_k.
        tolerance: of the relative gap.
        bounding: u with uᵀA > 0 in every column, which keeps x bounded (default: 1), shape (number of constraints,).

    A Newton step on the perturbed optimality conditions (x_i s_i = τ; where `worst`, w_k (t − f_k) = τ as well) is
    found from a system of as many unknowns as the Hessians have rows, whatever N.

    >>> halves = Criterion(np.eye(2), np.diag([1.0, 2.0]))
    >>> minimise([halves], np.ones((1, 2)), np.full(2, 0.5), np.ones(1)).x.round(4)
    array([0.3333, 0.6667])
    """
    scale = float(errors_of(criteria, start, curvature=False).values.max())
    scaled = [Criterion(criterion.vectors, criterion.loading / np.sqrt(scale)) for criterion in criteria]
    bounding = np.ones(len(constraints)) if bounding is None else bounding
    search = _Search(scaled, constraints, constraints @ start, bounding, worst, tolerance)
    state = search.run(start, shares)
    values = search.errors.values
    value = float(values.max() if worst else state.shares @ values)
    bound = search.bound(state)
    return Optimum(state.x, state.shares / state.shares.sum(), state.multipliers * scale, value * scale, bound * scale)


class _Search:
    def __init__(
        self,
        criteria: Sequence[Criterion],
        A: FloatArray,
        b: FloatArray,
        bounding: FloatArray,
        worst: bool,
        tolerance: float,
    ) -> None:
        self._criteria, self._A, self._b, self._worst, self._tolerance = criteria, A, b, worst, tolerance
        self._bounding, self._totals = bounding, bounding @ A
        self.errors: Errors
        self._history: list[float] = []

    def run(self, x: FloatArray, shares: FloatArray) -> _State:
        self.errors = errors_of(self._criteria, x)
        state = self._start(x, shares)
        gap = self._gap(state)
        for _ in range(_MOST_STEPS):
            value = float(self.errors.values.max() if self._worst else state.shares @ self.errors.values)
            open_ = max(gap, self._shortfall(state)) / value
            if open_ < self._tolerance or self._stalls(open_):
                break
            moved = self._step(state, gap / (state.x.size + (state.shares.size if self._worst else 0)))
            if moved is None:
                break
            state = moved
            gap = self._gap(state)
        return state

    def bound(self, state: _State) -> float:
        """What no design goes below, by convexity and the multipliers, lowered until all slacks are at least 0."""
        shares = state.shares / state.shares.sum()
        least = float(state.multipliers @ self._b) - self._shortfall(state)
        return float(shares @ self.errors.values - (shares @ self.errors.gradients) @ state.x) + least

    def _stalls(self, gap: float) -> bool:
        """Whether the last steps gained nothing, near the optimum, where rounding decides."""
        self._history.append(gap)
        recent = self._history[-_PATIENCE:]
        return len(recent) == _PATIENCE and recent[0] < _NEAR and min(recent) > 0.5 * recent[0]

    def _start(self, x: FloatArray, shares: FloatArray) -> _State:
        """Multipliers low enough for all slacks to be above 0."""
        gradient = shares @ self.errors.gradients
        multipliers: FloatArray = np.linalg.lstsq((self._A * x).T, x * gradient, rcond=None)[0].astype(np.float64)
        lack = float(np.max(-(gradient - self._A.T @ multipliers) / self._totals, initial=0.0))
        lowered = lack + 0.1 * float(np.abs(gradient).max() / self._totals.max())
        multipliers = multipliers - lowered * self._bounding
        slack = gradient - self._A.T @ multipliers
        t = 1.5 * float(self.errors.values.max())
        return _State(x, slack, multipliers, shares, t, t - self.errors.values)

    def _gap(self, state: _State) -> float:
        gap = float(state.x @ state.s)
        return gap + float(state.shares @ state.z) if self._worst else gap

    def _shortfall(self, state: _State) -> float:
        """By how much the multipliers must be lowered, in units of the error, for every slack to be at least 0."""
        slack = state.shares @ self.errors.gradients - self._A.T @ state.multipliers
        return float(np.max(-slack / self._totals, initial=0.0) * (self._bounding @ self._b))

    def _residual(self, state: _State, errors: Errors) -> FloatArray:
        return np.asarray(state.shares @ errors.gradients - self._A.T @ state.multipliers - state.s)

    def _step(self, state: _State, centre: float) -> _State | None:
        """One predictor-corrector step; None where no progress is possible in floats."""
        newton = _NewtonSystem(state, self.errors, self._A, self._b, self._worst)
        if not newton.solvable:
            return None
        ahead = newton.direction(0.0)
        reached = state.moved(ahead, self._longest(state, ahead))
        predicted = self._gap(reached) / max(self._gap(state), 1e-300)
        target = max(min(max(predicted, 0.0), 1.0) ** 3, _LEAST_CENTRING) * centre
        direction = newton.direction(target)
        length = min(1.0, _TO_BOUNDARY * self._longest(state, direction))
        before = self._distance(state, self.errors, target)
        while length > _SHORTEST:
            tried = state.moved(direction, length)
            try:
                errors = errors_of(self._criteria, tried.x, curvature=False)
            except np.linalg.LinAlgError:
                length *= _SHORTEN
                continue
            if self._distance(tried, errors, target) <= before * (1 - 0.01 * length) + 1e-14:
                self.errors = errors_of(self._criteria, tried.x)
                return tried
            length *= _SHORTEN
        return None

    def _distance(self, state: _State, errors: Errors, target: float) -> float:
        """How far the perturbed optimality conditions are from holding."""
        # Ingredients that are hardly used must satisfy their conditions too: the proof rests on them.
        size = np.maximum(state.x, state.x.mean())
        apart = np.linalg.norm(state.x * state.s - target) + np.linalg.norm(size * self._residual(state, errors))
        if self._worst:
            apart += np.linalg.norm(state.shares * state.z - target)
            apart += np.linalg.norm(state.t - errors.values - state.z) + abs(1 - state.shares.sum())
        return float(apart)

    def _longest(self, state: _State, step: _State) -> float:
        """How far x, s (and w) stay at least 0; at most 1."""
        pairs = [(state.x, step.x), (state.s, step.s)]
        if self._worst:
            pairs += [(state.shares, step.shares), (state.z, step.z)]
        return min([1.0, *(float((-v[d < 0] / d[d < 0]).min(initial=np.inf)) for v, d in pairs)])


class _NewtonSystem:
    """The linearised conditions at one state, factored once.

    With U the root of the Hessian of Σ w_k f_k (where the worst is minimised, extended by √(w_k/z_k) ∇f_k),
    D = diag(x/s) and unknowns u = U dx − e dt and −dλ, dx = D(r − Uᵀu + Aᵀdλ) leaves

        [I + U D Uᵀ   U D Aᵀ   e] [  u ]
        [A D Uᵀ       A D Aᵀ   0] [ −dλ]  =  …,        e = √(w/z) in the rows of the extension.
        [eᵀ           0        0] [ dt ]
    """

    def __init__(self, state: _State, errors: Errors, A: FloatArray, b: FloatArray, worst: bool) -> None:
        from scipy.linalg import lu_factor

        self._state, self._errors, self._A, self._worst = state, errors, A, worst
        self._missing = b - A @ state.x
        self._residual = state.shares @ errors.gradients - A.T @ state.multipliers - state.s
        rows = [np.sqrt(share) * root for share, root in zip(state.shares, errors.roots, strict=True)]
        if worst:
            self._pull = np.sqrt(state.shares / state.z)
            rows.append(self._pull[:, None] * errors.gradients)
        self._U = np.concatenate(rows)
        self._D = state.x / state.s
        both = np.concatenate([self._U, A])
        size, own = len(both), len(self._U)
        system = np.zeros((size + worst, size + worst))
        system[:size, :size] = (both * self._D) @ both.T
        system[np.arange(own), np.arange(own)] += 1.0
        scales = np.diag(system).clip(1e-300) ** -0.5
        if worst:
            edge = slice(own - len(state.shares), own)
            system[-1, edge] = system[edge, -1] = self._pull
            scales[-1] = 1 / np.linalg.norm(self._pull)
        system *= scales[:, None] * scales
        system[np.arange(size), np.arange(size)] += _RIDGE
        self._both, self._own, self._scales = both, own, scales
        self.solvable = bool(np.isfinite(system).all())
        if self.solvable:
            self._factors = lu_factor(system, check_finite=False)

    def direction(self, target: float) -> _State:
        """The Newton step towards x s = τ (and w z = τ)."""
        from scipy.linalg import lu_solve

        state, errors = self._state, self._errors
        towards = target - state.x * state.s
        r = -self._residual + towards / state.x
        right = np.zeros(len(self._scales))
        if self._worst:
            off = state.t - errors.values - state.z
            lacking = (target - state.shares * (state.z + off)) / state.z
            r = r - lacking @ errors.gradients
            right[-1] = 1 - state.shares.sum() - lacking.sum()
        size = len(self._both)
        right[:size] = self._both @ (self._D * r)
        right[self._own : size] -= self._missing
        solved = self._scales * lu_solve(self._factors, self._scales * right, check_finite=False)
        u, multipliers = solved[: self._own], -solved[self._own : size]
        x = self._D * (r - self._U.T @ u + self._A.T @ multipliers)
        # The constraints hold to the last digits only if what rounding left of them is solved for once more.
        again = np.zeros(len(self._scales))
        again[self._own : size] = self._A @ x - self._missing
        rest = self._scales * lu_solve(self._factors, self._scales * again, check_finite=False)
        x = x - self._D * (self._U.T @ rest[: self._own] + self._A.T @ rest[self._own : size])
        solved, u, multipliers = solved + rest, u + rest[: self._own], multipliers - rest[self._own : size]
        shares, t, z = np.zeros(len(state.shares)), 0.0, np.zeros(len(state.shares))
        if self._worst:
            # From u rather than from x: shares keep their sum to the last digit.
            t, pulled = float(solved[-1]), u[-len(state.shares) :]
            shares, z = lacking + self._pull * pulled, off - pulled / self._pull
        return _State(x, (towards - state.s * x) / state.x, multipliers, shares, t, z)
