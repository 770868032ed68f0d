"""Training chains: the climb, cheap edges, the choice of a model, miscounts, penalties, neighbours, tagging."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from askance._arrays import FloatArray
from askance.errors import InputError
from askance.text import (
    ChainFeatures,
    ChainParameters,
    Corpus,
    CountTagger,
    FeatureConfig,
    Region,
    RegionCounts,
)
from askance.text import Miscounts as Channel
from askance.text.chain import training as chain_training
from askance.text.chain.counts import DEFAULT_BUDGET, CountEvidence
from askance.text.chain.evidence import ChainObjective
from askance.text.chain.fit import ChainFit
from askance.text.chain.regions import stretches
from askance.text.chain.training import WEIGHTS, ChainOptions, ChainTask, cheap_edges, climb, with_cheap_edges
from askance.text.counts.miscounts import simulate
from askance.text.tagger.options import choose_method
from askance.text.tagger.tagger import TaggerMethod
from tests.brute_force_chain import BruteForce, is_counted, random_chain, random_regions
from tests.test_chain_labels import TAGS, WORD, assert_same, chain_of, counted, drawn, parameters

TRAIN, TEST = drawn(200, 21), drawn(100, 22)
EXACT, LATTICES = 2e5, 0.0  # budgets: all sums exact, and none


def task_of(regions: RegionCounts, budget: float = EXACT, most: int = 100, tolerance: float = 1e-4) -> ChainTask:
    features = ChainFeatures.learn(regions.corpus.words, WORD)
    return ChainTask(regions, features, ChainOptions(0.5, 0.0, 2, budget, most, tolerance, None))


def zeros(task: ChainTask) -> ChainParameters:
    return ChainParameters.zeros(len(task.features), len(task.regions.tagset))


# -- the climb ---------------------------------------------------------------------------------------------------------


def climbed(task: ChainTask) -> tuple[ChainFit, list[float]]:
    steps, values = [], []

    def report(step: int, value: float) -> None:
        steps.append(step)
        values.append(value)

    fit = climb(task, zeros(task), progress=report)
    assert steps == list(range(1, fit.iterations + 1))  # numbered through all rounds
    assert values[-1] == pytest.approx(fit.objective, rel=1e-6)
    return fit, values


@pytest.mark.parametrize("budget", [EXACT, LATTICES])
def test_the_objective_rises(budget: float) -> None:
    """Within a round it never falls; new candidates of the next round may lose what convergence does not see."""
    task = task_of(counted(TRAIN, window=7), budget)
    assert task.has_candidates == (budget == LATTICES)
    assert task.exact_regions == (0 if task.has_candidates else 200)
    fit, values = climbed(task)
    assert fit.converged
    for step, (before, after) in enumerate(pairwise(values), 1):
        slack = 8 * task.options.tolerance if task.has_candidates and step % 8 == 0 else 1e-6
        assert after - before >= -slack * abs(before)
    assert fit.log_likelihood == pytest.approx(task.log_likelihood(fit.parameters), rel=1e-4)


def test_lattices_lead_where_exact_sums_lead() -> None:
    """Candidates leave out what has a tilted posterior below 0.001: the optimum hardly moves."""
    regions = counted(TRAIN, window=7)
    exact, lattices = (chain_of(regions, budget=each, tolerance=1e-5) for each in (EXACT, LATTICES))
    assert_same(exact, lattices, 0.1)
    one, other = (np.concatenate(each.predict_proba(TEST)) for each in (exact, lattices))
    np.testing.assert_allclose(one, other, atol=0.02)
    same = np.mean(exact.predict_codes(TEST) == lattices.predict_codes(TEST))
    assert same > 0.99


@pytest.mark.parametrize("budget", [EXACT, LATTICES])
@pytest.mark.parametrize("most", [1, 8, 11])
def test_steps_are_counted_over_all_rounds(budget: float, most: int) -> None:
    fit, _ = climbed(task_of(counted(TRAIN, window=7), budget, most, 1e-9))
    assert fit.iterations == most
    assert not fit.converged


def test_a_climb_can_be_stopped_in_any_round() -> None:
    task, looks = task_of(counted(TRAIN, window=7), LATTICES, 100, 1e-9), list[ChainParameters]()

    def stop(found: ChainParameters) -> bool:
        looks.append(found)
        return len(looks) == 10

    fit = climb(task, zeros(task), stop=stop)
    assert (fit.iterations, fit.stopped, fit.converged) == (10, True, False)
    np.testing.assert_array_equal(fit.parameters.theta, looks[-1].theta)


def test_held_out_regions_stop_the_training() -> None:
    """Twelve regions are learned by heart; what is kept is never worse for the others than where training began."""
    told: list[tuple[str, float]] = []
    options: dict[str, Any] = {"l2": 1e-6, "tolerance": 1e-12, "max_iterations": 300}
    few, held_out = counted(TRAIN).take(range(12)), counted(TEST)
    tagger = CountTagger("chain", **options).fit(few, held_out=held_out, progress=lambda *each: told.append(each))
    assert tagger.training is not None
    assert tagger.training.stopped_early
    assert tagger.training.iterations < 300
    assert tagger.chain is not None
    task = ChainTask(held_out, tagger.chain.features, ChainOptions(1.0, 0.0, 2, EXACT, 1, 1e-3, None))
    assert tagger.training.held_out == pytest.approx(
        task.log_likelihood(tagger.chain.parameters) / len(held_out), rel=1e-4
    )
    alone = CountTagger("chain", **options).fit(few)
    assert alone.training is not None
    assert not alone.training.stopped_early
    assert math.isnan(alone.training.held_out)
    assert alone.chain is not None
    assert task.log_likelihood(alone.chain.parameters) / len(held_out) < tagger.training.held_out
    shares = [share for _, share in told]
    assert told[0] == ("features", 0.0)
    assert told[-1] == ("done", 1.0)
    assert shares == sorted(shares)
    assert any(text == "likelihood of the chain" for text, _ in told)


@pytest.mark.parametrize("budget", [EXACT, LATTICES])
def test_threads_change_no_bit(budget: float, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for threads in (1, 3):
        monkeypatch.setattr(chain_training, "processors", lambda threads=threads: threads)
        found.append(chain_of(counted(TRAIN, window=7), budget=budget, max_iterations=20))
    assert_same(found[0], found[1])


# -- cheap edges -------------------------------------------------------------------------------------------------------


def log_ratio(pairs: FloatArray) -> FloatArray:
    """How much more often tags meet than by chance, half a pair added to each."""
    table = np.zeros_like(pairs)
    for a in range(len(pairs)):
        for b in range(len(pairs)):
            chance = pairs[a].sum() * pairs[:, b].sum() / pairs.sum()
            table[a, b] = np.log((pairs[a, b] + 0.5) / (chance + 0.5))
    return table


def pairs_given_counts(found: BruteForce, regions: RegionCounts) -> FloatArray:
    """Expected pairs of neighbouring tags of all regions with two words around each, by all sequences."""
    total = np.zeros_like(found.pairs)
    for r, (start, end) in enumerate(zip(*stretches(regions, 2), strict=True)):
        sequences, known = found.sequences(int(start), int(end)), is_counted(regions, r, int(start))
        chances = np.array([known(tuple(row)) for row in sequences.tags.tolist()])
        total += regions.weights[r] * sequences.posterior(chances)[2]
    return total


@pytest.mark.parametrize("seed", range(4))
def test_cheap_edges_are_log_ratios_of_expected_pairs(seed: int) -> None:
    chain = random_chain(np.random.default_rng(seed), [4, 5, 3, 4], 3, scales=(1, 0, 0))
    regions, places = random_regions(chain, 25), chain.potentials.places
    found = ChainObjective([CountEvidence(regions, context=2)], places, 3, 1)(chain.potentials)
    wanted = log_ratio(pairs_given_counts(BruteForce(chain.potentials), regions))
    np.testing.assert_allclose(cheap_edges(found), wanted, atol=1e-9)


def test_nine_regions_in_ten_make_the_edges() -> None:
    chain = random_chain(np.random.default_rng(9), [5] * 40, 3)
    regions = RegionCounts.of(
        chain.corpus,
        chain.corpus.tagset,
        [Region(s, 1, 4, {t: chain.corpus.tags_of(s)[1:4].count(t) for t in chain.corpus.tagset}) for s in range(40)],
    )
    task = task_of(regions)
    start = zeros(task)
    start.theta[:] = np.random.default_rng(0).normal(size=start.theta.shape)
    found, weight = with_cheap_edges(task, start)
    kept = regions.take(np.arange(40) % 10 != 0)
    edges = log_ratio(pairs_given_counts(BruteForce(task.model(start).potentials(chain.corpus)), kept))
    np.testing.assert_allclose(found.edges, weight * edges, atol=1e-4)
    assert found.theta is start.theta
    few, none = with_cheap_edges(task_of(regions.take(range(9))), start)
    assert few is start
    assert math.isnan(none)  # too few to hold any out


@pytest.mark.parametrize(("order", "cheap"), [(0.0, False), (0.9, True)])
def test_the_weight_of_cheap_edges(order: float, cheap: bool) -> None:
    """Tags that are independent want none; tags in order want some, and are then found far better."""
    regions, test = counted(drawn(300, 23, order=order)), drawn(100, 24, order=order)
    tagger = chain_of(regions, edges="cheap")
    assert tagger.training is not None
    assert tagger.training.edges == ("cheap" if cheap else "none")
    assert tagger.training.edge_weight in WEIGHTS
    assert (tagger.training.edge_weight > 0) == cheap
    assert parameters(tagger)[1].any() == cheap
    node = CountTagger("node", features=WORD, l2=0.6).fit(regions).score(test)
    assert tagger.score(test) > node + 0.1 if cheap else tagger.score(test) == pytest.approx(node, abs=0.02)


# -- the choice of a model ---------------------------------------------------------------------------------------------


def test_what_neighbours_tell_decides_on_the_chain() -> None:
    rows = [[str(tag) if i % 2 else None for i, tag in enumerate(TRAIN.tags_of(s))] for s in range(len(TRAIN))]
    isolated = RegionCounts.of_labels(Corpus.of(TRAIN.sentences(), rows, tagset=TAGS))
    assert choose_method(isolated, EXACT)[0] == "node"
    ends = Corpus.of([["a", "b"], ["c"]], [[None, "X"], ["Y"]], tagset=TAGS)  # neighbours of different sentences
    assert choose_method(RegionCounts.of_labels(ends), EXACT)[0] == "node"
    for regions in (RegionCounts.of_labels(TRAIN), counted(TRAIN), counted(TRAIN, tags=1)):
        assert choose_method(regions, EXACT) == ("chain", "likelihood")
        assert choose_method(regions, EXACT, most_work=1e5) == ("chain", "cheap")
    impossible = RegionCounts.of(TRAIN, TAGS, [Region(0, 0, 3, {"X": 1})], may_miscount=True)
    assert choose_method(impossible, EXACT) == ("chain", "likelihood")


def test_auto_follows_the_choice() -> None:
    labels = Corpus.of([["a", "b", "c"]] * 9, [["X", None, "Y"]] * 9, tagset=TAGS)
    found = [CountTagger().fit(each) for each in (RegionCounts.of_labels(labels), counted(TRAIN))]
    assert [each.training and each.training.method for each in found] == ["node", "chain"]
    assert [each.chain is None for each in found] == [True, False]
    cheap = CountTagger(edges="cheap").fit(counted(TRAIN)).training  # whoever asks for cheap edges gets them
    assert cheap is not None
    assert (cheap.method, cheap.edges) == ("chain", "cheap")


def test_auto_fits_no_edges_where_held_out_counts_want_none() -> None:
    regions = counted(drawn(300, 23, order=0.0), window=None)
    tagger = CountTagger(features=WORD, budget=LATTICES).fit(regions)
    assert tagger.training is not None
    assert (tagger.training.method, tagger.training.edges, tagger.training.exact_regions) == ("chain", "none", 0)
    assert not parameters(tagger)[1].any()
    assert parameters(chain_of(regions, budget=LATTICES))[1].any()  # asked for by name they are fitted


def test_a_few_long_regions_do_not_take_edges_from_labels() -> None:
    labels, counts = RegionCounts.of_labels(TRAIN), counted(TRAIN, window=None).take(range(3))
    tagger = CountTagger(features=WORD, budget=LATTICES).fit(RegionCounts.join([labels, counts]))
    assert parameters(tagger)[1].any()


def test_cheap_edges_come_from_labels_too() -> None:
    tagger = chain_of(RegionCounts.of_labels(drawn(300, 23, order=0.9)), edges="cheap")
    assert tagger.training is not None
    assert tagger.training.edge_weight > 0
    assert parameters(tagger)[1].any()


def test_a_few_regions_that_leave_much_open_are_summed_exactly() -> None:
    """Ranges of a few of twelve tags: candidates would be all or none, and far more is affordable for so few."""
    rng, tags = np.random.default_rng(4), [f"T{i}" for i in range(12)]
    rows = [[str(t) for t in rng.choice(tags, 15)] for _ in range(20)]
    corpus = Corpus.of([[f"{t}{rng.integers(3)}" for t in row] for row in rows], rows, tagset=tags)
    told = [
        Region(s, 0, 15, {t: (max(row.count(t) - 2, 0), row.count(t) + 2) for t in tags[:4]}, False)
        for s, row in enumerate(rows)
    ]
    task = task_of(RegionCounts.of(corpus, tags, told), budget=DEFAULT_BUDGET)
    assert task.counts is not None
    assert task.counts.exact.all()


# -- miscounts ---------------------------------------------------------------------------------------------------------

RATES = {"ann": Channel(0.1, 0.05), "bob": Channel(0.02, 0.01)}


def miscounted() -> RegionCounts:
    """Every region counted by ann, who errs often, and by bob."""
    true = counted(drawn(300, 25), window=5)
    both = true.take(np.tile(np.arange(300), 2))
    both = replace(both, annotator=np.repeat(np.arange(2, dtype=np.int32), 300), annotators=tuple(RATES))
    return simulate(both, RATES, np.random.default_rng(1))


@pytest.mark.parametrize(("method", "least"), [("node", 0.75), ("chain", 0.9)])
def test_miscounts_are_given_or_found(method: TaggerMethod, least: float) -> None:
    regions = miscounted()
    for given in (RATES, Channel(0.06, 0.03), "estimate"):
        tagger = CountTagger(method, features=WORD, miscounts=given).fit(regions)
        assert tagger.score(TEST) > least
        used = tagger.miscounts_used
        if given != "estimate":
            assert used == given
            continue
        assert isinstance(used, dict)
        for name, rates in RATES.items():
            # 1,500 tokens and 900 counts of each: about four standard errors
            assert used[name].missed == pytest.approx(rates.missed, abs=0.04)
            assert used[name].extra == pytest.approx(rates.extra, abs=0.04)


def test_rates_that_are_found_are_never_zero() -> None:
    true = counted(TRAIN)
    tagger = chain_of(true.take(np.tile(np.arange(len(true)), 2)), miscounts="estimate")
    assert tagger.miscounts_used == {"": Channel(0.001, 0.001)}


@pytest.mark.parametrize("method", ["node", "chain", "auto"])
def test_counts_that_cannot_be_need_a_channel(method: TaggerMethod) -> None:
    told = [Region(0, 0, 3, {"X": 1}), Region(1, 0, 3, {"X": 1, "Y": 2})]
    regions = RegionCounts.of(TRAIN, TAGS, told, may_miscount=True)
    with pytest.raises(InputError, match="region 0 has 3 tokens and counts from 1 to 1 together") as refused:
        CountTagger(method, features=WORD).fit(regions)
    assert "miscounts=Miscounts(" in str(refused.value)
    CountTagger(method, features=WORD, miscounts=Channel(0.05, 0.02)).fit(regions)


def test_answers_about_single_tokens_may_be_wrong_and_labels_not() -> None:
    """Of 400 tokens 300 are said to be X. Where one in q = 0.4 is counted too many and none missed, a yes has the
    probability p (1 − q) + (1 − p) q and a no (1 − p) (1 − q): p = 1/4 makes the answers likeliest, not 3/4.
    """
    corpus = Corpus.of([["a", "b"]] * 400, tagset=TAGS)
    answers = RegionCounts.of(corpus, TAGS, [Region(s, 0, 1, {"X": int(s < 300)}, False) for s in range(400)])
    labels = RegionCounts.of(corpus, TAGS, [Region(s, 1, 2, {"Y": 1}) for s in range(400)])
    regions = RegionCounts.join([answers, labels])
    for channel, share in ((None, 0.75), (Channel(0.0, 0.4), 0.25)):
        table = chain_of(regions, l2=0.01, tolerance=1e-6, miscounts=channel).predict_proba([["a", "b"]])[0]
        assert table[0, 0] == pytest.approx(share, abs=0.02)
        assert table[1, 1] > 0.98


# -- penalties and neighbours ------------------------------------------------------------------------------------------


def test_absolute_values_leave_most_scores_at_zero() -> None:
    """All features of a word say the same here: one of them is enough."""
    plain, sparse = (chain_of(counted(TRAIN), features=None, l1=each) for each in (0.0, 1.0))
    assert np.mean(sparse.theta == 0) > 0.7
    assert np.mean(plain.theta == 0) < 0.05
    assert sparse.score(TEST) > plain.score(TEST) - 0.02


def test_the_next_word_tells_where_its_tag_does_not() -> None:
    """Word "w" is an X before "!" and a Y before "?", which are both Z: its neighbours' tags say nothing."""
    rng = np.random.default_rng(26)
    signs = [[str(sign) for sign in rng.choice(["!", "?"], size=rng.integers(2, 5))] for _ in range(150)]
    rows = [[word for sign in own for word in ("w", sign)] for own in signs]
    tags = [[tag for sign in own for tag in ("X" if sign == "!" else "Y", "Z")] for own in signs]
    corpus = Corpus.of(rows, tags, tagset=TAGS)
    train, test = corpus.take(range(100)), corpus.take(range(100, 150))
    around = {"neighbours": FeatureConfig.only("word")}
    scores = {radius: chain_of(counted(train, window=3), radius=radius, **around).score(test) for radius in (0, 1)}
    assert scores[0] < 0.85  # half of the words are sure, half are guessed: 0.75
    assert scores[1] > 0.97


@pytest.mark.parametrize(("given", "said"), [({"radius": 9}, "radius is 9"), ({"classes": (1,)}, "classes is 1")])
def test_options_of_a_chain_that_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        chain_of(counted(TRAIN), **given)


# -- tagging -----------------------------------------------------------------------------------------------------------


@cache
def with_everything() -> CountTagger:
    """A chain with neighbours and classes of words, some of them of bare text."""
    bare = RegionCounts.of(drawn(60, 27, words=6), TAGS, [])
    return CountTagger("chain", radius=1, classes=(4, 8)).fit(RegionCounts.join([counted(TRAIN), bare]))


def test_all_ways_to_tag_agree() -> None:
    tagger = with_everything()
    words = [*tagger.words, "never-seen"]
    single = [[word] for word in words]
    np.testing.assert_allclose(tagger.word_probabilities(words), np.concatenate(tagger.predict_proba(single)))
    assert [tagger.tagset[code] for code in tagger.word_tags(words)] == [tags for (tags,) in tagger.predict(single)]
    assert tagger.word_tags(words).tolist() == tagger.word_probabilities(words).argmax(axis=1).tolist()
    codes = tagger.predict_codes(TEST)
    assert [tagger.tagset[code] for code in codes] == [tag for tags in tagger.predict(TEST) for tag in tags]
    assert tagger.predict(list(TEST.sentences())) == tagger.predict(TEST)
    assert tagger.score(TEST) == tagger.evaluate(TEST).accuracy == pytest.approx(np.mean(codes == TEST.require_tags()))
    tables = tagger.predict_proba(TEST)
    assert [each.shape for each in tables] == [(length, 3) for length in TEST.lengths]
    np.testing.assert_allclose(np.concatenate(tables).sum(axis=1), 1, atol=1e-5)
    assert tagger.predict([[]]) == [()]
    assert tagger.predict_proba([[]])[0].shape == (0, 3)


def test_likeliest_sequences_and_likeliest_tags() -> None:
    """`predict` gives the likeliest sequence, which may have another tag at a token than the likeliest there."""
    tagger = with_everything()
    assert tagger.chain is not None
    best = tagger.predict_codes(TEST)
    table = np.concatenate(tagger.predict_proba(TEST))
    single = table.argmax(axis=1)
    likelihoods = [tagger.chain.log_likelihood(TEST.with_tags(each, TAGS)) for each in (best, single)]
    assert (likelihoods[0] >= likelihoods[1] - 1e-4).all()
    every = np.arange(len(best))
    assert table[every, single].sum() >= table[every, best].sum()
    assert 0 < np.mean(best != single) < 0.05
