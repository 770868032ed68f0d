"""Strata that clusters were drawn from: what they leave of the spread between clusters."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from askance._arrays import AnyArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Strata:
    """Of clusters that are numbered 0, 1, …: the stratum of each, and the share of its stratum that was drawn.

    Sums over clusters vary within strata alone. As in R's `survey`, the sums s_hg of the n_h clusters of stratum h give

        Σ_h (1 − f_h) n_h/(n_h − 1) Σ_g (s_hg − s̄_h)(s_hg − s̄_h)ᵀ;

    of a stratum with one cluster, s s ᵀ (R's option "adjust": sums over all clusters have mean 0).

    Attributes:
        place: the stratum of every cluster, shape (G,).
        fraction: f of the stratum of every cluster, shape (G,); 0 where little was drawn.
    """

    place: IntArray
    fraction: FloatArray

    @property
    def freedom(self) -> float:
        """Clusters less strata."""
        return float(len(self.place) - len(np.unique(self.place)))

    def of(self, clusters: AnyArray) -> Strata:
        """The strata of some clusters alone."""
        return replace(self, place=self.place[clusters], fraction=self.fraction[clusters])

    def apart(self, sums: FloatArray) -> FloatArray:
        """Sums of all clusters, (G, …), less the mean of their stratum, scaled so that their squares add up.

        >>> two = Strata(np.array([0, 0, 1, 1]), np.zeros(4))
        >>> two.apart(np.array([[1.0], [3.0], [-2.0], [-2.0]])).ravel().round(3).tolist()  # ∓ √2
        [-1.414, 1.414, 0.0, 0.0]
        """
        _, place, counts = np.unique(self.place, return_inverse=True, return_counts=True)
        flat = sums.reshape(len(sums), -1)
        means = np.stack([np.bincount(place, weights=column) / counts for column in flat.T], axis=1)
        several = counts > 1
        means[~several] = 0.0
        factor = np.where(several, counts / np.where(several, counts - 1, 1), 1.0)[place] * (1 - self.fraction)
        return np.asarray(((flat - means[place]) * np.sqrt(factor)[:, None]).reshape(sums.shape))
