"""Triple release: a pair of coordinates is drawn, the noised bits of v_i², v_i v_j and v_j² are sent together."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from askance._arrays import AnyArray, FloatArray, IntArray
from askance._checks import Number, as_count, as_floats, as_positive_level
from askance._kernels.draw import TOTAL
from askance._words import Place
from askance.channels.registry import COUNT, Example, Parameter, register
from askance.channels.statistics.base import (
    Averaging,
    Calibration,
    Enumeration,
    require_finite,
)
from askance.channels.statistics.choices import CALIBRATION, SPENT, require_calibration
from askance.channels.statistics.drawn import DrawnBits
from askance.channels.statistics.flips import Flips
from askance.channels.statistics.reports import Column
from askance.channels.sum_law import CountLaw, SumLaw
from askance.channels.thresholds import apportion, exp_rounded_down, largest_odds
from askance.errors import InputError, ProbabilityError

# Coordinates are rounded to multiples of one over this: products and thresholds are then whole numbers.
_FINENESS = 1 << 15
# Thresholds are multiples of this, so that (kept − raised) times a share is a whole number.
_STEP = 1 << 30
_LARGEST_DIM = 1 << 10
# A proof by enumeration lists the 8 codes of every pair for all vectors of −1, 0 and 1.
_ENUMERATED_DIM = 3
# Coordinates may exceed 1 by this: rounding, not a wrong scale.
_HAIR = 1e-12
# Square, product and square in a code.
_CODES = 8


@register(
    family="statistics",
    summary="draw a pair of coordinates and send noised bits of their squares and their product",
    use="the paper's regression is to be repeated; quadratic-release has far less noise at every level",
    parameters=[Parameter("dim", COUNT, "numbers per respondent"), SPENT, CALIBRATION],
    examples=[
        Example(dim=2, privacy_level=1),
        Example(dim=3, privacy_level=2, calibration="paper"),
        Example(dim=3, privacy_level=4),
    ],
)
class TripleRelease(DrawnBits):
    """Vectors v in [−1, 1]^k; draw a pair i < j, make bits of means v_i², (1 + v_i v_j)/2 and v_j², keep each with q.

    The statistics are the upper triangle of v vᵀ, row by row, as for `QuadraticRelease`.

    **Level**, with s = 1 − q and g = q − s. The three bits are about the same two numbers, so the level is neither that
    of one bit nor three times it: it is the largest over reports of max_v S/min_v S.

    - Report (0, 1, 0): S = (q − g v_i²)(1 + g v_i v_j)/2 (q − g v_j²). With m = |v_i v_j|, the two squares give at most
      (q − gm)², and (q − gm)²(1 + gm) falls in m: the maximum is q²/2, at v = (0, 0). The minimum s³, at (1, −1), is
      the smallest of every factor.
    - (1, 1, 1): at most q³, at (1, 1). The squares give at least (s + gm)², and (s + gm)²(1 − gm)/2 is least at an end,
      where it is s²/2 (m = 0). The ratio 2q³/s² is 4qs ≤ 1 times the one above.
    - (1, 1, 0): at most q · ½ max_b (1 + gb)(q − gb²) ≤ ½ q²(1 + gq/4), and at least
      ½ s min_a (s + ga²)(1 − ga) ≥ ½ s²(1 − g/8). The ratio is below the first because (1 − g)(1 + g/4) ≤ 1 − g/8.
    - The others are these with v_j negated or i and j swapped.

    Hence level = log(q²/(2s³)), exactly, and "exact" keeps bits accordingly. The paper says "suitable noise"; "paper"
    is its per-value recipe for three values, q = e^{α/6}/(1 + e^{α/6}). Thresholds are multiples of 2³⁰ over 2⁶² and
    coordinates of 2⁻¹⁵, which makes every probability a whole number over 2⁶²; rounding moves a coordinate by at most
    2⁻¹⁶.

    Averages are taken within the reports that are about a product: a pair is drawn with probability 2/(k(k − 1)), a
    square is in a share 2/k of the reports.

    Args:
        dim: k, the length of a respondent's vector, at least 2.
        privacy_level: α.
        calibration: "exact" (default), or "paper" to keep bits as above and report the level that really has.

    >>> channel = TripleRelease(3, 4)
    >>> round(channel.privacy_level, 6), round(TripleRelease(3, 4, calibration="paper").privacy_level, 3)
    (4.0, 1.721)
    >>> reports = channel.simulate(np.tile([0.6, -0.8, 0.0], (200_000, 1)), np.random.default_rng(1))
    >>> abs(channel.mean(channel.sums(reports), len(reports)).round(1))
    array([0.4, 0.5, 0. , 0.6, 0. , 0. ])
    """

    kind = "triple-release"
    #: Squares small, product of one sign.
    _worst_codes = (0, 2)
    #: Products of rounded coordinates miss those of the coordinates by at most this.
    bias_bound = 2.0**-15

    def __init__(self, dim: int, privacy_level: Number, *, calibration: Calibration = "exact") -> None:
        self.dim = as_count(dim, "dim", minimum=2, maximum=_LARGEST_DIM)
        self._level = as_positive_level(privacy_level)
        self.calibration = require_calibration(calibration)
        self.flips = _exact_flips(self._level) if self.calibration == "exact" else _paper_flips(self._level)
        if self.flips.keep == self.flips.raised:
            raise ProbabilityError(
                argument="privacy_level",
                got=privacy_level,
                allowed="what thresholds of 32 bits can hold, from about 1e-8",
                remedy="Take a larger level.",
            )
        self.dimension = self.dim * (self.dim + 1) // 2
        self._first, self._second = np.triu_indices(self.dim, 1)
        self.pairs = len(self._first)
        place = np.zeros((self.dim, self.dim), dtype=np.int64)
        place[np.triu_indices(self.dim)] = np.arange(self.dimension)
        corners = (self._first, self._first), (self._first, self._second), (self._second, self._second)
        self._places = np.stack([place[corner] for corner in corners], axis=1)  # of v_i², v_i v_j and v_j²
        self._set_columns(
            Column("pair", "integer", limit=self.pairs, description="which pair was drawn, (0,1), (0,2), … in order"),
            Column("code", "integer", limit=_CODES, description="4, 2 and 1 for bits of square, product and square"),
        )

    @property
    def truth_width(self) -> int:
        """k: how many numbers describe one respondent."""
        return self.dim

    @property
    def statistic_names(self) -> tuple[str, ...]:
        """The two coordinates that are multiplied, from 0."""
        return tuple(f"{i},{j}" for i, j in zip(*(part.tolist() for part in np.triu_indices(self.dim)), strict=True))

    @cached_property
    def _is_square(self) -> AnyArray:
        first, second = np.triu_indices(self.dim)
        return np.asarray(first == second)

    # -- drawing ---------------------------------------------------------------------------------------------------

    @cached_property
    def _drawn(self) -> list[int]:  # type: ignore[override]
        return apportion([Fraction(1, self.pairs)] * self.pairs)

    def _read(self, truth: AnyArray, offset: int) -> AnyArray:
        """Coordinates in units of 2⁻¹⁵, int64."""
        values = as_floats(truth, "the vectors", secret=True)
        require_finite(values, offset)
        wrong = np.abs(values) > 1 + _HAIR
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            raise InputError(
                "lies outside its bounds",
                argument=Place("statistic", column, row + offset),
                allowed="−1 to 1",
                remedy="Divide by the largest possible value, or clip on the device and count how often.",
            )
        return np.rint(values * _FINENESS).astype(np.int64)

    def _thresholds(self, units: IntArray, pair: IntArray) -> IntArray:
        """How many of 2⁶² words make each of the three bits a 1, exactly, shape (n, 3)."""
        rows = np.arange(len(units))
        left, right = units[rows, self._first[pair]], units[rows, self._second[pair]]
        unit = (self.flips.keep - self.flips.raised) // (2 * _FINENESS**2)
        shares = np.stack([2 * left * left, _FINENESS**2 + left * right, 2 * right * right], axis=1)
        return np.asarray(self.flips.raised + unit * shares)

    # -- estimating ------------------------------------------------------------------------------------------------

    def _sum_law(self) -> SumLaw:
        """A block for every pair, with its eight codes; how often they are sent is bounded as in the proof above."""
        q, s, g = self.flips.keep_probability, self.flips.raise_probability, self.flips.gain
        both, mixed, none = (s**2 / 2, q**3), (s**2 * (1 - g / 8) / 2, q**2 * (1 + g * q / 4) / 2), (s**3, q**2 / 2)
        ends = np.array([(none, mixed, both)[(code >> 2) + (code & 1)] for code in range(_CODES)])
        low, high = np.tile(ends, (self.pairs, 1)).T
        return CountLaw(
            low,
            high,
            "code",
            size=np.ones(self.pairs, dtype=np.int64),
            block=np.repeat(np.arange(self.pairs), _CODES),
            share=np.full(self.pairs, 1 / self.pairs),
            block_noun="pair",
        )

    @cached_property
    def _sent(self) -> FloatArray:
        """How often each statistic is sent, shape (d,)."""
        return np.asarray(np.where(self._is_square, 2 / self.dim, 1 / self.pairs))

    def _outer(self, inner: FloatArray) -> FloatArray:
        """Products from means of bits: t for squares, 2t − 1 for others."""
        return np.asarray(np.where(self._is_square, inner, 2 * inner - 1))

    @property
    def _slope(self) -> FloatArray:
        return np.where(self._is_square, 1.0, 2.0)

    def _statistics(self, rows: AnyArray) -> FloatArray:
        vectors, (first, second) = as_floats(rows, "the vectors"), np.triu_indices(self.dim)
        return np.asarray(vectors[:, first] * vectors[:, second])

    def _shares(self, truth: AnyArray) -> FloatArray:
        products = self._statistics(truth)
        return np.asarray(np.where(self._is_square, products, (1 + products) / 2))

    def _mean_covariance(self, truth: AnyArray, weights: FloatArray, averaging: Averaging) -> FloatArray:
        shares = self._shares(truth)
        mean, second = weights @ shares, (shares * weights[:, None]).T @ shares
        members = np.zeros((self.pairs, self.dimension))
        np.put_along_axis(members, self._places, 1.0, axis=1)
        together = members.T @ members / self.pairs / np.outer(self._sent, self._sent)
        return self._drawn_covariance(mean, second, self.flips.variance(mean), together, averaging)

    # -- proving ---------------------------------------------------------------------------------------------------

    def largest_ratio(self) -> Fraction:
        """q²/(2s³), exactly: which pair was drawn says nothing about the truth."""
        return _ratio(self.flips)

    def worst_pair(self) -> tuple[AnyArray, AnyArray]:
        """Zeros, and corners: all coordinates are 1, but the first is −1 where there is no other sign to tell."""
        corner = np.ones((1, self.dim))
        corner[0, 0] = -1.0
        return np.zeros((1, self.dim)), corner

    def enumerate_exactly(self) -> Enumeration | None:
        """On all vectors of −1, 0 and 1, among which the level is attained."""
        if self.dim > _ENUMERATED_DIM:
            return None
        points = np.array(list(product((-1, 0, 1), repeat=self.dim)))
        statistics = [[Fraction(int(value)) for value in row] for row in self._statistics(points).T]
        return self._enumerated(points * _FINENESS, statistics, self._slope.astype(np.int64))

    # -- describing ------------------------------------------------------------------------------------------------

    def parameters(self) -> dict[str, Any]:
        """The parameters of the registry, from which the same thresholds are built again."""
        written: dict[str, Any] = {"dim": self.dim, "privacy_level": str(self._level)}
        return written | ({"calibration": self.calibration} if self.calibration != "exact" else {})

    def thresholds(self) -> dict[str, Any]:
        """Pairs are drawn by `pairs` (over 2⁶²); a 1 is sent as 1 with probability keep/2⁶², a 0 with raised/2⁶²."""
        return {"pairs": list(self._drawn), "keep": self.flips.keep, "raised": self.flips.raised}

    def _fingerprint_parts(self) -> tuple[Any, ...]:
        return self.dim, self.flips.keep, self.flips.raised, _FINENESS


def _ratio(flips: Flips) -> Fraction:
    return Fraction(flips.keep**2 * TOTAL, 2 * flips.raised**3)


def _exact_flips(level: Fraction) -> Flips:
    """The smallest s, a multiple of 2⁻³², with q²/(2s³) ≤ e^level: found by halving."""
    limit = largest_odds(level)
    unsafe, safe = 0, TOTAL // 2 // _STEP
    while safe - unsafe > 1:
        middle = (unsafe + safe) // 2
        raised = middle * _STEP
        if _ratio(Flips(TOTAL - raised, raised)) <= limit:
            safe = middle
        else:
            unsafe = middle
    return Flips(TOTAL - safe * _STEP, safe * _STEP)


def _paper_flips(level: Fraction) -> Flips:
    """Every one of three bits is kept with probability e^{α/6}/(1 + e^{α/6})."""
    raised = math.ceil(TOTAL / (1 + exp_rounded_down(level / 6)) / _STEP) * _STEP
    return Flips(TOTAL - raised, raised)
