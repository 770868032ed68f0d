"""From shares of subsets to the whole thresholds of a channel whose level is certified."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from askance._arrays import FloatArray, IntArray
from askance._checks import shown
from askance._kernels.draw import TOTAL
from askance.categories import Categories, Label
from askance.channels.thresholds import exp_rounded_down
from askance.design.optimum.staircase import Subsets
from askance.errors import ProbabilityError

# Ratios stay below e^α by this share: room for columns to be made to sum to 2⁶².
_ROOM = Fraction(1, 10**12)
_NAMED = 4


def largest_ratio(level: Fraction) -> Fraction:
    """E^α, rounded down."""
    return exp_rounded_down(min(level, Fraction(float(level))))


def usable_ratio(level: Fraction) -> float:
    """A little less than e^α, so that rounding to whole thresholds stays within it."""
    return float(largest_ratio(level) * (1 - _ROOM))


def whole_weights(subsets: Subsets, x: FloatArray, level: Fraction) -> IntArray:
    """2⁶² S for rows x_A B_A: whole numbers, columns of sum 2⁶², no ratio in a row above e^α; shape (k, m).

    What rounding leaves over goes to the largest entry of a column, where it is far less than the room left below e^α.

    Args:
        subsets: A, shape (m, k).
        x: with Σ x_A B_A = 1 for the `usable_ratio` of the level, shape (k,).
        level: α.

    >>> from askance.design.optimum.staircase import all_subsets
    >>> weights = whole_weights(all_subsets(2), np.full(2, 1 / (1 + usable_ratio(Fraction(1)))), Fraction(1))
    >>> weights.sum(axis=0) == 2**62
    array([ True,  True])
    """
    limit, ratio = largest_ratio(level), Fraction(usable_ratio(level))
    low = [max(1, round(Fraction(float(share)) * TOTAL)) for share in x]
    high = [math.floor(ratio * each) for each in low]
    weights = np.where(subsets.T, np.array(high, dtype=object)[:, None], np.array(low, dtype=object)[:, None])
    for y in range(weights.shape[1]):
        weights[int(np.argmax(weights[:, y])), y] += TOTAL - int(weights[:, y].sum())
    worst = max(Fraction(int(max(row)), int(min(row))) for row in weights)
    if min(map(min, weights)) <= 0 or worst > limit:
        raise ProbabilityError(
            f"privacy_level is {shown(level)}: 62 bits are too few for the rare observations of the optimal channel.",
            remedy="Lower the level; above 20 or so Direct loses little privacy more.",
        )
    return weights.astype(np.int64)


def name_subsets(subsets: Subsets, groups: IntArray, outputs: Categories) -> list[str]:
    """What every observation says, in words: "b or c", "not a"; labels stay different.

    >>> from askance.design.optimum.staircase import all_subsets
    >>> name_subsets(all_subsets(3), np.arange(3), Categories(["a", "b", "c"]))
    ['a', 'b', 'not c', 'c', 'not b', 'not a']
    """
    by_output = subsets[groups]
    names = [_name([outputs.labels[int(y)] for y in np.flatnonzero(c)], outputs.labels, c) for c in by_output.T]
    if len(set(names)) < len(names):
        return [f"{i}: {name}" for i, name in enumerate(names)]
    return names


def _name(inside: list[Label], labels: Sequence[Label], chosen: NDArray[np.bool_]) -> str:
    outside = [labels[int(y)] for y in np.flatnonzero(~chosen)]
    if len(outside) < len(inside):
        return "not " + _list(outside)
    return _list(inside)


def _list(labels: list[Label]) -> str:
    shown_labels = [str(label) for label in labels]
    if len(shown_labels) <= _NAMED:
        return " or ".join(shown_labels)
    return "one of " + ", ".join(shown_labels)
