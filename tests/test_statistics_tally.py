"""Sums of reports on statistics: a commutative monoid, to the bit, with means and standard errors."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from askance import PerValue, RandomizedResponse, Tally
from askance.channels import Reports, StatisticsChannel
from askance.errors import EmptyDataError, IncompatibleEvidenceError, InputError, ShapeError
from askance.evidence import Seen
from tests.statistics_families import CHANNELS, truths_for, with_parameters

every_channel = pytest.mark.parametrize("channel", CHANNELS.values(), ids=CHANNELS.keys())
CHANNEL = PerValue(3, 2, l1_norm=1)


@cache
def some_reports(channel: StatisticsChannel) -> Reports:
    rng = np.random.default_rng(23)
    return channel.simulate(truths_for(channel, 120, rng), rng)


def tallies() -> st.SearchStrategy[tuple[Tally[StatisticsChannel], Tally[StatisticsChannel], Tally[StatisticsChannel]]]:
    """Three tallies of some reports of one channel, each of any stretch of them, also of none."""
    places = st.integers(0, 120)

    def of(name: str, cuts: list[int]) -> Any:
        reports = some_reports(CHANNELS[name])
        parts = [reports[start:end] for start, end in zip(cuts[::2], cuts[1::2], strict=True)]
        return tuple(Tally(CHANNELS[name]).add(part) for part in parts)

    return st.builds(of, st.sampled_from(sorted(CHANNELS)), st.lists(places, min_size=6, max_size=6))


def test_it_speaks_the_protocol() -> None:
    assert isinstance(Tally(CHANNEL), Seen)


@settings(deadline=None)
@given(tallies())
def test_merging_is_a_commutative_monoid(
    given_tallies: tuple[Tally[StatisticsChannel], Tally[StatisticsChannel], Tally[StatisticsChannel]],
) -> None:
    x, y, z = given_tallies
    empty = Tally(x.channel)
    assert x + empty == empty + x == x
    assert x + y == y + x
    assert (x + y) + z == x + (y + z) == sum([x, y, z])
    assert (x + y).sums.tobytes() == (y + x).sums.tobytes()
    assert hash(x + y) == hash(y + x)


@settings(deadline=None)
@given(st.sampled_from(sorted(CHANNELS)), st.lists(st.integers(0, 120), max_size=5), st.randoms(use_true_random=False))
def test_any_split_in_any_order_gives_the_same_bits(name: str, cuts: list[int], order: Any) -> None:
    channel = CHANNELS[name]
    reports = some_reports(channel)
    ends = [0, *sorted(cuts), len(reports)]
    parts = [reports[ends[i] : ends[i + 1]] for i in range(len(ends) - 1)]
    order.shuffle(parts)
    one_by_one, merged = Tally(channel), Tally(channel)
    for part in parts:
        one_by_one = one_by_one.add(part)
        merged = Tally(channel).add(part).merge(merged)
    whole = Tally(channel).add(reports)
    assert one_by_one == merged == whole
    assert one_by_one.sums.tobytes() == whole.sums.tobytes()
    assert whole.n_observations == 120


@every_channel
def test_means_and_errors_are_those_of_the_channel(channel: StatisticsChannel) -> None:
    reports = some_reports(channel)
    tally = Tally(channel).add(reports)
    for averaging in ("within", "printed"):
        mean = channel.mean(tally.sums, 120, averaging)
        variances = channel.variances(tally.sums, 120, averaging)
        assert np.array_equal(tally.mean(averaging), mean)
        np.testing.assert_allclose(tally.standard_errors(averaging) ** 2, variances / 120, rtol=1e-12)


@every_channel
def test_intervals_cover(channel: StatisticsChannel) -> None:
    """50,000 reports: every mean within its standard error times the quantile of 1e-9; about 150 means in all."""
    rng = np.random.default_rng(5)
    truths = truths_for(channel, 50_000, rng)
    tally = Tally(channel).add(channel.simulate(truths, rng))
    # The truth is that of these respondents, so that errors are somewhat smaller than for a sample.
    error = np.abs(tally.mean() - channel.statistics(truths).mean(axis=0))
    assert (error < stats.norm.isf(1e-9 / 2) * tally.standard_errors()).all()


def test_tallies_are_values() -> None:
    tally = Tally(CHANNEL, [1, 2, 3], 4)
    more = tally.add(CHANNEL.randomize(np.eye(3)))
    assert tally.n_observations == 4
    assert more.n_observations == 7
    assert tally.sums.tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="read-only"):
        tally.sums[0] = 7
    assert tally == Tally(PerValue(3, 2, l1_norm=1), np.array([1, 2, 3], dtype=np.uint8), 4)
    assert tally != Tally(CHANNEL, [1, 2, 3], 5)
    assert tally != Tally(CHANNEL, [1, 2, 4], 4)
    assert tally != "tally"
    assert "4 reports" in repr(tally)


def test_given_sums_are_copied() -> None:
    sums = np.array([1, 2, 3])
    tally = Tally(CHANNEL, sums, 4)
    sums[0] = 9
    assert tally.sums[0] == 1


@every_channel
def test_different_channels_do_not_merge(channel: StatisticsChannel) -> None:
    other = with_parameters(channel, privacy_level="3/7")
    tally = Tally(channel).add(some_reports(channel))
    with pytest.raises(IncompatibleEvidenceError, match=r"another channel.*Keep reports of different channels apart"):
        tally.merge(Tally(other))
    with pytest.raises(IncompatibleEvidenceError, match="another channel"):
        Tally(other).add(some_reports(channel))


@every_channel
def test_no_reports_have_no_mean(channel: StatisticsChannel) -> None:
    for use in (Tally(channel).mean, Tally(channel).standard_errors):
        with pytest.raises(EmptyDataError, match=r"no reports.*Add reports"):
            use()


def test_what_is_no_tally_is_refused() -> None:
    tally = Tally(CHANNEL)
    wrong: Any = "per-value"
    with pytest.raises(InputError, match=r"channel is 'per-value'; allowed: a channel"):
        Tally(wrong)
    with pytest.raises(ShapeError, match=r"shape \(2,\).*\(3,\)"):
        Tally(CHANNEL, [1, 2], 3)
    with pytest.raises(ShapeError, match=r"float64.*integers"):
        Tally(CHANNEL, [1.0, 2.0, 3.0], 3)
    with pytest.raises(InputError, match=r"n_observations is -1.*at least 0"):
        Tally(CHANNEL, [1, 2, 3], -1)
    with pytest.raises(InputError, match=r"other is 3; allowed: a Tally"):
        tally.merge(3)  # type: ignore[arg-type]
    with pytest.raises(IncompatibleEvidenceError, match="differ in kind"):
        tally.merge(Tally(RandomizedResponse("1/2", outputs=3)))
    with pytest.raises(InputError, match=r"reports is .*allowed: Reports"):
        tally.add([[1, 0, 0]])
    with pytest.raises(TypeError):
        tally + 1  # type: ignore[operator]
