"""Classic randomized response: β and H as printed, its level, and the largest reveal probability at a level."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from askance import Enumerated, RandomizedResponse, asymptotics, certify
from askance.design import randomized_response_excess_covariance

from .exact import (
    FOUR_OUTPUTS,
    Exact,
    assert_close,
    covariance,
    exact,
    expected_conditional_covariance,
    floats,
    four_outputs,
    inverse,
    largest_ratio,
    library_randomized_response,
    log_odds,
    printed_randomized_response_beta,
    randomized_response,
    tilted,
)

PHI = exact(FOUR_OUTPUTS)
ODDS = [Fraction(7, 2), Fraction(2, 5)]
UNIFORM = exact(["1/4"] * 4)
SKEWED = exact(["1/8", "1/2", "1/8", "1/4"])
bases = pytest.mark.parametrize("base", [UNIFORM, SKEWED], ids=["uniform", "skewed"])
reveals = pytest.mark.parametrize("epsilon", [Fraction(1, 8), Fraction(1, 2), Fraction(7, 8)], ids=str)


def printed_excess_covariance(p: Exact, epsilon: Fraction, base: Exact) -> Exact:
    """H of the paper's lemma."""
    centred = PHI - (PHI @ base)[:, None]
    spread = (centred * p) @ centred.T
    result: Exact = (1 - epsilon) / epsilon**2 * covariance(PHI, base) + (1 - epsilon) / epsilon * spread
    return result


@bases
@reveals
def test_printed_beta_is_unbiased_and_is_the_one_in_use(epsilon: Fraction, base: Exact) -> None:
    """Right as printed: β of classic randomized response."""
    beta = printed_randomized_response_beta(PHI, epsilon, base)
    assert np.array_equal(beta @ randomized_response(epsilon, base), PHI)
    used = library_randomized_response(epsilon, base).observation_function(four_outputs()).coefficients
    assert_close(used, beta, 1e-12)


@bases
@reveals
def test_printed_h_is_the_excess_covariance(epsilon: Fraction, base: Exact) -> None:
    """Right as printed: H of the lemma, sign and second term included."""
    p = tilted(FOUR_OUTPUTS, ODDS)
    beta = printed_randomized_response_beta(PHI, epsilon, base)
    enumerated = expected_conditional_covariance(beta, randomized_response(epsilon, base), p)
    assert np.array_equal(enumerated, printed_excess_covariance(p, epsilon, base))
    first_term = (1 - epsilon) / epsilon**2 * covariance(PHI, base)
    assert not np.array_equal(enumerated, first_term)
    assert not np.array_equal(enumerated, 2 * first_term - enumerated)  # the second term with the other sign
    used = library_randomized_response(epsilon, base)
    closed_form = randomized_response_excess_covariance(four_outputs(), used, log_odds(ODDS))
    assert_close(closed_form, enumerated)
    assert_close(asymptotics(four_outputs(), used, log_odds(ODDS)).excess_covariance, enumerated)


@bases
@reveals
def test_the_lemma_states_the_variance_of_moments_and_not_of_marginal_likelihood(
    epsilon: Fraction, base: Exact
) -> None:
    """Row 9."""
    p = tilted(FOUR_OUTPUTS, ODDS)
    full = inverse(covariance(PHI, p))
    stated = floats(full + full @ printed_excess_covariance(p, epsilon, base) @ full)
    result = asymptotics(four_outputs(), library_randomized_response(epsilon, base), log_odds(ODDS))
    assert_close(result.moments, stated)
    assert np.trace(result.marginal) < 0.999 * np.trace(stated)


@reveals
def test_a_base_equal_to_the_truth_divides_the_information_by_epsilon_squared(epsilon: Fraction) -> None:
    """Right as printed: "same distribution ⇒ H = I (1−ε²)/ε² and Σ_mom = ε⁻² I⁻¹"."""
    p = tilted(FOUR_OUTPUTS, ODDS)
    information = covariance(PHI, p)
    beta = printed_randomized_response_beta(PHI, epsilon, p)
    excess = expected_conditional_covariance(beta, randomized_response(epsilon, p), p)
    assert np.array_equal(excess, information * (1 - epsilon**2) / epsilon**2)
    full = inverse(information)
    assert np.array_equal(full + full @ excess @ full, full / epsilon**2)
    result = asymptotics(four_outputs(), library_randomized_response(epsilon, p), log_odds(ODDS))
    assert_close(result.moments, full / epsilon**2)


@bases
@reveals
def test_the_largest_ratio_is_attained_and_is_less_than_printed(epsilon: Fraction, base: Exact) -> None:
    """Row 3, the ratio: the printed bound is the true ratio plus 1, so it is never attained."""
    exactly = 1 + epsilon / ((1 - epsilon) * min(base))
    printed = 1 + (epsilon + (1 - epsilon) * min(base)) / ((1 - epsilon) * min(base))
    ratio = largest_ratio(randomized_response(epsilon, base))
    assert ratio == exactly
    assert ratio == printed - 1
    # These probabilities are sums of powers of one half, so the thresholds of the sampler hold them without rounding.
    assert certify(library_randomized_response(epsilon, base)).largest_ratio == exactly


def test_the_level_over_256_outputs_is_3_38_and_not_28_4() -> None:
    """Row 3, the level: the printed one is safe, and very loose."""
    certificate = certify(RandomizedResponse("1/10", outputs=256))
    printed = Fraction(1, 10) / (Fraction(9, 10) * Fraction(1, 256))
    assert certificate.privacy_level == pytest.approx(math.log(1 + printed), abs=1e-12)
    assert round(certificate.privacy_level, 2) == 3.38
    assert round(float(printed), 1) == 28.4
    assert certificate.privacy_level < printed


@pytest.mark.parametrize(("size", "level"), [(2, 1), (4, 2), (1024, 4)])
def test_the_largest_reveal_probability_at_a_level(size: int, level: int) -> None:
    """Row 4, the rule: ε = (e^α − 1)/(e^α − 1 + |Y|) spends all of the level, the printed order only log(1 + α)."""
    best = RandomizedResponse.for_privacy_level(level, outputs=size)
    odds = math.expm1(level)
    assert best.reveal_probability == pytest.approx(odds / (odds + size), rel=1e-12)
    assert best.privacy_level == pytest.approx(level, rel=1e-12)
    assert best.privacy_level <= level
    assert RandomizedResponse(best.reveal_probability * 1.001, outputs=size).privacy_level > level
    printed = RandomizedResponse(Fraction(level, level + size), outputs=size)
    assert printed.privacy_level == pytest.approx(math.log1p(level), rel=1e-12)


def test_the_printed_rule_costs_163_times_the_variance() -> None:
    """Row 4, the number: |Y| = 1024, α = 4, where y and y′ are both uniform."""
    size, level = 1024, 4
    model = Enumerated([[y % 2 for y in range(size)]])
    best = asymptotics(model, RandomizedResponse.for_privacy_level(level, outputs=size), [0.0]).moments
    printed = asymptotics(model, RandomizedResponse(Fraction(level, level + size), outputs=size), [0.0]).moments
    assert best is not None
    assert printed is not None
    assert round(float(printed[0, 0] / best[0, 0])) == 163
