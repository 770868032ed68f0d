"""`device/1`: how random words become a report, to the bit; its law exactly, and words that never tell of the truth."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import islice, pairwise, permutations, product
from typing import Any

import numpy as np
import pytest

from askance import (
    BallRelease,
    CliqueRelease,
    CoordinateRelease,
    PerValue,
    RandomizedResponse,
    SubsetSelection,
    Tally,
    Warner,
    pool,
)
from askance._kernels.draw import TOTAL
from askance.channels import FiniteChannel, device_description, entries, permanent_words, secret_from_token
from askance.channels.device import in_text
from askance.channels.permanent import access_from_token
from askance.channels.statistics.table_release import TableRelease
from askance.channels.words import Words
from askance.errors import InputError
from askance.formats.vectors import device_vectors, example_channels

from .families import CHANNELS as ANSWERS
from .golden.contents import FOLDER
from .statistics_families import CHANNELS as STATISTICS
from .statistics_families import enumerated_truths, enumeration, other_sizes, truths_for

LARGEST = 2**64 - 1
MAPPED: dict[str, Any] = {
    **ANSWERS,
    **{name: channel for name, channel in STATISTICS.items() if channel.device_mapping},
    **{name: channel for name, channel in other_sizes("1").items() if channel.device_mapping},
}


def truths_of(channel: Any) -> list[Any]:
    """All labels, or some truths."""
    if isinstance(channel, FiniteChannel):
        return list(channel.outputs.labels)
    if channel.truth_labels is not None:
        return list(channel.truth_labels.labels)[:20]
    return [row.tolist() for row in truths_for(channel, 6, np.random.default_rng(1))]


# -- words -------------------------------------------------------------------------------------------------------------


def first_word_for(result: int, limit: int) -> int:
    return -(-result * 2**64 // limit)


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 6, 7, 10, 48, 64, 1000, 65535, 65536])
def test_numbers_below_a_limit_are_exactly_uniform(limit: int) -> None:
    """As many words lead to every result: counted by the ends of their intervals, at most the first is left aside."""
    results = range(limit) if limit <= 64 else (0, 1, limit // 3, limit - 2, limit - 1)
    for result in results:
        first, last = first_word_for(result, limit), first_word_for(result + 1, limit) - 1
        words = Words.given([first, last])
        refused = words.below([limit]) == [result] and words.used == 2
        for word in (first + 1, last):
            alone = Words.given([word])
            assert alone.below([limit]) == [result]
        assert last - first + 1 - refused == 2**64 // limit


def test_words_that_are_left_aside_are_followed_by_the_next() -> None:
    words = Words.given([0, 0, LARGEST, 0, 2**63])
    assert words.below([3, 3]) == [2, 1]  # 2⁶⁴ mod 3 = 1: only the word 0 is unfair
    assert words.used == 5


def word_for(result: int, limit: int) -> int:
    """A word from the middle of those that lead to a result."""
    return (result * 2**64 + 2**63) // limit


def words_for(picks: Sequence[int], cells: int) -> Iterator[int]:
    """Words by which these different cells are drawn."""
    order = list(range(cells))
    for place, cell in enumerate(picks):
        at = order.index(cell, place)
        order[place], order[at] = order[at], order[place]
        yield word_for(at - place, cells - place)


@pytest.mark.parametrize(("cells", "size"), [(3, 1), (4, 2), (5, 4), (6, 3)])
def test_subsets_have_their_law(cells: int, size: int) -> None:
    """All ways in which other cells are drawn, each equally likely, give every subset its weight, exactly."""
    sequences = list(permutations(range(cells - 1), size))
    for picks in sequences:
        assert Words.given(words_for(picks, cells - 1)).distinct(cells - 1, size) == list(picks)
    release = TableRelease.for_privacy_level(cells, Fraction(1), size)
    without, with_it, total = release.weights()
    for true in range(cells):
        found: Counter[tuple[int, ...]] = Counter()
        for picks in sequences:
            for coin, weight in ((4 * release.keep - 1, release.keep), (4 * release.keep, TOTAL - release.keep)):
                told = release.told(true, Words.given([coin, *words_for(picks, cells - 1)]))
                found[tuple(np.flatnonzero(told).tolist())] += weight
        assert len(found) == release.number_of_subsets
        for subset, weight in found.items():
            assert len(subset) == size
            assert Fraction(weight, TOTAL * len(sequences)) == Fraction(with_it if true in subset else without, total)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "words has 0 words; allowed: at least 1"),
        ([-1], "-1"),
        ([2**64], "18446744073709551616"),
        ([0.5], "0.5"),
        (["7"], "'7'"),
    ],
)
def test_what_is_no_word_is_refused(words: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        Warner("2/3").report_from_words("yes", words)


def test_too_few_words_are_counted() -> None:
    with pytest.raises(InputError, match="has 4 words; allowed: at least 6"):
        PerValue(6, 1).report_from_words([0] * 6, [1, 2, 3, 4])
    with pytest.raises(InputError, match="has 3 words; allowed: at least 4"):
        SubsetSelection(6, 1, subset_size=2).report_from_words(0, [1, 0, 2**63])  # one is left aside


# -- the law, by counting words ----------------------------------------------------------------------------------------


def threshold_of(outcome: Callable[[int], int]) -> int:
    """How many numbers below 2⁶² give 1, of an outcome that is 1 below some number and 0 from it on."""
    low, high = 0, TOTAL
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if outcome(4 * middle + middle % 4) else (low, middle)
    return low


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_have_their_law(name: str) -> None:
    """Between two thresholds all words give one report; lengths of these intervals sum to the integer weights."""
    channel = ANSWERS[name]
    for y, truth in enumerate(channel.outputs.labels):
        weights = channel.integer_weights[:, y].tolist()
        edges = {0, TOTAL, *np.cumsum(weights, dtype=object).tolist()}
        if isinstance(channel, RandomizedResponse):
            known = channel.thresholds()
            edges |= set(np.cumsum([known["reveal"], *known["base"]], dtype=object).tolist())
        counts: Counter[Any] = Counter()
        for start, stop in zip(sorted(edges)[:-1], sorted(edges)[1:], strict=True):
            first, last = (channel.report_from_words(truth, [word])[0] for word in (4 * start, 4 * stop - 1))
            assert first == last
            counts[first] += stop - start
        assert [counts[label] for label in channel.observations.labels] == weights


def packed(report: str) -> int:
    return int.from_bytes(bytes.fromhex(report), "little")


@pytest.mark.parametrize("name", [name for name, each in STATISTICS.items() if isinstance(each, PerValue)])
def test_bits_have_their_law(name: str) -> None:
    """Every bit depends on its own word alone; the products of thresholds are the enumerated probabilities."""
    channel: Any = STATISTICS[name]
    d = channel.dimension
    exact = channel.enumerate_exactly()
    truths = truths_of(channel) if exact is None else enumerated_truths(channel).tolist()
    for column, truth in enumerate(truths):
        thresholds = []
        for j in range(d):
            for others in (0, LARGEST):
                words, rest = [others] * d, (0 if others else (1 << d) - 1) & ~(1 << j)

                def sent(word: int, words: list[int] = words, rest: int = rest, j: int = j, truth: Any = truth) -> int:
                    words[j] = word
                    bits = packed(channel.report_from_words(truth, words)[0]["bits"])
                    assert bits & ~(1 << j) == rest
                    return bits >> j & 1

                thresholds.append(threshold_of(sent))
        assert thresholds[::2] == thresholds[1::2]
        assert all(channel.flips.raised <= threshold <= channel.flips.keep for threshold in thresholds)
        if exact is not None:
            for row, seen in enumerate(product((0, 1), repeat=d)):
                weight = math.prod(t if bit else TOTAL - t for t, bit in zip(thresholds[::2], seen, strict=True))
                assert weight == exact.weights[row][column]


@pytest.mark.parametrize("name", [name for name, each in STATISTICS.items() if isinstance(each, CoordinateRelease)])
def test_coordinates_have_their_law(name: str) -> None:
    channel = STATISTICS[name]
    exact, release = enumeration(channel), channel.thresholds()["release"]
    ends = np.cumsum([0, *release], dtype=object).tolist()
    for column, truth in enumerate(enumerated_truths(channel).tolist()):
        for j, (start, stop) in enumerate(pairwise(ends)):
            for word in (4 * start, 4 * stop - 1):
                assert channel.report_from_words(truth, [word, 0])[0]["coordinate"] == j

            def sent(word: int, truth: Any = truth, first: int = 4 * start) -> int:
                return int(channel.report_from_words(truth, [first, word])[0]["bit"])

            bit = threshold_of(sent)
            weights = [release[j] * (TOTAL - bit), release[j] * bit]
            assert [exact.weights[2 * j + b][column] for b in (0, 1)] == weights


@pytest.mark.parametrize("name", [name for name, each in STATISTICS.items() if isinstance(each, CliqueRelease)])
def test_cliques_are_drawn_and_told_by_their_tables(name: str) -> None:
    """The first word draws the table; the others make what the table alone makes of the record's cell."""
    channel: Any = STATISTICS[name]
    rng, ends = np.random.default_rng(2), np.cumsum([0, *channel.thresholds()["cliques"]], dtype=object).tolist()
    for truth in truths_of(channel):
        cells = channel.tables.cells_in_all(np.array([truth]))[0]
        for clique, (start, stop) in enumerate(pairwise(ends)):
            for word in (4 * start, 4 * stop - 1):
                rest = rng.integers(0, 2**64, size=12, dtype=np.uint64).tolist()
                report, used = channel.report_from_words(truth, [word, *rest])
                words = Words.given(rest)
                told = channel.releases[clique].told(int(cells[clique]), words)
                assert report["clique"] == clique
                assert packed(report["subset"]) == sum(1 << int(cell) for cell in np.flatnonzero(told))
                assert used == 1 + words.used


def test_tables_with_a_matrix_are_told_by_its_columns() -> None:
    channel = STATISTICS["clique-release-3"]
    columns, first = channel.thresholds()["tables"][0]["columns"], channel.thresholds()["cliques"][0]
    for cell, column in enumerate(columns):
        ends = np.cumsum([0, *column], dtype=object).tolist()
        for o, (start, stop) in enumerate(pairwise(ends)):
            for word in (4 * start, 4 * stop - 1):
                report, used = channel.report_from_words([cell, 0], [4 * first - 1, word])
                assert (packed(report["subset"]), used) == (1 << o, 2)


# -- words never tell of the truth -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MAPPED)
def test_as_many_words_are_used_for_every_truth(name: str) -> None:
    """Also where words are left aside: all truths with words from both sides of thresholds and with unfair ones."""
    channel = MAPPED[name]
    known = device_vectors([channel])["channels"][0]["vectors"]
    patterns = {tuple(map(int, vector["words"])): vector["words_used"] for vector in known}
    for words, used in islice(patterns.items(), 200):
        assert {channel.report_from_words(truth, words)[1] for truth in truths_of(channel)} == {used}


def test_unfair_words_are_among_the_patterns() -> None:
    channel = SubsetSelection(8, 1, subset_size=3)  # of numbers below 7, 6 and 5
    used = {vector["words_used"] for vector in device_vectors([channel])["channels"][0]["vectors"]}
    assert min(used) == 4
    assert max(used) >= 6


@pytest.mark.parametrize("name", MAPPED)
def test_one_is_randomized_by_the_same_mapping(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    channel = MAPPED[name]
    for seed, truth in enumerate(truths_of(channel)[:4]):
        source = np.random.default_rng(seed)
        drawn: list[bytes] = []

        def urandom(count: int, source: np.random.Generator = source, drawn: list[bytes] = drawn) -> bytes:
            drawn.append(source.bytes(count))
            return drawn[-1]

        with monkeypatch.context() as patch:
            patch.setattr(os, "urandom", urandom)
            report = channel.randomize_one(truth)
        words = np.frombuffer(b"".join(drawn), dtype="<u8").tolist()
        assert channel.report_from_words(truth, words) == (report, len(words))


def test_many_bits_are_drawn_in_pieces() -> None:
    """More statistics than words are drawn at a time: bit j still has word j."""
    d = 40_000
    words = np.random.default_rng(3).integers(0, 2**64, size=d, dtype=np.uint64)
    channel, truth = PerValue(d, 4, l1_norm=1), np.eye(1, d, 39_999)[0]
    bits = packed(channel.report_from_words(truth, words.tolist())[0]["bits"])
    limits = np.where(truth == 1, channel.flips.keep, channel.flips.raised)
    wanted = (words >> np.uint64(2)).astype(np.int64) < limits
    assert bits == sum(1 << int(j) for j in np.flatnonzero(wanted))


# -- how a truth is read on a device -----------------------------------------------------------------------------------

BINARY = PerValue(4, 1, max_l1_norm=2)
SCALED = PerValue(4, 1, max_l1_norm=2, lower=-0.1, statistic_bound=0.3)


@pytest.mark.parametrize("channel", [BINARY, SCALED])
@pytest.mark.parametrize("kind", [list, np.array, lambda row: np.array(row, dtype=np.float32)])
def test_ones_are_read_as_they_are_in_bulk(channel: PerValue, kind: Callable[[Any], Any]) -> None:
    lower, width = (0.0, 1.0) if channel is BINARY else (-0.1, 0.3)
    for ones in ([0, 0, 0, 0], [1, 0, 0, 1], [0, 0, 1, 0]):
        truth = kind([lower + width * one for one in ones])
        if getattr(truth, "dtype", None) == np.float32 and channel is SCALED:
            with pytest.raises(InputError, match="bounds"):
                channel.randomize_one(truth)
            continue
        assert channel._read_one(truth).tolist() == [bool(one) for one in ones]


@pytest.mark.parametrize("off", [5e-13, 1e-12, -1e-12, 1.0000000000001e-12])
def test_rounding_is_no_difference(off: float) -> None:
    """What bulk reading takes for 0 and 1, a device takes for them."""
    truth = [off, 1 + off, 1 - abs(off), abs(off) / 2]
    try:
        BINARY.randomize([truth])
    except InputError:
        with pytest.raises(InputError, match="bounds"):
            BINARY.randomize_one(truth)
    else:
        assert BINARY._read_one(truth).tolist() == [False, True, True, False]


@pytest.mark.parametrize(
    "wrong",
    [[0, 0, 0.5, 0], [0, 0, 2, 0], [0, 0, -1, 0], [0, math.inf, 0, 0], [0, math.nan, 0, 0], [1e300, 0, 0, 0]],
)
def test_what_is_neither_0_nor_1_is_refused(wrong: list[float]) -> None:
    for truth in (wrong, np.array(wrong)):
        with pytest.raises(InputError, match=r"bounds|missing|infinite"):
            BINARY.randomize_one(truth)


def test_true_and_false_are_read_where_statistics_are_0_and_1() -> None:
    flags = np.array([True, False, False, True])
    assert BINARY._read_one(flags).tolist() == flags.tolist()
    with pytest.raises(InputError, match="wrong sum"):
        BINARY.randomize_one(np.ones(4, dtype=bool))
    with pytest.raises(InputError, match="bounds"):
        SCALED.randomize_one(flags)
    with pytest.raises(InputError, match="shape"):
        BINARY.randomize_one(np.ones((2, 2), dtype=bool))


# -- what was fixed with device/1 --------------------------------------------------------------------------------------

GOLDEN: list[Any] = [
    RandomizedResponse("1/2", outputs=["no", "yes", "né"]),
    Warner("2/3"),
    PerValue(5, 1, max_l1_norm=2),
    PerValue(3, 1, max_l1_norm="3/2", statistics="bounded", lower=-1, statistic_bound=2),
    SubsetSelection(6, 1, subset_size=2),
    CoordinateRelease(3, 1, release_distribution=["1/2", "1/4", "1/4"]),
    STATISTICS["clique-release-3"],
]


def test_the_mapping_is_as_it_was_fixed() -> None:
    """A device that was built by these answers is in somebody's hands: they never change."""
    known = json.loads((FOLDER / "device_1.vectors.json").read_text(encoding="utf-8"))
    assert (known["askance"], known["device"]) == ("vectors/1", "device/1")
    for channel, stored in zip(GOLDEN, known["channels"], strict=True):
        assert stored["device"] == device_description(channel)
        for vector in stored["vectors"]:
            report = channel.report_from_words(vector["truth"], map(int, vector["words"]))
            assert report == (vector["report"], vector["words_used"])
    for stored in known["permanent"]:
        assert secret_from_token(stored["token"]).hex() == stored["secret"]
        assert access_from_token(stored["token"]) == stored["access"]
        words = permanent_words(bytes.fromhex(stored["secret"]), stored["campaign"], stored["question"])
        assert [str(word) for word in islice(words, 9)] == stored["words"]


# -- descriptions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MAPPED)
def test_descriptions_round_nothing(name: str) -> None:
    channel = MAPPED[name]
    described = device_description(channel)
    assert (described["format"], described["kind"]) == ("device/1", channel.kind)
    assert described["fingerprint"] == channel.fingerprint
    assert described["thresholds"] == in_text(channel.thresholds())
    assert "purpose" not in described
    assert device_description(channel.for_purpose("smokes"))["purpose"] == "smokes"

    def whole_numbers(value: Any) -> Iterator[int]:
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
        yield from (value,) if type(value) is int else (number for entry in inner for number in whole_numbers(entry))

    assert all(number < 2**53 for number in whole_numbers(described))


def test_every_channel_of_answers_has_a_mapping_and_four_on_statistics() -> None:
    mapped = {entry.kind for entry in entries(None) if entry.channel_class.device_mapping}
    answers = {entry.kind for entry in entries()}
    assert mapped - answers == {"per-value", "subset-selection", "coordinate-release", "clique-release"}
    assert answers <= mapped
    assert {channel.kind for channel in example_channels()} == mapped


def test_what_has_no_mapping_is_refused() -> None:
    ball = BallRelease(3, 1)
    for refused in (lambda: ball.report_from_words([0.0, 0.0, 0.0], [1, 2, 3]), lambda: device_description(ball)):
        with pytest.raises(InputError, match="ball-release has no mapping in device/1"):
            refused()
    pooled: Any = pool([Tally(Warner("2/3"), [3, 4]), Tally(Warner("3/4"), [1, 2])]).channel
    with pytest.raises(InputError, match="pooled tally"):
        pooled.report_from_words("yes", [1])
    with pytest.raises(InputError, match="no mapping"):
        device_description(pooled)
