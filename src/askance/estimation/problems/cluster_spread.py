"""Cluster-robust covariances that hold for few clusters: CR2, with Satterthwaite's degrees of freedom.

Of every cluster g there is its score s_g at θ̂, shape (d,), and its information J_g, shape (d, d). With M = (Σ J_g)⁻¹,

    s_g* = (I − J_g M)^(−1/2) s_g,    Cov θ̂ ≈ M (Σ s_g* s_g*ᵀ) M,

which is unbiased if Cov s_g = J_g: the scores at θ̂ are smaller than those at the truth, because θ̂ was fitted to them.
Away from θ̂ it is s_g − J_g M Σ s_h that counts, what the step from there would leave. For least squares this is CR2
of Bell and McCaffrey, since Xᵀ f(X M Xᵀ) = f(XᵀX M) Xᵀ. In coordinates in which M = I, where J_g becomes K_g and
Σ K_g = I, everything is symmetric: s_g* = (I − K_g)^(−1/2) s_g.

Equations that are no scores have slopes A_g = −∂s_g/∂θ beside the J_g that is their covariance under the working model.
With D_g what A_g (Σ A)⁻¹ becomes in these coordinates, Cov ŝ_g = K_g − D_g K_g − K_g D_gᵀ + D_g D_gᵀ, and
s_g* = B_g s_g where B_g Cov(ŝ_g) B_gᵀ = K_g: the same where A = J.
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
# Of a direction of which so little is left the cluster knows everything, and its score there is 0.
_ALONE = 1e-8
# Of a direction of which it tells less than this share a cluster tells nothing.
_NOTHING = 1e-10


class ClusterSpread(NamedTuple):
    """Σ s* s*ᵀ over clusters, shape (d, d), and the degrees of freedom of contrasts of θ̂; None: normal quantiles."""

    squares: FloatArray
    freedom: Freedom | None


def cluster_spread(scores: FloatArray, informations: FloatArray, slopes: FloatArray | None = None) -> ClusterSpread:
    """CR2 from the scores, shape (G, d), and informations, shape (G, d, d), of the clusters.

    Args:
        scores: s_g.
        informations: J_g; of equations that are no scores their covariances, if rows of a cluster were independent.
        slopes: A_g of such equations, shape (G, d, d); None: J_g.

    >>> few = cluster_spread(np.array([[1.0], [-3.0], [2.0]]), np.ones((3, 1, 1)))  # a mean of three clusters
    >>> float(few.squares[0, 0].round(6)), few.freedom.of(np.ones(1)).round(6).tolist()  # 14 · 3/2
    (21.0, 2.0)
    """
    lower = np.linalg.cholesky(informations.sum(axis=0))
    inverse = np.linalg.inv(lower)
    K = _symmetric(inverse @ informations @ inverse.T)
    root = inverse.T if slopes is None else np.linalg.solve(slopes.sum(axis=0), lower)
    D = K if slopes is None else inverse @ slopes @ root
    B, white = _adjustments(K, D), scores @ inverse.T
    # What is left of the scores after the step that they ask for. Away from θ̂, where arms are compared without a second
    # fit, the step would be taken for a difference between clusters, the larger the farther arms are apart.
    adjusted = np.einsum("gij,gj->gi", B, white - D @ white.sum(axis=0)) @ lower.T
    return ClusterSpread(np.asarray(adjusted.T @ adjusted), _freedom(K, None if slopes is None else D, B, root))


def _adjustments(K: FloatArray, D: FloatArray) -> FloatArray:
    """B of every cluster, shape (G, d, d), with B Cov(ŝ) Bᵀ = K but for what a cluster alone tells of."""
    left = _transposed(D)
    after = _symmetric(K - D @ K - K @ left + D @ left)
    values, vectors = np.linalg.eigh(K)
    told = values > _NOTHING
    size = np.sqrt(np.where(told, values, 1.0))
    white, back = vectors * (told / size)[:, None, :], vectors * (told * size)[:, None, :]
    share, turn = np.linalg.eigh(_symmetric(_transposed(white) @ after @ white))  # I − K, where D is K
    usable = share > _ALONE
    gains = turn * (usable / np.sqrt(np.where(usable, share, 1.0)))[:, None, :] @ _transposed(turn)
    silent = vectors * (~told)[:, None, :] @ _transposed(vectors)
    return np.asarray(back @ gains @ _transposed(white) + silent)


def _transposed(matrices: FloatArray) -> FloatArray:
    return matrices.transpose(0, 2, 1)


def _symmetric(matrices: FloatArray) -> FloatArray:
    return np.asarray((matrices + _transposed(matrices)) / 2)


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


def _freedom(K: FloatArray, D: FloatArray | None, B: FloatArray, root: FloatArray) -> Freedom:
    """From K, D (None: K) and B of all clusters, shape (G, d, d) each.

    P_gh between contrasts u and v is uᵀ(δ_gh E_g − N_gh)v with E = B K Bᵀ and, for X = B D and Y = B K,
    N_gh = Y_g X_hᵀ + X_g (Y_h − X_h)ᵀ; it is X_g X_hᵀ where D is K.
    """
    count, d = K.shape[:2]
    if d > _MOST_PAIRED:
        return Freedom(count - 1.0)
    Y, E = B @ K, B @ K @ _transposed(B)
    F, G = Y, Y
    if D is not None:
        F, G = np.concatenate([Y, B @ D], axis=2), np.concatenate([B @ D, Y - B @ D], axis=2)
    N = F @ _transposed(G)
    own, flat = N.reshape(count, -1), E.reshape(count, -1)
    pairs = flat.T @ flat - flat.T @ own - own.T @ flat
    left, right = (np.einsum("gia,glb->ilab", part, part, optimize=True).reshape(d * d, -1) for part in (F, G))
    crossed = (left @ right.T).reshape(d, d, d, d).transpose(0, 2, 3, 1)  # Σ N_gh,ij N_gh,lk, from i, l, j, k
    return Freedom(count - 1.0, root, np.asarray((E - N).sum(axis=0)), pairs.reshape(d, d, d, d) + crossed)
