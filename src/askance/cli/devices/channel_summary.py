"""A channel and its level, as commands print them."""

from __future__ import annotations

import math
from typing import Any

from askance.channels.registry import AnyChannel
from askance.cli.devices.channel_options import as_text

# Characters of a channel's parameters in a table.
_LONGEST = 160


def shown_level(level: float) -> str:
    """A privacy level, for people."""
    return f"{level:.10g}" if math.isfinite(level) else "unbounded"


def channel_as_json(channel: AnyChannel) -> dict[str, Any]:
    """Channel and level, for programs; a level that is not bounded is null."""
    level = channel.privacy_level
    return {
        "channel": channel.specification(),
        "fingerprint": channel.fingerprint,
        "privacy_level": level if math.isfinite(level) else None,
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
