"""A set of digests of 128 bits in one array, with open addressing.

A slot is two words, both 0 where it is empty. Where a digest is looked for first depends on a secret number, so that
nobody who knows how digests are made can choose texts that all go to the same place. Digests stand in the order of
these places, nearly: a larger array is filled from its beginning to its end.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from askance._kernels.compiler import compiled
from askance._kernels.splitmix import mix

_0, _1, _64 = np.uint64(0), np.uint64(1), np.uint64(64)


@compiled
def insert(slots: Any, secret: Any, digests: Any, repeated: Any) -> Any:
    """Put digests (n, 2) into slots (2^k, 2), mark those that are there already; the number of the others.

    Digests of two zeros are nothing, and are left out.

    >>> slots, digests = np.zeros((4, 2), dtype=np.uint64), np.array([[1, 2], [0, 0], [1, 2]], dtype=np.uint64)
    >>> repeated = np.zeros(3, dtype=bool)
    >>> insert(slots, np.uint64(5), digests, repeated), repeated
    (1, array([False, False,  True]))
    """
    last, shift, fresh = np.uint64(len(slots) - 1), _64, 0
    size = len(slots)
    while size > 1:
        size, shift = size >> 1, shift - _1
    for i in range(len(digests)):
        first, second = digests[i, 0], digests[i, 1]
        if first == _0 and second == _0:
            continue
        place = mix(first ^ secret) >> shift
        while True:
            if slots[place, 0] == first and slots[place, 1] == second:
                repeated[i] = True
                break
            if slots[place, 0] == _0 and slots[place, 1] == _0:
                slots[place, 0], slots[place, 1] = first, second
                fresh += 1
                break
            place = (place + _1) & last
    return fresh
