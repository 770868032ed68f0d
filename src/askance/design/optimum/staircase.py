"""The observations an optimal channel can have: subsets of outputs, more likely by e^α where the truth is in them.

Every channel of level α is a mixture of channels with rows x_A B_A, B_A(y) = 1 + (e^α − 1)·1[y ∈ A], A a subset that is
neither empty nor everything: 2^m − 2 of them. A mixture tells no more than its parts do, so these rows suffice.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from askance._arrays import FloatArray, IntArray

#: Subsets as columns of truth values, shape (m, N).
Subsets: TypeAlias = NDArray[np.bool_]

# Subsets that are looked at in one go.
_CHUNK = 1 << 15
# Shares below this part of the largest are none.
_NONE = 1e-7
_SAME = 1e-13


def all_subsets(outputs: int) -> Subsets:
    """Every subset that is neither empty nor full, shape (m, 2^m − 2).

    >>> all_subsets(2).astype(int)
    array([[1, 0],
           [0, 1]])
    """
    return _of_codes(np.arange(1, (1 << outputs) - 1), outputs)


def chunks_of_subsets(outputs: int) -> Iterator[Subsets]:
    """`all_subsets` in pieces, for numbers of outputs where all at once would be too many."""
    for start in range(1, (1 << outputs) - 1, _CHUNK):
        yield _of_codes(np.arange(start, min(start + _CHUNK, (1 << outputs) - 1)), outputs)


def _of_codes(codes: NDArray[np.int64], outputs: int) -> Subsets:
    return np.asarray((codes >> np.arange(outputs)[:, None]) & 1, dtype=np.bool_)


def rows_of(subsets: Subsets, ratio: float) -> FloatArray:
    """B_A(y) as columns, shape (m, N)."""
    return np.where(subsets, ratio, 1.0)


def first_subsets(positions: FloatArray, rng: np.random.Generator, directions: int) -> Subsets:
    """Some subsets to start from: single outputs, all but one, and the outputs beyond a threshold in some direction.

    Args:
        positions: where outputs lie, shape (d, m): those close to each other are likely told together.
        rng: a seeded generator, of the directions; the optimum does not depend on it.
        directions: how many.
    """
    d, m = positions.shape
    subsets = [np.eye(m, dtype=bool), ~np.eye(m, dtype=bool)]
    for direction in np.concatenate([np.eye(d), rng.normal(size=(directions, d))]):
        order = np.argsort(direction @ positions, kind="stable")
        rank = np.empty(m, dtype=np.int64)
        rank[order] = np.arange(m)
        subsets += [rank[:, None] < np.arange(1, m), rank[:, None] >= np.arange(1, m)]
    return np.unique(np.concatenate(subsets, axis=1), axis=1)


def interior_start(subsets: Subsets, ratio: float) -> FloatArray:
    """Some x > 0 with Σ x_A B_A = 1, for subsets that hold all single outputs; shape (N,).

    Every subset gets a little, single outputs what is then missing.
    """
    m, size = subsets.shape
    single = subsets.sum(axis=0) == 1
    B = rows_of(subsets, ratio)
    rest = B[:, ~single].sum(axis=1)
    # Half of everything is left to single outputs, more where outputs would otherwise come out uneven.
    share = 0.5 / rest.max() if size > m else 0.0
    while True:
        missing = 1 - share * rest
        alone = (missing - missing.sum() / (ratio - 1 + m)) / (ratio - 1)
        if alone.min() > 0.1 * alone.max() or share < 1e-12:
            break
        share /= 2
    x = np.full(size, share)
    x[single] = alone[np.argmax(subsets[:, single], axis=0)]
    return x


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
