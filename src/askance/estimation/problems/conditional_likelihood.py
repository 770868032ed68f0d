"""The marginal likelihood of reports with covariates."""

from __future__ import annotations

from askance._arrays import FloatArray
from askance._kernels.softmax_pass import EXPECTED, OBSERVED, POSTERIOR
from askance.estimation.freedom import Freedom
from askance.estimation.problems.sum_over_rows import SumOverRows


class ConditionalLikelihood(SumOverRows):
    """f(θ) = −Ê log Σ_y S(o|y) p_θ(y|x) + ½ θᵀ(Λ/n)θ: not convex in general."""

    against, curved = POSTERIOR, OBSERVED

    def expected_information(self, theta: FloatArray) -> FloatArray:
        """Ê Σ_o (1/q_o) u_o u_oᵀ ⊗ x xᵀ with u_o = P ∘ (S_o − q_o), shape (d, d)."""
        return self._curvature(theta, EXPECTED)

    def score_covariance(self, theta: FloatArray) -> FloatArray:
        """n · Cov of the mean score."""
        return self.problem.score_covariance(self._rows, theta, POSTERIOR)

    def freedom(self, theta: FloatArray) -> Freedom | None:
        """Of contrasts of θ̂ under the robust covariance."""
        return self.problem.freedom(self._rows, theta, POSTERIOR)
