"""Rows of a sheet that look odd: answers that one person gives twice, and counts of all tags that stay below the words.

A copy of a sheet is no second opinion: two people who count the same stretch are two pieces of evidence, one person's
row that is read twice is one. Rows that ask the same person about other tags of the same stretch are new.

Few rows in which all tags were counted and stay below the words are slips of the pen. Where most rows are short, words
have none of the tags: the sheet should have been made with a name for them. Which of the two it is shows when all rows
are read: the first is held back until then.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping

from askance._checks import shown
from askance._words import words
from askance.errors import AskanceWarning, InputError


class RepeatedAnswers:
    """Looks at the answers of all rows, one after the other.

    Attributes:
        dropped: how many rows repeat what the same person answered before.
        nameless: how many rows without an annotator repeat another one: a copy, or somebody else who agrees.

    >>> seen = RepeatedAnswers()
    >>> [seen.is_new("stretch 1", who, {"A": 1}, "line 2") for who in ("ann", "ann", "ben")], seen.dropped
    ([True, False, True], 1)
    """

    def __init__(self) -> None:
        self.dropped = self.nameless = 0
        self._seen: dict[tuple[Hashable, str | None], list[tuple[dict[str, int], str]]] = {}

    def is_new(self, stretch: Hashable, annotator: str | None, counts: Mapping[str, int], where: str) -> bool:
        """Whether this answer is one more; those without an annotator are. `where` is file and line.

        Raises:
            InputError: the same person counted a tag of the same stretch before, and found another number.
        """
        before = self._seen.setdefault((stretch, annotator), [])
        if annotator is None:
            self.nameless += any(counts == other for other, _ in before)
        else:
            for other, place in before:
                differing = [tag for tag in counts if other.get(tag, counts[tag]) != counts[tag]]
                if differing:
                    tag = differing[0]
                    raise InputError(
                        f"{where}: {shown(annotator)} has {counts[tag]} of {tag}, and {other[tag]} in {place}, of the "
                        "same stretch; allowed: one answer of each person.",
                        remedy=words(
                            "Take out the one that does not hold, or give two people two names; or leave the later one "
                            "out with {skip_bad=True}."
                        ),
                    )
            if any(counts.keys() <= other.keys() for other, _ in before):
                self.dropped += 1
                return False
        before.append((dict(counts), where))
        return True

    def notes(self) -> list[str]:
        """What people should know; empty where nothing is repeated."""
        said = []
        if self.dropped:
            said.append(
                f"rows that repeat what the same person answered for the same stretch, left out: {self.dropped:,}"
            )
        if self.nameless:
            said.append(
                f"rows without an annotator that repeat another one, each taken as one more count: {self.nameless:,}; "
                "if a sheet was given twice, give it once; if two people counted, write their names below annotator"
            )
        return said


# -- short rows --------------------------------------------------------------------------------------------------------


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
