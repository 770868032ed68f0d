"""Exact sums over all records by a junction tree: plans made once, then only NumPy work on tables.

Potentials are a vector: the tables of all scopes, one after the other, cells in C order of the scope's variables. Each
scope belongs to one table of the tree. Upwards, from the leaves, every table t gets

    log t(r, s) = Σ potentials + Σ messages of its children,    message(s) = log Σ_r t(r, s),

with r the cells of its residual and s those of its separator, and turns into the conditional probabilities p(r | s) =
exp(log t − message). The messages of the roots sum to log Z. Downwards p(r, s) = p(r | s) p(s), with p(s) summed from
the parent. Only positive numbers are multiplied and added on the way down, so small probabilities keep their digits.

All arrays have a leading batch axis: B sets of potentials are handled at once. Small tables of one shape at one depth
of the tree are stacked in one array: a tree of many small tables costs as many sweeps as it is deep.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby, pairwise
from typing import Protocol

import numpy as np

from askance._arrays import FloatArray, IntArray
from askance.models.beliefs import Beliefs as Beliefs
from askance.models.junction_tree import Assignment, JunctionTree, count_cells

# One matrix from potentials to cells is used up to this many entries; larger tables are cut in two halves.
_DENSE_ENTRIES = 1 << 13
# Products of so many multiplications are done by one thread: among several they take longer on a busy machine.
_ONE_THREAD = 1 << 18
# Small tables are worked on together up to this many cells: the matrices between them stay small.
_STACKED_CELLS = 128


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


# -- potentials and cells ----------------------------------------------------------------------------------------------


class TableMap(Protocol):
    """The linear map from the potentials of some scopes to the cells of one table that has all their variables."""

    def spread(self, potentials: FloatArray) -> FloatArray:
        """Σ over scopes of the potential of the cell's part in it: (B, potentials) to (B, cells)."""

    def collect(self, table: FloatArray) -> FloatArray:
        """The transpose: a table summed to the table of every scope: (B, cells) to (B, potentials)."""


def table_map(sizes: Sequence[int], variables: Sequence[int], scopes: Sequence[tuple[int, ...]]) -> TableMap:
    """The map of a table: dense where it is small, by halves where it is large."""
    potentials = sum(count_cells(sizes, scope) for scope in scopes)
    if len(variables) < 2 or potentials * count_cells(sizes, variables) <= _DENSE_ENTRIES:
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


# -- the tree ----------------------------------------------------------------------------------------------------------


class TreeInference:
    """The plan of all sums over the tables of a junction tree.

    Args:
        tree: has every scope, and the variables of every impossible assignment, in one of its tables.
        scopes: the variables of every table of potentials; no two have the same variables.
        impossible: assignments of some variables that have probability 0.

    >>> tree = JunctionTree([2, 2, 2], [[0, 1], [1, 2]])
    >>> beliefs = TreeInference(tree, [(0, 1), (1, 2)]).beliefs(np.log([[2.0, 1, 1, 2, 1, 1, 1, 1]]))
    >>> beliefs.log_partition, beliefs.means.round(4)
    (array([2.48490665]), array([[0.3333, 0.1667, 0.1667, 0.3333, 0.25 , 0.25 , 0.25 , 0.25 ]]))
    """

    def __init__(
        self, tree: JunctionTree, scopes: Sequence[tuple[int, ...]], impossible: Iterable[Assignment] = ()
    ) -> None:
        self.tree, self.scopes = tree, tuple(scopes)
        self.starts = [0, *accumulate(count_cells(tree.sizes, scope) for scope in scopes)]
        self.widths: IntArray = np.diff(self.starts)
        self.dimension: int = self.starts[-1]
        owned: list[list[int]] = [[] for _ in tree.tables]
        for i, scope in enumerate(scopes):
            owned[_home(tree, scope)].append(i)
        excluded = list(impossible)
        groups = _grouped(tree, [int(sum(self.widths[own])) for own in owned], apart=bool(excluded))
        #: By table, the number of its stack and its position there.
        self.places = {number: (i, k) for i, group in enumerate(groups) for k, number in enumerate(group)}
        # Potentials are put in the order of the stacks they belong to, so that each stack takes a slice.
        taken = [[i for number in group for i in owned[number]] for group in groups]
        parts = [np.arange(self.starts[i], self.starts[i + 1]) for own in taken for i in own]
        self.order: IntArray = np.concatenate([np.zeros(0, dtype=np.int64), *parts])
        self._back = np.argsort(self.order)
        ends = [0, *accumulate(int(sum(self.widths[own])) for own in taken)]
        self.stacks = [
            self._stack(group, [[self.scopes[i] for i in owned[number]] for number in group], slice(start, end))
            for group, (start, end) in zip(groups, pairwise(ends), strict=True)
        ]
        #: By stack, 0 for possible and −∞ for impossible cells, where it has such: tables are then alone.
        self.floors: dict[int, FloatArray] = {}
        for assignment in excluded:
            number = _home(tree, assignment)
            variables = tree.tables[number].variables
            floor = self.floors.setdefault(self.places[number][0], np.zeros(tree.cells[number]))
            at = tuple(assignment.get(v, slice(None)) for v in variables)
            floor.reshape([tree.sizes[v] for v in variables])[at] = -np.inf

    def _stack(self, group: Sequence[int], scopes: Sequence[Sequence[tuple[int, ...]]], part: slice) -> Stack:
        sizes, tables = self.tree.sizes, self.tree.tables
        own, first = [tables[number].variables for number in group], tables[group[0]]
        parent = None if first.parent is None else self.places[first.parent][0]
        above = [tables[number].variables for number, (stack, _) in self.places.items() if stack == parent]
        link: Projection | StackedMap | None = None
        if len(group) == len(above) == 1:
            link = Projection(sizes, above[0], first.separator)
        elif parent is not None:
            children = [tables[number] for number in group]
            link = StackedMap(sizes, above, [(t.separator, self.places[t.parent or 0][1]) for t in children])
        return Stack(
            shape=(len(group), count_cells(sizes, first.residual), count_cells(sizes, first.separator)),
            part=part,
            map=_stacked_map(sizes, own, scopes),
            parent=parent,
            link=link,
        )

    def spread(self, potentials: FloatArray) -> list[FloatArray]:
        """The potentials of every stack, each (B, cells)."""
        ordered = potentials.take(self.order, axis=1)
        return [stack.map.spread(ordered[:, stack.part]) for stack in self.stacks]

    def collect(self, arrays: Sequence[FloatArray]) -> FloatArray:
        """Stacks (B, …) summed to the tables of all scopes, (B, dimension)."""
        ordered = [
            stack.map.collect(each.reshape(len(each), -1)) for stack, each in zip(self.stacks, arrays, strict=True)
        ]
        return np.concatenate(ordered, axis=1).take(self._back, axis=1)

    def beliefs(self, potentials: FloatArray) -> Beliefs:
        """All probabilities for potentials (B, dimension)."""
        tables, batch = self.spread(potentials), len(potentials)
        log_partition = np.zeros(batch)
        for number, floor in self.floors.items():
            tables[number] += floor
        conditionals = [table.reshape(batch, *stack.shape) for table, stack in zip(tables, self.stacks, strict=True)]
        for conditional, stack in zip(reversed(conditionals), reversed(self.stacks), strict=True):
            message = _normalise(conditional, may_be_zero=bool(self.floors)).reshape(batch, -1)
            if stack.parent is None or stack.link is None:
                log_partition += message.sum(axis=1)
            else:
                stack.link.add(message, tables[stack.parent])
        return Beliefs(self, log_partition, conditionals)


@dataclass(frozen=True)
class Stack:
    """Tables of one shape that hang from tables of one other stack.

    Attributes:
        shape: number of tables, cells of the residual of each, cells of the separator of each.
        part: where their potentials lie among all, ordered.
        map: from these to the cells.
        parent: the number of the stack that they hang from, always below its own; None for roots.
        link: between all separators, one after the other, and the tables of that stack.
    """

    shape: tuple[int, int, int]
    part: slice
    map: TableMap
    parent: int | None
    link: Projection | StackedMap | None


def _stacked_map(
    sizes: Sequence[int], tables: Sequence[tuple[int, ...]], scopes: Sequence[Sequence[tuple[int, ...]]]
) -> TableMap:
    """The map of tables with some scopes each."""
    if all(len(own) == 1 and len(own[0]) == len(variables) for variables, own in zip(tables, scopes, strict=True)):
        return ShuffledMap(sizes, tables, [own[0] for own in scopes])
    if len(tables) == 1:
        return table_map(sizes, tables[0], scopes[0])
    return StackedMap(sizes, tables, [(scope, k) for k, own in enumerate(scopes) for scope in own])


def _grouped(tree: JunctionTree, potentials: Sequence[int], *, apart: bool) -> list[list[int]]:
    """The numbers of the tables of every stack, parents before children.

    Large tables are alone, and so are their children, and all where messages may be −∞, which no matrix can carry.
    """
    groups: list[list[int]] = []
    latest: dict[tuple[int, int, int], int] = {}
    place: list[int] = []
    for number, (table, cells) in enumerate(zip(tree.tables, tree.cells, strict=True)):
        above = -1 if table.parent is None else place[table.parent]
        key = above, count_cells(tree.sizes, table.residual), count_cells(tree.sizes, table.separator)
        is_small = potentials[number] * cells <= _DENSE_ENTRIES and not apart
        is_small = is_small and (table.parent is None or tree.cells[table.parent] <= _STACKED_CELLS)
        found = latest.get(key, -1)
        if is_small and found >= 0 and (len(groups[found]) + 1) * cells <= _STACKED_CELLS:
            groups[found].append(number)
            place.append(found)
            continue
        groups.append([number])
        place.append(len(groups) - 1)
        if is_small:
            latest[key] = place[-1]
    return groups


def _home(tree: JunctionTree, variables: Iterable[int]) -> int:
    number = tree.home(variables)
    assert number is not None  # the tree was built to cover all of them
    return number


def _normalise(table: FloatArray, *, may_be_zero: bool) -> FloatArray:
    """Turn log t(r, s) (B, T, r, s) into p(r | s) in place; returns the message log Σ_r t(r, s), shape (B, T, 1, s)."""
    if table.shape[3] == 1:  # a last axis of one value makes NumPy slow
        table = table[..., 0]
    top = np.maximum.reduce(table, axis=2, keepdims=True)
    if may_be_zero:
        top[np.isneginf(top)] = 0  # all of this column is impossible; its message will be −∞
    table -= top
    np.exp(table, out=table)
    total = np.add.reduce(table, axis=2, keepdims=True)
    if not may_be_zero:
        table /= total
        return np.asarray(top + np.log(total))
    table /= np.where(total == 0, 1, total)
    with np.errstate(divide="ignore"):
        return np.asarray(top + np.log(total))
