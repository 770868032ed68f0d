"""What a device in another language needs of a channel (`device/1`, docs/device.md): plain JSON, no number rounded."""

from __future__ import annotations

from typing import Any

from askance.channels.registry import AnyChannel
from askance.errors import InputError

#: The mapping from random words to reports that devices have in common, by its version.
DEVICE_FORMAT = "device/1"


def in_text(thresholds: Any) -> Any:
    """The same with whole numbers as texts: readers of JSON in other languages round numbers above 2⁵³.

    >>> in_text({"keep": 2**60 + 1, "base": [1, 2]})
    {'keep': '1152921504606846977', 'base': ['1', '2']}
    """
    if isinstance(thresholds, dict):
        return {name: in_text(value) for name, value in thresholds.items()}
    if isinstance(thresholds, list):
        return [in_text(value) for value in thresholds]
    return str(thresholds) if type(thresholds) is int else thresholds


def device_description(channel: AnyChannel) -> dict[str, Any]:
    """A channel as `askance-device.js`, or a port of it, takes it: plain JSON values, thresholds over 2⁶² as texts.

    `mapping` says how words become a report: "columns" or "reveal" (answers), "bits" (per-value), "subset",
    "coordinate" or "clique". What is needed to read a truth and the `thresholds` follow; docs/device.md has them all.

    >>> from askance import RandomizedResponse
    >>> described = device_description(RandomizedResponse("1/2", outputs=["no", "yes"]))
    >>> described["format"], described["mapping"], described["outputs"], described["thresholds"]["reveal"]
    ('device/1', 'reveal', ['no', 'yes'], '2305843009213693952')
    """
    if not channel.device_mapping:
        raise InputError(
            f"{channel.kind} has no mapping in {DEVICE_FORMAT}; allowed: channels that people can be asked through by "
            "whole numbers alone.",
            remedy="Noise with randomize_one, in Python; docs/device.md lists the channels that have one.",
        )
    named = {"purpose": channel.purpose} if channel.purpose else {}
    return {
        "format": DEVICE_FORMAT,
        "kind": channel.kind,
        "mapping": channel.device_mapping,
        "fingerprint": channel.fingerprint,
        **named,
        **channel.device_truth(),
        "thresholds": in_text(channel.thresholds()),
    }
