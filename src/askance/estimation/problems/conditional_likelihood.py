"""The marginal likelihood of reports with covariates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from askance._arrays import FloatArray
from askance.design.conditional_covariances import report_information
from askance.estimation.problems.conditional import Block, logits, multinomial_curvature, softmax
from askance.estimation.problems.sum_over_rows import RowParts, SumOverRows

if TYPE_CHECKING:
    from askance.estimation.problems.responses_problem import ResponsesProblem


class ConditionalLikelihood(SumOverRows):
    """f(θ) = −Ê log Σ_y S(o|y) p_θ(y|x) + ½ θᵀ(Λ/n)θ: not convex in general."""

    def __init__(self, problem: ResponsesProblem, precision: FloatArray | None) -> None:
        super().__init__(problem, precision)
        self._S = problem.channel.matrix

    def posterior(self, block: Block, p: FloatArray, A: FloatArray) -> tuple[FloatArray, FloatArray]:
        """P(y | x, o) without the reference, of the shape of p, and q = P(o | x), shape (n,).

        exp(−A) is the probability of the reference; 1 − Σp would lose its digits where it is small.
        """
        S = self._S[block.codes]
        if p.ndim == 1:
            joint = S[:, 1] * p
            q = S[:, 0] * np.exp(-A) + joint
            return joint / q, q
        joint = S[:, 1:] * p
        q = S[:, 0] * np.exp(-A) + joint.sum(axis=1)
        return joint / q[:, None], q

    def _row(self, block: Block, z: FloatArray) -> RowParts:
        p, A = softmax(z)
        r, q = self.posterior(block, p, A)
        return -np.log(q), p - r, lambda: multinomial_curvature(p) - multinomial_curvature(r)

    def expected_information(self, theta: FloatArray) -> FloatArray:
        """Ê Σ_o (1/q_o) u_o u_oᵀ ⊗ x xᵀ with u_o = P ∘ (S_o − q_o), shape (d, d)."""
        return self.problem.curvature(theta, lambda block, p: report_information(self._S, p))

    def score_covariance(self, theta: FloatArray) -> FloatArray:
        """n · Cov of the mean score."""
        coefficients = self.problem.model.blocks(theta)

        def score(block: Block) -> FloatArray:
            p, A = softmax(logits(block, coefficients))
            return self.posterior(block, p, A)[0] - p

        return self.problem.score_covariance(score)
