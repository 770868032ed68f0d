"""What counts can tell: against ranks and null spaces of dense matrices."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.linalg import null_space

from askance.errors import EmptyDataError, LabelError, ShapeError
from askance.text.corpus.corpus import Corpus
from askance.text.corpus.regions import Region, RegionCounts
from askance.text.counts import design_rank as module
from askance.text.counts.design_rank import design_rank
from askance.text.counts.identifiability import identifiability, unsettled_words

TAGS = ["N", "V"]


def _regions(sentences: list[str]) -> RegionCounts:
    """One region for each sentence, both tags asked."""
    corpus = Corpus.of([sentence.split() for sentence in sentences])
    told = [Region(s, 0, int(length), {"N": int(length)}) for s, length in enumerate(corpus.lengths)]
    return RegionCounts.of(corpus, TAGS, told)


def _dense(regions: RegionCounts) -> np.ndarray:
    table = np.zeros((len(regions), len(regions.corpus.words)))
    for r in range(len(regions)):
        np.add.at(table[r], regions.corpus.tokens[regions.start[r] : regions.end[r]], 1)
    return table


@settings(max_examples=300, deadline=None)
@given(st.integers(1, 9), st.integers(1, 9), st.floats(0.1, 0.9), st.integers(0, 2**32 - 1))
def test_rank_and_determined_columns_are_those_of_the_dense_matrix(
    rows: int, width: int, share: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    dense = rng.integers(1, 4, (rows, width)) * (rng.random((rows, width)) < share)
    found = design_rank(sparse.csr_array(dense))
    assert found.settled
    assert found.rank == np.linalg.matrix_rank(dense)
    null = null_space(dense, rcond=1e-10)
    np.testing.assert_array_equal(found.determined, np.abs(null).max(axis=1, initial=0) < 1e-9)
    # Once the free columns are known, everything is, and there are no more of them than needed.
    assert len(found.free) == width - found.rank
    known = np.concatenate([dense, np.eye(width)[found.free]])
    assert np.linalg.matrix_rank(known) == width


def test_larger_random_designs() -> None:
    rng = np.random.default_rng(1)
    for rows, width in ((60, 40), (40, 60), (50, 50)):
        for _ in range(10):
            dense = np.zeros((rows, width), dtype=np.int64)
            for row in dense:
                np.add.at(row, np.minimum(rng.zipf(1.6, size=5) - 1, width - 1), 1)
            found = design_rank(sparse.csr_array(dense))
            assert found.rank == np.linalg.matrix_rank(dense)
            null = null_space(dense, rcond=1e-10)
            np.testing.assert_array_equal(found.determined, np.abs(null).max(axis=1, initial=0) < 1e-9)


def test_a_core_that_is_too_large_is_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    dense = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]])
    assert design_rank(sparse.csr_array(dense)).core == (3, 3)
    monkeypatch.setattr(module, "CORE_COLUMNS", 2)
    found = design_rank(sparse.csr_array(np.concatenate([dense, [[2, 1, 1], [1, 2, 1]]])))
    assert not found.settled
    assert found.rank == 3
    assert not found.determined.any()


def test_single_tokens_are_all_determined() -> None:
    report = identifiability(_regions(["a", "b", "c", "a"]))
    assert (report.rank, report.undetermined, report.inseparable, report.least_more_regions) == (3, (), (), 0)
    assert report.more_like_these == 0
    assert "only for precision" in report.summary()


def test_words_that_always_appear_together() -> None:
    sentences = ["new york sleeps", "york new new york x", "the the cat", "the the cat x", "x", "sleeps x"]
    report = identifiability(_regions(sentences))
    assert report.inseparable == (("new", "york"), ("the", "cat"))  # "the" twice as often as "cat"
    assert report.determined == ("sleeps", "x")
    assert report.rank == np.linalg.matrix_rank(_dense(_regions(sentences))) == 4
    assert report.least_more_regions == 2 == len(report.ask)
    assert set(report.ask) == {"york", "cat"}


def test_what_is_asked_next_settles_everything() -> None:
    rng = np.random.default_rng(2)
    sentences = [" ".join(f"w{t}" for t in rng.integers(30, size=4)) for _ in range(15)]
    report = identifiability(_regions(sentences))
    assert report.least_more_regions > 0
    after = identifiability(_regions(sentences + list(report.ask)))
    assert (after.least_more_regions, after.undetermined) == (0, ())
    fewer = identifiability(_regions(sentences + list(report.ask[1:])))
    assert fewer.least_more_regions == 1


def test_condition_is_that_of_singular_values() -> None:
    sentences = ["a b", "b c", "a c c", "a b c"]
    report = identifiability(_regions(sentences))
    assert report.condition_is_exact
    np.testing.assert_allclose(report.condition, np.linalg.cond(_dense(_regions(sentences))))


def test_a_large_design_has_an_estimate_of_the_condition() -> None:
    rng = np.random.default_rng(3)
    sentences = [" ".join(f"w{t}" for t in rng.integers(700, size=3)) for _ in range(4000)]
    report = identifiability(_regions(sentences))
    assert report.rank == 700
    assert not report.condition_is_exact
    exact = np.linalg.cond(_dense(_regions(sentences)))
    assert 0.9 * exact < report.condition <= exact * (1 + 1e-6)
    assert "at least" in report.summary()


def test_only_regions_that_asked_for_the_tag_count() -> None:
    corpus = Corpus.of([["a", "b"], ["a"], ["b"]])
    told = [
        Region(0, 0, 2, {"N": 1}, closed=False),
        Region(1, 0, 1, {"V": 0}, closed=False),
        Region(2, 0, 1, {"N": (0, 1)}, closed=False),  # says nothing
    ]
    regions = RegionCounts.of(corpus, [*TAGS, "X"], told)
    assert (identifiability(regions).regions, identifiability(regions).rank) == (2, 2)
    noun = identifiability(regions, tag="N")
    assert (noun.regions, noun.types, noun.rank, noun.undetermined) == (1, 2, 1, ("a", "b"))
    assert "that asked for N" in noun.summary()
    assert identifiability(regions, tag="V").determined == ("a",)
    with pytest.raises(EmptyDataError, match="asked for X"):
        identifiability(regions, tag="X")
    with pytest.raises(LabelError, match="allowed"):
        identifiability(regions, tag="NN")


def test_shared_features_separate_what_types_do_not() -> None:
    # "barking" and "dogs" always appear together, but -ing and -s do not.
    regions = _regions(["barking dogs", "barking dogs", "cats", "mewing", "cats mewing", "odd even"])
    words = regions.corpus.words
    endings = np.array([[w.endswith("ing"), w.endswith("s"), w in ("odd", "even")] for w in words], dtype=np.float32)
    design = sparse.csr_array(np.concatenate([np.eye(len(words), dtype=np.float32), endings], axis=1))
    report = identifiability(regions, design)
    assert set(report.undetermined) == {"barking", "dogs", "odd", "even"}
    # odd and even share one feature, which their sum determines.
    assert report.shared_features_determine == 4
    assert "features shared" in report.summary()
    own = identifiability(regions, sparse.csr_array(np.eye(len(words), dtype=np.float32)))
    assert own.shared_features_determine == 0
    with pytest.raises(ShapeError, match="allowed: 6"):
        identifiability(regions, design[:2])


def test_json_is_plain() -> None:
    report = identifiability(_regions(["a b", "a b", "c"]))
    stored = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert stored["inseparable"] == [["a", "b"]]
    assert stored["more_like_these"] is None
    assert str(report) == report.summary()


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_words_that_counts_leave_open_are_those_of_the_whole_check(count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    regions = _regions([" ".join(rng.choice(list("abcdefgh"), rng.integers(1, 5))) for _ in range(count)])
    found, report = unsettled_words(regions), identifiability(regions)
    assert found is not None
    assert (found.words, found.of_words) == (len(report.undetermined), report.types)
    tokens = [word for r in range(len(regions)) for word in regions.corpus.sentence(r)]
    assert (found.tokens, found.of_tokens) == (sum(word in report.undetermined for word in tokens), len(tokens))


def test_what_would_take_long_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("askance.text.counts.identifiability._QUICK", 2)
    assert unsettled_words(_regions(["a b", "b c", "c a", "a b c"])) is None
