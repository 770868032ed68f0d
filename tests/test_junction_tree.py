"""The structure of random fields: junction trees, maps between potentials and tables, variables, cliques, records."""

from __future__ import annotations

import math
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askance.categories import LabelSet
from askance.channels.statistics import CliqueRelease
from askance.errors import AskanceError, InputError, LabelError, MissingValueError, ShapeError
from askance.models import table_maps
from askance.models.junction_tree import JunctionTree, count_cells
from askance.models.random_field import RandomField
from askance.models.table_maps import DenseMap, HalvedMap, Projection, cells_within
from askance.models.tree_inference import TreeInference


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[int], list[tuple[int, ...]]]:
    """Sizes and scopes: loops, separate parts and variables in no scope among them."""
    sizes = draw(st.lists(st.integers(2, 3), min_size=1, max_size=9))
    variables = st.integers(0, len(sizes) - 1)
    scopes = draw(st.lists(st.lists(variables, min_size=1, max_size=3, unique=True).map(tuple), max_size=12))
    return sizes, scopes


@given(graphs())
@settings(deadline=None, max_examples=60)
def test_it_is_a_junction_tree(graph: tuple[list[int], list[tuple[int, ...]]]) -> None:
    sizes, scopes = graph
    tree = JunctionTree(sizes, scopes)
    groups = [set(table.variables) for table in tree.tables]
    assert set.union(*groups) == set(range(len(sizes)))
    for scope in scopes:
        home = tree.home(scope)
        assert home is not None
        assert set(scope) <= groups[home]
        assert tree.cells[home] == min(c for c, group in zip(tree.cells, groups, strict=True) if set(scope) <= group)
    assert not any(a <= b for i, a in enumerate(groups) for j, b in enumerate(groups) if i != j)
    assert sorted(v for table in tree.tables for v in table.residual) == list(range(len(sizes)))
    for i, table in enumerate(tree.tables):
        assert table.parent is None or table.parent < i
        above = () if table.parent is None else tree.tables[table.parent].variables
        assert table.separator == tuple(v for v in above if v in table.variables)
        assert set(table.separator) == groups[i] & set(above)
    # Running intersection: what two tables share is in every table between them.
    for i, j in combinations(range(len(groups)), 2):
        up, down = tree.path(i), tree.path(j)
        if up[-1] != down[-1]:
            assert not groups[i] & groups[j]
        else:
            meet = max(set(up) & set(down))
            between = [n for n in up + down if n >= meet]
            assert all(groups[i] & groups[j] <= groups[n] for n in between)


@pytest.mark.parametrize(
    ("variables", "pairs", "treewidth"),
    [
        (15, [(i, (i - 1) // 2) for i in range(1, 15)], 1),
        (9, list(pairwise(range(9))), 1),
        (9, [(i, (i + 1) % 9) for i in range(9)], 2),
        (7, list(combinations(range(7), 2)), 6),
        (3, [], 0),
        (16, [(i, i + 1) for i in range(16) if i % 4 < 3] + [(i, i + 4) for i in range(12)], 4),
    ],
    ids=["binary tree", "chain", "cycle", "complete", "no edges", "4 × 4 grid"],
)
def test_known_treewidths(variables: int, pairs: list[tuple[int, int]], treewidth: int) -> None:
    assert JunctionTree([2] * variables, pairs).treewidth == treewidth


def test_large_variables_are_kept_out_of_large_tables() -> None:
    """A cycle with one variable of 50 values: every chord that ends there is dear."""
    sizes = [50] + [2] * 7
    tree = JunctionTree(sizes, [(i, (i + 1) % 8) for i in range(8)])
    assert sum(tree.cells) == 50 * 2 * 2 + 5 * 8
    assert sum(0 in table.variables for table in tree.tables) == 1


def test_the_largest_table_is_the_root_and_holds_no_second_copy() -> None:
    tree = JunctionTree([2, 2, 5, 5], [(0, 1), (1, 2), (2, 3)])
    assert set(tree.tables[0].variables) == {2, 3}
    assert tree.cells[0] == 25
    assert tree.largest == 0
    assert tree.memory == 8 * (25 + 2 * (10 + 4))
    assert repr(tree) == "JunctionTree(3 tables, 39 cells, treewidth 1)"


def test_elimination_goes_only_where_it_must() -> None:
    chain = JunctionTree([2] * 20, list(pairwise(range(20))))
    assert [set(step.variables) for step in chain.elimination([3, 4])] == [{3, 4}]
    steps = chain.elimination([3, 7])
    assert len(steps) <= 5
    assert max(count_cells(chain.sizes, step.variables) for step in steps) <= 8
    assert [step.is_last for step in steps] == [False] * (len(steps) - 1) + [True]
    parts = JunctionTree([2, 2, 2], [(0, 1)])
    assert sum(step.is_last for step in parts.elimination([0, 2])) == 2


@given(graphs(), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=40)
def test_maps_by_halves_are_the_dense_ones(graph: tuple[list[int], list[tuple[int, ...]]], seed: int) -> None:
    sizes, scopes = graph
    sizes, rng = sizes[:6], np.random.default_rng(seed)
    distinct = {frozenset(scope): scope for scope in scopes if max(scope) < len(sizes)}
    scopes, variables = list(distinct.values()), rng.permutation(len(sizes)).tolist()
    potentials = rng.normal(size=(3, sum(count_cells(sizes, scope) for scope in scopes)))
    table = rng.normal(size=(3, math.prod(sizes)))
    dense = DenseMap(sizes, variables, scopes)
    # By hand: axes in the order of the table.
    expected = np.zeros((3, *(sizes[v] for v in variables)))
    start = 0
    for scope in scopes:
        part = potentials[:, start : start + count_cells(sizes, scope)].reshape(3, *(sizes[v] for v in scope))
        order = sorted(range(len(scope)), key=lambda axis: variables.index(scope[axis]))
        shape = [sizes[v] if v in scope else 1 for v in variables]
        expected += part.transpose(0, *(axis + 1 for axis in order)).reshape(3, *shape)
        start += count_cells(sizes, scope)
    np.testing.assert_allclose(dense.spread(potentials), expected.reshape(3, -1), atol=1e-13)
    if len(sizes) > 1:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(table_maps, "_DENSE_ENTRIES", 0)
            patch.setattr(table_maps, "_ONE_THREAD", 16 * max(sizes))
            halved = HalvedMap(sizes, variables, scopes)
            np.testing.assert_allclose(halved.spread(potentials), dense.spread(potentials), atol=1e-13)
            np.testing.assert_allclose(halved.collect(table), dense.collect(table), atol=1e-12)
    left, right = (dense.spread(potentials) * table).sum(), (potentials * dense.collect(table)).sum()
    assert left == pytest.approx(right, abs=1e-10)


def test_projections_add_and_sum_along_any_axes() -> None:
    sizes, variables, kept = [2, 3, 2, 4], [2, 0, 1, 3], [2, 1]
    table, part = np.arange(2 * 48.0).reshape(2, 48), np.arange(12.0).reshape(2, 6)
    projection = Projection(sizes, variables, kept)
    np.testing.assert_array_equal(projection.sum(table), table.reshape(2, 2, 2, 3, 4).sum(axis=(2, 4)).reshape(2, 6))
    added = table.copy()
    projection.add(part, added)
    index = cells_within(sizes, variables, kept)
    np.testing.assert_array_equal(added, table + part[:, index])


def test_a_plan_without_potentials_counts_the_records() -> None:
    tree = JunctionTree([2, 3], [(0, 1)])
    plan = TreeInference(tree, [], [{0: 1, 1: 2}, {0: 0}])
    counted = plan.beliefs(np.zeros((4, 0)))
    np.testing.assert_allclose(np.exp(counted.log_partition), 2)
    assert counted.means.shape == (4, 0)
    np.testing.assert_allclose(counted.joint([1, 0])[0], [[0.0, 0.5], [0.0, 0.5], [0.0, 0.0]])


# -- variables, cliques and records ------------------------------------------------------------------------------------


def test_statistics_and_names_are_those_of_the_channel() -> None:
    sizes, cliques = [2, 3, 2], [[0, 1], [2, 1], [2], [0, 1, 2]]
    field, channel = RandomField(sizes, cliques), CliqueRelease(sizes, cliques, 1)
    records = np.array(list(product(*map(range, sizes))))
    np.testing.assert_array_equal(field.statistics(records), channel.statistics(records))
    assert field.parameter_names == channel.statistic_names
    values = np.arange(2.0 * field.dimension).reshape(2, -1)
    for clique in cliques:
        np.testing.assert_array_equal(field.table(values, clique), channel.table(values, clique))
    np.testing.assert_array_equal(field.table(values, 1), channel.table(values, 1))


NAMED: dict[str, LabelSet] = {"sex": ["m", "f"], "age": 3, "ill": [True, False]}


@pytest.mark.parametrize(
    "records",
    [
        {"sex": ["f", "m"], "age": [2, 0], "ill": [False, True]},
        {"ill": np.array([False, True]), "age": np.array([2, 0]), "sex": ("f", "m"), "other": [1, 2]},
        pd.DataFrame({"age": [2, 0], "sex": ["f", "m"], "ill": [False, True]}),
        pl.DataFrame({"age": [2, 0], "sex": ["f", "m"], "ill": [False, True]}),
        [[1, 2, 1], [0, 0, 0]],
        np.array([[1.0, 2.0, 1.0], [0.0, 0.0, 0.0]]),
        [["f", 2, False], ["m", 0, True]],
        np.array([["f", 2, False], ["m", 0, True]], dtype=object),
    ],
    ids=["columns", "arrays", "pandas", "polars", "codes", "floats", "rows of labels", "objects"],
)
def test_records_as_codes_and_labels(records: Any) -> None:
    field = RandomField(NAMED, [["sex", "age"], ["ill"]])
    codes = field.encode(records)
    np.testing.assert_array_equal(codes, [[1, 2, 1], [0, 0, 0]])
    labels = field.decode(codes)
    assert {name: column.tolist() for name, column in labels.items()} == {
        "sex": ["f", "m"],
        "age": [2, 0],
        "ill": [False, True],
    }


def test_names_of_parameters_stay_apart() -> None:
    variables: dict[str, LabelSet] = {"a": ["x,y", "z"], "b": [1, "1"]}
    field = RandomField(variables, [["a", "b"]], covariates=["one", "age"])
    assert field.parameter_names[:5] == ("a,b=0,0", "a,b=0,1", "a,b=1,0", "a,b=1,1", "a=0:one")
    assert len(set(field.parameter_names)) == field.dimension == 12
    theta = np.arange(12.0)
    np.testing.assert_array_equal(field.coefficients(theta, "b"), [[8, 9], [10, 11]])
    np.testing.assert_array_equal(field.coefficients(theta, 0), [[4, 5], [6, 7]])


PAIR: dict[str, Any] = {"variables": {"sex": ["m", "f"], "age": 3}, "cliques": [["sex", "age"]]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"variables": []}, "variables is empty"),
        ({"variables": [2, 1]}, r"variables\[1\] is 1"),
        ({"variables": {"a,b": 2}}, "a variable is called 'a,b'"),
        ({"variables": {"a": 1}}, "variable 'a' is 1"),
        ({"cliques": []}, "cliques is empty"),
        ({"cliques": [[]]}, r"cliques\[0\] is \[\]; allowed: at least one variable"),
        ({"cliques": [["sex", 0]]}, "each once"),
        ({"cliques": [[0, 1], ["age", "sex"]]}, r"cliques\[1\] has the variables of an earlier one"),
        ({"cliques": [["sexx"]]}, "Did you mean 'sex'"),
        ({"cliques": [[2]]}, "has the variable 2; allowed"),
        ({"cliques": [[True]]}, "has the variable True; allowed"),
        ({"cliques": "sex"}, "allowed: a list"),
        ({"impossible": [{}]}, r"impossible\[0\] is \{\}; allowed: a mapping"),
        ({"impossible": [{"sex": "x"}]}, r"impossible\[0\] is 'x'; allowed: 'm', 'f'"),
        ({"impossible": [{"sex": "m", 0: "f"}]}, "each once"),
        ({"impossible": [{"sex": "m"}, {"sex": "f"}]}, "leave no record possible"),
        ({"covariates": 0}, "covariates is 0"),
        ({"covariates": ["a", "a"]}, "at least one, all different"),
        ({"largest_table": 0}, "largest_table is 0"),
    ],
)
def test_fields_that_are_none_are_refused(change: dict[str, Any], message: str) -> None:
    arguments = {**PAIR, **change}
    with pytest.raises(AskanceError, match=message):
        RandomField(arguments.pop("variables"), arguments.pop("cliques"), **arguments)


@pytest.mark.parametrize(
    ("records", "error", "message"),
    [
        ([[0, 3]], LabelError, r"age\[0\] is none of the labels; allowed: 0, 1, 2"),
        ([[0, math.nan]], MissingValueError, r"age\[0\] is missing"),
        ([[0, 1, 2]], ShapeError, r"shape \(1, 3\)"),
        ({"sex": ["m"]}, InputError, "no column 'age'"),
        ({"sex": ["m"], "age": [1, 2]}, ShapeError, r"lengths \[1, 2\]"),
        ({"sex": ["q"], "age": [1]}, LabelError, r"sex\[0\] is none of the labels; allowed: 'm', 'f'"),
    ],
)
def test_wrong_records_are_refused(records: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        RandomField(**PAIR).encode(records)
