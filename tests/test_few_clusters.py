"""Few clusters: CR2, Satterthwaite's degrees of freedom, tests of several parameters; beside R and full matrices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.linalg import sqrtm

from askance import (
    Direct,
    ForcedResponse,
    ListExperiment,
    RegressionFit,
    Responses,
    Softmax,
    estimate,
    load,
    regress,
    save,
)
from askance._arrays import FloatArray, IntArray
from askance.errors import AskanceWarning, InputError
from askance.estimation.problems.cluster_spread import cluster_spread
from askance.models.hidden import Factor, HiddenVariables
from tests.cr2 import adjusted_squares, by_cluster

SIZES = [4] * 4 + [8] * 4 + [16] * 3 + [24]


def survey() -> tuple[FloatArray, IntArray, IntArray]:
    """x (120, 3), clusters and answers, made of whole numbers; x varies within clusters, z between them."""
    i, g = np.arange(120), np.repeat(np.arange(1, 13), SIZES)
    z = (g % 3 == 0).astype(np.float64)
    x = np.column_stack([np.ones(120), ((i * 7) % 13 - 6) / 4, z])
    return x, g, ((i * i + 3 * i + 5 * g * g) % 17 < 7 + 2 * z).astype(np.int64)


def of_least_squares() -> tuple[FloatArray, FloatArray, FloatArray, IntArray]:
    """Scores and informations of clusters, x and clusters."""
    x, g, y = survey()
    residual = y - x @ np.linalg.lstsq(x, y, rcond=None)[0]
    return by_cluster(x * residual[:, None], g), by_cluster(x[:, :, None] * x[:, None, :], g), x, g


# i <- 0:119; g <- c(rep(1:4, each=4), rep(5:8, each=8), rep(9:11, each=16), rep(12, 24))
# x <- ((i*7) %% 13 - 6)/4; z <- ifelse(g %% 3 == 0, 1, 0); y <- ifelse((i*i + 3*i + 5*g*g) %% 17 < 7 + 2*z, 1, 0)
# m <- lm(y ~ x + z); V <- clubSandwich::vcovCR(m, g, "CR2"); coef_test(m, V, test = "Satterthwaite")
# Wald_test(m, constrain_zero(2:3), V, test = "HTZ")                                  (clubSandwich 0.5.8)
R_LEAST_SQUARES: dict[str, Any] = {
    "covariance": [
        [0.001885691058684, -0.000227675898745, -0.001915041358259],
        [-0.000227675898745, 0.000574796717946, -0.000302439414304],
        [-0.001915041358259, -0.000302439414304, 0.005956231541645],
    ],
    "df": [5.194545286371, 7.496520377381, 5.215962530778],
    "denominator": 5.409685362562,
}
# The same of glm(y ~ x + z, binomial).
R_LOGISTIC: dict[str, Any] = {
    "theta": [-0.5342835183685, 0.0899967332273, 0.6040307791276],
    "se": [0.1874118977217, 0.1002115806081, 0.3167006826239],
    "df": [5.183757433068, 7.341511431526, 5.391427591809],
    "F": 2.098007612544,
    "denominator": 5.438971625867,
}


def test_least_squares_have_the_numbers_of_r() -> None:
    scores, informations, _, _ = of_least_squares()
    spread = cluster_spread(scores, informations)
    bread = np.linalg.inv(informations.sum(axis=0))
    np.testing.assert_allclose(bread @ spread.squares @ bread, R_LEAST_SQUARES["covariance"], rtol=1e-10)
    assert spread.freedom is not None
    np.testing.assert_allclose(spread.freedom.of(np.eye(3)), R_LEAST_SQUARES["df"], rtol=1e-9)
    assert spread.freedom.joint(np.eye(3)[1:]) - 1 == pytest.approx(R_LEAST_SQUARES["denominator"], rel=1e-9)


def test_where_scores_are_taken_makes_no_difference() -> None:
    """Away from the estimate every cluster has its share of the step more, which is no difference between clusters."""
    scores, informations, _, _ = of_least_squares()
    elsewhere = scores + informations @ np.array([0.5, -1.0, 2.0])
    slopes = informations @ np.diag([1.0, 2.0, 0.5])
    for A in (None, slopes):
        there = scores + (informations if A is None else A) @ np.array([0.5, -1.0, 2.0])
        here, other = (cluster_spread(part, informations, A).squares for part in (scores, there))
        np.testing.assert_allclose(other, here, rtol=1e-10)
    plain = elsewhere.T @ elsewhere
    assert np.trace(plain) > 10 * np.trace(cluster_spread(elsewhere, informations).squares)


def test_degrees_of_freedom_are_those_of_full_matrices() -> None:
    """P = Gᵀ(I − H)G, with columns of G the adjusted rows of every cluster, for contrasts of several kinds."""
    scores, informations, x, g = of_least_squares()
    freedom = cluster_spread(scores, informations).freedom
    assert freedom is not None
    M = np.linalg.inv(x.T @ x)
    left = np.eye(120) - x @ M @ x.T
    for c in (np.array([1.0, 0, 0]), np.array([0, 1.0, -2.0]), np.array([1.0, 0.5, 1.0])):
        columns = []
        for name in np.unique(g):
            own = g == name
            root = np.linalg.inv(np.real(sqrtm(left[np.ix_(own, own)])))
            columns.append(left[:, own] @ root @ x[own] @ M @ c)
        G = np.column_stack(columns)
        P = G.T @ G
        assert float(freedom.of(c)) == pytest.approx(np.trace(P) ** 2 / np.trace(P @ P), rel=1e-9)
        # One hypothesis is no other test than that of its contrast.
        assert freedom.joint(c[None, :]) == pytest.approx(float(freedom.of(c)), rel=1e-12)


def test_the_plain_twin_says_the_same() -> None:
    scores, informations, _, _ = of_least_squares()
    found = cluster_spread(scores, informations).squares
    np.testing.assert_allclose(found, adjusted_squares(scores, informations), rtol=1e-9)


def test_a_logistic_regression_is_near_that_of_r() -> None:
    """R takes another root of the same matrix, where weights differ by row: both are unbiased, and 0.1 % apart."""
    x, g, y = survey()
    evidence = Responses(Direct(["no", "yes"])).add(x, np.array(["no", "yes"])[y], clusters=g)
    fit = estimate(Softmax(["no", "yes"], ["Intercept", "x", "z"]), evidence, "marginal")
    np.testing.assert_allclose(fit.theta, R_LOGISTIC["theta"], rtol=1e-9)
    np.testing.assert_allclose(fit.standard_errors, R_LOGISTIC["se"], rtol=1e-3)
    np.testing.assert_allclose(fit.degrees_of_freedom, R_LOGISTIC["df"], rtol=2e-3)
    test = fit.wald_test(["x", "z"])
    assert test.statistic == pytest.approx(R_LOGISTIC["F"], rel=2e-3)
    assert test.denominator == pytest.approx(R_LOGISTIC["denominator"], rel=2e-3)


def noised(**options: Any) -> dict[str, Any]:
    x, g, y = survey()
    design = ForcedResponse("2/3", "1/6")
    said = design.simulate(np.array(["no", "yes"])[np.tile(y, 4)], np.random.default_rng(1))
    return {"said": said, "x": np.tile(x[:, 1], 4), "z": np.tile(x[:, 2], 4), "village": np.tile(g, 4), **options}


@pytest.mark.parametrize("method", ["one-step", "marginal", "moments"])
def test_noised_answers_are_those_of_the_plain_twin(method: str) -> None:
    table = noised()
    fit = regress("said ~ x + z", table, ForcedResponse("2/3", "1/6"), cluster="village", method=method)
    x = np.column_stack([np.ones(480), table["x"], table["z"]])
    p = fit.model.probabilities(fit.theta, x)[:, 1]
    q, yes = (1 + 4 * p) / 6, np.asarray(table["said"]) == "yes"
    slope = 4 / 6 * p * (1 - p)
    if method == "moments":
        residual, weight = (yes - 1 / 6) * 1.5 - p, p * (1 - p)
        curvature = weight
    else:
        residual, weight = slope * np.where(yes, 1 / q, -1 / (1 - q)), slope**2 / (q * (1 - q))
        posterior = np.where(yes, 5 / 6 * p / q, 1 / 6 * p / (1 - q))
        curvature = p * (1 - p) - posterior * (1 - posterior)
    outer = x[:, :, None] * x[:, None, :]
    squares = adjusted_squares(
        by_cluster(x * residual[:, None], table["village"]),
        by_cluster(outer * weight[:, None, None], table["village"]),
    )
    bread = np.linalg.inv((outer * curvature[:, None, None]).sum(axis=0))
    np.testing.assert_allclose(fit.covariance, bread @ squares @ bread, rtol=1e-6)


def test_intervals_shares_effects_and_predictions_have_their_own_degrees_of_freedom() -> None:
    from scipy.stats import t

    fit = regress("said ~ x + z", noised(), ForcedResponse("2/3", "1/6"), cluster="village")
    freedom, errors = fit.degrees_of_freedom, fit.standard_errors
    assert (freedom > 3).all()
    assert (freedom < 12).all()
    lower, upper = fit.confidence_interval(0.9)
    np.testing.assert_allclose(upper - fit.theta, t.ppf(0.95, freedom) * errors, rtol=1e-9)
    np.testing.assert_allclose(fit.theta - lower, upper - fit.theta, rtol=1e-9)
    np.testing.assert_allclose(fit.p_values, 2 * t.sf(np.abs(fit.theta / errors), freedom), rtol=1e-9)
    assert fit.freedom is not None
    # A prediction's log-odds are a contrast themselves.
    row = np.array([[1.0, 0.5, 1.0]])
    table = fit.predict(row)
    odds, spread = float((row @ fit.theta)[0]), float(np.sqrt((row @ fit.covariance @ row.T)[0, 0]))
    reach = t.ppf(0.975, fit.freedom.of(row)[0]) * spread
    assert table.upper[0, 1] == pytest.approx(1 / (1 + np.exp(-odds - reach)), rel=1e-9)
    effects = fit.marginal_effects()
    assert effects.degrees_of_freedom is not None
    ends = t.ppf(0.975, effects.degrees_of_freedom) * effects.standard_error
    np.testing.assert_allclose(effects.upper - effects.estimate, ends, rtol=1e-9)
    assert "P>|t|" in effects.summary()
    shares = fit.prevalence(by="z", population=True)
    assert shares.degrees_of_freedom is not None
    assert (shares.degrees_of_freedom < 12).all()
    difference = shares.contrasts()
    assert difference.degrees_of_freedom is not None
    assert difference.degrees_of_freedom[0, 1] == shares.degrees_of_freedom[:, 1].min()


def test_a_cluster_alone_with_a_covariate_gives_no_interval() -> None:
    """What one cluster alone says has no error: nothing tells how far clusters differ in it."""
    table = noised()
    table["only"] = (np.asarray(table["village"]) == 12).astype(np.float64)
    fit = regress("said ~ x + only", table, ForcedResponse("2/3", "1/6"), cluster="village")
    assert np.isnan(fit.degrees_of_freedom).tolist() == [False, False, True]
    assert np.isnan(fit.confidence_interval().lower).tolist() == [False, False, True]
    assert any("one cluster alone tells of 'only'" in message for message in fit.messages)
    with pytest.raises(InputError, match="too few clusters"):
        fit.wald_test(["x", "only"])


@pytest.mark.parametrize("method", ["one-step", "moments", "marginal"])
def test_that_errors_are_not_to_be_trusted_stays_with_the_fit(tmp_path: Path, method: str) -> None:
    x, _, y = survey()
    design = ForcedResponse("2/3", "1/6")
    said = Responses(design).add(x, np.array(["no", "yes"])[y], clusters=np.arange(120) % 2)
    doubt = "2 clusters for 3 parameters: cluster-robust standard errors are not to be trusted"
    with pytest.warns(AskanceWarning, match=doubt):
        fit = estimate(Softmax(["no", "yes"], ["Intercept", "x", "z"]), said, method)
    save(fit, tmp_path / "fit.askance")
    again = load(tmp_path / "fit.askance")
    assert isinstance(again, RegressionFit)
    for kept in (fit, again):
        assert kept.messages.count(doubt) == 1
        assert doubt in " ".join(kept.summary().split())


def test_files_keep_degrees_of_freedom_and_nothing_of_a_cluster(tmp_path: Path) -> None:
    table = noised(year=1900.0 + np.tile(survey()[0][:, 1], 4))
    for formula in ("said ~ x + z", "said ~ year + z"):  # the second is fitted in another basis
        fit = regress(formula, table, ForcedResponse("2/3", "1/6"), cluster="village")
        save(fit, tmp_path / "a.fit")
        again = load(tmp_path / "a.fit")
        assert isinstance(again, RegressionFit)
        np.testing.assert_allclose(again.degrees_of_freedom, fit.degrees_of_freedom, rtol=1e-12)
        np.testing.assert_allclose(again.confidence_interval(), fit.confidence_interval(), rtol=1e-12)
        assert again.wald_test().p_value == pytest.approx(fit.wald_test().p_value, rel=1e-9)
        given = fit.design.matrix(table)[:3]
        np.testing.assert_allclose(again.predict(given).upper, fit.predict(given).upper, rtol=1e-9)
    assert fit.in_basis is not None


def test_another_basis_has_the_same_degrees_of_freedom() -> None:
    table, design = noised(), ForcedResponse("2/3", "1/6")
    table["year"] = 1900.0 + np.asarray(table["x"])
    near = regress("said ~ x + z", table, design, cluster="village")
    far = regress("said ~ year + z", table, design, cluster="village")
    np.testing.assert_allclose(far.degrees_of_freedom[1:], near.degrees_of_freedom[1:], rtol=1e-5)


def test_hidden_variables_have_them_too() -> None:
    """A single hidden variable is the answer itself; its share is far enough from 0 and 1 for the usual interval."""
    x, g, y = survey()
    design = ForcedResponse("2/3", "1/6")
    said = design.simulate(np.array(["no", "yes"])[np.tile(y, 40)], np.random.default_rng(1))
    evidence = Responses(design).add(np.tile(x, (40, 1)), said, clusters=np.tile(g, 40))
    terms = ["Intercept", "x", "z"]
    plain = estimate(Softmax(["no", "yes"], terms), evidence, "marginal")
    hidden = estimate(HiddenVariables([Factor("trait", ["no", "yes"], terms)]), evidence)
    np.testing.assert_allclose(hidden.standard_errors, plain.standard_errors, rtol=1e-6)
    np.testing.assert_allclose(hidden.degrees_of_freedom, plain.degrees_of_freedom, rtol=1e-6)
    one, other = hidden.shares("trait"), plain.prevalence()
    assert min(one.estimate / one.standard_error) > 8
    np.testing.assert_allclose([one.lower, one.upper], [other.lower[0], other.upper[0]], rtol=1e-5)


def test_equations_that_are_no_scores_by_enumeration() -> None:
    """ψ_i = a_i (y_i − b_i·θ), another a than b: both figures from all pairs of independent errors of 16 rows.

    The estimate of the covariance is a form in the errors, Σ H_ij e_i e_j of every contrast: it is unbiased where
    tr H is the variance, and has the degrees of freedom (tr H)² / tr H².
    """
    rng = np.random.default_rng(3)
    n, clusters = 16, np.repeat([0, 1, 2, 3, 4], [2, 2, 3, 4, 5])
    a = np.column_stack([np.ones(n), rng.normal(size=n)])
    b = a + 0.5 * rng.normal(size=(n, 2))
    A = a.T @ b
    V = by_cluster(a[:, :, None] * a[:, None, :], clusters)
    slopes = by_cluster(a[:, :, None] * b[:, None, :], clusters)
    left = np.eye(n) - b @ np.linalg.inv(A) @ a.T  # what is left of the errors

    def squares(e: FloatArray) -> FloatArray:
        return cluster_spread(by_cluster(a * (left @ e)[:, None], clusters), V, slopes).squares

    freedom = cluster_spread(np.zeros((5, 2)), V, slopes).freedom
    assert freedom is not None
    unit = np.eye(n)
    np.testing.assert_allclose(sum(squares(e) for e in unit), V.sum(axis=0), rtol=1e-9)
    for c in np.array([[1.0, 0.0], [0.0, 1.0], [1.0, -2.0]]):
        u = np.linalg.solve(A.T, c)
        alone = np.array([u @ squares(e) @ u for e in unit])
        both = np.array([[u @ squares(e + f) @ u for e in unit] for f in unit])
        H = (both - alone[:, None] - alone) / 2
        assert np.trace(H) == pytest.approx(c @ np.linalg.inv(A) @ V.sum(axis=0) @ np.linalg.inv(A).T @ c, rel=1e-9)
        assert float(freedom.of(c)) == pytest.approx(np.trace(H) ** 2 / np.trace(H @ H), rel=1e-9)


def test_scores_are_equations_whose_slopes_are_their_covariances() -> None:
    scores, informations, _, _ = of_least_squares()
    one, other = cluster_spread(scores, informations), cluster_spread(scores, informations, informations)
    np.testing.assert_allclose(other.squares, one.squares, rtol=1e-9)
    assert one.freedom is not None
    assert other.freedom is not None
    np.testing.assert_allclose(other.freedom.of(np.eye(3)), one.freedom.of(np.eye(3)), rtol=1e-9)
    assert other.freedom.joint(np.eye(3)) == pytest.approx(one.freedom.joint(np.eye(3)), rel=1e-9)


@pytest.mark.parametrize("method", ["linear", "least-squares"])
def test_a_difference_in_means_of_clusters_of_one_size(method: str) -> None:
    """Villages of 20 where all have one list: Σ (ȳ_g − ȳ)² / (G (G − 1)) of both groups, Welch's degrees of freedom."""
    village, i = np.repeat(np.arange(9), 20), np.arange(180)
    treated = (village >= 5).astype(np.int64)
    count = (i * i + 3 * village) % 4 % 3 + ((i * 7 + village) % 5 < 1 + village % 2) * treated
    fit = regress(
        "n ~ 1", {"n": count, "t": treated, "v": village}, ListExperiment(3), treated="t", method=method, cluster="v"
    )
    means = count.reshape(9, 20).mean(axis=1)
    variance, working, groups = 0.0, [], (means[:5], means[5:])
    for own, rows in zip(groups, (count[:100], count[100:]), strict=True):
        variance += own.var(ddof=1) / len(own)
        working.append(rows.var() / len(rows))
    found = fit.shares("trait")
    assert found.estimate[1] == pytest.approx(groups[1].mean() - groups[0].mean(), rel=1e-9)
    assert found.standard_error[1] == pytest.approx(np.sqrt(variance), rel=1e-7)
    welch = sum(working) ** 2 / (working[0] ** 2 / 4 + working[1] ** 2 / 3)
    assert fit.degrees_of_freedom[0] == pytest.approx(welch, rel=1e-7)
    if method == "linear":
        from scipy.stats import t

        reach = t.ppf(0.975, welch) * np.sqrt(variance)
        assert found.upper[1] == pytest.approx(found.estimate[1] + reach, rel=1e-7)
    assert any("CR2, 9 clusters by v" in message for message in fit.messages)
