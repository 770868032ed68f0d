"""Forward and backward sums of a chain over many stretches at a time: every position is one matrix product.

With factors W_t(b) of tokens and E(b', b) of edges,

    α_t = W_t ∘ (α_{t−1} E) / c_t,   c_t such that α_t sums to 1,      log Z = Σ_t log c_t + logarithms taken out,
    u_t = W_t ∘ β_t / c_t,           β_{t−1} = u_t Eᵀ,                 β = 1 at the end,

the posterior of a token is γ_t = α_t ∘ β_t, that of an edge E(b', b) α_{t−1}(b') u_t(b). All of these lie between 0 and
1 or close to it, so that 32 bits do; log Z is added up in 64.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from askance._arrays import AnyArray, FloatArray
from askance.text.chain.layout import Batch
from askance.text.chain.potentials import ChainPotentials


@dataclass(eq=False)
class Sums:
    """Sums over a batch of stretches."""

    alpha: AnyArray  # α, shape (rows, K)
    scaled: AnyArray  # W / c before the backward sums, u after them, shape (rows, K)
    beta: AnyArray  # β, shape (rows, K); empty before the backward sums
    log_scales: FloatArray  # log c plus the logarithms taken out of W, shape (rows,)

    def log_partition(self, batch: Batch) -> FloatArray:
        """Log Z of every stretch of the batch, in its order, shape (n_0,)."""
        total = np.zeros(len(batch.stretches))
        for first, after in zip(batch.starts, batch.starts[1:], strict=False):
            total[: after - first] += self.log_scales[first:after]
        return total


def forward(batch: Batch, factors: AnyArray, shifts: AnyArray, potentials: ChainPotentials) -> Sums:
    """α of all rows; `factors` are overwritten by W / c."""
    alpha, ones = np.empty_like(factors), np.ones(factors.shape[1], dtype=factors.dtype)
    scales = np.empty(len(factors), dtype=factors.dtype)
    edges, first = potentials.factors, batch.starts[1]
    np.copyto(alpha[:first], factors[:first])
    _normalise(alpha[:first], scales[:first], ones)
    for here, before in batch.positions():
        row = alpha[here]
        np.matmul(alpha[before], edges, out=row)
        row *= factors[here]
        _normalise(row, scales[here], ones)
    log_scales = np.log(scales, dtype=np.float64)
    log_scales += shifts
    log_scales[first:] += potentials.edge_shift
    factors *= np.divide(1, scales, out=scales)[:, None]
    return Sums(alpha, factors, alpha[:0], log_scales)


def _normalise(rows: AnyArray, scales: AnyArray, ones: AnyArray) -> None:
    np.matmul(rows, ones, out=scales)
    rows *= (1 / scales)[:, None]


def backward(batch: Batch, sums: Sums, potentials: ChainPotentials, pairs: AnyArray, weight: AnyArray | None) -> None:
    """β and u of all rows, after `forward`; posteriors of edges, without the factor E, are added to `pairs`.

    These are in 64 bits, shape (K, K), and count by the weight of their rows, shape (rows, 1); None: 1.
    """
    beta, scaled, alpha, edges = np.ones_like(sums.alpha), sums.scaled, sums.alpha, potentials.transposed
    met = np.zeros(edges.shape, dtype=edges.dtype)
    for here, before in batch.backwards():
        row = scaled[here]
        row *= beta[here]
        np.matmul(row, edges, out=beta[before])
        met += alpha[before].T @ (row if weight is None else row * weight[here])
    scaled[: batch.starts[1]] *= beta[: batch.starts[1]]
    sums.beta = beta
    pairs += met
