"""Least squares for w whose rows are distributions.

    min ½ Σ_rb ω_rb (N_rb − Σ_a R_ra w_ab)² + γ/2 ‖w − w⁰‖²   over w_a ≥ 0, Σ_b w_ab = 1,

with w⁰ the ridge estimate, which shares features between types and may leave the simplex. The constraint is worth more
than it seems: that w is 0 almost everywhere and sums to 1 separates words that counts alone do not.

Solved by FISTA in the metric D = diag(RᵀΩR1) + γ, which is at least the curvature (RᵀΩR has no negative entry).
"""

from __future__ import annotations

import numpy as np

from askance._arrays import AnyArray
from askance._kernels.simplex_step import descend, project_rows
from askance.text.counts.equations import CountEquations


def simplex_least_squares(equations: CountEquations, start: AnyArray, pull: float, iterations: int) -> AnyArray:
    """The minimum, approximately, shape (A, K).

    Args:
        equations: R, N, ω.
        start: w⁰, shape (A, K).
        pull: γ.
        iterations: steps.

    >>> from askance.text.corpus.corpus import Corpus
    >>> from askance.text.corpus.regions import RegionCounts
    >>> corpus = Corpus.of([["a", "b", "a", "a"]], tags=[["X", "Y", "Y", "X"]])
    >>> equations = CountEquations.of(RegionCounts.of_labels(corpus), dtype=np.float64)
    >>> simplex_least_squares(equations, np.full((2, 2), 0.5), 1e-9, 60).round(3)
    array([[0.667, 0.333],
           [0.   , 1.   ]])
    """
    matrix, transposed, weights = equations.matrix, equations.transposed, equations.weights
    dtype = start.dtype.type
    lengths = np.asarray(matrix.sum(axis=1))
    curvature = transposed @ (equations.row_weights * lengths) + pull
    step = np.where(curvature > 0, 1 / np.maximum(curvature, 1e-30), 0).astype(start.dtype)
    current = project_rows(start)
    ahead, age = current.copy(), 1.0
    for _ in range(iterations):
        misfit = matrix @ ahead
        misfit -= equations.response
        if weights is not None:
            misfit *= weights
        older, age = age, (1 + np.sqrt(1 + 4 * age * age)) / 2
        descend(ahead, transposed @ misfit, current, start, dtype(pull), step, dtype((older - 1) / age))
    return current
