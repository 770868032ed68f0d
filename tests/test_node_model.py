"""The node model on types: against tokens, against SciPy, merged columns, and what can go wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, sparse
from scipy.special import log_softmax, logsumexp

from askance._arrays import AnyArray, FloatArray, IntArray
from askance.errors import EmptyDataError, InputError, ShapeError
from askance.estimation.solvers.lbfgs import minimise
from askance.text.corpus.features import TokenFeatures
from askance.text.counts.equal_columns import MergedColumns
from askance.text.node.model import _constant, _Problem, fit_node, log_probabilities

L2 = 0.4


def tokens(seed: int, types: int = 7, features: int = 9, tags: int = 4) -> tuple[FloatArray, IntArray, IntArray]:
    """Design (types, features) with equal and empty columns, and type and tag of 40 tokens; the last type has none."""
    rng = np.random.default_rng(seed)
    design = (rng.random((types, features)) < 0.4).astype(np.float64)
    design[:, 3], design[:, 5], design[:, 6] = design[:, 1], design[:, 1], 0
    return design, rng.integers(0, types - 1, 40), rng.integers(0, tags, 40)


def counted(types: IntArray, tags: IntArray, shape: tuple[int, int]) -> FloatArray:
    counts = np.zeros(shape)
    np.add.at(counts, (types, tags), 1)
    return counts


def per_token(theta: FloatArray, design: FloatArray, types: IntArray, tags: IntArray) -> tuple[float, FloatArray]:
    """Penalised log-likelihood of tokens one by one, and its gradient."""
    value, gradient = -L2 / 2 * float((theta**2).sum()), -L2 * theta
    for a, b in zip(types, tags, strict=True):
        scores = design[a] @ theta
        value += float(scores[b] - logsumexp(scores))
        gradient = gradient + np.outer(design[a], np.eye(theta.shape[1])[b] - np.exp(scores - logsumexp(scores)))
    return value, gradient


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_collapsed_equals_per_token(seed: int) -> None:
    design, types, tags = tokens(seed)
    counts = counted(types, tags, (7, 4))
    problem = _Problem(sparse.csr_array(design), counts.sum(axis=1), _constant(counts), L2, 6)
    point = np.random.default_rng(seed).normal(size=problem.reduce(np.zeros((9, 4))).shape)
    theta = problem.expand(point)
    np.testing.assert_allclose(problem.reduce(theta), point, atol=1e-12)
    value, gradient = problem(point)
    expected, expected_gradient = per_token(theta, design, types, tags)
    assert -value == pytest.approx(expected, rel=1e-10)
    # expand is linear: the chain rule applies its transpose to the gradient by θ.
    chained = np.array(
        [[(problem.expand(unit) * -expected_gradient).sum() for unit in row] for row in _units(point.shape)]
    )
    np.testing.assert_allclose(gradient, chained, atol=1e-10)


def _units(shape: tuple[int, int]) -> list[list[FloatArray]]:
    eye = np.eye(shape[0] * shape[1]).reshape(*shape, *shape)
    return [list(row) for row in eye]


def _squares(counts: FloatArray) -> Any:
    """Something that is not linear in log p: tokens in pairs of types, each pair with the same tag."""

    def objective(log_p: AnyArray) -> tuple[float, AnyArray]:
        joint = counts * (log_p + np.roll(log_p, 1, axis=0))
        row = logsumexp(joint, axis=1, keepdims=True)
        posterior = counts * np.exp(joint - row)
        return float(row.sum()), posterior + np.roll(posterior, -1, axis=0)

    return objective


def test_gradient_of_an_objective_by_differences() -> None:
    _, types, tags = tokens(1)
    counts = 1 + counted(types, tags, (7, 4))
    value_at = _squares(counts)

    def by_scores(scores: FloatArray) -> float:
        return float(value_at(log_softmax(scores, axis=1))[0])

    scores = np.random.default_rng(2).normal(size=(7, 4))
    _, expected = value_at(log_softmax(scores, axis=1))
    totals = expected.sum(axis=1)
    slope = expected - totals[:, None] * np.exp(log_softmax(scores, axis=1))
    units = np.eye(28).reshape(28, 7, 4)
    numeric = [(by_scores(scores + 1e-6 * unit) - by_scores(scores - 1e-6 * unit)) / 2e-6 for unit in units]
    np.testing.assert_allclose(slope.reshape(-1), numeric, atol=1e-6)
    # The same through a problem: its totals are those at this point.
    problem = _Problem(sparse.csr_array(np.eye(7)), totals, value_at, L2, 6)
    _, gradient = problem(scores)
    np.testing.assert_allclose(gradient, L2 * scores - slope, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_optimum_against_scipy(seed: int) -> None:
    design, types, tags = tokens(seed)
    counts = counted(types, tags, (7, 4))

    def negative(flat: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = per_token(flat.reshape(9, 4), design, types, tags)
        return -value, -gradient.reshape(-1)

    best = optimize.minimize(negative, np.zeros(36), jac=True, method="L-BFGS-B", options={"gtol": 1e-9, "ftol": 1e-15})
    matrix = sparse.csr_array(design)
    fit = fit_node(matrix, counts.sum(axis=1), counts, l2=L2, tolerance=1e-15, max_iterations=500)
    assert fit.converged
    assert fit.objective == pytest.approx(-best.fun, rel=1e-10)
    np.testing.assert_allclose(fit.theta, best.x.reshape(9, 4), atol=1e-5)
    assert (fit.theta[6] == 0).all()  # the empty column
    # Single precision ends in the same place, as does another start.
    single = fit_node(matrix.astype(np.float32), counts.sum(axis=1), counts, l2=L2, tolerance=1e-7, max_iterations=500)
    assert single.theta.dtype == np.float32
    np.testing.assert_allclose(single.theta, fit.theta, atol=5e-3)
    start = np.random.default_rng(seed).normal(size=(9, 4))
    warm = fit_node(matrix, counts.sum(axis=1), counts, l2=L2, start=start, tolerance=1e-15, max_iterations=500)
    np.testing.assert_allclose(warm.theta, fit.theta, atol=1e-5)


def test_an_objective_with_constant_counts_is_the_supervised_fit() -> None:
    design, types, tags = tokens(3)
    counts, matrix = counted(types, tags, (7, 4)), sparse.csr_array(design)
    plain = fit_node(matrix, counts.sum(axis=1), counts, tolerance=1e-12, max_iterations=300)
    seen = []

    def objective(log_p: AnyArray) -> tuple[float, AnyArray]:
        seen.append(log_p.shape)
        return float((counts * log_p).sum()), counts

    called = fit_node(matrix, counts.sum(axis=1), objective, tags=4, tolerance=1e-12, max_iterations=300)
    np.testing.assert_allclose(called.theta, plain.theta, atol=1e-9)
    assert len(seen) == called.evaluations
    assert set(seen) == {(7, 4)}  # the type without tokens is there as well


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(0, 8))
def test_merged_columns(seed: int, rows: int, columns: int) -> None:
    rng = np.random.default_rng(seed)
    design = (rng.random((rows, columns)) < 0.5).astype(np.float64)
    merged = MergedColumns.of(sparse.csr_array(design))
    different = {tuple(column) for column in design.T if column.any()}
    assert merged.matrix.shape == (rows, len(different))
    theta, point = rng.normal(size=(columns, 3)), rng.normal(size=(len(different), 3))
    np.testing.assert_allclose(merged.matrix @ merged.reduce(theta), design @ theta, atol=1e-12)
    np.testing.assert_allclose(design @ merged.expand(point), merged.matrix @ point, atol=1e-12)
    # The penalty stays the same: this is what makes the merged fit the same fit.
    assert (merged.expand(point) ** 2).sum() == pytest.approx((point**2).sum())


def test_columns_of_other_values_are_not_merged() -> None:
    merged = MergedColumns.of(sparse.csr_array([[2.0, 2.0], [1.0, 3.0]]))
    np.testing.assert_array_equal(merged.matrix.toarray(), [[2.0, 2.0], [1.0, 3.0]])


def test_extreme_scores_stay_finite() -> None:
    design = sparse.csr_array(np.array([[1.0, 0.0], [0.0, 1.0]], dtype=np.float32))
    theta = np.array([[1e4, -1e4, 0.0], [1e38, -1e38, 0.0]], dtype=np.float32)
    log_p = log_probabilities(design, theta)
    assert np.isfinite(log_p).all()
    np.testing.assert_allclose(np.exp(log_p.astype(np.float64)).sum(axis=1), 1, rtol=1e-6)


def test_log_probabilities_of_scores() -> None:
    theta = np.random.default_rng(4).normal(size=(5, 7))
    np.testing.assert_allclose(
        log_probabilities(sparse.csr_array(np.eye(5)), theta), log_softmax(theta, axis=1), atol=1e-13
    )


def test_unknown_words_through_features() -> None:
    words = ["walking", "talking", "running", "dogs", "cats", "houses"]
    features = TokenFeatures.learn(words)
    counts = np.repeat(np.eye(2)[[0, 0, 0, 1, 1, 1]], 5, axis=0).reshape(6, 5, 2).sum(axis=1)
    fit = fit_node(features.matrix(words), counts.sum(axis=1), counts)
    p = np.exp(log_probabilities(features.matrix(["jumping", "tables"]), fit.theta))
    assert p[0, 0] > 0.7
    assert p[1, 1] > 0.7


def test_same_bits_every_time() -> None:
    words = [f"w{i % 50}x{i}" for i in range(400)]
    design = TokenFeatures.learn(words).matrix(words)
    counts = np.random.default_rng(6).integers(0, 5, size=(400, 6)) + 1
    first, second = (fit_node(design, counts.sum(axis=1), counts, max_iterations=15) for _ in range(2))
    assert first.theta.tobytes() == second.theta.tobytes()


def test_steps_are_told_and_stopped() -> None:
    design, types, tags = tokens(5)
    counts, matrix = counted(types, tags, (7, 4)), sparse.csr_array(design)
    told: list[tuple[int, float]] = []
    thetas: list[AnyArray] = []

    def stop(theta: AnyArray) -> bool:
        thetas.append(theta)
        return len(thetas) == 3

    fit = fit_node(
        matrix, counts.sum(axis=1), counts, l2=L2, progress=lambda i, v: told.append((i, v)), stop=stop, tolerance=0
    )
    assert [step for step, _ in told] == [1, 2, 3]
    assert (fit.iterations, fit.converged) == (3, False)
    assert told[0][1] < told[1][1] < told[2][1] == fit.objective
    np.testing.assert_array_equal(thetas[-1], fit.theta)
    assert told[2][1] == pytest.approx(per_token(fit.theta, design, types, tags)[0], rel=1e-10)


def test_running_out_of_steps_shows() -> None:
    design, types, tags = tokens(5)
    counts = counted(types, tags, (7, 4))
    fit = fit_node(sparse.csr_array(design), counts.sum(axis=1), counts, max_iterations=2, tolerance=1e-12)
    assert (fit.iterations, fit.converged) == (2, False)


def test_descent_through_places_that_are_not_finite() -> None:
    def barrier(x: AnyArray) -> tuple[float, AnyArray]:
        if (x <= 0).any():
            return np.inf, np.zeros_like(x)
        return float((x - np.log(x)).sum()), 1 - 1 / x

    start = np.array([[0.01, 5.0]])
    # The guess of the curvature is far too small: the first steps fall outside and have to be shortened.
    found = minimise(barrier, start, lambda i: np.full((1, 2), 1e-2), memory=3, max_iterations=100, tolerance=1e-13)
    assert found.converged
    assert found.evaluations > found.iterations + 1
    np.testing.assert_allclose(found.point, [[1.0, 1.0]], atol=1e-5)


def test_descent_with_bends_that_point_down() -> None:
    # cos is not convex at the start: steps with negative curvature must not be remembered.
    found = minimise(
        lambda x: (float(np.cos(x).sum()), -np.sin(x)),
        np.array([[0.3, 6.0]]),
        lambda i: np.ones((1, 2)),
        memory=3,
        max_iterations=100,
        tolerance=1e-14,
    )
    assert found.value == pytest.approx(-2)
    assert found.converged


def test_bad_input() -> None:
    design, counts = sparse.csr_array(np.eye(2)), np.array([[1.0, 2.0], [0.0, 1.0]])
    with pytest.raises(InputError, match="l2 is 0"):
        fit_node(design, [3, 1], counts, l2=0)
    with pytest.raises(ShapeError, match="totals have shape"):
        fit_node(design, [3], counts)
    with pytest.raises(InputError, match="totals contain -1"):
        fit_node(design, [3, -1], counts)
    with pytest.raises(EmptyDataError, match="nothing to fit"):
        fit_node(design, [0, 0], 0 * counts)
    with pytest.raises(ShapeError, match="counts have shape"):
        fit_node(design, [3, 1], counts[:1])
    with pytest.raises(InputError, match="counts of type 0 sum to 3"):
        fit_node(design, [4, 1], counts)
    with pytest.raises(InputError, match="sum to nan"):
        fit_node(design, [3, 1], np.array([[1.0, np.nan], [0.0, 1.0]]))
    with pytest.raises(ShapeError, match="start has shape"):
        fit_node(design, [3, 1], counts, start=np.zeros((3, 2)))
    with pytest.raises(InputError, match="not finite"):
        fit_node(design, [3, 1], counts, start=np.full((2, 2), np.inf))
    with pytest.raises(InputError, match="tags is not given"):
        fit_node(design, [3, 1], lambda log_p: (0.0, counts))
    with pytest.raises(InputError, match="at the start is nan"):
        fit_node(design, [3, 1], lambda log_p: (np.nan, counts), tags=2)
