"""Lines of text files: plain or gzip, UTF-8, in pieces, each with its number."""

from __future__ import annotations

import errno
import gzip
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, TypeAlias, Union

from askance._checks import shown
from askance.errors import FormatError, InputError
from askance.formats.disk import as_path, cannot_read, opened, whole_file
from askance.formats.report_schema import STRICT_JSON, json_line

#: A path, an open file of bytes such as standard input, or one of them that may be looked at first.
Source: TypeAlias = Union[str, os.PathLike[str], BinaryIO, "OpenText"]

# Bytes read at a time.
_PIECE = 1 << 20
# Of a line, in bytes: room for any sentence, none for a device that never ends.
_LONGEST_LINE = 1 << 26
# How packed files begin, workbooks among them.
_ZIP = b"PK\x03\x04"


def name_of(source: Source) -> str:
    """What a source is called in messages."""
    if isinstance(source, OpenText):
        return source.name
    if isinstance(source, (str, os.PathLike)):
        return str(as_path(source))
    name = getattr(source, "name", None)
    return name if isinstance(name, str) and name != "<stdin>" else "standard input"


def byte_lines(source: Source) -> Iterator[tuple[int, bytes]]:
    """Every line without its end, and its number from 1; for lines that may be refused one by one."""
    for number, piece in _pieces(source):
        lines = piece.split(b"\n")
        for i, line in enumerate(lines if lines[-1] else lines[:-1]):
            yield number + i, line.removesuffix(b"\r")


def text_lines(source: Source) -> Iterator[tuple[int, str]]:
    """Every line as text, and its number; decoded piece by piece, which is quick."""
    for number, text in _decoded(source):
        # Only line feeds end lines: `splitlines` would also cut words at rarer characters.
        lines = text.replace("\r\n", "\n").split("\n")
        yield from enumerate(lines if lines[-1] else lines[:-1], number)


def lines_with_ends(source: Source) -> Iterator[tuple[int, str]]:
    """Every line as text with its end, as it is in the file, and its number; only a byte order mark is left out.

    >>> import io
    >>> list(lines_with_ends(io.BytesIO(b"a\\r\\nb")))
    [(1, 'a\\r\\n'), (2, 'b')]
    """
    for number, text in _decoded(source):
        *whole, last = text.split("\n")
        yield from enumerate([*(f"{line}\n" for line in whole), *([last] if last else [])], number)


def without_end(line: str) -> str:
    """A line of `lines_with_ends` as `text_lines` gives it."""
    return line[:-2] if line.endswith("\r\n") else line.removesuffix("\n")


def _decoded(source: Source) -> Iterator[tuple[int, str]]:
    """Pieces of whole lines as text, each with the number of its first line."""
    for number, piece in _pieces(source):
        if number == 1 and piece.startswith(_ZIP):
            raise FormatError(
                f"{name_of(source)} is no text but packed (ZIP), as workbooks of spreadsheets are.",
                remedy="Save a sheet as CSV in UTF-8, not as .xlsx or .ods; unpack what else it is.",
            )
        if number == 1 and b"\n" not in piece and b"\r" in piece.rstrip(b"\r"):
            raise FormatError(
                f"lines of {name_of(source)} end in carriage returns alone; allowed: line feeds.",
                remedy="Save it again, not as the text of an old Macintosh, or turn them with: tr '\\r' '\\n'.",
            )
        try:
            text = piece.decode("utf-8")
        except UnicodeDecodeError as error:
            bad = number + piece.count(b"\n", 0, error.start)
            raise FormatError(
                f"{name_of(source)}, line {bad} is not UTF-8 text ({error.reason}).", remedy="Save the file as UTF-8."
            ) from None
        yield number, text


def read_json(line: str | bytes) -> Any:
    """One line of strict JSON: no NaN, no field twice, no half characters. ValueError says what is wrong."""
    try:
        line = line if isinstance(line, str) else line.decode("utf-8")
        content = STRICT_JSON.decode(line)
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not UTF-8 text ({error.reason})") from None
    except RecursionError:
        raise ValueError("it is not JSON (nested without end)") from None
    except ValueError as error:
        raise ValueError(f"it is not JSON ({getattr(error, 'msg', error)})") from None
    if "\\ud" in line.lower():  # a half of a surrogate pair is no text, and could not be written again
        try:
            json_line({"": content}).encode()
        except RecursionError:
            raise ValueError("it is not JSON (nested without end)") from None
        except UnicodeEncodeError:
            raise ValueError("it holds half a character (\\ud800 to \\udfff)") from None
    return content


@contextmanager
def line_writer(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file that appears when all is written to it; packed where its name ends in .gz, the same bytes each time."""
    target = as_path(path)
    with whole_file(target) as file:
        if target.suffix.lower() != ".gz":
            yield file
            return
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, compresslevel=6, mtime=0) as packed:
            yield packed  # type: ignore[misc]


def write_lines(path: str | os.PathLike[str], pieces: Iterable[str]) -> None:
    """Write text piece by piece, as `line_writer` does; half a character has no bytes and is refused."""
    try:
        with line_writer(path) as file:
            for piece in pieces:
                file.write(piece.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise InputError(
            f"a word, tag or id holds {shown(error.object[error.start])}, half a character.", remedy="Take it out."
        ) from None


class OpenText:
    """Text that is read once, as a pipe must be; whoever has to know what it is may look at its beginning before.

    >>> import io
    >>> text = OpenText(io.BytesIO(b"a dog\\nbarks"))
    >>> with text.looking():
    ...     next(text_lines(text))
    (1, 'a dog')
    >>> list(text_lines(text))
    [(1, 'a dog'), (2, 'barks')]
    """

    def __init__(self, source: Source) -> None:
        self.name = name_of(source)
        self._rest = _pieces(source)
        self._kept: list[tuple[int, bytes]] = []
        self._looking = False
        self._wrong: FormatError | None = None

    @contextmanager
    def looking(self) -> Iterator[None]:
        """What is read meanwhile is read again after."""
        self._looking = True
        try:
            yield
        finally:
            self._looking = False

    def pieces(self) -> Iterator[tuple[int, bytes]]:
        """Pieces of whole lines, each with the number of its first line."""
        kept = self._kept
        self._kept = list(kept) if self._looking else []
        yield from kept
        if self._wrong is not None:  # met while looking, by somebody who may have kept it to himself
            raise self._wrong
        try:
            for piece in self._rest:
                if self._looking:
                    self._kept.append(piece)
                yield piece
        except FormatError as error:
            self._wrong = error
            raise


def _pieces(source: Source) -> Iterator[tuple[int, bytes]]:
    """The file in pieces of whole lines, each with the number of its first line."""
    if isinstance(source, OpenText):
        yield from source.pieces()
        return
    name, number, rest = name_of(source), 1, b""
    with _opened(source) as file:
        while data := _read(file, name):
            if number == 1 and not rest:
                data = data.removeprefix(b"\xef\xbb\xbf")
            data = rest + data
            end = data.rfind(b"\n") + 1
            if end:
                yield number, data[:end]
                number += data.count(b"\n")
            rest = data[end:]
            if len(rest) > _LONGEST_LINE:
                raise FormatError(
                    f"{name}, line {number} is longer than {_LONGEST_LINE:,} bytes; allowed: at most that.",
                    remedy="Give a file of text, one token or one sentence a line.",
                )
    if rest:
        yield number, rest


@contextmanager
def _opened(source: str | os.PathLike[str] | BinaryIO) -> Iterator[BinaryIO]:
    if isinstance(source, (str, os.PathLike)):
        with opened(source) as file:
            yield file
    else:
        yield source


def _read(file: BinaryIO, name: str) -> bytes:
    try:
        data: bytes | None = file.read(_PIECE)
        if data is None:  # an open file that does not wait has nothing yet, which is not its end
            raise BlockingIOError(errno.EAGAIN, "it is open without waiting, and has nothing yet")
    except OSError as error:
        raise cannot_read(name, error) from None
    return data
