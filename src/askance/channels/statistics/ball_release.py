"""Ball release: a vector of bounded Euclidean norm is told by one public random direction that lies along it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from askance._arrays import AnyArray, ArrayLike, FloatArray
from askance._checks import Number, as_floats
from askance._kernels import directions
from askance._kernels.directions import LARGEST_COMPONENT, UNIT
from askance.channels.registry import NUMBERS, Example, Parameter, register
from askance.channels.statistics.base import Averaging
from askance.channels.statistics.bounds import numbers_as_json, per_statistic
from askance.channels.statistics.directions import PARAMETERS, DirectionRelease
from askance.channels.sum_law import MomentLaw, SumLaw


@register(
    family="statistics",
    summary="send a random direction that lies along the vector of statistics",
    use="statistics are real numbers whose Euclidean norm is bounded, such as gradients, embeddings and moments",
    parameters=[
        *PARAMETERS,
        Parameter("centre", NUMBERS, "from where the norm is measured: the middle of what vectors can be", 0),
    ],
    examples=[
        Example(dim=3, privacy_level=1),
        Example(dim=2, privacy_level=4, radius="5/2", candidates=16),
        Example(dim=5, privacy_level="1/2", radius=2, candidates=32),
        Example(dim=4, privacy_level=1, radius=1, centre="1/2"),
    ],
)
class BallRelease(DirectionRelease):
    """The chosen direction g has mean m·u, hence β = v₀ + ρ g_{1…k}/m is unbiased for the vector v₀ + v.

    v is what lies between the vector and the centre v₀. Candidates are ranked by ⟨g, u⟩; m is the mean score of the
    chosen one. Across u the components of g stay N(0, 1), along u they have a second moment M, so that with E over
    respondents

        n Cov(μ̂) = (ρ/m)² (I + (M − 1) E[v vᵀ]/ρ²) − E[v] E[v]ᵀ.

    At level 1 (K = 64) m = .392, at level 4 (K = 128) 1.49, at level 8 (K = 1024) 2.70: by choice of K at least 98 % of
    what infinitely many candidates would give, up to level 8. Why the level is exact is said in `DirectionRelease`.

    Args:
        dim: k, the length of a respondent's vector; the vector is also what is estimated.
        privacy_level: α.
        radius: ρ, the largest norm ‖v‖₂ (default 1): how far vectors can be from the centre.
        candidates: K, a power of two (default: the smallest, at most 1,024, with 98 % of the possible gain).
        centre: v₀, one number, or one for each component (default 0). Errors grow with the radius, so that the middle
            of what vectors can be is best: k bits lie within √k of 0, and within √k/2 of ½.

    >>> channel = BallRelease(3, 2)
    >>> channel.privacy_level, channel.candidates
    (2.0, 64)
    >>> reports = channel.simulate(np.tile([0.6, 0.3, -0.7], (100_000, 1)), np.random.default_rng(1))
    >>> channel.mean(channel.sums(reports), len(reports)).round(1)
    array([ 0.6, 0.3, -0.7])
    >>> list(channel.randomize_one([0.6, 0.3, -0.7]))
    ['seed', 'choice']
    """

    kind = "ball-release"
    _magnitude = False
    # Σ g_j and Σ g_j²: since |g_j| ≤ 25,958, 2³³ reports reach 5.8e18, and 64 bits hold 9.2e18.
    _adders = directions.sum_vectors, directions.sum_vectors_plain
    _uninformed = float(UNIT**2)

    def __init__(
        self,
        dim: int,
        privacy_level: Number,
        radius: Number = 1,
        candidates: int | None = None,
        centre: ArrayLike = 0.0,
    ) -> None:
        super().__init__(dim, privacy_level, radius, candidates)
        self.centre = per_statistic(centre, self.dim, "centre")
        self._measured = " from the centre" if self.centre.any() else ""
        self.dimension = self.dim

    @property
    def _slope(self) -> float:
        """What turns the integers of a direction into β."""
        return self.radius / (UNIT * self.choice.gain)

    def _read(self, truth: AnyArray, offset: int) -> AnyArray:
        """u of what lies between the vectors and the centre."""
        return super()._read(self._from_centre(truth), offset)

    def _from_centre(self, truth: AnyArray) -> FloatArray:
        return np.asarray(as_floats(truth, "the vectors", secret=True) - self.centre)

    def _sum_law(self) -> SumLaw:
        """|E g_j| ≤ m, and the variance of g_j is at most E g_j², which lies between 1 and M."""
        ones = np.ones(self.dim)
        high = self._leeway * UNIT * self.choice.gain * ones
        variance = self._leeway * UNIT**2 * max(self.choice.second_moment, 1.0) * ones
        most = np.full(self.dim, LARGEST_COMPONENT)
        return MomentLaw(-most, most, -high, high, variance)

    def _outer(self, inner: FloatArray) -> FloatArray:
        """v₀ + ρ g/m."""
        return np.asarray(self.centre + self._slope * inner)

    def _debias(self, columns: Mapping[str, AnyArray]) -> FloatArray:
        return self._outer(self._directions(columns).astype(np.float64))

    def _mean_covariance(self, truth: AnyArray, weights: FloatArray, averaging: Averaging) -> FloatArray:
        vectors = self._from_centre(truth)
        mean, second = weights @ vectors, (vectors * weights[:, None]).T @ vectors
        along = (self.choice.second_moment - 1) * second
        return np.asarray((self.radius**2 * np.eye(self.dim) + along) / self.choice.gain**2 - np.outer(mean, mean))

    def worst_pair(self) -> tuple[AnyArray, AnyArray]:
        """Opposite ends of the ball."""
        return self.centre + self._corner(0), self.centre + self._corner(0, -1.0)

    # -- describing ------------------------------------------------------------------------------------------------

    def parameters(self) -> dict[str, Any]:
        """The parameters of the registry, from which the same thresholds are built again."""
        return super().parameters() | ({"centre": numbers_as_json(self.centre)} if self.centre.any() else {})

    def _fingerprint_parts(self) -> tuple[Any, ...]:
        return (*super()._fingerprint_parts(), *([self.centre.tolist()] if self.centre.any() else []))
