"""Public directions: the generator to the bit, ranks, gains, and what both channels that use them share.

Statistical tests: at most 40 comparisons at a false-alarm rate of 1e-8 each.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.special import bdtr, bdtrc

from askance._arrays import AnyArray, FloatArray, IntArray, WordArray
from askance._kernels import directions, splitmix
from askance.channels.registry import build_channel
from askance.channels.statistics import BallRelease, QuadraticRelease, Reports, ranked
from askance.channels.statistics import directions as shared
from askance.channels.statistics.ranked import limit_gain, ranked_choice, top_sum
from askance.channels.thresholds import exp_rounded_down
from askance.design import certify
from askance.errors import AskanceError, InputError, ProbabilityError
from askance.evidence import Tally

Z_BOUND = float(stats.norm.isf(0.5e-8))
BOTH = [BallRelease, QuadraticRelease]
Both = type[BallRelease] | type[QuadraticRelease]


def unit_rows(n: int, width: int, seed: int) -> AnyArray:
    rows = np.random.default_rng(seed).normal(size=(n, width))
    rows = np.rint(rows / np.linalg.norm(rows, axis=1, keepdims=True) * shared.FINENESS).astype(np.int32)
    return np.pad(rows, ((0, 0), (0, width % 2)))


def some_seeds(n: int, seed: int) -> WordArray:
    return np.random.default_rng(seed).integers(0, 2**64, size=n, dtype=np.uint64)


def chosen_of(
    units: AnyArray, seeds: WordArray, ranks: AnyArray, count: int, magnitude: bool, *, compiled: bool = False
) -> IntArray:
    chosen = np.empty(len(seeds), dtype=np.int64)
    choose = directions.choose if compiled else directions.choose_plain
    choose(units, seeds, ranks, directions.normal_table(), count, magnitude, chosen)
    return chosen


def candidates(seeds: WordArray, numbers: AnyArray, width: int) -> IntArray:
    return directions.candidates_plain(seeds, numbers, directions.normal_table(), width)


# -- the generator -----------------------------------------------------------------------------------------------------


def test_table_is_the_same_from_another_quantile_function() -> None:
    quantile = NormalDist().inv_cdf
    exact = [2896.31 * quantile((a + 0.5) / 65536) for a in range(32768, 65534)]
    upper = [*(round(x) for x in exact), 11522, 12979]
    table = np.array([-t for t in reversed(upper)] + upper, dtype="<i2")
    assert np.array_equal(directions.normal_table(), table)
    assert hashlib.sha256(table.tobytes()).hexdigest() == directions.TABLE_DIGEST
    assert min(abs(abs(x - round(x)) - 0.5) for x in exact) > 9e-6
    assert 2 * int(table.max()) == directions.LARGEST_COMPONENT


def test_a_wrong_table_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directions, "_SCALE", 2896.4)
    with pytest.raises(AskanceError, match="SHA-256"):
        directions.normal_table.__wrapped__()


def test_words_are_those_of_splitmix64() -> None:
    """The published outputs of SplitMix64 started at 1234567."""
    counters = np.arange(1, 6, dtype=np.uint64)
    words = splitmix.mix(np.uint64(1234567) + counters * np.uint64(0x9E3779B97F4A7C15))
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    assert words.tolist() == [*published, 16408922859458223821]


def test_golden_directions() -> None:
    two = directions.candidates_plain(
        np.array([1234567], dtype=np.uint64), np.array([[0, 1]]), directions.normal_table(), 4
    )
    assert two[0].tolist() == [[12383, 1458, -5631, 1770], [941, 2078, 3757, 3316]]
    odd = directions.candidates_plain(
        np.array([0xFEDCBA9876543210], dtype=np.uint64), np.array([[63]]), directions.normal_table(), 5
    )
    assert odd[0, 0].tolist() == [4133, -129, -4804, 10340, -7407]
    units = np.rint(np.array([[0.6, 0.0, -0.8, 0.0]]) * 2**24).astype(np.int32)
    golden = {False: [0, 10, 60, 17, 25, 48], True: [0, 10, 16, 50, 15, 44]}
    for magnitude, expected in golden.items():
        given = np.repeat(units, 6, axis=0), np.full(6, 1234567, dtype=np.uint64), np.arange(6)
        assert chosen_of(*given, 64, magnitude).tolist() == expected


@pytest.mark.parametrize("width", [1, 2, 3, 6, 11])
def test_one_direction_needs_no_other(width: int) -> None:
    seeds = some_seeds(3, 1)
    every = candidates(seeds, np.tile(np.arange(16), (3, 1)), width)
    for i in (0, 7, 15):
        alone = candidates(seeds, np.full((3, 1), i), width)
        assert np.array_equal(alone[:, 0], every[:, i])


@pytest.mark.parametrize("magnitude", [False, True])
@pytest.mark.parametrize(("width", "count"), [(1, 2), (2, 64), (3, 16), (11, 128)])
def test_compiled_loops_give_the_same_bits(width: int, count: int, magnitude: bool) -> None:
    n, rng, table = 60, np.random.default_rng(2), directions.normal_table()
    units, seeds, ranks = unit_rows(n, width, 3), some_seeds(n, 4), rng.integers(0, count, n)
    chosen = chosen_of(units, seeds, ranks, count, magnitude, compiled=True)
    assert np.array_equal(chosen, chosen_of(units, seeds, ranks, count, magnitude))
    found, expected = np.empty((n, n), dtype=np.int64), np.empty((n, n), dtype=np.int64)
    directions.ranks(units, seeds, chosen, table, count, magnitude, found)
    directions.ranks_plain(units, seeds, chosen, table, count, magnitude, expected)
    assert np.array_equal(found, expected)
    assert np.array_equal(np.diagonal(found), ranks)

    first, second = (np.empty((n, max(width - 1, 1)), dtype=np.int64) for _ in range(2))
    directions.directions(seeds, chosen, table, width, first)
    directions.directions_plain(seeds, chosen, table, width, second)
    assert np.array_equal(first, second)


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_compiled_sums_give_the_same_bits(dim: int) -> None:
    n, table = 500, directions.normal_table()
    seeds, chosen = some_seeds(n, 5), np.random.default_rng(6).integers(0, 64, n)
    vectors = np.zeros((2, 2, dim), dtype=np.int64)
    directions.sum_vectors(seeds, chosen, table, dim + 1, vectors[0])
    directions.sum_vectors_plain(seeds, chosen, table, dim + 1, vectors[1])
    assert np.array_equal(*vectors)
    products = np.zeros((2, 2, dim * (dim + 1) // 2), dtype=np.int64)
    directions.sum_products(seeds, chosen, table, dim + 1, products[0])
    directions.sum_products_plain(seeds, chosen, table, dim + 1, products[1])
    assert np.array_equal(*products)
    made = candidates(seeds, chosen[:, None], dim + 1)[:, 0]
    assert products[0, 0, 0] == vectors[0, 1, 0] == int((made[:, 0] ** 2).sum())


@pytest.mark.parametrize("magnitude", [False, True])
@pytest.mark.parametrize("compiled", [False, True])
def test_ties_go_to_the_smaller_number(magnitude: bool, compiled: bool) -> None:
    units, seeds, ranks = np.zeros((8, 4), dtype=np.int32), some_seeds(8, 7), np.arange(8)
    assert np.array_equal(chosen_of(units, seeds, ranks, 8, magnitude, compiled=compiled), ranks)


def test_scores_and_sums_fit_64_bits() -> None:
    width = shared.LARGEST_DIM + 1
    norm = shared.FINENESS * (1 + 1e-9) + math.sqrt(width) / 2
    assert (directions.LARGEST_COMPONENT * math.sqrt(width) * norm + 1) * shared.MOST_CANDIDATES < 2**63
    largest = directions.LARGEST_COMPONENT**2
    assert largest << 33 < 2**63
    assert ((largest + (1 << 16)) >> directions.SQUARE_SHIFT) ** 2 << 33 < 2**63


def test_components_look_normal_and_unrelated() -> None:
    """480,000 components: three moments, and correlations between neighbours of every kind."""
    made = (
        directions.candidates_plain(
            np.arange(5000, dtype=np.uint64), np.tile(np.arange(8), (5000, 1)), directions.normal_table(), 12
        )
        / 4096
    )
    n = made.size
    flat = made.reshape(-1)
    for power, mean, variance in ((1, 0, 1), (2, 1, 2), (4, 3, 96)):
        assert abs((flat**power).mean() - mean) < Z_BOUND * math.sqrt(variance / n)
    pairs = [(made[..., 1:], made[..., :-1]), (made[:, 1:], made[:, :-1]), (made[1:], made[:-1])]
    pairs += [(made[..., 2:], made[..., :-2]), (made[:, 4:], made[:, :-4])]
    for first, second in pairs:
        squares = (first**2 - 1) * (second**2 - 1)
        assert abs((first * second).mean()) < Z_BOUND * math.sqrt(1 / first.size)
        assert abs(squares.mean()) < Z_BOUND * math.sqrt(4 / first.size)


def test_gains_of_few_candidates_are_known() -> None:
    root = math.sqrt(math.pi)
    known = {(2, 1): 1 / root, (3, 1): 1.5 / root, (3, 2): 1.5 / root}
    known[4, 1] = 6 / root * math.atan(math.sqrt(2)) / math.pi  # E max of 4 = (6/√π)·atan(√2)/π
    for (count, top), value in known.items():
        assert top_sum(count, top, 1, magnitude=False) == pytest.approx(value, abs=1e-12)
    assert top_sum(2, 1, 2, magnitude=False) == pytest.approx(1, abs=1e-12)
    assert top_sum(2, 1, 2, magnitude=True) == pytest.approx(1 + 2 / math.pi, abs=1e-12)


@pytest.mark.parametrize("magnitude", [False, True])
@pytest.mark.parametrize(("count", "top"), [(2, 1), (64, 22), (1024, 2), (1024, 500), (65536, 20), (65536, 30000)])
def test_gains_do_not_change_with_more_nodes(
    count: int, top: int, magnitude: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    powers = (2, 4) if magnitude else (1, 2)
    usual = [top_sum.__wrapped__(count, top, power, magnitude=magnitude) for power in powers]
    monkeypatch.setattr(ranked, "_PANELS", 25)
    finer = [top_sum.__wrapped__(count, top, power, magnitude=magnitude) for power in powers]
    np.testing.assert_allclose(usual, finer, rtol=1e-12)


@pytest.mark.parametrize("magnitude", [False, True])
@pytest.mark.parametrize("level", ["1/10", "1", "4", "8"])
def test_the_number_of_best_ones_has_the_largest_gain(level: str, magnitude: bool) -> None:
    extra = math.expm1(Fraction(level))
    for count in (2, 8, 64):
        chosen = ranked_choice(Fraction(level), count, magnitude=magnitude)
        gains = [
            extra / (count + extra * top) * (top_sum(count, top, 1 + magnitude, magnitude=magnitude) - top * magnitude)
            for top in range(1, count)
        ]
        assert chosen.top == 1 + int(np.argmax(gains))
        assert chosen.gain == pytest.approx(max(gains), rel=1e-11)


def test_default_numbers_of_candidates() -> None:
    cases: dict[tuple[str, bool], tuple[int, int, float]] = {
        ("1", False): (64, 22, 0.987),
        ("4", False): (128, 9, 0.985),
        ("8", False): (1024, 4, 0.983),
        ("1", True): (64, 14, 0.981),
        ("4", True): (256, 10, 0.983),
        ("8", True): (1024, 2, 0.957),
    }
    for (level, magnitude), (count, top, share) in cases.items():
        choice = ranked_choice(Fraction(level), None, magnitude=magnitude)
        assert (choice.candidates, choice.top) == (count, top)
        limit, _ = limit_gain(Fraction(level), magnitude=magnitude)
        assert choice.gain / limit == pytest.approx(share, abs=5e-4)
        if count < 1024:
            assert ranked_choice(Fraction(level), count // 2, magnitude=magnitude).gain < 0.98 * limit
    for magnitude in (False, True):  # the limit is a limit
        limit, _ = limit_gain(Fraction(4), magnitude=magnitude)
        assert 0.9998 < ranked_choice(Fraction(4), 65536, magnitude=magnitude).gain / limit < 1


def component_law(copies: int) -> tuple[FloatArray, FloatArray]:
    """Values and probabilities of a sum of `copies` components over √copies, in units of UNIT."""
    table = directions.normal_table().astype(np.int64)
    counts = np.bincount(table - table.min()).astype(float) / 65536
    size = 1 << int(2 * copies * len(counts)).bit_length()
    law = np.fft.irfft(np.fft.rfft(counts, size) ** (2 * copies), size)[: 2 * copies * (len(counts) - 1) + 1]
    law = np.maximum(law, 0)
    largest = directions.LARGEST_COMPONENT * copies
    return np.arange(-largest, largest + 1) / (directions.UNIT * math.sqrt(copies)), law / law.sum()


def exact_top_sum(law: tuple[FloatArray, FloatArray], count: int, top: int, magnitude: bool) -> float:
    """E Σ h (or h²) over the best, for scores on integers: of K candidates E min(Binomial(K, P(h ≥ x)), s) of the best
    have a score of at least x, ties or not.
    """
    values, law_of_values = law
    if magnitude:
        middle = len(values) // 2
        values, law_of_values = values[middle:], law_of_values[middle:] * np.where(np.arange(middle + 1) > 0, 2, 1)
    above = np.append(np.cumsum(law_of_values[::-1])[::-1], 0).clip(0, 1)
    best = count * above * bdtr(top - 1, count - 1, above) + top * bdtrc(top, count, above)
    return float((values ** (1 + magnitude) * (best[:-1] - best[1:])).sum())


@pytest.mark.parametrize("copies", [1, 2])
def test_discrete_directions_have_the_gaussian_gain(copies: int) -> None:
    """For u along an axis, and halfway between two: the exact gain of the integers, next to the quadrature."""
    law = component_law(copies)
    values, weights = law
    for power, moment in ((2, 1), (4, 3), (6, 15)):
        assert (weights * values**power).sum() == pytest.approx(moment, rel=4e-6)
    for magnitude in (False, True):
        choices = [ranked_choice(Fraction(level), None, magnitude=magnitude) for level in ("1/10", "1", "2", "4", "8")]
        cases = [(choice.candidates, choice.top, 2e-5) for choice in choices]
        cases += [(1 << bits, 1, 4e-5) for bits in range(1, 11)] + [(65536, 20, 1e-4), (65536, 1, 3e-4)]
        for count, top, allowed in cases:
            gaussian = top_sum(count, top, 1 + magnitude, magnitude=magnitude) - magnitude * top
            discrete = exact_top_sum(law, count, top, magnitude) - magnitude * top
            assert discrete == pytest.approx(gaussian, rel=allowed / copies)


@pytest.mark.parametrize("magnitude", [False, True])
def test_a_level_too_small_for_62_bits_is_refused(magnitude: bool) -> None:
    with pytest.raises(ProbabilityError, match="no difference between 64 candidates"):
        ranked_choice(Fraction(1, 10**19), 64, magnitude=magnitude)


# -- both channels -----------------------------------------------------------------------------------------------------


def ball(n: int, dim: int, radius: float, seed: int) -> FloatArray:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, dim))
    rows *= radius * (1 - 1e-12) / np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows * rng.choice([0.0, 0.5, 0.999, 1.0], size=(n, 1)))


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("level", ["1/1000", "1/10", "1", "4", "8", "30"])
def test_level_is_spent_exactly(kind: Both, level: str) -> None:
    channel = kind(3, level)
    ratio = channel.largest_ratio()
    assert ratio <= exp_rounded_down(Fraction(level))
    assert 0.999 * float(Fraction(level)) <= channel.privacy_level <= channel.stated_level
    choice = channel.choice
    assert choice.top * choice.high + (choice.candidates - choice.top) * choice.low == 1
    more = ranked.RankedChoice(choice.candidates, choice.top, choice.keep + 1, choice.magnitude)
    assert more.high / more.low > exp_rounded_down(Fraction(level))
    certificate = certify(channel)
    assert certificate.proved_by == "structure"
    assert certificate.unbiased
    assert certificate.largest_ratio == ratio
    assert certificate.worst_observations == (
        f"any seed, and one of its best {choice.top} of {choice.candidates} directions",
    )


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize(("dim", "level", "count"), [(1, 1, 16), (3, "1/2", 64), (4, 4, 32)])
def test_no_pair_of_vectors_can_be_told_apart_beyond_the_level(kind: Both, dim: int, level: Any, count: int) -> None:
    """All choices of many seeds, for close, opposite, orthogonal, zero and extreme vectors: two values, ratio fixed."""
    channel = kind(dim, level, 2, count)
    first, second = channel.worst_pair()
    close = first * (1 - 1e-7)
    vectors = np.concatenate([first, second, -first, close, 0 * first, ball(30, dim, 2.0, 11)])
    seeds = np.concatenate([some_seeds(20, 12), np.array([0, 1, 2**64 - 1], dtype=np.uint64)])
    columns = {"seed": np.repeat(seeds, count), "choice": np.tile(np.arange(count), len(seeds))}
    found = channel.log_likelihood(Reports(channel, columns), vectors)
    high, low = math.log(channel.choice.high), math.log(channel.choice.low)
    is_best = found > (high + low) / 2
    assert set(np.unique(found)) == {np.log(float(channel.choice.high)), np.log(float(channel.choice.low))}
    assert (is_best.reshape(len(seeds), count, -1).sum(axis=1) == channel.choice.top).all()
    assert found.max() - found.min() == pytest.approx(channel.privacy_level, rel=1e-12)
    assert channel.choice.high / channel.choice.low == channel.largest_ratio()
    apart = np.abs(found[:, 0] - found[:, 1]).reshape(len(seeds), count).max(axis=1)
    np.testing.assert_allclose(apart, channel.privacy_level, rtol=1e-12)  # the worst pair differs at every seed
    # The compiled loop, used here, and the plain one agree.
    plain = np.empty(found.shape, dtype=np.int64)
    given = columns["seed"], columns["choice"], directions.normal_table(), count, kind is QuadraticRelease, plain
    directions.ranks_plain(channel._read(vectors, 0), *given)
    assert np.array_equal(plain < channel.choice.top, is_best)


@pytest.mark.parametrize("kind", BOTH)
def test_ranks_are_a_permutation_and_drawn_as_stated(kind: Both) -> None:
    """Each rank gives another choice; best ranks come with probability p, and evenly: binomial and χ² tests."""
    channel = kind(2, 1, candidates=16)
    seeds, vectors = some_seeds(5, 13), ball(5, 2, 1.0, 14)
    for seed, unit in zip(seeds, channel._read(vectors, 0), strict=True):
        chosen = chosen_of(np.tile(unit, (16, 1)), np.full(16, seed), np.arange(16), 16, kind._magnitude)
        assert sorted(chosen.tolist()) == list(range(16))
    n, rng = 200_000, np.random.default_rng(15)
    words = rng.integers(0, 2**64, size=(2, n), dtype=np.uint64)
    counts = np.bincount(channel._ranks(words[0], words[1], _no_source), minlength=16)
    expected = n * np.where(np.arange(16) < channel.choice.top, float(channel.choice.high), float(channel.choice.low))
    assert ((counts - expected) ** 2 / expected).sum() < stats.chi2.isf(1e-8, 15)


def _no_source(count: int) -> WordArray:
    raise AssertionError(f"{count} more words were asked for")


@pytest.mark.parametrize("candidates", [4, 64, 1024])
def test_uneven_numbers_are_drawn_again(candidates: int) -> None:
    """Every rank keeps ⌊2³²/size⌋ of the 2³² numbers: if the lower half fails, the upper is next, then another word."""
    channel = BallRelease(2, 1, candidates=candidates)
    size, asked = channel.choice.top, 0
    best, fine = np.zeros(1, dtype=np.uint64), 2**32 - 1  # a coin below p; a number of the last rank

    def source(count: int) -> WordArray:
        nonlocal asked
        asked += count
        return np.full(count, fine, dtype=np.uint64)

    firsts = [-(-rank * 2**32 // size) for rank in range(size + 1)]
    for rank, (x, following) in enumerate(itertools.pairwise(firsts)):
        fails = x * size % 2**32 < 2**32 % size
        assert following - x - fails == 2**32 // size
        both = np.array([x | (x + 1) << 32], dtype=np.uint64)
        assert channel._ranks(best, both, _no_source).tolist() == [rank]
        again = channel._ranks(best, np.array([x | x << 32], dtype=np.uint64), source)
        assert again.tolist() == [size - 1 if fails else rank]
    assert asked == 2**32 % size


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("dim", [1, 4])
def test_compiled_and_plain_paths_agree(kind: Both, dim: int, monkeypatch: pytest.MonkeyPatch) -> None:
    channel = kind(dim, 1, "3/2", 16)
    vectors = ball(6000, dim, 1.5, 17)
    compiled = channel.simulate(vectors, np.random.default_rng(18))
    sums, beta = channel.sums(compiled), channel.debias(compiled)
    monkeypatch.setattr("askance.channels.statistics.base.COMPILED_PAYS_FROM", 1 << 60)
    monkeypatch.setattr("askance.channels.statistics.directions.COMPILED_PAYS_FROM", 1 << 60)
    assert channel.simulate(vectors, np.random.default_rng(18)) == compiled
    assert np.array_equal(channel.sums(compiled), sums)
    assert np.array_equal(channel.debias(compiled), beta)
    np.testing.assert_allclose(channel.mean(sums, len(compiled)), beta.mean(axis=0), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", BOTH)
def test_every_split_gives_the_same_sums(kind: Both) -> None:
    channel = kind(3, 1, candidates=16)
    reports = channel.simulate(ball(5000, 3, 1.0, 19), np.random.default_rng(20))
    whole = Tally(channel).add(reports)
    parts = [Tally(channel).add(reports[i : i + 700]) for i in range(0, 5000, 700)]
    assert sum(reversed(parts), start=Tally(channel)) == whole
    assert whole.mean().shape == whole.standard_errors().shape == (channel.dimension,)


@pytest.mark.parametrize("kind", BOTH)
def test_specification_rebuilds_the_channel(kind: Both) -> None:
    channels = [kind(2, 1), kind(3, 1), kind(2, 2), kind(2, 1, 2), kind(2, 1, candidates=128), kind(2, 1, "1/3")]
    for channel in channels:
        assert build_channel(channel.specification()) == channel
    assert all(first != second for first, second in itertools.combinations(channels, 2))
    assert kind(2, 1).specification() == {"kind": kind.kind, "dim": 2, "privacy_level": "1", "candidates": 64}
    assert kind(2, 1, candidates=64) == kind(2, 1)


@pytest.mark.parametrize("kind", BOTH)
def test_bad_input(kind: Both) -> None:
    for arguments, message in (
        ((0, 1), "dim is 0"),
        ((1 << 14, 1), "dim is 16384"),
        ((2, 0), "privacy_level is 0"),
        ((2, 1, 0), "radius is 0"),
        ((2, 1, -1), "radius is -1"),
        ((2, 1, "inf"), "radius is inf"),
        ((2, 1, "1e200"), "radius is 1e\\+200"),
        ((2, 1, 1, 1), "candidates is 1;"),
        ((2, 1, 1, 100), "candidates is 100; allowed: a power of two.*Take 128"),
        ((2, 1, 1, 1 << 17), "candidates is 131072"),
        ((2, 1, 1, 64.0), "candidates is 64.0"),
    ):
        with pytest.raises(InputError, match=message):
            kind(*arguments)
    channel = kind(2, 1, 2)
    with pytest.raises(InputError, match=r"vector of row 1 is too long; allowed: a norm of at most 2,.*larger radius"):
        channel.randomize([[0.0, 0.0], [2.000001, 0.0]])
    with pytest.raises(InputError, match="vector of row 4099 is too long;"):
        channel.simulate(np.append(np.zeros((4099, 2)), [[0.0, 3.0]], axis=0), np.random.default_rng(0))
    with pytest.raises(InputError, match="is too long"):
        channel.randomize([[1e300, 0]])
    with pytest.raises(InputError, match="statistic 1 of row 0 is missing or infinite"):
        channel.randomize([[0, math.nan]])
    with pytest.raises(InputError, match="shape"):
        channel.randomize([[1.0]])
    assert len(channel.randomize([[2 + 1e-9, 0]])) == 1  # rounding is not a wrong radius
    with pytest.raises(InputError, match="column 'choice'"):
        Reports(channel, {"seed": np.zeros(1, dtype=np.uint64), "choice": np.array([channel.candidates])})
