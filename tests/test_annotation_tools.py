"""Spans of doccano, Label Studio and Prodigy as tagged sentences, and back."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from askance.cli.command import askance
from askance.cli.tag import evaluate_command, tag_command
from askance.cli.train import train_command
from askance.errors import AskanceError, EmptyDataError, FormatError, InputError
from askance.text import CountTagger, read_annotations, sample_regions, write_annotations, write_regions
from askance.text.annotation_spans import (
    Scheme,
    Span,
    Task,
    Tool,
    place_words,
    spans_of_tags,
    split_words,
    tags_of_spans,
)
from askance.text.annotation_tools import AnnotationFile, annotation_lines, tool_of
from askance.text.corpus import Corpus
from askance.text.tagged_text import read_sentences, read_tagged, tagged_lines, write_tagged

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


# -- words -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("EU rejects  German\tcall.", ["EU", "rejects", "German", "call", "."]),
        ('"Well-known," he said...', ['"', "Well-known", ",", '"', "he", "said", ".", ".", "."]),
        ("don't (10%) €5 C++", ["don't", "(", "10", "%", ")", "€", "5", "C", "+", "+"]),
        ("😀! a\u00a0b", ["😀", "!", "a", "b"]),
        ("--", ["-", "-"]),
        (" \n", []),
    ],
)
def test_words_of_a_text(text: str, words: list[str]) -> None:
    assert [text[start:end] for start, end in split_words(text)] == words


@given(st.text())
def test_words_that_were_found_are_found_again(text: str) -> None:
    words = [text[start:end] for start, end in split_words(text)]
    assert "".join(words) == "".join(text.split())
    joined = " ".join(words)
    assert [joined[start:end] for start, end in split_words(joined)] == words
    assert place_words(text, words) == split_words(text)


# -- realistic exports -------------------------------------------------------------------------------------------------


def test_doccano() -> None:
    found = read_text(DOCCANO)
    assert (found.tool, found.left_out, found.messages) == ("doccano", {}, ())
    words = ("EU", "rejects", "German", "call", "to", "boycott", "British", "lamb", ".")
    assert everything(found.corpus) == [
        ("15", "16", "17"),
        ("MISC", "ORG", "PERSON"),
        [
            (words, ("ORG", None, "MISC", None, None, None, "MISC", None, None)),
            (("Peter", "Blackburn"), ("PERSON", "PERSON")),
            (("Nothing", "here"), (None, None)),
        ],
    ]
    entities = read_text(DOCCANO, scheme="bio", outside="O").corpus
    assert entities.tags_of(1) == ("B-PERSON", "I-PERSON")
    assert entities.tags_of(2) == ("O", "O")


@pytest.mark.parametrize(
    "line",
    [
        '{"text": "Ann left", "labels": [[0, 3, "PER"]]}',
        '{"id": 1, "data": "Ann left", "label": [[0, 3, "PER"]]}',
        '{"doc_id": 23, "text": "Ann left", "entities": [[0, 3, "PER"]], "username": "admin"}',
        '{"text": "Ann left", "label": [[0, 4, "PER"], [0, 3, "PER"]]}',  # a blank too many, and twice
    ],
)
def test_older_files_of_doccano(line: str) -> None:
    found = read_text(line)
    assert found.tool == "doccano"
    assert (found.corpus.sentence(0), found.corpus.tags_of(0)) == (("Ann", "left"), ("PER", None))


def test_doccano_with_relations() -> None:
    corpus = read_text(DOCCANO_RELATIONS).corpus
    assert corpus.sentence(0) == ("Google", "was", "founded", "by", "Larry", "Page", ".")
    assert corpus.tags_of(0) == ("ORG", None, None, None, "PERSON", "PERSON", None)


def test_prodigy() -> None:
    lines = "\n".join(map(json.dumps, PRODIGY))
    found = read_text(lines, scheme="bio", outside="O")
    assert (found.tool, found.left_out, found.n_left_out) == ("prodigy", {"rejected": 1, "ignored": 1}, 2)
    assert everything(found.corpus)[2] == [
        (("Bonobos", "has", "some", "long", "sizes", "."), ("B-BRAND", "O", "O", "B-SIZE", "I-SIZE", "O")),
        (("Zara", "opened", "."), ("B-BRAND", "O", "O")),
    ]


def test_white_space_is_no_word_of_prodigy() -> None:
    tokens = [("[CLS]", 0, 0), ("a", 0, 1), ("\n\n", 1, 3), ("b", 3, 4)]
    task = {"text": "a\n\nb", "tokens": [{"text": t, "start": s, "end": e, "id": 0} for t, s, e in tokens]}
    corpus = read_text(json.dumps({**task, "spans": [{"start": 1, "end": 4, "label": "X"}]})).corpus
    assert (corpus.sentence(0), corpus.tags_of(0)) == (("a", "b"), (None, "X"))


def test_several_annotators_are_several_sentences() -> None:
    found = read_text(json.dumps(LABEL_STUDIO))
    assert found.tool == "label-studio"
    assert found.left_out == {"cancelled": 2, "not annotated": 1}
    words = ("Dallas", "meets", "Carolina", "tonight", ".")
    assert everything(found.corpus) == [
        ("1/1", "1/b@x.org", "2"),
        ("City", "LOC", "Team"),
        [
            (words, ("Team", None, "Team", None, None)),
            (words, ("City", None, None, None, None)),
            (("Berlin", ",", "Germany", "wins"), ("LOC", "LOC", "LOC", None)),
        ],
    ]
    answers = [
        {"text": "Zara", "meta": {"id": "s"}, "spans": [], "answer": "accept", **who}
        for who in ({"_session_id": "d-ann"}, {"_annotator_id": "d-bob"}, {"_annotator_id": "d-bob"}, {}, {})
    ]
    corpus = read_text("\n".join(map(json.dumps, answers))).corpus
    assert corpus.ids == ("s/d-ann", "s/d-bob", "s/d-bob/2", "s", "s/2")


def test_predictions_of_label_studio_are_no_annotations() -> None:
    told = read_text(json.dumps(LABEL_STUDIO), predictions=True)
    assert (told.corpus.tags_of(0), len(told.corpus)) == ((None, None, "City", None, None), 1)
    assert told.left_out == {"not annotated": 3}
    error = refused(json.dumps(LABEL_STUDIO[2:]))
    assert isinstance(error, EmptyDataError)
    assert "left out: 1 not annotated, 1 cancelled" in error.message


def test_label_studio_minimal_and_single_tasks() -> None:
    spans = [{"start": 0, "end": 6, "text": "Dallas", "labels": ["Team"]}]
    item = {"id": 5, "ner": "Dallas wins", "label": spans, "annotator": 1, "annotation_id": 4, "created_at": "2021-09"}
    for text in (json.dumps([item]), json.dumps(item), json.dumps(item, indent=2)):
        found = read_text(text)
        assert found.tool == "label-studio"
        assert everything(found.corpus) == [("5",), ("Team",), [(("Dallas", "wins"), ("Team", None))]]
    unmarked = {"id": 5, "text": "Dallas wins", "annotator": 1, "annotation_id": 4}
    assert read_text(json.dumps([unmarked]), outside="O").corpus.tags_of(0) == ("O", "O")
    old = {"id": 1, "data": {"text": "Dallas wins"}, "completions": [annotated(None, labels(0, 6, "Team"))]}
    assert read_text(json.dumps(old)).corpus.tags_of(0) == ("Team", None)
    assert read_text("\n".join([json.dumps(old)] * 2)).corpus.ids == ("1", "1/2")


# -- offsets -----------------------------------------------------------------------------------------------------------

EMOJI = "👨🏻\u200d🚒 firemen drive firetrucks"  # three more units than characters


@pytest.mark.parametrize(("start", "end"), [(22, 32), (19, 29)])
def test_offsets_after_emoji(start: int, end: int) -> None:
    """Both ways of counting are understood where only one of them meets words."""
    assert EMOJI[19:29] == "firetrucks"
    expected = (None, None, None, "V")
    doccano = json.dumps({"text": EMOJI, "label": [[start, end, "V"]]})
    assert read_text(doccano).corpus.tags_of(0) == expected
    studio = {"id": 1, "data": {"text": EMOJI}, "annotations": [annotated(1, labels(start, end, "V", "firetrucks"))]}
    assert read_text(json.dumps(studio)).corpus.tags_of(0) == expected
    prodigy = json.dumps({"text": EMOJI, "spans": [{"start": start, "end": end, "label": "V"}]})
    if start == 19:
        assert read_text(prodigy).corpus.tags_of(0) == expected
    else:
        assert "is outside its text; allowed: offsets 0 to 29" in refused(prodigy).message


def test_where_both_ways_of_counting_meet_words_the_tool_decides() -> None:
    text = "😀 😀 a b"  # characters 4 to 5 are "a", units 6 to 7 too
    assert read_text(json.dumps({"text": text, "label": [[6, 7, "X"]]})).corpus.tags_of(0) == (None, None, "X", None)
    studio = {"id": 1, "data": {"text": text}, "annotations": [annotated(1, labels(6, 7, "X"))]}
    assert read_text(json.dumps(studio)).corpus.tags_of(0) == (None, None, None, "X")
    studio["annotations"] = [annotated(1, labels(6, 7, "X", "a"))]  # what the span reads tells more
    assert read_text(json.dumps(studio)).corpus.tags_of(0) == (None, None, "X", None)
    assert "is outside" in refused('{"text": "😀 a", "label": [[1, 4, "X"]]}').message  # half of a pair


# -- what cannot be ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            '{"text": "Berlin wins", "label": [[0, 5, "LOC"]]}',
            "0 to 5 ('LOC') is 'Berli', which cuts the word 'Berlin'",
        ),
        ('{"text": "in Berlin", "label": [[4, 9, "LOC"]]}', "cuts the word 'Berlin'; allowed: whole words"),
        ('{"text": "a b", "label": [[0, 4, "X"]]}', "outside its text; allowed: offsets 0 to 3"),
        ('{"text": "a b", "label": [[-1, 1, "X"]]}', "outside its text"),
        ('{"text": "a b", "label": [[1, 1, "X"]]}', "outside its text"),
        ('{"text": "a b", "label": [[1, 2, "X"]]}', "which has no word"),
        ('{"text": "a b", "label": [[0, 3, "X"], [2, 3, "Y"]]}', "'b' is in two spans, 0 to 3 ('X') and 2 to 3 ('Y')"),
        ('{"text": "a b", "label": [[0, 1.5, "X"]]}', "a span is [0, 1.5, 'X']; allowed: whole numbers"),
        ('{"text": "a b", "label": [[0, true, "X"]]}', "whole numbers"),
        ('{"text": "a b", "label": [[0, 1, 7]]}', "allowed: a label that is a text"),
        ('{"text": "a b", "label": [[0, 1]]}', "a span is [0, 1]; allowed: [start, end, label]"),
        ('{"text": "a b", "label": "X"}', "its label is 'X'; allowed: a list"),
        ('{"text": ["a"], "label": []}', "its text is ['a']; allowed: a text"),
        ('{"text": "a b", "label": [], "id": [1]}', "its id is [1]"),
        ('{"text": "a b", "label": [], "tokens": ["a", "c"]}', "its token 'c' is not in its text after 'a'"),
        ('{"text": "a b", "label": [], "tokens": ["b"]}', "its token 'b' is not in its text after ''"),
        ('{"text": "a b", "label": [], "tokens": ["a"]}', "goes on after the last token: ' b'"),
        ('{"text": "a b", "annotations": [{"label": 7, "start_offset": 0, "end_offset": 1}]}', "numbers for labels"),
        ('{"text": "a b", "label": [', "it is not JSON"),
        ('["a"]', "it is ['a']; allowed: an object"),
    ],
)
def test_bad_lines_of_doccano(tmp_path: Path, line: str, words: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "fine", "label": [[0, 4, "X"]]}\n\n' + line + "\n")
    with pytest.raises(FormatError) as caught:
        read_annotations(path)
    assert f"{path}, line 3: " in caught.value.message
    assert words in caught.value.message
    assert "skip_bad=True" in caught.value.remedy
    found = read_annotations(path, skip_bad=True)
    assert (found.left_out, len(found.corpus)) == ({"bad": 1}, 1)
    assert words in found.messages[0]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"answer": "maybe"}, "its answer is 'maybe'; allowed: accept, reject, ignore"),
        ({"answer": None}, "its answer is None"),
        ({"spans": {}}, "its spans is {}; allowed: a list"),
        ({"spans": [[0, 1, "X"]]}, "a span is [0, 1, 'X']; allowed: an object"),
        ({"spans": [{"start": 0, "end": 1}]}, "allowed: a label that is a text"),
        ({"spans": [{"start": "0", "end": 1, "label": "X"}]}, "allowed: whole numbers"),
        ({"spans": [{"start": 0, "end": 1, "label": "X", "text": "b"}]}, "is 'a' in the text, and says 'b'"),
        ({"tokens": ["a", "b"]}, "a token is 'a'; allowed: an object"),
        ({"tokens": [{"text": "a", "start": 0, "end": 9}]}, "allowed: whole numbers from 0 to 3"),
        ({"tokens": [{"text": "b", "start": 0, "end": 1}]}, "and the text there is 'a'"),
        ({"tokens": [{"text": "a b", "start": 0, "end": 3}] * 2}, "begins before the last ends"),
    ],
)
def test_bad_tasks_of_prodigy(fields: dict[str, Any], words: str) -> None:
    error = refused(json.dumps({"text": "a b", "spans": [], "_task_hash": 1, **fields}), tool="prodigy")
    assert "standard input, line 1: " in error.message
    assert words in error.message


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"data": {"image": 3}}, "its text is None; allowed: a text"),
        ({"data": {"title": "a", "body": "b"}}, "it has several texts, 'title', 'body'"),
        ({"data": "a"}, "its data is 'a'"),
        ({"annotations": {}}, "its annotations is {}"),
        ({"annotations": [annotated(1, {"type": "hypertextlabels", "value": {}})]}, "type 'hypertextlabels'"),
        ({"annotations": [annotated(1, {**labels(0, 1, "X"), "value": None})]}, "a value is None"),
        ({"annotations": [annotated(1, labels(0, 1, ["X"]))]}, "a label that is a text"),  # type: ignore[arg-type]
        ({"annotations": [annotated(1, labels("/div[1]", 1, "X"))]}, "whole numbers"),  # type: ignore[arg-type]
        ({"annotations": [annotated(1, labels(0, 1, "X", "b"))]}, "is 'a' in the text, and says 'b'"),
        (
            {"annotations": [annotated(1, {"type": "labels", "value": {"start": 0, "end": 1, "labels": ["X", "Y"]}})]},
            "a span has the labels 'X', 'Y'; allowed: one",
        ),
    ],
)
def test_bad_tasks_of_label_studio(fields: dict[str, Any], words: str) -> None:
    fine = {"data": {"text": "a b"}, "annotations": [annotated(1)]}
    error = refused(json.dumps([fine, {**fine, **fields}]))
    assert isinstance(error, FormatError)
    assert "standard input, task 2: " in error.message
    assert words in error.message


def test_bad_files() -> None:
    assert "from line 2 on: it is not JSON" in refused('\n[{"data": \n').message
    assert "nested without end" in refused("[" * 100_000).message
    assert isinstance(refused("\n"), EmptyDataError)
    assert isinstance(refused("[]"), EmptyDataError)
    assert isinstance(refused("", tool="prodigy"), EmptyDataError)
    assert "has no fields of an annotation tool" in refused('{"tokens": ["a"], "tags": ["X"]}').message
    assert "line 1: it is 3; allowed: an object" in refused("3").message
    assert "left out: 1 no words" in refused('{"text": " ", "label": []}').message
    error = refused("{}", tool="docano")
    assert isinstance(error, InputError)
    assert "Did you mean 'doccano'?" in error.remedy
    assert "scheme is 'iob'" in refused("{}", scheme="iob").message
    assert "outside is ''" in refused("{}", outside="").message


def test_overlaps_of_one_label() -> None:
    line = '{"text": "a b c", "label": [[0, 3, "X"], [2, 5, "X"]]}'
    assert read_text(line).corpus.tags_of(0) == ("X", "X", "X")
    assert "is in two spans" in refused(line, scheme="bio").message  # where one ends is not known
    twice = '{"text": "a b c", "label": [[0, 3, "X"], [0, 3, "X"], [4, 5, "X"]]}'
    assert read_text(twice, scheme="bio").corpus.tags_of(0) == ("B-X", "I-X", "B-X")


# -- writing, and round trips ------------------------------------------------------------------------------------------

VISIBLE = st.characters(exclude_categories=["Cs"])
WORD = st.sampled_from(["a", ".", "U.S.", "New York", "😀", "n't", " x", "a\u0301", "--"]) | st.text(
    VISIBLE, min_size=1, max_size=4
).filter(str.strip)
PLAIN = st.none() | st.sampled_from(["NN", "B-X", "O", "Ä ö", '"'])


@st.composite
def entities(draw: st.DrawFn) -> list[str]:
    """A well-formed sequence of B-, I- and O."""
    tags: list[str] = []
    for label, size in draw(st.lists(st.tuples(st.sampled_from(["O", "X", "Y-Z"]), st.integers(1, 3)), min_size=1)):
        tags += ["O"] * size if label == "O" else [f"B-{label}"] + [f"I-{label}"] * (size - 1)
    return tags


def round_trip(corpus: Corpus, tool: Tool, scheme: Scheme, outside: str | None) -> Corpus:
    text = "".join(annotation_lines(corpus, tool, scheme=scheme, outside=outside))
    first = json.loads(text)[0] if tool == "label-studio" else json.loads(text.split("\n")[0])
    assert tool_of(first) == tool
    found = read_text(text, scheme=scheme, outside=outside, predictions=True)
    assert (found.tool, found.left_out) == (tool, {})
    return found.corpus


@settings(deadline=None)
@given(
    st.lists(st.lists(st.tuples(WORD, PLAIN), min_size=1, max_size=6), min_size=1, max_size=3),
    st.sampled_from(TOOLS),
    st.booleans(),
)
def test_tags_of_words_are_read_as_written(rows: list[list[tuple[str, str | None]]], tool: Tool, named: bool) -> None:
    words = [[word for word, _ in row] for row in rows]
    tags = [[tag for _, tag in row] for row in rows]
    corpus = Corpus.of(words, tags, ids=[f"s{i}" for i in range(len(rows))] if named else [])
    assert everything(round_trip(corpus, tool, "plain", None)) == everything(corpus)
    full = [["O" if tag is None else tag for tag in row] for row in tags]
    closed = Corpus.of(words, full, ids=corpus.ids)
    assert everything(round_trip(closed, tool, "plain", "O")) == everything(closed)


@settings(deadline=None)
@given(st.lists(entities(), min_size=1, max_size=3), st.data(), st.sampled_from(TOOLS))
def test_entities_are_read_as_written(tags: list[list[str]], data: st.DataObject, tool: Tool) -> None:
    words = [data.draw(st.lists(WORD, min_size=len(row), max_size=len(row))) for row in tags]
    corpus = Corpus.of(words, tags)
    assert everything(round_trip(corpus, tool, "bio", "O")) == everything(corpus)


@pytest.mark.parametrize(
    ("tags", "spans"),
    [
        (["I-X", "I-X", "I-Y"], [(0, 1, "X"), (2, 2, "Y")]),  # as conlleval counts them
        (["B-X", "O", "I-X"], [(0, 0, "X"), (2, 2, "X")]),
        (["B-X", None, "I-X"], [(0, 0, "X"), (2, 2, "X")]),
        (["B-X", "B-X", "I-X"], [(0, 0, "X"), (1, 2, "X")]),
    ],
)
def test_entities_of_tags(tags: Sequence[str | None], spans: list[tuple[int, int, str]]) -> None:
    assert spans_of_tags(tags, "bio", "O") == spans
    text = "a b c"
    marked = [Span(2 * first, 2 * last + 1, label) for first, last, label in spans]
    again = tags_of_spans(Task("", text, split_words(text)), marked, ["characters"], "bio", "O")
    assert spans_of_tags(again, "bio", "O") == spans


def test_what_the_tools_import() -> None:
    corpus = Corpus.of([["😀", "Ann", "Lee"]], [["O", "B-PER", "I-PER"]], ids=["s1"])
    assert json.loads("".join(annotation_lines(corpus, "doccano"))) == {
        "id": "s1",
        "text": "😀 Ann Lee",
        "label": [[3, 10, "PER"]],  # as doccano's editor counts
        "tokens": ["😀", "Ann", "Lee"],
    }
    assert json.loads("".join(annotation_lines(corpus, "label-studio"))) == [
        {
            "data": {"text": "😀 Ann Lee", "tokens": ["😀", "Ann", "Lee"], "id": "s1"},
            "predictions": [
                {
                    "model_version": "askance",
                    "result": [
                        {
                            "id": "0",
                            "from_name": "label",
                            "to_name": "text",
                            "type": "labels",
                            "value": {"start": 2, "end": 9, "text": "Ann Lee", "labels": ["PER"]},
                        }
                    ],
                }
            ],
        }
    ]
    assert json.loads("".join(annotation_lines(corpus, "prodigy"))) == {
        "text": "😀 Ann Lee",
        "tokens": [
            {"text": "😀", "start": 0, "end": 1, "id": 0, "ws": True},
            {"text": "Ann", "start": 2, "end": 5, "id": 1, "ws": True},
            {"text": "Lee", "start": 6, "end": 9, "id": 2, "ws": False},
        ],
        "spans": [{"start": 2, "end": 9, "token_start": 1, "token_end": 2, "label": "PER"}],
        "meta": {"id": "s1"},
    }


def test_the_scheme_follows_from_the_tags() -> None:
    mixed = Corpus.of([["a", "b"]], [["B-X", "NN"]])
    assert '"label":[[0,1,"B-X"],[2,3,"NN"]]' in "".join(annotation_lines(mixed, "doccano"))
    with pytest.raises(InputError, match="the tag 'NN'; allowed with scheme 'bio'"):
        annotation_lines(mixed, "doccano", scheme="bio")
    assert '"label":[[0,1,"X"]]' in "".join(annotation_lines(mixed, "doccano", outside="NN"))
    plain = Corpus.of([["a", "b"]], [["O", "NN"]])
    assert '"label":[[0,1,"O"],[2,3,"NN"]]' in "".join(annotation_lines(plain, "doccano"))
    assert '"label":[[2,3,"NN"]]' in "".join(annotation_lines(plain, "doccano", outside="O"))


def test_sentences_without_tags_are_tasks_to_be_annotated(tmp_path: Path) -> None:
    corpus = Corpus.of([["a", "b"], ["c"]])
    for tool in TOOLS:
        path = tmp_path / f"{tool}.json.gz"
        write_annotations(path, corpus, tool)
        text = gzip.decompress(path.read_bytes()).decode()
        assert "predictions" not in text
        assert list(read_sentences(path).sentences()) == [("a", "b"), ("c",)]
    assert "left out: 2 not annotated" in refused("".join(annotation_lines(corpus, "label-studio"))).message


@pytest.mark.parametrize("word", ["", " ", "\u3000", "\ud800"])
def test_words_that_cannot_be_written(tmp_path: Path, word: str) -> None:
    with pytest.raises(InputError, match=r"the word|half a character"):
        write_annotations(tmp_path / "a.jsonl", Corpus.of([["a", word]], [["X", "Y"]]), "doccano")
    assert list(tmp_path.iterdir()) == []


# -- as text formats ---------------------------------------------------------------------------------------------------


def test_files_of_tools_are_text_formats(tmp_path: Path) -> None:
    samples = {
        "doccano": DOCCANO,
        "label-studio": json.dumps(LABEL_STUDIO),
        "prodigy": "\n".join(map(json.dumps, PRODIGY)),
    }
    for tool in TOOLS:
        expected = everything(read_text(samples[tool]).corpus)
        for name in ("a.json", "a.jsonl"):
            (tmp_path / name).write_text(samples[tool])
            assert everything(read_tagged(tmp_path / name)) == expected
        assert everything(read_tagged(io.BytesIO(samples[tool].encode()), format=tool)) == expected
        with pytest.raises(InputError, match=f"tag_column is 2, and .* is {tool}"):
            read_tagged(tmp_path / "a.json", tag_column=2)
    words = read_sentences(tmp_path / "a.json")  # also of texts that were rejected
    assert (len(words), words.tags) == (4, None)
    (tmp_path / "a.json").write_text(samples["label-studio"])
    assert read_sentences(tmp_path / "a.json").ids == ("1", "2", "3", "4")
    corpus = Corpus.of([["a", "b"]], [["X", None]], ids=["s"])
    write_tagged(tmp_path / "b.jsonl", corpus, format="prodigy")
    assert everything(read_tagged(tmp_path / "b.jsonl")) == everything(corpus)
    with pytest.raises(InputError, match="prodigy"):
        tagged_lines(corpus, "text")


def test_other_json_is_what_it_was(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    for fields in ({}, {"text": "a b"}, {"label": "news", "text": "a b"}, {"label": [[0, 1, "X"]], "text": "a b"}):
        path.write_text(json.dumps({"tokens": ["a", "b"], "tags": ["Y", None], **fields}))
        assert read_tagged(path).tags_of(0) == ("Y", None)
    path.write_text('{"tokens": ["a"], "meta": [\n')
    with pytest.raises(FormatError, match="line 1: it is not JSON"):
        read_tagged(path)
    with pytest.raises(FormatError, match=r"nowhere\.jsonl"):
        read_tagged(tmp_path / "nowhere.jsonl")
    (tmp_path / "a.json").write_text('{"name": "a"}')
    with pytest.raises(InputError, match="is like no export of an annotation tool"):
        read_tagged(tmp_path / "a.json")
    with pytest.raises(InputError, match="tells no format"):
        write_tagged(tmp_path / "c.json", Corpus.of([["a"]]))


# -- commands ----------------------------------------------------------------------------------------------------------

WORDS = {"DT": ["the", "a"], "NN": ["dog", "cat"], "VB": ["sees", "hears"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    tags = [[str(tag) for tag in rng.choice(["DT", "NN", "VB"], size=rng.integers(2, 6))] for _ in range(60)]
    corpus = Corpus.of([[str(rng.choice(WORDS[tag])) for tag in row] for row in tags], tags)
    path = tmp_path_factory.mktemp("commands")
    regions = sample_regions(corpus, window=3, tags="all", rng=rng)
    write_regions(path / "regions.jsonl", regions)
    CountTagger().fit(regions).save(path / "model")
    (path / "in.txt").write_text("the dog sees\na cat\n")
    return path


def run(command: Any, *arguments: object) -> Result:
    return CliRunner().invoke(askance, [command.name, *map(str, arguments)], catch_exceptions=False)


@pytest.mark.parametrize("tool", TOOLS)
def test_predictions_go_to_a_tool_and_come_back(folder: Path, tool: Tool) -> None:
    output = folder / f"{tool}.json"
    assert run(tag_command, folder / "model", folder / "in.txt", "--to", tool, "-o", output).exit_code == 0
    found = read_annotations(output, predictions=True)
    tags = [("DT", "NN", "VB"), ("DT", "NN")]
    assert (found.tool, [found.corpus.tags_of(i) for i in range(2)]) == (tool, tags)
    printed = run(tag_command, folder / "model", folder / "in.txt", "--to", tool).output
    assert printed.encode() == output.read_bytes()
    again = run(tag_command, folder / "model", output, "--to", "tsv").output  # the words of a tool's file, tagged anew
    assert again == run(tag_command, folder / "model", folder / "in.txt").output
    if tool == "label-studio":
        with pytest.raises(EmptyDataError, match="not annotated"):
            run(evaluate_command, folder / "model", output)
    else:
        assert json.loads(run(evaluate_command, folder / "model", output, "--json").output)["accuracy"] == 1.0


def test_annotations_train_a_tagger(folder: Path) -> None:
    labelled = folder / "export.json"
    task = {"id": 1, "data": {"text": "the dog"}, "annotations": [annotated(1, labels(4, 7, "NN", "dog"))]}
    labelled.write_text(json.dumps([task]))
    result = run(train_command, folder / "regions.jsonl", "--labelled", labelled, "-o", folder / "m", "--json")
    assert json.loads(result.output)["labelled_tokens"] == 1
    (folder / "export.jsonl").write_text('{"text": "the dog", "label": [[4, 7, "NN"], [0, 3, "XX"]]}')
    with pytest.raises(InputError, match="has the tag 'XX'"):
        run(train_command, folder / "regions.jsonl", "--labelled", folder / "export.jsonl", "-o", folder / "m")


def test_formats_of_the_command(folder: Path) -> None:
    as_json = run(tag_command, folder / "model", folder / "in.txt", "--json").output
    assert as_json == run(tag_command, folder / "model", folder / "in.txt", "--to", "jsonl").output
    assert as_json == run(tag_command, folder / "model", folder / "in.txt", "--to", "jsonl", "--json").output
    with pytest.raises(InputError, match="--json is given with --to prodigy"):
        run(tag_command, folder / "model", folder / "in.txt", "--to", "prodigy", "--json")
    given = '{"text": "the dog sees.", "answer": "reject"}'
    result = CliRunner().invoke(askance, ["tag", str(folder / "model"), "--format", "prodigy"], input=given)
    assert result.output.splitlines()[1:4] == ["the\tDT", "dog\tNN", "sees\tVB"]
    assert "prodigy" in run(tag_command, "--help").output
