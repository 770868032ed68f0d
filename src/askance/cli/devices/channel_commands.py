"""Groups of commands that do one thing with any channel: a subcommand for each of the registry, and one for files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from askance.channels import registry
from askance.channels.registry import ChannelEntry
from askance.cli.devices.channel_options import (
    PURPOSE_OPTION,
    build_from_flags,
    channel_options,
    example_flags,
    summary_of,
    with_purpose,
)
from askance.cli.shared.guided import GuidedCommand, GuidedGroup
from askance.cli.shared.options import FILE, Decorator, options


class ChannelTask(NamedTuple):
    """What the subcommands of a group do with their channel.

    Attributes:
        run: does it, called with the channel and the values of `options`; what it returns is the exit code.
        options: the flags that all subcommands have beside those of their channel.
        file_help: the help of the subcommand for channels in files.
        file_examples: how that is called.
        needs: as for `GuidedCommand`.
        note: stands below what a channel does, in the help of its subcommand.
        section: what the options are listed under, and their names; below those of the channel without it.
        example: follows the flags of the channel in the example of its subcommand.
    """

    run: Callable[..., int | None]
    options: Sequence[Decorator]
    file_help: str
    file_examples: Sequence[str]
    needs: Mapping[str, Sequence[str]] | None = None
    note: str = ""
    section: tuple[str, Sequence[str]] | None = None
    example: str = ""


def add_channel_commands(group: GuidedGroup, task: ChannelTask) -> None:
    """Give a group its subcommands."""
    for entry in registry.entries(None):
        group.add_command(_of_entry(str(group.name), entry, task))
    group.add_command(_of_file(task))


def _of_entry(verb: str, entry: ChannelEntry, task: ChannelTask) -> click.Command:
    def command(purpose: str | None, **given: Any) -> int | None:
        flags = {parameter.name: given.pop(parameter.name) for parameter in entry.parameters}
        channel = with_purpose(build_from_flags(entry, flags), purpose)
        return task.run(channel, **given)

    return click.command(
        entry.kind,
        cls=GuidedCommand,
        help="\n\n".join(filter(None, [summary_of(entry), task.note])),
        short_help=entry.summary,
        sections={} if task.section is None else dict([task.section]),
        needs=task.needs,
        examples=[f"askance {verb} {entry.kind} {example_flags(entry)} {task.example}".rstrip()],
    )(channel_options(entry)(_decorated(command, task)))


def _of_file(task: ChannelTask) -> click.Command:
    def command(path: Path, purpose: str | None, **given: Any) -> int | None:
        from askance.formats import read_channel

        return task.run(with_purpose(read_channel(path), purpose), **given)

    return click.command(
        "file",
        cls=GuidedCommand,
        help=task.file_help,
        short_help="a channel described in a TOML file",
        needs=task.needs,
        examples=list(task.file_examples),
    )(click.argument("path", type=FILE)(_decorated(command, task)))


def _decorated(command: Callable[..., Any], task: ChannelTask) -> Callable[..., Any]:
    return options(PURPOSE_OPTION, *task.options)(command)
