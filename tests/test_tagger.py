"""The tagger: learning from counts, and tagging."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

from askance.errors import EmptyDataError, ForeignTagsWarning, InputError, LabelError, UnaskedTagsWarning
from askance.text import (
    Corpus,
    CountTagger,
    FeatureConfig,
    Region,
    RegionCounts,
    sample_regions,
)
from askance.text.tagger.options import usual_penalty
from askance.text.tagger.tagger import TaggerMethod
from tests.small_corpus import TAGS, TEST, TRAIN, counted

both = pytest.mark.parametrize("method", ["moments", "node"])


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


@pytest.mark.parametrize("sentences", [None, 3, "the dog", [None], [3]])
def test_what_is_no_sentences_is_refused(tagger: CountTagger, sentences: Any) -> None:
    with pytest.raises(InputError, match="allowed: a list of"):
        tagger.predict(sentences)


def test_true_tags_that_the_tagger_lacks_are_a_warning(tagger: CountTagger) -> None:
    gold = Corpus.of([["the", "dog"], ["a", "dog"]], [["DET", "NN"], ["DET", "NN"]])
    with pytest.warns(ForeignTagsWarning, match=r"2 of 4 tokens .* give: 'DET'\. 2 tokens .* in truth: 'DT'\."):
        assert tagger.evaluate(gold).accuracy == 0.5


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
        ({"l2": True}, "l2 is True"),
        ({"l1": -1}, "l1 is -1; allowed: 0 or more, finite"),
        ({"tolerance": 0}, "tolerance is 0; allowed: above 0"),
        ({"tolerance": math.nan}, "tolerance is nan"),
        ({"tolerance": "small"}, "tolerance is 'small'"),
        ({"budget": -1}, "budget is -1; allowed: 0 or more"),
        ({"budget": math.inf}, "budget is inf"),
        ({"budget": None}, "budget is None"),
        ({"radius": 6}, "radius is 6; allowed: whole numbers from 0 to 5"),
        ({"radius": 1.0}, "radius is 1.0"),
        ({"radius": True}, "radius is True"),
        ({"context": -1}, "context is -1"),
        ({"classes": 40}, "classes is 40; allowed: a list"),
        ({"classes": "40"}, "classes is '40'"),
        ({"classes": (40, 1)}, "a number of classes is 1; allowed: whole numbers from 2"),
        ({"features": "word"}, "features is 'word'; allowed: a FeatureConfig"),
        ({"neighbours": {}}, "neighbours is {}; allowed: a FeatureConfig"),
        ({"edges": "dear"}, "edges is 'dear'; allowed: likelihood, cheap"),
        ({"miscounts": "guess"}, "miscounts is 'guess'; allowed: Miscounts, a mapping by annotator, or 'estimate'"),
        ({"miscounts": 0.1}, "miscounts is 0.1"),
        ({"miscounts": {"ann": 0.1}}, "miscounts has 0.1 for 'ann'"),
        ({"bare_weight": 0.5}, "bare_weight is 0.5 without classes"),
        ({"edges": "cheap", "l1": 1}, "l1 is 1 with edges"),
        ({"edges": "cheap", "radius": 2}, "radius is 2 with edges"),
    ],
)
def test_options_that_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        CountTagger(**given)


@both
@pytest.mark.parametrize(
    "option",
    [
        {"l1": 0.5},
        {"radius": 0},
        {"neighbours": FeatureConfig()},
        {"edges": "cheap"},
        {"edges": "likelihood"},
        {"context": None},
        {"budget": 10},
        {"classes": (2,)},
    ],
)
def test_options_of_chains_belong_to_chains(method: TaggerMethod, option: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=f"{next(iter(option))} is given with method '{method}'; allowed: with chains"):
        CountTagger(method, **option)
    CountTagger(**option)
    CountTagger("chain", **option)


def test_usual_penalties_go_by_how_counts_were_asked_for() -> None:
    labels = RegionCounts.of_labels(TRAIN)
    closed, some = (sample_regions(TRAIN, window=4, tags=tags, rng=np.random.default_rng(2)) for tags in ("all", 1))
    longer = [regions.take(regions.lengths > 1) for regions in (closed, some)]
    for regions, penalty in zip(longer, (0.6, 1.0), strict=True):
        assert usual_penalty(regions, "chain") == penalty
        assert usual_penalty(RegionCounts.join([regions, labels]), "node") == penalty  # labels are closed regions too
        assert usual_penalty(regions, "moments") == 0.3
    assert usual_penalty(labels, "chain") == 0.3


def test_a_fit_that_fails_changes_nothing() -> None:
    def fails(text: str, share: float) -> None:
        if share > 0:
            raise RuntimeError(text)

    for method in ("moments", "node", "chain"):
        trained = CountTagger(method).fit(counted())
        before = dict(vars(trained))
        others = RegionCounts.of_labels(Corpus.of([["x", "y"]] * 9, tags=[["A", "B"]] * 9))
        with pytest.raises(RuntimeError):
            trained.fit(others, progress=fails)
        assert vars(trained) == before
        assert trained.predict([["the", "dog"]]) == [("DT", "NN")]


@pytest.mark.parametrize("method", ["moments", "node", "chain", "auto"])
def test_progress_never_goes_back(method: TaggerMethod) -> None:
    told: list[float] = []
    options: dict[str, Any] = {} if method in ("moments", "node") else {"budget": 0}
    CountTagger(method, **options).fit(counted().take(range(40)), progress=lambda text, share: told.append(share))
    assert told == sorted(told)
    assert (told[0], told[-1]) == (0.0, 1.0)


def test_auto_takes_the_edges_that_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it would take cheap ones on its own."""
    monkeypatch.setattr("askance.text.tagger.tagger.choose_method", lambda regions, budget: ("chain", "cheap"))
    monkeypatch.setattr("askance.text.tagger.tagger._NEIGHBOURS_PAY_FROM", 10)
    regions = counted()
    for options, edges, radius in (
        ({}, "cheap", 0),
        ({"edges": "likelihood"}, "likelihood", 1),
        ({"l1": 0.01}, "likelihood", 1),
        ({"radius": 2}, "likelihood", 2),
        ({"radius": 0}, "cheap", 0),
    ):
        trained = CountTagger(**options).fit(regions)
        assert trained.training is not None
        assert trained.training.edges in (edges, "none")
        assert math.isnan(trained.training.edge_weight) == (edges == "likelihood")
        assert trained.chain is not None
        assert trained.chain.features.radius == radius


def test_held_out_regions_that_are_refused() -> None:
    held_out = sample_regions(TEST, window=4, tags="all", rng=np.random.default_rng(4))
    with pytest.raises(
        InputError, match=r"held_out is Corpus.*allowed: RegionCounts.*RegionCounts.of_labels\(corpus\)"
    ):
        CountTagger().fit(counted(), held_out=TEST)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"held_out is 0\.1; allowed: RegionCounts"):
        CountTagger().fit(counted(), held_out=0.1)  # type: ignore[arg-type]
    with pytest.raises(EmptyDataError, match="all held-out regions have the weight 0"):
        CountTagger().fit(counted(), held_out=held_out.with_weight(0))
    with pytest.raises(EmptyDataError, match="all regions have the weight 0"):
        CountTagger().fit(counted().with_weight(0))
    for tagger, by in ((CountTagger("moments"), "moments"), (CountTagger(edges="cheap"), "cheap edges")):
        with pytest.raises(InputError, match=f"held_out is given, and the tagger is trained by {by}"):
            tagger.fit(counted(), held_out=held_out)
    some = held_out.with_weight(np.arange(len(held_out)) < 50)
    kept = [CountTagger("node").fit(counted(), held_out=each).training for each in (some, held_out.take(range(50)))]
    assert kept[0] is not None
    assert kept[1] is not None
    # The same terms, summed beside others of weight 0: in another order, so that the last digits may differ.
    assert kept[0].held_out == pytest.approx(kept[1].held_out, rel=1e-12)


def test_what_is_known_adds_up() -> None:
    told = [Region(0, 0, 1, {"DT": (0, 1), "NN": (0, 1)}), Region(1, 0, 1, {"NN": 0}, closed=False)]
    some = RegionCounts.of(Corpus.of([["the"], ["a"]]), TAGS, told)
    longer = counted().take(counted().lengths > 1)
    parts = [longer, RegionCounts.of_labels(TRAIN.take(range(5))), some]
    training = CountTagger().fit(RegionCounts.join(parts)).training
    assert training is not None
    found = training.regions, training.labelled_tokens, training.single_tokens
    assert found == tuple(map(len, parts))
    assert training.exact_regions == sum(found)


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
