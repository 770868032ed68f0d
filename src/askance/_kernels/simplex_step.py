"""One accelerated step of projected descent on rows that are distributions.

The nearest distribution to x is max(x − τ, 0) with τ such that it sums to 1. τ is the largest of (Σ_S x − 1) / |S| over
sets S of entries: that of the entries that were positive before is a bound below it, and mostly near. Entries below the
bound are dropped, the bound of those that are left is worked out, and so on until none is left to drop (Michelot).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from askance._arrays import AnyArray
from askance._kernels.compiler import compiled


@compiled
def descend(ahead: Any, gradient: Any, current: Any, centre: Any, pull: Any, step: Any, momentum: Any) -> None:
    """From `ahead`, a step down the gradient of f + pull/2 ‖· − centre‖² onto the simplex, into `current`.

    `gradient` is that of f at `ahead`, and row i goes step[i] times as far. `ahead` then goes beyond the new point.
    """
    rows, width = ahead.shape
    x = np.empty(width, dtype=ahead.dtype)
    left = np.empty(width, dtype=ahead.dtype)
    for i in range(rows):
        total, kept = 0.0, 0
        for k in range(width):
            x[k] = ahead[i, k] - step[i] * (gradient[i, k] + pull * (ahead[i, k] - centre[i, k]))
            if current[i, k] > 0:
                total += x[k]
                kept += 1
        if kept == 0:
            total, kept = x[0], 1
        tau = (total - 1.0) / kept
        count = 0
        for k in range(width):
            if x[k] > tau:
                left[count] = x[k]
                count += 1
        while True:
            total = 0.0
            for k in range(count):
                total += left[k]
            tau, kept = (total - 1.0) / count, 0
            for k in range(count):
                if left[k] > tau:
                    left[kept] = left[k]
                    kept += 1
            if kept == count or kept == 0:
                break
            count = kept
        for k in range(width):
            new = max(x[k] - tau, 0.0)
            ahead[i, k] = new + momentum * (new - current[i, k])
            current[i, k] = new


def project_rows(table: AnyArray) -> AnyArray:
    """The nearest distribution to every row, by sorting.

    >>> project_rows(np.array([[0.5, 0.7, -2.0], [3.0, 1.0, 1.0]])).round(3)
    array([[0.4, 0.6, 0. ],
           [1. , 0. , 0. ]])
    """
    falling = -np.sort(-table.astype(float), axis=1)
    excess = np.cumsum(falling, axis=1) - 1
    kept = (falling * np.arange(1, table.shape[1] + 1) > excess).sum(axis=1)
    tau = excess[np.arange(len(table)), kept - 1] / kept
    return np.asarray(np.maximum(table - tau[:, None], 0), dtype=table.dtype)
