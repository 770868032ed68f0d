"""One variable given columns z, on some rows: how likely its values are, their scores, and how much they tell.

`HiddenVariables` is made of these. Every law is about members c, the combinations of hidden variables that share it.
Parameters may have axes before the last, for several θ at once: so do results, before the axes that are named here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import NamedTuple, Protocol

import numpy as np

from askance._arrays import FloatArray, IntArray

# The largest exponent of a mean of counts: beyond, it is no number.
_LARGEST = 500.0


class Score(NamedTuple):
    """The score of member c of a law is (Φ_c − m) ⊗ z.

    Attributes:
        table: Φ, shape (T, c), or (T, 1) where all members have the same.
        mean: m, shape (n, T).
        z: shape (n, p).
    """

    table: FloatArray
    mean: FloatArray
    z: FloatArray


class Law(Protocol):
    """A variable given z, with parameters θ_f."""

    def log_density(self) -> FloatArray:
        """Of what is there, shape (n, c), or (n, 1) where all members have the same."""

    def score(self) -> Score:
        """∇ log density of every member, T p = d_f of them."""

    def information(self, weights: FloatArray, expected: bool) -> FloatArray:
        """−Σ w ∇² log density over rows, or its mean under the law, shape (d_f, d_f), for w of shape (n,)."""


@dataclass(frozen=True)
class Choice:
    """One of K values: p(k) ∝ h_k exp Σ_t Φ_tk z·θ_t.

    Attributes:
        z: columns, shape (n, p).
        table: Φ, shape (T, K).
        log_p: shape (n, K).
        values: of the members, shape (c,), the same in all rows; or what was seen in every row, shape (n, 1).
    """

    z: FloatArray
    table: FloatArray
    log_p: FloatArray
    values: IntArray

    @classmethod
    def of(cls, z: FloatArray, theta: FloatArray, table: FloatArray, log_base: FloatArray, values: IntArray) -> Choice:
        """At θ_f."""
        blocks = theta.reshape(*theta.shape[:-1], len(table), -1)
        scores = z @ np.swapaxes(blocks, -1, -2) @ table + log_base
        scores -= over_columns(np.maximum, scores)[..., None]
        return cls(z, table, scores - np.log(over_columns(np.add, np.exp(scores)))[..., None], values)

    @cached_property
    def _p(self) -> FloatArray:
        return np.asarray(np.exp(self.log_p))

    @cached_property
    def mean(self) -> FloatArray:
        """E Φ, shape (n, T)."""
        return np.asarray(self._p @ self.table.T)

    def log_density(self) -> FloatArray:
        """log p of the values."""
        if self.values.ndim == 1:
            return np.asarray(self.log_p[..., self.values])
        return np.asarray(self.log_p[..., np.arange(len(self.values)), self.values[:, 0], None])

    def score(self) -> Score:
        """(Φ_c − E Φ) ⊗ z."""
        if self.values.ndim == 1:
            return Score(self.table[:, self.values], self.mean, self.z)
        return Score(np.zeros((len(self.table), 1)), self.mean - self.table.T[self.values[:, 0]], self.z)

    def information(self, weights: FloatArray, expected: bool) -> FloatArray:
        """Σ w Cov Φ ⊗ z zᵀ; the same whatever was seen."""
        p, mean, table, width = self._p, self.mean, self.table, self.z.shape[1]
        result = np.empty((*mean.shape[:-2], len(table), width, len(table), width))
        for s in range(len(table)):
            for t in range(s, len(table)):
                spread = weights * (p @ (table[s] * table[t]) - mean[..., s] * mean[..., t])
                result[..., s, :, t, :] = result[..., t, :, s, :] = self.z.T @ (spread[..., None] * self.z)
        return result.reshape(*mean.shape[:-2], len(table) * width, len(table) * width)


@dataclass(frozen=True)
class Counted:
    """A count that was seen: Poisson, with log mean z·θ.

    Attributes:
        z: columns, shape (n, p).
        y: counts, shape (n,).
        log_mean: shape (n,).
    """

    z: FloatArray
    y: FloatArray
    log_mean: FloatArray

    @classmethod
    def of(cls, z: FloatArray, theta: FloatArray, y: FloatArray) -> Counted:
        """At θ_f."""
        return cls(z, y, np.minimum(theta @ z.T, _LARGEST))

    def log_density(self) -> FloatArray:
        """y log μ − μ − log y!."""
        from scipy.special import gammaln

        return np.asarray(self.y * self.log_mean - np.exp(self.log_mean) - gammaln(self.y + 1))[..., None]

    def score(self) -> Score:
        """(y − μ) z."""
        return Score(np.zeros((1, 1)), (np.exp(self.log_mean) - self.y)[..., None], self.z)

    def information(self, weights: FloatArray, expected: bool) -> FloatArray:
        """Σ w μ z zᵀ; the same whatever was seen."""
        return np.asarray(self.z.T @ ((weights * np.exp(self.log_mean))[..., None] * self.z))


@dataclass(frozen=True)
class Measured:
    """A number that was seen: normal, with mean z·b and log standard deviation τ; θ_f = (b, τ).

    Attributes:
        z: columns, shape (n, p).
        away: y − z·b in standard deviations, shape (n,).
        log_deviation: τ, shape (1,).
    """

    z: FloatArray
    away: FloatArray
    log_deviation: FloatArray

    @classmethod
    def of(cls, z: FloatArray, theta: FloatArray, y: FloatArray) -> Measured:
        """At θ_f."""
        return cls(z, (y - theta[..., :-1] @ z.T) * np.exp(-theta[..., -1:]), theta[..., -1:])

    def log_density(self) -> FloatArray:
        """−½ e² − τ − ½ log 2π."""
        return np.asarray(-0.5 * self.away**2 - self.log_deviation - 0.5 * np.log(2 * np.pi))[..., None]

    def score(self) -> Score:
        """(e z / σ, e² − 1)."""
        slope = (self.away * np.exp(-self.log_deviation))[..., None] * self.z
        z = np.concatenate([slope, self.away[..., None] ** 2 - 1.0], axis=-1)
        return Score(np.ones((1, 1)), np.zeros((len(self.z), 1)), z)

    def information(self, weights: FloatArray, expected: bool) -> FloatArray:
        """Σ w (z zᵀ/σ², 2 e z/σ; ·, 2 e²), of which the mean has no cross terms."""
        size, scale = self.z.shape[1] + 1, np.exp(-self.log_deviation)
        result = np.zeros((*self.away.shape[:-1], size, size))
        result[..., :-1, :-1] = scale[..., None] ** 2 * (self.z.T @ (weights[..., None] * self.z))
        if not expected:
            result[..., :-1, -1] = result[..., -1, :-1] = 2 * scale * ((weights * self.away) @ self.z)
        result[..., -1, -1] = 2 * (weights if expected else weights * self.away**2).sum(axis=-1)
        return result


def over_columns(combine: Callable[[FloatArray, FloatArray], FloatArray], values: FloatArray) -> FloatArray:
    """The columns of an array combined into one, shape (n,): quicker than along a short axis."""
    return reduce(combine, (values[..., k] for k in range(values.shape[-1])))
