"""`plan` for random fields and linear regressions: errors by hand, by enumeration, and as fits report them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from askance import (
    CliqueRelease,
    CoordinateRelease,
    PerValue,
    RandomField,
    estimate_field,
    estimate_linear,
    field_release,
    plan,
    regression_release,
)
from askance._arrays import FloatArray
from askance.errors import IncompatibleEvidenceError, InputError
from tests.test_planning import COEFFICIENTS, FIELD, LINEAR, SQUARE, TABLES


def test_a_field_of_one_table_has_the_error_of_the_table() -> None:
    field, theta = RandomField([2, 3], [[0, 1]]), np.log([1.0, 2, 3, 4, 5, 6])
    channel = CliqueRelease([2, 3], [[0, 1]], 1)
    p = np.arange(1, 7) / 21
    expected = np.diag(channel.releases[0].covariance(p))
    found = plan(field, channel, theta, n=1)
    assert found.designs[0].unit_error ** 2 == pytest.approx(expected.mean(), rel=1e-9)
    assert found.direct.unit_error**2 == pytest.approx(np.mean(p * (1 - p)), rel=1e-9)
    for cell, name in enumerate(field.parameter_names):
        one = plan(field, channel, theta, target=name, n=1)
        assert one.designs[0].unit_error ** 2 == pytest.approx(expected[cell], rel=1e-9)
        assert one.value == pytest.approx(p[cell])
    sums = plan(field, channel, theta, target={"1": 2}, n=1)  # a sum of two cells
    v = channel.releases[0].covariance(p)
    assert sums.designs[0].unit_error ** 2 == pytest.approx(v[2, 2] + v[5, 5] + 2 * v[2, 5], rel=1e-9)


def field_by_hand(precision: FloatArray, cells: FloatArray) -> float:
    """Mean of n Var over the field's cells, by enumeration of all records and a basis of θ without redundancy."""
    records = FIELD.enumerated()
    p = records.probabilities(TABLES)
    centred = records.table - (records.table @ p)[:, None]
    basis = np.linalg.svd(centred)[0][:, : np.linalg.matrix_rank(centred)]
    slopes = (cells - (cells @ p)[:, None]) * p @ centred.T @ basis  # ∂ E cells / ∂ basis
    own = (centred * p) @ centred.T @ basis
    covariance = own @ np.linalg.inv(slopes.T @ precision @ slopes) @ own.T
    return float(np.diag(covariance).mean())


def test_a_field_by_hand() -> None:
    records = FIELD.enumerated()
    p = records.probabilities(TABLES)
    mean = records.table @ p
    found = plan(FIELD, None, TABLES, privacy_level=1, n=1)
    variances = {row.design: row.unit_error**2 for row in found.designs}
    cliques = CliqueRelease(FIELD.sizes, FIELD.cliques, 1)
    precision: Any = np.zeros((10, 10))
    for part, release, drawn in zip(
        (slice(0, 6), slice(6, 10)), cliques.releases, cliques.clique_probabilities, strict=True
    ):
        precision[part, part] = drawn * np.linalg.pinv(release.covariance(mean[part]), rcond=1e-11)
    assert variances["cliques"] == pytest.approx(field_by_hand(precision, records.table), rel=1e-8)
    whole = CliqueRelease(FIELD.sizes, [[0, 1, 2]], 1)
    precision = np.linalg.pinv(whole.releases[0].covariance(p), rcond=1e-11)
    assert variances["records"] == pytest.approx(field_by_hand(precision, np.eye(12)), rel=1e-8)
    for name, channel in (("per-value", PerValue(10, 1, l1_norm=2)), ("coordinate-release", CoordinateRelease(10, 1))):
        precision = np.linalg.pinv(channel.mean_covariance(records.table.T, p), rcond=1e-11)
        assert variances[name] == pytest.approx(field_by_hand(precision, records.table), rel=1e-8)
        assert plan(FIELD, channel, TABLES, n=1).designs[0].unit_error ** 2 == pytest.approx(variances[name])


def test_direct_answers_of_a_field_are_binomial() -> None:
    mean = FIELD.mean_statistics(TABLES)
    found = plan(FIELD, "cliques", TABLES, privacy_level=15, n=1)
    assert found.direct.unit_error**2 == pytest.approx(np.mean(mean * (1 - mean)), rel=1e-9)
    records = plan(FIELD, "records", TABLES, privacy_level=20, n=1).designs[0]
    assert records.price == pytest.approx(1, rel=1e-5)


def test_regression_by_direct_answers_is_least_squares() -> None:
    found = plan(LINEAR, "quadratic", COEFFICIENTS, SQUARE, privacy_level=2, n=1, target="x1")
    assert found.direct.unit_error**2 == pytest.approx(1.0, rel=1e-9)  # σ² (E x xᵀ)⁻¹, columns of ±1
    assert found.direct.bias == pytest.approx(0, abs=1e-9)
    assert found.value == -0.4
    weighted = plan(LINEAR, "quadratic", COEFFICIENTS, SQUARE, privacy_level=2, n=1, weights=[1, 2, 2, 1])
    repeated = plan(LINEAR, "quadratic", COEFFICIENTS, np.repeat(SQUARE, [1, 2, 2, 1], axis=0), privacy_level=2, n=1)
    assert weighted.designs[0].unit_error == pytest.approx(repeated.designs[0].unit_error, rel=1e-9)


def test_a_regression_is_as_precise_as_its_fit_says() -> None:
    rng = np.random.default_rng(4)
    release = regression_release(LINEAR, 4, channel="quadratic")
    x = rng.choice(SQUARE, size=40_000)
    y = 0.3 + x @ [0.8, -0.4] + rng.normal(size=len(x))
    fit = estimate_linear(release, release.simulate(x, y, rng))
    assert not fit.repair.acted
    for number, name in enumerate(("Intercept", "x0", "x1")):
        row = plan(LINEAR, release, COEFFICIENTS, SQUARE, target=name, n=len(x)).designs[0]
        # The fit takes columns to be normal where the plan has a sample of them; z = 4.4: one false alarm in 10⁵.
        assert row.standard_error == pytest.approx(float(fit.standard_errors[number]), rel=0.05)
        assert row.tends_to is not None
        assert abs(fit.theta[number] - row.tends_to) < 4.4 * row.standard_error
        assert row.bias == pytest.approx(abs(row.tends_to - COEFFICIENTS[number]), rel=1e-6)
    nobody_shrunk = regression_release(LINEAR, 4, channel="quadratic", share_within=1)
    assert plan(LINEAR, nobody_shrunk, COEFFICIENTS, SQUARE, n=1).designs[0].bias < 1e-9


def test_large_biases_are_last() -> None:
    found = plan(LINEAR, None, COEFFICIENTS, SQUARE, privacy_level=4, target="x0", standard_error=0.02)
    biases = [row.bias > row.standard_error for row in found.designs]
    assert biases == sorted(biases)
    assert any(biases)
    summary = found.summary()
    assert "bias: how far off" in summary
    assert all(f"  {row.bias:.3g}  " in summary for row in found.designs)
    precise = plan(LINEAR, None, COEFFICIENTS, SQUARE, privacy_level=4, target="x0", n=10_000)
    errors = [math.hypot(row.standard_error, row.bias) for row in precise.designs]
    assert errors == pytest.approx(sorted(errors), rel=1e-8)


# -- the optimal tables of a field -------------------------------------------------------------------------------------


def test_the_optimal_tables_are_planned_where_they_are_named() -> None:
    field, theta = RandomField([3, 3, 2], [[0, 1], [1, 2]]), np.linspace(-1, 1, 15)
    found = plan(field, ["optimal", "cliques"], theta, privacy_level=1, n=5000)
    best, plain = found.designs
    assert [best.design, plain.design] == ["optimal", "cliques"]
    assert best.unit_error <= plain.unit_error
    assert best.channel == field_release(field, 1, channel="optimal", theta=theta)
    assert best.privacy_level <= 1
    everything = plan(field, None, theta, privacy_level=1, n=5000)
    assert "optimal" not in [row.design for row in everything.designs]
    assert "only where it is asked for by name" in everything.skipped["optimal"]


def test_the_level_of_optimal_tables() -> None:
    field = RandomField([2, 2], [[0, 1]])
    level = plan(field, "optimal", np.zeros(4), n=5000, standard_error=0.02).designs[0].privacy_level
    assert plan(field, "optimal", np.zeros(4), n=5000, privacy_level=level).best.standard_error <= 0.02


def test_the_optimal_tables_of_large_fields_are_refused() -> None:
    with pytest.raises(InputError, match="80 free parameters; allowed: at most 72"):
        plan(RandomField([9, 9], [[0, 1]]), "optimal", np.zeros(81), privacy_level=1, n=100)
    chain = RandomField([2] * 12, [[i, i + 1] for i in range(11)])
    with pytest.raises(InputError, match="optimal does not fit this model: the field has 4,096 records"):
        plan(chain, "optimal", np.zeros(chain.dimension), privacy_level=1, n=100)


def test_a_pilot_of_another_field_is_refused() -> None:
    def pilot(labels: list[str]) -> Any:
        variables: dict[str, Any] = {"smokes": labels, "ill": 2}
        field = RandomField(variables, [["smokes", "ill"]])
        channel = field_release(field, 3)
        rng = np.random.default_rng(0)
        records = field.sample(np.zeros(field.dimension), 400, rng)
        return field, estimate_field(field, channel.simulate(records, rng))

    field, fit = pilot(["no", "yes"])
    assert plan(field, "cliques", fit=fit, privacy_level=1, n=100).guesses == 2 * field.dimension + 1
    other, _ = pilot(["never", "often"])
    with pytest.raises(IncompatibleEvidenceError, match=r"fit is about the cells .*no,0.* the model about .*never,0"):
        plan(other, "cliques", fit=fit, privacy_level=1, n=100)
