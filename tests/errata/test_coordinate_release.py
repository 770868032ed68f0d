"""Coordinate release: its exact level, its β, and its covariance."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from askance import MatrixChannel, asymptotics, certify
from askance.channels import ObservationFunction
from askance.errors import ProbabilityError

from .exact import (
    FOUR_OUTPUTS,
    Exact,
    assert_close,
    channel,
    covariance,
    exact,
    expected_conditional_covariance,
    floats,
    four_outputs,
    largest_ratio,
    tilted,
)
from .structured import (
    bits_of_norm,
    coordinate_release,
    exact_keep_probability,
    flip_variance,
    per_value,
    printed_keep_probability,
    uniform,
)

KEEP = Fraction(3, 4)  # e^{α/2} = 3 as printed, hence e^α = 9
BINARY = exact(FOUR_OUTPUTS)
# Three statistics of four outputs with values inside [0, 2].
INSIDE = exact([[0, "1/2", 1, 2], ["3/2", "1/4", 0, 1], [2, "1/3", "2/3", 0]])
TRUTH = exact(["1/2", "1/4", "1/8", "1/8"])
STRONG = [5.0, -1.0]


def hajek_covariance(phi: Exact, p: Exact, keep: Fraction, bound: int, release: Exact) -> Exact:
    """Covariance of averages within each coordinate, by their influence (x_j − μ_j) 1[j drawn] / p_j, enumerated."""
    scheme = coordinate_release(phi, keep, bound=bound, release=release)
    drawn = np.repeat(np.eye(len(phi), dtype=int), 2, axis=1)
    influence = scheme.beta - (phi @ p / release)[:, None] * drawn
    assert not (influence @ scheme.S @ p).any()
    return covariance(influence, scheme.S @ p)


@pytest.mark.parametrize("phi", [BINARY, bits_of_norm(3, 0, 1, 2, 3)], ids=["d=2", "d=3"])
def test_the_printed_calibration_spends_exactly_half_of_the_level(phi: Exact) -> None:
    """Row 5: with q = e^{α/2}/(1 + e^{α/2}) = 3/4 the claim is a ratio of e^α = 9; it is 3."""
    scheme = coordinate_release(phi, KEEP)
    assert largest_ratio(scheme.S) == 3
    # q = e^α/(1 + e^α) = 9/10 spends it all.
    assert largest_ratio(coordinate_release(phi, Fraction(9, 10)).S) == 9


def test_the_certificate_of_coordinate_release_states_the_exact_level() -> None:
    """Row 5, from the thresholds of the sampler."""
    printed = certify(channel(coordinate_release(BINARY, KEEP).S), four_outputs())
    assert printed.largest_ratio == 3
    assert printed.unbiased
    for level in (0.5, 1.0, 4.0):
        calibrated = channel(coordinate_release(BINARY, exact_keep_probability(level)).S)
        assert certify(calibrated).privacy_level == pytest.approx(level, abs=1e-12)


@pytest.mark.parametrize(("level", "factor", "digits"), [(1, 4.26, 2), (4, 9.5, 1)])
def test_flip_variance_saved_by_the_exact_calibration(level: float, factor: float, digits: int) -> None:
    """Row 5, the numbers."""
    saved = flip_variance(printed_keep_probability(level)) / flip_variance(exact_keep_probability(level))
    assert round(float(saved), digits) == factor


@pytest.mark.parametrize("release", [uniform(3), exact(["1/2", "1/3", "1/6"])], ids=["uniform", "skewed"])
def test_covariance_of_the_printed_average_and_of_the_average_within_coordinates(release: Exact) -> None:
    """Row 5b: both formulas against enumeration; averaging within coordinates is never worse."""
    bound, v, mu = 2, flip_variance(KEEP), INSIDE @ TRUTH
    scheme = coordinate_release(INSIDE, KEEP, bound=bound, release=release)
    assert np.array_equal(scheme.beta @ scheme.S, INSIDE)
    over_everyone = covariance(scheme.beta, scheme.S @ TRUTH)
    assert np.array_equal(over_everyone, np.diag((bound**2 * v + bound * mu) / release) - np.outer(mu, mu))
    within = hajek_covariance(INSIDE, TRUTH, KEEP, bound, release)
    assert np.array_equal(within, np.diag((bound**2 * v + bound * mu - mu**2) / release))
    assert np.linalg.eigvalsh(floats(over_everyone - within)).min() > -1e-12
    assert np.trace(over_everyone) > np.trace(within)


def test_averaging_within_coordinates_is_what_the_library_reaches() -> None:
    """Row 5b, the numbers: θ = [5, −1] at exact level 1, tr Σ_mom 64,347 with the printed β and 42,021 within."""
    keep, model = exact_keep_probability(1), four_outputs()
    scheme = coordinate_release(BINARY, keep)
    seen = channel(scheme.S)
    p = model.probabilities(STRONG)
    result = asymptotics(model, seen, STRONG)
    printed = ObservationFunction(floats(scheme.beta)).covariance(seen.apply(p))
    assert round(float(np.trace(result.full @ printed @ result.full))) == 64_347
    assert result.moments is not None
    assert round(float(np.trace(result.moments))) == 42_021
    within = np.diag((float(flip_variance(keep)) + floats(BINARY) @ p - (floats(BINARY) @ p) ** 2) * 2)
    assert_close(result.moments, result.full @ within @ result.full)
    assert_close(result.moments, result.marginal)


def test_both_schemes_as_printed_on_the_strong_signal() -> None:
    """Rows 5 and 5b: what nominal level 1 costs when q and β are taken as printed."""
    model = four_outputs()
    q = printed_keep_probability(1)
    release, values = coordinate_release(BINARY, q), per_value(BINARY, printed_keep_probability(1 / 2))
    traces = []
    for scheme in (release, values):
        seen = channel(scheme.S)
        full = asymptotics(model, seen, STRONG).full
        spread = ObservationFunction(floats(scheme.beta)).covariance(seen.apply(model.probabilities(STRONG)))
        traces.append(round(float(np.trace(full @ spread @ full))))
    assert traces == [200_125, 360_706]
    within = asymptotics(model, channel(release.S), STRONG).moments
    assert within is not None
    assert round(float(np.trace(within))) == pytest.approx(177_798, abs=1)


def printed_h(phi: Exact, p: Exact, keep: Fraction) -> Exact:
    """H^cr of the appendix, uniform coordinates: d·v·I + E[d·diag(φ)² − φφᵀ]."""
    d = len(phi)
    second = (phi * p) @ phi.T
    result: Exact = np.diag(exact([d * flip_variance(keep)] * d) + d * np.diag(second)) - second
    return result


def test_printed_h_holds_for_binary_statistics() -> None:
    """Right as printed: H of coordinate release when φ ∈ {0,1}^d."""
    for phi, p in ((BINARY, tilted(FOUR_OUTPUTS, [Fraction(3), Fraction(1, 2)])), (bits_of_norm(3, 1, 2), uniform(6))):
        scheme = coordinate_release(phi, KEEP)
        assert np.array_equal(expected_conditional_covariance(scheme.beta, scheme.S, p), printed_h(phi, p, KEEP))


@pytest.mark.parametrize("bound", [2, 3])
def test_printed_h_misses_the_noise_of_binarisation(bound: int) -> None:
    """Row 7, coordinate release: diag((c²v + c·E φ_j)/p_j) − E φφᵀ."""
    v, second = flip_variance(KEEP), (INSIDE * TRUTH) @ INSIDE.T
    for release in (uniform(3), exact(["1/2", "1/3", "1/6"])):
        scheme = coordinate_release(INSIDE, KEEP, bound=bound, release=release)
        enumerated = expected_conditional_covariance(scheme.beta, scheme.S, TRUTH)
        assert np.array_equal(enumerated, np.diag((bound**2 * v + bound * (INSIDE @ TRUTH)) / release) - second)
    uniformly = coordinate_release(INSIDE, KEEP, bound=bound)
    enumerated = expected_conditional_covariance(uniformly.beta, uniformly.S, TRUTH)
    flips = np.diag(exact([bound**2 * 3 * v] * 3))
    assert np.array_equal(enumerated, flips + 3 * bound * np.diag(INSIDE @ TRUTH) - second)
    # The printed one fails, also with its flip term scaled by c².
    printed = printed_h(INSIDE, TRUTH, KEEP)
    assert not np.array_equal(enumerated, printed)
    assert not np.array_equal(enumerated, printed - np.diag(exact([3 * v] * 3)) + flips)


def test_statistics_that_can_be_negative_are_shifted_first() -> None:
    """Row 7: φ ∈ [−1, 1] has no bit of mean φ; φ + 1 ∈ [0, 2] has, and β − 1 is unbiased."""
    phi = exact([[-1, 0, 1, "1/2"], [1, "-1/2", 0, -1]])
    with pytest.raises(ProbabilityError, match="0 to 1"):
        MatrixChannel(coordinate_release(phi, Fraction(9, 10)).S.tolist())
    shifted = coordinate_release(phi + 1, KEEP, bound=2)
    assert certify(channel(shifted.S)).largest_ratio == 3
    beta = shifted.beta - 1
    assert np.array_equal(beta @ shifted.S, phi)
    excess = expected_conditional_covariance(beta, shifted.S, TRUTH)
    second = ((phi + 1) * TRUTH) @ (phi + 1).T
    v = flip_variance(KEEP)
    assert np.array_equal(excess, np.diag((4 * v + 2 * ((phi + 1) @ TRUTH)) * 2) - second)


def test_bits_are_kept_with_probability_q_and_not_flipped_with_it() -> None:
    """Row 8, coordinate release: flipping with probability q turns the printed β upside down."""
    kept, flipped = coordinate_release(INSIDE, KEEP, bound=2), coordinate_release(INSIDE, 1 - KEEP, bound=2)
    assert np.array_equal(kept.beta @ kept.S, INSIDE)
    assert np.array_equal(kept.beta @ flipped.S, 2 - INSIDE)
