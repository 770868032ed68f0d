"""Where a command may write, and what it may replace: never what it reads, nor what cannot be had again."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

import click

from askance.errors import InputError

# How files begin that askance writes: with the name of their format, or, channels, with their kind.
_FORMAT = re.compile(rb'\s*\{\s*"askance":\s*"([a-z]+)/')
_CHANNEL = re.compile(rb"kind = ")
# What is written, and the formats it may have.
_KINDS = {
    "state": ("tally", "statistics"),
    "fit": ("fit", "field"),
    "tagger": ("tagger",),
    "release": ("release", "pilot"),
    "file of regions": ("regions",),
    "channel": ("channel",),
    "file of vectors": ("vectors",),
}


class OutputFile(click.Path):
    """Where a file goes. Commands refuse a place that will not do before they do anything: see `check_places`.

    Args:
        what: is written. What `_KINDS` lists, such as a "state", a "fit" or a "channel", replaces its own kind only, a
            "text" whatever askance does not need, anything else anything.
        endings: that its name may have, such as (".png",); none for any.
        unless: why nothing at all is replaced, where what is written cannot be told from what may be there, or not be
            had again.
        updates: whether it may be one of the inputs.
    """

    def __init__(self, what: str, *endings: str, unless: str = "", updates: bool = False) -> None:
        super().__init__(path_type=Path)
        self.what, self.endings, self.unless, self.updates = what, endings, unless, updates

    def check(self, output: Path, flag: str = "-o", inputs: Sequence[Path] = ()) -> None:
        """Refuse a place where it cannot be written, or would replace what is read or needed."""
        self.require_place(output, flag)
        if not self.updates and any(path.exists() and output.exists() and output.samefile(path) for path in inputs):
            raise InputError(
                f"{flag} {output} is one of the inputs, which would be replaced.", remedy="Give another name."
            )
        guarded = self.unless or self.what in _KINDS or self.what == "text"
        if not guarded or not output.is_file() or output.stat().st_size == 0:
            return
        kind, is_reports = _kind_within(output)
        if not self.unless and kind in _KINDS.get(self.what, ()):
            return
        remedy = "Give another name, or move the file away."
        if is_reports:  # where they were collected from, nothing can be had again without spending again
            why, remedy = (
                ", a file of reports; where it is the only one, asking again would spend the level again",
                "Give another name, or move the reports away.",
            )
        elif self.unless:
            why = f"; {self.unless}"
        elif self.what in _KINDS:
            why, remedy = f", and is no {self.what}", f"Give the {self.what} another name, or move the file away."
        elif kind:
            why = f", and is a {kind} file of askance"
        else:  # text that anybody writes
            return
        raise InputError(f"{flag} {output} is there already{why}.", remedy=remedy)

    def require_place(self, output: Path, flag: str = "-o") -> None:
        """Refuse a place where nothing can be written, or another ending than the known ones."""
        if output.is_dir():
            example = output / f"new{self.endings[0] if self.endings else '.askance'}"
            raise InputError(
                f"{flag} {output} is a folder; allowed: a file.", remedy=f"Name a file in it: {example}, say."
            )
        if output.exists() and not output.is_file():
            raise InputError(
                f"{flag} {output} is no regular file; allowed: a file, which appears when it is whole.",
                remedy="Name a new file; a pipe or device can be given it afterwards.",
            )
        name = output.name.lower()
        if self.endings and not any(name.endswith(ending) and name != ending for ending in self.endings):
            raise InputError(
                f"{flag} is {output}; allowed: a name that ends in {' or '.join(self.endings)}.",
                remedy=f"Write {flag} {output.stem.strip('.') or 'new'}{self.endings[0]}.",
            )
        if not output.parent.is_dir():
            raise InputError(
                f"{flag} {output}: there is no folder {output.parent}.", remedy="Make it first, or choose another."
            )
        if not os.access(output.parent, os.W_OK) or (output.exists() and not os.access(output, os.W_OK)):
            raise InputError(f"{flag} {output}: nothing may be written there.", remedy="Choose a place where you may.")


#: A picture.
PICTURE = OutputFile("picture", ".png", ".svg", ".pdf")
#: A channel that devices read.
CHANNEL = OutputFile("channel", ".toml")


def check_places(context: click.Context) -> None:
    """Refuse places of a command where files cannot go, and one place for two of them."""
    files = [
        (param, path) for param in context.command.params for path in _paths_in(context.params.get(str(param.name)))
    ]
    inputs = [path for param, path in files if not isinstance(param.type, OutputFile)]
    taken: dict[Path, str] = {}
    for param, path in files:
        if isinstance(param.type, OutputFile):
            flag = param.opts[0]
            param.type.check(path, flag, inputs)
            other = taken.setdefault(path.resolve(), flag)
            if other != flag:  # the second file would replace the first
                raise InputError(
                    f"{other} and {flag} are both {path}; allowed: different files.",
                    remedy=f"Give {flag} another name.",
                )


def _paths_in(value: object) -> list[Path]:
    return [path for path in (value if isinstance(value, tuple) else (value,)) if isinstance(path, Path)]


def _kind_within(path: Path) -> tuple[str, bool]:
    """The format that a file begins with, perhaps compressed, such as "tally"; "" where it is none of askance's.

    And whether it is one of reports. What is packed may be damaged, and is then neither.
    """
    from askance.formats.disk import PackedError, opened
    from askance.formats.report_schema import kind_of

    try:
        with opened(path) as file:
            start, is_reports = file.peek(256)[:256], kind_of(file) != "other"
    except PackedError:
        return "", False
    named = _FORMAT.match(start)
    return named[1].decode() if named else "channel" if _CHANNEL.match(start) else "", is_reports
