"""Taggers on disk, and the three commands."""

from __future__ import annotations

import gzip
import io
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askance.errors import AskanceError, FormatError, InputError
from askance.formats.container import pack, unpack
from askance.text import (
    Corpus,
    CountTagger,
    FeatureConfig,
    Miscounts,
    write_regions,
    write_tagged,
)
from askance.text.chain.model import ChainModel
from tests.small_corpus import TEST, TRAIN, counted

from .test_cli import assert_one_line, call

both = pytest.mark.parametrize("method", ["moments", "node"])


@pytest.fixture(scope="module")
def tagger() -> CountTagger:
    return CountTagger().fit(counted())


# -- files -------------------------------------------------------------------------------------------------------------


def test_a_tagger_survives_the_disk(tagger: CountTagger, tmp_path: Path) -> None:
    tagger.save(tmp_path / "model")
    again = CountTagger.load(tmp_path / "model")
    np.testing.assert_array_equal(again.theta, tagger.theta)
    assert (again.tagset, again.words) == (tagger.tagset, tagger.words)
    assert again.training is not None
    assert tagger.training is not None
    seconds = {"seconds": None}  # not kept, so that the same training writes the same bytes
    assert again.training.to_json() == tagger.training.to_json() | seconds
    assert again.features == tagger.features == FeatureConfig()
    assert again.predict(list(TEST.sentences())) == tagger.predict(list(TEST.sentences()))
    again.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
    with pytest.raises(InputError, match="has not been trained"):
        CountTagger().save(tmp_path / "empty")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"method": "node", "counts": "sinkhorn", "optimiser": "em", "max_iterations": 7, "tolerance": 0.02, "l2": 0.7},
        {"method": "moments", "moments": "ridge"},
        {"method": "chain", "l1": 0.25, "context": None, "budget": 5e4, "radius": 1, "edges": "likelihood"},
        {"edges": "cheap", "context": 0},
        {"classes": (3, 5), "bare_weight": 0.5, "miscounts": Miscounts(0.1, 0.05)},
        {"miscounts": "estimate"},
        {"miscounts": {"ann": Miscounts(0.1), "": Miscounts(extra=0.2)}},
    ],
)
def test_options_survive_the_disk(options: dict[str, Any], tmp_path: Path) -> None:
    regions = counted()
    by_ann = np.where(np.arange(len(regions)) < 20, 0, -1).astype(np.int32)
    trained = CountTagger(**options).fit(replace(regions, annotator=by_ann, annotators=("ann",)))
    trained.save(tmp_path / "model")
    again = CountTagger.load(tmp_path / "model")
    kept = {name: value for name, value in vars(trained).items() if not isinstance(value, (np.ndarray, ChainModel))}
    for name in kept.keys() - {"token_features", "training"}:
        assert getattr(again, name) == kept[name], name
    again.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


def test_damaged_taggers_are_refused(tagger: CountTagger, tmp_path: Path) -> None:
    path = tmp_path / "model"
    tagger.save(path)
    header, payload = unpack(path.read_bytes(), "model")
    header = {name: value for name, value in header.items() if name not in ("payload_bytes", "sha256")}
    changes: list[tuple[dict[str, Any], bytes, str]] = [
        ({"askance": "tagger/2"}, payload, "has format 'tagger/2'"),
        ({"tagset": ["A"]}, payload, "bytes of parameters"),
        ({"tagset": ["A", "A", "B"]}, payload, "no list of different texts"),
        ({"words": [1]}, payload, "no list of different texts"),
        ({"features": {}}, payload, "does not describe a tagger"),
        ({"method": "nodes"}, payload, "does not describe a tagger"),
        ({"training": {"method": 1}}, payload, "field 'method'"),
        ({"options": {}}, payload, "has no field 'l1'"),
        ({"options": header["options"] | {"l1": -1}}, payload, "does not describe a tagger: l1 is -1"),
        ({"options": header["options"] | {"miscounts": [0.1]}}, payload, "two rates"),
        ({"miscounts_used": {"ann": [0.1, 0.9]}}, payload, "extra is 0.9"),
        ({}, np.full(len(payload) // 4, np.nan, dtype="<f4").tobytes(), "not finite"),
    ]
    for change, body, said in changes:
        path.write_bytes(pack(header | change, body))
        with pytest.raises(FormatError, match=said):
            CountTagger.load(path)
    path.write_bytes(b"PK not a model")
    with pytest.raises(AskanceError, match="is not an askance file"):
        CountTagger.load(path)


# -- commands ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_tagged(tmp_path / "train.tsv", TRAIN)
    write_tagged(tmp_path / "test.tsv", TEST)
    write_regions(tmp_path / "regions.jsonl", counted())
    return tmp_path


def done(*arguments: str) -> dict[str, Any]:
    outcome = call(*arguments, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    content: dict[str, Any] = json.loads(outcome.out)
    return content


def test_from_regions_to_a_score(folder: Path) -> None:
    assert done("regions", "train.tsv", "--window", "4", "-o", "r.jsonl")["regions"] == 300
    assert done("regions", "test.tsv", "--window", "4", "--tags", "NN,VB", "-o", "dev.jsonl")["regions"] == 100
    done("train", "r.jsonl", "-o", "model", "--dev", "dev.jsonl")
    Path("held.tsv").write_bytes(Path("test.tsv").read_bytes())
    told = done("train", "r.jsonl", "-o", "model", "--dev", "held.tsv", "--labelled", "test.tsv")
    assert told["converged"]
    assert told["left_out"] == 0
    found = done("evaluate", "model", "test.tsv")
    assert found["accuracy"] > 0.97
    assert found["lower"] < found["accuracy"] < found["upper"]
    table = call("evaluate", "model", "test.tsv").out
    assert "95 % interval" in table
    assert "most frequent mistakes" in table
    assert "exact regions" in call("train", "regions.jsonl", "-o", "again").out
    assert "iterations" in call("train", "regions.jsonl", "--method", "moments", "-o", "again").out


def test_tagging_text_and_tables(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done("train", "regions.jsonl", "-o", "model")
    (folder / "in.txt").write_text("the dog sits\na cat\n", encoding="utf-8")
    expected = "the\tDT\ndog\tNN\nsits\tVB\n\na\tDT\ncat\tNN\n\n"
    assert call("tag", "model", "in.txt").out.endswith(expected)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"the dog sits\na cat\n"), encoding="utf-8"))
    assert call("tag", "model").out.endswith(expected)
    lines = call("tag", "model", "in.txt", "--json").out.splitlines()
    assert [json.loads(line)["tags"] for line in lines] == [["DT", "NN", "VB"], ["DT", "NN"]]
    assert call("tag", "model", "test.tsv", "-o", "out.tsv").out == ""
    assert done("evaluate", "model", "out.tsv")["accuracy"] == 1.0
    write_tagged(folder / "one.tsv", TEST.take([0]))
    assert done("evaluate", "model", "one.tsv")["lower"] is None
    assert "unknown" in call("evaluate", "model", "one.tsv").out
    assert_one_line(call("tag", "model", "in.txt", "-o", "in.txt"), ("is one of the inputs",))


def test_the_name_of_the_output_tells_its_format(folder: Path) -> None:
    done("train", "regions.jsonl", "-o", "model")
    (folder / "in.txt").write_text("the dog sits\na cat\n", encoding="utf-8")
    printed = {to: call("tag", "model", "in.txt", "--to", to).out.encode() for to in ("tsv", "jsonl", "doccano")}
    for name, options, kind in (
        ("out", (), "tsv"),
        ("out.txt", (), "tsv"),
        ("out.tsv.gz", (), "tsv"),
        ("out.jsonl", (), "jsonl"),
        ("out.jsonl.gz", ("--json",), "jsonl"),
        ("out.jsonl", ("--to", "doccano"), "doccano"),
        ("out.json", ("--to", "doccano"), "doccano"),
        ("out.txt", ("--to", "jsonl"), "jsonl"),
    ):
        outcome = call("tag", "model", "in.txt", *options, "-o", name)
        assert (outcome.code, outcome.out) == (0, "")
        content = (folder / name).read_bytes()
        assert (gzip.decompress(content) if name.endswith(".gz") else content) == printed[kind]
    for name, options, said in (
        ("new.json", (), "--to is not given, and the output is called new.json; allowed with .json: label-studio"),
        ("new.json", ("--to", "tsv"), "--to is tsv, and the output is called new.json"),
        ("new.tsv.gz", ("--json",), "--to is jsonl, and the output is called new.tsv.gz; allowed with .tsv: tsv"),
        ("new.jsonl", ("--to", "label-studio"), "--to is label-studio"),
    ):
        assert_one_line(call("tag", "model", "in.txt", *options, "-o", name), (said,))
        assert not (folder / name).exists()


def test_words_without_a_name_get_no_span(folder: Path) -> None:
    done("train", "regions.jsonl", "-o", "model")
    (folder / "in.txt").write_text("the dog sits\n", encoding="utf-8")
    told = ("tag", "model", "in.txt", "--to", "doccano")
    assert json.loads(call(*told).out)["label"] == [[0, 3, "DT"], [4, 7, "NN"], [8, 12, "VB"]]
    assert json.loads(call(*told, "--outside", "DT").out)["label"] == [[4, 7, "NN"], [8, 12, "VB"]]
    assert_one_line(call(*told, "--outside", "O"), ("--outside is 'O'; allowed: DT, NN, VB",))
    assert_one_line(call("tag", "model", "in.txt", "--outside", "DT"), ("--outside is given, and the output is tsv",))


def test_bad_lines_are_counted_or_refused(folder: Path) -> None:
    bad = '{"id": "x", "tokens": ["the", "dog"], "regions": [{"start": 0, "end": 2, "counts": {"NN": 3}}]}\n'
    with (folder / "regions.jsonl").open("a", encoding="utf-8") as file:
        file.write(bad)
    outcome = call("train", "regions.jsonl", "-o", "model")
    assert_one_line(outcome, ("regions.jsonl", "line 302", "'x'"))
    assert not (folder / "model").exists()
    assert done("train", "regions.jsonl", "-o", "model", "--skip-bad")["left_out"] == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("train", "regions.jsonl", "--method", "nodes", "-o", "m"), "method is 'nodes'"),
        (("train", "nowhere.jsonl", "-o", "m"), "nowhere.jsonl"),
        (("train", "regions.jsonl", "--labelled", "other.tsv", "-o", "m"), "has the tag 'XX'"),
        (("tag", "regions.jsonl", "train.tsv"), "has format 'regions/1', which is text"),
        (("train", "regions.jsonl", "-o", "regions.jsonl"), "is one of the inputs"),
        (("train", "regions.jsonl", "--tag-column", "2", "-o", "m"), "--tag-column is given without"),
        (("train", "regions.jsonl", "--method", "moments", "--dev", "test.tsv", "-o", "m"), "--dev is given with"),
        (("train", "regions.jsonl", "--labelled", "bare.tsv", "-o", "m"), "bare.tsv has no labels"),
        (("regions", "train.tsv", "--window", "2", "--tags", "NN\nVB", "-o", "x.jsonl"), "--tags is 'NN"),
        (("evaluate", "train.tsv", "train.tsv"), "is not an askance file"),
    ],
)
def test_commands_that_are_refused(folder: Path, arguments: tuple[str, ...], said: str) -> None:
    write_tagged(folder / "other.tsv", Corpus.of([["a"]], tags=[["XX"]]))
    (folder / "bare.tsv").write_text("a\t_\n\n", encoding="utf-8")
    assert_one_line(call(*arguments), (said,))
    assert not (folder / "m").exists()
