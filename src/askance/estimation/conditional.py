"""Sums over reports with covariates, in blocks that stay in the processor's cache.

Notation: m outputs, K = m − 1 of them with parameters (the first is the reference), p terms, k observations. For a row
with covariates x and report o: P = p_θ(y|x) and T the target, both without the reference, shape (K,). All objectives
have the gradient Σ w (P − T) ⊗ x and curvatures Σ w V ⊗ x xᵀ for some K × K matrix V of the row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from askance._arrays import CodeArray, FloatArray
from askance.evidence.responses import Responses
from askance.models.softmax import Covariates

# Rows of a block: with ten covariates, about half a megabyte.
_BLOCK = 8192

#: (Block, P) → curvature of every row: (n,) when K = 1, else (n, K, K).
RowCurvature: TypeAlias = Callable[["Block", FloatArray], FloatArray]
#: Block → derivative of every row with respect to its logits: (n,) when K = 1, else (n, K).
RowScore: TypeAlias = Callable[["Block"], FloatArray]


@dataclass(frozen=True)
class Block:
    """Some rows: covariates (n, p), codes (n,), weights (n,) or None for ones, which rows they are, and `squares`.

    `squares` are what squared scores count with: multiplicity times squared sampling weight. Collapsed rows are many
    equal reports, weighted ones a single report that counts more.
    """

    x: Covariates
    codes: CodeArray
    weights: FloatArray | None
    rows: slice
    squares: FloatArray | None


class Rows:
    """The rows of `Responses` with sums over them.

    Args:
        responses: the evidence.
        n_outputs: m.
    """

    def __init__(self, responses: Responses, n_outputs: int) -> None:
        self.n_free = n_outputs - 1
        self.n_terms = int(responses.chunks[0].x.shape[1])
        self.n_rows = sum(len(chunk.codes) for chunk in responses.chunks)
        self._chunks = responses.chunks
        # Sampling weights are scaled to a mean of 1: only their proportions matter.
        given = sum(float(c.total_weights.sum()) for c in responses.chunks if c.total_weights is not None)
        weighted = any(c.weights is not None for c in responses.chunks)
        scale = responses.n_observations / given if weighted else 1.0
        self._weights = [None if c.total_weights is None else c.total_weights * scale for c in responses.chunks]
        self._squares = [
            w if w is None or c.weights is None else w * c.weights * scale
            for c, w in zip(responses.chunks, self._weights, strict=True)
        ]
        self.total_weight = float(responses.n_observations)

    def blocks(self) -> Iterator[Block]:
        """Block by block; sparse chunks are taken whole."""
        start = 0
        for chunk, weights, squares in zip(self._chunks, self._weights, self._squares, strict=True):
            n = len(chunk.codes)
            if not isinstance(chunk.x, np.ndarray):  # slicing a sparse matrix would copy it
                yield Block(chunk.x, chunk.codes, weights, slice(start, start + n), squares)
                start += n
                continue
            for low in range(0, n, _BLOCK):
                piece = slice(low, min(low + _BLOCK, n))
                yield Block(
                    chunk.x[piece],
                    chunk.codes[piece],
                    None if weights is None else weights[piece],
                    slice(start + piece.start, start + piece.stop),
                    None if squares is None else squares[piece],
                )
            start += n


def logits(block: Block, coefficients: FloatArray) -> FloatArray:
    """x·θ_y without the reference: shape (n,) when K = 1, else (n, K). `coefficients` is θ as (K, p)."""
    if len(coefficients) == 1:
        return np.asarray(block.x @ coefficients[0])
    return np.asarray(block.x @ coefficients.T)


def softmax(z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """P, of the shape of z, and A = log(1 + Σ exp z), shape (n,)."""
    if z.ndim == 1:
        # exp of minus |z| never overflows. The reference's probability is exp(−A), which keeps its digits.
        small = np.exp(-np.abs(z))
        share = 1.0 / (1.0 + small)
        return np.where(z >= 0, share, small * share), np.maximum(z, 0.0) + np.log1p(small)
    top = np.maximum(z.max(axis=1), 0.0)
    e = np.exp(z - top[:, None])
    total = e.sum(axis=1) + np.exp(-top)
    return e / total[:, None], top + np.log(total)


def multinomial_curvature(p: FloatArray) -> FloatArray:
    """diag P − P Pᵀ of every row."""
    if p.ndim == 1:
        return p * (1.0 - p)
    return np.asarray(np.eye(p.shape[1]) * p[:, None, :] - p[:, :, None] * p[:, None, :])


def outer(v: FloatArray) -> FloatArray:
    """v vᵀ of every row."""
    return v * v if v.ndim == 1 else np.asarray(v[:, :, None] * v[:, None, :])


def weighted(block: Block, values: FloatArray) -> FloatArray:
    """Values times the weights of the rows."""
    return times(values, block.weights)


def times(values: FloatArray, weights: FloatArray | None) -> FloatArray:
    """Values, (n, …), times one weight per row."""
    if weights is None:
        return values
    return np.asarray(values * weights.reshape(-1, *([1] * (values.ndim - 1))))


def add_moment(total: FloatArray, x: Covariates, v: FloatArray) -> None:
    """Add Σ v ⊗ x to `total`, shape (K, p), for v (n,) or (n, K)."""
    if v.ndim == 1:
        total[0] += x.T @ v
    else:
        total += (x.T @ v).T


def add_gram(total: FloatArray, x: Covariates, V: FloatArray) -> None:
    """Add Σ V ⊗ x xᵀ to `total`, shape (K, p, K, p), for V (n,) or (n, K, K)."""
    if V.ndim == 1:
        total[0, :, 0, :] += _gram(x, V)
        return
    for a in range(V.shape[1]):
        for b in range(a, V.shape[1]):
            part = _gram(x, V[:, a, b])
            total[a, :, b, :] += part
            if a != b:
                total[b, :, a, :] += part


def _gram(x: Covariates, v: FloatArray) -> FloatArray:
    """Σ v x xᵀ, shape (p, p)."""
    if isinstance(x, np.ndarray):
        return np.asarray(x.T @ (x * v[:, None]))
    return np.asarray((x.T @ x.multiply(v[:, None])).toarray())
