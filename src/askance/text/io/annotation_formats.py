"""What files of doccano, Label Studio and Prodigy look like: how an object is known, read and written.

**doccano**: one JSON object a line, spans as [start, end, label].

    {"id": 7, "text": "Ann Lee left", "label": [[0, 7, "PER"]]}

The field is called "label", "labels" in older versions, or "entities" in projects with relations and intents, where a
span may be {"label": …, "start_offset": …, "end_offset": …}; some versions say "data" for "text". Other columns of an
import are kept as metadata and exported again, so "tokens" and "id" survive the way through doccano. Offsets count
UTF-16 code units as its editor does, or else characters; the project setting "count grapheme clusters as one character"
is not understood.

**Label Studio**: a JSON list of tasks (its exports JSON and JSON_MIN), and of predictions to import.

    [{"id": 7, "data": {"text": "Ann left"}, "annotations": [{"completed_by": 1, "was_cancelled": false, "result": [
      {"from_name": "label", "to_name": "text", "type": "labels",
       "value": {"start": 0, "end": 3, "text": "Ann", "labels": ["PER"]}}]}]}]

Only labels of plain text are read (`<Labels>` on `<Text>`); choices, ratings, relations are passed over, labels of HTML
and dialogues refused. Cancelled (skipped) annotations are left out. The text is the field "text" of the data, or its
only text. Words are "tokens" of the data where given, and "id" of the data goes before the number of the task: both are
what askance writes. Offsets count characters; older versions counted UTF-16 code units, which are tried where
characters do not fit. "text" of a span may lack white space and parts of words, and only tells the two apart.

**Prodigy**: one JSON object a line, as `db-out` writes and the recipes `ner.manual` and `spans.manual` take.

    {"text": "Ann left", "tokens": [{"text": "Ann", "start": 0, "end": 3, "id": 0, "ws": true}, …],
     "spans": [{"start": 0, "end": 3, "token_start": 0, "token_end": 0, "label": "PER"}], "answer": "accept"}

Tokens are Prodigy's own; those of white space alone are no words. Answers "reject" and "ignore" are left out; without
an answer a task counts as accepted, as it does for `db-in`. Offsets count characters. A task has the id in its "meta",
which comes back from Prodigy, and is by the annotator `_annotator_id` or else `_session_id`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from askance._checks import one_of, shorten, shown
from askance.text.io.annotation_spans import (
    Annotation,
    Borders,
    LeftOut,
    Span,
    Task,
    Tool,
    Unit,
    in_units,
    place_words,
    split_words,
)
from askance.text.io.json_records import id_of, list_of, of_kind, text_of, tokens_of

Content: TypeAlias = dict[str, Any]
#: First word, last word, label.
WordSpan: TypeAlias = tuple[int, int, str]


class ToolFormat(NamedTuple):
    """The files of one tool; what reads an object says by ValueError what is wrong with it."""

    units: tuple[Unit, ...]  # what offsets may count, the likelier first
    looks_like: Callable[[Content], bool]  # by the fields of an object
    read: Callable[[Content], Task]
    write: Callable[[str, str, Borders, Sequence[WordSpan] | None], Content]  # id, text, words, spans
    is_list: bool = False  # of objects, instead of a line for each


def format_of_tool(tool: Any) -> ToolFormat:
    """The format of a tool, by its name."""
    return TOOL_FORMATS[one_of(tool, TOOL_FORMATS, "tool", "Name one of them.")]


def tool_of(content: Content) -> Tool | None:
    """The tool that has such objects, by their fields.

    >>> tool_of({"text": "a", "label": []}), tool_of({"data": {"text": "a"}}), tool_of({"tokens": ["a"]})
    ('doccano', 'label-studio', None)
    """
    if "askance" in content or (isinstance(content.get("tokens"), list) and "tags" in content):
        return None  # files of askance itself
    return next((tool for tool in _ASKED if TOOL_FORMATS[tool].looks_like(content)), None)


def _words_in(text: str, content: Content) -> Borders:
    """Where the words of a text are: those of the field "tokens", or found by the rule."""
    return split_words(text) if content.get("tokens") is None else place_words(text, tokens_of(content))


def _words_at(text: str, borders: Borders) -> list[str]:
    return [text[start:end] for start, end in borders]


def _by(annotator: Any, spans: list[Span]) -> Annotation:
    return Annotation(annotator if isinstance(annotator, str) else "", spans)


def _span(content: Any, start: Any, end: Any, label: Any, text: Any = None) -> Span:
    """A span from fields of a file."""
    if type(start) is not int or type(end) is not int:
        raise ValueError(f"a span is {shown(content)}; allowed: whole numbers where it starts and ends")
    if not isinstance(label, str) or not label:
        raise ValueError(f"a span is {shown(content)}; allowed: a label that is a text")
    return Span(start, end, label, text if isinstance(text, str) else None)


# -- doccano -----------------------------------------------------------------------------------------------------------

_SPANS = ("label", "labels", "entities")


def _is_doccano(content: Content) -> bool:
    text = content.get("text", content.get("data"))
    fields = [content[name] for name in _SPANS if isinstance(content.get(name), list)]
    known = [
        all(isinstance(span, list) or (isinstance(span, dict) and "start_offset" in span) for span in field)
        for field in fields
    ]
    return isinstance(text, str) and any(known)


def _read_doccano(content: Content) -> Task:
    text = text_of(content, "data" if "text" not in content and "data" in content else "text")
    borders = _words_in(text, content)
    id = id_of(content if "id" in content else {"id": content.get("doc_id")})
    if content.get("annotations"):
        raise ValueError("it has numbers for labels; allowed: names, as doccano exports them as JSONL with text labels")
    field = next((name for name in _SPANS if content.get(name) is not None), None)
    if field is None:
        return Task(id, text, borders)
    spans = [_read_doccano_span(span) for span in list_of(content, field)]
    return Task(id, text, borders, [_by(content.get("username"), spans)])


def _read_doccano_span(content: Any) -> Span:
    if isinstance(content, dict):
        return _span(content, *(content.get(name) for name in ("start_offset", "end_offset", "label")))
    if not isinstance(content, list) or len(content) != 3:
        raise ValueError(f"a span is {shown(content)}; allowed: [start, end, label]")
    return _span(content, *content)


def _write_doccano(id: str, text: str, borders: Borders, spans: Sequence[WordSpan] | None) -> Content:
    """A line that doccano imports, with the columns "text" and "label"."""
    counted = in_units(text, borders)
    return {
        **({"id": id} if id else {}),
        "text": text,
        "label": [[counted[first][0], counted[last][1], label] for first, last, label in spans or ()],
        "tokens": _words_at(text, borders),
    }


# -- Label Studio ------------------------------------------------------------------------------------------------------

# Texts of JSON_MIN that are no data.
_OWN = ("annotator", "annotation_id", "created_at", "updated_at", "lead_time", "id")


def _is_label_studio(content: Content) -> bool:
    return isinstance(content.get("data"), dict) or "annotation_id" in content or bool(_minimal_fields(content))


def _read_label_studio(content: Content) -> Task:
    if "data" not in content:
        return _read_minimal(content)
    data = of_kind(content["data"], dict, "its data is")
    text, id = _only_text(data), id_of(data) or id_of(content)
    kept: list[Annotation] = []
    left_out: list[LeftOut] = []
    for entry in list_of(content, "completions" if "annotations" not in content else "annotations"):
        annotation = of_kind(entry, dict, "an annotation is")
        if annotation.get("was_cancelled"):
            left_out.append("cancelled")
        else:
            kept.append(Annotation(_annotator_of(annotation.get("completed_by")), _read_result(annotation)))
    told = [of_kind(prediction, dict, "a prediction is") for prediction in list_of(content, "predictions")]
    predictions = [Annotation(str(one.get("model_version") or ""), _read_result(one)) for one in told]
    return Task(id, text, _words_in(text, data), kept, predictions, left_out)


def _only_text(data: Content) -> str:
    texts = [name for name, value in data.items() if isinstance(value, str) and name not in _OWN]
    if "text" in data or not texts:
        return text_of(data, "text")
    if len(texts) > 1:
        raise ValueError(f"it has several texts, {shorten(texts)}; allowed: one, or one that is called 'text'")
    return text_of(data, texts[0])


def _annotator_of(completed_by: Any) -> str:
    """A number, or an object with an address."""
    if isinstance(completed_by, dict):
        completed_by = completed_by.get("email") or completed_by.get("id")
    return "" if completed_by is None else str(completed_by)


def _read_result(annotation: Content) -> list[Span]:
    spans: list[Span] = []
    for result in list_of(annotation, "result"):
        kind = of_kind(result, dict, "a result is").get("type")
        if kind == "labels":
            spans += _read_value(result.get("value"))
        elif isinstance(kind, str) and kind.endswith("labels"):
            raise ValueError(f"a result is of type {shown(kind)}; allowed: labels of plain text")
    return spans


def _read_value(content: Any) -> list[Span]:
    value = of_kind(content, dict, "a value is")
    labels = list_of(value, "labels")
    if not labels:  # marked, and never labelled
        return []
    if len(labels) > 1:
        raise ValueError(f"a span has the labels {shorten(labels)}; allowed: one")
    return [_span(value, value.get("start"), value.get("end"), labels[0], value.get("text"))]


def _read_minimal(content: Content) -> Task:
    """An item of JSON_MIN: fields of the data beside those of the labelling interface."""
    text = _only_text(content)
    spans = [span for name in _minimal_fields(content) for value in content[name] for span in _read_value(value)]
    said = Annotation(_annotator_of(content.get("annotator")), spans)
    return Task(id_of(content), text, _words_in(text, content), [said])


def _minimal_fields(content: Content) -> list[str]:
    """Fields that hold labelled spans."""
    return [
        name
        for name, values in content.items()
        if isinstance(values, list) and values and all(isinstance(v, dict) and "labels" in v for v in values)
    ]


def _write_label_studio(id: str, text: str, borders: Borders, spans: Sequence[WordSpan] | None) -> Content:
    """A task with a prediction, in the names of Label Studio's own template for named entities; or to be annotated."""
    data = {"text": text, "tokens": _words_at(text, borders), **({"id": id} if id else {})}
    if spans is None:
        return {"data": data}
    results = []
    for number, (first, last, label) in enumerate(spans):
        start, end = borders[first][0], borders[last][1]
        value = {"start": start, "end": end, "text": text[start:end], "labels": [label]}
        results.append({"id": str(number), "from_name": "label", "to_name": "text", "type": "labels", "value": value})
    return {"data": data, "predictions": [{"model_version": "askance", "result": results}]}


# -- Prodigy -----------------------------------------------------------------------------------------------------------

_ANSWERS: dict[str, LeftOut | None] = {"accept": None, "reject": "rejected", "ignore": "ignored"}
_MARKS = ("answer", "spans", "_input_hash", "_task_hash")


def _is_prodigy(content: Content) -> bool:
    tokens = content.get("tokens")
    known = isinstance(tokens, list) and bool(tokens) and all(isinstance(token, dict) for token in tokens)
    return isinstance(content.get("text"), str) and (known or any(mark in content for mark in _MARKS))


def _read_prodigy(content: Content) -> Task:
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
    marked = [of_kind(span, dict, "a span is") for span in list_of(content, "spans")]
    spans = [_span(span, span.get("start"), span.get("end"), span.get("label"), span.get("text")) for span in marked]
    return Task(id, text, borders, [_by(content.get("_annotator_id") or content.get("_session_id"), spans)])


def _read_tokens(tokens: list[Any], text: str) -> Borders:
    borders: Borders = []
    for token in tokens:
        fields = of_kind(token, dict, "a token is")
        start, end, word = fields.get("start"), fields.get("end"), fields.get("text")
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


def _write_prodigy(id: str, text: str, borders: Borders, spans: Sequence[WordSpan] | None) -> Content:
    """A line for `ner.manual`."""
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


TOOL_FORMATS: dict[Tool, ToolFormat] = {
    "doccano": ToolFormat(("UTF-16", "characters"), _is_doccano, _read_doccano, _write_doccano),
    "label-studio": ToolFormat(
        ("characters", "UTF-16"), _is_label_studio, _read_label_studio, _write_label_studio, is_list=True
    ),
    "prodigy": ToolFormat(("characters",), _is_prodigy, _read_prodigy, _write_prodigy),
}
# Asked in this order: what askance writes for doccano and Prodigy has "tokens" too.
_ASKED: tuple[Tool, ...] = ("label-studio", "doccano", "prodigy")
