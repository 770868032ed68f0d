"""Values of the columns of reports as texts of JSON, and back."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from askance._arrays import AnyArray
from askance._checks import shorten
from askance._kernels import bits
from askance.channels.statistics.reports import Column
from askance.errors import InputError
from askance.formats.report_schema import LabelColumn, bytes_of

#: A character of a text that JSON writes as it is.
PLAIN_TEXT = r'[^"\\\x00-\x1f]'
# A whole number as JSON writes it, short enough for 64 bits.
_WHOLE = "(?:0|[1-9][0-9]{0,17})"


class ColumnText(ABC):
    """How the values of a column are written."""

    #: Of a value, with one group: the text that `decode` takes.
    pattern: str
    #: Characters of the longest value, about.
    longest: int

    @abstractmethod
    def encode(self, values: AnyArray) -> list[str]:
        """Values as JSON."""

    @abstractmethod
    def decode(self, texts: Sequence[str]) -> AnyArray:
        """What the texts of many reports say; KeyError where one has no meaning."""

    def knows(self, text: str) -> bool:
        """Whether a text that fits the pattern has a meaning."""
        return True

    @abstractmethod
    def read(self, value: Any) -> str:
        """The text of a value that was read as JSON; ValueError says what is allowed."""


class _Digits(ColumnText):
    """Bits (lowest first, in bytes) or seeds (highest first): hexadecimal digits."""

    def __init__(self, column: Column) -> None:
        self._is_seed = column.kind == "seed"
        self._bytes = 8 if self._is_seed else bytes_of(column)
        self._words = 1 if self._is_seed else bits.words_for(column.width)
        self.longest = 2 * self._bytes
        self.pattern = f'"([0-9a-f]{{{self.longest}}})"'
        self._digits = re.compile(f"[0-9a-f]{{{self.longest}}}")

    def encode(self, values: AnyArray) -> list[str]:
        raw = values.astype(">u8" if self._is_seed else "<u8").reshape(len(values), self._words)
        digits = raw.view(np.uint8)[:, : self._bytes].tobytes().hex()
        return [f'"{digits[i : i + self.longest]}"' for i in range(0, len(digits), self.longest)]

    def decode(self, texts: Sequence[str]) -> AnyArray:
        raw = np.frombuffer(bytes.fromhex("".join(texts)), dtype=np.uint8).reshape(-1, self._bytes)
        if self._is_seed:
            return raw.view(">u8").reshape(-1).astype(np.uint64)
        padded = np.zeros((len(raw), 8 * self._words), dtype=np.uint8)
        padded[:, : self._bytes] = raw
        return padded.view("<u8").astype(np.uint64, copy=False)

    def read(self, value: Any) -> str:
        if not isinstance(value, str) or not self._digits.fullmatch(value):
            raise ValueError(f"{self.longest} hexadecimal digits (0-9, a-f)")
        return value


class _Wholes(ColumnText):
    """One whole number, or a list of them."""

    def __init__(self, column: Column) -> None:
        self._column = column
        self.longest = 24 * column.width
        many = rf"\[({_WHOLE}(?:, ?{_WHOLE}){{{column.width - 1}}})\]"
        self.pattern = f"({_WHOLE})" if column.kind == "integer" else many

    def encode(self, values: AnyArray) -> list[str]:
        return [str(value).replace(" ", "") for value in values.tolist()]

    def decode(self, texts: Sequence[str]) -> AnyArray:
        if self._column.kind == "integer":
            return np.fromiter(map(int, texts), dtype=np.int64, count=len(texts))
        numbers = np.array(json.loads(f"[{','.join(texts)}]"), dtype=np.int64)
        return numbers.reshape(len(texts), self._column.width)

    def read(self, value: Any) -> str:
        column = self._column
        entries = value if column.kind == "integers" else [value]
        whole = isinstance(entries, list) and all(type(entry) is int for entry in entries)
        if not whole or len(entries) != column.width or not all(0 <= entry < column.limit for entry in entries):
            many = "a whole number" if column.kind == "integer" else f"a list of {column.width} whole numbers"
            raise ValueError(f"{many}, 0 to {column.limit - 1}")
        return ",".join(map(str, entries))


class _Labels(ColumnText):
    """Answers by name: whatever JSON calls the label."""

    pattern = rf'("{PLAIN_TEXT}*"|-?[0-9][0-9.eE+-]*|true|false)'

    def __init__(self, column: LabelColumn) -> None:
        self._labels = column.labels
        self._texts = np.array([json.dumps(label, ensure_ascii=False) for label in column.labels], dtype=object)
        self._code_of = {text: code for code, text in enumerate(self._texts.tolist())}
        self.longest = max(map(len, self._code_of))

    def encode(self, values: AnyArray) -> list[str]:
        return list(self._texts[values])

    def decode(self, texts: Sequence[str]) -> AnyArray:
        return np.fromiter(map(self._code_of.__getitem__, texts), dtype=np.int64, count=len(texts))

    def knows(self, text: str) -> bool:
        return text in self._code_of

    def read(self, value: Any) -> str:
        try:
            code = self._labels.code(value)
        except InputError:
            raise ValueError(shorten(self._labels.labels)) from None
        if isinstance(value, bool) != isinstance(self._labels.labels[code], bool):  # Python counts True as 1
            raise ValueError(shorten(self._labels.labels))
        return str(self._texts[code])


def text_of(column: Column | LabelColumn) -> ColumnText:
    """How the values of a column are written.

    >>> text_of(Column("coordinate", "integer", limit=4)).encode(np.array([3, 0]))
    ['3', '0']
    """
    if isinstance(column, LabelColumn):
        return _Labels(column)
    return _Digits(column) if column.kind in ("bits", "seed") else _Wholes(column)
