"""What every channel on statistics must be, exactly: inherited by registering."""

from __future__ import annotations

import json
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askance import build_channel, certify
from askance._arrays import AnyArray, FloatArray
from askance.channels import Reports, StatisticsChannel, entries
from askance.channels.statistics import HasReportLikelihood
from askance.channels.thresholds import exp_rounded_down
from askance.formats import channel_to_toml, read_channel
from tests.statistics_families import (
    CHANNELS,
    ENUMERATED,
    LISTED,
    SEEDED,
    WITH_LIKELIHOOD,
    enumerated_probabilities,
    enumerated_reports,
    enumerated_truths,
    enumeration,
    every_report,
    is_exact,
    other_sizes,
    truths_for,
    with_parameters,
)

LEVELS = ("1/10", "1", "4")
every_channel = pytest.mark.parametrize("channel", CHANNELS.values(), ids=CHANNELS.keys())
every_enumerated = pytest.mark.parametrize("channel", ENUMERATED.values(), ids=ENUMERATED.keys())
every_likelihood = pytest.mark.parametrize("channel", WITH_LIKELIHOOD.values(), ids=WITH_LIKELIHOOD.keys())
every_listed = pytest.mark.parametrize("channel", LISTED.values(), ids=LISTED.keys())
both_averages = pytest.mark.parametrize("averaging", ["within", "printed"])


@cache
def some_reports(channel: StatisticsChannel, n: int = 300) -> Reports:
    rng = np.random.default_rng(17)
    return channel.simulate(truths_for(channel, n, rng), rng)


def test_the_registry_has_every_channel_asked_for() -> None:
    kinds = {entry.kind for entry in entries("statistics")}
    assert kinds >= {"coordinate-release", "per-value", "hypercube", "hybrid", "subset-selection", "clique-release"}
    assert kinds >= {"ball-release", "quadratic-release"}
    assert all(len(entry.examples) > 1 and entry.summary and entry.use for entry in entries("statistics"))


# -- writing down ------------------------------------------------------------------------------------------------------


@every_channel
def test_specification_rebuilds_it_exactly(channel: StatisticsChannel) -> None:
    again = build_channel(json.loads(json.dumps(channel.specification())))
    assert type(again) is type(channel)
    assert again.fingerprint == channel.fingerprint
    assert again == channel
    assert hash(again) == hash(channel)
    assert again.specification() == channel.specification()


@every_channel
def test_toml_rebuilds_it_exactly(channel: StatisticsChannel, tmp_path: Path) -> None:
    path = tmp_path / "channel.toml"
    path.write_text(channel_to_toml(channel), encoding="utf-8")
    again = read_channel(path)
    assert again.fingerprint == channel.fingerprint
    assert again.specification() == channel.specification()


def test_other_samplers_have_other_fingerprints() -> None:
    """All examples, at two levels each; where the paper spends a level as exactly, it is the same sampler."""
    seen: dict[str, dict[str, Any]] = {}
    for channel in CHANNELS.values():
        for built in (channel, with_parameters(channel, privacy_level="3/7")):
            assert seen.setdefault(built.fingerprint, built.specification()) == built.specification()
        if hasattr(channel, "calibration") and "density" not in channel.parameters():
            other = with_parameters(channel, calibration="paper" if is_exact(channel) else "exact")
            assert (other == channel) == (other.largest_ratio() == channel.largest_ratio())
    assert len(seen) > 2 * len(entries("statistics"))


# -- levels ------------------------------------------------------------------------------------------------------------


def assert_level_is_spent(channel: StatisticsChannel, level: str) -> None:
    stated = Fraction(level)
    assert channel.stated_level == float(stated)
    assert channel.largest_ratio() <= exp_rounded_down(stated)
    assert 0.99 * stated <= channel.privacy_level <= channel.stated_level


@every_channel
@pytest.mark.parametrize("level", LEVELS)
def test_the_stated_level_is_spent_and_not_exceeded(channel: StatisticsChannel, level: str) -> None:
    built = with_parameters(channel, privacy_level=level)
    if is_exact(channel):
        assert_level_is_spent(built, level)
    else:
        assert certify(built).privacy_level == built.privacy_level


@pytest.mark.parametrize("level", LEVELS)
def test_the_stated_level_is_spent_at_other_sizes(level: str) -> None:
    for name, channel in other_sizes(level).items():
        assert_level_is_spent(channel, level)
        certificate = certify(channel)
        assert certificate.holds, name
        assert certificate.unbiased, name
        assert build_channel(channel.specification()) == channel, name


@every_channel
def test_certificates_hold(channel: StatisticsChannel) -> None:
    certificate = certify(channel)
    assert certificate.holds
    assert certificate.unbiased
    assert channel.is_unbiased()
    assert certificate.privacy_level == channel.privacy_level
    assert certificate.largest_ratio == channel.largest_ratio()
    assert certificate.stated_level == channel.stated_level
    enumerated = channel.enumerate_exactly() is not None
    assert certificate.proved_by == ("enumeration" if enumerated else "structure")
    assert certificate.worst_observations
    if enumerated:
        assert set(channel.worst_observations()) <= set(certificate.worst_observations)


def test_every_kind_is_proved_by_enumeration_somewhere() -> None:
    """A formula that was never compared with a list of all entries proves little; seeds cannot be listed."""
    listed = {channel.kind for channel in ENUMERATED.values()}
    assert listed | {channel.kind for channel in SEEDED.values()} == {channel.kind for channel in CHANNELS.values()}


@every_likelihood
def test_the_worst_pair_attains_the_level(channel: StatisticsChannel) -> None:
    reports = every_report(channel)
    if reports is None:
        reports = some_reports(channel)  # no ratio may exceed the level; one attains it only by chance
    first, second = likelihoods(channel, reports, np.concatenate(channel.worst_pair())).T
    ratios = np.maximum(first / second, second / first)
    largest = float(channel.largest_ratio())
    assert ratios.max() <= largest * (1 + 1e-10)
    if every_report(channel) is not None:
        assert ratios.max() == pytest.approx(largest, rel=1e-10)


@every_channel
def test_the_worst_pair_is_valid_truth(channel: StatisticsChannel) -> None:
    for truth in channel.worst_pair():
        assert len(truth) == 1
        assert len(channel.randomize(truth)) == 1


# -- unbiasedness and covariance, exactly ------------------------------------------------------------------------------


@every_enumerated
def test_columns_sum_to_one_and_decide_the_level(channel: StatisticsChannel) -> None:
    exact = enumeration(channel)
    for column in zip(*exact.weights, strict=True):
        assert sum(column) == exact.total
        assert min(column) > 0
    assert channel.largest_ratio() == max(Fraction(max(row), min(row)) for row in exact.weights)
    assert len(set(exact.observations)) == len(exact.observations)


@every_enumerated
def test_beta_is_unbiased_in_fractions(channel: StatisticsChannel) -> None:
    exact = enumeration(channel)
    assert len(exact.beta) == len(exact.statistics) == channel.dimension
    for beta, values in zip(exact.beta, exact.statistics, strict=True):
        for column, value in zip(zip(*exact.weights, strict=True), values, strict=True):
            mean = sum(b * w for b, w in zip(beta, column, strict=True))
            assert Fraction(mean, exact.beta_scale * exact.total) == value


@every_enumerated
def test_the_beta_in_use_is_the_enumerated_one(channel: StatisticsChannel) -> None:
    """`debias` of the enumerated reports is the exact β, but for the scale of the statistics."""
    exact = enumeration(channel)
    inner = np.array([[float(Fraction(b, exact.beta_scale)) for b in row] for row in exact.beta]).T
    phi, truth = np.array(exact.statistics, dtype=float).T, channel.statistics(enumerated_truths(channel))
    used = channel.debias(enumerated_reports(channel))
    for j in range(channel.dimension):
        low, high = phi[:, j].argmin(), phi[:, j].argmax()
        scale = (truth[high, j] - truth[low, j]) / (phi[high, j] - phi[low, j])
        expected = truth[low, j] + scale * (inner[:, j] - phi[low, j])
        np.testing.assert_allclose(used[:, j], expected, rtol=1e-11, atol=1e-12 * np.abs(expected).max())


def untyped(value: object) -> Any:
    """Sums that are expected values, and so no whole numbers."""
    return value


def covariance_given_truth(beta: FloatArray, weights: FloatArray) -> FloatArray:
    centred = beta - weights @ beta
    return np.asarray((centred * weights[:, None]).T @ centred)


def assert_close_to(found: FloatArray, expected: FloatArray) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())


@every_enumerated
def test_the_excess_covariance_of_one_truth_is_the_enumerated_one(channel: StatisticsChannel) -> None:
    truths, beta = enumerated_truths(channel), channel.debias(enumerated_reports(channel))
    for i, column in enumerate(enumerated_probabilities(channel).T):
        excess = channel.excess_covariance(truths[i : i + 1], averaging="printed")
        assert_close_to(excess, covariance_given_truth(beta, column))
        assert_close_to(channel.mean_covariance(truths[i : i + 1], averaging="printed"), excess)


@every_enumerated
def test_the_excess_covariance_of_a_mixture_is_the_enumerated_one(channel: StatisticsChannel) -> None:
    truths, beta = enumerated_truths(channel), channel.debias(enumerated_reports(channel))
    columns = enumerated_probabilities(channel)
    weights = np.random.default_rng(4).dirichlet(np.ones(len(truths)))
    expected = sum(w * covariance_given_truth(beta, column) for w, column in zip(weights, columns.T, strict=True))
    assert_close_to(channel.excess_covariance(truths, 3 * weights, averaging="printed"), np.asarray(expected))
    total = covariance_given_truth(beta, columns @ weights)
    assert_close_to(channel.mean_covariance(truths, weights, averaging="printed"), total)


@every_channel
def test_averaging_within_what_was_drawn_is_never_worse(channel: StatisticsChannel) -> None:
    rng = np.random.default_rng(8)
    for size in (1, 2, 7):
        truths, weights = truths_for(channel, size, rng), rng.dirichlet(np.ones(size))
        within = channel.mean_covariance(truths, weights)
        printed = channel.mean_covariance(truths, weights, averaging="printed")
        assert np.trace(within) <= np.trace(printed) * (1 + 1e-12)
        for covariance in (within, printed):
            assert np.allclose(covariance, covariance.T, rtol=1e-12, atol=1e-12 * np.abs(covariance).max())
            assert np.linalg.eigvalsh(covariance)[0] >= -1e-10 * np.abs(covariance).max()


@every_enumerated
@both_averages
def test_the_limit_covariance_is_that_of_the_sums_through_the_derivative_of_the_mean(
    channel: StatisticsChannel, averaging: Any
) -> None:
    """The delta method on the enumerated law: J Cov(sums of one report) Jᵀ, J by central differences; and variances."""
    reports, truths = enumerated_reports(channel), enumerated_truths(channel)
    weights = np.random.default_rng(12).dirichlet(np.ones(len(truths)))
    law, many = enumerated_probabilities(channel) @ weights, 10**12
    each = np.array([channel.sums(reports[i : i + 1]) for i in range(len(reports))], dtype=float)
    centre = law @ each

    def mean(sums: FloatArray) -> FloatArray:
        return channel.mean(untyped(many * sums), many, averaging)

    steps = 1e-4 * np.diag(np.maximum(centre, 1e-3))
    jacobian = np.array([(mean(centre + step) - mean(centre - step)) / (2 * step.sum()) for step in steps]).T
    expected = jacobian @ covariance_given_truth(each, law) @ jacobian.T
    found = channel.mean_covariance(truths, weights, averaging)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())
    estimated = channel.variances(untyped(many * centre), many, averaging)
    np.testing.assert_allclose(estimated, np.diag(found), rtol=1e-9)


@every_channel
def test_averages_of_beta_are_the_printed_means(channel: StatisticsChannel) -> None:
    reports = some_reports(channel)
    beta = channel.debias(reports)
    assert beta.shape == (len(reports), channel.dimension)
    mean = channel.mean(channel.sums(reports), len(reports), averaging="printed")
    np.testing.assert_allclose(mean, beta.mean(axis=0), rtol=1e-12, atol=1e-12 * np.abs(beta).max())


# -- likelihoods -------------------------------------------------------------------------------------------------------


def likelihoods(channel: StatisticsChannel, reports: Reports, truth: AnyArray) -> FloatArray:
    assert isinstance(channel, HasReportLikelihood)
    return np.exp(channel.log_likelihood(reports, truth))


@every_enumerated
def test_likelihoods_are_the_enumerated_probabilities(channel: StatisticsChannel) -> None:
    found = likelihoods(channel, enumerated_reports(channel), enumerated_truths(channel))
    np.testing.assert_allclose(found, enumerated_probabilities(channel), rtol=1e-11)


@every_listed
def test_likelihoods_of_all_reports_are_the_law_of_beta(channel: StatisticsChannel) -> None:
    """At any truth, not only at the enumerated one: they sum to 1, and β has mean φ and the stated covariance."""
    reports = every_report(channel)
    assert reports is not None
    truths = truths_for(channel, 12, np.random.default_rng(3))
    found, beta = likelihoods(channel, reports, truths), channel.debias(reports)
    np.testing.assert_allclose(found.sum(axis=0), 1, rtol=1e-12)
    np.testing.assert_allclose(found.T @ beta, channel.statistics(truths), atol=1e-11 * np.abs(beta).max())
    for i, column in enumerate(found.T):
        excess = channel.excess_covariance(truths[i : i + 1], averaging="printed")
        assert_close_to(excess, covariance_given_truth(beta, column))


@pytest.mark.parametrize("channel", SEEDED.values(), ids=SEEDED.keys())
def test_likelihoods_of_all_choices_of_a_seed_sum_to_one(channel: StatisticsChannel) -> None:
    """A seed is as likely whatever the truth is: the likelihood is that of the choice given the seed."""
    seed, choice = channel.columns
    truths = truths_for(channel, 6, np.random.default_rng(3))
    for number in (0, 1, 2**64 - 1, 0x9E37_79B9_7F4A_7C15):
        seeds = np.full(choice.limit, number, dtype=np.uint64)
        reports = Reports(channel, {seed.name: seeds, choice.name: np.arange(choice.limit)})
        found = likelihoods(channel, reports, truths)
        np.testing.assert_allclose(found.sum(axis=0), 1, rtol=1e-12)
        assert len(np.unique(found)) == 2
        assert found.max() / found.min() == pytest.approx(float(channel.largest_ratio()), rel=1e-12)
