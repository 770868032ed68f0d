"""The corrections of coordinate release and per-value release, held by the classes themselves.

The files beside this one show each slip on explicit matrices; here `CoordinateRelease` and `PerValue` are held to the
corrected forms, and with calibration "paper" to what the print really gives.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from askance import CoordinateRelease, Enumerated, PerValue, TripleRelease, asymptotics, certify
from askance._kernels.draw import TOTAL
from askance.channels.statistics.flips import Flips
from askance.design import (
    coordinate_release_excess_covariance,
    crossover,
    per_value_excess_covariance,
    small_level_traces,
)
from askance.errors import InputError

from .exact import (
    Floats,
    assert_close,
    covariance,
    exact,
    expected_conditional_covariance,
    floats,
    four_outputs,
    largest_ratio,
)
from .structured import (
    bits_of_norm,
    coordinate_release,
    exact_keep_probability,
    flip_variance,
    per_value,
    printed_keep_probability,
)

STRONG = [5.0, -1.0]
INSIDE = exact([[0, "1/2", 1, 2], ["3/2", "1/4", 0, 1], [2, "1/3", "2/3", 0]])
TRUTH = exact(["1/2", "1/4", "1/8", "1/8"])
RELEASE = ["1/2", "1/3", "1/6"]
SMALL = 1e-3


def keep(flips: Flips) -> Fraction:
    """q, exactly."""
    return Fraction(flips.keep, TOTAL)


# -- 5 and 5b: coordinate release --------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [0.5, 1.0, 2.0, 4.0])
def test_coordinate_release_spends_the_level_and_as_printed_half_of_it(level: float) -> None:
    """Corrected row 5."""
    spent, printed = CoordinateRelease(3, level), CoordinateRelease(3, level, calibration="paper")
    assert float(keep(spent.flips)) == pytest.approx(float(exact_keep_probability(level)), abs=1e-15)
    assert float(keep(printed.flips)) == pytest.approx(float(printed_keep_probability(level)), abs=1e-15)
    assert level - 1e-12 <= certify(spent).privacy_level <= level
    assert certify(printed).privacy_level == pytest.approx(level / 2, abs=1e-12)
    for channel in (spent, printed):  # and the explicit matrix agrees, as a fraction
        assert certify(channel).proved_by == "enumeration"
        scheme = coordinate_release(bits_of_norm(3, 0, 1, 2, 3), keep(channel.flips))
        assert certify(channel).largest_ratio == largest_ratio(scheme.S)


@pytest.mark.parametrize(("level", "factor", "digits"), [(1, 4.26, 2), (4, 9.5, 1)])
def test_the_class_saves_the_flip_variance_of_the_printed_calibration(level: int, factor: float, digits: int) -> None:
    """Corrected row 5, the numbers."""
    printed, spent = (CoordinateRelease(2, level, calibration=name).flips for name in ("paper", "exact"))
    assert round(float(flip_variance(keep(printed)) / flip_variance(keep(spent))), digits) == factor


@pytest.mark.parametrize("release", [["1/3", "1/3", "1/3"], RELEASE], ids=["uniform", "skewed"])
def test_the_class_averages_within_coordinates(release: list[str]) -> None:
    """Corrected row 5b: both covariances of the class against those enumerated from S."""
    channel = CoordinateRelease(3, 1, release_distribution=release, statistic_bound=2)
    drawn, truth, shares = exact(release), floats(INSIDE).T, floats(TRUTH)
    scheme = coordinate_release(INSIDE, keep(channel.flips), bound=2, release=drawn)
    influence = scheme.beta - (INSIDE @ TRUTH / drawn)[:, None] * np.repeat(np.eye(3, dtype=int), 2, axis=1)
    assert_close(channel.mean_covariance(truth, shares), covariance(influence, scheme.S @ TRUTH))
    assert_close(channel.mean_covariance(truth, shares, "printed"), covariance(scheme.beta, scheme.S @ TRUTH))


def test_the_class_reaches_the_traces_of_the_strong_signal() -> None:
    """Corrected row 5b, the numbers: 64,347 with the printed average, 42,021 within; as printed 200,125."""
    traces = [
        float(np.trace(asymptotics(four_outputs(), channel, STRONG, averaging=averaging).moments))
        for channel in (CoordinateRelease(2, 1), CoordinateRelease(2, 1, calibration="paper"))
        for averaging in ("within", "printed")
    ]
    assert traces == pytest.approx([42_021, 64_347, 177_798, 200_125], rel=1e-5)


def test_estimates_within_coordinates_scatter_as_predicted() -> None:
    """Corrected row 5b on draws: 400 surveys of 2,000; the ratio of variances has a false-alarm rate of 1e-6 (z = 5).

    A variance from 400 surveys has a relative standard error of √(2/399).
    """
    rng, p = np.random.default_rng(17), four_outputs().probabilities([1.0, -1.0])
    channel, rows = CoordinateRelease(2, 1), four_outputs().table.T
    for averaging in ("within", "printed"):
        found = []
        for _ in range(400):
            reports = channel.simulate(rows[rng.choice(4, size=2000, p=p)], rng)
            found.append(channel.mean(channel.sums(reports), 2000, averaging))
        predicted = np.diag(channel.mean_covariance(rows, p, averaging)) / 2000
        assert np.var(found, axis=0, ddof=1) == pytest.approx(predicted, rel=5 * math.sqrt(2 / 399))


# -- 6: per-value release ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "share"),
    [
        pytest.param({}, 1 / 2, id="all of {0,1}^6"),
        pytest.param({"max_l1_norm": 4}, 3 / 4, id="norm at most 4"),
        pytest.param({"max_l1_norm": 2}, 1, id="norm at most 2"),
        pytest.param({"l1_norm": 4}, 1 / 2, id="norm exactly 4"),
        pytest.param({"l1_norm": 1}, 1, id="norm exactly 1"),
    ],
)
def test_per_value_release_as_printed_has_a_level_by_its_diameter_and_exactly_calibrated_the_stated_one(
    given: dict[str, Any], share: float
) -> None:
    """Corrected row 6: õ in {0,1}⁶ with δ̄ = 6 has α/2 as printed, norm at most 4 has 0.75 α, norm at most 2 has α."""
    for level in (1.0, 3.0):
        printed, spent = PerValue(6, level, calibration="paper", **given), PerValue(6, level, **given)
        assert certify(printed).privacy_level == pytest.approx(share * level, abs=1e-12)
        assert certify(spent).privacy_level == pytest.approx(level, abs=1e-12)
        assert certify(spent).holds
        norms = [given["l1_norm"]] if "l1_norm" in given else range(given.get("max_l1_norm", 6) + 1)
        bits = bits_of_norm(6, *norms)
        diameter = max(int(np.abs(a - b).sum()) for a, b in product(bits.T, repeat=2))
        q = keep(spent.flips)
        assert certify(spent).largest_ratio == (q / (1 - q)) ** diameter
        assert float(q) == pytest.approx(float(exact_keep_probability(level / diameter)), abs=1e-12)


@pytest.mark.parametrize(("norm_bound", "real"), [(16, 0.032), (8, 0.064)], ids=["printed", "by the diameter"])
def test_sixteen_small_statistics_as_printed_have_a_tiny_level(norm_bound: int, real: float) -> None:
    """Corrected row 6, the number: φ in {0, 1/16·1}, d = 16, nominal level 1.

    The bits of φ can all be 1, so δ̄ = 16 as printed; D = 16 bits at 2δ̄ = 16 is the calibration by the diameter.
    """
    possible = [[0] * 16, ["1/16"] * 16]
    given: dict[str, Any] = {"statistics": "bounded", "possible": possible}
    channel = PerValue(16, 1, calibration="paper", max_l1_norm=norm_bound, **given)
    assert round(certify(channel).privacy_level, 3) == real
    assert certify(channel).holds
    # Root search over what is possible spends the level, and lets far more through.
    spent = PerValue(16, 1, **given)
    assert certify(spent).privacy_level == pytest.approx(1, abs=1e-9)
    assert spent.flips.gain > 10 * channel.flips.gain


def test_statistics_inside_their_bounds_are_more_private_than_their_bits() -> None:
    """Corrected row 6: the level is the maximum over pairs of a sum over coordinates, found by root search."""
    listed = PerValue(3, 1, statistics="bounded", statistic_bound=4, possible=INSIDE.T.tolist())
    q = keep(listed.flips)
    ratio = largest_ratio(per_value(INSIDE, q, bound=4).S)
    assert float(certify(listed).largest_ratio or 0) == pytest.approx(float(ratio), rel=1e-12)
    assert 3 * math.log(q / (1 - q)) > 1.5  # what the same bits would spend, were φ binary
    assert certify(listed).privacy_level == pytest.approx(1, abs=1e-9)


# -- 7: excess covariances ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bound", [2, 3])
def test_the_classes_count_the_noise_of_binarisation(bound: int) -> None:
    """Corrected row 7: class, closed form and enumeration of S agree, for any release distribution."""
    model = Enumerated(floats(INSIDE), log_base_measure=np.log(floats(TRUTH)))
    origin, rows, shares = np.zeros(3), floats(INSIDE).T, floats(TRUTH)
    for release in (["1/3", "1/3", "1/3"], RELEASE):
        channel = CoordinateRelease(3, 1, statistic_bound=bound, release_distribution=release)
        scheme = coordinate_release(INSIDE, keep(channel.flips), bound=bound, release=exact(release))
        expected = expected_conditional_covariance(scheme.beta, scheme.S, TRUTH)
        assert_close(channel.excess_covariance(rows, shares, "printed"), expected)
        assert_close(coordinate_release_excess_covariance(model, channel, origin, "printed"), expected)
    values = PerValue(3, 1, statistics="bounded", statistic_bound=bound)
    scheme = per_value(INSIDE, keep(values.flips), bound=bound)
    expected = expected_conditional_covariance(scheme.beta, scheme.S, TRUTH)
    assert_close(values.excess_covariance(rows, shares), expected)
    assert_close(per_value_excess_covariance(model, values, origin), expected)
    # As printed, without the second term, it is too small.
    flips_alone = bound**2 * float(flip_variance(keep(values.flips)))
    assert (np.diag(floats(expected)) > flips_alone + 0.1).all()


def test_the_classes_shift_statistics_that_can_be_negative() -> None:
    """Corrected row 7: φ − 1 with lower = −1 costs what φ costs."""
    rows, shares = floats(INSIDE).T, floats(TRUTH)
    for make in (
        lambda **given: CoordinateRelease(3, 1, statistic_bound=2, release_distribution=RELEASE, **given),
        lambda **given: PerValue(3, 1, statistics="bounded", statistic_bound=2, **given),
    ):
        plain, shifted = make(), make(lower=-1)
        assert_close(shifted.mean_covariance(rows - 1, shares), plain.mean_covariance(rows, shares))
        with pytest.raises(InputError, match="allowed: 0 to 2"):
            plain.randomize(rows - 1)


# -- 8: kept, and bounded from above -----------------------------------------------------------------------------------


def test_the_classes_keep_bits_with_probability_q() -> None:
    """Corrected row 8: β of the class is unbiased for the S of kept bits, and upside down for flipped ones."""
    for channel, scheme in (
        (CoordinateRelease(3, 1), coordinate_release),
        (PerValue(3, 1, max_l1_norm=3), per_value),
    ):
        q, bits = keep(channel.flips), bits_of_norm(3, 0, 1, 2, 3)
        assert q > Fraction(1, 2)
        assert certify(channel).unbiased
        kept, flipped = scheme(bits, q), scheme(bits, 1 - q)
        assert np.array_equal(kept.beta @ kept.S, bits)
        assert np.array_equal(kept.beta @ flipped.S, 1 - bits)


def test_per_value_release_refuses_statistics_beyond_the_norm() -> None:
    """Corrected row 8: δ̄ bounds the norm from above; a vector beyond it would be less protected than stated."""
    channel = PerValue(4, 1, max_l1_norm=2)
    channel.randomize(floats(bits_of_norm(4, 0, 1, 2)).T)
    with pytest.raises(InputError, match="row 0 have a wrong sum; allowed: at most 2"):
        channel.randomize(floats(bits_of_norm(4, 3)).T)


# -- 17b: small levels -------------------------------------------------------------------------------------------------


def excess_traces(dimension: int, norms: tuple[int, ...]) -> tuple[float, float, Floats, int]:
    """tr H of both classes at a small level for a uniform truth, E φ, and D."""
    rows = floats(bits_of_norm(dimension, *norms)).T
    released = CoordinateRelease(dimension, SMALL).excess_covariance(rows, None, "printed")
    values = PerValue(dimension, SMALL, max_l1_norm=max(norms)).excess_covariance(rows)
    return (
        float(np.trace(released)),
        float(np.trace(values)),
        rows.mean(axis=0),
        min(2 * max(norms), dimension),
    )


@pytest.mark.parametrize(("dimension", "norms"), [(3, (0, 1)), (4, (0, 1, 2)), (6, (0, 1, 2)), (6, (0, 1, 2, 3))])
def test_the_classes_cost_at_small_levels_what_exact_calibration_predicts(
    dimension: int, norms: tuple[int, ...]
) -> None:
    """Corrected row 17b: d²/α² + (d − 1)·E‖φ‖₁ and d·D²/α²."""
    released, values, means, diameter = excess_traces(dimension, norms)
    predicted = small_level_traces(SMALL, means, diameter, "printed")
    assert predicted.coordinate_release == pytest.approx(
        dimension**2 / SMALL**2 + (dimension - 1) * float(means.sum()), rel=1e-15
    )
    assert released == pytest.approx(predicted.coordinate_release, rel=SMALL**2)
    assert values == pytest.approx(predicted.per_value, rel=SMALL**2)
    printed = CoordinateRelease(dimension, SMALL, calibration="paper")
    rows = floats(bits_of_norm(dimension, *norms)).T
    assert np.trace(printed.excess_covariance(rows, None, "printed")) == pytest.approx(4 * released, rel=1e-4)


@pytest.mark.parametrize(
    ("dimension", "norms", "ratio"),
    [(4, (0, 1), 1.0), (4, (0, 1, 2), 4.0), (6, (0, 1), 2 / 3), (6, (0, 1, 2), 8 / 3), (9, (0, 1), 4 / 9)],
)
def test_the_classes_cost_the_same_where_the_diameter_is_the_root_of_the_dimension(
    dimension: int, norms: tuple[int, ...], ratio: float
) -> None:
    """Corrected row 17b: the crossover."""
    released, values, _, diameter = excess_traces(dimension, norms)
    assert values / released == pytest.approx(ratio, rel=1e-4)
    assert (diameter / crossover(dimension)) ** 2 == pytest.approx(ratio)


# -- numbers to reproduce: asymmetric flips ----------------------------------------------------------------------------


@pytest.mark.parametrize(("strength", "ratio"), [(1, 1.064), (2, 1.272), (4, 2.38)])
@pytest.mark.parametrize("norm", [1, 2])
def test_flips_for_sparse_statistics(strength: int, ratio: float, norm: int) -> None:
    """Variance of a zero with symmetric flips over that with flips tuned to a tiny density, at α/δ = 1, 2, 4."""
    level = strength * norm
    symmetric, tuned = PerValue(40, level, max_l1_norm=norm), PerValue(40, level, max_l1_norm=norm, density="1/1000000")
    for channel in (symmetric, tuned):
        assert certify(channel).privacy_level == pytest.approx(level, abs=1e-12)
        assert certify(channel).holds
    zero = np.zeros((1, 40))
    traces = [float(np.trace(channel.excess_covariance(zero))) for channel in (symmetric, tuned)]
    assert traces[0] / traces[1] == pytest.approx(ratio, abs=5e-3 if strength == 4 else 5e-4)
    assert tuned.flips.keep_probability == pytest.approx(0.5, abs=1e-3)
    # p(1 − s)/(s(1 − p)) = e^{α/δ}
    assert math.log(tuned.flips.up * tuned.flips.down) == pytest.approx(strength, abs=1e-9)


def test_flips_tuned_to_a_dense_truth_never_lose() -> None:
    """Density 0.2 at α/δ = 4: one half as keep probability costs 1/0.66, the tuned one gains."""
    symmetric, tuned = PerValue(10, 4, l1_norm=1), PerValue(10, 4, l1_norm=1, density="1/5")

    def cost(channel: PerValue) -> float:
        ones, zeros = channel.flips.variance(np.array([1.0, 0.0]))
        return float(0.2 * ones + 0.8 * zeros)

    assert cost(tuned) < cost(symmetric)
    halved = PerValue(10, 4, l1_norm=1)
    raised = 0.5 / (0.5 + math.exp(4) * 0.5)
    halved.flips = Flips(TOTAL // 2, round(raised * TOTAL))
    assert cost(symmetric) / cost(halved) == pytest.approx(0.66, abs=5e-3)


def test_the_triple_is_accounted_for_as_a_whole() -> None:
    """Row 19: by enumeration the class spends the stated level, and less than three times what one bit would."""
    channel = TripleRelease(2, 3)
    exact = channel.enumerate_exactly()
    assert exact is not None
    largest = max(Fraction(max(row), min(row)) for row in exact.weights)
    assert largest == channel.largest_ratio()
    assert 2.999 < math.log(largest) <= 3
    one_bit = math.log(channel.flips.keep / channel.flips.raised)
    assert one_bit < math.log(largest) < 3 * one_bit
