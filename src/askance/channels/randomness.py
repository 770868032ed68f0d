"""Where random words come from: a cryptographic source for people's answers, a seeded one for experiments.

The two never mix: `secure_words` takes no seed and cannot be made repeatable, `seeded_words` takes an explicit
generator and must not protect anybody.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np

from askance._arrays import IntArray, WordArray
from askance._kernels.draw import DISCARDED_BITS, TOTAL

#: Gives that many fresh 64-bit words, in an array that the next call may overwrite.
WordSource: TypeAlias = Callable[[int], WordArray]

#: No call to a source asks for more words than this: they stay in the processor's cache.
LONGEST_DRAW = 1 << 14
_DISCARDED, _BELOW = np.int64(DISCARDED_BITS), np.int64(TOTAL - 1)
_ZEROS = memoryview(bytes(8 * LONGEST_DRAW))
# Below this many words asking the operating system is cheaper than keying a cipher.
_CIPHER_PAYS_FROM = 512


def whole_numbers(source: WordSource, count: int) -> IntArray:
    """Random whole numbers below 2⁶², one word for each: what thresholds are compared with."""
    return (source(count) >> np.uint64(DISCARDED_BITS)).astype(np.int64)


def secure_number() -> np.int64:
    """One whole number below 2⁶² from the operating system.

    >>> 0 <= int(secure_number()) < 2**62
    True
    """
    number: np.int64 = (np.frombuffer(os.urandom(8), np.int64)[0] >> _DISCARDED) & _BELOW  # the sign goes
    return number


def pieces(rows: int, words: int = 1) -> Iterator[slice]:
    """Rows in pieces for which a single draw suffices, where each row takes so many words.

    >>> [(piece.start, piece.stop) for piece in pieces(10_000, words=3)]
    [(0, 5461), (5461, 10000)]
    """
    step = max(LONGEST_DRAW // words, 1)
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))


def secure_words(total: int) -> WordSource:
    """A cryptographic source of uniform words, for a run of `total` of them.

    Long runs are the key stream of AES-256 in counter mode, under a key and counter drawn from the operating system
    for this very run. Nothing outlives the run, so forked or threaded processes cannot share a stream.
    """
    if total < _CIPHER_PAYS_FROM:
        return lambda count: np.frombuffer(os.urandom(8 * count), dtype=np.uint64)
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    stream = Cipher(algorithms.AES(os.urandom(32)), modes.CTR(os.urandom(16))).encryptor()
    words = np.empty(LONGEST_DRAW, dtype=np.uint64)
    target = words.view(np.uint8).data

    def draw(count: int) -> WordArray:
        stream.update_into(_ZEROS[: 8 * count], target[: 8 * count])
        return words[:count]

    return draw


def seeded_words(rng: np.random.Generator) -> WordSource:
    """A seeded source of uniform words: for simulation and tests only."""

    def draw(count: int) -> WordArray:
        return rng.integers(0, 2**64, size=count, dtype=np.uint64)

    return draw
