"""What is compiled or imported when it is first used, used once before the first request comes."""

from __future__ import annotations

import secrets

from askance.channels.finite import FiniteChannel
from askance.collect.collection import Collection
from askance.collect.store.entry import ID_BYTES
from askance.errors import InputError
from askance.formats.report_schema import report_line


def wake(collection: Collection) -> None:
    """Read one report of every question, so that no sender waits for the compiler."""
    if collection.campaign.kind != "devices":
        return
    for question in collection.campaign.questions:
        channel = question.channel
        assert channel is not None
        truth = channel.outputs.labels[0] if isinstance(channel, FiniteChannel) else [0] * channel.truth_width
        try:
            line = report_line(channel, truth, secrets.token_hex(ID_BYTES))
        except InputError:  # zeros are no truth of this channel: its first sender waits
            continue
        collection.devices.read(collection.devices.write(question.name, [line]), 0)
