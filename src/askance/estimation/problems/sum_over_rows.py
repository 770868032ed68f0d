"""An objective that is a sum over reports: value, gradient and curvature from one pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from askance._arrays import FloatArray
from askance._kernels.softmax_pass import FLAT, OF_MODEL
from askance.estimation.problems.conditional import Rows

if TYPE_CHECKING:
    from askance.estimation.problems.responses_problem import ResponsesProblem


class SumOverRows:
    """Value, gradient and one curvature at the last θ, from one pass over the rows.

    The curvature that was asked for last joins the passes that follow: a Newton iteration costs one pass, and so does a
    scoring step; a method that needs no curvature never pays for it.

    Args:
        problem: model and evidence.
        precision: Λ, shape (d, d); None: no prior.
        rows: which are summed; default: those of the problem.
    """

    #: What P is compared with, and which curvature is the Hessian: see `softmax_pass`.
    against: ClassVar[int]
    curved: ClassVar[int] = OF_MODEL

    def __init__(self, problem: ResponsesProblem, precision: FloatArray | None, rows: Rows | None = None) -> None:
        self.problem = problem
        self._precision = precision
        self._rows = problem.rows if rows is None else rows
        self._wanted = FLAT
        self._at: tuple[bytes, int] = b"", FLAT
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
        hessian = self._curvature(theta, self.curved)
        return hessian if self._precision is None else np.asarray(hessian + self._precision)

    def _curvature(self, theta: FloatArray, which: int) -> FloatArray:
        """Ê V ⊗ x xᵀ without the prior, shape (d, d)."""
        self._wanted = which
        if self._at != (theta.tobytes(), which):
            self._at = b"", FLAT
        curvature = self._evaluate(theta)[2]
        assert curvature is not None
        return curvature

    def _evaluate(self, theta: FloatArray) -> tuple[float, FloatArray, FloatArray | None]:
        if self._at[0] != theta.tobytes():
            self._last, self._at = self._sums(theta), (theta.tobytes(), self._wanted)
        return self._last

    def _sums(self, theta: FloatArray) -> tuple[float, FloatArray, FloatArray | None]:
        d, n = self.problem.model.dimension, self._rows.total_weight
        value, gradient, *curved = self._rows.sums(self.problem.model.blocks(theta), self.against, self._wanted)
        return float(value) / n, gradient.ravel() / n, curved[0].reshape(d, d) / n if curved else None
