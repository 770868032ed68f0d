"""Numbers of hits among independent trials, and between which means the trials can lie whatever the truth is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from askance._arrays import AnyArray, FloatArray


@dataclass(frozen=True, eq=False)
class Trials:
    """Sums of independent numbers between 0 and 1, such as how many of some reports have a bit set.

    Truths are whatever they are, one for every report; given them, reports are independent. So the terms of entry e are
    independent, and the mean of their expectations lies between `low` and `high`: outside of that only chance can be.

    Attributes:
        hits: the sums, shape (e,).
        of: the numbers of terms, shape (e,).
        low: the smallest mean that truths can bring about, shape (e,).
        high: the largest, shape (e,).
        name: what entry e is, for people.
        variance: the largest variance of one term, shape (e,); None where nothing better is known than that of a term
            that is 0 or 1.
        unit: what shares are shares of, for people.
    """

    hits: AnyArray
    of: AnyArray
    low: FloatArray
    high: FloatArray
    name: Callable[[int], str]
    variance: FloatArray | None = None
    unit: str = "of reports"
