"""Texts whose parts are known, so that Python, the command line and readers of files say them each in their own way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from string import Formatter
from typing import Self, TypeAlias


@dataclass(frozen=True)
class Argument:
    """An argument that a text names: name, or name="value"; the command line writes its flag instead."""

    name: str
    value: str = ""

    def __str__(self) -> str:
        value = self.value if self.value in ("", "True", "…") else f'"{self.value}"'
        return f"{self.name}={value}" if value else self.name


@dataclass(frozen=True)
class Either:
    """Words for Python, and for the command line; those only where `argument`, if it is named, has a flag."""

    python: str
    command_line: str
    argument: str = ""

    def __str__(self) -> str:
        return self.python


@dataclass(frozen=True)
class Place:
    """Where something stands in an array: statistic 3 of row 0, report 7; files and tables have other names for it."""

    what: str
    number: int | None = None
    row: int | None = None

    def __str__(self) -> str:
        what = self.what if self.number is None else f"{self.what} {self.number}"
        return what if self.row is None else f"{what} of row {self.row}"


Part: TypeAlias = Argument | Either | Place
#: What somebody else writes for a part; None where there is no other word for it.
Spelling: TypeAlias = Callable[[Part], str | None]


class Words(str):
    """A text as Python says it, and the parts it is made of, from which others say it in their own way."""

    parts: tuple[str | Part, ...]

    def __new__(cls, *parts: str | Part) -> Self:
        """The parts, one behind the other."""
        text = super().__new__(cls, "".join(map(str, parts)))
        text.parts = tuple(piece for part in parts for piece in (part.parts if isinstance(part, Words) else (part,)))
        return text

    def spelled(self, spelling: Spelling) -> Words:
        """The same text with other words for the parts that have some."""
        said = (None if isinstance(part, str) else spelling(part) for part in self.parts)
        return Words(*(part if word is None else word for part, word in zip(self.parts, said, strict=True)))


def words(template: str, *values: object) -> Words:
    """A text in which {name} and {name=value} stand for arguments, and {0}, {1}, … for values.

    >>> words("Leave {l2} out, or take {method=chain} instead of {0}.", "node")
    'Leave l2 out, or take method="chain" instead of node.'
    """
    parts: list[str | Part] = []
    for text, field, _, _ in Formatter().parse(template):
        parts.append(text)
        if field is not None and field.isdigit():
            value = values[int(field)]
            parts.append(value if isinstance(value, (str, Argument, Either, Place)) else str(value))
        elif field is not None:
            parts.append(Argument(*field.split("=", 1)))
    return Words(*parts)
