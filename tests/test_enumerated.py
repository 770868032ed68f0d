"""The enumerated model: derivatives, extreme parameters, sampling."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from askance import Enumerated
from askance._arrays import FloatArray
from askance.models import FiniteModel, HasFisherInformation, Model

TABLE = np.array([[5.0, -1.0, 0.0, 2.0], [0.0, 1.0, 1.0, 0.5]])


def test_it_speaks_the_protocols() -> None:
    model = Enumerated(TABLE)
    for protocol in (Model, FiniteModel, HasFisherInformation):
        assert isinstance(model, protocol)


@given(st.lists(st.floats(-3, 3), min_size=2, max_size=2))
@settings(deadline=None)
def test_derivatives_agree_with_finite_differences(values: list[float]) -> None:
    model = Enumerated(TABLE, log_base_measure=[0.0, 0.3, -0.2, 1.0])
    theta, step = np.array(values), 1e-5
    for j, unit in enumerate(np.eye(2)):
        up, down = theta + step * unit, theta - step * unit
        slope = (model.log_partition(up) - model.log_partition(down)) / (2 * step)
        assert slope == pytest.approx(model.mean_statistics(theta)[j], abs=1e-8)
        bend = (model.mean_statistics(up) - model.mean_statistics(down)) / (2 * step)
        np.testing.assert_allclose(bend, model.fisher_information(theta)[j], atol=1e-8)


def exact(table: FloatArray, theta: list[float]) -> tuple[Decimal, list[Decimal], list[list[Decimal]]]:
    """A, p and the covariance of φ with 400 digits."""
    with localcontext() as context:
        context.prec = 400
        scores = [
            sum((Decimal(float(v)) * Decimal(t) for v, t in zip(column, theta, strict=True)), Decimal(0))
            for column in table.T
        ]
        weights = [score.exp() for score in scores]
        total = sum(weights, Decimal(0))
        p = [w / total for w in weights]
        mean = [sum((Decimal(float(v)) * q for v, q in zip(row, p, strict=True)), Decimal(0)) for row in table]
        centred = [[Decimal(float(v)) - m for v in row] for row, m in zip(table, mean, strict=True)]
        covariance = [
            [sum((a * b * q for a, b, q in zip(left, right, p, strict=True)), Decimal(0)) for right in centred]
            for left in centred
        ]
        return total.ln(), p, covariance


@pytest.mark.parametrize("theta", [[300.0, -200.0], [-400.0, 150.0], [0.0, 600.0], [150.0, 0.1], [-0.5, -500.0]])
def test_extreme_parameters_keep_their_digits(theta: list[float]) -> None:
    unit = np.array([[1.0, 0.0, 0.25, 0.5], [0.0, 1.0, 1.0, 0.5]])
    model = Enumerated(unit)
    log_partition, p, covariance = exact(unit, theta)
    assert model.log_partition(theta) == pytest.approx(float(log_partition), rel=1e-14)
    np.testing.assert_allclose(model.probabilities(theta), [float(q) for q in p], rtol=1e-12)
    expected = np.array([[float(c) for c in row] for row in covariance])
    scale = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    np.testing.assert_allclose(model.fisher_information(theta) / scale, expected / scale, atol=1e-9)


def test_parameters_beyond_floating_point_stay_finite() -> None:
    model = Enumerated(TABLE)
    theta = [900.0, -900.0]
    assert model.log_partition(theta) == 4500.0
    assert model.mean_statistics(theta).tolist() == [5.0, 0.0]
    assert np.isfinite(model.log_probabilities(theta)).all()
    assert np.isfinite(model.fisher_information(theta)).all()


def test_saturated_model_is_every_distribution() -> None:
    model = Enumerated.saturated(["a", "b", "c"])
    p = np.array([0.2, 0.5, 0.3])
    np.testing.assert_allclose(model.probabilities(np.log(p[1:] / p[0])), p)
    assert model.parameter_names == ("b", "c")


def test_statistics_of_labels() -> None:
    model = Enumerated(TABLE, outputs=["w", "x", "y", "z"])
    np.testing.assert_array_equal(model.statistics(["z", "w"]), TABLE.T[[3, 0]])


def test_sampling_follows_the_probabilities() -> None:
    """χ² with a false-alarm rate of 1e-9."""
    model, theta = Enumerated(TABLE, outputs=["w", "x", "y", "z"]), [0.3, -0.5]
    drawn = model.sample(theta, 50_000, np.random.default_rng(2))
    counts = np.bincount(model.outputs.encode(drawn), minlength=4)
    expected = 50_000 * model.probabilities(theta)
    assert ((counts - expected) ** 2 / expected).sum() < chi2.isf(1e-9, 3)


def test_table_cannot_be_changed_behind_the_model() -> None:
    given_table = TABLE.copy()
    model = Enumerated(given_table)
    given_table[0, 0] = 99.0
    assert model.table[0, 0] == 5.0
    with pytest.raises(ValueError, match="read-only"):
        model.table[0, 0] = 1.0
