"""What was seen: mergeable accumulators, and what estimators take."""

from askance.evidence.protocols import Accumulator, Evidence
from askance.evidence.tally import Tally

__all__ = ["Accumulator", "Evidence", "Tally"]
