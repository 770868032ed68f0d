"""Tilted chains: the scores of tags within a region changed until the expected counts are the observed ones.

    D(λ) = log Z(scores + λ) − λ · N  ≥  log Z(counts = N),

convex in λ, which has one number for each group; its gradient is expected minus observed counts. The Hessian is the
covariance of counts; that of independent tokens stands for it, Σ_t diag(q_t) − q_t q_tᵀ, with steps of limited length.
Tilted posteriors say which tags of a token are worth summing over (`chain_lattice`).
"""

from __future__ import annotations

import numpy as np

from askance._arrays import AnyArray, FloatArray
from askance.text.chain.inference import backward, forward
from askance.text.chain.potentials import ChainPotentials
from askance.text.chain.regions import RegionBatch

# Added to the diagonal of the Hessian; the longest step of a log factor; and largest log factor.
_RIDGE, _LONGEST, _LARGEST, _MOST_EXCESS = 0.02, 2.0, 40.0, 1000.0
# A factor of a token that is allowed is at least this, or 32 bits would lose it.
_LEAST = 1e-20


def tilted_posteriors(part: RegionBatch, potentials: ChainPotentials, steps: int) -> FloatArray:
    """Posteriors of the cells of a batch of regions (tokens × entries, flat) after so many steps from λ = 0."""
    layout, batch = part.layout, part.batch
    regions = batch.stretches
    groups = np.diff(layout.group_offsets)[regions]
    widest, n = int(groups.max()), len(regions)
    group = layout.group[part.entries][part.cell_entry].astype(np.int64)
    owner = np.repeat(part.token_owner, part.counts[part.token_owner])
    longest = int(part.inside.max())
    within = np.arange(len(part.token_owner)) - (np.cumsum(part.inside) - part.inside)[part.token_owner]
    place = np.repeat(part.token_owner * longest + within, part.counts[part.token_owner]) * widest + group
    low, high, used = _padded(part, widest)
    factors, shifts = potentials.rows(batch.tokens)
    cells = np.maximum(factors.reshape(-1)[part.cell_source], _LEAST) * layout.factor[part.entries][part.cell_entry]
    tilt, descent = np.zeros((n, widest)), _Descent(n)
    posterior = np.zeros(0)
    for step in range(steps + 1):
        weights = cells * np.exp(tilt)[owner, group]
        here = factors.copy()
        here[part.token_rows] = 0
        if part.has_twins:
            np.add.at(here.reshape(-1), part.cell_source, weights.astype(here.dtype))
        else:
            here.reshape(-1)[part.cell_source] = weights
        whole = here.reshape(-1)[part.cell_source]
        sums = forward(batch, here, shifts, potentials)
        backward(batch, sums, potentials, np.zeros(potentials.edges.shape), None)
        posterior = (sums.alpha * sums.beta).reshape(-1)[part.cell_source].astype(np.float64) * (weights / whole)
        if step == steps:
            break
        table = np.bincount(place, posterior, n * longest * widest).reshape(n, longest, widest)
        tilt = descent.step(tilt, table, low, high, used)
    return posterior


def _padded(part: RegionBatch, widest: int) -> tuple[FloatArray, FloatArray, AnyArray]:
    """Bounds of the groups of every region, shape (n, widest) each, and which there are."""
    layout, regions = part.layout, part.batch.stretches
    sizes = np.diff(layout.group_offsets)[regions]
    used = np.arange(widest) < sizes[:, None]
    low, high = np.zeros(used.shape), np.zeros(used.shape)
    chosen = slice(int(layout.group_offsets[regions[0]]), int(layout.group_offsets[regions[-1] + 1]))
    low[used], high[used] = layout.low[chosen], layout.high[chosen]
    return low, high, used


class _Descent:
    """Newton's steps, each as much shorter as the one before was too long.

    Where neighbours pull each other along, counts vary more than those of independent tokens: a full step would lead to
    the other side and back for ever. How much more is read off the last step s: the slope has changed by (g0 − g1) · s,
    where independent tokens promised sᵀ H s.
    """

    def __init__(self, regions: int) -> None:
        self.excess = np.ones((regions, 1))
        self._moved: FloatArray | None = None
        self._slope = self._promised = np.zeros(regions)

    def step(self, tilt: FloatArray, table: AnyArray, low: FloatArray, high: FloatArray, used: AnyArray) -> FloatArray:
        """Log factors after one more step, from posteriors of groups at every token, shape (n, tokens, groups)."""
        expected = table.sum(axis=1)
        wanted = np.where(tilt > 0, low, np.where(tilt < 0, high, np.clip(expected, low, high)))
        missing = np.where(used, wanted - expected, 0.0)
        if self._moved is not None:
            changed = self._slope - np.einsum("rg,rg->r", missing, self._moved)
            ratio = np.where(self._promised > 1e-12, changed / np.maximum(self._promised, 1e-12), 1.0)
            self.excess = np.clip(ratio, self.excess[:, 0] / 2, _MOST_EXCESS).clip(1.0)[:, None]
        hessian = -(table.transpose(0, 2, 1) @ table)
        diagonal = np.arange(tilt.shape[1])
        hessian[:, diagonal, diagonal] += expected + _RIDGE
        # A group within its bounds that is not tilted stays as it is, whatever the others do.
        moving = used & ((tilt != 0) | (missing != 0))
        hessian *= moving[:, :, None] & moving[:, None, :]
        hessian[:, diagonal, diagonal] += ~moving
        step = np.linalg.solve(hessian, missing[:, :, None])[:, :, 0] / self.excess
        step *= np.minimum(1, _LONGEST / np.maximum(np.abs(step).max(axis=1, keepdims=True), 1e-9))
        moved = np.clip(tilt + np.where(moving, step, 0.0), -_LARGEST, _LARGEST)
        crossed = (low < high) & (tilt * moved < 0)  # a bound that was pushed at is left: nothing is to be tilted
        new = np.where(crossed, 0.0, moved)
        self._moved = new - tilt
        self._slope = np.einsum("rg,rg->r", missing, self._moved)
        self._promised = np.einsum("rg,rgh,rh->r", self._moved, hessian, self._moved)
        return np.asarray(new)
