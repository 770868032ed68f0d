"""TOML files that people write: what is no TOML is refused by file and line, in words, with a way out."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from askance._checks import shown
from askance.errors import FormatError
from askance.formats.disk import read_whole

# Of a file, in bytes: room for the largest matrices, none for a device that never ends.
_LONGEST = 1 << 28
# What the parser says of a place.
_PLACE = re.compile(r"\s*\(at (?:line (\d+), column \d+|end of document)\)$")
# A number that Python does not read; the parser tells no place of it.
_ENDLESS = re.compile(r"[\d_]{4300,}")
# What the parser says, beginning so: what is meant, and the way out; an empty one is that of the reader of the file.
_MEANINGS = {
    "Invalid statement": ("it is no `key = value`, [table] or # comment", ""),
    "Expected '='": ("no = follows the key", ""),
    "Invalid initial character": ("no key stands where one is expected", ""),
    "Invalid value": (
        "no value follows",
        'Put texts into quotes, as in kind = "warner", and write true or false small.',
    ),
    "Expected newline": ("something follows the value", "Put texts into quotes, and every key on a line of its own."),
    "Illegal character '\\n'": ("a text does not end", "Close it by the quote that it began with."),
    "Unterminated string": ("a text does not end", "Close it by the quotes that it began with."),
    "Unescaped": ("a text holds a single \\", "Write it twice, or put the text into single quotes."),
    "Unclosed array": ("a list does not end", "Put a comma between its values, and ] behind the last."),
    "Unclosed inline table": ("a table in braces does not end", "Put commas between its keys, and } on the same line."),
    "Cannot overwrite": ("the key stands there already", "Take one of the two out."),
    "Duplicate inline": ("a key stands twice in the braces", "Take one of the two out."),
    "Cannot declare": ("the table stands there already", "Put what belongs to it below one header."),
    "Cannot redefine": ("the table stands there already", "Put what belongs to it below one header."),
    "Cannot mutate": ("it adds to a table or list that is complete", "Put all of it in one place."),
    "Expected ']": (
        "the header of a table does not end",
        "Close it, as in [table], or [[table]] for a list of tables.",
    ),
    "Exceeds the limit": ("a number has thousands of digits", "Write a shorter one."),
    "Invalid date": ("there is no such date", "Write year-month-day, or put it into quotes."),
}


class PlacedError(FormatError):
    """Something that is wrong in a file that somebody writes, and where.

    Attributes:
        line: of the file, from 1 on.
    """

    def __init__(self, message: str, *, line: int, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.line = line


def read_toml(path: str | Path, remedy: str) -> tuple[str, dict[str, Any]]:
    """The text of a TOML file, and what it says: the one reader of all of them.

    Args:
        path: of the file.
        remedy: the way out where it is no TOML at all: what to write.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "design.toml"
    >>> _ = path.write_text("kind = warner")
    >>> try:
    ...     read_toml(path, "Write a channel.")
    ... except PlacedError as error:
    ...     print(error.message.removeprefix(str(path)))
    , line 1: 'kind = warner' is not TOML: no value follows.
    """
    data = read_whole(path, limit=_LONGEST)
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        what = f"is not TOML: the byte 0x{data[error.start]:02x} is not UTF-8"
        raise PlacedError(f"{path}, line {line}: it {what}.", line=line, remedy="Save the file as UTF-8.") from None
    try:
        return text, tomllib.loads(text)
    except RecursionError:
        raise PlacedError(f"{path} is not TOML: it is nested without end.", line=1, remedy=remedy) from None
    except ValueError as error:
        raise _explained(path, text, str(error), remedy) from None


def _explained(path: str | Path, text: str, told: str, remedy: str) -> PlacedError:
    """What the parser says of a text, in words for people."""
    place = _PLACE.search(told)
    endless = None if place else _ENDLESS.search(text)
    line = int(place[1]) if place and place[1] else text.count("\n", 0, endless.start() if endless else None) + 1
    reason = _PLACE.sub("", told)
    meanings = (meaning for start, meaning in _MEANINGS.items() if reason.startswith(start))
    meaning, own = next(meanings, (reason, ""))
    found = text.split("\n")[line - 1].strip()
    what = shown(found) if found else "the end of the file"
    return PlacedError(f"{path}, line {line}: {what} is not TOML: {meaning}.", line=line, remedy=own or remedy)
