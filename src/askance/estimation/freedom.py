"""How well a covariance is known that comes from few clusters: the degrees of freedom of contrasts of θ̂."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from askance._arrays import ArrayLike, FloatArray
from askance._checks import shown
from askance.errors import InputError

# A contrast of which clusters that have nothing to be compared with hold more than this share has no known error.
_LOST = 0.01
# Contrasts at a time: their squares stay within a few megabytes.
_AT_A_TIME = 4096


@dataclass(frozen=True, eq=False)
class Freedom:
    """Degrees of freedom of contrasts cᵀθ̂: of a t distribution for one, of Hotelling's for several.

    With `pairs` they are Satterthwaite's (Bell and McCaffrey): the estimated variance of cᵀθ̂ is a sum of squares
    Σ_g q_g² over clusters, in which Cov(q_g, q_h) = P_gh under the working model that rows of a cluster are
    independent, and df = (tr P)² / tr P². Both are forms in u = Lᵀc, with M = L Lᵀ the covariance of θ̂ under that
    model: tr P = uᵀ T u, and tr P² = Σ u_i u_j u_k u_l Q_ijkl. They are sums over clusters, and tell of none of them.

    Attributes:
        number: the same for every contrast, where there are no `pairs`; otherwise the number of clusters less 1.
        root: L, shape (d, d).
        trace: T, shape (d, d); the identity, but for clusters that alone say something.
        pairs: Q, shape (d, d, d, d).
    """

    number: float
    root: FloatArray | None = None
    trace: FloatArray | None = None
    pairs: FloatArray | None = None

    def of(self, contrasts: FloatArray) -> FloatArray:
        """Of every contrast along the last axis: above 0; NaN where one cluster alone says something of it."""
        rows = contrasts.reshape(-1, contrasts.shape[-1])
        if self.root is None or self.trace is None or self.pairs is None:
            return np.full(contrasts.shape[:-1], self.number)
        d = self.root.shape[1]
        quartic, freedom = self.pairs.reshape(d * d, d * d), np.empty(len(rows))
        for start in range(0, len(rows), _AT_A_TIME):
            u = rows[start : start + _AT_A_TIME] @ self.root
            length = np.sqrt((u * u).sum(axis=1))
            u = u / np.where(length > 0, length, 1.0)[:, None]
            known = ((u @ self.trace) * u).sum(axis=1)
            squares = (u[:, :, None] * u[:, None, :]).reshape(len(u), -1)
            spread = ((squares @ quartic) * squares).sum(axis=1)
            usable = (known > 1 - _LOST) | (length == 0)  # of a constant nothing is estimated
            freedom[start : start + _AT_A_TIME] = np.where(
                usable, known**2 / np.where(spread > 0, spread, np.inf), np.nan
            )
            freedom[start : start + _AT_A_TIME][length == 0] = self.number
        return freedom.reshape(contrasts.shape[:-1])

    def joint(self, contrasts: FloatArray) -> float:
        """η of several contrasts, the rows: Lθ̂ is tested by F = (η − q + 1)/(η q) · Wald on q and η − q + 1.

        With `pairs`, η is that of the Wishart matrix whose total variance is the one of the covariance of Lθ̂ under the
        working model (Pustejovsky and Tipton 2018, AHT): η = q (q + 1) / Σ_st Var D_st where E D = I.
        """
        if self.root is None or self.trace is None or self.pairs is None:
            return self.number
        if np.isnan(self.of(contrasts)).any():
            return math.nan
        basis = np.linalg.qr((contrasts @ self.root).T)[0]
        onto, q = basis @ basis.T, len(contrasts)
        total = np.einsum("ij,kl,ijkl->", onto, onto, self.pairs, optimize=True)
        total += np.einsum("ik,jl,ijkl->", onto, onto, self.pairs, optimize=True)
        return float(q * (q + 1) / total)

    def turned(self, matrix: FloatArray) -> Freedom:
        """Of θ = A θ̃, where this is of θ̃."""
        return self if self.root is None else replace(self, root=np.asarray(matrix @ self.root))


#: None: the covariance is as good as known, and quantiles are those of the normal distribution.
KnownTo: TypeAlias = Freedom | None


def freedom_of(known: KnownTo, contrasts: FloatArray) -> FloatArray:
    """Degrees of freedom of every contrast along the last axis; infinite ones where quantiles are normal."""
    return np.full(contrasts.shape[:-1], np.inf) if known is None else known.of(contrasts)


def normal_quantile(confidence: float) -> float:
    """z with P(|N(0,1)| ≤ z) = confidence."""
    from scipy.special import ndtri

    if not isinstance(confidence, int | float) or not 0 < confidence < 1:
        raise InputError(
            argument="confidence", got=shown(confidence), allowed="above 0, below 1", remedy="0.95 is usual."
        )
    return float(ndtri((1 + confidence) / 2))


def quantile(confidence: float, freedom: ArrayLike) -> FloatArray:
    """t with P(|t_ν| ≤ t) = confidence, of the shape of ν; normal where ν is infinite, NaN where it is NaN.

    >>> quantile(0.95, [np.inf, 11.0]).round(3)
    array([1.96 , 2.201])
    """
    from scipy.special import stdtrit

    z, nu = normal_quantile(confidence), np.asarray(freedom, dtype=np.float64)
    return np.where(np.isinf(nu), z, stdtrit(np.where(np.isinf(nu), 1.0, nu), (1 + confidence) / 2))


def two_sided(statistic: FloatArray, freedom: ArrayLike) -> FloatArray:
    """P(|t_ν| > |statistic|), element by element.

    >>> two_sided(np.array([1.96, 2.201]), [np.inf, 11.0]).round(3)
    array([0.05, 0.05])
    """
    from scipy.special import erfc, stdtr

    nu = np.asarray(freedom, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        size = np.abs(statistic)
        normal = erfc(size / math.sqrt(2))
        small = 2 * stdtr(np.where(np.isinf(nu), 1.0, nu), -size)
        return np.asarray(np.where(np.isinf(nu), normal, small))
