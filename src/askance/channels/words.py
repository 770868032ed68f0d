"""The random words of a device, in the order in which `device/1` (docs/device.md) uses them.

A report is a function of a truth and of 64-bit words. Three things are made of words: a number below 2⁶² to compare
with thresholds (the word without its two lowest bits), a whole number below a limit, and a draw without replacement.
How many words a report takes depends on the channel and on the words themselves, never on the truth.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Sequence
from itertools import chain, islice
from typing import Self

import numpy as np

from askance._arrays import WordArray
from askance._checks import shown
from askance._kernels.draw import DISCARDED_BITS
from askance.channels.randomness import WordSource
from askance.errors import InputError

_SPAN = 1 << 64
_LOW = _SPAN - 1
_WORD = np.dtype("<u8")
_DISCARDED = np.uint64(DISCARDED_BITS)


class Words:
    """Words from a source, and how many of them were used.

    Attributes:
        used: how many words were taken.

    >>> words = Words.given([2**63, 7, 2**64 - 1])
    >>> int(words.number()) == 2**61, words.below([10, 10]), words.used
    (True, [0, 9], 3)
    """

    def __init__(self, source: WordSource) -> None:
        self._source, self.used = source, 0

    @classmethod
    def fresh(cls) -> Self:
        """Words from the operating system: what protects a person."""
        return cls(_from_system)

    @classmethod
    def given(cls, words: Iterable[int]) -> Self:
        """These words, one after the other; refused when there are too few."""
        rest, taken = iter(words), 0

        def take(count: int) -> WordArray:
            nonlocal taken
            listed = [_as_word(word) for word in islice(rest, count)]
            taken += len(listed)
            if len(listed) < count:
                raise InputError(
                    f"has {taken} words",
                    argument="words",
                    allowed=f"at least {taken - len(listed) + count} for this report",
                    remedy="Give more words; those that are left over do no harm.",
                )
            return np.array(listed, dtype=np.uint64)

        return cls(take)

    def take(self, count: int) -> WordArray:
        """The next words, shape (count,)."""
        self.used += count
        return self._source(count)

    def number(self) -> np.int64:
        """A uniform whole number below 2⁶², of one word and of a fixed size: what thresholds are compared with."""
        number: np.int64 = (self.take(1) >> _DISCARDED).astype(np.int64)[0]
        return number

    def numbers(self, count: int) -> WordArray:
        """So many of them, of one word each."""
        return self.take(count) >> _DISCARDED

    def below(self, limits: Sequence[int]) -> list[int]:
        """A uniform whole number below every limit, by Lemire's multiplication.

        Of a word w and a limit n it is the upper word of w n. Where the lower word is below 2⁶⁴ mod n, w is left aside
        and the next word is taken: what remains is the same number of words for every result.
        """
        stream = chain(self.take(len(limits)).tolist(), iter(lambda: int(self.take(1)[0]), None))
        places = []
        for limit in limits:
            unfair, product = _SPAN % limit, next(stream) * limit
            while product & _LOW < unfair:
                product = next(stream) * limit
            places.append(product >> 64)
        return places

    def distinct(self, cells: int, size: int) -> list[int]:
        """`size` different ones of 0 … `cells` − 1, one after the other, every such sequence equally likely.

        The first steps of a shuffle of the list 0 … `cells` − 1: at place i the entry i + `below`(cells − i) is swapped
        there. Of the list only the entries that were moved are kept.
        """
        moved: dict[int, int] = {}
        picked = []
        for place, ahead in enumerate(self.below(range(cells, cells - size, -1))):
            at = place + ahead
            picked.append(moved.get(at, at))
            moved[at] = moved.get(place, place)
        return picked


def _from_system(count: int) -> WordArray:
    return np.frombuffer(os.urandom(8 * count), _WORD)


def _as_word(word: object) -> int:
    try:
        number = operator.index(word)  # type: ignore[arg-type]
    except TypeError:
        number = -1
    if not 0 <= number < _SPAN:
        raise InputError(
            argument="words", got=shown(word), allowed="whole numbers from 0 to 2⁶⁴ − 1", remedy="Give 64-bit words."
        )
    return number
