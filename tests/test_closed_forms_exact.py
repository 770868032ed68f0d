"""Closed forms of H against enumeration of every report, at any θ: binary and bounded φ, d ≤ 6, every option at once.

The channels are written out here from their definitions, with loops: a statistic φ in [lower, lower + c] becomes a bit
that is 1 with probability (φ − lower)/c; bits are kept or flipped; then one is drawn, or all are sent.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askance import CoordinateRelease, Enumerated, PerValue, RandomizedResponse, asymptotics
from askance._arrays import FloatArray
from askance.design import (
    coordinate_release_excess_covariance,
    per_value_excess_covariance,
    randomized_response_excess_covariance,
)
from askance.design.statistics_covariances import report_matrix

EXACT = 1e-8


class Case(NamedTuple):
    """A model whose statistics lie in boxes, θ, and where the boxes are."""

    model: Enumerated
    theta: FloatArray
    lower: FloatArray
    width: FloatArray
    rng: np.random.Generator

    @property
    def p(self) -> FloatArray:
        return self.model.probabilities(self.theta)

    @property
    def bits(self) -> FloatArray:
        """(φ − lower)/c, shape (d, m): the probability of a 1 before flips."""
        return np.asarray((self.model.table - self.lower[:, None]) / self.width[:, None])


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """d ≤ 6; φ in {0, 1}^d, or anywhere in a box of its own for every statistic."""
    d = draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    m = int(rng.integers(2, 9))
    lower, width = np.zeros(d), np.ones(d)
    shares = rng.integers(0, 2, (d, m)).astype(float)
    if draw(st.booleans()):
        lower, width = np.round(rng.normal(size=d), 3), np.round(rng.uniform(0.25, 3, d), 3)
        shares = rng.random((d, m))
    model = Enumerated(lower[:, None] + width[:, None] * shares, log_base_measure=rng.normal(size=m))
    return Case(model, rng.normal(size=d), lower, width, rng)


def assert_equal(found: FloatArray, expected: FloatArray) -> None:
    np.testing.assert_allclose(found, expected, rtol=0, atol=EXACT * max(1.0, float(np.abs(expected).max())))


def covariance(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Cov of the columns of `values` (d, k) under `weights` (k,)."""
    mean = values @ weights
    return np.asarray(sum(w * np.outer(v - mean, v - mean) for v, w in zip(values.T, weights, strict=True)))


def mean_conditional_covariance(beta: FloatArray, S: FloatArray, p: FloatArray) -> FloatArray:
    """H = E Cov[β(o) | y] for S (k, m), β (d, k)."""
    return np.asarray(sum(p[y] * covariance(beta, S[:, y]) for y in range(len(p))))


# -- coordinate release ------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(cases(), st.sampled_from([0.2, 1.0, 3.0]), st.booleans())
def test_coordinate_release(case: Case, level: float, uniform: bool) -> None:
    d = case.model.dimension
    drawn = np.full(d, 1 / d) if uniform else case.rng.dirichlet(np.full(d, 5.0))
    channel = CoordinateRelease(
        d,
        level,
        lower=case.lower,
        statistic_bound=case.width,
        release_distribution=None if uniform else drawn.tolist(),
    )
    drawn, q = channel.release_probabilities, channel.flips.keep_probability
    S, beta, centred = [], [], []
    mean = case.model.table @ case.p
    for j, bit in product(range(d), (0, 1)):
        one = q * case.bits[j] + (1 - q) * (1 - case.bits[j])
        S.append(drawn[j] * (one if bit else 1 - one))
        value = case.lower[j] + case.width[j] * (bit - (1 - q)) / (2 * q - 1)
        unit = np.eye(d)[j] / drawn[j]
        # φ is shifted before it is divided by the probability of being drawn; the lower end is added for certain.
        beta.append((value - case.lower[j]) * unit + case.lower)
        centred.append((value - mean[j]) * unit)
    matrix, printed, influence = np.array(S), np.array(beta).T, np.array(centred).T
    np.testing.assert_allclose(matrix.sum(axis=0), 1, rtol=1e-12)
    np.testing.assert_allclose(printed @ matrix, case.model.table, rtol=0, atol=1e-9)  # unbiased
    assert_equal(
        coordinate_release_excess_covariance(case.model, channel, case.theta, "printed"),
        mean_conditional_covariance(printed, matrix, case.p),
    )
    # A mean within what was drawn is, to first order, the average of (debiased bit − μ_j)/p_j where j was drawn.
    within = covariance(influence, matrix @ case.p) - covariance(case.model.table, case.p)
    assert_equal(coordinate_release_excess_covariance(case.model, channel, case.theta), within)
    written = report_matrix(channel, case.model.table.T)
    assert written is not None
    np.testing.assert_allclose(written, matrix, rtol=0, atol=1e-12)


# -- per-value release -------------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(cases(), st.sampled_from([0.2, 1.0, 3.0]), st.sampled_from([None, "1/5", "2/5"]))
def test_per_value_release(case: Case, level: float, density: str | None) -> None:
    d = case.model.dimension
    is_binary = bool(np.isin(case.bits, (0.0, 1.0)).all() and not case.lower.any())
    kind: dict[str, object] = {} if is_binary else {"statistics": "bounded"}
    channel = PerValue(d, level, lower=case.lower, statistic_bound=case.width, density=density, **kind)  # type: ignore[arg-type]
    raised = channel.flips.raise_probability
    kept = raised + channel.flips.gain
    assert density is not None or kept == pytest.approx(1 - raised, abs=1e-15)
    one = kept * case.bits + raised * (1 - case.bits)
    reports = np.arange(2**d)[:, None] >> np.arange(d) & 1
    matrix = np.array([np.where(report[:, None] == 1, one, 1 - one).prod(axis=0) for report in reports])
    beta = (case.lower + case.width * (reports - raised) / (kept - raised)).T
    np.testing.assert_allclose(beta @ matrix, case.model.table, rtol=0, atol=1e-8 * max(1.0, np.abs(beta).max()))
    assert_equal(
        per_value_excess_covariance(case.model, channel, case.theta), mean_conditional_covariance(beta, matrix, case.p)
    )
    written = report_matrix(channel, case.model.table.T)
    assert written is not None
    np.testing.assert_allclose(written, matrix, rtol=0, atol=1e-12)


# -- randomized response -----------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(cases(), st.sampled_from(["1/10", "1/2", "9/10"]), st.booleans())
def test_randomized_response(case: Case, reveal: str, uniform: bool) -> None:
    m = len(case.model.outputs)
    base = np.full(m, 1 / m) if uniform else case.rng.dirichlet(np.full(m, 2.0))
    channel = RandomizedResponse(reveal, outputs=m, base_distribution=None if uniform else base.tolist())
    epsilon, u = channel.reveal_probability, channel.base_distribution
    S = epsilon * np.eye(m) + (1 - epsilon) * np.outer(u, np.ones(m))
    beta = (case.model.table - (1 - epsilon) * (case.model.table @ u)[:, None]) / epsilon
    np.testing.assert_allclose(beta @ S, case.model.table, rtol=0, atol=1e-9)
    found = randomized_response_excess_covariance(case.model, channel, case.theta)
    assert_equal(found, mean_conditional_covariance(beta, S, case.p))
    if np.linalg.matrix_rank(covariance(case.model.table, case.p), tol=1e-6) == case.model.dimension:
        limit = asymptotics(case.model, channel, case.theta)
        assert limit.excess_covariance is not None
        assert_equal(found, limit.excess_covariance)


@pytest.mark.parametrize("reveal", ["1/10", "1/2", "9/10"])
def test_randomized_response_that_answers_like_the_population(reveal: str) -> None:
    """u = p_θ: Σ_mom = ε⁻² I⁻¹."""
    model, theta = Enumerated([[0, 0, 1, 1], [0, 1, 0, 1]]), [0.5, -1.0]
    channel = RandomizedResponse(reveal, outputs=4, base_distribution=model.probabilities(theta).tolist())
    information = model.fisher_information(theta)
    found = information + randomized_response_excess_covariance(model, channel, theta)
    assert_equal(found, information / channel.reveal_probability**2)
