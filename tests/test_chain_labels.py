"""Labels and allowed tags of single tokens as evidence of a chain, alone and in one fit with counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askance._arrays import AnyArray
from askance.errors import EmptyDataError, InputError
from askance.text import (
    ChainFeatures,
    ChainModel,
    ChainParameters,
    Corpus,
    CountTagger,
    FeatureConfig,
    Region,
    RegionCounts,
    sample_regions,
)
from askance.text.chain.evidence import AllowedEvidence, ChainObjective, LabelledEvidence, token_evidence
from askance.text.chain.potentials import TokenPlaces
from askance.text.chain.training import ChainOptions, ChainTask
from askance.text.corpus.regions import Count
from tests.brute_force_chain import BruteForce, Chain, chains, has_allowed

TAGS = ("X", "Y", "Z")
WORD = FeatureConfig.only("word", "bias")


def drawn(sentences: int, seed: int, *, order: float = 0.85, ambiguous: float = 0.3, words: int = 4) -> Corpus:
    """Sentences of 3 to 8 words: after X comes Y, after Y comes Z, after Z comes X, with probability `order`, and any
    tag otherwise; a word tells its tag, but for some that all tags share.
    """
    rng = np.random.default_rng(seed)
    tags, rows = [], []
    for _ in range(sentences):
        own = [int(rng.integers(3))]
        for _ in range(int(rng.integers(2, 8))):
            own.append((own[-1] + 1) % 3 if rng.random() < order else int(rng.integers(3)))
        shared = rng.random(len(own)) < ambiguous
        numbers = rng.integers(words, size=len(own))
        rows.append([f"w{n}" if s else f"{'xyz'[k]}{n}" for k, s, n in zip(own, shared, numbers, strict=True)])
        tags.append([TAGS[k] for k in own])
    return Corpus.of(rows, tags, tagset=TAGS)


def counted(corpus: Corpus, window: int | None = 4, seed: int = 5, tags: Any = "all") -> RegionCounts:
    return sample_regions(corpus, window=window, tags=tags, rng=np.random.default_rng(seed))


def chain_of(regions: RegionCounts, **options: Any) -> CountTagger:
    return CountTagger("chain", **({"features": WORD} | options)).fit(regions)


def parameters(tagger: CountTagger) -> list[AnyArray]:
    assert tagger.chain is not None
    found = tagger.chain.parameters
    return [found.theta, found.edges, found.first, found.last]


def assert_same(one: CountTagger, other: CountTagger, tolerance: float = 0.0) -> None:
    assert one.token_features == other.token_features
    for mine, theirs in zip(parameters(one), parameters(other), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=tolerance)


# -- evidence ----------------------------------------------------------------------------------------------------------


def told_of(chain: Chain, sentence: int, place: int, weights: Sequence[float]) -> Region:
    """Something true of a token: its tag, a list of tags, or the answer to a question about some tags."""
    rng, corpus = chain.rng, chain.corpus
    true = str(corpus.tags_of(sentence)[place])
    others = [name for name in corpus.tagset if name != true and rng.integers(2)]
    kind, counts = int(rng.integers(4)), dict[str, Count]()
    if kind == 0:  # it is an X
        counts = {true: 1}
    elif kind == 1:  # it is an X or a Y
        counts = dict.fromkeys([true, *others], (0, 1))
    elif kind == 2:  # is it a Y? no
        counts = dict.fromkeys(others, 0)
    else:  # is it an X? yes
        counts = {true: 1, **dict.fromkeys(others, 0)}
    return Region(sentence, place, place + 1, counts, kind < 2, float(rng.choice(weights)))


def allowed_by(regions: RegionCounts, number: int) -> AnyArray:
    """Tags that the token of a region may have, from what is told by names, shape (K,)."""
    region = regions.region(number)
    unnamed: tuple[int, int] = (0, 0) if region.closed else (0, 1)
    bounds = [region.counts.get(name, unnamed) for name in regions.tagset]
    pairs = [(each, each) if isinstance(each, int) else each for each in bounds]
    needed = sum(int(low or 0) for low, _ in pairs)
    return np.array([int(high or 0) >= 1 and needed - int(low or 0) == 0 for low, high in pairs])


@settings(max_examples=120, deadline=None)
@given(chain=chains(), weights=st.sampled_from([(1.0,), (0.5,), (0.5, 1.0, 2.0)]), share=st.sampled_from([0.5, 1.0]))
def test_labels_allowed_tags_and_answers(chain: Chain, weights: tuple[float, ...], share: float) -> None:
    """All that is said of a sentence with one weight is one event; what is said again in the same words another."""
    corpus, rng = chain.corpus, chain.rng
    places = [(s, i) for s in range(len(corpus)) for i in range(corpus.lengths[s]) if rng.random() < share]
    told = [told_of(chain, s, i, weights) for s, i in places for _ in range(int(rng.integers(1, 3)))]
    regions = RegionCounts.of(corpus, corpus.tagset, told)
    expected = BruteForce(chain.potentials)
    for sentence in range(len(corpus)):
        start, end = int(corpus.starts[sentence]), int(corpus.starts[sentence + 1])
        own = [r for r in range(len(regions)) if start <= regions.start[r] < end]
        events: dict[tuple[float, int], AnyArray] = {}
        said: Counter[tuple[int, float, bytes]] = Counter()
        for r in own:
            token, weight, allowed = int(regions.start[r]), float(regions.weights[r]), allowed_by(regions, r)
            before = said[token, weight, allowed.tobytes()]
            event = events.setdefault((weight, before), np.ones((end - start, chain.kinds), dtype=bool))
            event[token - start] &= allowed  # all that is told is true: nothing is in contradiction
            said[token, weight, allowed.tobytes()] += 1
        for (weight, _), table in events.items():
            expected.add(start, end, has_allowed(table), weight)
    found = token_evidence(regions, chain.potentials.places)
    expected.agrees_with(ChainObjective(found, chain.potentials.places, chain.kinds, 1)(chain.potentials))


def test_complete_sentences_are_labelled_sequences() -> None:
    corpus = Corpus.of([["a", "b"], ["c", "d"], ["e"]], [["X", "Y"], ["Y", None], [None]], tagset=TAGS)
    found = token_evidence(RegionCounts.of_labels(corpus), TokenPlaces.of(corpus, (0,)))
    assert [type(each) for each in found] == [LabelledEvidence, AllowedEvidence]


def test_annotators_may_disagree() -> None:
    """Two that say X and one that says Y of the same token: P(X) = 2/3 where nothing else is known."""
    corpus = Corpus.of([["dog", "barks"]] * 50)
    told = [Region(s, 0, 1, {name: 1}) for s in range(50) for name in ("X", "Y", "X")]
    tagger = CountTagger("chain", features=WORD, l2=1e-3, tolerance=1e-9, radius=0)
    fitted = tagger.fit(RegionCounts.of(corpus, ["X", "Y"], told))
    assert fitted.predict_proba([["dog", "barks"]])[0][0] == pytest.approx([2 / 3, 1 / 3], abs=1e-3)


@pytest.mark.filterwarnings("ignore::askance.errors.IndistinctTagsWarning")  # X and Y are alike: true as well
def test_counts_of_one_token_that_cannot_be_are_refused() -> None:
    corpus = Corpus.of([["dog", "barks"]])
    both = RegionCounts.of(corpus, TAGS, [Region(0, 0, 1, {"X": 1, "Y": 1}, False)], may_miscount=True)
    with pytest.raises(InputError, match="counts from 2 to"):
        chain_of(both)


def test_answers_about_single_tokens_teach() -> None:
    """Two tags of three were denied for every token, one at a time: that is its label."""
    corpus, rng = drawn(60, 1), np.random.default_rng(2)
    told = []
    for s in range(len(corpus)):
        for i, true in enumerate(corpus.tags_of(s)):
            others = [name for name in TAGS if name != true]
            told += [Region(s, i, i + 1, {name: 0}, False) for name in rng.permutation(others).tolist()]
    answers = RegionCounts.of(corpus, TAGS, told)
    options = {"l2": 0.3, "tolerance": 1e-7, "max_iterations": 500}
    assert_same(chain_of(answers, **options), chain_of(RegionCounts.of_labels(corpus), **options), 2e-2)


# -- counts and labels in one fit --------------------------------------------------------------------------------------

COUNTS, LABELS = counted(drawn(80, 3)), RegionCounts.of_labels(drawn(40, 4, words=6))


def test_a_weight_of_zero_is_no_region() -> None:
    """Joined in the order in which words keep their numbers: nothing but zeros is added to any sum."""
    assert_same(chain_of(RegionCounts.join([COUNTS, LABELS.with_weight(0)])), chain_of(COUNTS), 1e-3)
    assert_same(chain_of(RegionCounts.join([LABELS, COUNTS.with_weight(0)])), chain_of(LABELS), 1e-3)


@pytest.mark.filterwarnings("ignore::askance.errors.UnaskedTagsWarning")  # nobody asked for any tag: true as well
def test_weights_that_are_all_zero_are_refused() -> None:
    with pytest.raises(EmptyDataError, match="all regions have the weight 0"):
        chain_of(COUNTS.with_weight(0))


def test_sentences_of_which_nothing_is_known_change_nothing() -> None:
    bare = RegionCounts.of(drawn(30, 5, words=8), TAGS, [])
    assert_same(chain_of(RegionCounts.join([COUNTS, bare])), chain_of(COUNTS), 1e-3)
    mixed = RegionCounts.join([COUNTS, bare])
    with_classes = chain_of(COUNTS, classes=(4,))
    assert_same(chain_of(mixed, classes=(4,), bare_weight=0), with_classes, 1e-3)
    assert chain_of(mixed, classes=(4,)).token_features != with_classes.token_features


def test_a_weight_of_two_is_two_of_each() -> None:
    """Regions with counts twice over the same sentences, labels with their sentences: one value, one gradient."""
    both = RegionCounts.join([COUNTS.take(np.tile(np.arange(len(COUNTS)), 2)), LABELS, LABELS])
    weighted = RegionCounts.join([COUNTS, LABELS]).with_weight(2)
    assert both.corpus.words == weighted.corpus.words
    features = ChainFeatures.learn(weighted.corpus.words, WORD)
    options = ChainOptions(0.5, 0.0, 2, 1e6, 10, 1e-3, None)
    rng, k = np.random.default_rng(0), len(TAGS)
    drawn_ones = (rng.normal(size=shape) for shape in ((len(features), k), (k, k), (k,), (k,)))
    chain = ChainModel(features, TAGS, ChainParameters(*drawn_ones))
    one, other = (
        ChainTask(regions, features, options).objective(chain.potentials(regions.corpus))
        for regions in (both, weighted)
    )
    assert one.value == pytest.approx(other.value, rel=1e-12)
    np.testing.assert_allclose(one.tables[0], other.tables[0], rtol=0, atol=1e-10)
    np.testing.assert_allclose(one.pairs, other.pairs, rtol=0, atol=1e-10)
    np.testing.assert_allclose([one.first, one.last], [other.first, other.last], rtol=0, atol=1e-10)


def test_between_the_ends_weights_shift_the_fit() -> None:
    """Labels say that "w0" is an X, counts that it is a Y: P(X) rises with the weight of the labels."""
    corpus = Corpus.of([["w0", "a"]] * 20, tagset=TAGS)
    labels = RegionCounts.of(corpus, TAGS, [Region(s, 0, 1, {"X": 1}) for s in range(20)])
    counts = RegionCounts.of(corpus, TAGS, [Region(s, 0, 2, {"Y": 2}) for s in range(20)])
    found = []
    for weight in (0, 0.25, 1, 4):
        tagger = chain_of(RegionCounts.join([counts, labels.with_weight(weight)]))
        found.append(float(tagger.predict_proba([["w0", "a"]])[0][0, 0]))
    assert found == sorted(found)
    assert found[0] < 0.1
    assert found[-1] > 0.6


def test_counts_and_labels_of_different_words_are_both_needed() -> None:
    """The first half of the words is only labelled, the second only counted, and words share no feature. Whoever knows
    one half has to guess the tags of the other, and as there is little order misses about half of them: a quarter of
    all tokens. Half of that is a safe margin on 800 tokens.
    """
    train = drawn(900, 6, words=8, order=0.3, ambiguous=0.1)
    low = [s for s in range(900) if all(int(w[1:]) < 4 for w in train.sentence(s))]
    high = [s for s in range(900) if all(int(w[1:]) >= 4 for w in train.sentence(s))]
    labels, counts = RegionCounts.of_labels(train.take(low)), counted(train.take(high), window=3)
    assert len(low) >= 25
    assert len(high) >= 25
    test = drawn(150, 7, words=8, order=0.3, ambiguous=0.1)
    mixed = chain_of(RegionCounts.join([counts, labels])).score(test)
    assert mixed > 0.12 + max(chain_of(counts).score(test), chain_of(labels).score(test))


def test_ranges_lists_labels_and_counts_together() -> None:
    """True but vague: with the labels of a few sentences it is enough for words that tell their tag."""
    corpus = drawn(150, 8, ambiguous=0.0)
    told = []
    for s in range(len(corpus)):
        tags = [str(tag) for tag in corpus.tags_of(s)]
        if s % 3 == 0:
            counts: dict[str, Count] = {t: (max(tags.count(t) - 1, 0), tags.count(t) + 1) for t in TAGS}
            told.append(Region(s, 0, len(tags), counts))
        elif s % 3 == 1:
            told += [Region(s, i, i + 1, {t: (0, 1), TAGS[s % 2]: (0, 1)}) for i, t in enumerate(tags)]
        else:
            told.append(Region(s, 0, len(tags), {t: tags.count(t) for t in TAGS[: 1 + s % 2]}, False, weight=0.5))
    labels = RegionCounts.of_labels(drawn(5, 9, ambiguous=0.0))
    tagger = chain_of(RegionCounts.join([RegionCounts.of(corpus, TAGS, told), labels]))
    assert tagger.score(drawn(100, 10, ambiguous=0.0)) > 0.95
    assert tagger.training is not None
    assert tagger.training.exact_regions == len(told) + len(labels)
    assert tagger.training.labelled_tokens >= len(labels)
