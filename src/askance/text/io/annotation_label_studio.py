"""Label Studio: a JSON list of tasks (its exports JSON and JSON_MIN), and of predictions to import.

    [{"id": 7, "data": {"text": "Ann left"}, "annotations": [{"completed_by": 1, "was_cancelled": false, "result": [
      {"from_name": "label", "to_name": "text", "type": "labels",
       "value": {"start": 0, "end": 3, "text": "Ann", "labels": ["PER"]}}]}]}]

Only labels of plain text are read (`<Labels>` on `<Text>`); choices, ratings, relations are passed over, labels of HTML
and dialogues refused. Cancelled (skipped) annotations are left out. The text is the field "text" of the data, or its
only text. Words are "tokens" of the data where given, and "id" of the data goes before the number of the task: both are
what askance writes. Offsets count characters; older versions counted UTF-16 code units, which are tried where
characters do not fit. "text" of a span may lack white space and parts of words, and only tells the two apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from askance._checks import shorten, shown
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
    text_of,
    words_in,
)
from askance.text.io.json_fields import id_of

UNITS: tuple[Unit, ...] = ("characters", "UTF-16")
#: Names in the labelling interface of Label Studio's own template for named entities.
LABELS_NAME, TEXT_NAME = "label", "text"
MODEL = "askance"

# Texts of JSON_MIN that are no data.
_OWN = ("annotator", "annotation_id", "created_at", "updated_at", "lead_time", "id")


def looks_like(content: dict[str, Any]) -> bool:
    """Whether an object is one of Label Studio's, by its fields."""
    return isinstance(content.get("data"), dict) or "annotation_id" in content or bool(_minimal_fields(content))


def read_task(content: dict[str, Any]) -> Task:
    """A task; ValueError says what is wrong with it."""
    if "data" not in content:
        return _read_minimal(content)
    data = object_of(content["data"], "its data")
    text, id = _text_of(data), id_of(data) or id_of(content)
    kept: list[Annotation] = []
    left_out: list[LeftOut] = []
    for annotation in list_of(content, "completions" if "annotations" not in content else "annotations"):
        annotation = object_of(annotation, "an annotation")
        if annotation.get("was_cancelled"):
            left_out.append("cancelled")
        else:
            kept.append(Annotation(_annotator_of(annotation.get("completed_by")), _read_result(annotation)))
    told = [object_of(prediction, "a prediction") for prediction in list_of(content, "predictions")]
    predictions = [Annotation(str(one.get("model_version") or ""), _read_result(one)) for one in told]
    return Task(id, text, words_in(text, data), kept, predictions, left_out)


def _text_of(data: dict[str, Any]) -> str:
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


def _read_result(annotation: dict[str, Any]) -> list[Span]:
    spans: list[Span] = []
    for result in list_of(annotation, "result"):
        kind = object_of(result, "a result").get("type")
        if kind == "labels":
            spans += _read_value(result.get("value"))
        elif isinstance(kind, str) and kind.endswith("labels"):
            raise ValueError(f"a result is of type {shown(kind)}; allowed: labels of plain text")
    return spans


def _read_value(content: Any) -> list[Span]:
    value = object_of(content, "a value")
    labels = list_of(value, "labels")
    if not labels:  # marked, and never labelled
        return []
    if len(labels) > 1:
        raise ValueError(f"a span has the labels {shorten(labels)}; allowed: one")
    return [span_of(value, value.get("start"), value.get("end"), labels[0], value.get("text"))]


def _read_minimal(content: dict[str, Any]) -> Task:
    """An item of JSON_MIN: fields of the data beside those of the labelling interface."""
    text = _text_of(content)
    spans = [span for name in _minimal_fields(content) for value in content[name] for span in _read_value(value)]
    return Task(
        id_of(content), text, words_in(text, content), [Annotation(_annotator_of(content.get("annotator")), spans)]
    )


def _minimal_fields(content: dict[str, Any]) -> list[str]:
    """Fields that hold labelled spans."""
    return [
        name
        for name, values in content.items()
        if isinstance(values, list) and values and all(isinstance(v, dict) and "labels" in v for v in values)
    ]


def write_task(id: str, text: str, borders: Borders, spans: Sequence[tuple[int, int, str]] | None) -> dict[str, Any]:
    """A task with a prediction; spans are first word, last word, label. None: a task to be annotated."""
    data = {"text": text, "tokens": [text[start:end] for start, end in borders], **({"id": id} if id else {})}
    if spans is None:
        return {"data": data}
    result = [_result(str(number), text, borders, span) for number, span in enumerate(spans)]
    return {"data": data, "predictions": [{"model_version": MODEL, "result": result}]}


def _result(number: str, text: str, borders: Borders, span: tuple[int, int, str]) -> dict[str, Any]:
    start, end = borders[span[0]][0], borders[span[1]][1]
    value = {"start": start, "end": end, "text": text[start:end], "labels": [span[2]]}
    return {"id": number, "from_name": LABELS_NAME, "to_name": TEXT_NAME, "type": "labels", "value": value}
