"""Rank and null space of a large sparse matrix of counts.

Most of the elimination needs no arithmetic: a row with one entry left determines its column, and a column with one
entry left can be dropped together with its row. What remains (the core) is small, and goes through a Cholesky
factorisation with pivoting. A vector drawn at random from the null space then tells which columns are determined: those
where it is 0, with probability 1.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from askance._arrays import FloatArray, IntArray, SparseRows

#: Cores with more columns are not factorised: a few seconds, and 130 MB.
CORE_COLUMNS = 4000
# Of columns of norm 1: what is left of one after the others, squared, counts as nothing.
_NOTHING = 1e-9
# A sum of terms that cancel to this share of their sizes is 0.
_CANCELLED = 1e-7


@dataclass(frozen=True, eq=False)
class DesignRank:
    """What equations determine."""

    rank: int  # the rank; an upper bound where `settled` is False
    determined: npt.NDArray[np.bool_]  # whether each column has one solution, shape (columns,)
    free: IntArray  # columns that, once known, make all others known: as many as rank is short of columns
    core: tuple[int, int]  # rows and columns that were left to arithmetic
    settled: bool  # False where the core was too large; its columns then count as not determined


def design_rank(matrix: SparseRows, *, core_columns: int | None = None) -> DesignRank:
    """Rank and determined columns of a matrix of counts; a core of more columns (default: 4,000) is not factorised.

    >>> from scipy import sparse
    >>> found = design_rank(sparse.csr_array([[1, 0, 0], [1, 1, 1]]))
    >>> found.rank, found.determined, len(found.free)
    (2, array([ True, False, False]), 1)
    """
    peeled = _Peeled.of(matrix)
    rows, columns = peeled.core()
    vector, generator = np.zeros(matrix.shape[1]), np.random.default_rng(0)
    free = list(peeled.free)
    vector[free] = generator.uniform(1, 2, len(free))
    settled = len(columns) <= (CORE_COLUMNS if core_columns is None else core_columns)
    rank = len(peeled.known) + len(peeled.pivots)
    if len(columns) and settled:
        core_rank, dependent, null = _core(matrix[rows][:, columns].toarray(), generator)
        rank += core_rank
        free += columns[dependent].tolist()
        vector[columns] = null
    elif len(columns):
        rank += min(len(rows), len(columns))
        vector[columns] = generator.uniform(1, 2, len(columns))
    for row, column in reversed(peeled.pivots):
        entries = slice(matrix.indptr[row], matrix.indptr[row + 1])
        others, times = matrix.indices[entries], matrix.data[entries].astype(float)
        terms = times * vector[others] * (others != column)
        total = terms.sum()
        if abs(total) > _CANCELLED * np.abs(terms).sum():
            vector[column] = -total / times[others == column][0]
    return DesignRank(rank, vector == 0, np.array(sorted(free), dtype=np.int64), (len(rows), len(columns)), settled)


@dataclass
class _Peeled:
    """Elimination without arithmetic."""

    rows: list[set[int]]
    columns: list[set[int]]
    known: list[int] = field(default_factory=list)  # columns determined by a row that has nothing else left
    pivots: list[tuple[int, int]] = field(default_factory=list)  # row and column that were dropped together
    free: list[int] = field(default_factory=list)  # columns that were left without rows

    @classmethod
    def of(cls, matrix: SparseRows) -> _Peeled:
        by_column = matrix.tocsc()
        rows, columns = (
            [set(m.indices[a:b].tolist()) for a, b in zip(m.indptr[:-1], m.indptr[1:], strict=True)]
            for m in (matrix, by_column)
        )
        peeled = cls(rows, columns)
        peeled.free += [c for c, members in enumerate(columns) if not members]
        peeled._take_rows(deque(r for r, members in enumerate(rows) if len(members) == 1))
        peeled._take_columns(deque(c for c, members in enumerate(columns) if len(members) == 1))
        return peeled

    def core(self) -> tuple[IntArray, IntArray]:
        """Rows and columns that are left."""
        rows = [r for r, members in enumerate(self.rows) if members]
        columns = [c for c, members in enumerate(self.columns) if members]
        return np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64)

    def _take_rows(self, queue: deque[int]) -> None:
        while queue:
            row = queue.popleft()
            if len(self.rows[row]) != 1:
                continue
            column = next(iter(self.rows[row]))
            self.known.append(column)
            for other in self.columns[column]:
                self.rows[other].discard(column)
                if len(self.rows[other]) == 1:
                    queue.append(other)
            self.columns[column] = set()

    def _take_columns(self, queue: deque[int]) -> None:
        while queue:
            column = queue.popleft()
            if len(self.columns[column]) != 1:
                continue
            row = next(iter(self.columns[column]))
            self.pivots.append((row, column))
            for other in self.rows[row]:
                self.columns[other].discard(row)
                if len(self.columns[other]) == 1:
                    queue.append(other)
                elif other != column and not self.columns[other]:
                    self.free.append(other)
            self.rows[row] = set()


def _core(dense: FloatArray, generator: np.random.Generator) -> tuple[int, IntArray, FloatArray]:
    """Rank, columns that depend on the others, and a random vector of the null space."""
    from scipy.linalg import lapack, solve_triangular

    norms = np.sqrt((dense.astype(float) ** 2).sum(axis=0))
    scaled = dense / norms
    factor, pivots, rank, _ = lapack.dpstrf(scaled.T @ scaled, tol=_NOTHING, lower=1)
    order = pivots - 1
    chosen, dependent = order[:rank], order[rank:]
    null = np.zeros(dense.shape[1])
    if len(dependent):
        drawn = generator.uniform(1, 2, len(dependent))
        null[dependent] = drawn
        solution = solve_triangular(factor[:rank, :rank], factor[rank:, :rank].T @ drawn, lower=True, trans=1)
        null[chosen] = -np.where(np.abs(solution) > _CANCELLED * drawn.max(), solution, 0)
        null /= norms
    return int(rank), dependent.astype(np.int64), null
