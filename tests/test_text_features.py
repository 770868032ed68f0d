"""Features of words: what they are, in which order, of unknown words, and through a file."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askance.errors import FormatError, InputError
from askance.text.corpus.features import FeatureConfig, TokenFeatures
from tests.calls import calls_of

WORDS = ["The", "the", "McKay-2001", "running", "-", "Ω", "ñandú", "1,234.5", "a" * 30]


def features_of(features: TokenFeatures, word: str) -> set[str]:
    row = features.matrix([word])
    return {features.names[column] for column in row.indices}


def test_features_of_a_word() -> None:
    features = TokenFeatures.learn(["McKay-2001", "go"])
    assert features_of(features, "McKay-2001") == {
        "word=McKay-2001",
        "lower=mckay-2001",
        "shape=XxXx-d",
        *("prefix1=M", "prefix3=McK"),
        *("suffix1=1", "suffix2=01", "suffix3=001", "suffix4=2001"),
        *("capital", "digit", "hyphen", "bias"),
    }
    # A word has no beginnings and ends that are longer than itself.
    assert features_of(features, "go") == {
        *("word=go", "lower=go", "shape=x", "prefix1=g", "suffix1=o", "suffix2=go", "bias")
    }


def test_unknown_words_have_what_they_share() -> None:
    features = TokenFeatures.learn(["walking", "Talks"])
    assert features_of(features, "Wing") == {"shape=Xx", "suffix1=g", "suffix2=ng", "suffix3=ing", "capital", "bias"}
    assert features_of(features, "TALKS") == {"lower=talks", "prefix1=T", "capital", "bias"}
    assert features_of(features, "") == {"bias"}


def test_shapes_of_other_scripts() -> None:
    features = TokenFeatures.learn(["Ñandú", "٣٤", "東京", "Ǆ"], FeatureConfig(word=False, lower=False))
    assert {name for name in features.names if name.startswith("shape")} == {
        "shape=Xx",
        "shape=d",
        "shape=x",
        "shape=X",
    }


def test_order_does_not_depend_on_the_words() -> None:
    ahead, back = TokenFeatures.learn(WORDS), TokenFeatures.learn([*reversed(WORDS), *WORDS])
    assert ahead.names == back.names
    assert ahead == back
    assert len(set(ahead.names)) == len(ahead) == ahead.matrix([]).shape[1]


def test_kinds_can_be_left_out() -> None:
    config = FeatureConfig(word=False, lower=False, shape=False, prefixes=(), suffixes=(3, 1), bias=False)
    assert config.kinds == ("suffix1", "suffix3", "capital", "digit", "hyphen")
    assert TokenFeatures.learn(["cat"], config).names == ("suffix1=t", "suffix3=cat")


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text(max_size=8), max_size=12), st.lists(st.text(max_size=8), max_size=6))
def test_matrix_against_names(words: list[str], others: list[str]) -> None:
    features = TokenFeatures.learn(words)
    matrix = features.matrix(words + others)
    assert matrix.shape == (len(words) + len(others), len(features))
    assert matrix.dtype == np.float32
    assert (matrix.data == 1).all()
    assert matrix.has_canonical_format
    # Every column is a feature of some word, and unknown words have no features of their own.
    assert (matrix[: len(words)].sum(axis=0) > 0).all()
    column = {name: i for i, name in enumerate(features.names)}
    for word, row in zip(words, matrix.toarray(), strict=False):
        assert row[column[f"word={word}"]] == 1
    again = TokenFeatures.from_specification(json.loads(json.dumps(features.specification())))
    assert again == features
    assert (again.matrix(others) != features.matrix(others)).nnz == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prefixes": (0,)}, "whole numbers from 1"),
        ({"suffixes": "12"}, "whole numbers from 1"),
        ({"suffixes": (True,)}, "whole numbers from 1"),
        ({"word": 1}, "True or False"),
    ],
)
def test_bad_config(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        FeatureConfig(**options)


def test_bad_words() -> None:
    with pytest.raises(InputError, match="a list of words"):
        TokenFeatures.learn("word")
    words: Any = ["a", 7]
    with pytest.raises(InputError, match="a word is 7"):
        TokenFeatures.learn(["a"]).matrix(words)


@pytest.mark.parametrize(
    "change",
    [
        {"config": {"colour": True}},
        {"config": {"prefixes": [-1]}},
        {"values": {}},
        {"values": {"word": "abc", "bias": [""]}},
        {"values": {"word": ["a", "a"], "bias": [""]}},
    ],
)
def test_bad_specification(change: dict[str, Any]) -> None:
    config = FeatureConfig(lower=False, shape=False, prefixes=(), suffixes=(), capital=False, digit=False, hyphen=False)
    good = TokenFeatures.learn(["a"], config).specification()
    with pytest.raises(FormatError, match=r"features of words|different texts"):
        TokenFeatures.from_specification({**good, **change})


def test_a_hundred_thousand_words() -> None:
    rng = np.random.default_rng(5)
    letters = rng.choice(list("etaoinshrdluETA-19"), size=(100_000, 9))
    words = ["".join(row[:n]) for row, n in zip(letters.tolist(), rng.integers(1, 10, 100_000).tolist(), strict=True)]
    # 29 calls for a word; a lookup in a sparse matrix for each of its features takes 20 times as many.
    assert calls_of(lambda: TokenFeatures.learn(words).matrix(words)) < 100 * len(words)
