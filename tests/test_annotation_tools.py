"""Spans of doccano, Label Studio and Prodigy read as tagged sentences."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askance.errors import EmptyDataError, FormatError, InputError
from askance.text import read_annotations
from askance.text.io.annotation_spans import (
    place_words,
    split_words,
)
from tests.annotation_examples import (
    DOCCANO,
    DOCCANO_RELATIONS,
    LABEL_STUDIO,
    PRODIGY,
    annotated,
    everything,
    labels,
    read_text,
    refused,
)

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
