"""Mean statistics with their errors, from the sums of reports alone: no model is needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from askance._arrays import FloatArray
from askance._checks import shown
from askance._threads import one_thread
from askance.channels.statistics.base import Averaging
from askance.design.covariances import observation_function
from askance.errors import EmptyDataError, InputError, NotIdentifiedError
from askance.estimation.checks.surprise import told_alarm
from askance.estimation.results.fit import Interval, normal_quantile
from askance.estimation.results.fit_table import level_text
from askance.evidence.tally import Tally, of_answers, of_statistics
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


def estimate_mean(evidence: Tally[Any], averaging: Averaging = "within") -> MeanStatistics:
    """The mean of every statistic, from reports through a channel on statistics; or, of answers, their shares.

    Nothing is repaired: shares add up to 1 and have the right mean and error, however many there are, but those of rare
    answers may be below 0 by chance. `estimate` gives shares that are possible.

    Args:
        evidence: sums of noised statistics, or counts of noised answers.
        averaging: of noised statistics, "within" what was drawn, or as "printed".

    >>> import numpy as np
    >>> from askance import CoordinateRelease, Tally
    >>> channel = CoordinateRelease(2, 1)
    >>> truth = np.tile([0.25, 1.0], (50_000, 1))
    >>> tally = Tally(channel).add(channel.simulate(truth, np.random.default_rng(3)))
    >>> lower, upper = estimate_mean(tally).confidence_interval(0.999)
    >>> bool((lower < truth[0]).all() and (truth[0] < upper).all())
    True
    >>> from askance import RandomizedResponse
    >>> few = Tally(RandomizedResponse("1/2", outputs=["a", "b", "c"]), [650, 200, 150])
    >>> estimate_mean(few).mean.round(4)
    array([ 0.9667,  0.0667, -0.0333])
    """
    if of_answers(evidence):
        with one_thread:
            return _unbiased_shares(evidence)
    if not of_statistics(evidence):
        raise InputError(
            f"evidence is {shown(evidence)}; allowed: a Tally.",
            remedy="Add reports up with Tally(channel).add(reports).",
        )
    with one_thread:
        channel, mean, errors = evidence.channel, evidence.mean(averaging), evidence.standard_errors(averaging)
    return MeanStatistics(
        alarm=told_alarm(evidence),
        names=channel.statistic_names,
        mean=mean,
        standard_errors=errors,
        n_observations=evidence.n_observations,
        averaging=averaging,
        channel=channel.specification(),
        privacy_level=channel.privacy_level,
    )


def _unbiased_shares(tally: Tally) -> MeanStatistics:
    """p̂ = G q̂ with G S = I: of the least variance where reports tell more than they need to."""
    channel, n = tally.channel, tally.n_observations
    if not n:
        raise EmptyDataError("there are no reports.", remedy="Add observations to the tally before estimating.")
    alarm, weights = told_alarm(tally), tally.smoothed_frequencies
    try:
        others = observation_function(Enumerated.saturated(channel.outputs), channel, weights, "best").coefficients
    except NotIdentifiedError:
        raise NotIdentifiedError(
            f"through {channel.kind} not every answer has an unbiased share.",
            remedy="Fit a model with fewer parameters: estimate(model, tally).",
        ) from None
    beta = np.vstack([1 - others.sum(axis=0), others])
    centred = beta - (beta @ weights)[:, None]
    return MeanStatistics(
        alarm=alarm,
        names=tuple(map(str, channel.outputs.labels)),
        mean=beta @ tally.frequencies,
        standard_errors=np.sqrt(np.square(centred, out=centred) @ weights / n),
        n_observations=n,
        averaging="within",
        channel=channel.specification(),
        privacy_level=channel.privacy_level,
    )
