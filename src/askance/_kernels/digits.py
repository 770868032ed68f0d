"""Digits of a mixed-radix number, counted up and down: how states of sweeps over counts are run through."""

from __future__ import annotations

from typing import Any

from askance._kernels.compiler import compiled


@compiled
def count_up(digits: Any, highest: Any, first: Any) -> Any:
    """The next number, in place, from digit `first` on, the lowest; returns by how much the sum of the digits changed.

    >>> digits = [2, 0]
    >>> count_up.plain(digits, [2, 3], 0), digits
    (-1, [0, 1])
    """
    change = 0
    for g in range(first, len(highest)):
        if digits[g] < highest[g]:
            digits[g] += 1
            return change + 1
        change -= digits[g]
        digits[g] = 0
    return change


@compiled
def count_down(digits: Any, highest: Any, first: Any) -> Any:
    """The number before, likewise.

    >>> digits = [0, 1]
    >>> count_down.plain(digits, [2, 3], 0), digits
    (1, [2, 0])
    """
    change = 0
    for g in range(first, len(highest)):
        if digits[g] > 0:
            digits[g] -= 1
            return change - 1
        digits[g] = highest[g]
        change += highest[g]
    return change
