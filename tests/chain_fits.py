"""Chains fitted from scratch, without the steps of a tagger before them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from askance.text.chain.evidence import ChainObjective
from askance.text.chain.fit import ChainFit, ChainParameters, ChainProblem, descend

if TYPE_CHECKING:
    from scipy import sparse


def fit_chain(
    designs: dict[int, sparse.csr_array],
    objective: ChainObjective,
    *,
    l2: float,
    l1: float = 0.0,
    start: ChainParameters | None = None,
    max_iterations: int = 100,
    **options: Any,
) -> ChainFit:
    """Maximise L − λ/2 ‖θ‖² − μ ‖θ‖₁; without a start, curvature is guessed from features for the first steps."""
    problem = ChainProblem(designs, objective, l2, 6 if start is None else 1, l1)
    return descend(problem, start, max_iterations=max_iterations, **options)
