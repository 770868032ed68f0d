"""An interval for a share of tokens where sentences, not tokens, are drawn at random.

Let p̂ be the share of right tokens and e its standard error, found from sentences. The interval is Wilson's with the
effective number of tokens n* = p̂ (1 − p̂) / e², which is the number of tokens divided by the design effect: it holds
every p with

    |p̂ − p| ≤ z √(p (1 − p) / n*),

and so stays within 0 and 1 and leans away from them, unlike p̂ ± z e.

How mistakes gather in sentences is not seen where next to no sentence has one: e is then nearly or quite 0, and says
nothing. With fewer than five sentences that hold a mistake (or fewer than five that hold a right token), and wherever e
is 0, the interval reaches at least as far as m sentences that are all alike allow. Suppose that a share q of all
sentences is not like those that were seen. The chance that none of them is among m is (1 − q)^m, and it is at least
α/2, half of what the confidence leaves, for q up to

    q = 1 − (α/2)^(1/m).

At worst all tokens of such sentences are wrong, or all are right: p̂ (1 − q) ≤ p ≤ p̂ + (1 − p̂) q. If no mistake is
seen, this is 1 − q to 1: an exact bound, as long as sentences with mistakes are no longer than others.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from askance.estimation.results.fit import normal_quantile
from askance.estimation.results.share_intervals import share_interval

# With so many sentences that hold a mistake their spread can be relied on.
_ENOUGH = 5


class SentenceTally(NamedTuple):
    """Sentences with true tags, and how many of them hold a mistake, or a right token."""

    sentences: int
    with_mistakes: int
    with_right: int


def accuracy_interval(accuracy: float, error: float, tally: SentenceTally, confidence: float) -> tuple[float, float]:
    """Lower and upper end; NaN with fewer than two sentences.

    Args:
        accuracy: p̂.
        error: e; NaN with fewer than two sentences.
        tally: what sentences hold.
        confidence: above 0 and below 1.

    >>> [round(end, 4) for end in accuracy_interval(1.0, 0.0, SentenceTally(600, 0, 600), 0.95)]
    [0.9939, 1.0]
    >>> [round(end, 4) for end in accuracy_interval(0.9, 0.01, SentenceTally(600, 400, 600), 0.95)]
    [0.8787, 0.9179]
    """
    z = normal_quantile(confidence)
    if math.isnan(error):
        return math.nan, math.nan
    spread = accuracy * (1 - accuracy)
    effective = spread / error**2 if error > 0 else math.inf
    lower, upper = (
        float(end[0]) for end in share_interval(np.array([accuracy]), np.array([error]), z, min(effective, 1e300))
    )
    if error == 0 or min(tally.with_mistakes, tally.with_right) < _ENOUGH:
        alike = ((1 - confidence) / 2) ** (1 / tally.sentences)
        lower, upper = min(lower, accuracy * alike), max(upper, 1 - (1 - accuracy) * alike)
    return lower, upper
