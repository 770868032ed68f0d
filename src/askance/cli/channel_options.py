"""Command-line options of every channel, made from the registry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from askance.channels.registry import ChannelEntry, ParameterKind
from askance.errors import InputError


class KindType(click.ParamType[Any]):
    """Reads the text of one parameter."""

    def __init__(self, kind: ParameterKind) -> None:
        self.kind = kind
        self.name = kind.name

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """What stands behind the flag in the help."""
        return self.kind.placeholder

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the text; lists given as defaults pass."""
        return self.kind.read(value) if isinstance(value, str) else value


def flag(name: str) -> str:
    """The flag of a parameter."""
    return "--" + name.replace("_", "-")


def channel_options(entry: ChannelEntry) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add the flags of a channel to a command."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for parameter in reversed(entry.parameters):
            text = f"{parameter.description} [{parameter.kind.syntax}]"
            if parameter.required:
                text += "  (required)"
            option = click.option(flag(parameter.name), parameter.name, type=KindType(parameter.kind), help=text)
            command = option(command)
        return command

    return decorate


def build_from_flags(entry: ChannelEntry, given: dict[str, Any]) -> Any:
    """Build the channel; a missing parameter is reported as the flag to add."""
    for parameter in entry.parameters:
        if parameter.required and given.get(parameter.name) is None:
            raise InputError(
                f"{entry.kind} needs {flag(parameter.name)} ({parameter.description}).",
                remedy=f"Give it as {parameter.kind.syntax}; see `askance channels {entry.kind}`.",
            )
    return entry.build(given)
