"""Arithmetic on large tables of numbers, where NumPy's own would be slow or imprecise."""

from __future__ import annotations

import numpy as np

from askance._arrays import AnyArray

# Entries of a sum that are added in the type of the array.
_PIECE = 4096


def dot(left: AnyArray, right: AnyArray) -> float:
    """Sum of products of two tables: pieces in the type of the tables, their sum in float64.

    >>> dot(np.ones((100_000, 2), dtype=np.float32), np.full((100_000, 2), 0.5, dtype=np.float32))
    100000.0
    """
    flat, other = left.reshape(-1), right.reshape(-1)
    whole = len(flat) - len(flat) % _PIECE
    pieces = np.vecdot(flat[:whole].reshape(-1, _PIECE), other[:whole].reshape(-1, _PIECE))
    return float(pieces.sum(dtype=np.float64)) + float(np.dot(flat[whole:], other[whole:]))


def add_multiple(factor: float, left: AnyArray, right: AnyArray) -> None:
    """Add factor · left to right, in place; to tables without a copy."""
    if right.ndim == 1:  # a vector is short: SciPy takes longer to import than many fits of such take together
        right += factor * left
        return
    from scipy.linalg.blas import daxpy, saxpy

    (saxpy if right.dtype == np.float32 else daxpy)(left.reshape(-1), right.reshape(-1), a=factor)
