"""What was seen: mergeable accumulators, and what estimators take."""

from askance.evidence.field_responses import FieldResponses
from askance.evidence.pooled import pool
from askance.evidence.protocols import Accumulator, Evidence
from askance.evidence.responses import Responses
from askance.evidence.tally import StatisticsTally, Tally

__all__ = ["Accumulator", "Evidence", "FieldResponses", "Responses", "StatisticsTally", "Tally", "pool"]
