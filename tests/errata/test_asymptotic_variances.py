"""The general proposition: Σ_marg and Σ_mom as printed, and the example that separates them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from askance import Enumerated, asymptotics
from askance.channels import ObservationFunction
from askance.estimation.problems.matching import match_moments

from .exact import (
    FOUR_OUTPUTS,
    assert_close,
    channel,
    covariance,
    exact,
    expected_conditional_covariance,
    floats,
    four_outputs,
    inverse,
    log_odds,
    posterior,
    tilted,
)

ODDS = [Fraction(3), Fraction(1, 2)]
# Full column rank, no symmetry, more observations than outputs.
S = exact(
    [
        ["1/2", "1/8", "1/8", "1/16"],
        ["1/8", "1/2", "1/8", "1/16"],
        ["1/8", "1/8", "1/4", "1/8"],
        ["1/8", "1/8", "1/4", "1/4"],
        ["1/8", "1/8", "1/4", "1/2"],
    ]
)


def test_printed_marginal_variance_is_the_inverse_information_of_an_observation() -> None:
    """Right as printed: Σ_marg = (I − E Cov[φ | o])⁻¹, against the Fisher information Σ_o (∂q_o)(∂q_o)ᵀ / q_o."""
    phi, p = exact(FOUR_OUTPUTS), tilted(FOUR_OUTPUTS, ODDS)
    q = S @ p
    unexplained = sum(q[o] * covariance(phi, posterior(S, p)[:, o]) for o in range(len(q)))
    printed = covariance(phi, p) - unexplained
    slopes = S @ ((phi - (phi @ p)[:, None]) * p).T  # ∂q_o/∂θ_j
    assert np.array_equal(printed, (slopes.T / q) @ slopes)
    assert_close(asymptotics(four_outputs(), channel(S), log_odds(ODDS)).marginal, inverse(printed))


def test_printed_moment_variance_is_that_of_the_delta_method() -> None:
    """Right as printed: Σ_mom = I⁻¹ + I⁻¹ E Cov[β | y] I⁻¹ = J Cov β Jᵀ with J the slope of θ(μ)."""
    phi, p = exact(FOUR_OUTPUTS), tilted(FOUR_OUTPUTS, ODDS)
    weighted = S.T / (S @ p)
    beta = phi @ inverse(weighted @ S) @ weighted  # the unbiased β of least covariance
    assert np.array_equal(beta @ S, phi)
    full = inverse(covariance(phi, p))
    printed = full + full @ expected_conditional_covariance(beta, S, p) @ full
    assert np.array_equal(printed, full @ covariance(beta, S @ p) @ full)
    assert_close(asymptotics(four_outputs(), channel(S), log_odds(ODDS)).moments, printed)
    # The slope of θ(μ) by differences, to show that I⁻¹ is it.
    mu, step = floats(phi @ p), 1e-5
    slope = np.stack(
        [
            (match_moments(four_outputs(), mu + e).theta - match_moments(four_outputs(), mu - e).theta) / (2 * step)
            for e in step * np.eye(2)
        ],
        axis=1,
    )
    assert_close(slope, full, 1e-7)


def test_a_faithful_copy_beside_a_noisy_one() -> None:
    """Right as printed: the example o = (y, y + η), β = (o₁ + o₂)/2, with η = ±1 in place of a Gaussian."""
    p = tilted([[0, 1]], [Fraction(1, 3)])
    information = covariance(exact([[0, 1]]), p)[0, 0]
    pairs = [(y, y + eta) for y in (0, 1) for eta in (-1, 1)]
    supervision = exact([[Fraction(int(o[0] == y), 2) for y in (0, 1)] for o in pairs])
    printed_beta = exact([[Fraction(sum(o), 2) for o in pairs]])
    assert np.array_equal(printed_beta @ supervision, exact([[0, 1]]))
    excess = expected_conditional_covariance(printed_beta, supervision, p)[0, 0]
    assert excess == Fraction(1, 4)
    printed_variance = 1 / information + excess / information**2
    assert 1 / information / printed_variance == 1 / (1 + 1 / information / 4)

    model, seen = Enumerated([[0, 1]]), channel(supervision)
    result = asymptotics(model, seen, log_odds([Fraction(1, 3)]))
    assert_close(result.marginal, exact([[1 / information]]))
    spread = ObservationFunction(floats(printed_beta)).covariance(seen.apply(floats(p)))
    assert_close(result.full @ spread @ result.full, exact([[printed_variance]]))
    # β is not unique here, and the library's choice reads the faithful copy.
    assert_close(result.moments, exact([[1 / information]]))
