"""What every estimate must satisfy, whether it was worked out or read from a file."""

from __future__ import annotations

import numpy as np

from askance._arrays import FloatArray
from askance._checks import shown
from askance.errors import InputError, ShapeError

# Rounding may leave a covariance so far from symmetric, and its eigenvalues so far below 0, as a correlation.
_ROUNDING = 1e-6
_REMEDY = "Take it as askance gave it: it was altered or put together by hand."


def require_sound(theta: FloatArray, covariance: FloatArray, n_observations: object, privacy_level: float) -> None:
    """Refuse numbers that no estimate has: of a negative number of reports, say, or with a negative variance."""
    whole = isinstance(n_observations, (int, np.integer)) and not isinstance(n_observations, bool)
    if not whole or n_observations < 0:  # type: ignore[operator]
        raise InputError(
            f"the number of reports is {shown(n_observations)}; allowed: a whole number of at least 0.", remedy=_REMEDY
        )
    if not privacy_level >= 0:
        raise InputError(
            f"the privacy level is {shown(privacy_level)}; allowed: at least 0, or infinite.", remedy=_REMEDY
        )
    require_covariance(covariance, len(theta), "covariance")


def require_covariance(covariance: FloatArray, size: int, name: str) -> None:
    """Refuse what is no covariance (size, size): symmetric, no eigenvalue below 0; where it is unknown it is NaN.

    >>> require_covariance(np.array([[1.0, 2.0], [2.0, 1.0]]), 2, "covariance")
    Traceback (most recent call last):
    ...
    askance.errors.InputError: covariance has an eigenvalue below 0; allowed: one of random numbers. Take it as ...
    """
    if covariance.shape != (size, size):
        raise ShapeError(f"{name} has shape {covariance.shape}; allowed: {(size, size)}.", remedy=_REMEDY)
    variances = np.diagonal(covariance)
    if (variances < 0).any():
        raise InputError(f"{name} has a variance of {variances.min():.6g}; allowed: at least 0.", remedy=_REMEDY)
    # Of fits with very many parameters all is NaN, with no memory behind it: the diagonal says so.
    if not np.isfinite(variances).all() or not np.isfinite(covariance).all():
        return
    scale = np.where(variances > 0, np.sqrt(variances), 1.0)
    with np.errstate(over="ignore", invalid="ignore"):  # what is too large for a correlation is none
        correlations = covariance / scale / scale[:, None]
        differences = np.abs(correlations - correlations.T)
    if not differences.max(initial=0.0) <= _ROUNDING:
        raise InputError(f"{name} is not symmetric; allowed: one of random numbers.", remedy=_REMEDY)
    try:
        np.linalg.cholesky((correlations + correlations.T) / 2 + _ROUNDING * np.eye(size))
    except np.linalg.LinAlgError:
        raise InputError(f"{name} has an eigenvalue below 0; allowed: one of random numbers.", remedy=_REMEDY) from None
