"""Packed bits: what is packed comes back, coins have exactly their probability, counts are sums."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askance._arrays import AnyArray, WordArray
from askance._kernels import bits
from askance._kernels.draw import PRECISION_BITS, TOTAL

HALF = TOTAL // 2
# Around 0, 1/2 and 1, where a coin is decided late, and two plain ones.
THRESHOLDS = [1, 2, HALF - 1, HALF, HALF + 1, TOTAL - 2, TOTAL - 1, TOTAL // 3, 3 * TOTAL // 5]
FLIPS = {"compiled": True, "plain": False}
both_loops = pytest.mark.parametrize("compiled", FLIPS.values(), ids=FLIPS.keys())


def random_words(rng: np.random.Generator, size: int | tuple[int, ...]) -> WordArray:
    return rng.integers(0, 2**64, size=size, dtype=np.uint64)


def random_bits(rng: np.random.Generator, rows: int, width: int) -> AnyArray:
    return rng.integers(0, 2, size=(rows, width), dtype=np.uint8)


def flip(
    truth: WordArray, keep: int, raised: int, width: int, words: WordArray, *, compiled: bool, start: int = 0
) -> tuple[WordArray, int]:
    """One call of the loop: the noised words (those not reached stay 0) and the first one that was not done."""
    loop = bits.flip if compiled else bits.flip_plain
    planes = bits.planes_of(keep), bits.planes_of(raised)
    out = np.zeros(truth.size, dtype=np.uint64)
    mask = np.uint64(bits.last_word_mask(width))
    done = loop(truth.reshape(-1), *planes, bits.words_for(width), mask, words, start, out)
    return out, int(done)


def planes_with(numbers: list[int]) -> WordArray:
    """Random words that give coin i of a single word the number U = numbers[i]: word p holds bit 61 − p of each."""
    return np.array(
        [
            sum(((number >> (PRECISION_BITS - 1 - plane)) & 1) << coin for coin, number in enumerate(numbers))
            for plane in range(PRECISION_BITS)
        ],
        dtype=np.uint64,
    )


# -- packing -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.uint8, np.bool_, np.int64])
def test_what_is_packed_comes_back_at_every_width(dtype: type) -> None:
    rng = np.random.default_rng(1)
    for width in range(1, 201):
        dense = random_bits(rng, 5, width)
        words = bits.pack(dense.astype(dtype))
        assert words.dtype == np.uint64
        assert words.shape == (5, bits.words_for(width)) == (5, (width + 63) // 64)
        assert np.array_equal(bits.unpack(words, width), dense)
        assert not (words[:, -1] & ~np.uint64(bits.last_word_mask(width))).any()


def test_bit_j_is_bit_j_mod_64_of_word_j_div_64() -> None:
    for position in (0, 1, 7, 8, 63, 64, 65, 127, 128, 199):
        dense = np.zeros((1, 200), dtype=np.uint8)
        dense[0, position] = 1
        words = bits.pack(dense)[0].tolist()
        assert words == [1 << (position % 64) if w == position // 64 else 0 for w in range(4)]


def test_packing_reads_any_memory_layout_and_no_rows() -> None:
    dense = random_bits(np.random.default_rng(2), 40, 150)
    assert np.array_equal(bits.pack(dense[::2, ::-1]), bits.pack(np.ascontiguousarray(dense[::2, ::-1])))
    assert np.array_equal(bits.pack(np.asfortranarray(dense)), bits.pack(dense))
    assert np.array_equal(bits.unpack(bits.pack(dense)[::3], 150), dense[::3])
    assert bits.pack(dense[:0]).shape == (0, 3)


@pytest.mark.parametrize(("width", "mask"), [(1, 1), (63, 2**63 - 1), (64, 2**64 - 1), (65, 1), (128, 2**64 - 1)])
def test_the_last_word_holds_what_is_left(width: int, mask: int) -> None:
    assert bits.last_word_mask(width) == mask


@given(st.integers(0, TOTAL - 1))
def test_planes_spell_the_threshold(threshold: int) -> None:
    planes = bits.planes_of(threshold).tolist()
    assert len(planes) == PRECISION_BITS
    assert set(planes) <= {0, 2**64 - 1}
    assert sum((plane & 1) << (PRECISION_BITS - 1 - p) for p, plane in enumerate(planes)) == threshold


# -- noising -----------------------------------------------------------------------------------------------------------


@both_loops
@pytest.mark.parametrize("keep", range(1, 64))
def test_coins_have_exactly_their_probability(keep: int, compiled: bool) -> None:
    """Thresholds of six bits: the 64 coins of one word get all 64 patterns, and as many are 1 as the threshold says."""
    raised = keep // 3
    words = planes_with([pattern << (PRECISION_BITS - 6) for pattern in range(64)])
    words[6:] = random_words(np.random.default_rng(keep), PRECISION_BITS - 6)  # what follows must not matter
    unit = 1 << (PRECISION_BITS - 6)
    for truth, ones in ((2**64 - 1, keep), (0, raised)):
        given_words = np.array([truth], dtype=np.uint64)
        out, done = flip(given_words, keep * unit, raised * unit, 64, words, compiled=compiled)
        assert done == 1
        assert int(out[0]).bit_count() == ones
        assert int(out[0]) == 2**ones - 1  # exactly the patterns below the threshold


@both_loops
@pytest.mark.parametrize("keep", THRESHOLDS)
def test_a_coin_is_one_where_its_number_is_below_the_threshold(keep: int, compiled: bool) -> None:
    """All 62 bits count: numbers just below, at and just above both thresholds are told apart."""
    rng = np.random.default_rng(keep % 2**32)
    raised = max(keep - 1, keep // 2)
    near = [n for t in (keep, raised) for n in (t - 1, t, t + 1) if 0 <= n < TOTAL]
    numbers = [*near, 0, TOTAL - 1, *rng.integers(0, TOTAL, size=64 - 2 - len(near)).tolist()]
    truth = int(random_words(rng, 1)[0])
    expected = sum((number < (keep if (truth >> coin) & 1 else raised)) << coin for coin, number in enumerate(numbers))
    out, _ = flip(np.array([truth], dtype=np.uint64), keep, raised, 64, planes_with(numbers), compiled=compiled)
    assert int(out[0]) == expected


@both_loops
def test_every_word_of_a_row_has_coins_of_its_own(compiled: bool) -> None:
    """Numbers of all ones give 0 and numbers of 0 give 1, within the width of the row and nowhere else."""
    for width in (1, 63, 64, 65, 130):
        truth = bits.pack(random_bits(np.random.default_rng(width), 30, width))
        size = bits.most_words(truth.size)
        lowest, _ = flip(truth, HALF + 5, HALF - 5, width, np.zeros(size, np.uint64), compiled=compiled)
        highest, _ = flip(truth, HALF + 5, HALF - 5, width, np.full(size, 2**64 - 1, np.uint64), compiled=compiled)
        assert np.array_equal(lowest, bits.pack(np.ones((30, width), np.uint8)).reshape(-1))
        assert not highest.any()


@pytest.mark.parametrize("keep", THRESHOLDS)
def test_compiled_and_plain_noise_alike(keep: int) -> None:
    rng = np.random.default_rng(keep % 2**32)
    for width in range(1, 201):
        truth = bits.pack(random_bits(rng, int(rng.integers(1, 60)), width))
        words = random_words(rng, int(rng.integers(0, 2 * bits.most_words(truth.size))))
        raised = int(rng.integers(1, keep + 1))
        compiled, done = flip(truth, keep, raised, width, words, compiled=True)
        plain, plain_done = flip(truth, keep, raised, width, words, compiled=False)
        assert done == plain_done
        assert np.array_equal(compiled, plain)


@both_loops
def test_words_that_are_said_to_be_enough_are_enough(compiled: bool) -> None:
    """Even when every coin is decided by its last bit."""
    for size in (1, 2, 63, 64, 65, 200):
        truth = np.full(size, 2**64 - 1, dtype=np.uint64)
        done, rounds = 0, 0
        while done < size:
            late = np.full(bits.most_words(size - done), 0, dtype=np.uint64)  # equals the threshold until its last bit
            _, done = flip(truth, 1, 1, 64, late, compiled=compiled, start=done)
            rounds += 1
        assert rounds <= -(-size // 64)


def test_noising_goes_on_where_it_stopped() -> None:
    """A source that gives words piece by piece: every piece of truth is noised once, and only once."""
    rng = np.random.default_rng(6)
    truth = random_words(rng, 1000)
    for compiled in FLIPS.values():
        out, done, starts = np.zeros(1000, np.uint64), 0, []
        while done < 1000:
            starts.append(done)
            part, after = flip(truth, HALF + 1, HALF - 1, 64, random_words(rng, 5000), compiled=compiled, start=done)
            assert not part[:done].any()
            assert not part[after:].any()
            assert after > done
            out |= part
            done = after
        assert len(starts) > 1
        # 64,000 coins of probability 1/2: beyond 6.5 standard deviations with probability below 1e-10.
        assert abs(sum(word.bit_count() for word in out.tolist()) - 32_000) < 6.5 * 0.5 * np.sqrt(64_000)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    rows=st.integers(1, 9),
    width=st.integers(1, 200),
    lowest=st.integers(1, HALF),
    span=st.integers(1, HALF - 1),
)
def test_coins_of_any_mean(seed: int, rows: int, width: int, lowest: int, span: int) -> None:
    """Dense coins: compiled, plain, and the comparison they stand for."""
    rng = np.random.default_rng(seed)
    shares = rng.choice([0.0, 1.0, 0.5, 1e-18, 1 - 2**-53, *rng.random(3)], size=(rows, width))
    words = random_words(rng, rows * width)
    out = [np.zeros((rows, bits.words_for(width)), np.uint64) for _ in range(2)]
    bits.flip_dense(shares, lowest, span, words, out[0])
    bits.flip_dense_plain(shares, lowest, span, words, out[1])
    assert np.array_equal(out[0], out[1])
    thresholds = [lowest + (min(int(span * t), span) if t < 1 else span) for t in shares.reshape(-1).tolist()]
    drawn = [(word >> (64 - PRECISION_BITS)) < t for word, t in zip(words.tolist(), thresholds, strict=True)]
    assert bits.unpack(out[0], width).reshape(-1).tolist() == drawn


# -- counting ----------------------------------------------------------------------------------------------------------


def assert_counted(words: WordArray, width: int) -> None:
    expected = bits.unpack(words, width).sum(axis=0, dtype=np.int64)
    for compiled in FLIPS.values():
        counts = bits.count_bits(words, width, compiled_loop=compiled)
        assert counts.dtype == np.int64
        assert np.array_equal(counts, expected)


@pytest.mark.parametrize("width", [1, 2, 63, 64, 65, 127, 128, 200, 1000, 1024, 1025, 2048])
def test_counts_are_sums_at_every_number_of_rows(width: int) -> None:
    rng = np.random.default_rng(width)
    for rows in (0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 255, 256, 257, 1000):
        assert_counted(bits.pack(random_bits(rng, rows, width)), width)


def test_counts_are_sums_of_many_rows() -> None:
    rng = np.random.default_rng(8)
    for width, rows in ((5, 70_001), (64, 40_000), (130, 33_333), (1024, 3_333)):
        words = random_words(rng, (rows, bits.words_for(width)))
        words[:, -1] &= np.uint64(bits.last_word_mask(width))
        assert_counted(words, width)


@pytest.mark.parametrize(
    ("width", "rows"),
    # Above 2^15 rows of sixteen words, and sixteen times as many of one word, which go side by side: carries are
    # flushed once and twice, and at the very last row.
    [(1024, 1 << 15), (1024, (1 << 15) + 5), (1024, (2 << 15) + 17), (64, 16 << 15), (64, (16 << 15) + 300)],
)
def test_all_ones_overflow_nothing(width: int, rows: int) -> None:
    words = np.full((rows, width // 64), 2**64 - 1, dtype=np.uint64)
    assert (bits.count_bits(words, width) == rows).all()
    words[rows // 2 :, :] = np.uint64(0xAAAA_AAAA_AAAA_AAAA)
    expected = [rows // 2, rows] * (width // 2)
    assert bits.count_bits(words, width).tolist() == expected


def test_counts_read_any_memory_layout() -> None:
    rng = np.random.default_rng(9)
    words = random_words(rng, (5000, 6))
    assert_counted(words[::2, ::3], 128)
    assert_counted(np.asfortranarray(words), 384)
