"""Subset selection: exactly uniform subsets, the level, β and its covariance by enumeration, the best subset size."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import chi2, norm

from askance import RandomizedResponse, build_channel, certify
from askance._arrays import FloatArray, IntArray, WordArray
from askance._kernels import bits, subsets
from askance._kernels.draw import TOTAL
from askance.channels.registry import entry
from askance.channels.statistics import Enumeration, Reports, SubsetSelection
from askance.channels.statistics.table_release import TableRelease, best_subset_size, members
from askance.channels.thresholds import largest_odds
from askance.errors import InputError, LabelError, MissingValueError, ProbabilityError, ShapeError

# Every statistical test of this file raises a false alarm with at most this probability.
FALSE_ALARM = 1e-6

SMALL = [(2, "1/2", None), (3, 1, 2), (4, 1, 1), (5, "1/10", None), (6, 1, None), (7, 2, 4), (8, "1/2", 7)]


def enumerated(channel: SubsetSelection) -> Enumeration:
    exact = channel.enumerate_exactly()
    assert exact is not None
    return exact


def matrix_and_beta(channel: SubsetSelection) -> tuple[FloatArray, FloatArray]:
    """S (k, w) and β (w, k), from whole numbers."""
    exact = enumerated(channel)
    S = np.array([[weight / exact.total for weight in row] for row in exact.weights])
    return S, np.array([[value / exact.beta_scale for value in row] for row in exact.beta])


def reports_of(channel: SubsetSelection, labels: list[str]) -> Reports:
    dense = np.array([[int(bit) for bit in label] for label in labels], dtype=np.uint8)
    return Reports(channel, {"subset": bits.pack(dense)})


# -- the channel written out ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("outputs", "level", "size"), SMALL)
def test_enumeration_is_the_printed_formula(outputs: int, level: str | int, size: int | None) -> None:
    channel = SubsetSelection(outputs, level, size)
    exact, s = enumerated(channel), channel.subset_size
    p = Fraction(channel.release.keep, TOTAL)
    e = math.exp(float(Fraction(level)))
    assert float(p) == pytest.approx(s * e / (s * e + outputs - s), rel=1e-14)
    expected = {
        "".join(str(int(cell in chosen)) for cell in range(outputs)): [
            p / math.comb(outputs - 1, s - 1) if y in chosen else (1 - p) / math.comb(outputs - 1, s)
            for y in range(outputs)
        ]
        for chosen in combinations(range(outputs), s)
    }
    found = [[Fraction(weight, exact.total) for weight in row] for row in exact.weights]
    assert dict(zip(exact.observations, found, strict=True)) == expected


@pytest.mark.parametrize(("outputs", "level", "size"), SMALL)
def test_level_and_unbiasedness_are_certified_by_enumeration(outputs: int, level: str | int, size: int | None) -> None:
    channel = SubsetSelection(outputs, level, size)
    certificate = certify(channel)
    assert certificate.proved_by == "enumeration"
    assert certificate.unbiased
    assert certificate.worst_observations == channel.worst_observations()  # every subset attains the level
    assert 0.99 * channel.stated_level <= channel.privacy_level <= channel.stated_level


@pytest.mark.parametrize("level", ["0.001", "0.1", 1, "3.7", 30])
@pytest.mark.parametrize("outputs", [2, 17, 1000, 65536])
def test_the_level_is_spent_and_never_exceeded(outputs: int, level: str | int) -> None:
    channel = SubsetSelection(outputs, level)
    assert 0.99 * channel.stated_level <= channel.privacy_level <= channel.stated_level
    # One unit of 2⁻⁶² more would exceed it.
    release = channel.release
    more = TableRelease(release.cells, release.subset_size, release.keep + 1)
    assert release.ratio <= largest_odds(Fraction(level)) < more.ratio


def test_levels_that_62_bits_cannot_hold_are_refused() -> None:
    with pytest.raises(ProbabilityError, match="too few to spend so little on 65536 cells"):
        SubsetSelection(65536, "1e-15", 1)
    assert 0.99e-15 <= SubsetSelection(65536, "1e-15").privacy_level <= 1e-15


@pytest.mark.parametrize(("outputs", "level", "size"), SMALL)
@pytest.mark.parametrize("truth", ["uniform", "skewed", "one label"])
def test_covariance_agrees_with_enumeration(outputs: int, level: str | int, size: int | None, truth: str) -> None:
    channel = SubsetSelection(outputs, level, size)
    shares = {
        "uniform": np.full(outputs, 1 / outputs),
        "skewed": np.arange(1, outputs + 1) / sum(range(outputs + 1)),
        "one label": np.eye(outputs)[1],
    }[truth]
    S, beta = matrix_and_beta(channel)
    seen = S @ shares
    expected = (beta * seen) @ beta.T - np.outer(beta @ seen, beta @ seen)
    found = channel.mean_covariance(np.arange(outputs), shares)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
    excess = channel.excess_covariance(np.arange(outputs), shares)
    np.testing.assert_allclose(excess, expected - np.diag(shares) + np.outer(shares, shares), rtol=1e-10, atol=1e-10)
    # From sums as expected the estimates are the truth, and their variances those of the covariance.
    n = 1 << 50
    sums = np.rint(n * (channel.release.outside + channel.release.gain * shares)).astype(np.int64)
    np.testing.assert_allclose(channel.mean(sums, n), shares, atol=1e-11)
    np.testing.assert_allclose(channel.variances(sums, n), np.diag(expected), rtol=1e-9)
    np.testing.assert_array_equal(channel.mean(sums, n, "printed"), channel.mean(sums, n))


@pytest.mark.parametrize(("outputs", "level", "size"), SMALL)
def test_debias_and_likelihood_agree_with_enumeration(outputs: int, level: str | int, size: int | None) -> None:
    channel = SubsetSelection(outputs, level, size)
    S, beta = matrix_and_beta(channel)
    reports = reports_of(channel, list(enumerated(channel).observations))
    np.testing.assert_allclose(channel.debias(reports), beta.T, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(channel.log_likelihood(reports, np.arange(outputs)), np.log(S), rtol=1e-12)


def test_likelihood_of_wide_subsets() -> None:
    channel = SubsetSelection(65536, 1)
    reports = channel.randomize(np.arange(3))
    likelihood = channel.log_likelihood(reports, [0, 5, 65535])
    inside = bits.unpack(reports.columns["subset"], 65536)[:, [0, 5, 65535]]
    np.testing.assert_array_equal(members(reports.columns["subset"], np.tile([0, 5, 65535], (3, 1))), inside)
    assert set(np.unique(likelihood.round(6))) <= set(channel.release.log_probabilities.round(6))
    assert np.diff(channel.release.log_probabilities)[0] == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize(("outputs", "level"), [(2, 1), (4, 2), (16, 3)])
def test_one_label_is_randomized_response(outputs: int, level: int) -> None:
    channel = SubsetSelection(outputs, level, 1)
    exact = enumerated(channel)
    assert [label.index("1") for label in exact.observations] == list(range(outputs))
    S, _ = matrix_and_beta(channel)
    matrix = RandomizedResponse.for_privacy_level(level, outputs=outputs).matrix
    np.testing.assert_allclose(S, matrix, rtol=1e-14)


# -- the size of subsets ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("outputs", "crossover"), [(4, 0.55), (9, 1.67), (16, 2.33), (64, 3.79)])
def test_one_label_is_best_above_the_crossover(outputs: int, crossover: float) -> None:
    # (e + w − 1)²/(w − 1) = (2e + w − 2)²/(2(w − 2))
    root_one, root_two = math.sqrt(outputs - 1), math.sqrt(2 * (outputs - 2))
    e = ((outputs - 1) * root_two - (outputs - 2) * root_one) / (2 * root_one - root_two)
    exactly = math.log(e)
    assert round(exactly, 2) == crossover
    assert SubsetSelection(outputs, exactly + 1e-9).subset_size == 1
    assert SubsetSelection(outputs, exactly - 1e-9).subset_size == 2


@pytest.mark.parametrize(("level", "labels"), [("1/2", 4), (1, 6), (2, 12), (3, 30), (4, 79)])
def test_from_how_many_labels_on_it_beats_randomized_response(level: str | int, labels: int) -> None:
    """From √2 (e^level + 1) on, as the text of the registry says: there two labels are sent, and errors are smaller."""
    assert labels == math.ceil(math.sqrt(2) * (math.exp(Fraction(level)) + 1))
    assert [SubsetSelection(labels - i, level).subset_size for i in (1, 0)] == [1, 2]
    assert "1.4 (e^level + 1)" in entry("subset-selection").use


@pytest.mark.parametrize("outputs", [2, 3, 5, 11, 30])
@pytest.mark.parametrize("level", ["0.05", "0.5", 1, 2, 4])
def test_the_default_size_has_the_least_variance(outputs: int, level: str | int) -> None:
    def trace(size: int) -> float:
        channel = SubsetSelection(outputs, level, size)
        total = float(np.trace(channel.mean_covariance(np.arange(outputs))))
        assert total == pytest.approx(float(channel.release.total_variance), rel=1e-9)
        return total

    chosen = SubsetSelection(outputs, level)
    traces = [trace(size) for size in range(1, outputs)]
    assert traces[chosen.subset_size - 1] == pytest.approx(min(traces), rel=1e-12)
    assert chosen.subset_size in (1, *(math.floor(outputs / (math.exp(Fraction(level)) + 1)) + i for i in (0, 1)))
    assert best_subset_size(outputs, largest_odds(Fraction(level))) == chosen.subset_size


# -- drawing ----------------------------------------------------------------------------------------------------------

DRAWN = [(2, 1, 1), (9, 1, None), (16, 1, None), (16, 1, 15), (64, 1, None), (65, "1/10", 33), (200, 1, None)]


@pytest.mark.parametrize(("outputs", "level", "size"), [*DRAWN, (300, 1, 290), (300, 1, 2)])
def test_the_compiled_loop_gives_the_bits_of_the_plain_one(
    outputs: int, level: str | int, size: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    channel = SubsetSelection(outputs, level, size)
    truth = np.random.default_rng(3).integers(0, outputs, 5000)
    compiled = channel.simulate(truth, np.random.default_rng(7))
    monkeypatch.setattr("askance.channels.statistics.base.COMPILED_PAYS_FROM", 1 << 60)
    plain = channel.simulate(truth, np.random.default_rng(7))
    assert compiled == plain
    sums = channel.sums(plain)
    monkeypatch.undo()
    np.testing.assert_array_equal(channel.sums(compiled), sums)
    np.testing.assert_array_equal(sums, bits.unpack(plain.columns["subset"], outputs).sum(axis=0))


def many_words(count: int) -> WordArray:
    return np.random.default_rng(11).integers(0, 2**64, count, dtype=np.uint64)


@pytest.mark.parametrize("loop", ["compiled", "plain"])
def test_a_loop_that_runs_out_of_words_goes_on_where_it_was(loop: str) -> None:
    complete = subsets.complete if loop == "compiled" else subsets.complete_plain
    n, cells = 40, np.array([70, 5])
    table, truth = np.arange(n) % 2, np.arange(n) % 5
    inside, sizes = np.arange(n) % 3 == 0, np.array([20, 2])
    begin = np.where((np.arange(n) % 4 < 2)[:, None], subsets.full_rows(cells)[table], np.uint64(0))
    design = (table, truth, inside, sizes, cells.astype(np.uint64), subsets.unfair_products(cells))
    at_once, by_and_by, words = begin.copy(), begin.copy(), many_words(4096)
    assert complete(at_once, *design, words, 0) == n
    done = used = 0
    for taken in [0, 1, 2, 3] * 1000:
        done = complete(by_and_by, *design, words[used : used + taken], done)
        used += taken
        if done == n:
            break
    assert done == n
    # A row's last half word is left over either way, so the same words were used for the same rows.
    np.testing.assert_array_equal(by_and_by, at_once)
    np.testing.assert_array_equal(subsets.count_ones(at_once), sizes[table])
    np.testing.assert_array_equal(members(at_once, truth[:, None])[:, 0], inside)
    assert not (at_once & ~subsets.full_rows(cells)[table]).any()


@pytest.mark.parametrize("cells", [1, 2, 3, 7, 63, 64, 100, 1000, 65535, 65536])
def test_every_cell_belongs_to_the_same_number_of_half_words(cells: int) -> None:
    least = int(subsets.unfair_products(np.array([cells]))[0])

    def up(value: int) -> int:
        return -(-value // cells)

    counts = {up((cell + 1) << 32) - up((cell << 32) + least) for cell in range(cells)}
    assert counts == {2**32 // cells}


@pytest.mark.parametrize(("planes", "parts"), [(0, 0), (0, 1), (1, 1), (2, 1), (2, 4), (3, 5)])
@pytest.mark.parametrize("loop", ["compiled", "plain"])
def test_subsets_are_uniform_from_every_rough_set(
    planes: int, parts: int, loop: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """χ² over all subsets with and all without the true cell; false alarm 1e-6 over the twelve cases together."""

    def chosen(cells: IntArray, sizes: IntArray, weights: FloatArray) -> tuple[int, IntArray, float]:
        return planes, np.array([parts]), 3.0

    monkeypatch.setattr(subsets, "best_planes", chosen)
    if loop == "plain":
        monkeypatch.setattr("askance.channels.statistics.base.COMPILED_PAYS_FROM", 1 << 60)
    channel, n = SubsetSelection(6, 1, 3), 20_000 if loop == "plain" else 200_000
    reports = channel.simulate(np.full(n, 4), np.random.default_rng(planes * 8 + parts))
    exact = enumerated(channel)
    counts = np.bincount(reports.columns["subset"][:, 0].astype(np.int64))
    observed = counts[[int(label[::-1], 2) for label in exact.observations]]
    expected = np.array([n * (row[4] / exact.total) for row in exact.weights])
    assert observed.sum() == n
    assert ((observed - expected) ** 2 / expected).sum() < chi2.isf(FALSE_ALARM / 12, len(expected) - 1)


@pytest.mark.parametrize(("outputs", "size"), [(64, 17), (130, 35), (130, 120)])
def test_wide_subsets_have_the_means_and_pairs_they_should(outputs: int, size: int) -> None:
    """Cells and pairs of cells against their probabilities; false alarm 1e-6 over all cells and pairs together."""
    channel, n, truth = SubsetSelection(outputs, 1, size), 60_000, 63
    reports = channel.simulate(np.full(n, truth), np.random.default_rng(outputs + size))
    dense = bits.unpack(reports.columns["subset"], outputs).astype(np.float32)
    together = (dense.T @ dense) / n
    w, s, p = outputs, size, channel.release.inside
    pairs = np.full((w, w), (s - 1) * (s - 2 * p) / ((w - 1) * (w - 2)))
    pairs[truth] = pairs[:, truth] = (s - 1) * p / (w - 1)
    np.fill_diagonal(pairs, (s - p) / (w - 1))
    pairs[truth, truth] = p
    z = (together - pairs) / np.sqrt(pairs * (1 - pairs) / n)
    assert np.abs(z).max() < norm.isf(FALSE_ALARM / 3 / 2 / w**2)


def test_means_of_a_simulation() -> None:
    """All labels against the truth; false alarm 1e-6."""
    channel, n = SubsetSelection(20, 1), 100_000
    shares = np.arange(20) / 190
    truth = np.random.default_rng(1).choice(20, size=n, p=shares)
    sums = channel.sums(channel.simulate(truth, np.random.default_rng(2)))
    z = (channel.mean(sums, n) - shares) / np.sqrt(channel.variances(sums, n) / n)
    assert np.abs(z).max() < norm.isf(FALSE_ALARM / 2 / 20)


def test_parts_add_up_to_the_whole() -> None:
    channel = SubsetSelection(["a", "b", "c", "d", "e"], "1/2")
    truth = np.array(["a", "c", "e", "e"] * 2500)
    whole = channel.simulate(truth, np.random.default_rng(5))
    parts = [whole[:17], whole[17:6000], whole[6000:]]
    assert Reports.join(parts) == whole
    np.testing.assert_array_equal(sum(map(channel.sums, parts)), channel.sums(whole))
    np.testing.assert_array_equal(channel.sums(whole[:0]), np.zeros(5))


def test_one_report_of_a_device() -> None:
    channel = SubsetSelection(["never", "once", "often"] + [f"other {i}" for i in range(97)], 1)
    report = channel.randomize_one("once")
    assert list(report) == ["subset"]
    assert len(report["subset"]) == 26  # 100 bits in 13 bytes
    assert int.from_bytes(bytes.fromhex(report["subset"]), "little").bit_count() == channel.subset_size
    assert channel.randomize(["once"] * 3).columns["subset"].shape == (3, 2)


# -- describing and refusing ------------------------------------------------------------------------------------------


def test_specifications_rebuild_the_channel() -> None:
    for channel in (
        SubsetSelection(4, "1/3"),
        SubsetSelection(["no", "yes"], 2),
        SubsetSelection(12, 1, 5),
        SubsetSelection([True, False], 1),
    ):
        assert build_channel(channel.specification()) == channel
    assert SubsetSelection(12, 1, 5) != SubsetSelection(12, 1)
    assert SubsetSelection(["a", "b"], 1) != SubsetSelection(2, 1)
    assert SubsetSelection(["a", "b"], 1).statistic_names == ("a", "b")
    first, second = SubsetSelection(["a", "b"], 1).worst_pair()
    assert (first.tolist(), second.tolist()) == (["a"], ["b"])
    (wide,) = SubsetSelection(100, 1, 30).worst_observations()
    assert (wide.count("1"), wide[:2]) == (30, "10")


def test_statistics_are_indicators() -> None:
    channel = SubsetSelection(["a", "b", "c"], 1)
    np.testing.assert_array_equal(channel.statistics(["c", "a"]), [[0, 0, 1], [1, 0, 0]])
    assert channel.truth_width == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1, 1), "outputs is 1; allowed: a number of labels, at least 2"),
        ((65537, 1), "outputs has 65,537 labels; allowed: at most 65,536"),
        ((4, 1, 0), "subset_size is 0; allowed: a whole number, at least 1 and at most 3"),
        ((4, 1, 4), "subset_size is 4"),
        ((4, 1, 2.0), "subset_size is 2.0"),
        ((4, 0), "privacy_level is 0; allowed: above 0"),
        ((4, 1e-20), "privacy_level is 1e-20: 62 bits are too few"),
        ((["a", "a"], 1), "label 'a' of outputs appears twice"),
    ],
)
def test_bad_designs_are_refused(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        SubsetSelection(*arguments)  # type: ignore[arg-type]


def test_bad_truth_is_refused_naming_the_row() -> None:
    named, coded = SubsetSelection(["a", "b"], 1), SubsetSelection(3, 1)
    with pytest.raises(LabelError, match=r"truth\[2\] is none of the labels; allowed: 'a', 'b'"):
        named.randomize(["a", "b", "z"])
    with pytest.raises(LabelError, match=r"truth\[5000\] is none of the labels"):
        coded.randomize([0] * 5000 + [3])
    with pytest.raises(MissingValueError, match=r"truth\[1\] is missing"):
        named.randomize(np.array(["a", None]))
    with pytest.raises(ShapeError, match="truth has shape"):
        coded.randomize(np.zeros((3, 2)))
    with pytest.raises(InputError, match="averaging is 'mean'"):
        coded.mean(np.zeros(3), 1, "mean")  # type: ignore[arg-type]


def test_impossible_reports_are_refused_naming_the_row() -> None:
    channel = SubsetSelection(70, 1, 3)
    columns = channel.simulate(np.zeros(20_000, dtype=int), np.random.default_rng(1)).columns
    columns["subset"][17_001] = (0b11, 0)
    with pytest.raises(InputError, match="report 17001 has 2 labels in column 'subset'; allowed: exactly 3"):
        Reports(channel, columns)
    columns["subset"][17_001] = (0b11, 1 << 6)
    with pytest.raises(InputError, match="report 17001 has bits set beyond its 70"):
        Reports(channel, columns)


@pytest.mark.parametrize("width", [1, 3])
def test_ones_are_counted(width: int) -> None:
    words = many_words(60 * width).reshape(60, width)
    words[:2] = 0
    words[2] = 2**64 - 1
    expected = bits.unpack(words, 64 * width).sum(axis=1)
    np.testing.assert_array_equal(subsets.count_ones(words), expected)
