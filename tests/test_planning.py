"""`plan`: errors are those of the asymptotics, every unknown is solved back and forth, the impossible is refused."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askance import (
    Enumerated,
    ForcedResponse,
    LinearModel,
    MomentRelease,
    Prior,
    RandomField,
    RandomizedResponse,
    Share,
    Softmax,
    Tally,
    asymptotics,
    certify,
    estimate,
    optimal_channel,
    plan,
    plan_survey,
    recommend,
)
from askance.design import conditional_asymptotics
from askance.estimation.linear import fit_exact
from askance.planning import GuessedDesign
from askance.planning.levels import smallest_level
from askance.planning.regression import residual_deviation

STRONG, THETA = Enumerated([[0, 0, 1, 1], [0, 1, 0, 1]]), [2.0, -1.0]
THREE = Enumerated.saturated(["no", "maybe", "yes"])
_VARIABLES: dict[str, Any] = {"smokes": ["no", "yes"], "age": 3, "ill": 2}
FIELD = RandomField(_VARIABLES, [["smokes", "age"], ["smokes", "ill"]])
TABLES = np.log([2.0, 2, 2, 1, 1, 1, 3, 1, 1, 1])
LINEAR = LinearModel(2, x_bounds=(-3, 3), y_bounds=(-9, 9), scales=([0, 0, 0], [1, 1, 2]), clip=5)
SQUARE = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
COEFFICIENTS = [0.3, 0.8, -0.4, 1.0]  # and the residual deviation
SOFTMAX = Softmax(["a", "b", "c"], ["Intercept", "age"])
AGES = np.column_stack([np.ones(60), np.random.default_rng(1).normal(size=60)])
CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "enumerated": (STRONG, {"theta": THETA}),
    "saturated": (THREE, {"theta": [-0.7, -1.8], "target": Share("yes")}),
    "shares": (THREE, {"theta": [-0.7, -1.8], "target": "shares"}),
    "yes-no": (Enumerated.saturated(["no", "yes"]), {"theta": [-1.0], "target": "yes"}),
    "softmax": (SOFTMAX, {"theta": [0.3, -0.5, 0.1, 1.0], "x": AGES, "target": "b:age"}),
    "softmax-shares": (SOFTMAX, {"theta": [0.3, -0.5, 0.1, 1.0], "x": AGES, "target": "shares"}),
    "field": (FIELD, {"theta": TABLES}),
    "cell": (FIELD, {"theta": TABLES, "target": "smokes,ill=yes,1"}),
    "regression": (LINEAR, {"theta": COEFFICIENTS, "x": SQUARE, "target": "x0"}),
}

# Where there are many channels, those whose levels are sought: one of each sort.
_SOME = ["optimal", "randomized-response", "per-value"]
FAMILIES = {"enumerated": _SOME, "saturated": _SOME, "shares": _SOME, "yes-no": _SOME}


# -- figures -----------------------------------------------------------------------------------------------------------


def test_figures_are_those_of_the_asymptotics() -> None:
    names = ["optimal", "randomized-response", "coordinate-release, tuned", "per-value", "subset-selection"]
    found = plan(STRONG, names, THETA, privacy_level=1, n=1000)
    for row in found.designs:
        assert row.channel is not None
        assert not isinstance(row.channel, MomentRelease | GuessedDesign)
        limit = asymptotics(STRONG, row.channel, THETA)
        sigma = limit.moments if row.method == "moments" else limit.marginal
        assert sigma is not None
        assert row.standard_error == pytest.approx(math.sqrt(np.trace(sigma) / 2 / 1000), rel=1e-12)
        assert row.price == pytest.approx(np.trace(sigma) / np.trace(limit.full), rel=1e-12)
        assert row.interval_width == pytest.approx(2 * 1.959963985 * row.standard_error, rel=1e-9)
        assert row.worst_error == pytest.approx(row.standard_error, rel=1e-12)
        assert row.privacy_level == pytest.approx(1, abs=1e-9)
    assert [row.method for row in found.designs] == ["marginal", "one-step", "moments", "moments", "moments"]


def test_all_that_fit_are_those_of_recommend_and_the_optimum_is_first() -> None:
    found = plan(STRONG, None, THETA, privacy_level=1, n=1000)
    expected = {row.name: row.trace for row in recommend(STRONG, 1, THETA).channels}
    optimum = optimal_channel(STRONG, 1, THETA)
    traces = {row.design: 2 * row.unit_error**2 for row in found.designs}
    assert found.designs[0].design == found.best.design == "optimal"
    assert traces.pop("optimal") == pytest.approx(optimum.value, rel=1e-6)
    assert traces == pytest.approx(expected, rel=1e-9)
    assert "asks for yes or no" in found.skipped["warner"]
    errors = [row.unit_error for row in found.designs]
    assert errors == pytest.approx(sorted(errors), rel=1e-8)


def test_covariates() -> None:
    channel = RandomizedResponse.for_privacy_level(1, outputs=["a", "b", "c"])
    model, given = CASES["softmax"]
    found = plan(model, None, privacy_level=1, n=500, **given)
    limit = conditional_asymptotics(SOFTMAX, channel, given["theta"], AGES)
    assert [row.design for row in found.designs] == ["randomized-response"]
    assert found.designs[0].unit_error ** 2 == pytest.approx(limit.marginal[1, 1], rel=1e-9)
    assert "with covariates" in found.skipped["coordinate-release"]
    assert "without covariates" in found.skipped["optimal"]
    shares = [
        plan(SOFTMAX, channel, given["theta"], AGES, target=Share(label), n=1).designs[0].unit_error ** 2
        for label in "abc"
    ]
    every = plan(SOFTMAX, channel, given["theta"], AGES, target="shares", n=1).designs[0].unit_error ** 2
    assert every == pytest.approx(np.mean(shares), rel=1e-12)


def test_all_shares_are_the_mean_over_single_ones() -> None:
    channel = RandomizedResponse.for_privacy_level(1, outputs=THREE.outputs)
    single = [plan(THREE, channel, [-0.7, -1.8], target=Share(y), n=1) for y in THREE.outputs.labels]
    every = plan(THREE, channel, [-0.7, -1.8], target="shares", n=1)
    p = THREE.probabilities([-0.7, -1.8])
    assert every.direct.unit_error**2 == pytest.approx(np.mean(p * (1 - p)), rel=1e-9)
    assert every.designs[0].unit_error ** 2 == pytest.approx(
        np.mean([each.designs[0].unit_error ** 2 for each in single]), rel=1e-9
    )


def test_the_optimum_is_for_the_target() -> None:
    def error(target: Any, channel: Any) -> float:
        return plan(THREE, channel, [-0.7, -1.8], target=target, n=1).designs[0].unit_error

    for target in ("yes", "maybe", Share("no"), "shares", None):
        own = plan(THREE, "optimal", [-0.7, -1.8], privacy_level=1, target=target, n=1).designs[0]
        others = [plan(THREE, "optimal", [-0.7, -1.8], privacy_level=1, target=t, n=1) for t in ("yes", "maybe", None)]
        # One number alone: the others have a thousandth of the weight, which costs it about a hundredth.
        slack = 1e-6 if target in ("shares", None) else 0.02
        assert all(own.unit_error <= error(target, other.designs[0].channel) * (1 + slack) for other in others)
        assert (
            own.unit_error**2
            <= plan(THREE, None, [-0.7, -1.8], privacy_level=1, target=target, n=1).best.unit_error ** 2 * 1.04
        )


@pytest.mark.parametrize("method", ["moments", "one-step", "marginal"])
def test_methods(method: Any) -> None:
    found = plan(STRONG, "optimal", THETA, privacy_level=1, n=100, method=method)
    assert found.designs[0].method == method
    channel = found.designs[0].channel
    assert channel is not None
    assert not isinstance(channel, MomentRelease | GuessedDesign)
    limit = asymptotics(STRONG, channel, THETA)
    assert method == "marginal" or limit.moments is not None
    sigma = limit.moments if method == "moments" else limit.marginal
    assert sigma is not None
    assert found.designs[0].unit_error ** 2 == pytest.approx(np.trace(sigma) / 2)
    everything = plan(STRONG, None, THETA, privacy_level=1, n=100, method=method)
    assert ("coordinate-release" in everything.skipped) == (method != "moments")


# -- guesses -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_a_prior_of_one_point_is_a_guess(name: str) -> None:
    model, given = CASES[name]
    others = {key: value for key, value in given.items() if key != "theta"}
    by_theta = plan(model, FAMILIES.get(name), privacy_level=1, n=1000, **given)
    by_prior = plan(model, FAMILIES.get(name), privacy_level=1, n=1000, prior=[given["theta"]], **others)
    assert by_prior.to_json() == by_theta.to_json()


def test_errors_are_averaged_in_variance_and_the_worst_is_shown() -> None:
    points = [[2.0, -1.0], [1.0, 0.0]]
    prior = Prior.weighted(points, [3.0, 1.0], dimension=2)
    found = plan(STRONG, four_answers(), prior=prior, n=100)
    single = [plan(STRONG, four_answers(), theta, n=100).designs[0].standard_error for theta in points]
    row = found.designs[0]
    assert row.standard_error**2 == pytest.approx(0.75 * single[0] ** 2 + 0.25 * single[1] ** 2, rel=1e-12)
    assert row.worst_error == pytest.approx(max(single), rel=1e-12)
    assert found.guesses == 2
    assert "worst: the standard error" in found.summary()
    optimum = plan(STRONG, "optimal", prior=prior, privacy_level=1, n=1).designs[0]
    assert 2 * optimum.unit_error**2 == pytest.approx(optimal_channel(STRONG, 1, prior=prior).value, rel=1e-9)


def four_answers() -> RandomizedResponse:
    return RandomizedResponse.for_privacy_level(1, outputs=4)


def test_pilots() -> None:
    channel = RandomizedResponse.for_privacy_level(2, outputs=THREE.outputs)
    fit = estimate(THREE, Tally(channel, [500, 300, 200]))
    by_fit = plan(THREE, channel, fit=fit, target=Share("yes"), n=1000)
    by_hand = plan(THREE, channel, prior=Prior.of_fit(fit), target=Share("yes"), n=1000)
    assert by_fit.to_json() == by_hand.to_json()
    linear = fit_exact(LINEAR, np.repeat(SQUARE, 2, axis=0), SQUARE.repeat(2, axis=0) @ [0.8, -0.4] + [1, -1] * 4)
    assert residual_deviation(linear) == pytest.approx(1)
    found = plan(LINEAR, "quadratic", fit=linear, x=SQUARE, privacy_level=4, n=1000, target="x0")
    assert found.value == pytest.approx(0.8)
    assert found.guesses == 7


# -- back and forth ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_respondents_and_errors_back_and_forth(name: str) -> None:
    model, given = CASES[name]
    for n in (37, 5000):
        bought = plan(model, FAMILIES.get(name), privacy_level=1, n=n, **given)
        for row in bought.designs:
            again = plan(model, row.design, privacy_level=1, standard_error=row.standard_error, **given)
            assert again.designs[0].n == n
            assert again.designs[0].standard_error == row.standard_error
            wide = plan(model, row.design, privacy_level=1, interval_width=row.interval_width, **given)
            assert wide.designs[0].n == n


@pytest.mark.parametrize("name", CASES)
def test_levels_and_errors_back_and_forth(name: str) -> None:
    model, given = CASES[name]
    level = 1.3567
    for row in plan(model, FAMILIES.get(name), privacy_level=level, n=10_000, **given).designs:
        again = plan(model, row.design, n=10_000, standard_error=row.standard_error, **given)
        assert again.unknown == "privacy_level"
        found = again.designs[0]
        assert found.privacy_level == pytest.approx(level, abs=1.01e-4), row.design
        assert found.standard_error <= row.standard_error * (1 + 1e-9)
        assert found.channel is not None
        assert found.privacy_level <= level + 1e-12


@given(st.floats(0.05, 8), st.integers(100, 10**6), st.floats(0.6, 0.99))
@settings(max_examples=25, deadline=None)
def test_power_back_and_forth(level: float, n: int, power: float) -> None:
    model, theta = Enumerated.saturated(["no", "yes"]), [-1.0]
    first = plan(model, "warner", theta, privacy_level=level, target="yes", n=n)
    effect = first.designs[0].standard_error * 3.0
    if effect >= 0.7:
        return
    bought = plan(model, "warner", theta, privacy_level=level, target="yes", n=n, effect=effect)
    reached = bought.designs[0].power
    assert reached is not None
    needed = plan(model, "warner", theta, privacy_level=level, target="yes", power=reached, effect=effect)
    # The formula for n leaves out the chance of a finding on the wrong side, which is tiny here.
    assert needed.designs[0].n == pytest.approx(n, rel=1e-4, abs=1)
    other = plan(model, "warner", theta, privacy_level=level, target="yes", power=power, effect=effect)
    assert other.designs[0].power == pytest.approx(power, abs=0.02)
    assert other.designs[0].power is not None
    assert other.designs[0].power >= power - 1e-9


def test_the_level_found_is_certified_and_just_enough() -> None:
    found = plan(STRONG, ["optimal", "randomized-response"], THETA, n=20_000, standard_error=0.1)
    for row in found.designs:
        assert row.channel is not None
        assert not isinstance(row.channel, MomentRelease | GuessedDesign)
        assert certify(row.channel).privacy_level == pytest.approx(row.privacy_level, abs=1e-9)
        assert row.standard_error <= 0.1
        below = plan(STRONG, row.design, THETA, n=20_000, privacy_level=row.privacy_level - 1.5e-4).designs[0]
        assert below.standard_error > 0.1


def test_no_level_is_smaller_than_a_ten_thousandth() -> None:
    model = Enumerated.saturated(["no", "yes"])
    found = plan(model, ["warner", "optimal"], [0.0], target=Share("yes"), n=10**12, standard_error=0.3)
    assert [row.privacy_level for row in found.designs] == pytest.approx([1e-4, 1e-4], rel=1e-6)


@given(st.floats(-4, 1.3))
@settings(max_examples=40, deadline=None)
def test_smallest_level(exponent: float) -> None:
    edge = 10.0**exponent
    found = smallest_level(lambda level: math.log(edge) - math.log(level))
    assert found is not None
    assert found <= edge + 1e-4
    assert 10_000 % found.denominator == 0
    assert found >= edge * (1 - 1e-12)
    assert smallest_level(lambda level: float(21 - level)) is None
    assert smallest_level(lambda _: -1.0) == Fraction(1, 10_000)
    assert smallest_level(lambda level: float(20 - level)) == 20


JUMPS: dict[str, Callable[[float, float], float]] = {
    "flat": lambda step, edge: 1.0 if step < edge else -1.0,
    "not built below": lambda step, edge: math.inf if step < edge else -1e-9,
    "steep": lambda step, edge: (edge / step) ** 5 - 1,
}


@pytest.mark.parametrize("name", JUMPS)
@given(st.integers(1, 200_000))
@settings(max_examples=40, deadline=None)
def test_smallest_level_of_errors_that_jump(name: str, edge: int) -> None:
    looked_at: list[Fraction] = []

    def excess(level: Fraction) -> float:
        looked_at.append(level)
        return JUMPS[name](float(10_000 * level), edge)

    assert smallest_level(excess) == Fraction(edge, 10_000)
    assert len(looked_at) == len(set(looked_at)) < 60


@given(st.lists(st.floats(-1, 1), min_size=20, max_size=20))
@settings(max_examples=100, deadline=None)
def test_where_errors_rise_and_fall_the_level_found_is_enough_and_the_one_below_is_not(bumps: list[float]) -> None:
    def excess(level: Fraction) -> float:
        return 2 - math.log(10_000 * level) / 4 + bumps[int(level)] if level < 20 else -1.0

    found = smallest_level(excess)
    assert found is not None
    assert excess(found) <= 0
    assert found == Fraction(1, 10_000) or excess(found - Fraction(1, 10_000)) > 0


# -- results -----------------------------------------------------------------------------------------------------------


def test_plan_survey_is_the_same_plan() -> None:
    yes_no, channel = Enumerated.saturated(["no", "yes"]), ForcedResponse("2/3", "1/6")
    front = plan_survey(yes_no, [channel], [-1.0], target=Share("yes"), standard_error=0.02)
    same = plan(yes_no, channel, [-1.0], target=Share("yes"), standard_error=0.02, method="one-step")
    assert front.to_json() == same.to_json()


@pytest.mark.parametrize("name", ["enumerated", "cell", "regression"])
def test_for_people_and_programs(name: str) -> None:
    model, given = CASES[name]
    goals: list[dict[str, Any]] = [
        {"privacy_level": 2, "n": 10**4},
        {"privacy_level": 2, "standard_error": 0.1},
        {"n": 10**6, "standard_error": 0.1},
    ]
    for unknown, goal in zip(("precision", "n", "privacy_level"), goals, strict=True):
        found = plan(model, FAMILIES.get(name), **goal, **given)
        content = json.loads(json.dumps(found.to_json(), allow_nan=False))
        assert len(content["designs"]) == len(found.designs)
        assert content["unknown"] == unknown
        text = str(found)
        assert all(row.design in text for row in found.designs)


@pytest.mark.parametrize("goal", [{"privacy_level": 1, "n": 10**4}, {"n": 10**4, "standard_error": 0.1}])
def test_plot(goal: dict[str, Any], tmp_path: Path) -> None:
    plan(STRONG, FAMILIES["enumerated"], THETA, **goal).plot(tmp_path / "plan.png")
    assert (tmp_path / "plan.png").read_bytes().startswith(b"\x89PNG")
