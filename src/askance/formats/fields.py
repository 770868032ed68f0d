"""Fields of a header, read one by one: what is missing or of another type is named."""

from __future__ import annotations

from typing import Any

from askance._checks import shown
from askance.channels.described import Described
from askance.errors import FormatError

#: JSON types by the names that people use.
_NAMES = {dict: "an object", list: "a list", str: "a text", int: "a whole number", float: "a number", bool: "a boolean"}


class Fields:
    """The fields of a JSON object in a file.

    Args:
        content: the object.
        name: the file, or the place in it, for errors.
    """

    def __init__(self, content: Any, name: str) -> None:
        if not isinstance(content, dict):
            raise FormatError(f"{name} is {shown(content)}; allowed: an object.", remedy=REWRITE)
        self.content, self.name = content, name

    def read(self, field: str, kind: type, *, optional: bool = False) -> Any:
        """The value of a field, of that JSON type; None passes where it is optional."""
        if field not in self.content:
            raise FormatError(f"{self.name} has no field {field!r}.", remedy=REWRITE)
        value: Any = self.content[field]
        if optional and value is None:
            return None
        fits = isinstance(value, (int, float) if kind is float else kind)
        if not fits or (isinstance(value, bool) and kind is not bool):
            raise FormatError(
                f"field {field!r} of {self.name} is {shown(value)}; allowed: {_NAMES[kind]}.", remedy=REWRITE
            )
        if kind is float and abs(value) > 1.7e308:
            raise FormatError(f"field {field!r} of {self.name} is too large for a number.", remedy=REWRITE)
        return float(value) if kind is float else value

    def inner(self, field: str) -> Fields:
        """The fields of an object in this one."""
        return Fields(self.read(field, dict), f"{field!r} of {self.name}")


#: The way out of a file whose content makes no sense though its checksum fits.
REWRITE = "Save it again with this version of askance."
#: The way out where something else is given than a file of reports.
NO_REPORTS = "Give a file as `askance randomize` writes it."


def require_fingerprint(channel: Described, stated: str | None, name: str) -> None:
    """Refuse a file whose reports came through other thresholds than the channel of its description has now."""
    if channel.fingerprint != stated:
        raise FormatError(
            f"{name} was collected through thresholds other than those this version gives the channel.",
            remedy="Read it with the version of askance that wrote it.",
        )
