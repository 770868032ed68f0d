"""Groups of commands that do one thing with any channel: a subcommand for each of the registry, and one for files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from askance.channels import registry
from askance.channels.registry import ChannelEntry
from askance.cli.devices.channel_options import (
    build_from_flags,
    channel_options,
    example_flags,
    summary_of,
    with_purpose,
)
from askance.cli.shared.guided import GuidedGroup, command
from askance.cli.shared.options import FILE, Decorator, options, purpose_option


class ChannelTask(NamedTuple):
    """What the subcommands of a group do with their channel.

    Attributes:
        run: does it, called with the channel and the values of `options`; what it returns is the exit code.
        options: the flags that all subcommands have beside those of their channel.
        file_help: the help of the subcommand for channels in files.
        file_examples: what follows its file when it is called.
        needs: as for `GuidedCommand`.
        note: stands below what a channel does, in the help of its subcommand.
        section: what the options are listed under, and their names; below those of the channel without it.
        example: follows the flags of the channel in the example of its subcommand.
        fits: whether a channel of the registry gets a subcommand.
    """

    run: Callable[..., int | None]
    options: Sequence[Decorator]
    file_help: str
    file_examples: Sequence[str]
    needs: Mapping[str, Sequence[str]] | None = None
    note: str = ""
    section: tuple[str, Sequence[str]] | None = None
    example: str = ""
    fits: Callable[[ChannelEntry], bool] = lambda entry: True


def add_channel_commands(group: GuidedGroup, task: ChannelTask) -> None:
    """Give a group its subcommands."""
    shared = options(purpose_option(), *task.options)
    for entry in filter(task.fits, registry.entries(None)):
        group.add_command(_of_entry(str(group.name), entry, task, shared))

    @command(
        "file",
        "a channel described in a TOML file",
        help=task.file_help,
        needs=task.needs,
        examples=[f"askance {group.name} file my-channel.toml {rest}".rstrip() for rest in task.file_examples],
    )
    @click.argument("path", type=FILE)
    @shared
    def of_file(path: Path, purpose: str | None, **flags: Any) -> int | None:
        from askance.formats import read_channel

        return task.run(with_purpose(read_channel(path), purpose), **flags)

    group.add_command(of_file)


def _of_entry(verb: str, entry: ChannelEntry, task: ChannelTask, shared: Decorator) -> click.Command:
    @command(
        entry.kind,
        entry.summary,
        help="\n\n".join(filter(None, [summary_of(entry), task.note])),
        sections={} if task.section is None else dict([task.section]),
        needs=task.needs,
        examples=[f"askance {verb} {entry.kind} {example_flags(entry)} {task.example}".rstrip()],
    )
    @channel_options(entry)
    @shared
    def of_entry(purpose: str | None, **flags: Any) -> int | None:
        values = {parameter.name: flags.pop(parameter.name) for parameter in entry.parameters}
        return task.run(with_purpose(build_from_flags(entry, values), purpose), **flags)

    return of_entry
