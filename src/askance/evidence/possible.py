"""Evidence that contradicts its channel."""

from __future__ import annotations

import numpy as np

from askance._arrays import IntArray
from askance.channels.finite import FiniteChannel
from askance.errors import IncompatibleEvidenceError


def require_possible(channel: FiniteChannel, counts: IntArray) -> None:
    """Refuse counts (k,) of observations that the channel gives with probability 0 whatever the output."""
    never = channel.never_observed
    if counts[never].any():
        o = int(never[np.argmax(counts[never] > 0)])
        raise IncompatibleEvidenceError(
            f"{channel.observations.labels[o]!r} was reported {counts[o]} times, and the channel never gives it.",
            remedy="Correct the reports, or the probabilities of the channel.",
        )
