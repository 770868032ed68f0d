"""Reports of every channel on statistics: sequences whose sums do not depend on order; and all that is refused."""

from __future__ import annotations

import random
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askance._arrays import AnyArray
from askance.channels import Reports, StatisticsChannel
from askance.channels.statistics import HasReportLikelihood
from askance.errors import IncompatibleEvidenceError, InputError
from tests.statistics_families import CHANNELS, truths_for, with_parameters

every_channel = pytest.mark.parametrize("channel", CHANNELS.values(), ids=CHANNELS.keys())


@cache
def some_reports(channel: StatisticsChannel, n: int = 300) -> Reports:
    rng = np.random.default_rng(17)
    return channel.simulate(truths_for(channel, n, rng), rng)


# -- reports and sums --------------------------------------------------------------------------------------------------


@every_channel
def test_reports_are_sequences(channel: StatisticsChannel) -> None:
    reports = some_reports(channel)
    assert len(reports) == 300
    assert len(reports[10:25]) == 15
    assert reports[10:25] == reports[:25][10:]
    assert reports[::-1][::-1] == reports
    assert Reports.join([reports[:7], reports[7:7], reports[7:]]) == reports
    assert reports[:7] != reports
    assert reports != reports.columns
    assert "300" in repr(reports)


@every_channel
def test_sums_are_integers_and_nothing_adds_nothing(channel: StatisticsChannel) -> None:
    reports = some_reports(channel)
    sums = channel.sums(reports)
    assert sums.dtype == np.int64
    assert sums.shape == (channel.sums_size,)
    assert not channel.sums(reports[:0]).any()
    empty = channel.simulate(truths_for(channel, 0, np.random.default_rng(0)), np.random.default_rng(0))
    assert len(empty) == 0
    assert channel.debias(empty).shape == (0, channel.dimension)


@settings(max_examples=200, deadline=None)
@given(
    name=st.sampled_from(sorted(CHANNELS)),
    cuts=st.lists(st.integers(0, 300), max_size=5),
    order=st.randoms(use_true_random=False),
)
def test_sums_are_the_same_for_every_split_and_order(name: str, cuts: list[int], order: random.Random) -> None:
    channel = CHANNELS[name]
    reports = some_reports(channel)
    rows = list(range(len(reports)))
    order.shuffle(rows)
    shuffled = Reports(channel, {column: values[rows] for column, values in reports.columns.items()})
    ends = [0, *sorted(cuts), len(reports)]
    parts = [shuffled[start:end] for start, end in pairwise(ends)]
    total = sum((channel.sums(part) for part in parts), np.zeros(channel.sums_size, dtype=np.int64))
    assert total.tobytes() == channel.sums(reports).tobytes()


# -- what is refused ---------------------------------------------------------------------------------------------------


@every_channel
@pytest.mark.parametrize("level", [0, -1, "-1/2", float("inf"), float("nan"), "nan", "much", None, True, 31, [1]])
def test_impossible_levels_are_refused(channel: StatisticsChannel, level: Any) -> None:
    with pytest.raises(InputError, match="privacy_level"):
        with_parameters(channel, privacy_level=level)


@every_channel
def test_reports_of_another_channel_are_refused(channel: StatisticsChannel) -> None:
    reports = some_reports(channel)
    other = with_parameters(channel, privacy_level="3/7")
    for use in (other.sums, other.debias):
        with pytest.raises(IncompatibleEvidenceError, match=r"another channel.*Keep reports"):
            use(reports)
    with pytest.raises(IncompatibleEvidenceError, match="another channel"):
        Reports.join([reports, some_reports(other)])
    if isinstance(other, HasReportLikelihood):
        with pytest.raises(IncompatibleEvidenceError, match="another channel"):
            other.log_likelihood(reports, truths_for(channel, 1, np.random.default_rng(0)))
    with pytest.raises(InputError, match=r"reports is.*allowed: Reports"):
        channel.sums(reports.columns)  # type: ignore[arg-type]


@every_channel
def test_reports_that_nobody_sent_are_refused(channel: StatisticsChannel) -> None:
    columns = dict(some_reports(channel).columns)
    with pytest.raises(InputError, match="columns"):
        Reports(channel, columns | {"more": np.zeros(300)})
    name, column = channel.columns[0].name, channel.columns[0]
    with pytest.raises(InputError, match=f"columns.*allowed with {channel.kind}"):
        Reports(channel, {})
    with pytest.raises(InputError, match=name):
        Reports(channel, columns | {name: columns[name][:, None]})
    if column.kind == "bits" and column.width % 64:
        spoiled = columns[name].copy()
        spoiled[3, -1] |= np.uint64(1 << 63)
        with pytest.raises(InputError, match=f"report 3 .*{name}"):
            Reports(channel, columns | {name: spoiled})
    if column.kind in ("integer", "integers") and column.limit < 2**60:
        far = columns[name].astype(np.int64)
        far[3] = column.limit
        with pytest.raises(InputError, match=f"report 3 .*{name}.*0 to {column.limit - 1}"):
            Reports(channel, columns | {name: far})


@every_channel
@pytest.mark.parametrize("dtype", [np.float64, np.int64, object, str])
def test_columns_of_another_type_are_read_or_refused(channel: StatisticsChannel, dtype: type) -> None:
    """Whole numbers of any type are the same reports; what cannot be read is refused by the name of its column."""
    reports = some_reports(channel)[:5]
    for column in channel.columns:
        values: AnyArray = reports.columns[column.name].astype(dtype)
        try:
            read = Reports(channel, dict(reports.columns) | {column.name: values})
        except InputError as error:
            assert column.name in str(error)  # noqa: PT017 - either outcome is right
        else:
            assert read == reports


@every_channel
def test_columns_that_are_no_whole_numbers_are_refused(channel: StatisticsChannel) -> None:
    """Never cut to whole numbers."""
    reports = some_reports(channel)[:5]
    for column in channel.columns:
        values = reports.columns[column.name].astype(np.float64)
        for wrong in (values + 0.5, np.full_like(values, np.nan)):
            with pytest.raises(InputError, match=column.name):
                Reports(channel, dict(reports.columns) | {column.name: wrong})


@every_channel
def test_a_seed_is_no_generator(channel: StatisticsChannel) -> None:
    with pytest.raises(InputError, match=r"rng is 7.*Generator"):
        channel.simulate(truths_for(channel, 2, np.random.default_rng(0)), 7)  # type: ignore[arg-type]


@every_channel
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, None])
def test_missing_and_infinite_values_are_refused_by_row(channel: StatisticsChannel, value: Any) -> None:
    rng = np.random.default_rng(0)
    for n, row in ((5, 3), (9000, 8765)):
        truths = truths_for(channel, n, rng).astype(object)
        spoil(truths, row, value)
        for use in (channel.randomize, lambda rows: channel.simulate(rows, rng), channel.mean_covariance):
            with pytest.raises(InputError, match=rf"\b{row}\b"):
                use(truths)
    with pytest.raises(InputError):
        channel.randomize_one(truths[row])


def spoil(truths: AnyArray, row: int, value: Any) -> None:
    """Put the value into the last column of that row, or into the column of labels."""
    if truths.ndim == 1:
        truths[row] = value
    else:
        truths[row, -1] = value


@every_channel
def test_truth_out_of_bounds_is_refused_by_row_and_column(channel: StatisticsChannel) -> None:
    for n, row in ((5, 3), (9000, 8765)):
        truths, words = out_of_bounds(channel, n, row)
        for use in (channel.randomize, channel.mean_covariance):
            with pytest.raises(InputError, match=rf"{words}.*allowed"):
                use(truths)


def out_of_bounds(channel: StatisticsChannel, n: int, row: int) -> tuple[AnyArray, str]:
    """Truth with one entry beyond its bounds, and what the message calls the place."""
    truths = truths_for(channel, n, np.random.default_rng(0))
    last = channel.truth_width - 1
    if channel.kind == "subset-selection":
        truths = truths.astype(object)
        truths[row] = "elsewhere"
        return truths, rf"truth\[{row}\] is none of the labels"
    if channel.kind == "clique-release":
        truths[row, last] = channel.parameters()["sizes"][last]
        return truths, f"variable {last} of row {row} is none of its values"
    if channel.kind in ("ball-release", "quadratic-release"):
        truths[row] = 10
        return truths, f"vector of row {row}"
    truths[row, last] = 1000
    return truths, f"statistic {last} of row {row} lies outside its bounds"


def masked(values: AnyArray, *, mask: AnyArray) -> AnyArray:
    return np.ma.MaskedArray(values, mask=mask)


def with_a_masked_entry(values: AnyArray) -> AnyArray:
    mask = np.zeros(values.shape, dtype=bool)
    spoil(mask, 3, True)
    return masked(values, mask=mask)


@every_channel
def test_masked_truth_is_refused(channel: StatisticsChannel) -> None:
    truths = truths_for(channel, 5, np.random.default_rng(0))
    with pytest.raises(InputError, match="masked"):
        channel.randomize(with_a_masked_entry(truths))


@every_channel
def test_masked_truth_of_one_respondent_is_refused(channel: StatisticsChannel) -> None:
    """What lies below the mask is not for sending."""
    truths = truths_for(channel, 5, np.random.default_rng(0))
    with pytest.raises(InputError, match=r"masked|missing"):
        channel.randomize_one(with_a_masked_entry(truths)[3])


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8])
@pytest.mark.parametrize("name", ["coordinate-release-0", "hybrid-0", "hypercube-0", "per-value-0"])
def test_masked_bits_are_refused(name: str, dtype: type) -> None:
    channel = CHANNELS[name]
    truths: AnyArray = np.zeros((5, channel.dimension), dtype=dtype)
    with pytest.raises(InputError, match="masked"):
        channel.randomize(with_a_masked_entry(truths))


@every_channel
def test_truth_of_another_width_is_refused(channel: StatisticsChannel) -> None:
    truths = truths_for(channel, 5, np.random.default_rng(0))
    wrong = [truths[None], np.stack([truths, truths], axis=1)]
    if truths.ndim == 2:
        wrong += [truths[:, :-1], np.hstack([truths, truths]), truths[0]]
    for rows in wrong:
        for use in (channel.randomize, channel.statistics, channel.mean_covariance):
            with pytest.raises(InputError, match="shape"):
                use(rows)
    if truths.ndim == 2:
        with pytest.raises(InputError, match="shape"):
            channel.randomize(5)


@every_channel
def test_weights_of_truths_are_checked(channel: StatisticsChannel) -> None:
    truths = truths_for(channel, 3, np.random.default_rng(0))
    for weights in ([1, 1], [1, 1, -1], [0, 0, 0], [1, 1, np.nan], [1, 1, np.inf], [[1, 1, 1]]):
        with pytest.raises(InputError, match=r"weights.*3 numbers"):
            channel.mean_covariance(truths, weights)


@every_channel
def test_misspelt_options_are_refused(channel: StatisticsChannel) -> None:
    reports = some_reports(channel)
    sums, truths = channel.sums(reports), truths_for(channel, 2, np.random.default_rng(0))
    wrong: Any = "printd"
    message = r"'printd'.*within, printed.*Did you mean 'printed'"
    with pytest.raises(InputError, match=message):
        channel.mean(sums, 300, wrong)
    with pytest.raises(InputError, match=message):
        channel.variances(sums, 300, wrong)
    with pytest.raises(InputError, match=message):
        channel.mean_covariance(truths, averaging=wrong)
    with pytest.raises(InputError, match=f"{channel.kind} has no parameter 'privacy_levl'"):
        with_parameters(channel, privacy_levl=1)
