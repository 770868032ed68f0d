"""Cluster-robust covariances that hold for few clusters: CR2, with Satterthwaite's degrees of freedom.

Of every cluster g there is its score s_g at θ̂, shape (d,), and its information J_g, shape (d, d). With M = (Σ J_g)⁻¹,

    s_g* = (I − J_g M)^(−1/2) s_g,    Cov θ̂ ≈ M (Σ s_g* s_g*ᵀ) M,

which is unbiased if Cov s_g = J_g: the scores at θ̂ are smaller than those at the truth, because θ̂ was fitted to them.
For least squares this is CR2 of Bell and McCaffrey, since Xᵀ f(X M Xᵀ) = f(XᵀX M) Xᵀ. In coordinates in which M = I,
where J_g becomes K_g and Σ K_g = I, everything is symmetric: s_g* = (I − K_g)^(−1/2) s_g.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from askance._arrays import FloatArray
from askance.estimation.freedom import Freedom, freedom_of

#: With more clusters their spread is taken as it is, and quantiles are normal.
MOST_CLUSTERS = 1_000
# With more parameters than this, the degrees of freedom are the number of clusters less 1: Q has the fourth power.
_MOST_PAIRED = 30
# Eigenvalues of I − K below this are 0: of that direction the cluster knows everything, and its score there is 0.
_ALONE = 1e-8


class ClusterSpread(NamedTuple):
    """Σ s* s*ᵀ over clusters, shape (d, d), and the degrees of freedom of contrasts of θ̂; None: normal quantiles."""

    squares: FloatArray
    freedom: Freedom | None


def cluster_spread(scores: FloatArray, informations: FloatArray) -> ClusterSpread:
    """CR2 from the scores, shape (G, d), and informations, shape (G, d, d), of the clusters.

    >>> few = cluster_spread(np.array([[1.0], [-3.0], [2.0]]), np.ones((3, 1, 1)))  # a mean of three clusters
    >>> float(few.squares[0, 0].round(6)), few.freedom.of(np.ones(1)).round(6).tolist()  # 14 · 3/2
    (21.0, 2.0)
    """
    lower = np.linalg.cholesky(informations.sum(axis=0))
    inverse = np.linalg.inv(lower)  # M = inverseᵀ inverse
    shares = inverse @ informations @ inverse.T  # K
    values, vectors = np.linalg.eigh((shares + shares.transpose(0, 2, 1)) / 2)
    left = 1.0 - values
    usable = left > _ALONE
    safe = np.where(usable, left, 1.0)
    whitened = np.einsum("gji,gj->gi", vectors, scores @ inverse.T)
    adjusted = np.einsum("gij,gj->gi", vectors, whitened * usable / np.sqrt(safe)) @ lower.T
    return ClusterSpread(np.asarray(adjusted.T @ adjusted), _freedom(values, usable / safe, vectors, inverse.T))


def mean_spread(weights: FloatArray) -> tuple[FloatArray, float]:
    """CR2 of weighted means: the factors of the sums Σ w (P − mean) of clusters, shape (G,), and degrees of freedom.

    Args:
        weights: Σ w of every cluster, shape (G,).

    >>> factors, freedom = mean_spread(np.array([4.0, 4.0, 4.0]))
    >>> (factors**2).round(6).tolist(), round(freedom, 6)  # 3/2, and 3 − 1
    ([1.5, 1.5, 1.5], 2.0)
    """
    left = 1.0 - weights / weights.sum()
    spread = cluster_spread(np.zeros((len(weights), 1)), weights[:, None, None])
    return 1.0 / np.sqrt(np.where(left > _ALONE, left, np.nan)), float(freedom_of(spread.freedom, np.ones(1)))


def _freedom(values: FloatArray, gains: FloatArray, vectors: FloatArray, root: FloatArray) -> Freedom:
    """From the eigenvalues of all K (G, d), the squared factors on scores (G, d) and the eigenvectors (G, d, d).

    With B = (I − K)^(−1/2): P_gh between contrasts u and v is δ_gh uᵀE_g v − uᵀC_g C_h v, E = B K B and C = B K.
    """
    count, d = values.shape
    if d > _MOST_PAIRED:
        return Freedom(count - 1.0)
    transposed = vectors.transpose(0, 2, 1)
    E = vectors * (values * gains)[:, None, :] @ transposed
    C = vectors * (values * np.sqrt(gains))[:, None, :] @ transposed
    own = (C @ C).reshape(count, -1)
    flat = E.reshape(count, -1)
    pairs = flat.T @ flat - flat.T @ own - own.T @ flat
    Z = (C.reshape(count, -1).T @ C.reshape(count, -1)).reshape(d, d, d, d)  # Σ C_ia C_bl
    crossed = np.einsum("iabl,ajkb->ijkl", Z, Z, optimize=True)
    trace = np.asarray((E - C @ C).sum(axis=0))
    return Freedom(count - 1.0, root, trace, pairs.reshape(d, d, d, d) + crossed)
