"""The estimating equations of the setup: what β averages to, and what is maximised."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from askance import Enumerated, Tally, estimate

from .exact import (
    FIGURE_S,
    FIGURE_STATISTICS,
    Exact,
    channel,
    exact,
    floats,
    integer_counts,
    inverse,
    log_odds,
    printed_randomized_response_beta,
    randomized_response,
    tilted,
)

HALF = Fraction(1, 2)


def test_beta_averages_to_the_statistics_given_x_and_y_and_not_given_x_alone() -> None:
    """Row 1."""
    statistics = {"a": exact([[0, 1, 3]]), "b": exact([[2, 0, 1]])}
    truth = {"a": exact(["1/2", "1/4", "1/4"]), "b": exact(["1/8", "1/8", "3/4"])}
    base = exact(["1/3", "1/3", "1/3"])
    S = randomized_response(HALF, base)
    for x, phi in statistics.items():
        beta = printed_randomized_response_beta(phi, HALF, base)
        given_x_and_y = beta @ S
        given_x = beta @ S @ truth[x]
        assert np.array_equal(given_x_and_y, phi)
        # One number cannot be φ(x, y) for several y; it is their mean.
        assert not np.array_equal(np.tile(given_x[:, None], 3), phi)
        assert np.array_equal(given_x, phi @ truth[x])


def test_without_covariates_beta_averages_to_the_statistics_given_y() -> None:
    """Row 1, as the section on asymptotics uses it."""
    model = Enumerated(FIGURE_STATISTICS)
    seen = channel(exact(FIGURE_S))
    beta = seen.observation_function(model).coefficients
    p = floats(exact(["1/2", "1/4", "1/4"]))
    np.testing.assert_allclose(beta @ seen.matrix, model.table, atol=1e-12)
    assert np.abs(beta @ seen.matrix @ p - model.table[0]).max() > 0.5


def test_the_printed_objective_ignores_the_data_and_the_corrected_one_finds_theta() -> None:
    """Row 2: q̂ = S p_θ exactly, so the estimate must be θ itself."""
    model = Enumerated(FIGURE_STATISTICS)
    seen = channel(exact(FIGURE_S))
    printed_maximisers = []
    for odds in ([Fraction(1, 2)], [Fraction(3, 2)]):
        theta = log_odds(odds)
        q = exact(FIGURE_S) @ tilted(FIGURE_STATISTICS, odds)
        fit = estimate(model, Tally(seen, 1000 * np.array(integer_counts(q))), method="moments")
        np.testing.assert_allclose(fit.theta, theta, atol=1e-9)
        assert fit.raw_statistics is not None
        grid = np.linspace(-20, 20, 4001)
        partition = np.array([model.log_partition([t]) for t in grid])
        printed = fit.raw_statistics[0] - partition
        corrected = fit.raw_statistics[0] * grid - partition
        printed_maximisers.append(float(grid[printed.argmax()]))
        assert abs(grid[corrected.argmax()] - theta[0]) <= 0.01
    # −A(θ) falls everywhere for these statistics: as printed, both samples give the left end of any grid.
    assert printed_maximisers == [-20.0, -20.0]


def test_statistics_factor_as_r_times_s_and_beta_is_a_column_of_r() -> None:
    """Row 10, shapes: d × m = d × k · k × m."""
    S = [["1/2", "1/4", "1/8"], ["1/4", "1/4", "1/8"], ["1/8", "1/4", "1/4"], ["1/8", "1/4", "1/2"]]
    model = Enumerated([[0, 1, 0], [2, 1, 0]])
    seen = channel(exact(S))
    R = seen.observation_function(model).coefficients
    assert R.shape == (2, 4)
    np.testing.assert_allclose(R @ seen.matrix, model.table, atol=1e-12)
    with pytest.raises(ValueError, match="matmul"):
        seen.matrix @ R


def test_the_printed_factorisation_gives_no_unbiased_function_even_where_shapes_allow_it() -> None:
    """Row 10, values: with d = k = m both Φ = R S and Φ = S R can be solved, and only the first R is unbiased."""
    S, phi = exact(FIGURE_S), exact([[2, 1, 0], [1, 0, 0], [0, 0, 1]])

    def mean_of_columns(R: Exact) -> Exact:
        """E[column o of R | y] for every y."""
        return np.stack([sum(S[o, y] * R[:, o] for o in range(3)) for y in range(3)], axis=1)

    corrected, printed = phi @ inverse(S), inverse(S) @ phi
    assert np.array_equal(S @ printed, phi)
    assert np.array_equal(mean_of_columns(corrected), phi)
    assert not np.array_equal(mean_of_columns(printed), phi)
    np.testing.assert_allclose(
        channel(S).observation_function(Enumerated(floats(phi))).coefficients, floats(corrected), atol=1e-9
    )
