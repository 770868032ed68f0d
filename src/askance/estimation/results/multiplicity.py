"""Several tests at once: p-values that account for how many there are."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from askance._arrays import ArrayLike, FloatArray
from askance._checks import as_floats, one_of
from askance.errors import InputError

Adjustment: TypeAlias = Literal["holm", "bonferroni", "benjamini-hochberg"]
ADJUSTMENTS: tuple[Adjustment, ...] = ("holm", "bonferroni", "benjamini-hochberg")


def adjusted_p_values(p: ArrayLike, method: Adjustment = "holm") -> FloatArray:
    """p-values of m tests, to be compared with one level: p₍₁₎ ≤ … ≤ p₍ₘ₎ are adjusted.

    - "holm": max_{j ≤ i} (m − j + 1) p₍ⱼ₎, and "bonferroni": m p, at most 1. The probability of any false alarm is at
      most the level, however tests depend on each other; Holm's are never larger.
    - "benjamini-hochberg": min_{j ≥ i} m p₍ⱼ₎/j. The expected share of false alarms among all findings is at most the
      level, for independent tests (and some positively dependent ones).

    Args:
        p: p-values, shape (m,).
        method: the adjustment.

    >>> adjusted_p_values([0.01, 0.04, 0.03]).round(12)
    array([0.03, 0.06, 0.06])
    """
    values = as_floats(p, "p")
    one_of(method, ADJUSTMENTS, "method")
    if values.ndim != 1 or not values.size or not bool(((values >= 0) & (values <= 1)).all()):
        raise InputError(
            "is no list of probabilities", argument="p", remedy="Give one p-value, from 0 to 1, for every test."
        )
    m, order = len(values), np.argsort(values, kind="stable")
    ranked = values[order]
    if method == "holm":
        ranked = np.maximum.accumulate(np.arange(m, 0, -1) * ranked)
    elif method == "bonferroni":
        ranked = m * ranked
    else:
        ranked = np.minimum.accumulate((m / np.arange(1, m + 1) * ranked)[::-1])[::-1]
    adjusted = np.empty(m)
    adjusted[order] = np.minimum(ranked, 1.0)
    return adjusted
