"""Figure inv_LL: where the marginal likelihood has two maxima, and what the library says about them."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from askance import Enumerated, MatrixChannel, Tally, estimate
from askance.errors import MultipleMaximaWarning
from askance.estimation.problems.likelihood import MarginalLikelihood

from .exact import FIGURE_S, FIGURE_STATISTICS, exact, integer_counts, tilted
from .likelihood_polynomial import evaluate, positive_roots, slope_polynomial

MODEL = Enumerated(FIGURE_STATISTICS)
CHANNEL = MatrixChannel(FIGURE_S)


def expected_reports(theta: float) -> Tally:
    """A tally whose frequencies are S p_θ to fifteen digits: the expected log-likelihood is its log-likelihood."""
    q = CHANNEL.apply(MODEL.probabilities([theta]))
    return Tally(CHANNEL, np.round(q * 1e15).astype(np.int64))


def test_two_maxima_are_found_and_announced() -> None:
    """Numbers to reproduce: θ* = −1.1 has maxima at −1.1 and 2.265."""
    with pytest.warns(MultipleMaximaWarning, match="several maxima"):
        fit = estimate(MODEL, expected_reports(-1.1), method="marginal")
    places = [maximum.theta[0] for maximum in fit.diagnostics.maxima]
    assert [round(place, 3) for place in places] == [-1.1, 2.265]
    assert fit.theta[0] == pytest.approx(-1.1, abs=1e-8)
    first, second = fit.diagnostics.maxima
    assert first.log_likelihood > second.log_likelihood
    likelihood = MarginalLikelihood(MODEL, CHANNEL, expected_reports(-1.1).frequencies)
    for place in places:
        assert abs(likelihood.gradient(np.array([place]))[0]) < 1e-8
        assert likelihood.hessian(np.array([place]))[0, 0] > 1e-4


def test_moments_are_not_misled() -> None:
    """Figure inv_LL: the moment estimate needs no start and is the truth."""
    assert estimate(MODEL, expected_reports(-1.1), method="moments").theta[0] == pytest.approx(-1.1, abs=1e-9)


@pytest.mark.parametrize("odds", ["251/1000", "3/10", "1/3", "37/100"])
def test_inside_the_range_there_are_two_interior_maxima(odds: str) -> None:
    """Numbers to reproduce: θ* between −ln 4 and about −0.987: up, down, up, down."""
    slope = slope_polynomial(Fraction(odds))
    assert evaluate(slope, Fraction(odds)) == 0
    assert slope[0] > 0 > slope[-1]
    assert positive_roots(slope) == 3


@pytest.mark.parametrize("odds", ["3/8", "2/5", "1", "4"])
def test_above_the_range_there_is_one_maximum(odds: str) -> None:
    """Numbers to reproduce: above about −0.987."""
    slope = slope_polynomial(Fraction(odds))
    assert evaluate(slope, Fraction(odds)) == 0
    assert slope[0] > 0 > slope[-1]
    assert positive_roots(slope) == 1


@pytest.mark.parametrize("odds", ["249/1000", "1/5", "1/10"])
def test_below_the_range_the_spurious_maximum_is_at_infinity(odds: str) -> None:
    """Numbers to reproduce: below −ln 4 the likelihood rises for ever after its minimum."""
    slope = slope_polynomial(Fraction(odds))
    assert slope[0] > 0
    assert slope[-1] > 0
    assert positive_roots(slope) == 2


def test_the_lower_end_is_minus_ln_4_exactly() -> None:
    """Numbers to reproduce: at odds 1/4 the leading coefficient of the slope is 0, on either side it is not."""
    at, below, above = (slope_polynomial(Fraction(odds)) for odds in ("1/4", "249/1000", "251/1000"))
    assert len(at) == len(below) - 1 == len(above) - 1
    assert below[-1] > 0 > above[-1]


def test_the_upper_end_is_about_minus_0_987() -> None:
    """Numbers to reproduce: where the second maximum meets the minimum, by bisection on the exact count."""
    two, one = Fraction(1, 3), Fraction(3, 8)
    for _ in range(16):
        middle = (two + one) / 2
        if positive_roots(slope_polynomial(middle)) == 3:
            two = middle
        else:
            one = middle
    assert math.log(one / two) < 1e-5
    assert round(math.log(two), 3) == -0.987


def test_starts_that_escape_are_counted_and_the_truth_is_returned() -> None:
    """Numbers to reproduce: θ* = −1.5, seen by the estimator."""
    tally = expected_reports(-1.5)
    fit = estimate(MODEL, tally, method="marginal", starts=[[0.0], [3.0], [6.0]])
    assert fit.theta[0] == pytest.approx(-1.5, abs=1e-8)
    assert len(fit.diagnostics.maxima) == 1
    assert fit.diagnostics.escaped_starts == 2
    likelihood = MarginalLikelihood(MODEL, CHANNEL, tally.frequencies)
    heights = [likelihood.value(np.array([theta])) for theta in (3.0, 6.0, 12.0)]
    assert heights == sorted(heights, reverse=True)
    assert likelihood.value(np.array([-1.5])) < heights[-1]


def test_rational_odds_give_the_same_maxima_as_the_polynomial() -> None:
    """Both ways of finding the maxima meet: θ* = −ln 3, with the smallest sample of exactly these frequencies."""
    odds = Fraction(1, 3)
    q = exact(FIGURE_S) @ tilted(FIGURE_STATISTICS, [odds])
    with pytest.warns(MultipleMaximaWarning):
        fit = estimate(MODEL, Tally(CHANNEL, integer_counts(q)), method="marginal")
    slope = [float(x) for x in slope_polynomial(odds)]
    roots = np.roots(slope[::-1])
    stationary = sorted(np.log(roots[(abs(roots.imag) < 1e-9) & (roots.real > 0)].real))
    places = sorted(maximum.theta[0] for maximum in fit.diagnostics.maxima)
    np.testing.assert_allclose(places, [stationary[0], stationary[2]], atol=1e-6)
