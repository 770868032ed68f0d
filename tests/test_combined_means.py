"""Means of one population through several channels, combined by their precision."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from askance import CoordinateRelease, PerValue, SubsetSelection, Tally, estimate_mean
from askance.channels import StatisticsChannel
from askance.errors import EmptyDataError, IncompatibleEvidenceError, InputError
from askance.estimation import MeanStatistics, combine_means

TRUTH = np.array([0.7, 0.2, 0.1])


def means_of(channel: StatisticsChannel, n: int, seed: int) -> MeanStatistics:
    rng = np.random.default_rng(seed)
    people = np.eye(3, dtype=np.uint8)[rng.choice(3, n, p=TRUTH)]
    return estimate_mean(Tally(channel).add(channel.simulate(people, rng)))


SEVERAL = [means_of(PerValue(3, 1, l1_norm=1), 4_000, 1), means_of(CoordinateRelease(3, 2), 9_000, 2)]


def test_weights_are_precisions() -> None:
    """By hand, statistic by statistic."""
    both = combine_means(SEVERAL)
    for j in range(3):
        (a, s), (b, t) = ((each.mean[j], each.standard_errors[j]) for each in SEVERAL)
        assert both.mean[j] == pytest.approx((a / s**2 + b / t**2) / (1 / s**2 + 1 / t**2), rel=1e-12)
        assert both.standard_errors[j] == pytest.approx((1 / s**2 + 1 / t**2) ** -0.5, rel=1e-12)
    assert (both.n_observations, both.privacy_level) == (13_000, 2.0)
    told = json.loads(json.dumps(both.to_json()))
    assert [part["kind"] for part in told["channel"]["parts"]] == ["per-value", "coordinate-release"]
    assert "combined   reports 13,000   privacy level 2" in both.summary()


@settings(max_examples=30, deadline=None)
@given(st.permutations(range(4)), st.integers(1, 3))
def test_order_and_nesting_do_not_matter(order: list[int], cut: int) -> None:
    several = [means_of(PerValue(3, level, l1_norm=1), 500, level) for level in (1, 2, 3, 4)]
    flat = combine_means(several)
    shuffled = [several[i] for i in order]
    nested = combine_means([combine_means(shuffled[:cut]), *shuffled[cut:]])
    np.testing.assert_allclose(nested.mean, flat.mean, rtol=1e-12)
    np.testing.assert_allclose(nested.standard_errors, flat.standard_errors, rtol=1e-12)
    alone = combine_means(several[:1])
    np.testing.assert_allclose(alone.mean, several[0].mean, rtol=1e-14)
    np.testing.assert_allclose(alone.standard_errors, several[0].standard_errors, rtol=1e-14)


def test_intervals_cover() -> None:
    """120 surveys of two channels, 95 % intervals; false alarm 1e-6."""
    first, second = PerValue(3, 1, l1_norm=1), PerValue(3, 2, l1_norm=1)
    hits = 0
    for seed in range(120):
        both = combine_means([means_of(first, 1_000, 2 * seed), means_of(second, 400, 2 * seed + 1)])
        lower, upper = both.confidence_interval()
        hits += bool(lower[0] < TRUTH[0] < upper[0])
    assert stats.binom.cdf(hits, 120, 0.95) > 1e-6


def test_what_does_not_belong_together_is_refused() -> None:
    with pytest.raises(EmptyDataError, match="at least one"):
        combine_means([])
    with pytest.raises(InputError, match=r"means\[1\] is 3"):
        combine_means([SEVERAL[0], 3])  # type: ignore[list-item]
    labels = SubsetSelection(["a", "b", "c"], 1)
    others = estimate_mean(Tally(labels).add(labels.simulate(["a", "b"], np.random.default_rng(1))))
    with pytest.raises(IncompatibleEvidenceError, match=r"means\[1\] about 'a', 'b', 'c'"):
        combine_means([SEVERAL[0], others])
