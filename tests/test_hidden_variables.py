"""Several hidden variables: sums by enumeration, and fits that are known from elsewhere."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from askance import (
    Candidates,
    Direct,
    Enumerated,
    ForcedResponse,
    MatrixChannel,
    Responses,
    Softmax,
    StochasticLieDetector,
    Tally,
    estimate,
)
from askance._arrays import FloatArray
from askance.errors import InputError, NotIdentifiedError
from askance.estimation.problems.hidden_problem import HiddenPass, HiddenProblem
from askance.models.hidden import Factor, HiddenVariables

TERMS = ["Intercept", "age"]
NO_YES = ["no", "yes"]


def models() -> dict[str, HiddenVariables]:
    """Independent variables, dependent ones in both ways, counts, and more than two values."""
    trait = Factor("trait", NO_YES, TERMS)
    return {
        "independent": HiddenVariables([trait, Factor("cheats", NO_YES, ["Intercept"])]),
        "dependent": HiddenVariables([trait, Factor("civic", ["a", "b", "c"], TERMS, after=["trait"])]),
        "apart": HiddenVariables([trait, Factor("civic", NO_YES, TERMS, after=["trait"], apart=True)]),
        "counts": HiddenVariables([trait, Factor.binomial("items", 3, TERMS, after=["trait"])]),
        "three": HiddenVariables(
            [
                trait,
                Factor("second", NO_YES, ["age"], after=["trait"]),
                Factor("third", NO_YES, TERMS, after=["trait", "second"]),
            ]
        ),
    }


MODELS = models()


def rows(model: HiddenVariables, seed: int = 0) -> tuple[FloatArray, FloatArray, MatrixChannel]:
    """θ, some covariates, and a channel with five observations."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([np.ones(6), rng.normal(size=6)])
    S = rng.dirichlet(np.ones(5), size=len(model.outputs)).T
    return rng.normal(size=model.dimension), x, MatrixChannel(S, outputs=model.outputs)


def brute_force(model: HiddenVariables, theta: FloatArray, row: FloatArray) -> FloatArray:
    """p(h | x) from its definition, factor by factor, for one row; shape (H,)."""
    result = []
    for combination in product(*(range(len(factor.outputs)) for factor in model.factors)):
        value = 1.0
        for place, factor in enumerate(model.factors):
            own = np.array([row[model.terms.index(term)] for term in factor.terms])
            before: list[float] = []
            for i, earlier in enumerate(model.factors):
                if earlier.name in factor.after:
                    before += [float(combination[i] == k) for k in range(1, len(earlier.outputs))]
            z = np.concatenate([own, *(own * one for one in before)]) if factor.apart else np.append(own, before)
            coefficients = theta[model.blocks[place]].reshape(len(factor.table), -1)
            weights = np.exp(factor.table.T @ (coefficients @ z) + factor.log_base)
            value *= weights[combination[place]] / weights.sum()
        result.append(value)
    return np.array(result)


@pytest.mark.parametrize("name", MODELS)
def test_probabilities_are_products_of_factors(name: str) -> None:
    model = MODELS[name]
    theta, x, _ = rows(model)
    expected = np.array([brute_force(model, theta, row) for row in x])
    np.testing.assert_allclose(model.probabilities(theta, x), expected, rtol=1e-12)
    np.testing.assert_allclose(model.probabilities(theta, x).sum(axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_value_gradient_and_hessian(name: str) -> None:
    """The value by enumeration; slopes by differences of what they are slopes of."""
    model = MODELS[name]
    theta, x, channel = rows(model)
    reports = [0, 1, 2, 3, 4, 0]
    problem = HiddenProblem(model, Responses(channel).add(x, reports))
    likelihood = problem.likelihood()
    q = [channel.matrix[o] @ brute_force(model, theta, row) for o, row in zip(reports, x, strict=True)]
    assert likelihood.value(theta) == pytest.approx(-np.log(q).mean(), rel=1e-12)
    assert problem.log_likelihood(theta) == pytest.approx(np.log(q).sum(), rel=1e-12)
    step = 1e-5
    for j in range(model.dimension):
        ahead, behind = theta + step * np.eye(model.dimension)[j], theta - step * np.eye(model.dimension)[j]
        slope = (likelihood.value(ahead) - likelihood.value(behind)) / (2 * step)
        assert likelihood.gradient(theta)[j] == pytest.approx(slope, abs=1e-8)
        curve = (likelihood.gradient(ahead) - likelihood.gradient(behind)) / (2 * step)
        np.testing.assert_allclose(likelihood.hessian(theta)[j], curve, atol=1e-8)


@pytest.mark.parametrize("name", MODELS)
def test_expected_information_is_the_mean_of_the_observed_one(name: str) -> None:
    """Over all reports that each row might have given: Σ_o q_o H_o, and Σ_o q_o s_o sᵀ_o."""
    model = MODELS[name]
    theta, x, channel = rows(model)
    likelihood = HiddenProblem(model, Responses(channel).add(x, [0] * len(x))).likelihood()
    q = model.probabilities(theta, x) @ channel.matrix.T
    mean = np.zeros((model.dimension,) * 2)
    for i, row in enumerate(x):
        for o in range(q.shape[1]):
            alone = HiddenProblem(model, Responses(channel).add(row[None], [o]))
            mean += q[i, o] * alone.likelihood().hessian(theta) / len(x)
    np.testing.assert_allclose(likelihood.expected_information(theta), mean, atol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_scores_sum_to_zero(name: str) -> None:
    """E ∇ log p(h | x) = 0, and the complete information is the covariance of complete scores."""
    model = MODELS[name]
    theta, x, _ = rows(model)
    at = HiddenPass(model, theta, x)
    np.testing.assert_allclose(at.scores(at.probabilities), 0, atol=1e-12)
    outer = np.zeros((model.dimension, model.dimension))
    for h in range(len(model.outputs)):
        own = at.scores(np.eye(len(model.outputs))[[h] * len(x)])
        outer += own.T @ (at.probabilities[:, [h]] * own)
    np.testing.assert_allclose(at.squares(at.probabilities), outer, atol=1e-12)
    np.testing.assert_allclose(at.complete_information(at.probabilities), outer, atol=1e-12)


def test_one_variable_is_a_softmax_model() -> None:
    rng = np.random.default_rng(3)
    x = np.column_stack([np.ones(3000), rng.normal(size=3000)])
    design = ForcedResponse("2/3", "1/6")
    truth = np.where(rng.random(3000) < 1 / (1 + np.exp(1 - x[:, 1])), "yes", "no")
    evidence = Responses(design).add(x, design.simulate(truth, rng), clusters=np.arange(3000) // 10)
    usual = estimate(Softmax(NO_YES, TERMS), evidence, "marginal")
    fit = estimate(HiddenVariables([Factor("trait", NO_YES, TERMS)]), evidence)
    np.testing.assert_allclose(fit.theta, usual.theta, atol=1e-6 * usual.standard_errors.min())
    np.testing.assert_allclose(fit.covariance, usual.covariance, rtol=1e-6)
    assert fit.log_likelihood == pytest.approx(usual.log_likelihood, rel=1e-12)


def test_two_questions_at_once_are_a_table() -> None:
    """Both answers noised by dice of their own: two variables, one after the other, are any 2 × 2 table."""
    dice = ForcedResponse("2/3", "1/6")
    channel = MatrixChannel(
        np.asarray(np.kron(dice.matrix, dice.matrix), dtype=np.float64),
        outputs=["no & no", "no & yes", "yes & no", "yes & yes"],
    )
    counts = [400, 250, 150, 300]
    model = HiddenVariables(
        [Factor("first", NO_YES, ["Intercept"]), Factor("second", NO_YES, ["Intercept"], after=["first"])]
    )
    fit = estimate(model, Responses(channel).add(np.ones((sum(counts), 1)), np.repeat(range(4), counts)))
    table = estimate(Enumerated.saturated(channel.outputs), Tally(channel, counts), "marginal").probabilities()
    np.testing.assert_allclose(model.probabilities(fit.theta, np.ones((1, 1)))[0], table.estimate, atol=1e-8)
    second = fit.shares("second")
    assert second.estimate[1] == pytest.approx(table.estimate[1] + table.estimate[3], abs=1e-8)


def test_what_cannot_be_told_is_named() -> None:
    """One group cannot tell cheaters from those who have nothing to tell."""
    model = MODELS["independent"]
    S = [[0.8, 1.0, 0.0, 0.2], [0.2, 0.0, 1.0, 0.8]]
    channel = MatrixChannel(S, outputs=model.outputs)
    evidence = Responses(channel).add(np.column_stack([np.ones(40), np.arange(40) % 2]), [0, 1] * 20)
    with pytest.raises(NotIdentifiedError, match="cheats:Intercept"):
        estimate(
            HiddenVariables([Factor("trait", NO_YES, ["Intercept"]), model.factors[1]]),
            Responses(channel).add(np.ones((40, 1)), [0, 1] * 20),
        )
    with pytest.raises(InputError, match="allowed with hidden variables: marginal, moments"):
        estimate(model, evidence, "one-step")
    with pytest.raises(NotIdentifiedError, match="no unbiased moments"):
        estimate(model, evidence, "moments")


def test_variables_that_depend_on_later_ones_are_refused() -> None:
    with pytest.raises(InputError, match="'first' depends on"):
        HiddenVariables([Factor("first", NO_YES, ["a"], after=["second"]), Factor("second", NO_YES, ["a"])])
    with pytest.raises(InputError, match="a name of its own"):
        HiddenVariables([Factor("first", NO_YES, ["a"]), Factor("first", NO_YES, ["a"])])
    with pytest.raises(InputError, match="statistics of shape"):
        Factor("first", NO_YES, ["a"], statistics=[[1, 2, 3]])


def test_direct_answers_need_no_channel_of_pairs() -> None:
    """A hidden cause of an outcome that is seen: where the cause is told too, it is plain regression."""
    rng = np.random.default_rng(5)
    x = np.ones((2000, 1))
    cause = rng.random(2000) < 0.4
    outcome = rng.random(2000) < np.where(cause, 0.7, 0.3)
    model = HiddenVariables(
        [Factor("cause", NO_YES, ["Intercept"]), Factor("outcome", NO_YES, ["Intercept"], after=["cause"])]
    )
    seen = np.array([f"{NO_YES[int(a)]} & {NO_YES[int(b)]}" for a, b in zip(cause, outcome, strict=True)])
    fit = estimate(model, Responses(Direct(model.outputs)).add(x, seen))
    odds = [np.log(outcome[cause == c].mean() / (1 - outcome[cause == c].mean())) for c in (False, True)]
    np.testing.assert_allclose(fit.theta[1:], [odds[0], odds[1] - odds[0]], atol=1e-8)


def test_sets_of_combinations_that_tell_one_variable_only() -> None:
    """Products of scores stand for the information that nobody knows: they see what is never told."""
    names = ["no & no", "no & yes", "yes & no", "yes & yes"]
    told = [names[:2], names[2:], names[:2]] * 50
    model = HiddenVariables([Factor("first", NO_YES, ["Intercept"]), Factor("second", NO_YES, ["Intercept"])])
    with pytest.raises(NotIdentifiedError, match="second:Intercept"):
        estimate(model, Candidates(names).add(np.ones((150, 1)), told))
    single = [*told, *([name] for name in names * 10)]
    fit = estimate(model, Candidates(names).add(np.ones((190, 1)), single))
    assert fit.theta == pytest.approx([np.log(70 / 120), 0.0], abs=1e-7)


def test_what_one_group_does_not_tell_apart_is_named_with_its_direction() -> None:
    """P(yes) = π t + (1 − π)(1 − p) in one group: more carriers who admit less often leave it as it is."""
    design = StochasticLieDetector(["1/5", "4/5"])
    evidence = Responses({1: design.arms[1]}).add(np.ones((4, 1)), ["no", "yes", "no", "no"], arm=[1] * 4)
    with pytest.raises(NotIdentifiedError, match=r"a step of \+1 in 'trait:Intercept' and .* in 'honest:Intercept'"):
        estimate(design.model(["Intercept"]), evidence)
