"""Corrected scores: their mean by enumeration, their solution by hand, and the test against the likelihood."""

from __future__ import annotations

import numpy as np
import pytest

from askance import Factor, ForcedResponse, HiddenVariables, MatrixChannel, Outcome, Responses, Warner, estimate
from askance._arrays import AnyArray, FloatArray
from askance.errors import InputError, NotIdentifiedError
from askance.estimation.checks.hausman import against_zero, hausman_test
from askance.estimation.freedom import Freedom
from askance.estimation.problems.cluster_spread import cluster_spread
from askance.estimation.problems.corrected_score import StackedOutcomes
from askance.estimation.problems.hidden_problem import HiddenPass, HiddenProblem

from .cr2 import by_cluster
from .test_outcomes import MODELS, NO_YES, TERMS, TRAIT, seen

DESIGN = ForcedResponse("2/3", "1/6")


@pytest.mark.parametrize("name", MODELS)
def test_the_mean_over_reports_is_the_complete_score(name: str) -> None:
    """Σ_o S(o|h*) Σ_h β_h(o) s_h = s_h*, for every h* and every row, with more reports than combinations."""
    model = MODELS[name]
    theta, x, _, _ = seen(model)
    S = np.random.default_rng(3).dirichlet(np.ones(8), size=len(model.outputs)).T
    channel = MatrixChannel(S, outputs=model.outputs)
    problem = HiddenProblem(model, Responses(channel).add(np.tile(x, (4, 1)), list(range(8)) * 3))
    score = StackedOutcomes.corrected(problem)
    (beta,) = score.weights
    np.testing.assert_allclose(channel.matrix.T @ beta, np.eye(len(model.outputs)), atol=1e-9)
    at = HiddenPass(model, theta, x)
    for h in range(len(model.outputs)):
        mean = sum(channel.matrix[o, h] * at.scores(np.tile(beta[o], (len(x), 1))) for o in range(8))
        only = np.eye(len(model.outputs))[[h] * len(x)]
        np.testing.assert_allclose(mean, at.scores(only), atol=1e-8)


@pytest.mark.parametrize("name", MODELS)
def test_slopes_are_slopes(name: str) -> None:
    model = MODELS[name]
    theta, x, _, _ = seen(model)
    S = np.random.default_rng(3).dirichlet(np.ones(8), size=len(model.outputs)).T
    evidence = Responses(MatrixChannel(S, outputs=model.outputs)).add(np.tile(x, (4, 1)), list(range(8)) * 3)
    score, step = StackedOutcomes.corrected(HiddenProblem(model, evidence)), 1e-5
    gamma = theta[score.place]
    for j, unit in enumerate(step * np.eye(len(gamma))):
        slope = (score.value(gamma + unit) - score.value(gamma - unit)) / (2 * step)
        assert score.gradient(gamma)[j] == pytest.approx(slope, rel=1e-5, abs=1e-6)
        curve = (score.gradient(gamma + unit) - score.gradient(gamma - unit)) / (2 * step)
        np.testing.assert_allclose(score.hessian(gamma)[j], curve, rtol=1e-4, atol=1e-4)


def survey(n: int, seed: int) -> tuple[FloatArray, FloatArray, AnyArray, np.random.Generator]:
    """x, who has the trait, and what they say."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([np.ones(n), rng.normal(size=n)])
    trait = (rng.random(n) < 1 / (1 + np.exp(1 - x[:, 1]))).astype(float)
    return x, trait, DESIGN.simulate(np.where(trait == 1, "yes", "no"), rng), rng


@pytest.mark.parametrize("weighted", [False, True])
def test_numbers_are_one_linear_solve(weighted: bool) -> None:
    """On rows stacked over h with weights β, and a sandwich of their scores, sampling weights and clusters."""
    x, trait, said, rng = survey(2200, 5)
    y = 10 + x[:, 1] + 2 * trait + rng.exponential(size=len(x))
    weights = rng.uniform(0.5, 2, len(x)) if weighted else np.ones(len(x))
    clusters = np.arange(len(x)) // 2
    model = HiddenVariables([TRAIT], [Outcome("y", "number", TERMS, after=["trait"])])
    evidence = Responses(DESIGN).add(
        np.column_stack([x, y]), said, weights=weights if weighted else None, clusters=clusters if weighted else None
    )
    fit = estimate(model, evidence, "moments")
    yes = (np.asarray(said == "yes") - 1 / 6) / (2 / 3)
    z = [np.column_stack([x, np.full(len(x), h)]) for h in (0.0, 1.0)]
    beta = [1 - yes, yes]
    left = sum(z[h].T @ ((weights * beta[h])[:, None] * z[h]) for h in (0, 1))
    right = sum(z[h].T @ (weights * beta[h] * y) for h in (0, 1))
    gamma = np.linalg.solve(left, right)
    np.testing.assert_allclose(fit.theta[2:5], gamma, rtol=1e-7)
    scores = sum((weights * beta[h] * (y - z[h] @ gamma))[:, None] * z[h] for h in (0, 1))
    if weighted:
        sums = np.array([scores[clusters == c].sum(axis=0) for c in range(1100)])  # so many are taken as they are
        centred = sums - sums.mean(axis=0)
        meat = centred.T @ centred * 1100 / 1099
    else:
        meat = scores.T @ scores
    bread = np.linalg.inv(left)
    np.testing.assert_allclose(fit.covariance[2:5, 2:5], bread @ meat @ bread, rtol=1e-6)
    variance = sum((weights * beta[h]) @ (y - z[h] @ gamma) ** 2 for h in (0, 1)) / weights.sum()
    assert np.exp(2 * fit.theta[5]) == pytest.approx(variance, rel=1e-6)


def test_what_is_hidden_stands_beside_it() -> None:
    """By its own likelihood, from the reports alone."""
    x, trait, said, rng = survey(1500, 6)
    children = rng.poisson(np.exp(0.5 + 0.2 * x[:, 1] + 0.7 * trait))
    model = HiddenVariables([TRAIT], [Outcome("children", "count", TERMS, after=["trait"])])
    fit = estimate(model, Responses(DESIGN).add(np.column_stack([x, children]), said), "moments")
    alone = estimate(HiddenVariables([TRAIT]), Responses(DESIGN).add(x, said), covariance="robust")
    np.testing.assert_allclose(fit.theta[:2], alone.theta, rtol=1e-8)
    np.testing.assert_allclose(fit.covariance[:2, :2], alone.covariance, rtol=1e-6)
    yes = (np.asarray(said == "yes") - 1 / 6) / (2 / 3)
    left = np.zeros(3)
    for h, beta in ((0.0, 1 - yes), (1.0, yes)):
        z = np.column_stack([x, np.full(len(x), h)])
        left += z.T @ (beta * (children - np.exp(z @ fit.theta[2:])))
    np.testing.assert_allclose(left, 0, atol=1e-6)


def test_few_clusters_have_cr2() -> None:
    """Scores of the hidden answer and of the count stacked, with their products and slopes, all by hand."""
    x, trait, said, rng = survey(600, 6)
    children = rng.poisson(np.exp(0.5 + 0.2 * x[:, 1] + 0.7 * trait))
    clusters = np.repeat(np.arange(9), [120, 120, 90, 90, 60, 60, 30, 20, 10])
    model = HiddenVariables([TRAIT], [Outcome("children", "count", TERMS, after=["trait"])])
    evidence = Responses(DESIGN).add(np.column_stack([x, children]), said, clusters=clusters)
    fit = estimate(model, evidence, "moments")
    yes = np.asarray(said == "yes")
    p = 1 / (1 + np.exp(-x @ fit.theta[:2]))
    q, slope = (1 + 4 * p) / 6, 4 / 6 * p * (1 - p)
    scores, slopes = np.zeros((600, 5)), np.zeros((600, 5, 5))
    scores[:, :2] = x * (slope * np.where(yes, 1 / q, -1 / (1 - q)))[:, None]
    outer = x[:, :, None] * x[:, None, :]
    slopes[:, :2, :2] = outer * (slope**2 / (q * (1 - q)))[:, None, None]
    guess = (yes - 1 / 6) * 1.5
    for h, beta in ((0.0, 1 - guess), (1.0, guess)):
        z = np.column_stack([x, np.full(600, h)])
        mean = np.exp(z @ fit.theta[2:])
        scores[:, 2:] += z * (beta * (children - mean))[:, None]
        slopes[:, 2:, 2:] += z[:, :, None] * z[:, None, :] * (beta * mean)[:, None, None]
    products = scores[:, :, None] * scores[:, None, :]
    expected = cluster_spread(*(by_cluster(part, clusters) for part in (scores, products, slopes)))
    posterior = np.where(yes, 5 / 6 * p / q, 1 / 6 * p / (1 - q))
    observed = slopes.sum(axis=0)
    observed[:2, :2] = (outer * (p * (1 - p) - posterior * (1 - posterior))[:, None, None]).sum(axis=0)
    bread = np.linalg.inv(observed)
    np.testing.assert_allclose(fit.covariance, bread @ expected.squares @ bread, rtol=1e-6)
    assert expected.freedom is not None
    np.testing.assert_allclose(fit.degrees_of_freedom, expected.freedom.of(np.eye(5)), rtol=1e-6)
    assert (fit.degrees_of_freedom < 8).all()


def test_skewed_errors_mislead_the_likelihood_only() -> None:
    """No effect, and errors that are no normal ones: the likelihood finds the trait in their shape, and is told so.

    The corrected score is within four standard errors of 0 (false alarms below 10⁻⁴, and the seed is fixed).
    """
    rng = np.random.default_rng(1)
    design, trait, y = Warner("2/3"), rng.random(2000) < 0.3, 2 * rng.exponential(size=2000)
    said = design.simulate(np.where(trait, "yes", "no"), rng)
    model = HiddenVariables(
        [Factor("trait", NO_YES, ["Intercept"])], [Outcome("y", "number", ["Intercept"], after=["trait"])]
    )
    evidence = Responses(design).add(np.column_stack([np.ones(2000), y]), said)
    with pytest.warns(match="several maxima"):
        likelihood = estimate(model, evidence)
    corrected = estimate(model, evidence, "moments")
    assert likelihood.theta[2] > 10 * likelihood.standard_errors[2]
    assert abs(corrected.theta[2]) < 4 * corrected.standard_errors[2]
    problem = HiddenProblem(model, evidence)
    test = hausman_test(problem, problem.inward(likelihood.theta), problem.inward(corrected.theta))
    assert test.p_value < 1e-10
    assert len(likelihood.diagnostics.maxima) > 1


def test_where_the_law_holds_both_agree() -> None:
    """P of the Hausman test above 10⁻⁴ (the seed is fixed), and the likelihood is not less precise."""
    x, trait, said, rng = survey(2000, 8)
    y = 1.0 + x[:, 1] + trait + rng.normal(size=len(x))
    model = HiddenVariables([TRAIT], [Outcome("y", "number", TERMS, after=["trait"])])
    evidence = Responses(DESIGN).add(np.column_stack([x, y]), said)
    likelihood, corrected = estimate(model, evidence), estimate(model, evidence, "moments")
    problem = HiddenProblem(model, evidence)
    test = hausman_test(problem, problem.inward(likelihood.theta), problem.inward(corrected.theta))
    assert test.degrees_of_freedom == 1
    assert test.p_value > 1e-4
    assert likelihood.standard_errors[4] < 1.1 * corrected.standard_errors[4]
    spread = np.sqrt(test.covariance[0, 0]) * problem.units.factors[4]
    assert 0 < spread < likelihood.standard_errors[4] + corrected.standard_errors[4]


def test_what_is_the_same_by_construction_is_not_tested() -> None:
    """Directions without a spread do not count: neither in the statistic nor in its degrees of freedom."""
    spread = np.array([[2.0, 1.0, 3.0], [1.0, 1.0, 2.0], [3.0, 2.0, 5.0]])  # the third is the sum of the others
    away = np.array([1.0, 2.0, 3.0 + 1e-9])
    plain = against_zero(away, spread, np.ones(3), None)
    assert plain.degrees_of_freedom == 2
    assert plain.statistic == pytest.approx(away[:2] @ np.linalg.solve(spread[:2, :2], away[:2]), rel=1e-6)
    few = against_zero(away, spread, np.ones(3), Freedom(7.0))
    assert few.statistic == pytest.approx(plain.statistic * 6 / 14, rel=1e-12)
    assert few.denominator == 6
    assert few.p_value > plain.p_value
    assert "F = " in few.text
    assert np.isnan(against_zero(away, spread, np.ones(3), Freedom(1.0)).p_value)
    assert against_zero(away, 0 * spread, np.ones(3), None).p_value == 1


def test_designs_without_unbiased_guesses_are_refused() -> None:
    model = HiddenVariables(
        [Factor("trait", NO_YES, ["Intercept"]), Factor("cheats", NO_YES, ["Intercept"])],
        [Outcome("y", "count", ["Intercept"], after=["trait"])],
    )
    channel = MatrixChannel([[0.8, 1.0, 0.0, 0.2], [0.2, 0.0, 1.0, 0.8]], outputs=model.outputs)
    evidence = Responses(channel).add(np.column_stack([np.ones(40), np.arange(40) % 5]), [0, 1] * 20)
    with pytest.raises(NotIdentifiedError, match="cannot see"):
        estimate(model, evidence, "moments")
    one = HiddenVariables([model.factors[0]], model.outcomes)
    evidence = Responses(DESIGN).add(np.column_stack([np.ones(40), np.arange(40) % 5]), ["no", "yes"] * 20)
    with pytest.raises(InputError, match="allowed here: robust"):
        estimate(one, evidence, "moments", covariance="observed")
