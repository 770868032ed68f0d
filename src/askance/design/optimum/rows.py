"""Few rows that carry the same: what is left of a design when nothing superfluous is."""

from __future__ import annotations

import numpy as np

from askance._arrays import FloatArray, IntArray

# Shares below this part of the largest are none.
_NONE = 1e-7
_SAME = 1e-13


def satisfying(rows: FloatArray, x: FloatArray) -> FloatArray:
    """The nearest x, relatively, with Σ x_A B_A = 1 to the last digits, for rows B_A as columns (m, N)."""
    for _ in range(4):
        missing = 1 - rows @ x
        x = x + x * (rows.T @ (np.linalg.pinv((rows * x) @ rows.T, rcond=_SAME, hermitian=True) @ missing))
    return x


def few_rows(rows: FloatArray, vectors: FloatArray, x: FloatArray) -> tuple[IntArray, FloatArray]:
    """A vertex of {x ≥ 0 : Σ x_A B_A and Σ x_A v_A v_Aᵀ as they are}: which rows it uses, and how much of each.

    It has at most as many rows as there are numbers to keep. Where the linear program fails, the rows stay as they are,
    without those that are not used.

    Args:
        rows: B_A as columns, shape (m, N).
        vectors: v_A as columns, shape (c, N).
        x: shape (N,).

    >>> few_rows(np.ones((1, 3)), np.ones((1, 3)), np.array([0.2, 0.3, 0.5]))[0].size
    1
    """
    from scipy.optimize import linprog

    used = np.flatnonzero(x > _NONE * x.max())
    i, j = np.triu_indices(len(vectors))
    keep = np.concatenate([rows[:, used], vectors[i][:, used] * vectors[j][:, used]])
    keep = keep / np.abs(keep).max(axis=1, keepdims=True).clip(1e-300)
    if used.size <= np.linalg.matrix_rank(keep):
        return used, x[used]
    scale = x.max()
    # Any objective leads to a vertex; this one likes rows that are large already.
    solved = linprog(1 / (1 + x[used] / scale), A_eq=keep, b_eq=keep @ x[used] / scale, method="highs")
    if solved.status != 0:
        return used, x[used]
    few = np.flatnonzero(solved.x > _NONE)
    return used[few], np.asarray(solved.x[few] * scale)
