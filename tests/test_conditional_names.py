"""Covariates of a field: by name, told apart, and weighed by how many respondents have them."""

from __future__ import annotations

import numpy as np
import pytest

from askance import CliqueRelease, RandomField, Responses, estimate_field
from askance.errors import NotIdentifiedError, ShapeError


def test_data_frames_go_by_names_and_dependent_covariates_are_refused() -> None:
    import pandas as pd

    rng = np.random.default_rng(31)
    field = RandomField([2, 2], [[0, 1]], covariates=["income", "year"])
    channel = CliqueRelease(field.sizes, field.cliques, 4)
    x = pd.DataFrame({"year": rng.integers(0, 9, 400).astype(float), "income": rng.normal(size=400)})
    reports = channel.simulate(rng.integers(0, 2, (400, 2)), rng)
    named = estimate_field(field, Responses(channel).add(x, reports))
    plain = estimate_field(field, Responses(channel).add(x[["income", "year"]].to_numpy(), reports))
    np.testing.assert_allclose(named.theta, plain.theta, atol=1e-6)
    with pytest.raises(ShapeError, match="x has the columns"):
        estimate_field(field, Responses(channel).add(x.rename(columns={"year": "years"}), reports))
    for twice, said in (
        ({"income": x["income"], "year": 2 * x["income"] - 1}, "income, year are linearly dependent"),
        ({"income": 0 * x["income"], "year": x["year"]}, "'income' does not vary"),
    ):
        with pytest.raises(NotIdentifiedError, match=said):
            estimate_field(field, Responses(channel).add(pd.DataFrame(twice), reports))
    with pytest.raises(ShapeError, match="x has shape"):
        named.marginal(["0"], np.zeros((0, 2)))


def test_errors_of_averages_weigh_rows_by_how_many_have_them() -> None:
    """A value that half of the respondents share counts for half, also where errors are taken at some rows only."""
    rng = np.random.default_rng(32)
    field = RandomField([2, 2], [[0, 1]], covariates=1)
    channel = CliqueRelease(field.sizes, field.cliques, 4)
    x = np.where(rng.random(6000) < 0.5, 0.0, rng.gamma(3, 1, 6000))[:, None]
    fit = estimate_field(field, Responses(channel).add(x, channel.simulate(rng.integers(0, 2, (6000, 2)), rng)))
    few = fit.marginal([0, 1]).standard_error
    groups = [fit.marginal([0, 1], part).standard_error for part in (x[:3000], x[3000:])]
    # Errors over all respondents lie near those over either half, which are taken at fewer rows.
    for other in groups:
        np.testing.assert_allclose(few, other, rtol=0.15)
