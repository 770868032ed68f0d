"""What every channel of the registry must do: inherited by registering."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from askance import build_channel, certify
from askance._arrays import IntArray, WordArray
from askance._kernels import draw
from askance._kernels.draw import TOTAL
from askance.channels import FiniteChannel, entries
from tests.families import CHANNELS

every_channel = pytest.mark.parametrize("channel", CHANNELS.values(), ids=CHANNELS.keys())


def exact_matrix(channel: FiniteChannel) -> list[list[Fraction]]:
    return [[Fraction(int(w), TOTAL) for w in row] for row in channel.integer_weights]


def test_the_registry_has_every_design_asked_for() -> None:
    assert {entry.kind for entry in entries()} >= {
        "randomized-response",
        "matrix",
        "warner",
        "forced-response",
        "unrelated-question",
        "crosswise",
        "disguised-response",
        "noisy-labels",
        "complementary-labels",
        "coarsened",
        "direct",
    }
    assert all(entry.examples and entry.summary and entry.use for entry in entries())


@every_channel
def test_columns_sum_to_one_exactly(channel: FiniteChannel) -> None:
    for column in zip(*exact_matrix(channel), strict=True):
        assert sum(column) == 1
        assert min(column) >= 0


@every_channel
def test_float_matrix_is_the_realised_one(channel: FiniteChannel) -> None:
    exact = exact_matrix(channel)
    assert all(
        channel.matrix[o, y] == float(exact[o][y])
        for o in range(len(channel.observations))
        for y in range(len(channel.outputs))
    )


@every_channel
def test_level_is_the_largest_log_ratio(channel: FiniteChannel) -> None:
    ratios = []
    for row in exact_matrix(channel):
        if max(row) > 0:
            ratios.append(math.inf if min(row) == 0 else math.log(max(row) / min(row)))
    assert channel.privacy_level == pytest.approx(max(ratios), rel=1e-14)
    certificate = certify(channel)
    assert certificate.privacy_level == channel.privacy_level
    worst = {channel.observations.labels[o] for o, r in enumerate(ratios) if r >= max(ratios) - 1e-10}
    assert set(certificate.worst_observations) == worst
    assert certificate.largest_ratio == channel.largest_ratio()


@every_channel
def test_matrix_acts_as_apply_and_its_transpose(channel: FiniteChannel) -> None:
    rng = np.random.default_rng(3)
    p, g = rng.dirichlet(np.ones(len(channel.outputs))), rng.normal(size=len(channel.observations))
    np.testing.assert_allclose(channel.apply(p), channel.matrix @ p, rtol=1e-14, atol=1e-16)
    np.testing.assert_allclose(channel.apply_transposed(g), channel.matrix.T @ g, rtol=1e-13, atol=1e-14)


@every_channel
def test_likelihood_is_the_logarithm_of_the_matrix(channel: FiniteChannel) -> None:
    labels = list(channel.observations.labels)
    with np.errstate(divide="ignore"):
        expected = np.log(channel.matrix)
    np.testing.assert_array_equal(channel.log_likelihood(labels), expected)


@every_channel
def test_specification_rebuilds_it_exactly(channel: FiniteChannel) -> None:
    again = build_channel(channel.specification())
    assert type(again) is type(channel)
    assert again.fingerprint == channel.fingerprint
    assert again == channel
    assert hash(again) == hash(channel)
    assert again.specification() == channel.specification()


def words_at_thresholds(channel: FiniteChannel, y: int) -> tuple[WordArray, list[int]]:
    """For every observation possible given y, the words at both ends of the intervals that must give it."""
    weights = [int(w) for w in channel.integer_weights[:, y]]
    positions, start = [], 0
    revealed = channel.extreme_weights()[0] - channel.extreme_weights()[1]
    if channel.kind == "randomized-response":
        reveal = int(revealed[0])
        positions.append((0, reveal - 1, y))
        start, weights[y] = reveal, weights[y] - reveal
    for o, weight in enumerate(weights):
        if weight:
            positions.append((start, start + weight - 1, o))
        start += weight
    assert start == TOTAL
    words = [end << draw.DISCARDED_BITS for first, last, _ in positions for end in (first, last)]
    return np.array(words, dtype=np.uint64), [o for _, _, o in positions for _ in range(2)]


@every_channel
def test_sampler_realises_exactly_its_weights(channel: FiniteChannel) -> None:
    """Inverse transform is monotone between thresholds, so the ends of the intervals decide the whole law."""
    for y in range(len(channel.outputs)):
        words, expected = words_at_thresholds(channel, y)
        truth = np.full(len(words), y)
        for compiled in (False, True):
            out = np.empty(len(words), dtype=np.int64)
            channel._draw(truth, words, out, compiled=compiled)
            assert out.tolist() == expected
        assert [channel._draw_one(y, number) for number in numbers_of(words)] == expected


def numbers_of(words: Any) -> IntArray:
    """What is compared with thresholds."""
    return (np.asarray(words, np.uint64) >> np.uint64(draw.DISCARDED_BITS)).astype(np.int64)


def drawn_elsewhere(thresholds: dict[str, Any], y: int, number: int) -> int:
    """What a device in another language does with a number below 2⁶², as docs/reports.md says it."""
    if "reveal" in thresholds:
        if number < thresholds["reveal"]:
            return y
        number, weights = number - thresholds["reveal"], thresholds["base"]
    else:
        weights = thresholds["columns"][y]
    return next(o for o in range(len(weights)) if number < sum(weights[: o + 1]))


@every_channel
def test_thresholds_are_the_integers_of_the_sampler(channel: FiniteChannel) -> None:
    """They survive JSON, make up 2⁶² for every output, and draw what the sampler draws at all of its thresholds."""
    thresholds = channel.thresholds()
    assert json.loads(json.dumps(thresholds)) == thresholds
    lists = thresholds.get("columns") or [[thresholds["reveal"], *thresholds["base"]]] * len(channel.outputs)
    assert [sum(weights) for weights in lists] == [TOTAL] * len(channel.outputs)
    for y in range(len(channel.outputs)):
        words, expected = words_at_thresholds(channel, y)
        numbers = [int(word) >> draw.DISCARDED_BITS for word in words]
        assert [drawn_elsewhere(thresholds, y, number) for number in numbers] == expected


@every_channel
def test_compiled_plain_and_single_draws_agree_bit_for_bit(channel: FiniteChannel) -> None:
    rng = np.random.default_rng(5)
    truth = rng.integers(0, len(channel.outputs), 5000)
    words = rng.integers(0, 2**64, 5000, dtype=np.uint64)
    plain, compiled = np.empty(5000, np.int64), np.empty(5000, channel.observations.code_dtype)
    channel._draw(truth, words, plain, compiled=False)
    channel._draw(truth, words, compiled, compiled=True)
    assert np.array_equal(plain, compiled)
    numbers = numbers_of(words[:500])
    assert plain[:500].tolist() == [channel._draw_one(int(y), n) for y, n in zip(truth[:500], numbers, strict=True)]


@every_channel
def test_draws_are_labels_and_seeds_repeat(channel: FiniteChannel) -> None:
    labels = list(channel.outputs.labels) * 20
    drawn = channel.randomize(labels)
    assert set(drawn.tolist()) <= set(channel.observations.labels)
    assert channel.randomize_one(labels[0]) in channel.observations.labels
    first = channel.simulate(labels, np.random.default_rng(1))
    assert np.array_equal(first, channel.simulate(labels, np.random.default_rng(1)))


@every_channel
def test_simulation_follows_the_matrix(channel: FiniteChannel) -> None:
    """χ² against S, every output 20,000 times; false-alarm rate 1e-9 per column."""
    from scipy.stats import chi2

    n = 20_000
    for y, label in enumerate(channel.outputs.labels):
        for drawn in (
            channel.simulate([label] * n, np.random.default_rng(11)),
            channel.randomize([label] * n),
        ):
            codes = channel.observations.encode(drawn)
            counts = np.bincount(codes, minlength=len(channel.observations))
            possible = channel.matrix[:, y] > 0
            assert counts[~possible].sum() == 0
            expected = n * channel.matrix[possible, y]
            statistic = ((counts[possible] - expected) ** 2 / expected).sum()
            degrees = int(possible.sum()) - 1
            assert degrees == 0 or statistic < chi2.isf(1e-9, degrees)
