"""What is read from files: texts that are parsed, fields of an object one by one, what they describe.

What is missing, unknown, of another type or no description is refused by the name of the file and the place in it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from askance._checks import did_you_mean, shown
from askance.channels.described import Described
from askance.channels.registry import AnyChannel, build_channel
from askance.errors import FormatError, IncompatibleEvidenceError, InputError
from askance.formats.disk import read_whole
from askance.formats.toml_file import read_toml

# Of a description, in bytes: room for the largest matrices, none for a device that never ends.
_LONGEST = 1 << 28
#: JSON types by the names that people use.
_NAMES = {dict: "an object", list: "a list", str: "a text", int: "a whole number", float: "a number", bool: "a boolean"}


def fields_of(path: str | Path, kind: Literal["JSON", "TOML"], remedy: str) -> Fields:
    """The fields of a file that people write."""
    if kind == "TOML":
        return Fields(read_toml(path, remedy)[1], str(path), remedy)
    data = read_whole(path, limit=_LONGEST)
    try:
        content = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:  # not UTF-8, not JSON, or nested without end
        raise FormatError(f"{path} is not JSON ({error}).", remedy=remedy) from None
    return Fields(content, str(path), remedy)


@contextmanager
def describing(name: object, what: str, remedy: str = "", also: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """What is refused inside is refused as what a file says.

    Args:
        name: the file.
        what: that it should describe.
        remedy: in place of that of the refusal; needed for `also`.
        also: errors of Python that mean that something is wrong or missing.
    """
    try:
        yield
    except (InputError, IncompatibleEvidenceError) as error:
        raise FormatError(f"{name} does not describe {what}: {error.message}", remedy=remedy or error.remedy) from None
    except also as error:
        reason = f"{error!r} is wrong or missing."
        raise FormatError(f"{name} does not describe {what}: {reason}", remedy=remedy) from None


class Fields:
    """The fields of a JSON object in a file.

    Args:
        content: the object.
        name: the file, or the place in it, for errors.
        remedy: the way out.
    """

    def __init__(self, content: Any, name: str, remedy: str = "") -> None:
        self.name, self.remedy = name, remedy or REWRITE
        if not isinstance(content, dict):
            raise FormatError(f"{name} is {shown(content)}; allowed: an object.", remedy=self.remedy)
        self.content: dict[str, Any] = content

    def only(self, known: Sequence[str]) -> Fields:
        """Refuse other fields than these."""
        unknown = [field for field in self.content if field not in known]
        if unknown:
            allowed = f"has {shown(unknown[0])}; allowed: {', '.join(known)}."
            remedy = did_you_mean(unknown[0], known, "Take it out, or correct its name.")
            raise FormatError(f"{self.name} {allowed}", remedy=remedy)
        return self

    def format(self, known: Sequence[str], remedy: str = "Use the version of askance that wrote it.") -> str:
        """The format of the file, which is one of these."""
        version: str = self.read("askance", str)
        if version not in known:
            allowed = f"has format {shown(version)}; allowed: {' or '.join(map(repr, known))}."
            raise FormatError(f"{self.name} {allowed}", remedy=remedy)
        return version

    def read(self, field: str, kind: type, *, optional: bool = False) -> Any:
        """The value of a field, of that JSON type; None passes where it is optional."""
        if field not in self.content:
            raise FormatError(f"{self.name} has no field {field!r}.", remedy=self.remedy)
        value: Any = self.content[field]
        if optional and value is None:
            return None
        fits = isinstance(value, (int, float) if kind is float else kind)
        if not fits or (isinstance(value, bool) and kind is not bool):
            raise FormatError(
                f"field {field!r} of {self.name} is {shown(value)}; allowed: {_NAMES[kind]}.", remedy=REWRITE
            )
        if kind is float and abs(value) > 1.7e308:
            raise FormatError(f"field {field!r} of {self.name} is too large for a number.", remedy=self.remedy)
        return float(value) if kind is float else value

    def inner(self, field: str) -> Fields:
        """The fields of an object in this one."""
        return Fields(self.read(field, dict), f"{field!r} of {self.name}")


#: The way out of a file whose content makes no sense though its checksum fits.
REWRITE = "Save it again with this version of askance."
#: The way out where something else is given than a file of reports.
NO_REPORTS = "Give a file as `askance randomize` writes it."


def channel_of(specification: Mapping[str, Any]) -> AnyChannel:
    """The channel that a file describes; built once for all files that describe it in the same words."""
    return _built(json.dumps(specification))


@lru_cache(maxsize=4)
def _built(specification: str) -> AnyChannel:
    return build_channel(json.loads(specification))


def require_fingerprint(channel: Described, stated: str | None, name: str) -> None:
    """Refuse a file whose reports came through other thresholds than the channel of its description has now."""
    if channel.fingerprint != stated:
        raise FormatError(
            f"{name} was collected through thresholds other than those this version gives the channel.",
            remedy="Read it with the version of askance that wrote it.",
        )
