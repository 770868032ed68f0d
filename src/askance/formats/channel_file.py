"""Channels as TOML: `kind = "forced-response"` and its parameters."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

from askance.channels.finite import FiniteChannel
from askance.channels.registry import build_channel
from askance.errors import FormatError
from askance.formats.container import read_whole


def read_channel(path: str | Path) -> FiniteChannel:
    """Build the channel described in a TOML file."""
    data = read_whole(Path(path))
    try:
        content = tomllib.loads(data.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise FormatError(
            f"{path} is not TOML ({error}).", remedy='Write, for example: kind = "warner" and question = "2/3".'
        ) from None
    return build_channel(content)


def channel_to_toml(channel: FiniteChannel) -> str:
    """The TOML file that builds this channel again.

    >>> from askance import ForcedResponse
    >>> print(channel_to_toml(ForcedResponse("2/3", "1/6")))
    kind = "forced-response"
    truth = "2/3"
    yes = "1/6"
    no = "1/6"
    outputs = ["no", "yes"]
    """
    # JSON's texts, numbers, booleans and lists are written the same way in TOML.
    items = channel.specification().items()
    return "\n".join(f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in items)
