"""Where random words come from: a cryptographic source for people's answers, a seeded one for experiments.

The two never mix: `secure_words` takes no seed and cannot be made repeatable, `seeded_words` takes an explicit
generator and must not protect anybody.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from askance._arrays import WordArray

#: Gives that many fresh 64-bit words.
WordSource: TypeAlias = Callable[[int], WordArray]

# Below this many bytes asking the operating system is cheaper than keying a cipher.
_CIPHER_PAYS_FROM_BYTES = 4096


def secure_words(count: int) -> WordArray:
    """Uniform 64-bit words from a cryptographic source.

    Long runs come from AES-256 in counter mode under a key and counter drawn from the operating system for this very
    call. Nothing is kept between calls, so forked or threaded processes cannot share a stream.
    """
    size = 8 * count
    if size < _CIPHER_PAYS_FROM_BYTES:
        return np.frombuffer(os.urandom(size), dtype=np.uint64)
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    stream = Cipher(algorithms.AES(os.urandom(32)), modes.CTR(os.urandom(16))).encryptor()
    words = np.empty(count, dtype=np.uint64)
    stream.update_into(bytes(size), words.view(np.uint8).data)
    return words


def seeded_words(rng: np.random.Generator) -> WordSource:
    """Uniform 64-bit words from a seeded generator: for simulation and tests only."""

    def draw(count: int) -> WordArray:
        return rng.integers(0, 2**64, size=count, dtype=np.uint64)

    return draw
