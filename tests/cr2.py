"""CR2 as it is printed, in the coordinates of θ: the plain twin of `estimation/problems/cluster_spread.py`."""

from __future__ import annotations

import numpy as np
from scipy.linalg import sqrtm

from askance._arrays import FloatArray


def adjusted_squares(scores: FloatArray, informations: FloatArray) -> FloatArray:
    """Σ s* s*ᵀ with s* = (I − J M)^(−1/2) (s − J M Σ s), from scores (G, d) and informations (G, d, d) of clusters."""
    M, one = np.linalg.inv(informations.sum(axis=0)), np.eye(scores.shape[1])
    left = scores - informations @ M @ scores.sum(axis=0)
    larger = np.array(
        [np.linalg.solve(np.real(sqrtm(one - J @ M)), s) for s, J in zip(left, informations, strict=True)]
    )
    return np.asarray(larger.T @ larger)


def by_cluster(rows: FloatArray, clusters: object) -> FloatArray:
    """Sums of rows, (n, …), over the clusters in order, (G, …)."""
    names = np.asarray(clusters)
    return np.array([rows[names == name].sum(axis=0) for name in np.unique(names)])
