"""The hypercube channel: its law, level, β and covariances, exactly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from askance import build_channel, certify
from askance._arrays import FloatArray, WordArray
from askance._kernels import bits, signs
from askance._kernels.draw import TOTAL
from askance.channels.randomness import WordSource
from askance.channels.statistics import CoordinateRelease, Hypercube, Reports
from askance.channels.statistics import hypercube as module
from askance.errors import InputError, MissingValueError, ShapeError
from askance.evidence import Tally

DIMENSIONS = (1, 2, 3, 4, 5)


def corners(d: int) -> list[tuple[int, ...]]:
    return list(product((0, 1), repeat=d))


def all_reports(channel: Hypercube) -> Reports:
    dense = np.array(corners(channel.dimension), dtype=np.uint8)
    return Reports(channel, {"signs": bits.pack(dense)})


def law(channel: Hypercube, t: Sequence[Fraction]) -> list[Fraction]:
    """S(o | t) for all corners o, by summing over the corners V that t may be rounded to."""
    d, q = channel.dimension, Fraction(channel.coin.keep, TOTAL)
    result = []
    for seen in corners(d):
        total = Fraction(0)
        for v in corners(d):
            chance = math.prod((p if bit else 1 - p for p, bit in zip(t, v, strict=True)), start=Fraction(1))
            inner = sum(1 if a == b else -1 for a, b in zip(seen, v, strict=True))
            total += chance * (2 * q if inner > 0 else 2 * (1 - q) if inner < 0 else 1) / 2**d
        result.append(total)
    return result


def fixed_words(*calls: Sequence[int]) -> WordSource:
    """A source that gives these words, call by call."""
    left = list(calls)

    def source(count: int) -> WordArray:
        words = np.array(left.pop(0), dtype=np.uint64)
        assert len(words) == count
        return words

    return source


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("compiled", [False, True])
def test_the_sampler_has_the_stated_law(d: int, compiled: bool) -> None:
    """Every random corner meets every truth and both faces of the coin: what comes out is S, exactly."""
    channel = Hypercube(d, 1)
    cube = np.array(corners(d), dtype=np.uint8)
    n = len(cube)
    drawn = bits.pack(np.tile(cube, (2, 1)))[:, 0].tolist()
    coins = [4 * (channel.coin.keep - 1)] * n + [
        4 * channel.coin.keep
    ] * n  # the last below the threshold, the first not
    for v in corners(d):
        truth = np.tile(np.array(v, dtype=np.uint8), (2 * n, 1))
        out = channel.columns[0].empty(2 * n)
        source = fixed_words(drawn, coins)
        channel._draw(channel._read(truth, 0), source, {"signs": out}, compiled=compiled)
        counted = {seen: Fraction(0) for seen in corners(d)}
        for i, seen in enumerate(bits.unpack(out, d).tolist()):
            weight = channel.coin.keep if i < n else TOTAL - channel.coin.keep
            counted[tuple(seen)] += Fraction(weight, n * TOTAL)
        assert list(counted.values()) == law(channel, [Fraction(bit) for bit in v])


@pytest.mark.parametrize("d", DIMENSIONS)
def test_beta_is_unbiased_in_exact_arithmetic(d: int) -> None:
    """E[o | x] = x/B with B = 2^{d−1}/((2q − 1) C(d − 1, ⌊(d − 1)/2⌋)), and E[o oᵀ | x] = I, for odd and even d."""
    channel = Hypercube(d, "3/2")
    q = Fraction(channel.coin.keep, TOTAL)
    scale = Fraction(2 ** (d - 1)) / ((2 * q - 1) * math.comb(d - 1, (d - 1) // 2))
    assert channel.scale == pytest.approx(float(scale), rel=1e-14)
    t = [Fraction(j + 1, 7) for j in range(d)]
    weights = law(channel, t)
    assert sum(weights) == 1
    o = [[2 * bit - 1 for bit in corner] for corner in corners(d)]
    for i in range(d):
        assert sum(w * each[i] for w, each in zip(weights, o, strict=True)) == (2 * t[i] - 1) / scale
        for j in range(d):
            assert sum(w * each[i] * each[j] for w, each in zip(weights, o, strict=True)) == int(i == j)


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("level", ["1/100", "1/2", "1", "4", "30"])
def test_the_level_is_spent_and_not_exceeded(d: int, level: str) -> None:
    channel = Hypercube(d, level)
    certificate = certify(channel)
    assert 0.99 * channel.stated_level <= certificate.privacy_level <= channel.stated_level
    assert certificate.proved_by == "enumeration"
    assert certificate.unbiased
    assert certificate.largest_ratio == Fraction(channel.coin.keep, channel.coin.raised)
    assert set(certificate.worst_observations) == set(channel.worst_observations())


def test_between_corners_no_ratio_is_larger() -> None:
    channel = Hypercube(4, 1)
    points = [law(channel, [Fraction(a, 2) for a in row]) for row in product(range(3), repeat=4)]
    worst = max(max(seen) / min(seen) for seen in zip(*points, strict=True))
    assert worst == channel.largest_ratio()
    first, second = channel.worst_pair()
    ratio = law(channel, [Fraction(x) for x in first[0]])[-1] / law(channel, [Fraction(x) for x in second[0]])[-1]
    assert ratio == channel.largest_ratio()


def test_wide_channels_are_proved_by_structure() -> None:
    certificate = certify(Hypercube(300, 1))
    assert certificate.proved_by == "structure"
    assert certificate.worst_observations == ("1" * 300,)
    assert 0.99 <= certificate.privacy_level <= 1


@pytest.mark.parametrize("d", [2, 3, 4])
@pytest.mark.parametrize("averaging", ["within", "printed"])
def test_covariances_are_those_of_the_law(d: int, averaging: str) -> None:
    channel = Hypercube(d, 1, lower=np.arange(d), statistic_bound=np.arange(d) + 1.0)
    shares = np.random.default_rng(d).random((6, d))
    truth = channel._bounds.values(shares)
    weights = np.arange(1, 7) / 21
    laws = np.array([[float(p) for p in law(channel, [Fraction(x) for x in row])] for row in shares.tolist()])
    beta = channel.debias(all_reports(channel))
    np.testing.assert_allclose(laws @ beta, truth, atol=1e-12)
    mean = weights @ truth
    expected = (beta - mean).T @ ((weights @ laws)[:, None] * (beta - mean))
    covariance = channel.mean_covariance(truth, weights, averaging)  # type: ignore[arg-type]
    np.testing.assert_allclose(covariance, expected, rtol=1e-10, atol=1e-10)
    within = (truth - mean).T @ (weights[:, None] * (truth - mean))
    excess = channel.excess_covariance(truth, weights, averaging)  # type: ignore[arg-type]
    np.testing.assert_allclose(excess, expected - within, rtol=1e-10, atol=1e-10)
    # from sums of many reports the same diagonal is found
    n = 10**9
    sums = np.rint(n * (weights @ laws) @ bits.unpack(all_reports(channel).columns["signs"], d)).astype(np.int64)
    np.testing.assert_allclose(channel.variances(sums, n), np.diag(expected), rtol=1e-6)
    np.testing.assert_allclose(channel.mean(sums, n), mean, atol=1e-7)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_likelihoods_are_the_law(d: int) -> None:
    channel = Hypercube(d, 1, lower=-1, statistic_bound=2)
    points = [[Fraction(j + i, 9) for j in range(d)] for i in range(4)] + [[Fraction(1)] * d]
    expected = np.array([[float(p) for p in law(channel, t)] for t in points]).T
    truth = np.array([[float(2 * t - 1) for t in row] for row in points])
    np.testing.assert_allclose(np.exp(channel.log_likelihood(all_reports(channel), truth)), expected, rtol=1e-12)
    corner = channel.log_likelihood(all_reports(channel), truth[-1:])  # corners take a shorter way
    np.testing.assert_allclose(np.exp(corner), expected[:, -1:], rtol=1e-12)


def test_likelihoods_of_many_statistics_are_worked_out_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    channel = Hypercube(70, 1)
    rng = np.random.default_rng(3)
    truth = rng.random((3, 70))
    reports = channel.simulate(rng.random((5, 70)), rng)
    whole = channel.log_likelihood(reports, truth)
    monkeypatch.setattr(module, "_LIKELIHOOD_NUMBERS", 500)
    np.testing.assert_array_equal(channel.log_likelihood(reports, truth), whole)
    flat = -70 * math.log(2)
    assert (np.abs(whole - flat) <= 1).all()
    middle = channel.log_likelihood(reports, np.full((1, 70), 0.5))  # says nothing: every corner is as likely
    np.testing.assert_allclose(middle, flat, rtol=1e-12)


@pytest.mark.parametrize("d", [1, 3, 16, 64, 65, 130])
@pytest.mark.parametrize("binary", [True, False])
def test_compiled_and_plain_give_the_same_bits(d: int, binary: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    channel = Hypercube(d, 1)
    rng = np.random.default_rng(d)
    truth = rng.random((4200, d))
    truth = np.rint(truth) if binary else truth
    reports = channel.simulate(truth, np.random.default_rng(7))
    monkeypatch.setattr("askance.channels.statistics.base.COMPILED_PAYS_FROM", 1 << 40)
    assert channel.simulate(truth, np.random.default_rng(7)) == reports
    if binary:  # the same statistics as booleans
        assert channel.simulate(truth.astype(bool), np.random.default_rng(7)) == reports


def test_more_statistics_than_one_draw_of_words_gives() -> None:
    d = (1 << 14) + 70
    channel = Hypercube(d, 1)
    rng = np.random.default_rng(0)
    shares = rng.random((2, d))
    shares[:, :100] = 1.0
    corner = channel._round(shares, lambda count: rng.integers(0, 2**64, size=count, dtype=np.uint64), compiled=False)
    dense = bits.unpack(corner, d)
    assert dense[:, :100].all()
    assert abs(dense[:, 100:].mean() - shares[:, 100:].mean()) < 5 * 0.5 / math.sqrt(2 * d)  # 5 standard deviations
    assert channel.simulate(shares, rng).columns["signs"].shape == (2, bits.words_for(d))


def test_rounding_is_by_whole_thresholds() -> None:
    channel = Hypercube(2, 1)
    t = 0.3
    threshold = math.floor(2**62 * t)
    words = np.array([4 * threshold - 1, 4 * threshold], dtype=np.uint64)
    for compiled in (False, True):
        corner = channel._round(np.array([[t, t]]), lambda count: words[:count], compiled=compiled)
        assert corner.tolist() == [[1]]  # just below: +1; at the threshold: −1


def test_estimates_of_many_respondents() -> None:
    """All 40 deviations lie within 5.6 standard errors: a false alarm has probability below 1e-6."""
    rng = np.random.default_rng(11)
    for d, n in ((16, 200_000), (24, 100_000)):
        channel = Hypercube(d, 1, lower=-2, statistic_bound=4)
        truth = rng.uniform(-2, 2, size=(n, d)) * rng.random(d)
        reports = channel.simulate(truth, rng)
        tally = Tally(channel).add(reports)
        # the truth of these very people: the deviation is smaller than the standard error, never larger
        assert (np.abs(tally.mean() - truth.mean(axis=0)) <= 5.6 * tally.standard_errors()).all()
        expected = np.sqrt(np.diag(channel.mean_covariance(truth)) / n)
        np.testing.assert_allclose(tally.standard_errors(), expected, rtol=0.01)
        np.testing.assert_allclose(channel.debias(reports).mean(axis=0), tally.mean(), atol=1e-9)


def test_sums_are_the_same_in_every_split() -> None:
    channel = Hypercube(70, 2)
    rng = np.random.default_rng(2)
    reports = channel.simulate(rng.random((5000, 70)), rng)
    whole = Tally(channel).add(reports)
    parts = [Tally(channel).add(reports[i : i + 700]) for i in range(0, 5000, 700)]
    assert sum(parts[1:], parts[0]) == whole
    assert sum(parts[::-1][1:], parts[-1]) == whole
    assert Reports.join([reports[:10], reports[10:]]) == reports


@pytest.mark.parametrize("d", [1, 2, 3, 4, 7, 100, 2047, 2048, 2049, 5000])
def test_the_scale_of_many_statistics(d: int) -> None:
    """The series takes over without a step, and B is at least √d/(2q − 1): coordinate release never varies more."""
    channel = Hypercube(d, 1)
    exact = Fraction(4 ** (d // 2), math.comb(2 * (d // 2), d // 2)) / (2 * Fraction(channel.coin.keep, TOTAL) - 1)
    assert channel.scale == pytest.approx(float(exact), rel=1e-14)
    assert channel.scale >= math.sqrt(d) / channel.coin.gain * (1 - 1e-15)


def test_coordinate_release_never_varies_more() -> None:
    rng = np.random.default_rng(1)
    for d in (1, 2, 3, 6):
        for level in ("1/4", 1, 4):
            truth = rng.random((5, d)) ** rng.integers(0, 9)
            here = Hypercube(d, level).mean_covariance(truth)
            there = CoordinateRelease(d, level).mean_covariance(truth)
            assert np.linalg.eigvalsh(here - there).min() > -1e-9


def test_it_is_built_again_from_its_specification() -> None:
    channel = Hypercube(3, "1/3", lower=[0, -1, 2], statistic_bound=[1, 0.5, 3])
    assert channel.specification() == {
        "kind": "hypercube",
        "dim": 3,
        "privacy_level": "1/3",
        "lower": [0.0, -1.0, 2.0],
        "statistic_bound": [1.0, 0.5, 3.0],
    }
    assert build_channel(channel.specification()) == channel
    assert Hypercube(3, "1/3") != channel
    report = channel.randomize_one([0.5, -1, 4])
    assert set(report) == {"signs"}
    assert 0 <= int(report["signs"], 16) < 8


TRUTH: FloatArray = np.zeros((2, 3))


@pytest.mark.parametrize(
    ("action", "error", "words"),
    [
        (lambda: Hypercube(0, 1), InputError, ("dim is 0", "at least 1")),
        (lambda: Hypercube(3, 0), InputError, ("privacy_level is 0", "above 0")),
        (lambda: Hypercube(3, 31), InputError, ("privacy_level is 31", "at most 30")),
        (lambda: Hypercube(3, 1, statistic_bound=0), InputError, ("statistic_bound is 0", "above 0")),
        (lambda: Hypercube(3, 1, lower=[1, 2]), ShapeError, ("lower has shape (2,)", "or 3")),
        (lambda: Hypercube(3, 1).randomize(TRUTH[:, :2]), ShapeError, ("(2, 2)", "(n, 3)")),
        (
            lambda: Hypercube(3, 1).randomize(TRUTH + 1.5),
            InputError,
            ("statistic 0 of row 0 lies outside its bounds", "0 to 1"),
        ),
        (
            lambda: Hypercube(3, 1).randomize(TRUTH + np.nan),
            MissingValueError,
            ("statistic 0 of row 0 is missing or infinite",),
        ),
        (
            lambda: Reports(Hypercube(3, 1), {"signs": np.array([[8]], dtype=np.uint64)}),
            InputError,
            ("report 0", "beyond its 3"),
        ),
        (
            lambda: Hypercube(3, 1).mean(np.zeros(3, dtype=np.int64), 1, "all"),  # type: ignore[arg-type]
            InputError,
            ("averaging is 'all'", "within, printed"),
        ),
    ],
)
def test_bad_input(action: object, error: type[Exception], words: tuple[str, ...]) -> None:
    assert callable(action)
    with pytest.raises(error) as caught:
        action()
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_ties_are_left_alone() -> None:
    """Even d: with ⟨o, V⟩ = 0 neither side of the coin turns o."""
    truth, o = np.array([[0b0011]], dtype=np.uint64), np.array([[0b0101]], dtype=np.uint64)
    for coin in (0, 2**64 - 1):
        for turn in (signs.turn_plain, signs.turn):
            out = o.copy()
            turn(truth, np.array([coin], dtype=np.uint64), TOTAL // 2, 4, np.uint64(15), out)
            assert out.tolist() == o.tolist()
