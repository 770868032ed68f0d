"""What the two structured schemes cost at small privacy levels."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from .exact import Exact, expected_conditional_covariance
from .structured import (
    bits_of_norm,
    coordinate_release,
    exact_keep_probability,
    flip_variance,
    per_value,
    printed_keep_probability,
    uniform,
)

SMALL = 1e-3


def trace_of_excess(bits: Exact, keep: Fraction, *, released_at_once: bool) -> float:
    """tr H by enumeration, for a uniform truth."""
    scheme = per_value(bits, keep) if released_at_once else coordinate_release(bits, keep)
    excess = expected_conditional_covariance(scheme.beta, scheme.S, uniform(bits.shape[1]))
    return float(sum(excess[j, j] for j in range(len(bits))))


@pytest.mark.parametrize(("dimension", "norm"), [(3, 1), (4, 2), (5, 3)])
def test_printed_traces_hold_for_the_printed_calibration(dimension: int, norm: int) -> None:
    """Right as printed, statistics of norm exactly δ̄: 4d²/α² + δ̄(d − 1) and 4dδ̄²/α² are the leading terms."""
    d, bits = dimension, bits_of_norm(dimension, norm)
    released = trace_of_excess(bits, printed_keep_probability(SMALL), released_at_once=False)
    assert released == pytest.approx(4 * d**2 / SMALL**2 + norm * (d - 1), rel=SMALL**2)
    values = trace_of_excess(bits, printed_keep_probability(SMALL / norm), released_at_once=True)
    assert values == pytest.approx(4 * d * norm**2 / SMALL**2, rel=SMALL**2)


@pytest.mark.parametrize(("dimension", "norm"), [(3, 1), (4, 2), (5, 3)])
def test_the_part_of_drawing_a_coordinate_is_exact_at_every_level(dimension: int, norm: int) -> None:
    """Right as printed: what does not shrink with α is δ̄(d − 1), which the leading term alone could not show."""
    bits = bits_of_norm(dimension, norm)
    for level in (0.5, 1.0, 4.0):
        keep = printed_keep_probability(level)
        total = trace_of_excess(bits, keep, released_at_once=False)
        assert total - dimension**2 * float(flip_variance(keep)) == pytest.approx(norm * (dimension - 1), abs=1e-9)


def test_the_flip_variance_is_one_over_four_sinh_squared() -> None:
    """Row 17b: v(q_t) = 1/(4 sinh²(t/4)) = 4/t² − 1/12 + O(t²); the constant is dropped in print."""
    for level in (0.01, 0.1, 1.0):
        v = float(flip_variance(printed_keep_probability(level)))
        assert v == pytest.approx(1 / (4 * math.sinh(level / 4) ** 2), rel=1e-8)
        assert v - 4 / level**2 == pytest.approx(-1 / 12, abs=level**2 / 100 + 1e-5)


@pytest.mark.parametrize(("dimension", "norm"), [(3, 1), (4, 2), (6, 2)])
def test_exact_calibration_divides_the_leading_terms(dimension: int, norm: int) -> None:
    """Row 17b: d²/α² + (d − 1)·E‖φ‖₁ and d·D²/α²; the printed terms are 4 and 4δ̄²/D² times too large."""
    d, bits = dimension, bits_of_norm(dimension, norm)
    distance = 2 * min(norm, d - norm)
    released = trace_of_excess(bits, exact_keep_probability(SMALL), released_at_once=False)
    assert released == pytest.approx(d**2 / SMALL**2 + (d - 1) * norm, rel=SMALL**2)
    assert released < 0.26 * (4 * d**2 / SMALL**2)
    values = trace_of_excess(bits, exact_keep_probability(SMALL / distance), released_at_once=True)
    assert values == pytest.approx(d * distance**2 / SMALL**2, rel=SMALL**2)


def test_the_mean_norm_counts_and_not_its_bound() -> None:
    """Row 17b: with norms between 0 and 2 the constant is (d − 1)·E‖φ‖₁, not (d − 1)·δ̄."""
    bits, d = bits_of_norm(4, 0, 1, 2), 4
    keep = exact_keep_probability(1.0)
    constant = trace_of_excess(bits, keep, released_at_once=False) - d**2 * float(flip_variance(keep))
    mean_norm = (4 * 1 + 6 * 2) / 11
    assert constant == pytest.approx((d - 1) * mean_norm, abs=1e-9)
    assert constant < (d - 1) * 2 - 1


@pytest.mark.parametrize(
    ("dimension", "norms", "ratio"),
    [(4, (0, 1), 1.0), (4, (0, 1, 2), 4.0), (6, (0, 1), 2 / 3), (6, (0, 1, 2), 8 / 3)],
)
def test_the_crossover_is_where_the_diameter_squared_equals_the_dimension(
    dimension: int, norms: tuple[int, ...], ratio: float
) -> None:
    """Row 17b: per-value over coordinate release costs D²/d as α → 0: equal at D = √d."""
    bits = bits_of_norm(dimension, *norms)
    distance = min(2 * max(norms), dimension)
    assert distance**2 / dimension == pytest.approx(ratio)
    released = trace_of_excess(bits, exact_keep_probability(SMALL), released_at_once=False)
    values = trace_of_excess(bits, exact_keep_probability(SMALL / distance), released_at_once=True)
    assert values / released == pytest.approx(ratio, rel=1e-5)
