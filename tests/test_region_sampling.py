"""Regions drawn from a labelled corpus.

Statistical tests compare a χ² with its quantile at a false-alarm rate of 10⁻⁶; the seeds are fixed.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from askance.errors import InputError, LabelError
from askance.text.corpus.corpus import Corpus
from askance.text.corpus.region_sampling import sample_regions
from askance.text.corpus.regions import RegionCounts

TAGS = ("A", "B", "C", "D", "E")
FALSE_ALARMS = 1e-6


def corpus_of(tags: list[list[str]]) -> Corpus:
    return Corpus.of([[f"w{i}" for i in range(len(row))] for row in tags], tags, tagset=TAGS)


def assert_uniform(counts: list[int]) -> None:
    expected = sum(counts) / len(counts)
    statistic = sum((count - expected) ** 2 for count in counts) / expected
    assert statistic < chi2.isf(FALSE_ALARMS, len(counts) - 1)


def assert_counts_are_right(regions: RegionCounts) -> None:
    """Every region counts what is there, by a plain loop; and passes the checks for regions made by hand."""
    corpus = regions.corpus
    again = RegionCounts.of(corpus, regions.tagset, [regions.region(r) for r in range(len(regions))])
    for name in ("start", "end", "closed", "offsets", "tag", "low", "high"):
        np.testing.assert_array_equal(getattr(again, name), getattr(regions, name))
        assert getattr(again, name).dtype == getattr(regions, name).dtype
    for r in range(len(regions)):
        region = regions.region(r)
        true = Counter(corpus.tags_of(region.sentence)[region.start : region.end])
        assert {tag: true[tag] for tag in region.counts} == region.counts
        assert not region.closed or sum(true.values()) == sum(true[tag] for tag in region.counts)


SENTENCES = st.lists(st.lists(st.sampled_from(TAGS), max_size=8), min_size=1, max_size=6).filter(any)
WINDOW = st.none() | st.integers(1, 9)
ASKED = st.just("all") | st.integers(1, 5) | st.lists(st.sampled_from(TAGS), min_size=1, max_size=5)


@settings(deadline=None)
@given(SENTENCES, WINDOW, ASKED, st.integers(1, 4), st.integers(0, 2**32))
def test_regions_count_what_is_there(tags: Any, window: Any, asked: Any, m: int, seed: int) -> None:
    corpus = corpus_of(tags)
    rng = np.random.default_rng(seed)
    regions = sample_regions(corpus, window=window, tags=asked, per_sentence=m, rng=rng)
    assert_counts_are_right(regions)
    lengths = [len(row) for row in tags]
    for s, length in enumerate(lengths):
        mine = [region for region in map(regions.region, range(len(regions))) if region.sentence == s]
        size = length if window is None else min(window, length)
        assert all(region.end - region.start == size for region in mine)
        stretches = {region.start for region in mine}
        if not length:
            assert not mine
        elif isinstance(asked, int):
            assert len(mine) == m
            assert all(len(region.counts) == asked for region in mine)
            assert all(region.closed == (asked == len(TAGS)) for region in mine)
        else:
            assert len(stretches) == len(mine) == min(m, length - size + 1)
            assert all(region.closed == (asked == "all" or len(set(asked)) == len(TAGS)) for region in mine)
            assert all(asked == "all" or set(region.counts) == set(asked) for region in mine)


@pytest.mark.parametrize(("asked", "m"), [("all", 1), ("all", 2), (2, 1), (2, 2)])
def test_every_beginning_is_as_likely_and_the_last_token_is_seen(asked: Any, m: int) -> None:
    corpus = corpus_of([list("ABCDEABCDE")] * 8000)
    regions = sample_regions(corpus, window=4, tags=asked, per_sentence=m, rng=np.random.default_rng(1))
    starts = regions.start % 10
    assert len(regions) == 8000 * m
    assert starts.max() == 6
    # Two different beginnings of a sentence only make these counts more even.
    assert_uniform(np.bincount(starts, minlength=7).tolist())


def test_pairs_of_tags_are_drawn_uniformly_and_anew() -> None:
    corpus = corpus_of([list("ABCDE")] * 20_000)
    regions = sample_regions(corpus, window=None, tags=2, rng=np.random.default_rng(2))
    pairs = Counter(map(tuple, regions.tag.reshape(-1, 2).tolist()))
    assert set(pairs) == set(combinations(range(5), 2))
    assert_uniform(list(pairs.values()))
    # Tags of one region say nothing about those of the next.
    names = {pair: i for i, pair in enumerate(sorted(pairs))}
    drawn = np.array([names[tuple(pair)] for pair in regions.tag.reshape(-1, 2).tolist()])
    assert_uniform(np.bincount(drawn[::2] * 10 + drawn[1::2], minlength=100).tolist())


def test_the_same_seed_gives_the_same_regions() -> None:
    corpus = corpus_of([list("ABCDEABCDE")] * 50)
    one, two, three = (sample_regions(corpus, window=3, tags=2, rng=np.random.default_rng(seed)) for seed in (0, 0, 1))
    assert one.start.tolist() == two.start.tolist() != three.start.tolist()
    assert one.tag.tolist() == two.tag.tolist() != three.tag.tolist()


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"window": 0}, InputError, "window is 0"),
        ({"window": 2.5}, InputError, "window is 2.5"),
        ({"per_sentence": 0}, InputError, "per_sentence is 0"),
        ({"tags": 0}, InputError, "tags is 0"),
        ({"tags": 6}, InputError, "tags is 6; .* at most 5"),
        ({"tags": "A"}, InputError, "tags is 'A'"),
        ({"tags": []}, InputError, "empty list"),
        ({"tags": ["A", "X"]}, LabelError, "tags holds 'X'"),
        ({"rng": 0}, InputError, "rng is 0"),
    ],
)
def test_bad_requests(options: dict[str, Any], error: type[InputError], words: str) -> None:
    given = {"window": 2, "rng": np.random.default_rng(0), **options}
    with pytest.raises(error, match=words):
        sample_regions(corpus_of([["A", "B"]]), **given)


def test_sentence_is_a_word_for_whole_sentences() -> None:
    corpus = Corpus.of([["a", "b", "c"], ["d"]], [["X", "Y", "X"], ["Y"]])
    named, none = (sample_regions(corpus, window=w, rng=np.random.default_rng(0)) for w in ("sentence", None))
    assert [named.region(r) for r in range(2)] == [none.region(r) for r in range(2)]
    with pytest.raises(InputError, match="window is 'sentences'"):
        sample_regions(corpus, window="sentences", rng=np.random.default_rng(0))  # type: ignore[arg-type]


def test_a_corpus_without_labels_is_refused() -> None:
    with pytest.raises(InputError, match="1 of 2 tokens have no tag"):
        sample_regions(Corpus.of([["a", "b"]], [["A", None]]), window=1, rng=np.random.default_rng(0))
