"""Intervals of shares that hold where shares are rare and reports are noisy.

The variance of an estimated share p̂ has two parts, one that depends on the share and one that does not:

    V(p) = (p (1 − p) + K) / n,

with K ≥ 0 what the channel adds per report. The interval holds every p that p̂ does not contradict, |p̂ − p| ≤ z √V(p),
cut to [0, 1]. Without noise (K = 0) this is Wilson's interval; where noise is most of the error it is p̂ ± z · error. An
interval on the log-odds scale, as for plain data, would reach from nothing to almost everything when p̂ is near 0 by
less than its error, and still miss the truth far too often.
"""

from __future__ import annotations

import numpy as np

from askance._arrays import ArrayLike, FloatArray


def share_interval(p: FloatArray, errors: FloatArray, z: ArrayLike, n: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Lower and upper ends, of the shape of p.

    K is what the given errors leave above p (1 − p) / n. Where they are below it, because a model with structure knows
    more than the reports about this share alone, n is what they stand for: p (1 − p) / errors².

    Args:
        p: shares.
        errors: their standard errors; NaN gives NaN.
        z: the quantile of the normal distribution, or those of t, broadcast against p.
        n: reports behind each share, broadcast against p.

    >>> lower, upper = share_interval(np.array([0.003]), np.array([0.0175]), 1.96, 1000)  # rare, and noisy
    >>> lower.round(3), upper.round(3)
    (array([0.]), array([0.039]))
    >>> lower, upper = share_interval(np.array([0.1]), np.array([0.03]), 1.96, 100)  # 10 of 100, seen as they are
    >>> lower.round(4), upper.round(4)  # Wilson's
    (array([0.0552]), array([0.1744]))
    """
    spread, z = p * (1 - p), np.asarray(z, dtype=np.float64)
    noise = np.maximum(np.asarray(n) * errors**2 - spread, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        h = np.where(errors == 0, 0.0, z**2 * errors**2 / (spread + noise))  # z² / n
    middle, reach = p + h / 2, np.sqrt(h * (spread + noise + h * (0.25 + noise)))
    return np.clip((middle - reach) / (1 + h), 0.0, 1.0), np.clip((middle + reach) / (1 + h), 0.0, 1.0)
