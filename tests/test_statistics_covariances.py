"""Asymptotic covariances of channels on statistics: published traces, formulas against enumeration, small levels."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from askance import CoordinateRelease, Enumerated, MatrixChannel, PerValue, RandomizedResponse, asymptotics
from askance._arrays import FloatArray
from askance.channels import StatisticsChannel
from askance.channels.statistics import Averaging, Hybrid, Reports, SubsetSelection
from askance.channels.statistics.flips import Flips
from askance.design import (
    StatisticsAsymptotics,
    coordinate_release_excess_covariance,
    crossover,
    per_value_excess_covariance,
    small_level_traces,
)
from askance.design.statistics_covariances import all_reports, report_matrix, statistics_asymptotics
from askance.errors import IncompatibleEvidenceError, InputError, NotIdentifiedError, ShapeError
from tests.errata.exact import Exact, covariance, exact, expected_conditional_covariance, floats
from tests.errata.structured import asymmetric_flips, bits_of_norm, coordinate_release, per_value

PAPER = Enumerated([[0, 0, 1, 1], [0, 1, 0, 1]])
STRONG, WEAK = [5.0, -1.0], [2.0, -0.1]
AVERAGES: list[Averaging] = ["within", "printed"]


def trace(matrix: FloatArray | None) -> float:
    assert matrix is not None
    return float(np.trace(matrix))


# -- published traces --------------------------------------------------------------------------------------------------


def test_uniform_coordinate_release_to_five_digits() -> None:
    result = asymptotics(PAPER, CoordinateRelease(2, 1), STRONG)
    assert trace(result.moments) == pytest.approx(42_021, rel=1e-5)
    assert trace(result.marginal) == pytest.approx(42_021, rel=1e-5)
    printed = asymptotics(PAPER, CoordinateRelease(2, 1), STRONG, averaging="printed")
    assert trace(printed.moments) == pytest.approx(64_347, rel=1e-5)
    assert trace(printed.marginal) == trace(result.marginal)
    assert result.efficiency == pytest.approx(1, abs=1e-9)
    assert printed.efficiency is not None
    assert printed.efficiency < 0.99


def test_both_schemes_as_printed_in_the_paper_to_five_digits() -> None:
    release = CoordinateRelease(2, 1, calibration="paper")
    assert trace(asymptotics(PAPER, release, STRONG).moments) == pytest.approx(177_798, rel=1e-5)
    assert trace(asymptotics(PAPER, release, STRONG, averaging="printed").moments) == pytest.approx(200_125, rel=1e-5)
    values = PerValue(2, 1, calibration="paper")
    assert trace(asymptotics(PAPER, values, STRONG).moments) == pytest.approx(360_706, rel=1e-5)


def test_randomized_response_beside_them_to_five_digits() -> None:
    result = asymptotics(PAPER, RandomizedResponse.for_privacy_level(1, outputs=4), STRONG)
    assert trace(result.marginal) == pytest.approx(50_263, rel=1e-5)
    assert trace(result.moments) == pytest.approx(57_210, rel=1e-5)


@pytest.mark.parametrize(("theta", "expected", "first"), [(STRONG, 22_568.1, 0.9642), (WEAK, 195.54, 0.6898)])
def test_tuned_coordinate_release(theta: list[float], expected: float, first: float) -> None:
    channel = CoordinateRelease.for_model(PAPER, 1, theta)
    assert channel.release_probabilities[0] == pytest.approx(first, abs=5e-5)
    result = asymptotics(PAPER, channel, theta)
    assert trace(result.moments) == pytest.approx(expected, rel=3e-6 if expected > 1e3 else 3e-5)
    # No other release distribution is better.
    for moved in (0.9, 0.99, 1.01, 1.05):
        share = min(float(channel.release_probabilities[0]) * moved, 0.999)
        other = CoordinateRelease(2, 1, release_distribution=[share, 1 - share])
        assert trace(asymptotics(PAPER, other, theta).moments) >= trace(result.moments)


# -- Σ_marg and Σ_mom against explicit matrices ------------------------------------------------------------------------


INSIDE = np.array([[0, 0.5, 1, 2], [1.5, 0.25, 0, 1], [2, 1 / 3, 2 / 3, 0]])
TRUTH = np.array([0.5, 0.25, 0.125, 0.125])
BOUNDED = Enumerated(INSIDE, log_base_measure=np.log(TRUTH))
THETA = np.array([0.3, -0.2, 0.5])
CHANNELS: dict[str, StatisticsChannel] = {
    "coordinate release": CoordinateRelease(3, 1, statistic_bound=2),
    "skewed coordinate release": CoordinateRelease(3, 2, statistic_bound=2, release_distribution=["1/2", "1/3", "1/6"]),
    "per-value": PerValue(3, 1, statistics="bounded", statistic_bound=2),
    "asymmetric per-value": PerValue(3, 3, statistics="bounded", statistic_bound=2, density="1/5"),
    "possible per-value": PerValue.for_model(BOUNDED, 1),
}
every_channel = pytest.mark.parametrize("channel", CHANNELS.values(), ids=CHANNELS.keys())


@every_channel
def test_the_written_out_channel_is_the_channel(channel: StatisticsChannel) -> None:
    """S sums to 1, Σ_o β(o) S(o|y) = φ(y), and what the class says is what enumeration of S gives."""
    reports = all_reports(channel)
    S = report_matrix(channel, BOUNDED.table.T)
    assert reports is not None
    assert S is not None
    np.testing.assert_allclose(S.sum(axis=0), 1, rtol=0, atol=1e-12)
    beta = channel.debias(reports).T
    np.testing.assert_allclose(beta @ S, BOUNDED.table, rtol=0, atol=1e-9)
    p = BOUNDED.probabilities(THETA)
    result = asymptotics(BOUNDED, channel, THETA, averaging="printed")
    enumerated = sum(p[y] * _covariance(beta, S[:, y]) for y in range(4))
    np.testing.assert_allclose(result.excess_covariance, enumerated, rtol=0, atol=1e-8 * np.abs(enumerated).max())
    total = _covariance(beta, S @ p)
    np.testing.assert_allclose(result.moments, result.full @ total @ result.full, rtol=1e-9)
    # Σ_marg, and the best Σ_mom, are those of the same S as a channel on outputs.
    written = asymptotics(BOUNDED, MatrixChannel(S.tolist()), THETA)
    assert result.marginal is not None
    np.testing.assert_allclose(result.marginal, written.marginal, rtol=1e-7)


def _covariance(values: FloatArray, weights: FloatArray) -> FloatArray:
    centred = values - (values @ weights)[:, None]
    return np.asarray((centred * weights) @ centred.T)


@every_channel
def test_marginal_likelihood_is_never_worse_than_moments_and_within_never_worse_than_printed(
    channel: StatisticsChannel,
) -> None:
    within, printed = (asymptotics(BOUNDED, channel, THETA, averaging=averaging) for averaging in AVERAGES)
    assert within.marginal is not None
    for worse, better in ((within.moments, within.marginal), (printed.moments, within.moments)):
        assert np.linalg.eigvalsh(worse - better).min() > -1e-6
    np.testing.assert_allclose(
        within.excess_covariance, channel.excess_covariance(BOUNDED.table.T, BOUNDED.probabilities(THETA)), rtol=1e-9
    )


def test_subset_selection_on_outputs_goes_through_the_indicators() -> None:
    channel = SubsetSelection(4, 1)
    result = asymptotics(PAPER, channel, WEAK)
    S = report_matrix(channel, np.arange(4))
    assert S is not None
    reports = all_reports(channel)
    assert reports is not None
    beta = PAPER.table @ channel.debias(reports).T
    np.testing.assert_allclose(beta @ S, PAPER.table, atol=1e-10)
    total = _covariance(beta, S @ PAPER.probabilities(WEAK))
    np.testing.assert_allclose(result.moments, result.full @ total @ result.full, rtol=1e-9)
    # One label at level 1 of four: classic randomized response.
    same = asymptotics(PAPER, RandomizedResponse.for_privacy_level(1, outputs=4), WEAK)
    assert channel.subset_size == 1
    assert trace(result.moments) == pytest.approx(trace(same.moments), rel=1e-9)
    assert trace(result.marginal) == pytest.approx(trace(same.marginal), rel=1e-9)


def test_wide_channels_have_moments_and_no_marginal() -> None:
    model = Enumerated.saturated(21)
    result = asymptotics(model, PerValue(20, 2, max_l1_norm=1), np.zeros(20))
    assert isinstance(result, StatisticsAsymptotics)
    assert result.marginal is None
    assert result.efficiency is None
    assert np.linalg.eigvalsh(result.moments).min() > 0


def test_reports_are_listed_in_every_kind_of_column() -> None:
    assert {len(r) for r in (all_reports(PerValue(d, 1)) for d in (3,)) if r is not None} == {8}
    subsets = all_reports(SubsetSelection(5, 1, subset_size=2))
    assert subsets is not None
    assert len(subsets) == 10  # only subsets of two labels are ever sent
    hybrid = Hybrid(3, 1)
    reports = all_reports(hybrid)
    assert isinstance(reports, Reports)
    S = report_matrix(hybrid, np.eye(3))
    assert S is None or S.sum(axis=0) == pytest.approx(1)


# -- closed forms ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dimension", range(1, 6))
def test_closed_forms_of_binary_statistics(dimension: int) -> None:
    """Against the classes, and against explicit matrices in fractions, for all of {0,1}^d."""
    bits = bits_of_norm(dimension, *range(dimension + 1))
    model = Enumerated(floats(bits))
    p = exact([Fraction(1, 2**dimension)] * 2**dimension)
    theta = np.zeros(dimension)
    release = CoordinateRelease(dimension, 1)
    keep = Fraction(release.flips.keep, 2**62)
    scheme = coordinate_release(bits, keep)
    _assert_excess(coordinate_release_excess_covariance(model, release, theta, "printed"), scheme.beta, scheme.S, p)
    values = PerValue(dimension, 1)
    scheme = per_value(bits, Fraction(values.flips.keep, 2**62))
    _assert_excess(per_value_excess_covariance(model, values, theta), scheme.beta, scheme.S, p)
    _assert_class(model, release, theta)


@pytest.mark.parametrize("release", [None, ["1/2", "1/3", "1/6"]], ids=["uniform", "skewed"])
def test_closed_forms_of_bounded_statistics(release: list[str] | None) -> None:
    phi = exact([[0, "1/2", 1, 2], ["3/2", "1/4", 0, 1], [2, "1/3", "2/3", 0]])
    p = exact(["1/2", "1/4", "1/8", "1/8"])
    model = Enumerated(floats(phi), log_base_measure=np.log(floats(p)))
    channel = CoordinateRelease(3, 1, statistic_bound=2, release_distribution=release)
    drawn = exact(release or ["1/3"] * 3)
    scheme = coordinate_release(phi, Fraction(channel.flips.keep, 2**62), bound=2, release=drawn)
    _assert_excess(coordinate_release_excess_covariance(model, channel, [0, 0, 0], "printed"), scheme.beta, scheme.S, p)
    # Averages within a coordinate: the influence of a report is (β_j − μ_j/p_j) where j was drawn, 0 elsewhere.
    influence = scheme.beta - (phi @ p / drawn)[:, None] * np.repeat(np.eye(3, dtype=int), 2, axis=1)
    within = floats(covariance(influence, scheme.S @ p) - covariance(phi, p))
    np.testing.assert_allclose(coordinate_release_excess_covariance(model, channel, [0, 0, 0]), within, atol=1e-8)
    _assert_class(model, channel, np.array([0.3, -0.2, 0.5]))


def test_closed_form_of_per_value_release_of_bounded_statistics_and_asymmetric_flips() -> None:
    phi = exact([[0, "1/2", 1, 2], ["3/2", "1/4", 0, 1], [2, "1/3", "2/3", 0]])
    p = exact(["1/2", "1/4", "1/8", "1/8"])
    model = Enumerated(floats(phi), log_base_measure=np.log(floats(p)))
    channel = PerValue(3, 1, statistics="bounded", statistic_bound=2)
    scheme = per_value(phi, Fraction(channel.flips.keep, 2**62), bound=2)
    _assert_excess(per_value_excess_covariance(model, channel, [0, 0, 0]), scheme.beta, scheme.S, p)
    channel.flips = Flips(2**61, 2**60)
    scheme = asymmetric_flips(phi / 2, Fraction(1, 2), Fraction(1, 4))
    _assert_excess(per_value_excess_covariance(model, channel, [0, 0, 0]), 2 * scheme.beta, scheme.S, p)


@pytest.mark.parametrize("theta", [[0.0, 0.0, 0.0], [0.5, -1.0, 0.25]], ids=["zero", "tilted"])
@pytest.mark.parametrize("lower", [-1.0, [-1.0, 0.0, -3.0]], ids=["one", "each"])
def test_closed_forms_shift_statistics_that_can_be_negative(lower: float | list[float], theta: list[float]) -> None:
    model = Enumerated(INSIDE + np.broadcast_to(np.asarray(lower), 3)[:, None])
    bound = [2.0, 2.5, 3.0]
    _assert_class(model, CoordinateRelease(3, 1, lower=lower, statistic_bound=bound), np.array(theta))
    channel = PerValue(3, 1, statistics="bounded", lower=lower, statistic_bound=bound, density="1/4")
    _assert_class(model, channel, np.array(theta))


def _assert_excess(found: FloatArray, beta: Exact, S: Exact, p: Exact) -> None:
    expected = floats(expected_conditional_covariance(beta, S, p))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * np.abs(expected).max())


def _assert_class(model: Enumerated, channel: CoordinateRelease | PerValue, theta: FloatArray) -> None:
    for averaging in AVERAGES:
        if isinstance(channel, CoordinateRelease):
            found = coordinate_release_excess_covariance(model, channel, theta, averaging)
        else:
            found = per_value_excess_covariance(model, channel, theta)
        expected = channel.excess_covariance(model.table.T, model.probabilities(theta), averaging)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * np.abs(expected).max())


# -- small levels ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("dimension", "norms"), [(4, (0, 1)), (4, (0, 1, 2)), (6, (1,)), (6, (0, 1, 2, 3))])
@pytest.mark.parametrize("averaging", AVERAGES)
def test_traces_at_small_levels(dimension: int, norms: tuple[int, ...], averaging: Averaging) -> None:
    """Relative error of order α²; what is left out of both is −d²/12 and −d/12, exactly."""
    rows = floats(bits_of_norm(dimension, *norms)).T
    exactly = len(norms) == 1
    values = {"l1_norm": norms[0]} if exactly else {"max_l1_norm": max(norms)}
    diameter = 2 * norms[0] if exactly else min(2 * max(norms), dimension)
    errors = []
    for level in (0.1, 0.01):
        predicted = small_level_traces(level, rows.mean(axis=0), diameter, averaging)
        released = trace(CoordinateRelease(dimension, level).excess_covariance(rows, None, averaging))
        sent = trace(PerValue(dimension, level, **values).excess_covariance(rows))  # type: ignore[arg-type]
        assert predicted.coordinate_release == pytest.approx(released, rel=level**2)
        assert predicted.per_value == pytest.approx(sent, rel=level**2)
        errors.append((released - predicted.coordinate_release, sent - predicted.per_value))
    assert errors[0] == pytest.approx((-(dimension**2) / 12, -dimension / 12), abs=2e-2)


@pytest.mark.parametrize("dimension", [4, 9, 16, 36])
def test_the_crossover_is_where_both_cost_the_same(dimension: int) -> None:
    level, equal = 1e-3, round(crossover(dimension))
    release = trace(CoordinateRelease(dimension, level).excess_covariance(np.eye(dimension)))
    for diameter in range(2, min(dimension, 2 * equal) + 1, 2):
        values = trace(PerValue(dimension, level, max_l1_norm=diameter // 2).excess_covariance(np.eye(dimension)))
        assert values / release == pytest.approx(diameter**2 / crossover(dimension) ** 2, rel=1e-4)
        if diameter != equal:
            assert (values < release) == (diameter < crossover(dimension))


# -- what is refused ---------------------------------------------------------------------------------------------------


def test_what_is_refused() -> None:
    with pytest.raises(IncompatibleEvidenceError, match="Noise 2 numbers"):
        asymptotics(PAPER, CoordinateRelease(3, 1), STRONG)
    with pytest.raises(IncompatibleEvidenceError, match="4 codes"):
        asymptotics(PAPER, SubsetSelection(["a", "b", "c", "d"], 1), STRONG)
    with pytest.raises(InputError, match="averaging is 'mean'"):
        asymptotics(PAPER, CoordinateRelease(2, 1), STRONG, averaging="mean")  # type: ignore[call-overload]
    with pytest.raises(NotIdentifiedError, match="the model"):
        asymptotics(Enumerated([[0, 1], [0, 1]]), CoordinateRelease(2, 1), [0, 0])
    with pytest.raises(ShapeError, match="dim=2"):
        per_value_excess_covariance(PAPER, PerValue(3, 1), STRONG)
    with pytest.raises(InputError, match="between 0 and 1"):
        small_level_traces(0.1, [2.0], 1)
    broken = CoordinateRelease(2, 1)
    broken.flips = Flips(2**61, 2**61)
    with pytest.raises(NotIdentifiedError, match="says nothing"):
        statistics_asymptotics(PAPER, broken, STRONG)


def test_a_likelihood_that_does_not_sum_to_one_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    channel = CoordinateRelease(2, 1)
    right = channel._log_likelihood
    monkeypatch.setattr(channel, "_log_likelihood", lambda columns, truth: right(columns, truth) + 1)
    with pytest.raises(InputError, match=r"sum to 2\.718"):
        report_matrix(channel, np.eye(2))
