"""How sure the moment estimate is: a sandwich covariance of linear functions of ŵ.

The ridge estimate V̂_b = H_b⁻¹ AᵀΩ_b N_b, H_b = AᵀΩ_bA + λI, A = RΦ, is linear in the counts. A function
g = Σ_ab D_ab ŵ_ab of ŵ = ΦV̂ is therefore Σ_rb S_rb N_rb with S_b = Ω_b A H_b⁻¹ ΦᵀD_b, and its variance is
estimated from the residuals E = N − AV̂ of independent sentences s,

    Ĉov(g, g′) = G / (G − 1) · Σ_s ψ_s(g) ψ_s(g′),   ψ_s(g) = Σ_(r in s) Σ_b S_rb E_rb,

with G sentences that have regions. This is right whatever the variances of counts are, and where regions overlap or
tags depend on their neighbours within a sentence. The whole covariance has (F K)² entries; each function asked for
takes one solution of the equations instead. The statistic μ̂_fb = Σ_a n_a Φ_af ŵ_ab is the function with
D_ab = n_a Φ_af.

It describes the spread of the estimate around its own mean: the bias of a ridge is no part of it (it vanishes as
regions become many), nor is what clipping or the simplex do afterwards. Where features outnumber regions residuals are
too small, and so are the variances.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from askance._arrays import AnyArray, FloatArray, SparseRows
from askance._checks import shape
from askance._threads import one_thread
from askance.errors import EmptyDataError, InputError
from askance.text.corpus.regions import RegionCounts
from askance.text.counts.equations import CountEquations
from askance.text.counts.moments import default_l2, feature_equations

_STEPS, _TOLERANCE = 500, 1e-9


@dataclass(frozen=True, eq=False)
class MomentCovariance:
    """Linear functions of the ridge estimate.

    Attributes:
        estimate: the functions at ŵ (before clipping), shape (m,).
        covariance: shape (m, m).
    """

    estimate: FloatArray
    covariance: FloatArray

    @property
    def standard_errors(self) -> FloatArray:
        """Square roots of the variances, shape (m,)."""
        return np.sqrt(np.diag(self.covariance))


@one_thread
def moment_covariance(
    regions: RegionCounts, design: SparseRows, functions: Sequence[AnyArray], *, l2: float | None = None
) -> MomentCovariance:
    """Sandwich covariance of Σ_ab D_ab ŵ_ab for each D.

    Args:
        regions: the counts, of two sentences or more.
        design: Φ, shape (T, F).
        functions: D of each function, shape (T, K). Entries of types that no region covers must be 0.
        l2: λ; default as in `moment_counts`.

    >>> from scipy import sparse
    >>> from askance.text.corpus.corpus import Corpus
    >>> corpus = Corpus.of([["run"]] * 50, tags=[["NN"]] * 10 + [["VB"]] * 40)
    >>> found = moment_covariance(
    ...     RegionCounts.of_labels(corpus), sparse.csr_array([[1.0]]), [np.array([[1.0, 0.0]])], l2=1e-9
    ... )
    >>> found.estimate.round(3), found.standard_errors.round(3), np.sqrt(0.2 * 0.8 / 49).round(3)
    (array([0.2]), array([0.057]), np.float64(0.057))
    """
    exact = design.astype(float)
    equations = CountEquations.of(regions, dtype=float, merge_single=False)
    groups, owner = np.unique(equations.sentence, return_inverse=True)
    if len(groups) < 2:
        raise EmptyDataError(
            f"the regions are of {len(groups)} sentences; allowed: 2 or more.", remedy="Collect more counts."
        )
    system, merged = feature_equations(equations, exact, default_l2(equations) if l2 is None else float(l2))
    solution = system.solve(system.right_side(equations.response), _STEPS, _TOLERANCE)
    fitted = np.asarray(merged.matrix @ solution)
    residual = equations.response - system.fitted(solution)
    estimates, influences = [], []
    for number, function in enumerate(functions):
        inside = _inside(np.asarray(function, dtype=float), number, equations, design.shape[0])
        target = np.asarray(merged.matrix.T @ inside)
        share = system.fitted(system.solve(target, _STEPS, _TOLERANCE))
        if equations.weights is not None:
            share *= equations.weights
        estimates.append(float(np.vdot(inside, fitted)))
        influences.append(np.bincount(owner, np.einsum("rk,rk->r", share, residual), len(groups)))
    table = np.array(influences).reshape(len(estimates), len(groups))
    covariance = np.asarray(table @ table.T, dtype=float) * (len(groups) / (len(groups) - 1))
    return MomentCovariance(np.array(estimates), covariance)


def _inside(function: FloatArray, number: int, equations: CountEquations, types: int) -> FloatArray:
    """The rows of D of types that regions cover."""
    shape(function, (types, equations.response.shape[1]), f"function {number}", "Give types × tags.")
    covered = np.zeros(types, dtype=bool)
    covered[equations.types] = True
    if function[~covered].any():
        raise InputError(
            f"function {number} has weight on type {int(np.flatnonzero(function.any(axis=1) & ~covered)[0])}, which no "
            "region covers; allowed: types that regions cover.",
            remedy="Give counts of a region with it.",
        )
    return function[equations.types]
