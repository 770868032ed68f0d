"""The hybrid channel and its tables: law, level, β and covariances, exactly."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from askance import build_channel, certify
from askance._arrays import FloatArray, IntArray, WordArray
from askance._kernels import sampled_coordinates
from askance._kernels.draw import TOTAL
from askance.channels.statistics import Averaging, CoordinateRelease, Hybrid, Reports
from askance.channels.statistics.hybrid import best_sampled
from askance.channels.statistics.staircase import Staircase, best_staircase
from askance.channels.thresholds import exp_rounded_down
from askance.errors import EmptyDataError, InputError, MissingValueError, ProbabilityError, ShapeError
from askance.evidence import Tally

LEVELS = ("1/1000", "1/10", "1/2", "3/4", "1", "2", "3", "4", "6", "8", "12", "20", "30")


# -- tables ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", LEVELS)
def test_tables_are_exact(level: str) -> None:
    """Rows sum to 2⁶², Sᵀβ = x on the grid as fractions, and no ratio exceeds e^level."""
    table = best_staircase(Fraction(level))
    assert table.is_unbiased()
    for i, row in enumerate(table.weights):
        assert sum(row) == TOTAL
        assert min(row) > 0
        assert sum(w * b for w, b in zip(row, table.beta, strict=True)) / TOTAL == Fraction(2 * i, table.grid) - 1
    assert table.ratio <= exp_rounded_down(Fraction(level))
    assert 0.99 * float(Fraction(level)) <= math.log(table.ratio)
    assert all(1 <= ratio <= table.ratio for ratio in table.code_ratios)
    np.testing.assert_array_equal(table.cumulative[:, -1], TOTAL)


def published_variance(level: float) -> float:
    """The worst variance of the continuous hybrid mechanism (Wang et al. 2019)."""
    e, root = math.exp(level), math.exp(level / 2)
    if level <= 0.61:
        return ((e + 1) / (e - 1)) ** 2
    return (root + 3) / (3 * root * (root - 1)) + (e + 1) ** 2 / (root * (e - 1) ** 2)


@pytest.mark.parametrize(("level", "most"), [("1/2", 1.0001), ("1", 1.001), ("2", 0.95), ("4", 0.73), ("8", 0.35)])
def test_tables_vary_no_more_than_the_published_mechanism(level: str, most: float) -> None:
    table = best_staircase(Fraction(level))
    assert table.worst_variance() <= most * published_variance(float(Fraction(level)))


@pytest.mark.parametrize("level", ["1/2", "1", "3", "6"])
def test_the_worst_variance_is_that_of_the_rounded_numbers(level: str) -> None:
    table = best_staircase(Fraction(level))
    x = np.linspace(-1, 1, 20_001)
    assert (table.second_moment((x + 1) / 2) - x**2).max() == pytest.approx(table.worst_variance(), rel=1e-6)
    moments = [sum(w * b * b for w, b in zip(row, table.beta, strict=True)) / TOTAL for row in table.weights]
    assert list(table.second_moments) == moments


def test_few_codes_cost_little() -> None:
    """No window of up to 64 outputs, mixed with signs in the stated share, is more than 1 % better."""
    for level in (1.0, 2.5, 5.0):
        e = math.exp(level)
        sign, best = ((e + 1) / (e - 1)) ** 2, math.inf
        for outputs in range(2, 65):
            for window in range(1, outputs):
                grid = outputs - window
                low = 1 / (e * window + grid)
                o, i = np.arange(outputs) - (outputs - 1) / 2, np.arange(grid + 1)[:, None]
                near = (np.arange(outputs) >= i) & (np.arange(outputs) < i + window)
                chances = np.where(near, e * low, low)
                beta = o * 2 / (grid * window * (e - 1) * low)
                share = window * (e - 1) * low
                best = min(best, float((share * chances @ beta**2 + (1 - share) * sign)[0]) - 1 + 1 / grid**2)
        assert best_staircase(Fraction(level)).worst_variance() <= 1.0101 * best


def test_a_table_that_is_not_unbiased_is_told() -> None:
    good = best_staircase(Fraction(1))
    assert not Staircase(good.window, good.grid, good.high + 1, good.low, good.keep, good.raised).is_unbiased()
    third = TOTAL // 3 + 1
    with_signs = Staircase(1, 2, third, third // 2, 9, 3)
    assert not with_signs.is_unbiased()
    assert with_signs.weights[2][-2:] == (3, 9)


def test_levels_too_small_for_whole_numbers() -> None:
    with pytest.raises(ProbabilityError, match=r"a level of 1e-30 .* 62 bits\. Raise the level"):
        best_staircase(Fraction(1, 10**30))


# -- drawing -----------------------------------------------------------------------------------------------------------


def halves(values: Sequence[int]) -> WordArray:
    """Random words whose halves, low before high, are these."""
    padded = [*values, *[0] * (len(values) % 2)]
    return np.array([low | high << 32 for low, high in zip(padded[::2], padded[1::2], strict=True)], dtype=np.uint64)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(("d", "k"), [(1, 1), (4, 1), (5, 2), (5, 3), (4, 4)])
def test_every_set_is_equally_likely(d: int, k: int, compiled: bool) -> None:
    """All numbers that can be drawn, each once: every set comes equally often, written in increasing order."""
    pick = sampled_coordinates.pick if compiled else sampled_coordinates.pick_plain
    bounds, remainders = sampled_coordinates.bounds_for(d, k)
    drawn = list(product(*(range(int(bound)) for bound in bounds)))
    # the middle of all halves that give the number r
    words = halves([((2 * r + 1) << 31) // int(b) for row in drawn for r, b in zip(row, bounds, strict=True)])
    out = np.zeros((len(drawn), k), dtype=np.int64)
    assert pick(bounds, remainders, words, 0, out) == len(drawn)
    counts = Counter(map(tuple, out.tolist()))
    assert set(counts) == set(combinations(range(d), k))
    assert len(set(counts.values())) == 1


@pytest.mark.parametrize("bound", [1, 2, 3, 5, 127, 1000, 2**20 - 1])
def test_every_number_below_a_bound_is_equally_likely(bound: int) -> None:
    """For every r the halves that give it and are not drawn again are ⌊2³²/bound⌋, counted without listing them."""
    again = 2**32 % bound
    for r in {0, 1, bound // 3, bound // 2, bound - 1} & set(range(bound)):
        first, last = -(-((r << 32) + again) // bound), -(-((r + 1) << 32) // bound)
        assert last - first == 2**32 // bound


@pytest.mark.parametrize("compiled", [False, True])
def test_unfair_halves_are_drawn_again_and_words_may_run_out(compiled: bool) -> None:
    pick = sampled_coordinates.pick if compiled else sampled_coordinates.pick_plain
    bounds, remainders = sampled_coordinates.bounds_for(3, 1)
    fair, out = 2**31, np.full((3, 1), 9)
    assert pick(bounds, remainders, halves([0, fair, 2**32 - 1, 0]), 0, out) == 2  # 2³² mod 3 = 1: only h = 0 is unfair
    assert out.tolist() == [[1], [2], [9]]
    assert pick(bounds, remainders, halves([1, fair]), 2, out) == 3
    assert out.tolist() == [[1], [2], [0]]
    bounds, remainders = sampled_coordinates.bounds_for(6, 3)
    begun = np.zeros((1, 3), dtype=np.int64)
    assert pick(bounds, remainders, halves([fair, fair]), 0, begun) == 0  # a set that is not complete starts anew


@pytest.mark.parametrize(("d", "k"), [(1, 1), (7, 1), (7, 3), (300, 2), (70_000, 5), (64, 64)])
@pytest.mark.parametrize("level", [1, 6])
def test_compiled_and_plain_give_the_same_reports(d: int, k: int, level: int, monkeypatch: pytest.MonkeyPatch) -> None:
    n = 4100 if d < 1000 else 100
    monkeypatch.setattr("askance.channels.statistics.base.COMPILED_PAYS_FROM", 1)
    channel = Hybrid(d, level, sampled=k)
    truth = np.broadcast_to(np.random.default_rng(d).random((100, d)), (n // 100, 100, d)).reshape(n, d)
    reports = channel.simulate(truth, np.random.default_rng(7))
    monkeypatch.setattr("askance.channels.statistics.base.COMPILED_PAYS_FROM", 1 << 40)
    assert channel.simulate(truth, np.random.default_rng(7)) == reports
    assert (np.diff(reports.columns["coordinates"].astype(np.int64), axis=1) > 0).all()


def test_rounding_is_by_whole_thresholds() -> None:
    """Position t G is i + f exactly, and i + 1 is drawn with probability f: the mean of grid points is t G."""
    channel = Hybrid(1, 1)
    grid = channel.table.grid
    shares = np.array([0.0, 1.0, 0.3, 0.5, 1 / 3, 1e-3])
    for t in shares.tolist():
        exact = Fraction(math.floor(Fraction(t) * 2**56), 2**56) * grid
        below, fraction = math.floor(exact), exact - math.floor(exact)
        threshold = int(fraction * 2**56)
        assert Fraction(threshold, 2**56) == fraction
        for drawn, expected in ((threshold - 1, below + 1), (threshold, below)):
            if 0 <= drawn < 2**56:
                words = np.full(1, drawn << 8 | 255, dtype=np.uint64)
                assert channel._round(np.array([t]), words.repeat) == [expected]


# -- the law of small channels -----------------------------------------------------------------------------------------

Outcome = tuple[tuple[int, ...], tuple[int, ...]]


def law(channel: Hybrid, t: Sequence[Fraction]) -> dict[Outcome, Fraction]:
    """S(o | t): every set of k, and for each number of it a mixture of the two rows of the table next to it."""
    table, k = channel.table, channel.sampled
    rows = []
    for share in t:
        i = min(math.floor(share * table.grid), table.grid - 1)
        f = share * table.grid - i
        rows.append(
            [((1 - f) * a + f * b) / TOTAL for a, b in zip(table.weights[i], table.weights[i + 1], strict=True)]
        )
    sets = list(combinations(range(channel.dimension), k))
    return {
        (drawn, codes): math.prod((rows[j][c] for j, c in zip(drawn, codes, strict=True)), start=Fraction(1, len(sets)))
        for drawn in sets
        for codes in product(range(table.codes), repeat=k)
    }


def as_reports(channel: Hybrid, outcomes: Sequence[Outcome]) -> Reports:
    drawn, codes = zip(*outcomes, strict=True)
    return Reports(channel, {"coordinates": np.array(drawn), "values": np.array(codes)})


SMALL = [(1, "3", 1), (3, "1", 1), (3, "2", 2), (2, "1/2", 2), (2, "6", 1), (3, "3/2", 3)]


@pytest.mark.parametrize(("d", "level", "k"), SMALL)
def test_certificates(d: int, level: str, k: int) -> None:
    channel = Hybrid(d, level, sampled=k)
    certificate = certify(channel)
    assert certificate.proved_by == "enumeration"
    assert certificate.unbiased
    assert certificate.largest_ratio == channel.table.ratio**k
    assert 0.99 * channel.stated_level <= certificate.privacy_level <= channel.stated_level
    assert set(certificate.worst_observations) == set(channel.worst_observations())


def test_wide_channels_are_proved_by_structure() -> None:
    channel = Hybrid(40, 4)
    certificate = certify(channel)
    assert certificate.proved_by == "structure"
    assert certificate.unbiased
    assert 0.99 * 4 <= certificate.privacy_level <= 4
    assert certificate.worst_observations == channel.worst_observations()


@pytest.mark.parametrize(("d", "level", "k"), [*SMALL, (40, "4", 2), (40, "12", 3)])
def test_the_worst_pair_attains_the_level(d: int, level: str, k: int) -> None:
    channel = Hybrid(d, level, sampled=k, lower=1, statistic_bound=3)
    drawn, codes = channel.worst_observations()[-1].split(":")
    report = as_reports(channel, [(tuple(map(int, drawn.split(","))), tuple(map(int, codes.split(","))))])
    first, second = channel.worst_pair()
    log_ratio = channel.log_likelihood(report, first) - channel.log_likelihood(report, second)
    assert abs(log_ratio[0, 0]) == pytest.approx(channel.privacy_level, rel=1e-12)


def test_off_the_grid_no_ratio_is_larger() -> None:
    channel = Hybrid(2, 1, sampled=1)
    laws = [law(channel, [Fraction(a, 7), Fraction(b, 7)]) for a, b in product(range(8), repeat=2)]
    worst = max(max(each[o] for each in laws) / min(each[o] for each in laws) for o in laws[0])
    assert worst <= channel.largest_ratio()


@pytest.mark.parametrize(("d", "level", "k"), SMALL)
def test_beta_and_likelihood_are_those_of_the_law(d: int, level: str, k: int) -> None:
    channel = Hybrid(d, level, sampled=k, lower=-1, statistic_bound=2)
    points = [[Fraction(3 * j + 2 * i + 1, 17) for j in range(d)] for i in range(3)]
    for t in points:
        weights = law(channel, t)
        assert sum(weights.values()) == 1
        for j in range(d):  # E of β over the probability k/d of drawing j, in fractions
            mean = sum(
                w * channel.table.beta[codes[drawn.index(j)]] for (drawn, codes), w in weights.items() if j in drawn
            )
            assert mean * Fraction(d, k) == 2 * t[j] - 1
    outcomes = list(law(channel, points[0]))
    reports = as_reports(channel, outcomes)
    truth = np.array([[float(2 * share - 1) for share in t] for t in points])
    expected = np.array([[float(law(channel, t)[o]) for t in points] for o in outcomes])
    np.testing.assert_allclose(np.exp(channel.log_likelihood(reports, truth)), expected, rtol=1e-11)
    np.testing.assert_allclose(expected.T @ channel.debias(reports), truth, atol=1e-12)


def influence(channel: Hybrid, outcomes: Sequence[Outcome], mean: FloatArray, averaging: Averaging) -> FloatArray:
    """What one report adds to n(μ̂ − μ) to first order, in signs x: (z_j − x̄_j) d/k where j was drawn, or as printed."""
    centre = mean if averaging == "within" else np.zeros_like(mean)
    result = np.zeros((len(outcomes), len(mean)))
    for row, (drawn, codes) in zip(result, outcomes, strict=True):
        for j, code in zip(drawn, codes, strict=True):
            row[j] = (float(channel.table.beta[code]) - centre[j]) * len(mean) / channel.sampled
    return result if averaging == "within" else result - mean


@pytest.mark.parametrize(("d", "level", "k"), SMALL)
@pytest.mark.parametrize("averaging", ["within", "printed"])
def test_covariances_are_those_of_the_law(d: int, level: str, k: int, averaging: Averaging) -> None:
    lower, width = np.arange(d) - 1.0, np.arange(d) + 0.5
    channel = Hybrid(d, level, sampled=k, lower=lower, statistic_bound=width)
    shares = np.random.default_rng(d).random((4, d))
    weights = np.array([0.1, 0.2, 0.3, 0.4])
    truth = lower + width * shares
    laws = [law(channel, [Fraction(x) for x in row]) for row in shares.tolist()]
    outcomes = list(laws[0])
    chances = weights @ np.array([[float(each[o]) for o in outcomes] for each in laws])
    added = influence(channel, outcomes, weights @ (2 * shares - 1), averaging) * width / 2
    np.testing.assert_allclose(chances @ added, 0, atol=1e-10)
    expected = (added * chances[:, None]).T @ added
    covariance = channel.mean_covariance(truth, weights, averaging)
    np.testing.assert_allclose(covariance, expected, rtol=1e-10, atol=1e-10)
    # from the counts of many reports the same means and diagonals are found
    n = 10**12
    counts = np.zeros(channel.sums_size)
    for (drawn, codes), chance in zip(outcomes, chances, strict=True):
        for j, code in zip(drawn, codes, strict=True):
            counts[j * channel.table.codes + code] += n * chance
    sums: IntArray = np.rint(counts).astype(np.int64)
    np.testing.assert_allclose(channel.mean(sums, n, averaging), weights @ truth, atol=1e-7)
    np.testing.assert_allclose(channel.variances(sums, n, averaging), np.diag(expected), rtol=1e-6)


@pytest.mark.parametrize("averaging", ["within", "printed"])
def test_covariances_of_simulated_averages(averaging: Averaging) -> None:
    """600 averages of 500 reports: all 6 entries of n Cov within 5.6 standard errors (a false alarm: below 1e-6)."""
    channel = Hybrid(3, 12, sampled=2)
    rng = np.random.default_rng(4)
    possible = np.array([[0.0, 0.1, 1.0], [1.0, 0.9, 0.1]])  # strongly dependent
    truth = possible[rng.integers(0, 2, size=600 * 500)]
    reports = channel.simulate(truth, rng)
    means = [channel.mean(channel.sums(reports[i : i + 500]), 500, averaging) for i in range(0, len(reports), 500)]
    found = 500 * np.cov(np.array(means).T)
    expected = channel.mean_covariance(possible, averaging=averaging)
    errors = np.sqrt((expected**2 + np.outer(np.diag(expected), np.diag(expected))) / 599)
    assert (np.abs(found - expected) <= 5.6 * errors).all()
    assert (np.abs(expected) > 8 * errors).all()  # dependence is seen, if it is there


# -- many respondents --------------------------------------------------------------------------------------------------


def test_estimates_of_many_respondents() -> None:
    """All 40 deviations within 5.6 standard errors: a false alarm has probability below 3e-6."""
    rng = np.random.default_rng(12)
    for level, averaging in ((1, "within"), (4, "printed")):
        channel = Hybrid(20, level, lower=-2, statistic_bound=4)
        truth = rng.uniform(-2, 2, size=(100_000, 20)) * rng.random(20)
        tally = Tally(channel).add(channel.simulate(truth, rng))
        errors = tally.standard_errors(averaging)  # type: ignore[arg-type]
        deviations = tally.mean(averaging) - truth.mean(axis=0)  # type: ignore[arg-type]
        assert (np.abs(deviations) <= 5.6 * errors).all()
        covariance = channel.mean_covariance(truth, averaging=averaging)  # type: ignore[arg-type]
        np.testing.assert_allclose(errors, np.sqrt(np.diag(covariance) / len(truth)), rtol=0.05)


def test_sums_are_the_same_in_every_split() -> None:
    channel = Hybrid(9, 5)
    rng = np.random.default_rng(2)
    reports = channel.simulate(rng.random((5000, 9)), rng)
    whole = Tally(channel).add(reports)
    assert whole.sums.sum() == 5000 * channel.sampled
    parts = [Tally(channel).add(reports[i : i + 700]) for i in range(0, 5000, 700)]
    assert sum(parts[1:], parts[0]) == whole
    assert sum(parts[::-1][1:], parts[-1]) == whole
    assert Reports.join([reports[:10], reports[10:]]) == reports


def test_how_many_statistics_are_drawn() -> None:
    """The search stops at the first k that is worse than the one before: looking further finds nothing better."""
    for level in (Fraction(1, 2), Fraction(4), Fraction(9), Fraction(16)):
        costs = [max(best_staircase(level / k).second_moments) / k for k in range(1, 25)]
        assert best_sampled(level, 64) == 1 + costs.index(min(costs))
    assert best_sampled(Fraction(30), 3) == 3
    assert Hybrid(2, 16).sampled == 2
    assert Hybrid(50, 16).sampled == 7


def test_small_levels_are_coordinate_release() -> None:
    truth = np.random.default_rng(0).random((5, 4))
    here, there = Hybrid(4, "1/2"), CoordinateRelease(4, "1/2")
    assert here.sampled == 1
    assert here.table.codes == 2
    np.testing.assert_allclose(here.mean_covariance(truth), there.mean_covariance(truth), rtol=1e-12, atol=1e-12)


def test_it_is_built_again_from_its_specification() -> None:
    channel = Hybrid(3, "7/3", lower=[0, -1, 2], statistic_bound=[1, 0.5, 3])
    assert channel.specification()["sampled"] == channel.sampled
    assert build_channel(channel.specification()) == channel
    assert build_channel({"kind": "hybrid", "dim": 3, "privacy_level": "7/3"}) != channel
    report = channel.randomize_one([0.5, -1, 4])
    assert set(report) == {"coordinates", "values"}
    assert len(report["coordinates"]) == len(report["values"]) == channel.sampled


# -- bad input ---------------------------------------------------------------------------------------------------------

TRUTH: FloatArray = np.zeros((2, 3))


def reports_with(coordinates: list[int], values: list[int]) -> Reports:
    return Reports(Hybrid(3, 2, sampled=2), {"coordinates": np.array([coordinates]), "values": np.array([values])})


@pytest.mark.parametrize(
    ("action", "error", "words"),
    [
        (lambda: Hybrid(0, 1), InputError, ("dim is 0", "at least 1")),
        (lambda: Hybrid(3, -1), InputError, ("privacy_level is -1", "above 0")),
        (lambda: Hybrid(3, 1, sampled=4), InputError, ("sampled is 4", "at most 3")),
        (lambda: Hybrid(300, 1, sampled=0), InputError, ("sampled is 0", "at most 64")),
        (lambda: Hybrid(3, 1, statistic_bound=-1), InputError, ("statistic_bound is -1", "above 0")),
        (lambda: Hybrid(3, 1).randomize(TRUTH[:, :2]), ShapeError, ("(2, 2)", "(n, 3)")),
        (
            lambda: Hybrid(3, 1).randomize(TRUTH - 0.5),
            InputError,
            ("statistic 0 of row 0 lies outside its bounds", "0 to 1"),
        ),
        (
            lambda: Hybrid(3, 1).randomize(TRUTH + np.inf),
            MissingValueError,
            ("statistic 0 of row 0 is missing or infinite",),
        ),
        (lambda: reports_with([1, 1], [0, 0]), InputError, ("report 0 has [1, 1]", "increasing order", "leave it out")),
        (lambda: reports_with([2, 0], [0, 0]), InputError, ("report 0 has [2, 0]", "2 different ones")),
        (lambda: reports_with([0, 3], [0, 0]), InputError, ("report 0 has [0, 3]", "0 to 2")),
        (lambda: reports_with([0, 1], [0, 99]), InputError, ("report 0 has [0, 99]", "0 to 6")),
        (lambda: reports_with([0], [0]), ShapeError, ("(1, 1)", "(1, 2)")),
        (
            lambda: Hybrid(3, 1).mean(np.zeros(21, dtype=np.int64), 1),
            EmptyDataError,
            ("no report is about statistic 0", "3 of 3", "printed"),
        ),
        (
            lambda: Hybrid(3, 1).mean(np.zeros(21, dtype=np.int64), 1, "all"),  # type: ignore[arg-type]
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
