"""A private pilot and its reports, as a problem to solve."""

from __future__ import annotations

from askance.channels.statistics.base import StatisticsChannel
from askance.channels.statistics.scale_pilot import ScalePilot
from askance.errors import EmptyDataError
from askance.evidence.tally import Tally


class PilotProblem:
    """A `ScalePilot` with sums of its reports; refuses those of others."""

    def __init__(self, pilot: ScalePilot, evidence: Tally[StatisticsChannel]) -> None:
        pilot.channel.require_same(evidence.channel)
        if not evidence.n_observations:
            raise EmptyDataError("there are no reports of the pilot.", remedy="Add them to the tally first.")
        self.pilot, self.tested = pilot, evidence
