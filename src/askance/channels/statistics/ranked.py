"""A noisy choice among ranked candidates: how likely each is, and what the choice says about what ranked them.

K candidates have scores h_1, …, h_K, independent N(0, 1); the s best are chosen with probability high = p/s each, the
others with low = (1 − p)/(K − s). Ranked by h ("magnitude" False) the chosen score has a mean m > 0; ranked by |h| it
has a second moment 1 + κ > 1. Both come from one integral,

    E Σ_{s best} f(h) = K ∫ f(x) P(Binomial(K − 1, P(h′ beats x)) < s) dF(x),

since a candidate is among the best when fewer than s others beat it. As K grows with s/K = t fixed, the best are those
beyond a threshold g of tail t, and the largest gains are those of the limit: m = g, and κ = g² − 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property, lru_cache

import numpy as np

from askance._arrays import FloatArray
from askance._kernels.draw import TOTAL
from askance.channels.thresholds import largest_odds
from askance.errors import ProbabilityError

#: The most candidates that are taken where their number is not given.
MOST_BY_DEFAULT = 1 << 10
# By default there are just enough candidates for this share of what infinitely many would gain.
_ENOUGH = 0.98
# Scores beyond this many standard deviations weigh less than 1e-22.
_FAR = 10.0
# Each of three intervals is cut into panels, with so many nodes on each: agrees with finer cuts to 1e-12.
_PANELS = 6
_NODES = 32


@dataclass(frozen=True)
class RankedChoice:
    """One of the `top` best of `candidates` with probability keep/2⁶², otherwise one of the rest; evenly in each set.

    Attributes:
        candidates: K.
        top: s, at least 1 and below K.
        keep: p in units of 2⁻⁶².
        magnitude: whether candidates are ranked by |h|, not by h.

    >>> choice = ranked_choice(Fraction(1), None, magnitude=False)
    >>> choice.candidates, choice.top, round(choice.gain, 4)
    (64, 22, 0.3923)
    """

    candidates: int
    top: int
    keep: int
    magnitude: bool

    @property
    def high(self) -> Fraction:
        """p/s: the probability of each of the best."""
        return Fraction(self.keep, TOTAL * self.top)

    @property
    def low(self) -> Fraction:
        """(1 − p)/(K − s): the probability of each of the others."""
        return Fraction(TOTAL - self.keep, TOTAL * (self.candidates - self.top))

    @cached_property
    def gain(self) -> float:
        """E h of the chosen one, or E h² − 1 where candidates are ranked by |h|."""
        return float(self.high - self.low) * _top_excess(self.candidates, self.top, self.magnitude)

    @cached_property
    def second_moment(self) -> float:
        """E h² of the chosen one."""
        return self._moment(2, 1.0)

    @cached_property
    def fourth_moment(self) -> float:
        """E h⁴ of the chosen one."""
        return self._moment(4, 3.0)

    def _moment(self, power: int, normal: float) -> float:
        """All K are chosen with probability low, the best with high − low on top of it."""
        best = top_sum(self.candidates, self.top, power, magnitude=self.magnitude)
        return float(self.low) * self.candidates * normal + float(self.high - self.low) * best


@lru_cache(maxsize=256)
def ranked_choice(level: Fraction, candidates: int | None, *, magnitude: bool) -> RankedChoice:
    """The choice of largest gain among that many candidates whose level is the stated one, or the next below it.

    Without a number of candidates: the smallest power of two, up to `MOST_BY_DEFAULT`, with 98 % of the gain of
    infinitely many.
    """
    most, share = limit_gain(level, magnitude=magnitude)
    if candidates is not None:
        return _with_keep(candidates, _best_top(level, candidates, share, magnitude)[0], level, magnitude)
    size, top = 1, 1
    while size < MOST_BY_DEFAULT:
        size *= 2
        top, gain = _best_top(level, size, share, magnitude)
        if gain >= _ENOUGH * most:
            break
    return _with_keep(size, top, level, magnitude)


def limit_gain(level: Fraction, *, magnitude: bool) -> tuple[float, float]:
    """The gain of infinitely many candidates, and the share t of them that is best: ϕ(g)(p/t − (1 − p)/(1 − t)).

    With p/t = e^level (1 − p)/(1 − t) this is ϕ(g)(e^level − 1)/(1 + (e^level − 1)t), for magnitudes times 2g, and its
    derivative vanishes where it equals g, for magnitudes where it equals g² − 1.

    >>> [round(limit_gain(Fraction(1), magnitude=magnitude)[0], 3) for magnitude in (False, True)]
    [0.397, 0.576]
    """
    sides, extra = 1 + magnitude, math.expm1(level)
    low, high = 0.0, _FAR
    gain = share = 0.0
    for _ in range(80):
        threshold = (low + high) / 2
        share = sides * math.erfc(threshold / math.sqrt(2)) / 2
        gain = _density(threshold) * extra / (1 + extra * share) * (2 * threshold if magnitude else 1.0)
        if (threshold**2 - 1 if magnitude else threshold) < gain:
            low = threshold
        else:
            high = threshold
    return gain, share


def _best_top(level: Fraction, candidates: int, share: float, magnitude: bool) -> tuple[int, float]:
    """The s of largest gain, and that gain: climb from where the limit is best."""

    def gain(top: int) -> float:
        extra = math.expm1(level)
        return extra / (candidates + extra * top) * _top_excess(candidates, top, magnitude)

    best = min(max(round(share * candidates), 1), candidates - 1)
    most = gain(best)
    for step in (1, -1):
        while 1 <= best + step < candidates and (next_gain := gain(best + step)) > most:
            best, most = best + step, next_gain
    return best, most


def _with_keep(candidates: int, top: int, level: Fraction, magnitude: bool) -> RankedChoice:
    """The largest p in units of 2⁻⁶² with (p/s)/((1 − p)/(K − s)) ≤ e^level."""
    limit = largest_odds(level)
    keep = math.floor(TOTAL * limit * top / (candidates - top + limit * top))
    choice = RankedChoice(candidates, top, keep, magnitude)
    if not choice.high > choice.low > 0:
        raise ProbabilityError(
            f"a level of {float(level):.3g} leaves no difference between {candidates} candidates in 62 bits.",
            remedy="Raise the level.",
        )
    return choice


def _top_excess(candidates: int, top: int, magnitude: bool) -> float:
    """What the best have over any s candidates: E Σ h, for magnitudes E Σ h² − s."""
    if magnitude:
        return top_sum(candidates, top, 2, magnitude=True) - top
    return top_sum(candidates, top, 1, magnitude=False)


@lru_cache(maxsize=4096)
def top_sum(candidates: int, top: int, power: int, *, magnitude: bool) -> float:
    """E Σ h^power over the `top` best of `candidates`, to about twelve digits; even powers for magnitudes.

    >>> abs(top_sum(2, 1, 1, magnitude=False) - 1 / math.sqrt(math.pi)) < 1e-12  # the larger of two
    True
    """
    from scipy.special import betainc, ndtr, ndtri

    # Whether x is among the best turns from no to yes within a few widths of the threshold: nodes are put there.
    sides, share = 1 + magnitude, top / candidates
    threshold = -float(ndtri(share / sides))
    width = 8 * math.sqrt(share * (1 - share) / candidates) / (sides * _density(threshold))
    start = 0.0 if magnitude else -_FAR
    ends = np.clip([start, threshold - width, threshold + width, _FAR], start, _FAR)
    edges = np.interp(np.linspace(0, 3, 3 * _PANELS + 1), np.arange(4), ends)
    middles, halves = (edges[1:] + edges[:-1]) / 2, (edges[1:] - edges[:-1]) / 2
    nodes, weights = _legendre()
    x = (middles[:, None] + halves[:, None] * nodes).reshape(-1)
    weight = (halves[:, None] * weights).reshape(-1)
    beaten = 1 - 2 * ndtr(-x) if magnitude else ndtr(x)
    # P(Binomial(K − 1, 1 − beaten) < s), as an incomplete beta function
    among = betainc(candidates - top, top, beaten)
    return candidates * float(np.sum(weight * sides * np.exp(-x * x / 2) * x**power * among)) / math.sqrt(2 * math.pi)


@cache
def _legendre() -> tuple[FloatArray, FloatArray]:
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return np.asarray(nodes), np.asarray(weights)


def _density(x: float) -> float:
    """ϕ(x), of the standard normal distribution."""
    return math.exp(-x * x / 2) / math.sqrt(2 * math.pi)
