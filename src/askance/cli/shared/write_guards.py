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
}


class OutputFile(click.Path):
    """Where a file goes. Commands refuse a place that will not do before they do anything: see `check_places`.

    Args:
        what: is written. A "state", "fit", "tagger", "release", "file of regions" or "channel" replaces its own kind
            only, a "text" whatever askance does not need, a "picture" anything.
        endings: that its name may have, such as (".png",); none for any.
        unless: why nothing at all is replaced, where what is written cannot be had again.
        updates: whether it may be one of the inputs.
    """

    def __init__(self, what: str, *endings: str, unless: str = "", updates: bool = False) -> None:
        super().__init__(path_type=Path)
        self.what, self.endings, self.unless, self.updates = what, endings, unless, updates

    def check(self, output: Path, flag: str, inputs: Sequence[Path]) -> None:
        """Refuse a place where it cannot be written, or would replace what is read or needed."""
        require_writable(output, flag, self.endings)
        if not self.updates:
            refuse_inputs(output, inputs, flag)
        if self.unless:
            refuse_replacing(output, self.unless, flag)
        elif self.what in _KINDS:
            refuse_other(output, self.what, flag)
        elif self.what == "text":
            _refuse_precious(output, flag)


#: A picture.
PICTURE = OutputFile("picture", ".png", ".svg", ".pdf")
#: A channel that devices read.
CHANNEL = OutputFile("channel", ".toml")


def check_places(context: click.Context) -> None:
    """Refuse places of a command where files cannot go, and one place for two of them."""
    files = [
        (param, path) for param in context.command.params for path in _as_paths(context.params.get(str(param.name)))
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


def _as_paths(value: object) -> list[Path]:
    return [path for path in (value if isinstance(value, tuple) else (value,)) if isinstance(path, Path)]


def require_writable(output: Path, flag: str, endings: Sequence[str] = ()) -> None:
    """Refuse, before any work is done, a place where nothing can be written, or another ending than the known ones.

    Args:
        output: where the file goes.
        flag: how it was given, as in "--plot".
        endings: that its name may have, such as (".png",); none for any.
    """
    if output.is_dir():
        example = output / f"new{endings[0] if endings else '.askance'}"
        raise InputError(f"{flag} {output} is a folder; allowed: a file.", remedy=f"Name a file in it: {example}, say.")
    if output.exists() and not output.is_file():
        raise InputError(
            f"{flag} {output} is no regular file; allowed: a file, which appears when it is whole.",
            remedy="Name a new file; a pipe or device can be given it afterwards.",
        )
    name = output.name.lower()
    if endings and not any(name.endswith(ending) and name != ending for ending in endings):
        raise InputError(
            f"{flag} is {output}; allowed: a name that ends in {' or '.join(endings)}.",
            remedy=f"Write {flag} {output.stem.strip('.') or 'new'}{endings[0]}.",
        )
    folder = output.parent
    if not folder.is_dir():
        raise InputError(f"{flag} {output}: there is no folder {folder}.", remedy="Make it first, or choose another.")
    if not os.access(folder, os.W_OK) or (output.exists() and not os.access(output, os.W_OK)):
        raise InputError(f"{flag} {output}: nothing may be written there.", remedy="Choose a place where you may.")


def refuse_inputs(output: Path, inputs: Sequence[Path], flag: str = "-o") -> None:
    """Refuse to replace what is read."""
    for path in inputs:
        if output.exists() and path.exists() and output.samefile(path):
            raise InputError(
                f"{flag} {output} is one of the inputs, which would be replaced.", remedy="Give another name."
            )


def refuse_other(output: Path, what: str, flag: str = "-o") -> None:
    """Refuse to replace a file by one of another kind; what is empty may be replaced.

    Args:
        output: where the file goes.
        what: is written: "state", "fit", "tagger", "release", "file of regions" or "channel".
        flag: how it was given.
    """
    if not _holds_something(output):
        return
    kind = _format_within(output)
    if kind in _KINDS[what]:
        return
    _refuse_reports(output, flag)
    raise InputError(
        f"{flag} {output} is there already, and is no {what}.",
        remedy=f"Give the {what} another name, or move the file away.",
    )


def _refuse_precious(output: Path, flag: str) -> None:
    """Refuse to replace reports, and whatever else askance needs: text that anybody writes may be replaced."""
    if not _holds_something(output):
        return
    _refuse_reports(output, flag)
    kind = _format_within(output)
    if kind:
        raise InputError(
            f"{flag} {output} is there already, and is a {kind} file of askance.",
            remedy="Give another name, or move the file away.",
        )


def refuse_replacing(output: Path, why: str, flag: str = "-o") -> None:
    """Refuse to replace anything: what is written cannot be told from what may be there, or not be had again.

    Args:
        output: where the file goes.
        why: in words, after the reason that something is there.
        flag: how it was given.
    """
    if not _holds_something(output):
        return
    _refuse_reports(output, flag)
    raise InputError(f"{flag} {output} is there already; {why}.", remedy="Give another name, or move the file away.")


def _refuse_reports(output: Path, flag: str) -> None:
    """Reports cannot be had again without asking, and spending, again: a file of them is never replaced."""
    if _beginning(output)[1] != "other":
        raise InputError(
            f"{flag} {output} is there already, a file of reports; asking for them again would spend the level again.",
            remedy="Give another name, or move the reports away.",
        )


def _holds_something(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0


def _format_within(path: Path) -> str:
    """The format that a file begins with, perhaps compressed, such as "tally"; "" where it is none of askance's."""
    start, _ = _beginning(path)
    found = _FORMAT.match(start)
    return found[1].decode() if found else "channel" if _CHANNEL.match(start) else ""


def _beginning(path: Path) -> tuple[bytes, str]:
    """The first bytes of a file, unpacked, and the kind of reports they are of, or "other"; packing may be damaged."""
    from askance.formats.disk import PackedError, opened
    from askance.formats.report_schema import kind_of

    try:
        with opened(path) as file:
            return file.peek(256)[:256], kind_of(file)
    except PackedError:
        return b"", "other"
