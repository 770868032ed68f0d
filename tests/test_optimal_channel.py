"""Optimal channels are optimal: published optima, an independent solver, never beaten by anything of the same level."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, linprog, minimize

from askance import (
    CoordinateRelease,
    Enumerated,
    Prior,
    RandomizedResponse,
    SubsetSelection,
    Tally,
    asymptotics,
    estimate,
    optimal_channel,
    recommend,
)
from askance._arrays import FloatArray
from askance.channels.statistics.base import StatisticsChannel
from askance.design.optimum import search
from askance.design.optimum.problem import Target
from askance.design.optimum.staircase import all_subsets, rows_of
from askance.design.statistics_covariances import report_matrix

PAPER = Enumerated([[0, 0, 1, 1], [0, 1, 0, 1]])
STRONG, WEAK = [5.0, -1.0], [2.0, -0.1]
TARGETS: list[Target] = ["likelihood", "moments"]
every_target = pytest.mark.parametrize("target", TARGETS)
# What the optimum may lie above another channel: rounding, far below the 0.1 % that would matter.
ROUNDING = 1e-6


def error_of(model: Enumerated, S: FloatArray, theta: Any, target: Target, W: FloatArray | None = None) -> float:
    """tr W Σ of S[o, y] from the definitions: (Cov E[φ|o])⁻¹, or I⁻¹ (Φ (SᵀD⁻¹S)⁺ Φᵀ − μμᵀ) I⁻¹; infinite without β."""
    p, phi = model.probabilities(theta), model.table
    q = S @ p
    centred = phi - (phi @ p)[:, None]
    weights = np.eye(len(phi)) if W is None else W
    if target == "likelihood":
        g = (centred * p) @ S.T
        return float(np.sum(weights * np.linalg.inv((g / q) @ g.T)))
    # In units of √p, where the matrix is of moderate condition.
    unit = np.sqrt(p)
    M = (S * unit).T @ ((S * unit) / q[:, None])
    inverse = np.linalg.pinv(M, rcond=1e-11, hermitian=True)
    if not np.allclose(centred * unit @ inverse @ M, centred * unit, atol=1e-6 * np.abs(centred * unit).max()):
        return math.inf
    full = np.linalg.inv((centred * p) @ centred.T)
    return float(np.sum(weights * (full @ ((centred * unit) @ inverse @ (centred * unit).T) @ full)))


def sorted_rows(S: FloatArray) -> FloatArray:
    """Rows in an order of their own: channels are compared up to the order of observations."""
    return S[np.lexsort(S.T.round(6))]


@st.composite
def cases(draw: st.DrawFn) -> tuple[Enumerated, FloatArray, float, np.random.Generator]:
    """A model that is identified, θ, a level and a generator for the rest."""
    size = draw(st.integers(2, 6))
    dimension = draw(st.integers(1, min(3, size - 1)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    table = rng.normal(size=(dimension, size)) if draw(st.booleans()) else rng.integers(0, 3, (dimension, size)) / 2
    assume(np.linalg.svd(table - table.mean(axis=1, keepdims=True))[1].min() > 0.2)
    return Enumerated(table), 0.7 * rng.normal(size=dimension), draw(st.sampled_from([0.2, 0.5, 1.0, 2.0, 4.0])), rng


# -- published optima --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("theta", "target", "expected"),
    [
        (STRONG, "likelihood", 21_908.2),
        (WEAK, "likelihood", 156.827),
        (STRONG, "moments", 22_568.1),
        (WEAK, "moments", 195.54),
    ],
)
def test_published_optima(theta: list[float], target: Target, expected: float) -> None:
    channel = optimal_channel(PAPER, 1, theta, target=target)
    assert channel.value == pytest.approx(expected, rel=1e-4 if target == "likelihood" else 3e-5)
    assert channel.value == pytest.approx(error_of(PAPER, channel.matrix, theta, target), rel=1e-7)
    assert 0 <= channel.gap <= 1e-6
    assert channel.lower_bound <= channel.value
    assert channel.is_proved
    assert channel.has_unbiased_beta == (target == "moments")


@pytest.mark.parametrize(("theta", "first"), [(STRONG, 0.9642), (WEAK, 0.6898)])
def test_the_optimum_for_moments_is_coordinate_release_with_tuned_probabilities(
    theta: list[float], first: float
) -> None:
    found = optimal_channel(PAPER, 1, theta, target="moments")
    release = CoordinateRelease(2, 1, release_distribution=[first, 1 - first])
    written = report_matrix(release, PAPER.table.T)
    assert written is not None
    np.testing.assert_allclose(sorted_rows(found.matrix), sorted_rows(written), rtol=0, atol=1e-4)
    tuned = asymptotics(PAPER, CoordinateRelease.for_model(PAPER, 1, theta), theta)
    assert found.value == pytest.approx(np.trace(tuned.moments), rel=1e-7)


@every_target
@pytest.mark.parametrize("theta", [0.0, 1.7, -3.0])
@pytest.mark.parametrize("level", [0.05, 1, 4, 12])
def test_one_yes_or_no_question_is_asked_by_warners_design(level: float, theta: float, target: Target) -> None:
    found = optimal_channel(Enumerated.saturated(2), level, [theta], target=target)
    warner = RandomizedResponse.for_privacy_level(level, outputs=2)
    np.testing.assert_allclose(found.matrix, warner.matrix, rtol=0, atol=1e-9)


# -- never beaten ------------------------------------------------------------------------------------------------------


@settings(max_examples=12, deadline=None)
@given(cases())
def test_no_channel_of_the_library_is_better(case: tuple[Enumerated, FloatArray, float, np.random.Generator]) -> None:
    model, theta, level, _ = case
    best = {target: optimal_channel(model, level, theta, target=target) for target in TARGETS}
    for row in recommend(model, level, theta).channels:
        assert row.privacy_level <= level
        likelihood = row.likelihood
        if isinstance(row.channel, StatisticsChannel):
            marginal = asymptotics(model, row.channel, theta).marginal
            likelihood = None if marginal is None else float(np.trace(marginal))
        for target, error in zip(TARGETS, (likelihood, row.moments), strict=True):
            assert error is None or best[target].value <= error * (1 + ROUNDING), row.name
    # The likelihood of a channel is never worse than its moments, so neither is the best likelihood.
    assert best["likelihood"].value <= best["moments"].value * (1 + ROUNDING)


def random_vertex(rng: np.random.Generator, outputs: int, ratio: float) -> FloatArray:
    """A channel of rows x_A B_A, some of them 0, that is least for a random price of the rows."""
    rows = rows_of(all_subsets(outputs), ratio)
    solved = linprog(rng.normal(size=rows.shape[1]), A_eq=rows, b_eq=np.ones(outputs))
    x = solved.x
    return np.asarray((rows * x).T[x > 1e-9])


def random_channel(rng: np.random.Generator, outputs: int, ratio: float) -> FloatArray:
    """Any columns, drawn towards their mean until the level is right."""
    S = rng.dirichlet(np.full(int(rng.integers(2, 2 * outputs + 1)), 0.5), size=outputs).T + 1e-3
    S /= S.sum(axis=0)
    mean = S.mean(axis=1)
    # (mean + t (high − mean)) = ratio (mean + t (low − mean)) at t below; the smallest t of all rows is allowed.
    high, low = S.max(axis=1) - mean, S.min(axis=1) - mean
    share = (ratio - 1) * mean / (high - ratio * low)
    return np.asarray(mean[:, None] + min(1.0, float(share.min())) * (S - mean[:, None]))


@settings(max_examples=25, deadline=None)
@given(cases(), st.sampled_from(TARGETS))
def test_no_other_channel_goes_below_the_bound(
    case: tuple[Enumerated, FloatArray, float, np.random.Generator], target: Target
) -> None:
    model, theta, level, rng = case
    m, ratio = len(model.outputs), math.exp(level)
    found = optimal_channel(model, level, theta, target=target)
    assert found.gap <= 1e-6
    vertices = [random_vertex(rng, m, ratio) for _ in range(4)]
    shares = rng.dirichlet(np.ones(len(vertices)))
    mixture = np.concatenate([share * vertex for share, vertex in zip(shares, vertices, strict=True)])
    others = [*vertices, mixture, *(random_channel(rng, m, ratio) for _ in range(6))]
    for S in others:
        assert S.max(axis=1) == pytest.approx((S.min(axis=1) * ratio).clip(max=S.max(axis=1)), rel=1e-9)
        np.testing.assert_allclose(S.sum(axis=0), 1, rtol=1e-9)
        with np.errstate(all="ignore"):
            error = _error_or_infinity(model, S, theta, target)
        assert error >= found.lower_bound * (1 - ROUNDING)
    # Telling less of the same: observations that are mixed afterwards.
    k = len(found.observations)
    garbled = rng.dirichlet(np.ones(k), size=k).T @ found.matrix
    assert _error_or_infinity(model, garbled, theta, target) >= found.value * (1 - ROUNDING)


def _error_or_infinity(model: Enumerated, S: FloatArray, theta: FloatArray, target: Target) -> float:
    """`error_of`; a channel that says nothing of some parameter leaves an infinite error."""
    p = model.probabilities(theta)
    g = ((model.table - (model.table @ p)[:, None]) * p) @ S.T
    told = np.linalg.eigvalsh((g / (S @ p)) @ g.T)
    return math.inf if told.min() <= 1e-12 * told.max() else error_of(model, S, theta, target)


# -- what it tells -----------------------------------------------------------------------------------------------------


@every_target
def test_outputs_of_equal_statistics_are_told_alike_and_high_levels_reveal_the_statistics(target: Target) -> None:
    model, groups = Enumerated([[0, 0, 1, 1, 1, 2], [1, 1, 0, 0, 0, 3]]), np.array([0, 0, 1, 1, 1, 2])
    theta = [0.3, -0.2]
    full = float(np.trace(np.linalg.inv(model.fisher_information(theta))))
    errors = []
    for level in (0.5, 1, 2, 4, 8, 12):
        channel = optimal_channel(model, level, theta, target=target)
        for group in range(3):
            assert len({tuple(column) for column in channel.integer_weights[:, groups == group].T.tolist()}) == 1
        errors.append(channel.value)
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] == pytest.approx(full, rel=1e-3)
    assert min(errors) > full
    assert len(channel.observations) == 3
    told = channel.matrix.argmax(axis=0)
    assert [len(set(told[groups == group])) for group in range(3)] == [1, 1, 1]
    assert len(set(told)) == 3
    assert channel.matrix.max(axis=0).min() > 1 - 1e-4
    assert set(channel.observations.labels) == {"0 or 1", "2 or 3 or 4", "5"}


@every_target
def test_many_outputs_of_few_statistics_are_as_easy_as_few_outputs(target: Target) -> None:
    groups = np.arange(30) % 3
    few = Enumerated([[0.0, 1.0, 3.0]], log_base_measure=[np.log(10.0)] * 3)
    many = optimal_channel(Enumerated(few.table[:, groups]), 1, [0.4], target=target)
    assert many.is_proved
    assert many.value == pytest.approx(optimal_channel(few, 1, [0.4], target=target).value, rel=1e-9)
    np.testing.assert_array_equal(many.integer_weights, many.integer_weights[:, groups])


@every_target
def test_a_permutation_of_outputs_permutes_the_channel(target: Target) -> None:
    order = np.array([2, 0, 3, 1])
    found = optimal_channel(PAPER, 1, WEAK, target=target)
    permuted = optimal_channel(Enumerated(PAPER.table[:, order]), 1, WEAK, target=target)
    assert permuted.value == pytest.approx(found.value, rel=1e-7)
    np.testing.assert_allclose(sorted_rows(permuted.matrix), sorted_rows(found.matrix[:, order]), rtol=0, atol=2e-4)


@every_target
def test_weights_scale_and_choose(target: Target) -> None:
    plain, scaled = (optimal_channel(PAPER, 1, WEAK, target=target, weights=w) for w in ([1, 1], [7, 7]))
    assert scaled.value == pytest.approx(7 * plain.value, rel=1e-7)
    # Twice the statistic is half the parameter: W = diag(1, 4) takes it back.
    doubled = Enumerated(PAPER.table * [[1.0], [2.0]])
    same = optimal_channel(doubled, 1, [2.0, -0.05], target=target, weights=[1, 4])
    assert same.value == pytest.approx(plain.value, rel=1e-6)
    W = np.array([[2.0, 0.5], [0.5, 1.0]])
    other = optimal_channel(PAPER, 1, WEAK, target=target, weights=W)
    assert other.value == pytest.approx(error_of(PAPER, other.matrix, WEAK, target, W), rel=1e-6)
    assert other.value < error_of(PAPER, plain.matrix, WEAK, target, W) * (1 + ROUNDING)
    # A parameter that does not matter stays estimable.
    first = optimal_channel(PAPER, 1, WEAK, target=target, weights=[1, 0])
    assert first.value < plain.value
    assert np.isfinite(asymptotics(PAPER, first, WEAK).marginal).all()


@settings(max_examples=15, deadline=None)
@given(cases(), st.sampled_from(TARGETS), st.integers(1, 2))
def test_few_observations_suffice(
    case: tuple[Enumerated, FloatArray, float, np.random.Generator], target: Target, points: int
) -> None:
    """Carathéodory: as many as there are numbers to keep, Σ x_A B_A = 1 and the symmetric M at every θ."""
    model, theta, level, rng = case
    prior = theta + 0.3 * rng.normal(size=(points, model.dimension))
    found = optimal_channel(model, level, prior=prior, target=target)
    m = len(np.unique(model.table, axis=1).T)
    side = model.dimension if target == "likelihood" else m
    assert len(found.observations) <= m + points * side * (side + 1) // 2


@every_target
def test_a_symmetric_question_is_asked_by_subset_selection_with_few_of_its_subsets(target: Target) -> None:
    """8 outputs that are alike at level 1/2: subsets of 3, of which 24 do the work of all 56."""
    model, theta = Enumerated.saturated(8), np.zeros(7)
    W = 8 * np.eye(7) - 1  # all differences of two parameters alike, the reference of saturated models among them
    found = optimal_channel(model, 0.5, theta, target=target, weights=W)
    limit = asymptotics(model, SubsetSelection(8, 0.5), theta)
    sigma = limit.marginal if target == "likelihood" else limit.moments
    assert found.value == pytest.approx(float(np.sum(W * np.asarray(sigma))), rel=1e-7)
    assert set((found.matrix > found.matrix.mean(axis=1, keepdims=True)).sum(axis=1)) == {3}
    assert len(found.observations) <= 8 + 7 * 8 // 2


# -- several θ ---------------------------------------------------------------------------------------------------------

THREE = Enumerated([[0.0, 1.0, 2.0], [1.0, 0.0, 0.5]])
POINTS = np.array([[0.5, -1.0], [-1.0, 0.5], [1.5, 1.0]])


def solved_elsewhere(level: float, target: Target, weights: FloatArray | None) -> float:
    """The least average error over `POINTS`, or the least largest one, by SLSQP over the shares of the 6 rows."""
    rows = rows_of(all_subsets(3), math.exp(level))
    start = np.full(6, 1 / rows.sum(axis=1)[0])

    def errors(x: FloatArray) -> FloatArray:
        S = (rows * x[:6]).T
        return np.array([error_of(THREE, S, theta, target) for theta in POINTS])

    scale = errors(start).max()
    options = {"ftol": 1e-14, "maxiter": 1000}
    if weights is not None:
        balance = LinearConstraint(rows, 1, 1)
        found = minimize(
            lambda x: weights @ errors(x) / scale, start, bounds=[(1e-7, 1)] * 6, constraints=balance, options=options
        )
        return float(found.fun * scale)
    below = {"type": "ineq", "fun": lambda x: x[6] - errors(x) / scale}
    balance = LinearConstraint(np.column_stack([rows, np.zeros(3)]), 1, 1)
    found = minimize(
        lambda x: x[6],
        np.append(start, 1.0),
        bounds=[(1e-7, 1)] * 6 + [(0, 10)],
        constraints=[balance, below],
        options=options,
    )
    return float(found.fun * scale)


@every_target
@pytest.mark.parametrize("level", [0.5, 1, 3])
def test_an_independent_solver_agrees(level: float, target: Target) -> None:
    shares = np.array([0.5, 0.2, 0.3])
    prior = Prior.weighted(POINTS, 10 * shares, dimension=2)
    average = optimal_channel(THREE, level, prior=prior, target=target)
    assert average.value == pytest.approx(solved_elsewhere(level, target, shares), rel=2e-5)
    np.testing.assert_allclose(average.shares, shares)
    worst = optimal_channel(THREE, level, minimax=POINTS, target=target)
    assert worst.value == pytest.approx(solved_elsewhere(level, target, None), rel=2e-5)
    assert average.gap <= 1e-6
    assert worst.gap <= 1e-6


@settings(max_examples=6, deadline=None)
@given(cases(), st.sampled_from(TARGETS))
def test_prior_and_minimax_lie_between(
    case: tuple[Enumerated, FloatArray, float, np.random.Generator], target: Target
) -> None:
    model, theta, level, rng = case
    points = theta + 0.5 * rng.normal(size=(3, model.dimension))
    single = [optimal_channel(model, level, point, target=target) for point in points]
    errors = np.array([[error_of(model, each.matrix, point, target) for point in points] for each in single])
    average = optimal_channel(model, level, prior=points, target=target)
    worst = optimal_channel(model, level, minimax=points, target=target)
    least = np.array([each.value for each in single])
    assert least.max() * (1 - 1e-5) <= worst.value <= errors.max(axis=1).min() * (1 + 1e-5)
    assert least.mean() * (1 - ROUNDING) <= average.value <= errors.mean(axis=1).min() * (1 + ROUNDING)
    assert average.value <= worst.value * (1 + ROUNDING)
    at = [error_of(model, worst.matrix, point, target) for point in points]
    assert worst.value == pytest.approx(max(at), rel=1e-6)
    assert worst.shares.sum() == pytest.approx(1)
    # One θ, however it is given.
    once = [optimal_channel(model, level, target=target, **{name: points[:1]}) for name in ("prior", "minimax")]
    assert [each.value for each in once] == pytest.approx([least[0]] * 2, rel=1e-5)


def test_a_prior_from_a_fit() -> None:
    rng = np.random.default_rng(3)
    pilot = RandomizedResponse.for_privacy_level(2, outputs=4)
    fit = estimate(PAPER, Tally(pilot).add(pilot.simulate(PAPER.sample([0.5, -0.5], 20_000, rng), rng)))
    prior = Prior.of_fit(fit)
    centred = prior.points - prior.mean
    np.testing.assert_allclose((centred.T * prior.weights) @ centred, fit.covariance, rtol=1e-9)
    channel = optimal_channel(PAPER, 1, prior=prior)
    assert channel.points.shape == (5, 2)
    expected = prior.weights @ [error_of(PAPER, channel.matrix, point, "likelihood") for point in prior.points]
    assert channel.value == pytest.approx(expected, rel=1e-7)


# -- column generation -------------------------------------------------------------------------------------------------


@every_target
@pytest.mark.parametrize(("size", "dimension"), [(8, 1), (8, 3), (10, 2)])
def test_column_generation_agrees_with_all_rows_at_once(
    monkeypatch: pytest.MonkeyPatch, size: int, dimension: int, target: Target
) -> None:
    rng = np.random.default_rng([size, dimension])
    model, theta = Enumerated(rng.normal(size=(dimension, size))), 0.5 * rng.normal(size=dimension)
    direct = optimal_channel(model, 1, theta, target=target)
    monkeypatch.setattr(search, "DIRECT", 3)
    generated = optimal_channel(model, 1, theta, target=target)
    assert generated.value == pytest.approx(direct.value, rel=1e-7)
    assert generated.lower_bound == pytest.approx(direct.lower_bound, rel=2e-7)
    assert generated.is_proved
    monkeypatch.setattr(search, "ENUMERATED", 3)
    local = optimal_channel(model, 1, theta, target=target)
    assert local.value == pytest.approx(direct.value, rel=2e-4)
    assert local.lower_bound <= direct.value * (1 + 1e-7)  # not proved, but right
    assert not local.is_proved
    assert "as far as the search goes" in local.summary()


@every_target
def test_fifteen_outputs(target: Target) -> None:
    rng = np.random.default_rng(15)
    model = Enumerated(rng.normal(size=(2, 15)))
    found = optimal_channel(model, 1, [0.3, -0.3], target=target)
    assert found.gap <= 1e-7
    assert found.is_proved
    for row in recommend(model, 1, [0.3, -0.3]).channels:
        other = row.likelihood if target == "likelihood" else row.moments
        assert other is None or found.value < other
