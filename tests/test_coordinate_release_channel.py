"""Coordinate release: which statistic is drawn, how often, and what its one bit says."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from askance import CoordinateRelease, Enumerated, certify
from askance._arrays import FloatArray
from askance._kernels.draw import TOTAL
from askance.channels.statistics.coordinate_release import best_release
from askance.errors import EmptyDataError, InputError, MissingValueError, ProbabilityError, ShapeError

BOTH = pytest.mark.parametrize("compiled_from", [1, 1 << 40], ids=["compiled", "plain"])


def keep_of(level: float) -> float:
    return 1 / (1 + math.exp(-level))


@pytest.mark.parametrize("level", [0.1, 1, 4])
@pytest.mark.parametrize("dim", [1, 4, 1000])
def test_one_bit_spends_the_whole_level(dim: int, level: float) -> None:
    exact, paper = CoordinateRelease(dim, level), CoordinateRelease(dim, level, calibration="paper")
    assert exact.flips.keep_probability == pytest.approx(keep_of(level), rel=1e-15)
    assert exact.privacy_level == pytest.approx(level, rel=1e-15)
    assert paper.flips.keep_probability == pytest.approx(keep_of(level / 2), rel=1e-15)
    assert paper.privacy_level == pytest.approx(level / 2, rel=1e-15)
    assert paper.stated_level == level


# -- release distributions ---------------------------------------------------------------------------------------------


def test_statistics_are_drawn_as_often_as_said() -> None:
    """χ² of 100,000 draws at a false-alarm rate of 1e-9; bits follow their statistic."""
    channel = CoordinateRelease(4, 2, release_distribution=["1/2", "1/4", "1/8", "1/8"], lower=-1, statistic_bound=2)
    np.testing.assert_allclose(channel.release_probabilities, [0.5, 0.25, 0.125, 0.125], rtol=1e-15)
    n = 100_000
    reports = channel.simulate(np.tile([-1.0, 1.0, 0.0, -0.5], (n, 1)), np.random.default_rng(1))
    counts = channel.sums(reports).reshape(2, 4)
    ones = channel.flips.ones(np.array([0.0, 1.0, 0.5, 0.25]))
    expected = n * channel.release_probabilities * np.stack([1 - ones, ones])
    assert ((counts - expected) ** 2 / expected).sum() < stats.chi2.isf(1e-9, 7)


def test_words_at_the_thresholds_draw_what_they_must() -> None:
    """The ends of every interval decide the whole law: statistic j, then its bit below the threshold of t_j."""
    channel = CoordinateRelease(3, 2, release_distribution=["1/2", "1/3", "1/6"], statistic_bound=4)
    exact = channel.enumerate_exactly()
    assert exact is not None
    drawn = [exact.weights[2 * j][0] + exact.weights[2 * j + 1][0] for j in range(3)]  # over 2⁶² · 2⁶²
    ends = np.cumsum([weight // TOTAL for weight in drawn]).tolist()
    assert ends[-1] == TOTAL
    span = channel.flips.keep - channel.flips.raised
    bits = {0.0: channel.flips.raised, 1.0: channel.flips.raised + span // 4, 4.0: channel.flips.keep}
    cases = [
        (first, j, truth, number, int(number < threshold))
        for j, interval in enumerate(zip([0, *ends], ends, strict=False))
        for first in (interval[0], interval[1] - 1)
        for truth, threshold in bits.items()
        for number in (0, threshold - 300, threshold + 300, TOTAL - 1)
    ]
    cases += [(0, 0, truth, bits[truth] - less, less) for truth in (0.0, 4.0) for less in (0, 1)]
    words = np.array([case[0] for case in cases] + [case[3] for case in cases], dtype=np.uint64) << np.uint64(2)
    rows = np.array([[case[2]] * 3 for case in cases])
    for compiled in (False, True):
        out = {column.name: column.empty(len(cases)) for column in channel.columns}
        channel._draw(channel._read(rows, 0), lambda count: words[:count], out, compiled=compiled)
        assert out["coordinate"].tolist() == [case[1] for case in cases]
        assert out["bit"].tolist() == [case[4] for case in cases]


def test_an_even_release_is_the_default() -> None:
    named = CoordinateRelease(3, 1, release_distribution=["1/3", "1/3", "1/3"])
    assert named == CoordinateRelease(3, 1)
    assert "release_distribution" not in named.parameters()
    assert CoordinateRelease(3, 1, release_distribution=[0.5, 0.25, 0.25]) != named


def test_the_release_distribution_leaves_the_level_alone() -> None:
    rare = CoordinateRelease(3, 1, release_distribution=["1/1000000", "1/2", "499999/1000000"])
    assert rare.largest_ratio() == CoordinateRelease(3, 1).largest_ratio()
    assert certify(rare).unbiased
    assert rare.mean_covariance(np.zeros((1, 3)))[0, 0] > 1e5


@pytest.mark.parametrize("seed", range(4))
def test_the_best_release_has_the_least_cost(seed: int) -> None:
    rng = np.random.default_rng(seed)
    costs = rng.exponential(size=6)
    best = np.array([float(p) for p in best_release(costs)])
    assert sum(best_release(costs)) == 1
    assert (costs / best).sum() == pytest.approx(np.sqrt(costs).sum() ** 2, rel=1e-8)
    for other in rng.dirichlet(np.ones(6), size=50):
        assert (costs / best).sum() <= (costs / other).sum() * (1 + 1e-8)


def trace_of_moments(model: Enumerated, channel: CoordinateRelease, theta: FloatArray) -> float:
    """tr Σ_mom = tr I⁻¹ n Cov(μ̂) I⁻¹."""
    inverse = np.linalg.inv(model.fisher_information(theta))
    covariance = channel.mean_covariance(model.table.T, model.probabilities(theta))
    return float(np.trace(inverse @ covariance @ inverse))


@pytest.mark.parametrize("theta", [[0.0, 0.0], [2.0, -0.1], [0.0, 1.5]])
def test_for_model_releases_what_matters_for_the_parameters(theta: list[float]) -> None:
    """No other release distribution has a smaller tr Σ_mom at θ."""
    model, at = Enumerated([[0.0, 0.0, 5.0, 5.0], [0.0, 1.0, 0.0, 1.0]]), np.array(theta)
    tuned = CoordinateRelease.for_model(model, 1, at)
    assert tuned.privacy_level == pytest.approx(1, rel=1e-15)
    assert tuned.parameters()["statistic_bound"] == [5, 1]
    least = trace_of_moments(model, tuned, at)
    for share in np.linspace(0.02, 0.98, 49).tolist():
        first = Fraction(round(share * 100), 100)
        other = CoordinateRelease(2, 1, release_distribution=[first, 1 - first], statistic_bound=[5, 1])
        assert least <= trace_of_moments(model, other, at) * (1 + 1e-8)


def test_for_model_reads_bounds_and_calibration() -> None:
    model = Enumerated([[5.0, -1.0, 0.0], [0.0, 0.25, 0.0]])
    channel = CoordinateRelease.for_model(model, 2, calibration="paper")
    assert channel.privacy_level == pytest.approx(1, rel=1e-15)
    assert channel.parameters()["lower"] == [-1, 0]
    assert channel.parameters()["statistic_bound"] == [6, 0.25]
    assert len(channel.randomize(model.table.T)) == 3


# -- averages ----------------------------------------------------------------------------------------------------------


def test_averages_are_taken_within_what_was_drawn() -> None:
    """Sums by hand: statistic 0 sent 3 times with 2 ones, statistic 1 once with a 0."""
    channel = CoordinateRelease(2, 2, lower=[0, 10], statistic_bound=[1, 4])
    sums = np.array([1, 1, 2, 0])
    q = channel.flips.keep_probability
    share = [(2 / 3 - (1 - q)) / (2 * q - 1), -(1 - q) / (2 * q - 1)]
    np.testing.assert_allclose(channel.mean(sums, 4), [share[0], 10 + 4 * share[1]], rtol=1e-13)
    printed = [share[0] * 3 / 4 / 0.5, 10 + 4 * share[1] / 4 / 0.5]
    np.testing.assert_allclose(channel.mean(sums, 4, "printed"), printed, rtol=1e-13)


def test_what_was_never_drawn_has_no_average() -> None:
    channel = CoordinateRelease(3, 1)
    sums = np.array([5, 0, 0, 4, 0, 1])
    with pytest.raises(EmptyDataError, match=r"statistic 1 \(1 of 3 were never drawn\).*printed"):
        channel.mean(sums, 10)
    assert channel.mean(sums, 10, "printed")[1] == 0
    assert np.isfinite(channel.variances(sums, 10)).all()


def test_a_within_average_is_much_better_where_statistics_are_large() -> None:
    """Statistics near 1: as printed, how often each was drawn adds noise of its own."""
    channel = CoordinateRelease(20, 6)
    truth = np.full((1, 20), 0.95)
    within, printed = (np.trace(channel.mean_covariance(truth, averaging=a)) for a in ("within", "printed"))
    assert printed > 10 * within


# -- wide --------------------------------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize(("dim", "n", "dtype"), [(1000, 6000, "uint16"), (100_000, 200, "uint32")])
def test_wide_statistics_send_the_bit_that_was_drawn(
    dim: int, n: int, dtype: str, compiled_from: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At level 30 one bit in 1e13 flips: with probability above 1 − 1e-8 all bits are the truth."""
    monkeypatch.setattr("askance.channels.statistics.base.COMPILED_PAYS_FROM", compiled_from)
    rng = np.random.default_rng(1)
    channel, truth = CoordinateRelease(dim, 30), rng.integers(0, 2, size=(n, dim), dtype=np.uint8)
    reports = channel.simulate(truth, rng)
    drawn, bit = reports.columns["coordinate"], reports.columns["bit"]
    assert drawn.dtype == dtype
    assert np.array_equal(bit, truth[np.arange(n), drawn])
    assert np.array_equal(channel.sums(reports), np.bincount(bit.astype(np.int64) * dim + drawn, minlength=2 * dim))
    # Smirnov's distance from an even draw exceeds 4/√n with probability 2e-14.
    assert stats.kstest(drawn / dim, "uniform").statistic < 4 / np.sqrt(n) + 1 / dim


def test_wide_channels_are_certified_by_structure() -> None:
    certificate = certify(CoordinateRelease(100_000, 1))
    assert certificate.proved_by == "structure"
    assert certificate.holds
    assert certificate.unbiased
    assert certificate.worst_observations == ("0:0", "0:1")


# -- what is refused ---------------------------------------------------------------------------------------------------

CHANNEL = CoordinateRelease(3, 1, lower=[0, -1, 10], statistic_bound=[1, 2, 5])
REFUSED: dict[str, tuple[Callable[[], object], type[Exception], tuple[str, ...]]] = {
    "above its bound": (
        lambda: CHANNEL.randomize([[0, 0, 10], [0, 0, 16]]),
        InputError,
        ("statistic 2 of row 1 lies outside its bounds", "10 to 15", "clip"),
    ),
    "below its bound": (
        lambda: CHANNEL.randomize([[0.0, -1.5, 10.0]]),
        InputError,
        ("statistic 1 of row 0 lies outside its bounds", "-1 to 1"),
    ),
    "a late row": (
        lambda: CHANNEL.randomize(np.where(np.arange(9000)[:, None] == 8765, 9.0, [[0.5, 0.5, 12.0]])),
        InputError,
        ("statistic 0 of row 8765 lies outside its bounds", "0 to 1"),
    ),
    "NaN": (
        lambda: CHANNEL.randomize([[0.0, 0.0, 10.0], [0.0, np.nan, 10.0]]),
        MissingValueError,
        ("statistic 1 of row 1 is missing or infinite",),
    ),
    "a width": (lambda: CHANNEL.randomize([[0, 1]]), ShapeError, ("(1, 2)", "(n, 3)")),
    "no statistics": (lambda: CoordinateRelease(0, 1), InputError, ("dim is 0", "at least 1")),
    "text": (lambda: CoordinateRelease("four", 1), InputError, ("dim is 'four'",)),  # type: ignore[arg-type]
    "one release": (
        lambda: CoordinateRelease(3, 1, release_distribution=["1/2", "1/2"]),
        ShapeError,
        ("2 entries", "3 statistics"),
    ),
    "release 0": (
        lambda: CoordinateRelease(3, 1, release_distribution=["1/2", "1/2", 0]),
        InputError,
        ("release_distribution[2] is 0", "above 0"),
    ),
    "release beyond 1": (
        lambda: CoordinateRelease(2, 1, release_distribution=["1/2", "2/3"]),
        ProbabilityError,
        ("release_distribution", "sums to 1.16667"),
    ),
    "negative release": (
        lambda: CoordinateRelease(2, 1, release_distribution=[-1, 2]),
        ProbabilityError,
        ("release_distribution[0] is -1", "0 to 1"),
    ),
    "width below 0": (
        lambda: CoordinateRelease(2, 1, statistic_bound=[1, -1]),
        InputError,
        ("statistic_bound is [1, -1]", "above 0"),
    ),
    "lower NaN": (lambda: CoordinateRelease(2, 1, lower=np.nan), InputError, ("lower", "nan", "finite")),
    "a misspelt calibration": (
        lambda: CoordinateRelease(2, 1, calibration="exat"),  # type: ignore[arg-type]
        InputError,
        ("'exat'", "exact, paper", "Did you mean 'exact'"),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_and_the_message_says_why(name: str) -> None:
    call, error, words = REFUSED[name]
    with pytest.raises(error) as caught:
        call()
    for word in words:
        assert word in str(caught.value)


def test_bounds_may_be_written_exactly() -> None:
    options: dict[str, Any] = {"lower": ["-1", "1/3"], "statistic_bound": "2.5"}
    assert CoordinateRelease(2, 1, **options) == CoordinateRelease(2, 1, lower=[-1, 1 / 3], statistic_bound=2.5)
