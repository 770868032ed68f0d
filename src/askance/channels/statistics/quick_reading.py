"""A device's statistics read in the fewest steps, which are the same for all truths."""

from __future__ import annotations

from array import array

import numpy as np

from askance._arrays import AnyArray

_TRUE_OR_FALSE = np.dtype(np.bool_)


def read_quickly(truth: object, *, whole: bool) -> AnyArray | None:
    """A list or an array without what reading anything costs; None of what is to be read with care, and refused there.

    How the numbers of a list are written makes no difference: 1, 1.0 and True take the same steps. Arrays of `whole`
    numbers are read so where all that is possible is 0 and 1: elsewhere the way would tell which truths are.
    """
    if type(truth) is list:
        try:
            return np.frombuffer(array("d", truth))
        except (TypeError, OverflowError):
            return None
    if type(truth) is not np.ndarray:
        return None
    kind = truth.dtype
    if kind is _TRUE_OR_FALSE:
        return truth
    if kind.kind not in "iu" or not whole:
        return None
    ones = truth.astype(_TRUE_OR_FALSE)
    return ones if ones.astype(kind).tobytes() == truth.tobytes() else None
