"""Prodigy: one JSON object a line, as `db-out` writes and the recipes `ner.manual` and `spans.manual` take.

    {"text": "Ann left", "tokens": [{"text": "Ann", "start": 0, "end": 3, "id": 0, "ws": true}, …],
     "spans": [{"start": 0, "end": 3, "token_start": 0, "token_end": 0, "label": "PER"}], "answer": "accept"}

Tokens are Prodigy's own; those of white space alone are no words. Answers "reject" and "ignore" are left out; without
an answer a task counts as accepted, as it does for `db-in`. Offsets count characters. A task has the id in its "meta",
which comes back from Prodigy, and is by the annotator `_annotator_id` or else `_session_id`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from askance._checks import shown
from askance.text.io.annotation_spans import (
    Annotation,
    Borders,
    LeftOut,
    Span,
    Task,
    Unit,
    list_of,
    object_of,
    span_of,
    split_words,
    text_of,
)
from askance.text.io.json_fields import id_of

UNITS: tuple[Unit, ...] = ("characters",)

_ANSWERS: dict[str, LeftOut | None] = {"accept": None, "reject": "rejected", "ignore": "ignored"}
_MARKS = ("answer", "spans", "_input_hash", "_task_hash")


def looks_like(content: dict[str, Any]) -> bool:
    """Whether an object is one of Prodigy's, by its fields."""
    tokens = content.get("tokens")
    known = isinstance(tokens, list) and bool(tokens) and all(isinstance(token, dict) for token in tokens)
    return isinstance(content.get("text"), str) and (known or any(mark in content for mark in _MARKS))


def read_task(content: dict[str, Any]) -> Task:
    """A line; ValueError says what is wrong with it."""
    text = text_of(content, "text")
    tokens = list_of(content, "tokens")
    borders = _read_tokens(tokens, text) if tokens else split_words(text)
    answer = content.get("answer", "accept")
    if not isinstance(answer, str) or answer not in _ANSWERS:
        raise ValueError(f"its answer is {shown(answer)}; allowed: {', '.join(_ANSWERS)}")
    meta = content.get("meta")
    id = id_of(meta if isinstance(meta, dict) and "id" in meta else content)
    reason = _ANSWERS[answer]
    if reason is not None:
        return Task(id, text, borders, left_out=[reason])
    annotator = content.get("_annotator_id") or content.get("_session_id")
    spans = [_read_span(span) for span in list_of(content, "spans")]
    return Task(id, text, borders, [Annotation(annotator if isinstance(annotator, str) else "", spans)])


def _read_tokens(tokens: list[Any], text: str) -> Borders:
    borders: Borders = []
    for token in tokens:
        start, end, word = (object_of(token, "a token").get(name) for name in ("start", "end", "text"))
        last = borders[-1][1] if borders else 0
        if type(start) is not int or type(end) is not int or not 0 <= start <= end <= len(text):
            raise ValueError(f"a token is {shown(token)}; allowed: whole numbers from 0 to {len(text)}, start first")
        if not text[start:end].strip():  # spaces, and the marks of some tokenisers for the beginning of a text
            continue
        if text[start:end] != word:
            raise ValueError(f"a token is {shown(token)}, and the text there is {shown(text[start:end])}")
        if start < last:
            raise ValueError(
                f"a token is {shown(token)}, which begins before the last ends; allowed: one after another"
            )
        borders.append((start, end))
    return borders


def _read_span(content: Any) -> Span:
    span = object_of(content, "a span")
    return span_of(content, span.get("start"), span.get("end"), span.get("label"), span.get("text"))


def write_task(id: str, text: str, borders: Borders, spans: Sequence[tuple[int, int, str]] | None) -> dict[str, Any]:
    """A line for `ner.manual`; spans are first word, last word, label."""
    tokens = [
        {"text": text[start:end], "start": start, "end": end, "id": i, "ws": i + 1 < len(borders)}
        for i, (start, end) in enumerate(borders)
    ]
    marked = [
        {
            "start": borders[first][0],
            "end": borders[last][1],
            "token_start": first,
            "token_end": last,  # Prodigy names the last token, not the one after it
            "label": label,
        }
        for first, last, label in spans or ()
    ]
    return {"text": text, "tokens": tokens, "spans": marked, **({"meta": {"id": id}} if id else {})}
