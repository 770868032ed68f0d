"""Mean statistics with their errors, from the sums of reports alone: no model is needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from askance._arrays import FloatArray
from askance.channels.statistics.base import Averaging
from askance.design.covariances import observation_function
from askance.errors import EmptyDataError, NotIdentifiedError
from askance.estimation.freedom import normal_quantile
from askance.estimation.results.fit import Interval
from askance.estimation.results.fit_table import level_text
from askance.evidence.tally import Tally, of_answers
from askance.models.enumerated import Enumerated
from askance.tables import Column, Table, Tabulated, as_json, estimate_columns


@dataclass(frozen=True, eq=False, kw_only=True)
class MeanStatistics(Tabulated):
    """μ̂, unbiased, with standard errors.

    Attributes:
        names: one name per statistic.
        mean: μ̂, shape (d,); unbiased, so it may leave the range of the statistics by chance.
        standard_errors: of μ̂, shape (d,).
        n_observations: number of reports.
        averaging: "within" what was drawn, or as "printed".
        channel: specification of the channel.
        privacy_level: of the channel.
        alarm: why the reports cannot have come through the channel; empty where they can.
    """

    names: tuple[str, ...]
    mean: FloatArray
    standard_errors: FloatArray
    n_observations: int
    averaging: Averaging
    channel: Mapping[str, Any]
    privacy_level: float
    alarm: str = ""

    def confidence_interval(self, confidence: float = 0.95) -> Interval:
        """μ̂ ± z · standard error."""
        reach = normal_quantile(confidence) * self.standard_errors
        return Interval(self.mean - reach, self.mean + reach)

    def summary(self, confidence: float = 0.95) -> str:
        """The table for people."""
        return self.table(confidence).to_text()

    def table(self, confidence: float = 0.95) -> Table:
        """Every mean with its error and interval."""
        figures = (self.mean, self.standard_errors, *self.confidence_interval(confidence))
        level = level_text(self.privacy_level)
        return Table(
            (Column("statistic", key="name"), *estimate_columns(confidence, "mean", "decimal")),
            list(zip(self.names, *(values.tolist() for values in figures), strict=True)),
            title=f"{self.channel['kind']}   reports {self.n_observations:,}   privacy level {level}",
            alarms=[self.alarm] if self.alarm else [],
        )

    def to_json(self, confidence: float = 0.95) -> dict[str, Any]:
        """Plain values."""
        content: dict[str, Any] = as_json(
            {
                "channel": self.channel,
                "n": self.n_observations,
                "privacy_level": self.privacy_level,
                "averaging": self.averaging,
                "confidence": confidence,
                "alarm": self.alarm or None,
                "messages": [self.alarm] if self.alarm else [],
                "statistics": self.table(confidence).to_json()["rows"],
            }
        )
        return content


def means_of(tally: Tally[Any], averaging: Averaging) -> MeanStatistics:
    """Means of noised statistics, or unbiased shares of noised answers; see `estimate_mean`."""
    if not tally.n_observations:
        raise EmptyDataError("there are no reports.", remedy="Add reports before estimating.")
    channel = tally.channel
    if of_answers(tally):
        names, averaging = tuple(map(str, channel.outputs.labels)), "within"
        mean, errors = _unbiased_shares(tally)
    else:
        names, mean, errors = channel.statistic_names, tally.mean(averaging), tally.standard_errors(averaging)
    return MeanStatistics(
        names=names,
        mean=mean,
        standard_errors=errors,
        n_observations=tally.n_observations,
        averaging=averaging,
        channel=channel.specification(),
        privacy_level=channel.privacy_level,
    )


def _unbiased_shares(tally: Tally) -> tuple[FloatArray, FloatArray]:
    """p̂ = G q̂ with G S = I, of the least variance where reports tell more than they need to, and its errors."""
    channel, weights = tally.channel, tally.smoothed_frequencies
    try:
        others = observation_function(Enumerated.saturated(channel.outputs), channel, weights, "best").coefficients
    except NotIdentifiedError:
        raise NotIdentifiedError(
            f"through {channel.kind} not every answer has an unbiased share.",
            remedy="Fit a model with fewer parameters: estimate(model, tally).",
        ) from None
    beta = np.vstack([1 - others.sum(axis=0), others])
    centred = beta - (beta @ weights)[:, None]
    errors = np.sqrt(np.square(centred, out=centred) @ weights / tally.n_observations)
    return beta @ tally.frequencies, errors
