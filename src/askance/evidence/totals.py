"""Sums over blocks of rows, in one order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import numpy as np

from askance._arrays import FloatArray

#: Rows of a block: with ten covariates, about half a megabyte, which stays in the processor's cache.
BLOCK = 8192

Rows = TypeVar("Rows")
Part = TypeVar("Part")


def total(blocks: Iterable[Rows], f: Callable[[Rows], Part], merge: Callable[[Part, Part], Part]) -> Part:
    """f of every block, merged along an aligned binary tree: like the carries of a binary counter.

    Blocks 0 and 1 are merged, 2 and 3, then 0–1 with 2–3, and so on: 2^k blocks from a multiple of 2^k on are merged
    among themselves first. Whoever has such a stretch alone gets its part of the sum to the last bit, so the result
    does not depend on how many work on it. Rounding errors grow like the logarithm of the number of blocks.

    Args:
        blocks: at least one.
        f: what is summed; its results may be overwritten by `merge`.
        merge: puts the part of earlier blocks and that of later ones together.

    >>> total(["a", "b", "c", "d", "e"], str.upper, lambda earlier, later: f"({earlier}{later})")
    '(((AB)(CD))E)'
    """
    waiting: list[tuple[int, Part]] = []
    for block in blocks:
        level, part = 0, f(block)
        while waiting and waiting[-1][0] == level:
            level, part = level + 1, merge(waiting.pop()[1], part)
        waiting.append((level, part))
    part = waiting.pop()[1]
    while waiting:
        part = merge(waiting.pop()[1], part)
    return part


def add(earlier: tuple[FloatArray, ...], later: tuple[FloatArray, ...]) -> tuple[FloatArray, ...]:
    """The sum of arrays, one by one, in place of the earlier ones: the usual `merge`."""
    for mine, other in zip(earlier, later, strict=True):
        np.add(mine, other, out=mine)
    return earlier
