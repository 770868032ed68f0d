"""Coordinate release: one statistic is drawn, one noised bit of it is sent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np

from askance._arrays import AnyArray, ArrayLike, FloatArray, IntArray
from askance._checks import Number, as_count, as_floats, as_positive_level
from askance._kernels import bits
from askance._kernels.draw import TOTAL
from askance.channels.randomness import WordSource, pieces, whole_numbers
from askance.channels.registry import DISTRIBUTION, Example, Parameter, register
from askance.channels.statistics.base import Averaging, Calibration, DrawnStatistics, Enumeration, HasReportLikelihood
from askance.channels.statistics.bounds import Bounds
from askance.channels.statistics.calibration import BinaryDomain, Flips, calibrate
from askance.channels.statistics.choices import (
    BOUNDS,
    CALIBRATION,
    DIM,
    SPENT,
    as_draw_distribution,
    require_calibration,
)
from askance.channels.statistics.reports import Column
from askance.channels.statistics.sum_law import CountLaw, SumLaw
from askance.channels.thresholds import apportion
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
class CoordinateRelease(DrawnStatistics, HasReportLikelihood):
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
        given = as_draw_distribution(release_distribution, "release_distribution", self.dimension, "statistic")
        self._release = given or [Fraction(1, self.dimension)] * self.dimension
        spent = self._level if self.calibration == "exact" else self._level / 2
        self.flips: Flips = calibrate(BinaryDomain(1, 0), spent)
        self.columns = (
            Column("coordinate", "integer", limit=self.dimension, description="which statistic was drawn"),
            Column("bit", "integer", limit=2, description="its noised bit"),
        )
        self.sums_size = 2 * self.dimension

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

    # -- drawing ---------------------------------------------------------------------------------------------------

    @cached_property
    def _cumulative(self) -> IntArray:
        return np.cumsum(np.array(apportion(self._release), dtype=np.int64))

    @property
    def release_probabilities(self) -> FloatArray:
        """p_cr: how often each statistic is drawn, shape (d,)."""
        return np.diff(self._cumulative, prepend=0) / TOTAL

    def _many_words(self, n: int) -> int:
        return 2 * n

    def _read(self, truth: AnyArray, offset: int) -> AnyArray:
        return self._bounds.shares(truth, offset)

    def _draw(self, encoded: AnyArray, source: WordSource, out: Mapping[str, AnyArray], *, compiled: bool) -> None:
        span = self.flips.keep - self.flips.raised
        for rows in pieces(len(encoded), words=2):
            count = rows.stop - rows.start
            words = whole_numbers(source, 2 * count)
            coordinate = np.searchsorted(self._cumulative, words[:count], side="right")
            shares = encoded[rows][np.arange(count), coordinate].astype(np.float64)
            thresholds = self.flips.raised + bits.whole_parts(shares, span)
            out["coordinate"][rows] = coordinate
            out["bit"][rows] = words[count:] < thresholds

    # -- estimating ------------------------------------------------------------------------------------------------

    def _sums(self, columns: Mapping[str, AnyArray]) -> IntArray:
        """How often each coordinate was sent with a 0, then with a 1."""
        cells = columns["bit"].astype(np.int64) * self.dimension + columns["coordinate"]
        return np.bincount(cells, minlength=self.sums_size)

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

    @property
    def _sent(self) -> FloatArray:
        return self.release_probabilities

    def _seen(self, sums: IntArray) -> IntArray:
        return np.asarray(sums[: self.dimension] + sums[self.dimension :])

    def _average(self, sums: IntArray, n: int) -> FloatArray:
        """(share of ones among the reports of j − (1 − q))/(2q − 1)."""
        return self.flips.debias(sums[self.dimension :] / np.maximum(self._seen(sums), 1))

    def _spread(self, sums: IntArray, n: int) -> tuple[FloatArray, FloatArray]:
        return self.flips.smoothed(sums[self.dimension :], self._seen(sums))

    def _outer(self, inner: FloatArray) -> FloatArray:
        return self._bounds.values(inner)

    @property
    def _slope(self) -> FloatArray:
        return self._bounds.width

    def _debias(self, columns: Mapping[str, AnyArray]) -> FloatArray:
        """The printed β: what was drawn, over the probability of drawing it."""
        drawn = columns["coordinate"].astype(np.int64)
        shares = np.zeros((len(drawn), self.dimension))
        shares[np.arange(len(drawn)), drawn] = (
            self.flips.debias(columns["bit"].astype(np.float64)) / self.release_probabilities[drawn]
        )
        return self._bounds.values(shares)

    def _mean_covariance(self, truth: AnyArray, weights: FloatArray, averaging: Averaging) -> FloatArray:
        shares = weights @ self._bounds.scaled(truth)
        nothing = np.zeros((self.dimension, self.dimension))  # no report is about two coordinates
        return self._drawn_covariance(shares, nothing, self.flips.variance(shares), nothing, averaging)

    def _log_likelihood(self, columns: Mapping[str, AnyArray], truth: AnyArray) -> FloatArray:
        shares = self._bounds.scaled(truth)[:, columns["coordinate"].astype(np.int64)]
        seen = np.where(columns["bit"] == 1, self.flips.ones(shares), self.flips.zeros(shares))
        drawn = np.log(self.release_probabilities)[columns["coordinate"].astype(np.int64)]
        return np.asarray((np.log(seen) + drawn).T)

    # -- proving ---------------------------------------------------------------------------------------------------

    def largest_ratio(self) -> Fraction:
        """max(q/(1 − q)) over both bits: the drawn coordinate says nothing about the truth."""
        return max(self.flips.up, self.flips.down)

    def worst_observations(self) -> tuple[str, ...]:
        """Both bits of every coordinate; of the first where they are many."""
        shown = self.dimension if self.dimension <= _ENUMERATED_DIMENSION else 1
        worst = [bit for bit, ratio in enumerate((self.flips.down, self.flips.up)) if ratio == self.largest_ratio()]
        return tuple(f"{j}:{bit}" for j in range(shown) for bit in worst)

    def is_unbiased(self) -> bool:
        """Every coordinate is drawn sometimes, and its bit says something."""
        return self.flips.keep > self.flips.raised and bool((self.release_probabilities > 0).all())

    def worst_pair(self) -> tuple[AnyArray, AnyArray]:
        """All statistics at their largest, and all at their smallest."""
        return self._bounds.extremes()

    def enumerate_exactly(self) -> Enumeration | None:
        """On t = 0, t = 1 and the unit vectors: the level and β depend on one coordinate at a time."""
        d = self.dimension
        if d > _ENUMERATED_DIMENSION:
            return None
        drawn = apportion(self._release)
        points = [[Fraction(0)] * d, [Fraction(1)] * d, *([Fraction(int(i == j)) for i in range(d)] for j in range(d))]
        keep, raised, span = self.flips.keep, self.flips.raised, self.flips.keep - self.flips.raised
        weights, beta = [], []
        scale = span * int(np.lcm.reduce(np.array(drawn, dtype=object)))
        for j in range(d):
            for bit in (0, 1):
                ones = [keep if point[j] else raised for point in points]
                weights.append([drawn[j] * (one if bit else TOTAL - one) for one in ones])
                value = (TOTAL * bit - raised) * TOTAL * (scale // (span * drawn[j])) if drawn[j] else 0
                beta.append([value if i == j else 0 for i in range(d)])
        return Enumeration(
            observations=[f"{j}:{bit}" for j in range(d) for bit in (0, 1)],
            statistics=list(zip(*points, strict=True)),
            weights=weights,
            total=TOTAL * TOTAL,
            beta=list(zip(*beta, strict=True)),
            beta_scale=scale,
        )

    # -- describing ------------------------------------------------------------------------------------------------

    def parameters(self) -> dict[str, Any]:
        """The parameters of the registry, from which the same thresholds are built again."""
        given: dict[str, Any] = {"dim": self.dimension, "privacy_level": str(self._level)}
        if self.calibration != "exact":
            given["calibration"] = self.calibration
        if len(set(self._release)) > 1:
            given["release_distribution"] = [str(p) for p in self._release]
        return given | self._bounds.parameters()

    def thresholds(self) -> dict[str, Any]:
        """A 1 is sent as 1 with probability keep/2⁶², a 0 with raised/2⁶²; coordinates are drawn by `release`."""
        return {"release": apportion(self._release), "keep": self.flips.keep, "raised": self.flips.raised}

    def _fingerprint_parts(self) -> tuple[Any, ...]:
        return self.flips.keep, self.flips.raised, self._cumulative.tolist(), self._bounds.edges()


def best_release(costs: FloatArray) -> list[Fraction]:
    """The release distribution that minimises Σ_j costs_j / p_j: p_j ∝ √costs_j."""
    roots = np.sqrt(costs)
    parts = apportion([Fraction(float(root)) / Fraction(float(roots.sum())) for root in roots], _RELEASE_PARTS)
    return [Fraction(part, _RELEASE_PARTS) for part in parts]
