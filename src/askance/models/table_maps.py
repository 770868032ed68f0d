"""Linear maps between the potentials of some scopes and the cells of a table that has their variables.

Potentials are the tables of the scopes, one after the other, cells in C order of each one's variables. All arrays have
a leading batch axis B.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, groupby, pairwise
from typing import Protocol

import numpy as np

from askance._arrays import FloatArray, IntArray
from askance.models.junction_tree import count_cells

# One matrix from potentials to cells is used up to this many entries; larger tables are cut in two halves.
_DENSE_ENTRIES = 1 << 13
# Products of so many multiplications are done by one thread: among several they take longer on a busy machine.
_ONE_THREAD = 1 << 18


def cells_within(sizes: Sequence[int], variables: Sequence[int], scope: Iterable[int]) -> IntArray:
    """For every cell of the table of `variables`, the cell of the table of `scope` (some of them) it lies in.

    >>> cells_within([2, 3], [0, 1], [1])
    array([0, 1, 2, 0, 1, 2])
    """
    index = np.zeros([sizes[v] for v in variables], dtype=np.int64)
    for v in scope:
        shape = [sizes[v] if other == v else 1 for other in variables]
        index = index * sizes[v] + np.arange(sizes[v]).reshape(shape)
    return index.ravel()


class TableMap(Protocol):
    """The linear map from the potentials of some scopes to the cells of one table that has all their variables."""

    def spread(self, potentials: FloatArray) -> FloatArray:
        """Σ over scopes of the potential of the cell's part in it: (B, potentials) to (B, cells)."""

    def collect(self, table: FloatArray) -> FloatArray:
        """The transpose: a table summed to the table of every scope: (B, cells) to (B, potentials)."""


def is_dense(potentials: int, cells: int) -> bool:
    """Whether so many potentials and cells are few enough for one matrix between them."""
    return potentials * cells <= _DENSE_ENTRIES


def table_map(sizes: Sequence[int], variables: Sequence[int], scopes: Sequence[tuple[int, ...]]) -> TableMap:
    """The map of a table: dense where it is small, by halves where it is large."""
    potentials = sum(count_cells(sizes, scope) for scope in scopes)
    if len(variables) < 2 or is_dense(potentials, count_cells(sizes, variables)):
        return DenseMap(sizes, variables, scopes)
    return HalvedMap(sizes, variables, scopes)


class DenseMap:
    """One matrix of zeros and ones, shape (potentials, cells)."""

    def __init__(self, sizes: Sequence[int], variables: Sequence[int], scopes: Sequence[tuple[int, ...]]) -> None:
        self._matrix = _incidence(sizes, [variables], [(scope, 0) for scope in scopes])

    def spread(self, potentials: FloatArray) -> FloatArray:
        """Potentials times the matrix."""
        return matrix_product(potentials, self._matrix)

    def collect(self, table: FloatArray) -> FloatArray:
        """The table times the transposed matrix."""
        return matrix_product(table, self._matrix.T)


class ShuffledMap:
    """Cells in another order: of tables with one scope each, which has all their variables."""

    def __init__(
        self, sizes: Sequence[int], tables: Sequence[Sequence[int]], scopes: Sequence[tuple[int, ...]]
    ) -> None:
        starts = accumulate((count_cells(sizes, scope) for scope in scopes), initial=0)
        cells = [cells_within(sizes, variables, scope) for variables, scope in zip(tables, scopes, strict=True)]
        self._cells = np.concatenate([start + own for start, own in zip(starts, cells, strict=False)])
        self._back = np.argsort(self._cells)

    def spread(self, potentials: FloatArray) -> FloatArray:
        """Every cell has its own potential."""
        return potentials.take(self._cells, axis=1)

    def collect(self, table: FloatArray) -> FloatArray:
        """The way back."""
        return table.take(self._back, axis=1)


class StackedMap(DenseMap):
    """The same for several tables, one after the other; scopes come with the position of their table."""

    def __init__(
        self, sizes: Sequence[int], tables: Sequence[Sequence[int]], scopes: Sequence[tuple[tuple[int, ...], int]]
    ) -> None:
        self._matrix = _incidence(sizes, tables, scopes)

    def add(self, part: FloatArray, table: FloatArray) -> None:
        """As `Projection.add`, where the scopes are separators and the tables their parents."""
        table += self.spread(part)

    sum = DenseMap.collect


def _incidence(
    sizes: Sequence[int], tables: Sequence[Sequence[int]], scopes: Sequence[tuple[tuple[int, ...], int]]
) -> FloatArray:
    """Which cell of every scope a cell of its table lies in: (all cells of scopes, all cells of tables)."""
    rows = [0, *accumulate(count_cells(sizes, scope) for scope, _ in scopes)]
    columns = [0, *accumulate(count_cells(sizes, variables) for variables in tables)]
    matrix = np.zeros((rows[-1], columns[-1]))
    for row, (scope, home) in zip(rows, scopes, strict=False):
        within = cells_within(sizes, tables[home], scope)
        matrix[row + within, columns[home] + np.arange(len(within))] = 1
    return matrix


class HalvedMap:
    """The table as a matrix: the first variables along its rows, the others along its columns.

    Scopes within one half become a vector, by a map of their own. Scopes across become U Θ Wᵀ: U tells which cells of
    their row parts a row lies in (zeros and ones), W the same of columns, and Θ holds the potentials. A table of 3¹⁰
    cells with 25 pairs across costs a product of 243 × 15 by 15 × 243 entries instead of 25 sweeps.
    """

    def __init__(self, sizes: Sequence[int], variables: Sequence[int], scopes: Sequence[tuple[int, ...]]) -> None:
        cut = min(range(1, len(variables)), key=lambda k: max(count_cells(sizes, v) for v in _halves(variables, k)))
        halves = _halves(variables, cut)
        starts = [0, *accumulate(count_cells(sizes, scope) for scope in scopes)]
        positions = [np.arange(start, end) for start, end in pairwise(starts)]
        self._size, self._shape = starts[-1], tuple(count_cells(sizes, half) for half in halves)
        inside: list[tuple[IntArray, TableMap]] = []
        for half in halves:
            own = [i for i, scope in enumerate(scopes) if set(scope) <= set(half)]
            where = np.concatenate([np.zeros(0, dtype=np.int64), *(positions[i] for i in own)])
            inside.append((where, table_map(sizes, half, [scopes[i] for i in own])))
        self._rows, self._columns = inside
        across = [i for i, scope in enumerate(scopes) if not any(set(scope) <= set(half) for half in halves)]
        self._across = np.concatenate([np.zeros(0, dtype=np.int64), *(positions[i] for i in across)])
        (self._left, first), (self._right, second) = (
            _indicators(sizes, half, [tuple(v for v in scopes[i] if v in half) for i in across]) for half in halves
        )
        self._parts, slots = (self._left.shape[1], self._right.shape[1]), []
        for i in across:
            down, right = ([v for v in scopes[i] if v in half] for half in halves)
            row = first[tuple(down)] + cells_within(sizes, scopes[i], down)
            slots.append(row * self._parts[1] + second[tuple(right)] + cells_within(sizes, scopes[i], right))
        self._slots = np.concatenate([np.zeros(0, dtype=np.int64), *slots])

    def spread(self, potentials: FloatArray) -> FloatArray:
        """U Θ Wᵀ, plus what depends on the row or the column alone."""
        batch, (height, width), (a, b) = len(potentials), self._shape, self._parts
        theta = np.zeros((batch, a * b))
        theta[:, self._slots] = potentials[:, self._across]
        left = self._left @ theta.reshape(batch, a, b)
        table = matrix_product(left.reshape(batch * height, b), self._right.T).reshape(batch, height, width)
        table += self._rows[1].spread(potentials[:, self._rows[0]])[:, :, None]
        table += self._columns[1].spread(potentials[:, self._columns[0]])[:, None, :]
        return table.reshape(batch, -1)

    def collect(self, table: FloatArray) -> FloatArray:
        """Uᵀ P W for the scopes across, and the sums of rows and columns for the others."""
        batch, (height, width), (a, b) = len(table), self._shape, self._parts
        matrix, out = table.reshape(batch, height, width), np.empty((batch, self._size))
        right = matrix_product(table.reshape(batch * height, width), self._right).reshape(batch, height, b)
        out[:, self._across] = (self._left.T @ right).reshape(batch, a * b)[:, self._slots]
        out[:, self._rows[0]] = self._rows[1].collect(matrix.sum(axis=2))
        out[:, self._columns[0]] = self._columns[1].collect(matrix.sum(axis=1))
        return out


def matrix_product(left: FloatArray, right: FloatArray) -> FloatArray:
    """The matrix product (n, m), by pieces that BLAS leaves to one thread, unless they were too thin or too many."""
    step = _ONE_THREAD // max(right.size, 1)
    if step < 16 < right.shape[1] and _ONE_THREAD < left.size * right.shape[1] <= 64 * _ONE_THREAD:
        middle = right.shape[1] // 2
        halves = [matrix_product(left, half) for half in (right[:, :middle], right[:, middle:])]
        return np.concatenate(halves, axis=1)
    if len(left) <= step or step < 16:
        return np.asarray(left @ right)
    out = np.empty((len(left), right.shape[1]))
    for start in range(0, len(left), step):
        np.matmul(left[start : start + step], right, out=out[start : start + step])
    return out


def _halves(variables: Sequence[int], cut: int) -> tuple[Sequence[int], Sequence[int]]:
    return variables[:cut], variables[cut:]


def _indicators(
    sizes: Sequence[int], half: Sequence[int], parts: Iterable[tuple[int, ...]]
) -> tuple[FloatArray, dict[tuple[int, ...], int]]:
    """Which cell of every part a cell of the half lies in, shape (cells, all cells of parts), and where parts begin."""
    starts: dict[tuple[int, ...], int] = {}
    width, cells = 0, count_cells(sizes, half)
    for part in dict.fromkeys(parts):
        starts[part] = width
        width += count_cells(sizes, part)
    matrix = np.zeros((cells, width))
    for part, start in starts.items():
        matrix[np.arange(cells), start + cells_within(sizes, half, part)] = 1
    return matrix, starts


class Projection:
    """Between a table and the table of some of its variables, kept in the same order; neighbouring axes are merged."""

    def __init__(self, sizes: Sequence[int], variables: Sequence[int], kept: Sequence[int]) -> None:
        runs = [(keep, count_cells(sizes, run)) for keep, run in groupby(variables, key=frozenset(kept).__contains__)]
        self._full = tuple(cells for _, cells in runs)
        self._part = tuple(cells if keep else 1 for keep, cells in runs)
        self._summed = tuple(axis for axis, (keep, _) in enumerate(runs, start=1) if not keep)

    def add(self, part: FloatArray, table: FloatArray) -> None:
        """Add a part (B, its cells) to every cell of the table (B, cells) that lies in it, in place."""
        view = table.reshape(len(table), *self._full)
        view += part.reshape(len(part), *self._part)

    def sum(self, table: FloatArray) -> FloatArray:
        """The table summed to the part, (B, its cells)."""
        return np.asarray(table.reshape(len(table), *self._full).sum(axis=self._summed).reshape(len(table), -1))
