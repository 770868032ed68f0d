"""Plans are kept: simulated surveys of the planned size have the planned standard error and the planned power."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from acceptance.check import Figure, check
from askance import ForcedResponse, RandomizedResponse, Responses, Softmax, UnrelatedQuestion, estimate
from askance._arrays import FloatArray
from askance.channels import FiniteChannel
from askance.design import PlannedDesign, Share, plan_survey
from askance.design.plan import PlannedMethod
from askance.errors import RepairWarning

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
