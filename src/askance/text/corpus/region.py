"""One stretch of a sentence and what is known of it, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import TypeAlias

from askance._checks import shown
from askance.errors import InputError, LabelError

#: How many there are: a number, or least and most; None is open.
Count: TypeAlias = int | tuple[int | None, int | None]

#: Weights beyond this would drown all others in rounding.
MOST_WEIGHT = 1e12
WEIGHT_REMEDY = "1 is usual; 0 leaves the region out."


@dataclass(frozen=True)
class Region:
    """One stretch and what is known of it.

    Attributes:
        sentence: its number in the corpus.
        start: first token, counted within the sentence from 0.
        end: the token after the last.
        counts: by tag, how many there are: a number, or (low, high) with None for open.
        closed: whether tags that are not in `counts` do not appear at all (every tag was looked for).
        weight: how much it counts, 0 to 1e12: 2 is as if it were there twice, 0 as if it were not there.
        annotator: who counted; None is unknown.

    >>> Region(0, 0, 3, {"NN": 1, "VB": (1, None)}, closed=False).counts  # one noun, some verbs, and who knows what
    {'NN': 1, 'VB': (1, None)}
    """

    sentence: int
    start: int
    end: int
    counts: Mapping[str, Count]
    closed: bool = True
    weight: float = 1.0
    annotator: str | None = None


def as_range(count: Count, length: int) -> tuple[int, int]:
    """Least and most, where most is at most the length; None is open."""
    if not isinstance(count, (tuple, list)):
        return int(count), int(count)
    low, high = 0 if count[0] is None else int(count[0]), length if count[1] is None else int(count[1])
    return low, min(high, length) if high != low else high


def _is_count(count: object) -> bool:
    if isinstance(count, Integral):
        return not isinstance(count, bool)
    if not isinstance(count, (tuple, list)) or len(count) != 2:
        return False
    return all(bound is None or (isinstance(bound, Integral) and not isinstance(bound, bool)) for bound in count)


def check_region(
    region: Region, length: int, tags: Mapping[str, int], sentence: str, *, may_miscount: bool = False
) -> None:
    """Refuse a region outside its sentence of so many tokens, unknown tags, and counts that cannot be.

    Where people may miscount, counts are accepted that do not fit the length together, each at most the length + 1.
    What is known of a single token, every tag asked, is a label or a list of allowed tags: it must fit all the same.
    """
    where = f"region {region.start} to {region.end} of sentence {sentence}"
    whole = all(isinstance(end, Integral) for end in (region.start, region.end))
    if not whole or not 0 <= region.start < region.end <= length:
        raise InputError(
            f"{where} is not in it; allowed: 0 ≤ start < end ≤ {length}.",
            remedy="Count tokens from 0; end is the token after the last.",
        )
    if region.weight != 1.0 or region.annotator is not None:
        _check_source(region, where)
    unknown = [name for name in region.counts if name not in tags]
    if unknown:
        raise LabelError(
            f"{where} counts {shown(unknown[0])}; allowed: the tags {shown(list(tags))}.",
            remedy="Correct the tag, or add it to the tag set.",
        )
    closed = region.closed or len(region.counts) == len(tags)
    size, least, most = region.end - region.start, 0, 0
    miscounted = may_miscount and not (closed and size == 1)
    for name, count in region.counts.items():
        low, high = as_range(count, size) if _is_count(count) else (-1, -1)
        if not 0 <= low <= high:
            raise InputError(
                f"{where} has {shown(count)} of {name}; allowed: whole numbers from 0, low at most high.",
                remedy="Give a number, or (low, high), None for open.",
            )
        if miscounted and low > size + 1:
            raise InputError(
                f"{where} has {size} tokens and {low} of {name}; allowed where people miscount: at most {size + 1}.",
                remedy="Correct the count, or the ends of the region.",
            )
        least, most = least + low, most + min(high, size)
    if least > size and not miscounted:
        raise InputError(
            f"{where} has {size} tokens and counts of {least} together; allowed: at most {size}.",
            remedy="Correct the counts, or the ends of the region, or accept such counts with may_miscount=True.",
        )
    if closed and most < size and not miscounted:
        raise InputError(
            f"{where} has {size} tokens and counts of {most} together, every tag asked; allowed: {size}.",
            remedy='Correct the counts, list the tags looked for in "asked", or accept these: may_miscount=True.',
        )


def _check_source(region: Region, where: str) -> None:
    """Refuse a weight or an annotator that is none."""
    weight, who = region.weight, region.annotator
    if not isinstance(weight, (int, float)) or not 0 <= weight <= MOST_WEIGHT:
        raise InputError(
            f"{where} has the weight {shown(weight)}; allowed: 0 to {MOST_WEIGHT:g}.", remedy=WEIGHT_REMEDY
        )
    if who is not None and (not isinstance(who, str) or not who):
        raise InputError(f"{where} has the annotator {shown(who)}; allowed: a name, or None.", remedy="Leave it out.")
