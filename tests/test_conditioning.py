"""Fits do not depend on the origin and the unit of covariates, nor on the unit of weights, nor on last bits."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from askance import (
    CliqueRelease,
    ConditionalFieldFit,
    ForcedResponse,
    RandomField,
    RegressionFit,
    Responses,
    Softmax,
    estimate,
    estimate_field,
)
from askance.design.conditional_covariances import conditional_asymptotics
from askance.errors import AskanceWarning, InputError, NotIdentifiedError
from askance.estimation.problems.basis import Basis
from askance.estimation.problems.field_problem import FieldMethod

CHANNEL = ForcedResponse("2/3", "1/6")
METHODS = ["moments", "one-step", "marginal"]
TERMS = ["Intercept", "x", "u"]
N = 2500
_rng = np.random.default_rng(20)
# Whole multiples of 2⁻²⁰, so that x + 10⁸ has all digits of x.
X = np.round(_rng.normal(size=N) * 2**20) / 2**20
U = np.where(_rng.random(N) < 0.4, 1.0, 0.0)
REPORTS = CHANNEL.simulate(np.where(_rng.random(N) < 1 / (1 + np.exp(0.5 - 0.7 * X - 0.4 * U)), "yes", "no"), _rng)


def _fit(x: Any, method: str = "one-step", terms: list[str] = TERMS, **options: Any) -> RegressionFit:
    table = x if sparse.issparse(x) or np.ndim(x) == 2 else np.column_stack([np.ones(N), x, U])
    return estimate(Softmax(CHANNEL.outputs, terms), Responses(CHANNEL).add(table, REPORTS, **options), method)


def _assert_same_slopes(fit: RegressionFit, plain: RegressionFit, unit: float = 1.0, rel: float = 1e-8) -> None:
    assert fit.converged
    assert not fit.diagnostics.repaired
    assert fit.log_likelihood == pytest.approx(plain.log_likelihood, rel=1e-11)
    scale = np.array([unit, 1.0])
    assert fit.theta[1:] * scale == pytest.approx(plain.theta[1:], rel=rel)
    assert fit.standard_errors[1:] * scale == pytest.approx(plain.standard_errors[1:], rel=rel)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("origin", [1e4, -1e6, 1e8])
def test_far_from_zero(method: str, origin: float) -> None:
    plain, far = _fit(X, method), _fit(X + origin, method)
    _assert_same_slopes(far, plain)
    # The intercept is the log-odds at 0, that is at X = −origin: exact up to the digits of products of such size.
    assert far.theta[0] == pytest.approx(plain.theta[0] - origin * plain.theta[1], rel=1e-8)
    if plain.raw_statistics is not None:
        told = plain.raw_statistics
        assert far.raw_statistics == pytest.approx([told[0], told[1] + origin * told[0], told[2]], rel=1e-12)


def test_averages_and_predictions_far_from_zero() -> None:
    plain, far = _fit(X), _fit(X + 1e8)
    rows = np.array([[1.0, -1.0, 0.0], [1.0, 0.5, 1.0], [0.0, 1.0, 0.0]])
    moved = rows + np.outer(rows[:, 0] * 1e8, [0.0, 1.0, 0.0])
    observed = ["yes", "no", "yes"]
    pairs: list[tuple[Any, Any]] = [
        (far.prevalence(), plain.prevalence()),
        (far.prevalence(by="u", population=True), plain.prevalence(by="u", population=True)),
        (far.marginal_effects(), plain.marginal_effects()),
        (far.predict(moved), plain.predict(rows)),
        (far.posterior(moved, observed), plain.posterior(rows, observed)),
    ]
    for one, other in pairs:
        assert one.estimate == pytest.approx(other.estimate, rel=1e-6)
        assert one.standard_error == pytest.approx(other.standard_error, rel=1e-6)


def test_a_covariance_without_digits_is_not_believed() -> None:
    """As after loading from a file, which has the coefficients and their covariance only."""
    loaded = dataclasses.replace(_fit(X + 1e8), in_basis=None)
    with pytest.warns(AskanceWarning, match="far from 0"):
        assert np.isnan(loaded.predict([[1.0, 1e8, 0.0]]).standard_error).all()
    with pytest.warns(AskanceWarning, match="far from 0"):
        assert np.isnan(loaded.prevalence(np.column_stack([np.ones(N), X + 1e8, U])).standard_error).all()


@pytest.mark.parametrize("unit", [1e-130, 1e-60, 1e60, 1e130])
def test_units_of_a_covariate(unit: float) -> None:
    for method in METHODS:
        _assert_same_slopes(_fit(X * unit, method), _fit(X, method), unit)


@pytest.mark.parametrize("unit", [1e-310, 1e-160, 1e160, 1e300])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_units_whose_squares_are_no_numbers_are_blamed_on_the_column(unit: float, as_sparse: bool) -> None:
    table = np.column_stack([np.ones(N), X * unit, U])
    with pytest.raises(InputError, match=r"the column 'x' is .* in size") as refusal:
        _fit(sparse.csr_array(table) if as_sparse else table)
    assert "unit" in str(refusal.value)


@pytest.mark.parametrize("unit", [5e307, 1e-300, 1e-308])
def test_units_of_weights(unit: float) -> None:
    weights = np.random.default_rng(3).uniform(1, 3, N)
    plain, scaled = _fit(X, weights=weights), _fit(X, weights=weights * unit)
    _assert_same_slopes(scaled, plain, rel=1e-12)
    for population in (False, True):
        one, other = scaled.prevalence(population=population), plain.prevalence(population=population)
        assert one.standard_error == pytest.approx(other.standard_error, rel=1e-12)
    table = np.column_stack([np.ones(N), X, U])
    given = scaled.prevalence(table, weights=weights * unit)
    assert given.estimate == pytest.approx(plain.prevalence().estimate, rel=1e-12)


def test_powers_of_a_year() -> None:
    """Cubes of years, and of years since 1965: nearly collinear, and not; the order of rows has no say."""
    year = np.floor(1965 + 15 * X.clip(-3, 3))
    terms = ["Intercept", "year", "squared", "cubed"]

    def powers(t: Any) -> Any:
        return np.column_stack([t**power for power in range(4)])

    for method in METHODS:
        near, far = _fit(powers((year - 1965) / 10), method, terms), _fit(powers(year), method, terms)
        assert not far.diagnostics.repaired
        assert far.log_likelihood == pytest.approx(near.log_likelihood, rel=1e-10)
        assert far.theta[3] * 1000 == pytest.approx(near.theta[3], rel=1e-4)
        assert far.standard_errors[3] * 1000 == pytest.approx(near.standard_errors[3], rel=1e-5)
    model = Softmax(CHANNEL.outputs, terms)
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(N)
        mixed = estimate(model, Responses(CHANNEL).add(powers(year[order]), np.asarray(REPORTS)[order]), "moments")
        assert not mixed.diagnostics.repaired


def test_sparse_rows_far_from_zero() -> None:
    table = np.column_stack([np.ones(N), np.where(U > 0, X + 1e6, 0.0), U])
    near = np.column_stack([np.ones(N), np.where(U > 0, X, 0.0), U])
    for method in METHODS:
        far, plain = _fit(sparse.csr_array(table), method), _fit(near, method)
        assert far.theta[1] == pytest.approx(plain.theta[1], rel=1e-7)
        assert far.standard_errors[1] == pytest.approx(plain.standard_errors[1], rel=1e-7)


def test_without_a_constant_nothing_is_centred() -> None:
    """Two columns near 10⁵ and no intercept: the same model as one of them and their difference."""
    one, two = X + 1e5, U + 1e5
    terms = ["one", "two"]
    both = _fit(np.column_stack([one, two]), "one-step", terms)
    apart = _fit(np.column_stack([one, two - one]), "one-step", terms)
    assert both.theta[1] == pytest.approx(apart.theta[1], rel=1e-8)
    assert both.theta.sum() == pytest.approx(apart.theta[0], rel=1e-4)
    assert both.log_likelihood == pytest.approx(apart.log_likelihood, rel=1e-11)


@pytest.mark.parametrize(
    ("column", "names"),
    [
        (3.0 * U + 2.0, "'x', 'u'"),
        (np.full(N, 1e8), "'Intercept', 'x'"),
        (U + 1e-9 * X, "'x', 'u'"),
        (X * 1e-5 + 1e8, "'Intercept', 'x'"),
        (0.1 * (U * 3.0 + 1e8), "'x'"),
    ],
)
def test_collinear_columns_are_named(column: Any, names: str) -> None:
    with pytest.raises(NotIdentifiedError, match="collinear") as refusal:
        _fit(column)
    assert names in str(refusal.value)


def test_nearly_collinear_columns_are_told_apart() -> None:
    """What the others leave of a column is 10⁻⁵ of it: far above rounding, so it is a column."""
    near, far = _fit(X), _fit(U + 1e-5 * X)
    assert far.theta[1] * 1e-5 == pytest.approx(near.theta[1], rel=1e-8)
    assert far.log_likelihood == pytest.approx(near.log_likelihood, rel=1e-11)


def test_starts_and_maxima_are_about_the_covariates_as_they_were_given() -> None:
    table = np.column_stack([np.ones(N), X + 1e6, U])
    model, evidence = Softmax(CHANNEL.outputs, TERMS), Responses(CHANNEL).add(table, REPORTS)
    whole = estimate(model, evidence, "marginal")
    again = estimate(model, evidence, "marginal", starts=[whole.theta])
    assert again.diagnostics.iterations <= 2
    assert again.theta == pytest.approx(whole.theta, rel=1e-8)
    assert np.array(again.diagnostics.maxima[0].theta) == pytest.approx(again.theta, rel=1e-12)


@pytest.mark.parametrize("method", ["moments", "marginal"])
def test_covariates_of_a_field_far_from_zero(method: FieldMethod) -> None:
    field = RandomField([2, 2], [[0, 1]], covariates=["x", "u"])
    channel = CliqueRelease(field.sizes, field.cliques, 4)
    records = np.column_stack([X > 0.3, _rng.random(N) < 0.5]).astype(np.int64)
    reports = channel.simulate(records, np.random.default_rng(6))

    def fit(x: Any) -> ConditionalFieldFit:
        return estimate_field(field, Responses(channel).add(np.column_stack([x, U]), reports), method)

    plain = fit(X)
    for origin in (1e8, 1e10):
        far = fit(X + origin)
        for one, other in ((far.effects(0), plain.effects(0)), (far.marginal([0, 1]), plain.marginal([0, 1]))):
            # The solver stops within a hundredth of a posterior standard deviation.
            assert (np.abs(one.estimate - other.estimate) < 0.03 * other.standard_error).all()
            assert one.standard_error == pytest.approx(other.standard_error, rel=5e-3)
    with pytest.warns(AskanceWarning, match="far from 0"):
        assert np.isnan(dataclasses.replace(far, factor=None).marginal([0]).standard_error).all()
    for unit in (1e-160, 1e160):
        with pytest.raises(InputError, match=r"the covariate 'x' is .* in size"):
            fit(X * unit)


def test_a_basis_leads_out_and_in_again() -> None:
    rng = np.random.default_rng(5)
    x = np.column_stack([2.0 * np.ones(6), rng.normal(size=(6, 2)) + 30.0])
    basis = Basis(np.array([0.0, 30.0, 31.0]), 0, 2.0, rng.normal(size=(3, 3)))
    inner = basis.covariates(x)
    assert inner == pytest.approx(x @ basis.to_terms)
    assert basis.covariates(sparse.csr_array(x)) == pytest.approx(inner)
    theta = rng.normal(size=6)
    outer = basis.parameters(theta)
    assert basis.inward(outer) == pytest.approx(theta)
    assert x @ outer.reshape(2, 3).T == pytest.approx(inner @ theta.reshape(2, 3).T)
    beta = rng.normal(size=(6, 2))
    assert basis.statistics((beta.T @ inner).ravel()) == pytest.approx((beta.T @ x).ravel())
    root = rng.normal(size=(6, 6))
    turn = np.kron(np.eye(2), basis.to_terms)
    assert basis.covariance(root @ root.T) == pytest.approx(turn @ root @ root.T @ turn.T)


# -- planning ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("origin", [1e3, 1e6, 1e8])
def test_what_can_be_learned_does_not_depend_on_the_origin_of_a_covariate(origin: float) -> None:
    rng = np.random.default_rng(0)
    x = np.column_stack([np.ones(500), rng.normal(size=500)])
    model, design = Softmax(["no", "yes"], ["Intercept", "x"]), ForcedResponse("2/3", "1/6")
    here = conditional_asymptotics(model, design, [-0.5, 0.3], x)
    # x as it is when it is counted from far away: the digits that are lost there are lost to everybody.
    far = x + np.array([0.0, origin])
    there = conditional_asymptotics(model, design, [-0.5 - 0.3 * origin, 0.3], far)
    for name in ("full", "marginal", "moments"):
        assert getattr(there, name)[1, 1] == pytest.approx(getattr(here, name)[1, 1], rel=1e-6)
    heavy = conditional_asymptotics(model, design, [-0.5, 0.3], x, np.full(500, 1.7e308))
    np.testing.assert_allclose(heavy.marginal, here.marginal, rtol=1e-9)
