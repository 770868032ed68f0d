"""Spans of characters and words with tags: what the files of all annotation tools have in common.

**Words** are those of the file where it has some, and otherwise found by a small rule (`split_words`): white space
separates, and punctuation, currency signs and mathematical signs at either end of a piece are words of their own, each
character one; what is inside a piece stays.

**Spans** must cover whole words; white space at their ends does not matter. One that cuts a word is refused rather than
widened: which half the annotator meant is not known, and the words of a trained tagger must be those of new text.

**Offsets** count characters (Unicode code points) or UTF-16 code units, which is what JavaScript counts; the two differ
after characters beyond U+FFFF, such as emoji. Each tool says which of them to try first.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from askance._checks import shown

Tool: TypeAlias = Literal["doccano", "label-studio", "prodigy"]
#: How spans become tags: every word under a span has its label, or B-label for the first and I-label for the others.
Scheme: TypeAlias = Literal["plain", "bio"]
#: What offsets count.
Unit: TypeAlias = Literal["characters", "UTF-16"]
#: Where words begin and end, in characters.
Borders: TypeAlias = list[tuple[int, int]]
#: Why an annotation is left out.
LeftOut: TypeAlias = Literal["rejected", "ignored", "cancelled", "not annotated", "no words", "bad"]

_PIECE = re.compile(r"\S+")
_SPLIT_OFF = ("P", "Sc", "Sm")


class Span(NamedTuple):
    """A stretch of a text and its label; offsets as the tool counts them.

    `text` is what the tool says the stretch reads, where it does.
    """

    start: int
    end: int
    label: str
    text: str | None = None


class Annotation(NamedTuple):
    """What one annotator said of a text."""

    annotator: str
    spans: list[Span]


@dataclass(frozen=True)
class Task:
    """A text of an annotation tool."""

    id: str  # its name, or ""
    text: str  # what the annotator saw
    borders: Borders  # its words
    annotations: list[Annotation] = field(default_factory=list)  # those that count, one per annotator
    predictions: list[Annotation] = field(default_factory=list)  # what models said of it
    left_out: list[LeftOut] = field(default_factory=list)  # why other annotations do not count

    @property
    def words(self) -> list[str]:
        """The words."""
        return [self.text[start:end] for start, end in self.borders]


# -- words -------------------------------------------------------------------------------------------------------------


def split_words(text: str) -> Borders:
    """Words of a text that came without: white space separates, signs at the ends of a piece are split off.

    Words found so, joined by single spaces, are found again.

    >>> text = 'He paid $5 (in the U.S.)!'
    >>> [text[start:end] for start, end in split_words(text)]
    ['He', 'paid', '$', '5', '(', 'in', 'the', 'U.S', '.', ')', '!']
    """
    borders: Borders = []
    for piece in _PIECE.finditer(text):
        first, last = piece.span()
        while first < last and _is_sign(text[first]):
            borders.append((first, first + 1))
            first += 1
        end = last
        while first < last and _is_sign(text[last - 1]):
            last -= 1
        if first < last:
            borders.append((first, last))
        borders += [(sign, sign + 1) for sign in range(last, end)]
    return borders


def _is_sign(character: str) -> bool:
    return unicodedata.category(character).startswith(_SPLIT_OFF)


def place_words(text: str, words: Sequence[str]) -> Borders:
    """Where given words are in a text: in that order, with nothing but white space between them.

    >>> place_words("sizes. New York", ["sizes", ".", "New York"])
    [(0, 5), (5, 6), (7, 15)]
    """
    borders: Borders = []
    last = 0
    for word in words:
        start = text.find(word, last)
        if not word.strip() or start < 0 or text[last:start].strip():
            raise ValueError(f"its token {shown(word)} is not in its text after {shown(text[:last][-20:])}")
        last = start + len(word)
        borders.append((start, last))
    if text[last:].strip():
        raise ValueError(f"its text goes on after the last token: {shown(text[last:])}")
    return borders


def join_words(words: Sequence[str]) -> tuple[str, Borders]:
    """The words with single spaces between them, and where they are.

    >>> join_words(["a", "dog"])
    ('a dog', [(0, 1), (2, 5)])
    """
    borders: Borders = []
    start = 0
    for word in words:
        borders.append((start, start + len(word)))
        start += len(word) + 1
    return " ".join(words), borders


# -- from spans to tags ------------------------------------------------------------------------------------------------


def tags_of_spans(
    task: Task, spans: Sequence[Span], units: Sequence[Unit], scheme: Scheme, outside: str | None
) -> list[str | None]:
    """The tag of every word.

    Args:
        task: the text and its words.
        spans: what was marked in it.
        units: what offsets may count; the first in which all spans cover whole words is taken.
        scheme: "plain" or "bio".
        outside: the tag of words without a span.

    Raises:
        ValueError: a span outside the text, or that cuts a word, or words with two labels.

    >>> task = Task("", "Ann Lee left", split_words("Ann Lee left"))
    >>> tags_of_spans(task, [Span(0, 7, "PER")], ["characters"], "bio", "O")
    ['B-PER', 'I-PER', 'O']
    """
    owner: list[tuple[int, int, Span] | None] = [None] * len(task.borders)
    for first, last, span in _placed(task, spans, units):
        for i in range(first, last + 1):
            before = owner[i]
            if before is not None and (
                before[2].label != span.label or (scheme == "bio" and before[:2] != (first, last))
            ):
                raise ValueError(
                    f"its word {shown(task.words[i])} is in two spans, {_named(before[2])} and {_named(span)}; "
                    "allowed: spans that do not overlap"
                )
            owner[i] = first, last, span
    tags: list[str | None] = []
    for i, held in enumerate(owner):
        label = outside if held is None else held[2].label
        tags.append(label if held is None or scheme == "plain" else f"{'B' if i == held[0] else 'I'}-{label}")
    return tags


def _placed(task: Task, spans: Sequence[Span], units: Sequence[Unit]) -> list[tuple[int, int, Span]]:
    """First and last word of every span."""
    if task.text.isascii() or max(task.text) <= "\uffff":
        units = ["characters"]  # where both count the same
    starts, ends = [start for start, _ in task.borders], [end for _, end in task.borders]
    problem: ValueError | None = None
    for unit in units:
        place = _character_of_unit(task.text) if unit == "UTF-16" else range(len(task.text) + 1)
        try:
            return [(*_words_of_span(task, span, place, starts, ends), span) for span in spans]
        except ValueError as error:
            problem = problem or error
    raise problem or ValueError("its offsets have no unit")


def _words_of_span(task: Task, span: Span, place: Sequence[int], starts: list[int], ends: list[int]) -> tuple[int, int]:
    if not 0 <= span.start < span.end < len(place) or place[span.start] < 0 or place[span.end] < 0:
        raise ValueError(
            f"its span {_named(span)} is outside its text; allowed: offsets 0 to {len(place) - 1}, in order"
        )
    start, end = place[span.start], place[span.end]
    read = task.text[start:end]
    if span.text is not None:
        here, told = "".join(read.split()), "".join(span.text.split())
        # Tools lose white space there, and parts of words; the offsets are what counts.
        if here not in told and told not in here:
            raise ValueError(f"its span {_named(span)} is {shown(read)} in the text, and says {shown(span.text)}")
    first, last = bisect_right(ends, start), bisect_left(starts, end) - 1
    if first > last:
        raise ValueError(f"its span {_named(span)} is {shown(read)}, which has no word")
    for i in (first, last):
        if starts[i] < start or ends[i] > end:
            raise ValueError(
                f"its span {_named(span)} is {shown(read)}, which cuts the word {shown(task.words[i])}; allowed: whole "
                "words"
            )
    return first, last


def _named(span: Span) -> str:
    return f"{span.start} to {span.end} ({shown(span.label)})"


def _character_of_unit(text: str) -> list[int]:
    """For every offset in UTF-16 code units the one in characters; −1 in the middle of a pair."""
    place: list[int] = []
    for i, character in enumerate(text):
        place += [i, -1] if character > "\uffff" else [i]
    return [*place, len(text)]


# -- from tags to spans ------------------------------------------------------------------------------------------------


def spans_of_tags(tags: Sequence[str | None], scheme: Scheme, outside: str | None) -> list[tuple[int, int, str]]:
    """First word, last word and label of every span: one per word with a tag, or one per entity.

    An I- that continues nothing begins an entity. ValueError for a tag that is neither B-… nor I-….

    >>> spans_of_tags(["B-PER", "I-PER", "O", "B-LOC"], "bio", "O")
    [(0, 1, 'PER'), (3, 3, 'LOC')]
    """
    spans: list[tuple[int, int, str]] = []
    for i, tag in enumerate(tags):
        if tag is None or tag == outside:
            continue
        if scheme == "plain":
            spans.append((i, i, tag))
            continue
        if tag[:2] not in ("B-", "I-") or len(tag) == 2:
            raise ValueError(tag)
        label = tag[2:]
        if tag[0] == "I" and spans and spans[-1][1:] == (i - 1, label):
            spans[-1] = (spans[-1][0], i, label)
        else:
            spans.append((i, i, label))
    return spans


def in_units(text: str, borders: Borders) -> Borders:
    """Borders of words in UTF-16 units, as browsers count them.

    >>> in_units("😀 a", [(0, 1), (2, 3)])
    [(0, 2), (3, 4)]
    """
    if text.isascii() or max(text) <= "\uffff":
        return borders
    place = {character: unit for unit, character in enumerate(_character_of_unit(text)) if character >= 0}
    return [(place[start], place[end]) for start, end in borders]
