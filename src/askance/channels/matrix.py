"""Any known S, given as a matrix."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from askance._arrays import FloatArray
from askance._checks import (
    SUM_TOLERANCE,
    Number,
    as_fraction,
    as_list,
    as_many,
    as_probability,
    normalised,
    refuse_masked,
    shown,
    sum_of_fractions,
)
from askance._words import words
from askance.categories import Categories, LabelSet
from askance.channels.registry import LABELS, MATRIX, Parameter, register
from askance.channels.table import TableChannel
from askance.channels.thresholds import apportion
from askance.errors import InputError, ProbabilityError, ShapeError


@register(
    summary="any known table of probabilities P(observation | output)",
    use="your design has no name here, or was found by an optimiser",
    parameters=[
        Parameter("matrix", MATRIX, "one row per observation, one column per output; columns sum to 1", symbol="S"),
        Parameter("outputs", LABELS, "labels of the outputs", default=None),
        Parameter("observations", LABELS, "labels of the observations", default=None),
    ],
    examples=[
        {"matrix": [["1/3", "1/6", "1/4"], ["1/3", "1/6", "1/2"], ["1/3", "2/3", "1/4"]]},
        {"matrix": [[0.5, 0.1], [0.3, 0.2], [0.2, 0.7]], "outputs": ["no", "yes"], "observations": ["a", "b", "c"]},
        {"matrix": [[0.4, 0.2, 0.1], [0.1, 0.3, 0.2], [0.3, 0.1, 0.4], [0.1, 0.2, 0.2], [0.1, 0.2, 0.1]]},
    ],
)
class MatrixChannel(TableChannel):
    """S[o, y] = P(o | y), shape (k, m): rows are observations, columns are outputs, columns sum to 1.

    A table of counts or rates with one row per *truth* (a confusion matrix) goes to `from_confusion` instead.

    Args:
        matrix: S; numbers such as 0.25 or "1/4".
        outputs: labels of the m columns; default: 0 to m − 1.
        observations: labels of the k rows; default: 0 to k − 1.

    >>> channel = MatrixChannel([[0.9, 0.2], [0.1, 0.8]], outputs=["no", "yes"], observations=["-", "+"])
    >>> channel.log_likelihood(["+"]).round(4)
    array([[-2.3026, -0.2231]])
    """

    kind = "matrix"

    def __init__(
        self,
        matrix: Sequence[Sequence[Number]] | FloatArray,
        *,
        outputs: LabelSet | None = None,
        observations: LabelSet | None = None,
    ) -> None:
        self._columns = columns = _read_columns(matrix)
        if len(columns) < 2:
            raise InputError(
                "S has one column; allowed: at least two outputs.",
                remedy="Give one column per output: with a single output there is nothing to learn.",
            )
        super().__init__(
            np.array([apportion(column) for column in columns], dtype=np.int64).T,
            _read_labels(outputs, len(columns), "outputs", "columns"),
            _read_labels(observations, len(columns[0]), "observations", "rows"),
        )

    @classmethod
    def from_confusion(
        cls,
        confusion: Sequence[Sequence[Number]] | FloatArray,
        *,
        outputs: LabelSet | None = None,
        observations: LabelSet | None = None,
    ) -> MatrixChannel:
        """From a confusion matrix with one row per truth, of counts or of rates: S is its normalised transpose.

        >>> MatrixChannel.from_confusion([[90, 10], [20, 80]]).matrix
        array([[0.9, 0.2],
               [0.1, 0.8]])
        """
        return MatrixChannel(confusion_to_matrix(confusion), outputs=outputs, observations=observations)

    def _described(self) -> dict[str, Any]:
        return {"matrix": [[str(column[o]) for column in self._columns] for o in range(len(self.observations))]}


def confusion_to_matrix(confusion: Sequence[Sequence[Number]] | FloatArray) -> list[list[Fraction]]:
    """S from a table with one row per truth: rows are normalised, then transposed."""
    rows = _read_table(confusion, "confusion")
    scaled = []
    for truth, row in enumerate(rows):
        total = sum_of_fractions(row)
        if min(row) < 0 or total == 0:
            raise ProbabilityError(
                f"row {truth} of the confusion matrix has smallest entry {shown(min(row))} and sum {shown(total)}; "
                "allowed: entries of at least 0, a positive sum.",
                remedy="Give counts or rates, one row per true label.",
            )
        scaled.append([entry / total for entry in row])
    return [list(column) for column in zip(*scaled, strict=True)]


def _read_table(table: Sequence[Sequence[Number]] | FloatArray, name: str) -> list[list[Fraction]]:
    if isinstance(table, np.ndarray):
        refuse_masked(table, name)
    listed = as_list(table, name, "[[0.9, 0.2], [0.1, 0.8]]")
    flat = next((row for row in listed if isinstance(row, (str, bytes)) or not isinstance(row, Iterable)), None)
    if flat is not None:
        raise ShapeError(
            f"has {shown(flat)} where a row should be",
            argument=name,
            allowed="a table, a list of rows",
            remedy="Give a list of lists such as [[0.9, 0.2], [0.1, 0.8]].",
        )
    rows = [as_list(row, f"{name}[{i}]", "[0.9, 0.1]") for i, row in enumerate(listed)]
    lengths = sorted({len(row) for row in rows})
    if len(lengths) != 1 or lengths == [0]:
        raise ShapeError(
            f"has rows of lengths {lengths}",
            argument=name,
            allowed="a rectangular table",
            remedy="Give every row the same number of entries, at least one.",
        )
    return [[as_fraction(x, f"{name}[{i}][{j}]") for j, x in enumerate(row)] for i, row in enumerate(rows)]


def _read_columns(matrix: Sequence[Sequence[Number]] | FloatArray) -> list[list[Fraction]]:
    rows = _read_table(matrix, "S")
    for i, row in enumerate(rows):
        for j, entry in enumerate(row):
            if not 0 <= entry.numerator <= entry.denominator:
                as_probability(entry, f"S[{i}][{j}]")
    columns = [list(column) for column in zip(*rows, strict=True)]
    sums = [sum_of_fractions(column) for column in columns]
    wrong = next((y for y, total in enumerate(sums) if abs(total - 1) > SUM_TOLERANCE), None)
    if wrong is not None and all(abs(sum_of_fractions(row) - 1) <= SUM_TOLERANCE for row in rows):
        raise ProbabilityError(
            f"sums to {shown(sums[wrong])}; allowed: 1. Its rows do sum to 1: this is a table with one row per truth",
            argument=words("column {0} of {S}", wrong),
            remedy="Use MatrixChannel.from_confusion for such a table; on the command line and in files, noisy-labels.",
        )
    return [normalised(column, words("column {0} of {S}", y)) for y, column in enumerate(columns)]


def _read_labels(labels: LabelSet | None, size: int, name: str, side: str) -> Categories:
    categories = Categories.of(size if labels is None else labels, minimum=1, name=name)
    as_many(categories, size, name, f"labels for {size} {side} of S", f"Give one label for each of the {size}.")
    return categories
