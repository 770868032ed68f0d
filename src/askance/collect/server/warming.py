"""What makes a server quick: what is compiled when it is first used is used before; cycles are looked for rarely."""

from __future__ import annotations

import gc
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

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


# New objects after which Python looks for cycles among them; a group of entries has some ten thousand.
_NEW_OBJECTS = 200_000


@contextmanager
def few_collections() -> Iterator[None]:
    """Let Python look for cycles less often.

    Entries come and go by the thousand and are in no cycle; looking at them took a third of the time.

    >>> before = gc.get_threshold()
    >>> with few_collections():
    ...     gc.get_threshold()[0]
    200000
    >>> gc.get_threshold() == before
    True
    """
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
