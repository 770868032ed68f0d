"""The stationary points of an expected log-marginal likelihood, counted without rounding.

For figure inv_LL, p_θ ∝ (t², t, 1) with t = e^θ. Then (S p_θ)(o) = N_o(t)/Z(t) with polynomials N_o and Z, and the
slope of Σ_o q*(o) log (S p_θ)(o) in t is a polynomial over Z Π N_o, which is positive for t > 0. Polynomials are lists
of coefficients, lowest power first.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias

from .exact import FIGURE_S, FIGURE_STATISTICS, exact, tilted

Polynomial: TypeAlias = list[Fraction]


def slope_polynomial(odds: Fraction) -> Polynomial:
    """The numerator of the slope in t, when the truth is θ* = log odds."""
    S = exact(FIGURE_S)
    q = S @ tilted(FIGURE_STATISTICS, [odds])
    Z = [Fraction(1)] * 3
    N = [list(row[::-1]) for row in S]
    total: Polynomial = []
    for o in range(len(N)):
        others = [N[k] for k in range(len(N)) if k != o]
        total = _add(total, _product([[q[o]], _slope(N[o]), Z, *others]))
    return _trim(_add(total, _product([[Fraction(-1)], _slope(Z), *N])))


def positive_roots(polynomial: Polynomial) -> int:
    """How many different positive roots, by Sturm's theorem; 0 itself must not be a root."""
    assert polynomial[0] != 0
    chain = [polynomial, _slope(polynomial)]
    while chain[-1]:
        chain.append([-x for x in _remainder(chain[-2], chain[-1])])
    chain.pop()
    return _sign_changes([p[0] for p in chain]) - _sign_changes([p[-1] for p in chain])


def evaluate(polynomial: Polynomial, t: Fraction) -> Fraction:
    """The value at t."""
    return sum((coefficient * t**power for power, coefficient in enumerate(polynomial)), Fraction(0))


def _sign_changes(values: Sequence[Fraction]) -> int:
    signs = [value > 0 for value in values if value != 0]
    return sum(a != b for a, b in pairwise(signs))


def _trim(polynomial: Polynomial) -> Polynomial:
    while polynomial and polynomial[-1] == 0:
        polynomial = polynomial[:-1]
    return polynomial


def _add(a: Polynomial, b: Polynomial) -> Polynomial:
    size = max(len(a), len(b))
    padded = [[*p, *[Fraction(0)] * (size - len(p))] for p in (a, b)]
    return [x + y for x, y in zip(*padded, strict=True)]


def _product(factors: Sequence[Polynomial]) -> Polynomial:
    result = [Fraction(1)]
    for factor in factors:
        longer = [Fraction(0)] * (len(result) + len(factor) - 1)
        for i, x in enumerate(result):
            for j, y in enumerate(factor):
                longer[i + j] += x * y
        result = longer
    return result


def _slope(polynomial: Polynomial) -> Polynomial:
    return [power * coefficient for power, coefficient in enumerate(polynomial)][1:]


def _remainder(a: Polynomial, b: Polynomial) -> Polynomial:
    rest = _trim(a)
    while len(rest) >= len(b):
        factor, gap = rest[-1] / b[-1], len(rest) - len(b)
        rest = _trim(_add(rest, [Fraction(0)] * gap + [-factor * x for x in b]))
    return rest
