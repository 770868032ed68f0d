"""Which channel and which radius a regression takes: from public numbers alone, before anything is collected."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from askance._arrays import FloatArray
from askance._checks import Number, as_count, as_float, as_positive_level, as_probability, number
from askance.channels.statistics.ball_release import BallRelease
from askance.channels.statistics.base import Calibration, StatisticsChannel
from askance.channels.statistics.coordinate_release import CoordinateRelease
from askance.channels.statistics.moment_release import (
    ENCODINGS,
    Encoding,
    MomentRelease,
    as_radius,
    longest_vector,
    release_purpose,
    require_encoding,
)
from askance.channels.statistics.per_value import PerValue
from askance.channels.statistics.quadratic_release import QuadraticRelease
from askance.channels.statistics.triple_release import TripleRelease
from askance.errors import IncompatibleEvidenceError, InputError
from askance.models.linear import LinearModel

#: Shares of the guessed population that may lie within the radius; the first is the boldest.
_SHARES = (0.3, 0.75, 0.95, 1.0)
# Less shrinking is worth its noise as long as the noise of A (s√p) stays below this, where 1 is a variance.
_QUIET = 0.04
_GUESSES = 4096


def regression_release(
    field: LinearModel,
    privacy_level: Number,
    *,
    channel: Encoding | Literal["auto"] = "auto",
    n_respondents: int | None = None,
    share_within: Number | None = None,
    outcome_weight: Number | None = None,
    calibration: Calibration = "exact",
    pilot_observations: int = 0,
) -> MomentRelease:
    """The release for a field.

    All choices are made for a public guess of the population, independent standard normal x and y within their bounds:
    the radius is a quantile of the guessed lengths. A small radius means less noise but shrinks more respondents, which
    weights them down. By default 30 % of the guessed people lie within it, and more as soon as the noise that
    `n_respondents` leave is small beside that.

    Args:
        field: columns, bounds and scales.
        privacy_level: of one report.
        channel: an encoding of `MomentRelease`, or "auto": quadratic, which on simulated populations (3 to 15 columns,
            5,000 to 100,000 people, levels 1 to 8) is never behind the others by more than .001 of R², and up to .15
            ahead.
        n_respondents: how many are expected.
        share_within: share of the guessed population within the radius (1: all that is possible, nobody is shrunk).
        outcome_weight: ω, what y is multiplied by where there is a radius, because every coefficient depends on its
            products; default √(p + 1)/2, which grows with the share of z that x takes.
        calibration: "exact" (default) or "paper" for per-value, coordinate-release and triple-release.
        pilot_observations: how many reports the scales of the field come from, to be mentioned.

    >>> field = LinearModel(8, x_bounds=(-3, 3), y_bounds=(-3, 3), scales=(np.zeros(9), np.ones(9)))
    >>> regression_release(field, 1, n_respondents=16_000)
    MomentRelease(LinearModel(8 features, clipped at 3 scales), quadratic at level 1)
    """
    level = as_positive_level(privacy_level)
    if n_respondents is not None:
        as_count(n_respondents, "n_respondents", minimum=1)
    if channel != "auto" and require_encoding(channel) not in ("quadratic", "moments"):
        bounded = _bounded_channel(field, str(level), channel, calibration)
        return MomentRelease(field, bounded, channel, pilot_observations=pilot_observations)
    if calibration != "exact":
        raise InputError(
            f"is {calibration!r} with channel {channel!r}",
            argument="calibration",
            allowed="exact",
            remedy="The paper prints per-value and coordinate release only.",
        )
    omega = _usual_weight(field) if outcome_weight is None else as_float(outcome_weight, "outcome_weight")
    number(omega, "outcome_weight", 0.01, 100, remedy="Leave it out.")
    weights = _weights(field, omega)
    share = None if share_within is None else float(as_probability(share_within, "share_within"))
    encoding: Encoding = "quadratic" if channel == "auto" else channel
    release = _with_radius(field, str(level), encoding, weights, share, n_respondents)
    return MomentRelease(field, release.channel, encoding, weights, pilot_observations)


def release_of(field: LinearModel, channel: StatisticsChannel) -> MomentRelease:
    """The release of a linear model that a channel belongs to, which its purpose tells.

    >>> field = LinearModel(1, x_bounds=(-2, 2), y_bounds=(-2, 2), scales=([0, 0], [1, 1]))
    >>> release_of(field, regression_release(field, 4).channel)
    MomentRelease(LinearModel(1 features, clipped at 3 scales), quadratic at level 4)
    """
    for encoding in ENCODINGS:
        for omega in (1.0, _usual_weight(field)):
            weights = _weights(field, omega)
            if release_purpose(field, encoding, weights) == channel.purpose:
                return MomentRelease(field, channel.for_purpose(""), encoding, weights)
    raise IncompatibleEvidenceError(
        f"the reports come from {channel!r}, of no release of {field!r} with the usual weight of the outcome.",
        remedy="Give the release that devices had in place of the model: estimate(release, evidence).",
    )


def _usual_weight(field: LinearModel) -> float:
    return math.sqrt(field.n_features + 1) / 2


def _weights(field: LinearModel, omega: float) -> FloatArray:
    """D: ω for y, 1 for all others, shape (p + 2,)."""
    return np.append(np.ones(field.width - 1), omega)


def predicted_noise(release: MomentRelease, n_respondents: int = 1) -> float:
    """The standard error of a product x_i x_j that the channel alone adds: ρ²/(κ√n) or ρ/(m√n)."""
    channel = release.channel
    assert isinstance(channel, (QuadraticRelease, BallRelease))
    power = 2 if isinstance(channel, QuadraticRelease) else 1
    return float(channel.radius**power / channel.choice.gain / math.sqrt(n_respondents))


def _with_radius(
    field: LinearModel,
    level: str,
    encoding: Encoding,
    weights: FloatArray,
    share: float | None,
    n: int | None,
) -> MomentRelease:
    """The release whose radius has that share of the guess within it; None: as bold as the noise asks for."""

    def build(within: float) -> MomentRelease:
        radius = as_radius(_radius(field, encoding, weights, within))
        channel: StatisticsChannel
        if encoding == "quadratic":
            channel = QuadraticRelease(field.width, level, radius)
        else:
            channel = BallRelease(field.width * (field.width + 1) // 2 - 1, level, radius)
        return MomentRelease(field, channel, encoding, weights)

    if share is not None:
        return build(share)
    boldest = build(_SHARES[0])
    if n is None:
        return boldest
    for within in reversed(_SHARES[1:]):
        release = build(within)
        if predicted_noise(release, n) * math.sqrt(field.n_features) <= _QUIET:
            return release
    return boldest


def _radius(field: LinearModel, encoding: Encoding, weights: FloatArray, within: float) -> float:
    if within >= 1:
        return longest_vector(field, encoding, weights)
    drawn = np.random.default_rng(0).standard_normal((_GUESSES, field.n_features + 1)).clip(field.least, field.most)
    people = np.column_stack([np.ones(_GUESSES), drawn])
    if encoding == "quadratic":
        return float(np.quantile(np.linalg.norm(people * weights, axis=1), within))
    # The encoding itself, with a radius beyond all lengths.
    wide = MomentRelease(field, BallRelease(field.width * (field.width + 1) // 2 - 1, 1, 10**9), "moments", weights)
    return float(np.quantile(np.linalg.norm(wide.encode_standard(people)[0], axis=1), within))


def _bounded_channel(field: LinearModel, level: str, encoding: Encoding, calibration: Calibration) -> StatisticsChannel:
    """Per-value or coordinate release of the products within their bounds, or the paper's triple."""
    if encoding == "triple-release":
        return TripleRelease(field.width, level, calibration=calibration)
    first, second = (indices[1:] for indices in field.triangle)
    largest = field.limits[first] * field.limits[second]
    lower = np.where(first == second, 0.0, -largest)
    dim, width = len(first), largest - lower
    if encoding == "per-value":
        return PerValue(dim, level, calibration=calibration, statistics="bounded", lower=lower, statistic_bound=width)
    return CoordinateRelease(dim, level, calibration=calibration, lower=lower, statistic_bound=width)
