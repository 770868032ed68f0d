"""Per-value release: norms, exact norms, possible statistics, densities, and rows of many words."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from askance import Enumerated, PerValue, certify
from askance._arrays import AnyArray, FloatArray
from askance._kernels import bits
from askance._kernels.draw import TOTAL
from askance.channels.thresholds import exp_rounded_down
from askance.errors import InputError, ProbabilityError, ShapeError
from tests.calls import calls_of

PAPER_MODEL = Enumerated([[0, 0, 1, 1], [0, 1, 0, 1]])
BOTH = pytest.mark.parametrize("compiled_from", [1, 1 << 40], ids=["compiled", "plain"])


def untyped(value: object) -> Any:
    """What no type checker would let pass."""
    return value


def keep_of(level: float) -> float:
    return 1 / (1 + math.exp(-level))


# -- levels ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "diameter"),
    [
        ({}, 6),
        ({"max_l1_norm": 1}, 2),
        ({"max_l1_norm": 2}, 4),
        ({"max_l1_norm": "5/2"}, 4),
        ({"max_l1_norm": 4}, 6),
        ({"l1_norm": 1}, 2),
        ({"l1_norm": 3}, 6),
        ({"l1_norm": 5}, 2),
    ],
)
@pytest.mark.parametrize("level", [0.1, 1, 4])
def test_bits_are_kept_with_the_level_over_the_diameter(options: dict[str, Any], diameter: int, level: float) -> None:
    channel = PerValue(6, level, **options)
    assert channel.flips.keep_probability == pytest.approx(keep_of(level / diameter), rel=1e-14)
    assert channel.flips.keep + channel.flips.raised == TOTAL
    assert channel.privacy_level == pytest.approx(level, rel=1e-14)


@pytest.mark.parametrize(
    ("options", "spent"),
    [({"max_l1_norm": 4}, 0.75), ({"max_l1_norm": 2}, 1.0), ({}, 0.5), ({"l1_norm": 1}, 1.0), ({"l1_norm": 5}, 0.2)],
)
def test_the_papers_flips_spend_less_than_stated(options: dict[str, Any], spent: float) -> None:
    """q = e^{α/2δ}/(1 + e^{α/2δ}) has level αD/(2δ)."""
    channel = PerValue(6, 1, calibration="paper", **options)
    assert channel.flips.keep_probability == pytest.approx(keep_of(1 / (2 * float(channel.max_l1_norm))), rel=1e-14)
    assert channel.privacy_level == pytest.approx(spent, rel=1e-14)


def test_the_papers_flips_exceed_the_level_for_statistics_that_are_no_bits() -> None:
    """A norm spread over many statistics shows in many bits; the certificate says so."""
    certificate = certify(PerValue(100, 4, calibration="paper", max_l1_norm=1, statistics="bounded"))
    assert certificate.privacy_level == pytest.approx(99 * math.log1p(math.expm1(2) / 99) + 2, rel=1e-10)
    assert not certificate.holds
    assert certify(PerValue(100, 4, max_l1_norm=1, statistics="bounded")).holds


def realised_ones(channel: PerValue, rows: AnyArray) -> list[list[int]]:
    """In units of 2⁻⁶², how often each statistic of valid rows is reported as 1: asked of the sampler by bisection."""
    encoded = channel._read(rows, 0)

    def drawn(numbers: list[int]) -> AnyArray:
        words = np.array(numbers, dtype=np.uint64) << np.uint64(2)
        out = {"bits": np.zeros((len(rows), bits.words_for(channel.dimension)), dtype=np.uint64)}
        channel._draw(encoded, lambda count: words[:count], out, compiled=False)
        return bits.unpack(out["bits"], channel.dimension).reshape(-1)

    low, high = [0] * rows.size, [TOTAL] * rows.size  # a number below its threshold gives a 1
    while any(b - a > 1 for a, b in zip(low, high, strict=True)):
        middle = [(a + b) // 2 for a, b in zip(low, high, strict=True)]
        for i, one in enumerate(drawn(middle)):
            low[i], high[i] = (middle[i], high[i]) if one else (low[i], middle[i])
    width = channel.dimension
    return [high[start : start + width] for start in range(0, len(high), width)]


def realised_ratio(channel: PerValue, rows: AnyArray) -> Fraction:
    """The largest ratio between two valid rows, from what the sampler really does."""
    ones = realised_ones(channel, rows)
    ratios = (
        math.prod(max(Fraction(a, b), Fraction(TOTAL - a, TOTAL - b)) for a, b in zip(first, second, strict=True))
        for first, second in product(ones, repeat=2)
    )
    return max(Fraction(ratio) for ratio in ratios)


@pytest.mark.parametrize(
    ("dim", "norm", "level"), [(3, "3/2", "1"), (7, "5/3", "4"), (11, "3", "6"), (50, "10/3", "2")]
)
def test_no_valid_bounded_statistics_exceed_the_level(dim: int, norm: str, level: str) -> None:
    """Not by a unit of 2⁻⁶²: neither through rounded thresholds nor through what passes as rounding of the norm."""
    channel = PerValue(dim, level, max_l1_norm=norm, statistics="bounded")
    rows = np.concatenate(channel.worst_pair())
    rows = np.vstack([rows, np.minimum(rows * (1 + 9e-13), 1)])
    assert realised_ratio(channel, rows) <= channel.largest_ratio()
    assert realised_ratio(channel, rows) <= exp_rounded_down(Fraction(level))


def test_no_statistics_that_pass_as_possible_exceed_the_level() -> None:
    """What is near a listed row must be noised as that row."""
    listed = np.array([[0, 0], [0.25, 0.25], [1, 0]])
    channel = PerValue(2, 1, statistics="bounded", possible=listed)
    assert realised_ratio(channel, listed) == channel.largest_ratio()
    near = np.clip(listed + 9e-10 * np.array([[0, 0], [1, 1], [0, 0]]), 0, 1)
    assert realised_ratio(channel, np.vstack([listed, near])) <= exp_rounded_down(Fraction(1))


@pytest.mark.parametrize("options", [{"statistics": "bounded"}, {"statistics": "bounded", "max_l1_norm": 299}])
def test_a_few_hundred_statistics_are_calibrated_in_no_time(options: dict[str, Any]) -> None:
    """Where many pairs are equally bad, only one of them needs exact arithmetic."""
    assert PerValue(2, 1, **{**options, **({"max_l1_norm": 1} if "max_l1_norm" in options else {})}).privacy_level <= 1
    assert calls_of(lambda: PerValue(300, 1, **options).privacy_level) < 2_000_000  # half a million


def test_the_statistics_of_a_small_model_are_calibrated_in_no_time() -> None:
    """Twenty one-hot rows are 380 equally bad pairs."""
    assert PerValue.for_model(Enumerated.saturated(3), 1, tuned=True).privacy_level <= 1
    assert calls_of(lambda: PerValue.for_model(Enumerated.saturated(20), 1, tuned=True)) < 100_000  # 25 thousand


# -- possible statistics -----------------------------------------------------------------------------------------------


def test_fewer_possible_statistics_are_noised_less() -> None:
    every = PerValue(4, 1, max_l1_norm=2)
    few = PerValue(4, 1, max_l1_norm=2, possible=[[0, 0, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0]])
    assert few.privacy_level == every.privacy_level == 1
    assert few.flips.keep_probability == pytest.approx(keep_of(1 / 2), rel=1e-14)
    assert every.flips.keep_probability == pytest.approx(keep_of(1 / 4), rel=1e-14)


def test_a_statistic_that_never_changes_costs_nothing() -> None:
    """Only the other one can give anything away, and it hardly moves: flips may be very strong."""
    channel = PerValue(2, 20, statistics="bounded", possible=[[1, 0.5], [1, 0.6]])
    assert channel.privacy_level <= 20
    assert certify(channel).unbiased


def test_one_possible_row_given_twice_has_nothing_to_hide() -> None:
    certificate = certify(PerValue(2, 1, possible=[[1, 0], [1, 0]]))
    assert certificate.largest_ratio == 1
    assert certificate.privacy_level == pytest.approx(0, abs=1e-30)
    assert certificate.unbiased


def test_possible_statistics_are_on_the_scale_of_the_statistics() -> None:
    channel = PerValue(2, 1, lower=[-1, 10], statistic_bound=[2, 5], possible=[[-1, 10], [1, 15], [1, 10]])
    again = PerValue(2, 1, lower=[-1, 10], statistic_bound=[2, 5], possible=[["-1", "10"], ["1", "15"], ["1", "10"]])
    assert channel == again
    reports = channel.simulate(np.tile([[-1, 10], [1, 15]], (50_000, 1)), np.random.default_rng(0))
    mean = channel.mean(channel.sums(reports), 100_000)
    errors = np.sqrt(channel.variances(channel.sums(reports), 100_000) / 100_000)
    assert (np.abs(mean - [0, 12.5]) < 6 * errors).all()  # false-alarm rate 4e-9


def test_the_statistics_of_a_model_are_the_possible_ones() -> None:
    channel = PerValue.for_model(PAPER_MODEL, 2)
    assert channel.privacy_level == pytest.approx(2, rel=1e-14)
    assert channel.parameters()["possible"] == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert certify(channel).proved_by == "enumeration"
    one_hot = PerValue.for_model(Enumerated.saturated(6), 2)
    assert one_hot.flips.keep_probability == pytest.approx(keep_of(1), rel=1e-14)  # two bits change at most


def test_models_of_any_scale_are_read_by_their_bounds() -> None:
    model = Enumerated([[5.0, -1.0, 0.0, 2.0], [0.0, 0.25, 0.25, 0.0]])
    channel = PerValue.for_model(model, 1)
    assert certify(channel).holds
    assert channel.parameters()["lower"] == [-1, 0]
    assert channel.parameters()["statistic_bound"] == [6, 0.25]
    np.testing.assert_allclose(channel.statistics(model.table.T), model.table.T)
    excess = channel.excess_covariance(model.table.T)
    assert excess[0, 1] == pytest.approx(0, abs=1e-12)
    assert (np.diag(excess) > 0).all()


def test_flips_tuned_to_a_model_have_no_larger_variance_there() -> None:
    model, theta = Enumerated.saturated(20), np.full(19, -2.0)
    weights = model.probabilities(theta)
    plain, tuned = (PerValue.for_model(model, 1, theta, tuned=tuned) for tuned in (False, True))
    costs = [np.trace(each.excess_covariance(model.table.T, weights)) for each in (plain, tuned)]
    assert costs[1] < 0.95 * costs[0]
    assert tuned.privacy_level == pytest.approx(1, rel=1e-9)


@settings(max_examples=40, deadline=None)
@given(
    dim=st.integers(2, 60),
    norm=st.integers(1, 5),
    level=st.sampled_from(["1/10", "1", "4"]),
    density=st.fractions(0, 1, max_denominator=50),
)
def test_a_density_never_makes_it_worse_at_that_density(dim: int, norm: int, level: str, density: Fraction) -> None:
    norm = min(norm, dim)
    plain, tuned = (PerValue(dim, level, max_l1_norm=norm, density=given) for given in (None, density))
    shares = np.array([0.0, 1.0])
    weights = np.array([float(1 - density), float(density)])
    assert weights @ tuned.flips.variance(shares) <= (weights @ plain.flips.variance(shares)) * (1 + 1e-9)
    assert float(Fraction(level)) * 0.99 <= tuned.privacy_level <= float(Fraction(level))


# -- wide rows ---------------------------------------------------------------------------------------------------------


def one_hot_rows(n: int, dim: int) -> AnyArray:
    """One 1 in each row, at the borders of words in the first ones."""
    borders = [0, 1, 62, 63, 64, 65, 127, 128, dim // 2, dim - 65, dim - 64, dim - 2, dim - 1]
    places = np.r_[borders, np.random.default_rng(0).integers(0, dim, n - len(borders))]
    rows = np.zeros((n, dim), dtype=np.uint8)
    rows[np.arange(n), places] = 1
    return rows


@BOTH
@pytest.mark.parametrize(("dim", "n"), [(1000, 5000), (100_000, 60)])
def test_wide_bits_stay_in_their_places(dim: int, n: int, compiled_from: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """At level 30 one bit in e^15 flips: reports are the truth but for a few; false-alarm rate 1e-12."""
    monkeypatch.setattr("askance.channels.statistics.base.COMPILED_PAYS_FROM", compiled_from)
    channel, truth = PerValue(dim, 30, l1_norm=1), one_hot_rows(n, dim)
    reports = channel.simulate(truth, np.random.default_rng(1))
    flipped = (bits.unpack(reports.columns["bits"], dim) != truth).sum()
    assert flipped <= stats.poisson.isf(1e-12, n * dim * channel.flips.raise_probability)
    assert np.array_equal(
        channel.simulate(truth.astype(float), np.random.default_rng(1)).columns["bits"], reports.columns["bits"]
    )


@BOTH
@pytest.mark.parametrize("longest_draw", [1 << 14, 128])
def test_wide_bounded_statistics_stay_in_their_places(
    longest_draw: int, compiled_from: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same without packing, also where a row takes more words than a source gives at a time."""
    monkeypatch.setattr("askance.channels.statistics.base.COMPILED_PAYS_FROM", compiled_from)
    monkeypatch.setattr("askance.channels.statistics.flips.LONGEST_DRAW", longest_draw)
    listed = np.zeros((2, 1000))
    listed[:, [62, 63, 64, 127, 128, 500, 935, 936, 999]] = 1
    listed[0, 0] = listed[1, 1] = 1
    channel = PerValue(1000, 30, statistics="bounded", possible=listed)
    rows = listed[np.arange(500) % 2]
    reports = channel.simulate(rows, np.random.default_rng(1))
    flipped = (bits.unpack(reports.columns["bits"], 1000) != rows).sum()
    assert flipped <= stats.poisson.isf(1e-12, rows.size * channel.flips.raise_probability)


@pytest.mark.parametrize("statistics", ["binary", "bounded"])
def test_every_place_of_a_wide_row_is_noised_alike(statistics: Any) -> None:
    """Shares of ones by place, 1000 places of 6000 respondents: beyond 7.5 standard deviations with 1e-10 in all."""
    channel = PerValue(1000, 1, max_l1_norm=2, statistics=statistics)
    truth = one_hot_rows(6000, 1000)
    truth[:, 63:65] = 0
    truth[:3000, 63], truth[3000:, 64] = 1, 1
    truth = truth if statistics == "binary" else truth.astype(float)
    reports = channel.simulate(truth, np.random.default_rng(2))
    ones = channel.sums(reports) / 6000
    expected = channel.flips.ones(truth.mean(axis=0))
    assert (np.abs(ones - expected) < 7.5 * np.sqrt(expected * (1 - expected) / 6000)).all()


def test_wide_channels_are_certified_by_structure() -> None:
    certificate = certify(PerValue(100_000, 1, max_l1_norm=3))
    assert certificate.proved_by == "structure"
    assert certificate.holds
    assert certificate.unbiased
    assert 0.99 < certificate.privacy_level <= 1
    (worst,) = certificate.worst_observations
    assert len(str(worst)) == 100_000
    assert str(worst).count("1") == 3


# -- likelihoods -------------------------------------------------------------------------------------------------------


def test_likelihoods_are_products_over_statistics() -> None:
    channel = PerValue(70, 3, max_l1_norm="3", statistics="bounded")
    rng = np.random.default_rng(3)
    truth: FloatArray = rng.dirichlet(np.ones(70), size=4) * 2
    reports = channel.simulate(truth[[0, 1, 2, 3, 0]], rng)
    ones = channel.flips.raise_probability + channel.flips.gain * truth
    seen = bits.unpack(reports.columns["bits"], 70).astype(bool)
    expected = [[np.log(np.where(row, p, 1 - p)).sum() for p in ones] for row in seen]
    np.testing.assert_allclose(channel.log_likelihood(reports, truth), expected, rtol=1e-12)


# -- what is refused ---------------------------------------------------------------------------------------------------

SIX = PerValue(6, 1, max_l1_norm=2)
SCALED = PerValue(2, 1, lower=[-1, 10], statistic_bound=[2, 5], statistics="bounded", max_l1_norm="3/2")
LISTED = PerValue(2, 1, possible=[[0, 0], [1, 0]])
REFUSED: dict[str, tuple[Callable[[], object], type[Exception], tuple[str, ...]]] = {
    "above the norm": (
        lambda: SIX.randomize([[0] * 6, [1, 1, 1, 0, 0, 0]]),
        InputError,
        ("row 1", "wrong sum", "at most 2", "larger max_l1_norm"),
    ),
    "late row above the norm": (
        lambda: SIX.randomize(np.arange(9000)[:, None] >= [8765, 8765, 8765, 9001, 9001, 9001]),
        InputError,
        ("row 8765", "wrong sum"),
    ),
    "below the exact norm": (
        lambda: PerValue(3, 1, l1_norm=1).randomize([[1, 0, 0], [0, 0, 0]]),
        InputError,
        ("row 1", "wrong sum", "exactly 1", "max_l1_norm"),
    ),
    "above the exact norm": (
        lambda: PerValue(3, 1, l1_norm=1).randomize([[1, 1, 0]]),
        InputError,
        ("row 0", "wrong sum", "exactly 1"),
    ),
    "scaled norm": (lambda: SCALED.randomize([[1, 15]]), InputError, ("row 0", "wrong sum", "at most 1.5")),
    "above its bound": (
        lambda: SCALED.randomize([[-1.0, 10.0], [-1.0, 15.5]]),
        InputError,
        ("statistic 1 of row 1 lies outside its bounds", "10 to 15", "statistic_bound"),
    ),
    "below its bound": (
        lambda: SCALED.randomize([[-2, 10]]),
        InputError,
        ("statistic 0 of row 0 lies outside its bounds", "-1 to 1"),
    ),
    "small integers above 1": (
        lambda: SIX.randomize(np.array([[0, 0, 0, 0, 0, 0], [0, 2, 0, 0, 0, 0]], dtype=np.uint8)),
        InputError,
        ("statistic 1 of row 1 lies outside its bounds", "0 to 1"),
    ),
    "between the bounds of bits": (
        lambda: SIX.randomize([[0, 0, 0.5, 0, 0, 0]]),
        InputError,
        ("statistic 2 of row 0 lies between its bounds", "0 or 1", 'statistics="bounded"'),
    ),
    "not possible": (
        lambda: LISTED.randomize([[0, 0], [0, 1]]),
        InputError,
        ("row 1", "none of those", "one of the 2 rows of possible"),
    ),
    "a width": (lambda: SIX.randomize([[0, 1]]), ShapeError, ("(1, 2)", "(n, 6)")),
    "texts": (
        lambda: SIX.randomize(untyped([["a"] * 6])),
        InputError,
        ("the statistics[0][0] is no number", "numbers"),
    ),
    "ragged": (lambda: SIX.randomize(untyped([[0], [0, 1]])), ShapeError, ("different lengths",)),
    "one ragged": (lambda: SIX.randomize_one(untyped([[0], [0, 1]])), InputError, ()),
    "no statistics": (lambda: PerValue(0, 1), InputError, ("dim is 0", "at least 1")),
    "half a statistic": (lambda: PerValue(1.5, 1), InputError, ("dim is 1.5",)),  # type: ignore[arg-type]
    "norm 0": (lambda: PerValue(3, 1, max_l1_norm=0), InputError, ("max_l1_norm is 0", "1 to 3")),
    "norm above": (lambda: PerValue(3, 1, max_l1_norm=4), InputError, ("max_l1_norm is 4", "1 to 3")),
    "norm below a bit": (lambda: PerValue(3, 1, max_l1_norm="1/2"), InputError, ("max_l1_norm is 0.5", "1 to 3")),
    "norm NaN": (lambda: PerValue(3, 1, max_l1_norm=math.nan), InputError, ("max_l1_norm", "nan", "finite")),
    "two norms": (lambda: PerValue(3, 1, max_l1_norm=1, l1_norm=1), InputError, ("l1_norm is 1", "alone")),
    "exact norm, bounded": (
        lambda: PerValue(3, 1, l1_norm=1, statistics="bounded"),
        InputError,
        ("l1_norm is 1", "bounded", "max_l1_norm"),
    ),
    "exact norm of all": (lambda: PerValue(3, 1, l1_norm=3), InputError, ("l1_norm is 3", "at most 2")),
    "a misspelt choice": (
        lambda: PerValue(3, 1, statistics="binry"),  # type: ignore[arg-type]
        InputError,
        ("'binry'", "binary, bounded", "Did you mean 'binary'"),
    ),
    "a misspelt calibration": (
        lambda: PerValue(3, 1, calibration="papr"),  # type: ignore[arg-type]
        InputError,
        ("'papr'", "exact, paper", "Did you mean 'paper'"),
    ),
    "density on paper": (
        lambda: PerValue(3, 1, calibration="paper", density=0.5),
        InputError,
        ("density", "'paper'", "symmetric"),
    ),
    "density above 1": (lambda: PerValue(3, 1, density=1.5), ProbabilityError, ("density is 1.5", "0 to 1")),
    "width 0": (lambda: PerValue(3, 1, statistic_bound=0), InputError, ("statistic_bound is 0", "above 0")),
    "width infinite": (lambda: PerValue(3, 1, statistic_bound=math.inf), InputError, ("statistic_bound", "finite")),
    "two lowers": (lambda: PerValue(3, 1, lower=[0, 1]), ShapeError, ("lower", "(2,)", "one number, or 3")),
    "one possible row": (lambda: PerValue(2, 1, possible=[[0, 0]]), ShapeError, ("(1, 2)", "at least two rows")),
    "narrow possible rows": (lambda: PerValue(2, 1, possible=[[0], [1]]), ShapeError, ("(2, 1)", "2 statistics")),
    "ragged possible rows": (lambda: PerValue(2, 1, possible=untyped([[0], [1, 0]])), ShapeError, ("possible",)),
    "possible column": (lambda: PerValue(2, 1, possible=[0, 1]), ShapeError, ("possible", "(2,)")),
    "possible texts": (lambda: PerValue(2, 1, possible=untyped([["a", 0], [1, 0]])), InputError, ("possible", "'a'")),
    "possible above the norm": (
        lambda: PerValue(2, 1, max_l1_norm=1, possible=[[0, 0], [1, 1]]),
        InputError,
        ("row 1 of possible", "norm 2"),
    ),
    "no difference left": (lambda: PerValue(1000, "1e-16"), ProbabilityError, ("62 bits", "Raise the level")),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_and_the_message_says_why(name: str) -> None:
    call, error, words = REFUSED[name]
    with pytest.raises(error) as caught:
        call()
    for word in words:
        assert word in str(caught.value)


def test_rounding_of_the_bounds_is_forgiven() -> None:
    channel = PerValue(2, 1, lower=0.1, statistic_bound=0.2)
    reports = channel.randomize([[0.1, 0.1 + 0.2], [0.3, 0.30000000000000004]])
    assert len(reports) == 2
