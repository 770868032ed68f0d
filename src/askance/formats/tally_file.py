"""State files of tallies: `tally/1`, and `tally/2` where it is known which files of reports they were made from."""

from __future__ import annotations

from typing import Any

import numpy as np

from askance.channels.registry import build_answer_channel
from askance.errors import FormatError, IncompatibleEvidenceError, InputError
from askance.evidence.tally import Tally
from askance.formats.fields import REWRITE, Fields, require_fingerprint
from askance.formats.source_digests import with_sources, without_sources

TALLY_FORMATS = ("tally/1", "tally/2")

_WIDTHS = (1, 2, 4, 8)


def tally_to_parts(tally: Tally) -> tuple[dict[str, Any], bytes]:
    """Header (channel, fingerprint) and payload: the counts as little-endian integers without sign.

    All have the smallest of 1, 2, 4 and 8 bytes that holds the largest: compact, and the same bytes on every machine.
    """
    largest = int(tally.counts.max())
    width = next(width for width in _WIDTHS if largest < 1 << (8 * width))
    header = {
        "askance": TALLY_FORMATS[0],
        "channel": tally.channel.specification(),
        "fingerprint": tally.channel.fingerprint,
        "observations": len(tally.counts),
        "count_bytes": width,
    }
    return with_sources(header, tally.counts.astype(f"<u{width}").tobytes(), tally.sources)


def tally_from_parts(header: dict[str, Any], payload: bytes, name: str) -> Tally:
    """The tally; refused when the channel it names does not have the fingerprint it states."""
    fields = Fields(header, name)
    payload, sources = without_sources(fields, payload)
    specification = fields.read("channel", dict)
    observations, width = fields.read("observations", int), fields.read("count_bytes", int)
    if width not in _WIDTHS or len(payload) != observations * width:
        raise FormatError(
            f"{name} announces {observations} counts of {width} bytes and holds {len(payload)} bytes; allowed: 1, 2, 4 "
            "or 8 bytes each, as many as announced.",
            remedy=REWRITE,
        )
    try:
        channel = build_answer_channel(specification)
        tally = Tally(channel, np.frombuffer(payload, dtype=f"<u{width}"), sources=sources)
    except (InputError, IncompatibleEvidenceError) as error:
        raise FormatError(f"{name} does not describe a tally: {error.message}", remedy=error.remedy) from None
    require_fingerprint(channel, fields.read("fingerprint", str, optional=True), name)
    return tally
