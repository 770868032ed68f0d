"""Tags that counts cannot tell apart: against dense tables, and against the likelihood itself."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askance.errors import IndistinctTagsWarning
from askance.text import Corpus, CountTagger, Region, RegionCounts, sample_regions, write_regions, write_tagged
from askance.text.counts.identifiability import identifiability
from askance.text.counts.indistinct_tags import IndistinctTags, indistinct_tags
from askance.text.counts.likelihood import CountLikelihood
from tests.test_cli import call

TAGS = "DNPV"
WORDS = {"N": ["dog", "cat", "walk"], "V": ["walk", "sleeps"], "P": [".", "!"], "D": ["the", "a"]}


def sentences(count: int, seed: int) -> Corpus:
    """Every sentence has one V and one P, and up to three nouns with a determiner before some."""
    rng = np.random.default_rng(seed)
    tags = []
    for _ in range(count):
        nouns = [["D", "N"] if rng.random() < 0.6 else ["N"] for _ in range(int(rng.integers(1, 4)))]
        tags.append([*nouns[0], "V", *(tag for each in nouns[1:] for tag in each), "P"])
    return Corpus.of([[str(rng.choice(WORDS[tag])) for tag in row] for row in tags], tags, tagset=tuple(TAGS))


def whole(corpus: Corpus) -> RegionCounts:
    return sample_regions(corpus, window=None, tags="all", rng=np.random.default_rng(0))


# -- what is alike -----------------------------------------------------------------------------------------------------


@settings(max_examples=300, deadline=None)
@given(st.integers(1, 4), st.floats(0, 1), st.integers(0, 2**32 - 1))
def test_alike_are_equal_columns_of_the_dense_table(count: int, closed: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    told = []
    for sentence in range(count):
        some = [tag for tag in TAGS if rng.random() < 0.7]
        bounds = {tag: tuple(sorted(rng.integers(0, 3, 2).tolist())) for tag in some}
        told.append(Region(sentence, 0, 6, bounds, bool(rng.random() < closed)))
    regions = RegionCounts.of(Corpus.of([list("abcdef")] * count), TAGS, told, may_miscount=True)
    low, high = regions.bounds()
    looked_for = [bool(regions.high[regions.tag == tag].any()) for tag in range(len(TAGS))]
    expected = {
        (TAGS[a], TAGS[b])
        for a, b in combinations(range(len(TAGS)), 2)
        if (low[:, a] == low[:, b]).all() and (high[:, a] == high[:, b]).all() and looked_for[a] and looked_for[b]
    }
    assert {pair for group in indistinct_tags(regions).alike for pair in combinations(group, 2)} == expected


def test_the_likelihood_does_not_know_which_of_them_is_which() -> None:
    regions = whole(sentences(40, 1))
    assert indistinct_tags(regions) == IndistinctTags((("P", "V"),), ())
    likelihood = CountLikelihood(regions, method="exact")
    scores = np.random.default_rng(2).normal(size=(len(regions.corpus.words), len(TAGS)))
    scores -= np.log(np.exp(scores).sum(axis=1, keepdims=True))
    values = [
        likelihood(scores[:, order].astype(np.float32))[0] for order in ([0, 1, 2, 3], [0, 1, 3, 2], [1, 0, 2, 3])
    ]
    assert values[0] == pytest.approx(values[1], rel=1e-6)
    assert values[0] != pytest.approx(values[2], rel=1e-3)


def test_labels_lists_of_tags_and_shorter_stretches_tell_them_apart() -> None:
    corpus = sentences(40, 1)
    regions, label = whole(corpus), RegionCounts.of_labels(corpus.take([0]))
    allowed = RegionCounts.of(corpus, TAGS, [Region(0, 0, 1, {"V": (0, 1), "N": (0, 1)})])
    for more in (label, allowed):
        assert indistinct_tags(RegionCounts.join([regions, more])).alike == ()
    assert indistinct_tags(RegionCounts.join([regions, label.with_weight(0)])).alike == (("P", "V"),)
    assert indistinct_tags(sample_regions(corpus, window=3, rng=np.random.default_rng(0))).alike == ()


def test_tags_that_never_appear_are_nobodys_loss() -> None:
    regions = whole(sentences(20, 1)).with_tagset([*TAGS, "X", "Y"])
    assert indistinct_tags(regions).alike == (("P", "V"),)


# -- what is even ------------------------------------------------------------------------------------------------------


def alike_everywhere(counts: dict[str, int], regions: int, lengths: tuple[int, ...] = (5,)) -> RegionCounts:
    """Words at random, and counts that are multiples of the same ones."""
    rng, told, words = np.random.default_rng(0), [], []
    for number in range(regions):
        times = lengths[number % len(lengths)] // 5
        words.append([str(word) for word in rng.choice(list("abcdefgh"), 5 * times)])
        told.append(Region(number, 0, 5 * times, {tag: times * n for tag, n in counts.items()}))
    return RegionCounts.of(Corpus.of(words), "ABC", told)


def test_even_are_tags_whose_count_is_a_share_of_the_length() -> None:
    found = indistinct_tags(alike_everywhere({"A": 3, "B": 2}, 20, (5, 10)))
    assert found == IndistinctTags((), ("A", "B"))
    assert found.about("A") == IndistinctTags((), ("A",))
    assert indistinct_tags(alike_everywhere({"A": 3, "B": 2}, 9)).even == ()  # few agree by accident
    assert indistinct_tags(alike_everywhere({"A": 5}, 20)).even == ()  # every word has it
    other = alike_everywhere({"A": 2, "B": 3}, 1)
    assert indistinct_tags(RegionCounts.join([alike_everywhere({"A": 3, "B": 2}, 20), other])).even == ()


def test_a_constant_count_of_sentences_of_many_lengths_is_not_even() -> None:
    """One full stop a sentence: it is the word that every sentence has once."""
    assert indistinct_tags(whole(sentences(40, 1))).even == ()


def test_what_is_even_need_not_be_called_alike_as_well() -> None:
    found = indistinct_tags(alike_everywhere({"A": 2, "B": 2, "C": 1}, 20))
    assert found.alike == (("A", "B"),)
    assert [message.partition(",")[0] for message in found.messages()] == ["A"]
    assert "A, B and C are the same share of every region" in found.messages()[0]


# -- who says it -------------------------------------------------------------------------------------------------------


def test_many_groups_and_tags_are_shortened() -> None:
    groups = tuple((f"{letter}1", f"{letter}2") for letter in "ABCDEF")
    [said] = IndistinctTags(groups, ()).messages()
    assert said.startswith("A1 and A2; B1 and B2; C1 and C2; D1 and D2; and 2 more groups have equal counts")
    [said] = IndistinctTags((tuple("ABCDEFGHIJ"),), ()).messages()
    assert said.startswith("A, B, C, D, E, F, G, H and 2 more tags have equal counts")


def test_the_tagger_says_so() -> None:
    with pytest.warns(IndistinctTagsWarning, match="^P and V have equal counts in all regions") as caught:
        CountTagger("moments").fit(whole(sentences(40, 1)))
    assert caught[0].filename == __file__


def test_the_check_says_so() -> None:
    regions = whole(sentences(40, 1))
    assert "\nbut: P and V have equal counts" in identifiability(regions).summary()
    assert "but:" not in identifiability(regions, tag="N").summary()
    assert identifiability(regions).to_json()["alike"] == [["P", "V"]]


def test_the_commands_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_tagged("train.tsv", sentences(40, 1))
    checked = call("regions", "train.tsv", "--window", "sentence", "--check", "-o", "counts.jsonl")
    assert "but: P and V have equal counts in all regions and cannot be told apart" in checked.out
    options = ("counts.jsonl", "--method", "moments", "-o", "model", "--json")
    [said] = json.loads(call("train", *options).out)["warnings"]
    assert said.startswith("P and V have equal counts")
    write_tagged("one.tsv", sentences(1, 1))
    assert json.loads(call("train", *options, "--labelled", "one.tsv").out)["warnings"] == []


def test_training_tells_how_many_words_the_counts_leave_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    corpus = Corpus.of([["New", "York", "sleeps"], ["sleeps"], ["York", "New"]])
    told = [Region(0, 0, 3, {"N": 2, "V": 1}), Region(1, 0, 1, {"V": 1}), Region(2, 0, 2, {"N": 2})]
    write_regions("counts.jsonl", RegionCounts.of(corpus, "NV", told))
    options = ("train", "counts.jsonl", "--method", "moments", "-o", "model")
    assert json.loads(call(*options, "--json").out)["unsettled"] == {
        "words": 2,
        "of_words": 3,
        "tokens": 4,
        "of_tokens": 6,
    }
    row = "not settled by counts  2 with 4 tokens: by what words have in common"
    assert row in call(*options).out
    Path("few.tsv").write_text("York\tN\n\n", "utf-8")
    assert "not settled" not in call(*options, "--labelled", "few.tsv").out
