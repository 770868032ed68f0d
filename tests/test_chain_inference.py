"""Chains against sums over all tag sequences: layout, scores, sums, best sequences, draws."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from askance._arrays import AnyArray, FloatArray
from askance.errors import InputError, LabelError, ShapeError
from askance.text.chain import model as chain_model
from askance.text.chain.features import ChainFeatures
from askance.text.chain.fit import ChainParameters
from askance.text.chain.inference import forward
from askance.text.chain.layout import ChainLayout
from askance.text.chain.model import ChainModel
from askance.text.chain.potentials import FLOOR, TokenPlaces
from askance.text.corpus.corpus import Corpus
from askance.text.corpus.features import FeatureConfig
from askance.text.node.tables import row_maxima
from tests.brute_force_chain import Chain, Sequences, all_sequences, chains, lifted


@dataclass(frozen=True, eq=False)
class Tagged:
    """A model with a corpus."""

    model: ChainModel
    corpus: Corpus

    def scores(self, sentence: int, *, floored: bool) -> FloatArray:
        """Scores of the tokens of a sentence with every tag, shape (L, K), from features one by one."""
        features, given, rows = self.model.features, self.model.parameters, []
        words = self.corpus.sentence(sentence)
        lift = lifted if floored else np.asarray
        for t in range(len(words)):
            row, column = np.zeros(len(self.model.tagset)), 0
            for d in features.distances:
                seen = features.word if d == 0 or features.around is None else features.around
                if 0 <= t + d < len(words):
                    row = row + seen.matrix([words[t + d]]).toarray()[0] @ given.theta[column : column + len(seen)]
                column += len(seen)
            row = row + (given.first if t == 0 else 0)
            rows.append(lift(row + (given.last if t == len(words) - 1 else 0)))
        return np.array(rows)

    def sequences(self, sentence: int, *, floored: bool = True) -> Sequences:
        """All tag sequences of a sentence with tokens."""
        edges = self.model.parameters.edges
        return Sequences.of(self.scores(sentence, floored=floored), lifted(edges) if floored else edges)

    @property
    def filled(self) -> list[int]:
        """Sentences with tokens."""
        return np.flatnonzero(self.corpus.lengths).tolist()


@st.composite
def tagged(draw: st.DrawFn, scales: tuple[float, ...] = (0.5, 3.0)) -> Tagged:
    """Models with scores of all sizes, words unknown to the features, sentences of no and of one word."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kinds, radius = draw(st.integers(1, 4)), draw(st.integers(0, 2))
    lengths = draw(st.lists(st.integers(0, 4), min_size=1, max_size=4))
    words = [[str(word) for word in rng.choice(["ab", "Ba", "b", "cab"], size=n)] for n in lengths]
    features = ChainFeatures.learn(
        ["ab", "b", "cab"], FeatureConfig.only("word", suffixes=(1,)), FeatureConfig.only("lower", "bias"), radius
    )
    scale = [draw(st.sampled_from(scales)) for _ in range(3)]
    theta, edges = scale[0] * rng.normal(size=(len(features), kinds)), scale[1] * rng.normal(size=(kinds, kinds))
    parameters = ChainParameters(theta, edges, *(scale[2] * rng.normal(size=(2, kinds))))
    return Tagged(ChainModel(features, [f"t{k}" for k in range(kinds)], parameters), Corpus.of(words))


def single(model: ChainModel) -> ChainModel:
    """The model with the same parameters in 32 bits."""
    p = model.parameters
    return ChainModel(
        model.features,
        model.tagset,
        ChainParameters(*(each.astype(np.float32) for each in (p.theta, p.edges, p.first, p.last))),
    )


# -- layout and scores -------------------------------------------------------------------------------------------------


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(1, 6), max_size=9), st.integers(1, 4))
def test_batches_hold_every_token_once_by_position(lengths: list[int], size: int) -> None:
    end = np.cumsum(np.array(lengths, dtype=np.int64))
    start = end - np.array(lengths, dtype=np.int64)
    layout = ChainLayout.of(start, end, size)
    assert sorted(np.concatenate([[], *(b.tokens for b in layout.batches)]).tolist()) == list(range(sum(lengths)))
    assert sorted(np.concatenate([[], *(b.stretches for b in layout.batches)]).tolist()) == list(range(len(lengths)))
    for batch in layout.batches:
        assert len(batch.stretches) <= size
        own = np.array(lengths)[batch.stretches]
        assert (np.diff(own) <= 0).all()
        for t in range(int(own.max())):
            here = batch.tokens[batch.starts[t] : batch.starts[t + 1]]
            np.testing.assert_array_equal(here, (start[batch.stretches] + t)[own > t])
        steps = list(batch.positions())
        assert list(batch.backwards()) == steps[::-1]
        for after, before in steps:
            np.testing.assert_array_equal(batch.tokens[after], batch.tokens[before] + 1)
        np.testing.assert_array_equal(batch.tokens[batch.place(own - 1)], end[batch.stretches] - 1)


@settings(max_examples=30, deadline=None)
@given(chains())
def test_places_are_the_words_around(chain: Chain) -> None:
    corpus, places = chain.corpus, chain.potentials.places
    for s in range(len(corpus)):
        span = range(corpus.span(s).start, corpus.span(s).stop)
        for token in span:
            assert places.is_first[token] == (token == span.start)
            assert places.is_last[token] == (token == span.stop - 1)
            for d, rows in places.rows.items():
                assert rows[token] == (corpus.tokens[token + d] if token + d in span else places.types)


@settings(max_examples=30, deadline=None)
@given(chains(scales=(0.5, 3.0, 50.0)))
def test_factors_are_scores_above_the_floor(chain: Chain) -> None:
    """Whatever was taken out of factors comes back as a logarithm, tokens in any order."""
    potentials = chain.potentials
    tokens = chain.rng.permutation(chain.corpus.n_tokens)
    factors, shifts = potentials.rows(tokens)
    assert (factors <= 1 + 1e-12).all()
    assert (factors >= FLOOR * (1 - 1e-12)).all()
    scores = potentials.scores(tokens)
    found = np.log(factors) + shifts[:, None]
    near = scores >= scores.max(axis=1, keepdims=True, initial=-np.inf) + np.log(FLOOR)
    np.testing.assert_allclose(found[near], scores[near], rtol=0, atol=1e-10)
    assert (found >= scores - 1e-10).all()
    lower, upper = potentials.edges.max() + np.log(FLOOR), potentials.edges.max()
    kept = np.log(potentials.factors) + potentials.edge_shift
    np.testing.assert_allclose(kept, np.clip(potentials.edges, lower, upper), rtol=0, atol=1e-10)
    np.testing.assert_array_equal(potentials.transposed, potentials.factors.T)


@pytest.mark.parametrize("columns", [1, 2, 3, 4, 5, 8, 13])
def test_row_maxima(columns: int) -> None:
    table = np.random.default_rng(columns).normal(size=(6, columns))
    np.testing.assert_array_equal(row_maxima(table)[:, 0], table.max(axis=1))


# -- sums over all sequences -------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(tagged(scales=(0.5, 3.0, 50.0)))
def test_sums_are_over_all_sequences(case: Tagged) -> None:
    model, corpus = case.model, case.corpus
    partition, marginals = model.log_partition(corpus), model.marginals(corpus)
    assert partition.shape == (len(corpus),)
    assert marginals.shape == (corpus.n_tokens, len(model.tagset))
    assert (partition[corpus.lengths == 0] == 0).all()
    for s in case.filled:
        total, expected, _ = case.sequences(s).posterior()
        assert partition[s] == pytest.approx(total, rel=1e-12, abs=1e-10)
        np.testing.assert_allclose(marginals[corpus.span(s)], expected, rtol=0, atol=1e-10)


@settings(max_examples=40, deadline=None)
@given(tagged(scales=(0.5, 3.0, 50.0)))
def test_best_tags_have_the_largest_score(case: Tagged) -> None:
    found = case.model.best_tags(case.corpus)
    for s in case.filled:
        all_of_them = case.sequences(s, floored=False)
        row = np.flatnonzero((all_of_them.tags == found[case.corpus.span(s)]).all(axis=1))
        assert all_of_them.scores[row[0]] == pytest.approx(all_of_them.scores.max(), rel=1e-12, abs=1e-10)


def test_of_equally_good_sequences_the_first_is_taken() -> None:
    features = ChainFeatures.learn(["a"], FeatureConfig.only("word"))
    model = ChainModel(features, "xyz", ChainParameters.zeros(1, 3, np.float64))
    np.testing.assert_array_equal(model.best_tags(Corpus.of([["a"] * 5])), np.zeros(5))


@settings(max_examples=40, deadline=None)
@given(tagged())
def test_likelihoods_sum_to_one(case: Tagged) -> None:
    model, kinds = case.model, len(case.model.tagset)
    for s in case.filled:
        one = case.corpus.take([s])
        every = all_sequences(kinds, one.n_tokens)
        many = case.corpus.take([s] * len(every)).with_tags(every.ravel(), model.tagset)
        found = model.log_likelihood(many)
        expected = case.sequences(s, floored=False)
        np.testing.assert_allclose(found, expected.scores - expected.log_partition, rtol=0, atol=1e-10)
        assert np.exp(found).sum() == pytest.approx(1, abs=1e-10)


@settings(max_examples=40, deadline=None)
@given(tagged())
def test_32_bits_agree_with_64(case: Tagged) -> None:
    model, corpus = single(case.model), case.corpus
    assert model.marginals(corpus).dtype == np.float32
    np.testing.assert_allclose(model.marginals(corpus), case.model.marginals(corpus), rtol=0, atol=1e-4)
    np.testing.assert_allclose(model.log_partition(corpus), case.model.log_partition(corpus), rtol=1e-6, atol=1e-4)
    codes = case.model.sample(corpus, np.random.default_rng(0))
    told = corpus.with_tags(codes, model.tagset)
    np.testing.assert_allclose(model.log_likelihood(told), case.model.log_likelihood(told), rtol=1e-6, atol=2e-4)


def example(sentences: int, kinds: int = 3, seed: int = 0, scale: float = 1.0) -> Tagged:
    """Sentences of 0 to 12 words."""
    rng = np.random.default_rng(seed)
    words = [[str(word) for word in rng.choice(list("abcdef"), size=rng.integers(13))] for _ in range(sentences)]
    features = ChainFeatures.learn(list("abcdef"), FeatureConfig.only("word"), FeatureConfig.only("word"), 1)
    theta, edges = rng.normal(size=(len(features), kinds)), rng.normal(size=(kinds, kinds))
    parameters = ChainParameters(scale * theta, scale * edges, *(scale * rng.normal(size=(2, kinds))))
    return Tagged(ChainModel(features, [f"t{k}" for k in range(kinds)], parameters), Corpus.of(words))


def test_sentences_do_not_see_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 600 sentences, in several batches and pieces, each has what it has alone."""
    case = example(600)
    model, corpus = case.model, case.corpus
    monkeypatch.setattr(chain_model, "_TOKENS_AT_ONCE", 50)
    marginals, partition, best = model.marginals(corpus), model.log_partition(corpus), model.best_tags(corpus)
    likelihood = model.log_likelihood(corpus.with_tags(best, model.tagset))
    monkeypatch.undo()
    np.testing.assert_array_equal(model.best_tags(corpus), best)
    for s in range(0, 600, 7):
        one = corpus.take([s])
        span = corpus.span(s)
        np.testing.assert_allclose(marginals[span], model.marginals(one), rtol=0, atol=1e-12)
        np.testing.assert_allclose(partition[s], model.log_partition(one)[0], rtol=1e-13, atol=1e-12)
        np.testing.assert_array_equal(best[span], model.best_tags(one))
        alone = model.log_likelihood(one.with_tags(best[span], model.tagset))
        np.testing.assert_allclose(likelihood[s], alone[0], rtol=0, atol=1e-11)
    np.testing.assert_allclose(marginals.sum(axis=1), 1, rtol=0, atol=1e-12)


def test_forward_sums_are_filtered_probabilities() -> None:
    """The last α of a sentence is the marginal of its last token."""
    case = example(20)
    potentials = case.model.potentials(case.corpus)
    filled = np.array(case.filled)
    layout = ChainLayout.of(case.corpus.starts[filled], case.corpus.starts[filled + 1])
    marginals = case.model.marginals(case.corpus)
    for batch in layout.batches:
        sums = forward(batch, *potentials.rows(batch.tokens), potentials)
        np.testing.assert_allclose(sums.alpha.sum(axis=1), 1, rtol=0, atol=1e-12)
        own = (layout.end - layout.start)[batch.stretches]
        last = batch.place(own - 1)
        np.testing.assert_allclose(sums.alpha[last], marginals[batch.tokens[last]], rtol=0, atol=1e-12)


# -- draws -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_draws_follow_the_model(dtype: type) -> None:
    """20,000 draws of the tags of three words: χ² over 27 sequences, false-alarm rate 1e-6 each, for one seed."""
    case = replace(example(1, scale=0.3), corpus=Corpus.of([["a", "c", "b"]]))
    if dtype == np.float32:
        case = replace(case, model=single(case.model))
    draws, expected = 20_000, case.sequences(0)
    drawn = case.model.sample(case.corpus.take([0] * draws), np.random.default_rng(5)).reshape(draws, 3)
    seen = np.bincount(drawn @ [9, 3, 1], minlength=27)
    wanted = draws * np.exp(expected.scores - expected.log_partition)
    assert wanted.min() > 5
    assert stats.chisquare(seen, wanted * draws / wanted.sum()).pvalue > 1e-6


# -- borders -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [[], [[]], [[], []]])
def test_nothing_to_tag(words: list[list[str]]) -> None:
    model, corpus = example(3).model, Corpus.of(words)
    results: list[AnyArray] = [model.marginals(corpus), model.best_tags(corpus)]
    results += [model.sample(corpus, np.random.default_rng(0)), corpus.tokens]
    assert all(len(each) == 0 for each in results)
    np.testing.assert_array_equal(model.log_partition(corpus), np.zeros(len(words)))
    assert TokenPlaces.of(corpus, (0, -1, 1)).rows[1].shape == (0,)


def test_mistakes_are_named() -> None:
    model = example(3).model
    with pytest.raises(LabelError, match="the corpus has the tag 'NN'"):
        model.log_likelihood(Corpus.of([["a"]], tags=[["NN"]]))
    with pytest.raises(ShapeError, match=r"first has the shape \(2,\); allowed: \(3,\)"):
        ChainModel(model.features, model.tagset, replace(model.parameters, first=np.zeros(2)))
    with pytest.raises(InputError, match="tokens have no tag"):
        model.log_likelihood(Corpus.of([["a"]]))
    with pytest.raises(InputError, match="radius is 9; allowed: whole numbers from 0 to 5"):
        ChainFeatures.learn(["a"], radius=9)
