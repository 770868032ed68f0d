"""SipHash-2-4 with 128 bits, under the key 00 01 … 0f of its authors' test vectors: digests of texts.

Texts are UTF-8 bytes end to end: text i is letters[bounds[i] : bounds[i + 1]].
"""

from __future__ import annotations

from typing import Any

import numpy as np

from askance._arrays import AnyArray, IntArray, WordArray
from askance._kernels.compiler import COMPILED_PAYS_FROM, compiled

# "somepseudorandomlygeneratedbytes" and the key, as the four words that a state begins with; 238 for 128 bits.
_V0 = np.uint64(0x736F6D6570736575 ^ 0x0706050403020100)
_V1 = np.uint64(0x646F72616E646F6D ^ 0x0F0E0D0C0B0A0908 ^ 238)
_V2 = np.uint64(0x6C7967656E657261 ^ 0x0706050403020100)
_V3 = np.uint64(0x7465646279746573 ^ 0x0F0E0D0C0B0A0908)
_FIRST_END, _SECOND_END = np.uint64(238), np.uint64(221)
_ONE, _13, _16, _17, _21, _32, _43 = map(np.uint64, (1, 13, 16, 17, 21, 32, 43))
_47, _48, _51, _56, _64 = map(np.uint64, (47, 48, 51, 56, 64))


@compiled
def _round(v0: Any, v1: Any, v2: Any, v3: Any) -> Any:
    """One round on four words, or on four arrays of them."""
    v0, v2 = v0 + v1, v2 + v3
    v1, v3 = ((v1 << _13) | (v1 >> _51)) ^ v0, ((v3 << _16) | (v3 >> _48)) ^ v2
    v0, v2 = ((v0 << _32) | (v0 >> _32)) + v3, v2 + v1
    v1, v3 = ((v1 << _17) | (v1 >> _47)) ^ v2, ((v3 << _21) | (v3 >> _43)) ^ v0
    return v0, v1, (v2 << _32) | (v2 >> _32), v3


@compiled
def _digest_texts(words: Any, bounds: Any, digests: Any) -> None:
    """Words hold the letters, eight each, and one more than they need."""
    for i in range(len(bounds) - 1):
        start, length = bounds[i], bounds[i + 1] - bounds[i]
        first, whole, shift = start >> 3, length >> 3, np.uint64(8 * (start & 7))
        v0, v1, v2, v3 = _V0, _V1, _V2, _V3
        here = words[first]
        for k in range(whole + 1):
            following = words[first + k + 1]
            word = (here >> shift) | (following << (_64 - shift)) if shift else here
            here = following
            if k == whole:
                ones = (_ONE << np.uint64(8 * (length & 7))) - _ONE
                word = (word & ones) | (np.uint64(length & 255) << _56)
            v3 ^= word
            v0, v1, v2, v3 = _round(v0, v1, v2, v3)
            v0, v1, v2, v3 = _round(v0, v1, v2, v3)
            v0 ^= word
        v2 ^= _FIRST_END
        for _ in range(4):
            v0, v1, v2, v3 = _round(v0, v1, v2, v3)
        digests[i, 0] = v0 ^ v1 ^ v2 ^ v3
        v1 ^= _SECOND_END
        for _ in range(4):
            v0, v1, v2, v3 = _round(v0, v1, v2, v3)
        digests[i, 1] = v0 ^ v1 ^ v2 ^ v3


def _digest_of_length(texts: AnyArray) -> WordArray:
    """Digests of texts of one length, as bytes (n, length)."""
    n, length = texts.shape
    padded = np.zeros((n, length // 8 * 8 + 8), dtype=np.uint8)
    padded[:, :length] = texts
    padded[:, -1] = length & 255
    state = tuple(np.full(n, word) for word in (_V0, _V1, _V2, _V3))
    for word in padded.view("<u8").astype(np.uint64).T:
        v0, v1, v2, v3 = _round.plain(*_round.plain(*state[:3], state[3] ^ word))
        state = (v0 ^ word, v1, v2, v3)
    halves = []
    for place, end in ((2, _FIRST_END), (1, _SECOND_END)):
        state = tuple(words ^ end if i == place else words for i, words in enumerate(state))
        for _ in range(4):
            state = _round.plain(*state)
        halves.append(state[0] ^ state[1] ^ state[2] ^ state[3])
    return np.stack(halves, axis=1)


def digests_of_texts(letters: AnyArray, bounds: IntArray) -> WordArray:
    """Digests of texts as two words each, shape (n, 2).

    >>> digests_of_texts(np.arange(15, dtype=np.uint8), np.array([0, 15])).astype("<u8").tobytes().hex()
    '5493e99933b0a8117e08ec0f97cfc3d9'
    """
    digests = np.empty((len(bounds) - 1, 2), dtype=np.uint64)
    if len(digests) >= COMPILED_PAYS_FROM:
        start, stop = bounds[0], bounds[-1]
        words = np.zeros((stop - start) // 8 + 2, dtype="<u8")
        words.view(np.uint8)[: stop - start] = letters[start:stop]
        _digest_texts(words.astype(np.uint64, copy=False), bounds - start, digests)
        return digests
    lengths = np.diff(bounds)
    for length in np.unique(lengths).tolist():
        rows = np.flatnonzero(lengths == length)
        digests[rows] = _digest_of_length(letters[bounds[rows][:, None] + np.arange(length)])
    return digests
