"""Rows of a sheet in which all tags were counted and stay below the words: a miscount, or a sheet without a rest.

Few such rows are slips of the pen. Where most rows are short, words have none of the tags: the sheet should have been
made with a name for them. Which of the two it is shows when all rows are read: the first is held back until then.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping

from askance.errors import AskanceWarning, InputError

#: What helps where words have none of the tags.
ADD_REST = (
    "Where words may have none of these tags, give them a name when the sheet is read: --rest other, or "
    'read_sheet(paths, rest="other").'
)


class ShortRowError(InputError):
    """Counts of all tags that do not add up to the words; becomes an InputError once all rows are read."""


class ShortRows:
    """Counts rows that are short.

    >>> rows = ShortRows()
    >>> [rows.is_short({"A": 1, "B": 0}, length, length) for length in (1, 2, 3)], rows.are_most
    ([False, True, True], True)
    >>> [rows.is_short({"A": 1, "B": 0}, 1, 1) for copy in range(9)], rows.are_most
    ([False, False, False, False, False, False, False, False, False], True)
    """

    def __init__(self) -> None:
        self._whole = self._short = 0
        self._seen: set[Hashable] = set()
        self._first: ShortRowError | None = None

    def is_short(self, counts: Mapping[str, int], length: int, of: Hashable) -> bool:
        """Whether counts of all tags stay below the number of words; copies of a row, `of` the same, count once."""
        short = sum(counts.values()) < length
        if of not in self._seen:
            self._seen.add(of)
            self._whole, self._short = self._whole + 1, self._short + short
        return short

    def hold(self, error: ShortRowError) -> None:
        """Remember the first that is refused."""
        self._first = self._first or error

    @property
    def are_most(self) -> bool:
        """Whether so many are short that words have none of the tags."""
        return self._short > 1 and 2 * self._short > self._whole

    def refuse(self) -> None:
        """Refuse the first that was held back, if any, with the remedy that fits their number."""
        if self._first is None:
            return
        message, remedy = self._first.message, self._first.remedy
        if self.are_most:
            message, remedy = f"{message} And {self._question()}", f"{ADD_REST} Otherwise: {remedy}"
        raise InputError(message, remedy=remedy)

    def warn(self, *, stacklevel: int) -> None:
        """Ask where most rows are short and none is refused: they were accepted as miscounts, or left out."""
        if self.are_most:
            warnings.warn(f"{self._question()} {ADD_REST}", AskanceWarning, stacklevel=stacklevel + 1)

    def _question(self) -> str:
        return (
            f"in {self._short:,} of {self._whole:,} rows with counts of all tags these stay below the number of words: "
            "was --rest forgotten?"
        )
