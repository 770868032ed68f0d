"""Channels as TOML: `kind = "forced-response"` and its parameters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from askance.channels.described import Described
from askance.channels.finite import FiniteChannel
from askance.channels.registry import AnyChannel, build_channel
from askance.errors import FormatError
from askance.formats.fields import describing, fields_of


def read_channel(path: str | Path) -> AnyChannel:
    """Build the channel described in a TOML file."""
    fields = fields_of(path, "TOML", 'Write, for example: kind = "warner" and question = "2/3".')
    with describing(path, "a channel"):
        return build_channel(fields.content)


def read_answer_channel(path: str | Path) -> FiniteChannel:
    """`read_channel` where only a channel on answers will do."""
    channel = read_channel(path)
    if not isinstance(channel, FiniteChannel):
        raise FormatError(
            f"{path} describes {channel.kind}, which noises statistics, not answers.",
            remedy="Give a channel on answers; `askance channels` lists them.",
        )
    return channel


def channel_to_toml(channel: Described) -> str:
    """The TOML file that builds this channel again.

    >>> from askance import ForcedResponse
    >>> print(channel_to_toml(ForcedResponse("2/3", "1/6")))
    kind = "forced-response"
    truth = "2/3"
    yes = "1/6"
    no = "1/6"
    outputs = ["no", "yes"]
    """
    return "\n".join(f"{name} = {_as_toml(value)}" for name, value in channel.specification().items())


def _as_toml(value: Any) -> str:
    """JSON's texts, numbers, booleans and lists are written the same way in TOML, but TOML wants DEL escaped."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).replace("\x7f", "\\u007f")
