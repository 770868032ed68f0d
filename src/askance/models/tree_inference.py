"""Exact sums over all records by a junction tree: plans made once, then only NumPy work on tables.

Potentials are a vector: the tables of all scopes, one after the other, cells in C order of the scope's variables. Each
scope belongs to one table of the tree. Upwards, from the leaves, every table t gets

    log t(r, s) = Σ potentials + Σ messages of its children,    message(s) = log Σ_r t(r, s),

with r the cells of its residual and s those of its separator, and turns into the conditional probabilities p(r | s) =
exp(log t − message). The messages of the roots sum to log Z. Downwards p(r, s) = p(r | s) p(s), with p(s) summed from
the parent. Only positive numbers are multiplied and added on the way down, so small probabilities keep their digits.

All arrays have a leading batch axis: B sets of potentials are handled at once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import accumulate, groupby, pairwise
from typing import Any, Protocol, TypeAlias

import numpy as np

from askance._arrays import FloatArray, IntArray
from askance.models.junction_tree import Assignment, JunctionTree, count_cells

# One matrix from potentials to cells is used up to this many entries; larger tables are cut in two halves.
_DENSE_ENTRIES = 1 << 13
# Products of so many multiplications are done by one thread: among several they take longer on a busy machine.
_ONE_THREAD = 1 << 18

#: The table of some variables, shape (B, their sizes).
Factor: TypeAlias = tuple[tuple[int, ...], FloatArray]


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
        starts = [0, *accumulate(count_cells(sizes, scope) for scope in scopes)]
        cells = count_cells(sizes, variables)
        self._matrix = np.zeros((starts[-1], cells))
        for start, scope in zip(starts, scopes, strict=False):
            self._matrix[start + cells_within(sizes, variables, scope), np.arange(cells)] = 1

    def spread(self, potentials: FloatArray) -> FloatArray:
        """Potentials times the matrix."""
        return _product(potentials, self._matrix)

    def collect(self, table: FloatArray) -> FloatArray:
        """The table times the transposed matrix."""
        return _product(table, self._matrix.T)


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
        table = _product(left.reshape(batch * height, b), self._right.T).reshape(batch, height, width)
        table += self._rows[1].spread(potentials[:, self._rows[0]])[:, :, None]
        table += self._columns[1].spread(potentials[:, self._columns[0]])[:, None, :]
        return table.reshape(batch, -1)

    def collect(self, table: FloatArray) -> FloatArray:
        """Uᵀ P W for the scopes across, and the sums of rows and columns for the others."""
        batch, (height, width), (a, b) = len(table), self._shape, self._parts
        matrix, out = table.reshape(batch, height, width), np.empty((batch, self._size))
        right = _product(table.reshape(batch * height, width), self._right).reshape(batch, height, b)
        out[:, self._across] = (self._left.T @ right).reshape(batch, a * b)[:, self._slots]
        out[:, self._rows[0]] = self._rows[1].collect(matrix.sum(axis=2))
        out[:, self._columns[0]] = self._columns[1].collect(matrix.sum(axis=1))
        return out


def _product(left: FloatArray, right: FloatArray) -> FloatArray:
    """The matrix product (n, m), by pieces of rows that BLAS leaves to one thread, unless they were too thin."""
    step = _ONE_THREAD // max(right.size, 1)
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
        sizes, tables = tree.sizes, tree.tables
        self.starts = [0, *accumulate(count_cells(sizes, scope) for scope in scopes)]
        self.dimension: int = self.starts[-1]
        homes = [_home(tree, scope) for scope in scopes]
        owned = [[i for i, home in enumerate(homes) if home == number] for number in range(len(tables))]
        # Potentials are put in the order of the tables they belong to, so that each table takes a slice.
        parts = [np.arange(self.starts[i], self.starts[i + 1]) for own in owned for i in own]
        self.order: IntArray = np.concatenate([np.zeros(0, dtype=np.int64), *parts])
        ends = [0, *accumulate(sum(self.starts[i + 1] - self.starts[i] for i in own) for own in owned)]
        self.slices = [slice(start, end) for start, end in pairwise(ends)]
        self.maps: list[TableMap] = [
            table_map(sizes, table.variables, [self.scopes[i] for i in own])
            for table, own in zip(tables, owned, strict=True)
        ]
        self.projections = [
            None if table.parent is None else Projection(sizes, tables[table.parent].variables, table.separator)
            for table in tables
        ]
        self.shapes = [(count_cells(sizes, table.residual), count_cells(sizes, table.separator)) for table in tables]
        #: By table, 0 for possible and −∞ for impossible cells, where it has such.
        self.floors: dict[int, FloatArray] = {}
        for assignment in impossible:
            number = _home(tree, assignment)
            variables = tables[number].variables
            floor = self.floors.setdefault(number, np.zeros(tree.cells[number]))
            at = tuple(assignment.get(v, slice(None)) for v in variables)
            floor.reshape([sizes[v] for v in variables])[at] = -np.inf

    def spread(self, potentials: FloatArray) -> list[FloatArray]:
        """The potentials of every table, each (B, cells)."""
        ordered = potentials[:, self.order]
        return [each.spread(ordered[:, part]) for each, part in zip(self.maps, self.slices, strict=True)]

    def collect(self, tables: Sequence[FloatArray]) -> FloatArray:
        """Tables (B, …) summed to the tables of all scopes, (B, dimension)."""
        out = np.empty((len(tables[0]), self.dimension))
        for each, part, table in zip(self.maps, self.slices, tables, strict=True):
            out[:, self.order[part]] = each.collect(table.reshape(len(table), -1))
        return out

    def beliefs(self, potentials: FloatArray) -> Beliefs:
        """All probabilities for potentials (B, dimension)."""
        tables, log_partition = self.spread(potentials), np.zeros(len(potentials))
        for number, floor in self.floors.items():
            tables[number] += floor
        conditionals = [t.reshape(len(t), *shape) for t, shape in zip(tables, self.shapes, strict=True)]
        for number in reversed(range(len(tables))):
            message = _normalise(conditionals[number], may_be_zero=bool(self.floors))
            parent, projection = self.tree.tables[number].parent, self.projections[number]
            if parent is None or projection is None:
                log_partition += message[:, 0]
            else:
                projection.add(message, tables[parent])
        return Beliefs(self, log_partition, conditionals)


def _home(tree: JunctionTree, variables: Iterable[int]) -> int:
    number = tree.home(variables)
    assert number is not None  # the tree was built to cover all of them
    return number


def _normalise(table: FloatArray, *, may_be_zero: bool) -> FloatArray:
    """Turn log t(r, s) (B, r, s) into p(r | s) in place; returns the message log Σ_r t(r, s), shape (B, s)."""
    if table.shape[2] == 1:  # a last axis of one value makes NumPy slow
        table = table[:, :, 0]
    top = table.max(axis=1, keepdims=True)
    if may_be_zero:
        top[np.isneginf(top)] = 0  # all of this column is impossible; its message will be −∞
    table -= top
    np.exp(table, out=table)
    total = table.sum(axis=1, keepdims=True)
    if not may_be_zero:
        table /= total
        return np.asarray(top + np.log(total)).reshape(len(table), -1)
    table /= np.where(total == 0, 1, total)
    with np.errstate(divide="ignore"):
        return np.asarray(top + np.log(total)).reshape(len(table), -1)


class Beliefs:
    """Probabilities of the records for B sets of potentials.

    Attributes:
        log_partition: log Z, shape (B,).
        conditionals: by table p(residual | separator), shape (B, cells of the residual, cells of the separator).
    """

    def __init__(self, plan: TreeInference, log_partition: FloatArray, conditionals: list[FloatArray]) -> None:
        self._plan, self._tree = plan, plan.tree
        self.log_partition, self.conditionals = log_partition, conditionals

    @cached_property
    def _separators(self) -> list[FloatArray]:
        """By table p(separator), shape (B, 1, cells); filled in with the marginals."""
        return []

    @cached_property
    def marginals(self) -> list[FloatArray]:
        """By table p(residual, separator), shapes of the conditionals."""
        marginals: list[FloatArray] = []
        for table, projection, conditional in zip(
            self._tree.tables, self._plan.projections, self.conditionals, strict=True
        ):
            if table.parent is None or projection is None:
                self._separators.append(np.ones((len(conditional), 1, 1)))
                marginals.append(conditional)
            else:
                self._separators.append(projection.sum(marginals[table.parent])[:, None, :])
                marginals.append(conditional * self._separators[-1])
        return marginals

    @cached_property
    def means(self) -> FloatArray:
        """The probability of every cell of every scope, shape (B, dimension)."""
        return self._plan.collect(self.marginals)

    def entropy(self) -> FloatArray:
        """−Σ p log p in nats, shape (B,): Σ over tables of −Σ p(r, s) log p(r | s)."""
        from scipy.special import xlogy  # 0 log 0 = 0; loaded when first needed

        terms = [xlogy(p, q).sum(axis=(1, 2)) for p, q in zip(self.marginals, self.conditionals, strict=True)]
        return np.asarray(-np.sum(terms, axis=0))

    def derivatives(self, directions: FloatArray, row: int = 0) -> FloatArray:
        """Cov(φ, φᵀv) of one set of potentials: how its means change along each direction v.

        The derivative of both sweeps, with the conditional probabilities that are there already.

        Args:
            directions: shape (K, dimension).
            row: which of the B sets of potentials.

        Returns:
            shape (K, dimension).
        """
        plan, tables = self._plan, self._tree.tables
        # A constant over a scope changes nothing; what is near 0 on average leaves small covariances their digits when
        # nearly all probability is in one cell.
        centre = np.add.reduceat(directions * self.means[row], plan.starts[:-1], axis=1)
        centred = directions - np.repeat(centre, np.diff(plan.starts), axis=1)
        slopes = [t.reshape(len(t), *shape) for t, shape in zip(plan.spread(centred), plan.shapes, strict=True)]
        for number in reversed(range(len(tables))):
            conditional, slope = self.conditionals[number][row], slopes[number]
            message = np.einsum("krs,rs->ks", slope, conditional)
            slope -= message[:, None]
            parent, projection = tables[number].parent, plan.projections[number]
            if parent is not None and projection is not None:
                projection.add(message, slopes[parent])
        for number, (table, projection) in enumerate(zip(tables, plan.projections, strict=True)):
            if table.parent is not None and projection is not None:
                slopes[number] *= self._separators[number][row]
                slopes[number] += projection.sum(slopes[table.parent])[:, None, :]
            slopes[number] *= self.conditionals[number][row]
        return plan.collect(slopes)

    def covariance(self, row: int, step: int) -> FloatArray:
        """Cov φ of one set of potentials, shape (dimension, dimension), `step` columns at a time."""
        unit = np.eye(self._plan.dimension)
        parts = [self.derivatives(unit[i : i + step], row) for i in range(0, len(unit), step)]
        full = np.concatenate(parts)
        return np.asarray((full + full.T) / 2)

    # -- records ---------------------------------------------------------------------------------------------------

    def joint(self, variables: Sequence[int]) -> FloatArray:
        """p of some variables, shape (B, their sizes): summed from one table, or by elimination along the tree."""
        sizes, pending, done = self._tree.sizes, defaultdict[int, list[Factor]](list), list[Factor]()
        for step in self._tree.elimination(variables):
            table = self._tree.tables[step.table]
            values = (self.marginals if step.is_last else self.conditionals)[step.table]
            own = values.reshape(len(values), *(sizes[v] for v in table.variables))
            result = step.kept, _contract([(table.variables, own), *pending[step.table]], step.kept)
            if step.is_last or table.parent is None:
                done.append(result)
            else:
                pending[table.parent].append(result)
        return _contract(done, tuple(variables))

    def sample(self, rows: IntArray, rng: np.random.Generator) -> IntArray:
        """One record per entry of `rows`, which says whose of the B sets of potentials; shape (n, variables).

        From the roots down: the residual of every table given its separator, which is drawn already.
        """
        sizes = self._tree.sizes
        records = np.zeros((len(sizes), len(rows)), dtype=np.int64).T  # columns are written and read one by one
        for table, conditional in zip(self._tree.tables, self.conditionals, strict=True):
            given = np.zeros(len(rows), dtype=np.int64)
            for v in table.separator:
                given = given * sizes[v] + records[:, v]
            drawn = _draw(conditional, rows, given, rng.random(len(rows)))
            for v in reversed(table.residual):
                drawn, records[:, v] = np.divmod(drawn, sizes[v])
        return records


def _contract(factors: Sequence[Factor], kept: tuple[int, ...]) -> FloatArray:
    """The product of tables (B, …), summed over all variables but those kept."""
    labels = {v: i for i, v in enumerate(dict.fromkeys(v for names, _ in factors for v in names), start=1)}
    operands: list[Any] = []
    for names, table in factors:
        operands += [table, [0, *(labels[v] for v in names)]]
    return np.asarray(np.einsum(*operands, [0, *(labels[v] for v in kept)], optimize=len(factors) > 2))


def _draw(conditional: FloatArray, rows: IntArray, given: IntArray, uniform: FloatArray) -> IntArray:
    """The residual's cell of every record, by bisection of its cumulative probabilities; shape (n,)."""
    cumulative = conditional.cumsum(axis=1)
    total = cumulative[rows, -1, given]
    # Rounding must not lift the target to the total, beyond which there is no cell.
    target = np.minimum(uniform * total, np.nextafter(total, 0))
    if cumulative.size == cumulative.shape[1]:
        return np.asarray(np.searchsorted(cumulative[0, :, 0], target, side="right"))
    low, high = np.zeros((2, len(rows)), dtype=np.int64)
    high += cumulative.shape[1] - 1
    for _ in range(cumulative.shape[1].bit_length()):
        middle = (low + high) // 2
        beyond = cumulative[rows, middle, given] <= target
        low, high = np.where(beyond, middle + 1, low), np.where(beyond, high, middle)
    return low
