"""Values of the columns of reports as texts of JSON, and back."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from askance._arrays import AnyArray, WordArray
from askance._checks import shorten
from askance._kernels import bits, report_lines
from askance.channels.reports import Column, LabelColumn, bytes_of
from askance.errors import InputError


class ColumnText(ABC):
    """How the values of a column are written.

    Attributes:
        longest: characters of the longest value, about.
        words: how many words of 64 bits a value takes where a whole file is read.
        step: what `_kernels.report_lines` reads a value by, and how many (bytes or numbers).
    """

    longest: int
    words: int
    step: tuple[int, int]

    @abstractmethod
    def encode(self, values: AnyArray) -> list[str]:
        """Values as JSON."""

    @abstractmethod
    def read(self, value: Any) -> Any:
        """A value that was read as JSON, for `gather`; ValueError says what is allowed."""

    @abstractmethod
    def gather(self, values: Sequence[Any]) -> AnyArray:
        """Values of many reports, as they are held in memory."""

    @abstractmethod
    def of_words(self, words: WordArray) -> AnyArray:
        """The same from words, shape (n, words)."""


class _Digits(ColumnText):
    """Bits (lowest first, in bytes) or seeds (highest first): hexadecimal digits."""

    def __init__(self, column: Column) -> None:
        self._is_seed = column.kind == "seed"
        self._bytes = 8 if self._is_seed else bytes_of(column)
        self.words = 1 if self._is_seed else bits.words_for(column.width)
        self.step = (report_lines.SEED if self._is_seed else report_lines.BITS, self._bytes)
        self.longest = 2 * self._bytes
        self._digits = re.compile(f"[0-9a-f]{{{self.longest}}}")

    def encode(self, values: AnyArray) -> list[str]:
        raw = values.astype(">u8" if self._is_seed else "<u8").reshape(len(values), self.words)
        digits = raw.view(np.uint8)[:, : self._bytes].tobytes().hex()
        return [f'"{digits[i : i + self.longest]}"' for i in range(0, len(digits), self.longest)]

    def read(self, value: Any) -> str:
        if not isinstance(value, str) or not self._digits.fullmatch(value):
            raise ValueError(f"{self.longest} hexadecimal digits (0-9, a-f)")
        return value

    def gather(self, values: Sequence[Any]) -> AnyArray:
        raw = np.frombuffer(bytes.fromhex("".join(values)), dtype=np.uint8).reshape(-1, self._bytes)
        if self._is_seed:
            return raw.view(">u8").reshape(-1).astype(np.uint64)
        padded = np.zeros((len(raw), 8 * self.words), dtype=np.uint8)
        padded[:, : self._bytes] = raw
        return padded.view("<u8").astype(np.uint64, copy=False)

    def of_words(self, words: WordArray) -> AnyArray:
        return words[:, 0] if self._is_seed else words


class _Wholes(ColumnText):
    """One whole number, or a list of them; their range is checked with all others."""

    def __init__(self, column: Column) -> None:
        self._column, self.words = column, column.width
        self.step = (report_lines.WHOLE if column.kind == "integer" else report_lines.WHOLES, column.width)
        self.longest = 24 * column.width

    def encode(self, values: AnyArray) -> list[str]:
        return [str(value).replace(" ", "") for value in values.tolist()]

    def read(self, value: Any) -> Any:
        column = self._column
        entries = value if column.kind == "integers" else [value]
        whole = isinstance(entries, list) and all(type(entry) is int for entry in entries)
        if not whole or len(entries) != column.width or not all(0 <= entry < 10**18 for entry in entries):
            many = "a whole number" if column.kind == "integer" else f"a list of {column.width} whole numbers"
            raise ValueError(f"{many}, 0 to {column.limit - 1}")
        return value

    def gather(self, values: Sequence[Any]) -> AnyArray:
        return np.array(values, dtype=np.int64)

    def of_words(self, words: WordArray) -> AnyArray:
        numbers = words.view(np.int64)
        return numbers[:, 0] if self._column.kind == "integer" else numbers


class _Labels(ColumnText):
    """Answers by name: whatever JSON calls the label."""

    words = 1

    def __init__(self, column: LabelColumn) -> None:
        self._labels = column.labels
        self._texts = np.array([json.dumps(label, ensure_ascii=False) for label in column.labels], dtype=object)
        self.step = (report_lines.LABEL, 1)
        self.longest = max(map(len, self._texts))
        encoded = [text.encode() for text in self._texts]
        self._sorted = np.array(sorted(range(len(encoded)), key=encoded.__getitem__), dtype=np.int64)
        #: The labels as bytes, in the order of their bytes.
        self.in_order = [encoded[code] for code in self._sorted]

    def encode(self, values: AnyArray) -> list[str]:
        return list(self._texts[values])

    def read(self, value: Any) -> int:
        try:
            code = self._labels.code(value)
        except InputError:
            raise ValueError(shorten(self._labels.labels)) from None
        if isinstance(value, bool) != isinstance(self._labels.labels[code], bool):  # Python counts True as 1
            raise ValueError(shorten(self._labels.labels))
        return code

    def gather(self, values: Sequence[Any]) -> AnyArray:
        return np.array(values, dtype=np.int64)

    def of_words(self, words: WordArray) -> AnyArray:
        return np.asarray(self._sorted[words[:, 0].view(np.int64)])


def text_of(column: Column | LabelColumn) -> ColumnText:
    """How the values of a column are written.

    >>> text_of(Column("coordinate", "integer", limit=4)).encode(np.array([3, 0]))
    ['3', '0']
    """
    if isinstance(column, LabelColumn):
        return _Labels(column)
    return _Digits(column) if column.kind in ("bits", "seed") else _Wholes(column)
