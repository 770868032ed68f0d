"""Channels as TOML: `kind = "forced-response"` and its parameters."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from askance.channels.finite import FiniteChannel
from askance.channels.registry import AnyChannel, build_channel
from askance.errors import FormatError, InputError
from askance.formats.disk import read_whole

# Of a file, in bytes: room for the largest matrices, none for a device that never ends.
_LONGEST = 1 << 30


def read_channel(path: str | Path) -> AnyChannel:
    """Build the channel described in a TOML file."""
    data = read_whole(path, limit=_LONGEST)
    try:
        content = tomllib.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:  # not UTF-8, not TOML, or nested without end
        raise FormatError(
            f"{path} is not TOML ({error}).", remedy='Write, for example: kind = "warner" and question = "2/3".'
        ) from None
    try:
        return build_channel(content)
    except InputError as error:
        raise FormatError(f"{path} does not describe a channel: {error.message}", remedy=error.remedy) from None


def read_answer_channel(path: str | Path) -> FiniteChannel:
    """`read_channel` where only a channel on answers will do."""
    channel = read_channel(path)
    if not isinstance(channel, FiniteChannel):
        raise FormatError(
            f"{path} describes {channel.kind}, which noises statistics, not answers.",
            remedy="Give a channel on answers; `askance channels` lists them.",
        )
    return channel


def channel_to_toml(channel: AnyChannel) -> str:
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
