"""Any known S, given as a matrix."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np

from askance._arrays import CodeArray, FloatArray, GuideArray, IntArray, WordArray
from askance._checks import SUM_TOLERANCE, Number, as_distribution, as_fraction
from askance._kernels import draw
from askance.categories import Categories, LabelSet
from askance.channels.finite import FiniteChannel
from askance.channels.registry import LABELS, MATRIX, Parameter, labels_as_json, register
from askance.channels.thresholds import apportion
from askance.errors import InputError, ProbabilityError, ShapeError


@register(
    summary="any known table of probabilities P(observation | output)",
    use="your design has no name here, or was found by an optimiser",
    parameters=[
        Parameter("matrix", MATRIX, "S: one row per observation, one column per output; columns sum to 1"),
        Parameter("outputs", LABELS, "labels of the outputs", default=None),
        Parameter("observations", LABELS, "labels of the observations", default=None),
    ],
    examples=[
        {"matrix": [["1/3", "1/6", "1/4"], ["1/3", "1/6", "1/2"], ["1/3", "2/3", "1/4"]]},
        {"matrix": [[0.5, 0.1], [0.3, 0.2], [0.2, 0.7]], "outputs": ["no", "yes"], "observations": ["a", "b", "c"]},
        {"matrix": [[0.4, 0.2, 0.1], [0.1, 0.3, 0.2], [0.3, 0.1, 0.4], [0.1, 0.2, 0.2], [0.1, 0.2, 0.1]]},
    ],
)
class MatrixChannel(FiniteChannel):
    """S[o, y] = P(o | y), shape (k, m): rows are observations, columns are outputs, columns sum to 1.

    A table of counts or rates with one row per *truth* (a confusion matrix) goes to `from_confusion` instead.

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
        columns = _read_columns(matrix)
        self._columns = columns
        self.outputs = _read_labels(outputs, len(columns), "outputs", "columns")
        self.observations = _read_labels(observations, len(columns[0]), "observations", "rows")
        weights = np.array([apportion(column) for column in columns], dtype=np.int64).T
        weights.flags.writeable = False
        self._weights = weights

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

    @classmethod
    def from_parameters(cls, **given: Any) -> Self:
        """Build from the registry's parameters."""
        return cls(**given)

    def parameters(self) -> dict[str, Any]:
        """The parameters of the registry."""
        rows = [[str(column[o]) for column in self._columns] for o in range(len(self.observations))]
        return {
            "matrix": rows,
            "outputs": labels_as_json(self.outputs),
            "observations": labels_as_json(self.observations),
        }

    def apply(self, probabilities: FloatArray) -> FloatArray:
        """S p."""
        return np.asarray(self.matrix @ probabilities)

    def apply_transposed(self, values: FloatArray) -> FloatArray:
        """Sᵀ g."""
        return np.asarray(values @ self.matrix)

    @property
    def integer_weights(self) -> IntArray:
        """2⁶² S, shape (k, m)."""
        return self._weights

    def extreme_weights(self) -> tuple[IntArray, IntArray]:
        """Row maxima and minima of the integer weights."""
        return self._weights.max(axis=1), self._weights.min(axis=1)

    @cached_property
    def _cumulative(self) -> IntArray:
        return np.ascontiguousarray(np.cumsum(self._weights, axis=0).T)

    @cached_property
    def _guide(self) -> GuideArray:
        return draw.guide_table(self._cumulative)

    @cached_property
    def _cumulative_lists(self) -> list[list[int]]:
        lists: list[list[int]] = self._cumulative.tolist()
        return lists

    def _draw(self, truth: CodeArray, words: WordArray, out: CodeArray, *, compiled: bool) -> None:
        if compiled:
            shift = draw.guide_shift(self._guide)
            draw.compiled().columns(truth, words, self._cumulative, self._guide, shift, out)
        else:
            out[:] = draw.draw_columns_plain(truth, words, self._cumulative)

    def _draw_one(self, truth: int, word: int) -> int:
        return bisect_right(self._cumulative_lists[truth], word >> draw.DISCARDED_BITS)


def confusion_to_matrix(confusion: Sequence[Sequence[Number]] | FloatArray) -> list[list[Fraction]]:
    """S from a table with one row per truth: rows are normalised, then transposed."""
    rows = _read_table(confusion, "confusion")
    normalised = []
    for truth, row in enumerate(rows):
        total = sum(row)
        if min(row) < 0 or total == 0:
            raise ProbabilityError(
                f"row {truth} of the confusion matrix has smallest entry {float(min(row)):g} and sum {float(total):g}; "
                "allowed: entries of at least 0, a positive sum.",
                remedy="Give counts or rates, one row per true label.",
            )
        normalised.append([entry / total for entry in row])
    return [list(column) for column in zip(*normalised, strict=True)]


def _read_table(table: Sequence[Sequence[Number]] | FloatArray, name: str) -> list[list[Fraction]]:
    rows = [list(row) for row in table]
    if not rows or not rows[0] or len({len(row) for row in rows}) != 1:
        raise ShapeError(
            f"{name} has rows of lengths {sorted({len(row) for row in rows})}; allowed: a rectangular table.",
            remedy="Give every row the same number of entries.",
        )
    return [[as_fraction(x, f"{name}[{i}][{j}]") for j, x in enumerate(row)] for i, row in enumerate(rows)]


def _read_columns(matrix: Sequence[Sequence[Number]] | FloatArray) -> list[list[Fraction]]:
    rows = _read_table(matrix, "S")
    columns = [list(column) for column in zip(*rows, strict=True)]
    try:
        return [as_distribution(column, f"column {y} of S") for y, column in enumerate(columns)]
    except ProbabilityError as error:
        if all(abs(sum(row, Fraction(-1))) < SUM_TOLERANCE for row in rows):
            raise ProbabilityError(
                f"{error} Its rows do sum to 1, so this may be a table with one row per truth.",
                remedy="Use MatrixChannel.from_confusion for such a table.",
            ) from None
        raise


def _read_labels(labels: LabelSet | None, size: int, name: str, side: str) -> Categories:
    categories = Categories.of(size if labels is None else labels, minimum=1)
    if len(categories) != size:
        raise ShapeError(f"there are {len(categories)} {name} for {size} {side} of S.", remedy="Give one label each.")
    if name == "outputs" and size < 2:
        raise InputError("S has one column; allowed: at least two outputs.", remedy="There is nothing to learn.")
    return categories
