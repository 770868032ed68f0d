"""Cliques of categorical variables: which cell of which table a record falls into."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import accumulate, product

import numpy as np

from askance._arrays import AnyArray, IntArray
from askance._checks import as_count, as_list, shown
from askance.channels.statistics.table_release import MOST_CELLS
from askance.errors import InputError

# No channel has more cells than this over all its tables.
_MOST_CELLS_IN_ALL = 1 << 24


class CliqueTables:
    """The tables of some groups of categorical variables ("cliques"), and the cells of records in them.

    Args:
        sizes: number of values of every variable.
        cliques: lists of variables (counted from 0; texts of digits will do), one for every table.

    Attributes:
        sizes: as given, a tuple.
        cliques: the variables of every table.
        shapes: their sizes.
        cells: the number of cells of every table, its product.
        offsets: where the cells of every table begin when tables are put one after the other; the last is their end.
    """

    def __init__(self, sizes: Iterable[int], cliques: Iterable[Iterable[int | str]]) -> None:
        listed = as_list(sizes, "sizes", "[2, 3, 2]", empty=False)
        self.sizes = tuple(as_count(size, f"sizes[{i}]", minimum=2) for i, size in enumerate(listed))
        self.cliques = _read_cliques(cliques, len(self.sizes))
        self.shapes = tuple(tuple(self.sizes[variable] for variable in clique) for clique in self.cliques)
        self.cells = _read_cells(self.cliques, self.shapes)
        self.offsets = [0, *accumulate(self.cells)]
        # Which variables make up the cells of every clique, and with what factors: rows (longest clique, cliques).
        longest = max(map(len, self.cliques))
        self._variables, self._factors = np.zeros((2, longest, len(self.cliques)), dtype=np.int64)
        for number, (clique, shape) in enumerate(zip(self.cliques, self.shapes, strict=True)):
            self._variables[: len(clique), number] = clique
            self._factors[: len(clique), number] = [math.prod(shape[i + 1 :]) for i in range(len(shape))]

    def number(self, clique: int | Sequence[int]) -> int:
        """The number of a clique, given as such or by its variables."""
        if isinstance(clique, (int, np.integer)):
            return as_count(clique, "clique", maximum=len(self.cliques) - 1)
        variables = tuple(as_list(clique, "clique", "[0, 1]"))
        if variables not in self.cliques:
            raise InputError(
                f"clique is {shown(list(variables))}; allowed: one of {shown(list(map(list, self.cliques)))}.",
                remedy="Give its number, or its variables in the order in which they were given.",
            )
        return self.cliques.index(variables)

    def names(self) -> tuple[str, ...]:
        """Variables and values of all cells, such as "0,1=2,0"."""
        return tuple(
            f"{','.join(map(str, clique))}={','.join(map(str, values))}"
            for clique, shape in zip(self.cliques, self.shapes, strict=True)
            for values in product(*map(range, shape))
        )

    def cells_of(self, records: AnyArray, clique: IntArray) -> IntArray:
        """The cell of record i in the table of clique[i], shape (n,)."""
        cell, rows = np.zeros(len(records), dtype=np.int64), np.arange(len(records))
        for variables, factors in zip(self._variables, self._factors, strict=True):
            cell += records[rows, variables[clique]] * factors[clique]
        return cell

    def cells_in_all(self, records: AnyArray) -> IntArray:
        """The cells of every record in all tables, shape (n, cliques)."""
        cells = np.zeros((len(records), len(self.cliques)), dtype=np.int64)
        for variables, factors in zip(self._variables, self._factors, strict=True):
            cells += records[:, variables] * factors
        return cells

    def covering_records(self) -> list[tuple[int, ...]]:
        """For every cell of every table a record in it, with 0 in all other variables; each record once."""
        records: dict[tuple[int, ...], None] = {}
        for clique, shape in zip(self.cliques, self.shapes, strict=True):
            for values in product(*map(range, shape)):
                record = [0] * len(self.sizes)
                for variable, value in zip(clique, values, strict=True):
                    record[variable] = value
                records[tuple(record)] = None
        return list(records)


def _read_cliques(listed: object, variables: int) -> tuple[tuple[int, ...], ...]:
    cliques: dict[frozenset[int], int] = {}
    result = []
    for i, entries in enumerate(as_list(listed, "cliques", "[[0, 1], [1, 2]]", empty=False)):
        name = f"cliques[{i}]"
        clique = tuple(_read_variable(entry, name, variables) for entry in as_list(entries, name, "[0, 1]"))
        if len(set(clique)) < max(len(clique), 1):
            raise InputError(
                argument=name,
                got=shown(list(clique)),
                allowed="at least one variable, each once",
                remedy="Give every variable of a clique once.",
            )
        first = cliques.setdefault(frozenset(clique), i)
        if first != i:
            raise InputError(
                f"has the variables of cliques[{first}], {shown(list(clique))}",
                argument=name,
                allowed="every clique once",
                remedy="Leave one of them out, and raise its clique probability instead.",
            )
        result.append(clique)
    return tuple(result)


def _read_variable(value: object, name: str, variables: int) -> int:
    text = value.strip() if isinstance(value, str) else ""
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else value
    if not isinstance(number, (int, np.integer)) or isinstance(number, bool) or not 0 <= number < variables:
        raise InputError(
            f"has the variable {shown(value)}",
            argument=name,
            allowed=f"0 to {variables - 1}",
            remedy="Count variables from 0, in the order of sizes.",
        )
    return int(number)


def _read_cells(cliques: Sequence[Sequence[int]], shapes: Sequence[Sequence[int]]) -> list[int]:
    """The number of cells of every table."""
    cells = [math.prod(shape) for shape in shapes]
    widest = max(cells)
    if widest > MOST_CELLS:
        raise InputError(
            f"the table of cliques[{cells.index(widest)}] {shown(list(cliques[cells.index(widest)]))} has {widest:,} "
            f"cells; allowed: at most {MOST_CELLS:,}.",
            remedy="Take smaller cliques, or join values of their variables.",
        )
    if sum(cells) > _MOST_CELLS_IN_ALL:
        raise InputError(
            f"the {len(cells):,} tables have {sum(cells):,} cells in all; allowed: at most {_MOST_CELLS_IN_ALL:,}.",
            remedy="Take fewer or smaller cliques.",
        )
    return cells
