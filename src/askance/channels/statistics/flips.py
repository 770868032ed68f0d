"""Noisy bits: how often a 1 and a 0 is reported as 1.

A bit that is 1 with probability t (0 ≤ t ≤ 1) is reported as 1 with probability s + (p − s) t, in units of 2⁻⁶²
S + ⌊(P − S) t⌋ with whole P > S. What a change of the truth can do to the probability of a report is at most

    up   = p / s               for a coordinate that falls from 1 to 0 (seen at a 1), and
    down = (1 − s)/(1 − p)     for one that rises from 0 to 1 (seen at a 0).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from askance._arrays import AnyArray, FloatArray, WordArray
from askance._kernels import bits
from askance._kernels.draw import TOTAL
from askance.channels.randomness import LONGEST_DRAW, WordSource
from askance.errors import ProbabilityError


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

    def zeros(self, shares: FloatArray) -> FloatArray:
        """The probability of a reported 0 for bits of mean t; as precise as `ones` where it is tiny."""
        return np.asarray((TOTAL - self.keep) / TOTAL + self.gain * (1 - shares))

    def debias(self, ones: FloatArray) -> FloatArray:
        """T̂ = (share of reported ones − s)/(p − s)."""
        return np.asarray((ones - self.raise_probability) / self.gain)

    def smoothed(self, ones: AnyArray, seen: AnyArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of one debiased bit, of `ones` among the `seen`; half a bit of each kind is added."""
        share = (ones + 0.5) / (seen + 1)
        return self.debias(share), np.asarray(share * (1 - share) / self.gain**2)

    def variance(self, shares: FloatArray) -> FloatArray:
        """Of one debiased bit of mean t: π(1 − π)/(p − s)²; symmetric: v + t(1 − t) with v = q(1 − q)/(2q − 1)²."""
        ones = self.ones(shares)
        return np.asarray(ones * (1 - ones) / self.gain**2)


def probabilities(up: float, down: float) -> tuple[float, float]:
    """(p, s) from log up and log down: s = (1 − e^−down)/(e^up − e^−down)."""
    raised = -math.expm1(-down) / (math.expm1(up) - math.expm1(-down))
    return raised * math.exp(up), raised


def flips_of(up: float, down: float) -> Flips:
    """Thresholds with these log ratios, to the nearest unit; symmetric to the last bit where the two are equal."""
    _, raised = probabilities(up, down)
    rising = max(round(raised * TOTAL), 1)
    falling = rising if up == down else max(round(math.exp(-down) * (1 - raised) * TOTAL), 1)
    return require_difference(Flips(TOTAL - falling, rising), up + down)


def require_difference(flips: Flips, strength: float) -> Flips:
    """Refuse flips that report a 1 no more often of a 1 than of a 0."""
    if flips.keep <= flips.raised:
        raise ProbabilityError(
            f"a level of {strength:.3g} for one bit leaves no difference between 0 and 1 in 62 bits.",
            remedy="Raise the level, or spread it over fewer statistics.",
        )
    return flips


def draw_dense_bits(
    shares: FloatArray, lowest: int, span: int, source: WordSource, out: WordArray, *, compiled: bool
) -> None:
    """Set bit j of row i of `out` with probability (lowest + ⌊span · t_ij⌋)/2⁶², one random word for each.

    The coordinates of a row are drawn in stretches of whole words, rows in pieces: no draw exceeds the source.
    """
    flip = bits.flip_dense if compiled else bits.flip_dense_plain
    size = shares.shape[1]
    stretch = min(size, LONGEST_DRAW)
    rows = max(LONGEST_DRAW // stretch, 1)
    for start in range(0, len(shares), rows):
        for first in range(0, size, stretch):
            part = np.ascontiguousarray(shares[start : start + rows, first : first + stretch])
            words = slice(first // bits.WORD, bits.words_for(first + part.shape[1]))
            target = np.zeros((len(part), words.stop - words.start), dtype=np.uint64)
            flip(part, lowest, span, source(part.size), target)
            out[start : start + rows, words] = target
