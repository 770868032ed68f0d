"""What follows if some did not follow the instructions: for every design, arm by arm, and where more is hidden."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from askance import (
    CheatingDetection,
    Crosswise,
    CrosswiseControl,
    Direct,
    Enumerated,
    ForcedResponse,
    ListExperiment,
    StochasticLieDetector,
    Tally,
    load,
    regress,
    save,
)
from askance.channels import entries
from askance.errors import InputError
from askance.survey import sensitivity, with_noncompliance
from askance.survey.readings import refusals

from .test_cli import assert_one_line, call

DICE, CARDS, OPEN = ForcedResponse("2/3", "1/6"), Crosswise("1/6"), Direct(["no", "yes"])
ARMS = {"dice": DICE, "cards": CARDS, "open": OPEN}
YES_NO = [
    pytest.param(entry.build(example), id=f"{entry.kind} {number}")
    for entry in entries()
    for number, example in enumerate(entry.examples)
    if len(entry.build(example).outputs) == 2
]


@pytest.mark.parametrize("design", YES_NO)
def test_every_yes_no_design_finds_what_a_reading_hides(design: Any) -> None:
    model = Enumerated.saturated(design.outputs)
    truth = np.array([0.7, 0.3])
    behaviours: list[Any] = ["refuse", "random"]
    for behaviour in behaviours:
        real = with_noncompliance(design, "1/10", behaviour)
        counts = np.round(10**8 * real.apply(truth)).astype(np.int64)
        table = sensitivity(model, Tally(design, counts), shares=["1/10"], behaviours=[behaviour], method="marginal")
        shares = table.scenarios[1].shares()
        assert shares is not None
        assert shares.estimate[1] == pytest.approx(0.3, abs=1e-4)


def reread(fit: Any, **options: Any) -> Any:
    return sensitivity(fit.model, fit.evidence, **options)


def test_a_loaded_fit_holds_no_respondents(tmp_path: Path) -> None:
    save(regress("said ~ 1", {"said": ["yes", "no"] * 50}, DICE), tmp_path / "a.fit")
    with pytest.raises(InputError, match=r"evidence is None; .* A fit that was loaded holds no respondents"):
        reread(load(tmp_path / "a.fit"))


def in_proportion(channel: Any, law: Any, n: int = 4000) -> list[Any]:
    """Reports as often as a channel and a law of its outputs give them."""
    times = np.round(n * channel.apply(np.asarray(law))).astype(int)
    return [label for label, count in zip(channel.observations.labels, times, strict=True) for _ in range(count)]


def asked(arms: dict[Any, Any], law: Any, behaviour: Any = None, refuse_as: Any = None) -> dict[str, Any]:
    """A survey with arms in which a tenth behaves otherwise."""
    said: list[Any] = []
    group: list[Any] = []
    for arm, channel in arms.items():
        label = refuse_as[arm] if isinstance(refuse_as, dict) else refuse_as
        real = channel if behaviour is None else with_noncompliance(channel, "1/10", behaviour, refuse_as=label)
        said += in_proportion(real, law)
        group += [arm] * (len(said) - len(group))
    return {"said": said, "arm": group}


@pytest.mark.parametrize("behaviour", ["refuse", "random", "truth"])
def test_arms_are_reread_together(behaviour: Any) -> None:
    fit = regress("said ~ 1", asked(ARMS, [0.7, 0.3], behaviour), ARMS, arm="arm", method="marginal")
    table = reread(fit, shares=["1/10"], behaviours=[behaviour], method="marginal")
    planned, other = (scenario.shares() for scenario in table.scenarios)
    assert planned is not None
    assert other is not None
    assert other.estimate[1] == pytest.approx(0.3, abs=1e-3)
    assert abs(planned.estimate[1] - 0.3) > 0.004
    assert table.to_json()["scenarios"][1]["channel"]["kind"] == "several"
    assert table.summary().count("share of yes") == 1


def test_refusals_of_arms_are_named() -> None:
    fit = regress("said ~ 1", asked(ARMS, [0.7, 0.3]), ARMS, arm="arm")
    names = [s.name for s in reread(fit, shares=["0.1"], behaviours=["refuse"]).scenarios]
    assert names == ["as planned", "10 % refuse (dice: no, cards: same, open: no)"]
    chosen = {"dice": "no", "cards": "different", "open": "no"}
    other = reread(fit, shares=["0.1"], behaviours=["refuse"], refuse_as=chosen)
    assert other.scenarios[1].refuse_as == chosen
    with pytest.raises(InputError, match="refuse_as is given for"):
        reread(fit, refuse_as={"dice": "no"})
    with pytest.raises(InputError, match="refuse_as is 'no'; allowed: 'different', 'same'"):
        reread(fit, refuse_as="no")


def test_a_bias_of_one_arm() -> None:
    fit = regress("said ~ 1", asked(ARMS, [0.7, 0.3]), ARMS, arm="arm")
    table = reread(fit, shares=[], biases={"truth": ["-0.05"]})
    assert table.scenarios[1].arms["cards"] is CARDS
    assert table.summary().endswith("truth -0.05 means truth 0.6167, yes 0.1917, no 0.1917 in arm dice")
    with pytest.raises(InputError, match="has no probability 'thruth'"):
        reread(fit, shares=[], biases={"thruth": ["-0.05"]})


def combined(design: Any, trait: float, other: Any) -> Any:
    """The law of combinations, the rest independent of the trait."""
    return np.outer([1 - trait, trait], other).ravel()


HIDDEN = {
    "cheating": (CheatingDetection(["1/4", "3/4"]), [0.8, 0.2], ("no", "no")),
    "lies": (StochasticLieDetector(["1/5", "4/5"]), [0.4, 0.6], ("no", "no")),
    "crosswise": (CrosswiseControl("1/6"), [0.9, 0.1], ("same", "same")),
    "list": (ListExperiment(2), [0.2, 0.5, 0.3], (0, 0)),
}


@pytest.mark.parametrize("behaviour", ["refuse", "random"])
@pytest.mark.parametrize("name", HIDDEN)
def test_designs_with_more_hidden_find_what_a_reading_hides(name: str, behaviour: Any) -> None:
    design, others, refused = HIDDEN[name]
    labels = dict(zip(design.arms, refused, strict=True))
    data = asked(design.arms, combined(design, 0.3, others), behaviour, labels)
    fit = regress("said ~ 1", data, design, arm="arm")
    table = reread(fit, shares=["1/10"], behaviours=["truth", behaviour])
    assert len(table.scenarios) == 2  # the truth is nothing that such reports can tell
    other = table.scenarios[1]
    assert other.refuse_as == (refused[0] if behaviour == "refuse" else None)
    shares = other.shares()
    assert shares is not None
    assert shares.estimate[1] == pytest.approx(0.3, abs=4e-3)
    assert other.test.p_value > 0.05


def test_lists_by_command(tmp_path: Path) -> None:
    design = ListExperiment(2)
    data = asked(design.arms, combined(design, 0.3, [0.2, 0.5, 0.3]))
    pd.DataFrame({"count": data["said"], "long": data["arm"]}).to_csv(tmp_path / "a.csv", index=False)
    words = ["sensitivity", str(tmp_path / "a.csv"), "--formula", "count ~ 1", "--design", "list-experiment"]
    words += ["--items", "2", "--treated", "long", "--share", "0.1"]
    text = call(*words).out
    assert "10 % refuse (0)" in text
    assert (
        text.splitlines()[-1] == "below shares: 95 % intervals, given covariates; below coefficients: standard errors"
    )
    assert_one_line(call(*words, "--method", "linear"), ("not to means of counts. Leave --method out",))


def test_what_a_nuisance_stands_for_already_changes_nothing() -> None:
    for name, behaviour in (("cheating", "refuse"), ("crosswise", "random")):
        design, others, _ = HIDDEN[name]
        fit = regress("said ~ 1", asked(design.arms, combined(design, 0.3, others)), design, arm="arm")
        table = reread(fit, shares=["0.02"], behaviours=[behaviour])
        estimates = table.estimates()
        assert estimates[1, 0] == pytest.approx(estimates[0, 0], abs=1e-5)
        assert estimates[1, 1] < estimates[0, 1] - 0.01


def test_groups_that_tell_nothing_of_the_trait_follow_those_that_do() -> None:
    from askance.survey.readings import Trait

    design = CrosswiseControl("5/6")
    values = design.model(["Intercept"]).values[0]
    assert refusals(design.arms, Trait(values, "no"), None) == {"question": "different", "control": "different"}
