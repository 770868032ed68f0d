"""The file that states are kept in: one line of JSON, then bytes; checked as a whole, written as a whole.

    {"askance": "tally/1", …, "payload_bytes": 31, "sha256": "…"}\\n
    <payload: zlib-compressed>

`sha256` covers the header (with sha256 empty) and the payload, so a file that was cut, padded or altered is noticed.
Nothing is unpickled and nothing is evaluated.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from askance.errors import FormatError

#: No header is longer; protects from reading a large foreign file into memory.
_LONGEST_HEADER = 1 << 26


def pack(header: dict[str, Any], payload: bytes = b"") -> bytes:
    """Header and payload as the bytes of a file."""
    complete = {**header, "payload_bytes": len(payload), "sha256": ""}
    complete["sha256"] = _digest(complete, payload)
    return json.dumps(complete, ensure_ascii=False, separators=(",", ":")).encode() + b"\n" + payload


def unpack(data: bytes, name: str) -> tuple[dict[str, Any], bytes]:
    """Header and payload of a file's bytes, after checking them."""
    end = data.find(b"\n", 0, _LONGEST_HEADER)
    try:
        header = json.loads(data[: max(end, 0)])
    except ValueError:
        header = None
    if not isinstance(header, dict) or "askance" not in header:
        raise FormatError(
            f"{name} is not an askance file (it begins with {data[:24]!r}).", remedy="Give a file written by askance."
        )
    payload = data[end + 1 :]
    if len(payload) != header.get("payload_bytes"):
        raise FormatError(
            f"{name} is truncated or padded: {len(payload)} bytes follow the header, which announces "
            f"{header.get('payload_bytes')}.",
            remedy="Copy the file again from where it was written.",
        )
    stated = header.get("sha256")
    if stated != _digest({**header, "sha256": ""}, payload):
        raise FormatError(f"{name} was altered: its checksum does not fit.", remedy="Restore the original file.")
    return header, payload


def _digest(header: dict[str, Any], payload: bytes) -> str:
    digest = hashlib.sha256(json.dumps(header, sort_keys=True, separators=(",", ":")).encode())
    digest.update(payload)
    return digest.hexdigest()


def write_whole(path: Path, data: bytes) -> None:
    """Write a file in one piece: a reader sees the old one or the new one, never half of it."""
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise FormatError(f"cannot write {path}: {error.strerror}.", remedy="Choose a folder that exists.") from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except OSError as error:
        os.unlink(temporary)
        raise FormatError(f"cannot write {path}: {error.strerror}.", remedy="Choose another place.") from None


def read_whole(path: Path) -> bytes:
    """The bytes of a file, or an error that names it."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise FormatError(f"cannot read {path}: {error.strerror}.", remedy="Check the path.") from None
