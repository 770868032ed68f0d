"""Covariances that have a formula, checked against enumeration by the tests."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from askance._arrays import ArrayLike, FloatArray
from askance._checks import Number, as_count, as_floats, as_positive_level, shown
from askance.channels.randomized_response import RandomizedResponse
from askance.channels.statistics.base import Averaging, StatisticsChannel
from askance.channels.statistics.choices import require_averaging
from askance.channels.statistics.coordinate_release import CoordinateRelease
from askance.channels.statistics.per_value import PerValue
from askance.errors import InputError, ShapeError
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


# -- channels on statistics: φ is shifted so that it lies in [0, c] ----------------------------------------------------


def coordinate_release_excess_covariance(
    model: Enumerated, channel: CoordinateRelease, theta: ArrayLike, averaging: Averaging = "within"
) -> FloatArray:
    """H of coordinate release for φ in [0, c]^d, shape (d, d), with v = q(1 − q)/(2q − 1)².

    Averages within what was drawn: diag((c²v + cμ_j − μ_j²)/p_j) − Cov φ. As printed, over everybody:
    diag((c²v + cμ_j)/p_j) − E φφᵀ. The paper has the second for φ in {0, 1}^d and uniform p.

    >>> from askance import Enumerated
    >>> model, channel = Enumerated([[0, 0, 1, 1], [0, 1, 0, 1]]), CoordinateRelease(2, 1)
    >>> coordinate_release_excess_covariance(model, channel, [0, 0]).round(4)  # 2 (v + 1/4) − 1/4, v = 0.9207
    array([[2.0913, 0.    ],
           [0.    , 2.0913]])
    """
    p, phi, c = _shifted(model, channel, theta)
    mean, release = phi @ p, channel.release_probabilities
    q = channel.flips.keep_probability
    noise = c**2 * q * (1 - q) / (2 * q - 1) ** 2 + c * mean
    if require_averaging(averaging) == "printed":
        return np.asarray(np.diag(noise / release) - (phi * p) @ phi.T)
    return np.asarray(np.diag((noise - mean**2) / release) - weighted_covariance(phi, p))


def per_value_excess_covariance(model: Enumerated, channel: PerValue, theta: ArrayLike) -> FloatArray:
    """H of per-value release for φ in [0, c]^d, shape (d, d): c²v I + E diag(φ∘(c − φ)), v = q(1 − q)/(2q − 1)².

    The paper has it for φ in {0, 1}^d, where the second term is 0. With flips that treat ones and zeros differently
    (p and s) it is diag E[c² s(1 − s)/(p − s)² + cφ (1 − 2s)/(p − s) − φ²]: the same for p = 1 − s.

    >>> from askance import Enumerated
    >>> per_value_excess_covariance(Enumerated([[0, 1, 0], [0, 0, 1]]), PerValue(2, 1, max_l1_norm=1), [0, 0]).round(4)
    array([[3.9177, 0.    ],
           [0.    , 3.9177]])
    """
    p, phi, c = _shifted(model, channel, theta)
    raised, gain = channel.flips.raise_probability, channel.flips.gain
    constant, slope = raised * (1 - raised) / gain**2, (1 - 2 * raised) / gain
    return np.diag(c**2 * constant + c * slope * (phi @ p) - phi**2 @ p)


def _shifted(
    model: Enumerated, channel: StatisticsChannel, theta: ArrayLike
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """p_θ (m,), φ − lower (d, m) and c (d,)."""
    if channel.dimension != model.dimension:
        raise ShapeError(
            f"{channel.kind} is for {channel.dimension} statistics, the model has {model.dimension}; allowed: as many.",
            remedy=f"Build the channel with dim={model.dimension}.",
        )
    parameters = channel.parameters()
    lower = np.broadcast_to(np.asarray(parameters.get("lower", 0.0)), model.dimension)
    width = np.broadcast_to(np.asarray(parameters.get("statistic_bound", 1.0)), model.dimension)
    return model.probabilities(theta), model.table - lower[:, None], width


# -- small levels ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SmallLevelTraces:
    """tr H of the two structured channels as the level goes to 0.

    Attributes:
        coordinate_release: d²/α² + (d − 1) Σ_j a_j.
        per_value: d D²/α².
    """

    coordinate_release: float
    per_value: float


def small_level_traces(
    privacy_level: Number, means: ArrayLike, diameter: int, averaging: Averaging = "within"
) -> SmallLevelTraces:
    """What the two structured channels add to the covariance of binary statistics at a small level α.

    With exact calibration v = 1/(4 sinh²(α/2)) = 1/α² − 1/12 + …, so that uniform coordinate release has
    tr H ≈ d²/α² + (d − 1) Σ_j a_j, where a_j = E φ_j with the printed average (their sum is then E‖φ‖₁) and
    E φ_j (1 − E φ_j) within coordinates; per-value release has tr H ≈ d D²/α². Left out are −d²/12 and −d/12.

    Args:
        privacy_level: α.
        means: E φ, shape (d,).
        diameter: D, the Hamming diameter of the possible statistics.
        averaging: how coordinate release averages.

    >>> small_level_traces("1/16", [0.25, 0.25, 0.25, 0.25], diameter=2)
    SmallLevelTraces(coordinate_release=4098.25, per_value=4096.0)
    """
    level, mean = float(as_positive_level(privacy_level)), as_floats(means, "means")
    if mean.ndim != 1 or not ((mean >= 0) & (mean <= 1)).all():
        raise InputError(
            f"are {shown(mean.tolist())}",
            argument="means",
            allowed="one number between 0 and 1 per statistic",
            remedy="Give the mean of every binary statistic.",
        )
    d, distance = len(mean), as_count(diameter, "diameter", minimum=1, maximum=len(mean))
    drawn = mean if require_averaging(averaging) == "printed" else mean * (1 - mean)
    return SmallLevelTraces(
        coordinate_release=d**2 / level**2 + (d - 1) * float(drawn.sum()), per_value=d * distance**2 / level**2
    )


def crossover(dim: int) -> float:
    """√d: the Hamming diameter at which both structured channels cost the same at small levels.

    Below it per-value release is better, above it coordinate release: d D²/α² against d²/α².

    >>> crossover(64)
    8.0
    """
    return math.sqrt(as_count(dim, "dim", minimum=1))
