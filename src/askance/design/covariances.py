"""Asymptotic covariances by enumeration: what n answers through a channel will be worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, overload

import numpy as np

from askance._arrays import ArrayLike, FloatArray
from askance._checks import as_parameter, one_of, shorten
from askance._threads import one_thread
from askance.channels.finite import FiniteChannel, require_channel
from askance.channels.observation import ObservationFunction
from askance.channels.statistics.base import Averaging, StatisticsChannel
from askance.errors import NotIdentifiedError
from askance.models.enumerated import weighted_covariance
from askance.models.protocols import FiniteModel

if TYPE_CHECKING:
    from askance.design.statistics_covariances import StatisticsAsymptotics

#: Which unbiased β: the one of least covariance for the distribution of observations, or the plain one.
Weighting: TypeAlias = Literal["best", "plain"]

# Directions of the information below this share of its largest eigenvalue (after scaling) count as absent.
_SINGULAR = 1e-13
# A direction with more parts than this is not spelled out.
_MOST_PARTS = 4


@dataclass(frozen=True)
class Asymptotics:
    """Limits of n · Cov(θ̂) at one θ; all matrices (d, d).

    Attributes:
        full: Σ_full = I⁻¹, had y been seen.
        marginal: Σ_marg = (Cov E[φ|o])⁻¹, of the maximum marginal likelihood and the one-step estimator.
        moments: Σ_mom = I⁻¹ + I⁻¹ H I⁻¹, of the moment estimator; None when the channel has no unbiased β.
        excess_covariance: H = E Cov[β(o) | y]; None like `moments`.
    """

    full: FloatArray
    marginal: FloatArray
    moments: FloatArray | None
    excess_covariance: FloatArray | None

    @property
    def efficiency(self) -> float:
        """Eff = tr(Σ_marg Σ_mom⁻¹) / d: 1 when moments lose nothing; 0 when there is no unbiased β."""
        if self.moments is None:
            return 0.0
        return float(np.trace(np.linalg.solve(self.moments, self.marginal))) / len(self.full)


@overload
def asymptotics(
    model: FiniteModel,
    channel: FiniteChannel,
    theta: ArrayLike,
    *,
    weighting: Weighting = "best",
    averaging: Averaging = "within",
) -> Asymptotics: ...


@overload
def asymptotics(
    model: FiniteModel,
    channel: StatisticsChannel,
    theta: ArrayLike,
    *,
    weighting: Weighting = "best",
    averaging: Averaging = "within",
) -> StatisticsAsymptotics: ...


@one_thread
def asymptotics(
    model: FiniteModel,
    channel: FiniteChannel | StatisticsChannel,
    theta: ArrayLike,
    *,
    weighting: Weighting = "best",
    averaging: Averaging = "within",
) -> Asymptotics | StatisticsAsymptotics:
    """Σ_full, Σ_marg, Σ_mom and H of a model seen through a channel, by enumeration at θ.

    Args:
        model: over finitely many outputs.
        channel: on its outputs, or on its statistics (see `statistics_asymptotics`).
        theta: where, shape (d,).
        weighting: which β where several are unbiased; a channel on statistics has its own.
        averaging: how a channel on statistics takes means, where it draws what to release.

    >>> from askance import Enumerated, RandomizedResponse
    >>> model = Enumerated([[0, 0, 1, 1], [0, 1, 0, 1]])
    >>> result = asymptotics(model, RandomizedResponse("1/2", outputs=4), [5, -1])
    >>> round(result.efficiency, 4)
    0.8189
    """
    if isinstance(channel, StatisticsChannel):
        from askance.design.statistics_covariances import statistics_asymptotics  # which needs this module

        return statistics_asymptotics(model, channel, theta, averaging=averaging)
    require_channel(channel).require_outputs_of(model)
    theta = as_parameter(theta, model.dimension)
    information = model.fisher_information(theta)
    full = invert_information(information, model.parameter_names, "the model")
    marginal = invert_information(marginal_information(model, channel, theta), model.parameter_names, "the channel")
    frequencies = channel.apply(np.exp(model.log_probabilities(theta)))
    try:
        beta = observation_function(model, channel, frequencies, weighting)
    except NotIdentifiedError:
        return Asymptotics(full, marginal, None, None)
    # E Cov[β|y] = Cov β − Cov φ, because E[β|y] = φ.
    total = beta.covariance(frequencies)
    return Asymptotics(full, marginal, full @ total @ full, total - information)


def observation_function(
    model: FiniteModel, channel: FiniteChannel, frequencies: FloatArray, weighting: Weighting
) -> ObservationFunction:
    """The β in use: of least covariance under `frequencies`, or the plain one."""
    if one_of(weighting, ("best", "plain"), "weighting", "The default is best.") == "plain":
        return channel.observation_function(model)
    possible = np.where(frequencies > 0, frequencies, 1.0)  # impossible observations need a weight, any weight
    return channel.observation_function(model, possible)


def posterior_means(model: FiniteModel, channel: FiniteChannel, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """E[φ | o], shape (d, k), and q = S p_θ, shape (k,); impossible observations get the prior mean."""
    probabilities = np.exp(model.log_probabilities(theta))
    frequencies = channel.apply(probabilities)
    joint = np.stack([channel.apply(row) for row in model.table * probabilities])
    possible = frequencies > 0
    means = np.where(possible, joint / np.where(possible, frequencies, 1.0), model.mean_statistics(theta)[:, None])
    return means, frequencies


def marginal_information(model: FiniteModel, channel: FiniteChannel, theta: FloatArray) -> FloatArray:
    """Cov E[φ | o]: the information about θ in one observation, shape (d, d)."""
    means, frequencies = posterior_means(model, channel, theta)
    return weighted_covariance(means, frequencies)


def invert_information(information: FloatArray, names: Sequence[str], holder: str) -> FloatArray:
    """The inverse of an information matrix; an error that names the statistics it cannot separate."""
    scale = np.sqrt(np.diag(information).clip(0))
    if (scale == 0).any():
        hidden = [name for name, s in zip(names, scale, strict=True) if s == 0]
        raise _not_separated(hidden, int((scale > 0).sum()), names, holder, "")
    values, vectors = np.linalg.eigh(information / np.outer(scale, scale))
    absent = values <= _SINGULAR * values[-1]
    if absent.any():
        involved = np.abs(vectors[:, absent]).max(axis=1) > 1e-6
        hidden = [name for name, yes in zip(names, involved, strict=True) if yes]
        direction = _direction(vectors[involved, 0] / scale[involved], hidden) if absent.sum() == 1 else ""
        raise _not_separated(hidden, int((~absent).sum()), names, holder, direction)
    inverse = (vectors / values) @ vectors.T
    return np.asarray(inverse / np.outer(scale, scale))


def _direction(step: FloatArray, names: Sequence[str]) -> str:
    """A step of the parameters that nothing tells of, in words; empty where it has too many parts to be read.

    >>> _direction(np.array([-0.5, 1.0]), ["a", "b"])
    ": a step of +1 in 'a' and -2 in 'b' leaves every report as likely"
    """
    if not 1 < len(names) <= _MOST_PARTS:
        return ""
    # The first part that is not small, not the largest: which one is that may hang on a last digit.
    unit = step[int(np.argmax(np.abs(step) >= 0.4 * np.abs(step).max()))]
    parts = [f"{part:+.2g} in {name!r}" for part, name in zip(step / unit, names, strict=True)]
    return f": a step of {', '.join(parts[:-1])} and {parts[-1]} leaves every report as likely"


def _not_separated(
    hidden: list[str], rank: int, names: Sequence[str], holder: str, direction: str
) -> NotIdentifiedError:
    if holder == "the model":
        remedy = "Remove redundant statistics: constant ones, or one indicator per output but one."
    else:
        remedy = "Use a channel that tells the outputs apart, or a model with fewer statistics."
    return NotIdentifiedError(
        f"{holder} gives no information on some combination of {shorten(hidden)}{direction}. The information has rank "
        f"{rank} for {len(names)} parameters.",
        remedy=remedy,
    )
