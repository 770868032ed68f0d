"""Bits packed 64 to a word: noising them, and counting them by position.

Bit j of a row is bit j mod 64 of word j div 64; a row of d bits has ⌈d/64⌉ words, and bits beyond d are 0.

**Noising.** All 64 coins of a word are tossed at once. A coin of probability T/2⁶² compares a random number U of 62
bits with T, and the two differ for the first time at some bit. So bit planes are drawn one by one, from the highest:
where the random bit and the threshold's bit differ the coin is decided, and when all 64 are (after about 7 planes), the
word is done. The probability is T/2⁶² exactly, at the price of about 8 random words for 64 coins.

**Counting.** Sixteen words at a time go through carry-save adders, and what carries over is kept in bit planes as well,
so that a report costs a few operations per word, not one per bit.

The plain twins work on Python integers and give the same bits from the same words.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from askance._arrays import AnyArray, FloatArray, IntArray, WordArray
from askance._kernels.compiler import compiled
from askance._kernels.draw import DISCARDED_BITS, PRECISION_BITS

WORD = 64
_ALL = np.uint64(2**64 - 1)
_ONE = np.uint64(1)
_SHIFT = np.uint64(DISCARDED_BITS)
_PAIRS, _FOURS, _BYTES = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333), np.uint64(0x0F0F0F0F0F0F0F0F)
_EVERY_BYTE, _1, _2, _4, _56 = np.uint64(0x0101010101010101), np.uint64(1), np.uint64(2), np.uint64(4), np.uint64(56)
# Words noised together, and how many planes are drawn for all of them before the open ones are looked at.
_BLOCK = 64
_TOGETHER = 8
# Carry planes above the sixteens: flushed to counters before they can overflow.
_PLANES = 12
_FLUSH_EVERY = 16 << (_PLANES - 1)
# Rows are laid side by side until a pass over them is this many words wide: then the compiler can use vectors.
_WIDE = 16


def words_for(bits: int) -> int:
    """How many words a row of that many bits takes."""
    return -(-bits // WORD)


def pack(dense: AnyArray) -> WordArray:
    """Rows of 0 and 1 (n, d), booleans or small integers, as packed words (n, ⌈d/64⌉)."""
    rows, bits = dense.shape
    # Rows of whole bytes are packed as one stretch: packing row by row is slow for short rows.
    whole = -bits % 8
    flat = np.packbits(np.pad(dense, ((0, 0), (0, whole))) if whole else dense, bitorder="little")
    packed = np.zeros((rows, words_for(bits) * 8), dtype=np.uint8)
    packed[:, : -(-bits // 8)] = flat.reshape(rows, -(-bits // 8))
    return packed.view("<u8").astype(np.uint64, copy=False)


def unpack(words: WordArray, bits: int) -> AnyArray:
    """Packed words (n, L) as rows of 0 and 1, uint8 (n, bits)."""
    packed = np.ascontiguousarray(words.astype("<u8", copy=False)).view(np.uint8)
    return np.unpackbits(packed, axis=1, count=bits, bitorder="little")


def last_word_mask(bits: int) -> int:
    """Ones where the last word of a row of that many bits holds bits."""
    return (1 << (bits - WORD * (words_for(bits) - 1))) - 1


@compiled
def ones_of(word: Any) -> Any:
    """How many bits of a word are set: counted in fields of 2, 4 and 8 bits and summed by one multiplication.

    The compiler knows the pattern and puts the processor's own instruction there.
    """
    word = word - ((word >> _1) & _PAIRS)
    word = (word & _FOURS) + ((word >> _2) & _FOURS)
    return (((word + (word >> _4)) & _BYTES) * _EVERY_BYTE) >> _56


@lru_cache(maxsize=256)
def planes_of(threshold: int) -> WordArray:
    """The 62 bits of a threshold from the highest, each as a word of ones or zeros, shape (62,)."""
    bits = [(threshold >> (PRECISION_BITS - 1 - plane)) & 1 for plane in range(PRECISION_BITS)]
    planes = np.array([2**64 - 1 if bit else 0 for bit in bits], dtype=np.uint64)
    planes.flags.writeable = False
    return planes


def most_words(words: int) -> int:
    """A number of random words that is enough for noising that many words."""
    return PRECISION_BITS * min(words, _BLOCK) + _TOGETHER * words


@compiled
def flip(truth: Any, ones: Any, zeros: Any, width: Any, mask: Any, words: Any, start: Any, out: Any) -> int:
    """Noise words `start`, … of the flat array `truth` while random words last; returns the first one not done.

    `ones` and `zeros` (62,) are the planes of the probabilities that a 1, and a 0, is reported as 1. Every `width`-th
    word holds only the bits of `mask`. Words go in blocks: the first planes are drawn for the whole block, which the
    compiler turns into vectors; the few coins still open are finished word by word.
    """
    planes = ones.size
    undecided = np.empty(_BLOCK, dtype=np.uint64)
    noised = np.empty(_BLOCK, dtype=np.uint64)
    used = 0
    for first in range(start, truth.size, _BLOCK):
        size = min(_BLOCK, truth.size - first)
        if used + planes * size > words.size:
            return int(first)
        own = truth[first : first + size]
        for i in range(size):
            undecided[i] = _ALL
            noised[i] = 0
        for i in range(width - 1 - first % width, size, width):
            undecided[i] = mask
        for plane in range(_TOGETHER):
            one, zero = ones[plane], zeros[plane]
            random = words[used : used + size]
            for i in range(size):
                threshold = (own[i] & one) | (~own[i] & zero)
                noised[i] |= undecided[i] & threshold & ~random[i]
                undecided[i] &= ~(random[i] ^ threshold)
            used += size
        for i in range(size):
            rest = undecided[i]
            plane = _TOGETHER
            while rest != 0 and plane < planes:
                threshold = (own[i] & ones[plane]) | (~own[i] & zeros[plane])
                drawn = words[used]
                used += 1
                noised[i] |= rest & threshold & ~drawn
                rest &= ~(drawn ^ threshold)
                plane += 1
        for i in range(size):
            out[first + i] = noised[i]
    return int(truth.size)


def flip_plain(
    truth: WordArray,
    ones: WordArray,
    zeros: WordArray,
    width: int,
    mask: np.uint64,
    words: WordArray,
    start: int,
    out: AnyArray,
) -> int:
    """The same bits as the compiled loop, by Python integers."""
    random = words.tolist()
    planes = list(zip(ones.tolist(), zeros.tolist(), strict=True))
    used = 0
    for first in range(start, truth.size, _BLOCK):
        block = truth[first : first + _BLOCK].tolist()
        if used + len(planes) * len(block) > len(random):
            return first
        own = used + _TOGETHER * len(block)  # where the words of single words begin
        for i, word in enumerate(block):
            undecided = int(mask) if (first + i + 1) % width == 0 else 2**64 - 1
            shared = random[used + i : used + _TOGETHER * len(block) : len(block)]
            noised = 0
            for plane, (one, zero) in enumerate(planes):
                if plane >= _TOGETHER and not undecided:
                    break
                drawn = shared[plane] if plane < _TOGETHER else random[own]
                own += plane >= _TOGETHER
                threshold = (word & one) | (~word & zero)
                noised |= undecided & threshold & ~drawn
                undecided &= ~(drawn ^ threshold)
            out[first + i] = noised
        used = own
    return int(truth.size)


@compiled
def flip_dense(shares: Any, lowest: Any, span: Any, words: Any, out: Any) -> None:
    """Report a 1 with probability (lowest + ⌊span · t⌋)/2⁶² for every t of `shares` (n, d): one word each."""
    rows, size = shares.shape
    for i in range(rows):
        means, drawn = shares[i], words[i * size : (i + 1) * size]
        for first in range(0, size, 64):
            part, random = means[first : first + 64], drawn[first : first + 64]
            packed = np.uint64(0)
            for bit in range(part.size):
                whole = span if part[bit] >= 1.0 else min(np.int64(span * part[bit]), span)
                threshold = lowest + whole
                packed |= np.uint64(np.int64(random[bit] >> _SHIFT) < threshold) << np.uint64(bit)
            out[i, first >> 6] = packed


def whole_parts(shares: FloatArray, span: int) -> IntArray:
    """⌊span · t⌋, and span itself where t is 1: the nearest float to span may lie below it."""
    return np.where(shares >= 1, span, np.minimum((span * shares).astype(np.int64), span))


def flip_dense_plain(shares: FloatArray, lowest: int, span: int, words: WordArray, out: WordArray) -> None:
    """The same bits as the compiled loop, by NumPy."""
    thresholds = lowest + whole_parts(shares, span)
    drawn = (words >> _SHIFT).astype(np.int64).reshape(shares.shape) < thresholds
    out[:] = pack(drawn)


def count_bits(words: WordArray, bits: int, *, compiled_loop: bool = True) -> IntArray:
    """How many rows of packed words (n, L) have each bit set, shape (bits,)."""
    rows, width = words.shape
    if not compiled_loop:
        step = 1 << 14
        parts = [unpack(words[i : i + step], bits).sum(axis=0, dtype=np.int64) for i in range(0, rows, step)]
        return np.asarray(sum(parts, np.zeros(bits, dtype=np.int64)))
    # Narrow rows go side by side; the few that do not fill a row are counted as they are.
    beside = max(1, _WIDE // width)
    whole = rows - rows % beside
    counts = np.zeros(beside * width * WORD, dtype=np.int64)
    wide = np.ascontiguousarray(words[:whole]).reshape(whole // beside, beside * width)
    add_counts(wide, _FLUSH_EVERY, counts)
    total: IntArray = counts.reshape(beside, width * WORD).sum(axis=0)[:bits]
    return total + count_bits(words[whole:], bits, compiled_loop=False)


@compiled
def add_counts(words: Any, flush_every: Any, counts: Any) -> None:
    rows, width = words.shape
    low = np.zeros((4, width), dtype=np.uint64)  # ones, twos, fours, eights
    high = np.zeros((_PLANES, width), dtype=np.uint64)  # sixteens and above
    carry = np.zeros(width, dtype=np.uint64)
    blocks = rows // 16
    for block in range(blocks):
        base = 16 * block
        for w in range(width):
            ones, twos, fours, eights = low[0, w], low[1, w], low[2, w], low[3, w]
            eight_a = np.uint64(0)
            sixteen = np.uint64(0)
            for half in range(2):
                four_a = np.uint64(0)
                eight_b = np.uint64(0)
                for quarter in range(2):
                    at = base + 8 * half + 4 * quarter
                    a, b = words[at, w], words[at + 1, w]
                    u = ones ^ a
                    two_a = (ones & a) | (u & b)
                    ones = u ^ b
                    a, b = words[at + 2, w], words[at + 3, w]
                    u = ones ^ a
                    two_b = (ones & a) | (u & b)
                    ones = u ^ b
                    u = twos ^ two_a
                    four_b = (twos & two_a) | (u & two_b)
                    twos = u ^ two_b
                    if quarter == 0:
                        four_a = four_b
                    else:
                        u = fours ^ four_a
                        eight_b = (fours & four_a) | (u & four_b)
                        fours = u ^ four_b
                if half == 0:
                    eight_a = eight_b
                else:
                    u = eights ^ eight_a
                    sixteen = (eights & eight_a) | (u & eight_b)
                    eights = u ^ eight_b
            low[0, w], low[1, w], low[2, w], low[3, w] = ones, twos, fours, eights
            carry[w] = sixteen
        for plane in range(_PLANES):
            rest = np.uint64(0)
            for w in range(width):
                moved = high[plane, w] & carry[w]
                high[plane, w] ^= carry[w]
                carry[w] = moved
                rest |= moved
            if rest == 0:
                break
        if (base + 16) % flush_every == 0:
            _flush(high, 4, counts)
            high[:] = 0
    _flush(high, 4, counts)
    _flush(low, 0, counts)
    for i in range(16 * blocks, rows):
        for w in range(width):
            for bit in range(64):
                counts[64 * w + bit] += np.int64((words[i, w] >> np.uint64(bit)) & _ONE)


@compiled
def _flush(planes: Any, first: Any, counts: Any) -> None:
    for plane in range(planes.shape[0]):
        for w in range(planes.shape[1]):
            for bit in range(64):
                counts[64 * w + bit] += np.int64((planes[plane, w] >> np.uint64(bit)) & _ONE) << (plane + first)
