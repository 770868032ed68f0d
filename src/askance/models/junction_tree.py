"""The junction tree through which a random field is summed.

In a junction tree small tables are joined so that sums over all records become sums over single tables. The graph of
the field joins the variables of every clique. They are eliminated one after the other; what an eliminated variable is
joined to at that moment forms, with it, a table. Tables that lie in no other one are joined in a tree along their
largest overlaps: each variable then lives in a connected part of it, and a table summed over its residual (what it does
not share with its parent) tells the parent all there is to know.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

#: Variables with one value each, by their codes: a combination that has probability 0.
Assignment: TypeAlias = dict[int, int]

#: The neighbours of every variable that is not yet eliminated.
Graph: TypeAlias = dict[int, set[int]]
#: The price of eliminating a variable next; the cheapest is taken.
Price: TypeAlias = Callable[[int, Graph], int]


@dataclass(frozen=True)
class TreeTable:
    """One table of the tree.

    Attributes:
        residual: the variables that it does not share with its parent, in ascending order.
        separator: those that it does, in the parent's order; none for a root.
        parent: the number of its parent, always below its own; None for a root.
    """

    residual: tuple[int, ...]
    separator: tuple[int, ...]
    parent: int | None

    @property
    def variables(self) -> tuple[int, ...]:
        """The axes of the table: residual, then separator."""
        return self.residual + self.separator


@dataclass(frozen=True)
class Step:
    """One table of an elimination: it is multiplied with what its children handed up, and summed.

    Attributes:
        table: its number.
        variables: of the product, whose cells are all gone through.
        kept: those that remain.
        is_last: whether the table is the uppermost of its part, and its marginal is taken instead of its conditional.
    """

    table: int
    variables: tuple[int, ...]
    kept: tuple[int, ...]
    is_last: bool


class JunctionTree:
    """A tree (or forest) of tables that contains every scope in one of them; nothing is allocated.

    Args:
        sizes: number of values of every variable.
        scopes: groups of variables that must share a table.

    Attributes:
        tables: parents before children; the largest table of every connected part is its root, of several the one
            nearest to its middle, so that the tree is not deep.
        cells: the number of cells of every table.
        owner: by variable, the number of the one table that has it in its residual.

    >>> tree = JunctionTree([2, 3, 2, 4], [[0, 1], [1, 2], [2, 0], [2, 3]])
    >>> [table.variables for table in tree.tables], tree.cells, tree.treewidth
    ([(0, 1, 2), (3, 2)], (12, 8), 2)
    """

    def __init__(self, sizes: Sequence[int], scopes: Iterable[Iterable[int]]) -> None:
        self.sizes = tuple(sizes)
        self.tables: tuple[TreeTable, ...] = _join(
            best_cover(self.sizes, [frozenset(scope) for scope in scopes]), sizes
        )
        self.cells: tuple[int, ...] = tuple(count_cells(self.sizes, table.variables) for table in self.tables)
        self.owner: dict[int, int] = {v: i for i, table in enumerate(self.tables) for v in table.residual}

    @property
    def treewidth(self) -> int:
        """The number of variables of the widest table, less one: of the tree that was found, perhaps not the best."""
        return max(len(table.variables) for table in self.tables) - 1

    @property
    def largest(self) -> int:
        """The number of the table with most cells."""
        return self.cells.index(max(self.cells))

    @property
    def memory(self) -> int:
        """Bytes of all tables for one θ: conditional probabilities of each, and marginals of those that are no root."""
        below = sum(cells for cells, table in zip(self.cells, self.tables, strict=True) if table.parent is not None)
        return 8 * (sum(self.cells) + below)

    def home(self, variables: Iterable[int]) -> int | None:
        """The number of the smallest table that has all the variables; None where there is none."""
        wanted = frozenset(variables)
        holders = [i for i, table in enumerate(self.tables) if wanted.issubset(table.variables)]
        return min(holders, key=self.cells.__getitem__, default=None)

    def path(self, number: int) -> list[int]:
        """From a table up to its root."""
        path = [number]
        while (parent := self.tables[path[-1]].parent) is not None:
            path.append(parent)
        return path

    def elimination(self, variables: Sequence[int]) -> list[Step]:
        """How the joint distribution of some variables is summed: children before parents, only where it matters.

        Tables below which none of the variables is wanted sum to 1 and are left out; above the table that all wanted
        ones of a connected part hang from, that table's marginal is known. Each part has one last step.
        """
        home = self.home(variables)
        if home is not None:
            return [Step(home, self.tables[home].variables, tuple(variables), is_last=True)]
        parts: dict[int, list[list[int]]] = {}
        for path in (self.path(self.owner[v]) for v in variables):
            parts.setdefault(path[-1], []).append(path)
        steps = []
        for paths in parts.values():
            uppermost = max(set.intersection(*map(set, paths)))
            handed: dict[int, list[int]] = {}
            for number in sorted({n for path in paths for n in path if n >= uppermost}, reverse=True):
                table, is_last = self.tables[number], number == uppermost
                product = tuple(dict.fromkeys([*table.variables, *handed.get(number, ())]))
                kept = tuple(v for v in product if v in variables or (v in table.separator and not is_last))
                steps.append(Step(number, product, kept, is_last))
                if table.parent is not None:
                    handed.setdefault(table.parent, []).extend(kept)
        return steps

    def __repr__(self) -> str:
        return f"JunctionTree({len(self.tables)} tables, {sum(self.cells):,} cells, treewidth {self.treewidth})"


def count_cells(sizes: Sequence[int], variables: Iterable[int]) -> int:
    """The number of cells of the table of some variables."""
    return math.prod(sizes[v] for v in variables)


# -- elimination -------------------------------------------------------------------------------------------------------


def best_cover(sizes: Sequence[int], scopes: Sequence[frozenset[int]]) -> list[frozenset[int]]:
    """Groups of variables, none within another, that cover all scopes and have the running-intersection property.

    Of several greedy orders of elimination the one with the fewest cells is taken. No rule wins on all graphs: few new
    neighbours (min-fill), few cells in the table made now, few cells in the tables of the new neighbours. Where all
    groups of the first rule lie within scopes, as in a tree, there are none better.
    """

    def missing(v: int, graph: Graph) -> list[tuple[int, int]]:
        return [(a, b) for a, b in combinations(graph[v], 2) if b not in graph[a]]

    def fill(v: int, graph: Graph) -> int:
        return len(missing(v, graph))

    def weighted_fill(v: int, graph: Graph) -> int:
        return sum(sizes[a] * sizes[b] for a, b in missing(v, graph))

    def cells(v: int, graph: Graph) -> int:
        return sizes[v] * count_cells(sizes, graph[v])

    first = eliminate(len(sizes), scopes, fill)
    if all(len(group) == 1 or any(group <= scope for scope in scopes) for group in first):
        return first
    covers = [first, *(eliminate(len(sizes), scopes, price) for price in (weighted_fill, cells))]
    return min(covers, key=lambda cover: sum(count_cells(sizes, group) for group in cover))


def eliminate(variables: int, scopes: Sequence[frozenset[int]], price: Price) -> list[frozenset[int]]:
    """The groups that arise when the variable with the least price is eliminated, again and again."""
    graph: Graph = {v: set() for v in range(variables)}
    for scope in scopes:
        for v in scope:
            graph[v] |= scope - {v}
    prices = {v: (price(v, graph), v) for v in graph}
    groups: list[frozenset[int]] = []
    while graph:
        chosen = min(prices, key=prices.__getitem__)
        around = graph.pop(chosen)
        del prices[chosen]
        group = frozenset(around | {chosen})
        for v in around:
            graph[v] = (graph[v] | around) - {v, chosen}
        # Only near the eliminated variable have neighbours, or edges between neighbours, changed.
        for v in around.union(*(graph[v] for v in around)):
            prices[v] = (price(v, graph), v)
        if not any(group <= earlier for earlier in groups):
            groups.append(group)
    return groups


def _join(groups: Sequence[frozenset[int]], sizes: Sequence[int]) -> tuple[TreeTable, ...]:
    """The groups as a tree of largest overlaps, from the largest table of each part down; of several the innermost."""
    cells = {group: count_cells(sizes, group) for group in groups}
    tree = _spanning(groups, lambda group: (cells[group], 0))
    inner = dict(zip([group for group, _ in tree], _layers([parent for _, parent in tree]), strict=True))
    tables: list[TreeTable] = []
    for group, parent in _spanning(groups, lambda group: (cells[group], inner[group])):
        above = () if parent is None else tables[parent].variables
        separator = tuple(v for v in above if v in group)
        tables.append(TreeTable(tuple(sorted(group.difference(separator))), separator, parent))
    return tuple(tables)


def _spanning(
    groups: Sequence[frozenset[int]], rank: Callable[[frozenset[int]], tuple[int, int]]
) -> list[tuple[frozenset[int], int | None]]:
    """Every group with the number of its parent, by Prim's algorithm; of groups that overlap alike the highest rank."""
    tree: list[tuple[frozenset[int], int | None]] = []
    parents: dict[frozenset[int], int | None] = dict.fromkeys(groups)
    overlaps = dict.fromkeys(groups, 0)
    while parents:
        group = max(parents, key=lambda g: (overlaps[g], rank(g)))
        tree.append((group, parents.pop(group)))
        for other in parents:
            shared = len(group & other)
            if shared > overlaps[other]:
                parents[other], overlaps[other] = len(tree) - 1, shared
    return tree


def _layers(parents: Sequence[int | None]) -> list[int]:
    """By member of a tree, how often all leaves are taken off before it is one: most in the middle.

    >>> _layers([None, 0, 1, 2, 3])
    [0, 1, 2, 1, 0]
    """
    near: list[set[int]] = [set() for _ in parents]
    for number, parent in enumerate(parents):
        if parent is not None:
            near[number].add(parent)
            near[parent].add(number)
    layers, turn = [0] * len(near), 0
    leaves = [number for number, others in enumerate(near) if len(others) <= 1]
    while leaves:
        after = []
        for number in leaves:
            layers[number] = turn
            for other in near[number]:
                near[other].discard(number)
                if len(near[other]) == 1:
                    after.append(other)
        leaves, turn = after, turn + 1
    return layers
