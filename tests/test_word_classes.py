"""Classes of words from the company they keep, and files of chains that have them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askance.errors import FormatError, InputError
from askance.formats.container import pack, unpack
from askance.text import ChainFeatures, Corpus, CountTagger, FeatureConfig, RegionCounts, TokenFeatures
from askance.text.corpus.word_classes import WORD_CLASSES, WordClasses
from tests.test_chain_labels import WORD, assert_same, chain_of, counted
from tests.test_chain_training import TEST, TRAIN, with_everything

SENTENCES = st.lists(st.lists(st.sampled_from("abcdefghij"), max_size=6), min_size=1, max_size=15)
SIZES = st.sampled_from([(2,), (3, 5), (40,)])
MARKERS = {"N": ("the", "a"), "V": ("to", "will")}


def framed(sentences: int, seed: int, first: int, last: int) -> Corpus:
    """Nouns behind "the" and "a", verbs behind "to" and "will", which are all M: n0, v0, n1, …, from first to last."""
    rng = np.random.default_rng(seed)
    rows, tags = [], []
    for _ in range(sentences):
        kinds = [str(kind) for kind in rng.choice(["N", "V"], size=rng.integers(1, 4))]
        pairs = [(str(rng.choice(MARKERS[k])), f"{k.lower()}{rng.integers(first, last)}") for k in kinds]
        rows.append([word for pair in pairs for word in pair])
        tags.append([tag for kind in kinds for tag in ("M", kind)])
    return Corpus.of(rows, tags, tagset=("M", "N", "V"))


def repeated(sentences: list[list[str]], times: list[int]) -> Corpus:
    return Corpus.of([row for row, count in zip(sentences, times, strict=True) for _ in range(count)])


# -- classes -----------------------------------------------------------------------------------------------------------


def test_words_in_the_same_places_are_one_class() -> None:
    """Centres start at the most frequent words, the four markers, then at nouns and verbs."""
    found = WordClasses.learn(framed(200, 0, 0, 5), (8,))
    by_kind = {kind: {found.classes[f"{kind}{i}"] for i in range(5)} for kind in "nv"}
    assert by_kind["n"].isdisjoint(by_kind["v"])
    assert all(len(each) <= 3 for each in by_kind.values())
    assert {found.classes["the"], found.classes["will"]}.isdisjoint(by_kind["n"] | by_kind["v"])


@settings(max_examples=60, deadline=None)
@given(sentences=SENTENCES, sizes=SIZES, data=st.data())
def test_the_order_of_sentences_does_not_matter(
    sentences: list[list[str]], sizes: tuple[int, ...], data: st.DataObject
) -> None:
    """Nor is there chance: also ties of frequencies are broken by the words themselves."""
    found = WordClasses.learn(Corpus.of(sentences), sizes)
    assert WordClasses.learn(Corpus.of(data.draw(st.permutations(sentences))), sizes) == found
    assert found.sizes == sizes
    for own in found.classes.values():
        assert len(own) == len(sizes)
        assert all(0 <= number < size for number, size in zip(own, sizes, strict=True))


@settings(max_examples=60, deadline=None)
@given(sentences=SENTENCES, sizes=SIZES, data=st.data())
def test_a_weight_is_a_number_of_sentences(
    sentences: list[list[str]], sizes: tuple[int, ...], data: st.DataObject
) -> None:
    """0 is absent, 2 is there twice."""
    times = data.draw(st.lists(st.integers(0, 2), min_size=len(sentences), max_size=len(sentences)))
    corpus = Corpus.of(sentences)
    found = WordClasses.learn(corpus, sizes, np.repeat(np.array(times, dtype=float), corpus.lengths))
    assert found == WordClasses.learn(repeated(sentences, times), sizes)


@settings(max_examples=40, deadline=None)
@given(sentences=SENTENCES)
def test_rare_words_have_no_class(sentences: list[list[str]]) -> None:
    words = [word for row in sentences for word in row]
    found = WordClasses.learn(Corpus.of(sentences), (3,))
    assert set(found.classes) == {word for word in words if words.count(word) >= 2}
    assert found.of(["never", *found.classes], 0) == [None, *(str(own) for (own,) in found.classes.values())]
    half = WordClasses.learn(Corpus.of(sentences), (3,), np.full(len(words), 0.5))
    assert set(half.classes) == {word for word in words if words.count(word) >= 4}


def test_more_classes_than_words() -> None:
    found = WordClasses.learn(framed(60, 1, 0, 2))
    assert found.sizes == WORD_CLASSES
    assert WordClasses.learn(Corpus.of([]), (2,)).classes == {}


@pytest.mark.parametrize("size", [1, 0, -3, 10_001, 2.0, True, "4"])
def test_numbers_of_classes_that_are_refused(size: Any) -> None:
    with pytest.raises(InputError, match=r"a number of classes is .*; allowed: whole numbers from 2 to 10,000"):
        WordClasses.learn(TRAIN, (3, size))


def test_classes_as_plain_values() -> None:
    found = WordClasses.learn(TRAIN, (3, 5))
    again = WordClasses.from_specification(json.loads(json.dumps(found.specification())))
    assert again == found
    assert again != WordClasses.learn(TRAIN, (3, 4))
    assert found != "classes"
    features = ChainFeatures.learn(TRAIN.words, WORD, FeatureConfig.only("lower"), 1, found)
    read = ChainFeatures.from_specification(json.loads(json.dumps(features.specification())))
    assert read.word == features.word
    assert read.around == features.around
    assert read.word.classes == found
    # A word that was never counted has the features of its classes, and no others but what all words have.
    bare = WordClasses.learn(framed(100, 2, 0, 6), (3,))
    learned = TokenFeatures.learn(["the", "n0", "n1"], WORD, bare)
    row = learned.matrix(["n5"]).toarray()[0]
    assert [learned.names[i] for i in np.flatnonzero(row)] == ["bias", f"class0={bare.classes['n0'][0]}"]


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"sizes": 3, "classes": {}},
        {"sizes": [3], "classes": []},
        {"sizes": [3], "classes": {"a": 1}},
        {"sizes": [3], "classes": {"a": [1, 2]}},
        {"sizes": [3], "classes": {"a": [1.5]}},
        {"sizes": ["3"], "classes": {}},
        {"sizes": [3], "classes": {"a": [True]}},
    ],
)
def test_specifications_that_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(FormatError, match="the classes of words"):
        WordClasses.from_specification(given)


def test_new_words_that_keep_old_company_are_known() -> None:
    """Words 4 to 7 are never counted, and stand alone in the test: nothing is known of them but the bare text."""
    counts = counted(framed(150, 3, 0, 4), window=3)
    bare = RegionCounts.of(framed(150, 4, 0, 8), counts.tagset, [])
    regions = RegionCounts.join([counts, bare])
    new = [f"{kind}{i}" for kind in "nv" for i in range(4, 8)]
    test = Corpus.of([[word] for word in new], [[word[0].upper()] for word in new], tagset=counts.tagset)
    assert chain_of(regions, classes=(10,)).score(test) >= 0.75
    for without in (chain_of(regions), chain_of(regions, classes=(10,), bare_weight=0)):
        assert len(set(without.predict(test))) == 1  # all the same to it
    old = framed(50, 5, 0, 4)
    assert chain_of(regions, classes=(10,)).score(old) == pytest.approx(chain_of(regions).score(old), abs=0.03)


# -- files -------------------------------------------------------------------------------------------------------------


def test_a_chain_survives_the_disk(tmp_path: Path) -> None:
    tagger = with_everything()
    tagger.save(tmp_path / "model")
    again = CountTagger.load(tmp_path / "model")
    assert_same(tagger, again)
    assert again.predict(TEST) == tagger.predict(TEST)
    one, other = (np.concatenate(each.predict_proba(TEST)) for each in (again, tagger))
    np.testing.assert_array_equal(one, other)
    assert (again.radius, again.neighbours, again.features) == (1, tagger.neighbours, tagger.features)
    assert again.token_features.classes == tagger.token_features.classes
    assert again.score(TEST) == tagger.score(TEST)
    again.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
    node = CountTagger("node").fit(counted(TRAIN))
    node.save(tmp_path / "node")
    assert CountTagger.load(tmp_path / "node").chain is None
    assert CountTagger.load(tmp_path / "node").predict(TEST) == node.predict(TEST)


def test_damaged_chains_are_refused(tmp_path: Path) -> None:
    tagger = with_everything()
    path = tmp_path / "model"
    tagger.save(path)
    whole = path.read_bytes()
    header, payload = unpack(whole, "model")
    header = {name: value for name, value in header.items() if name not in ("payload_bytes", "sha256")}
    numbers = np.frombuffer(payload, dtype="<f4").copy()
    numbers[-1] = np.inf  # the score of the last tag
    features = header["features"]
    classes = {**features["word"], "classes": {"sizes": [4, 8], "classes": {"x0": [1]}}}
    changes: list[tuple[dict[str, Any], bytes, str]] = [
        ({}, payload[:-4], "bytes of parameters; allowed: .* and edges of 3 tags"),
        ({}, payload + bytes(12), "bytes of parameters"),
        ({"edges": False}, payload, "bytes of parameters"),
        ({"edges": 1}, payload, "field 'edges'"),
        ({"tagset": ["X", "Y"]}, payload, "bytes of parameters"),
        ({}, numbers.tobytes(), "not finite"),
        ({"features": {**features, "radius": 0}}, payload, "bytes of parameters"),
        ({"features": {**features, "radius": 9}}, payload, "radius is 9"),
        ({"features": {**features, "around": {}}}, payload, "does not describe a tagger"),
        ({"features": {**features, "word": classes}}, payload, "classes of words"),
        ({"features": {"word": features["word"]}}, payload, "does not describe a tagger"),
    ]
    for change, body, said in changes:
        path.write_bytes(pack(header | change, body))
        with pytest.raises(FormatError, match=said):
            CountTagger.load(path)
    for end in (len(whole) - 1, len(whole) // 2, 20):
        path.write_bytes(whole[:end])
        with pytest.raises(FormatError):
            CountTagger.load(path)
