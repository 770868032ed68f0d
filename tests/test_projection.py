"""The geometry of two-step estimation: projections onto the simplex, then onto the family."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askance import Coarsened, Enumerated, MatrixChannel, RandomizedResponse, Tally, estimate, project
from askance._arrays import FloatArray
from askance.errors import ImpossibleReportsWarning, RepairWarning
from askance.estimation.problems.simplex import closest_distribution, likeliest_distribution


def columns(seed: int, k: int, m: int) -> FloatArray:
    return np.random.default_rng(seed).dirichlet(np.ones(k) * 0.7, size=m).T


@given(st.integers(0, 10**6), st.integers(2, 6), st.integers(2, 6))
@settings(max_examples=150, deadline=None)
def test_least_squares_projection_satisfies_its_optimality_conditions(seed: int, k: int, m: int) -> None:
    """At the optimum the gradient is constant on the support and not smaller elsewhere; k < m included."""
    S, q = columns(seed, k, m), columns(seed + 1, k, 1)[:, 0]
    r = closest_distribution(S, q)
    assert r.min() >= 0
    assert r.sum() == pytest.approx(1)
    gradient = S.T @ (S @ r - q)
    assert (gradient - gradient @ r).min() > -1e-7


@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(2, 5))
@settings(max_examples=60, deadline=None)
def test_likeliest_distribution_is_globally_optimal(seed: int, k: int, m: int) -> None:
    """The gap max_y Sᵀ(q̂/Sr) − 1 bounds the distance to the optimum; random rivals are never better."""
    channel = MatrixChannel(columns(seed, k, m))
    q = columns(seed + 1, k, 1)[:, 0]
    r, _ = likeliest_distribution(channel, q, tolerance=1e-9)
    value = q @ np.log(channel.apply(r))
    gap = channel.apply_transposed(q / channel.apply(r)).max() - 1
    assert gap < 1e-4
    rivals = np.random.default_rng(seed).dirichlet(np.ones(m) * 0.5, size=200)
    assert (np.log(rivals @ channel.matrix.T) @ q).max() <= value + gap + 1e-12


def test_inside_the_simplex_the_pseudo_inverse_is_the_answer() -> None:
    channel = RandomizedResponse("1/2", outputs=3)
    tally = Tally(channel, [500, 300, 200])
    expected = np.linalg.solve(channel.matrix, tally.frequencies)
    np.testing.assert_allclose(project(tally), expected, atol=1e-13)
    np.testing.assert_allclose(project(tally, "kl"), expected, atol=1e-6)


def test_deterministic_supervision_spreads_mass_evenly_and_is_one_em_iteration() -> None:
    channel = Coarsened([["a", "b"], ["c", "d", "e"]])
    tally = Tally(channel, [30, 70])
    even = np.array([0.15, 0.15, 0.7 / 3, 0.7 / 3, 0.7 / 3])
    np.testing.assert_allclose(project(tally), even, atol=1e-12)
    np.testing.assert_allclose(project(tally, "kl"), even, atol=1e-12)
    model = Enumerated([[0, 1, 2, 3, 4]], outputs=channel.outputs)
    fit = estimate(model, tally, "projection")
    np.testing.assert_allclose(model.mean_statistics(fit.theta), model.table @ even, atol=1e-10)
    assert np.isnan(fit.covariance).all()
    assert "no covariance" in fit.diagnostics.messages[0]


def test_projection_with_full_rank_agrees_with_plain_moments_and_their_covariance() -> None:
    channel = MatrixChannel([[0.6, 0.1, 0.1], [0.2, 0.6, 0.2], [0.1, 0.2, 0.3], [0.1, 0.1, 0.4]])
    model = Enumerated([[0.0, 1.0, 2.0]])
    tally = Tally(channel, [300, 350, 180, 170])
    moments = estimate(model, tally, "moments", weighting="plain")
    projection = estimate(model, tally, "projection")
    r = project(tally)
    assert r.min() > 0
    # S r is not q̂ here (four observations, three outputs), but both are linear in q̂ with the same R.
    np.testing.assert_allclose(projection.theta, moments.theta, atol=1e-6)
    np.testing.assert_allclose(projection.covariance, moments.covariance, rtol=1e-5)


def test_a_projection_on_the_boundary_is_kept_finite_and_said_to_be() -> None:
    channel = MatrixChannel([["1/3", "1/6", "1/4"], ["1/3", "1/6", "1/2"], ["1/3", "2/3", "1/4"]])
    with pytest.warns(RepairWarning, match="probability 0"), pytest.warns(ImpossibleReportsWarning, match="5.7 %"):
        fit = estimate(Enumerated([[2.0, 1.0, 0.0]]), Tally(channel, [441, 502, 57]), "projection")
    assert np.isfinite(fit.theta).all()
    assert fit.diagnostics.repaired
