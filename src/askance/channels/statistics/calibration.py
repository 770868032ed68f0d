"""Flips whose level is the stated one, exactly: found by a root search on whole thresholds."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from askance._kernels.draw import TOTAL
from askance.channels.statistics.domains import Domain
from askance.channels.statistics.flips import Flips, flips_of, require_difference
from askance.channels.thresholds import as_digits

# Biased flips lose ones with probabilities of this many significant bits, and their bias is a multiple of 1/1000.
_KEEP_BITS = 32
_BIAS_DIGITS = 3


def calibrate(domain: Domain, level: Fraction, bias: float = 0.5) -> Flips:
    """The strongest flips of that bias whose level is at most the stated one: one unit of 2⁻⁶² less would exceed it.

    Args:
        domain: the possible statistics.
        level: the stated level.
        bias: log up as a share of log up + log down: ½ is symmetric, larger raises fewer zeros.
    """
    limit = as_digits(min(level, Fraction(float(level))))
    strength = _strength(domain, float(level), bias)
    near = flips_of(strength * bias, strength * (1 - bias))
    # The last digits of a float differ between machines, and channels must not: what is not searched for is rounded.
    lost = TOTAL - near.keep
    coarse = max(lost.bit_length() - _KEEP_BITS, 0)
    keep = TOTAL - (lost >> coarse << coarse)

    def flips(raised: int) -> Flips:
        return Flips(TOTAL - raised if bias == 0.5 else keep, raised)

    def is_safe(raised: int) -> bool:
        return raised > 0 and domain.worst(flips(raised)).log() <= limit

    # Raising more zeros lowers the level. The float solution is a few units off: step away from it, then halve.
    unsafe, safe, step = near.raised - 1, near.raised, 1
    while not is_safe(safe):
        unsafe, safe, step = safe, safe + step, 2 * step
    while unsafe and is_safe(unsafe):
        unsafe, safe, step = max(unsafe - step, 0), unsafe, 2 * step
    while safe - unsafe > 1:
        middle = (unsafe + safe) // 2
        unsafe, safe = (unsafe, middle) if is_safe(middle) else (middle, safe)
    return require_difference(flips(safe), strength)


def _strength(domain: Domain, level: float, bias: float) -> float:
    """The log up + log down of that bias whose level, in floating point, is `level`: the level grows with it.

    The secant method with the ends of a bracket (Illinois): devices do without SciPy, which takes longer to load.
    """

    def excess(total: float) -> float:
        return domain.log_ratio(total * bias, total * (1 - bias)) - level

    high = level
    while excess(high) < 0 and high < 200:
        high *= 2
    low = high
    while excess(low) > 0:
        low /= 2
    below, above, last = excess(low), excess(high), 0
    while high - low > 4e-16 * high and below < 0 < above:
        middle = low - below * (high - low) / (above - below)
        if not low < middle < high:
            break
        off = excess(middle)
        # The end that stays a second time loses half of its weight, or it would stay for good.
        if off <= 0:
            low, below, above, last = middle, off, above / 2 if last < 0 else above, -1
        else:
            high, above, below, last = middle, off, below / 2 if last > 0 else below, 1
    return low if below >= -above else high


def calibrate_for_density(domain: Domain, level: Fraction, density: float) -> Flips:
    """The flips of least variance for bits that are 1 with frequency `density`, at that level."""
    from scipy.optimize import minimize_scalar

    def cost(flips: Flips) -> float:
        zeros, ones = flips.raise_probability, flips.keep_probability
        noise = (1 - density) * zeros * (1 - zeros) + density * ones * (TOTAL - flips.keep) / TOTAL
        return math.log(noise / flips.gain**2)

    def cost_of_bias(bias: float) -> float:
        strength = _strength(domain, float(level), bias)
        return cost(flips_of(strength * bias, strength * (1 - bias)))

    coarse = np.linspace(0.05, 0.95, 19)
    best = float(coarse[np.argmin([cost_of_bias(float(bias)) for bias in coarse])])
    optimum = minimize_scalar(cost_of_bias, bounds=(max(best - 0.05, 0.01), min(best + 0.05, 0.99)), method="bounded")
    candidates = [calibrate(domain, level), calibrate(domain, level, round(float(optimum.x), _BIAS_DIGITS))]
    return min(candidates, key=cost)
