"""How much and how often may be sent. Nothing of it is written down, and nothing of it is an address."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable

from starlette.requests import Request

from askance.collect.store import BusyError

#: Of a body, in bytes.
MOST_BYTES = 8 << 20
# Of a body that is taken whatever else is being sent, and of all bodies that are being sent beyond that.
_SMALL_BYTES, _ROOM_BYTES = 64 << 10, 256 << 20
# For a whole body: who sends slowly must not hold what others wait for.
_SECONDS = 120.0
# Connections that are remembered at once; the one that was quiet for longest is forgotten first.
_MOST_KEYS = 4096


class BodyTooLargeError(Exception):
    """More was sent than is taken at once."""


class TooOftenError(Exception):
    """One connection sends more requests than are taken."""


class Room:
    """Memory for bodies that are being sent.

    Args:
        left: bytes that there is room for.
    """

    def __init__(self, left: int = _ROOM_BYTES) -> None:
        self.left = left


class Rate:
    """A bucket of tries for every key, which fills up again over time.

    Args:
        per_second: tries that come back.
        at_once: tries of a full bucket.
        clock: seconds.

    >>> rate = Rate(1, at_once=2, clock=iter([0, 0, 0, 1]).__next__)
    >>> [rate.allows("a") for _ in range(4)]
    [True, True, False, True]
    """

    def __init__(self, per_second: float, at_once: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second, self._at_once, self._clock = per_second, at_once, clock
        self._left: OrderedDict[object, tuple[float, float]] = OrderedDict()

    def allows(self, key: object) -> bool:
        """Whether one more try of this key is allowed now; it counts if it is."""
        now = self._clock()
        left, since = self._left.pop(key, (self._at_once, now))
        left = min(self._at_once, left + (now - since) * self._per_second)
        allowed = left >= 1
        self._left[key] = (left - allowed, now)
        if len(self._left) > _MOST_KEYS:
            self._left.popitem(last=False)
        return allowed


def connection_of(request: Request) -> int:
    """A number for the connection of a request, good for as long as the process runs and for nothing else."""
    return hash(request.client)


async def body_of(request: Request, most: int = MOST_BYTES, room: Room | None = None) -> bytes:
    """The body of a request; no more of it is read than is taken.

    Raises:
        BodyTooLargeError: it is longer than `most`.
        BusyError: it is not small, and others that are being sent at the same time fill the room; or it comes slowly.
    """
    announced = request.headers.get("content-length", "0")
    if announced.isdecimal() and int(announced) > most:
        raise BodyTooLargeError
    pieces, size, held = [], 0, 0
    try:
        async with asyncio.timeout(_SECONDS):
            async for piece in request.stream():
                size += len(piece)
                if size > most:
                    raise BodyTooLargeError
                if room is not None and size > _SMALL_BYTES:
                    if room.left < len(piece):
                        raise BusyError("too much is being sent at once.", remedy="Send it again in a second.")
                    room.left -= len(piece)
                    held += len(piece)
                pieces.append(piece)
        return b"".join(pieces)
    except TimeoutError:
        raise BusyError(f"the body took {_SECONDS:g} seconds.", remedy="Send fewer lines at a time.") from None
    finally:
        if room is not None:
            room.left += held
