"""Sums that are the same to the last bit however numbers are divided and ordered: of numbers on a grid.

A sum of multiples of 2ᵉ is exact as long as it stays below 2⁵³ · 2ᵉ. So where a bound of the sum is known beforehand,
numbers are rounded to such multiples first. That costs two additions a number, where blocks and a tree
(`askance.evidence.totals`) would need every part of the data to keep its place.
"""

from __future__ import annotations

import math
from typing import TypeVar

from askance._arrays import AnyArray

Numbers = TypeVar("Numbers", float, AnyArray)


def grid_for(bound: float) -> float:
    """What `rounded` is told, such that sums of absolute values up to the bound are exact.

    Numbers are rounded to multiples of 2⁻⁵¹ times the power of two from the bound on.

    >>> grid_for(5.0)
    24.0
    """
    return 3.0 * 2.0 ** math.ceil(math.log2(bound)) if bound > 0 else 0.0


def rounded(numbers: Numbers, grid: float) -> Numbers:
    """Numbers on the grid: added to 1.5 · 2⁵² steps of it, and that taken away again, which rounds; 0: as they are.

    >>> third = rounded(1 / 3, grid_for(100.0))
    >>> sum([third] * 300) == 300 * third, abs(third - 1 / 3) < 1e-13
    (True, True)
    """
    return numbers + grid - grid
