"""Command-line options of every channel, made from the registry."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import click

from askance.channels import registry
from askance.channels.registry import AnyChannel, ChannelEntry, Parameter, ParameterKind
from askance.cli.shared.errors import in_flags
from askance.cli.shared.options import option
from askance.errors import InputError

# Channels that are told one label of each respondent.
_OF_ANSWERS = [
    entry.kind
    for entry in registry.entries(None)
    if entry in registry.entries() or any(parameter.name == "outputs" for parameter in entry.parameters)
]
#: How groups of commands, one for each channel, are listed.
CHANNEL_SECTIONS = {
    "Channels for one answer of each respondent": _OF_ANSWERS,
    "Channels for records of numbers (statistics)": [
        entry.kind for entry in registry.entries(None) if entry.kind not in _OF_ANSWERS
    ],
    "Channels in files": ["file", "records", "release"],
}


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
        if not isinstance(value, str):
            return value
        try:
            return self.kind.read(value)
        except InputError as error:
            place = param.opts[0] if param is not None else self.name
            raise error.at(place) from None


def flag(name: str) -> str:
    """The flag of a parameter."""
    return "--" + name.replace("_", "-")


def as_text(value: Any) -> str:
    """A parameter's value as it is written behind a flag."""
    if isinstance(value, list):
        nested = any(isinstance(item, list) for item in value)
        return (";" if nested else ",").join(as_text(item) for item in value)
    return str(value)


def need(parameter: Parameter) -> str:
    """Whether a flag is required, and what it is otherwise."""
    if parameter.required:
        return "required"
    return "optional" if parameter.default is None else f"default {as_text(parameter.default)}"


def example_flags(entry: ChannelEntry) -> str:
    """The first example of a channel as it is typed."""

    def words() -> Iterator[str]:
        for name, value in entry.examples[0].items():
            text = as_text(value)
            yield f'{flag(name)} "{text}"' if re.search(r"[^\w./,-]", text) else f"{flag(name)} {text}"

    return " ".join(words())


def summary_of(entry: ChannelEntry) -> str:
    """What a channel does, and when to use it, as the help of a command."""
    return f"{entry.summary[0].upper()}{entry.summary[1:]}.\n\nUse it when {entry.use}."


def channel_options(entry: ChannelEntry) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add the flags of a channel to a command."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for parameter in reversed(entry.parameters):
            text = _help_of(parameter)
            option = click.option(flag(parameter.name), parameter.name, type=KindType(parameter.kind), help=text)
            command = option(command)
        return command

    return decorate


#: Which question a channel answers.
PURPOSE_OPTION: Callable[[Callable[..., Any]], Callable[..., Any]] = option(
    "--purpose NAME", "which question is answered: reports for different purposes do not mix"
)

#: Which question reports and states answer that do not say so.
PURPOSE_OF_UNNAMED_OPTION = option(
    "--purpose-of-unnamed NAME",
    "take reports and states without a purpose, as version 0.1 wrote them, to be for this one",
    default="",
)


def with_purpose(channel: AnyChannel, purpose: str | None) -> AnyChannel:
    """The channel for the purpose of --purpose; refused where its file names another."""
    if purpose is None:
        return channel
    if channel.purpose not in ("", purpose):
        raise InputError(
            f"--purpose is {purpose!r}; allowed: {channel.purpose!r}, which the channel has already.",
            remedy="Leave it out, or change the file of the channel.",
        )
    return channel.for_purpose(purpose)


def _help_of(parameter: Parameter) -> str:
    """What a flag means, how it is written where the placeholder does not say so, and whether it is needed."""
    choice = parameter.kind.syntax == parameter.kind.placeholder.replace("|", " or ")
    text = parameter.description if choice else f"{parameter.description}; {parameter.kind.syntax}"
    needed = need(parameter)
    return text if needed == "optional" else f"{text}  [{needed}]"


def build_from_flags(entry: ChannelEntry, given: dict[str, Any]) -> Any:
    """Build the channel; parameters are called by their flags in whatever is wrong."""
    for parameter in entry.parameters:
        if parameter.required and given.get(parameter.name) is None:
            raise InputError(
                f"{entry.kind} needs {flag(parameter.name)} ({parameter.description}).",
                remedy=f"Give it as {parameter.kind.syntax}; see `askance channels {entry.kind}`.",
            )
    flags = {name: flag(each.name) for each in entry.parameters for name in (each.name, each.symbol)}
    try:
        return entry.build(given)
    except InputError as error:
        raise in_flags(error, flags) from None
