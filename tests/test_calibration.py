"""Calibrated flips: ratios against brute force, and levels spent to the last unit of 2⁻⁶²."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from askance._kernels.draw import TOTAL
from askance.channels.statistics import PerValue
from askance.channels.statistics.calibration import calibrate, calibrate_for_density
from askance.channels.statistics.domains import BinaryDomain, BoundedDomain, Domain, ListedDomain
from askance.channels.statistics.flips import Flips, flips_of
from askance.channels.thresholds import exp_rounded_down, log_rounded_up
from askance.errors import ProbabilityError

SYMMETRIC = Flips(3 * TOTAL // 4, TOTAL // 4)
EXAMPLES = {
    "symmetric": SYMMETRIC,
    "few zeros raised": Flips(TOTAL // 2, TOTAL // 10),
    "few ones kept": Flips(9 * TOTAL // 10, TOTAL // 2),
    "weak": Flips(TOTAL // 2 + 3 * 10**12, TOTAL // 2 - 2 * 10**12),
    "strong": Flips(TOTAL - TOTAL // 10**6, TOTAL // (3 * 10**6)),
}
every_flips = pytest.mark.parametrize("flips", EXAMPLES.values(), ids=EXAMPLES.keys())
Point = Sequence[Fraction | int]


def ratio_between(flips: Flips, first: Point, second: Point) -> Fraction:
    """Π_j max_o P(o | t_j)/P(o | t′_j): the largest ratio of one observation between two statistics, exactly."""
    result = Fraction(1)
    for t, other in zip(first, second, strict=True):
        one, another = (flips.raised + (flips.keep - flips.raised) * Fraction(value) for value in (t, other))
        result *= max(one / another, (TOTAL - one) / (TOTAL - another))
    return result


def largest(flips: Flips, points: Iterable[Point]) -> Fraction:
    listed = list(points)
    return max(ratio_between(flips, first, second) for first in listed for second in listed)


def ratio_of(domain: Domain, flips: Flips) -> Fraction:
    return domain.worst(flips).fraction()


def bit_vectors(dimension: int, norms: Iterable[int]) -> list[tuple[int, ...]]:
    return [point for point in product((0, 1), repeat=dimension) if sum(point) in norms]


# -- flips -------------------------------------------------------------------------------------------------------------


@every_flips
def test_flips_are_what_their_thresholds_say(flips: Flips) -> None:
    p, s = Fraction(flips.keep, TOTAL), Fraction(flips.raised, TOTAL)
    assert flips.up == p / s
    assert flips.down == (1 - s) / (1 - p)
    assert flips.gain == float(p - s)
    shares = np.array([0.0, 0.25, 1.0])
    np.testing.assert_allclose(flips.ones(shares), [float(s), float(s + (p - s) / 4), float(p)], rtol=1e-15)
    np.testing.assert_allclose(flips.debias(flips.ones(shares)), shares, atol=1e-15 / flips.gain)
    exact = [float(pi * (1 - pi) / (p - s) ** 2) for pi in (s, s + (p - s) / 4, p)]
    np.testing.assert_allclose(flips.variance(shares), exact, rtol=1e-9)


@pytest.mark.parametrize("strength", [1e-6, 0.1, 1.0, 5.0, 60.0])
@pytest.mark.parametrize("bias", [0.1, 0.5, 0.7])
def test_flips_of_log_ratios(strength: float, bias: float) -> None:
    flips = flips_of(strength * bias, strength * (1 - bias))
    # A threshold is off by half a unit at most: that is what the ratios may miss.
    unit = 1 / min(flips.raised, TOTAL - flips.keep)
    assert math.log(flips.up) == pytest.approx(strength * bias, rel=1e-6 + unit, abs=unit)
    assert math.log(flips.down) == pytest.approx(strength * (1 - bias), rel=1e-6 + unit, abs=unit)
    if bias == 0.5:
        assert flips.keep + flips.raised == TOTAL


def test_no_difference_is_refused() -> None:
    with pytest.raises(ProbabilityError, match="1e-19"):
        flips_of(5e-20, 5e-20)


# -- ratios against brute force ----------------------------------------------------------------------------------------


@every_flips
@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
def test_bits_of_bounded_norm(dimension: int, flips: Flips) -> None:
    for norm in range(1, dimension + 1):
        domain = BinaryDomain.of_norm_at_most(dimension, norm)
        assert ratio_of(domain, flips) == largest(flips, bit_vectors(dimension, range(norm + 1)))
        assert domain.diameter == min(2 * norm, dimension)


@every_flips
@pytest.mark.parametrize("dimension", [2, 3, 4])
def test_bits_of_exact_norm(dimension: int, flips: Flips) -> None:
    for norm in range(1, dimension):
        domain = BinaryDomain.of_norm(dimension, norm)
        assert ratio_of(domain, flips) == largest(flips, bit_vectors(dimension, [norm]))
        assert domain.diameter == 2 * min(norm, dimension - norm)


@every_flips
@pytest.mark.parametrize("seed", range(5))
def test_listed_statistics(seed: int, flips: Flips) -> None:
    """Against all observations of all pairs, from the whole thresholds that the sampler has."""
    rng = np.random.default_rng(seed)
    points = rng.choice([0.0, 1.0, 0.25, 1 / 3, *rng.random(2)], size=(6, 3))
    span = flips.keep - flips.raised
    ones = [[flips.raised + (min(int(span * t), span) if t < 1 else span) for t in row] for row in points.tolist()]
    best = Fraction(0)
    for seen in product((0, 1), repeat=3):
        weights = [math.prod(w if bit else TOTAL - w for w, bit in zip(row, seen, strict=True)) for row in ones]
        best = max(best, Fraction(max(weights), min(weights)))
    assert ratio_of(ListedDomain(points), flips) == best


def bounded_points(dimension: int, norm: Fraction, rng: np.random.Generator) -> list[list[Fraction]]:
    """Vertices of {t in [0, 1]^d, Σt ≤ δ}, even shares over some coordinates, and points at random."""
    whole, rest = divmod(norm, 1)
    levels = [Fraction(0), Fraction(1), rest]
    points = [list(point) for point in product(set(levels), repeat=dimension) if sum(point) <= whole + rest]
    for chosen in product((0, 1), repeat=dimension):
        even = min(Fraction(1), norm / max(sum(chosen), 1))
        points.append([even * int(bit) for bit in chosen])
    for _ in range(8):
        drawn = [Fraction(int(value), 1000) for value in rng.integers(0, 1001, dimension)]
        scale = min(Fraction(1), norm / max(sum(drawn), Fraction(1, 1000)))
        points.append([value * scale for value in drawn])
    return [list(point) for point in {tuple(point) for point in points}]


SLACK = Fraction(1, 10**9)
BOUNDED = [
    (1, "1/2"),
    (1, "1"),
    (2, "1/3"),
    (2, "3/2"),
    (2, "2"),
    (3, "1"),
    (3, "3/2"),
    (3, "8/3"),
    (4, "6/5"),
    (4, "2"),
]


@pytest.mark.parametrize(("dimension", "bound"), BOUNDED)
@every_flips
def test_bounded_statistics_never_exceed_the_formula(dimension: int, bound: str, flips: Flips) -> None:
    norm = Fraction(bound)
    rng = np.random.default_rng([dimension, norm.numerator])
    best = largest(flips, bounded_points(dimension, norm, rng))
    # Vertices and even shares are among the points; what passes as rounding of the norm adds next to nothing.
    assert best <= ratio_of(BoundedDomain(dimension, norm), flips) <= best * (1 + SLACK)


@settings(max_examples=100, deadline=None)
@given(data=st.data(), dimension=st.integers(1, 8), bound=st.fractions("1/10", 8, max_denominator=30))
def test_bounded_statistics_at_random(data: st.DataObject, dimension: int, bound: Fraction) -> None:
    norm = min(bound, Fraction(dimension))
    flips = data.draw(st.sampled_from(list(EXAMPLES.values())))
    ratio = ratio_of(BoundedDomain(dimension, norm), flips)
    part = st.lists(st.fractions(0, 1, max_denominator=50), min_size=dimension, max_size=dimension)
    points = []
    for drawn in (data.draw(part), data.draw(part)):
        scale = min(Fraction(1), norm / max(sum(drawn), Fraction(1, 100)))
        points.append([value * scale for value in drawn])
    assert ratio_between(flips, *points) <= ratio


@pytest.mark.parametrize(("dimension", "bound"), [*BOUNDED, (7, "5/3"), (50, "10/3"), (200, "1/4"), (60, "45")])
@pytest.mark.parametrize("level", ["1/10", "1", "4"])
def test_the_worst_pair_of_bounded_statistics_attains_the_level(dimension: int, bound: str, level: str) -> None:
    channel = PerValue(dimension, level, max_l1_norm=bound, statistics="bounded")
    first, second = ([Fraction(float(t)) for t in row[0]] for row in channel.worst_pair())
    attained = ratio_between(channel.flips, first, second)
    assert 1 - SLACK < attained / channel.largest_ratio() <= 1


@every_flips
def test_levels_from_logarithms_are_those_of_the_fractions(flips: Flips) -> None:
    """`Powers` never works the product out: its level is the same float, and never below the logarithm."""
    for domain in (BinaryDomain(30, 20), BoundedDomain(40, Fraction(7, 3)), ListedDomain(np.eye(9))):
        powers = domain.worst(flips)
        assert powers.level() == log_rounded_up(powers.fraction())
        assert exp_rounded_down(Fraction(powers.log())) * (1 + Fraction(1, 10**50)) >= powers.fraction()


@pytest.mark.parametrize(
    "domain",
    [BinaryDomain(3, 1), BoundedDomain(4, Fraction(3, 2)), ListedDomain(np.array([[0.0, 0.5], [1.0, 0.25]]))],
    ids=["binary", "bounded", "listed"],
)
@every_flips
def test_levels_in_floating_point_are_those_of_the_fractions(domain: Domain, flips: Flips) -> None:
    level = domain.log_ratio(math.log(flips.up), math.log(flips.down))
    exact = ratio_of(domain, flips)
    assert level == pytest.approx(math.log(exact), rel=1e-6, abs=1e-13)


# -- calibration -------------------------------------------------------------------------------------------------------


def domains() -> st.SearchStrategy[Domain]:
    binary = st.builds(
        BinaryDomain.of_norm_at_most, dimension=st.integers(1, 300), norm=st.integers(1, 20)
    ) | st.builds(lambda d, k: BinaryDomain.of_norm(d + k, k), st.integers(1, 300), st.integers(1, 20))
    bounded = st.builds(
        lambda d, part: BoundedDomain(d, d * part), st.integers(1, 12), st.fractions("1/20", 1, max_denominator=20)
    )
    listed = st.integers(0, 2**32).map(
        lambda seed: ListedDomain(np.vstack([np.zeros(3), np.random.default_rng(seed).random((4, 3)), np.ones(3)]))
    )
    return st.one_of(binary, bounded, listed)


@settings(max_examples=150, deadline=None)
@given(
    domain=domains(),
    level=st.fractions("1/100", 10, max_denominator=1000),
    bias=st.sampled_from([0.5, 0.5, 0.2, 0.35, 0.8]),
)
def test_one_unit_less_noise_would_exceed_the_level(domain: Domain, level: Fraction, bias: float) -> None:
    flips = calibrate(domain, level, bias)
    limit = exp_rounded_down(min(level, Fraction(float(level))))
    assert ratio_of(domain, flips) <= limit
    assert flips.keep > flips.raised
    assert bias != 0.5 or flips.keep + flips.raised == TOTAL
    if flips.raised > 1:
        keep = flips.keep + 1 if bias == 0.5 else flips.keep
        assert ratio_of(domain, Flips(keep, flips.raised - 1)) > limit
    spent = math.log(ratio_of(domain, flips))
    assert spent >= 0.99 * float(level)


@pytest.mark.parametrize("level", ["1/1000000", "1/10", "1", "4", "12", "30"])
def test_one_bit_is_kept_with_the_logistic_function_of_the_level(level: str) -> None:
    flips = calibrate(BinaryDomain(1, 0), Fraction(level))
    assert flips.keep_probability == pytest.approx(1 / (1 + math.exp(-Fraction(level))), rel=1e-15)
    assert flips.raise_probability == pytest.approx(1 / (1 + math.exp(Fraction(level))), rel=1e-6)


def cost(flips: Flips, density: float) -> float:
    """The mean variance of debiased bits of which that share is 1, given the truth."""
    zeros, ones = flips.variance(np.array([0.0, 1.0]))
    return float((1 - density) * zeros + density * ones)


@settings(max_examples=60, deadline=None)
@given(domain=domains(), level=st.sampled_from(["1/10", "1", "2", "6"]), density=st.floats(0, 1))
@example(domain=BoundedDomain(1, Fraction(1, 20)), level="1/10", density=1.0)  # ones stay for all that floats can tell
def test_flips_for_a_density_are_never_worse_than_symmetric_ones(domain: Domain, level: str, density: float) -> None:
    tuned = calibrate_for_density(domain, Fraction(level), density)
    assert ratio_of(domain, tuned) <= exp_rounded_down(Fraction(level))
    assert math.log(ratio_of(domain, tuned)) >= 0.99 * float(Fraction(level))
    symmetric = calibrate(domain, Fraction(level))
    assert cost(tuned, density) <= cost(symmetric, density) * (1 + 1e-9)


@pytest.mark.parametrize("level", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("density", [0.0, 0.02, 0.3, 0.5, 0.9, 1.0])
def test_flips_for_a_density_are_the_best_of_a_fine_grid(level: float, density: float) -> None:
    """One-hot codes, where p/s · (1 − s)/(1 − p) = e^level leaves one number to choose."""
    domain = BinaryDomain.of_norm(50, 1)
    tuned = calibrate_for_density(domain, Fraction(str(level)), density)
    grid = [flips_of(level * bias, level * (1 - bias)) for bias in np.linspace(0.01, 0.99, 981).tolist()]
    assert cost(tuned, density) <= min(cost(flips, density) for flips in grid) * (1 + 1e-6)


@pytest.mark.parametrize("level", [0.5, 1.0, 2.0])
def test_rare_ones_are_kept_half_of_the_time(level: float) -> None:
    """Optimised unary encoding: p = 1/2 and s = 1/(e^α + 1), to which the best flips tend as ones become rare."""
    tuned = calibrate_for_density(BinaryDomain.of_norm(100, 1), Fraction(str(level)), 0.0)
    assert tuned.keep_probability == pytest.approx(0.5, abs=1e-3)
    assert tuned.raise_probability == pytest.approx(1 / (math.exp(level) + 1), rel=2e-3)


def test_a_level_that_leaves_nothing_is_refused() -> None:
    with pytest.raises(ProbabilityError, match=r"62 bits.*Raise the level"):
        calibrate(BinaryDomain(1000, 1000), Fraction(1, 10**16))
