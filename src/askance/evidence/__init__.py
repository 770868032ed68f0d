"""What was seen: mergeable accumulators, and what estimators take."""

from askance.evidence.candidates import Candidates
from askance.evidence.pooled import pool
from askance.evidence.protocols import Evidence, Seen
from askance.evidence.responses import FieldResponses, Responses
from askance.evidence.tally import StatisticsTally, Tally
from askance.evidence.together import Together

__all__ = [
    "Candidates",
    "Evidence",
    "FieldResponses",
    "Responses",
    "Seen",
    "StatisticsTally",
    "Tally",
    "Together",
    "pool",
]
