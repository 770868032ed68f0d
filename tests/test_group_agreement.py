"""Whether groups fit together: Pearson's test without covariates, and what is said where they do not."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from askance import (
    CheatingDetection,
    Direct,
    ForcedResponse,
    HiddenFit,
    ListExperiment,
    Responses,
    StochasticLieDetector,
    estimate,
    regress,
)
from askance.errors import InputError, RepairWarning
from askance.survey import group_agreement

THREE = CheatingDetection(["1/5", "1/2", "4/5"])


def counted(design: Any, counts: dict[Any, list[int]], **options: Any) -> HiddenFit:
    evidence: Responses[Any] = Responses(design.arms)
    for group, own in counts.items():
        said = np.repeat(np.array(design.arms[group].observations.labels), own)
        more = {name: np.tile(values, len(said))[: len(said)] for name, values in options.items()}
        evidence = evidence.add(np.ones((len(said), 1)), said, arm=[group] * len(said), **more)
    fit: HiddenFit = estimate(design.model(["Intercept"]), evidence)
    return fit


def test_without_covariates_it_is_pearson() -> None:
    """Σ (observed − expected)² / expected over all reports, to within 1e-6: both are forms in the same residuals."""
    counts = {1: [640, 360], 2: [520, 480], 3: [290, 710]}
    found = group_agreement(counted(THREE, counts))
    assert found.test is not None
    expected = found.expected.reshape(3, 2) * 1000
    pearson = float(((np.array(list(counts.values())) - expected) ** 2 / expected).sum())
    assert found.test.degrees_of_freedom == 1
    assert found.test.statistic == pytest.approx(pearson, rel=1e-6)
    assert found.test.p_value == pytest.approx(chi2.sf(pearson, 1), rel=1e-5)
    np.testing.assert_allclose(found.observed.reshape(3, 2) * 1000, np.array(list(counts.values())), rtol=1e-9)
    assert "the groups do not fit together: χ² = 8.42 on 1 df" in found.message
    assert "71.0 %" in found.summary()


def test_lists_are_pearson_too() -> None:
    """Cells 2 · 3 + 1 free, items and answer independent: J degrees of freedom."""
    counts = {0: [90, 210, 260, 140], 1: [70, 200, 240, 160, 30]}
    found = group_agreement(counted(ListExperiment(3, groups=[0, 1]), counts))
    assert found.test is not None
    seen = np.concatenate(list(counts.values()))
    expected = found.expected * np.repeat([700, 700], [4, 5])
    assert found.test.degrees_of_freedom == 3
    assert found.test.statistic == pytest.approx(float(((seen - expected) ** 2 / expected).sum()), rel=1e-6)


def test_groups_that_are_no_more_than_parameters_are_not_tested() -> None:
    found = group_agreement(counted(CheatingDetection(["1/5", "7/10"]), {1: [280, 220], 2: [125, 375]}))
    assert found.test is None
    assert found.message == ""
    np.testing.assert_allclose(found.observed, found.expected, atol=1e-6)


def test_weights_and_clusters() -> None:
    """Equal weights: nearly the same; everybody twice in clusters of two: nearly everybody once; with fewer, F."""
    counts = {1: [640, 360], 2: [520, 480], 3: [290, 710]}
    plain, even = group_agreement(counted(THREE, counts)), group_agreement(counted(THREE, counts, weights=[1.0]))
    assert plain.test is not None
    assert even.test is not None
    assert even.test.statistic == pytest.approx(plain.test.statistic, rel=0.02)
    for clusters in (1000, 30):
        evidence: Responses[Any] = Responses(THREE.arms)
        for group, own in counts.items():
            said = np.repeat(np.repeat(np.array(["no", "yes"]), own), 2)
            place = np.arange(2000) // 2 % clusters + clusters * group
            evidence = evidence.add(np.ones((2000, 1)), said, arm=[group] * 2000, clusters=place)
        twice = group_agreement(estimate(THREE.model(["Intercept"]), evidence))
        assert twice.test is not None
        if clusters == 1000:
            assert twice.test.statistic == pytest.approx(plain.test.statistic, rel=0.02)
        else:
            assert twice.test.denominator == 89
            assert "F = " in twice.message


def test_what_intercepts_do_not_move_is_tested_with_covariates() -> None:
    """The degrees of freedom are those without covariates; a third group that does not follow the design is found."""
    rng = np.random.default_rng(4)
    n, group = 3000, np.arange(3000) % 3 + 1
    x = rng.normal(size=n)
    trait = rng.random(n) < 1 / (1 + np.exp(0.5 - x))
    cheats = rng.random(n) < 0.15
    forced = rng.random(n) < np.array([0.2, 0.5, 0.8])[group - 1]
    said = np.where(~cheats & (trait | forced), "yes", "no")
    fit = regress("said ~ x", {"said": said, "x": x, "group": group}, THREE, arm="group")
    (message,) = [text for text in fit.messages if text.startswith("the groups")]
    assert message.startswith("the groups fit together: χ²")
    assert " on 1 df" in message
    wrong = np.where((group == 3) & (rng.random(n) < 0.4), "no", said)
    fit = regress("said ~ x", {"said": wrong, "x": x, "group": group}, THREE, arm="group")
    assert any(text.startswith("the groups do not fit together: χ²") for text in fit.messages)


@pytest.mark.parametrize("outcome", ["category", "number"])
def test_arms_of_a_hidden_cause_that_disagree_are_told(outcome: str) -> None:
    """Through the dice 40 % have it, asked directly 15 %: reports alone tell."""
    rng = np.random.default_rng(6)
    dice, n = ForcedResponse("2/3", "1/6"), 1600
    arm = np.where(np.arange(n) % 2, "dice", "direct")
    trait = np.where(rng.random(n) < 0.4, "yes", "no")
    admits = np.where(rng.random(n) < 0.375, trait, "no")
    y = (
        (rng.random(n) < np.where(trait == "yes", 0.7, 0.3)).astype(float)
        if outcome == "category"
        else rng.normal(size=n)
    )
    designs = {"dice": dice, "direct": Direct(["no", "yes"])}
    data = {"arm": arm, "y": y}
    for truth, expected in ((trait, "the groups fit together"), (admits, "the groups do not fit together")):
        said = np.where(arm == "dice", dice.simulate(trait, rng), truth)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit = regress("y ~ hidden(said)", data | {"said": said}, designs, arm="arm", outcome=outcome)
        (message,) = [text for text in fit.messages if text.startswith("the groups")]
        assert message.startswith(expected)
        assert " on 1 df" in message


def test_refused() -> None:
    with pytest.raises(InputError, match="HiddenFit"):
        group_agreement(3)  # type: ignore[arg-type]


def test_groups_the_wrong_way_round_are_told_at_the_end_of_a_share() -> None:
    """No share makes those say yes more often who say no more often by design; nobody with the trait is possible."""
    design = StochasticLieDetector(["4/5", "1/5"])
    with pytest.warns(RepairWarning):
        fit = counted(design, {1: [230, 770], 2: [650, 350]})
    found = group_agreement(fit)
    assert found.test is None
    assert found.message.startswith("no shares give such reports in these groups: χ² = ")
    assert "on at most 2 df" in found.message
    assert found.message.endswith("or the groups are the wrong way round")
    for counts in ({1: [16, 4], 2: [4, 16]}, {1: [810, 190], 2: [195, 805]}, {1: [825, 175], 2: [180, 820]}):
        with pytest.warns(RepairWarning):
            possible = group_agreement(counted(design, counts))
        assert "no shares" not in possible.message
