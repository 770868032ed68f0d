"""Bytes of tables: read once, unpacked in blocks, up to a limit that can be raised."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import math
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from askance._checks import shorten, shown
from askance.errors import FormatError, InputError
from askance.formats.disk import opened
from askance.survey.tables import first_line

#: The variable of the environment that raises the limit, and the limit without it.
LIMIT_VARIABLE, DEFAULT_LIMIT = "ASKANCE_MAX_BYTES", 1 << 30
#: How files are packed, by the end of their names.
PACKED: dict[str, Callable[[IO[bytes]], Any]] = {
    ".gz": lambda file: gzip.GzipFile(fileobj=file),
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
}
_PIECE = 1 << 20


def limit_of(max_bytes: int | None) -> int:
    """The most bytes that a table may have: as given, from the environment, or 1 GiB."""
    written = os.environ.get(LIMIT_VARIABLE) if max_bytes is None else max_bytes
    if written is None:
        return DEFAULT_LIMIT
    name = "max_bytes" if max_bytes is not None else LIMIT_VARIABLE
    try:
        number = float(written)
    except (TypeError, ValueError):
        number = math.nan
    if not 1 <= number < 2**62:
        raise InputError(
            argument=name, got=shown(written), allowed="a number of bytes, 1 or more", remedy="Write 4e9 for 4 GB."
        )
    return int(number)


def read_bounded(path: Path, limit: int) -> bytes:
    """The bytes of a file, or of a pipe, which is read once."""
    if os.path.isfile(path) and path.stat().st_size > limit:
        raise too_large(path, limit)
    with opened(path, unpack=False) as file:
        return bytes(_read_up_to(file, path, limit))


def too_large(path: object, limit: int) -> FormatError:
    """The error for a table that has more bytes than allowed."""
    return FormatError(
        f"{path} takes more than {limit:,} bytes as a table; allowed: at most that.",
        remedy=f"Leave out columns or rows, or raise it by max_bytes=, or by {LIMIT_VARIABLE}=4e9 before the command.",
    )


def unpacked(path: Path, data: bytes, suffix: str, limit: int) -> bytes | bytearray:
    """What is packed in some bytes, or the bytes themselves; never more than the limit, whatever they claim."""
    try:
        if suffix == ".zip":
            with zipfile.ZipFile(io.BytesIO(data)) as archive, archive.open(_only_member(path, archive)) as file:
                return _read_up_to(file, path, limit)
        if suffix in PACKED:
            with PACKED[suffix](io.BytesIO(data)) as file:
                return _read_up_to(file, path, limit)
    except (InputError, FormatError, MemoryError):
        raise
    except Exception as error:  # the packers raise errors of a dozen types for damaged files
        raise FormatError(f"{path} cannot be unpacked ({first_line(error)}).", remedy="Get the file again.") from None
    return data


def _only_member(path: Path, archive: zipfile.ZipFile) -> str:
    members = [name for name in archive.namelist() if not name.startswith("__MACOSX/")]
    if len(members) != 1:
        raise InputError(
            f"{path} holds {len(members)} files ({shorten(members)}); allowed: one.",
            remedy="Unpack it and name the one you mean.",
        )
    return members[0]


def _read_up_to(file: IO[bytes], path: Path, limit: int) -> bytearray:
    data = bytearray()
    while piece := file.read(_PIECE):
        data += piece
        if len(data) > limit:
            raise too_large(path, limit)
    return data
