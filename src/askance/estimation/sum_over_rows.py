"""An objective that is a sum over reports: value, gradient and Hessian from one pass."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from askance._arrays import FloatArray
from askance.estimation.conditional import Block, add_gram, add_moment, logits, weighted

if TYPE_CHECKING:
    from askance.estimation.responses_problem import ResponsesProblem


class SumOverRows(ABC):
    """Value, gradient and Hessian at the last θ, from one pass over the rows."""

    def __init__(self, problem: ResponsesProblem, precision: FloatArray | None) -> None:
        self.problem = problem
        self._precision = np.zeros((problem.model.dimension,) * 2) if precision is None else precision
        self._at: bytes = b""
        self._last: tuple[float, FloatArray, FloatArray] = (0.0, np.zeros(0), np.zeros(0))

    def value(self, theta: FloatArray) -> float:
        """f(θ)."""
        return self._evaluate(theta)[0] + 0.5 * float(theta @ self._precision @ theta)

    def gradient(self, theta: FloatArray) -> FloatArray:
        """∇f(θ), shape (d,)."""
        return np.asarray(self._evaluate(theta)[1] + self._precision @ theta)

    def hessian(self, theta: FloatArray) -> FloatArray:
        """∇²f(θ), shape (d, d)."""
        return np.asarray(self._evaluate(theta)[2] + self._precision)

    def _evaluate(self, theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        if self._at != theta.tobytes():
            self._last, self._at = self._sums(theta), theta.tobytes()
        return self._last

    def _sums(self, theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        rows = self.problem.rows
        k, p = rows.n_free, rows.n_terms
        value, gradient, hessian = 0.0, np.zeros((k, p)), np.zeros((k, p, k, p))
        coefficients = self.problem.model.blocks(theta)
        for block in self._blocks():
            z = logits(block, coefficients)
            loss, residual, V = self._row(block, z)
            value += float(loss.sum()) if block.weights is None else float(block.weights @ loss)
            add_moment(gradient, block.x, weighted(block, residual))
            add_gram(hessian, block.x, weighted(block, V))
        total = self._total_weight()
        return value / total, gradient.ravel() / total, hessian.reshape(k * p, k * p) / total

    def _blocks(self) -> Iterable[Block]:
        return self.problem.rows.blocks()

    def _total_weight(self) -> float:
        return self.problem.rows.total_weight

    @abstractmethod
    def _row(self, block: Block, z: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Loss (n,), derivative and curvature of every row with respect to its logits."""
