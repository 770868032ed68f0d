"""Rows of one table added to rows of another: what single tokens have, by type of word."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from askance._kernels.compiler import compile_loop


@cache
def compiled() -> Callable[..., None]:
    """Compile `add_rows`, or load it from the cache of an earlier run."""
    return compile_loop(_add_rows)


@cache
def compiled_spread() -> Callable[..., None]:
    """Compile `add_spread`, or load it from the cache of an earlier run."""
    return compile_loop(_add_spread)


def _add_rows(table: Any, place: Any, values: Any) -> None:
    """table[place[i]] += values[i], shapes (T, K), (n,) and (n, K)."""
    for i in range(values.shape[0]):
        row = place[i]
        for k in range(values.shape[1]):
            table[row, k] += values[i, k]


def _add_spread(table: Any, place: Any, values: Any, weight: Any) -> None:
    """table[place[i]] += weight[i] values[i] (1 − values[i]): variances of indicators."""
    for i in range(values.shape[0]):
        row = place[i]
        for k in range(values.shape[1]):
            table[row, k] += weight[i] * values[i, k] * (1 - values[i, k])
