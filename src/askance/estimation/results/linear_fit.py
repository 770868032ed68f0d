"""The result of a private linear regression."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from askance._arrays import ArrayLike, FloatArray
from askance.estimation.problems.moment_repair import MomentRepair
from askance.estimation.results.fit import NormalEstimate
from askance.models.linear import LinearModel


@dataclass(frozen=True, eq=False, kw_only=True)
class LinearFit(NormalEstimate):
    """Intercept and coefficients in the units of the data, and how they came about.

    Attributes:
        field: columns, bounds and scales.
        theta: intercept, then coefficients, shape (p + 1,).
        covariance: of theta by the delta method, shape (p + 1, p + 1): sampling of respondents and noise of the
            channel. When a repair acted it shows the spread around what the repair aims at, and says nothing of its
            bias.
        raw_moments: E[z zᵀ] as it came out of the channel, unbiased, on the standard scale, z = (1, x, y).
        repaired_moments: the same with A as it was used.
        repair: whether and how much the repair acted.
        n_observations: reports the moments come from.
        pilot_observations: reports spent on centres and scales.
        channel: specification of the channel; {} without noise.
        privacy_level: of every respondent; infinite without noise.
        weighted: whether devices shrank long vectors, so that far-out respondents weigh less.
        messages: what a reader should know, in plain words.
        alarm: why the reports cannot have come through the channel; empty where they can.
    """

    field: LinearModel
    theta: FloatArray
    covariance: FloatArray
    raw_moments: FloatArray
    repaired_moments: FloatArray
    repair: MomentRepair
    n_observations: int
    pilot_observations: int = 0
    channel: Mapping[str, Any]
    privacy_level: float
    weighted: bool = False
    messages: tuple[str, ...] = ()
    alarm: str = ""

    @property
    def intercept(self) -> float:
        """In the units of y."""
        return float(self.theta[0])

    @property
    def coefficients(self) -> FloatArray:
        """Per unit of each column of x, shape (p,)."""
        return self.theta[1:]

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Of the entries of theta."""
        return ("Intercept", *self.field.feature_names)

    @property
    def repaired(self) -> bool:
        """Whether a repair acted: intervals then do not cover at the nominal rate."""
        return self.repair.acted

    @property
    def intervals_cover(self) -> bool:
        """Whether intervals cover the coefficients of least squares on clipped values at the nominal rate.

        They do where the noise is small beside every direction of x, nothing was repaired, and nobody shrunk.
        """
        return self.repair.clear and not (self.repaired or self.weighted)

    def predict(self, x: ArrayLike) -> FloatArray:
        """Expected y for every row of x, in the units of the data; x is clipped as on the devices."""
        return self.field.predict(self.theta, x)

    def summary(self, confidence: float = 0.95) -> str:
        """A table for people."""
        lower, upper = self.confidence_interval(confidence)
        width = max(len("parameter"), *(len(name) for name in self.parameter_names))
        level = "none" if math.isinf(self.privacy_level) else f"{self.privacy_level:.4g}"
        pilot = f" (and {self.pilot_observations:,} of a pilot)" if self.pilot_observations else ""
        lines = [
            *(f"ALARM: {alarm}\n" for alarm in self.alarms),
            f"linear regression   reports {self.n_observations:,}{pilot}   privacy level {level}   "
            f"repaired {'YES' if self.repaired else 'no'}",
            "",
            f"{'parameter':<{width}}  {'estimate':>11}  {'std. error':>11}  {f'{100 * confidence:g} % interval':>26}",
        ]
        rows = zip(self.parameter_names, self.theta, self.standard_errors, lower, upper, strict=True)
        for name, estimate, error, low, high in rows:
            lines.append(f"{name:<{width}}  {estimate:>11.5g}  {error:>11.5g}  {f'{low:.5g} … {high:.5g}':>26}")
        return "\n".join([*lines, "", *(f"note: {message}" for message in self.messages)]).rstrip()

    def to_json(self, confidence: float = 0.95) -> dict[str, Any]:
        """Plain values."""
        lower, upper = self.confidence_interval(confidence)
        rows = zip(self.parameter_names, self.theta, self.standard_errors, lower, upper, strict=True)
        fields = ("name", "estimate", "std_error", "lower", "upper")
        return {
            "model": "gaussian-field",
            "field": self.field.specification(),
            "channel": dict(self.channel),
            "n": self.n_observations,
            "pilot_n": self.pilot_observations,
            "privacy_level": None if math.isinf(self.privacy_level) else self.privacy_level,
            "confidence": confidence,
            "parameters": [
                {name: value if name == "name" else float(value) for name, value in zip(fields, row, strict=True)}
                for row in rows
            ],
            "repair": {
                "acted": self.repair.acted,
                "ridge": self.repair.ridge,
                "noise": self.repair.noise,
                "smallest_eigenvalue": float(self.repair.eigenvalues[0]),
                "directions": self.repair.directions,
            },
            "weighted": self.weighted,
            "intervals_cover": self.intervals_cover,
            "raw_moments": self.raw_moments.tolist(),
            "repaired_moments": self.repaired_moments.tolist(),
            "messages": [*self.alarms, *self.messages],
        }
