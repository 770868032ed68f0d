"""Standard errors of rates of miscounts: curvature by hand, by differences of the likelihood, and against draws."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest

from askance._arrays import FloatArray
from askance.errors import AskanceWarning
from askance.text.corpus.corpus import Corpus
from askance.text.corpus.region_sampling import sample_regions
from askance.text.corpus.regions import Region, RegionCounts
from askance.text.counts.miscount_errors import EstimatedMiscounts, standard_errors, warn_of_bound, warn_of_wide
from askance.text.counts.miscount_estimate import (
    _batches,
    _expected,
    _informative,
    _Prior,
    _profile_gradient,
    _Reports,
    estimate_above_zero,
    estimate_miscounts,
)
from askance.text.counts.miscounts import Miscounts, simulate
from tests.test_miscount_estimate import RATES, _truth, _twice


def test_errors_of_a_quadratic_are_exact() -> None:
    precision = np.array([[900.0, 200.0, 0.0], [200.0, 400.0, 50.0], [0.0, 50.0, 2500.0]])
    best = np.array([[0.1, 0.3, 0.2]])

    def gradient(rates: FloatArray) -> FloatArray:
        return np.asarray((best - rates) @ precision)

    expected = np.sqrt(np.diag(np.linalg.inv(precision)))
    np.testing.assert_allclose(standard_errors(gradient, best)[0], expected, rtol=1e-9)


@pytest.mark.parametrize("slope", [0.0, -30.0, -1e5])
def test_a_rate_at_its_bound_is_not_taken_for_known(slope: float) -> None:
    """Where ℓ hardly falls away from the bound, errors are those of all rates; where it falls at once, without it."""
    precision = np.array([[900.0, 500.0], [500.0, 400.0]])
    rates = np.array([0.1, 0.0])

    def gradient(moved: FloatArray) -> FloatArray:
        return np.asarray((rates - moved) @ precision + [0.0, slope])

    expected = np.sqrt(np.linalg.inv(precision + np.diag([0.0, slope**2]))[0, 0])
    found = standard_errors(gradient, rates)
    assert found[0] == pytest.approx(expected, rel=1e-6)
    assert np.isnan(found[1])
    alone = 1 / 30
    assert (found[0] > 1.5 * alone) == (slope == 0)
    assert found[0] == pytest.approx(alone, rel=1e-6) or slope > -1e5


def test_bounds_have_no_error_and_flat_ones_an_infinite_one() -> None:
    rates = np.array([1e-12, 0.2, 0.5])
    found = standard_errors(lambda moved: np.zeros_like(moved), rates)
    np.testing.assert_array_equal(found, [np.nan, np.inf, np.nan])
    assert standard_errors(lambda moved: moved, np.zeros(0)).shape == (0,)


def _profile(batches: list[_Reports], rates: FloatArray, prior: _Prior) -> float:
    """log P of all reports at the best h for these rates."""
    fitted = copy.copy(prior)
    fitted.h = list(prior.h)
    for _ in range(60):
        sums = _expected(batches, rates, fitted)
        fitted.fit(sums.counts)
    product = np.ones(1)
    for h in fitted.h:
        product = np.convolve(product, h)
    lengths = np.flatnonzero(fitted.stretches)
    value = _expected(batches, rates, fitted).log_likelihood
    return float(value - fitted.stretches[lengths] @ np.log(product[lengths]))


def test_the_gradient_is_that_of_the_profile_likelihood() -> None:
    rng = np.random.default_rng(5)
    reported = simulate(_twice(sample_regions(_truth(rng, 60), window=3, tags="all", rng=rng)), RATES, rng)
    used = _informative(reported)
    batches = list(_batches(used))
    prior, rates = _Prior(batches), np.array([[0.1, 0.05], [0.2, 0.1], [0.3, 0.3]])
    for _ in range(30):  # h near its best, as where the gradient is used
        prior.fit(_expected(batches, rates, prior).counts)
    found = _profile_gradient(batches, rates, prior)
    for place in range(4):  # nobody is without a name: the last two rates have no reports
        step = np.zeros_like(rates)
        step.flat[place] = 1e-4
        by_difference = (_profile(batches, rates + step, prior) - _profile(batches, rates - step, prior)) / 2e-4
        assert found.flat[place] == pytest.approx(by_difference, rel=1e-3, abs=1e-3)
    np.testing.assert_array_equal(found[2], 0)


def test_errors_are_those_of_repeated_draws() -> None:
    """Squares of 12 standardised errors sum to χ² of 12 degrees: outside 0.8 to 48 once in 10⁵ times."""
    total = 0.0
    for seed in range(12):
        rng = np.random.default_rng([7, seed])
        truth = sample_regions(_truth(rng, 80), window=4, tags="all", rng=rng)
        found = estimate_miscounts(simulate(truth, Miscounts(0.15, 0.05), rng))[""]
        total += ((found.missed - 0.15) / found.missed_error) ** 2
    assert 0.8 < total < 48


def test_rates_that_are_hardly_known_are_said_to_be() -> None:
    rng = np.random.default_rng(1)
    few = sample_regions(_truth(rng, 40), window=4, tags=2, rng=rng)
    reported = simulate(_twice(few), RATES, rng)
    with pytest.warns(AskanceWarning, match=r"hardly known \(in points of per cent: .*bob ± \d+\); let more stretches"):
        found = estimate_miscounts(reported, max_iterations=2000)
    assert max(found["bob"].missed_error, found["bob"].extra_error) > 0.05


def test_rates_compare_as_rates_and_come_by_name() -> None:
    rates = EstimatedMiscounts(0.1, 0.02, 0.01, 0.005)
    assert rates == Miscounts(0.1, 0.02) == rates
    assert rates != Miscounts(0.1, 0.03)
    assert len({rates, Miscounts(0.1, 0.02)}) == 1
    rng = np.random.default_rng(2)
    reported = simulate(_twice(sample_regions(_truth(rng, 200), window=5, tags="all", rng=rng)), RATES, rng)
    backwards = replace(reported, annotators=("bob", "ann"))
    found = estimate_above_zero(backwards)
    assert list(found) == ["ann", "bob"]
    assert all(0 < each.missed_error < 0.05 for each in found.values())


@pytest.mark.parametrize("errors", [(np.nan, 0.2), (0.2, np.nan)])
def test_a_rate_at_its_bound_does_not_hide_that_the_other_is_hardly_known(errors: tuple[float, float]) -> None:
    with pytest.warns(AskanceWarning, match="ann ± 39"):
        warn_of_wide({"ann": EstimatedMiscounts(0.0, 0.1, *errors)})


def test_rates_that_no_miscounts_explain_are_said_to_be() -> None:
    """Words with none of the tags look as if people missed them."""
    rng = np.random.default_rng(3)
    words = [[str(word) for word in rng.choice(list("NVxyz"), 5)] for _ in range(200)]
    told = [
        Region(s, 0, 5, {tag: row.count(tag) for tag in "NV"}, annotator="ann" if s % 2 else None)
        for s, row in enumerate(words)
    ]
    reported = RegionCounts.of(Corpus.of(words), "NV", told, may_miscount=True)
    with pytest.warns(AskanceWarning, match=r"half of the words or more would have been missed \(regions .*, ann\)"):
        found = estimate_miscounts(reported)
    assert found["ann"].missed == 0.5


def test_extra_counts_that_no_miscounts_explain_are_said_to_be() -> None:
    with pytest.warns(AskanceWarning, match=r"half of the counts or more would be one too high \(ann\)"):
        warn_of_bound({"ann": EstimatedMiscounts(0.1, 0.5), "ben": EstimatedMiscounts(0.1, 0.2)})
