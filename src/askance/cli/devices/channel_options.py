"""Command-line options of every channel, made from the registry, and what is printed of one."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Any

from askance.channels import registry
from askance.channels.registry import AnyChannel, ChannelEntry, Parameter
from askance.cli.shared.errors import in_flags
from askance.cli.shared.options import Function, Read, option, options
from askance.errors import InputError

# Characters of a channel's parameters in a table.
_LONGEST = 160
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


def flag(name: str) -> str:
    """The flag of a parameter."""
    return "--" + name.replace("_", "-")


def as_text(value: Any) -> str:
    """A parameter's value as it is written behind a flag."""
    if isinstance(value, list | tuple):
        nested = any(isinstance(item, list) for item in value)
        return (";" if nested else ",").join(as_text(item) for item in value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def need(parameter: Parameter) -> str:
    """Whether a flag is required, and what it is otherwise."""
    if parameter.required:
        return "required"
    default = as_text(parameter.default)
    return "optional" if parameter.default is None or not default else f"default {default}"


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


def channel_options(entry: ChannelEntry) -> Callable[[Function], Function]:
    """Add the flags of a channel to a command."""
    return options(
        *(
            option(
                f"{flag(parameter.name)} {parameter.kind.placeholder}", _help_of(parameter), Read(parameter.kind.read)
            )
            for parameter in entry.parameters
        )
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
    meaning, _, otherwise = parameter.description.removesuffix(")").partition(" (default: ")
    meaning = meaning if otherwise else parameter.description
    text = meaning if choice else f"{meaning}; {parameter.kind.syntax}"
    if otherwise:
        return f"{text}  [default: {otherwise}]"
    needed = need(parameter).replace("default ", "default: ", 1)
    return text if needed == "optional" else f"{text}  [{needed}]"


def build_from_flags(entry: ChannelEntry, values: dict[str, Any]) -> Any:
    """Build the channel; parameters are called by their flags in whatever is wrong."""
    flags = {name: flag(known.name) for known in entry.parameters for name in (known.name, known.symbol)}
    try:
        return entry.build(values)
    except InputError as error:
        raise in_flags(error, flags) from None


def shown_level(level: float) -> str:
    """A privacy level, for people."""
    return f"{level:.10g}" if math.isfinite(level) else "unbounded"


def channel_as_json(channel: AnyChannel) -> dict[str, Any]:
    """Channel and level, for programs."""
    return {
        "channel": channel.specification(),
        "fingerprint": channel.fingerprint,
        "privacy_level": channel.privacy_level,
    }


def channel_rows(channel: AnyChannel) -> list[tuple[str, str]]:
    """Channel and level, for people."""
    parameters = ", ".join(f"{name} {as_text(value)}" for name, value in channel.parameters().items())
    cut = parameters if len(parameters) <= _LONGEST else f"{parameters[: _LONGEST - 1]}…"
    return [
        ("channel", f"{channel.kind}: {cut}"),
        *([("purpose", channel.purpose)] if channel.purpose else []),
        ("privacy level", shown_level(channel.privacy_level)),
    ]
