"""Region counts from and to files: `regions/1`, one JSON object a line, writable by hand.

    {"askance": "regions/1", "tagset": ["DT", "NN", "VBZ"]}
    {"id": "s1", "tokens": ["The", "dog", "barks"], "regions": [{"start": 0, "end": 3, "counts": {"NN": 1, "DT": 1}}]}

- The first line is optional; without it the tag set is every tag that occurs in the files.
- A region has the tokens from `start` up to, not including, `end`. `asked` lists the tags that the annotator looked
  for; without it every tag of the tag set was. A tag that was looked for and has no count does not appear.
- A count is a number, or a range [low, high] with null for an open end.
- `tags`, where given, has one entry per token: its tag, a list of the tags it may have, or null. Each becomes a region
  of its own.
- A region, or a sentence for all its regions and tags, may have a `weight` (1 is usual) and an `annotator` (a name).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from json.encoder import encode_basestring
from typing import Any

import numpy as np

from askance._arrays import IntArray
from askance._checks import as_list, shorten, shown
from askance._words import words
from askance.errors import AskanceError, EmptyDataError, FormatError, IncompatibleEvidenceError, InputError, LabelError
from askance.formats.report_schema import json_line
from askance.text.corpus.corpus import Corpus, CorpusBuilder
from askance.text.corpus.regions import RegionBuilder, RegionCounts, check_region
from askance.text.io.lines import Source, byte_lines, name_of, read_json, write_lines
from askance.text.io.region_line import BadLineError, Reason, Sentence, read_sentence

REGIONS_FORMAT = "regions/1"
_ERRORS: dict[Reason, type[AskanceError]] = {
    "malformed": FormatError,
    "unknown tag": LabelError,
    "outside the sentence": InputError,
    "impossible counts": InputError,
    "single token": InputError,
}
_SKIP = words("Correct it, or leave such lines out with {skip_bad=True}.")
_MISCOUNTED = words(
    "Correct it, leave such lines out with {skip_bad=True}, or, where people miscount, accept counts that "
    "do not fit together with {may_miscount=True}."
)


@dataclass(frozen=True, eq=False)
class RegionFile:
    """What files of regions hold.

    Attributes:
        regions: all of them; their corpus has tags where the files label tokens.
        refused: how many lines were left out, by reason; "single token" are regions of one token, left out without the
            rest of their line.
        messages: the first that was left out for each reason, with file and line.
    """

    regions: RegionCounts
    refused: Mapping[Reason, int]
    messages: tuple[str, ...]

    @property
    def corpus(self) -> Corpus:
        """The sentences."""
        return self.regions.corpus

    @property
    def n_bad(self) -> int:
        """How many lines, and regions of one token, were left out."""
        return sum(self.refused.values())


def read_regions(
    paths: str | os.PathLike[str] | Sequence[Source],
    *,
    tagset: Iterable[str] | None = None,
    skip_bad: bool = False,
    may_miscount: bool = False,
) -> RegionFile:
    """Read files of regions, plain or packed with gzip.

    Args:
        paths: one file, or several with the same tag set.
        tagset: the tags that may appear; default: those that the first lines of the files state, or else all that
            occur. The regions hold them sorted.
        skip_bad: leave bad lines out, each with all its regions, and count them, instead of stopping at the first.
        may_miscount: accept counts that do not fit the length of their region together, each at most the length + 1:
            people miscount, and a likelihood that knows how often (`Miscounts`) can do with such counts. No channel
            applies to a single token of which every tag was asked: where its counts cannot be, that region is left out
            and counted.

    Raises:
        FormatError: not UTF-8, not JSON, fields that are not as they should be, another version of the format.
        LabelError: a tag that is not in the tag set.
        InputError: a region outside its sentence, or counts that cannot be.
        IncompatibleEvidenceError: files state different tag sets: a tag that is not in that of a file was not looked
            for there, and a region without "asked" does not say so.
        EmptyDataError: no region at all.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "small.jsonl"
    >>> line = '{"tokens": ["a", "dog"], "regions": [{"start": 0, "end": 2, "counts": {"DT": 1, "NN": 1}}]}'
    >>> _ = path.write_text(line)
    >>> found = read_regions(path)
    >>> found.regions, found.n_bad
    (RegionCounts(1 regions of Corpus(1 sentences, 2 tokens, 2 types, 2 tags), 2 tags), 0)
    """
    listed = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not listed:
        raise EmptyDataError("there is no file of regions.", remedy="Give at least one path.")
    streams = [_Stream.of(path) for path in listed]
    asked = None if tagset is None else tuple(sorted(set(as_list(tagset, "tagset", '["NN", "VB"]'))))
    file = _read(streams, asked, skip_bad, may_miscount)
    if not len(file.regions):
        what = f"all {file.n_bad:,} lines were left out; the first: {file.messages[0]}" if file.n_bad else ""
        raise EmptyDataError(
            what or f"{shorten([stream.name for stream in streams])} has no region and no label.",
            remedy="Give files as `askance regions` writes them.",
        )
    return file


def read_region_part(path: Source, tagset: tuple[str, ...] | None, skip_bad: bool, may_miscount: bool) -> RegionFile:
    """One of several files, as `read_regions` reads them together: it may be without regions."""
    return _read([_Stream.of(path)], tagset, skip_bad, may_miscount)


def _read(streams: Sequence[_Stream], asked: tuple[str, ...] | None, skip_bad: bool, may_miscount: bool) -> RegionFile:
    stated = ((stream.name, stream.tagset) for stream in streams if stream.tagset is not None)
    reading = _Reading(common_tags(stated, asked), skip_bad, may_miscount)
    for stream in streams:
        for number, line in stream.lines:
            reading.read(line, stream.name, number)
    return reading.finish()


# -- headers -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Stream:
    """A file: its tag set, where the first line states one, and the lines after it."""

    name: str
    tagset: tuple[str, ...] | None
    lines: Iterator[tuple[int, bytes]]

    @classmethod
    def of(cls, path: Source) -> _Stream:
        name, lines = name_of(path), byte_lines(path)
        for number, line in lines:
            if line and not line.isspace():
                try:
                    content = read_json(line)
                except ValueError:  # will be refused, or skipped, when its turn comes
                    content = None
                if isinstance(content, dict) and "askance" in content:
                    return cls(name, _tags_of_header(content, f"{name}, line {number}"), lines)
                return cls(name, None, chain([(number, line)], lines))
        raise EmptyDataError(f"{name} is empty.", remedy="Give a file as `askance regions` writes it.")


def _tags_of_header(content: Mapping[str, Any], place: str) -> tuple[str, ...] | None:
    if content["askance"] != REGIONS_FORMAT:
        raise FormatError(
            f"{place} has format {shown(content['askance'])}; allowed for regions: {REGIONS_FORMAT!r}.",
            remedy="Give a file of regions, or use the version of askance that wrote it.",
        )
    tags = content.get("tagset")
    unknown = [field for field in content if field not in ("askance", "tagset")]
    if unknown:
        raise FormatError(f"{place} has an unknown field {shown(unknown[0])}.", remedy="Take it out.")
    if tags is None:
        return None
    if not isinstance(tags, list) or not tags or not all(isinstance(tag, str) and tag for tag in tags):
        raise FormatError(f"{place} has the tag set {shown(tags)}; allowed: a list of texts.", remedy="Correct it.")
    if len(set(tags)) < len(tags):
        twice = next(tag for i, tag in enumerate(tags) if tag in tags[:i])
        raise FormatError(f"{place} lists the tag {shown(twice)} twice.", remedy="Take it out once.")
    return tuple(sorted(tags))


def stated_tags(path: Source) -> tuple[str, ...] | None:
    """The tag set that the first line of a file states."""
    return _Stream.of(path).tagset


def common_tags(
    stated: Iterable[tuple[str, tuple[str, ...]]], tagset: tuple[str, ...] | None = None
) -> tuple[str, ...] | None:
    """The tag set that all files, by name, state; None: there are none."""
    origin = "the tag set that was asked for"
    for name, tags in stated:
        if tagset is None:
            tagset, origin = tags, name
        _require_same(tags, tagset, name, origin)
    return tagset


def _require_same(tags: tuple[str, ...], expected: tuple[str, ...], name: str, origin: str) -> None:
    other = sorted(set(tags) ^ set(expected))
    if other:
        raise IncompatibleEvidenceError(
            f"{name} has another tag set than {origin}: {shorten(other)} in one of them only; allowed: one tag set.",
            remedy="Give them one tag set: name all tags in the first line of each, and list those that were looked "
            'for in "asked" where these were not all.',
        )


# -- lines -------------------------------------------------------------------------------------------------------------


class _Reading:
    """Collects regions; tags are put in order when all are known."""

    def __init__(self, tagset: tuple[str, ...] | None, skip_bad: bool, may_miscount: bool) -> None:
        self._tagset, self._skip, self._may_miscount = tagset, skip_bad, may_miscount
        self._corpus, self._regions = CorpusBuilder(), RegionBuilder(tagset or ())
        self._known = None if tagset is None else self._regions.codes
        self._places: list[tuple[str, int]] = []
        self._refused: dict[Reason, int] = {}
        self._first: dict[Reason, str] = {}

    def read(self, line: bytes, name: str, number: int) -> None:
        """One line; a bad one is refused, or counted."""
        if not line or line.isspace():
            return
        try:
            content = read_json(line)
            if isinstance(content, dict) and "askance" in content:
                self._read_another_header(content, f"{name}, line {number}")
                return
            place = len(self._corpus) + 1
            sentence = read_sentence(content, self._known, place, may_miscount=self._may_miscount)
        except ValueError as bad:
            reason: Reason = bad.reason if isinstance(bad, BadLineError) else "malformed"
            what = str(bad).rstrip(". ")
            self._refuse(reason, f"{name}, line {number}: {what}{'' if what.endswith('?') else '.'}")
            return
        for what in sentence.left_out:
            self._count("single token", f"{name}, line {number}: {what}")
        self._add(sentence)
        self._places.append((name, number))

    def _read_another_header(self, content: dict[str, Any], place: str) -> None:
        """Files were concatenated: allowed where they are of one tag set."""
        tags = _tags_of_header(content, place)
        if tags is None:
            return
        if self._tagset is None:
            raise FormatError(f"{place} states a tag set; allowed: in the first line.", remedy="Move it there.")
        _require_same(tags, self._tagset, place, "the lines before")

    def _refuse(self, reason: Reason, message: str) -> None:
        if not self._skip:
            may_help = reason == "impossible counts" and not self._may_miscount
            raise _ERRORS[reason](message, remedy=_MISCOUNTED if may_help else _SKIP)
        self._count(reason, message)

    def _count(self, reason: Reason, message: str) -> None:
        """Something was left out."""
        self._refused[reason] = self._refused.get(reason, 0) + 1
        self._first.setdefault(reason, message)

    def _add(self, sentence: Sentence) -> None:
        base = self._corpus.n_tokens
        for region in sentence.regions:
            start, end = base + region.start, base + region.end
            self._regions.add(start, end, region.counts, region.closed, region.weight, region.annotator)
        labels: list[str | None] | None = None
        if sentence.allowed is not None:
            labels = [tags[0] if tags and len(tags) == 1 else None for tags in sentence.allowed]
            for token, tags in enumerate(sentence.allowed, base):
                if tags is not None:
                    counts = {tag: 1 if len(tags) == 1 else (0, 1) for tag in tags}
                    self._regions.add(token, token + 1, counts, True, sentence.weight, sentence.annotator)
        self._corpus.add(sentence.words, labels, sentence.id)

    def finish(self) -> RegionFile:
        """All regions, with the tags in order."""
        tagset = tuple(sorted(self._regions.codes)) if self._tagset is None else self._tagset
        regions = self._without_late(self._regions.build(self._corpus.build(tagset), tagset))
        return RegionFile(regions, dict(self._refused), tuple(self._first.values()))

    def _without_late(self, regions: RegionCounts) -> RegionCounts:
        """Refuse regions whose counts cannot be, which shows when the tag set is known: all of it was asked.

        Where people may miscount these are single tokens, and left out; otherwise their lines are.
        """
        longest, sentence = 1 if self._may_miscount else np.inf, regions.sentence
        late = np.flatnonzero(regions.closed & ~regions.is_possible & (regions.lengths <= longest))
        if self._may_miscount:
            for number in late.tolist():
                self._count("single token", self._what_is_wrong(regions, number, int(sentence[number])))
            return regions.take(np.delete(np.arange(len(regions)), late)) if len(late) else regions
        bad, first = np.unique(sentence[late], return_index=True)
        for number, region in zip(bad.tolist(), late[first].tolist(), strict=True):
            self._refuse("impossible counts", self._what_is_wrong(regions, region, number))
        return regions.take(~np.isin(sentence, bad)) if len(bad) else regions

    def _what_is_wrong(self, regions: RegionCounts, number: int, sentence: int) -> str:
        """What `check_region` says of a region, with file and line."""
        name, line = self._places[sentence]
        corpus, what = regions.corpus, ""
        try:
            length, tags = int(corpus.lengths[sentence]), dict.fromkeys(regions.tagset, 0)
            check_region(regions.region(number), length, tags, corpus.name(sentence))
        except InputError as error:
            what = error.message
        return f"{name}, line {line}: {what}"


# -- writing -----------------------------------------------------------------------------------------------------------


def write_regions(path: str | os.PathLike[str], regions: RegionCounts) -> None:
    """Write regions, with the tag set in the first line; whole or not at all, packed where the name ends in .gz.

    Only regions are written, never the tags of their corpus: a file says what the annotator said. All sentences are,
    also those without a region.
    """
    corpus = regions.corpus
    order = np.argsort(regions.sentence, kind="stable")
    first = np.searchsorted(regions.sentence[order], np.arange(len(corpus) + 1))
    texts = _region_texts(regions, corpus.starts[regions.sentence], order)
    write_lines(path, _lines(regions, [texts[first[s] : first[s + 1]] for s in range(len(corpus))]))


def _lines(regions: RegionCounts, texts: list[list[str]]) -> Iterator[str]:
    """The header, then sentences with the texts of their regions."""
    corpus, words = regions.corpus, [encode_basestring(word) for word in regions.corpus.words]
    yield json_line({"askance": REGIONS_FORMAT, "tagset": list(regions.tagset)})
    for number, listed in enumerate(texts):
        named = f'"id":{encode_basestring(corpus.ids[number])},' if corpus.ids else ""
        tokens = ",".join([words[token] for token in corpus.tokens[corpus.span(number)].tolist()])
        yield f'{{{named}"tokens":[{tokens}],"regions":[{",".join(listed)}]}}\n'


def _region_texts(regions: RegionCounts, base: IntArray, order: IntArray) -> list[str]:
    """Every region as JSON, in that order; `base` is where its sentence begins."""
    names = [encode_basestring(tag) for tag in regions.tagset]
    tags, low, high = ([names[t] for t in regions.tag.tolist()], regions.low.tolist(), regions.high.tolist())
    counts = [
        f"{tag}:{least}" if least == most else f"{tag}:[{least},{most}]"
        for tag, least, most in zip(tags, low, high, strict=True)
    ]
    start, end = (regions.start - base).tolist(), (regions.end - base).tolist()
    offsets, closed, texts, sources = regions.offsets.tolist(), regions.closed.tolist(), [], _source_texts(regions)
    for r in order.tolist():
        span = slice(offsets[r], offsets[r + 1])
        if closed[r]:
            listed, asked = counts[span], ""
        else:
            listed = [count for count, most in zip(counts[span], high[span], strict=True) if most]
            asked = f',"asked":[{",".join(tags[span])}]'
        texts.append(f'{{"start":{start[r]},"end":{end[r]},"counts":{{{",".join(listed)}}}{asked}{sources[r]}}}')
    return texts


def _source_texts(regions: RegionCounts) -> list[str]:
    """Weight and annotator of every region as JSON, empty where they are as usual."""
    names = [*(f',"annotator":{encode_basestring(name)}' for name in regions.annotators), ""]  # −1 is the last
    who = [names[code] for code in regions.annotator_codes.tolist()]
    if regions.weight is None:
        return who
    weights = regions.weight.tolist()
    return [by if w == 1 else f',"weight":{w!r}{by}' for w, by in zip(weights, who, strict=True)]
