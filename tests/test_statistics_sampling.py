"""How every channel on statistics draws: after the law it is certified for; repeatably where asked, never otherwise.

Statistical tests compare about two thousand numbers in all, at a false-alarm rate of 1e-10 each: 2e-7 together.
"""

from __future__ import annotations

import json
import random
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import stats

from askance._arrays import AnyArray, FloatArray
from askance.channels import Reports, StatisticsChannel
from tests.statistics_families import (
    CHANNELS,
    ENUMERATED,
    enumerated_probabilities,
    enumerated_reports,
    enumerated_truths,
    enumeration,
    truths_for,
)

FALSE_ALARM = 1e-10
every_channel = pytest.mark.parametrize("channel", CHANNELS.values(), ids=CHANNELS.keys())
every_enumerated = pytest.mark.parametrize("channel", ENUMERATED.values(), ids=ENUMERATED.keys())
both_averages = pytest.mark.parametrize("averaging", ["within", "printed"])


def same_columns(first: Reports, second: Reports) -> bool:
    return all(np.array_equal(values, second.columns[name]) for name, values in first.columns.items())


def report_keys(reports: Reports) -> AnyArray:
    """All columns of a report as one text of bytes, shape (n,)."""
    parts = [np.ascontiguousarray(values).reshape(len(reports), -1) for values in reports.columns.values()]
    joined = np.ascontiguousarray(np.concatenate([part.view(np.uint8) for part in parts], axis=1))
    return joined.view(f"S{joined.shape[1]}").reshape(-1)


@every_enumerated
def test_reports_follow_the_enumerated_probabilities(channel: StatisticsChannel) -> None:
    """χ² of 20,000 simulated, and of 20,000 noised, reports of two truths; rare observations go together."""
    n, truths = 20_000, enumerated_truths(channel)
    keys = report_keys(enumerated_reports(channel))
    order = np.argsort(keys)
    assert len(np.unique(keys)) == len(enumeration(channel).observations)
    for i in (0, len(truths) - 1):
        same = np.repeat(truths[i : i + 1], n, axis=0)
        expected = n * enumerated_probabilities(channel)[:, i]
        rare = expected < 20
        for reports in (channel.simulate(same, np.random.default_rng(i)), channel.randomize(same)):
            found = order[np.searchsorted(keys[order], report_keys(reports))]
            assert np.array_equal(keys[found], report_keys(reports))
            counts = np.bincount(found, minlength=len(keys))
            seen, wanted = counts[~rare], expected[~rare]
            if expected[rare].sum() >= 20:
                seen, wanted = np.append(seen, counts[rare].sum()), np.append(wanted, expected[rare].sum())
            statistic = ((seen - wanted) ** 2 / wanted).sum()
            assert statistic < stats.chi2.isf(FALSE_ALARM, max(len(seen) - 1, 1))


@cache
def survey(channel: StatisticsChannel) -> tuple[AnyArray, FloatArray, Reports]:
    """Six truths, their probabilities, and the reports of 64,000 respondents whose truths were drawn from them."""
    rng = np.random.default_rng(21)
    truths, weights = truths_for(channel, 6, rng), rng.dirichlet(np.full(6, 2.0))
    return truths, weights, channel.simulate(truths[rng.choice(6, size=64_000, p=weights)], rng)


@every_channel
@both_averages
def test_means_of_reports_are_as_far_from_the_truth_as_the_covariance_says(
    channel: StatisticsChannel, averaging: Any
) -> None:
    truths, weights, reports = survey(channel)
    n = len(reports)
    error = channel.mean(channel.sums(reports), n, averaging) - weights @ channel.statistics(truths)
    variance = np.diag(channel.mean_covariance(truths, weights, averaging)) / n
    assert (np.abs(error) < stats.norm.isf(FALSE_ALARM / 2) * np.sqrt(variance) + 1e-12).all()


@every_channel
@both_averages
def test_variances_from_sums_agree_with_the_covariance(channel: StatisticsChannel, averaging: Any) -> None:
    """The error of the estimated variances is itself estimated, from 32 batches of 2000 respondents."""
    truths, weights, reports = survey(channel)
    n, batches = len(reports), 32
    size = n // batches
    parts = [reports[start : start + size] for start in range(0, n, size)]
    found = channel.variances(channel.sums(reports), n, averaging)
    spread = np.std([channel.variances(channel.sums(part), size, averaging) for part in parts], axis=0, ddof=1)
    expected = np.diag(channel.mean_covariance(truths, weights, averaging))
    allowed = stats.t.isf(FALSE_ALARM / 2, batches - 1) * spread / np.sqrt(batches)
    smoothing = 10 * channel.dimension / n * expected
    assert (np.abs(found - expected) <= allowed + smoothing).all()


@every_channel
def test_beta_varies_as_the_covariance_says(channel: StatisticsChannel) -> None:
    """All entries, also off the diagonal, of the covariance of β over 64,000 respondents."""
    truths, weights, reports = survey(channel)
    centred = channel.debias(reports) - weights @ channel.statistics(truths)
    products = centred[:, :, None] * centred[:, None, :]
    expected = channel.mean_covariance(truths, weights, averaging="printed")
    allowed = stats.norm.isf(FALSE_ALARM / 2) * products.std(axis=0) / np.sqrt(len(reports))
    assert (np.abs(products.mean(axis=0) - expected) <= allowed + 1e-12).all()


@every_channel
def test_compiled_and_plain_draws_agree_bit_for_bit(
    channel: StatisticsChannel, monkeypatch: pytest.MonkeyPatch
) -> None:
    truths = truths_for(channel, 5000, np.random.default_rng(5))
    compiled = channel.simulate(truths, np.random.default_rng(6))
    monkeypatch.setattr("askance.channels.statistics.base.COMPILED_PAYS_FROM", 1 << 40)
    plain = channel.simulate(truths, np.random.default_rng(6))
    assert same_columns(compiled, plain)
    sums = channel.sums(compiled)
    monkeypatch.setattr(f"{type(channel).__module__}.COMPILED_PAYS_FROM", 1 << 40, raising=False)
    assert np.array_equal(channel.sums(compiled), sums)


@every_channel
def test_simulations_repeat(channel: StatisticsChannel) -> None:
    for n in (20, 5000):
        truths = truths_for(channel, n, np.random.default_rng(5))
        first, again, other = (channel.simulate(truths, np.random.default_rng(seed)) for seed in (1, 1, 2))
        assert first == again
        assert first != other


@every_channel
def test_randomization_does_not_repeat_and_does_not_listen_to_seeds(channel: StatisticsChannel) -> None:
    """200 reports of at least one fair bit's worth of noise each agree by chance with probability below 1e-20."""
    for n in (200, 5000):
        truths, drawn = truths_for(channel, n, np.random.default_rng(5)), []
        for _ in range(2):
            random.seed(7)
            np.random.seed(7)  # noqa: NPY002 - the point is that nobody listens
            before = np.random.get_state()[1].copy()  # type: ignore[index]  # noqa: NPY002
            drawn.append(channel.randomize(truths))
            assert np.array_equal(np.random.get_state()[1], before)  # type: ignore[index]  # noqa: NPY002
        assert drawn[0] != drawn[1]


@every_channel
def test_one_report_is_plain_json(channel: StatisticsChannel) -> None:
    truths = truths_for(channel, 20, np.random.default_rng(9))
    for truth in truths:
        report = channel.randomize_one(truth)
        assert list(report) == [column.name for column in channel.columns]
        assert json.loads(json.dumps(report)) == report
        for column in channel.columns:
            value = report[column.name]
            if column.kind == "bits":
                assert len(bytes.fromhex(value)) == -(-column.width // 8)
            elif column.kind == "seed":
                assert len(bytes.fromhex(value)) == 8
            elif column.kind == "integer":
                assert 0 <= value < column.limit
            else:
                assert len(value) == column.width
                assert all(0 <= each < column.limit for each in value)


@every_channel
def test_truth_of_any_number_type_reads_the_same(channel: StatisticsChannel) -> None:
    truths = truths_for(channel, 50, np.random.default_rng(10))
    expected = channel.simulate(truths, np.random.default_rng(11))
    assert channel.simulate(truths.tolist(), np.random.default_rng(11)) == expected
    assert channel.simulate(truths.astype(object), np.random.default_rng(11)) == expected
    if truths.dtype.kind == "f" and np.array_equal(np.rint(truths), truths):
        assert channel.simulate(truths.astype(np.int64), np.random.default_rng(11)) == expected
