"""Replicate weights: how far estimates with each set of them are apart, as a covariance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from askance._arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Replication:
    """What the spread of R replicates is multiplied with, as in R's `survey`.

        V = scale Σ_r scales_r (t_r − t̄)(t_r − t̄)ᵀ,  t̄ the mean of the replicates whose scale is above 0.

    Attributes:
        scale: of the sum.
        scales: of every replicate, shape (R,).
        freedom: degrees of freedom: the rank of all replicate weights less 1.
    """

    scale: float
    scales: FloatArray
    freedom: float

    def covariance(self, estimates: FloatArray) -> FloatArray:
        """Of what has these estimates, one row per replicate, shape (R, k) to (k, k).

        >>> Replication(2 / 3, np.ones(3), 2.0).covariance(np.array([[1.0], [2.0], [3.0]])).round(6).tolist()
        [[1.333333]]
        """
        apart = (estimates - estimates[self.scales > 0].mean(axis=0)) * np.sqrt(self.scale * self.scales)[:, None]
        return np.asarray(apart.T @ apart)
