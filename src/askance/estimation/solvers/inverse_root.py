"""Coordinates in which a curvature is that of a unit sphere."""

from __future__ import annotations

import numpy as np

from askance._arrays import FloatArray
from askance.models.table_maps import matrix_product

# Up to this many rows, one thread factorises a matrix whole.
_BLOCK = 64


def inverse_root(matrix: FloatArray) -> FloatArray:
    """R with RᵀR = M⁻¹, for a symmetric positive matrix M (d, d); of a singular one, as far as it can be told.

    >>> root = inverse_root(np.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> (root.T @ root * 3).round(9)
    array([[ 2., -1.],
           [-1.,  2.]])
    """
    try:
        return _triangular_root(matrix)
    except np.linalg.LinAlgError:  # singular to all digits
        values, vectors = np.linalg.eigh(matrix)
        return np.asarray((vectors / np.sqrt(np.maximum(values, 1e-14 * values[-1]))).T)


def _triangular_root(matrix: FloatArray) -> FloatArray:
    """By blocks, [[A, B], [Bᵀ, C]] from A and C − BᵀA⁻¹B, small enough for one thread.

    Several take ten times as long as one where the machine has something else to do.
    """
    if len(matrix) <= _BLOCK:
        return np.asarray(np.linalg.inv(np.linalg.cholesky(matrix)))
    half = len(matrix) // 2
    out = np.zeros_like(matrix)
    out[:half, :half] = first = _triangular_root(matrix[:half, :half])
    across = matrix_product(first, matrix[:half, half:])
    out[half:, half:] = second = _triangular_root(matrix[half:, half:] - matrix_product(across.T, across))
    out[half:, :half] = -matrix_product(second, matrix_product(across.T, first))
    return out
