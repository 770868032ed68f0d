"""The softmax model equals, row by row, the enumerated model of its covariates."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from askance import Softmax
from askance.errors import InputError, ShapeError
from askance.models import HasFisherInformation, Model

RNG = np.random.default_rng(0)
X = np.column_stack([np.ones(7), RNG.normal(size=7), RNG.integers(0, 2, 7)])


@pytest.mark.parametrize("outputs", [2, 4])
def test_every_quantity_equals_enumeration(outputs: int) -> None:
    model = Softmax(outputs, ["Intercept", "a", "b"])
    theta = np.random.default_rng(1).normal(size=model.dimension)
    for row, x in enumerate(X):
        reference, one = model.at(x), X[row : row + 1]
        assert model.log_partition(theta, one)[0] == pytest.approx(reference.log_partition(theta))
        np.testing.assert_allclose(model.probabilities(theta, one)[0], reference.probabilities(theta))
        np.testing.assert_allclose(model.mean_statistics(theta, one)[0], reference.mean_statistics(theta))
        np.testing.assert_allclose(
            model.fisher_information(theta, one)[0], reference.fisher_information(theta), atol=1e-14
        )
        for y in range(outputs):
            np.testing.assert_allclose(model.statistics([y], one)[0], reference.statistics([y])[0])


def test_sparse_covariates_give_the_same() -> None:
    model = Softmax(["a", "b", "c"], ["Intercept", "a", "b"])
    theta, thin = RNG.normal(size=6), sparse.csr_matrix(X)
    np.testing.assert_allclose(model.probabilities(theta, thin), model.probabilities(theta, X))
    np.testing.assert_allclose(model.mean_statistics(theta, thin), model.mean_statistics(theta, X))
    np.testing.assert_allclose(model.fisher_information(theta, thin), model.fisher_information(theta, X))


def test_names_follow_the_number_of_outputs() -> None:
    assert Softmax(["no", "yes"], ["Intercept", "age"]).parameter_names == ("Intercept", "age")
    assert Softmax(["a", "b", "c"], ["Intercept", "age"]).parameter_names == (
        "b:Intercept",
        "b:age",
        "c:Intercept",
        "c:age",
    )


def test_extreme_parameters_stay_finite() -> None:
    model = Softmax(3, ["x"])
    theta = [800.0, -900.0]
    assert model.log_partition(theta, np.ones((1, 1)))[0] == 800.0
    np.testing.assert_array_equal(model.probabilities(theta, np.ones((1, 1))), [[0.0, 1.0, 0.0]])


def test_it_speaks_the_protocols() -> None:
    model = Softmax(2, ["x"])
    assert isinstance(model, Model)
    assert isinstance(model, HasFisherInformation)


def test_bad_shapes_are_refused() -> None:
    with pytest.raises(ShapeError, match="3 columns; allowed: 1"):
        Softmax(2, ["x"]).logits([1.0], X)
    with pytest.raises(InputError, match="all different"):
        Softmax(2, ["x", "x"])
