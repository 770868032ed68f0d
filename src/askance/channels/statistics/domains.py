"""Which statistics are possible, and what that makes of the level of noised bits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Protocol

import numpy as np

from askance._arrays import FloatArray, IntArray
from askance._kernels.bits import whole_parts
from askance._kernels.draw import TOTAL
from askance.channels.statistics.flips import Flips, probabilities
from askance.channels.thresholds import Powers

# Pairs whose level is within this of the largest, in floating point, are compared again to 60 digits.
_TIE = 1e-8
# Listed statistics of at most so many values are compared by counts; entries of pairs that are worked on at a time.
_FEW_VALUES = 8
_AT_A_TIME = 1 << 18


class Domain(Protocol):
    """Which statistics are possible, as far as the level goes."""

    def log_ratio(self, up: float, down: float) -> float:
        """The level of bits with these ratios, in floating point."""

    def worst(self, flips: Flips) -> Powers:
        """e^level, exactly."""

    def worst_pair(self, flips: Flips, dimension: int) -> tuple[FloatArray, FloatArray]:
        """Two possible statistics (t, t′) between which the level is attained, shape (d,) each."""


@dataclass(frozen=True)
class BinaryDomain:
    """0/1 vectors that differ by at most `falls` coordinates one way and, besides, `rises` the other way.

    Of norm at most δ: falls = min(δ, d), rises = min(δ, d − falls), and their sum is the Hamming diameter D. Of norm
    exactly δ: both are min(δ, d − δ), and the other ones are `shared`. The level is
    max(log up, log down)·falls + min(log up, log down)·rises.
    """

    falls: int
    rises: int
    shared: int = 0

    @classmethod
    def of_norm_at_most(cls, dimension: int, norm: int) -> BinaryDomain:
        """Vectors with at most that many ones."""
        falls = min(norm, dimension)
        return cls(falls, min(norm, dimension - falls))

    @classmethod
    def of_norm(cls, dimension: int, norm: int) -> BinaryDomain:
        """Vectors with exactly that many ones."""
        moved = min(norm, dimension - norm)
        return cls(moved, moved, norm - moved)

    @property
    def diameter(self) -> int:
        """D."""
        return self.falls + self.rises

    def log_ratio(self, up: float, down: float) -> float:
        """The level, in floating point."""
        return max(up, down) * self.falls + min(up, down) * self.rises

    def worst(self, flips: Flips) -> Powers:
        """e^level, exactly."""
        up, down = flips.up, flips.down
        return Powers(((max(up, down), self.falls), (min(up, down), self.rises)))

    def worst_pair(self, flips: Flips, dimension: int) -> tuple[FloatArray, FloatArray]:
        """Ones of t in front, then those of t′, then those they share."""
        falls, rises = (self.falls, self.rises) if flips.up >= flips.down else (self.rises, self.falls)
        first, second = np.zeros(dimension), np.zeros(dimension)
        first[:falls], second[falls : falls + rises] = 1, 1
        for ones in (first, second):
            ones[falls + rises : falls + rises + self.shared] = 1
        return first, second


@dataclass(frozen=True)
class BoundedDomain:
    """All of [0, 1]^d with Σt ≤ δ.

    Let t and t′ be the two statistics; lowering the smaller of t_j and t′_j to 0 never lowers the ratio and frees norm,
    so one of them is 0 in every coordinate. Where t′ = 0 the term is log(1 + t (p − s)/s), concave in t: a coordinates
    share δ evenly. Where t = 0 it is −log(1 − t′ (p − s)/(1 − s)), convex in t′: whole units go to ⌊δ⌋ coordinates and
    the rest of δ to one more. The level is the maximum over the number b of coordinates of the second kind.

    With `slack`, the level is worked out for a δ that is larger by that share: what rounding lets through, of a sum or
    of a threshold, then stays below the level.
    """

    dimension: int
    norm: Fraction
    slack: Fraction = Fraction(0)

    @property
    def _reach(self) -> Fraction:
        return self.norm * (1 + self.slack)

    def log_ratio(self, up: float, down: float) -> float:
        """The level, in floating point."""
        return float(self._log_ratios(up, down).max())

    def _log_ratios(self, up: float, down: float) -> FloatArray:
        norm, fallen = float(self._reach), np.arange(self.dimension, -1, -1.0)
        even = np.minimum(1.0, norm / np.maximum(fallen, 1.0))
        risen = self.dimension - fallen
        whole = np.minimum(risen, math.floor(self._reach))
        rest = np.where(risen > whole, norm - math.floor(self._reach), 0.0)
        return np.asarray(fallen * np.log1p(even * math.expm1(up)) + whole * down - np.log1p(rest * math.expm1(-down)))

    def worst(self, flips: Flips) -> Powers:
        """e^level, exactly: the candidates that floating point cannot tell apart are compared to 60 digits."""
        levels = self._log_ratios(math.log(flips.up), math.log(flips.down))
        close = np.flatnonzero(levels >= levels.max() - _TIE)
        return max((self._powers(flips, int(risen)) for risen in close), key=Powers.log)

    def worst_pair(self, flips: Flips, dimension: int) -> tuple[FloatArray, FloatArray]:
        """δ spread evenly over the coordinates that fall; whole units, and a rest, on those that rise."""
        risen = int(np.argmax(self._log_ratios(math.log(flips.up), math.log(flips.down))))
        fallen, norm, whole = dimension - risen, float(self.norm), min(risen, math.floor(self.norm))
        first, second = np.zeros(dimension), np.zeros(dimension)
        first[:fallen] = min(1.0, norm / max(fallen, 1))
        second[fallen : fallen + whole] = 1
        if risen > whole:
            second[fallen + whole] = norm - math.floor(norm)
        return first, second

    def _powers(self, flips: Flips, risen: int) -> Powers:
        fallen, span = self.dimension - risen, flips.keep - flips.raised
        even = min(Fraction(1), self._reach / max(fallen, 1))
        whole = min(risen, math.floor(self._reach))
        factors = [(1 + even * Fraction(span, flips.raised), fallen), (flips.down, whole)]
        if risen > whole:
            rest = self._reach - math.floor(self._reach)
            factors.append((1 / (1 - rest * Fraction(span, TOTAL - flips.raised)), 1))
        return Powers(tuple(factors))


@dataclass(frozen=True)
class ListedDomain:
    """Exactly the rows of `points` (m, d), t in [0, 1]: the level is a maximum over pairs of rows.

    What a pair makes of the level depends only on how often it puts each value of t against each other one. Where t
    takes few values (bits, above all), pairs with equal counts are looked at once.
    """

    points: FloatArray

    @cached_property
    def _codes(self) -> tuple[FloatArray, IntArray]:
        """The different values of t, and which of them every entry is."""
        values, codes = np.unique(self.points, return_inverse=True)
        return values, codes.reshape(self.points.shape)

    @cached_property
    def _pairs(self) -> IntArray:
        """First and second row of all pairs that may differ in their level, shape (pairs, 2)."""
        values, codes = self._codes
        rows = len(codes)
        if len(values) > _FEW_VALUES:
            return np.argwhere(~np.eye(rows, dtype=bool))
        places = np.arange(len(values))
        indicators = (codes[:, :, None] == places).astype(np.float64)
        kinds: dict[bytes, tuple[int, int]] = {}
        for first in range(rows):
            counts = np.einsum("dk,mdl->mkl", indicators[first], indicators).astype(np.int32)
            for second in range(rows):
                kinds.setdefault(counts[second].tobytes(), (first, second))
        return np.array(list(kinds.values()))

    def log_ratio(self, up: float, down: float) -> float:
        """The level, in floating point."""
        keep, raised = probabilities(up, down)
        lost, gain = math.exp(-down) * (1 - raised), keep - raised
        values = self._codes[0]
        return float(self._levels(raised + gain * values, lost + gain * (1 - values)).max())

    def _levels(self, ones: FloatArray, zeros: FloatArray) -> FloatArray:
        """The level of every pair, for the probabilities of a 1 and of a 0 at every value."""
        codes = self._codes[1]
        log_ones, log_zeros = np.log(ones)[codes], np.log(zeros)[codes]
        step = max(1, _AT_A_TIME // codes.shape[1])
        levels = [
            np.maximum(log_ones[a] - log_ones[b], log_zeros[a] - log_zeros[b]).sum(axis=1)
            for a, b in (self._pairs[start : start + step].T for start in range(0, len(self._pairs), step))
        ]
        return np.concatenate(levels)

    def worst(self, flips: Flips) -> Powers:
        """e^level, exactly, from the thresholds of the listed statistics."""
        values, codes = self._codes
        thresholds = flips.raised + whole_parts(values, flips.keep - flips.raised)
        levels = self._levels(thresholds / TOTAL, (TOTAL - thresholds) / TOTAL)
        close = self._pairs[levels >= levels.max() - _TIE]
        return max((_between(thresholds[codes[a]], thresholds[codes[b]]) for a, b in close), key=Powers.log)

    def worst_pair(self, flips: Flips, dimension: int) -> tuple[FloatArray, FloatArray]:
        """The rows of the largest level."""
        values = self._codes[0]
        first, second = self._pairs[np.argmax(self._levels(flips.ones(values), flips.zeros(values)))]
        return self.points[first], self.points[second]


def _between(first: IntArray, second: IntArray) -> Powers:
    """The largest ratio of one observation between two lists of thresholds, equal factors gathered."""
    falls = first >= second
    pairs = np.stack([np.where(falls, first, TOTAL - first), np.where(falls, second, TOTAL - second)])
    different, counts = np.unique(pairs, axis=1, return_counts=True)
    return Powers(tuple((Fraction(int(a), int(b)), int(n)) for (a, b), n in zip(different.T, counts, strict=True)))
