"""A channel as something that people can roll: which numbers lead to which report, and on which faces of a die.

`device/1` makes the report of an answer from one number below 2⁶². Cut where any answer's report changes, the numbers
fall into stretches: in some the report is the same whatever the answer was, in others it depends on the answer. This is
the very draw that a page shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from askance._arrays import IntArray
from askance.channels.finite import FiniteChannel
from askance.channels.randomized_response import RandomizedResponse

_TOTAL = 1 << 62
#: Dice that can be bought; a coin is one with two faces.
DICE = (2, 4, 6, 8, 10, 12, 20, 100)
# Thresholds are whole numbers of 2⁻⁶²: a face is as likely as it should be up to this share of itself.
_ROUNDING = 2.0**-40


@dataclass(frozen=True)
class Part:
    """Numbers that lead to the same reports.

    Attributes:
        until: the first number below 2⁶² that is not among them.
        reports: the place of the report among the observations, for every answer.
    """

    until: int
    reports: tuple[int, ...]


def parts_of(channel: FiniteChannel) -> list[Part]:
    """The numbers below 2⁶² in stretches of the same reports, in their order.

    >>> from askance import ForcedResponse
    >>> [(round(part.until / 2**62, 4), part.reports) for part in parts_of(ForcedResponse("2/3", "1/6"))]
    [(0.1667, (0, 0)), (0.8333, (0, 1)), (1.0, (1, 1))]
    """
    columns, ends = _columns(channel)
    pieces = [Part(int(end), tuple(codes.tolist())) for end, codes in zip(ends, columns, strict=True)]
    return [list(alike)[-1] for _, alike in groupby(pieces, key=lambda part: part.reports)]


def _columns(channel: FiniteChannel) -> tuple[IntArray, IntArray]:
    """Reports (stretches, answers), and the ends of the stretches."""
    size = len(channel.outputs)
    if isinstance(channel, RandomizedResponse):
        thresholds = channel.thresholds()
        reveal = np.array([thresholds["reveal"]], dtype=np.int64)
        ends = np.concatenate([reveal, reveal + np.cumsum(np.array(thresholds["base"], dtype=np.int64))])
        codes = np.vstack([np.arange(size), np.repeat(np.arange(size)[:, None], size, axis=1)])
        kept = np.diff(ends, prepend=0) > 0
        return codes[kept], ends[kept]
    cumulative = np.cumsum(channel.integer_weights, axis=0)
    ends = np.unique(cumulative[cumulative > 0])
    starts = np.concatenate([[0], ends[:-1]])
    codes = np.stack([np.searchsorted(column, starts, side="right") for column in cumulative.T], axis=1)
    return codes, ends


def sides_of(parts: Sequence[Part]) -> int:
    """Faces of the smallest die on which every stretch has whole faces; 0 where there is none.

    >>> from askance import ForcedResponse, Warner
    >>> sides_of(parts_of(ForcedResponse("2/3", "1/6"))), sides_of(parts_of(Warner("0.7123")))
    (6, 0)
    """
    shares = [part.until / _TOTAL for part in parts]
    fits = (n for n in DICE if all(abs(n * share - round(n * share)) <= _ROUNDING for share in shares))
    return next(fits, 0)


def last_faces(parts: Sequence[Part], sides: int) -> list[int]:
    """The last face of every stretch, faces counted from 1.

    >>> from askance import ForcedResponse
    >>> last_faces(parts_of(ForcedResponse("2/3", "1/6")), 6)
    [1, 5, 6]
    """
    return [round(sides * part.until / _TOTAL) for part in parts]
