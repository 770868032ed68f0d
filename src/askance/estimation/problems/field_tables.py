"""A random field seen through tables: its own cliques, or any others of its variables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate, combinations, pairwise

import numpy as np

from askance._arrays import FloatArray, IntArray
from askance.models.random_field import RandomField
from askance.models.table_maps import cells_within
from askance.models.tree_inference import Beliefs, TreeInference

#: No matrix of parameters is made beyond this many of them: the solver does without, and there are no intervals.
MOST_PARAMETERS = 4000
# So many cells of tables are worked on at once, so that they stay in the processor's cache: 8 MiB.
_CELLS_AT_ONCE = 1 << 20
# Bytes of small things that come with every fit.
_OVERHEAD = 1 << 14


class MeasuredField:
    """A field and the tables of some cliques, which need not be its own.

    Tables that the field has no parameters for are added to it with parameters 0: their cells are then statistics like
    all others, and exact.

    Args:
        field: with d parameters.
        cliques: the variables of every measured table, by position.

    Attributes:
        whole: the field with all tables; its first d statistics are those of the field.
        index: where the measured cells lie among the statistics of `whole`, shape (m,).

    >>> chain = RandomField([2, 2, 2], [[0, 1], [1, 2]])
    >>> seen = MeasuredField(chain, [(1, 0), (0, 2)])
    >>> seen.mean(np.log([2.0, 1, 1, 2, 1, 1, 1, 1])).round(3)
    array([0.333, 0.167, 0.167, 0.333, 0.25 , 0.25 , 0.25 , 0.25 ])
    """

    def __init__(self, field: RandomField, cliques: Sequence[tuple[int, ...]]) -> None:
        known = {frozenset(clique) for clique in field.cliques}
        extra = [clique for clique in cliques if frozenset(clique) not in known]
        self.field = field
        self.whole = field if not extra else with_cliques(field, extra)
        places = [_cells(self.whole, clique) for clique in cliques]
        self.index: IntArray = np.concatenate(places)
        ends = [0, *accumulate(len(cells) for cells in places)]
        self._measured = [(tuple(c), slice(a, b)) for c, (a, b) in zip(cliques, pairwise(ends), strict=True)]
        self._weights = sum(len(cells) ** 2 for cells in places)  # entries of a matrix for every table
        self._is_own = self.whole is field and np.array_equal(self.index, np.arange(field.dimension))
        # One plan of all sums, asked directly: what is worked out for one θ serves its cells and their derivatives.
        self._plan = TreeInference(self.whole.tree, self.whole.cliques, self.whole.impossible)
        self._at_once = max(1, _CELLS_AT_ONCE // sum(self.whole.tree.cells))
        self._latest: tuple[bytes, Beliefs] | None = None

    def own_statistics(self, values: FloatArray) -> FloatArray:
        """Cells of the field's own cliques from those that were measured, shape (d,); NaN where no table has them.

        A clique that was not measured itself is summed from the smallest measured table that has all its variables.
        """
        sizes, statistics = self.field.sizes, np.full(self.field.dimension, np.nan)
        tables = sorted(self._measured, key=lambda table: math.prod(sizes[v] for v in table[0]))
        for number, clique in enumerate(self.field.cliques):
            for table, part in tables:
                if set(clique) <= set(table):
                    inside = cells_within(sizes, table, clique)
                    start, end = self.field.offsets[number], self.field.offsets[number + 1]
                    statistics[start:end] = np.bincount(inside, values[part], end - start)
                    break
        return statistics

    @property
    def cells(self) -> int:
        """Of all tables of the junction tree: what one sum over all records goes through."""
        return sum(self.whole.tree.cells)

    def memory_estimate(self) -> int:
        """Bytes that a fit takes at its peak, beside the evidence; nothing is allocated to tell.

        The tables for one θ, the weights of the measured tables, and the largest of three: what finds Cov φ, a batch of
        directions at a time with the tables of their slopes; the matrices (d, d) of the solver and the posterior; and
        what inverts the covariances of the measured tables.
        """
        d, matrices = self.whole.dimension, 5 * self.whole.dimension**2
        batch = min(self._at_once, d)
        finding = batch * (self.cells + self.cells // 10 + 5 * d) + 2 * d**2
        if self.field.dimension > MOST_PARAMETERS:
            finding, matrices = self.cells + 50 * d, 0  # one direction, and the solver's memory
        return (
            self.whole.memory_estimate() + 8 * (self._weights + max(finding, matrices, 6 * self._weights)) + _OVERHEAD
        )

    def _beliefs(self, theta: FloatArray) -> Beliefs:
        key = theta.tobytes()
        if self._latest is None or self._latest[0] != key:
            self._latest = None  # two sets of tables need not be there at once
            potentials = np.zeros((1, self.whole.dimension))
            potentials[0, : len(theta)] = theta
            self._latest = key, self._plan.beliefs(potentials)
        return self._latest[1]

    def log_partition(self, theta: FloatArray) -> float:
        """A(θ)."""
        return float(self._beliefs(theta).log_partition[0])

    def own_mean(self, theta: FloatArray) -> FloatArray:
        """The cells of the field's own cliques under p_θ, shape (d,)."""
        return np.asarray(self._beliefs(theta).means[0, : len(theta)])

    def mean(self, theta: FloatArray) -> FloatArray:
        """The measured cells under p_θ, shape (m,)."""
        means = self._beliefs(theta).means[0]
        return np.asarray(means if self._is_own else means[self.index])

    def pull_back(self, theta: FloatArray, direction: FloatArray) -> FloatArray:
        """Jᵀv with J = ∂mean/∂θ, for v (m,): shape (d,)."""
        vector = np.zeros((1, self.whole.dimension))
        vector[0, self.index] = direction
        return np.asarray(self._beliefs(theta).derivatives(vector)[0, : len(theta)])

    def _information(self, theta: FloatArray) -> FloatArray:
        return self._beliefs(theta).covariance(0, self._at_once)

    def jacobian(self, theta: FloatArray) -> FloatArray:
        """∂mean/∂θ = Cov(measured cells, φ), shape (m, d)."""
        return self._information(theta) if self._is_own else self._information(theta)[self.index, : len(theta)]

    def own_information(self, theta: FloatArray) -> FloatArray:
        """Cov φ under p_θ, shape (d, d)."""
        return self._information(theta)[: len(theta), : len(theta)]

    def covariance(self, theta: FloatArray) -> FloatArray:
        """Cov of the indicators of the measured cells under p_θ, shape (m, m)."""
        return self._information(theta) if self._is_own else self._information(theta)[np.ix_(self.index, self.index)]


def with_cliques(field: RandomField, extra: Sequence[tuple[int, ...]]) -> RandomField:
    """The same field with further tables, after its own."""
    labels = [known.labels for known in field.categories.values()]
    impossible = [{field.variables[v]: labels[v][code] for v, code in codes.items()} for codes in field.impossible]
    return RandomField(
        field.categories, [*field.cliques, *extra], impossible=impossible, largest_table=field.largest_table
    )


def _cells(field: RandomField, clique: tuple[int, ...]) -> IntArray:
    """Where the cells of a clique lie among the field's statistics, in the order of the clique as given."""
    number = [set(own) for own in field.cliques].index(set(clique))
    own = field.cliques[number]
    cells = np.arange(field.offsets[number], field.offsets[number + 1]).reshape(field.shapes[number])
    return cells.transpose([own.index(v) for v in clique]).ravel()


def free_parameters(field: RandomField) -> int:
    """How many numbers decide the distribution: Σ over all groups within cliques of Π (size − 1).

    Fewer than the cells of the tables: these overlap, and each sums to 1. Structural zeros may take away some more.

    >>> free_parameters(RandomField([2, 3, 2], [[0, 1], [1, 2]]))
    8
    """
    groups = {
        group
        for clique in field.cliques
        for k in range(1, len(clique) + 1)
        for group in combinations(sorted(clique), k)
    }
    return sum(math.prod(field.sizes[v] - 1 for v in group) for group in groups)
