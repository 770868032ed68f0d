"""Covariates of a random field: rows of x, and what is asked of the field at them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from askance._arrays import ArrayLike, FloatArray, IntArray
from askance._checks import as_floats, shape
from askance.errors import MissingValueError, ShapeError
from askance.models.softmax import Covariates


@dataclass(frozen=True)
class DistinctRows:
    """Rows of covariates, those that are equal only once: row i is different[inverse[i]].

    Attributes:
        different: shape (m, p).
        inverse: shape (n,).
    """

    different: FloatArray
    inverse: IntArray


@dataclass(frozen=True)
class FieldRequest:
    """What is to be worked out: for several θ (k, d), or for one and the different rows of x (m, p).

    Attributes:
        inverse: which of the k or m each row of the answer is; None where the answer is for one distribution.
    """

    theta: FloatArray
    x: FloatArray | None
    inverse: IntArray | None

    @property
    def size(self) -> int:
        """How many distributions there are."""
        return len(self.theta if self.x is None else self.x)

    def unfolded(self, parts: Sequence[FloatArray], shape: tuple[int, ...]) -> FloatArray:
        """The answer from the parts in which it was worked out, each entry of the given shape."""
        values = np.concatenate([np.zeros((0, *shape)), *parts])
        return np.asarray(values[0] if self.inverse is None else values[self.inverse])

    def counts(self, weights: ArrayLike | None) -> FloatArray:
        """The sum of the weights of each distribution, shape (size,)."""
        rows = 1 if self.inverse is None else len(self.inverse)
        counts = np.ones(rows) if weights is None else as_floats(weights, "weights")
        shape(counts, (rows,), "weights", "Give one weight per row of x.")
        return counts if self.inverse is None else np.bincount(self.inverse, counts, self.size).astype(np.float64)


def read_covariates(x: Covariates, terms: Sequence[str]) -> FloatArray | None:
    """Rows of x as a table of finite numbers, shape (n, p), one column for each of the p terms; None without terms.

    >>> read_covariates([[1, 2]], ["age", "income"])
    array([[1., 2.]])
    """
    if isinstance(x, DistinctRows):
        x = x.different[x.inverse]
    if not terms:
        if x is not None:
            raise ShapeError(
                "is given, but the field has no covariates", argument="x", remedy="Build it with covariates=…."
            )
        return None
    if x is None:
        raise ShapeError("is missing", argument="x", remedy=f"Give a table with the columns {', '.join(terms)}.")
    rows = as_floats(x.toarray() if hasattr(x, "toarray") else x, "x")
    note = f"one column for each of {', '.join(terms)}"
    shape(rows, ("n", len(terms)), "x", "Give one column per covariate, in this order.", note)
    if not np.isfinite(rows).all():
        row, column = np.argwhere(~np.isfinite(rows))[0]
        raise MissingValueError(
            f"{terms[column]} of row {row} of x is {rows[row, column]}; allowed: finite numbers.",
            remedy="Leave respondents with missing values out, and count them.",
        )
    return rows
