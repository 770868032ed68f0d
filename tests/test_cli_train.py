"""`askance train` as people run it: every option, what is printed, what is refused."""

from __future__ import annotations

import json
import math
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askance.cli.text.train import train_command
from askance.text import (
    Corpus,
    CountTagger,
    Miscounts,
    Region,
    RegionCounts,
    read_regions,
    write_annotations,
    write_regions,
    write_tagged,
)
from askance.text.corpus.word_classes import WORD_CLASSES
from askance.text.counts.miscounts import simulate
from askance.text.io.annotation_spans import Tool
from askance.text.tagger.training import Training
from tests.test_chain_labels import TAGS, assert_same, counted, drawn
from tests.test_cli import assert_one_line, call
from tests.test_tagger_files import done

TRAIN, MORE, TEST = drawn(60, 41), drawn(15, 42), drawn(40, 43)
COUNTS = counted(TRAIN)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_regions("counts.jsonl", COUNTS)
    write_tagged("more.tsv", MORE)
    write_tagged("dev.tsv", TEST)
    write_regions("dev.jsonl", counted(TEST))
    Path("bare.txt").write_text("\n".join(" ".join(row) for row in drawn(80, 44, words=6).sentences()), "utf-8")
    Path("other.txt").write_text("x0 y0 z0\nw0 x0\n", "utf-8")
    write_annotations("export.jsonl", MORE, "doccano")
    two = "".join(f"{word}\tno\t{tag}\n" for word, tag in zip(MORE.sentence(0), MORE.tags_of(0), strict=True))
    Path("two.tsv").write_text(two + "\n", "utf-8")
    return tmp_path


def loaded(name: str = "model") -> CountTagger:
    return CountTagger.load(name)


# -- every option ------------------------------------------------------------------------------------------------------

EVERY: dict[str, tuple[str, ...]] = {
    "plain": (),
    "node": ("--method", "node", "--l2", "0.7"),
    "moments": ("--method", "moments"),
    "engine": ("--method", "node", "--engine", "here"),
    "chain": ("--method", "chain", "--radius", "1", "--l1", "0.5", "--edges", "likelihood"),
    "cheap": ("--edges", "cheap"),
    "labels": ("--labelled", "more.tsv", "--labelled-weight", "0.5", "--labelled", "two.tsv", "--tag-column", "3"),
    "dev": ("--dev", "dev.jsonl", "--skip-bad"),
    "bare": ("--bare", "bare.txt", "--bare", "other.txt", "--bare-weight", "0.5"),
    "classes": ("--classes", "3,5"),
    "miscounts": ("--miscounts", "0.05,0.02"),
    "estimate": ("--miscounts", "estimate"),
    "tools": ("--labelled", "export.jsonl", "--scheme", "plain", "--outside", "X"),
}


def test_every_option_is_tried_here() -> None:
    known = {option for each in train_command.params for option in each.opts if option.startswith("--")}
    assert known - {"--output", "--json"} == {word for each in EVERY.values() for word in each if word[:2] == "--"}


@pytest.mark.parametrize("name", EVERY)
def test_options(name: str) -> None:
    """Every set of options writes a tagger, prints a table, and prints as JSON all that is known of the training."""
    if name == "labels":
        Path("more.tsv").write_text(Path("more.tsv").read_text("utf-8").replace("\t", "\tno\t"), "utf-8")
    found = done("train", "counts.jsonl", *EVERY[name], "-o", "model")
    own = {"output", "left_out", "miscounts", "unsettled", "warnings"}
    assert set(found) == own | {each.name for each in fields(Training)}
    assert (found["output"], found["left_out"], found["regions"]) == ("model", 0, len(COUNTS))
    assert found["method"] == ({"engine": "node"}.get(name, name) if name in ("node", "moments", "engine") else "chain")
    assert (found["log_likelihood"] is None) == (name == "moments")
    assert found["features"] == (len(loaded().theta))
    assert loaded().score(TEST) > (0.6 if found["method"] != "chain" else 0.8)
    training = loaded().training
    assert training is not None
    assert found | {"seconds": None} == {**found, **training.to_json(), "seconds": None}
    table = call("train", "counts.jsonl", *EVERY[name], "--output", "again")
    assert table.code == 0, table.err
    assert "tagger written to again" in table.out
    assert Path("again").read_bytes() == Path("model").read_bytes()
    assert ("edges" in table.out) == (found["edges"] != "none")
    assert ("miscounts" in table.out) == (name in ("miscounts", "estimate"))


# -- the same as in Python ---------------------------------------------------------------------------------------------


def read() -> RegionCounts:
    return read_regions(["counts.jsonl"]).regions


def test_the_command_does_what_python_does() -> None:
    """Read again, as the words of a file may have another order."""
    done("train", "counts.jsonl", "--method", "chain", "--radius", "1", "--l1", "0.5", "--l2", "0.9", "-o", "model")
    assert_same(loaded(), CountTagger("chain", radius=1, l1=0.5, l2=0.9).fit(read()), 1e-4)
    assert loaded().radius == 1
    assert (loaded().theta == 0).any()


@pytest.mark.parametrize("weight", [0, 0.5, 3])
def test_labels_have_a_weight(weight: float) -> None:
    found = done("train", "counts.jsonl", "--labelled", "more.tsv", "--labelled-weight", str(weight), "-o", "model")
    labels = RegionCounts.of_labels(MORE.with_tagset(TAGS)).with_weight(weight)
    assert_same(loaded(), CountTagger().fit(RegionCounts.join([read(), labels])), 1e-4)
    assert found["labelled_tokens"] == (len(labels) if weight else 0)


def test_bare_text_makes_classes() -> None:
    done("train", "counts.jsonl", "--bare", "bare.txt", "-o", "model")
    known = loaded().token_features.classes
    assert known is not None
    assert known.sizes == WORD_CLASSES
    assert "x5" in known.classes  # a word of bare text alone
    done("train", "counts.jsonl", "--bare", "bare.txt", "--bare-weight", "0", "-o", "none")
    without = loaded("none").token_features.classes
    assert without is not None
    assert "x5" not in without.classes
    assert_same(loaded("none"), CountTagger(classes=WORD_CLASSES).fit(read()), 1e-3)  # sums over more rows of zeros
    done("train", "counts.jsonl", "-o", "plain")
    assert loaded("plain").token_features.classes is None


@pytest.mark.parametrize(("asked", "sizes"), [("4", (4,)), ("4,7", (4, 7)), ("none", None)])
def test_sizes_of_classes(asked: str, sizes: tuple[int, ...] | None) -> None:
    done("train", "counts.jsonl", "--bare", "bare.txt", "--classes", asked, "-o", "model")
    known = loaded().token_features.classes
    assert (None if known is None else known.sizes) == sizes


def test_cheap_edges() -> None:
    for method in ("auto", "chain"):
        found = done("train", "counts.jsonl", "--method", method, "--edges", "cheap", "-o", "model")
        assert found["edges"] == "cheap"
        assert found["edge_weight"] in (0, 0.25, 0.5, 0.75, 1)
    table = call("train", "counts.jsonl", "--edges", "cheap", "-o", "model").out
    assert f"cheap, weight {found['edge_weight']:g}" in table


# -- held-out files ----------------------------------------------------------------------------------------------------


def held_out_of(path: str) -> float:
    value = done("train", "counts.jsonl", "--dev", path, "-o", "model")["held_out"]
    assert isinstance(value, float)
    return value


def test_held_out_regions_and_labels() -> None:
    """Labels are the same in whatever file; the regions of the other file are others."""
    write_tagged("dev.conllu", TEST)
    labels = held_out_of("dev.tsv")
    assert labels < 0
    assert held_out_of("dev.conllu") == pytest.approx(labels)
    assert held_out_of("dev.jsonl") != pytest.approx(labels)
    write_regions("labels.jsonl", RegionCounts.of_labels(TEST))
    assert held_out_of("labels.jsonl") == pytest.approx(labels)
    assert "held out, per region" in call("train", "counts.jsonl", "--dev", "dev.tsv", "-o", "model").out


@pytest.mark.parametrize("tool", ["doccano", "prodigy"])
def test_held_out_files_of_annotation_tools(tool: Tool) -> None:
    labels = held_out_of("dev.tsv")
    write_annotations("export.jsonl", TEST, tool)
    assert held_out_of("export.jsonl") == pytest.approx(labels)


def test_held_out_file_of_label_studio() -> None:
    text, marked = " ".join(TEST.sentence(0)), []
    for i, tag in enumerate(TEST.tags_of(0)):
        start = len(" ".join(TEST.sentence(0)[:i])) + (i > 0)
        value = {"start": start, "end": start + len(TEST.sentence(0)[i]), "labels": [tag]}
        marked.append({"from_name": "label", "to_name": "text", "type": "labels", "value": value})
    task = {"id": 1, "data": {"text": text}, "annotations": [{"id": 1, "completed_by": 1, "result": marked}]}
    Path("export.json").write_text(json.dumps([task]), "utf-8")
    write_tagged("first.tsv", TEST.take([0]))
    assert held_out_of("export.json") == pytest.approx(held_out_of("first.tsv"))


# -- miscounts ---------------------------------------------------------------------------------------------------------


def test_miscounts_accept_counts_that_cannot_be() -> None:
    noisy = simulate(COUNTS, Miscounts(0.1, 0.05), np.random.default_rng(3))
    write_regions("noisy.jsonl", noisy)
    write_regions("held.jsonl", noisy)
    assert_one_line(call("train", "noisy.jsonl", "-o", "model"), ("noisy.jsonl, line ", "counts of", "together"))
    left_out = done("train", "noisy.jsonl", "--skip-bad", "-o", "model")["left_out"]
    assert 10 < left_out < 60
    found = done("train", "noisy.jsonl", "--miscounts", "0.1,0.05", "--dev", "held.jsonl", "-o", "model")
    assert (found["left_out"], found["regions"]) == (0, 60)
    assert found["miscounts"] == {"": {"missed": 0.1, "extra": 0.05}}
    table = call("train", "noisy.jsonl", "--miscounts", "0.1,0.05", "-o", "model").out
    assert "10.0 % missed, 5.0 % one too many" in table


def test_miscounts_are_estimated_for_each_annotator() -> None:
    regions = [COUNTS.region(r) for r in range(len(COUNTS))]
    both = RegionCounts.of(
        TRAIN, TAGS, [Region(**{**vars(each), "annotator": who}) for each in regions for who in ("ann", "bob")]
    )
    write_regions("both.jsonl", simulate(both, {"ann": Miscounts(0.3, 0.1)}, np.random.default_rng(4)))
    found = done("train", "both.jsonl", "--miscounts", "estimate", "-o", "model")["miscounts"]
    assert set(found) == {"ann", "bob"}
    assert found["ann"]["missed"] > 0.15 > found["bob"]["missed"] > 0
    table = call("train", "both.jsonl", "--miscounts", "estimate", "-o", "model").out
    assert "ann miscounts" in table
    assert "bob miscounts" in table


# -- refusals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--miscounts", "often"), ("--miscounts is 'often'", "0.05,0.02, or 'estimate'")),
        (("--miscounts", "0.05"), ("--miscounts is '0.05'", "two probabilities")),
        (("--miscounts", "0.1,0.1,0.1"), ("--miscounts is '0.1,0.1,0.1'",)),
        (("--miscounts", "0.7,0"), ("missed is 0.7; allowed: 0 to 0.5",)),
        (("--miscounts", "nan,0"), ("missed is nan",)),
        (("--method", "crf"), ("method is 'crf'", "auto, moments, node, chain")),
        (("--edges", "dear"), ("edges is 'dear'; allowed: likelihood, cheap",)),
        (("--method", "node", "--edges", "cheap"), ("--edges is given with --method node",)),
        (("--method", "node", "--radius", "0"), ("--radius is given with --method node",)),
        (("--method", "moments", "--l1", "1"), ("--l1 is given with --method moments, which is no chain",)),
        (("--method", "node", "--bare", "bare.txt"), ("--bare is given with --method node",)),
        (("--method", "node", "--classes", "10"), ("--classes is given with --method node",)),
        (("--classes", "many"), ("--classes is 'many'; allowed: whole numbers such as 10 or 40,150, or 'none'",)),
        (("--classes", "1"), ("a number of classes is 1; allowed: whole numbers from 2",)),
        (("--method", "moments", "--dev", "dev.tsv"), ("--dev is given with --method moments",)),
        (("--radius", "6"), ("radius is 6; allowed: whole numbers from 0 to 5",)),
        (("--l1", "-1"), ("l1 is -1.0; allowed: 0 or more",)),
        (("--l2", "0"), ("l2 is 0.0; allowed: above 0",)),
        (("--bare", "bare.txt", "--bare-weight", "-1"), ("--bare-weight is -1.0; allowed: 0 or more",)),
        (("--labelled", "more.tsv", "--labelled-weight", "inf"), ("weight is inf",)),
        (("--tag-column", "2"), ("--tag-column is given without --labelled or --dev",)),
        (("--scheme", "bio"), ("--scheme is given without --labelled or --dev",)),
        (("--outside", "O"), ("--outside is given without --labelled or --dev",)),
        (
            ("--labelled", "more.tsv", "--scheme", "bio"),
            ("--scheme is given, and no file of labels is that of an ann",),
        ),
        (("--dev", "dev.jsonl", "--outside", "O"), ("--outside is given, and no file",)),
        (("--labelled-weight", "2"), ("--labelled-weight is given without --labelled.",)),
        (("--bare-weight", "2"), ("--bare-weight is given without --bare.",)),
        (("--edges", "cheap", "--dev", "dev.tsv"), ("--dev is given with --edges cheap",)),
        (("--edges", "cheap", "--l1", "1"), ("--l1 is 1.0 with --edges cheap",)),
        (("--edges", "cheap", "--radius", "1"), ("--radius is 1 with --edges cheap",)),
        (("--labelled", "export.jsonl", "--tag-column", "2"), ("--tag-column is '2', and export.jsonl is doccano",)),
        (("--bare", "nowhere.txt"), ("nowhere.txt",)),
        (("--dev", "strange.tsv"), ("strange.tsv has the tag 'Q'",)),
        (("--dev", "strange.jsonl"), ("the regions have the tag 'Q'",)),
    ],
)
def test_refused(options: tuple[str, ...], said: tuple[str, ...]) -> None:
    strange = Corpus.of([["a", "b"]], [["Q", "Q"]])
    write_tagged("strange.tsv", strange)
    write_regions("strange.jsonl", RegionCounts.of_labels(strange))
    assert_one_line(call("train", "counts.jsonl", *options, "-o", "model"), said)
    assert not Path("model").exists()


@pytest.mark.parametrize("name", ["counts.jsonl", "more.tsv", "dev.tsv", "bare.txt"])
def test_inputs_are_never_replaced(name: str) -> None:
    before = Path(name).read_bytes()
    arguments = ("--labelled", "more.tsv", "--dev", "dev.tsv", "--bare", "bare.txt", "-o", name)
    assert_one_line(call("train", "counts.jsonl", *arguments), ("is one of the inputs",))
    assert Path(name).read_bytes() == before


def test_contradicting_labels_are_evidence_each() -> None:
    told: list[Any] = [Region(0, 1, 2, {"X": 1}), Region(0, 1, 2, {"Y": 1}), Region(0, 0, 1, {"X": 1})]
    write_regions("labels.jsonl", RegionCounts.of(Corpus.of([["a", "dog"]], ids=["s7"]), TAGS, told))
    assert done("train", "labels.jsonl", "-o", "model")["labelled_tokens"] == 3


def test_several_files_of_regions() -> None:
    write_regions("more.jsonl", counted(MORE))
    found = done("train", "counts.jsonl", "more.jsonl", "-o", "model")
    assert found["regions"] == 75
    assert math.isfinite(found["log_likelihood"])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("more.tsv",), ("more.tsv is labelled text (tsv)", "--labelled more.tsv", "`askance regions`")),
        (("counts.jsonl", "export.jsonl"), ("export.jsonl is labelled text (doccano)", "--labelled export.jsonl")),
        (("filled.csv",), ("filled.csv is a table", "`askance questions --read filled.csv -o counts.jsonl`")),
        (("bare.txt",), ("bare.txt is text without tags", "--bare bare.txt")),
        (("counts.jsonl", "./counts.jsonl"), ("counts.jsonl is given twice",)),
        (("counts.jsonl", "--labelled", "bare.txt"), ("bare.txt has no tags", "(.tsv)")),
        ((), ("REGIONS is missing", "--labelled")),
        (("--bare", "bare.txt"), ("REGIONS is missing",)),
        (("--labelled", "more.tsv", "--engine", "here:2", "--method", "node"), ("REGIONS is missing",)),
        (("counts.jsonl", "--dev", "./counts.jsonl"), ("--dev counts.jsonl", "learn from")),
        (("counts.jsonl", "--labelled", "more.tsv", "--dev", "more.tsv"), ("--dev more.tsv", "learn from")),
        (("--labelled", "export.jsonl"), ("--scheme is missing", "--scheme bio", "--scheme plain")),
    ],
)
def test_files_that_are_no_regions(given: tuple[str, ...], said: tuple[str, ...]) -> None:
    assert_one_line(call("train", *given, "-o", "model"), said)


def test_labels_alone() -> None:
    """What crfsuite takes: no regions, the tags of all labelled files, whose words are all the same evidence."""
    write_tagged("less.tsv", MORE.take([0]))
    known = RegionCounts.join(
        [RegionCounts.of_labels(part.with_tagset(sorted(TAGS))) for part in (MORE.take([0]), MORE)]
    )
    found = done("train", "--labelled", "less.tsv", "--labelled", "more.tsv", "-o", "model")
    assert (found["regions"], found["labelled_tokens"]) == (0, len(known))
    assert_same(loaded(), CountTagger().fit(known))
    found = done("train", "--labelled", "export.jsonl", "--scheme", "plain", "-o", "model")
    assert found["labelled_tokens"] == MORE.n_tokens


def test_names_do_not_hide_regions() -> None:
    for name in ("counts.txt", "counts.tsv", "counts.json", "counts"):
        Path(name).write_bytes(Path("counts.jsonl").read_bytes())
        assert done("train", name, "--method", "moments", "-o", "model")["regions"] == len(COUNTS)


def test_the_place_of_the_tagger_is_looked_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    def trained(*_: object, **__: object) -> None:
        raise AssertionError("it was trained")

    monkeypatch.setattr(CountTagger, "fit", trained)
    Path("folder").mkdir()
    assert_one_line(call("train", "counts.jsonl", "-o", "nowhere/model"), ("-o nowhere/model", "no folder nowhere"))
    assert_one_line(call("train", "counts.jsonl", "-o", "folder"), ("-o folder is a folder",))
    assert_one_line(call("train", "counts.jsonl", "-o", "bare.txt/model"), ("-o bare.txt/model", "no folder bare.txt"))


def test_the_table_adds_up() -> None:
    line = {"tokens": ["x0", "y0", "z0"], "tags": ["X", ["X", "Y"], None], "regions": []}
    with Path("counts.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    rows = call("train", "counts.jsonl", "--l1", "0.5", "-o", "model").out.splitlines()
    table = {row[:26].strip(): row[26:].strip() for row in rows[1:]}
    names = [name for name in table if name]
    assert names[:4] == ["method", "tags", "regions", "labelled tokens"]
    assert table["regions"] == f"{len(COUNTS)} of two words or more"
    assert (table["labelled tokens"], table["other single tokens"][:2]) == ("1", "1,")
    assert table["exact regions"].endswith(f"of {len(COUNTS) + 2}, single tokens included")
    assert table["scores other than 0"] == f"{(loaded().theta != 0).sum():,} of {loaded().theta.size:,}"


# -- entities ----------------------------------------------------------------------------------------------------------

ENTITIES = ("B-PER", "I-PER", "O")


def entities(sentences: int, seed: int) -> Corpus:
    rng = np.random.default_rng(seed)
    kinds = {"B-PER": ["Ann", "Bob", "Zoe"], "I-PER": ["Lee", "Smith"], "O": ["saw", "met", "and"]}
    tags = [["B-PER", "I-PER", "O"] * int(rng.integers(1, 3)) + ["O"] * int(rng.integers(3)) for _ in range(sentences)]
    return Corpus.of([[str(rng.choice(kinds[tag])) for tag in row] for row in tags], tags, tagset=ENTITIES)


def test_entities_go_to_a_tool_and_come_back() -> None:
    """Without options: all tags are B-…, I-… or O, so that spans are entities and other words are outside."""
    write_regions("entities.jsonl", counted(entities(40, 1)))
    gold = entities(10, 2)
    write_tagged("gold.tsv", gold)
    write_annotations("gold.jsonl", gold, "doccano")
    write_annotations("held.jsonl", gold, "doccano")
    for options in ((), ("--scheme", "bio"), ("--scheme", "bio", "--outside", "O")):
        found = done(
            "train", "entities.jsonl", "--labelled", "gold.jsonl", "--dev", "held.jsonl", *options, "-o", "model"
        )
        assert found["labelled_tokens"] == gold.n_tokens
        found = done("evaluate", "model", "gold.jsonl", *options)
        assert found == done("evaluate", "model", "gold.tsv")
        assert (found["tokens"], found["left_out"]) == (gold.n_tokens, 0)
    plain = ("--labelled", "gold.jsonl", "--scheme", "plain")
    assert_one_line(call("train", "entities.jsonl", *plain, "-o", "model"), ("has the tag 'PER'", "--scheme"))
    assert_one_line(call("evaluate", "model", "gold.jsonl", "--scheme", "plain"), ("the tagger knows none of them",))
    assert_one_line(call("evaluate", "model", "gold.tsv", "--scheme", "bio"), ("no file of labels is that of an ann",))


def test_what_is_left_out_of_files_of_tools_is_counted() -> None:
    words, good = "x0 y0", {"text": "x0 y0", "spans": [{"start": 0, "end": 2, "label": "X"}], "answer": "accept"}
    bad, rejected = {**good, "spans": [{"start": 1, "end": 2, "label": "X"}]}, {**good, "answer": "reject"}
    Path("prodigy.jsonl").write_text("\n".join(map(json.dumps, (good, bad, rejected))), "utf-8")
    arguments = ("train", "counts.jsonl", "--labelled", "prodigy.jsonl", "-o", "model")
    assert_one_line(call(*arguments), ("prodigy.jsonl, line 2",))
    found = done(*arguments, "--skip-bad")
    assert (found["left_out"], found["labelled_tokens"], len(words.split())) == (2, 1, 2)
    table = call(*arguments, "--skip-bad").out
    assert "note: prodigy.jsonl: 1 bad, 1 rejected, left out" in table
    assert "note: prodigy.jsonl, line 2" in table
    Path("two.jsonl").write_text("\n".join(map(json.dumps, (good, rejected))), "utf-8")
    assert done("evaluate", "model", "two.jsonl")["left_out"] == 1
    assert "left out" in call("evaluate", "model", "two.jsonl").out
