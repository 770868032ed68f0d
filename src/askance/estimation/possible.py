"""Evidence that contradicts its channel."""

from __future__ import annotations

from askance._arrays import IntArray
from askance.channels.finite import FiniteChannel
from askance.errors import IncompatibleEvidenceError


def require_possible(channel: FiniteChannel, counts: IntArray) -> None:
    """Refuse counts (k,) of observations that the channel gives with probability 0 whatever the output."""
    largest, _ = channel.extreme_weights()
    for o in range(len(counts)):
        if counts[o] > 0 and largest[o] == 0:
            raise IncompatibleEvidenceError(
                f"{channel.observations.labels[o]!r} was reported {counts[o]} times, and the channel never gives it.",
                remedy="Correct the reports, or the probabilities of the channel.",
            )
