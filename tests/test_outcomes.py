"""Outcomes of hidden causes: likelihoods by enumeration, slopes by differences, and fits known from elsewhere."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askance import Direct, ForcedResponse, MatrixChannel, Responses, Softmax, estimate, load, save
from askance._arrays import FloatArray
from askance.errors import InputError, NotIdentifiedError
from askance.estimation.outcome import LocalMaximum
from askance.estimation.problems.hidden_problem import HiddenPass, HiddenProblem
from askance.estimation.results.hidden_fit import HiddenFit
from askance.estimation.results.maxima import listed_maxima, open_signs
from askance.models.hidden import Factor, HiddenVariables
from askance.models.outcome import Outcome

TERMS = ["Intercept", "age"]
NO_YES = ["no", "yes"]
TRAIT = Factor("trait", NO_YES, TERMS)
PAIR = [TRAIT, Factor("second", ["a", "b", "c"], ["Intercept"], after=["trait"])]
BOTH: dict[str, Any] = {"after": ["trait", "second"]}


def models() -> dict[str, HiddenVariables]:
    """Every family, alone and together, with effects of x that do and do not hang on what is hidden."""
    civic = Outcome("civic", "category", TERMS, after=["trait"], outputs=NO_YES)
    return {
        "yes or no": HiddenVariables([TRAIT], [civic]),
        "three categories": HiddenVariables(PAIR, [Outcome("party", "category", TERMS, outputs=3, **BOTH)]),
        "count": HiddenVariables(PAIR, [Outcome("children", "count", TERMS, **BOTH)]),
        "number": HiddenVariables(PAIR, [Outcome("income", "number", TERMS, **BOTH)]),
        "apart": HiddenVariables([TRAIT], [Outcome("income", "number", TERMS, after=["trait"], apart=True)]),
        "two": HiddenVariables([TRAIT], [civic, Outcome("income", "number", ["Intercept"], after=["trait"])]),
    }


MODELS = models()


def seen(model: HiddenVariables, seed: int = 0) -> tuple[FloatArray, FloatArray, MatrixChannel, list[int]]:
    """θ, covariates with outcomes, a channel with five observations, and reports."""
    rng = np.random.default_rng(seed)
    y = {"civic": [0, 1, 1, 0, 1, 1], "party": [0, 1, 2, 2, 0, 1], "children": [0, 1, 4, 2, 0, 7]}
    columns = [y.get(outcome.name, [0.3, -1.0, 2.5, 0.0, 7.0, 1.25]) for outcome in model.outcomes]
    x = np.column_stack([np.ones(6), rng.normal(size=6), *columns])
    S = rng.dirichlet(np.ones(5), size=len(model.outputs)).T
    return rng.normal(size=model.dimension), x, MatrixChannel(S, outputs=model.outputs), [0, 1, 2, 3, 4, 0]


def density(outcome: Outcome, theta: FloatArray, z: FloatArray, y: float) -> float:
    """p(y | z) from its definition."""
    if outcome.family == "number":
        deviation = math.exp(theta[-1])
        return math.exp(-0.5 * ((y - z @ theta[:-1]) / deviation) ** 2) / (deviation * math.sqrt(2 * math.pi))
    if outcome.family == "count":
        mean = math.exp(z @ theta)
        return float(mean**y * math.exp(-mean) / math.factorial(int(y)))
    weights = np.append(1.0, np.exp(theta.reshape(-1, len(z)) @ z))
    return float(weights[int(y)] / weights.sum())


def joint(model: HiddenVariables, theta: FloatArray, row: FloatArray) -> FloatArray:
    """p(h, y | x) of one row by enumeration of h, shape (H,)."""
    p = model.probabilities(theta, row[None])[0]
    for h in range(len(model.outputs)):
        for outcome, block in zip(model.outcomes, model.blocks[len(model.factors) :], strict=True):
            own = np.array([row[model.terms.index(term)] for term in outcome.terms])
            before = [
                float(model.values[i, h] == k)
                for i, factor in enumerate(model.factors)
                if factor.name in outcome.after
                for k in range(1, len(factor.outputs))
            ]
            z = np.concatenate([own, *(own * one for one in before)]) if outcome.apart else np.append(own, before)
            p[h] *= density(outcome, theta[block], z, row[model.terms.index(outcome.name)])
    return np.asarray(p)


@pytest.mark.parametrize("name", MODELS)
def test_the_likelihood_is_the_sum_over_what_is_hidden(name: str) -> None:
    """The value by enumeration, in the units of the data; slopes by differences of what they are slopes of."""
    model = MODELS[name]
    theta, x, channel, reports = seen(model)
    problem = HiddenProblem(model, Responses(channel).add(x, reports))
    q = [channel.matrix[o] @ joint(model, theta, row) for o, row in zip(reports, x, strict=True)]
    inner = problem.inward(theta)
    np.testing.assert_allclose(problem.units.outward(inner), theta, rtol=1e-12)
    assert problem.log_likelihood(inner) == pytest.approx(np.log(q).sum(), rel=1e-11)
    likelihood, step = problem.likelihood(), 1e-5
    for j in range(model.dimension):
        ahead, behind = inner + step * np.eye(model.dimension)[j], inner - step * np.eye(model.dimension)[j]
        slope = (likelihood.value(ahead) - likelihood.value(behind)) / (2 * step)
        assert likelihood.gradient(inner)[j] == pytest.approx(slope, rel=1e-6, abs=1e-7)
        curve = (likelihood.gradient(ahead) - likelihood.gradient(behind)) / (2 * step)
        np.testing.assert_allclose(likelihood.hessian(inner)[j], curve, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_what_stands_for_the_expected_information_is_made_of_scores(name: str) -> None:
    model = MODELS[name]
    theta, x, channel, reports = seen(model)
    problem = HiddenProblem(model, Responses(channel).add(x, reports))
    scores = np.vstack(problem.rows.total(lambda block: [problem.scores(block, theta, 0)], list.__add__))
    np.testing.assert_allclose(
        problem.likelihood().expected_information(theta), scores.T @ scores / len(x), rtol=1e-9, atol=1e-12
    )
    assert "expected" not in problem.covariance_kinds


@pytest.mark.parametrize("name", MODELS)
def test_the_complete_information_is_expected_where_it_is_asked_to_be(name: str) -> None:
    """Positive definite also where numbers are far from what θ says, and the same as observed for counts."""
    model = MODELS[name]
    theta, x, _, _ = seen(model)
    at = HiddenPass(model, theta, x)
    expected = at.complete_information(at.probabilities, expected=True)
    assert np.linalg.eigvalsh(expected).min() > 0
    if not any(outcome.family == "number" for outcome in model.outcomes):
        np.testing.assert_allclose(expected, at.complete_information(at.probabilities), rtol=1e-12)


def simulated(n: int = 3000, seed: int = 1) -> tuple[FloatArray, FloatArray, np.random.Generator]:
    """x and who has the trait."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([np.ones(n), rng.normal(size=n)])
    return x, (rng.random(n) < 1 / (1 + np.exp(1 - x[:, 1]))).astype(float), rng


def test_where_the_trait_is_told_it_is_plain_regression() -> None:
    """With the truth itself for a report, outcomes and traits are fitted apart, as by other models."""
    x, trait, rng = simulated()
    z = np.column_stack([x, trait])
    told = Direct(NO_YES), np.where(trait == 1, "yes", "no")

    def fit(outcome: Outcome, y: FloatArray) -> HiddenFit:
        evidence = Responses(told[0]).add(np.column_stack([x, y]), told[1])
        return estimate(HiddenVariables([TRAIT], [outcome]), evidence)

    civic = (rng.random(len(x)) < 1 / (1 + np.exp(-z @ [0.5, -1.0, 1.0]))).astype(float)
    softmax = estimate(
        Softmax(NO_YES, ["a", "b", "c"]), Responses(told[0]).add(z, np.where(civic == 1, "yes", "no")), "marginal"
    )
    logistic = fit(Outcome("civic", "category", TERMS, after=["trait"], outputs=NO_YES), civic)
    np.testing.assert_allclose(logistic.theta[2:], softmax.theta, atol=1e-6)
    np.testing.assert_allclose(logistic.standard_errors[2:], softmax.standard_errors, rtol=1e-6)
    assert logistic.covariance_kind == "observed"
    # A number far from 0 and in large units: least squares, with the variance of the likelihood.
    income = 1e6 + 1e4 * (z @ [0.0, 1.0, 2.0] + rng.normal(size=len(x)))
    linear = fit(Outcome("income", "number", TERMS, after=["trait"]), income)
    solution, residue, *_ = np.linalg.lstsq(z, income, rcond=None)
    np.testing.assert_allclose(linear.theta[2:5], solution, rtol=1e-8)
    assert math.exp(linear.theta[5]) == pytest.approx(math.sqrt(residue[0] / len(x)), rel=1e-8)
    errors = np.sqrt(np.diag(np.linalg.inv(z.T @ z)) * residue[0] / len(x))
    np.testing.assert_allclose(linear.standard_errors[2:5], errors, rtol=1e-6)
    children = rng.poisson(np.exp(z @ [1.0, 0.3, -0.5])).astype(float)
    poisson = fit(Outcome("children", "count", TERMS, after=["trait"]), children)
    np.testing.assert_allclose(z.T @ (children - np.exp(z @ poisson.theta[2:])), 0, atol=1e-4)


def test_a_hidden_cause_is_found_and_kept(tmp_path: Path) -> None:
    """Within four standard errors of the truth (false alarms below 10⁻⁴, and the seed is fixed); saved and loaded."""
    x, trait, rng = simulated(6000)
    design = ForcedResponse("2/3", "1/6")
    said = design.simulate(np.where(trait == 1, "yes", "no"), rng)
    civic = (rng.random(len(x)) < 1 / (1 + np.exp(-(x @ [0.5, -1.0] + trait)))).astype(float)
    model = HiddenVariables([TRAIT], [Outcome("civic", "category", TERMS, after=["trait"], outputs=NO_YES)])
    fit = estimate(model, Responses(design).add(np.column_stack([x, civic]), said))
    assert (np.abs(fit.theta - [-1, 1, 0.5, -1, 1]) < 4 * fit.standard_errors).all()
    assert fit.parameter_names[-1] == "civic:trait[yes]"
    assert fit.shares("trait").estimate[1] == pytest.approx(trait.mean(), abs=0.06)
    save(fit, tmp_path / "a.fit")
    again = load(tmp_path / "a.fit")
    assert isinstance(again, HiddenFit)
    assert again.parameter_names == fit.parameter_names
    assert again.summary() == fit.summary()
    np.testing.assert_array_equal(again.covariance, fit.covariance)
    shares = again.shares("trait", x).estimate
    np.testing.assert_allclose(shares, fit.shares("trait").estimate, rtol=1e-10)


def test_units_of_numbers_do_not_matter() -> None:
    x, trait, rng = simulated(1000)
    design = ForcedResponse("2/3", "1/6")
    said = design.simulate(np.where(trait == 1, "yes", "no"), rng)
    y = 1.0 + trait + rng.normal(size=len(x))
    model = HiddenVariables([TRAIT], [Outcome("y", "number", TERMS, after=["trait"])])
    fits = [
        estimate(model, Responses(design).add(np.column_stack([x, a + b * y]), said)) for a, b in ((0, 1), (500, 1e5))
    ]
    scale = np.array([1, 1, 1e5, 1e5, 1e5, 1])
    shift = np.array([0, 0, 500, 0, 0, math.log(1e5)])
    np.testing.assert_allclose(fits[1].theta, scale * fits[0].theta + shift, rtol=1e-6)
    np.testing.assert_allclose(fits[1].standard_errors, scale * fits[0].standard_errors, rtol=1e-5)
    assert fits[1].log_likelihood == pytest.approx(fits[0].log_likelihood - 1000 * math.log(1e5), rel=1e-9)
    lower, upper = fits[1].profile_interval("y:trait[yes]")
    assert lower < fits[1].theta[4] < upper
    assert (lower / 1e5, upper / 1e5) == pytest.approx(fits[0].profile_interval("y:trait[yes]"), rel=1e-5)


def test_maxima_that_disagree_in_sign() -> None:
    model = MODELS["yes or no"]
    high, low = (LocalMaximum((0.0, 0.0, 0.0, 0.0, effect), at, 3) for effect, at in ((2.0, -10.0), (-1.5, -11.0)))
    assert "civic:trait[yes] 2 at log-likelihood -10.00; civic:trait[yes] -1.5" in listed_maxima(model, [high, low])[0]
    (alarm,) = open_signs(model, [high, low])
    assert alarm.startswith("the sign of the effect of the hidden trait is not determined: civic:trait[yes] is 2 ")
    assert "2 at log-likelihood -10.00 with the prior;" in listed_maxima(model, [high, low], prior=True)[0]
    assert "(log-likelihood -10.00 with the prior)" in next(open_signs(model, [high, low], prior=True))
    assert not list(open_signs(model, [high, LocalMaximum(low.theta, -12.0, 1)]))
    assert not listed_maxima(model, [high])
    assert not list(open_signs(model, [high]))
    assert not list(open_signs(model, []))


def test_refusals() -> None:
    with pytest.raises(InputError, match="without labels"):
        Outcome("civic", "category", TERMS)
    with pytest.raises(InputError, match="with labels"):
        Outcome("income", "number", TERMS, outputs=NO_YES)
    with pytest.raises(InputError, match="outcome 'income' depends on"):
        HiddenVariables([TRAIT], [Outcome("income", "number", TERMS, after=["other"])])
    with pytest.raises(InputError, match="outcomes that explain nothing"):
        HiddenVariables([TRAIT], [Outcome("age", "number", TERMS, after=["trait"])])
    model = MODELS["yes or no"]
    design = ForcedResponse("2/3", "1/6")
    x = np.column_stack([np.ones(40), np.arange(40) % 7, np.arange(40) % 2])
    said = ["no", "no", "yes", "yes"] * 10
    with pytest.raises(NotIdentifiedError, match="'civic' is the same in every row"):
        estimate(model, Responses(design).add(np.column_stack([x[:, :2], np.ones(40)]), said))
    with pytest.raises(InputError, match="holds 2; allowed for a category: codes from 0 to 1"):
        estimate(model, Responses(design).add(np.column_stack([x[:, :2], np.arange(40) % 3]), said))
    with pytest.raises(InputError, match="covariance is 'expected'"):
        estimate(model, Responses(design).add(x, said), covariance="expected")


def test_an_effect_that_nothing_tells_of_is_not_identified() -> None:
    """A report that says nothing of the trait: the outcome alone cannot tell its effect."""
    model = HiddenVariables(
        [Factor("trait", NO_YES, ["Intercept"])],
        [Outcome("civic", "category", ["Intercept"], after=["trait"], outputs=NO_YES)],
    )
    channel = MatrixChannel([[0.5, 0.5], [0.5, 0.5]], outputs=NO_YES)
    x = np.column_stack([np.ones(40), np.arange(40) % 2])
    with pytest.raises(NotIdentifiedError, match="trait"):
        estimate(model, Responses(channel).add(x, [0, 0, 1, 1] * 10))
