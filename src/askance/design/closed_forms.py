"""Covariances that have a formula, checked against enumeration by the tests."""

from __future__ import annotations

import numpy as np

from askance._arrays import ArrayLike, FloatArray
from askance.channels.randomized_response import RandomizedResponse
from askance.models.enumerated import Enumerated, weighted_covariance


def randomized_response_excess_covariance(
    model: Enumerated, channel: RandomizedResponse, theta: ArrayLike
) -> FloatArray:
    """H = (1−ε)/ε² Cov_u φ + (1−ε)/ε E[(φ(y) − E_u φ)(φ(y) − E_u φ)ᵀ], shape (d, d).

    The paper's lemma for classic randomized response: Σ_mom = I⁻¹ + I⁻¹ H I⁻¹. When the base u equals p_θ it gives
    Σ_mom = ε⁻² I⁻¹.
    """
    epsilon, base = channel.reveal_probability, channel.base_distribution
    centred = model.table - (model.table @ base)[:, None]
    spread = (centred * model.probabilities(theta)) @ centred.T
    return np.asarray(
        (1 - epsilon) / epsilon**2 * weighted_covariance(model.table, base) + (1 - epsilon) / epsilon * spread
    )
