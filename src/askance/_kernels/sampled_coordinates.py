"""Drawing k of d coordinates without replacement, every set of k equally likely, exactly.

**Whole numbers below a bound.** Half a random word h (32 bits) gives r = ⌊h · bound / 2³²⌋. Every r has 2³²/bound such
h, rounded up or down; those whose product has a remainder below 2³² mod bound are drawn again, and what is left is
exactly uniform (Lemire 2019).

**Sets.** Floyd's method: for j = d − k, …, d − 1 draw r from 0 … j and take it, or j if r is taken already. Every set
is equally likely, and k numbers are drawn. Sets are written in increasing order, so that the order says nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from askance._arrays import AnyArray, WordArray
from askance._kernels.compiler import compiled

_HALF = 32
_LOW = np.uint64(2**_HALF - 1)
_U32 = np.uint64(_HALF)
# Halves drawn again are rare: this many words more than the least are nearly always enough.
_SPARE = 8


def bounds_for(dimension: int, size: int) -> tuple[WordArray, WordArray]:
    """The bounds of the numbers that are drawn for one set, and the remainders below which they are drawn again."""
    bounds = range(dimension - size + 1, dimension + 1)
    return np.array(bounds, dtype=np.uint64), np.array([2**_HALF % b for b in bounds], dtype=np.uint64)


def most_words(sets: int, size: int) -> int:
    """A number of random words that is nearly always enough for that many sets."""
    return -(-sets * size // 2) + _SPARE


@compiled
def pick(bounds: Any, remainders: Any, words: Any, start: Any, out: Any) -> int:
    """Draw sets `start`, … of `out` (n, k) while random words last; returns the first one not done.

    How many halves are drawn again does not depend on the numbers drawn, so that a set begun anew is as uniform.
    """
    sets, size = out.shape
    used = 0
    for i in range(start, sets):
        chosen = out[i]
        for place in range(size):
            bound, again = bounds[place], remainders[place]
            while True:
                if used >= 2 * words.size:
                    return int(i)
                word = words[used >> 1]
                product = ((word >> _U32) if used & 1 else (word & _LOW)) * bound
                used += 1
                if (product & _LOW) >= again:
                    break
            drawn = np.int64(product >> _U32)
            # Where it goes among those before it, which are in order.
            at = place
            while at > 0 and chosen[at - 1] > drawn:
                at -= 1
            if at > 0 and chosen[at - 1] == drawn:
                at, drawn = place, np.int64(bound) - 1  # larger than all before it
            for later in range(place, at, -1):
                chosen[later] = chosen[later - 1]
            chosen[at] = drawn
    return int(sets)


def pick_plain(bounds: WordArray, remainders: WordArray, words: WordArray, start: int, out: AnyArray) -> int:
    """The same sets as the compiled loop, by Python integers."""
    halves = [half for word in words.tolist() for half in (word & (2**_HALF - 1), word >> _HALF)]
    rules = list(zip(bounds.tolist(), remainders.tolist(), strict=True))
    used = 0
    for i in range(start, len(out)):
        chosen: set[int] = set()
        for bound, again in rules:
            product = -1
            while product < 0 or product % 2**_HALF < again:
                if used == len(halves):
                    return i
                product = halves[used] * bound
                used += 1
            drawn = product >> _HALF
            chosen.add(bound - 1 if drawn in chosen else drawn)
        out[i] = sorted(chosen)
    return len(out)
