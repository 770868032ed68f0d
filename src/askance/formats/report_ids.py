"""Ids of reports: texts in two arrays, and the set of those that were met."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from askance._arrays import AnyArray, IntArray, WordArray
from askance._kernels.compiler import COMPILED_PAYS_FROM
from askance._kernels.digest_table import insert, move
from askance._kernels.siphash import digests_of_texts

#: Files may be split into this many parts by id.
MOST_PARTS = 1 << 16
# Room for more ids than this is made when they come, not when they are announced.
_TRUSTED = 1 << 24
# Of 100 slots at most 80 are taken, and 64 at least where there are many: 12.5 to 15.6 bytes an id, at 10 a slot.
_FULLEST, _EMPTIEST = 80, 64
# Fewer slots than this grow to four times their number.
_LARGE = 1 << 20


class Ids:
    """Some ids, UTF-8 end to end: id i is letters[bounds[i] : bounds[i + 1]], and empty where a report has none.

    Attributes:
        letters: bytes.
        bounds: shape (n + 1,), ascending.

    >>> ids = Ids.of(["né", None, "b7"])
    >>> ids.bounds, ids.characters
    (array([0, 3, 3, 5]), array([2, 0, 2]))
    >>> list(ids.take(slice(1, 3)))
    [None, 'b7']
    """

    def __init__(self, letters: AnyArray, bounds: IntArray) -> None:
        self.letters, self.bounds = letters, bounds

    @classmethod
    def of(cls, ids: Sequence[str | None]) -> Ids:
        """Ids from texts, None where a report has none."""
        return cls.of_bytes([(id or "").encode() for id in ids])

    @classmethod
    def none(cls, n: int) -> Ids:
        """Those of n reports that have none."""
        return cls(np.zeros(0, dtype=np.uint8), np.zeros(n + 1, dtype=np.int64))

    @classmethod
    def of_bytes(cls, ids: Sequence[bytes]) -> Ids:
        """Ids from their bytes."""
        bounds = np.cumsum([0, *map(len, ids)], dtype=np.int64)
        return cls(np.frombuffer(b"".join(ids), dtype=np.uint8), bounds)

    @classmethod
    def of_arrow(cls, array: Any) -> Ids:
        """Ids of a column of strings, whose bytes must be UTF-8."""
        import pyarrow as pa

        if not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
            array = array.cast(pa.large_string())
        array.validate(full=True)
        if array.null_count:  # what stands below a gap is not said
            array = array.fill_null("")
        width = np.int64 if pa.types.is_large_string(array.type) else np.int32
        _, bounds, letters = array.buffers()
        ends = np.frombuffer(bounds, dtype=width, count=len(array) + 1, offset=array.offset * np.dtype(width).itemsize)
        return cls(np.frombuffer(letters or b"", dtype=np.uint8), ends.astype(np.int64))

    @classmethod
    def joined(cls, parts: Sequence[Ids]) -> Ids:
        """All ids of the parts."""
        letters = np.frombuffer(b"".join(map(bytes, parts)), dtype=np.uint8)
        return cls(letters, np.concatenate([[0], np.cumsum(np.concatenate([part.lengths for part in parts]))]))

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def __bytes__(self) -> bytes:
        return bytes(self.letters[self.bounds[0] : self.bounds[-1]])

    def bytes_at(self, row: int) -> bytes:
        """One id as bytes."""
        return bytes(self.letters[self.bounds[row] : self.bounds[row + 1]])

    def __getitem__(self, row: int) -> str | None:
        return self.bytes_at(row).decode() or None

    def __iter__(self) -> Iterator[str | None]:
        return map(self.__getitem__, range(len(self)))

    @property
    def lengths(self) -> IntArray:
        """Bytes of every id; 0 where a report has none."""
        return np.diff(self.bounds)

    @property
    def characters(self) -> IntArray:
        """Characters of every id: its bytes that continue no other."""
        begins = (self.letters[self.bounds[0] : self.bounds[-1]] & 0xC0) != 0x80
        if begins.all():
            return self.lengths
        return np.asarray(np.diff(np.concatenate([[0], np.cumsum(begins)])[self.bounds - self.bounds[0]]))

    @cached_property
    def digests(self) -> WordArray:
        """128 bits of every id as two words, shape (n, 2); zeros where a report has none."""
        digests = digests_of_texts(self.letters, self.bounds)
        lengths = self.lengths
        if not lengths.all():
            digests[lengths == 0] = 0
        return digests

    def parts(self, of: int) -> IntArray:
        """Which of so many parts every id is of: the first word of its digest modulo `of`, shape (n,)."""
        return (self.digests[:, 0] % np.uint64(of)).astype(np.int64)

    def take(self, rows: slice | AnyArray) -> Ids:
        """Some of the ids: a slice, a mask, or their numbers."""
        if isinstance(rows, slice) and rows.step is None:
            start, stop, _ = rows.indices(len(self))
            return Ids(self.letters, self.bounds[start : max(start, stop) + 1])
        kept = np.arange(len(self))[rows]
        starts, lengths = self.bounds[kept], self.lengths[kept]
        bounds = np.concatenate([[0], np.cumsum(lengths)])
        places = np.arange(bounds[-1]) + np.repeat(starts - bounds[:-1], lengths)
        return Ids(self.letters[places], bounds)


class SeenIds:
    """Ids that were met: the first few as they are, many as 80 bits of their digests, in an array of 16 bytes an id.

    While the array grows there are two. Two of 10⁹ different ids are taken for one by an accident of one in two
    million. Who looks for such ids (2⁴⁰ trials for two of their own) gains what sending an id twice gives for nothing:
    that a report of theirs is refused. An id like that of somebody else takes 2⁸⁰.
    """

    def __init__(self) -> None:
        self._few: set[bytes] = set()
        self._slots: AnyArray = np.zeros((0, 5), dtype=np.uint16)
        self._secret = np.uint64(secrets.randbits(64))
        self._count = 0

    def repeated(self, ids: Ids) -> AnyArray:
        """Whether each was met before, shape (n,); all others are remembered."""
        if not len(self._slots) and len(self._few) + len(ids) < COMPILED_PAYS_FROM:
            return self._among_few(ids)
        if self._few:
            first = Ids.of_bytes(sorted(self._few))
            self._few = set()
            self._among_many(first)
        return self._among_many(ids)

    def _among_few(self, ids: Ids) -> AnyArray:
        repeated = np.zeros(len(ids), dtype=bool)
        for row in np.flatnonzero(ids.lengths).tolist():
            id = ids.bytes_at(row)
            repeated[row] = id in self._few
            self._few.add(id)
        return repeated

    def expect(self, ids: int) -> None:
        """Make room for that many more ids at once, as far as an announcement can be trusted."""
        if ids >= COMPILED_PAYS_FROM:
            self._make_room(min(ids, _TRUSTED))

    def _make_room(self, ids: int) -> None:
        """See to it that the slots are not too full when that many more ids have come."""
        needed, size = self._count + ids, len(self._slots)
        if 100 * needed <= _FULLEST * size:
            return
        larger = np.zeros((max(100 * needed // _EMPTIEST, min(4 * size, _LARGE), 1 << 13), 5), dtype=np.uint16)
        move(self._slots, self._secret, larger)
        self._slots = larger

    def _among_many(self, ids: Ids) -> AnyArray:
        self._make_room(len(ids))
        repeated = np.zeros(len(ids), dtype=bool)
        self._count += insert(self._slots, self._secret, ids.digests, repeated)
        return repeated
