"""Ridge regressions that share a design, one for each tag, by conjugate gradients side by side.

For every tag b, (AᵀΩ_bA + λI) v_b = c_b with A = RΦ. Products with A serve all tags at once. The preconditioner treats
the most frequent columns, which are strongly correlated, as a block (exactly where all weights are 1, in proportion to
the tag's share of the equations otherwise), and the rest one by one.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from askance._arrays import AnyArray, FloatArray, SparseRows
from askance._kernels.simplex_step import descend, project_rows

# So many columns are preconditioned together: twice as many halve the error and cost eight times as much.
_BLOCK = 300


class RowSums(NamedTuple):
    """Sums over the rows of equations."""

    heights: AnyArray  # (R∘R)ᵀΩ, shape (A, K), or (A, 1) where all weights are 1
    cover: AnyArray  # Rᵀω with ω the largest weight of a row, shape (A,)
    share: FloatArray  # of the equations that a tag has: Σ Ω over Σ ω, shape (K,)


class RidgeSystem:
    """ΦᵀRᵀΩRΦ + λI of every tag; A = RΦ is never formed, because it has several times as many entries as R and Φ.

    Args:
        matrix: R, shape (rows, A).
        features: Φ, shape (A, F), or None for the identity.
        l2: λ; 0 for the least squares solution of least norm, which is where the iteration from 0 leads without a
            preconditioner.
        weights: Ω, shape (rows, K), or None for all 1.
        tags: K.
    """

    def __init__(
        self,
        matrix: SparseRows,
        features: SparseRows | None,
        l2: float,
        weights: AnyArray | None,
        tags: int,
    ) -> None:
        self.matrix, self.transposed, self.weights = matrix, matrix.T.tocsr(), weights
        self._begin(features, matrix.dtype.type(l2), matrix.shape[1], tags)

    def _begin(self, features: SparseRows | None, l2: Any, types: int, tags: int) -> None:
        self.features = features
        self.features_transposed = None if features is None else features.T.tocsr()
        self.l2, self.types, self.tags = l2, types, tags
        self._diagonal: AnyArray | None = None
        self._block: tuple[AnyArray, AnyArray, AnyArray] | None = None
        if l2 > 0:
            self._prepare()

    def fitted(self, point: AnyArray) -> AnyArray:
        """RΦV, shape (rows, K)."""
        return np.asarray(self.matrix @ (point if self.features is None else self.features @ point))

    def right_side(self, response: AnyArray) -> AnyArray:
        """ΦᵀRᵀΩN, shape (F, K)."""
        return self.of_features(self.transposed @ (response if self.weights is None else response * self.weights))

    def of_features(self, image: AnyArray) -> AnyArray:
        """Φᵀ of a table of types."""
        return np.asarray(image if self.features_transposed is None else self.features_transposed @ image)

    def apply(self, point: AnyArray) -> AnyArray:
        """(ΦᵀRᵀΩRΦ + λI) V."""
        image = self._applied(point)
        if self.l2:
            image += self.l2 * point
        return image

    def _applied(self, point: AnyArray) -> AnyArray:
        """ΦᵀRᵀΩRΦ V: a sum over rows, as are those that follow."""
        return self.right_side(self.fitted(point))

    def _row_sums(self) -> RowSums:
        squares = self.transposed.copy()
        squares.data = squares.data**2
        largest = np.ones(self.matrix.shape[0], dtype=self.matrix.dtype)
        if self.weights is None:
            heights = np.asarray(squares @ largest)[:, None]
            return RowSums(heights, np.asarray(self.transposed @ largest), np.ones(self.tags))
        largest = self.weights.max(axis=1, initial=0)
        share = self.weights.sum(axis=0, dtype=float) / max(float(largest.sum(dtype=float)), 1e-300)
        return RowSums(np.asarray(squares @ self.weights), np.asarray(self.transposed @ largest), share)

    def _gram(self, columns: SparseRows) -> AnyArray:
        """BᵀRᵀωRB of some columns of types, given as rows, with ω the largest weight of a row; (columns, columns)."""
        dense = (columns @ self.transposed).toarray()
        largest = 1 if self.weights is None else self.weights.max(axis=1, initial=0)
        return np.asarray((dense * largest) @ dense.T)

    def solve(self, target: AnyArray, iterations: int, tolerance: float = 0.0) -> AnyArray:
        """V with (ΦᵀRᵀΩRΦ + λI) V = target, from 0; the target, shape (F, K), is overwritten.

        Ends after so many iterations, or when the residual of every tag is below this multiple of its target.
        """
        point, residual = np.zeros_like(target), target
        ahead = self._precondition(residual)
        direction, inner = ahead.copy(), _dots(residual, ahead)
        aim = tolerance**2 * inner
        for _ in range(iterations):
            if (inner <= aim).all():
                break
            image = self.apply(direction)
            curvature = _dots(direction, image)
            # A tag that is solved, or has no equations, has no direction left.
            length = np.divide(inner, curvature, out=np.zeros_like(inner), where=curvature > 0)
            point += np.multiply(length, direction, out=ahead)
            image *= length
            residual -= image
            ahead = self._precondition(residual)
            before, inner = inner, _dots(residual, ahead)
            direction *= np.divide(inner, before, out=np.zeros_like(inner), where=before > 0)
            direction += ahead
        return point

    def _prepare(self) -> None:
        from scipy import sparse

        heights, cover, share = self._row_sums()
        size = min(_BLOCK, self.types if self.features is None else self.features.shape[1])
        if self.features_transposed is None:
            top = np.sort(np.argpartition(-cover, size - 1)[:size])
            columns = sparse.eye_array(self.types, dtype=heights.dtype, format="csr")[top]
        else:
            top = np.sort(np.argpartition(-(self.features_transposed @ cover), size - 1)[:size])
            columns = self.features_transposed[top]
            # Products of different types are left out: frequent features are in the block.
            powers = self.features_transposed.copy()
            powers.data = powers.data**2
            heights = np.asarray(powers @ heights)
        self._diagonal = 1 / (heights + self.l2)
        values, vectors = np.linalg.eigh(self._gram(columns).astype(float))
        scale = 1 / (np.maximum(values, 0)[:, None] * share + float(self.l2))
        self._block = (top, vectors.astype(heights.dtype), scale.astype(heights.dtype))

    def _precondition(self, residual: AnyArray) -> AnyArray:
        if self._diagonal is None or self._block is None:
            return residual.copy()
        ahead = self._diagonal * residual
        top, vectors, scale = self._block
        ahead[top] = vectors @ (scale * (vectors.T @ residual[top]))
        return ahead


def _dots(left: AnyArray, right: AnyArray) -> FloatArray:
    """Inner product of every column."""
    return np.asarray(np.einsum("fk,fk->k", left, right))


# -- least squares over distributions ----------------------------------------------------------------------------------


class Equations(Protocol):
    """What least squares over distributions ask of equations: two sums over their rows."""

    @property
    def curvature(self) -> AnyArray:
        """RᵀωR1 with ω the largest weight of a row, shape (A,)."""

    def slope(self, point: AnyArray) -> AnyArray:
        """RᵀΩ(Rw − N), shape (A, K)."""


def simplex_least_squares(equations: Equations, start: AnyArray, pull: float, iterations: int) -> AnyArray:
    """Least squares for w whose rows are distributions: the minimum, approximately, shape (A, K).

        min ½ Σ_rb ω_rb (N_rb − Σ_a R_ra w_ab)² + γ/2 ‖w − w⁰‖²   over w_a ≥ 0, Σ_b w_ab = 1,

    with γ = `pull` and w⁰ = `start` the ridge estimate, which shares features between types and may leave the simplex.
    The constraint is worth more than it seems: that w is 0 almost everywhere and sums to 1 separates words that counts
    alone do not.

    Solved by FISTA in the metric D = diag(RᵀΩR1) + γ, which is at least the curvature (RᵀΩR has no negative entry).

    >>> from askance.text.corpus.corpus import Corpus
    >>> from askance.text.corpus.regions import RegionCounts
    >>> from askance.text.counts.equations import CountEquations
    >>> corpus = Corpus.of([["a", "b", "a", "a"]], tags=[["X", "Y", "Y", "X"]])
    >>> equations = CountEquations.of(RegionCounts.of_labels(corpus), dtype=np.float64)
    >>> simplex_least_squares(equations, np.full((2, 2), 0.5), 1e-9, 60).round(3)
    array([[0.667, 0.333],
           [0.   , 1.   ]])
    """
    dtype = start.dtype.type
    curvature = equations.curvature + pull
    step = np.where(curvature > 0, 1 / np.maximum(curvature, 1e-30), 0).astype(start.dtype)
    current = project_rows(start)
    ahead, age = current.copy(), 1.0
    for _ in range(iterations):
        slope = equations.slope(ahead)
        older, age = age, (1 + np.sqrt(1 + 4 * age * age)) / 2
        descend(ahead, slope, current, start, dtype(pull), step, dtype((older - 1) / age))
    return current
