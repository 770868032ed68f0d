"""Pooled tallies: the joint likelihood, the sum of informations, moments as generalised least squares combines them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askance import (
    Enumerated,
    MatrixChannel,
    RandomizedResponse,
    Tally,
    Warner,
    asymptotics,
    build_channel,
    estimate,
    optimal_channel,
)
from askance._arrays import FloatArray
from askance.channels import FiniteChannel
from askance.channels.statistics import CoordinateRelease
from askance.design.covariances import marginal_information
from askance.errors import EmptyDataError, IncompatibleEvidenceError, InputError, NotIdentifiedError
from askance.estimation.problems.likelihood import MarginalLikelihood
from askance.evidence.pooled import PooledChannel, pool

PAPER = Enumerated([[0, 0, 1, 1], [0, 1, 0, 1]])
THREE = Enumerated.saturated(["a", "b", "c"])
STRICT, LAX = (RandomizedResponse.for_privacy_level(level, outputs=["a", "b", "c"]) for level in (1, 2))
seeds = st.integers(0, 2**32 - 1)


def random_tally(rng: np.random.Generator, outputs: int) -> Tally:
    """Some counts through some channel, of more or fewer observations than outputs."""
    S = rng.dirichlet(np.ones(int(rng.integers(2, 7))), size=outputs).T
    return Tally(MatrixChannel(S), rng.integers(1, 100, size=len(S)))


def total_log_likelihood(model: Enumerated, tally: Tally, theta: FloatArray) -> float:
    return -tally.n_observations * MarginalLikelihood(model, tally.channel, tally.frequencies).value(theta)


def expected_tally(model: Enumerated, channel: FiniteChannel, theta: FloatArray, n: int) -> Tally:
    """Counts as close to n S p_θ as whole numbers are."""
    return Tally(channel, np.rint(n * channel.apply(model.probabilities(theta))).astype(np.int64))


# -- exact -------------------------------------------------------------------------------------------------------------


@given(seeds)
@settings(max_examples=40)
def test_the_log_likelihood_is_the_sum_up_to_a_constant(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tallies = [random_tally(rng, 4) for _ in range(3)]
    pooled = pool(tallies)
    sizes = np.array([tally.n_observations for tally in tallies])
    constant = float(sizes @ np.log(sizes / sizes.sum()))
    for theta in rng.normal(size=(3, 2)):
        parts = sum(total_log_likelihood(PAPER, tally, theta) for tally in tallies)
        assert total_log_likelihood(PAPER, pooled, theta) == pytest.approx(parts + constant, rel=1e-12)


@given(seeds)
@settings(max_examples=40)
def test_the_expected_information_is_the_weighted_sum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tallies, theta = [random_tally(rng, 4) for _ in range(3)], rng.normal(size=2)
    pooled = pool(tallies)
    parts = [t.n_observations / pooled.n_observations * marginal_information(PAPER, t.channel, theta) for t in tallies]
    assert marginal_information(PAPER, pooled.channel, theta) == pytest.approx(sum(parts), abs=1e-13)


@pytest.mark.parametrize("theta", [[0.0, 0.0], [1.0, -2.0], [-3.0, 0.5]])
def test_moments_are_combined_as_by_generalised_least_squares(theta: list[float]) -> None:
    """Whatever the reports were: μ̂ = (Σ n_i C_i⁻¹)⁻¹ Σ n_i C_i⁻¹ μ̂_i, with C_i the covariance of β_i at θ."""
    p = THREE.probabilities(theta)
    tallies = [Tally(STRICT, [700, 400, 300]), Tally(LAX, [100, 250, 50])]
    pooled = pool(tallies)
    precision, weighted = np.zeros((2, 2)), np.zeros(2)
    for tally in tallies:
        beta, frequencies = tally.channel.observation_function(THREE), tally.channel.apply(p)
        weight = tally.n_observations * np.linalg.inv(beta.covariance(frequencies))
        precision, weighted = precision + weight, weighted + weight @ beta.mean(tally.frequencies)
    frequencies = pooled.channel.apply(p)
    beta = pooled.channel.observation_function(THREE, frequencies)
    assert beta.mean(pooled.frequencies) == pytest.approx(np.linalg.solve(precision, weighted), abs=1e-9)
    variance = beta.covariance(frequencies) / pooled.n_observations
    assert variance == pytest.approx(np.linalg.inv(precision), rel=1e-9)


@pytest.mark.parametrize("sizes", [(1, 1), (60, 40), (1, 999_999_999)])
def test_the_stacked_channel_has_the_rows_of_its_parts_in_exact_shares(sizes: tuple[int, int]) -> None:
    channel = pool([Tally(STRICT, [sizes[0], 0, 0]), Tally(LAX, [0, 0, sizes[1]])]).channel
    share = sizes[0] / sum(sizes)
    assert channel.matrix == pytest.approx(np.concatenate([share * STRICT.matrix, (1 - share) * LAX.matrix]), abs=1e-15)
    assert channel.observations.labels == ("1: a", "1: b", "1: c", "2: a", "2: b", "2: c")


@pytest.mark.parametrize("levels", [(1, 2), ("1/3", "1/7"), (0.1, 3), (1, 1)])
@pytest.mark.parametrize("size", [3, 1_000_003])
def test_the_level_is_the_largest_exactly(levels: tuple[object, object], size: int) -> None:
    """Rounding the shares to thresholds once more would put it a hair above."""
    first = RandomizedResponse.for_privacy_level(levels[0], outputs=4)  # type: ignore[arg-type]
    second = optimal_channel(PAPER, levels[1], [1, -1])  # type: ignore[arg-type]
    channel = pool([Tally(first, [size, 1, 2, 3]), Tally(second, [7] * len(second.observations))]).channel
    assert channel.privacy_level == max(first.privacy_level, second.privacy_level)


def test_a_part_without_privacy_leaves_none() -> None:
    open_channel = MatrixChannel(np.eye(3), outputs=["a", "b", "c"])
    assert pool([Tally(STRICT, [1, 2, 3]), Tally(open_channel, [1, 1, 1])]).channel.privacy_level == np.inf


# -- what is pooled ----------------------------------------------------------------------------------------------------


def test_at_the_ends_there_is_one_tally() -> None:
    tally = Tally(STRICT, [5, 6, 7])
    assert pool([tally]) is tally
    assert pool([Tally(LAX), tally, Tally(LAX)]) is tally
    assert pool(tally for _ in range(1)) is tally  # type: ignore[arg-type]


def test_equal_channels_are_merged_first() -> None:
    a, b, c = Tally(STRICT, [5, 6, 7]), Tally(LAX, [1, 2, 3]), Tally(STRICT, [1, 1, 1])
    assert pool([a, c]) == a + c
    assert pool([a, b, c]) == pool([a + c, b])
    assert pool([a, b, c]).counts.tolist() == [6, 7, 8, 1, 2, 3]


def test_pooling_pooled_tallies_changes_nothing() -> None:
    a, b = Tally(STRICT, [5, 6, 7]), Tally(LAX, [1, 2, 3])
    c = Tally(MatrixChannel([[0.5, 0.2, 0.2], [0.5, 0.8, 0.8]], outputs=["a", "b", "c"]), [3, 4])
    assert pool([pool([a, b]), c]) == pool([a, pool([b, c])]) == pool([a, b, c])
    assert pool([pool([a, b]), a]) == pool([a + a, b])


def test_a_saved_channel_is_the_same_channel() -> None:
    channel = pool([Tally(STRICT, [5, 6, 7]), Tally(LAX, [1, 2, 3])]).channel
    loaded = build_channel(json.loads(json.dumps(channel.specification())))
    assert loaded == channel


def test_labels_of_different_types_stay_apart() -> None:
    mixed = MatrixChannel([[0.5, 0.2, 0.2], [0.5, 0.8, 0.8]], outputs=["a", "b", "c"], observations=[1, "1"])
    labels = pool([Tally(mixed, [1, 2]), Tally(STRICT, [1, 2, 3])]).channel.observations.labels
    assert labels[:2] == ("1: 1", "1: '1'")


# -- estimating --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["one-step", "moments", "marginal", "projection"])
def test_every_method_finds_the_truth_from_the_expected_counts(method: str) -> None:
    """Also where only both channels together have an unbiased β: the optimum for the likelihood has none."""
    theta = np.array([2.0, -1.0])
    optimum = optimal_channel(PAPER, 1, theta)
    assert not optimum.has_unbiased_beta
    release = optimal_channel(PAPER, 1, [0, 0], target="moments")
    first, second = (expected_tally(PAPER, release, theta, 10**10), expected_tally(PAPER, optimum, theta, 9 * 10**10))
    if method in ("one-step", "moments"):
        with pytest.raises(NotIdentifiedError):
            estimate(PAPER, second, method)
    fit = estimate(PAPER, pool([first, second]), method)
    assert fit.theta == pytest.approx(theta, abs=1e-6)
    assert fit.privacy_level == max(release.privacy_level, optimum.privacy_level)


def test_one_step_may_work_where_no_part_has_an_unbiased_beta() -> None:
    """Each of two questions sees one statistic only."""
    about_first = MatrixChannel([[0.7, 0.7, 0.3, 0.3], [0.3, 0.3, 0.7, 0.7]])
    about_second = MatrixChannel([[0.7, 0.3, 0.7, 0.3], [0.3, 0.7, 0.3, 0.7]])
    tallies = [expected_tally(PAPER, channel, np.array([1.0, -1.0]), 10**9) for channel in (about_first, about_second)]
    for tally in tallies:
        with pytest.raises(NotIdentifiedError):
            estimate(PAPER, tally)
    assert estimate(PAPER, pool(tallies)).theta == pytest.approx([1.0, -1.0], abs=1e-6)


def test_covariances_are_those_of_the_weighted_information() -> None:
    theta = np.array([1.0, -2.0])
    tallies = [expected_tally(THREE, STRICT, theta, 3 * 10**8), expected_tally(THREE, LAX, theta, 10**8)]
    pooled = pool(tallies)
    limit = asymptotics(THREE, pooled.channel, theta).marginal / pooled.n_observations
    assert estimate(THREE, pooled).covariance == pytest.approx(limit, rel=1e-5)


# -- refused -----------------------------------------------------------------------------------------------------------


def test_nothing_to_pool_is_refused() -> None:
    with pytest.raises(EmptyDataError, match="tallies is empty"):
        pool([])
    with pytest.raises(EmptyDataError, match="none of the 2 tallies has reports"):
        pool([Tally(STRICT), Tally(LAX)])


@pytest.mark.parametrize("counts", [[1, 1], [0, 0]])
def test_other_outputs_are_refused_by_name(counts: list[int]) -> None:
    with pytest.raises(IncompatibleEvidenceError, match=r"about .*a.*, tallies\[1\] about .*no"):
        pool([Tally(STRICT, [1, 2, 3]), Tally(Warner("2/3"), counts)])


@pytest.mark.parametrize("wrong", [3, None, [1, 2, 3], STRICT, Tally(CoordinateRelease(2, 1))])
def test_what_is_no_tally_is_refused(wrong: object) -> None:
    with pytest.raises(InputError, match=r"tallies\[1\] is .*; allowed: a Tally"):
        pool([Tally(STRICT, [1, 2, 3]), wrong])  # type: ignore[list-item]


def test_a_single_tally_is_no_list() -> None:
    with pytest.raises(InputError, match="allowed: a list"):
        pool(Tally(STRICT, [1, 2, 3]))  # type: ignore[arg-type]


def test_tables_beyond_memory_are_refused() -> None:
    wide = [RandomizedResponse.for_privacy_level(level, outputs=40_000) for level in (1, 2)]
    with pytest.raises(InputError, match="80,000 observations of 40,000 outputs"):
        pool([Tally(channel, np.ones(40_000, dtype=np.int64)) for channel in wide])


def test_nobody_is_asked_through_a_pooled_channel() -> None:
    channel = pool([Tally(STRICT, [1, 2, 3]), Tally(LAX, [1, 2, 3])]).channel
    assert isinstance(channel, PooledChannel)
    assert channel.parts == (STRICT, LAX)
    assert "6 × RandomizedResponse" in repr(channel)
    with pytest.raises(InputError, match=r"channel\.parts"):
        channel.randomize(["a"])
    with pytest.raises(InputError, match=r"channel\.parts"):
        channel.randomize_one("a")
    drawn = channel.simulate(["a"] * 100, np.random.default_rng(0))
    assert set(drawn) <= set(channel.observations.labels)
