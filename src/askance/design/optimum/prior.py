"""What is known of θ before anybody is asked: a few points with weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from askance._arrays import ArrayLike, FloatArray
from askance._checks import as_floats, as_parameter, instance, shown
from askance.errors import InputError, ShapeError


@runtime_checkable
class HasEstimate(Protocol):
    """A fit: an estimate with its covariance."""

    @property
    def theta(self) -> FloatArray:
        """θ̂, shape (d,)."""

    @property
    def covariance(self) -> FloatArray:
        """Cov θ̂, shape (d, d)."""


@dataclass(frozen=True)
class Prior:
    """Points of θ and how likely each is: averages over them stand for averages over what is known.

    Attributes:
        points: shape (K, d).
        weights: above 0, with sum 1, shape (K,).

    >>> Prior.of([[0.0, 1.0], [2.0, 3.0]]).mean
    array([1., 2.])
    """

    points: FloatArray
    weights: FloatArray

    @classmethod
    def of(cls, points: ArrayLike | Prior, *, dimension: int | None = None, name: str = "prior") -> Prior:
        """Points that are equally likely, shape (K, d) or (d,); a prior stays what it is.

        `dimension` is d, where it is known already.
        """
        if isinstance(points, Prior):
            return cls.weighted(points.points, points.weights, dimension=dimension, name=name)
        rows = as_floats(points, name)
        rows = rows[None] if rows.ndim == 1 else rows
        return cls.weighted(rows, np.ones(len(rows)), dimension=dimension, name=name)

    @classmethod
    def weighted(
        cls, points: ArrayLike, weights: ArrayLike, *, dimension: int | None = None, name: str = "prior"
    ) -> Prior:
        """Points with weights, which are scaled to sum 1; points of weight 0 are left out."""
        table, shares = as_floats(points, name), as_floats(weights, f"weights of {name}")
        if table.ndim != 2 or not table.size or shares.shape != table.shape[:1]:
            wanted = "d" if dimension is None else dimension
            raise ShapeError(
                f"has points of shape {table.shape} and weights of shape {shares.shape}",
                argument=name,
                allowed=f"(K, {wanted}) and (K,), K at least 1",
                remedy=f"Give one row of {wanted} numbers for every θ.",
            )
        dimension = table.shape[1] if dimension is None else dimension
        rows = [as_parameter(row, dimension, f"{name}[{k}]") for k, row in enumerate(table)]
        if not np.isfinite(shares).all() or shares.min() < 0 or not shares.sum() > 0:
            raise InputError(
                f"weights of {name} are {shown(shares.tolist())}; allowed: finite, at least 0, not all 0.",
                remedy="Give one weight per θ, or none.",
            )
        kept = shares > 0
        return cls(np.array(rows)[kept], shares[kept] / shares.sum())

    @classmethod
    def normal(cls, mean: ArrayLike, covariance: ArrayLike) -> Prior:
        """N(mean, covariance) by 2d + 1 points: the mean, and √(d + 1) standard deviations along every axis of it.

        The points have the same mean and covariance, so that averages of quadratic functions are exact.

        >>> prior = Prior.normal([1.0, 0.0], np.diag([4.0, 1.0]))
        >>> centred = prior.points - prior.mean
        >>> ((centred.T * prior.weights) @ centred).round(12)
        array([[4., 0.],
               [0., 1.]])
        """
        centre, spread = as_floats(mean, "mean").ravel(), as_floats(covariance, "covariance")
        d = centre.size
        usable = spread.shape == (d, d) and np.isfinite(spread).all() and np.allclose(spread, spread.T)
        values, vectors = np.linalg.eigh(spread) if usable else (np.array([-1.0]), spread)
        if values.min() < -1e-9 * np.abs(values).max():
            raise InputError(
                argument="covariance",
                got=shown(spread.tolist()),
                allowed=f"symmetric with eigenvalues of at least 0, shape ({d}, {d})",
                remedy="Give the covariance of a fit, or a diagonal matrix of variances.",
            )
        axes = (vectors * np.sqrt((d + 1) * values.clip(0))).T
        points = np.concatenate([centre[None], centre + axes, centre - axes])
        weights = np.full(2 * d + 1, 0.5 / (d + 1))
        weights[0] = 1 / (d + 1)
        return cls(points, weights)

    @classmethod
    def of_fit(cls, fit: HasEstimate) -> Prior:
        """What a fit leaves open: a normal distribution around θ̂ with its covariance."""
        kind: Any = HasEstimate
        instance(fit, kind, "fit", "a fit with an estimate and its covariance", "Give what estimate returns.")
        return cls.normal(fit.theta, fit.covariance)

    @property
    def mean(self) -> FloatArray:
        """Its mean, shape (d,)."""
        return np.asarray(self.weights @ self.points)


def require_one_guess(others: str = "", **guesses: object) -> None:
    """Refuse guesses of θ, by their names, unless exactly one is given (is not None).

    Args:
        others: what can be given besides theta and prior, in words for the message.
        guesses: every guess that a function takes.

    >>> require_one_guess(theta=[0.5], prior=None)
    >>> require_one_guess(theta=None, prior=None)
    Traceback (most recent call last):
    askance.errors.InputError: given are none of theta and prior; allowed: exactly one. Give theta=[…] for a guess, ...
    """
    names = [name for name, value in guesses.items() if value is not None]
    if len(names) != 1:
        *most, last = guesses
        raise InputError(
            f"given are {', '.join(names) or 'none'} of {', '.join(most)} and {last}; allowed: exactly one.",
            remedy=f"Give theta=[…] for a guess, prior=[[…], …] for several that may be true{others}.",
        )


def guess_or_zero(theta: ArrayLike | None, prior: ArrayLike | Prior | None, dimension: int) -> Prior:
    """A guess of θ, shape (d,), or a prior over several, shape (K, d); θ = 0 where neither is given.

    >>> guess_or_zero(None, None, 2).points
    array([[0., 0.]])
    """
    if theta is not None and prior is not None:
        raise InputError("theta and prior are both given; allowed: one of them.", remedy="Give one of them.")
    guess = prior if prior is not None else (np.zeros(dimension) if theta is None else theta)
    return Prior.of(guess, dimension=dimension, name="theta" if prior is None else "prior")
