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
from itertools import accumulate, pairwise

import numpy as np

from askance._arrays import FloatArray, IntArray
from askance.models.beliefs import Beliefs as Beliefs
from askance.models.junction_tree import Assignment, JunctionTree, count_cells
from askance.models.table_maps import Projection, ShuffledMap, StackedMap, TableMap, is_dense, table_map

# Small tables are worked on together up to this many cells: the matrices between them stay small.
_STACKED_CELLS = 128


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
            stack.map.collect(array.reshape(len(array), -1)) for stack, array in zip(self.stacks, arrays, strict=True)
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
        is_small = is_dense(potentials[number], cells) and not apart
        is_small = is_small and (table.parent is None or tree.cells[table.parent] <= _STACKED_CELLS)
        group = latest.get(key, -1)
        if is_small and group >= 0 and (len(groups[group]) + 1) * cells <= _STACKED_CELLS:
            groups[group].append(number)
            place.append(group)
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
