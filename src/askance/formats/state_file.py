"""State files: the sums of reports with their channel; with a 2 where it is known which files they were made from.

Of answers they are `tally/1`: counts without sign, all of the smallest of 1, 2, 4 and 8 bytes that holds the largest.
Of noised statistics they are `statistics/1`: numbers of 8 bytes with their sign, which sums of some channels need. Both
are little-endian: compact, and the same bytes on every machine.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from askance.channels.finite import FiniteChannel
from askance.channels.statistics.base import StatisticsChannel
from askance.errors import FormatError, InputError
from askance.evidence.tally import Tally, of_statistics
from askance.formats.fields import REWRITE, Fields, channel_of, describing, require_fingerprint
from askance.formats.source_digests import with_sources, without_sources

STATE_FORMATS = tuple(f"{kind}/{version}" for kind in ("tally", "statistics") for version in (1, 2, 3))

_WIDTHS = (1, 2, 4, 8)


def state_to_parts(tally: Tally[Any]) -> tuple[dict[str, Any], bytes]:
    """Header (channel, fingerprint, sizes) and payload.

    >>> from askance import PerValue
    >>> header, payload = state_to_parts(Tally(PerValue(3, 2, l1_norm=1), [5, 0, 260], 300))
    >>> header["n"], header["sums"], payload.hex()
    (300, 3, '050000000000000000000000000000000401000000000000')
    """
    channel, size = tally.channel, len(tally.sums)
    about = {"channel": channel.specification(), "fingerprint": channel.fingerprint}
    if of_statistics(tally):
        header = {"askance": "statistics/1", **about, "n": tally.n_observations, "sums": size}
        return with_sources(header, tally.sums.astype("<i8").tobytes(), tally.sources)
    largest = int(tally.sums.max())
    width = next(width for width in _WIDTHS if largest < 1 << (8 * width))
    header = {"askance": "tally/1", **about, "observations": size, "count_bytes": width}
    return with_sources(header, tally.sums.astype(f"<u{width}").tobytes(), tally.sources)


def state_from_parts(header: dict[str, Any], payload: bytes, name: str) -> Tally[Any]:
    """The tally; refused when the channel it names does not have the fingerprint it states."""
    fields = Fields(header, name)
    payload, sources = without_sources(fields, payload)
    specification = fields.read("channel", dict)
    is_tally = header["askance"].startswith("tally/")
    size = fields.read("observations" if is_tally else "sums", int)
    width = fields.read("count_bytes", int) if is_tally else _WIDTHS[-1]
    if width not in _WIDTHS or len(payload) != size * width:
        announced = f"{size} {'counts' if is_tally else 'sums'} of {width} bytes"
        raise FormatError(
            f"{name} announces {announced} and holds {len(payload)} bytes; allowed: 1, 2, 4 or 8 bytes each, as many "
            "as announced.",
            remedy=REWRITE,
        )
    with describing(name, "a tally" if is_tally else "sums of reports"):
        channel = channel_of(specification)
        if is_tally and not isinstance(channel, FiniteChannel):
            raise InputError(f"{channel.kind} noises statistics, not answers.", remedy=REWRITE)
        if not is_tally and not isinstance(channel, StatisticsChannel):
            raise InputError(f"{channel.kind} noises answers, not statistics.", remedy=REWRITE)
        sums = np.frombuffer(payload, dtype=f"<{'u' if is_tally else 'i'}{width}")
        tally = Tally(channel, sums, None if is_tally else fields.read("n", int), sources=sources)
    require_fingerprint(channel, fields.read("fingerprint", str, optional=True), name)
    return tally
