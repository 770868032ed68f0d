"""A private pilot: centres and scales of columns of which only bounds are known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from askance._arrays import ArrayLike, FloatArray
from askance._checks import Number, as_count
from askance._digest import purpose_of
from askance._words import words
from askance.channels.statistics.coordinate_release import CoordinateRelease
from askance.channels.statistics.moment_release import Encoded, SummedReports
from askance.channels.statistics.reports import Reports
from askance.errors import IncompatibleEvidenceError, InputError
from askance.models.linear import LinearModel

#: Thresholds a column is compared with.
THRESHOLDS = 16


@dataclass(frozen=True)
class Scales:
    """What a pilot found; centres and scales of the p columns of x and, last, of y, shape (p + 1,) each."""

    centres: FloatArray
    scales: FloatArray
    n_observations: int


class ScalePilot:
    """Each respondent tells one noised bit: whether one of their p + 1 numbers is above one of T thresholds.

    The thresholds of a column are evenly spread over its bounds; column and threshold are drawn by `CoordinateRelease`
    on the T(p + 1) bits, whose level is that of one bit. A mean alone would say nothing about the scale; which bits
    were raised says both. A column is taken for normal with centre μ and standard deviation σ, so that a bit is 1 with
    probability s + g Φ((μ − t)/σ). The centre is the mean of μ, the scale the geometric mean of σ, over the posterior
    on a grid: σ between 1.5 and 40 % of the bounds, all orders of size equally likely, μ anywhere. The normal curve is
    a ruler and no claim: a wrong scale costs precision, not privacy, and no bias, since the intercept is estimated too.

    Respondents of the pilot must not be asked again: then everybody reports once, and the level is that of one report.

    Args:
        field: its bounds must be finite.
        privacy_level: of one report.
        thresholds: T.

    >>> from askance import Tally, estimate
    >>> rng = np.random.default_rng(2)
    >>> field = LinearModel(1, x_bounds=(0, 100), y_bounds=(-50, 50))
    >>> pilot = ScalePilot(field, 2)
    >>> x = rng.normal(30, 10, (8000, 1))
    >>> tally = Tally(pilot.channel).add(pilot.simulate(x, 0.5 * x[:, 0], rng))
    >>> found = estimate(pilot, tally)
    >>> bool(abs(found.centres[0] - 30) < 3), bool(abs(np.log(found.scales[0] / 10)) < 0.3)
    (True, True)
    """

    def __init__(self, field: LinearModel, privacy_level: Number, *, thresholds: int = THRESHOLDS) -> None:
        if not np.isfinite(field.high - field.low).all():
            raise InputError(
                "a pilot needs bounds of every column; allowed: finite x_bounds and y_bounds.",
                remedy="Give bounds from public knowledge, or public scales and no pilot.",
            )
        self.field = field
        self.thresholds = as_count(thresholds, "thresholds", minimum=2, maximum=1000)
        names = [field.names, field.low.tolist(), field.high.tolist()]
        self.channel = CoordinateRelease(self.thresholds * (field.n_features + 1), privacy_level).for_purpose(
            purpose_of("pilot", names)
        )

    @property
    def privacy_level(self) -> float:
        """Of one report."""
        return self.channel.privacy_level

    @cached_property
    def places(self) -> FloatArray:
        """The thresholds as shares of the bounds, shape (T,)."""
        return np.asarray((np.arange(self.thresholds) + 0.5) / self.thresholds)

    def encode(self, x: ArrayLike, y: ArrayLike) -> Encoded:
        """The T(p + 1) bits of every respondent; what lies outside the bounds counts as clipped."""
        table = self.field.read(x, y)
        shares = (table - self.field.low) / (self.field.high - self.field.low)
        above = shares[:, :, None] > self.places
        clipped = ((shares < 0) | (shares > 1)).sum(axis=0)
        return Encoded.of(above.reshape(len(table), -1), clipped, self.field.names)

    def randomize(self, x: ArrayLike, y: ArrayLike) -> Reports:
        """Noise every respondent with a cryptographic source."""
        return self.channel.randomize(self.encode(x, y).rows)

    def simulate(self, x: ArrayLike, y: ArrayLike, rng: np.random.Generator) -> Reports:
        """Noise every respondent with a seeded generator: for experiments, not for people."""
        return self.channel.simulate(self.encode(x, y).rows, rng)

    def specification(self) -> dict[str, Any]:
        """Plain JSON values: what devices need to know."""
        channel = self.channel.specification()
        return {"field": self.field.specification(), "thresholds": self.thresholds, "channel": channel}

    @classmethod
    def from_specification(cls, specification: Mapping[str, Any]) -> Self:
        """The pilot that `specification` wrote down."""
        field, level = LinearModel.from_specification(specification["field"]), specification["channel"]["privacy_level"]
        return cls(field, level, thresholds=specification["thresholds"])

    @classmethod
    def of_tally(cls, field: LinearModel, tally: SummedReports) -> Self:
        """The pilot of a field that a tally is of; refused where there is none."""
        columns, channel = field.n_features + 1, tally.channel
        if isinstance(channel, CoordinateRelease) and channel.dimension % columns == 0:
            pilot = cls(field, channel.parameters()["privacy_level"], thresholds=channel.dimension // columns)
            if pilot.channel == channel:
                return pilot
        raise IncompatibleEvidenceError(
            words("{0} is not the pilot of {1} columns.", channel.in_words, columns),
            remedy="Give the state of the pilot's reports, and the description it was planned with.",
        )

    def estimate(self, tally: SummedReports) -> Scales:
        """`askance.estimate(pilot, tally)`, under the name it had: the work is done where all estimates are made."""
        import askance

        scales: Scales = askance.estimate(self, tally)  # type: ignore[call-overload]
        return scales
