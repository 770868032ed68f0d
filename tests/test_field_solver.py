"""How random fields are fitted: stacked tables, starts, roots of curvatures, and the memory that it takes."""

from __future__ import annotations

import tracemalloc
from itertools import combinations, pairwise

import numpy as np
import pytest

from askance import CliqueRelease, Tally
from askance.channels.statistics.base import StatisticsChannel
from askance.estimation.field import estimate_field
from askance.estimation.problems import field_problem
from askance.estimation.problems.field_evidence import BlockMatrix, NoisyTables
from askance.estimation.problems.field_problem import FieldProblem
from askance.estimation.problems.field_tables import MeasuredField
from askance.estimation.solvers.inverse_root import inverse_root
from askance.models import tree_inference
from askance.models.junction_tree import JunctionTree
from askance.models.random_field import RandomField
from askance.models.tree_inference import TreeInference

TREE = RandomField([4] * 15, [((v - 1) // 2, v) for v in range(1, 15)])
PAIRS = RandomField([3] * 10, list(combinations(range(10), 2)))
LONG = RandomField([12] * 30, list(pairwise(range(30))))  # more parameters than there are matrices for
FIELDS = {
    "tree": TREE,
    "all pairs": PAIRS,
    "long chain": LONG,
    "triples": RandomField([4] * 5, list(combinations(range(5), 3))),
    "small": RandomField([2, 3, 2], [[0, 1], [1, 2]]),
}


def _tally(field: RandomField, n: int = 20_000) -> Tally[StatisticsChannel]:
    rng = np.random.default_rng(0)
    channel = CliqueRelease(field.sizes, field.cliques, 4)
    records = field.sample(0.5 * rng.normal(size=field.dimension), n, rng)
    return Tally(channel).add(channel.simulate(records, rng))


# -- stacks ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("forest", [False, True])
def test_stacked_tables_say_the_same_as_single_ones(forest: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = [3, 2, 3, 3, 2, 3, 3, 2, 5, 5]
    scopes = [(0, 1), (2, 0), (3, 0), (1,), (5, 3), (3, 6), (4, 5)] if forest else [(v // 2, v) for v in range(1, 10)]
    tree, rng = JunctionTree(sizes, scopes), np.random.default_rng(3)
    stacked = TreeInference(tree, scopes)
    monkeypatch.setattr(tree_inference, "_STACKED_CELLS", 0)
    single = TreeInference(tree, scopes)
    assert len(stacked.stacks) < len(single.stacks) == len(tree.tables)
    potentials, directions = rng.normal(size=(3, stacked.dimension)), rng.normal(size=(4, stacked.dimension))
    one, other = stacked.beliefs(potentials), single.beliefs(potentials)
    np.testing.assert_allclose(one.log_partition, other.log_partition, rtol=1e-13)
    np.testing.assert_allclose(one.means, other.means, rtol=1e-12)
    for number, table in enumerate(one.marginals):
        np.testing.assert_allclose(table, other.marginals[number], rtol=1e-12)
        np.testing.assert_allclose(one.conditionals[number], other.conditionals[number], rtol=1e-12)
    np.testing.assert_allclose(one.derivatives(directions, 2), other.derivatives(directions, 2), atol=1e-13)
    np.testing.assert_allclose(one.entropy(), other.entropy(), rtol=1e-12)


def test_a_tree_takes_as_many_sweeps_as_it_is_deep() -> None:
    assert len(TreeInference(TREE.tree, TREE.cliques).stacks) == 4
    chain = JunctionTree([2] * 21, list(pairwise(range(21))))
    assert max(len(chain.path(number)) for number in range(20)) <= 11  # begun in the middle
    assert len(TreeInference(chain, list(pairwise(range(21)))).stacks) <= 11


# -- the solver --------------------------------------------------------------------------------------------------------


def test_exact_tables_of_a_tree_are_fitted_from_the_start() -> None:
    """Where the cliques are the tables of the tree, log p(residual | separator) has them, whatever their order."""
    rng = np.random.default_rng(5)
    means = TREE.mean_statistics(rng.normal(size=TREE.dimension))
    fit = estimate_field(TREE, NoisyTables(means, 1e-5, 1000), prior_scale=100, covariance=False)
    assert fit.converged
    assert fit.diagnostics.iterations <= 4
    np.testing.assert_allclose(fit.statistics, means, atol=1e-6)
    np.testing.assert_array_equal(fit.statistics, TREE.mean_statistics(fit.theta))


def test_it_does_not_matter_where_the_solver_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    tally = _tally(TREE)
    plain = estimate_field(TREE, tally)
    monkeypatch.setattr(FieldProblem, "_plain_start", lambda problem: None)
    ridge = estimate_field(TREE, tally)
    assert plain.diagnostics.iterations < ridge.diagnostics.iterations
    assert (np.abs(plain.statistics - ridge.statistics) / tally.standard_errors()).max() < 0.05


def test_without_matrices_the_fit_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    field = FIELDS["small"]
    tally = _tally(field)
    dense = estimate_field(field, tally)
    monkeypatch.setattr(field_problem, "MOST_PARAMETERS", 0)
    sparse = estimate_field(field, tally)
    assert sparse.converged
    assert np.isnan(sparse.covariance).all()
    assert (np.abs(dense.statistics - sparse.statistics) / tally.standard_errors()).max() < 0.05


@pytest.mark.parametrize("size", [2, 64, 65, 130, 300])
def test_roots_of_inverses(size: int) -> None:
    factor = np.random.default_rng(size).normal(size=(size, size + 5))
    matrix = factor @ factor.T
    root = inverse_root(matrix)
    np.testing.assert_allclose(root @ matrix @ root.T, np.eye(size), atol=1e-8)
    singular = matrix.copy()
    singular[:, -1] = singular[-1] = 0
    rest = inverse_root(singular)
    assert np.isfinite(rest).all()
    whole = (rest @ singular @ rest.T).trace()  # as many ones as there are directions left
    assert whole == pytest.approx(size - 1, abs=1e-6)


def test_blocks_of_all_shapes() -> None:
    rng = np.random.default_rng(1)
    shapes = [(2, 2), (3, 3), (3, 3), (4,), (4,), (1, 1)]
    blocks = [rng.normal(size=shape) for shape in shapes]
    whole, start = np.zeros((17, 17)), 0
    for block in blocks:
        part = slice(start, start + len(block))
        whole[part, part] = block if block.ndim == 2 else np.diag(block)
        start = part.stop
    matrix, many = BlockMatrix(blocks), rng.normal(size=(17, 5))
    np.testing.assert_allclose(matrix @ many, whole @ many, atol=1e-13)
    np.testing.assert_allclose(matrix @ many[:, 0], whole @ many[:, 0], atol=1e-13)
    assert BlockMatrix([np.diag([1.0, 0.0]), np.eye(2), np.array([0.0, 3.0])]).rank() == 4


# -- memory ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FIELDS)
def test_a_fit_takes_the_memory_announced(name: str) -> None:
    field = FIELDS[name]
    tally = _tally(field)
    estimate_field(FIELDS["small"], _tally(FIELDS["small"]))  # what is loaded when first needed is no part of it
    announced = MeasuredField(field, field.cliques).memory_estimate()
    fresh = RandomField(field.sizes, field.cliques)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        estimate_field(fresh, tally)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 0.9 * (peak - before) <= announced <= 2 * (peak - before)
