"""The tagger: learning from counts, tagging, files, and the three commands."""

from __future__ import annotations

import io
import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askance.errors import AskanceError, EmptyDataError, FormatError, InputError, LabelError, UnaskedTagsWarning
from askance.formats.container import pack, unpack
from askance.text import (
    Corpus,
    CountTagger,
    FeatureConfig,
    Region,
    RegionCounts,
    sample_regions,
    write_regions,
    write_tagged,
)
from askance.text.tagger import TaggerMethod

from .test_cli import assert_one_line, call

both = pytest.mark.parametrize("method", ["moments", "node"])
TAGS = ("DT", "NN", "VB")
WORDS = {
    "DT": ["the", "a", "this"],
    "NN": ["dog", "cat", "dogness", "catness", "house"],
    "VB": ["runs", "sits", "eats"],
}


def corpus(sentences: int, seed: int) -> Corpus:
    """Sentences whose words have one tag each, but for "house", which is a verb now and then."""
    rng = np.random.default_rng(seed)
    words, tags = [], []
    for _ in range(sentences):
        own = [TAGS[k] for k in rng.integers(3, size=rng.integers(1, 9))]
        row = [str(rng.choice(WORDS[tag])) for tag in own]
        tags.append(["VB" if w == "house" and rng.random() < 0.2 else t for w, t in zip(row, own, strict=True)])
        words.append(row)
    return Corpus.of(words, tags=tags, tagset=TAGS)


TRAIN, TEST = corpus(300, 0), corpus(100, 1)


def counted(window: int | None = 4, tags: Any = "all") -> RegionCounts:
    return sample_regions(TRAIN, window=window, tags=tags, rng=np.random.default_rng(2))


@pytest.fixture(scope="module")
def tagger() -> CountTagger:
    return CountTagger().fit(counted())


# -- learning ----------------------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("window", [1, 4, None])
def test_counts_are_enough(method: TaggerMethod, window: int | None) -> None:
    trained = CountTagger(method).fit(counted(window))
    assert trained.score(TEST) > 0.97
    assert trained.predict([["the", "dog", "sits"], []]) == [("DT", "NN", "VB"), ()]
    assert trained.training is not None
    assert trained.training.exact_regions == (300 if method == "node" else 0)
    assert math.isnan(trained.training.log_likelihood) == (method == "moments")


def test_a_few_asked_tags_are_enough() -> None:
    assert CountTagger().fit(counted(tags=1)).score(TEST) > 0.95


def test_unknown_words_are_tagged_by_their_features(tagger: CountTagger) -> None:
    assert tagger.predict([["houseness"]]) == [("NN",)]
    found = tagger.evaluate(Corpus.of([["houseness", "the"]], tags=[["NN", "DT"]]))
    assert (found.unknown_tokens, found.unknown_word_accuracy) == (1, 1.0)


@both
def test_labels_of_all_tokens_are_full_supervision(method: TaggerMethod) -> None:
    """Window 1 with all tags asked has the counts of the labels, so that both methods find the supervised fit."""
    options: dict[str, Any] = {"tolerance": 1e-8, "max_iterations": 300}
    labelled = CountTagger(method, **options).fit(RegionCounts.of_labels(TRAIN))
    singles = RegionCounts.of(
        TRAIN,
        TAGS,
        [Region(s, i, i + 1, {str(tag): 1}) for s in range(len(TRAIN)) for i, tag in enumerate(TRAIN.tags_of(s))],
    )
    again = CountTagger(method, **options).fit(singles)
    np.testing.assert_allclose(
        again.word_probabilities(TRAIN.words), labelled.word_probabilities(TRAIN.words), atol=1e-3
    )
    rows = dict(zip(TRAIN.words, labelled.word_probabilities(TRAIN.words), strict=True))
    pairs = [p for s in range(300) for p in zip(TRAIN.sentence(s), TRAIN.tags_of(s), strict=True) if p[0] == "house"]
    shares = np.mean([tag == "VB" for _, tag in pairs])
    assert rows["house"][2] == pytest.approx(shares, abs=0.05)


def test_labelled_sentences_help(tagger: CountTagger) -> None:
    few = sample_regions(TRAIN.take(range(12)), window=4, tags=1, rng=np.random.default_rng(3))
    labels = RegionCounts.of_labels(TRAIN.take(range(12, 60)))
    alone, mixed = CountTagger().fit(few), CountTagger().fit(RegionCounts.join([few, labels]))
    assert mixed.score(TEST) > alone.score(TEST)


def test_held_out_regions_stop_training() -> None:
    held_out = sample_regions(TEST, window=4, tags="all", rng=np.random.default_rng(4))
    told: list[tuple[str, float]] = []
    few = counted().take(range(12))  # too few not to be learned by heart
    trained = CountTagger(l2=1e-6, tolerance=1e-12, max_iterations=300).fit(
        few, held_out=held_out, progress=lambda text, share: told.append((text, share))
    )
    assert trained.training is not None
    assert trained.training.stopped_early
    assert math.isfinite(trained.training.held_out)
    assert told[0] == ("features", 0.0)
    assert told[-1] == ("done", 1.0)
    assert all(0 <= share <= 1 for _, share in told)
    with pytest.raises(EmptyDataError, match="no held-out regions"):
        CountTagger().fit(counted(), held_out=held_out.take([]))


def test_the_best_for_held_out_regions_is_kept() -> None:
    """The start and every step are looked at: what is kept is never worse for them than the moments."""
    held_out = sample_regions(TEST, window=4, tags="all", rng=np.random.default_rng(4))
    reversed_tags = RegionCounts.of(TEST, TAGS[::-1], [held_out.region(r) for r in range(len(held_out))])
    few = counted().take(range(40))
    kept = [CountTagger().fit(few, held_out=each).training for each in (held_out, reversed_tags)]
    assert kept[0] is not None
    assert kept[1] is not None
    assert kept[0].held_out == pytest.approx(kept[1].held_out)
    labels = CountTagger().fit(RegionCounts.of_labels(TRAIN.take(range(5))), held_out=held_out)
    assert labels.training is not None
    assert math.isfinite(labels.training.held_out)


def test_em_climbs_the_same_likelihood() -> None:
    direct = CountTagger(l2=0.6).fit(counted()).training
    slow = CountTagger(l2=0.6, optimiser="em", max_iterations=200).fit(counted()).training
    assert direct is not None
    assert slow is not None
    assert slow.log_likelihood == pytest.approx(direct.log_likelihood, abs=0.02)


def test_tags_that_nobody_asked_for_are_a_warning() -> None:
    with pytest.warns(UnaskedTagsWarning, match="2 of 3 tags were never asked for and cannot be told apart .DT, VB."):
        CountTagger().fit(counted(tags=["NN"]))


def test_probabilities_sum_to_one(tagger: CountTagger) -> None:
    first, second = tagger.predict_proba([["the", "dog"], ["zzz"]])
    assert (first.shape, second.shape) == ((2, 3), (1, 3))
    np.testing.assert_allclose(first.sum(axis=1), 1, atol=1e-5)
    assert first.argmax(axis=1).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"method": "nodes"}, "method is 'nodes'; allowed: auto, moments, node, chain. Did you mean 'node'"),
        ({"l2": 0}, "l2 is 0; allowed: above 0"),
        ({"l2": math.inf}, "l2 is inf"),
        ({"moments": "sgd"}, "moments is 'sgd'"),
        ({"counts": "foo"}, "counts is 'foo'"),
        ({"optimiser": "adam"}, "optimiser is 'adam'"),
        ({"max_iterations": 0}, "max_iterations is 0"),
    ],
)
def test_options_that_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said.replace("?", r"\?")):
        CountTagger(**given)


def test_what_cannot_be_done_is_refused() -> None:
    with pytest.raises(EmptyDataError, match="no regions"):
        CountTagger().fit(counted().take([]))
    with pytest.raises(InputError, match="has not been trained"):
        CountTagger().predict([["a"]])
    with pytest.raises(InputError, match="has not been trained"):
        CountTagger().score(TEST)
    with pytest.raises(InputError, match=r"regions is .*allowed: RegionCounts"):
        CountTagger().fit(TRAIN)  # type: ignore[arg-type]
    bare = FeatureConfig(False, False, False, (), (), False, False, False, False)
    with pytest.raises(EmptyDataError, match="no word has a feature"):
        CountTagger(features=bare).fit(counted())


def test_true_tags_must_be_those_of_the_tagger(tagger: CountTagger) -> None:
    with pytest.raises(LabelError, match="the tagger knows none of them"):
        tagger.score(Corpus.of([["a"]], tags=[["NOUN"]]))
    with pytest.raises(InputError, match="allowed: a Corpus with tags"):
        tagger.score([["a"]])  # type: ignore[arg-type]


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
    assert outcome.code == 0, outcome.err
    assert all(line.endswith(" …") for line in outcome.err.splitlines())  # on a busy machine it says what it does
    content: dict[str, Any] = json.loads(outcome.out)
    return content


def test_from_regions_to_a_score(folder: Path) -> None:
    assert done("regions", "train.tsv", "--window", "4", "-o", "r.jsonl")["regions"] == 300
    assert done("regions", "test.tsv", "--window", "4", "--tags", "NN,VB", "-o", "dev.jsonl")["regions"] == 100
    done("train", "r.jsonl", "-o", "model", "--dev", "dev.jsonl")
    told = done("train", "r.jsonl", "-o", "model", "--dev", "test.tsv", "--labelled", "test.tsv")
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
        (("train", "regions.jsonl", "--seed", "-1", "-o", "m"), "--seed is -1"),
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
