"""A set of digests in one array, with open addressing: the first 80 of their 128 bits are compared.

A slot is five numbers of 16 bits, the first four of which are one word; all are 0 where it is empty. Where a digest is
looked for first depends on a secret number, so that nobody who knows how digests are made can choose texts that all go
to the same place. Digests stand in the order of these places, nearly: a larger array is filled from its beginning to
its end. An array may have any size up to 2³² slots.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from askance._kernels.compiler import compiled
from askance._kernels.splitmix import mix

_0, _16, _32, _48 = map(np.uint64, (0, 16, 32, 48))


@compiled
def _place(first: Any, secret: Any, size: Any) -> Any:
    """Where a digest is looked for first: the upper half of a hash, as a share of all slots."""
    return ((mix(first ^ secret) >> _32) * size) >> _32


@compiled
def _word(slot: Any) -> Any:
    """The first word of the digest in a slot."""
    return np.uint64(slot[0]) | np.uint64(slot[1]) << _16 | np.uint64(slot[2]) << _32 | np.uint64(slot[3]) << _48


@compiled
def _put(slots: Any, place: Any, first: Any, second: Any) -> Any:
    """Put a digest where it belongs, from that place on; whether it was not there yet."""
    while True:
        slot = slots[place]
        word = _word(slot)
        if word == first and slot[4] == second:
            return False
        if word == _0 and slot[4] == 0:
            for k in range(4):
                slot[k] = np.uint16(first >> np.uint64(16 * k))
            slot[4] = second
            return True
        place += 1
        if place == len(slots):
            place = 0


@compiled
def insert(slots: Any, secret: Any, digests: Any, repeated: Any) -> Any:
    """Put digests (n, 2) into slots (size, 5), mark those that are there already; the number of the others.

    Digests whose first 80 bits are 0 are nothing, and are left out.

    >>> slots, digests = np.zeros((4, 5), dtype=np.uint16), np.array([[1, 2], [0, 0], [1, 2]], dtype=np.uint64)
    >>> repeated = np.zeros(3, dtype=bool)
    >>> insert(slots, np.uint64(5), digests, repeated), repeated
    (1, array([False, False,  True]))
    """
    size, fresh = np.uint64(len(slots)), 0
    for i in range(len(digests)):
        first, second = digests[i, 0], np.uint16(digests[i, 1] & np.uint64(0xFFFF))
        if first == _0 and second == 0:
            continue
        if _put(slots, np.int64(_place(first, secret, size)), first, second):
            fresh += 1
        else:
            repeated[i] = True
    return fresh


@compiled
def move(slots: Any, secret: Any, larger: Any) -> None:
    """Put what is in slots (size, 5) into others, which are empty and more.

    >>> slots, larger = np.zeros((4, 5), dtype=np.uint16), np.zeros((9, 5), dtype=np.uint16)
    >>> digests, repeated = np.array([[1, 2], [3, 4]], dtype=np.uint64), np.zeros(2, dtype=bool)
    >>> insert(slots, np.uint64(5), digests, repeated)
    2
    >>> move(slots, np.uint64(5), larger)
    >>> insert(larger, np.uint64(5), digests, repeated), repeated
    (0, array([ True,  True]))
    """
    size = np.uint64(len(larger))
    for i in range(len(slots)):
        slot = slots[i]
        word = _word(slot)
        if word != _0 or slot[4] != 0:
            _put(larger, np.int64(_place(word, secret, size)), word, slot[4])
