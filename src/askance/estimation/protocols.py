"""What solvers minimise."""

from __future__ import annotations

from typing import Protocol

from askance._arrays import FloatArray


class Objective(Protocol):
    """A smooth function of θ, convex or not."""

    def value(self, theta: FloatArray) -> float:
        """f(θ)."""

    def gradient(self, theta: FloatArray) -> FloatArray:
        """∇f(θ), shape (d,)."""

    def hessian(self, theta: FloatArray) -> FloatArray:
        """∇²f(θ) or a positive approximation of it, shape (d, d)."""
