"""Per-value release: its exact level by Hamming diameter, its covariance, and asymmetric flips."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from askance import MatrixChannel, certify

from .exact import (
    FOUR_OUTPUTS,
    Exact,
    channel,
    covariance,
    exact,
    expected_conditional_covariance,
    identity,
    largest_ratio,
    tilted,
)
from .structured import (
    asymmetric_flips,
    bits_of_norm,
    exact_keep_probability,
    flip_variance,
    independent_bits,
    one_probabilities,
    per_value,
    printed_keep_probability,
    uniform,
)

KEEP = Fraction(3, 4)  # q/(1 − q) = 3
INSIDE = exact([[0, "1/2", 1, 2], ["3/2", "1/4", 0, 1], [2, "1/3", "2/3", 0]])
TRUTH = exact(["1/2", "1/4", "1/8", "1/8"])


def diameter(bits: Exact) -> int:
    """D: the largest Hamming distance between columns."""
    return max(int(np.abs(a - b).sum()) for a, b in product(bits.T, repeat=2))


@pytest.mark.parametrize(
    ("norms", "norm_bound", "distance", "share"),
    [
        pytest.param(range(7), 6, 6, Fraction(1, 2), id="all of {0,1}^6"),
        pytest.param(range(5), 4, 6, Fraction(3, 4), id="norm at most 4"),
        pytest.param(range(3), 2, 4, Fraction(1), id="norm at most 2"),
        pytest.param([4], 4, 4, Fraction(1, 2), id="norm exactly 4"),
        pytest.param([1], 1, 2, Fraction(1), id="norm exactly 1"),
    ],
)
def test_the_level_follows_the_hamming_diameter(
    norms: list[int], norm_bound: int, distance: int, share: Fraction
) -> None:
    """Row 6: with q_{α/δ̄} = 3/4 the claim is e^α = 3^{2δ̄}; the exact ratio is 3^D, so the level is α·D/(2δ̄)."""
    bits = bits_of_norm(6, *norms)
    exactly = len(norms) == 1
    assert diameter(bits) == distance == (2 * min(norm_bound, 6 - norm_bound) if exactly else min(2 * norm_bound, 6))
    claimed = 2 * norm_bound
    assert largest_ratio(per_value(bits, KEEP).S) == 3**distance
    assert share * claimed == distance
    if distance <= 4:  # fewer outputs, same arithmetic: also from the thresholds of the sampler
        assert certify(channel(per_value(bits, KEEP).S)).largest_ratio == 3**distance


@pytest.mark.parametrize("norms", [(0, 1, 2, 3, 4), (0, 1), (2,)])
def test_calibration_by_the_diameter_is_exact(norms: tuple[int, ...]) -> None:
    """Row 6: q = e^{α/D}/(1 + e^{α/D}) is exactly α-private, the printed q only when D = 2δ̄."""
    bits, level = bits_of_norm(4, *norms), 1.5
    distance = diameter(bits)
    calibrated = channel(per_value(bits, exact_keep_probability(level / distance)).S)
    assert calibrated.privacy_level == pytest.approx(level, abs=1e-12)
    as_printed = channel(per_value(bits, printed_keep_probability(level / max(norms))).S)
    assert as_printed.privacy_level == pytest.approx(level * distance / (2 * max(norms)), abs=1e-12)


def level_by_coordinates(ones: Exact) -> float:
    """Max over (φ, φ′) of Σ_j max_o log P(o | φ_j)/P(o | φ′_j)."""
    pairs = product(range(ones.shape[1]), repeat=2)
    return max(
        sum(math.log(max(a / b, (1 - a) / (1 - b))) for a, b in zip(*ones.T[[y, z]], strict=True)) for y, z in pairs
    )


def test_statistics_inside_the_interval_are_more_private_than_their_bits() -> None:
    """Row 6: the support of õ is all of {0,1}³, so D = 3, and the level is less; the sum over coordinates is exact."""
    scheme = per_value(INSIDE, KEEP, bound=4)
    level = math.log(largest_ratio(scheme.S))
    assert level < 3 * math.log(3) - 1
    assert level == pytest.approx(level_by_coordinates(one_probabilities(INSIDE, KEEP, 4)), abs=1e-12)
    assert channel(scheme.S).privacy_level == pytest.approx(level, abs=1e-12)


def test_sixteen_small_statistics_have_a_level_of_0_064_where_1_is_nominal() -> None:
    """Row 6, the number: φ ∈ {0, 1/16·1}, d = 16, calibrated by D = 16; with the printed q it is half of that again.

    Given y all bits are alike, so their number is all that tells the two outputs apart: 17 observations.
    """
    phi = exact([[0, Fraction(1, 16)]] * 16)
    for keep, expected in ((exact_keep_probability(1 / 16), 0.064), (printed_keep_probability(1 / 16), 0.032)):
        ones = one_probabilities(phi, keep)
        counts = exact([[math.comb(16, k) * a**k * (1 - a) ** (16 - k) for a in ones[0]] for k in range(17)])
        level = MatrixChannel(counts.tolist()).privacy_level
        assert round(level, 3) == expected
        assert level == pytest.approx(level_by_coordinates(ones), abs=1e-10)
    # The shortcut over counts is the enumeration over bits where that is small enough to do.
    few = one_probabilities(phi[:5], KEEP)
    counts = exact([[math.comb(5, k) * a**k * (1 - a) ** (5 - k) for a in few[0]] for k in range(6)])
    assert largest_ratio(counts) == largest_ratio(independent_bits(few))


def test_the_maximum_runs_over_x_when_x_is_private() -> None:
    """Row 6: each x alone has diameter 2, both together 4."""
    given_x = [exact([[1, 1], [1, 0], [0, 1], [0, 0]]), exact([[0, 0], [0, 1], [1, 0], [1, 1]])]
    assert [largest_ratio(per_value(bits, KEEP).S) for bits in given_x] == [3**2, 3**2]
    assert largest_ratio(per_value(np.concatenate(given_x, axis=1), KEEP).S) == 3**4


@pytest.mark.parametrize("bits", [exact(FOUR_OUTPUTS), bits_of_norm(4, 1, 2)], ids=["d=2", "d=4"])
def test_printed_h_holds_for_binary_statistics(bits: Exact) -> None:
    """Right as printed: H of per-value release is v·I when φ ∈ {0,1}^d."""
    p = tilted(FOUR_OUTPUTS, [Fraction(3), Fraction(1, 2)]) if len(bits) == 2 else uniform(bits.shape[1])
    scheme = per_value(bits, KEEP)
    assert np.array_equal(scheme.beta @ scheme.S, bits)
    excess = expected_conditional_covariance(scheme.beta, scheme.S, p)
    assert np.array_equal(excess, flip_variance(KEEP) * identity(len(bits)))


@pytest.mark.parametrize("bound", [2, 3])
def test_printed_h_misses_the_noise_of_binarisation(bound: int) -> None:
    """Row 7, per-value: H = c²·v·I + E diag(φ∘(c − φ))."""
    scheme = per_value(INSIDE, KEEP, bound=bound)
    assert np.array_equal(scheme.beta @ scheme.S, INSIDE)
    excess = expected_conditional_covariance(scheme.beta, scheme.S, TRUTH)
    flips = bound**2 * flip_variance(KEEP) * identity(3)
    assert np.array_equal(excess, flips + np.diag((INSIDE * (bound - INSIDE)) @ TRUTH))
    assert not np.array_equal(excess, flips)


def test_bits_are_kept_with_probability_q_and_the_norm_is_bounded_from_above() -> None:
    """Row 8: flipped bits invert β; and a δ̄ below the norm breaks the promise."""
    kept, flipped = per_value(INSIDE, KEEP, bound=2), per_value(INSIDE, 1 - KEEP, bound=2)
    assert np.array_equal(kept.beta @ kept.S, INSIDE)
    assert np.array_equal(kept.beta @ flipped.S, 2 - INSIDE)
    bits = bits_of_norm(4, 2)  # every õ has norm 2
    for norm_bound, is_private in ((1, False), (2, True)):
        claimed = 3 ** (2 * norm_bound)  # e^α for q_{α/δ̄} = 3/4
        assert (largest_ratio(per_value(bits, KEEP).S) <= claimed) is is_private


# -- asymmetric flips: p(1 − s)/(s(1 − p)) = e^{α/δ} ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dimension", "norms", "attained"),
    [(4, (0, 1, 2), True), (5, (2,), True), (3, (0, 1, 2), False), (4, (0, 1), False)],
)
@pytest.mark.parametrize("keep_ones", [Fraction(1, 2), Fraction(3, 4), Fraction(1, 4)], ids=str)
def test_asymmetric_flips_are_exactly_private_when_the_diameter_is_twice_the_norm(
    dimension: int, norms: tuple[int, ...], attained: bool, keep_ones: Fraction
) -> None:
    """Numbers to reproduce: δ = 2 and odds 9 give e^α = 81; attained when D = 4, safe whenever the norm is ≤ 2."""
    odds, delta = 9, 2
    raise_zeros = keep_ones / (keep_ones + odds * (1 - keep_ones))
    bits = bits_of_norm(dimension, *norms)
    scheme = asymmetric_flips(bits, keep_ones, raise_zeros)
    assert np.array_equal(scheme.beta @ scheme.S, bits)
    assert (diameter(bits) == 2 * delta) is attained
    ratio = largest_ratio(scheme.S)
    assert ratio == odds**delta if attained else ratio < odds**delta


def mean_flip_variance(keep_ones: float, odds: float, density: float) -> float:
    """Variance that flips add to one debiased bit that is 1 with probability `density`, by enumeration."""
    s = keep_ones / (keep_ones + odds * (1 - keep_ones))
    scheme = asymmetric_flips(exact([[0, 1]]), Fraction(keep_ones), Fraction(s))
    p = exact([1 - Fraction(density), Fraction(density)])
    total = covariance(scheme.beta, scheme.S @ p) - covariance(exact([[0, 1]]), p)
    return float(total[0, 0])


@pytest.mark.parametrize(("level", "ratio"), [(1, 1.064), (2, 1.272), (4, 2.38)])
def test_asymmetric_flips_of_sparse_statistics(level: float, ratio: float) -> None:
    """Numbers to reproduce: symmetric over best asymmetric variance of a bit that is almost always 0."""
    odds = math.exp(level)
    symmetric = float(flip_variance(printed_keep_probability(level)))
    best = minimize_scalar(lambda p: mean_flip_variance(p, odds, 0.0), bounds=(0.05, 0.95), method="bounded")
    assert best.x == pytest.approx(0.5, abs=1e-4)
    assert symmetric / best.fun == pytest.approx(ratio, abs=5e-3 if level == 4 else 5e-4)


def test_asymmetric_flips_lose_on_dense_statistics_unless_tuned_to_them() -> None:
    """Numbers to reproduce: density 0.2, α/δ = 4: p = ½ gives 0.66 ×; the best p is no worse than symmetric flips."""
    odds, density = math.exp(4), 0.2
    symmetric = float(flip_variance(printed_keep_probability(4)))
    assert round(symmetric / mean_flip_variance(0.5, odds, density), 2) == 0.66
    best = minimize_scalar(lambda p: mean_flip_variance(p, odds, density), bounds=(0.05, 0.95), method="bounded")
    assert symmetric / best.fun > 1.01
