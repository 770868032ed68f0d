"""Another basis of the covariates, in which no digit is lost when they are multiplied."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from askance._arrays import FloatArray
from askance.estimation.freedom import Freedom
from askance.models.softmax import Covariates


@dataclass(frozen=True)
class Basis:
    """x̃ = (x − c x_a / h) U: centred with the help of a constant column, scaled, and made uncorrelated.

    Everything is a combination of the columns themselves, so the model is the same: x·θ = x̃·θ̃ with θ = M θ̃ and
    M = (I − e_a cᵀ / h) U. Centred first and multiplied then, a year keeps the digits that tell it from the next one.

    Attributes:
        origin: c, shape (p,); 0 at constant columns, and everywhere if there is none.
        anchor: a, the position of a constant column; None: nothing is centred.
        height: h, its value.
        matrix: U, shape (p, p).
    """

    origin: FloatArray
    anchor: int | None
    height: float
    matrix: FloatArray

    def covariates(self, x: Covariates) -> FloatArray:
        """x̃ of rows x, shape (n, p); sparse rows become dense."""
        dense = x if isinstance(x, np.ndarray) else x.toarray()
        if self.anchor is not None:
            dense = dense - np.multiply.outer(dense[:, self.anchor] / self.height, self.origin)
        return np.asarray(dense @ self.matrix)

    @property
    def to_terms(self) -> FloatArray:
        """M, shape (p, p)."""
        result = self.matrix.copy()
        if self.anchor is not None:
            result[self.anchor] -= self.origin @ self.matrix / self.height
        return result

    def parameters(self, theta: FloatArray) -> FloatArray:
        """θ = M θ̃ of every output, shape (d,)."""
        return np.asarray((theta.reshape(-1, len(self.origin)) @ self.to_terms.T).ravel())

    def transformation(self, dimension: int) -> FloatArray:
        """A with θ = A θ̃ of all outputs, shape (d, d)."""
        return np.asarray(np.kron(np.eye(dimension // len(self.origin)), self.to_terms))

    def covariance(self, spread: FloatArray) -> FloatArray:
        """M Σ̃ Mᵀ for every two outputs, shape (d, d)."""
        p = len(self.origin)
        k = len(spread) // p
        turned = np.einsum("ai,kilj,bj->kalb", self.to_terms, spread.reshape(k, p, k, p), self.to_terms, optimize=True)
        flat = turned.reshape(k * p, k * p)
        return np.asarray((flat + flat.T) / 2)

    def inward(self, theta: FloatArray) -> FloatArray:
        """θ̃ = M⁻¹ θ of every output, shape (d,)."""
        blocks = theta.reshape(-1, len(self.origin)).copy()
        if self.anchor is not None:
            blocks[:, self.anchor] += blocks @ self.origin / self.height
        return np.asarray(np.linalg.solve(self.matrix, blocks.T).T.ravel())

    def statistics(self, means: FloatArray) -> FloatArray:
        """Ê β ⊗ x from Ê β ⊗ x̃, which is Mᵀ times it, shape (d,)."""
        blocks = np.linalg.solve(self.matrix.T, means.reshape(-1, len(self.origin)).T).T
        if self.anchor is not None:
            blocks = blocks + np.multiply.outer(blocks[:, self.anchor] / self.height, self.origin)
        return np.asarray(blocks.ravel())


@dataclass(frozen=True)
class BasisEstimate:
    """An estimate in a basis, None for x as it is: θ̃ (d,), its covariance (d, d), and how well that is known.

    Where covariates are far from 0, variances of the coefficients are so large, and so correlated, that their digits no
    longer say how sure a prediction is: these do.
    """

    basis: Basis | None
    theta: FloatArray
    covariance: FloatArray
    freedom: Freedom | None = None
