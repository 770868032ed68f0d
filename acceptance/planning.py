"""Plans are kept: simulated surveys of the planned size have the planned standard error and the planned power."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from acceptance.check import Figure, check
from askance import (
    Enumerated,
    ForcedResponse,
    LinearModel,
    MomentRelease,
    RandomField,
    RandomizedResponse,
    Responses,
    Softmax,
    Tally,
    UnrelatedQuestion,
    estimate,
    estimate_field,
    estimate_linear,
)
from askance._arrays import FloatArray
from askance.channels import FiniteChannel
from askance.channels.statistics.base import StatisticsChannel
from askance.errors import RepairWarning
from askance.planning import Plan, PlannedDesign, Share, plan, plan_survey
from askance.planning.subject import PlannedMethod

# Figures may miss the plan by this many standard deviations of the simulation. With 40 figures one false alarm in some
# hundred runs.
_SIGMAS = 3.5
# Beyond the simulation's own error: the plan is a limit, and n is finite.
_FINITE_SAMPLE = 0.02
POWER = 0.8
METHODS: tuple[PlannedMethod, ...] = ("one-step", "moments")


class Case(NamedTuple):
    """A survey to plan: who is asked, how, and the coefficient to detect."""

    label: str
    model: Softmax
    theta: FloatArray
    channel: FiniteChannel
    draw: Callable[[int, np.random.Generator], FloatArray]
    coefficient: str
    share: str


class Met(NamedTuple):
    """What simulated surveys gave: deviations over planned standard errors, share of detections, share repaired."""

    coefficient: FloatArray
    share: FloatArray
    detected: float
    repaired: float


def _people(n: int, rng: np.random.Generator) -> FloatArray:
    return np.column_stack([np.ones(n), rng.normal(size=n), rng.random(n) < 0.5])


def _cases() -> list[Case]:
    yes_no, terms = ["no", "yes"], ["Intercept", "age", "female"]
    binary, four = Softmax(yes_no, terms), Softmax(["never", "once", "some", "often"], terms)
    theta = np.array([-1.0, 0.3, -0.5])
    effects = np.array([-0.2, 0.3, 0.2, -0.5, 0.4, 0.0, -0.8, 0.5, -0.3])
    return [
        Case("logistic, forced response", binary, theta, ForcedResponse("2/3", "1/6"), _people, "age", "yes"),
        Case("logistic, unrelated", binary, theta, UnrelatedQuestion("3/4", "1/4"), _people, "female", "yes"),
        Case(
            "logistic, level 1",
            binary,
            theta,
            RandomizedResponse.for_privacy_level(1, outputs=yes_no),
            _people,
            "age",
            "yes",
        ),
        Case(
            "4 categories, level 2",
            four,
            effects,
            RandomizedResponse.for_privacy_level(2, outputs=four.outputs),
            _people,
            "often:age",
            "often",
        ),
    ]


def simulate_plan(
    case: Case, planned: PlannedDesign, planned_share: PlannedDesign, method: str, count: int, rng: np.random.Generator
) -> Met:
    """Ask `planned.n` new people in each survey, estimate, and test the coefficient."""
    model, n = case.model, planned.n
    place = model.parameter_names.index(case.coefficient)
    output = model.outputs.code(case.share)
    truth_of_share = float(model.probabilities(case.theta, case.draw(1_000_000, rng))[:, output].mean())
    coefficients, shares = np.empty(count), np.empty(count)
    detected = repaired = 0
    for i in range(count):
        x = case.draw(n, rng)
        cumulative = model.probabilities(case.theta, x).cumsum(axis=1)
        codes = (rng.random(n)[:, None] > cumulative[:, :-1]).sum(axis=1)
        reports = case.channel.simulate(model.outputs.decode(codes), rng)
        fit = estimate(model, Responses(case.channel).add(x, reports), method)
        coefficients[i] = fit.theta[place] - case.theta[place]
        shares[i] = model.probabilities(fit.theta, x)[:, output].mean() - truth_of_share
        lower, upper = fit.confidence_interval(0.95)
        detected += bool(lower[place] > 0 or upper[place] < 0)
        repaired += fit.diagnostics.repaired
    errors = coefficients / planned.standard_error, shares / planned_share.standard_error
    return Met(*errors, detected / count, repaired / count)


def _ratio(deviations: FloatArray) -> tuple[float, float]:
    """Empirical over planned standard error, and the standard deviation of that ratio (by its kurtosis)."""
    spread = float(deviations.std(ddof=1))
    centred = (deviations - deviations.mean()) / spread
    return spread, spread * math.sqrt((float((centred**4).mean()) - 1) / (4 * len(deviations)))


@check("planning")
def planning(rng: np.random.Generator, simulations: int) -> Iterator[Figure]:
    """Empirical over planned standard error of a coefficient and of a share, and the power, at the planned n."""
    count = max(2000, simulations // 5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RepairWarning)
        for case in _cases():
            x = case.draw(20_000, rng)
            for method in METHODS:
                arguments = case.model, [case.channel], case.theta, x
                plan = plan_survey(*arguments, target=case.coefficient, method=method, power=POWER)
                planned = plan.designs[0]
                share = plan_survey(*arguments, target=Share(case.share), method=method, n=planned.n)
                met = simulate_plan(case, planned, share.designs[0], method, count, rng)
                name = f"{method}, {case.label}, n = {planned.n:,}"
                note = f"{count:,} surveys, repaired {met.repaired:.1%}"
                for what, errors in ((case.coefficient, met.coefficient), (f"share of {case.share}", met.share)):
                    ratio, error = _ratio(errors)
                    reach = _SIGMAS * error + _FINITE_SAMPLE
                    yield Figure("planning", f"s.e. of {what} / planned: {name}", ratio, 1 - reach, 1 + reach, note)
                reach = _SIGMAS * math.sqrt(POWER * (1 - POWER) / count) + _FINITE_SAMPLE
                goal = f"power for {case.coefficient}, planned {POWER:g}: {name}"
                yield Figure("planning", goal, met.detected, POWER - reach, POWER + reach, note)


# -- any model and channel ---------------------------------------------------------------------------------------------

# Beyond the simulation's own error, for models whose figures are root mean squares over several numbers.
_CLOSE = 0.05


class Survey(NamedTuple):
    """A plan with one channel, and how a survey of its size is simulated: estimates of the target's numbers."""

    label: str
    plan: Plan
    simulate: Callable[[PlannedDesign, np.random.Generator], FloatArray]


def _logistic(rng: np.random.Generator) -> Iterator[Survey]:
    model, theta = Softmax(["no", "yes"], ["Intercept", "age"]), np.array([-0.8, 0.5])

    def draw(n: int, rng: np.random.Generator) -> FloatArray:
        return np.column_stack([np.ones(n), rng.normal(size=n)])

    def simulate(row: PlannedDesign, rng: np.random.Generator) -> FloatArray:
        channel, x = row.channel, draw(row.n, rng)
        assert isinstance(channel, FiniteChannel)
        truth = np.where(rng.random(row.n) < model.probabilities(theta, x)[:, 1], "yes", "no")
        return estimate(model, Responses(channel).add(x, channel.simulate(truth, rng))).theta[1:]

    x = draw(20_000, rng)
    yield Survey(
        "logistic, forced response, slope",
        plan(model, ForcedResponse("2/3", "1/6"), theta, x, target="age", standard_error=0.1),
        simulate,
    )


def _four_categories() -> Iterator[Survey]:
    model, theta = Enumerated.saturated(["never", "once", "some", "often"]), np.array([-0.4, -0.2, -1.0])
    probabilities = model.probabilities(theta)

    def simulate(row: PlannedDesign, rng: np.random.Generator) -> FloatArray:
        # Counts of reports are multinomial: the same law as noising everybody, and much quicker.
        channel = row.channel
        assert isinstance(channel, FiniteChannel)
        counts = rng.multinomial(row.n, channel.apply(probabilities))
        return estimate(model, Tally(channel, counts), row.method).theta

    for name in ("randomized-response", "optimal"):
        planned = plan(model, name, theta, privacy_level=1, standard_error=0.1)
        yield Survey(f"4 categories, {name}, all parameters", planned, simulate)


def _field() -> Iterator[Survey]:
    field = RandomField({"smokes": 2, "age": 3, "ill": 2}, [["smokes", "age"], ["smokes", "ill"]])
    theta = np.log([2.0, 2, 2, 1, 1, 1, 3, 1, 1, 1])

    def simulate(row: PlannedDesign, rng: np.random.Generator) -> FloatArray:
        channel = row.channel
        assert isinstance(channel, StatisticsChannel)
        reports = channel.simulate(field.sample(theta, row.n, rng), rng)
        return estimate_field(field, Tally(channel).add(reports), covariance=False).statistics

    for name in ("cliques", "records"):
        planned = plan(field, name, theta, privacy_level=2, standard_error=0.008)
        yield Survey(f"field, {name}, tables", planned, simulate)


def _regression(rng: np.random.Generator) -> Iterator[Survey]:
    field = LinearModel(2, x_bounds=(-4, 4), y_bounds=(-8, 8), scales=([0, 0, 0], [1, 1, 2]))
    theta, deviation = np.array([0.5, 1.0, -0.7]), 1.0

    def simulate(row: PlannedDesign, rng: np.random.Generator) -> FloatArray:
        release = row.channel
        assert isinstance(release, MomentRelease)
        x = rng.normal(size=(row.n, 2))
        y = theta[0] + x @ theta[1:] + deviation * rng.normal(size=row.n)
        return estimate_linear(release, release.simulate(x, y, rng)).theta[1:2]

    x = rng.normal(size=(4_000, 2))
    for level, error in ((4, 0.04), (2, 0.07)):
        guess = [*theta, deviation]
        planned = plan(field, "quadratic", guess, x, privacy_level=level, target="x0", standard_error=error)
        yield Survey(f"regression, quadratic at level {level}, coefficient", planned, simulate)


def _spread(estimates: FloatArray, planned: float) -> tuple[float, float]:
    """Empirical over planned standard error, root mean square over numbers, and the deviation of that ratio."""
    centred = (estimates - estimates.mean(axis=0)) / planned
    squares = (centred**2).mean(axis=1) * len(centred) / (len(centred) - 1)
    ratio = math.sqrt(float(squares.mean()))
    return ratio, float(squares.std(ddof=1)) / (2 * ratio * math.sqrt(len(squares)))


@check("planning-models")
def planning_models(rng: np.random.Generator, simulations: int) -> Iterator[Figure]:
    """Empirical over planned standard error at the planned n: what `plan` promises is what fits have."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RepairWarning)
        for survey in (*_logistic(rng), *_four_categories(), *_field(), *_regression(rng)):
            row = survey.plan.designs[0]
            count = max(100, simulations // 5)
            estimates = np.array([survey.simulate(row, rng) for _ in range(count)])
            ratio, error = _spread(estimates, row.standard_error)
            reach = _SIGMAS * error + _CLOSE
            case = f"s.e. / planned: {survey.label}, {row.method}, n = {row.n:,}"
            note = f"ratio ± {error:.4f}, {count:,} surveys"
            yield Figure("planning-models", case, ratio, 1 - reach, 1 + reach, note)
