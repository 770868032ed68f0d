"""What was seen: mergeable accumulators, and what estimators take."""

from typing import TYPE_CHECKING, Any, TypeAlias

from askance._renamed import former_class
from askance.evidence.candidates import Candidates
from askance.evidence.pooled import pool
from askance.evidence.protocols import Evidence, Seen
from askance.evidence.responses import Responses
from askance.evidence.tally import Tally
from askance.evidence.together import Together

if TYPE_CHECKING:
    from askance.channels import CliqueRelease
    from askance.channels.statistics.base import StatisticsChannel

    FieldResponses: TypeAlias = Responses[CliqueRelease]
    StatisticsTally: TypeAlias = Tally[StatisticsChannel]

__all__ = [
    "Candidates",
    "Evidence",
    "Responses",
    "Seen",
    "Tally",
    "Together",
    "pool",
]


def __getattr__(name: str) -> Any:
    return former_class(__name__, name)
