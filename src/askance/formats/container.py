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
# Formats of lines and of JSON, which begin alike.
_TEXT_FORMATS = ("regions/", "reports/", "release/", "pilot/")
_BLANK = b'"sha256":""}'


def pack(header: dict[str, Any], payload: bytes = b"") -> bytes:
    """Header (whose first key is `askance`) and payload as the bytes of a file."""
    complete = {**header, "payload_bytes": len(payload), "sha256": ""}
    blank = json.dumps(complete, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    checksum = _digest(blank, payload).encode()
    return blank.removesuffix(_BLANK) + b'"sha256":"' + checksum + b'"}\n' + payload


def unpack(data: bytes, name: str) -> tuple[dict[str, Any], bytes]:
    """Header and payload of a file's bytes, after checking them."""
    line, newline, payload = data.partition(b"\n")
    if not newline and data and (data.startswith(MAGIC) or MAGIC.startswith(data)):
        raise FormatError(
            f"{name} is truncated: it ends after {len(data)} bytes, within its header.",
            remedy="Copy the file again from where it was written.",
        )
    header = _read_json(line) if line.startswith(MAGIC) else None
    if not isinstance(header, dict):
        raise FormatError(
            f"{name} is not an askance file.",
            remedy="Give a file written by askance. A table of answers is noised first: askance randomize … --input.",
        )
    if "payload_bytes" not in header and str(header["askance"]).startswith(_TEXT_FORMATS):
        raise FormatError(
            f"{name} has format {header['askance']!r}, which is text; allowed: a file that askance saved.",
            remedy="Give a saved state, fit or tagger.",
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
