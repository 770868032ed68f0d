"""A linear model and the channel its second moments pass through: what devices send, what the server makes of it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol, Self, TypeAlias

import numpy as np

from askance._arrays import AnyArray, ArrayLike, FloatArray, IntArray
from askance._checks import as_array, as_count, as_floats, as_fraction, shown
from askance._digest import purpose_of
from askance.channels.even_time import in_even_time
from askance.channels.registry import build_channel
from askance.channels.statistics.base import StatisticsChannel
from askance.channels.statistics.reports import Reports
from askance.errors import IncompatibleEvidenceError, InputError
from askance.models.linear import LinearModel, clipped_message

#: How moments are sent: by one direction for all products ("quadratic") or for the vector of moments ("moments"), by
#: one bit for every moment ("per-value") or for one of them ("coordinate-release"), or by the paper's triple
#: [z_i², z_i z_j, z_j²] of one pair ("triple-release").
Encoding: TypeAlias = Literal["quadratic", "moments", "per-value", "coordinate-release", "triple-release"]
ENCODINGS: tuple[Encoding, ...] = ("quadratic", "moments", "per-value", "coordinate-release", "triple-release")

# The kind of channel of each encoding.
_KINDS = dict(zip(ENCODINGS, ("quadratic-release", "ball-release", *ENCODINGS[2:]), strict=True))
# Vectors are shrunk to a hair less than the radius, so that rounding cannot make them longer than it.
_HAIR = 1e-12
# Covariances of more moments than this are taken to be diagonal.
_MOST_COVARIANCES = 2000
_PEOPLE = 2048


@dataclass(frozen=True)
class Encoded:
    """What devices noise, and what was lost on the way. The counts are for the device: they are not private.

    Attributes:
        rows: truth for the channel, one row per respondent.
        clipped: how many values of each column were clipped, x first, then y.
        shrunk: how many vectors were shrunk to the channel's radius.
        message: both in plain words; empty where nothing was lost.
    """

    rows: AnyArray = dataclasses.field(repr=False)
    clipped: IntArray = dataclasses.field(repr=False)
    shrunk: int = dataclasses.field(repr=False)
    message: str = dataclasses.field(repr=False)

    @classmethod
    def of(cls, rows: AnyArray, clipped: IntArray, names: Sequence[str], shrunk: int = 0) -> Self:
        """With the message that belongs to the counts."""
        messages = [clipped_message(clipped, len(rows), names)] if clipped.any() else []
        if shrunk:
            messages.append(f"{shrunk:,} vectors ({100 * shrunk / len(rows):.0f} %) were shrunk to the radius")
        return cls(rows, clipped, shrunk, "; ".join(messages))


class SummedReports(Protocol):
    """Sums of reports through a channel, such as a `Tally`."""

    @property
    def channel(self) -> StatisticsChannel:
        """What they came through."""

    @property
    def sums(self) -> IntArray:
        """What adds up."""

    @property
    def n_observations(self) -> int:
        """The number of reports."""

    def mean(self) -> FloatArray:
        """Of every statistic, unbiased."""

    def standard_errors(self) -> FloatArray:
        """Of the means."""


class MomentRelease:
    """Encoding and channel of one survey; both are public, and devices and server hold the same.

    A device standardises and clips (1, x, y) to z, and then

    - **quadratic**: shrinks D z to the radius and sends a direction along it; E[w D z zᵀ D] is estimated, with
      w = min(1, ρ²/‖Dz‖²). Shrinking weights a respondent: the regression is a weighted one.
    - **moments**: shrinks the vector of the distinct products D_i D_j (z_i z_j − δ_ij), squares times √½, to the radius
      and sends a direction along it.
    - **per-value**, **coordinate-release**: noises the products themselves, which lie in [−L_i L_j, L_i L_j], squares
      in [0, L_i²], where L are the limits of the field.
    - **triple-release**: draws a pair and sends the bits of z_i², z_i z_j and z_j².

    `regression_release` chooses channel, weights and radius from public numbers.

    Args:
        field: columns, bounds and scales.
        channel: of the encoding's kind and size.
        encoding: as above.
        weights: D, shape (p + 2,); all 1 where the encoding has no radius.
        pilot_observations: how many reports the scales come from.

    >>> from askance import Tally, regression_release
    >>> field = LinearModel(1, x_bounds=(-2, 2), y_bounds=(-2, 2), scales=([0, 0], [1, 1]))
    >>> release = regression_release(field, 4, channel="quadratic", share_within=1)
    >>> rng = np.random.default_rng(1)
    >>> x = rng.uniform(-2, 2, (100_000, 1))
    >>> reports = release.simulate(x, x[:, 0] / 2, rng)  # on real devices: release.randomize
    >>> tally = Tally(release.channel).add(reports)
    >>> release.gram(tally).round(1)[1:, 1:]
    array([[1.3, 0.7],
           [0.7, 0.3]])
    """

    def __init__(
        self,
        field: LinearModel,
        channel: StatisticsChannel,
        encoding: Encoding,
        weights: ArrayLike | None = None,
        pilot_observations: int = 0,
    ) -> None:
        self.field, self.encoding = field, require_encoding(encoding)
        self.weights = np.ones(field.width) if weights is None else as_floats(weights, "weights")
        self._first, self._second = field.triangle
        wanted = field.width if encoding in ("quadratic", "triple-release") else len(self._first) - 1
        kind = _KINDS[self.encoding]
        if channel.kind != kind or channel.truth_width != wanted or self.weights.shape != (field.width,):
            raise IncompatibleEvidenceError(
                f"{channel.kind} takes {channel.truth_width} numbers, weights are {self.weights.shape}; {encoding} of "
                f"{field.n_features} features needs {wanted} of {kind} and ({field.width},).",
                remedy="Build it with regression_release.",
            )
        if not (np.isfinite(self.weights).all() and (self.weights > 0).all()):
            raise InputError(
                f"weights are {shown(self.weights.tolist())}; allowed: above 0, finite.", remedy="Leave them."
            )
        #: Bound to columns, bounds and scales: reports of another release are refused.
        self.channel: StatisticsChannel = channel.for_purpose(release_purpose(field, self.encoding, self.weights))
        self.pilot_observations = as_count(pilot_observations, "pilot_observations")

    @property
    def privacy_level(self) -> float:
        """Of one report."""
        return self.channel.privacy_level

    # -- on the device ---------------------------------------------------------------------------------------------

    def encode(self, x: ArrayLike, y: ArrayLike) -> Encoded:
        """Standardise, clip, and shrink to what the channel takes; counts say how much was lost."""
        told = self.field.standardise(x, y)
        rows, shrunk = self.encode_standard(told.z)
        return Encoded.of(rows, told.clipped, told.names, shrunk)

    def encode_standard(self, z: FloatArray) -> tuple[FloatArray, int]:
        """Rows for the channel from (1, x, y) on the standard scale, and how many were shrunk."""
        if self.encoding == "triple-release":
            return np.asarray(z / self.field.limits), 0
        if self.encoding == "quadratic":
            return shrink(z * self.weights, self._radius)
        products = self.field.moments_of(z)[:, 1:]
        if self.encoding != "moments":
            return products, 0
        centred = (products - self._diagonal[1:]) * self._factors[1:]
        return shrink(centred, self._radius)

    def randomize(self, x: ArrayLike, y: ArrayLike) -> Reports:
        """Noise every respondent with a cryptographic source: what protects a person."""
        return self.channel.randomize(self.encode(x, y).rows)

    @in_even_time
    def randomize_one(self, x: ArrayLike, y: float) -> dict[str, Any]:
        """`randomize` for one respondent, as on a device; the report as plain JSON values."""
        return self.channel.randomize_one(self.encode(as_array(x, "x")[None], [y]).rows[0])

    def simulate(self, x: ArrayLike, y: ArrayLike, rng: np.random.Generator) -> Reports:
        """Noise every respondent with a seeded generator: for experiments, not for people."""
        return self.channel.simulate(self.encode(x, y).rows, rng)

    # -- on the server ---------------------------------------------------------------------------------------------

    @cached_property
    def _diagonal(self) -> FloatArray:
        return np.where(self._first == self._second, 1.0, 0.0)

    @cached_property
    def _factors(self) -> FloatArray:
        """What the products z_i z_j are multiplied by before they are noised, shape (d,)."""
        if self.encoding == "triple-release":
            limits = self.field.limits
            return np.asarray(1 / (limits[self._first] * limits[self._second]))
        factors = self.weights[self._first] * self.weights[self._second]
        if self.encoding == "moments":
            return np.asarray(factors * np.where(self._first == self._second, np.sqrt(0.5), 1.0))
        return np.asarray(factors)

    @cached_property
    def shrinks(self) -> bool:
        """Whether some possible vectors are longer than the radius."""
        return longest_vector(self.field, self.encoding, self.weights) > self._radius * (1 + 1e-9)

    @property
    def _radius(self) -> float:
        return float(getattr(self.channel, "radius", math.inf))

    @property
    def knows_ones(self) -> bool:
        """Whether E[1·1] is 1 without being asked: always, unless respondents are weighted by shrinking."""
        return self.encoding != "quadratic" or not self.shrinks

    def _full(self, values: FloatArray, one: float) -> FloatArray:
        """Values of the channel's statistics as values of all d moments."""
        if len(values) == len(self._first):
            return np.concatenate([[one], values[1:]]) if self.knows_ones else values
        return np.concatenate([[one], values])

    def moments(self, tally: SummedReports) -> FloatArray:
        """Unbiased moments E[z_i z_j] of what devices encoded, on the standard scale, shape (d,)."""
        self.channel.require_same(tally.channel)
        means = self._full(tally.mean(), float(self._factors[0]))
        centre = self._diagonal if self.encoding == "moments" else np.zeros(len(self._first))
        centre = np.where(np.arange(len(centre)) == 0, 0.0, centre)
        return np.asarray(means / self._factors + centre)

    def gram(self, tally: SummedReports) -> FloatArray:
        """The moments as the matrix E[z zᵀ], shape (p + 2, p + 2): unbiased, and not always that of any vector."""
        return self.field.gram(self.moments(tally))

    def standard_errors(self, tally: SummedReports) -> FloatArray:
        """Of the moments, from the reports alone, shape (d,)."""
        return np.asarray(self._full(tally.standard_errors(), 0.0) / self._factors)

    def noise(self, tally: SummedReports) -> float:
        """s: the standard error of a product x_i x_j (root mean square over i ≠ j; of x² where there is one column)."""
        p = self.field.n_features
        inner = (self._first > 0) & (self._second <= p) & ((self._first != self._second) | (p == 1))
        return float(np.sqrt(np.mean(self.standard_errors(tally)[inner] ** 2)))

    def covariance(self, tally: SummedReports) -> FloatArray:
        """Cov of the moments, shape (d, d).

        Sums of reports tell variances but no covariances. Those are worked out by the channel for people whose (x, y)
        are Gaussian with the estimated moments (made possible first), and scaled to the variances that were seen.
        """
        seen = self.standard_errors(tally)
        if len(seen) > _MOST_COVARIANCES:
            return np.diag(seen**2)
        rows, _ = self.encode_standard(self._people(self.gram(tally)))
        expected = self.channel.mean_covariance(rows)
        full = np.zeros((len(seen), len(seen)))
        taken = slice(len(seen) - len(expected), None)
        full[taken, taken] = expected
        spread = np.sqrt(np.diag(full))
        ratio = np.divide(seen, spread, out=np.zeros_like(seen), where=spread > 0)
        return np.asarray(full * np.outer(ratio, ratio))

    def _people(self, gram: FloatArray) -> FloatArray:
        """Respondents with about these moments: (1, x, y) with Gaussian x and y, clipped; the same on every call."""
        one = max(gram[0, 0], 0.05)
        mean = np.clip(gram[0, 1:] / one, self.field.least, self.field.most)
        values, vectors = np.linalg.eigh(gram[1:, 1:] / one - np.outer(mean, mean))
        root = vectors * np.sqrt(np.maximum(values, 0))
        drawn = np.random.default_rng(0).standard_normal((_PEOPLE, len(mean)))
        # Exactly centred and white: otherwise the draw itself would add noise to the covariance.
        drawn -= drawn.mean(axis=0)
        drawn = np.linalg.solve(np.linalg.cholesky(drawn.T @ drawn / _PEOPLE), drawn.T).T
        people = (mean + drawn @ root.T).clip(self.field.least, self.field.most)
        return np.column_stack([np.ones(_PEOPLE), people])

    # -- describing ------------------------------------------------------------------------------------------------

    def specification(self) -> dict[str, Any]:
        """Plain JSON values: what devices need to know, and the server to remember."""
        return {
            "field": self.field.specification(),
            "encoding": self.encoding,
            "weights": self.weights.tolist(),
            "pilot_observations": self.pilot_observations,
            "channel": self.channel.specification(),
        }

    @classmethod
    def from_specification(cls, specification: Mapping[str, Any]) -> Self:
        """The release that `specification` wrote down."""
        channel = build_channel(specification["channel"])
        if not isinstance(channel, StatisticsChannel):
            raise InputError(f"{channel.kind} noises answers, not statistics.", remedy="Take a release as it was made.")
        return cls(
            LinearModel.from_specification(specification["field"]),
            channel,
            specification["encoding"],
            specification["weights"],
            specification.get("pilot_observations", 0),
        )

    def __repr__(self) -> str:
        return f"MomentRelease({self.field!r}, {self.encoding} at level {self.privacy_level:.4g})"


def release_purpose(field: LinearModel, encoding: Encoding, weights: FloatArray) -> str:
    """What channels of a release are for: the same columns, bounds, scales, encoding and weights."""
    return purpose_of("regression", [field.specification(), encoding, weights.tolist()])


def longest_vector(field: LinearModel, encoding: Encoding, weights: FloatArray) -> float:
    """The largest length that a vector can have before it is shrunk; 0 where lengths do not matter."""
    limits = field.limits
    if encoding == "quadratic":
        return float(np.linalg.norm(limits * weights))
    if encoding != "moments":
        return 0.0
    # Half of the squared norm of D(zzᵀ − I)D without the known one: every entry is bounded by that of a corner.
    largest = np.outer(limits, limits)
    centred = np.where(np.eye(field.width) > 0, np.maximum(largest - 1, 1.0), largest)
    centred[0, 0] = 0.0
    return float(np.linalg.norm(centred * np.outer(weights, weights)) / math.sqrt(2))


def shrink(rows: FloatArray, radius: float) -> tuple[FloatArray, int]:
    """Vectors longer than the radius are made as long as it; how many."""
    lengths = np.linalg.norm(rows, axis=1)
    long = lengths > radius
    factors = np.where(long, radius * (1 - _HAIR) / np.maximum(lengths, radius), 1.0)
    return np.asarray(rows * factors[:, None]), int(long.sum())


def require_encoding(encoding: object) -> Encoding:
    """Refuse an unknown encoding."""
    if encoding not in ENCODINGS:
        raise InputError(
            argument="channel",
            got=shown(encoding),
            allowed=f"auto, {', '.join(ENCODINGS)}",
            remedy='Leave it out for "auto".',
        )
    return encoding


def as_radius(value: float) -> str:
    """A radius to six digits, upwards: short to write down, and the same on every machine."""
    return str(as_fraction(f"{value * (1 + 5e-6):.6g}", "radius"))
