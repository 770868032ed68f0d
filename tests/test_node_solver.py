"""Descent with penalties on absolute values: solutions that are known, optimality conditions, exact zeros."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from askance._arrays import AnyArray, FloatArray
from askance.errors import InputError, ShapeError
from askance.estimation.solvers.lbfgs import Function, Minimum, _within_orthant, minimise
from askance.estimation.solvers.orthants import L1Penalty

TYPES = [np.float64, np.float32]


def constant(table: AnyArray) -> Callable[[int], AnyArray | None]:
    """A guess of the curvature that is given once."""
    return lambda i: table.copy() if i == 0 else None


def soft_threshold(x: AnyArray, by: AnyArray | float) -> AnyArray:
    """sign(x) · max(|x| − by, 0)."""
    return np.asarray(np.sign(x) * np.maximum(np.abs(x) - by, 0))


def slopes_left(point: AnyArray, gradient: AnyArray, l1: AnyArray | float) -> FloatArray:
    """How far 0 is from the subdifferential of f + Σ l1 ∘ |x| in every entry: 0 at the minimum."""
    at_zero = np.maximum(np.abs(gradient) - l1, 0)
    return np.asarray(np.where(point == 0, at_zero, np.abs(gradient + l1 * np.sign(point))), dtype=np.float64)


def separable(a: AnyArray, target: AnyArray) -> Function:
    """f = ½ Σ a ∘ (x − target)²."""

    def function(x: AnyArray) -> tuple[float, AnyArray]:
        rest = x - target
        return float((a * rest * rest).sum(dtype=np.float64)) / 2, a * rest

    return function


def correlated(seed: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """A and b of f = ½ xᵀAx − bᵀx with A far from diagonal, and l1 with some zeros."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 7))
    root = rng.normal(size=(size, size))
    A = root @ root.T + 10.0 ** rng.uniform(-3, 0) * np.eye(size)
    l1 = np.where(rng.random((size, 1)) < 0.3, 0, rng.uniform(0, 2, (size, 1)))
    return A, rng.normal(size=(size, 1)) * 3, l1


class Logistic:
    """Σ log(1 + exp(−s · Xw)) + ½ Σ l2 ∘ w², with the curvature on the diagonal; the last weight is an intercept."""

    def __init__(self, X: FloatArray, signs: FloatArray, l2: float, dtype: Any) -> None:
        self.X = np.column_stack([X, np.ones(len(X))]).astype(dtype)
        self.signs = signs[:, None].astype(dtype)
        self.l2 = np.append(np.full(X.shape[1], l2), 0)[:, None].astype(dtype)
        self.shape = self.l2.shape

    def __call__(self, w: AnyArray) -> tuple[float, AnyArray]:
        margins = self.signs * (self.X @ w)
        self.wrong = expit(-margins)
        value = np.logaddexp(0, -margins).sum(dtype=np.float64) + (self.l2 * w * w).sum(dtype=np.float64) / 2
        return float(value), self.l2 * w - self.X.T @ (self.signs * self.wrong)

    def curvature(self, step: int) -> AnyArray:
        return np.asarray((self.X**2).T @ (self.wrong * (1 - self.wrong)) + self.l2)


def answers(seed: int) -> tuple[FloatArray, FloatArray]:
    """Correlated covariates of different scales, shape (200, 30), and signs that depend on a few of them."""
    rng = np.random.default_rng(seed)
    mixing = np.eye(30) + 0.5 * rng.normal(size=(30, 30)) / np.sqrt(30)
    X = rng.normal(size=(200, 30)) @ mixing * rng.uniform(0.3, 3, 30)
    weights = np.where(rng.random(30) < 0.3, rng.normal(size=30), 0)
    return X, np.where(rng.random(200) < 1 / (1 + np.exp(-(X @ weights) - 0.7)), 1.0, -1.0)


# -- separable quadratics: x = soft_threshold(target, l1 / a) ----------------------------------------------------------


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("known", [True, False])
def test_separable_quadratic(dtype: Any, known: bool) -> None:
    """To 1e-8 where the curvature is known; to the accuracy of the value where it is learned from the steps."""
    rng = np.random.default_rng(1)
    # Three different curvatures: as many steps remembered span them.
    a = rng.choice([0.5, 1.0, 3.0], (40, 5)).astype(dtype)
    target, l1 = rng.normal(size=(2, 40, 5)).astype(dtype)
    l1 = np.abs(l1)
    start = rng.normal(size=(40, 5)).astype(dtype)
    guess = a if known else np.full_like(a, 2)
    found = minimise(separable(a, target), start, constant(guess), memory=5, max_iterations=100, tolerance=1e-15, l1=l1)
    expected = soft_threshold(target, l1 / a)
    assert found.converged
    assert found.point.dtype == dtype
    # A value that is exact to rounding leaves the point uncertain by about the root of that.
    exact = {(np.float64, True): 1e-8, (np.float64, False): 1e-6, (np.float32, True): 1e-6, (np.float32, False): 1e-2}
    np.testing.assert_allclose(found.point, expected, rtol=0, atol=exact[dtype, known])
    assert 20 < (expected == 0).sum() < 180
    np.testing.assert_array_equal(found.point == 0, expected == 0)
    # The value is that of the whole objective.
    whole = separable(a, target)(found.point)[0] + float((l1 * np.abs(found.point)).sum(dtype=np.float64))
    assert found.value == pytest.approx(whole, rel=1e-6 if dtype == np.float32 else 1e-12)


@given(
    st.lists(
        st.tuples(st.floats(0.1, 10), st.floats(-5, 5), st.one_of(st.just(0.0), st.floats(1e-3, 5)), st.floats(-5, 5)),
        min_size=1,
        max_size=8,
    )
)
@settings(max_examples=60, deadline=None)
def test_any_separable_quadratic(rows: list[tuple[float, float, float, float]]) -> None:
    a, target, l1, start = np.array(rows).T[:, :, None]
    found = minimise(separable(a, target), start, constant(a), memory=3, max_iterations=60, tolerance=1e-14, l1=l1)
    assert found.converged
    np.testing.assert_allclose(found.point, soft_threshold(target, l1 / a), rtol=0, atol=1e-6)


@pytest.mark.parametrize("l1", [0.5, np.full((4, 1), 0.5), np.full(3, 0.5), np.full((4, 3), 0.5)])
def test_penalties_broadcast(l1: AnyArray | float) -> None:
    a, target = np.ones((4, 3)), np.linspace(-1, 1, 12).reshape(4, 3)
    found = minimise(
        separable(a, target), np.zeros((4, 3)), constant(a), memory=3, max_iterations=50, tolerance=1e-14, l1=l1
    )
    np.testing.assert_allclose(found.point, soft_threshold(target, 0.5), rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", TYPES)
def test_a_huge_penalty_leaves_nothing(dtype: Any) -> None:
    rng = np.random.default_rng(2)
    target, start = rng.normal(size=(2, 30, 4)).astype(dtype)
    a = np.ones((30, 4), dtype=dtype)
    found = minimise(separable(a, target), start, constant(a), memory=3, max_iterations=50, tolerance=1e-12, l1=1e12)
    assert found.converged
    np.testing.assert_array_equal(found.point, 0)
    assert not np.signbit(found.point).any()  # 0, not −0
    assert found.value == separable(a, target)(found.point)[0]


# -- coordinates that depend on each other -----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("seed", range(3))
def test_logistic_regression_against_scikit_learn(seed: int, dtype: Any) -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    pytest.importorskip("sklearn", minversion="1.8")  # since then l1_ratio alone says which penalty
    l1, l2 = 4.0, 1.0
    X, signs = answers(seed)
    other = linear_model.LogisticRegression(
        C=1 / (l1 + l2), l1_ratio=l1 / (l1 + l2), solver="saga", tol=1e-12, max_iter=100_000, random_state=0
    ).fit(X, signs)
    expected = np.append(other.coef_[0], other.intercept_)[:, None]
    weights = np.append(np.full(30, l1), 0.0)[:, None]  # none on the intercept
    lowest = Logistic(X, signs, l2, np.float64)(expected)[0] + float((weights * np.abs(expected)).sum())

    problem = Logistic(X, signs, l2, dtype)
    for start in np.zeros(problem.shape), np.random.default_rng(seed).normal(size=problem.shape):
        found = minimise(
            problem,
            start.astype(dtype),
            problem.curvature,
            memory=6,
            max_iterations=300,
            tolerance=1e-14,
            l1=weights,
        )
        assert found.converged
        assert found.value == pytest.approx(lowest, rel=1e-10 if dtype == np.float64 else 1e-6)
        np.testing.assert_allclose(found.point, expected, rtol=0, atol=1e-6 if dtype == np.float64 else 5e-3)
        left = slopes_left(found.point, problem(found.point)[1], weights)
        assert left.max() < (1e-5 if dtype == np.float64 else 0.2)  # slopes at 0 are in the hundreds
        # Entries whose slope is as large as the penalty may be 0 or not.
        tied = (expected == 0) & (np.abs(np.abs(Logistic(X, signs, l2, np.float64)(expected)[1]) - l1) < 0.1)
        np.testing.assert_array_equal((found.point == 0)[~tied], (expected == 0)[~tied])
        assert 5 < (found.point == 0).sum() < 25


def proximal_gradient(A: FloatArray, b: FloatArray, l1: FloatArray) -> FloatArray:
    """The minimum of ½ xᵀAx − bᵀx + Σ l1 ∘ |x|, slowly: x ← soft_threshold(x − s (Ax − b), s l1)."""
    step = 1 / float(np.linalg.eigvalsh(A)[-1])
    x = np.zeros_like(b)
    for _ in range(200_000):
        moved = soft_threshold(x - step * (A @ x - b), step * l1)
        if np.abs(moved - x).max() <= 1e-13 * np.abs(moved).max():
            break
        x = moved
    return x


@pytest.mark.parametrize("seed", range(12))
def test_correlated_quadratics_against_proximal_gradient(seed: int) -> None:
    A, b, l1 = correlated(seed)
    found = descend(A, b, l1, np.random.default_rng(seed).normal(size=b.shape))
    expected = proximal_gradient(A, b, l1)
    lowest = float((expected * (A @ expected)).sum() / 2 - (b * expected).sum() + (l1 * np.abs(expected)).sum())
    assert found.value == pytest.approx(lowest, rel=1e-8)
    np.testing.assert_array_equal(found.point == 0, expected == 0)


@given(st.integers(0, 10**6))
@settings(max_examples=150, deadline=None)
def test_optimality_conditions(seed: int) -> None:
    """Whatever the correlations: it converges in few steps, and no slope is left."""
    A, b, l1 = correlated(seed)
    found = descend(A, b, l1, np.random.default_rng(seed).normal(size=b.shape) * 3)
    assert found.converged
    left = slopes_left(found.point, A @ found.point - b, l1)
    # ½ leftᵀA⁻¹left is about what is left to gain.
    assert float((left * np.linalg.solve(A, left)).sum()) <= 1e-6 * (1 + abs(found.value))


def descend(A: FloatArray, b: FloatArray, l1: FloatArray, start: FloatArray) -> Minimum:
    """½ xᵀAx − bᵀx + Σ l1 ∘ |x| from a start, with a guess of the curvature that is the same for all entries."""
    guess = np.full(b.shape, np.trace(A) / len(b))
    return minimise(
        lambda x: (float((x * (A @ x)).sum() / 2 - (b * x).sum()), A @ x - b),
        start,
        constant(guess),
        memory=4,
        max_iterations=1000,
        tolerance=1e-11,
        l1=l1,
    )


def test_every_step_leads_down_and_keeps_or_cuts_signs() -> None:
    """No entry with a penalty goes from one side of 0 to the other in one step; the value never rises."""
    A, b, l1 = correlated(61)
    l1 = l1 + 0.1
    points, values = [np.full(b.shape, 3.0)], [np.inf]

    def after(step: int, value: float, point: AnyArray) -> bool:
        points.append(point.copy())
        values.append(value)
        return False

    minimise(
        lambda x: (float((x * (A @ x)).sum() / 2 - (b * x).sum()), A @ x - b),
        points[0],
        constant(np.full(b.shape, 0.1)),
        memory=4,
        max_iterations=200,
        tolerance=1e-10,
        after=after,
        l1=l1,
    )
    path = np.array(points)
    assert len(path) > 5
    assert (path[1:] * path[:-1] >= 0).all()
    assert (path.min(axis=0) < 0).any()  # through 0, in two steps
    assert all(after <= before + 1e-12 * abs(after) for before, after in pairwise(values))


def test_a_cut_that_takes_what_a_step_promised() -> None:
    """The second entry rises for the sake of the first, which is cut almost at once: only the first goes on."""
    point, direction, slopes = np.array([[0.001], [1.0]]), np.array([[-1.0], [1.0]]), np.array([[3.0], [1.0]])
    penalty = L1Penalty.of(1.0, point)
    assert penalty is not None
    candidate, step, promise = _within_orthant(penalty, point, direction, slopes)
    np.testing.assert_array_equal(candidate, [[0.0], [1.0]])
    np.testing.assert_array_equal(step, [[-0.001], [0.0]])
    assert promise == pytest.approx(-0.003)


@pytest.mark.parametrize("dtype", TYPES)
def test_steps_out_of_the_domain_are_shortened(dtype: Any) -> None:
    def barrier(x: AnyArray) -> tuple[float, AnyArray]:
        if (x >= 2).any():
            return np.inf, np.zeros_like(x)
        return float((-3 * x - np.log(2 - x)).sum(dtype=np.float64)), -3 + 1 / (2 - x)

    # −3 − 1/(x − 2) + l1 = 0 at x = 2 − 1/(3 − l1)
    start = np.zeros((2, 1), dtype=dtype)
    l1 = np.array([[1.0], [2.75]])
    found = minimise(
        barrier, start, constant(np.full((2, 1), 0.01, dtype)), memory=3, max_iterations=99, tolerance=1e-14, l1=l1
    )
    assert found.converged
    assert found.evaluations > found.iterations + 1
    np.testing.assert_allclose(found.point, [[1.5], [0.0]], atol=1e-6 if dtype == np.float64 else 1e-2)
    assert found.point[1, 0] == 0


# -- no penalty --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("nothing", [0.0, 0, np.zeros((31, 1)), np.float32(0)])
def test_without_a_penalty_nothing_changes(nothing: AnyArray | float, dtype: Any) -> None:
    """The same points are asked in the same order, to the last bit."""
    X, signs = answers(5)

    def trace(**options: Any) -> tuple[list[bytes], Minimum]:
        problem, asked = Logistic(X, signs, 1.0, dtype), []

        def function(w: AnyArray) -> tuple[float, AnyArray]:
            asked.append(w.tobytes())
            return problem(w)

        # A guess that is too small, so that steps are shortened as well.
        guess = constant(np.full(problem.shape, 5, dtype))
        start = np.zeros(problem.shape, dtype=dtype)
        return asked, minimise(function, start, guess, memory=3, max_iterations=30, tolerance=1e-9, **options)

    (plain, before), (given_zero, after) = trace(), trace(l1=nothing)
    assert plain == given_zero
    assert before.evaluations == len(plain) > before.iterations + 1
    assert (before.value, before.iterations, before.converged) == (after.value, after.iterations, after.converged)


# -- bad input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("l1", "error", "message"),
    [
        (-1.0, InputError, r"l1 contains -1.0; allowed: 0 to 1e\+12"),
        (np.nan, InputError, "l1 contains nan"),
        (np.array([[1.0], [np.inf]]), InputError, "l1 contains inf"),
        (1e300, InputError, r"l1 contains 1e\+300"),
        ("much", InputError, "l1 is 'much'"),
        (np.ones(2), ShapeError, r"l1 has shape \(2,\); allowed: a number, or a shape that broadcasts to \(2, 3\)"),
        (np.ones((1, 2, 3)), ShapeError, r"l1 has shape \(1, 2, 3\)"),
    ],
)
def test_bad_penalties(l1: Any, error: type[InputError], message: str) -> None:
    table = np.ones((2, 3), dtype=np.float32)
    with pytest.raises(error, match=message):
        minimise(separable(table, table), table, constant(table), memory=3, max_iterations=9, tolerance=1e-9, l1=l1)
