"""What was seen beside the reports, and may be caused by what is hidden: a category, a count, or a number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np

from askance._arrays import AnyArray, FloatArray
from askance._checks import one_of
from askance.categories import Categories, LabelSet
from askance.errors import InputError
from askance.models.laws import Choice, Counted, Law, Measured

#: Which law an outcome has: softmax, Poisson with a log link, or normal.
Family: TypeAlias = Literal["category", "count", "number"]
FAMILIES: tuple[Family, ...] = ("category", "count", "number")
#: The last parameter of a number: the logarithm of its standard deviation, given all that explains it.
LOG_DEVIATION = "log deviation"


class Outcome:
    """y, observed, given z = (x, indicators of hidden variables): p_θ(y | z).

    Its values stand in the column of x that has its name, categories as codes 0 … K − 1. Effects are log-odds against
    the first category, effects on the log mean of a count, or on the mean of a number.

    Args:
        name: of the outcome, and of its column of x.
        family: "category" (softmax), "count" (Poisson, log link) or "number" (normal).
        terms: names of the columns of x on which it depends.
        after: names of hidden variables on which it depends, each value but the first by an effect of its own.
        apart: whether the effects of x too differ between the values of these variables.
        outputs: labels of categories, at least two.

    >>> Outcome("civic", "category", ["Intercept"], after=["trait"], outputs=["no", "yes"]).family
    'category'
    """

    def __init__(
        self,
        name: str,
        family: Family,
        terms: Sequence[str],
        *,
        after: Sequence[str] = (),
        apart: bool = False,
        outputs: LabelSet | None = None,
    ) -> None:
        self.name, self.terms, self.after, self.apart = name, tuple(terms), tuple(after), apart
        self.family: Family = one_of(family, FAMILIES, "family", "A yes or no is a category.")
        if (outputs is None) == (family == "category"):
            raise InputError(
                f"outcome {name!r} is a {family} {'without' if outputs is None else 'with'} labels; allowed: labels of "
                "categories, and of nothing else.",
                remedy="Give outputs with the family category only.",
            )
        self.outputs = None if outputs is None else Categories.of(outputs)
        self.table = np.eye(1 if self.outputs is None else len(self.outputs))[int(self.outputs is not None) :]

    @property
    def heads(self) -> tuple[str, ...]:
        """Before the names of columns: categories, where there are more than two."""
        labels = () if self.outputs is None else self.outputs.labels[1:]
        return tuple(f"{label}:" for label in labels) if len(labels) > 1 else ("",)

    @property
    def others(self) -> tuple[str, ...]:
        """Parameters that are no effects."""
        return (LOG_DEVIATION,) if self.family == "number" else ()

    def law(self, z: FloatArray, theta: FloatArray, y: FloatArray) -> Law:
        """At θ of this outcome, for its values y, shape (n,)."""
        if self.outputs is not None:
            return Choice.of(z, theta, self.table, np.zeros(len(self.outputs)), y.astype(np.int64)[:, None])
        return Counted.of(z, theta, y) if self.family == "count" else Measured.of(z, theta, y)

    def mean(self, z: FloatArray, theta: FloatArray) -> FloatArray:
        """The probability of every category, shape (n, K), or the mean of a count or a number, shape (n, 1)."""
        if self.outputs is not None:
            return np.exp(Choice.of(z, theta, self.table, np.zeros(len(self.outputs)), np.zeros(1, dtype=int)).log_p)
        if self.family == "count":
            return np.asarray(np.exp(Counted.of(z, theta, np.zeros(len(z))).log_mean))[:, None]
        return np.asarray(z @ theta[:-1])[:, None]

    def check(self, y: AnyArray) -> None:
        """Refuse values that the law does not have."""
        if self.family == "number":
            return
        wrong = (y < 0) | (y != np.floor(y))
        if self.outputs is not None:
            wrong |= y >= len(self.outputs)
        if wrong.any():
            allowed = "0, 1, 2, …" if self.outputs is None else f"codes from 0 to {len(self.outputs) - 1}"
            raise InputError(
                f"outcome {self.name!r} holds {y[wrong][0]:g}; allowed for a {self.family}: {allowed}.",
                remedy="Correct the column, or take another family.",
            )

    def __repr__(self) -> str:
        return f"Outcome({self.name!r}, {self.family})"
