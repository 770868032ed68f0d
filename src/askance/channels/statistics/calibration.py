"""Thresholds for noisy bits: how often a 1 and a 0 is reported as 1, so that the level is the stated one, exactly.

A bit that is 1 with probability t (0 ≤ t ≤ 1) is reported as 1 with probability s + (p − s) t, in units of 2⁻⁶²
S + ⌊(P − S) t⌋ with whole P > S. What a change of the truth can do to the probability of a report is at most

    up   = p / s               for a coordinate that falls from 1 to 0 (seen at a 1), and
    down = (1 − s)/(1 − p)     for one that rises from 0 to 1 (seen at a 0).

The level of d such bits is the maximum of the product over all pairs of possible statistics; `Domain` knows them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from askance._arrays import FloatArray
from askance._kernels.draw import TOTAL
from askance.channels.thresholds import exp_rounded_down
from askance.errors import ProbabilityError

# Pairs whose level is within this of the largest, in floating point, are compared again in exact arithmetic.
_TIE = 1e-9


@dataclass(frozen=True)
class Flips:
    """How bits are noised: a 1 is reported as 1 with probability keep/2⁶², a 0 with probability raised/2⁶².

    Attributes:
        keep: P, an integer below 2⁶².
        raised: S, an integer above 0 and below P.
    """

    keep: int
    raised: int

    @property
    def keep_probability(self) -> float:
        """q (or p): the probability that a 1 stays."""
        return self.keep / TOTAL

    @property
    def raise_probability(self) -> float:
        """1 − q (or s): the probability that a 0 becomes 1."""
        return self.raised / TOTAL

    @property
    def gain(self) -> float:
        """p − s (symmetric: 2q − 1): what is left of a difference between statistics."""
        return (self.keep - self.raised) / TOTAL

    @property
    def up(self) -> Fraction:
        """p / s."""
        return Fraction(self.keep, self.raised)

    @property
    def down(self) -> Fraction:
        """(1 − s)/(1 − p)."""
        return Fraction(TOTAL - self.raised, TOTAL - self.keep)

    def ones(self, shares: FloatArray) -> FloatArray:
        """The probability of a reported 1 for bits of mean t."""
        return np.asarray(self.raise_probability + self.gain * shares)

    def debias(self, ones: FloatArray) -> FloatArray:
        """T̂ = (share of reported ones − s)/(p − s)."""
        return np.asarray((ones - self.raise_probability) / self.gain)

    def variance(self, shares: FloatArray) -> FloatArray:
        """Of one debiased bit of mean t: π(1 − π)/(p − s)²; symmetric: v + t(1 − t) with v = q(1 − q)/(2q − 1)²."""
        ones = self.ones(shares)
        return np.asarray(ones * (1 - ones) / self.gain**2)


class Domain(Protocol):
    """Which statistics are possible, as far as the level goes."""

    def log_ratio(self, up: float, down: float) -> float:
        """The level of bits with these ratios, in floating point."""

    def ratio(self, flips: Flips) -> Fraction:
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

    def ratio(self, flips: Flips) -> Fraction:
        """e^level, exactly."""
        up, down = flips.up, flips.down
        return Fraction(max(up, down) ** self.falls * min(up, down) ** self.rises)

    def worst_pair(self, flips: Flips, dimension: int) -> tuple[FloatArray, FloatArray]:
        """Ones of t in front, then those of t′, then those they share."""
        falls, rises = (self.falls, self.rises) if flips.up >= flips.down else (self.rises, self.falls)
        first, second = np.zeros(dimension), np.zeros(dimension)
        first[:falls], second[falls : falls + rises] = 1, 1
        for each in (first, second):
            each[falls + rises : falls + rises + self.shared] = 1
        return first, second


@dataclass(frozen=True)
class BoundedDomain:
    """All of [0, 1]^d with Σt ≤ δ.

    Let t and t′ be the two statistics; lowering the smaller of t_j and t′_j to 0 never lowers the ratio and frees norm,
    so one of them is 0 in every coordinate. Where t′ = 0 the term is log(1 + t (p − s)/s), concave in t: a coordinates
    share δ evenly. Where t = 0 it is −log(1 − t′ (p − s)/(1 − s)), convex in t′: whole units go to ⌊δ⌋ coordinates and
    the rest of δ to one more. The level is the maximum over the number b of coordinates of the second kind.
    """

    dimension: int
    norm: Fraction

    def log_ratio(self, up: float, down: float) -> float:
        """The level, in floating point."""
        return float(self._log_ratios(up, down).max())

    def _log_ratios(self, up: float, down: float) -> FloatArray:
        norm, fallen = float(self.norm), np.arange(self.dimension, -1, -1.0)
        even = np.minimum(1.0, norm / np.maximum(fallen, 1.0))
        risen = self.dimension - fallen
        whole = np.minimum(risen, math.floor(self.norm))
        rest = np.where(risen > whole, norm - math.floor(self.norm), 0.0)
        return np.asarray(fallen * np.log1p(even * math.expm1(up)) + whole * down - np.log1p(rest * math.expm1(-down)))

    def ratio(self, flips: Flips) -> Fraction:
        """e^level, exactly: the candidates that floating point cannot tell apart are compared as fractions."""
        levels = self._log_ratios(math.log(flips.up), math.log(flips.down))
        close = np.flatnonzero(levels >= levels.max() - _TIE)
        return max(self._ratio(flips, int(risen)) for risen in close)

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

    def _ratio(self, flips: Flips, risen: int) -> Fraction:
        fallen, span = self.dimension - risen, flips.keep - flips.raised
        even = min(Fraction(1), self.norm / max(fallen, 1))
        whole = min(risen, math.floor(self.norm))
        result = (1 + even * Fraction(span, flips.raised)) ** fallen * flips.down**whole
        if risen > whole:
            result /= 1 - (self.norm - math.floor(self.norm)) * Fraction(span, TOTAL - flips.raised)
        return result


@dataclass(frozen=True)
class ListedDomain:
    """Exactly the rows of `points` (m, d), t in [0, 1]: the level is a maximum over pairs of rows."""

    points: FloatArray

    def log_ratio(self, up: float, down: float) -> float:
        """The level, in floating point."""
        return float(self._log_ratios(*_probabilities(up, down)).max())

    def _log_ratios(self, keep: float, raised: float) -> FloatArray:
        ones = raised + (keep - raised) * self.points
        log_ones, log_zeros = np.log(ones), np.log1p(-ones)
        return np.array(
            [
                np.maximum(mine - log_ones, zeros - log_zeros).sum(axis=1).max()
                for mine, zeros in zip(log_ones, log_zeros, strict=True)
            ]
        )

    def ratio(self, flips: Flips) -> Fraction:
        """e^level, exactly, from the thresholds of the listed statistics."""
        levels = self._log_ratios(flips.keep_probability, flips.raise_probability)
        span = flips.keep - flips.raised
        ones = [[flips.raised + min(int(span * t), span) for t in row] for row in self.points.tolist()]
        best = Fraction(1)
        for first in np.flatnonzero(levels >= levels.max() - _TIE):
            for second in ones:
                pair = zip(ones[first], second, strict=True)
                ups, downs = zip(*((a, b) if a >= b else (TOTAL - a, TOTAL - b) for a, b in pair), strict=True)
                best = max(best, Fraction(math.prod(ups), math.prod(downs)))
        return best

    def worst_pair(self, flips: Flips, dimension: int) -> tuple[FloatArray, FloatArray]:
        """The rows of the largest level."""
        ones = flips.ones(self.points)
        levels = [np.maximum(np.log(a / ones), np.log((1 - a) / (1 - ones))).sum(axis=1) for a in ones]
        first, second = np.unravel_index(np.argmax(levels), (len(ones), len(ones)))
        return self.points[first], self.points[second]


def _probabilities(up: float, down: float) -> tuple[float, float]:
    """(p, s) from log up and log down: s = (1 − e^−down)/(e^up − e^−down)."""
    raised = -math.expm1(-down) / (math.expm1(up) - math.expm1(-down))
    return raised * math.exp(up), raised


def flips_of(up: float, down: float) -> Flips:
    """Thresholds with these log ratios, to the nearest unit; symmetric to the last bit where the two are equal."""
    _, raised = _probabilities(up, down)
    rising = max(round(raised * TOTAL), 1)
    falling = rising if up == down else max(round(math.exp(-down) * (1 - raised) * TOTAL), 1)
    return _require_difference(Flips(TOTAL - falling, rising), up + down)


def _require_difference(flips: Flips, strength: float) -> Flips:
    if flips.keep <= flips.raised:
        raise ProbabilityError(
            f"a level of {strength:.3g} for one bit leaves no difference between 0 and 1 in 62 bits.",
            remedy="Raise the level, or spread it over fewer statistics.",
        )
    return flips


def calibrate(domain: Domain, level: Fraction, bias: float = 0.5) -> Flips:
    """The strongest flips of that bias whose level is at most the stated one: one unit of 2⁻⁶² less would exceed it.

    Args:
        domain: the possible statistics.
        level: the stated level.
        bias: log up as a share of log up + log down: ½ is symmetric, larger raises fewer zeros.
    """
    limit = exp_rounded_down(min(level, Fraction(float(level))))
    strength = _strength(domain, float(level), bias)
    near = flips_of(strength * bias, strength * (1 - bias))

    def flips(raised: int) -> Flips:
        return Flips(TOTAL - raised if bias == 0.5 else near.keep, raised)

    def is_safe(raised: int) -> bool:
        return raised > 0 and domain.ratio(flips(raised)) <= limit

    # Raising more zeros lowers the level. The float solution is a few units off: step away from it, then halve.
    unsafe, safe, step = near.raised - 1, near.raised, 1
    while not is_safe(safe):
        unsafe, safe, step = safe, safe + step, 2 * step
    while unsafe and is_safe(unsafe):
        unsafe, safe, step = max(unsafe - step, 0), unsafe, 2 * step
    while safe - unsafe > 1:
        middle = (unsafe + safe) // 2
        unsafe, safe = (unsafe, middle) if is_safe(middle) else (middle, safe)
    return _require_difference(flips(safe), strength)


def _strength(domain: Domain, level: float, bias: float) -> float:
    """The largest log up + log down of that bias whose level, in floating point, is at most `level`, by bisection."""

    def allowed(total: float) -> bool:
        return domain.log_ratio(total * bias, total * (1 - bias)) <= level

    low, high = 0.0, 1e-6
    while allowed(high) and high < 80:
        low, high = high, 2 * high
    while high - low > 1e-15 * high:
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if allowed(middle) else (low, middle)
    return low


def calibrate_for_density(domain: Domain, level: Fraction, density: float) -> Flips:
    """The flips of least variance for bits that are 1 with frequency `density`, at that level."""
    from scipy.optimize import minimize_scalar

    def cost(bias: float) -> float:
        strength = _strength(domain, float(level), bias)
        flips = flips_of(strength * bias, strength * (1 - bias))
        zeros, ones = flips.raise_probability, flips.keep_probability
        return math.log(((1 - density) * zeros * (1 - zeros) + density * ones * (1 - ones)) / flips.gain**2)

    coarse = np.linspace(0.05, 0.95, 19)
    best = float(coarse[np.argmin([cost(float(bias)) for bias in coarse])])
    found = minimize_scalar(cost, bounds=(max(best - 0.05, 0.01), min(best + 0.05, 0.99)), method="bounded")
    bias = float(found.x) if found.fun < cost(0.5) else 0.5
    return calibrate(domain, level, bias)
