"""State files of sums of noised statistics: `statistics/1`, and `statistics/2` with the files they were made from."""

from __future__ import annotations

from typing import Any

import numpy as np

from askance.channels.registry import build_channel
from askance.channels.statistics.base import StatisticsChannel
from askance.errors import FormatError, InputError
from askance.evidence.tally import Tally
from askance.formats.fields import REWRITE, Fields, require_fingerprint
from askance.formats.source_digests import with_sources, without_sources

STATISTICS_FORMATS = ("statistics/1", "statistics/2")

_BYTES = 8


def statistics_to_parts(tally: Tally[StatisticsChannel]) -> tuple[dict[str, Any], bytes]:
    """Header (channel, fingerprint, number of reports and of sums) and payload: little-endian integers of 64 bits.

    Sums of some channels may be negative, so they keep their sign; the same tally is the same bytes on every machine.

    >>> from askance import PerValue
    >>> header, payload = statistics_to_parts(Tally(PerValue(3, 2, l1_norm=1), [5, 0, 260], 300))
    >>> header["n"], header["sums"], payload.hex()
    (300, 3, '050000000000000000000000000000000401000000000000')
    """
    header = {
        "askance": STATISTICS_FORMATS[0],
        "channel": tally.channel.specification(),
        "fingerprint": tally.channel.fingerprint,
        "n": tally.n_observations,
        "sums": len(tally.sums),
    }
    return with_sources(header, tally.sums.astype(f"<i{_BYTES}").tobytes(), tally.sources)


def statistics_from_parts(header: dict[str, Any], payload: bytes, name: str) -> Tally[StatisticsChannel]:
    """The sums; refused when the channel they name does not have the fingerprint they state."""
    fields = Fields(header, name)
    payload, sources = without_sources(fields, payload)
    specification = fields.read("channel", dict)
    n, size = fields.read("n", int), fields.read("sums", int)
    if len(payload) != size * _BYTES:
        raise FormatError(
            f"{name} announces {size} sums of {_BYTES} bytes and holds {len(payload)} bytes; allowed: as many as "
            "announced.",
            remedy=REWRITE,
        )
    try:
        channel = build_channel(specification)
        if not isinstance(channel, StatisticsChannel):
            raise InputError(f"{channel.kind} noises answers, not statistics.", remedy=REWRITE)
        tally = Tally(channel, np.frombuffer(payload, dtype=f"<i{_BYTES}"), n, sources=sources)
    except InputError as error:
        raise FormatError(f"{name} does not describe sums of reports: {error.message}", remedy=error.remedy) from None
    require_fingerprint(channel, fields.read("fingerprint", str, optional=True), name)
    return tally
