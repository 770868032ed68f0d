"""A linear model and the noised second moments of its columns, as a problem to solve."""

from __future__ import annotations

from functools import cached_property

from askance._arrays import FloatArray
from askance.channels.statistics.base import StatisticsChannel
from askance.channels.statistics.moment_release import MomentRelease
from askance.channels.statistics.reports import Reports
from askance.design.regression_release import release_of
from askance.errors import EmptyDataError
from askance.evidence.tally import Tally, of_statistics
from askance.models.linear import LinearModel


class LinearProblem:
    """A linear model, or the `MomentRelease` that says how it was asked about, and the reports of its devices.

    Attributes:
        release: columns, scales and channel.
        tested: sums of the reports.
    """

    def __init__(self, model: LinearModel | MomentRelease, evidence: Reports | Tally[StatisticsChannel]) -> None:
        self.release = model if isinstance(model, MomentRelease) else release_of(model, evidence.channel)
        self.tested = evidence if of_statistics(evidence) else Tally(self.release.channel).add(evidence)

    @cached_property
    def gram(self) -> FloatArray:
        """E[z zᵀ] as it came out of the channel, on the standard scale; unbiased, and not always that of any vector."""
        if not self.tested.n_observations:
            raise EmptyDataError("there are no reports.", remedy="Add reports before estimating.")
        return self.release.gram(self.tested)
