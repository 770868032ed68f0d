"""Surveys with several designs: rows of every arm, and what is said about them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from askance import (
    Crosswise,
    Direct,
    Drawn,
    ForcedResponse,
    Kuk,
    Responses,
    Softmax,
    Together,
    arm_agreement,
    estimate,
    regress,
)
from askance._arrays import AnyArray
from askance.channels.hidden_designs import CrosswiseControl, StochasticLieDetector
from askance.channels.list_experiment import ListExperiment
from askance.errors import AskanceWarning, InputError, LabelError, NotIdentifiedError
from askance.survey.fit_results import fit_results

DICE, DIRECT, CARDS = ForcedResponse("2/3", "1/6"), Direct(["no", "yes"]), Crosswise("1/6")
DESIGNS: dict[str, Any] = {"dice": DICE, "direct": DIRECT, "cards": CARDS}


def survey(n: int = 3000, shift: float = 0.0) -> dict[str, Any]:
    """Answers in three ways; `shift` is what being asked directly adds to the log-odds."""
    rng = np.random.default_rng(7)
    age, version = rng.normal(size=n), rng.choice(list(DESIGNS), size=n)
    odds = -0.5 + 0.8 * age + shift * (version == "direct")
    truth = np.where(rng.random(n) < 1 / (1 + np.exp(-odds)), "yes", "no")
    said = truth.astype(object)
    for name, design in DESIGNS.items():
        said[version == name] = design.simulate(truth[version == name], rng)
    return {"said": said, "age": age, "version": version}


def test_arms_are_one_fit() -> None:
    data = survey()
    fit = regress("said ~ age", data, DESIGNS, arm="version")
    x = np.column_stack([np.ones(len(data["age"])), data["age"]])
    usual = estimate(
        Softmax(["no", "yes"], ["Intercept", "age"]), Responses(DESIGNS).add(x, data["said"], arm=data["version"])
    )
    np.testing.assert_array_equal(fit.theta, usual.theta)
    np.testing.assert_array_equal(fit.covariance, usual.covariance)
    (message,) = [message for message in fit.messages if message.startswith("the arms")]
    assert message.startswith("the arms agree: χ² = ")
    assert "on 2 df" in message
    assert message.endswith("(score test)")


def test_waves_with_other_dice_weights_and_clusters() -> None:
    """The same as the parts together: two dice, several cards, a part asked directly; clusters span arms."""
    designs = {
        "wave 1": DICE,
        "wave 2": ForcedResponse("3/4", "1/8"),
        "cards": Kuk("4/5", "3/10", draws=3),
        "d": DIRECT,
    }
    rng, n = np.random.default_rng(5), 3000
    old, version = rng.integers(0, 2, n), rng.choice(list(designs), n)
    weight, village = rng.uniform(0.5, 2, n), rng.integers(0, 60, n)
    truth = np.where(rng.random(n) < np.where(old == 1, 0.4, 0.2), "yes", "no")
    said = truth.astype(object)
    for name, design in designs.items():
        said[version == name] = design.simulate(truth[version == name], rng)
    data = {"said": said.tolist(), "old": old, "version": version, "weight": weight, "village": village}
    fit = regress("said ~ old", data, designs, arm="version", weights="weight", cluster="village")
    x = np.column_stack([np.ones(n), old])
    parts = [
        Responses(design).add(
            x[version == name],
            said[version == name].tolist(),
            weights=weight[version == name],
            clusters=village[version == name],
        )
        for name, design in designs.items()
    ]
    together = estimate(Softmax(["no", "yes"], ["Intercept", "old"]), Together(*parts))
    assert fit.covariance_kind == "cluster-robust"
    np.testing.assert_allclose(fit.theta, together.theta, rtol=1e-9)
    np.testing.assert_allclose(fit.covariance, together.covariance, rtol=1e-9)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (Direct(["never", "ever"]), "arm 'cards' is about 'never', 'ever', arm 'dice' about 'no', 'yes'"),
        (Direct(["no", "maybe", "yes"]), "allowed: the same answers in the same order"),
        (
            StochasticLieDetector(["1/5", "4/5"]),
            "arm 'cards' is a stochastic-lie-detector, which has groups of its own",
        ),
    ],
)
def test_arms_are_about_the_same_answers(other: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        regress("said ~ age", survey(100), {**DESIGNS, "cards": other}, arm="version")


@pytest.mark.parametrize("weights", [None, "weight"])
def test_groups_of_respondents_asked_in_several_ways(weights: str | None) -> None:
    """Rows of evidence stand by arm, rows of the table as they came: groups must follow."""
    data = survey()
    data["region"] = np.where(np.random.default_rng(3).random(3000) < 0.4, "north", "south")
    data["weight"] = np.random.default_rng(4).uniform(1, 2, 3000)
    fit = regress("said ~ age + C(region)", data, DESIGNS, arm="version", weights=weights)
    p = fit.predict(data).estimate
    w = np.ones(3000) if weights is None else data["weight"]
    shares = fit.prevalence(by="region")
    for place, name in enumerate(shares.groups):
        inside = data["region"] == name
        np.testing.assert_allclose(shares.estimate[place], np.average(p[inside], axis=0, weights=w[inside]))


def test_arms_that_tell_something_else_are_named() -> None:
    """A shift of 2 log-odds among 1,000: more than ten standard errors."""
    fit = regress("said ~ age", survey(shift=2.0), DESIGNS, arm="version")
    (message,) = [message for message in fit.messages if message.startswith("the arms")]
    assert message.startswith("the arms do not agree")


def test_arms_that_go_with_a_covariate_are_not_compared() -> None:
    fit = regress("said ~ C(version)", survey(), DESIGNS, arm="version")
    assert "whether the arms agree cannot be told: they go with covariates" in fit.messages
    with pytest.raises(NotIdentifiedError, match="they go with covariates"):
        arm_agreement(fit)


def counted(counts: dict[str, list[int]]) -> dict[str, Any]:
    """A table of so many no and yes in every arm."""
    sizes = [n for own in counts.values() for n in own]
    arms = [arm for arm in counts for _ in range(2)]
    return {"said": np.repeat(["no", "yes"] * len(counts), sizes), "version": np.repeat(arms, sizes)}


def test_how_far_arms_are_apart() -> None:
    """Without covariates every arm has the share of its own frequencies, and differences add their variances."""
    counts = {"dice": [620, 380], "direct": [780, 220], "again": [700, 300]}
    designs = {"dice": DICE, "direct": DIRECT, "again": DIRECT}
    fit = regress("said ~ 1", counted(counts), designs, arm="version", method="marginal")
    told = arm_agreement(fit)
    yes = np.array([0.38, 0.22, 0.3])
    slope = np.array([1.5, 1.0, 1.0])
    share, error = (yes - [1 / 6, 0, 0]) * slope, np.sqrt(yes * (1 - yes) / 1000) * slope
    assert told.arms == ("dice", "direct", "again")  # two arms of one design are two arms
    np.testing.assert_allclose(told.n_respondents, 1000)
    np.testing.assert_allclose(told.share[:, 1], share, atol=1e-9)
    np.testing.assert_allclose(told.share_error[:, 1], error, rtol=1e-6)
    np.testing.assert_allclose(told.difference[1:, 1], share[1:] - share[0], atol=1e-9)
    np.testing.assert_allclose(told.difference_error[1:, 1], np.hypot(error[1:], error[0]), rtol=1e-6)
    np.testing.assert_allclose(told.lower, told.difference - 1.959964 * told.difference_error, atol=1e-6)
    odds = np.log(share / (1 - share))
    np.testing.assert_allclose(told.log_odds[1:, 1], odds[1:] - odds[0], atol=1e-8)
    assert np.isnan([told.log_odds[0, 1], told.difference[0, 1]]).all()
    assert told.test.degrees_of_freedom == 2
    assert not told.agree
    text = told.summary()
    assert told.verdict in fit.messages
    assert text.count(told.verdict) == 1
    assert max(map(len, text.splitlines())) <= 100


def test_replicate_weights_have_a_wald_test() -> None:
    """One step from the estimate knows no replicates: the fit is silent, and the second fit tells."""
    data = survey(900)
    chance = np.random.default_rng(12)
    data |= {"w": np.ones(900), **{f"w{j}": chance.uniform(0.5, 1.5, 900) for j in range(8)}}
    drawn = Drawn(weights="w", replicates="w?", replicate_kind="bootstrap")
    fit = regress("said ~ age", data, DESIGNS, arm="version", drawn=drawn)
    told = arm_agreement(fit)
    assert not [message for message in fit.messages if message.startswith("the arms")]
    assert not told.by_scores
    assert told.verdict.endswith("(Wald test)")


def test_the_message_is_the_score_test() -> None:
    """Of frequencies: Σ over arms of score² / information at the common share, less what estimating it takes."""
    counts = {"dice": [620, 380], "direct": [780, 220]}
    fit = regress("said ~ 1", counted(counts), {"dice": DICE, "direct": DIRECT}, arm="version", method="marginal")
    p = fit.prevalence().estimate[0, 1]
    q, slope = np.array([1 / 6 + 2 / 3 * p, p]), np.array([2 / 3, 1.0])
    information = 1000 * slope**2 / (q * (1 - q))
    score = 1000 * slope * (np.array([0.38, 0.22]) - q) / (q * (1 - q))
    statistic = score[1] ** 2 / (information[1] - information[1] ** 2 / information.sum())
    (message,) = [message for message in fit.messages if message.startswith("the arms")]
    assert f"χ² = {statistic:.2f} on 1 df" in message
    assert arm_agreement(fit).test.statistic == pytest.approx(statistic, rel=1e-6)


def test_effects_may_differ_between_arms() -> None:
    """As in fits of every arm alone."""
    data = survey()
    fit = regress("said ~ age", data, DESIGNS, arm="version", method="marginal")
    told = arm_agreement(fit, effects=True)
    alone = []
    for arm, design in DESIGNS.items():
        rows = data["version"] == arm
        alone.append(regress("said ~ age", {k: v[rows] for k, v in data.items()}, design, method="marginal"))
    away = np.array([part.theta[1] - alone[0].theta[1] for part in alone[1:]])
    variance = np.array([part.covariance[1, 1] for part in alone])
    spread = np.diag(variance[1:]) + variance[0]
    assert told.effects is not None
    assert told.effects.degrees_of_freedom == 2
    assert told.effects.statistic == pytest.approx(away @ np.linalg.solve(spread, away), rel=1e-5)
    everybody = [part.prevalence(data).estimate[0] for part in alone]
    np.testing.assert_allclose(told.share, everybody, atol=1e-7)
    assert "effects of covariates" in told.summary()


def test_sparse_covariates_stay_sparse() -> None:
    from scipy import sparse

    data = survey(900)
    x = np.column_stack([np.ones(900), data["age"]])
    model = Softmax(["no", "yes"], ["Intercept", "age"])
    told = []
    for covariates in (x, sparse.csr_array(x)):
        evidence = Responses(DESIGNS).add(covariates, data["said"], arm=data["version"])
        told.append(arm_agreement(estimate(model, evidence), effects=True))
    np.testing.assert_allclose(told[0].share, told[1].share, rtol=1e-9)
    np.testing.assert_allclose(told[0].difference_error, told[1].difference_error, rtol=1e-6)


def test_what_has_no_arms_to_compare() -> None:
    fit = regress("said ~ 1", counted({"dice": [620, 380]}), DICE)
    with pytest.raises(InputError, match="1 arms with respondents; allowed: at least 2"):
        arm_agreement(fit)


def test_names_of_arms_may_hold_anything() -> None:
    data = survey(600)
    data["version"] = np.where(data["version"] == "cards", "a:b", data["version"])
    fit = regress("said ~ age", data, {"dice": DICE, "direct": DIRECT, "a:b": CARDS}, arm="version")
    assert "a:b" in arm_agreement(fit).arms


def test_few_clusters_tell_whether_arms_agree() -> None:
    data = survey(600)
    fit = regress("said ~ age", {**data, "village": np.arange(600) % 6}, DESIGNS, arm="version", cluster="village")
    assert any(message.startswith("the arms agree: F = ") for message in fit.messages)
    assert arm_agreement(fit).test.denominator < 6
    villages = {**data, "village": np.arange(600) % 2}
    with pytest.warns(AskanceWarning, match="2 clusters for 2 parameters"):
        two = regress("said ~ age", villages, DESIGNS, arm="version", cluster="village")
    assert "whether the arms agree cannot be told: there are too few clusters" in two.messages
    assert fit_results(two).arms is None  # and the fit is printed all the same


def test_few_clusters_tell_how_far_arms_are_apart() -> None:
    """A difference that stands in its own errors could be seen no better than by as many as there are clusters."""
    data = survey(shift=2.0)
    fit = regress("said ~ age", {**data, "village": np.arange(3000) % 12}, DESIGNS, arm="version", cluster="village")
    (told,) = [message for message in fit.messages if message.startswith("the arms do not agree: F = ")]
    assert float(told.split()[7]) > 24


def test_groups_that_nobody_is_in() -> None:
    data = {"said": ["yes", "no"] * 50, "group": [1] * 100, "age": list(range(100))}
    with pytest.raises(NotIdentifiedError, match="has no row of 2; the design needs all of 1, 2"):
        regress("said ~ age", data, StochasticLieDetector(["1/5", "4/5"]), arm="group")
    with pytest.raises(InputError, match="without the intercept"):
        regress("said ~ 0 + age", {**data, "group": [1, 2] * 50}, StochasticLieDetector(["1/5", "4/5"]), arm="group")
    one = {"said": ["yes", "no"] * 50, "version": ["dice"] * 100}
    assert "all rows are of one arm, 'dice'" in regress("said ~ 1", one, DESIGNS, arm="version").messages


def test_rows_without_an_arm_are_refused() -> None:
    with pytest.raises(InputError, match=r"positive is given for 'dise'; allowed: the arms 'dice', 'direct', 'cards'"):
        regress("said ~ age", survey(300), DESIGNS, arm="version", positive={"dise": "yes"})
    with pytest.raises(InputError, match="the design has no arms"):
        regress("said ~ age", survey(300), {}, arm="version")
    data = survey(300)
    with pytest.raises(InputError, match=r"3 arms .* Name the column"):
        regress("said ~ age", data, DESIGNS)
    with pytest.raises(InputError, match="one design for all rows"):
        regress("said ~ age", data, DICE, arm="version")
    with pytest.raises(LabelError, match=r"holds 'cards'; the arms of the design are 'dice', 'direct'"):
        regress("said ~ age", data, {"dice": DICE, "direct": DIRECT}, arm="version")


def test_designs_with_nuisances_take_a_formula() -> None:
    rng = np.random.default_rng(11)
    n = 4000
    age, group = rng.normal(size=n), rng.integers(1, 3, n)
    design = StochasticLieDetector(["1/5", "4/5"])
    trait = np.where(rng.random(n) < 1 / (1 + np.exp(0.5 - 0.7 * age)), "yes", "no")
    pairs: AnyArray = np.array(design.combinations(trait, np.where(rng.random(n) < 0.75, "yes", "no")))
    said = np.empty(n, dtype=object)
    for name, channel in design.arms.items():
        said[group == name] = channel.simulate(pairs[group == name], rng)
    fit = regress("said ~ age", {"said": said, "age": age, "group": group}, design, arm="group")
    assert fit.parameter_names == ("trait:Intercept", "trait:age", "honest:Intercept")
    lower, upper = fit.confidence_interval(0.999999)  # false alarms of this fixed draw: below 3e-6
    assert (lower < [-0.5, 0.7, np.log(3)]).all()
    assert (upper > [-0.5, 0.7, np.log(3)]).all()
    assert "trait:age" in fit.summary()


def test_lists_take_a_formula() -> None:
    counts = {0: [1000, 2000, 1000], 1: [875, 1875, 1125, 125]}
    said = np.concatenate([np.repeat(range(len(own)), own) for own in counts.values()])
    treated = np.repeat([0, 1], [4000, 4000])
    fit = regress("n ~ 1", {"n": said, "treated": treated}, ListExperiment(2), arm="treated")
    assert fit.shares("trait").estimate[1] == pytest.approx(0.125, abs=1e-8)


def test_a_control_question_finds_who_answers_at_random() -> None:
    design = CrosswiseControl("1/6")
    assert {arm: list(channel.observations.labels) for arm, channel in design.arms.items()} == {
        "question": ["different", "same"],
        "control": ["different", "same"],
    }


def test_arms_that_are_the_wrong_way_round_do_not_agree() -> None:
    """The share by one of them is 0, where a Wald test of log-odds would find nothing."""
    designs = {"dice": ForcedResponse("2/3", "1/6"), "direct": Direct(["no", "yes"])}
    counts = [950, 50, 600, 400]  # below the forced yes of the die, and above what is true
    data = {
        "said": np.repeat(["no", "yes", "no", "yes"], counts),
        "version": np.repeat(["dice", "dice", "direct", "direct"], counts),
    }
    with pytest.warns(AskanceWarning):
        fit = regress("said ~ 1", data, designs, arm="version")
    found = arm_agreement(fit)
    assert found.by_scores
    assert found.test.p_value < 1e-10
    assert not found.agree
    assert found.verdict in fit.messages
    assert "look whether the arms are the right way round" in found.summary()
