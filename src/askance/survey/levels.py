"""The levels of categories: what to refuse in a column, and what to doubt, before it is taken for categories.

Files say "no answer" in many ways, and write one category in several. Either makes levels that nobody meant, with
coefficients of their own, or even the level that all others are compared with.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from askance._arrays import AnyArray
from askance._checks import shorten
from askance._words import Either, words
from askance.errors import LabelError, NotIdentifiedError
from askance.survey.formula import ParsedFormula
from askance.survey.tables import Column, Columns, Kind, plain_value

# A column is one of numbers when this share of its rows, or of its different values, are numbers.
_NUMBERS = 0.9
# With more different values than this, categories are hardly what was meant.
_FEW = 30
# Spellings of a gap that programs write, without capitals.
_GAPS = {"na", "n/a", "n.a.", "n.a", "nan", "null", "<na>", "#n/a", "#null!"}
# Of width 0, but they change the shape of letters.
_JOINERS = "\u200c\u200d"
_AS_MISSING = words(
    "as missing (an empty cell) and use {0}", Either("missing='drop' (--missing drop)", "--missing drop")
)


def examine_levels(parsed: ParsedFormula, table: Columns, rows: AnyArray | None) -> list[str]:
    """Refuse columns that are no categories, though they are texts; and say which levels of others to doubt.

    Returns:
        a sentence, without its full stop, for every column of categories with levels that are probably a gap, or one
        level in two spellings.

    Raises:
        LabelError: numbers with some texts among them, or levels that differ in nothing that can be seen.
        NotIdentifiedError: nearly everybody has a level of their own.
    """
    columns = {name: table[name].take(rows) for name in parsed.uses}
    kinds = {name: column.kind for name, column in columns.items()}
    return examine_counts(parsed, kinds, lambda name: counts_of(columns[name]))


def examine_counts(
    parsed: ParsedFormula, kinds: Mapping[str, Kind], counts: Callable[[str], Counter[Any]]
) -> list[str]:
    """`examine_levels` of columns of which it is known what they hold, and how many rows have each level."""
    doubts: list[str] = []
    for name, uses in parsed.uses.items():
        is_text = kinds[name] in ("text", "category")
        # In a comparison, as in I(region == 'north'), the other values are no levels.
        is_factor = any(_is_factor(use, name) or (is_text and use.strip("`") == name) for use in uses)
        if is_text:
            _refuse(name, kinds[name], counts(name), on_purpose=all(map(_means_labels, uses)))
        if is_factor:
            doubts += _doubts(name, counts(name))
        if kinds[name] == "text" and not all(map(_means_labels, uses)):
            doubts += _numbers_as_texts(name, counts(name))
    return doubts


def _refuse(name: str, kind: Kind, counts: Counter[Any], *, on_purpose: bool) -> None:
    if not on_purpose:
        _refuse_strays(name, counts, is_declared=kind == "category")
    if len(counts) > max(50, counts.total() // 3):
        raise NotIdentifiedError(
            f"column {name!r} has {len(counts)} categories for {counts.total()} rows.",
            remedy="Is it a number written as text, or an identifier? Leave it out, or merge categories.",
        )
    for twins in _alike(counts, _seen):
        raise LabelError(
            f"column {name!r} holds levels that look the same: {' and '.join(map(ascii, twins))}.",
            remedy="Write them alike.",
        )


def _doubts(name: str, counts: Counter[Any]) -> Iterator[str]:
    gaps = gap_codes(list(counts))
    if gaps:
        what = "looks like a code" if len(gaps) == 1 else "look like codes"
        yield (
            f"column {name!r}: {_with_rows(gaps, counts)} {what} for a missing answer, but every value counts as a "
            f"category. Recode {'it' if len(gaps) == 1 else 'them'} {_AS_MISSING}, or name the category in words"
        )
    pairs = [_with_rows(twins, counts) for twins in _alike(counts, lambda level: _seen(level).casefold())]
    if pairs:
        yield (
            f"column {name!r} holds levels that differ in capitals, or the form of a letter, only: "
            f"{'; '.join(pairs[:4])}{' and others' if len(pairs) > 4 else ''}. They are taken as different "
            "categories: write them alike if they mean the same"
        )


def _numbers_as_texts(name: str, counts: Counter[Any]) -> Iterator[str]:
    """As exports with several header lines leave them behind, once these are cut off."""
    if len(counts) > _FEW and all(_number(level) is not None for level in counts):
        written = name if name.isidentifier() else f"`{name}`"
        yield (
            f"column {name!r} holds numbers written as texts, and each of the {len(counts)} is a category of its own. "
            f"Convert the column to numbers for a slope, or write C({written}) if that is meant"
        )


def gap_codes(levels: list[Any]) -> list[Any]:
    """The levels that look like codes for a gap.

    These are: punctuation alone (".", "-"); what programs write for a gap ("NaN"); and -99, 99, 888 and the like. A
    negative number is no code on a scale that goes on below 0 or is as wide below 0 as above. 77, 88, 99, 777, … are
    codes only where they have more digits than all other numbers. At least two other levels must remain.

    >>> gap_codes(["female", "male", "-99"]), gap_codes(["1", "2", "3", "."]), gap_codes([1.0, 2.0, 5.0, 99.0])
    (['-99'], ['.'], [99.0])
    >>> gap_codes(["+", "-", "0"]), gap_codes([-1.0, 0.0, 1.0]), gap_codes(["18-34", "35-64", "65+"])
    ([], [], [])
    >>> gap_codes([-50, -25, 0, 25]), gap_codes([-3, -2, -1, 1, 2]), gap_codes([-9, 1, 2, 3])
    ([], [], [-9])
    """
    has_plus = any(set(str(level)) <= {"+", "±"} for level in levels)  # beside it a dash is a minus
    texts = [
        level
        for level in levels
        if (_is_punctuation(str(level)) and not (has_plus and set(str(level)) <= set("-−–")))
        or str(level).casefold() in _GAPS
    ]
    numbers = {level: number for level in levels if (number := _number(level)) is not None and level not in texts}
    words = len(levels) - len(texts) - len(numbers)
    codes = [*_negative_codes(numbers, words), *_repeated_digits(numbers, words)]
    gaps = [level for level in levels if level in texts or level in codes]
    return gaps if len(levels) - len(gaps) >= 2 else []


def _negative_codes(numbers: dict[Any, float], words: int) -> list[Any]:
    """Negative numbers among words, or farther below the others than these are from each other."""
    below = [level for level, number in numbers.items() if number < 0]
    others = sorted({number for number in numbers.values() if number >= 0})
    if not below or len(others) <= 1:
        return below if words > len(numbers) - len(below) else []
    highest = max(numbers[level] for level in below)
    mirrored = {-numbers[level] for level in below} == set(others) - {0.0}
    without_zero = len(below) > 1 and -highest == others[0]
    longest = max(1.0, *(high - low for low, high in pairwise(others)))
    return [] if mirrored or without_zero or others[0] - highest <= longest else below


def _repeated_digits(numbers: dict[Any, float], words: int) -> list[Any]:
    """77, 88, 99, 777, … among words, or among numbers that all have fewer digits."""
    codes = [level for level, number in numbers.items() if re.fullmatch(r"(7{2,}|8{2,}|9{2,})", f"{number:.15g}")]
    others = [abs(number) for level, number in numbers.items() if level not in codes and number >= 0]
    if not others:
        return codes if words >= 2 else []
    return [level for level in codes if all(len(f"{number:.0f}") < len(f"{numbers[level]:.0f}") for number in others)]


def _refuse_strays(name: str, counts: Counter[Any], *, is_declared: bool) -> None:
    """Refuse numbers with some texts among them.

    Texts with digits in them ("4+", "5 or more") are brackets: they may be few, as long as numbers are few too. Several
    texts among declared categories are probably the named ends of a scale.
    """
    strays = [level for level in counts if _number(level) is None]
    if not 0 < len(strays) < len(counts):
        return
    numeric = counts.total() - sum(counts[level] for level in strays)
    are_ends = is_declared and len(strays) > 1
    are_brackets = any(re.search(r"\d", str(level)) for level in strays)
    by_rows = numeric >= _NUMBERS * counts.total() and not are_ends and not are_brackets
    if by_rows or len(strays) <= (1 - _NUMBERS) * len(counts):
        written = name if name.isidentifier() else f"`{name}`"
        as_labels = f", or write C({written}) to take all values as categories" if len(counts) <= _FEW else ""
        raise LabelError(
            f"column {name!r} is text: {numeric} of {counts.total()} rows hold numbers, the others {shorten(strays)}.",
            remedy=words(
                "Recode what is no answer {0}, and named ends of a scale as numbers{1}.", _AS_MISSING, as_labels
            ),
        )


def counts_of(column: Column) -> Counter[Any]:
    """How many rows have each level, in the order of the levels."""
    rows = Counter(column.values.tolist())
    return Counter({level: rows[level] for level in column.distinct()})


def _means_labels(use: str) -> bool:
    """Whether a term takes a column for categories on purpose: by C(…), or by naming one of its texts."""
    return use.startswith("C(") or bool(re.search(r"['\"]", use))


def _is_factor(use: str, name: str) -> bool:
    return bool(re.match(rf"C\(\s*`?{re.escape(name)}`?\s*[,)]", use))


def _number(level: Any) -> float | None:
    try:
        number = float(str(level))
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _is_punctuation(text: str) -> bool:
    return bool(text) and all(unicodedata.category(mark).startswith("P") for mark in text)


def _seen(level: Any) -> str:
    """What a reader sees of a level: accents in one form, no marks of width 0, single blanks."""
    text = unicodedata.normalize("NFC", str(level))
    kept = (mark for mark in text if unicodedata.category(mark) != "Cf" or mark in _JOINERS)
    return " ".join("".join(kept).split())


def _alike(levels: Iterable[Any], form: Callable[[Any], str]) -> list[list[Any]]:
    """The levels of which several have the same form."""
    groups: dict[str, list[Any]] = {}
    for level in levels:
        groups.setdefault(form(level), []).append(level)
    return [group for group in groups.values() if len(group) > 1]


def _with_rows(levels: list[Any], counts: Counter[Any]) -> str:
    """Levels with their numbers of rows: 'NORTH' (230 rows), 'north' (470 rows)."""
    numbers = [(shorten([plain_value(level)]), counts[level]) for level in levels]
    return ", ".join(f"{shown} ({count} {'row' if count == 1 else 'rows'})" for shown, count in numbers)
