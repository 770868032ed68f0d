"""Coordinate release: one statistic is drawn, one noised bit of it is sent."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np

from askance._arrays import AnyArray, ArrayLike, FloatArray, IntArray
from askance._checks import Number, as_count, as_floats, as_positive_level
from askance._kernels import bits
from askance._kernels.draw import place_of
from askance.channels.registry import DISTRIBUTION, Example, Parameter, register
from askance.channels.statistics.base import Averaging, Calibration, Enumeration
from askance.channels.statistics.bounds import Bounds
from askance.channels.statistics.calibration import calibrate
from askance.channels.statistics.choices import (
    BOUNDS,
    CALIBRATION,
    DIM,
    SPENT,
    as_draw_distribution,
    require_calibration,
)
from askance.channels.statistics.domains import BinaryDomain
from askance.channels.statistics.drawn import DrawnBits
from askance.channels.statistics.flips import Flips
from askance.channels.statistics.reports import Column
from askance.channels.sum_law import CountLaw, SumLaw
from askance.channels.thresholds import apportion
from askance.channels.words import Words
from askance.models.enumerated import Enumerated

# A proof by enumeration lists 2d observations of d + 2 statistics.
_ENUMERATED_DIMENSION = 64
# Tuned release probabilities are whole multiples of one over this: short to write down, and as good.
_RELEASE_PARTS = 10**9


@register(
    family="statistics",
    summary="draw one statistic and send one noised bit of it",
    use="statistics are many and dense (more than about √d of them are 1), or not bounded by a small norm",
    parameters=[
        *(DIM, SPENT, CALIBRATION),
        Parameter("release_distribution", DISTRIBUTION, "how often each is drawn (default: equally often)", None),
        *BOUNDS,
    ],
    examples=[
        Example(dim=4, privacy_level=1),
        Example(dim=4, privacy_level=1, calibration="paper"),
        Example(dim=3, privacy_level=2, release_distribution=["1/2", "1/4", "1/4"], lower=-1, statistic_bound=3),
    ],
)
class CoordinateRelease(DrawnBits):
    """Draw j ~ p_cr, make one bit of mean t_j = (φ_j − lower_j)/c_j, keep it with probability q, send (j, bit).

    Exact level: log(q/(1 − q)). The paper's q = e^{α/2}/(1 + e^{α/2}) spends only α/2; "exact" keeps with
    q = e^α/(1 + e^α). Averages are taken within each coordinate: n Cov(μ̂) = diag(c²(v + t(1 − t))/p_j) with
    v = q(1 − q)/(2q − 1)², where the printed β has diag((c²v + c²t)/p_j) − c² t tᵀ.

    Args:
        dim: d, the number of statistics.
        privacy_level: α.
        calibration: "exact" (default), or "paper" to keep bits as printed, which is more private than stated.
        release_distribution: p_cr (default: uniform); `for_model` finds the best one for a model.
        lower: smallest value of each statistic, one number or d.
        statistic_bound: c, largest minus smallest value, one number or d.

    >>> channel = CoordinateRelease(4, 1)
    >>> channel.privacy_level, CoordinateRelease(4, 1, calibration="paper").privacy_level
    (1.0, 0.5)
    >>> rng = np.random.default_rng(5)
    >>> reports = channel.simulate(np.tile([0.0, 0.2, 0.5, 1.0], (200_000, 1)), rng)
    >>> channel.mean(channel.sums(reports), len(reports)).round(1)
    array([0. , 0.2, 0.5, 1. ])
    """

    kind = "coordinate-release"
    device_mapping = "coordinate"
    _by_code = True

    def __init__(
        self,
        dim: int,
        privacy_level: Number,
        *,
        calibration: Calibration = "exact",
        release_distribution: Iterable[Number] | None = None,
        lower: ArrayLike = 0.0,
        statistic_bound: ArrayLike = 1.0,
    ) -> None:
        self.dimension = as_count(dim, "dim", minimum=1, maximum=1 << 24)
        self.calibration = require_calibration(calibration)
        self._level = as_positive_level(privacy_level)
        self._bounds = Bounds(self.dimension, lower, statistic_bound, binary=False)
        distribution = as_draw_distribution(release_distribution, "release_distribution", self.dimension, "statistic")
        self._release = distribution or [Fraction(1, self.dimension)] * self.dimension
        spent = self._level if self.calibration == "exact" else self._level / 2
        self.flips: Flips = calibrate(BinaryDomain(1, 0), spent)
        self._places = np.arange(self.dimension)[:, None]
        self._set_columns(
            Column("coordinate", "integer", limit=self.dimension, description="which statistic was drawn"),
            Column("bit", "integer", limit=2, description="its noised bit"),
        )

    @classmethod
    def for_model(
        cls,
        model: Enumerated,
        privacy_level: Number,
        theta: ArrayLike | None = None,
        *,
        calibration: Calibration = "exact",
    ) -> Self:
        """The channel for the statistics of a model, with the release distribution that minimises tr Σ_mom at θ.

        n Cov(μ̂) is diagonal, so tr Σ_mom = Σ_j (I⁻²)_jj a_j / p_j with a_j = c_j²(v + t_j(1 − t_j)), least where
        p_j ∝ √((I⁻²)_jj a_j). θ defaults to 0. With weights or several θ: `design.optimal_release`.
        """
        table = model.table
        bounds = {"lower": table.min(axis=1), "statistic_bound": model.statistic_ranges}
        uniform = cls(model.dimension, privacy_level, calibration=calibration, **bounds)
        at = np.zeros(model.dimension) if theta is None else as_floats(theta, "theta")
        inverse = np.linalg.inv(model.fisher_information(at))
        shares = (model.mean_statistics(at) - uniform._bounds.lower) / uniform._bounds.width
        costs = (inverse**2).sum(axis=0) * uniform._bounds.width**2 * uniform.flips.variance(shares)
        return cls(
            model.dimension, privacy_level, calibration=calibration, release_distribution=best_release(costs), **bounds
        )

    @cached_property
    def _drawn(self) -> list[int]:  # type: ignore[override]
        return apportion(self._release)

    @property
    def release_probabilities(self) -> FloatArray:
        """p_cr: how often each statistic is drawn, shape (d,)."""
        return self._block_probabilities

    _sent = release_probabilities

    # -- drawing and estimating ------------------------------------------------------------------------------------

    def _read(self, truth: AnyArray, offset: int) -> AnyArray:
        return self._bounds.shares(truth, offset)

    def _thresholds(self, encoded: AnyArray, block: IntArray) -> IntArray:
        shares = encoded[np.arange(len(encoded)), block].astype(np.float64)
        return (self.flips.raised + bits.whole_parts(shares, self.flips.keep - self.flips.raised))[:, None]

    def _report(self, encoded: AnyArray, words: Words) -> dict[str, Any]:
        """One word for the coordinate, one for its bit."""
        coordinate = place_of(words.number(), self._cumulative)
        threshold = int(self._thresholds(encoded, np.array([coordinate]))[0, 0])
        return {"coordinate": coordinate, "bit": int(words.number() < threshold)}

    def device_truth(self) -> dict[str, Any]:
        """Dimension and bounds."""
        return self._bounds.on_devices()

    def _shares(self, truth: AnyArray) -> FloatArray:
        return self._bounds.scaled(truth)

    def _sum_law(self) -> SumLaw:
        """A block for every coordinate, with the two bits it can be sent as."""
        low, high = self.flips.raise_probability, self.flips.keep_probability
        return CountLaw(
            np.repeat([1 - high, low], self.dimension),
            np.repeat([1 - low, high], self.dimension),
            "bit",
            size=np.ones(self.dimension, dtype=np.int64),
            block=np.tile(np.arange(self.dimension), 2),
            share=self.release_probabilities,
            block_noun="coordinate",
        )

    def _outer(self, inner: FloatArray) -> FloatArray:
        return self._bounds.values(inner)

    @property
    def _slope(self) -> FloatArray:
        return self._bounds.width

    def _mean_covariance(self, truth: AnyArray, weights: FloatArray, averaging: Averaging) -> FloatArray:
        shares = weights @ self._shares(truth)
        nothing = np.zeros((self.dimension, self.dimension))  # no report is about two coordinates
        return self._drawn_covariance(shares, nothing, self.flips.variance(shares), nothing, averaging)

    # -- proving ---------------------------------------------------------------------------------------------------

    def largest_ratio(self) -> Fraction:
        """max(q/(1 − q)) over both bits."""
        return max(self.flips.up, self.flips.down)

    @property
    def _worst_codes(self) -> list[int]:  # type: ignore[override]
        return [bit for bit, ratio in enumerate((self.flips.down, self.flips.up)) if ratio == self.largest_ratio()]

    def worst_pair(self) -> tuple[AnyArray, AnyArray]:
        """All statistics at their largest, and all at their smallest."""
        return self._bounds.extremes()

    def enumerate_exactly(self) -> Enumeration | None:
        """On t = 0, t = 1 and the unit vectors: the level and β depend on one coordinate at a time."""
        d = self.dimension
        if d > _ENUMERATED_DIMENSION:
            return None
        points = np.concatenate([np.zeros((1, d)), np.ones((1, d)), np.eye(d)])
        statistics = [[Fraction(int(value)) for value in row] for row in points.T]
        return self._enumerated(points, statistics, np.ones(d, dtype=np.int64))

    # -- describing ------------------------------------------------------------------------------------------------

    def parameters(self) -> dict[str, Any]:
        """The parameters of the registry, from which the same thresholds are built again."""
        written: dict[str, Any] = {"dim": self.dimension, "privacy_level": str(self._level)}
        if self.calibration != "exact":
            written["calibration"] = self.calibration
        if len(set(self._release)) > 1:
            written["release_distribution"] = [str(p) for p in self._release]
        return written | self._bounds.parameters()

    def thresholds(self) -> dict[str, Any]:
        """A 1 is sent as 1 with probability keep/2⁶², a 0 with raised/2⁶²; coordinates are drawn by `release`."""
        return {"release": list(self._drawn), "keep": self.flips.keep, "raised": self.flips.raised}

    def _fingerprint_parts(self) -> tuple[Any, ...]:
        return self.flips.keep, self.flips.raised, self._cumulative.tolist(), self._bounds.edges()


def best_release(costs: FloatArray) -> list[Fraction]:
    """The release distribution that minimises Σ_j costs_j / p_j: p_j ∝ √costs_j."""
    roots = np.sqrt(costs)
    parts = apportion([Fraction(float(root)) / Fraction(float(roots.sum())) for root in roots], _RELEASE_PARTS)
    return [Fraction(part, _RELEASE_PARTS) for part in parts]
