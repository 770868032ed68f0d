"""TOML files that people write, with the line of every key: what is wrong is refused by file and line.

For what is TOML and makes no sense, the line is that of the key, found by a scan of the text that knows headers of
tables, keys and texts of several lines.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from askance._checks import did_you_mean, shown
from askance.errors import FormatError, IncompatibleEvidenceError, InputError
from askance.formats.toml_file import PlacedError, read_toml

_KEY = r"""(?:"(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+)"""
_HEADER = re.compile(rf"\s*\[\[?\s*({_KEY}(?:\s*\.\s*{_KEY})*)\s*\]")
_ASSIGNED = re.compile(rf"\s*({_KEY}(?:\s*\.\s*{_KEY})*)\s*=")
_PART = re.compile(_KEY)
_TRIPLE = re.compile(r'"""|' + "'''")
#: What values are called.
_NAMES = {
    dict: "a table",
    list: "a list",
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
}
#: Stands for a key that must be there.
_REQUIRED: Any = object()


class TomlFile:
    """A TOML file: what it says, and where.

    Attributes:
        path: of the file.
        text: of the file.
        content: of the file.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "small.toml"
    >>> _ = path.write_text('a = 1\\n[b.c]\\nd = {e = 2}\\n')
    >>> file = TomlFile(path)
    >>> file.line_of(["b", "c"]), file.line_of(["b", "c", "d", "e"]), file.line_of(["z"])
    (2, 3, 1)
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.content: dict[str, Any]
        self.text, self.content = read_toml(path, "Correct the line.")
        self._lines = _lines_of_keys(self.text)

    def line_of(self, keys: Sequence[str]) -> int:
        """The line of a key; of what is within a line, that line; 1 where the file has no part of it."""
        for size in range(len(keys), 0, -1):
            if tuple(keys[:size]) in self._lines:
                return self._lines[tuple(keys[:size])]
        return 1

    @contextmanager
    def at(self, *keys: str) -> Iterator[None]:
        """What is refused inside is refused with the file and the line of the key."""
        try:
            yield
        except PlacedError:
            raise
        except (InputError, IncompatibleEvidenceError, FormatError) as error:
            line = self.line_of(keys)
            place = f"{self.path}, line {line}: {'.'.join(keys)}"
            raise PlacedError(f"{place}: {error.message}", line=line, remedy=error.remedy) from None

    def table(self) -> TomlTable:
        """All of it."""
        return TomlTable(self, (), self.content)


class TomlTable:
    """A table of a TOML file, read key by key.

    Attributes:
        content: of the table.
        keys: that lead to it.
    """

    def __init__(self, file: TomlFile, keys: tuple[str, ...], content: dict[str, Any]) -> None:
        self.file, self.keys, self.content = file, keys, content

    @contextmanager
    def at(self, *keys: str) -> Iterator[None]:
        """As `TomlFile.at`, from here."""
        with self.file.at(*self.keys, *keys):
            yield

    def only(self, *known: str) -> TomlTable:
        """Refuse other keys than these."""
        for key in self.content:
            if key not in known:
                with self.at(key):
                    raise InputError(
                        f"there is no such key; allowed: {', '.join(known)}.",
                        remedy=did_you_mean(key, known, "Take it out, or correct its name."),
                    )
        return self

    def refuse(self, key: str, what: str, allowed: str, remedy: str) -> None:
        """Refuse the value of a key."""
        with self.at(key):
            raise InputError(f"{what}; allowed: {allowed}.", remedy=remedy)

    def read(self, key: str, kind: type, default: Any = _REQUIRED) -> Any:
        """The value of a key, of that type."""
        if key not in self.content:
            if default is not _REQUIRED:
                return default
            with self.file.at(*(self.keys or (key,))):
                what = f"[{'.'.join((*self.keys, key))}]" if kind is dict else f"{key} = {_NAMES[kind]}"
                raise InputError(f"{key!r} is missing.", remedy=f"Add {what}.")
        value = self.content[key]
        fits = isinstance(value, (int, float) if kind is float else kind)
        if not fits or (isinstance(value, bool) and kind is not bool):
            self.refuse(key, f"it is {shown(value)}", _NAMES[kind], "Correct it.")
        return value

    def one_of(self, key: str, known: Sequence[str], default: Any = _REQUIRED) -> str:
        """The value of a key, which is one of some words."""
        value: str = self.read(key, str, default)
        if value not in known:
            self.refuse(key, f"it is {shown(value)}", ", ".join(known), did_you_mean(value, known, "Take one of them."))
        return value

    def whole(self, key: str, default: Any = _REQUIRED, *, most: int = 10**9) -> int:
        """The value of a key, a whole number from 1 on."""
        value: int = self.read(key, int, default)
        if value is not default and not 1 <= value <= most:
            self.refuse(key, f"it is {shown(value)}", f"1 to {most:,}", f"Write {min(100, most)}, say.")
        return value

    def inner(self, key: str) -> TomlTable:
        """A table within this one."""
        return TomlTable(self.file, (*self.keys, key), self.read(key, dict))

    def tables(self, key: str) -> Iterator[TomlTable]:
        """The tables within a table: [questions.NAME]."""
        within = self.inner(key)
        for name in within.content:
            yield within.inner(name)


def _lines_of_keys(text: str) -> dict[tuple[str, ...], int]:
    """The line of every table and of every key that begins a line, by all keys that lead there."""
    lines: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    within = ""  # the quotes of a text of several lines
    for number, line in enumerate(text.split("\n"), 1):
        if not within:
            if header := _HEADER.match(line):
                table = _parts(header[1])
                _remember(lines, table, number)
            elif assigned := _ASSIGNED.match(line):
                _remember(lines, (*table, *_parts(assigned[1])), number)
        for quotes in _TRIPLE.findall(line):
            within = "" if within == quotes else within or quotes
    return lines


def _remember(lines: dict[tuple[str, ...], int], keys: tuple[str, ...], number: int) -> None:
    for size in range(1, len(keys) + 1):
        lines.setdefault(keys[:size], number)


def _parts(dotted: str) -> tuple[str, ...]:
    """The keys of a dotted one; quoted keys as TOML reads them."""
    return tuple(next(iter(tomllib.loads(f"{part} = 0"))) for part in _PART.findall(dotted))
