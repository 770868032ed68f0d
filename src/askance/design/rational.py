"""Linear algebra over the rationals, for proofs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from askance._arrays import AnyArray, FloatArray, IntArray

# A prime below 2³¹, so that products of residues fit 64 bits.
_PRIME = 2_147_483_629


def has_full_column_rank(matrix: IntArray) -> bool:
    """Whether integer columns are proved independent, by elimination modulo a prime.

    True is a proof: a minor that is not 0 modulo a prime is not 0. False is not: the prime may divide the minor.

    >>> has_full_column_rank(np.array([[2, 1], [1, 2], [0, 0]]))
    True
    """
    rest = (matrix % _PRIME).astype(np.int64)
    for column in range(rest.shape[1]):
        candidates = np.flatnonzero(rest[column:, column])
        if not candidates.size:
            return False
        pivot = column + candidates[0]
        rest[[column, pivot]] = rest[[pivot, column]]
        row = rest[column, column:] * pow(int(rest[column, column]), -1, _PRIME) % _PRIME
        below = column + 1 + np.flatnonzero(rest[column + 1 :, column])
        rest[below, column:] = (rest[below, column:] - rest[below, [column], None] * row) % _PRIME
    return True


class Scaled(NamedTuple):
    """values / scale, with Python integers as values."""

    values: AnyArray
    scale: int


def to_integers(array: FloatArray) -> Scaled:
    """Write floats without loss as integers over a common power of two."""
    ratios = [float(value).as_integer_ratio() for value in array.flat]
    scale = max(denominator for _, denominator in ratios)
    values = np.array([numerator * (scale // denominator) for numerator, denominator in ratios], dtype=object)
    return Scaled(values.reshape(array.shape), scale)


def row_space_contains(matrix: Sequence[Sequence[int]], targets: Sequence[Sequence[int | Fraction]]) -> bool:
    """Whether every target row is an exact linear combination of the rows of the matrix.

    Fraction-free elimination on integers: rows are reduced by their common divisor, so numbers stay short.

    >>> row_space_contains([[1, 1, 0], [0, 0, 1]], [[2, 2, 5]])
    True
    >>> row_space_contains([[1, 1, 0], [0, 0, 1]], [[1, 0, 0]])
    False
    """
    basis: list[tuple[int, list[int]]] = []  # (pivot column, row)
    for row in matrix:
        rest = _reduce(list(row), basis)
        if any(rest):
            pivot = next(j for j, x in enumerate(rest) if x)
            basis.append((pivot, rest))
    scales = [math.lcm(*(Fraction(x).denominator for x in target)) for target in targets]
    whole = ([int(x * scale) for x in target] for target, scale in zip(targets, scales, strict=True))
    return all(not any(_reduce(target, basis)) for target in whole)


def _reduce(row: list[int], basis: Sequence[tuple[int, list[int]]]) -> list[int]:
    """The row minus the combination of basis rows that clears their pivots, up to an integer factor."""
    for pivot, other in basis:
        if row[pivot]:
            divisor = math.gcd(row[pivot], other[pivot])
            a, b = other[pivot] // divisor, row[pivot] // divisor
            row = [a * x - b * y for x, y in zip(row, other, strict=True)]
            common = math.gcd(*row)
            if common > 1:
                row = [x // common for x in row]
    return row
