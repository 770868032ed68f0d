"""Designs with nuisances: shares from exact frequencies; what R says of them is in test_as_in_r."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askance import Responses, estimate, load, regress, save
from askance._arrays import AnyArray
from askance.channels.armed_design import TRAIT
from askance.channels.hidden_designs import (
    CheatingDetection,
    CrosswiseControl,
    HiddenDesign,
    StochasticLieDetector,
    UnrelatedQuestionUnknown,
)
from askance.channels.list_experiment import ListExperiment
from askance.errors import InputError
from askance.estimation.results.hidden_fit import HiddenFit

DESIGNS: dict[str, Callable[[], HiddenDesign]] = {
    "UQTunknown": lambda: UnrelatedQuestionUnknown(["4/5", "3/10"]),
    "SLD": lambda: StochasticLieDetector(["1/5", "4/5"]),
    "CDM": lambda: CheatingDetection(["1/5", "7/10"]),
    "CDMsym": lambda: CheatingDetection(["1/5", "1/2"], ["1/10", "3/10"]),
    "crosswise": lambda: CrosswiseControl("1/6", "1/4"),
}


def fitted(design: HiddenDesign | ListExperiment, counts: dict[Any, list[int]]) -> HiddenFit:
    """From counts of the reports of every group."""
    evidence = Responses(design.arms)
    for group, own in counts.items():
        labels = design.arms[group].observations.labels
        evidence = evidence.add(np.ones((sum(own), 1)), np.repeat(labels, own), arm=group)
    return estimate(design.model(["Intercept"]), evidence)


@pytest.mark.parametrize("name", DESIGNS)
def test_shares_from_exact_frequencies(name: str) -> None:
    """Where every report is as frequent as the design says, trait and nuisance are found to the last digits."""
    design, trait, nuisance = DESIGNS[name](), Fraction(3, 10), Fraction(1, 5)
    hidden = [a * b for a in (1 - trait, trait) for b in (1 - nuisance, nuisance)]
    counts: dict[Any, list[int]] = {}
    for group, channel in design.arms.items():
        shares = [
            sum(Fraction(str(s)) * h for s, h in zip(row, hidden, strict=True))
            for row in channel._described()["matrix"]
        ]
        counts[group] = [int(share * 60_000) for share in shares]
        assert [share * 60_000 for share in shares] == counts[group]
    fit = fitted(design, counts)
    (other,) = design.nuisances
    assert fit.shares(TRAIT).estimate[1] == pytest.approx(0.3, abs=1e-8)
    assert fit.shares(other).estimate[1] == pytest.approx(0.2, abs=1e-8)
    # Two frequencies and two shares: the delta method by hand.
    slopes, noise = np.zeros((2, 2)), np.zeros(2)
    for i, channel in enumerate(design.arms.values()):
        yes = channel.matrix[1].reshape(2, 2)
        slopes[i] = [(yes[1] - yes[0]) @ [0.8, 0.2], [0.7, 0.3] @ (yes[:, 1] - yes[:, 0])]
        q = [0.7, 0.3] @ yes @ [0.8, 0.2]
        noise[i] = q * (1 - q) / 60_000
    errors = np.sqrt(np.diag(np.linalg.inv(slopes) @ np.diag(noise) @ np.linalg.inv(slopes).T))
    for variable, error in zip((TRAIT, other), errors, strict=True):
        assert fit.shares(variable).standard_error[1] == pytest.approx(error, rel=1e-6)


@pytest.mark.parametrize("known", [Fraction(1), Fraction(4, 5)])
def test_an_anchor_from_exact_frequencies(known: Fraction) -> None:
    """Three questions tell trait, random answers and hidden yes apart, whatever share of the anchor is yes."""
    design = CrosswiseControl("1/6", "1/4", anchor="1/10", known=known, guess="2/5")
    trait, random, hides, guess, n = Fraction(3, 10), Fraction(1, 5), Fraction(1, 4), Fraction(2, 5), 30_000
    innocuous = {"question": Fraction(1, 6), "control": Fraction(1, 4), "anchor": Fraction(1, 10)}
    counts, slopes, noise = {}, [], []
    for (group, share), yes in zip(innocuous.items(), (trait, Fraction(0), known), strict=True):
        away = 2 * share - 1
        honest = 1 - share + yes * (1 - hides) * away
        same = random * guess + (1 - random) * honest
        assert (same * n).denominator == 1
        counts[group] = [int((1 - same) * n), int(same * n)]
        asked = (1 - random) * (1 - hides) * away * (group == "question")
        slopes.append([float(asked), float(guess - honest), float(-(1 - random) * yes * away)])
        noise.append(float(same * (1 - same) / n))
    fit = fitted(design, counts)
    names = (TRAIT, "random", "hides")
    assert [fit.shares(name).estimate[1] for name in names] == pytest.approx([0.3, 0.2, 0.25], abs=1e-8)
    # Three frequencies and three shares: the delta method by hand.
    inverse = np.linalg.inv(slopes)
    errors = np.sqrt(np.diag(inverse @ np.diag(noise) @ inverse.T))
    assert [fit.shares(name).standard_error[1] for name in names] == pytest.approx(errors.tolist(), rel=1e-6)


@pytest.mark.parametrize("options", [{"anchor": "1/6"}, {"anchor": "1/6", "known": 0}, {"known": 0}])
def test_an_anchor_needs_its_share(options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="known above 0"):
        CrosswiseControl("1/6", **options)


def test_a_list_from_exact_frequencies() -> None:
    """With items that have any distribution, the share is the difference in means."""
    items = [0.25, 0.5, 0.25]
    control = [int(4000 * p) for p in items]
    treated = [int(4000 * p) for p in np.convolve(items, [0.875, 0.125])]
    fit = fitted(ListExperiment(2), {0: control, 1: treated})
    assert fit.shares(TRAIT).estimate[1] == pytest.approx(0.125, abs=1e-8)
    np.testing.assert_allclose(fit.shares("items").estimate, items, atol=1e-8)
    binomial = fitted(ListExperiment(2, control_law="binomial"), {0: control, 1: treated})
    assert binomial.theta == pytest.approx([np.log(1 / 7), 0.0], abs=1e-7)


@pytest.mark.parametrize("make", [StochasticLieDetector, UnrelatedQuestionUnknown, CheatingDetection])
def test_groups_need_other_chances(make: Callable[..., HiddenDesign]) -> None:
    with pytest.raises(InputError, match="groups"):
        make(["1/5", "1/5"])
    with pytest.raises(InputError, match="names for 2 groups"):
        make(["1/5", "4/5"], groups=["a"])


def test_probabilities_that_leave_no_room() -> None:
    with pytest.raises(InputError, match="leave no room for the truth"):
        CheatingDetection(["4/5", "1/5"], ["1/2", "1/5"])
    with pytest.raises(InputError, match=r"yes is 0\.2"):
        CheatingDetection(0.2)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="1 probabilities for 2 groups"):
        CheatingDetection(["4/5", "1/5"], ["1/2"])


def test_equal_chances_of_a_yes_may_differ_in_those_of_a_no() -> None:
    assert set(CheatingDetection(["1/5", "1/5"], ["1/10", "1/2"]).arms) == {1, 2}


@pytest.mark.parametrize(
    "make",
    [
        lambda groups: StochasticLieDetector(["1/5", "4/5"], groups),
        lambda groups: CrosswiseControl("1/4", groups=groups),
    ],
)
@pytest.mark.parametrize(("groups", "words"), [(["a", "a"], "twice"), (["a"], "1 names"), (["a", "b", "c"], "3 names")])
def test_groups_have_names_of_their_own(make: Callable[..., object], groups: list[str], words: str) -> None:
    with pytest.raises(InputError, match=words):
        make(groups)


def test_groups_of_lists_have_names_of_their_own() -> None:
    """Three names are of two sensitive items."""
    with pytest.raises(InputError, match="twice"):
        ListExperiment(3, groups=["a", "a"])
    with pytest.raises(InputError, match="1 names"):
        ListExperiment(3, groups=["a"])
    assert ListExperiment(3, groups=["a", "b", "c"]).traits == ("b", "c")


def test_dependence_is_true_or_false() -> None:
    with pytest.raises(InputError, match="dependent is 'no'"):
        ListExperiment(3, dependent="no")  # type: ignore[arg-type]


def test_shares_count_everybody_with_their_weight() -> None:
    """Rows that are folded into one count as often as they were, and by their weights."""
    rng = np.random.default_rng(4)
    design, n = CheatingDetection(["1/5", "7/10"]), 4000
    old, group = (rng.random(n) < 0.05).astype(float), rng.integers(1, 3, n)
    trait = np.where(rng.random(n) < np.where(old == 1, 0.9, 0.1), "yes", "no")
    pairs: AnyArray = np.array(design.combinations(trait, ["no"] * n))
    said = np.where(group == 1, design.arms[1].simulate(pairs, rng), design.arms[2].simulate(pairs, rng))
    data = {"said": said, "old": old, "group": group, "weight": np.where(old == 1, 5.0, 1.0)}
    x = np.column_stack([np.ones(n), old])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nobody cheats
        fit = regress("said ~ old", data, design, arm="group")
        weighted = regress("said ~ old", data, design, arm="group", weights="weight")
    assert len(fit.evidence.chunks[0]) < n / 2  # type: ignore[union-attr]
    p = fit.model.probabilities(fit.theta, x)[:, 2:].sum(axis=1)
    assert fit.shares(TRAIT).estimate[1] == pytest.approx(p.mean(), rel=1e-12)
    q = weighted.model.probabilities(weighted.theta, x)[:, 2:].sum(axis=1)
    assert weighted.shares(TRAIT).estimate[1] == pytest.approx(np.average(q, weights=data["weight"]), rel=1e-12)
    with pytest.raises(InputError, match="weights and clusters"):
        weighted.profile_interval("trait:old")


def test_fits_are_saved(tmp_path: Path) -> None:
    """All that is known, but for the reports; a formula codes new data after loading."""
    design = ListExperiment(2, control_law="binomial", dependent=True)
    data = {
        "n": [0, 1, 2, 1, 0, 3, 2, 1, 1, 2] * 40,
        "treated": [0, 0, 0, 0, 0, 1, 1, 1, 1, 1] * 40,
        "old": [0, 1] * 200,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = regress("n ~ old", data, design, arm="treated")
    save(fit, tmp_path / "a.fit")
    again = load(tmp_path / "a.fit")
    assert isinstance(again, HiddenFit)
    np.testing.assert_array_equal(again.theta, fit.theta)
    np.testing.assert_array_equal(again.covariance, fit.covariance)
    assert again.parameter_names == fit.parameter_names
    assert again.summary() == fit.summary()
    x = again.design.matrix({"old": [0, 1]})
    np.testing.assert_array_equal(again.model.probabilities(again.theta, x), fit.model.probabilities(fit.theta, x))
    with pytest.raises(InputError, match="shares needs the covariates"):
        again.shares(TRAIT)
    np.testing.assert_allclose(
        again.shares(TRAIT, {"old": [0, 1]}).estimate, again.shares(TRAIT, [[1, 0], [1, 1]]).estimate, rtol=1e-12
    )
    with pytest.raises(InputError, match="no evidence"):
        again.profile_interval("trait:old")
