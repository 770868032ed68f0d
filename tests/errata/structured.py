"""The paper's structured schemes as explicit matrices: S over all observations, and β as printed, without rounding.

A statistic φ_j in [0, c] is first turned into one bit õ_j that is 1 with probability φ_j / c; then bits are released.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np

from .exact import Exact, exact, identity


@dataclass(frozen=True)
class Scheme:
    """S, shape (k, m), and the β printed for it, shape (d, k)."""

    S: Exact
    beta: Exact


def printed_keep_probability(level: float) -> Fraction:
    """q_t = e^{t/2} / (1 + e^{t/2}) of the paper, as the nearest float."""
    return Fraction(1 / (1 + math.exp(-level / 2)))


def exact_keep_probability(level: float) -> Fraction:
    """e^t / (1 + e^t), as the nearest float."""
    return printed_keep_probability(2 * level)


def flip_variance(keep: Fraction) -> Fraction:
    """v = q(1 − q)/(2q − 1)²: the variance that flipping adds to a debiased bit."""
    return keep * (1 - keep) / (2 * keep - 1) ** 2


def one_probabilities(phi: Exact, keep: Fraction, bound: int = 1) -> Exact:
    """P(o_j = 1 | y), shape (d, m): a bit of mean φ_j / c, kept with probability q and flipped otherwise."""
    result: Exact = (1 - keep) + (2 * keep - 1) * phi / bound
    return result


def uniform(size: int) -> Exact:
    """The uniform distribution."""
    return exact([Fraction(1, size)] * size)


def coordinate_release(phi: Exact, keep: Fraction, *, bound: int = 1, release: Exact | None = None) -> Scheme:
    """One coordinate j ~ p is drawn, its bit is kept with probability q; (j, bit) is released.

    Observations are ordered (0, 0), (0, 1), (1, 0), (1, 1), …
    """
    dimension = len(phi)
    drawn = uniform(dimension) if release is None else release
    ones = one_probabilities(phi, keep, bound)
    rows, columns = [], []
    for j in range(dimension):
        for bit in (0, 1):
            rows.append(drawn[j] * (ones[j] if bit else 1 - ones[j]))
            columns.append(bound * (bit - 1 + keep) / (2 * keep - 1) / drawn[j] * identity(dimension)[j])
    return Scheme(np.array(rows, dtype=object), np.array(columns, dtype=object).T)


def per_value(phi: Exact, keep: Fraction, *, bound: int = 1) -> Scheme:
    """Every coordinate's bit is kept with probability q, independently; all d bits are released."""
    return Scheme(
        independent_bits(one_probabilities(phi, keep, bound)),
        bound * (all_bits(len(phi)).T - 1 + keep) / (2 * keep - 1),
    )


def asymmetric_flips(bits: Exact, keep_ones: Fraction, raise_zeros: Fraction) -> Scheme:
    """Ones stay with probability p, zeros rise with probability s; β(o) = (o − s)/(p − s)."""
    return Scheme(
        independent_bits(raise_zeros + (keep_ones - raise_zeros) * bits),
        (all_bits(len(bits)).T - raise_zeros) / (keep_ones - raise_zeros),
    )


def independent_bits(ones: Exact) -> Exact:
    """S of releasing d independent bits with P(o_j = 1 | y) = ones[j, y], shape (2^d, m)."""
    rows = []
    for bits in product((0, 1), repeat=len(ones)):
        row = exact([1] * ones.shape[1])
        for j, bit in enumerate(bits):
            row = row * (ones[j] if bit else 1 - ones[j])
        rows.append(row)
    return np.array(rows, dtype=object)


def all_bits(dimension: int) -> Exact:
    """All of {0,1}^d, one per row, in the order of the observations of per-value release."""
    return exact(list(product((0, 1), repeat=dimension)))


def bits_of_norm(dimension: int, *norms: int) -> Exact:
    """φ: the vectors of {0,1}^d with one of these numbers of ones, as columns."""
    return all_bits(dimension)[[sum(bits) in norms for bits in all_bits(dimension)]].T
