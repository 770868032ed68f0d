"""Bytes from and to the disk: read once and within limits, written whole or not at all."""

from __future__ import annotations

import errno
import gzip
import io
import os
import re
import secrets
import shutil
import stat
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeGuard

from askance._checks import shown
from askance.errors import FormatError, InputError

# Files are read in pieces of this many bytes.
_PIECE = 1 << 20
_GZIP = b"\x1f\x8b"
_ADDRESS = re.compile("[A-Za-z][A-Za-z0-9+.-]+://")
_REMEDIES = {
    errno.ENOENT: "Choose a folder that exists.",
    errno.ENOTDIR: "Choose a folder that exists.",
    errno.EISDIR: "Choose the name of a file, not of a folder.",
    errno.ENAMETOOLONG: "Choose a shorter name.",
    errno.EACCES: "Choose a place where you may write.",
    errno.EPERM: "Choose a place where you may write.",
    errno.EROFS: "Choose a place where you may write.",
    errno.ENOSPC: "Make room on the disk, or choose another place.",
}


def as_path(path: str | os.PathLike[str]) -> Path:
    """Read a path; refused is what no file can be called."""
    if not isinstance(path, (str, os.PathLike)) or not isinstance(os.fspath(path), str):
        raise InputError(
            f"path is {shown(path)}; allowed: a text or a Path.", remedy='Give one such as "answers.tally".'
        )
    if os.fspath(path) == "-":
        raise InputError("path is -; allowed: the path of a file.", remedy="Standard input is /dev/stdin.")
    try:
        encoded = os.fsencode(path)
    except UnicodeEncodeError:
        encoded = b"\0"
    if b"\0" in encoded:
        raise InputError(
            f"path is {shown(path)}, which holds a character that no file name may have.",
            remedy="Take it out of the name.",
        )
    return Path(path)


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file in one piece: a reader sees the old one or the new one, never half of it."""
    with whole_file(path) as file:
        file.write(data)


def regular_target(path: str | os.PathLike[str]) -> Path:
    """Where a path leads to, through links; what is there must be a regular file, for it will be replaced."""
    target = Path(os.path.realpath(as_path(path)))
    try:
        blocked = target.exists() and not target.is_file()
    except OSError:  # such as a name that is too long: writing will say so
        return target
    if blocked:
        what = "a folder" if target.is_dir() else "no regular file"
        raise FormatError(
            f"cannot write {path}: it is {what}.", remedy="Choose the name of a file; a device cannot be replaced."
        )
    return target


def _permissions(target: Path) -> int | None:
    try:
        return stat.S_IMODE(target.stat().st_mode)
    except FileNotFoundError:
        return None


def _flush_folder(folder: Path) -> None:
    """Make the new name itself survive a power cut, where folders can be opened."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file that replaces `path` when all is written to it; whatever goes wrong before leaves nothing of it behind.

    A new file has the permissions that the process gives to new files; one that is replaced keeps its own.
    """
    target = regular_target(path)
    temporary = target.parent / f".askance-{secrets.token_hex(8)}"
    try:
        try:
            with temporary.open("xb") as file:
                permissions = _permissions(target)
                if permissions is not None:
                    temporary.chmod(permissions)
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, target)
        finally:  # also where a signal ends the process, at whatever step
            temporary.unlink(missing_ok=True)
        _flush_folder(target.parent)
    except OSError as error:
        remedy = _REMEDIES.get(error.errno or 0, "Choose another place.")
        raise FormatError(f"cannot write {target}: {error.strerror or error}.", remedy=remedy) from None


# -- reading -----------------------------------------------------------------------------------------------------------


class PackedError(FormatError):
    """A packed file is damaged."""


def cannot_read(path: object, error: OSError) -> FormatError:
    """The error for a file that the disk does not give."""
    missing = isinstance(error, FileNotFoundError) and "there is no such file"
    return FormatError(
        f"cannot read {path}: {error.strerror or missing or error}.",
        remedy="Give the path of a file that exists and that you may read.",
    )


class _Source(io.RawIOBase):
    """The bytes of an open file; what is wrong with them is an error that names it.

    Every read is as long as it was asked to be unless the file ends: pipes give what they have, and a beginning that
    is looked at (`peek`) must not depend on who wrote how much at a time.
    """

    def __init__(self, file: Any, name: str) -> None:
        self._file, self.name = file, name

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view, filled = memoryview(buffer), 0
        try:
            while filled < len(view):
                count = self._file.readinto(view[filled:])
                if count is None:
                    raise BlockingIOError(errno.EAGAIN, "it is open without waiting, and has nothing yet")
                if not count:
                    break
                filled += count
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            reason = str(error).rstrip(".")
            raise PackedError(f"{self.name} cannot be unpacked ({reason}).", remedy="Get the file again.") from None
        except OSError as error:
            raise cannot_read(self.name, error) from None
        return filled

    def seekable(self) -> bool:
        return not isinstance(self._file, gzip.GzipFile) and bool(self._file.seekable())

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return int(self._file.seek(offset, whence))

    def close(self) -> None:
        self._file.close()
        super().close()


def is_address(path: object) -> TypeGuard[str]:
    """Whether a text is an address such as s3://bucket/reports.parquet, not a path.

    >>> is_address("s3://bucket/a.parquet"), is_address("a/b.parquet")
    (True, False)
    """
    return isinstance(path, str) and _ADDRESS.match(path) is not None


def file_system(address: str) -> tuple[Any, str]:
    """What reads an address, and what it calls the place."""
    import fsspec

    try:
        system, path = fsspec.core.url_to_fs(address)
    except (ImportError, ValueError) as error:  # a package is missing, or nobody reads such addresses
        raise InputError(
            f"cannot read {address}: {str(error).rstrip('.')}.",
            remedy="Install what reads such addresses: s3fs for s3://, gcsfs for gs://.",
        ) from None
    return system, str(path)


def _open_address(address: str) -> Any:
    system, path = file_system(address)
    return system.open(path, "rb")


@contextmanager
def opened(path: str | os.PathLike[str], *, unpack: bool = True) -> Iterator[io.BufferedReader]:
    """A file to be read once, from its beginning: it may be a pipe, or at an address, and is unpacked.

    All that askance reads comes through here. `peek` shows the first 256 bytes, at least, before anything is read; what
    the disk says against the file, and what is wrong with its packing, is an error that names it.

    >>> path = Path(tempfile.mkdtemp()) / "a.gz"
    >>> _ = path.write_bytes(gzip.compress(b"askance"))
    >>> with opened(path) as file:
    ...     file.peek(3)[:3], file.read()
    (b'ask', b'askance')
    """
    source = path if is_address(path) else as_path(path)
    try:
        raw: Any = source.open("rb", buffering=0) if isinstance(source, Path) else _open_address(source)
    except OSError as error:
        raise cannot_read(source, error) from None
    file: io.BufferedReader = io.BufferedReader(_Source(raw, str(source)))
    with file:
        if not (unpack and file.peek(2).startswith(_GZIP)):
            yield file
            return
        unpacked: io.BufferedReader = io.BufferedReader(_Source(gzip.GzipFile(fileobj=file), str(source)))
        with unpacked:
            yield unpacked


@contextmanager
def with_seeking(file: io.BufferedReader) -> Iterator[BinaryIO]:
    """The same bytes as a file in which readers may go back: itself, or a copy without a name where it is a pipe."""
    if file.seekable():
        yield file
        return
    with ExitStack() as stack:
        try:
            copy = stack.enter_context(tempfile.TemporaryFile())
            shutil.copyfileobj(file, copy, _PIECE)
            copy.seek(0)
        except OSError as error:
            raise FormatError(
                f"cannot keep a copy of {file.name}, in which readers go back: {error.strerror or error}.",
                remedy="Write it to a file first, where there is room.",
            ) from None
        yield copy


def read_whole(path: str | os.PathLike[str], *, prefix: bytes = b"", limit: int | None = None) -> bytes:
    """The bytes of a file as they are, or an error that names it; `rest_of` has the arguments."""
    with opened(path, unpack=False) as file:
        return rest_of(file, prefix=prefix, limit=limit)


def rest_of(file: io.BufferedReader, *, prefix: bytes = b"", limit: int | None = None) -> bytes:
    """All bytes of an open file.

    Args:
        file: of `opened`.
        prefix: what it should begin with; if it does not, no more than the first piece of it is read and returned.
        limit: refuse a longer file: protects from reading a device, or the wrong file, until the memory is full.
    """
    data = bytearray()
    while piece := file.read(_PIECE):
        data += piece
        if limit is not None and len(data) > limit:
            raise FormatError(
                f"{file.name} is longer than {limit:,} bytes; allowed: at most that.",
                remedy="Give a file written by or for askance.",
            )
        if not data.startswith(prefix):
            break
    return bytes(data)
