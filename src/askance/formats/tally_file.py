"""State files of tallies: `tally/1`."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from askance.channels.registry import build_channel
from askance.errors import AskanceError, FormatError
from askance.evidence.tally import Tally

TALLY_FORMAT = "tally/1"


def tally_to_parts(tally: Tally) -> tuple[dict[str, Any], bytes]:
    """Header (channel, fingerprint) and payload (counts as little-endian 64-bit integers, compressed)."""
    header = {
        "askance": TALLY_FORMAT,
        "channel": tally.channel.specification(),
        "fingerprint": tally.channel.fingerprint,
        "observations": len(tally.counts),
    }
    return header, zlib.compress(tally.counts.astype("<i8").tobytes(), 9)


def tally_from_parts(header: dict[str, Any], payload: bytes, name: str) -> Tally:
    """The tally; refused when the channel it names does not have the fingerprint it states."""
    try:
        channel = build_channel(header["channel"])
        counts = np.frombuffer(zlib.decompress(payload), dtype="<i8")
        tally = Tally(channel, counts)
    except (KeyError, TypeError, ValueError, zlib.error, AskanceError) as error:
        raise FormatError(f"{name} does not describe a tally ({error}).", remedy="Write it again.") from None
    if channel.fingerprint != header.get("fingerprint"):
        raise FormatError(
            f"{name} was collected through thresholds other than those this version gives the channel.",
            remedy="Read it with the version of askance that wrote it.",
        )
    return tally
