"""doccano: one JSON object a line, spans as [start, end, label].

    {"id": 7, "text": "Ann Lee left", "label": [[0, 7, "PER"]]}

The field is called "label", "labels" in older versions, or "entities" in projects with relations and intents, where a
span may be {"label": …, "start_offset": …, "end_offset": …}; some versions say "data" for "text". Other columns of an
import are kept as metadata and exported again, so "tokens" and "id" survive the way through doccano. Offsets count
UTF-16 code units as its editor does, or else characters; the project setting "count grapheme clusters as one character"
is not understood.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from askance._checks import shown
from askance.text.io.annotation_spans import (
    Annotation,
    Borders,
    Span,
    Task,
    Unit,
    list_of,
    offsets_in,
    span_of,
    text_of,
    words_in,
)
from askance.text.io.json_fields import id_of

UNITS: tuple[Unit, ...] = ("UTF-16", "characters")

_SPANS = ("label", "labels", "entities")


def looks_like(content: dict[str, Any]) -> bool:
    """Whether an object is one of doccano's, by its fields."""
    text = content.get("text", content.get("data"))
    fields = [content[name] for name in _SPANS if isinstance(content.get(name), list)]
    return isinstance(text, str) and any(all(map(_is_span, field)) for field in fields)


def _is_span(content: Any) -> bool:
    return isinstance(content, list) or (isinstance(content, dict) and "start_offset" in content)


def read_task(content: dict[str, Any]) -> Task:
    """A line; ValueError says what is wrong with it."""
    text = text_of(content, "data" if "text" not in content and "data" in content else "text")
    borders = words_in(text, content)
    id = id_of(content if "id" in content else {"id": content.get("doc_id")})
    if content.get("annotations"):
        raise ValueError("it has numbers for labels; allowed: names, as doccano exports them as JSONL with text labels")
    field = next((name for name in _SPANS if content.get(name) is not None), None)
    if field is None:
        return Task(id, text, borders)
    annotator = content.get("username")
    spans = [_read_span(span) for span in list_of(content, field)]
    return Task(id, text, borders, [Annotation(annotator if isinstance(annotator, str) else "", spans)])


def _read_span(content: Any) -> Span:
    if isinstance(content, dict):
        return span_of(content, content.get("start_offset"), content.get("end_offset"), content.get("label"))
    if not isinstance(content, list) or len(content) != 3:
        raise ValueError(f"a span is {shown(content)}; allowed: [start, end, label]")
    return span_of(content, *content)


def write_task(id: str, text: str, borders: Borders, spans: Sequence[tuple[int, int, str]] | None) -> dict[str, Any]:
    """A line that doccano imports, with the columns "text" and "label"; spans are first word, last word, label."""
    counted = offsets_in(text, borders, UNITS[0])
    return {
        **({"id": id} if id else {}),
        "text": text,
        "label": [[counted[first][0], counted[last][1], label] for first, last, label in spans or ()],
        "tokens": [text[start:end] for start, end in borders],
    }
