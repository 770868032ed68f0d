"""Which files of reports a state was made from: digests at the end of the payload of `tally/2` and `statistics/2`.

A digest is of the reports (channel, columns and ids, in their order), not of the bytes of a file: reports that were
packed with gzip, or written as Parquet instead of lines, are the same reports.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Set
from pathlib import Path
from typing import Any

import numpy as np

from askance.errors import FormatError, IncompatibleEvidenceError
from askance.evidence.sources import SOURCE_BYTES, Sources
from askance.formats.fields import REWRITE, Fields
from askance.formats.report_schema import Block

# Reports of a file that are hashed one by one.
_HASHED = 1 << 16
_LENGTHS = "lengths of ids"


class SourceDigest:
    """The digest of the reports of one file, block by block; blocks may be cut anywhere.

    It is of channel, number of reports, all ids, the first 65,536 reports, and the sum and the exclusive or of the
    others. Noise makes the first reports of no two files the same, and to hash them all would take as long as to add
    them up.

    >>> from askance import Warner
    >>> from askance.formats.report_schema import ReportSchema
    >>> schema = ReportSchema(Warner("2/3"))
    >>> block = Block(schema, {"answer": np.array([0, 1, 1])}, None, np.arange(3))
    >>> whole, parts = SourceDigest(), SourceDigest()
    >>> whole.add(block), parts.add(block.take(slice(0, 1))), parts.add(block.take(slice(1, 3)))
    (None, None, None)
    >>> whole.digest() == parts.digest()
    True
    """

    def __init__(self) -> None:
        # One per column, one for the lengths of ids and one for their letters: none depends on how blocks are cut.
        self._hashes: dict[str, Any] = {}
        # Sum and exclusive or of every column, beyond the reports that are hashed.
        self._totals: dict[str, tuple[int, int]] = {}
        self._channel = ""
        self._reports = 0
        # Reports without an id since the last that had one: their lengths are 0, and are hashed when another comes.
        self._without_ids = 0

    def add(self, block: Block) -> None:
        """Some more reports."""
        self._channel = self._channel or block.schema.channel.for_purpose("").fingerprint
        first = max(_HASHED - self._reports, 0)
        self._reports += len(block.places)
        for name, values in block.columns.items():
            self._update(f"column {name}", np.ascontiguousarray(values[:first], dtype="<u8").tobytes())
            others = np.ravel(values[first:])
            plus, other = self._totals.get(name, (0, 0))
            plus += int(np.add.reduce(others, dtype=np.uint64))
            self._totals[name] = plus % 2**64, other ^ int(np.bitwise_xor.reduce(others, initial=0))
        letters = "".join([id for id in block.ids or () if id])
        if not letters:
            self._without_ids += len(block.places)
            return
        assert block.ids is not None
        lengths = np.array([len(id or "") for id in block.ids], dtype="<u2")
        self._update(_LENGTHS, bytes(2 * self._without_ids) + lengths.tobytes())
        self._update("letters of ids", letters.encode())
        self._without_ids = 0

    def _update(self, name: str, data: bytes) -> None:
        self._hashes.setdefault(name, hashlib.sha256()).update(data)

    def digest(self) -> bytes:
        """What stands for all these reports."""
        if _LENGTHS in self._hashes:
            self._update(_LENGTHS, bytes(2 * self._without_ids))
            self._without_ids = 0
        hashes = {name: part.hexdigest() for name, part in self._hashes.items()}
        content = json.dumps([self._channel, self._reports, hashes, self._totals], sort_keys=True)
        return hashlib.sha256(content.encode()).digest()[:SOURCE_BYTES]


class SeenSources:
    """Files of reports that were met, as such or in states, by their digests: none may count twice."""

    def __init__(self) -> None:
        self._places: dict[bytes, Path] = {}

    def add(self, digests: Set[bytes], path: Path, what: str) -> None:
        """Remember what a file holds; refused where another holds some of it."""
        repeated = next((digest for digest in digests if digest in self._places), None)
        if repeated is not None:
            raise IncompatibleEvidenceError(
                f"{path}: {what} are in {self._places[repeated]} already, and would count twice.",
                remedy="Leave one of them out. Where different people sent the same by chance (a few reports without "
                "ids), put their reports into one larger file first.",
            )
        self._places |= dict.fromkeys(digests, path)

    def remember(self, digest: bytes, path: Path) -> None:
        """Remember a file that added nothing: all its reports were duplicates, or refused."""
        self._places.setdefault(digest, path)

    def all(self) -> Sources:
        """All that was met."""
        return frozenset(self._places)


def with_sources(header: dict[str, Any], payload: bytes, sources: Sources) -> tuple[dict[str, Any], bytes]:
    """Header and payload of a state with its sources; of one without any, as they are."""
    if not sources:
        return header, payload
    kind = header["askance"].partition("/")[0]
    return {**header, "askance": f"{kind}/2", "sources": len(sources)}, payload + b"".join(sorted(sources))


def without_sources(fields: Fields, payload: bytes) -> tuple[bytes, Sources]:
    """What `with_sources` put together, checked."""
    if not fields.content["askance"].endswith("/2"):
        return payload, frozenset()
    count = fields.read("sources", int)
    rest = len(payload) - count * SOURCE_BYTES
    digests = [payload[start : start + SOURCE_BYTES] for start in range(max(rest, 0), len(payload), SOURCE_BYTES)]
    if count < 1 or rest < 0 or len(set(digests)) != count or digests != sorted(digests):
        raise FormatError(
            f"{fields.name} announces {count} sources; allowed: as many different ones, in order, as it holds.",
            remedy=REWRITE,
        )
    return payload[:rest], frozenset(digests)
