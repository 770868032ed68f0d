"""Columns of a design that are the same, as one.

Let m columns of X be equal. A convex loss of X θ with the penalty λ/2 ‖θ‖² has its minimum where their coefficients are
equal, t each: they add m t to the scores and λ/2 · m t² to the penalty, which is what one column √m times as large does
with the coefficient u = √m t. So the fit with that one column is the same fit. Columns of zeros have coefficient 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from askance._arrays import AnyArray, IntArray, SparseColumns, SparseRows
from askance._kernels.splitmix import scattered


@dataclass(frozen=True, eq=False)
class MergedColumns:
    """A design whose equal columns became one.

    >>> from scipy import sparse
    >>> merged = MergedColumns.of(sparse.csr_array([[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 0.0]]))
    >>> merged.matrix.toarray().round(2), merged.group
    (array([[1.41, 0.  ],
           [0.  , 1.  ]]), array([0, 1, 0]))
    """

    # Shape (T, groups); a group of m columns is √m times one of them. Groups are ordered by the first row that they
    # appear in, so that rows find their coefficients close to each other.
    matrix: SparseRows
    used: IntArray  # numbers of the columns that are not zero
    group: IntArray  # the group of each of these
    roots: AnyArray  # √m of every group, shape (groups, 1)
    columns: int  # F, how many columns there were

    @classmethod
    def of(cls, design: SparseRows) -> MergedColumns:
        """Merge the columns of zeros and ones; a design with other values is taken as it is."""
        from scipy import sparse

        by_column = design.tocsc()
        by_column.sort_indices()
        heights = np.diff(by_column.indptr)
        used = np.flatnonzero(heights)
        first, group = _groups(by_column, used)
        sizes = np.bincount(group, minlength=len(first))
        roots = np.sqrt(sizes).astype(design.dtype)
        chosen = by_column[:, used[first]]
        values = chosen.data * np.repeat(roots, heights[used[first]])
        matrix = sparse.csc_array((values, chosen.indices, chosen.indptr), shape=chosen.shape).tocsr()
        return cls(matrix, used, group, roots[:, None], design.shape[1])

    def reduce(self, theta: AnyArray) -> AnyArray:
        """Coefficients of the groups, shape (groups, K), with the same scores as those of the columns, shape (F, K)."""
        from scipy import sparse

        ones, ends = np.ones(len(self.used), dtype=theta.dtype), np.arange(len(self.used) + 1)
        member = sparse.csr_array((ones, self.group, ends), shape=(len(self.used), len(self.roots)))
        return np.asarray(member.T @ theta[self.used]) / self.roots

    def expand(self, point: AnyArray) -> AnyArray:
        """Coefficients of the columns, shape (F, K), from those of the groups."""
        theta = np.zeros((self.columns, point.shape[1]), dtype=point.dtype)
        theta[self.used] = (point / self.roots)[self.group]
        return theta


def _groups(by_column: SparseColumns, used: IntArray) -> tuple[IntArray, IntArray]:
    """Position in `used` of the first column of every group, and the group of every used column."""
    starts, rows = by_column.indptr[used].astype(np.int64), by_column.indices
    alone = np.arange(len(used))
    if not len(used) or not (by_column.data == 1).all():
        return alone, alone
    keys = np.add.reduceat(scattered(by_column.shape[0])[rows], starts)
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(rows[starts[first]], kind="stable")
    first, group = first[order], np.argsort(order)[group]
    heights = np.diff(by_column.indptr)[used]
    if (heights[first][group] != heights).any():  # two sets of rows with the same key: as good as never
        return alone, alone
    other = np.arange(len(rows)) + np.repeat(starts[first][group] - starts, heights)
    return (first, group) if np.array_equal(rows[other], rows) else (alone, alone)
