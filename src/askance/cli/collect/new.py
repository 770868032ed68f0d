"""`askance collect new`: a campaign file to begin with."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import click

from askance.cli.shared.guided import command
from askance.cli.shared.options import JSON_SUMMARY, Choice, option
from askance.cli.shared.printing import Card, show
from askance.cli.shared.write_guards import OutputFile
from askance.errors import InputError

_TARGET = OutputFile("text", ".toml", unless="a campaign that answers may belong to is not replaced")


@command(
    "new",
    "Write a commented campaign file to begin with.",
    examples=["askance collect new survey -o exams.toml", "askance collect new counting --text news.txt -o nouns.toml"],
)
@click.argument("kind", type=Choice(["survey", "devices", "counting"]))
@option("--text FILE", "of a counting campaign: sentences, one in a line", click.Path(path_type=Path))
@option("-o, --output FILE", "the campaign, .toml; its name is that of the campaign", _TARGET, required=True)
@JSON_SUMMARY
def new_command(kind: str, text: Path | None, output: Path) -> None:
    """Write a file with every field that a campaign of this KIND has, each with what it means.

    The file works as it is: look at its page with --preview, which follows the file while you change it.
    """
    from askance.collect.start import start_of
    from askance.formats.disk import write_whole

    if (kind == "counting") != (text is not None):
        wrong = "is missing" if text is None else f"is given, and a campaign of {kind} has none"
        raise InputError(
            wrong, argument="text", remedy="Give the text in which is counted, of counting campaigns only."
        )
    below = None if text is None else os.path.relpath(text, output.parent)
    name = re.sub("[^a-z0-9]+", "-", output.stem.lower()).strip("-") or "campaign"
    write_whole(output, start_of(kind, name, below).encode())
    file = shlex.quote(str(output))
    rows = [("check it", f"askance collect check {file}"), ("see it", f"askance collect {file} --preview")]
    show(Card(f"campaign written to {output}", rows, {"output": str(output), "kind": kind}))
