"""Planning: covariances equal brute force, formulas equal textbooks, impossible goals are refused in words."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askance import (
    Direct,
    Enumerated,
    ForcedResponse,
    MatrixChannel,
    RandomizedResponse,
    Responses,
    Softmax,
    Warner,
    asymptotics,
    estimate,
)
from askance._arrays import FloatArray
from askance.channels import FiniteChannel, entries
from askance.channels.survey_designs import _YesNoDesign
from askance.design import conditional_asymptotics
from askance.design.conditional_covariances import average, report_information
from askance.design.covariances import marginal_information, observation_function
from askance.errors import (
    NotIdentifiedError,
)
from askance.planning import (
    Share,
    design_at_level,
    guess_survey,
    plan_survey,
    sample_covariates,
    textbook_design,
    yes_no_kinds,
)
from askance.planning.plan_plot import plot_plan
from tests.families import CHANNELS

YES_NO = Enumerated.saturated(["no", "yes"])
WIDE = MatrixChannel([[0.5, 0.1], [0.3, 0.2], [0.2, 0.7]], outputs=["no", "yes"])


def logit(p: float) -> float:
    return math.log(p / (1 - p))


def sample_x(rows: int, terms: int, seed: int = 0) -> FloatArray:
    rng = np.random.default_rng(seed)
    return np.column_stack([np.ones(rows), rng.normal(size=(rows, terms - 1))])


def brute_force(
    model: Softmax, channel: FiniteChannel, theta: FloatArray, x: FloatArray, shares: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray | None]:
    """Full and report information and Cov β, summed row by row over the enumerated model of each x."""
    d = model.dimension
    full, told, spread = np.zeros((d, d)), np.zeros((d, d)), np.zeros((d, d))
    rows = [model.at(row) for row in x]
    frequencies = sum(w * channel.apply(row.probabilities(theta)) for w, row in zip(shares, rows, strict=True))
    indicators = Enumerated.saturated(model.outputs)
    try:
        R = observation_function(indicators, channel, np.asarray(frequencies), "best").coefficients
    except NotIdentifiedError:
        R = None
    for w, values, row in zip(shares, x, rows, strict=True):
        full += w * row.fisher_information(theta)
        told += w * marginal_information(row, channel, theta)
        if R is not None:
            q = channel.apply(row.probabilities(theta))
            beta = np.kron(R, values[:, None])  # (d, k): β(o) ⊗ x
            mean = beta @ q
            spread += w * ((beta * q) @ beta.T - np.outer(mean, mean))
    inverse: FloatArray = np.asarray(np.linalg.inv(full), dtype=np.float64)
    moments = None if R is None else np.asarray(inverse @ spread @ inverse)
    return inverse, np.asarray(np.linalg.inv(told), dtype=np.float64), moments


# -- covariances with covariates ---------------------------------------------------------------------------------------


# Brute force is for few outputs.
@pytest.mark.parametrize("kind", sorted(kind for kind, channel in CHANNELS.items() if len(channel.outputs) <= 8))
@pytest.mark.parametrize("weighted", [False, True])
def test_covariances_equal_brute_force(kind: str, weighted: bool) -> None:
    channel = CHANNELS[kind]
    rng = np.random.default_rng(len(kind))
    model, x = Softmax(channel.outputs, ["Intercept", "age"]), sample_x(12, 2, 5)
    theta = 0.5 * rng.normal(size=model.dimension)
    weights = rng.uniform(0.1, 2, size=12) if weighted else np.ones(12)
    try:
        result = conditional_asymptotics(model, channel, theta, x, weights)
    except NotIdentifiedError:
        assert channel.kind == "coarsened"  # fewer groups than outputs: the logits of one group cannot be told apart
        return
    full, marginal, moments = brute_force(model, channel, theta, x, weights / weights.sum())
    np.testing.assert_allclose(result.full, full, rtol=1e-9, atol=1e-9 * np.abs(full).max())
    np.testing.assert_allclose(result.marginal, marginal, rtol=1e-8, atol=1e-8 * np.abs(marginal).max())
    assert (result.moments is None) == (moments is None)
    if moments is not None and result.moments is not None:
        np.testing.assert_allclose(result.moments, moments, rtol=1e-8, atol=1e-8 * np.abs(moments).max())
        assert result.excess_covariance is not None
        H = result.full @ result.excess_covariance @ result.full
        np.testing.assert_allclose(result.full + H, result.moments, rtol=1e-8, atol=1e-8 * np.abs(moments).max())


@pytest.mark.parametrize("channel", [Warner("2/3"), WIDE, RandomizedResponse("1/2", outputs=["no", "yes"])])
@pytest.mark.parametrize("theta", [-3.0, 0.0, 1.2])
def test_an_intercept_alone_is_the_model_without_covariates(channel: FiniteChannel, theta: float) -> None:
    with_x = conditional_asymptotics(Softmax(["no", "yes"], ["Intercept"]), channel, [theta], np.ones((3, 1)))
    without = asymptotics(YES_NO, channel, [theta])
    assert without.moments is not None
    assert with_x.moments is not None
    np.testing.assert_allclose(with_x.full, without.full, rtol=1e-12)
    np.testing.assert_allclose(with_x.marginal, without.marginal, rtol=1e-12)
    np.testing.assert_allclose(with_x.moments, without.moments, rtol=1e-12)


def test_the_direct_question_loses_nothing() -> None:
    model, x = Softmax(["a", "b", "c"], ["Intercept", "age"]), sample_x(20, 2)
    result = conditional_asymptotics(model, Direct(model.outputs), [0.3, -0.5, 0.1, 1.0], x)
    np.testing.assert_allclose(result.marginal, result.full, rtol=1e-10)
    assert result.moments is not None
    np.testing.assert_allclose(result.moments, result.full, rtol=1e-10)
    assert result.efficiency == pytest.approx(1, abs=1e-10)


def test_rows_repeated_are_rows_weighted() -> None:
    model, x = Softmax(["no", "yes"], ["Intercept", "age"]), sample_x(6, 2)
    counts = np.array([1, 3, 0, 2, 1, 1])
    theta, channel = [-1.0, 0.4], Warner("2/3")
    repeated = conditional_asymptotics(model, channel, theta, np.repeat(x, counts, axis=0))
    weighted = conditional_asymptotics(model, channel, theta, x, counts)
    np.testing.assert_allclose(weighted.marginal, repeated.marginal, rtol=1e-12)


def test_the_fit_reports_the_planned_error() -> None:
    """Expected-information standard errors of a fit are the planned ones at its estimate and its x."""
    rng = np.random.default_rng(3)
    model, channel = Softmax(["no", "yes"], ["Intercept", "age"]), ForcedResponse("2/3", "1/6")
    x = sample_x(3000, 2, 7)
    truth = np.where(rng.random(3000) < model.probabilities([-0.5, 0.8], x)[:, 1], "yes", "no")
    fit = estimate(model, Responses(channel).add(x, channel.simulate(truth, rng)), covariance="expected")
    plan = plan_survey(model, [channel], fit.theta, x, target="age", n=3000)
    assert plan.designs[0].standard_error == pytest.approx(float(fit.standard_errors[1]), rel=1e-9)
    moments = estimate(model, Responses(channel).add(x, channel.simulate(truth, rng)), "moments", covariance="expected")
    plan = plan_survey(model, [channel], moments.theta, x, target="age", n=3000, method="moments")
    assert plan.designs[0].standard_error == pytest.approx(float(moments.standard_errors[1]), rel=1e-9)


@pytest.mark.parametrize("population", [True, False])
def test_the_fit_reports_the_planned_error_of_a_share(population: bool) -> None:
    rng = np.random.default_rng(5)
    model, channel = Softmax(["no", "yes"], ["Intercept", "age"]), ForcedResponse("2/3", "1/6")
    x = sample_x(2000, 2, 8)
    truth = np.where(rng.random(2000) < model.probabilities([-0.5, 0.8], x)[:, 1], "yes", "no")
    fit = estimate(model, Responses(channel).add(x, channel.simulate(truth, rng)), covariance="expected")
    plan = plan_survey(model, [channel], fit.theta, x, target=Share("yes", population=population), n=2000)
    reported = fit.prevalence(population=population).standard_error[0, 1]
    assert plan.designs[0].standard_error == pytest.approx(float(reported), rel=1e-3)  # n or n − 1


def test_sums_of_rows() -> None:
    p = np.array([[0.2, 0.3], [0.6, 0.1]])
    S = RandomizedResponse("1/2", outputs=3).matrix
    told = report_information(S, p)
    for row, information in zip(p, told, strict=True):
        q = S @ np.array([1 - row.sum(), *row])
        u = [row * (S[o, 1:] - q[o]) for o in range(3)]
        np.testing.assert_allclose(information, sum(np.outer(v, v) / q[o] for o, v in enumerate(u)), rtol=1e-12)
    x = sample_x(2, 2)
    expected = 0.25 * np.kron(told[0], np.outer(x[0], x[0])) + 0.75 * np.kron(told[1], np.outer(x[1], x[1]))
    np.testing.assert_allclose(average(told, x, np.array([0.25, 0.75])), expected, rtol=1e-12)


# -- formulas ----------------------------------------------------------------------------------------------------------


@given(st.floats(0.01, 0.99), st.floats(0.55, 0.95), st.floats(0.001, 0.1))
@settings(max_examples=40, deadline=None)
def test_warner_textbook_variance(pi: float, p: float, s: float) -> None:
    """Var π̂ = π(1 − π)/n + p(1 − p)/(n (2p − 1)²), and n is the least that reaches the goal."""
    design = plan_survey(YES_NO, [Warner(p)], [logit(pi)], target=Share("yes"), standard_error=s).designs[0]
    variance = pi * (1 - pi) + p * (1 - p) / (2 * p - 1) ** 2
    assert design.unit_error**2 == pytest.approx(variance, rel=1e-9)
    assert design.price == pytest.approx(variance / (pi * (1 - pi)), rel=1e-9)
    assert design.n == pytest.approx(variance / s**2, abs=1.001)
    assert design.standard_error <= s * (1 + 1e-9)
    if design.n > 1:
        assert design.unit_error / math.sqrt(design.n - 1) > s * (1 - 1e-9)


def test_known_numbers() -> None:
    plan = plan_survey(YES_NO, [Warner("3/4")], [0.0], target=Share("yes"), standard_error=0.05)
    assert plan.direct.n == 100  # ¼ / 0.05²
    assert plan.designs[0].n == 400  # (¼ + ¾·¼/¼) / 0.05²
    plan = plan_survey(YES_NO, [Warner("3/4")], [0.0], target=Share("yes"), interval_width=0.1)
    assert plan.direct.n == 385  # the textbook's "± 5 points"
    plan = plan_survey(YES_NO, [Warner("3/4")], [1.0], target="yes", test="score")
    sigma = math.exp(0.5) + math.exp(-0.5)  # 1/√(p(1 − p)) at the guess; 2 where nothing but chance decides
    assert plan.direct.n == math.ceil((1.959963984540054 * 2 + 0.8416212335729143 * sigma) ** 2) == 34
    assert plan.direct.power == pytest.approx(0.8, abs=0.005)
    plan = plan_survey(YES_NO, [Warner("3/4")], [1.0], target="yes")
    assert plan.direct.n == math.ceil(((1.959963984540054 + 0.8416212335729143) * sigma) ** 2) == 40


@pytest.mark.parametrize("goal", [{"standard_error": 0.1}, {"interval_width": 0.5}, {"power": 0.9}])
@pytest.mark.parametrize("method", ["one-step", "moments"])
def test_what_n_buys_is_the_reverse(goal: dict[str, Any], method: Any) -> None:
    guess = guess_survey(0.3, {"age": 0.4}, {"age": sample_x(200, 2)[:, 1]})
    channels = [textbook_design(kind) for kind in yes_no_kinds()]
    needed = plan_survey(guess.model, channels, guess.theta, guess.x, target="age", method=method, **goal)
    for design, channel in zip(needed.designs, channels, strict=True):
        bought = plan_survey(guess.model, [channel], guess.theta, guess.x, target="age", method=method, n=design.n)
        assert bought.designs[0] == design
        ((name, wanted),) = goal.items()
        reached = getattr(design, name)
        assert reached >= wanted if name == "power" else reached <= wanted


def test_the_share_by_direct_question_has_the_binomial_variance_with_or_without_covariates() -> None:
    guess = guess_survey(0.2, {"age": 1.5}, {"age": sample_x(500, 2)[:, 1]})
    plan = plan_survey(guess.model, [Warner("2/3")], guess.theta, guess.x, target=Share("yes"), n=100)
    assert plan.value == pytest.approx(0.2, abs=1e-12)
    assert plan.direct.unit_error**2 == pytest.approx(0.2 * 0.8, rel=1e-9)
    alone = plan_survey(YES_NO, [Warner("2/3")], [logit(0.2)], target=Share("yes"), n=100)
    assert plan.designs[0].unit_error < alone.designs[0].unit_error  # covariates that predict the answer help


def test_share_gradient_by_finite_differences() -> None:
    from askance.planning.targets import ask

    model, x = Softmax(["a", "b", "c"], ["Intercept", "age"]), sample_x(30, 2)
    theta = np.array([0.3, -0.5, 0.1, 1.0])
    table = Enumerated([[0, 1, 2], [0, 0, 1]], outputs=["a", "b", "c"])

    def share(some: Softmax | Enumerated, at: FloatArray, rows: FloatArray | None, label: str) -> float:
        value = ask(some, at, rows, None, Share(label)).value
        assert value is not None
        return value

    for label in "abc":
        for some, at, rows in ((model, theta, x), (table, theta[:2], None)):
            asked = ask(some, at, rows, None, Share(label))
            steps = 1e-6 * np.eye(len(at))
            slopes = [(share(some, at + h, rows, label) - share(some, at - h, rows, label)) / 2e-6 for h in steps]
            np.testing.assert_allclose(asked.gradients[0], slopes, atol=1e-8)


def test_four_categories_and_models_without_covariates() -> None:
    four = Enumerated.saturated(4)
    channel = RandomizedResponse.for_privacy_level(1, outputs=4)
    theta = np.array([-0.5, 0.2, -1.0])
    limit = asymptotics(four, channel, theta)
    plan = plan_survey(four, [channel], theta, target="2", n=1000)
    assert plan.designs[0].standard_error == pytest.approx(math.sqrt(limit.marginal[1, 1] / 1000), rel=1e-12)
    assert plan.designs[0].privacy_level == 1.0
    p = four.probabilities(theta)
    assert plan_survey(four, [channel], theta, target=Share(3), n=1).direct.unit_error ** 2 == pytest.approx(
        p[3] * (1 - p[3]), rel=1e-9
    )


def test_power_is_at_least_the_level_and_grows() -> None:
    powers = [
        plan_survey(YES_NO, [Warner("2/3")], [0.3], target="yes", n=n, effect=0.3).designs[0].power
        for n in (1, 100, 1000, 10_000)
    ]
    assert powers == sorted(powers)  # type: ignore[type-var]
    assert powers[0] == pytest.approx(0.05, abs=0.01)


def test_rough_marks_few_cases_of_the_rarer_answer() -> None:
    def rough(n: int) -> bool:
        return plan_survey(YES_NO, [Warner("2/3")], [logit(0.05)], target=Share("yes"), n=n).direct.rough

    assert rough(100)  # 5 cases
    assert not rough(400)  # 20 cases


# -- designs at one level, descriptions --------------------------------------------------------------------------------


def test_every_yes_no_design_of_the_registry_can_be_planned() -> None:
    """But for those that have no level: Mangat's and the triangular one."""
    designs = [entry for entry in entries() if issubclass(entry.channel_class, _YesNoDesign)]
    expected = [entry.kind for entry in designs if np.isfinite(entry.build(entry.examples[0]).privacy_level)]
    assert list(yes_no_kinds()) == expected


@given(st.floats(0.05, 8))
@settings(max_examples=30, deadline=None)
def test_designs_at_one_level_are_at_that_level_and_tell_equally_much(level: float) -> None:
    channels = [design_at_level(kind, level) for kind in yes_no_kinds()]
    for channel in channels:
        assert level * (1 - 1e-9) <= channel.privacy_level <= level
    plan = plan_survey(YES_NO, channels, [-1.0], target=Share("yes"), n=1000)
    reference = RandomizedResponse.for_privacy_level(level, outputs=["no", "yes"])
    expected = plan_survey(YES_NO, [reference], [-1.0], target=Share("yes"), n=1000).designs[0].unit_error
    assert [design.unit_error for design in plan.designs] == pytest.approx([expected] * len(channels), rel=1e-7)


def test_described_columns_are_as_described() -> None:
    texts = ["age:normal(40,15)", " educ : uniform(0, 10) ", "female:bernoulli(0.3)"]
    columns = sample_covariates(texts, np.random.default_rng(1))
    assert list(columns) == ["age", "educ", "female"]
    assert columns["age"].mean() == pytest.approx(40, abs=0.05)
    assert columns["age"].std() == pytest.approx(15, abs=0.1)
    assert columns["educ"].std() == pytest.approx(10 / math.sqrt(12), abs=0.01)
    assert columns["female"].mean() == pytest.approx(0.3, abs=0.0005)
    assert abs(np.corrcoef(np.array(list(columns.values())))[0, 1]) < 0.08
    again = sample_covariates(texts, np.random.default_rng(1))
    np.testing.assert_array_equal(columns["age"], again["age"])


@given(st.floats(0.001, 0.999), st.floats(-3, 3))
@settings(max_examples=40, deadline=None)
def test_the_intercept_gives_the_prevalence(prevalence: float, effect: float) -> None:
    guess = guess_survey(prevalence, {"age": effect}, {"age": np.linspace(-2, 5, 50)})
    share = guess.model.probabilities(guess.theta, guess.x)[:, 1].mean()
    assert share == pytest.approx(prevalence, rel=1e-8)


def test_plot(tmp_path: Path) -> None:
    channels = [design_at_level(kind, 1) for kind in yes_no_kinds()]
    plan = plan_survey(YES_NO, channels, [-1.0], target=Share("yes"), n=1000)
    plot_plan(plan, tmp_path / "plan.png")
    assert (tmp_path / "plan.png").read_bytes().startswith(b"\x89PNG")
