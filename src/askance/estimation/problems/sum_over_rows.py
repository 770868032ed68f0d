"""An objective that is a sum over reports: value, gradient and Hessian from one pass."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from askance._arrays import FloatArray
from askance.estimation.problems.conditional import Block, Rows, gram, logits, moment, weighted

if TYPE_CHECKING:
    from askance.estimation.problems.responses_problem import ResponsesProblem


#: Loss, derivative, and a function that gives the curvature, which is not always wanted.
RowParts: TypeAlias = tuple[FloatArray, FloatArray, Callable[[], FloatArray]]


class SumOverRows(ABC):
    """Value, gradient and Hessian at the last θ, from one pass over the rows.

    The Hessian joins the pass once it has been asked for: a Newton iteration costs one pass, and a method that needs no
    Hessian never pays for it.
    """

    def __init__(self, problem: ResponsesProblem, precision: FloatArray | None) -> None:
        self.problem = problem
        self._precision = precision
        self._with_hessian = False
        self._at: bytes = b""
        self._last: tuple[float, FloatArray, FloatArray | None] = (0.0, np.zeros(0), None)

    def value(self, theta: FloatArray) -> float:
        """f(θ)."""
        value = self._evaluate(theta)[0]
        return value if self._precision is None else value + 0.5 * float(theta @ self._precision @ theta)

    def gradient(self, theta: FloatArray) -> FloatArray:
        """∇f(θ), shape (d,)."""
        gradient = self._evaluate(theta)[1]
        return gradient if self._precision is None else np.asarray(gradient + self._precision @ theta)

    def hessian(self, theta: FloatArray) -> FloatArray:
        """∇²f(θ), shape (d, d)."""
        self._with_hessian = True
        hessian = self._evaluate(theta)[2]
        assert hessian is not None
        return hessian if self._precision is None else np.asarray(hessian + self._precision)

    def _evaluate(self, theta: FloatArray) -> tuple[float, FloatArray, FloatArray | None]:
        if self._at != theta.tobytes() or (self._with_hessian and self._last[2] is None):
            self._last, self._at = self._sums(theta), theta.tobytes()
        return self._last

    def _sums(self, theta: FloatArray) -> tuple[float, FloatArray, FloatArray | None]:
        rows, coefficients = self._rows(), self.problem.model.blocks(theta)

        def sums(block: Block) -> tuple[FloatArray, ...]:
            loss, residual, curvature = self._row(block, logits(block, coefficients))
            value = np.asarray(loss.sum() if block.weights is None else block.weights @ loss)
            slope = moment(block.x, weighted(block, residual))
            return (value, slope, gram(block.x, weighted(block, curvature()))) if self._with_hessian else (value, slope)

        value, gradient, *curved = rows.total(sums)
        d, n = self.problem.model.dimension, rows.total_weight
        return float(value) / n, gradient.ravel() / n, curved[0].reshape(d, d) / n if curved else None

    def _rows(self) -> Rows:
        return self.problem.rows

    @abstractmethod
    def _row(self, block: Block, z: FloatArray) -> RowParts:
        """Loss (n,), derivative and (when called) curvature of every row with respect to its logits."""
