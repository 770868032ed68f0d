"""What was counted, as it stands: without counts that others replace, and with one count of a person for a stretch.

A page commits every tap. An undo is a new count that replaces another one of the same person and stretch; a stretch
that somebody skipped has no numbers. What is left is a function of the set of entries: no order is needed, and none is
kept.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from askance.collect.campaign import Counting


class Count(NamedTuple):
    """What one person said of a stretch.

    Attributes:
        stretch: its number in the campaign.
        counts: by tag, None where it was not asked.
        seconds: that it took.
        annotator: the pseudonym of the person; "" where nobody is known.
    """

    stretch: int
    counts: tuple[int | None, ...]
    seconds: float
    annotator: str


class Counted(NamedTuple):
    """What was counted.

    Attributes:
        counts: that hold, by their random ids.
        skipped: stretch and annotator where somebody said nothing.
        replaced: how many were replaced by others.
        repeated: how many of the same person for the same stretch were left out.
    """

    counts: list[Count]
    skipped: list[tuple[int, str]]
    replaced: int = 0
    repeated: int = 0


def counted(counting: Counting, entries: Iterable[tuple[bytes, int, bytes]]) -> Counted:
    """What holds of all entries of a store.

    >>> def entry(number, counts, replaces=None):
    ...     told = {"stretch": 0, "counts": counts, "seconds": 1.0, "replaces": replaces, "annotator": "ann"}
    ...     return bytes([number] * 16), 0, json.dumps(told).encode()
    >>> counting = Counting((("a", "dog"),), ("N",), 2, 1, "")
    >>> counted(counting, [entry(1, [2]), entry(2, [1], "01" * 16)])
    Counted(counts=[Count(stretch=0, counts=(1,), seconds=1.0, annotator='ann')], skipped=[], replaced=1, repeated=0)
    """
    told = {id.hex(): json.loads(content) for id, _, content in entries}
    replaced = {fields["replaces"] for fields in told.values() if _may_replace(fields, told)}
    counts, skipped, seen, repeated = list[Count](), list[tuple[int, str]](), set[tuple[int, str]](), 0
    for id, fields in told.items():
        if id in replaced:
            continue
        place = (fields["stretch"], fields["annotator"])
        if fields["counts"] is None:
            skipped.append(place)
        elif place in seen and place[1] and not counting.again:  # two devices of one person, say
            repeated += 1
        else:
            seen.add(place)
            counts.append(Count(place[0], tuple(fields["counts"]), fields["seconds"], place[1]))
    return Counted(counts, skipped, len(replaced), repeated)


def _may_replace(fields: dict[str, Any], told: dict[str, dict[str, Any]]) -> bool:
    """Whether it takes the place of another one: of the same stretch and person."""
    other = told.get(fields["replaces"])
    return other is not None and all(other[name] == fields[name] for name in ("stretch", "annotator"))
