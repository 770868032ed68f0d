"""Rows of one table added to rows of another: what single tokens have, by type of word."""

from __future__ import annotations

from typing import Any

from askance._kernels.compiler import compiled


@compiled
def add_rows(table: Any, place: Any, values: Any) -> None:
    """table[place[i]] += values[i], shapes (T, K), (n,) and (n, K)."""
    for i in range(values.shape[0]):
        row = place[i]
        for k in range(values.shape[1]):
            table[row, k] += values[i, k]


@compiled
def add_spread(table: Any, place: Any, values: Any, weight: Any) -> None:
    """table[place[i]] += weight[i] values[i] (1 − values[i]): variances of indicators."""
    for i in range(values.shape[0]):
        row = place[i]
        for k in range(values.shape[1]):
            table[row, k] += weight[i] * values[i, k] * (1 - values[i, k])
