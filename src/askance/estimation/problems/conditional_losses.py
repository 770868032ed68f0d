"""What reports with covariates say against a field: the loss of debiased moments, and that of the reports themselves.

Of respondent i, who reported about clique c, β_c(o_i) is an unbiased table of the cells of c. Hence

    r_c = (1/n_c) Σ_i Z_i (β_c(o_i) − μ_c(θ; x_i)),    Z_i u = (u, x̃_i ⊗ the sums of u over all values of every v in c),

the unbiased β(x, o) of the field's statistics less what the field expects of the same respondents, has mean 0 at the
true θ, whatever the x are: which respondents happened to draw a clique adds no noise. Different cliques have different
respondents, so that the r_c are independent. Weights C_c⁺ combine what several cliques say about one variable.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from askance._arrays import FloatArray
from askance.estimation.problems.field_design import CliqueRows
from askance.estimation.problems.tilted_field import TiltedField

# Eigenvalues of a covariance below this share of the largest are those of sums over the values of a variable, 0.
_SINGULAR = 1e-11


class RowLoss(Protocol):
    """A function of θ that is a sum over respondents, without the prior."""

    def value(self, theta: FloatArray) -> float:
        """Its value."""

    def value_and_gradient(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """And its gradient, shape (d,)."""

    def curvature(self, theta: FloatArray) -> FloatArray:
        """About its second derivatives, positive semi-definite, shape (d, d)."""


# -- moments -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Moments:
    """The moments of one clique.

    Attributes:
        rows: its reports.
        collect: A, shape (q, k w): from tables by instrument, (k, w), to the moments.
        statistics: (1/n_c) Σ Z_i β_c(o_i), shape (q,).
    """

    rows: CliqueRows
    collect: FloatArray
    statistics: FloatArray

    @property
    def width(self) -> int:
        """Numbers per row that a covariance takes."""
        release = self.rows.release
        return int(release.cells * max(release.cells, release.bits) + self.rows.instruments.shape[1] ** 2)

    def of_tables(self, tables: FloatArray, part: slice) -> FloatArray:
        """Σ_i Z_i u_i of tables u (B, w), shape (q,)."""
        weights = self.rows.instruments[part] * self.rows.counts[part, None]
        return np.asarray(self.collect @ (weights.T @ tables).ravel())


class FieldMoments:
    """The moments of all cliques.

    Args:
        tilted: the field, looked at through the cliques of the channel.
        rows: the reports about every clique that was drawn.
        sizes: of the variables of every clique of the channel.

    Attributes:
        statistics: by clique, unbiased moments; the first w_c are the cells of its table.
    """

    def __init__(self, tilted: TiltedField, rows: Sequence[CliqueRows], sizes: Sequence[Sequence[int]]) -> None:
        self.tilted, self._blocks = tilted, []
        for own in rows:
            collect = _collector(sizes[own.clique], own.instruments.shape[1])
            sums = np.zeros((own.instruments.shape[1], own.release.cells))
            for part in tilted.batches(len(own.x), own.release.bits):
                weights = own.instruments[part] * own.counts[part, None]
                sums += weights.T @ own.release.debias(own.sets(part))
            self._blocks.append(_Moments(own, collect, collect @ sums.ravel() / own.n_observations))
        self.statistics = [block.statistics for block in self._blocks]

    def _plain(self, theta: FloatArray, block: _Moments, width: int = 1) -> Iterator[tuple[slice, FloatArray]]:
        """By batch of rows: which, and the probabilities of all cells."""
        for part in self.tilted.batches(len(block.rows.x), width):
            yield part, self.tilted.means(self.tilted.potentials(theta, block.rows.x[part]))

    def residuals(self, theta: FloatArray) -> list[FloatArray]:
        """r_c of every clique."""
        return [self._residual(theta, block)[0] for block in self._blocks]

    def _residual(self, theta: FloatArray, block: _Moments) -> tuple[FloatArray, list[FloatArray]]:
        """r_c, and the probabilities of all cells by batch of rows."""
        expected, kept = np.zeros(len(block.statistics)), []
        for part, means in self._plain(theta, block):
            expected += block.of_tables(means[:, self.tilted.cells[block.rows.clique]], part)
            kept.append(means)
        return block.statistics - expected / block.rows.n_observations, kept

    def weights(self, theta: FloatArray) -> list[FloatArray]:
        """C_c⁺, where C_c is the covariance of r_c at θ: that of the table's channel, at the field's shares."""
        return [
            np.asarray(np.linalg.pinv(self._covariance(block, self._expected(theta, block)), _SINGULAR, hermitian=True))
            for block in self._blocks
        ]

    def empirical_covariances(self, theta: FloatArray) -> list[FloatArray]:
        """By clique Σ Z_i r_i r_iᵀ Z_iᵀ/n_c², r_i = β_c(o_i) − μ_c(θ; x_i): right even where the field is not."""
        return [self._covariance(block, self._observed(theta, block)) for block in self._blocks]

    def _expected(self, theta: FloatArray, block: _Moments) -> Iterator[tuple[slice, FloatArray]]:
        for part, means in self._plain(theta, block, block.width):
            shares = means[:, self.tilted.cells[block.rows.clique]]
            yield part, block.rows.release.covariance(shares)

    def _observed(self, theta: FloatArray, block: _Moments) -> Iterator[tuple[slice, FloatArray]]:
        rows = block.rows
        for part, means in self._plain(theta, block, block.width):
            own = rows.release.debias(rows.sets(part)) - means[:, self.tilted.cells[rows.clique]]
            yield part, own[:, :, None] * own[:, None, :]

    def _covariance(self, block: _Moments, parts: Iterator[tuple[slice, FloatArray]]) -> FloatArray:
        """Σ Z_i V_i Z_iᵀ/n_c² of matrices V (B, w, w), shape (q, q)."""
        rows = block.rows
        k, w = rows.instruments.shape[1], rows.release.cells
        total = np.zeros((k * k, w * w))
        for part, matrices in parts:
            z = rows.instruments[part]
            pairs = (z * rows.counts[part, None])[:, :, None] * z[:, None, :]
            total += pairs.reshape(-1, k * k).T @ matrices.reshape(-1, w * w)
        full = total.reshape(k, k, w, w).transpose(0, 2, 1, 3).reshape(k * w, k * w)
        return np.asarray(block.collect @ full @ block.collect.T / rows.n_observations**2)

    def jacobians(self, theta: FloatArray, most_rows: int | None = None) -> list[FloatArray]:
        """−∂r_c/∂θ by clique, each (q, d); from at most so many rows of every clique."""
        jacobians = []
        for block in self._blocks:
            rows = block.rows if most_rows is None else block.rows.thinned(most_rows)
            weights = rows.instruments * rows.counts[:, None]
            slopes = self.tilted.slopes(theta, rows.clique, rows.x, weights).reshape(-1, self.tilted.dimension)
            jacobians.append(block.collect @ slopes / rows.counts.sum())
        return jacobians

    def pulled_back(self, theta: FloatArray, weights: Sequence[FloatArray]) -> tuple[float, FloatArray]:
        """½ Σ_c r_cᵀW_c r_c and its gradient, shape (d,)."""
        value, gradient = 0.0, np.zeros(self.tilted.dimension)
        for block, weight in zip(self._blocks, weights, strict=True):
            residual, kept = self._residual(theta, block)
            pull = weight @ residual
            value += 0.5 * float(residual @ pull)
            gradient -= self._slope(theta, block, pull, kept)
        return value, gradient

    def _slope(self, theta: FloatArray, block: _Moments, pull: FloatArray, kept: Sequence[FloatArray]) -> FloatArray:
        """Σ_i Cov(φ, Z_iᵀu)/n_c = −(∂r_c/∂θ)ᵀu, by tilting every row's own table along its own direction."""
        rows, out = block.rows, np.zeros(self.tilted.dimension)
        cells = self.tilted.cells[rows.clique]
        tables = (block.collect.T @ pull).reshape(rows.instruments.shape[1], -1)
        start = 0
        for plain in kept:
            part = slice(start, start + len(plain))
            start = part.stop
            direction = rows.instruments[part] @ tables
            lowest = direction.min(axis=1, keepdims=True)
            width = np.maximum(direction.max(axis=1, keepdims=True) - lowest, 1e-300)
            factor = 1 + (direction - lowest) / width  # from 1 to 2
            potentials = self.tilted.potentials(theta, rows.x[part])
            change = self.tilted.tilted(potentials, rows.clique, np.log(factor)) - plain
            expected = (factor * plain[:, cells]).sum(axis=1, keepdims=True)
            change *= expected * width * (rows.counts[part, None] / rows.n_observations)
            out += self.tilted.total(change, rows.x[part])
        return out


def _collector(sizes: Sequence[int], instruments: int) -> FloatArray:
    """A: the cells themselves for the first instrument, sums over all values of every variable for the others."""
    cells = int(np.prod(sizes))
    codes = np.unravel_index(np.arange(cells), sizes)
    margins = np.concatenate([np.eye(size)[:, own] for size, own in zip(sizes, codes, strict=True)])
    nodes = np.kron(np.eye(instruments - 1), margins)
    out = np.zeros((cells + len(nodes), instruments * cells))
    out[:cells, :cells], out[cells:, cells:] = np.eye(cells), nodes
    return out


class MomentLoss:
    """½ Σ_c r_cᵀC_c⁺r_c with fixed weights; its curvature leaves out what vanishes with r, Σ JᵀC⁺J.

    Args:
        moments: of all cliques.
        at: θ at which the noise is taken.
        most_rows: of every clique that the curvature is taken from, for a solver that needs no more than a guide.
    """

    def __init__(self, moments: FieldMoments, at: FloatArray, most_rows: int | None = None) -> None:
        self.moments, self.weights, self._most_rows = moments, moments.weights(at), most_rows

    def value(self, theta: FloatArray) -> float:
        """½ Σ rᵀC⁺r."""
        return 0.5 * sum(
            float(r @ (weight @ r)) for r, weight in zip(self.moments.residuals(theta), self.weights, strict=True)
        )

    def value_and_gradient(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """And −Σ JᵀC⁺r."""
        return self.moments.pulled_back(theta, self.weights)

    def curvature(self, theta: FloatArray) -> FloatArray:
        """Σ JᵀC⁺J."""
        pairs = zip(self.moments.jacobians(theta, self._most_rows), self.weights, strict=True)
        return np.asarray(sum(slope.T @ weight @ slope for slope, weight in pairs))


# -- the reports themselves --------------------------------------------------------------------------------------------


class ScoreLoss:
    """−Σ_i log P(o_i | x_i, c_i), P(o | x) = Σ_cell S_c(o | cell) μ_c(cell; x); curvature Σ_i s_i s_iᵀ.

    The score of a report is s_i = E[φ | x_i, o_i] − E[φ | x_i]: the table of its clique is tilted by S(o | y).
    """

    def __init__(self, tilted: TiltedField, rows: Sequence[CliqueRows]) -> None:
        self._tilted, self._rows = tilted, rows

    def _likelihoods(self, rows: CliqueRows, means: FloatArray, sets: FloatArray) -> FloatArray:
        terms, low, gain = rows.release.likelihood_terms(sets)
        return np.asarray(low + gain * (terms * means[:, self._tilted.cells[rows.clique]]).sum(axis=1))

    def value(self, theta: FloatArray) -> float:
        """−Σ log P."""
        total = 0.0
        for rows in self._rows:
            for part in self._tilted.batches(len(rows.x), rows.release.bits):
                means = self._tilted.means(self._tilted.potentials(theta, rows.x[part]))
                total -= float(rows.counts[part] @ np.log(self._likelihoods(rows, means, rows.sets(part))))
        return total

    def _scores(self, theta: FloatArray) -> Iterator[tuple[CliqueRows, slice, float, FloatArray]]:
        """By batch: rows, which of them, their loss, and by row how a report changes all cells (B, potentials)."""
        for rows in self._rows:
            for part in self._tilted.batches(len(rows.x), rows.release.bits):
                sets, potentials = rows.sets(part), self._tilted.potentials(theta, rows.x[part])
                means = self._tilted.means(potentials)
                loss = -float(rows.counts[part] @ np.log(self._likelihoods(rows, means, sets)))
                tilt = rows.release.log_tilts(sets)
                yield rows, part, loss, self._tilted.tilted(potentials, rows.clique, tilt) - means

    def value_and_gradient(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """And −Σ s_i."""
        value, gradient = 0.0, np.zeros(self._tilted.dimension)
        for rows, part, loss, change in self._scores(theta):
            value += loss
            gradient -= self._tilted.total(change * rows.counts[part, None], rows.x[part])
        return value, gradient

    def curvature(self, theta: FloatArray) -> FloatArray:
        """Σ s_i s_iᵀ."""
        out = np.zeros((self._tilted.dimension, self._tilted.dimension))
        for rows, part, _, change in self._scores(theta):
            scores = self._tilted.statistics(change, rows.x[part])
            out += (scores * rows.counts[part, None]).T @ scores
        return out
