"""Where channels on statistics could quietly say or protect less than they state."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from askance import (
    BallRelease,
    CliqueRelease,
    CoordinateRelease,
    Enumerated,
    Hybrid,
    PerValue,
    QuadraticRelease,
    SubsetSelection,
    Tally,
    asymptotics,
    audit,
    build_channel,
    certify,
    estimate,
)
from askance._arrays import AnyArray
from askance._kernels.bits import whole_parts
from askance._kernels.draw import TOTAL
from askance.channels import Reports, StatisticsChannel
from askance.channels.thresholds import log_rounded_up
from askance.errors import IncompatibleEvidenceError, InputError, MissingValueError
from tests.calls import calls_of


def exact_ratio(channel: PerValue, first: AnyArray, second: AnyArray) -> Fraction:
    """The largest ratio of one observation between two rows of shares, from the thresholds of the sampler."""
    span, ratio = channel.flips.keep - channel.flips.raised, Fraction(1)
    thresholds = channel.flips.raised + whole_parts(np.stack([first, second]), span)
    for a, b in thresholds.T.tolist():
        ratio *= Fraction(a, b) if a > b else Fraction(TOTAL - a, TOTAL - b)
    return ratio


@pytest.mark.parametrize(
    ("channel", "table"),
    [(CliqueRelease([2, 2], [[0]], 1), [[0, 0, 1, 1], [0, 1, 0, 1]]), (QuadraticRelease(1, 1), [[0, 0.5, 1]])],
    ids=["clique-release", "quadratic-release"],
)
def test_channels_that_estimate_something_else_are_refused(
    channel: StatisticsChannel, table: list[list[float]]
) -> None:
    """Their numbers of statistics fit the model, their statistics do not."""
    model = Enumerated(table)
    tally = Tally(channel).add(channel.simulate(np.zeros((5, channel.truth_width)), np.random.default_rng(0)))
    with pytest.raises(IncompatibleEvidenceError):
        estimate(model, tally)
    with pytest.raises(IncompatibleEvidenceError):
        asymptotics(model, channel, np.zeros(model.dimension))


def test_rows_near_a_listed_one_are_noised_as_the_listed_one() -> None:
    """Where all listed rows agree nothing is calibrated for a difference."""
    channel = PerValue(2, 1, statistics="bounded", possible=[[0.5, 0], [0.51, 0]])
    near = channel._read(np.array([[0.5, 1e-16], [0.51 + 1e-12, 1e-10]]), 0)
    assert np.array_equal(near, [[0.5, 0], [0.51, 0]])
    with pytest.raises(InputError, match="row 1"):
        channel.randomize(np.array([[0.5, 0], [0.5, 1e-6]]))


@pytest.mark.parametrize("level", [1, 19, 22, 25, 30])
@pytest.mark.parametrize(
    "values", [[0.5, 1.0], [0.9, 1.0], [0.0, 6.685848654523809e-10, 0.9999999999584261, 1.0], [0.0, 0.25, 1.0]]
)
def test_listed_statistics_keep_the_level_however_large_it_is(level: int, values: list[float]) -> None:
    channel = PerValue(1, level, statistics="bounded", possible=[[value] for value in values])
    worst = max(exact_ratio(channel, np.array([a]), np.array([b])) for a in values for b in values)
    assert channel.largest_ratio() == worst
    assert certify(channel).holds
    assert 0.99 * level < channel.privacy_level <= level


def test_many_listed_statistics_are_quick() -> None:
    """Comparing every pair at every step takes a hundred times the calls."""

    def work(size: int) -> None:
        channel = PerValue(size, 1, possible=np.eye(size))
        assert channel.privacy_level == 1.0
        channel.randomize(np.eye(size)[np.arange(5000) % size])

    work(63)  # loads what is compiled
    assert calls_of(lambda: work(64)) < 300_000  # 60 thousand


@pytest.mark.parametrize(("dim", "norm", "level"), [(7, "7/3", 2), (10, "7/10", 4), (3, "3/2", 1)])
def test_bounded_statistics_stay_below_the_level_within_all_tolerances(dim: int, norm: str, level: int) -> None:
    channel = PerValue(dim, level, max_l1_norm=norm, statistics="bounded")
    first, second = (row[0] for row in channel.worst_pair())
    for stretch in (1.0, 1 + 1e-12):  # what the check of the norm lets through
        pair = [np.minimum(row * stretch, 1.0) for row in (first, second)]
        for rows in (pair, pair[::-1]):
            channel._read(np.stack(rows), 0)
            assert log_rounded_up(exact_ratio(channel, *rows)) <= level


def test_the_hybrid_never_states_more_than_it_keeps() -> None:
    levels = [Fraction(tenths, 10) for tenths in range(1, 160, 3)]
    assert all(certify(Hybrid(8, level)).holds for level in levels)


@pytest.mark.parametrize(
    "channel",
    [
        PerValue(3, 1, lower=-0.0),
        PerValue(2, 1, possible=[[-0.0, 0.0], [1.0, 0.0]]),
        CoordinateRelease.for_model(Enumerated(-np.array([[0.0, 0, 1, 1], [0, 1, 0, 1]])), 1),
    ],
    ids=["lower", "possible", "model"],
)
def test_minus_zero_is_zero(channel: StatisticsChannel) -> None:
    assert build_channel(channel.specification()).fingerprint == channel.fingerprint


@pytest.mark.parametrize("dtype", [np.uint8, np.bool_, np.float64])
def test_masked_entries_are_refused_in_every_type(dtype: type) -> None:
    mask = np.array([[False, False, False], [False, True, False]])
    rows: Any = np.ma.array(np.zeros((2, 3), dtype=dtype), mask=mask)
    for channel in (PerValue(3, 1), CoordinateRelease(3, 1), BallRelease(3, 1)):
        with pytest.raises(MissingValueError, match="masked"):
            channel.randomize(rows)
        with pytest.raises(MissingValueError, match="masked"):
            channel.randomize_one(rows[1])


def test_sums_that_no_reports_have_are_refused() -> None:
    with pytest.raises(InputError, match="0 to 10"):
        Tally(PerValue(2, 1), [50, 3], 10)
    with pytest.raises(InputError, match="0 to 10"):
        Tally(PerValue(2, 1), [-1, 3], 10)
    with pytest.raises(InputError, match="no 10 reports"):
        Tally(PerValue(2, 1), np.array([2**63 + 5, 0], dtype=np.uint64), 10)
    ball = BallRelease(1, 1)
    nearly_full = Tally(ball, [0, 2**62], 1 << 33)
    with pytest.raises(InputError, match="n_observations"):
        nearly_full.merge(nearly_full)


@pytest.mark.parametrize(
    "columns",
    [
        {"coordinate": [1.9, 0.0], "bit": [1, 0]},
        {"coordinate": [1, 0], "bit": [0.7, np.nan]},
        {"coordinate": ["1", "0"], "bit": [1, 0]},
    ],
)
def test_reports_are_whole_numbers(columns: dict[str, list[object]]) -> None:
    with pytest.raises(InputError, match="whole numbers"):
        Reports(CoordinateRelease(4, 1), {name: np.array(values) for name, values in columns.items()})


def test_bits_are_words_without_sign() -> None:
    with pytest.raises(InputError, match="without sign"):
        Reports(PerValue(4, 1), {"bits": np.array([[3]])})


def test_an_audit_takes_labels_of_any_type() -> None:
    found = audit(SubsetSelection(["a", 1, 2.5], 1), 2000, rng=np.random.default_rng(0))
    assert found.lower_bound <= 1


def test_tiny_levels_are_rounded_up_as_well() -> None:
    rng = np.random.default_rng(0)
    for excess in rng.integers(10**3, 10**6, size=50):
        ratio = 1 + Fraction(int(excess), 10**21)
        stated = Fraction(log_rounded_up(ratio))
        # log(1 + x) ≤ x, and at least x − x²/2
        assert stated >= (ratio - 1) - (ratio - 1) ** 2 / 2 - Fraction(1, 10**39)


def test_a_replaced_threshold_is_what_is_drawn_and_what_is_certified() -> None:
    strong, weak = PerValue(1, 8), PerValue(1, 1)
    truth = np.ones((20_000, 1))
    strong.simulate(truth, np.random.default_rng(0))
    strong.flips = weak.flips
    assert math.isclose(certify(strong).privacy_level, 1.0)
    share = strong.sums(strong.simulate(truth, np.random.default_rng(1)))[0] / len(truth)
    assert abs(share - weak.flips.keep_probability) < 0.03  # 8 standard errors


def test_seeded_directions_state_their_bias() -> None:
    assert certify(BallRelease(3, 1)).to_json()["bias_bound"] == 4e-5
    assert certify(PerValue(3, 1)).to_json()["bias_bound"] == 0.0
