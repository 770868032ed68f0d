"""How much every parameter matters when designs are compared."""

from __future__ import annotations

import numpy as np

from askance._arrays import ArrayLike, FloatArray
from askance._checks import as_floats, shown
from askance.errors import InputError


def read_weights(weights: ArrayLike | None, dimension: int) -> FloatArray:
    """W as a positive semidefinite matrix (d, d): from None (all alike), one number per parameter, or W itself.

    >>> read_weights([1.0, 4.0], 2)
    array([[1., 0.],
           [0., 4.]])
    """
    if weights is None:
        return np.eye(dimension)
    given = as_floats(weights, "weights")
    matrix = np.diag(given) if given.ndim == 1 else given
    usable = matrix.shape == (dimension, dimension) and np.isfinite(matrix).all() and np.array_equal(matrix, matrix.T)
    if not usable or np.linalg.eigvalsh(matrix).min() < -1e-12 * np.abs(matrix).max() or not np.trace(matrix) > 0:
        raise InputError(
            f"weights are {shown(given.tolist())}; allowed: {dimension} numbers of at least 0, not all 0, or a "
            f"positive semidefinite matrix of shape ({dimension}, {dimension}).",
            remedy="Give one weight per parameter.",
        )
    return matrix
