"""Tagged sentences as spans for doccano, Label Studio and Prodigy, round trips, and the commands."""

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
from askance.cli.text.evaluate import evaluate_command
from askance.cli.text.tag import tag_command
from askance.cli.text.train import train_command
from askance.errors import EmptyDataError, FormatError, InputError
from askance.text import CountTagger, read_annotations, sample_regions, write_annotations, write_regions
from askance.text.corpus.corpus import Corpus
from askance.text.io.annotation_formats import tool_of
from askance.text.io.annotation_spans import (
    Scheme,
    Span,
    Task,
    Tool,
    spans_of_tags,
    split_words,
    tags_of_spans,
)
from askance.text.io.annotation_tools import annotation_lines
from askance.text.io.tagged_text import read_sentences, read_tagged, tagged_lines, write_tagged
from tests.annotation_examples import (
    DOCCANO,
    LABEL_STUDIO,
    PRODIGY,
    TOOLS,
    annotated,
    everything,
    labels,
    read_text,
    refused,
)

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
    printed = run(tag_command, folder / "model", folder / "in.txt", "--to", tool).stdout
    assert printed.encode() == output.read_bytes()
    again = run(tag_command, folder / "model", output, "--to", "tsv").stdout  # the words of a tool's file, tagged anew
    assert again == run(tag_command, folder / "model", folder / "in.txt").stdout
    if tool == "label-studio":
        with pytest.raises(EmptyDataError, match="not annotated"):
            run(evaluate_command, folder / "model", output)
    else:
        assert json.loads(run(evaluate_command, folder / "model", output, "--json").stdout)["accuracy"] == 1.0


def test_annotations_train_a_tagger(folder: Path) -> None:
    labelled = folder / "export.json"
    task = {"id": 1, "data": {"text": "the dog"}, "annotations": [annotated(1, labels(4, 7, "NN", "dog"))]}
    labelled.write_text(json.dumps([task]))
    result = run(train_command, folder / "regions.jsonl", "--labelled", labelled, "-o", folder / "m", "--json")
    assert json.loads(result.stdout)["labelled_tokens"] == 1
    (folder / "export.jsonl").write_text('{"text": "the dog", "label": [[4, 7, "NN"], [0, 3, "XX"]]}')
    with pytest.raises(InputError, match="has the tag 'XX'"):
        run(train_command, folder / "regions.jsonl", "--labelled", folder / "export.jsonl", "-o", folder / "m")


def test_formats_of_the_command(folder: Path) -> None:
    as_json = run(tag_command, folder / "model", folder / "in.txt", "--json").stdout
    assert as_json == run(tag_command, folder / "model", folder / "in.txt", "--to", "jsonl").stdout
    assert as_json == run(tag_command, folder / "model", folder / "in.txt", "--to", "jsonl", "--json").stdout
    with pytest.raises(InputError, match="--json is given with --to prodigy"):
        run(tag_command, folder / "model", folder / "in.txt", "--to", "prodigy", "--json")
    given = '{"text": "the dog sees.", "answer": "reject"}'
    result = CliRunner().invoke(askance, ["tag", str(folder / "model"), "--format", "prodigy"], input=given)
    assert result.stdout.splitlines()[1:4] == ["the\tDT", "dog\tNN", "sees\tVB"]
    assert "prodigy" in run(tag_command, "--help").stdout
