"""A random field with covariates for many respondents at once, and how it changes when one table is tilted.

With p tilted by a positive function f of the cells of one clique, p_f(y) = p(y) f(y_c)/E f,

    Cov(φ, f) = E f · (E_f φ − E φ),

so that two sums over the junction tree per respondent give what a report says (f = S(o | y)) and exact derivatives
along a direction that differs from respondent to respondent (f = 1 + a multiple of it), without any matrix.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from askance._arrays import FloatArray, IntArray
from askance.estimation.problems.field_tables import MeasuredField
from askance.models.random_field import RandomField
from askance.models.tree_inference import TreeInference

# So many numbers are worked on at once, so that they stay in the processor's cache: 8 MiB.
_AT_ONCE = 1 << 20


class TiltedField:
    """p_θ(y | x) for batches of rows of x.

    Args:
        field: with covariates, d parameters.
        cliques: the variables of every table that is looked at, by position; not necessarily the field's.

    Attributes:
        cells: by clique, where its cells lie among the potentials, in C order of its variables as given.
    """

    def __init__(self, field: RandomField, cliques: Sequence[tuple[int, ...]]) -> None:
        self.field, self.dimension = field, field.dimension
        measured = MeasuredField(field, cliques)
        whole = measured.whole
        alone = {clique[0] for clique in whole.cliques if len(clique) == 1}
        others = [(v,) for v in range(len(field.sizes)) if v not in alone]
        self._plan = TreeInference(whole.tree, [*whole.cliques, *others], whole.impossible)
        ends = np.cumsum([np.prod([field.sizes[v] for v in clique], dtype=np.int64) for clique in cliques])
        self.cells: list[IntArray] = np.split(measured.index, ends[:-1])
        starts = dict(zip(self._plan.scopes, self._plan.starts, strict=False))
        places = np.arange(field.dimension)
        # Potentials of single variables (Σ sizes,), and their coefficients in θ (p, Σ sizes).
        self._nodes = np.concatenate([starts[(v,)] + np.arange(size) for v, size in enumerate(field.sizes)])
        blocks = [field.coefficients(places, v) for v in range(len(field.sizes))]
        self._places = np.concatenate(blocks, axis=1).astype(np.int64)
        self._own = field.offsets[-1]
        self._step = max(1, _AT_ONCE // max(sum(whole.tree.cells), self._plan.dimension, field.dimension))

    def batches(self, rows: int, width: int = 1) -> Iterator[slice]:
        """Slices of as many rows as are worked on at once; fewer where each takes `width` numbers more."""
        step = max(1, min(self._step, _AT_ONCE // width))
        for start in range(0, rows, step):
            yield slice(start, start + step)

    def potentials(self, theta: FloatArray, x: FloatArray) -> FloatArray:
        """Of every row of x (B, p), shape (B, potentials)."""
        out = np.zeros((len(x), self._plan.dimension))
        out[:, : self._own] = theta[: self._own]
        out[:, self._nodes] += x @ theta[self._places]
        return out

    def means(self, potentials: FloatArray) -> FloatArray:
        """The probabilities of all cells of all tables, shape (B, potentials)."""
        return self._plan.beliefs(potentials).means

    def tilted(self, potentials: FloatArray, clique: int, logs: FloatArray) -> FloatArray:
        """The same after a table is tilted: log f of its cells is (B, cells), or (cells,) for all rows."""
        changed = potentials.copy()
        changed[:, self.cells[clique]] += logs
        return self.means(changed)

    def statistics(self, means: FloatArray, x: FloatArray) -> FloatArray:
        """E φ(x, y) of every row, shape (B, d)."""
        out = np.empty((len(x), self.dimension))
        out[:, : self._own] = means[:, : self._own]
        out[:, self._places.ravel()] = (x[:, :, None] * means[:, None, self._nodes]).reshape(len(x), -1)
        return out

    def total(self, means: FloatArray, x: FloatArray) -> FloatArray:
        """Σ_i E φ(x_i, y), shape (d,), without an array (B, d)."""
        out = np.empty(self.dimension)
        out[: self._own] = means[:, : self._own].sum(axis=0)
        out[self._places] = x.T @ means[:, self._nodes]
        return out

    def slopes(self, theta: FloatArray, clique: int, x: FloatArray, weights: FloatArray) -> FloatArray:
        """Σ_i w_ij Cov(1[cell], φ | x_i) for every column j of weights (n, k) and cell of the clique: (k, cells, d)."""
        width = len(self.cells[clique])
        out = np.zeros((weights.shape[1], width, self.dimension))
        for part in self.batches(len(x)):
            potentials = self.potentials(theta, x[part])
            plain = self.means(potentials)
            for cell in range(width):
                # f = 1 in all cells, 2 in this one
                changed = self.tilted(potentials, clique, np.where(np.arange(width) == cell, np.log(2.0), 0.0))
                changed -= plain
                changed *= 1 + plain[:, self.cells[clique][cell], None]
                out[:, cell] += weights[part].T @ self.statistics(changed, x[part])
        return out
