"""Which files of reports a state was made from: digests at the end of the payload of `tally/2` and `statistics/2`.

States of parts (row groups of files, parts of ids) are `tally/3` and `statistics/3`: their header says which.

A digest is of the reports (channel, columns and ids, in their order), not of the bytes of a file: reports that were
packed with gzip, or written as Parquet instead of lines, are the same reports.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, TypeAlias

import numpy as np

from askance.errors import FormatError, IncompatibleEvidenceError
from askance.evidence.sources import NO_SOURCES, SOURCE_BYTES, IdPart, RowGroup, Sources, require_apart
from askance.formats.fields import REWRITE, Fields
from askance.formats.places import Place, RowGroups
from askance.formats.report_ids import Ids
from askance.formats.report_schema import Block

# What was met: a file, a row group; of files that were read in part, also (digest,).
_Key: TypeAlias = bytes | RowGroup | tuple[bytes]
#: Reports of a file that are hashed one by one.
HASHED = 1 << 16


class SourceDigest:
    """The digest of the reports of one file, block by block; blocks may be cut anywhere.

    It is of channel, number of reports, and the first 65,536 reports with their ids. Noise makes the first reports of
    no two files the same, and who reads a part of a file can find the digest of the whole without reading all of it.

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
        self._channel = ""
        self._reports = 0

    def add(self, block: Block) -> None:
        """Some more reports."""
        self._channel = self._channel or block.schema.channel.for_purpose("").fingerprint
        first = min(max(HASHED - self._reports, 0), len(block.places))
        self._reports += len(block.places)
        if not first:
            return
        for name, values in block.columns.items():
            self._update(f"column {name}", np.ascontiguousarray(values[:first], dtype="<u8").tobytes())
        ids = Ids.none(first) if block.ids is None else block.ids.take(slice(first))
        self._update("lengths of ids", ids.characters.astype("<u2").tobytes())
        self._update("letters of ids", bytes(ids))

    def _update(self, name: str, data: bytes) -> None:
        self._hashes.setdefault(name, hashlib.sha256()).update(data)

    @property
    def is_settled(self) -> bool:
        """Whether more reports would change no more than their number."""
        return self._reports >= HASHED

    def digest(self, reports: int | None = None) -> bytes:
        """What stands for all these reports, or for as many, where it is known that more follow."""
        hashes = {name: part.hexdigest() for name, part in self._hashes.items()}
        content = json.dumps([self._channel, self._reports if reports is None else reports, hashes], sort_keys=True)
        return hashlib.sha256(content.encode()).digest()[:SOURCE_BYTES]


class SeenSources:
    """What was met in files of reports and in states: nothing of it may count twice."""

    def __init__(self) -> None:
        self._places: dict[_Key, Place | RowGroups] = {}
        # Parts of ids that were met, and where; None stands for reports that are of no part.
        self._parts: dict[IdPart | None, Place | RowGroups] = {}

    def add(self, sources: Sources, path: Place | RowGroups, what: str) -> None:
        """Remember what a state or a file of reports holds; refused where another holds some of it."""
        keys: list[tuple[_Key, _Key]] = [(digest, (digest,)) for digest in sources.files]
        keys += [(group, group[0]) for group in sources.row_groups]
        for either in keys:
            repeated = next((key for key in either if key in self._places), None)
            if repeated is not None:
                raise IncompatibleEvidenceError(
                    f"{path}: {what} are in {self._places[repeated]} already, and would count twice.",
                    remedy="Leave one of them out. Where different people sent the same by chance (a few reports "
                    "without ids), put their reports into one larger file first.",
                )
        met: list[_Key] = [*sources.files, *sources.row_groups, *((digest,) for digest, _, _ in sources.row_groups)]
        self._places |= dict.fromkeys(met, path)

    def add_parts(self, parts: frozenset[IdPart], path: Place | RowGroups) -> None:
        """Remember which parts of ids a state, or all files, hold; refused where another may hold the same ids."""
        for other, place in self._parts.items():
            try:
                require_apart(parts, frozenset({other} if other else ()))
            except IncompatibleEvidenceError as error:
                raise error.at(f"{path} and {place}") from None
        self._parts |= dict.fromkeys(parts or [None], path)

    def remember(self, digest: bytes, path: Place | RowGroups) -> None:
        """Remember a file that added nothing: all its reports were duplicates, or refused."""
        self._places.setdefault(digest, path)

    def all(self) -> Sources:
        """All that was met."""
        files = frozenset(key for key in self._places if isinstance(key, bytes))
        groups = frozenset(key for key in self._places if isinstance(key, tuple) and len(key) == 3)
        return Sources(files, groups, frozenset(part for part in self._parts if part)).completed()


def with_sources(header: dict[str, Any], payload: bytes, sources: Sources) -> tuple[dict[str, Any], bytes]:
    """Header and payload of a state with its sources; of one without any, as they are."""
    if sources == NO_SOURCES:
        return header, payload
    kind = header["askance"].partition("/")[0]
    known = {**header, "askance": f"{kind}/2", "sources": len(sources.files)}
    if sources.row_groups or sources.id_parts:
        groups = [[digest.hex(), number, of] for digest, number, of in sorted(sources.row_groups)]
        parts = [[part, of] for part, of in sorted(sources.id_parts)]
        known |= {"askance": f"{kind}/3", "row_groups": groups, "id_parts": parts}
    return known, payload + b"".join(sorted(sources.files))


def without_sources(fields: Fields, payload: bytes) -> tuple[bytes, Sources]:
    """What `with_sources` put together, checked."""
    version = fields.content["askance"].partition("/")[2]
    if version not in ("2", "3"):
        return payload, NO_SOURCES
    count = fields.read("sources", int)
    rest = len(payload) - count * SOURCE_BYTES
    digests = [payload[start : start + SOURCE_BYTES] for start in range(max(rest, 0), len(payload), SOURCE_BYTES)]
    if count < (version == "2") or rest < 0 or len(set(digests)) != count or digests != sorted(digests):
        raise FormatError(
            f"{fields.name} announces {count} sources; allowed: as many different ones, in order, as it holds.",
            remedy=REWRITE,
        )
    if version == "2":
        return payload[:rest], Sources(frozenset(digests))
    try:
        groups = [(bytes.fromhex(digest), *_one_of(place)) for digest, *place in fields.read("row_groups", list)]
        parts = [_one_of(place) for place in fields.read("id_parts", list)]
        sources = Sources(frozenset(digests), frozenset(groups), frozenset(parts))
        assert sources == sources.completed() != Sources(frozenset(digests))
        assert all(len(digest) == SOURCE_BYTES and digest not in digests for digest, _, _ in groups)
        assert len({of for _, of in parts}) <= 1
    except (ValueError, TypeError, AssertionError):
        raise FormatError(f"{fields.name} names row groups, or parts of ids, that cannot be.", remedy=REWRITE) from None
    return payload[:rest], sources


def _one_of(place: Any) -> tuple[int, int]:
    """A number below another."""
    number, of = place
    if type(number) is not int or type(of) is not int or not 0 <= number < of:
        raise ValueError
    return number, of
