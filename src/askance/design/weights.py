"""How much every parameter matters when designs are compared."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from askance._arrays import ArrayLike, FloatArray
from askance._checks import as_floats, shown
from askance.errors import InputError
from askance.models.enumerated import Enumerated

#: None (all parameters alike), one number per parameter, W itself, or "shares": the shares of all outputs matter alike.
Weights: TypeAlias = ArrayLike | Literal["shares"] | None


def weights_at(weights: Weights, model: Enumerated, theta: FloatArray) -> FloatArray:
    """W at θ, shape (d, d): tr W Σ is the error, squared and summed, of what matters.

    "shares" is W = Σ_y ∇p_y ∇p_yᵀ, with which tr W Σ is the error of the shares of all outputs; it depends on θ.

    >>> weights_at("shares", Enumerated.saturated(2), np.zeros(1))
    array([[0.125]])
    """
    if isinstance(weights, str):
        if weights != "shares":
            raise InputError(
                f"are {shown(weights)}",
                argument="weights",
                allowed='numbers, a matrix, or "shares"',
                remedy='Give "shares" where the shares of the outputs matter rather than the parameters.',
            )
        slopes = share_slopes(model, theta)
        return np.asarray(slopes.T @ slopes)
    return read_weights(weights, model.dimension)


def share_slopes(model: Enumerated, theta: FloatArray) -> FloatArray:
    """∇p_θ(y) of every output, shape (m, d).

    >>> share_slopes(Enumerated.saturated(["no", "yes"]), np.zeros(1))
    array([[-0.25],
           [ 0.25]])
    """
    return np.asarray(model.probabilities(theta)[:, None] * (model.table.T - model.mean_statistics(theta)))


def read_weights(weights: ArrayLike | None, dimension: int) -> FloatArray:
    """W as a positive semidefinite matrix (d, d): from None (all alike), one number per parameter, or W itself.

    >>> read_weights([1.0, 4.0], 2)
    array([[1., 0.],
           [0., 4.]])
    """
    if weights is None:
        return np.eye(dimension)
    values = as_floats(weights, "weights")
    matrix = np.diag(values) if values.ndim == 1 else values
    usable = matrix.shape == (dimension, dimension) and np.isfinite(matrix).all() and np.array_equal(matrix, matrix.T)
    if not usable or np.linalg.eigvalsh(matrix).min() < -1e-12 * np.abs(matrix).max() or not np.trace(matrix) > 0:
        raise InputError(
            f"are {shown(values.tolist())}",
            argument="weights",
            allowed=f"{dimension} numbers of at least 0, not all 0, or a positive semidefinite matrix of shape "
            f"({dimension}, {dimension})",
            remedy="Give one weight per parameter.",
        )
    return matrix
