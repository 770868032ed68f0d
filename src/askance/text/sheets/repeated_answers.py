"""Answers that one person gives twice: a copy of a sheet is no second opinion.

Two people who count the same stretch are two pieces of evidence, one person's row that is read twice is one. Rows that
ask the same person about other tags of the same stretch are new.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from askance._checks import shown
from askance._words import words
from askance.errors import InputError


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
