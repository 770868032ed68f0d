"""Rates of miscounts from counts of the same words: sums by enumeration, and rates that are found again."""

import itertools
from dataclasses import replace
from math import comb

import numpy as np
import pytest
from acceptance.chain import off_by_one
from hypothesis import given, settings
from hypothesis import strategies as st

from askance._arrays import FloatArray
from askance.errors import ConvergenceWarning, InputError
from askance.text.corpus.corpus import Corpus
from askance.text.corpus.region_sampling import sample_regions
from askance.text.corpus.regions import Region, RegionCounts
from askance.text.counts.miscount_estimate import (
    _STARTS,
    _batches,
    _highest,
    _informative,
    _Prior,
    _Sums,
    estimate_miscounts,
)
from askance.text.counts.miscounts import Miscounts, simulate

NAMES = ("ann", "bob")
RATES = {"ann": Miscounts(0.05, 0.02), "bob": Miscounts(0.15, 0.08), "": Miscounts(0.1, 0.04)}


def _truth(rng: np.random.Generator, sentences: int = 800) -> Corpus:
    """Sentences of up to 8 tokens, each tag depending on the one before: not the prior of the estimator."""
    following = rng.dirichlet(np.full(6, 0.3), size=6)
    rows = []
    for _ in range(sentences):
        row = [int(rng.integers(6))]
        while len(row) < rng.integers(2, 9):
            row.append(int(rng.choice(6, p=following[row[-1]])))
        rows.append([f"t{k}" for k in row])
    return Corpus.of(rows, tags=rows)


def _twice(regions: RegionCounts) -> RegionCounts:
    """Every region counted by ann, and again by bob."""
    both = regions.take(np.tile(np.arange(len(regions)), 2))
    return replace(both, annotator=np.repeat(np.arange(2, dtype=np.int32), len(regions)), annotators=NAMES)


def _chance(told: int, true: int, missed: float, extra: float) -> tuple[float, float]:
    """P(R | N), and its part with an extra."""

    def seen(n: int) -> float:
        return comb(true, n) * (1 - missed) ** n * missed ** (true - n) if 0 <= n <= true else 0.0

    return (1 - extra) * seen(told) + extra * seen(told - 1), extra * seen(told - 1)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_expectations_are_sums_over_all_true_counts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    told, words = [], []
    for number in range(4):
        length = int(rng.integers(2, 5))
        words.append(["w"] * length)
        for who in (*NAMES, None)[: int(rng.integers(2, 4))]:
            closed = bool(rng.integers(2))
            counts = {tag: int(rng.integers(0, 3)) for tag in "AB" if closed or tag == "A" or rng.integers(2)}
            told.append(Region(number, 0, length, counts, closed, annotator=who))
    used = _informative(RegionCounts.of(Corpus.of(words), "ABC", told, may_miscount=True))
    names = (*used.annotators, "")
    rates = rng.uniform(0.05, 0.45, size=(len(names), 2))
    batches = list(_batches(used))
    prior = _Prior(batches)
    sums = _Sums(len(names), prior)
    for batch in batches:
        sums.add(batch, rates, prior)
    value, totals = 0.0, np.zeros((4, len(names)))
    for batch in batches:
        for row, who in zip(batch.told, batch.who, strict=True):
            total, found = _enumerated(batch.length, row, who, rates, prior.h)
            value += np.log(total)
            totals += found / total
    assert sums.log_likelihood == pytest.approx(value, rel=1e-10)
    expected = np.stack([totals[0], totals[2]], axis=1) / np.maximum(totals[1::2].T, 1e-300)
    np.testing.assert_allclose(sums.rates(), expected, rtol=1e-9, atol=1e-12)


def _enumerated(
    length: int, told: FloatArray, who: FloatArray, rates: FloatArray, h: list[FloatArray]
) -> tuple[float, FloatArray]:
    """P(reports), and by annotator what was missed, could be, was extra and how many counts there are, times it."""
    total, found = 0.0, np.zeros((4, len(rates)))
    for true in itertools.product(range(length + 1), repeat=len(h)):
        if sum(true) != length or any(n >= len(each) for n, each in zip(true, h, strict=True)):
            continue
        weight = float(np.prod([each[n] for n, each in zip(true, h, strict=True)]))
        parts = []
        for report, by in zip(told, who, strict=True):
            for n, r in zip(true, report, strict=True):
                if r >= 0:
                    whole, part = _chance(int(r), n, *rates[int(by)])
                    weight *= whole
                    parts.append((int(by), n, int(r), part / whole if whole else 0.0))
        total += weight
        for by, n, r, extra in parts:
            found[:, by] += weight * np.array([n - r + extra, n, extra, 1.0])
    return total, found


def test_no_step_descends() -> None:
    rng = np.random.default_rng(0)
    reported = simulate(_twice(sample_regions(_truth(rng, 100), window=5, tags=2, rng=rng)), RATES, rng)
    used = _informative(reported)
    batches = list(_batches(used))
    prior, rates, values = _Prior(batches), np.full((3, 2), 0.2), []
    for _ in range(30):
        sums = _Sums(3, prior)
        for batch in batches:
            sums.add(batch, rates, prior)
        # P(N) is divided by Z_L, which is the coefficient of the product of all h.
        product = np.ones(1)
        for h in prior.h:
            product = np.convolve(product, h)
        values.append(sums.log_likelihood - prior.stretches[2:] @ np.log(product[2 : prior.longest + 1]))
        rates = np.clip(sums.rates(), 1e-12, 0.5)
        prior.fit(sums.counts)
    assert (np.diff(values) > -1e-8).all()


# Standard deviations over a dozen seeds; the tests allow 5 of them, which by the normal distribution a new seed would
# exceed once in 10⁶ times.


@pytest.mark.parametrize(
    ("asked", "deviations"),
    [("all", ((0.003, 0.002), (0.005, 0.004))), (2, ((0.014, 0.007), (0.018, 0.010)))],
)
def test_two_annotators_are_told_apart(asked: int, deviations: tuple[tuple[float, float], ...]) -> None:
    rng = np.random.default_rng(1)
    truth = sample_regions(_truth(rng), window=6, tags=asked, rng=rng)
    found = estimate_miscounts(simulate(_twice(truth), RATES, rng), max_iterations=2000)
    assert list(found) == list(NAMES)
    for name, (missed, extra) in zip(NAMES, deviations, strict=True):
        assert abs(found[name].missed - RATES[name].missed) < 5 * missed
        assert abs(found[name].extra - RATES[name].extra) < 5 * extra
    assert found["ann"].missed < found["bob"].missed
    assert found["ann"].extra < found["bob"].extra


def test_sums_tell_without_a_second_count() -> None:
    rng = np.random.default_rng(2)
    truth = sample_regions(_truth(rng), window=6, tags="all", rng=rng)
    found = estimate_miscounts(simulate(truth, RATES, rng))
    assert list(found) == [""]
    assert abs(found[""].missed - 0.1) < 5 * 0.005
    assert abs(found[""].extra - 0.04) < 5 * 0.004


def test_who_never_errs_has_rates_of_zero() -> None:
    rng = np.random.default_rng(3)
    truth = sample_regions(_truth(rng, 200), window=6, tags="all", rng=rng)
    found = estimate_miscounts(truth)[""]
    assert found.missed < 1e-6
    assert found.extra < 1e-6
    wrong = estimate_miscounts(off_by_one(truth, 0.2, rng))[""]
    assert wrong.missed > 0.02
    assert wrong.extra > 0.02


def test_what_tells_nothing_is_not_used() -> None:
    corpus = Corpus.of([["a", "b", "c"]] * 2)
    alone = [Region(0, 0, 2, {"A": 1}, False, annotator="ann"), Region(0, 0, 3, {"A": 1}, False, annotator="ann")]
    label = Region(0, 0, 1, {"A": 1}, annotator="bob")
    other = Region(0, 0, 2, {"B": 1}, False, annotator="bob")
    ranged = Region(0, 0, 2, {"A": (0, 1)}, False, annotator="bob")
    silent = Region(0, 0, 2, {"A": 2}, False, weight=0, annotator="bob")
    regions = RegionCounts.of(corpus, "ABC", [*alone, label, other, ranged, silent])
    with pytest.raises(InputError, match=r"none of the 5 regions tells .* counted twice, by different people"):
        estimate_miscounts(regions)
    second = Region(0, 0, 2, {"A": 1}, False, annotator="cat")
    found = estimate_miscounts(RegionCounts.of(corpus, "ABC", [*alone, label, other, second]))
    assert list(found) == ["ann", "cat"]


def test_too_few_steps_are_named() -> None:
    rng = np.random.default_rng(4)
    truth = sample_regions(_truth(rng, 50), window=6, tags="all", rng=rng)
    with pytest.warns(ConvergenceWarning, match="after 2 steps"):
        estimate_miscounts(simulate(truth, RATES, rng), max_iterations=2)


def test_errors_reach_a_second_maximum_that_is_not_rejected() -> None:
    """Few counts leave open whether one person adds or the other misses: curvature knows one of two answers."""
    rng = np.random.default_rng(7)
    truth = _twice(sample_regions(_truth(rng, 60), window=5, tags=3, rng=rng))
    said = simulate(truth, {"ann": Miscounts(0.03, 0.0), "bob": Miscounts(0.15, 0.03)}, rng)
    batches = list(_batches(_informative(said)))
    one, other = (_highest(batches, np.tile(start, (2, 1)), np.arange(2), 1000, 1e-8) for start in _STARTS)
    apart = np.abs(one.rates - other.rates)
    assert apart.max() > 0.04
    assert abs(one.log_likelihood - other.log_likelihood) < 2
    found = estimate_miscounts(said)
    errors = np.array([[found[name].missed_error, found[name].extra_error] for name in NAMES])
    wide = apart > 0.01
    assert wide.any()
    assert (1.96 * errors[wide] > apart[wide] - 1e-3).all()
