"""Regression as a field: bounds, scales, clipping, and the way back to the units of the data."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from askance.errors import AskanceError, InputError, MissingValueError, NotIdentifiedError, ShapeError
from askance.estimation.linear import fit_exact
from askance.models.linear import GaussianField


def data(n: int = 400, p: int = 3, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p)) * 10.0 ** np.arange(p) + 5
    return x, 3 + x @ np.linspace(1, -0.02, p) + rng.normal(size=n)


def test_without_noise_it_is_least_squares() -> None:
    x, y = data()
    field = GaussianField(3, x_bounds=(-1e4, 1e4), y_bounds=(-1e4, 1e4), clip=1e6)
    ordinary = np.linalg.lstsq(np.column_stack([np.ones(len(x)), x]), y, rcond=None)[0]
    fit = fit_exact(field, x, y)
    np.testing.assert_allclose(fit.theta, ordinary, atol=1e-8)
    np.testing.assert_allclose(fit.predict(x), np.column_stack([np.ones(len(x)), x]) @ ordinary, atol=1e-7)
    assert not fit.repaired
    assert fit.privacy_level == np.inf


def test_centres_and_scales_do_not_matter_to_least_squares() -> None:
    x, y = data()
    scales = (np.array([1.0, -7.0, 40.0, 3.0]), np.array([2.0, 9.0, 80.0, 30.0]))
    one = fit_exact(GaussianField(3, scales=scales, clip=1e6), x, y)
    other = fit_exact(GaussianField(3, x_bounds=(-1e4, 1e4), y_bounds=(-1e4, 1e4), clip=1e6), x, y)
    np.testing.assert_allclose(one.theta, other.theta, atol=1e-8)
    np.testing.assert_allclose(one.covariance, other.covariance, rtol=1e-6)


def test_values_are_clipped_at_scales_and_at_bounds_and_counted() -> None:
    field = GaussianField(2, x_bounds=(-2, [10, 2]), y_bounds=(-100, 100), scales=([0, 0, 0], [1, 1, 1]))
    told = field.standardise([[5.0, 5.0], [-5.0, 1.0], [0.0, 2.0]], [4.0, 1.0, -3.0])
    np.testing.assert_array_equal(told.z, [[1, 3, 2, 3], [1, -2, 1, 1], [1, 0, 2, -3]])
    assert told.clipped.tolist() == [2, 1, 1]
    assert told.message == "4 values were clipped, most in 'x0' (66.7 % of rows)"
    np.testing.assert_array_equal(field.limits, [1, 3, 2, 3])


def test_bounds_alone_put_centres_in_the_middle() -> None:
    field = GaussianField(1, x_bounds=(0, 8), y_bounds=([-1], [3]))
    assert field.centres.tolist() == [4, 1]
    assert field.scales.tolist() == [2, 1]
    assert field.limits.tolist() == [1, 2, 2]


def test_moments_are_named_and_make_a_matrix() -> None:
    field = GaussianField(2, x_bounds=(-1, 1), y_bounds=(-1, 1), feature_names=["age", "income"])
    z = np.array([[1.0, 2.0, 3.0, 4.0]])
    np.testing.assert_array_equal(field.gram(field.moments_of(z)[0]), z.T @ z)


def test_predictions_clip_as_devices_do() -> None:
    field = GaussianField(1, x_bounds=(0, 10), y_bounds=(0, 10))
    np.testing.assert_array_equal(field.predict([1.0, 2.0], [[50.0], [-3.0], [5.0]]), [21, 1, 11])


def test_it_can_be_written_down() -> None:
    bounded = GaussianField(2, x_bounds=([0, 1], [5, 9]), y_bounds=(0, 1), clip=2, feature_names=["a", "b"])
    open_ended = GaussianField(1, scales=([0, 0], [1, 2]))
    for field in (bounded, open_ended):
        again = GaussianField.from_specification(json.loads(json.dumps(field.specification())))
        assert again == field
        assert hash(again) == hash(field)


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({}, InputError, "x_bounds is missing"),
        ({"x_bounds": (0, 1)}, InputError, "y_bounds is missing"),
        ({"x_bounds": (1, 0), "y_bounds": (0, 1)}, InputError, "low below high"),
        ({"x_bounds": (0, np.inf), "y_bounds": (0, 1)}, InputError, "finite, low below high"),
        ({"x_bounds": ([0, 0, 0], 1), "y_bounds": (0, 1)}, ShapeError, "one number, or 2"),
        ({"x_bounds": 3, "y_bounds": (0, 1)}, InputError, r"allowed: two, such as \(0, 10\)"),
        ({"scales": ([0, 0, 0], [1, 1, 0])}, InputError, "scales above 0"),
        ({"scales": ([9, 0, 0], 1), "x_bounds": (0, 1)}, InputError, "a centre near its bounds"),
        ({"scales": (0, 1), "clip": 0}, InputError, "clip is 0"),
        ({"scales": (0, 1), "feature_names": ["a", "a"]}, InputError, "2 names, and another"),
    ],
)
def test_arguments_that_are_refused(given: dict[str, Any], error: type[AskanceError], said: str) -> None:
    with pytest.raises(error, match=said):
        GaussianField(2, **given)


@pytest.mark.parametrize(
    ("x", "y", "error", "said"),
    [
        ([[1.0, np.nan]], [0.0], MissingValueError, "x1 of row 1 is missing or infinite"),
        ([[1.0, 0.0]], [np.inf], MissingValueError, "y of row 1 is missing or infinite"),
        ([[1.0]], [0.0], ShapeError, r"x has shape \(1, 1\)"),
        ([[1.0, 0.0]], [0.0, 1.0], ShapeError, r"x has 1 rows and y shape \(2,\)"),
        ([[1.0, 0.0]], [[0.0]], ShapeError, "one number per row"),
    ],
)
def test_records_that_are_refused(x: Any, y: Any, error: type[AskanceError], said: str) -> None:
    with pytest.raises(error, match=said):
        GaussianField(2, scales=(0, 1)).standardise(x, y)


def test_columns_that_depend_on_each_other_are_named_a_problem() -> None:
    x = np.arange(10.0)[:, None] * [1.0, 2.0]
    with pytest.raises(NotIdentifiedError, match="linearly dependent"):
        fit_exact(GaussianField(2, x_bounds=(0, 20), y_bounds=(0, 20)), x, x[:, 0])
