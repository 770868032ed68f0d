"""Random fields against brute force over all records, finite differences, and samples."""

from __future__ import annotations

import math
import tracemalloc
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.special import logsumexp
from scipy.stats import chi2

from askance._arrays import FloatArray
from askance.categories import LabelSet
from askance.errors import InputError, MissingValueError, ShapeError
from askance.models import HasFisherInformation, Model, random_field, table_maps
from askance.models.random_field import RandomField

# -- brute force -------------------------------------------------------------------------------------------------------


@dataclass
class Case:
    """A small field by its definition alone: all possible records and their statistics."""

    sizes: list[int]
    cliques: list[list[int]]
    impossible: list[dict[int, int]]
    seed: int
    scale: float

    def __post_init__(self) -> None:
        every = list(product(*map(range, self.sizes)))
        self.records = [y for y in every if not any(all(y[v] == c for v, c in a.items()) for a in self.impossible)]
        self.rng = np.random.default_rng(self.seed)

    def field(self, covariates: int | None = None) -> RandomField:
        return RandomField(self.sizes, self.cliques, impossible=self.impossible, covariates=covariates)

    def phi(self, y: tuple[int, ...], x: FloatArray | None = None) -> list[float]:
        """φ(x, y), written out cell by cell."""
        cells = [
            float(all(y[v] == value for v, value in zip(clique, values, strict=True)))
            for clique in self.cliques
            for values in product(*(range(self.sizes[v]) for v in clique))
        ]
        if x is not None:
            cells += [xj * (y[v] == value) for v, size in enumerate(self.sizes) for xj in x for value in range(size)]
        return cells

    def table(self, x: FloatArray | None = None) -> FloatArray:
        return np.array([self.phi(y, x) for y in self.records]).T

    def theta(self, dimension: int) -> FloatArray:
        return self.rng.normal(scale=self.scale, size=dimension)


@st.composite
def cases(draw: st.DrawFn, most: int = 6) -> Case:
    """Fields of at most 300 records: loops, separate parts, triples, structural zeros, variables in no clique."""
    sizes = draw(st.lists(st.integers(2, 4), min_size=1, max_size=most))
    while math.prod(sizes) > 300:
        sizes.pop()
    variables = st.integers(0, len(sizes) - 1)
    groups = st.lists(variables, min_size=1, max_size=3, unique=True)
    cliques = draw(st.lists(groups, min_size=1, max_size=7, unique_by=frozenset))
    scopes = draw(st.lists(groups, max_size=3))
    impossible = [{v: draw(st.integers(0, sizes[v] - 1)) for v in scope} for scope in scopes]
    case = Case(sizes, cliques, impossible, draw(st.integers(0, 2**32 - 1)), draw(st.sampled_from([0.3, 1.0, 6.0])))
    assume(case.records)
    return case


@pytest.fixture(params=[False, True], ids=["whole tables", "tables by halves"], autouse=True)
def _by_halves(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test runs with both ways of filling tables; small ones are not halved otherwise."""
    if request.param:
        monkeypatch.setattr(table_maps, "_DENSE_ENTRIES", 0)
        monkeypatch.setattr(random_field, "_CELLS_AT_ONCE", 40)


MANY = settings(deadline=None, max_examples=25)


def covariance(table: FloatArray, p: FloatArray) -> FloatArray:
    centred = table - (table @ p)[:, None]
    return (centred * p) @ centred.T


@MANY
@given(cases())
def test_everything_equals_brute_force(case: Case) -> None:
    field, table = case.field(), case.table()
    theta = case.theta(field.dimension)
    scores = theta @ table
    log_z = logsumexp(scores)
    p = np.exp(scores - log_z)
    assert field.log_partition(theta) == pytest.approx(log_z, rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(field.mean_statistics(theta), table @ p, rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(field.fisher_information(theta), covariance(table, p), rtol=1e-7, atol=1e-13)
    v = case.rng.normal(size=field.dimension)
    np.testing.assert_allclose(field.information_product(theta, v), covariance(table, p) @ v, atol=1e-12)
    np.testing.assert_array_equal(field.statistics(case.records), table.T)
    np.testing.assert_allclose(field.log_probability(theta, case.records), scores - log_z, atol=1e-11)
    assert field.entropy(theta) == pytest.approx(-(p * (scores - log_z)).sum(), abs=1e-11)
    value, gradient = field.totals(theta)
    assert value == field.log_partition(theta)
    np.testing.assert_array_equal(gradient, field.mean_statistics(theta))


@MANY
@given(cases())
def test_every_marginal_equals_brute_force(case: Case) -> None:
    field = case.field()
    theta = case.theta(field.dimension)
    scores = theta @ case.table()
    full = np.zeros(case.sizes)
    full[tuple(np.array(case.records).T)] = np.exp(scores - logsumexp(scores))
    for count in range(1, len(case.sizes) + 1):
        for chosen in combinations(range(len(case.sizes)), count):
            wanted = case.rng.permutation(chosen).tolist()
            others = tuple(v for v in range(len(case.sizes)) if v not in wanted)
            expected = full.sum(axis=others).transpose(np.argsort(np.argsort(wanted)))
            np.testing.assert_allclose(field.marginal(theta, wanted), expected, rtol=1e-9, atol=1e-14)


@MANY
@given(cases())
def test_impossible_records_and_the_enumerated_model(case: Case) -> None:
    field = case.field()
    theta, possible = case.theta(field.dimension), set(case.records)
    every = list(product(*map(range, case.sizes)))
    log_p = field.log_probability(theta, every)
    assert [bool(np.isfinite(value)) for value in log_p] == [y in possible for y in every]
    assert np.exp(log_p).sum() == pytest.approx(1)
    assert not set(every) - possible & set(map(tuple, field.sample(theta, 50, case.rng).tolist()))
    if len(possible) == 1:
        return
    model = field.enumerated()
    np.testing.assert_array_equal(model.table, case.table())
    assert model.parameter_names == field.parameter_names
    assert list(model.outputs.labels) == [",".join(map(str, y)) for y in case.records]
    np.testing.assert_allclose(model.log_probabilities(theta), log_p[np.isfinite(log_p)], atol=1e-11)


@MANY
@given(cases(most=4), st.integers(1, 3))
def test_covariates_equal_brute_force_row_by_row(case: Case, p: int) -> None:
    field = case.field(covariates=p)
    theta = case.theta(field.dimension)
    x = case.rng.normal(size=(5, p)).round(1)
    x[3] = x[0]
    log_z, means, information, scored, weights = [], [], [], [], case.rng.uniform(size=5)
    records = [case.records[i] for i in case.rng.integers(len(case.records), size=5)]
    for row, record in zip(x, records, strict=True):
        table = case.table(row)
        scores = theta @ table
        log_z.append(logsumexp(scores))
        probabilities = np.exp(scores - log_z[-1])
        means.append(table @ probabilities)
        information.append(covariance(table, probabilities))
        scored.append(np.dot(theta, case.phi(record, row)) - log_z[-1])
    np.testing.assert_allclose(field.log_partition(theta, x), log_z, atol=1e-11)
    np.testing.assert_allclose(field.mean_statistics(theta, x), means, rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(field.fisher_information(theta, x), information, rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(field.statistics(records, x), [case.phi(y, r) for y, r in zip(records, x, strict=True)])
    np.testing.assert_allclose(field.log_probability(theta, records, x), scored, atol=1e-10)
    value, gradient = field.totals(theta, x, weights)
    assert value == pytest.approx(weights @ log_z, abs=1e-10)
    np.testing.assert_allclose(gradient, weights @ np.array(means), atol=1e-11)
    total = np.einsum("n,nij->ij", weights, np.array(information))
    np.testing.assert_allclose(field.total_information(theta, x, weights), total, atol=1e-11)
    v = case.rng.normal(size=(2, field.dimension))
    np.testing.assert_allclose(field.information_product(theta, v, x), v @ np.sum(information, axis=0), atol=1e-10)
    wanted = list(range(len(case.sizes)))
    joint = field.marginal(theta, wanted, x)[4][tuple(np.array(case.records).T)]
    np.testing.assert_allclose(joint, probabilities, rtol=1e-9, atol=1e-14)
    if len(case.records) > 1:
        np.testing.assert_allclose(field.enumerated(x[1]).mean_statistics(theta), means[1], rtol=1e-9, atol=1e-13)
    assert np.shape(field.entropy(theta, x)) == (5,)


# -- fields that cannot be written out ---------------------------------------------------------------------------------


def grid(height: int, width: int) -> list[tuple[int, ...]]:
    right: list[tuple[int, ...]] = [(i * width + j, i * width + j + 1) for i in range(height) for j in range(width - 1)]
    return right + [(i * width + j, (i + 1) * width + j) for i in range(height - 1) for j in range(width)]


LARGE: dict[str, tuple[list[int], list[tuple[int, ...]]]] = {
    "5 × 4 grid": ([2, 3] * 10, grid(5, 4)),
    "all pairs of 8": ([2, 3] * 4, list(combinations(range(8), 2))),
    "cycle of triples": ([3] * 16, [(i, (i + 1) % 16, (i + 2) % 16) for i in range(16)]),
    "two parts": ([3] * 20, [(i, i + 1) for i in range(19) if i != 9]),
}


@pytest.mark.parametrize("name", LARGE)
def test_derivatives_of_large_fields_agree_with_finite_differences(name: str) -> None:
    sizes, cliques = LARGE[name]
    impossible: list[dict[int, int]] = [{cliques[0][0]: 0, cliques[0][1]: 1}, {cliques[1][0]: 1, cliques[1][1]: 1}]
    field, rng = RandomField(sizes, cliques, impossible=impossible), np.random.default_rng(3)
    theta, step = rng.normal(size=field.dimension), 1e-5
    directions = rng.normal(size=(4, field.dimension))
    around = np.concatenate([theta + step * directions, theta - step * directions])
    values, means = np.asarray(field.log_partition(around)), field.mean_statistics(around)
    slopes, bends = (values[:4] - values[4:]) / (2 * step), (means[:4] - means[4:]) / (2 * step)
    np.testing.assert_allclose(slopes, directions @ field.mean_statistics(theta), atol=1e-7)
    np.testing.assert_allclose(bends, field.information_product(theta, directions), atol=1e-7)
    one = field.information_product(theta, directions[2])
    np.testing.assert_allclose(one, field.information_product(theta, directions)[2], atol=1e-12)


def test_information_of_a_large_field_is_its_products() -> None:
    field, rng = RandomField(*LARGE["5 × 4 grid"]), np.random.default_rng(4)
    theta, v = rng.normal(size=field.dimension), rng.normal(size=field.dimension)
    information = field.fisher_information(theta)
    np.testing.assert_array_equal(information, information.T)
    np.testing.assert_allclose(information @ v, field.information_product(theta, v), atol=1e-11)
    assert np.linalg.eigvalsh(information)[0] > -1e-12


def test_many_parameters_at_once_are_each_as_alone() -> None:
    field, rng = RandomField([3, 2, 3], [[0, 1], [1, 2], [2, 0]]), np.random.default_rng(5)
    thetas = rng.normal(size=(7, field.dimension))
    for ask in (field.log_partition, field.mean_statistics, field.entropy):
        alone = np.array([ask(theta) for theta in thetas])
        np.testing.assert_allclose(np.asarray(ask(thetas)), alone, rtol=1e-12)
    np.testing.assert_allclose(field.marginal(thetas, [2]), [field.marginal(theta, [2]) for theta in thetas])
    assert np.shape(field.log_partition(thetas[:0])) == (0,)


# -- digits ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [30.0, 300.0, 3000.0])
def test_extreme_parameters_stay_finite_and_right(scale: float) -> None:
    case = Case([3, 2, 3, 2], [[0, 1], [1, 2], [2, 3], [3, 0]], [{0: 0, 2: 1}], 6, scale)
    field = case.field()
    theta, model = case.theta(field.dimension), case.field().enumerated()
    assert field.log_partition(theta) == pytest.approx(model.log_partition(theta), rel=1e-14)
    np.testing.assert_allclose(field.mean_statistics(theta), model.mean_statistics(theta), rtol=1e-9, atol=1e-300)
    assert np.isfinite(field.fisher_information(theta)).all()


@pytest.mark.parametrize("gap", [10.0, 23.0, 60.0, 300.0])
def test_information_keeps_its_digits_near_a_point_mass(gap: float) -> None:
    """Nearly all probability is in one record: 1 − p of its cells is summed from the other records."""
    field = RandomField([2, 2, 2], [[0, 1], [1, 2]])
    theta = np.array([gap, 0, 0, 0, gap, 0, 0, 0])
    records = np.array(list(product(range(2), repeat=3)))
    p = np.exp(field.log_probability(theta, records))
    exact = np.zeros((8, 8))
    phi = field.statistics(records)
    for i, j in combinations(range(8), 2):
        # Σ_{y,z} p(y) p(z) (φ_i(y) − φ_i(z)) (φ_j(y) − φ_j(z)) / 2 has no cancellation in its large terms.
        for y, z in combinations(range(8), 2):
            exact[i, j] += p[y] * p[z] * (phi[y, i] - phi[z, i]) * (phi[y, j] - phi[z, j])
    exact += exact.T
    for i in range(8):
        exact[i, i] = p[phi[:, i] == 1].sum() * p[phi[:, i] == 0].sum()
    scale = np.outer(np.sqrt(np.diag(exact)), np.sqrt(np.diag(exact)))
    np.testing.assert_allclose(field.fisher_information(theta) / scale, exact / scale, atol=1e-9)


# -- samples -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("impossible", [[], [{0: 1, 3: 0}]])
def test_samples_follow_the_probabilities(impossible: list[dict[int, int]]) -> None:
    """χ² over all records, with a false-alarm rate of 1e-6 in each case."""
    field = RandomField([2, 3, 2, 2, 3], [[0, 1], [1, 2], [2, 0], [2, 3]], impossible=impossible)
    theta, n = np.random.default_rng(7).normal(size=field.dimension), 40_000
    drawn = field.sample(theta, n, np.random.default_rng(8))
    assert drawn.shape == (n, 5)
    full = field.marginal(theta, range(5)).ravel()
    counts = np.bincount(np.ravel_multi_index(tuple(drawn.T), field.sizes), minlength=full.size)
    assert counts[full == 0].sum() == 0
    seen = full > 0
    expected = n * full[seen]
    assert ((counts[seen] - expected) ** 2 / expected).sum() < chi2.isf(1e-6, seen.sum() - 1)


def test_samples_with_covariates_follow_the_probabilities_of_their_rows() -> None:
    """χ² over all records of three rows, with a false-alarm rate of 1e-6 in all."""
    field = RandomField([2, 3, 2], [[0, 1], [1, 2]], covariates=["one", "age"])
    theta = np.random.default_rng(9).normal(size=field.dimension)
    x = np.array([[1.0, -1.0], [1.0, 0.0], [1.0, 2.0]])
    rows = np.random.default_rng(10).integers(3, size=30_000)
    drawn = field.sample(theta, len(rows), np.random.default_rng(11), x[rows])
    cells = np.bincount(rows * 12 + np.ravel_multi_index(tuple(drawn.T), field.sizes), minlength=36)
    expected = np.bincount(rows)[:, None] * field.marginal(theta, [0, 1, 2], x).reshape(3, 12)
    assert ((cells - expected.ravel()) ** 2 / expected.ravel()).sum() < chi2.isf(1e-6, 33)


def test_samples_are_reproducible_and_may_be_few() -> None:
    field = RandomField([2, 2], [[0, 1]])
    assert field.sample(np.zeros(4), 0, np.random.default_rng(1)).shape == (0, 2)
    first, second = (field.sample(np.zeros(4), 9, np.random.default_rng(1)) for _ in range(2))
    np.testing.assert_array_equal(first, second)


# -- names, codes and tables -------------------------------------------------------------------------------------------


def test_mean_statistics_are_the_marginals_of_the_cliques() -> None:
    variables: dict[str, LabelSet] = {"a": ["x", "y"], "b": 3, "c": 2}
    field = RandomField(variables, [["b", "a"], ["c"], ["c", "b"]])
    theta = np.random.default_rng(12).normal(size=field.dimension)
    for clique in (["b", "a"], ["c"], ["c", "b"]):
        np.testing.assert_allclose(
            field.table(field.mean_statistics(theta), clique), field.marginal(theta, clique), rtol=1e-12
        )


def test_a_variable_in_no_clique_is_uniform_over_its_possible_values() -> None:
    variables: dict[str, LabelSet] = {"a": 2, "b": ["u", "v", "w"]}
    field = RandomField(variables, [["a"]], impossible=[{"b": "v"}])
    np.testing.assert_allclose(field.marginal([1.0, 0.0], ["b"]), [0.5, 0, 0.5])
    assert field.log_partition([0.0, 0.0]) == pytest.approx(math.log(4))


def test_it_speaks_the_protocols() -> None:
    field = RandomField([2, 2], [[0, 1]])
    assert isinstance(field, Model)
    assert isinstance(field, HasFisherInformation)
    assert repr(field) == "RandomField(2 variables, 1 cliques: 0–1)"


def test_rows_that_are_used_again_are_sorted_out_once() -> None:
    field, rng = RandomField([2, 3], [[0, 1]], covariates=2), np.random.default_rng(13)
    x, theta, records = rng.integers(2, size=(20, 2)), rng.normal(size=16), rng.integers(2, size=(20, 2))
    rows = field.distinct_rows(x)
    assert len(rows.different) == 4
    np.testing.assert_array_equal(rows.different[rows.inverse], x)
    assert field.distinct_rows(rows) is rows
    for ask in (field.log_partition, field.mean_statistics, field.entropy, field.total_information):
        np.testing.assert_array_equal(np.asarray(ask(theta, rows)), np.asarray(ask(theta, x)))
    np.testing.assert_array_equal(field.log_probability(theta, records, rows), field.log_probability(theta, records, x))
    drawn = [field.sample(theta, 20, np.random.default_rng(1), given) for given in (x, rows)]
    np.testing.assert_array_equal(drawn[0], drawn[1])
    with pytest.raises(ShapeError, match=r"x has shape \(20, 2\); allowed: \(n, 1\)"):
        RandomField([2, 3], [[0, 1]], covariates=1).distinct_rows(rows)
    with pytest.raises(ShapeError, match="has no covariates"):
        RandomField([2, 3], [[0, 1]]).distinct_rows(None)


def test_covariates_may_be_sparse_and_are_named() -> None:
    field = RandomField([2, 2], [[0, 1]], covariates=2)
    assert field.terms == ("x0", "x1")
    none = np.zeros((0, 2))
    assert field.mean_statistics(np.zeros(12), none).shape == (0, 12)
    assert field.sample(np.zeros(12), 0, np.random.default_rng(1), none).shape == (0, 2)
    x, theta = np.array([[1.0, 0.0], [0.0, 2.0]]), np.arange(12.0)
    np.testing.assert_array_equal(field.mean_statistics(theta, csr_array(x)), field.mean_statistics(theta, x))


# -- memory and refusals -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sizes", "cliques", "impossible"),
    [
        ([2] * 17, list(combinations(range(17), 2)), []),
        ([2] * 17, list(combinations(range(17), 2)), [{0: 1, 1: 1}]),
        ([12] * 8, [(i, j) for i in range(8) for j in range(i + 1, min(i + 4, 8))], []),
    ],
    ids=["one table", "one table with zeros", "five tables"],
)
def test_memory_is_what_the_estimate_says(sizes: list[int], cliques: list[Any], impossible: list[Any]) -> None:
    tracemalloc.start()
    field = RandomField(sizes, cliques, impossible=impossible)
    field.mean_statistics(np.zeros(field.dimension))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak > 1 << 19
    assert 0.7 * peak < field.memory_estimate() < 1.05 * peak


def test_too_large_tables_are_refused_before_they_are_made() -> None:
    with pytest.raises(InputError) as refusal:
        RandomField([3] * 20, combinations(range(20), 2))
    text = str(refusal.value)
    assert "treewidth is 19" in text
    assert "0, 1, 2, 3" in text
    assert "3,486,784,401 cells (25.98 GiB); allowed: at most 67,108,864 cells (512 MiB)" in text
    assert "fewer cliques" in text
    assert "coarser categories" in text
    assert RandomField([3] * 20, [(i, i + 1) for i in range(19)]).memory_estimate() < 5_000
    with pytest.raises(InputError, match=r"has 9 cells \(72 bytes\); allowed: at most 8 cells"):
        RandomField([3, 3], [[0, 1]], largest_table=8)


def test_too_large_marginals_are_refused() -> None:
    field = RandomField([3] * 30, [(i, i + 1) for i in range(29)])
    theta = np.zeros(field.dimension)
    np.testing.assert_allclose(field.marginal(theta, [29, 0, 15]), 1 / 27)
    with pytest.raises(InputError, match=r"the joint distribution of 0, 1, .* a table has [\d,]+ cells"):
        field.marginal(theta, list(range(30)))


def test_what_would_fill_the_memory_is_refused() -> None:
    field = RandomField([3] * 12, [(i, i + 1) for i in range(11)])
    with pytest.raises(InputError, match="531,441 records; allowed: at most 65,536"):
        field.enumerated()
    field = RandomField([50, 50], [[0, 1]], covariates=1)
    with pytest.raises(InputError, match="Take total_information"):
        field.fisher_information(np.zeros(field.dimension), np.zeros((100, 1)))
    field = RandomField([200, 200], [[0, 1]])
    with pytest.raises(InputError, match=r"1 information matrices of 40,000 statistics take 11.92 GiB"):
        field.total_information(np.zeros(field.dimension))


PAIR: dict[str, Any] = {"variables": {"sex": ["m", "f"], "age": 3}, "cliques": [["sex", "age"]]}


def test_wrong_arguments_are_refused() -> None:
    plain, rng = RandomField(**PAIR), np.random.default_rng(1)
    zeros, x = np.zeros(6), np.zeros((2, 1))
    with_x = RandomField(**PAIR, covariates=1)
    more = np.zeros(11)
    refused: list[tuple[Any, tuple[Any, ...], type[Exception], str]] = [
        (plain.log_partition, (np.zeros(5),), ShapeError, r"theta has shape \(5,\); allowed: \(6,\)"),
        (plain.log_partition, (np.full(6, np.nan),), MissingValueError, "theta contains nan"),
        (plain.fisher_information, (np.zeros((2, 6)),), ShapeError, r"theta has shape \(2, 6\)"),
        (plain.mean_statistics, (zeros, x), ShapeError, "the field has no covariates"),
        (plain.table, (np.zeros(5), 0), ShapeError, r"values has shape \(5,\)"),
        (plain.table, (zeros, ["age", "sex"]), InputError, r"allowed: one of \[\['sex', 'age'\]\]"),
        (plain.marginal, (zeros, []), InputError, "at least one variable"),
        (plain.sample, (zeros, 5, 1), InputError, "rng is 1"),
        (plain.totals, (zeros, None, [1.0, 1.0]), ShapeError, r"weights has shape \(2,\); allowed: \(1,\)"),
        (plain.statistics, ([[0, 0]], x), ShapeError, "the field has no covariates"),
        (with_x.mean_statistics, (more,), ShapeError, "x is missing"),
        (with_x.mean_statistics, (more, np.zeros((2, 2))), ShapeError, r"x has shape \(2, 2\); allowed: \(n, 1\)"),
        (with_x.mean_statistics, (more, np.full((1, 1), np.inf)), MissingValueError, "x0 of row 0 of x is inf"),
        (with_x.sample, (more, 3, rng, x), ShapeError, "x has 2 rows for 3 records"),
        (with_x.log_probability, (more, [[0, 0]], x), ShapeError, "x has 2 rows for 1 records"),
    ]
    for method, arguments, error, message in refused:
        with pytest.raises(error, match=message):
            method(*arguments)
