"""Counts that people miscount, against sums over all tag sequences and all errors, one by one."""

import itertools
from dataclasses import replace
from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse, stats

from askance._arrays import FloatArray
from askance.errors import InputError, ProbabilityError
from askance.text.corpus import region_groups
from askance.text.corpus.corpus import Corpus
from askance.text.corpus.regions import Count, Region, RegionCounts
from askance.text.counts.equations import CountEquations
from askance.text.counts.likelihood import CountLikelihood, Method
from askance.text.counts.miscounts import (
    Miscounts,
    MiscountTotals,
    miscount_rates,
    off_by_one,
    require_annotators,
    simulate,
)
from askance.text.counts.moments import moment_counts
from askance.text.tagger.tagger import CountTagger, TaggerMethod

# With these settings nothing is left tilted.
GENEROUS: dict[str, Any] = {"budget": 1e9, "tolerance": 1e-12}


class _Sums:
    """Log-likelihood, expected counts and expected miscounts of one region by running through everything."""

    def __init__(self, region: Region, kinds: Any, tagset: list[str], log_p: FloatArray, rates: Miscounts, cap: int):
        self.total, self.counts = 0.0, np.zeros(log_p.shape)
        self.expected = np.zeros(3)  # missed, could be missed, extra
        length, names = len(kinds), tagset if region.closed else [tag for tag in tagset if tag in region.counts]
        self.asked = [tagset.index(name) for name in names]
        self.told: list[Count] = [region.counts.get(name, 0) for name in names]
        self.places = sum(isinstance(count, int) for count in self.told)
        for tags in itertools.product(range(len(tagset)), repeat=length):
            p = float(np.exp(log_p[kinds, list(tags)].sum()))
            risked = [i for i in range(length) if tags[i] in self.asked]
            for missed in itertools.product((False, True), repeat=len(risked)):
                lost = sum(missed)
                if lost > cap:
                    continue
                seen = [tags[i] for i, gone in zip(risked, missed, strict=True) if not gone]
                weight = p * rates.missed**lost * (1 - rates.missed) ** (len(risked) - lost)
                self._add_extras(np.bincount(seen, minlength=len(tagset)), weight, rates.extra, lost, len(risked))
                chance = self._chance(np.bincount(seen, minlength=len(tagset)), rates.extra)
                np.add.at(self.counts, (kinds, np.array(tags)), weight * chance[0])

    def _chance(self, seen: Any, extra: float) -> tuple[float, float]:
        """The probability of what was told given what was seen, and the extras that it takes."""
        probability, extras = 1.0, 0.0
        for tag, told in zip(self.asked, self.told, strict=True):
            if isinstance(told, tuple):  # a range, one wider below, says nothing of extras
                low, high = int(told[0] or 0), int(told[1] or 0)
                probability *= float(max(low - (extra > 0), 0) <= seen[tag] <= high)
            else:
                probability *= {0: 1 - extra, 1: extra}.get(told - int(seen[tag]), 0.0)
                extras += told - int(seen[tag])
        return probability, extras

    def _add_extras(self, seen: Any, weight: float, extra: float, lost: int, risked: int) -> None:
        probability, extras = self._chance(seen, extra)
        self.total += weight * probability
        self.expected += weight * probability * np.array([lost, risked, extras])


def brute_force(
    regions: RegionCounts, log_p: FloatArray, rates: dict[str, Miscounts], spare: int
) -> tuple[float, FloatArray, dict[str, FloatArray]]:
    """Log-likelihood, expected counts, and (missed, could be missed, extra, places) by annotator."""
    value, counts = 0.0, np.zeros(log_p.shape)
    totals: dict[str, FloatArray] = {}
    for r in range(len(regions)):
        region, kinds = regions.region(r), regions.corpus.tokens[regions.start[r] : regions.end[r]]
        label = region.closed and len(kinds) == 1
        name = region.annotator or ""
        rate = Miscounts() if label else rates.get(name, Miscounts())
        told = sum(count if isinstance(count, int) else int(count[0] or 0) for count in region.counts.values())
        sums = _Sums(region, kinds, list(regions.tagset), log_p, rate, max(len(kinds) - told, 0) + spare)
        value += region.weight * np.log(sums.total)
        counts += region.weight * sums.counts / sums.total
        if not label and name in rates:
            found = np.array([*(sums.expected / sums.total), sums.places])
            totals[name] = totals.get(name, np.zeros(4)) + region.weight * found
    return value, counts, totals


RATE = st.sampled_from([0.0, 0.02, 0.2, 0.5])


@st.composite
def problems(draw: st.DrawFn) -> tuple[RegionCounts, FloatArray, dict[str, Miscounts]]:
    """A few regions, miscounted as their annotators' rates allow, with log p."""
    tags = [f"t{k}" for k in range(draw(st.integers(1, 3)))]
    rates = {"": Miscounts(draw(RATE), draw(RATE)), "ann": Miscounts(draw(RATE), draw(RATE))}
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    lengths = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    words = [[str(word) for word in rng.choice(list("abcd"), size=length)] for length in lengths]
    found = []
    for number, sentence in enumerate(words):
        who = [None, "ann", "sure"][int(rng.integers(3))]
        rate = Miscounts() if len(sentence) == 1 else rates.get(who or "", Miscounts())
        truth = np.bincount(rng.integers(len(tags), size=len(sentence)), minlength=len(tags))
        closed, counts = bool(rng.integers(2)), {}
        for k, tag in enumerate(tags):
            if not closed and rng.integers(2):
                continue  # not asked
            told = int(rng.binomial(truth[k], 1 - rate.missed) + (rng.random() < rate.extra))
            ranged = rng.integers(4) == 0 and told <= len(sentence)
            counts[tag] = (max(told - 1, 0), min(told + 1, len(sentence))) if ranged else told
        found.append(Region(number, 0, len(sentence), counts, closed, float(rng.integers(1, 4)) / 2, who))
    corpus = Corpus.of(words)
    scores = rng.normal(scale=draw(st.sampled_from([0.5, 3.0])), size=(len(corpus.words), len(tags)))
    log_p = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    return RegionCounts.of(corpus, tags, found, may_miscount=True), log_p, rates


@pytest.mark.parametrize("method", ["exact", "auto"])
@settings(max_examples=40, deadline=None)
@given(problem=problems())
def test_equals_sum_over_sequences_and_errors(
    method: Method, problem: tuple[RegionCounts, FloatArray, dict[str, Miscounts]]
) -> None:
    regions, log_p, rates = problem
    likelihood = CountLikelihood(regions, method=method, miscounts=rates, **GENEROUS)
    value, counts = likelihood(log_p)
    wanted, expected, totals = brute_force(regions, log_p, rates, region_groups.SPARE_MISSES)
    assert value == pytest.approx(wanted, rel=1e-10, abs=1e-10)
    np.testing.assert_allclose(counts, expected, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(counts.sum(axis=1), regions.token_counts, rtol=1e-9, atol=1e-10)
    found = likelihood.expected_miscounts()
    assert found.keys() == totals.keys()
    for name, total in found.items():
        got = [total.missed, total.could_be_missed, total.extra, total.places]
        np.testing.assert_allclose(got, totals[name], rtol=1e-9, atol=1e-10)


@settings(max_examples=25, deadline=None)
@given(problem=problems())
def test_with_room_for_all_misses_nothing_is_left_out(
    problem: tuple[RegionCounts, FloatArray, dict[str, Miscounts]],
) -> None:
    """What the cut leaves out is only ever missing: the sum grows to that over everything."""
    regions, log_p, rates = problem
    cut = CountLikelihood(regions, method="exact", miscounts=rates)(log_p)[0]
    whole = brute_force(regions, log_p, rates, spare=99)[0]
    assert cut <= whole + 1e-10
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(region_groups, "SPARE_MISSES", 99)
        value = CountLikelihood(regions, method="exact", miscounts=rates)(log_p)[0]
    assert value == pytest.approx(whole, rel=1e-10, abs=1e-10)


@settings(max_examples=20, deadline=None)
@given(problem=problems())
def test_expected_counts_are_the_gradient(problem: tuple[RegionCounts, FloatArray, dict[str, Miscounts]]) -> None:
    regions, log_p, rates = problem
    likelihood = CountLikelihood(regions, method="exact", miscounts=rates)
    counts = likelihood(log_p)[1]
    for cell in np.ndindex(*log_p.shape):
        step = np.zeros(log_p.shape)
        step[cell] = 1e-5
        slope = (likelihood(log_p + step)[0] - likelihood(log_p - step)[0]) / 2e-5
        assert slope == pytest.approx(counts[cell], abs=2e-5)


@settings(max_examples=30, deadline=None)
@given(problem=problems())
def test_tilting_bounds_the_likelihood(problem: tuple[RegionCounts, FloatArray, dict[str, Miscounts]]) -> None:
    regions, log_p, rates = problem
    value, counts = CountLikelihood(regions, method="sinkhorn", miscounts=rates, tolerance=1e-11)(log_p)
    assert value >= CountLikelihood(regions, method="exact", miscounts=rates)(log_p)[0] - 1e-8
    np.testing.assert_allclose(counts.sum(axis=1), regions.token_counts, atol=1e-8)


def _example(sentences: int = 60, length: int = 7, tags: int = 4, seed: int = 0) -> tuple[RegionCounts, FloatArray]:
    """True counts of random tags, of all tags in even sentences and of two in odd ones, and log p."""
    rng = np.random.default_rng(seed)
    names, regions = [f"t{k}" for k in range(tags)], []
    truth = rng.integers(tags, size=(sentences, length))
    for number, row in enumerate(truth):
        counts = {name: int(n) for name, n in zip(names, np.bincount(row, minlength=tags), strict=True)}
        asked = counts if number % 2 == 0 else {name: counts[name] for name in names[:2]}
        regions.append(Region(number, 0, length, asked, number % 2 == 0))
    corpus = Corpus.of([[f"w{rng.integers(5)}of{tag}" for tag in row] for row in truth])
    scores = rng.normal(size=(len(corpus.words), tags))
    return RegionCounts.of(corpus, names, regions), scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))


@pytest.mark.parametrize("method", ["auto", "exact", "sinkhorn"])
def test_rates_of_zero_are_no_channel(method: Method) -> None:
    regions, log_p = _example()
    plain, none = CountLikelihood(regions, method=method), CountLikelihood(regions, method=method, miscounts={})
    zero = CountLikelihood(regions, method=method, miscounts=Miscounts())
    value, counts = plain(log_p)
    for other in (none, zero):
        found = other(log_p)
        assert found[0] == value
        np.testing.assert_array_equal(found[1], counts)
    assert none.expected_miscounts() == {}
    total = zero.expected_miscounts()[""]
    assert total.missed == 0
    assert total.extra == pytest.approx(0, abs=1e-2 if method == "sinkhorn" else 1e-9)
    assert total.places == 30 * 4 + 30 * 2


def test_tiny_rates_approach_no_channel() -> None:
    regions, log_p = _example()
    value, counts = CountLikelihood(regions)(log_p)
    close = CountLikelihood(regions, miscounts=Miscounts(1e-8, 1e-8))(log_p)
    assert close[0] == pytest.approx(value, abs=1e-3)
    np.testing.assert_allclose(close[1], counts, atol=1e-4)


def test_labels_and_allowed_tags_are_never_miscounted() -> None:
    corpus = Corpus.of([["a", "b"]], [["x", "y"]])
    allowed = RegionCounts.of(corpus, "xy", [Region(0, 1, 2, {"x": (0, 1), "y": (0, 1)})])
    both = RegionCounts.join([RegionCounts.of_labels(corpus), allowed])
    log_p = np.log(np.array([[0.5, 0.5], [0.1, 0.9]]))
    likelihood = CountLikelihood(both, miscounts=Miscounts(0.2, 0.2))
    value, counts = likelihood(log_p)
    assert value == pytest.approx(np.log(0.5 * 0.9))
    np.testing.assert_allclose(counts, np.array([[1, 0], [0.1, 1.9]]))
    assert likelihood.expected_miscounts() == {}
    rng = np.random.default_rng(0)
    for changed in (simulate(both, Miscounts(0.5, 0.5), rng), off_by_one(both, 1.0, rng)):
        np.testing.assert_array_equal(changed.low, both.low)
        np.testing.assert_array_equal(changed.high, both.high)


def test_counts_that_cannot_be_need_a_channel() -> None:
    corpus = Corpus.of([["a", "b", "a"]])
    few, many = Region(0, 0, 3, {"x": 1}), Region(0, 0, 3, {"x": 3, "y": 1})
    with pytest.raises(InputError, match=r"3 tokens and counts of 1 together.*may_miscount=True"):
        RegionCounts.of(corpus, "xy", [few])
    with pytest.raises(InputError, match="allowed where people miscount: at most 4"):
        RegionCounts.of(corpus, "xy", [Region(0, 0, 3, {"x": 5})], may_miscount=True)
    with pytest.raises(InputError, match="1 tokens and counts of 2 together"):
        RegionCounts.of(corpus, "xy", [Region(0, 0, 1, {"x": 1, "y": 1})], may_miscount=True)
    regions = RegionCounts.of(corpus, "xy", [few, many], may_miscount=True)
    with pytest.raises(InputError, match=r"region 0 has 3 tokens and counts from 1 to 1 .*miscounts=Miscounts"):
        CountLikelihood(regions)
    with pytest.raises(InputError, match=r"region 1 has 3 tokens .* what may be miscounted included.*both rates"):
        CountLikelihood(regions, miscounts=Miscounts(missed=0.1))
    with pytest.raises(InputError, match="after a call"):
        CountLikelihood(regions, miscounts=Miscounts(0.1, 0.1)).expected_miscounts()
    likelihood = CountLikelihood(regions, miscounts=Miscounts(0.1, 0.1))
    likelihood(np.log(np.full((2, 2), 0.5)))
    total = likelihood.expected_miscounts()[""]
    assert total.missed - total.extra == pytest.approx(2 - 1)


def test_mistakes_are_named() -> None:
    with pytest.raises(ProbabilityError, match=r"missed is 0\.7; allowed: 0 to 0\.5"):
        Miscounts(missed=0.7)
    with pytest.raises(ProbabilityError, match=r"extra is 'much'; allowed: 0 to 0\.5"):
        Miscounts(extra="much")  # type: ignore[arg-type]
    regions, _ = _example(2)
    with pytest.raises(InputError, match=r"miscounts has 0\.1 for ''; allowed: Miscounts, or a mapping"):
        miscount_rates(regions, {"": 0.1})  # type: ignore[dict-item]
    with pytest.raises(InputError, match=r"miscounts has 0\.1 for 'zoe'"):
        miscount_rates(regions, {"zoe": 0.1})  # type: ignore[dict-item]
    with pytest.raises(InputError, match=r"miscounts is 0\.1; allowed: Miscounts, a mapping"):
        miscount_rates(regions, 0.1)  # type: ignore[arg-type]
    with pytest.raises(ProbabilityError, match="share is 2; allowed: 0 to 1"):
        off_by_one(regions, 2, np.random.default_rng(0))


def test_simulated_counts_follow_the_channel() -> None:
    """Of 3 x in 4 tokens, and no z: P(R) by convolution; χ² with a false-alarm rate of 1e-6 each, for one seed."""
    corpus = Corpus.of([list("abcd")])
    one = RegionCounts.of(corpus, "xyz", [Region(0, 0, 4, {"x": 3, "y": 1})])
    many, rates = one.take(np.zeros(20_000, dtype=int)), Miscounts(0.2, 0.1)
    found = simulate(many, rates, np.random.default_rng(0))
    assert (np.diff(found.entry_region) >= 0).all()
    assert found.lengths.tolist() == many.lengths.tolist()
    for tag, n in ((0, 3), (1, 1), (2, 0)):
        counts = np.zeros(len(many), dtype=int)
        chosen = found.tag == tag
        counts[found.entry_region[chosen]] = found.low[chosen]
        seen = [comb(n, k) * 0.8**k * 0.2 ** (n - k) for k in range(n + 1)]
        expected = np.convolve(seen, [0.9, 0.1]) * len(many)
        statistic = ((np.bincount(counts, minlength=n + 2) - expected) ** 2 / expected).sum()
        assert stats.chi2.sf(statistic, n + 1) > 1e-6
    np.testing.assert_array_equal(simulate(many, {"ann": rates}, np.random.default_rng(0)).low, many.low)


def test_off_by_one_changes_positive_counts_only() -> None:
    regions, _ = _example()
    rng = np.random.default_rng(0)
    np.testing.assert_array_equal(off_by_one(regions, 0.0, rng).low, regions.low)
    step = off_by_one(regions, 1.0, rng).low - regions.low
    assert set(step[regions.low > 0].tolist()) == {-1, 1}
    assert not step[regions.low == 0].any()


def test_climbing_the_likelihood_of_the_channel_finds_its_rates() -> None:
    """EM on the rates alone, p known, never descends, and ends near them: 5 standard errors, for one seed."""
    regions, log_p = _example(sentences=1500, seed=2)
    rates, current, values = Miscounts(0.1, 0.05), Miscounts(0.3, 0.3), []
    sharp = np.full(log_p.shape, -8.0)
    sharp[np.arange(len(sharp)), [int(word[-1]) for word in regions.corpus.words]] = 0.0  # words tell their tag
    reported = simulate(regions, rates, np.random.default_rng(5))
    for _ in range(12):
        likelihood = CountLikelihood(reported, miscounts=current)
        values.append(likelihood(sharp)[0])
        total = likelihood.expected_miscounts()[""]
        current = total.rates()
    assert (np.diff(values) >= -1e-6).all()
    assert abs(current.missed - 0.1) < 5 * np.sqrt(0.1 * 0.9 / total.could_be_missed)
    assert abs(current.extra - 0.05) < 5 * np.sqrt(0.05 * 0.95 / total.places)


# -- moments -----------------------------------------------------------------------------------------------------------


def test_corrected_counts_are_unbiased_for_the_true_ones() -> None:
    """E[(R − q) / (1 − m)] = N for every tag, also those without an entry, exactly: the mean over all outcomes."""
    corpus = Corpus.of([["a", "b"]])
    rates = Miscounts(0.3, 0.2)
    mean = np.zeros(3)
    for x, y, z in itertools.product(range(4), range(2), range(2)):  # 2 x, no y, no z
        chance = np.convolve([0.09, 0.42, 0.49], [0.8, 0.2])[x] * [0.8, 0.2][y] * [0.8, 0.2][z]
        counts = {name: n for name, n in (("x", x), ("y", y), ("z", z)) if n}
        regions = RegionCounts.of(corpus, "xyz", [Region(0, 0, 2, counts)], may_miscount=True)
        mean += chance * CountEquations.of(regions, dtype=float, miscounts=rates).response[0]
    np.testing.assert_allclose(mean, [2, 0, 0], atol=1e-12)


def test_counts_that_cannot_be_are_scaled_to_the_length() -> None:
    corpus = Corpus.of([["a", "b", "c", "d"]])
    told = [Region(0, 0, 4, {"x": 1, "y": 1}), Region(0, 0, 4, {"x": 4, "y": 1}, False), Region(0, 0, 4, {})]
    regions = RegionCounts.of(corpus, "xyz", told, may_miscount=True)
    equations = CountEquations.of(regions, dtype=float)
    assert equations.weights is not None
    np.testing.assert_allclose(equations.response[:2], np.array([[2, 2, 0], [3.2, 0.8, 0]]))
    np.testing.assert_allclose(equations.weights, [[1, 1, 1], [1, 1, 0], [0, 0, 0]])


def test_moments_without_the_channel_are_biased_and_with_it_are_not() -> None:
    """Each word has a tag of its own; much of what is there is missed. Standard errors are 0.02 at most: 5 of them."""
    regions, _ = _example(sentences=4000, length=4)
    truth = np.zeros((len(regions.corpus.words), 4))
    truth[np.arange(len(truth)), [int(word[-1]) for word in regions.corpus.words]] = 1.0
    asked = regions.take(~regions.closed)
    reported = simulate(asked, Miscounts(0.4, 0.1), np.random.default_rng(3))
    design = sparse.csr_array(np.eye(len(truth)))
    plain, corrected = (
        CountEquations.of(reported, dtype=float, miscounts=rates) for rates in (None, Miscounts(0.4, 0.1))
    )
    errors = []
    for equations in (plain, corrected):
        solution = np.linalg.lstsq(equations.matrix.toarray(), equations.response[:, :2], rcond=None)[0]
        errors.append(np.abs(solution - truth[equations.types, :2]).max())
    assert errors[0] > 0.3
    assert errors[1] < 0.1
    found = moment_counts(reported, design, method="ridge", miscounts=Miscounts(0.4, 0.1))
    np.testing.assert_allclose(found.counts.sum(axis=1), asked.token_counts, rtol=1e-6)


def test_rates_are_quotients() -> None:
    assert MiscountTotals(1.0, 0.0, 3.0, 4.0).rates() == Miscounts(0.0, 0.5)


def test_annotators_of_rates_must_be_there() -> None:
    corpus = Corpus.of([["a", "b", "a"]])
    few, many = Region(0, 0, 3, {"x": 1}, annotator="ann"), Region(0, 0, 3, {"x": 2, "y": 1}, annotator="bob")
    regions = RegionCounts.of(corpus, "xy", [few, many], may_miscount=True)
    plain = RegionCounts.of(corpus, "xy", [Region(0, 0, 3, {"x": 2, "y": 1})])
    rates = Miscounts(0.1, 0.1)
    for fine in (rates, {"ann": rates}, {"ann": rates, "": rates}, None):
        require_annotators(fine, regions)
    require_annotators({"ann": rates}, plain, regions)
    with pytest.raises(
        InputError, match=r"rates for 'anne', who counted no region; there are 'ann', 'bob'.*mean 'ann'"
    ):
        require_annotators({"anne": rates}, regions)
    with pytest.raises(InputError, match="'zoe', who counted no region; no region has one"):
        CountTagger(miscounts={"zoe": rates}).fit(plain)
    CountTagger(miscounts={"ann": rates}).fit(plain, held_out=regions.take([0]))


@pytest.mark.parametrize("method", ["node", "chain"])
def test_counts_that_cannot_be_of_someone_without_rates(method: TaggerMethod) -> None:
    corpus = Corpus.of([["a", "b", "a"]] * 2, ids=["s", "t"])
    few = [Region(s, 0, 3, {"x": 1}, annotator=who) for s, who in ((0, "ann"), (1, "bob"))]
    regions = RegionCounts.of(corpus, "xy", few, may_miscount=True)
    rates = Miscounts(0.1, 0.1)
    with pytest.raises(
        InputError, match=r"region 0 to 3 of sentence 't' has 3 tokens .*no rates for 'bob'.*Add 'bob': Mis"
    ):
        CountTagger(method, miscounts={"ann": rates}).fit(regions)
    both = CountTagger(method, miscounts={"ann": rates, "bob": rates}).fit(regions)
    assert both.miscounts_used == {"ann": rates, "bob": rates}
    with pytest.raises(InputError, match="no rates for 'bob'"):
        CountTagger(method, miscounts={"ann": rates}).fit(regions.take([0]), held_out=regions)
    unknown = RegionCounts.of(corpus, "xy", [replace(few[0], annotator=None), few[1]], may_miscount=True)
    with pytest.raises(InputError, match="no rates for regions without an annotator"):
        CountTagger(method, miscounts={"bob": rates}).fit(unknown)
    weightless = unknown.with_weight([0, 1])
    assert CountTagger(method, miscounts={"bob": rates}).fit(weightless).training is not None
