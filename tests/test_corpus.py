"""Sentences and regions held as integers say what they were made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askance.errors import AskanceError, InputError, LabelError, ShapeError
from askance.text.corpus.corpus import NO_TAG, Corpus
from askance.text.corpus.regions import Region, RegionCounts

WORDS = st.lists(st.lists(st.sampled_from(["the", "dog", "né", "-", "10"]), max_size=5), max_size=6)
TAGS = ["DT", "NN", "VB"]


@given(WORDS)
def test_sentences_come_back(sentences: list[list[str]]) -> None:
    corpus = Corpus.of(sentences, tags=[[word.upper() for word in sentence] for sentence in sentences])
    assert [list(sentence) for sentence in corpus.sentences()] == sentences
    assert [list(corpus.tags_of(s)) for s in range(len(corpus))] == [[w.upper() for w in s] for s in sentences]
    assert corpus.type_counts.sum() == corpus.n_tokens == sum(map(len, sentences))
    assert corpus.tagset == tuple(sorted(corpus.tagset))
    reverse = list(range(len(corpus)))[::-1]
    assert [list(s) for s in corpus.take(reverse).sentences()] == sentences[::-1]


def test_tokens_without_tags() -> None:
    corpus = Corpus.of([["a", "b"], ["c"]], tags=[["X", None], [None]], ids=["one", "two"], tagset=["X", "Y"])
    assert corpus.tags is not None
    assert corpus.tags.tolist() == [0, NO_TAG, NO_TAG]
    assert corpus.tags_of(0) == ("X", None)
    assert corpus.name(1) == "'two'"
    assert corpus.take([1]).ids == ("two",)
    with pytest.raises(InputError, match="2 of 3 tokens have no tag"):
        corpus.require_tags()
    with pytest.raises(InputError, match="1 of 1 tokens have no tag"):
        Corpus.of([["a"]]).require_tags()
    assert Corpus.of([["a"]]).tags_of(0) == (None,)
    labels = RegionCounts.of_labels(corpus)
    assert (len(labels), labels.region(0)) == (1, Region(0, 0, 1, {"X": 1}))
    assert len(RegionCounts.of_labels(Corpus.of([["a"]]))) == 0


@pytest.mark.parametrize(
    ("arguments", "kind", "said"),
    [
        ({"sentences": ["the dog"]}, InputError, "a sentence is 'the dog'"),
        (
            {"sentences": [["a"], ["b"]], "tags": [["X"], ["X", "Y"]]},
            ShapeError,
            "sentence 1 has another number of tags",
        ),
        ({"sentences": [["a"]], "tags": []}, ShapeError, "sentence 0 has another number of tags"),
        ({"sentences": [["a"]], "tags": [["X"]], "tagset": ["Y"]}, LabelError, "tag 'X' is not in the tag set"),
        ({"sentences": [["a"]], "ids": ["1", "2"]}, ShapeError, "2 ids and 1 sentences"),
    ],
)
def test_sentences_that_are_refused(arguments: dict[str, Any], kind: type[AskanceError], said: str) -> None:
    with pytest.raises(kind, match=said):
        Corpus.of(**arguments)


CORPUS = Corpus.of([["the", "dog", "the"], ["dog"], ["a", "b", "c", "dog"]], ids=["s1", "s2", "s3"])
REGIONS = [
    Region(0, 0, 2, {"DT": 1, "NN": 1}),
    Region(2, 1, 4, {"NN": (1, 9), "DT": 0}, closed=False),
    Region(1, 0, 1, {"NN": (0, 1), "VB": (0, 1)}),
]


def test_regions_come_back() -> None:
    regions = RegionCounts.of(CORPUS, TAGS, REGIONS)
    assert [regions.region(r) for r in range(3)] == [
        REGIONS[0],
        Region(2, 1, 4, {"NN": (1, 3), "DT": 0}, closed=False),
        REGIONS[2],
    ]
    assert regions.lengths.tolist() == [2, 3, 1]
    assert regions.is_exact.tolist() == [True, False, False]
    low, high = regions.bounds()
    assert low.tolist() == [[1, 1, 0], [0, 1, 0], [0, 0, 0]]
    assert high.tolist() == [[1, 1, 0], [0, 3, 3], [0, 1, 1]]
    assert dict(zip(CORPUS.words, regions.token_counts.tolist(), strict=True)) == {
        "the": 1, "dog": 3, "a": 0, "b": 1, "c": 1,
    }  # fmt: skip
    assert regions.take([2, 0]).region(0) == REGIONS[2]
    assert len(regions.take(np.array([False, True, False]))) == 1
    every = RegionCounts.of(CORPUS, TAGS, [Region(1, 0, 1, {"DT": 0, "NN": 1, "VB": 0}, closed=False)])
    assert every.closed.tolist() == [True]  # all tags were asked


@pytest.mark.parametrize(
    ("region", "kind", "said"),
    [
        (Region(0, 0, 4, {}), InputError, "region 0 to 4 of sentence 's1' is not in it; allowed: 0 ≤ start < end ≤ 3"),
        (Region(0, 2, 2, {}), InputError, "region 2 to 2"),
        (Region(0, -1, 2, {}), InputError, "region -1 to 2"),
        (Region(0, 0, 2, {"JJ": 1, "NN": 1}), LabelError, "counts 'JJ'; allowed: the tags"),
        (Region(0, 0, 2, {"NN": -1}), InputError, "has -1 of NN"),
        (Region(0, 0, 2, {"NN": (2, 1)}), InputError, r"has \(2, 1\) of NN"),
        (Region(0, 0, 2, {"NN": 2, "DT": 1}), InputError, "has 2 tokens and counts of 3 together; allowed: at most 2"),
        (Region(0, 0, 3, {"NN": 2}), InputError, "has 3 tokens and counts of 2 together, every tag asked; allowed: 3"),
        (Region(0, 0, 3, {"NN": 2, "DT": 0, "VB": 0}, closed=False), InputError, "every tag asked"),
    ],
)
def test_regions_that_are_refused(region: Region, kind: type[AskanceError], said: str) -> None:
    with pytest.raises(kind, match=said):
        RegionCounts.of(CORPUS, TAGS, [region])


def test_counts_of_all_kinds_of_integers_and_open_ranges() -> None:
    counts: dict[str, Any] = {"DT": np.int64(1), "NN": (1, None), "VB": (None, 1)}
    regions = RegionCounts.of(CORPUS, TAGS, [Region(2, 0, 4, counts)])
    assert regions.region(0).counts == {"DT": 1, "NN": (1, 4), "VB": (0, 1)}
    wider = regions.with_tagset(["AA", *TAGS])
    assert wider.region(0).counts == regions.region(0).counts
    assert regions.asked.tolist() == [True] * 3
    assert RegionCounts.of(CORPUS, TAGS, [Region(1, 0, 1, {"NN": 1}, closed=False)]).asked.tolist() == [
        False,
        True,
        False,
    ]
    with pytest.raises(LabelError, match="the regions have the tag 'DT'"):
        regions.with_tagset(["NN", "VB"])
    for wrong in (1.5, (0.5, 1.5), (1, 2, 3), "1", True):
        with pytest.raises(InputError, match="allowed: whole numbers"):
            RegionCounts.of(CORPUS, TAGS, [Region(0, 0, 2, {"NN": wrong}, closed=False)])  # type: ignore[dict-item]


@pytest.mark.parametrize("sentence", [-1, 3])
def test_sentences_are_counted_from_zero(sentence: int) -> None:
    with pytest.raises(InputError, match="a Region of sentence 0 to 2"):
        RegionCounts.of(CORPUS, TAGS, [Region(sentence, 0, 1, {"NN": 1})])
    with pytest.raises(InputError, match="there is no sentence"):
        CORPUS.sentence(sentence)
    with pytest.raises(InputError, match="there is no region -1"):
        RegionCounts.of(CORPUS, TAGS, REGIONS).region(-1)


@pytest.mark.parametrize("words", [[[1, 2]], [[None]], [[("the", "DT")]]])
def test_words_are_texts(words: Any) -> None:
    with pytest.raises(InputError, match=r"a word is .*allowed: texts"):
        Corpus.of(words)
    with pytest.raises(InputError, match="a tag is 1; allowed: texts and None"):
        Corpus.of([["a"]], tags=[[1]])  # type: ignore[list-item]


def test_corpora_and_regions_are_joined() -> None:
    other = Corpus.of([["cat", "dog"]], tags=[["VB", None]])
    joined = RegionCounts.join(
        [RegionCounts.of(CORPUS, TAGS, REGIONS), RegionCounts.of(other, TAGS, [Region(0, 1, 2, {"NN": 1})])]
    )
    assert [joined.region(r).sentence for r in range(4)] == [0, 2, 1, 3]
    assert joined.region(3) == Region(3, 1, 2, {"NN": 1})
    assert joined.corpus.sentence(3) == ("cat", "dog")
    assert joined.corpus.tags_of(3) == ("VB", None)
    assert joined.corpus.tags_of(1) == (None,)
    assert joined.corpus.ids == ("s1", "s2", "s3", "")
    assert Corpus.join([CORPUS, CORPUS]).tags is None
    with pytest.raises(LabelError, match="allowed: one"):
        RegionCounts.join([RegionCounts.of(CORPUS, TAGS, []), RegionCounts.of(CORPUS, ["X"], [])])


@pytest.mark.parametrize("sentences", [None, 5, "the dog", b"the"])
def test_sentences_are_lists(sentences: Any) -> None:
    with pytest.raises(InputError, match="instead of sentences there is"):
        Corpus.of(sentences)
    with pytest.raises(InputError, match=r"a sentence is .*allowed: a list of words"):
        Corpus.of([sentences])


def test_the_first_sentence_with_a_word() -> None:
    corpus = Corpus.of([["a"], [], ["b", "a"], ["b"]])
    assert [corpus.first_with(type) for type in range(2)] == [0, 2]
    assert corpus.take([0]).first_with(1) is None
