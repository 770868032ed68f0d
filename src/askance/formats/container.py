"""The file that states are kept in: one line of JSON, then bytes; checked as a whole.

    {"askance":"tally/1", …, "payload_bytes":31,"sha256":"…"}\\n
    <payload>

`sha256` stands last and covers every other byte of the file, as it was written: a file that was cut, padded or altered
in any bit is noticed. Nothing is unpickled and nothing is evaluated.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from askance.errors import FormatError

#: What every file begins with.
MAGIC = b'{"askance":'
_CHECKSUM = re.compile(rb'"sha256":"([0-9a-f]{64})"\}\Z')
# What files of lines and of JSON, which begin alike, are read by.
_TEXTS = {
    "regions": "It holds counts: `askance train` learns a tagger from them.",
    "reports": "It holds reports: `askance aggregate` makes a state of them.",
    "release": "It says what devices send: `askance randomize release` reads it, and `askance fit-linear --release`.",
    "pilot": "It says what devices send: `askance randomize release` reads it, and `askance fit-linear --release`.",
}
# And those of `pack`.
_READERS = {
    "tally": "It is a state: `askance estimate` reads it.",
    "statistics": "It is a state: `askance estimate` reads it.",
    "fit": "It is a fit, of `askance estimate --save` or `askance fit --save`.",
    "field": "It is a fitted field: `askance synth` draws from it.",
    "tagger": "It is a tagger: `askance tag` and `askance evaluate` read it.",
    **_TEXTS,
}
_BLANK = b'"sha256":""}'


def pack(header: dict[str, Any], payload: bytes = b"") -> bytes:
    """Header (whose first key is `askance`) and payload as the bytes of a file."""
    complete = {**header, "payload_bytes": len(payload), "sha256": ""}
    blank = json.dumps(complete, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    checksum = _digest(blank, payload).encode()
    return blank.removesuffix(_BLANK) + b'"sha256":"' + checksum + b'"}\n' + payload


def _kind_of(version: object) -> str:
    return str(version).partition("/")[0]


def who_reads(version: object, *known: str) -> str:
    """What to do with a file of another format than a command reads; `known` are those it reads.

    >>> who_reads("tagger/1", "fit/1")
    'It is a tagger: `askance tag` and `askance evaluate` read it.'
    """
    newer = "Use the version of askance that wrote it."
    return newer if _kind_of(version) in map(_kind_of, known) else _READERS.get(_kind_of(version), newer)


def unpack(data: bytes, name: str) -> tuple[dict[str, Any], bytes]:
    """Header and payload of a file's bytes, after checking them."""
    line, newline, payload = data.partition(b"\n")
    if not newline and data and (data.startswith(MAGIC) or MAGIC.startswith(data)):
        raise FormatError(
            f"{name} is truncated: it ends after {len(data)} bytes, within its header.",
            remedy="Copy the file again from where it was written.",
        )
    if not data:
        raise FormatError(
            f"{name} is empty, so it is not an askance file.", remedy="Copy the file again from where it was written."
        )
    header = _read_json(line) if line.startswith(MAGIC) else None
    if not isinstance(header, dict):
        raise FormatError(
            f"{name} is not an askance file.",
            remedy="Give what askance wrote: a state of `askance aggregate`, a fit that --save kept, a tagger of "
            "`askance train`. Answers in a table are for `askance fit` or, not noised yet, `askance randomize`.",
        )
    if "payload_bytes" not in header and _kind_of(header["askance"]) in _TEXTS:
        raise FormatError(
            f"{name} has format {header['askance']!r}, which is text; allowed: a file that askance saved.",
            remedy=who_reads(header["askance"]),
        )
    if len(payload) != header.get("payload_bytes"):
        raise FormatError(
            f"{name} is truncated or padded: {len(payload)} bytes follow the header, which announces "
            f"{header.get('payload_bytes')}.",
            remedy="Copy the file again from where it was written.",
        )
    stated = _CHECKSUM.search(line)
    if stated is None or stated[1].decode() != _digest(line[: stated.start()] + _BLANK, payload):
        raise FormatError(
            f"{name} was altered: its checksum does not fit.",
            remedy="Restore the file from where it was written; its numbers cannot be trusted.",
        )
    return header, payload


def _read_json(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):  # not UTF-8, not JSON, or nested without end
        return None


def _digest(header: bytes, payload: bytes) -> str:
    digest = hashlib.sha256(header)
    digest.update(payload)
    return digest.hexdigest()
