"""Fields and effects of covariates from a clique release with an optimal table, and their losses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from askance import RandomField, Responses, estimate_field
from askance.channels.statistics import CliqueRelease
from askance.estimation.problems.conditional_losses import FieldMoments, MomentLoss, ScoreLoss
from askance.estimation.problems.field_design import FieldDesign, rows_by_clique
from askance.estimation.problems.tilted_field import TiltedField

from .test_clique_tables import MIXED, optimum, records_of


@pytest.mark.parametrize("method", ["moments", "one-step", "marginal"])
def test_a_field_with_one_optimal_table(method: Any) -> None:
    """Ten cells within 6 standard errors: a false alarm of 2e-9 each, 6e-8 over the three methods."""
    field = RandomField([2, 2, 3], [[0, 1], [1, 2]])
    channel = CliqueRelease(field.sizes, field.cliques, 3, table_channels=[optimum(3), None])
    rng = np.random.default_rng(12)
    theta = 0.4 * rng.normal(size=field.dimension)
    fit = estimate_field(field, channel.simulate(field.sample(theta, 20_000, rng), rng), method=method)
    assert fit.converged
    expected = field.mean_statistics(theta)
    for number, table in enumerate(fit.tables().values()):
        truth = expected[field.offsets[number] : field.offsets[number + 1]]
        assert (np.abs(table.estimate.ravel() - truth) < 6 * table.standard_error.ravel()).all()


@pytest.mark.parametrize("method", ["moments", "one-step", "marginal"])
def test_effects_of_covariates_with_one_optimal_table(method: Any) -> None:
    """Four effects within 6 standard errors: a false alarm of 2e-9 each, 2.4e-8 over the three methods."""
    field = RandomField([2, 2, 3], [[0, 1], [1, 2]], covariates=["a"])
    channel = CliqueRelease(field.sizes, field.cliques, 3, table_channels=[optimum(3), None])
    rng = np.random.default_rng(16)
    theta, x = 0.4 * rng.normal(size=field.dimension), rng.normal(size=(8000, 1))
    evidence = Responses(channel).add(x, channel.simulate(field.sample(theta, len(x), rng, x), rng))
    fit = estimate_field(field, evidence, method=method, prior_scale=10.0)
    assert fit.converged
    for v in range(3):
        places = field.coefficients(np.arange(field.dimension), v)[0].astype(np.int64)
        contrast = np.eye(field.dimension)[places[1:]] - np.eye(field.dimension)[places[0]]
        errors = np.sqrt(np.diag(contrast @ fit.covariance @ contrast.T))
        assert (np.abs(contrast @ (fit.theta - theta)) < 6 * errors).all()


def test_scores_and_moments_of_uneven_tables_agree_with_differences() -> None:
    field, rng = RandomField([2, 2, 3], [[0, 1], [1, 2]], covariates=["a"]), np.random.default_rng(17)
    x = rng.normal(size=(60, 1))
    reports = MIXED.simulate(records_of([2, 2, 3], 60, 18), rng)
    design = FieldDesign(np.zeros(1), np.ones(1), np.ones(1, dtype=bool), np.eye(field.dimension))
    rows, tilted = rows_by_clique(MIXED, design, x, reports), TiltedField(field, MIXED.tables.cliques)
    theta, step = 0.3 * rng.normal(size=field.dimension), 1e-5
    moments = FieldMoments(tilted, rows, MIXED.tables.shapes)
    for loss in (ScoreLoss(tilted, rows), MomentLoss(moments, theta + 0.1)):
        value, gradient = loss.value_and_gradient(theta)
        assert value == pytest.approx(loss.value(theta), rel=1e-12)
        moved = [[loss.value(theta + sign * step * unit) for sign in (1, -1)] for unit in np.eye(len(theta))]
        np.testing.assert_allclose(gradient, [(up - down) / (2 * step) for up, down in moved], rtol=1e-6, atol=1e-6)
    # The loss of the scores is the likelihood of the channel, averaged over the records of the field at every x.
    records = np.stack(np.unravel_index(np.arange(12), (2, 2, 3)), axis=1)
    told = (
        MIXED.log_likelihood(reports, records)
        - np.log(MIXED.clique_probabilities)[reports.columns["clique"].astype(np.int64), None]
    )
    scores = np.array([[theta @ field.statistics(records, np.repeat(own[None], 12, axis=0)).T] for own in x])[:, 0]
    chances = np.exp(scores - scores.max(axis=1, keepdims=True))
    expected = -np.log((np.exp(told) * chances).sum(axis=1) / chances.sum(axis=1)).sum()
    assert ScoreLoss(tilted, rows).value(theta) == pytest.approx(expected, rel=1e-10)
