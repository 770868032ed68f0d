"""What was seen: mergeable accumulators, and what estimators take."""

from typing import TYPE_CHECKING as _TYPES_ALONE

from askance._former import former_names as _former_names
from askance.evidence.candidates import Candidates
from askance.evidence.pooled import pool
from askance.evidence.protocols import Evidence, Seen
from askance.evidence.responses import Responses
from askance.evidence.tally import Tally
from askance.evidence.together import Together

__all__ = [
    "Candidates",
    "Evidence",
    "Responses",
    "Seen",
    "Tally",
    "Together",
    "pool",
]

if not _TYPES_ALONE:
    __getattr__ = _former_names(__name__, globals().__getitem__)
