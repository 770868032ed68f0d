"""Where a command may write, and what it may replace: never what it reads, nor what cannot be had again."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from askance.errors import InputError

#: Endings of pictures.
PICTURES = (".png", ".svg", ".pdf")
#: Ending of channels.
CHANNELS = (".toml",)


def require_writable(output: Path, flag: str, endings: Sequence[str] = ()) -> None:
    """Refuse, before any work is done, a place where nothing can be written, or another ending than the known ones.

    Args:
        output: where the file goes.
        flag: how it was given, as in "--plot".
        endings: that its name may have, such as (".png",); none for any.
    """
    if output.is_dir():
        example = f"plan{endings[0]}" if endings else "a file in it"
        raise InputError(f"{flag} {output} is a folder; allowed: a file.", remedy=f"Name {example}, say.")
    if endings and output.suffix.lower() not in endings:
        raise InputError(
            f"{flag} is {output}; allowed: a name that ends in {' or '.join(endings)}.",
            remedy=f"Write {flag} {output.name.strip('.') or 'plan'}{endings[0]}.",
        )
    folder = output.parent
    if not folder.is_dir():
        raise InputError(f"{flag} {output}: there is no folder {folder}.", remedy="Make it first, or choose another.")
    if not os.access(folder, os.W_OK) or (output.exists() and not os.access(output, os.W_OK)):
        raise InputError(f"{flag} {output}: nothing may be written there.", remedy="Choose a place where you may.")


def refuse_replacing(output: Path) -> None:
    """Reports cannot be had again without asking, and spending, again: a file of them is never replaced."""
    from askance.formats.report_schema import kind_of_file

    if output.is_file() and kind_of_file(output) != "other":
        raise InputError(
            f"{output} is there already, with reports; asking again for them would spend the level again.",
            remedy="Give the new reports another name, or move the old ones away.",
        )


def refuse_inputs(output: Path, inputs: Sequence[Path]) -> None:
    """Refuse to replace what is read."""
    for path in inputs:
        if output.exists() and path.exists() and output.samefile(path):
            raise InputError(f"-o {output} is one of the inputs, which would be replaced.", remedy="Give another name.")


def refuse_other(output: Path, what: str) -> None:
    """Refuse to replace a file that is something else than a release (JSON) or a channel (TOML with a kind)."""
    if not output.is_file():
        return
    start = output.read_bytes()[:4096]
    known = b'"askance": "release/1"' in start or b'"askance": "pilot/1"' in start
    if known if what == "release" else start.startswith(b"kind ="):
        return
    raise InputError(
        f"{output} is there already, and is no {what}.", remedy=f"Give the {what} another name, or move the file away."
    )
