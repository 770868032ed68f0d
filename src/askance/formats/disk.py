"""Bytes from and to the disk: read within limits, written whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from askance._checks import shown
from askance.errors import FormatError, InputError

# Files are read in pieces of this many bytes.
_PIECE = 1 << 20
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
    """Write a file in one piece: a reader sees the old one or the new one, never half of it.

    A new file has the permissions that the process gives to new files; one that is replaced keeps its own.
    """
    target = regular_target(path)
    temporary = target.parent / f".askance-{secrets.token_hex(8)}"
    try:
        _write_new(temporary, data, _permissions(target))
        try:
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)
        _flush_folder(target.parent)
    except OSError as error:
        remedy = _REMEDIES.get(error.errno or 0, "Choose another place.")
        raise FormatError(f"cannot write {target}: {error.strerror}.", remedy=remedy) from None


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


def _write_new(path: Path, data: bytes, permissions: int | None) -> None:
    """Write a file that must not exist, down to the disk; whatever goes wrong, nothing of it stays."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    complete = False
    try:
        with os.fdopen(handle, "wb") as file:
            if permissions is not None:
                path.chmod(permissions)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        complete = True
    finally:
        if not complete:
            path.unlink(missing_ok=True)


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
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file that replaces `path` when all is written to it; what goes wrong before leaves nothing of it behind."""
    path = regular_target(path)
    temporary = path.parent / f".askance-{secrets.token_hex(8)}"
    try:
        with temporary.open("xb") as file:
            try:
                permissions = _permissions(path)
                if permissions is not None:
                    temporary.chmod(permissions)
                yield file
                file.flush()
                os.fsync(file.fileno())
                os.replace(temporary, path)
            finally:
                temporary.unlink(missing_ok=True)
        _flush_folder(path.parent)
    except OSError as error:
        remedy = _REMEDIES.get(error.errno or 0, "Choose another place.")
        raise FormatError(f"cannot write {path}: {error.strerror or error}.", remedy=remedy) from None


def read_whole(path: str | os.PathLike[str], *, prefix: bytes = b"", limit: int | None = None) -> bytes:
    """The bytes of a file, or an error that names it.

    Args:
        path: where it is.
        prefix: what it should begin with; if it does not, no more than the first piece of it is read and returned.
        limit: refuse a longer file: protects from reading a device, or the wrong file, until the memory is full.
    """
    source, data = as_path(path), bytearray()
    try:
        with source.open("rb") as file:
            while piece := file.read(_PIECE):
                data += piece
                if limit is not None and len(data) > limit:
                    raise FormatError(
                        f"{source} is longer than {limit:,} bytes; allowed: at most that.",
                        remedy="Give a file written by or for askance.",
                    )
                if not data.startswith(prefix):
                    break
    except OSError as error:
        raise FormatError(
            f"cannot read {source}: {error.strerror}.",
            remedy="Give the path of a file that exists and that you may read.",
        ) from None
    return bytes(data)
