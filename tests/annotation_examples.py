"""What doccano, Label Studio and Prodigy export, and how tests read it."""

from __future__ import annotations

import io
from typing import Any

import pytest

from askance.errors import AskanceError
from askance.text import read_annotations
from askance.text.corpus.corpus import Corpus
from askance.text.io.annotation_spans import (
    Tool,
)
from askance.text.io.annotation_tools import AnnotationFile

TOOLS: tuple[Tool, ...] = ("doccano", "label-studio", "prodigy")

# What each tool exports, as its documentation and its own examples have it.
DOCCANO = """\
{"id": 15, "text": "EU rejects German call to boycott British lamb.", "label": [[0, 2, "ORG"], [11, 17, "MISC"], \
[34, 41, "MISC"]], "Comments": []}
{"id": 16, "text": "Peter Blackburn", "label": [[0, 15, "PERSON"]], "Comments": ["sure?"]}
{"id": 17, "text": "Nothing here", "label": [], "Comments": []}
"""
DOCCANO_RELATIONS = """\
{"id": 3, "text": "Google was founded by Larry Page.", "entities": [{"id": 0, "start_offset": 0, "end_offset": 6, \
"label": "ORG"}, {"id": 2, "start_offset": 22, "end_offset": 32, "label": "PERSON"}], "relations": [{"id": 1, \
"from_id": 0, "to_id": 2, "type": "foundedBy"}], "Comments": []}
"""
PRODIGY = [
    {
        "text": "Bonobos has some long sizes.",
        "_input_hash": -874614165,
        "_task_hash": 2136869442,
        "tokens": [
            {"text": "Bonobos", "start": 0, "end": 7, "id": 0, "ws": True},
            {"text": "has", "start": 8, "end": 11, "id": 1, "ws": True},
            {"text": "some", "start": 12, "end": 16, "id": 2, "ws": True},
            {"text": "long", "start": 17, "end": 21, "id": 3, "ws": True},
            {"text": "sizes", "start": 22, "end": 27, "id": 4, "ws": False},
            {"text": ".", "start": 27, "end": 28, "id": 5, "ws": False},
        ],
        "_view_id": "ner_manual",
        "spans": [
            {"start": 0, "end": 7, "token_start": 0, "token_end": 0, "label": "BRAND"},
            {"start": 17, "end": 27, "token_start": 3, "token_end": 4, "label": "SIZE", "text": "long sizes"},
        ],
        "answer": "accept",
        "_timestamp": 1743973485,
        "_annotator_id": "news-ann",
        "_session_id": "news-ann",
    },
    {"text": "No brand", "spans": [], "answer": "reject", "_task_hash": 1},
    {"text": "What?", "answer": "ignore", "_task_hash": 2},
    {"text": "Zara opened.", "spans": [{"start": 0, "end": 4, "label": "BRAND"}], "answer": "accept"},
]


def labels(start: int, end: int, label: str, text: str | None = None) -> dict[str, Any]:
    value = {"start": start, "end": end, "labels": [label], **({} if text is None else {"text": text})}
    return {"id": "x1", "from_name": "label", "to_name": "text", "type": "labels", "origin": "manual", "value": value}


def annotated(by: Any, *result: dict[str, Any], cancelled: bool = False) -> dict[str, Any]:
    return {"id": 9, "completed_by": by, "result": list(result), "was_cancelled": cancelled, "lead_time": 4.2}


LABEL_STUDIO = [
    {
        "id": 1,
        "data": {"text": "Dallas meets Carolina tonight."},
        "annotations": [
            annotated(1, labels(0, 6, "Team", "Dallas"), labels(13, 21, "Team", "Carolina")),
            annotated({"id": 2, "email": "b@x.org"}, labels(0, 6, "City", "Dallas")),
            annotated(3, cancelled=True),
        ],
        "predictions": [{"model_version": "old", "result": [labels(13, 21, "City")]}],
        "project": 83,
    },
    {
        "id": 2,
        "data": {"ner": "Berlin,  Germany wins", "url": None},
        "annotations": [
            annotated(
                1,
                labels(0, 16, "LOC", "Berlin, Germany"),
                {"type": "choices", "value": {"choices": ["news"]}, "from_name": "c", "to_name": "text"},
                {"type": "labels", "value": {"start": 17, "end": 21, "text": "wins", "labels": []}},
                {"type": "relation", "from_id": "a", "to_id": "b"},
            )
        ],
    },
    {"id": 3, "data": {"text": "Nobody looked"}, "annotations": [], "predictions": []},
    {"id": 4, "data": {"text": "Skipped"}, "annotations": [annotated(1, cancelled=True)]},
]


def everything(corpus: Corpus) -> list[object]:
    """What a corpus says, sentence by sentence."""
    return [corpus.ids, corpus.tagset, [(corpus.sentence(i), corpus.tags_of(i)) for i in range(len(corpus))]]


def read_text(text: str, **options: Any) -> AnnotationFile:
    return read_annotations(io.BytesIO(text.encode()), **options)


def refused(text: str, **options: Any) -> AskanceError:
    with pytest.raises(AskanceError) as caught:
        read_text(text, **options)
    return caught.value
