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
from askance.channels.thresholds import largest_odds
from askance.design.optimum.staircase import Subsets
from askance.errors import ProbabilityError

# Ratios stay below e^α by this share: room for columns to be made to sum to 2⁶².
_ROOM = Fraction(1, 10**12)
# Shares that agree so far are equal.
_EQUAL = 1e-5
# So many labels are joined by "or"; more are a list.
_NAMED = 4

#: The way out of levels at which floats cannot tell designs apart.
USUAL_LEVELS = "Levels between 0.5 and 4 are usual; nearly nothing is told below."


def usable_ratio(level: Fraction) -> float:
    """A little less than e^α, so that rounding to whole thresholds stays within it."""
    return float(largest_odds(level) * (1 - _ROOM))


def whole_weights(subsets: Subsets, x: FloatArray, level: Fraction) -> IntArray:
    """2⁶² S for rows x_A B_A: whole numbers, columns of sum 2⁶², no ratio in a row above e^α; shape (k, m).

    Small entries are rounded up, so that columns are too large, by at most e^α units for every row. The excess is taken
    off the largest entry of a column, which only lowers its ratio; errors of x itself are far below the room left.

    Args:
        subsets: A, shape (m, k).
        x: with Σ x_A B_A = 1 for the `usable_ratio` of the level, shape (k,).
        level: α.

    >>> from askance.design.optimum.staircase import all_subsets
    >>> weights = whole_weights(all_subsets(2), np.full(2, 1 / (1 + usable_ratio(Fraction(1)))), Fraction(1))
    >>> weights.sum(axis=0) == 2**62
    array([ True,  True])
    """
    limit, ratio = largest_odds(level), Fraction(usable_ratio(level))
    pairs = _complements(subsets, x)
    if pairs is not None:
        return _paired_weights(subsets, x, ratio, pairs)
    low = [max(1, math.ceil(Fraction(float(share)) * TOTAL)) for share in x]
    high = [math.floor(ratio * weight) for weight in low]
    weights = np.where(subsets.T, np.array(high, dtype=object)[:, None], np.array(low, dtype=object)[:, None])
    for y in range(weights.shape[1]):
        weights[int(np.argmax(weights[:, y])), y] += TOTAL - int(weights[:, y].sum())
    worst = max(Fraction(int(max(row)), int(min(row))) for row in weights)
    if min(map(min, weights)) <= 0 or worst > limit:
        raise ProbabilityError(
            f"is {shown(level)}: 62 bits are too few for the rare observations of the optimal channel",
            argument="privacy_level",
            remedy="Take a level between 0.001 and 20; above, Direct loses little privacy more.",
        )
    return weights.astype(np.int64)


def _complements(subsets: Subsets, x: FloatArray) -> list[tuple[int, int]] | None:
    """Rows in pairs of a subset and its complement, equally often; None where some row has no such partner."""
    places = {column.tobytes(): i for i, column in enumerate(subsets.T)}
    partner = [places.get((~column).tobytes()) for column in subsets.T]
    pairs = [(i, j) for i, j in enumerate(partner) if j is not None and i < j and abs(x[i] / x[j] - 1) < _EQUAL]
    return pairs if 2 * len(pairs) == len(x) else None


def _paired_weights(subsets: Subsets, x: FloatArray, ratio: Fraction, pairs: list[tuple[int, int]]) -> IntArray:
    """As `whole_weights`, where a subset and its complement together are equally likely for all outputs, exactly.

    Such channels (coordinate release is one) may tell fewer differences than there are outputs: rounding row by row
    would spoil the relations between rows on which an unbiased β rests.
    """
    pairs = sorted(pairs, key=lambda pair: float(x[pair[0]]))
    weights, left = np.zeros(subsets.T.shape, dtype=np.int64), TOTAL
    for i, j in pairs[:-1]:
        low = max(1, math.ceil(Fraction(float(x[i] + x[j])) / 2 * TOTAL))
        high = math.floor(ratio * low)
        left -= low + high
        weights[i], weights[j] = (np.where(subsets[:, row], high, low) for row in (i, j))
    low = math.ceil(left / (1 + ratio))
    i, j = pairs[-1]
    weights[i], weights[j] = (np.where(subsets[:, row], left - low, low) for row in (i, j))
    return weights


def name_subsets(subsets: Subsets, groups: IntArray, outputs: Categories) -> list[str]:
    """What every observation says, in words: "b or c", "not a", "neither a nor b"; labels stay different.

    >>> from askance.design.optimum.staircase import all_subsets
    >>> name_subsets(all_subsets(3), np.arange(3), Categories(["a", "b", "c"]))
    ['a', 'b', 'not c', 'c', 'not b', 'not a']
    """
    by_output = subsets[groups]
    names = [_name([outputs.labels[int(y)] for y in np.flatnonzero(c)], outputs.labels, c) for c in by_output.T]
    if len(set(names)) < len(names):
        return [f"{i}: {name}" for i, name in enumerate(names)]
    return names


def _text(label: Label) -> str:
    """A label as it is, in quotes where it would be read as several."""
    text = str(label)
    joined = any(word in text for word in (" or ", " nor ", ", "))
    return repr(text) if joined or text.startswith(("not ", "neither ", "none of ", "one of ")) else text


def _name(inside: list[Label], labels: Sequence[Label], chosen: NDArray[np.bool_]) -> str:
    outside = [labels[int(y)] for y in np.flatnonzero(~chosen)]
    if len(outside) < len(inside):
        texts = [_text(label) for label in outside]
        return {1: f"not {texts[0]}", 2: "neither " + " nor ".join(texts)}.get(
            len(texts), "none of " + ", ".join(texts)
        )
    texts = [_text(label) for label in inside]
    return " or ".join(texts) if len(texts) <= _NAMED else "one of " + ", ".join(texts)
