"""Annotation tools in and out: spans of doccano, Label Studio and Prodigy as sentences with tags, and back.

What a text and its spans become is said in `annotation_spans`, what a tool's files look like in `annotation_formats`.
Texts are written as words joined by single spaces, together with the words, so that what is written is read as the same
words and tags.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import get_args

from askance._checks import one_of, shown
from askance._words import words
from askance.errors import EmptyDataError, FormatError, InputError
from askance.formats.report_schema import json_line
from askance.text.corpus.corpus import Corpus, CorpusBuilder
from askance.text.io.annotation_formats import format_of_tool, tool_of
from askance.text.io.annotation_spans import LeftOut, Scheme, Tool, join_words, spans_of_tags, tags_of_spans
from askance.text.io.json_records import Record, records_of
from askance.text.io.lines import OpenText, Source, name_of, write_lines
from askance.text.io.writable_text import require_writable

_SKIP = (
    'Correct it in {tool} (mark whole words), give the words in a field "tokens", or leave such texts out '
    "(`askance train --skip-bad`, in Python skip_bad=True)."
)


@dataclass(frozen=True, eq=False)
class AnnotationFile:
    """What the file of an annotation tool holds.

    Attributes:
        corpus: the sentences and their tags, one for each annotation that counts.
        tool: whose file it is.
        left_out: how many annotations were left out, by reason.
        messages: the first bad text that was left out, with file and place.
    """

    corpus: Corpus
    tool: Tool
    left_out: Mapping[LeftOut, int]
    messages: tuple[str, ...] = ()

    @property
    def n_left_out(self) -> int:
        """How many were left out in all."""
        return sum(self.left_out.values())


# -- reading -----------------------------------------------------------------------------------------------------------


def read_annotations(
    path: Source,
    *,
    tool: Tool | None = None,
    outside: str | None = None,
    scheme: Scheme = "plain",
    predictions: bool = False,
    skip_bad: bool = False,
) -> AnnotationFile:
    """Read the spans that annotators marked as sentences with tags.

    Every text is one sentence; where several annotators did one, each of their annotations is a sentence of its own,
    called "id/annotator". Rejected, ignored, cancelled and missing annotations are left out and counted. A text in
    which nothing was marked counts: doccano exports such texts also when nobody has looked at them yet.

    Args:
        path: the file, also gzipped: JSON lines, or one JSON list.
        tool: "doccano", "label-studio" or "prodigy"; default: by the fields of the first object.
        outside: the tag of words without a span, such as "O"; default: they have no tag, which says nothing of them.
        scheme: "plain": each word under a span has its label. "bio": B-label for the first word, I-label for others.
        predictions: read what models said instead of annotators, in Label Studio's files, which have both.
        skip_bad: leave texts that cannot be read out and count them, instead of stopping at the first.

    Raises:
        FormatError: not UTF-8, not JSON, wrong fields, spans that are outside their text or cut words, or that overlap
            with different labels; names file, place and span.
        InputError: an unknown tool or scheme, or fields of no tool.
        EmptyDataError: no annotation that counts.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "export.jsonl"
    >>> _ = path.write_text('{"id": 7, "text": "Ann Lee left.", "label": [[0, 7, "PER"]]}')
    >>> found = read_annotations(path, outside="O", scheme="bio")
    >>> found.tool, found.corpus.sentence(0), found.corpus.tags_of(0)
    ('doccano', ('Ann', 'Lee', 'left', '.'), ('B-PER', 'I-PER', 'O', 'O'))
    """
    _require_scheme(scheme, outside)
    name, known, records = _opened(path, tool)
    reading = _Reading(name, known, scheme, outside, predictions and known == "label-studio")
    for record in records:
        try:
            reading.add(record)
        except ValueError as error:
            message = f"{name}, {record.place}: {error}."
            if not skip_bad:
                raise FormatError(message, remedy=_SKIP.format(tool=known)) from None
            reading.refuse(message)
    return reading.finish()


class _Reading:
    """Sentences so far, and what was left out."""

    def __init__(self, name: str, tool: Tool, scheme: Scheme, outside: str | None, predictions: bool) -> None:
        self._name, self._tool, self._scheme, self._outside = name, tool, scheme, outside
        self._format, self._predictions = format_of_tool(tool), predictions
        self._builder = CorpusBuilder()
        self._names: list[tuple[str, str]] = []
        self._left_out: Counter[LeftOut] = Counter()
        self._messages: tuple[str, ...] = ()

    def add(self, record: Record) -> None:
        """The annotations of one text; ValueError says what is wrong with it."""
        task = self._format.read(record.read())
        kept = task.predictions if self._predictions else task.annotations
        tags = [tags_of_spans(task, one.spans, self._format.units, self._scheme, self._outside) for one in kept]
        reasons: list[LeftOut] = [] if self._predictions else task.left_out
        self._left_out.update(reasons if kept or reasons else ["not annotated"])
        if not task.borders:
            self._left_out["no words"] += len(kept)
            return
        for annotation, row in zip(kept, tags, strict=True):
            self._builder.add(task.words, row)
            self._names.append((task.id, annotation.annotator))

    def refuse(self, message: str) -> None:
        """Leave a text out."""
        self._left_out["bad"] += 1
        self._messages = self._messages or (message,)

    def finish(self) -> AnnotationFile:
        """What the file holds."""
        left_out = {reason: count for reason, count in self._left_out.items() if count}
        if not len(self._builder):
            counted = ", ".join(f"{count:,} {reason}" for reason, count in left_out.items()) or "none"
            raise EmptyDataError(
                f"{self._name} has no annotation that counts (left out: {counted}).",
                remedy="Annotate some texts and export them again. What a model predicted is no annotation until "
                "somebody submits it in the tool (Python reads it with predictions=True).",
            )
        corpus = replace(self._builder.build(), ids=_distinct(self._names))
        return AnnotationFile(corpus, self._tool, left_out, self._messages)


def task_words(path: Source, tool: Tool) -> Iterator[tuple[str, list[str]]]:
    """Id and words of every task, whatever was said of it."""
    name, known, records = _opened(path, tool)
    format = format_of_tool(known)
    for record in records:
        try:
            task = format.read(record.read())
        except ValueError as error:
            raise FormatError(f"{name}, {record.place}: {error}.", remedy="Correct it, or leave it out.") from None
        if task.borders:
            yield task.id, task.words


def tool_of_file(text: OpenText) -> Tool | None:
    """The tool whose fields the first object of a file has; None where it is like no tool's."""
    with text.looking():
        first = next(records_of(text), None)
    try:
        return None if first is None else tool_of(first.read())
    except ValueError:
        return None


def _opened(path: Source, tool: Tool | None) -> tuple[str, Tool, Iterator[Record]]:
    """What a file is called, whose it is, and its objects."""
    name, records = name_of(path), records_of(path)
    if tool is not None:
        format_of_tool(tool)
        return name, tool, records
    first = next(records, None)
    if first is None:
        raise EmptyDataError(f"{name} has no text.", remedy="Give a file with at least one task.")
    try:
        known = tool_of(first.read())
    except ValueError as error:
        raise FormatError(f"{name}, {first.place}: {error}.", remedy="Give an export of an annotation tool.") from None
    if known is None:
        raise InputError(
            f"{name} has no fields of an annotation tool; allowed: exports of {', '.join(get_args(Tool))}.",
            remedy="Say the tool, or read the file with read_tagged.",
        )
    return name, known, chain([first], records)


def _distinct(names: list[tuple[str, str]]) -> tuple[str, ...]:
    """Names of the sentences: the id of the task, and who annotated it where several did."""
    if not any(id for id, _ in names):
        return ()
    times = Counter(id for id, _ in names)
    seen: Counter[str] = Counter()
    ids: list[str] = []
    for number, (id, annotator) in enumerate(names, 1):
        own = (id or str(number)) if times[id] == 1 or not id else f"{id}/{annotator}".rstrip("/")
        seen[own] += 1
        ids.append(own if seen[own] == 1 else f"{own}/{seen[own]}")
    return tuple(ids)


# -- writing -----------------------------------------------------------------------------------------------------------


def write_annotations(
    path: str | os.PathLike[str],
    corpus: Corpus,
    tool: Tool,
    *,
    scheme: Scheme | None = None,
    outside: str | None = None,
) -> None:
    """Write sentences for an annotation tool to import, their tags as spans to be corrected.

    For Label Studio they are predictions, with the names of its template for named entities (`<Labels name="label"
    toName="text">`, `<Text name="text" value="$text">`). Whole or not at all, packed where the name ends in .gz.

    Args:
        path: where to.
        corpus: the sentences. Without tags they are tasks to be annotated.
        tool: "doccano", "label-studio" or "prodigy".
        scheme: "plain": one span per word with a tag. "bio": one per entity. Default: "bio" where every tag is B-…, I-…
            or "O".
        outside: the tag that is no span; default "O" for "bio", and none for "plain".
    """
    write_lines(path, annotation_lines(corpus, tool, scheme=scheme, outside=outside))


def annotation_lines(
    corpus: Corpus, tool: Tool, *, scheme: Scheme | None = None, outside: str | None = None
) -> Iterator[str]:
    """The text of a file, task by task; see `write_annotations`.

    >>> list(annotation_lines(Corpus.of([["a", "dog"]], [["DT", None]]), "doccano"))
    ['{"text":"a dog","label":[[0,1,"DT"]],"tokens":["a","dog"]}\\n']
    """
    format_of_tool(tool)
    entities = [tag for tag in corpus.tagset if tag[:2] in ("B-", "I-") and len(tag) > 2]
    if scheme is None:
        scheme = (
            "bio" if entities and {*corpus.tagset} - {*entities} <= {"O" if outside is None else outside} else "plain"
        )
    _require_scheme(scheme, outside)
    require_writable(corpus, tool)
    if scheme == "bio":
        outside = "O" if outside is None else outside
        wrong = sorted({*corpus.tagset} - {*entities, outside})
        if wrong:
            raise InputError(
                f"there is the tag {shown(wrong[0])}; allowed with scheme 'bio': B-…, I-… and {shown(outside)}.",
                remedy=words("Take {scheme=plain}, or name the tag of words outside of entities."),
            )
    return _lines(corpus, tool, scheme, outside)


def _lines(corpus: Corpus, tool: Tool, scheme: Scheme, outside: str | None) -> Iterator[str]:
    format = format_of_tool(tool)
    if format.is_list:
        yield "[\n"
    for number in range(len(corpus)):
        text, borders = join_words(corpus.sentence(number))
        spans = None if corpus.tags is None else spans_of_tags(corpus.tags_of(number), scheme, outside)
        line = json_line(format.write(corpus.ids[number] if corpus.ids else "", text, borders, spans))
        yield f"{line[:-1]},\n" if format.is_list and number + 1 < len(corpus) else line
    if format.is_list:
        yield "]\n"


# -- arguments ---------------------------------------------------------------------------------------------------------


def _require_scheme(scheme: str, outside: str | None) -> None:
    one_of(scheme, get_args(Scheme), "scheme", 'Leave it out, for "plain".')
    if outside is not None and (not isinstance(outside, str) or not outside):
        raise InputError(
            argument="outside", got=shown(outside), allowed="a tag, or None", remedy='Write "O", or leave it out.'
        )
