"""Figure efficiency-rr: Eff = tr(Σ_marg Σ_mom⁻¹)/d, to four digits."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from askance import RandomizedResponse, asymptotics
from askance.channels import ObservationFunction

from .exact import (
    FOUR_OUTPUTS,
    Exact,
    channel,
    covariance,
    exact,
    expected_conditional_covariance,
    floats,
    four_outputs,
    inverse,
    posterior,
    printed_randomized_response_beta,
    randomized_response,
    tilted,
)
from .structured import coordinate_release, exact_keep_probability

REVEAL = ["1e-6", "0.1", "0.3", "0.5", "0.7", "0.9", "1"]  # 1e-6 stands for the limit: it moves no digit asked for
TABLE = {
    (2.0, -0.1): [0.8160, 0.8390, 0.8840, 0.9269, 0.9655, 0.9945, 1.0],
    (5.0, -1.0): [0.7286, 0.7481, 0.7839, 0.8189, 0.8567, 0.9065, 1.0],
    (0.0, 0.0): [1.0] * 7,
}


@pytest.mark.parametrize("theta", TABLE, ids=str)
def test_the_curve_to_four_digits(theta: tuple[float, float]) -> None:
    """Numbers to reproduce: the three curves of the figure."""
    computed = [
        asymptotics(four_outputs(), RandomizedResponse(epsilon, outputs=4), theta).efficiency for epsilon in REVEAL
    ]
    assert [round(value, 4) for value in computed] == TABLE[theta]


def exact_efficiency(p: Exact, epsilon: Fraction, base: Exact) -> Fraction:
    """Eff from the two formulas of the proposition, without rounding."""
    phi, S = exact(FOUR_OUTPUTS), randomized_response(epsilon, base)
    information, q = covariance(phi, p), S @ p
    unexplained = sum(q[o] * covariance(phi, posterior(S, p)[:, o]) for o in range(4))
    beta = printed_randomized_response_beta(phi, epsilon, base)
    full = inverse(information)
    moments = full + full @ expected_conditional_covariance(beta, S, p) @ full
    return Fraction(np.trace(inverse(information - unexplained) @ inverse(moments))) / 2


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1, 2), Fraction(1)], ids=str)
def test_without_signal_and_with_a_uniform_base_nothing_is_lost(epsilon: Fraction) -> None:
    """Numbers to reproduce: θ = 0 gives 1 throughout, exactly; another base gives less, except when ε = 1."""
    uniform, skewed = exact(["1/4"] * 4), exact(["1/8", "1/2", "1/8", "1/4"])
    assert exact_efficiency(uniform, epsilon, uniform) == 1
    assert (exact_efficiency(uniform, epsilon, skewed) < 1) is (epsilon < 1)
    used = asymptotics(four_outputs(), RandomizedResponse(epsilon, floats(skewed)), [0.0, 0.0]).efficiency
    assert used == pytest.approx(float(exact_efficiency(uniform, epsilon, skewed)), abs=1e-9)


def test_the_library_agrees_with_exact_arithmetic_away_from_zero() -> None:
    """Numbers to reproduce: the formula behind the curve, at odds that are rational."""
    odds, epsilon, base = [Fraction(7), Fraction(2, 5)], Fraction(3, 10), exact(["1/4"] * 4)
    theta = [float(np.log(float(x))) for x in odds]
    used = asymptotics(four_outputs(), RandomizedResponse(epsilon, outputs=4), theta).efficiency
    assert used == pytest.approx(float(exact_efficiency(tilted(FOUR_OUTPUTS, odds), epsilon, base)), abs=1e-10)


def test_coordinate_release_with_the_printed_average_loses_even_without_signal() -> None:
    """Numbers to reproduce: "coordinate release gives less"; averages within coordinates take the loss back."""
    scheme = coordinate_release(exact(FOUR_OUTPUTS), exact_keep_probability(1))
    seen, model = channel(scheme.S), four_outputs()
    result = asymptotics(model, seen, [0.0, 0.0])
    spread = ObservationFunction(floats(scheme.beta)).covariance(seen.apply(model.probabilities([0.0, 0.0])))
    printed = result.full @ spread @ result.full
    assert np.trace(np.linalg.solve(printed, result.marginal)) / 2 < 0.92
    assert result.efficiency == pytest.approx(1.0, abs=1e-9)
