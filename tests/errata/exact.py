"""Enumeration without rounding: arrays of fractions, and the sums that the paper writes as expectations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from askance import Enumerated, MatrixChannel, RandomizedResponse

#: An array whose entries are fractions, added and multiplied without rounding.
Exact: TypeAlias = NDArray[Any]
Floats: TypeAlias = NDArray[np.float64]

#: Figure efficiency-rr: two yes/no statistics of four outputs.
FOUR_OUTPUTS = [[0, 0, 1, 1], [0, 1, 0, 1]]
#: Figure inv_LL: the supervision matrix and the one statistic of three outputs.
FIGURE_S = [["1/3", "1/6", "1/4"], ["1/3", "1/6", "1/2"], ["1/3", "2/3", "1/4"]]
FIGURE_STATISTICS = [[2, 1, 0]]


def exact(values: Iterable[Any]) -> Exact:
    """Fractions from integers, fractions or texts such as "1/3"; a vector, or a matrix given by rows."""
    rows = list(values)
    if rows and isinstance(rows[0], (list, tuple, np.ndarray)):
        return np.array([[Fraction(x) for x in row] for row in rows], dtype=object)
    return np.array([Fraction(x) for x in rows], dtype=object)


def floats(values: Exact) -> Floats:
    """The nearest floats."""
    return values.astype(np.float64)


def identity(size: int) -> Exact:
    """The unit matrix."""
    return exact(np.eye(size, dtype=int).tolist())


def inverse(matrix: Exact) -> Exact:
    """The inverse, by elimination."""
    size = len(matrix)
    rest = np.concatenate([matrix, identity(size)], axis=1)
    for column in range(size):
        pivot = next(row for row in range(column, size) if rest[row, column] != 0)
        rest[[column, pivot]] = rest[[pivot, column]]
        rest[column] = rest[column] / rest[column, column]
        for row in range(size):
            if row != column:
                rest[row] = rest[row] - rest[row, column] * rest[column]
    return rest[:, size:]


def covariance(values: Exact, weights: Exact) -> Exact:
    """Cov v for columns v of `values` (d, k) drawn with probabilities `weights` (k,)."""
    mean = values @ weights
    result: Exact = (values * weights) @ values.T - np.outer(mean, mean)
    return result


def expected_conditional_covariance(values: Exact, S: Exact, p: Exact) -> Exact:
    """E Cov[v(o) | y] for columns v(o) of `values` (d, k), o ~ S(· | y), y ~ p: the paper's H when v is β."""
    result: Exact = sum(p[y] * covariance(values, S[:, y]) for y in range(len(p)))
    return result


def posterior(S: Exact, p: Exact) -> Exact:
    """P(y | o), shape (m, k): Bayes' rule."""
    joint = (S * p).T
    result: Exact = joint / joint.sum(axis=0)
    return result


def tilted(table: Sequence[Sequence[int]], odds: Sequence[Fraction]) -> Exact:
    """p_θ(y) ∝ exp φ(y)ᵀθ for whole-number statistics and θ = log odds: a rational distribution."""
    weights = []
    for column in zip(*table, strict=True):
        weight = Fraction(1)
        for statistic, factor in zip(column, odds, strict=True):
            weight *= factor**statistic
        weights.append(weight)
    return exact(weights) / sum(weights)


def log_odds(odds: Sequence[Fraction]) -> list[float]:
    """θ = log odds."""
    return [float(np.log(float(factor))) for factor in odds]


def largest_ratio(S: Exact) -> Fraction:
    """Max over o, y, y′ of S(o|y)/S(o|y′): e to the exact privacy level."""
    return max(Fraction(max(row)) / Fraction(min(row)) for row in S)


def randomized_response(epsilon: Fraction, base: Exact) -> Exact:
    """S(o|y) = ε 1[o = y] + (1 − ε) u(o)."""
    size = len(base)
    result: Exact = epsilon * identity(size) + (1 - epsilon) * np.outer(base, exact([1] * size))
    return result


def printed_randomized_response_beta(phi: Exact, epsilon: Fraction, base: Exact) -> Exact:
    """β(o) = (φ(o) − (1 − ε) E_u φ) / ε as columns, shape (d, m)."""
    result: Exact = (phi - (1 - epsilon) * (phi @ base)[:, None]) / epsilon
    return result


def channel(S: Exact) -> MatrixChannel:
    """The library's channel with this S."""
    return MatrixChannel(S.tolist())


def library_randomized_response(epsilon: Fraction, base: Exact) -> RandomizedResponse:
    """The library's channel with this ε and u."""
    return RandomizedResponse(epsilon, base.tolist())


def four_outputs() -> Enumerated:
    """The model of figure efficiency-rr."""
    return Enumerated(FOUR_OUTPUTS)


def integer_counts(q: Exact) -> list[int]:
    """The smallest sample whose frequencies are exactly q."""
    scale = int(np.lcm.reduce([Fraction(x).denominator for x in q]))
    return [int(x * scale) for x in q]


def assert_close(actual: Floats | None, expected: Exact | Floats, tolerance: float = 1e-8) -> None:
    """Equal up to `tolerance` of the largest entry."""
    assert actual is not None
    wanted = expected.astype(np.float64)
    assert actual.shape == wanted.shape
    np.testing.assert_allclose(actual, wanted, rtol=0, atol=tolerance * float(np.abs(wanted).max()))
