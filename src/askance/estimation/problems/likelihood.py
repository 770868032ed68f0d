"""The marginal likelihood of tallies, with exact derivatives."""

from __future__ import annotations

import numpy as np

from askance._arrays import FloatArray
from askance.channels.finite import FiniteChannel
from askance.design.covariances import marginal_information, posterior_means
from askance.models.enumerated import weighted_covariance
from askance.models.protocols import FiniteModel

# Scores below this share of the statistics are 0: what was told says nothing.
_ROUNDING = 1e-13


class MarginalLikelihood:
    """f(θ) = −Σ_o q̂(o) log (S p_θ)(o) + ½ θᵀ(Λ/n)θ: negative average log-likelihood, with or without a prior.

    Not convex in θ in general. ∇f = μ(θ) − E_q̂ E[φ|o] and ∇²f = I(θ) − E_q̂ Cov[φ|o], plus the prior's part.

    Args:
        model: p_θ.
        channel: S.
        frequencies: q̂, shape (k,).
        precision: Λ/n, shape (d, d); None for no prior.
    """

    def __init__(
        self, model: FiniteModel, channel: FiniteChannel, frequencies: FloatArray, precision: FloatArray | None = None
    ) -> None:
        self.model, self.channel, self.frequencies = model, channel, frequencies
        self._seen = frequencies > 0
        self._precision = np.zeros((model.dimension, model.dimension)) if precision is None else precision

    def value(self, theta: FloatArray) -> float:
        """f(θ); infinite where something observed is impossible."""
        predicted = self.channel.apply(np.exp(self.model.log_probabilities(theta)))
        with np.errstate(divide="ignore"):
            fit = -float(self.frequencies[self._seen] @ np.log(predicted[self._seen]))
        return fit + 0.5 * float(theta @ self._precision @ theta)

    def expected_outputs(self, theta: FloatArray) -> FloatArray:
        """E-step: Σ_o q̂(o) P_θ(y | o), shape (m,)."""
        probabilities = np.exp(self.model.log_probabilities(theta))
        predicted = self.channel.apply(probabilities)
        ratio = np.where(self._seen, self.frequencies / np.where(predicted > 0, predicted, 1.0), 0.0)
        return np.asarray(probabilities * self.channel.apply_transposed(ratio))

    def gradient(self, theta: FloatArray) -> FloatArray:
        """∇f(θ), shape (d,)."""
        expected = self.model.table @ self.expected_outputs(theta)
        return np.asarray(self.model.mean_statistics(theta) - expected + self._precision @ theta)

    def hessian(self, theta: FloatArray) -> FloatArray:
        """∇²f(θ), shape (d, d)."""
        centre = self.model.mean_statistics(theta)[:, None]
        centred = self.model.table - centre
        within = (centred * self.expected_outputs(theta)) @ centred.T
        means, _ = posterior_means(self.model, self.channel, theta)
        between = ((means - centre) * self.frequencies) @ (means - centre).T
        return np.asarray(self.model.fisher_information(theta) - (within - between) + self._precision)

    def expected_information(self, theta: FloatArray) -> FloatArray:
        """Cov E[φ|o] under the model, per report, without the prior; Ê s sᵀ where reports have no known law."""
        if self.channel.has_law:
            return marginal_information(self.model, self.channel, theta)
        scores = posterior_means(self.model, self.channel, theta)[0] - self.model.mean_statistics(theta)[:, None]
        scores[np.abs(scores) <= _ROUNDING * np.abs(self.model.table).max()] = 0.0
        return np.asarray((scores * self.frequencies) @ scores.T)

    def freedom(self, theta: FloatArray) -> None:
        """None: tallies have no clusters."""

    def score_covariance(self, theta: FloatArray) -> FloatArray:
        """Cov of the score E[φ|o] − μ over the observed reports, per report."""
        means, _ = posterior_means(self.model, self.channel, theta)
        return weighted_covariance(means, self.frequencies)
