"""Tilted chains: the scores of tags within a region changed until the expected counts are the observed ones.

    D(λ) = log Z(scores + λ) − λ · N  ≥  log Z(counts = N),

convex in λ, which has one number for each group; its gradient is expected minus observed counts. The Hessian is the
covariance of counts; that of independent tokens stands for it, Σ_t diag(q_t) − q_t q_tᵀ, with steps of limited length.
Tilted posteriors say which tags of a token are worth summing over (`chain_lattice`).
"""

from __future__ import annotations

import numpy as np

from askance._arrays import AnyArray, FloatArray
from askance.text.chain_inference import backward, forward
from askance.text.chain_potentials import ChainPotentials
from askance.text.chain_regions import RegionBatch

# Added to the diagonal of the Hessian; the longest step of a log factor; and largest log factor.
_RIDGE, _LONGEST, _LARGEST = 0.02, 2.0, 40.0
# A factor of a token that is allowed is at least this, or 32 bits would lose it.
_LEAST = 1e-20


def tilted_posteriors(each: RegionBatch, potentials: ChainPotentials, steps: int) -> FloatArray:
    """Posteriors of the cells of a batch of regions (tokens × entries, flat) after so many steps from λ = 0."""
    layout, batch = each.layout, each.batch
    regions = batch.stretches
    groups = np.diff(layout.group_offsets)[regions]
    widest, n = int(groups.max()), len(regions)
    group = layout.group[each.entries][each.cell_entry].astype(np.int64)
    owner = np.repeat(each.token_owner, each.counts[each.token_owner])
    token = np.repeat(np.arange(len(each.token_owner)), each.counts[each.token_owner])
    low, high, used = _padded(each, widest)
    factors, shifts = potentials.rows(batch.tokens)
    cells = np.maximum(factors.reshape(-1)[each.cell_source], _LEAST) * layout.factor[each.entries][each.cell_entry]
    first = np.cumsum(each.inside) - each.inside
    tilt = np.zeros((n, widest))
    posterior = np.zeros(0)
    for step in range(steps + 1):
        weights = cells * np.exp(tilt)[owner, group]
        here = factors.copy()
        here[each.token_rows] = 0
        if each.has_twins:
            np.add.at(here.reshape(-1), each.cell_source, weights.astype(here.dtype))
        else:
            here.reshape(-1)[each.cell_source] = weights
        whole = here.reshape(-1)[each.cell_source]
        sums = forward(batch, here, shifts, potentials)
        backward(batch, sums, potentials, np.zeros(potentials.edges.shape), None)
        posterior = (sums.alpha * sums.beta).reshape(-1)[each.cell_source].astype(np.float64) * (weights / whole)
        if step == steps:
            break
        table = np.zeros((len(each.token_owner), widest))
        np.add.at(table.reshape(-1), token * widest + group, posterior)
        tilt = _newton_step(tilt, np.add.reduceat(table, first, axis=0), table, first, low, high, used)
    return posterior


def _padded(each: RegionBatch, widest: int) -> tuple[FloatArray, FloatArray, AnyArray]:
    """Bounds of the groups of every region, shape (n, widest) each, and which there are."""
    layout, regions = each.layout, each.batch.stretches
    sizes = np.diff(layout.group_offsets)[regions]
    used = np.arange(widest) < sizes[:, None]
    low, high = np.zeros(used.shape), np.zeros(used.shape)
    chosen = slice(int(layout.group_offsets[regions[0]]), int(layout.group_offsets[regions[-1] + 1]))
    low[used], high[used] = layout.low[chosen], layout.high[chosen]
    return low, high, used


def _newton_step(
    tilt: FloatArray,
    expected: FloatArray,
    table: FloatArray,
    first: AnyArray,
    low: FloatArray,
    high: FloatArray,
    used: AnyArray,
) -> FloatArray:
    """Log factors after one more step."""
    wanted = np.where(tilt > 0, low, np.where(tilt < 0, high, np.clip(expected, low, high)))
    missing = np.where(used, wanted - expected, 0.0)
    hessian = -np.add.reduceat(table[:, :, None] * table[:, None, :], first, axis=0)
    diagonal = np.arange(tilt.shape[1])
    hessian[:, diagonal, diagonal] += expected + _RIDGE + ~used
    step = np.linalg.solve(hessian, missing[:, :, None])[:, :, 0]
    step *= np.minimum(1, _LONGEST / np.maximum(np.abs(step).max(axis=1, keepdims=True), 1e-9))
    moved = np.clip(tilt + np.where(used, step, 0.0), -_LARGEST, _LARGEST)
    crossed = (low < high) & (tilt * moved < 0)  # a bound that was pushed at is left: nothing is to be tilted
    return np.asarray(np.where(crossed, 0.0, moved))
