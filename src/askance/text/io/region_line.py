"""One line of a file of regions: a sentence, its regions and what is known of single tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, TypeAlias

from askance._checks import did_you_mean, shown
from askance.errors import InputError, LabelError
from askance.text.corpus.region import MOST_WEIGHT, Region, check_region
from askance.text.io.json_records import id_of, list_of, of_kind, one_per_token, tokens_of

#: What can be wrong with a line.
Reason: TypeAlias = Literal["malformed", "unknown tag", "outside the sentence", "impossible counts", "single token"]

_SOURCE_FIELDS = ("weight", "annotator")
_SENTENCE_FIELDS = ("id", "tokens", "regions", "tags", *_SOURCE_FIELDS)
_REGION_FIELDS = ("start", "end", "counts", "asked", *_SOURCE_FIELDS)
#: Weight and annotator where a line says nothing of them.
_UNKNOWN_SOURCE: tuple[float, str | None] = (1.0, None)


class BadLineError(ValueError):
    """What is wrong with a line, other than its form."""

    def __init__(self, what: str, reason: Reason) -> None:
        super().__init__(what)
        self.reason: Reason = reason


class Sentence(NamedTuple):
    """What a line says; `allowed` has the tags that each token may have (one: its label), None where unknown.

    `weight` and `annotator` are those of what is known of single tokens; regions have their own. `left_out` says what
    is wrong with regions of one token that were left out.
    """

    id: str
    words: list[str]
    regions: list[Region]
    allowed: list[list[str] | None] | None
    weight: float
    annotator: str | None
    left_out: list[str]


def read_sentence(
    content: Any, known: Mapping[str, int] | None, number: int, *, may_miscount: bool = False
) -> Sentence:
    """One line that was read as JSON.

    Args:
        content: what it holds.
        known: the tag set; None where it is not known yet.
        number: what the sentence is called in messages when it has no id.
        may_miscount: whether counts that cannot be are accepted (`check_region`). Of one token, every tag asked, they
            are not, as nobody can say which tag it has: the region is left out.

    Raises:
        ValueError: anything is not as it should be; a `BadLineError` has a reason.
    """
    _require_fields(of_kind(content, dict, "it is"), _SENTENCE_FIELDS, "it")
    words, id = tokens_of(content), id_of(content)
    sentence = repr(id) if id else str(number)
    source = _read_source(content, f"sentence {sentence}", _UNKNOWN_SOURCE)
    regions, left_out = [], []
    for region in list_of(content, "regions", "are"):
        try:
            regions.append(_read_region(region, len(words), known, sentence, source, may_miscount))
        except BadLineError as bad:
            if bad.reason != "single token":
                raise
            left_out.append(str(bad))
    allowed = _read_tags(content.get("tags"), len(words), known, sentence)
    return Sentence(id, words, regions, allowed, *source, left_out)


def _read_source(
    content: Mapping[str, Any], where: str, otherwise: tuple[float, str | None]
) -> tuple[float, str | None]:
    """Weight and annotator, of a sentence or of a region."""
    weight, annotator = content.get("weight"), content.get("annotator")
    if weight is None:
        weight = otherwise[0]
    elif type(weight) not in (int, float) or not 0 <= weight <= MOST_WEIGHT:
        raise ValueError(f"{where} has the weight {shown(weight)}; allowed: 0 to {MOST_WEIGHT:g}")
    if annotator is None:
        annotator = otherwise[1]
    elif not isinstance(annotator, str) or not annotator:
        raise ValueError(f"{where} has the annotator {shown(annotator)}; allowed: a name")
    return weight, annotator


def _require_fields(content: Mapping[str, Any], allowed: Sequence[str], what: str) -> None:
    """A misspelt field would silently change the meaning."""
    for field in content:
        if field not in allowed:
            advice = did_you_mean(field, allowed, "")
            raise ValueError(f"{what} has an unknown field {shown(field)}; allowed: {', '.join(allowed)}. {advice}")


def _read_region(
    content: Any,
    length: int,
    known: Mapping[str, int] | None,
    sentence: str,
    source: tuple[float, str | None],
    may_miscount: bool,
) -> Region:
    """One region, checked as far as it can be before the tag set is known."""
    what = f"a region of sentence {sentence}"
    _require_fields(of_kind(content, dict, f"{what} is"), _REGION_FIELDS, what)
    start, end, counts, asked = (content.get(field) for field in _REGION_FIELDS[:4])
    if type(start) is not int or type(end) is not int:
        raise ValueError(f"{what} goes from {shown(start)} to {shown(end)}; allowed: whole numbers")
    where = f"region {shown(start)} to {shown(end)} of sentence {sentence}"
    if "" in of_kind(counts, dict, f"{where} has the counts", 'an object such as {"NN": 2}'):
        raise ValueError(f"{where} counts ''; allowed: names of tags")
    if not 0 <= start < end <= length:
        raise BadLineError(f"{where} is not in it; allowed: 0 ≤ start < end ≤ {length}.", "outside the sentence")
    read = {tag: _read_count(count, end - start, tag, where) for tag, count in counts.items()}
    if asked is not None:
        _require_tags(asked, where + " asks for", known)
        extra = [tag for tag in read if tag not in asked]
        if extra:
            raise ValueError(f'{where} counts {shown(extra[0])}, which is not in "asked"')
        read = {tag: read.get(tag, 0) for tag in asked}
    weight, annotator = _read_source(content, where, source)
    region = Region(0, start, end, read, asked is None, weight, annotator)
    # Without a known tag set no list of tags is all of it: "" is none that was asked.
    tags = dict.fromkeys((*read, ""), 0) if known is None else known
    try:
        check_region(region, length, tags, sentence, may_miscount=may_miscount)
    except LabelError as error:
        raise BadLineError(error.message, "unknown tag") from None
    except InputError as error:
        single = may_miscount and _fits_open(region, length, tags, sentence)
        raise BadLineError(error.message, "single token" if single else "impossible counts") from None
    return region


def _fits_open(region: Region, length: int, tags: Mapping[str, int], sentence: str) -> bool:
    """Whether counts that may be wrong are refused only because every tag of a single token was asked."""
    try:
        check_region(replace(region, closed=False), length, {**tags, "": 0}, sentence, may_miscount=True)
    except InputError:
        return False
    return True


def _read_count(count: Any, length: int, tag: str, where: str) -> int | tuple[int, int]:
    if type(count) is int and count >= 0:
        return count
    if isinstance(count, list) and len(count) == 2:
        low, high = 0 if count[0] is None else count[0], length if count[1] is None else count[1]
        if type(low) is int and type(high) is int and low >= 0 and (low <= high or count[1] is None):
            return low, max(low, high)
    raise BadLineError(
        f"{where} has {shown(count)} of {shown(tag)}; allowed: a whole number from 0, or [low, high], null for open.",
        "impossible counts",
    )


def _require_tags(tags: Any, what: str, known: Mapping[str, int] | None) -> None:
    """Refuse what is no list of names of tags."""
    if not isinstance(tags, list) or not tags or not all(isinstance(tag, str) and tag for tag in tags):
        raise ValueError(f"{what} {shown(tags)}; allowed: a list of tags")
    unknown = [] if known is None else [tag for tag in tags if tag not in known]
    if unknown:
        raise BadLineError(f"{what} {shown(unknown[0])}; allowed: the tags {shown(list(known or ()))}.", "unknown tag")


def _read_tags(tags: Any, length: int, known: Mapping[str, int] | None, sentence: str) -> list[list[str] | None] | None:
    if tags is None:
        return None
    allowed: list[list[str] | None] = []
    for token, tag in enumerate(one_per_token(tags, length, f"the tags of sentence {sentence} have")):
        if tag is not None and (not isinstance(tag, str) or not tag or (known is not None and tag not in known)):
            _require_tags(tag if isinstance(tag, list) else [tag], f"token {token} of sentence {sentence} has", known)
        allowed.append(list(dict.fromkeys(tag)) if isinstance(tag, list) else tag if tag is None else [tag])
    return allowed
