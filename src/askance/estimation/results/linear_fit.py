"""The result of a private linear regression."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from askance._arrays import ArrayLike, FloatArray
from askance.estimation.problems.moment_repair import MomentRepair
from askance.estimation.results.fit import Fit
from askance.estimation.results.fit_table import level_text
from askance.models.linear import GaussianField
from askance.tables import Column, Table, estimate_columns


@dataclass(frozen=True, eq=False, kw_only=True)
class LinearFit(Fit):
    """Intercept and coefficients in the units of the data, and how they came about.

    Attributes:
        model: columns, bounds and scales.
        theta: intercept, then coefficients, shape (p + 1,).
        covariance: of theta by the delta method, shape (p + 1, p + 1): sampling of respondents and noise of the
            channel. When a repair acted it shows the spread around what the repair aims at, and says nothing of its
            bias.
        raw_statistics: E[z zᵀ], shape (p + 2, p + 2), as it came out of the channel, unbiased, on the standard scale,
            z = (1, x, y).
        repaired_moments: the same with A as it was used.
        repair: whether and how much the repair acted.
        n_observations: reports the moments come from.
        pilot_observations: reports spent on centres and scales.
        channel: specification of the channel; {} without noise.
        privacy_level: of every respondent; infinite without noise.
        weighted: whether devices shrank long vectors, so that far-out respondents weigh less.
        diagnostics: whether the repair acted, and what a reader should know, in plain words.
        alarm: why the reports cannot have come through the channel; empty where they can.
    """

    model: GaussianField
    method: str = "moments"
    covariance_kind: str = "robust"
    converged: bool = True
    log_likelihood: float = -math.inf
    raw_statistics: FloatArray
    repaired_moments: FloatArray
    repair: MomentRepair
    pilot_observations: int = 0
    weighted: bool = False

    @property
    def field(self) -> GaussianField:
        """The model: columns, bounds and scales."""
        return self.model

    @property
    def raw_moments(self) -> FloatArray:
        """E[z zᵀ] as it came out of the channel: the raw statistics."""
        return self.raw_statistics

    @property
    def intercept(self) -> float:
        """In the units of y."""
        return float(self.theta[0])

    @property
    def slopes(self) -> FloatArray:
        """Per unit of each column of x, shape (p,): the coefficients without the intercept."""
        return self.theta[1:]

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Of the entries of theta."""
        return ("Intercept", *self.model.feature_names)

    @property
    def intervals_cover(self) -> bool:
        """Whether intervals cover the coefficients of least squares on clipped values at the nominal rate.

        They do where the noise is small beside every direction of x, nothing was repaired, and nobody shrunk.
        """
        return self.repair.clear and not (self.repaired or self.weighted)

    def predict(self, x: ArrayLike) -> FloatArray:
        """Expected y for every row of x, in the units of the data; x is clipped as on the devices."""
        return self.model.predict(self.theta, x)

    def table(self, confidence: float = 0.95) -> Table:
        """Every coefficient with its error and interval, in the units of the data."""
        pilot = f" (and {self.pilot_observations:,} of a pilot)" if self.pilot_observations else ""
        lower, upper = self.confidence_interval(confidence)
        level, acted = level_text(self.privacy_level), "YES" if self.repaired else "no"
        reports = f"reports {self.n_observations:,}{pilot}"
        return Table(
            (Column("parameter", key="name"), *estimate_columns(confidence, kind="significant", digits=5)),
            list(zip(self.parameter_names, self.theta, self.standard_errors, lower, upper, strict=True)),
            title=f"linear regression   {reports}   privacy level {level}   repaired {acted}",
            notes=[f"note: {message}" for message in self.diagnostics.messages],
            alarms=self.alarms,
        )

    def _details(self, confidence: float) -> dict[str, Any]:
        return {
            "model": "gaussian-field",
            "field": self.model.specification(),
            "pilot_n": self.pilot_observations,
            "parameters": self.table(confidence).to_json()["rows"],
            "repair": {
                "acted": self.repair.acted,
                "ridge": self.repair.ridge,
                "noise": self.repair.noise,
                "smallest_eigenvalue": float(self.repair.eigenvalues[0]),
                "directions": self.repair.directions,
            },
            "weighted": self.weighted,
            "intervals_cover": self.intervals_cover,
            "raw_moments": self.raw_moments,
            "repaired_moments": self.repaired_moments,
        }
