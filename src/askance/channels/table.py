"""Channels that hold S as a table of integer weights."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from askance._arrays import CodeArray, FloatArray, GuideArray, IntArray, WordArray
from askance._kernels import draw
from askance.categories import Categories
from askance.channels.finite import FiniteChannel
from askance.channels.registry import entry, labels_as_json
from askance.errors import InputError

#: No table has more entries: each takes eight bytes, several times over.
MOST_ENTRIES = 1 << 26


class TableChannel(FiniteChannel):
    """A channel whose S is written out: one integer weight per observation and output.

    Args:
        weights: 2⁶² S, shape (k, m), every column sums to 2⁶².
        outputs: the m outputs.
        observations: the k observations.
    """

    def __init__(self, weights: IntArray, outputs: Categories, observations: Categories) -> None:
        weights.flags.writeable = False
        self._weights, self.outputs, self.observations = weights, outputs, observations

    def parameters(self) -> dict[str, Any]:
        """The parameters of the registry: what `_described` says, then the labels that it has parameters for."""
        names = {parameter.name for parameter in entry(self.kind).parameters}
        sides = {"outputs": self.outputs, "observations": self.observations}
        return self._described() | {name: labels_as_json(side) for name, side in sides.items() if name in names}

    def _described(self) -> dict[str, Any]:
        """Parameters that are no labels of outputs or observations, as plain JSON values."""
        return {}

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

    def _draw(self, truth: CodeArray, words: WordArray, out: CodeArray, *, compiled: bool) -> None:
        if compiled:
            shift = draw.guide_shift(self._guide)
            draw.draw_columns(truth, words, self._cumulative, self._guide, shift, out)
        else:
            out[:] = draw.draw_columns_plain(truth, words, self._cumulative)

    def _draw_one(self, truth: int, number: np.int64) -> int:
        return draw.place_of(number, self._cumulative[truth])


def empty_table(observations: int, outputs: int) -> IntArray:
    """Zero weights, shape (k, m); refused where the table would be too large."""
    if observations * outputs > MOST_ENTRIES:
        raise InputError(
            f"{observations:,} observations of {outputs:,} outputs make a table of {observations * outputs:,} "
            f"probabilities; allowed: at most {MOST_ENTRIES:,}.",
            remedy="Use fewer outputs, or RandomizedResponse, which needs no table.",
        )
    return np.zeros((observations, outputs), dtype=np.int64)
