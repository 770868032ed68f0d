"""Every design of RRreg, on surveys simulated with it: shares (RRuni) and regressions (RRlog), against R's answers.

Estimates agree to 1e-4 and standard errors, from the observed information as R's are, to 0.5 %. Where R stops short of
the maximum or has no errors, the likelihood says so.
"""

from __future__ import annotations

import csv
import gzip
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

from askance import (
    CheatingDetection,
    Crosswise,
    Direct,
    ForcedResponse,
    Kuk,
    Mangat,
    RandomizedResponse,
    StochasticLieDetector,
    Triangular,
    UnrelatedQuestion,
    UnrelatedQuestionUnknown,
    Warner,
    regress,
)
from askance.channels.armed_design import TRAIT, ArmedDesign

from .real_data import needs_data

#: The designs by their names in RRreg, with the chances of the simulated surveys.
PLAIN = {
    "Warner": Warner("1/5"),
    "UQTknown": UnrelatedQuestion("7/10", "3/10"),
    "Mangat": Mangat("7/10"),
    "Kuk": Kuk("4/5", "3/10"),
    "FR": ForcedResponse("7/10", "1/5", "1/10"),
    "Crosswise": Crosswise("1/6", observations=[0, 1]),
    "Triangular": Triangular("1/6", observations=[0, 1]),
}
#: Those with groups of their own: the design, its nuisance, and what shares and regressions of R call that.
GROUPED: dict[str, tuple[ArmedDesign, str, str, str]] = {
    "UQTunknown": (UnrelatedQuestionUnknown(["4/5", "3/10"]), "other", "piUQ", "pi"),
    "SLD": (StochasticLieDetector(["1/5", "4/5"]), "honest", "t", "t"),
    "CDM": (CheatingDetection(["1/5", "7/10"]), "cheats", "gamma", "gamma"),
    "CDMsym": (CheatingDetection(["1/5", "1/2"], ["1/10", "3/10"]), "cheats", "gamma", "gamma"),
}


class Answer(NamedTuple):
    """What R says of one parameter; NaN where it says nothing."""

    estimate: float
    error: float
    log_likelihood: float


@pytest.fixture(autouse=True)
def _data() -> None:
    needs_data("r_answers.csv")


@cache
def answers(case: str, function: str) -> dict[str, Answer]:
    with open(needs_data("r_answers.csv"), encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if (row["case"], row["function"]) == (case, function)]
    figures = ("estimate", "std_error", "log_likelihood")
    return {row["parameter"]: Answer(*(float(row[name] or "nan") for name in figures)) for row in rows}


@cache
def survey(case: str, name: str = "r_designs.csv.gz") -> dict[str, list[Any]]:
    with gzip.open(needs_data(name), "rt", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if case in (row.get("model"), row.get("case"))]
    return {column: [float(row[column] or "nan") for row in rows] for column in list(rows[0])[1:]}


def fitted(case: str, formula: str) -> Any:
    design, arm = (PLAIN[case], None) if case in PLAIN else (GROUPED[case][0], "group")
    return regress(formula, survey(case), design, arm=arm, method="marginal", covariance="observed")


def assert_as_in_r(ours: tuple[float, float], theirs: Answer) -> None:
    assert ours[0] == pytest.approx(theirs.estimate, abs=1e-4)
    if np.isfinite(theirs.error):
        assert ours[1] == pytest.approx(theirs.error, rel=0.005)


# -- shares ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", PLAIN)
def test_shares(case: str) -> None:
    shares = fitted(case, "response ~ 1").prevalence()
    theirs = answers(case, "RRuni")
    assert_as_in_r((shares.estimate.ravel()[1], shares.standard_error.ravel()[1]), theirs.get("pi") or theirs["pi1"])


@pytest.mark.parametrize("case", ["UQTunknown", "SLD"])
def test_shares_with_nuisances(case: str) -> None:
    fit, (_, nuisance, name, _) = fitted(case, "response ~ 1"), GROUPED[case]
    for variable, parameter in ((TRAIT, "pi"), (nuisance, name)):
        shares = fit.shares(variable)
        assert_as_in_r((shares.estimate[1], shares.standard_error[1]), answers(case, "RRuni")[parameter])


@pytest.mark.parametrize("case", ["CDM", "CDMsym"])
def test_shares_with_cheaters(case: str) -> None:
    """π and β of R are shares of all: of those who do not cheat and have the trait, or have it not."""
    fit, theirs = fitted(case, "response ~ 1"), answers(case, "RRuni")
    combinations, cheats = fit.shares(), fit.shares("cheats")
    assert combinations.notes[0] == "answers are those of trait & cheats"
    names = list(fit.model.outputs.labels)
    for parameter, label in (("pi", "yes & no"), ("beta", "no & no")):
        place = names.index(label)
        assert_as_in_r((combinations.estimate[place], combinations.standard_error[place]), theirs[parameter])
    assert_as_in_r((cheats.estimate[1], cheats.standard_error[1]), theirs["gamma"])


def test_five_categories() -> None:
    """Forced to each of five answers with probabilities of their own: the truth with what remains."""
    forced = [0.1, 0.1, 0.05, 0.05, 0.05]
    design = RandomizedResponse("0.65", outputs=5, base_distribution=["2/7", "2/7", "1/7", "1/7", "1/7"])
    np.testing.assert_allclose(design.matrix, 0.65 * np.eye(5) + np.array(forced)[:, None], atol=1e-15)
    data = {"said": [int(value) for value in survey("FR5", "r_designs_other.csv.gz")["response"]]}
    shares = regress("said ~ 1", data, design, method="marginal", covariance="observed").prevalence()
    for k, theirs in enumerate(answers("FR5", "RRuni").values()):
        assert_as_in_r((shares.estimate.ravel()[k], shares.standard_error.ravel()[k]), theirs)


def test_repeated_draws() -> None:
    """R's estimate is a function of the mean count; the distribution of counts tells more."""
    counts = np.array(survey("Kuk5", "r_designs_other.csv.gz")["response"], dtype=np.int64)
    theirs = answers("Kuk5", "RRuni")["pi"]
    assert (counts.mean() / 5 - 0.3) / (0.8 - 0.3) == pytest.approx(theirs.estimate, abs=1e-12)
    assert counts.std() / 5 / 0.5 / np.sqrt(len(counts)) == pytest.approx(theirs.error, rel=0.005)
    design = Kuk("4/5", "3/10", draws=5)
    fit = regress("said ~ 1", {"said": counts}, design, method="marginal", covariance="observed")
    shares = fit.prevalence()
    assert shares.estimate.ravel()[1] == pytest.approx(theirs.estimate, abs=theirs.error)
    assert shares.standard_error.ravel()[1] < theirs.error
    q = design.matrix @ [1 - theirs.estimate, theirs.estimate]
    assert fit.log_likelihood > np.log(q[counts]).sum() + 1e-4


# -- regressions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", PLAIN)
def test_regressions(case: str) -> None:
    fit, theirs = fitted(case, "response ~ cov"), answers(case, "RRlog")
    for place, name in enumerate(("(Intercept)", "cov")):
        assert_as_in_r((fit.theta[place], fit.standard_errors[place]), theirs[name])
    assert fit.log_likelihood == pytest.approx(theirs["cov"].log_likelihood, abs=1e-6)


def log_likelihood(case: str, intercept: float, slope: float, nuisance: float) -> float:
    """Of our model, from its formula, with the nuisance as a share."""
    data, design = survey(case), GROUPED[case][0]
    trait = 1 / (1 + np.exp(-intercept - slope * np.array(data["cov"])))
    hidden = np.stack([(1 - trait) * (1 - nuisance), (1 - trait) * nuisance, trait * (1 - nuisance), trait * nuisance])
    yes = np.stack([channel.matrix[1] for channel in design.arms.values()])
    q = (yes[np.array(data["group"], dtype=np.int64) - 1] * hidden.T).sum(axis=1)
    return float(np.log(np.where(np.array(data["response"]) == 1, q, 1 - q)).sum())


@pytest.mark.parametrize("case", ["UQTunknown", "SLD"])
def test_regressions_with_nuisances(case: str) -> None:
    """R is at the maximum for SLD; for the unrelated question it stops short, by less than a hundredth of an error."""
    fit, theirs, (_, nuisance, _, name) = fitted(case, "response ~ cov"), answers(case, "RRlog"), GROUPED[case]
    share = fit.shares(nuisance)
    ours = [*zip(fit.theta[:2], fit.standard_errors[:2], strict=True), (share.estimate[1], share.standard_error[1])]
    at_theirs = log_likelihood(case, *(theirs[key].estimate for key in ("(Intercept)", "cov", name)))
    at_ours = log_likelihood(case, *(estimate for estimate, _ in ours))
    assert at_ours == pytest.approx(fit.log_likelihood, abs=1e-8)
    assert at_theirs == pytest.approx(theirs["cov"].log_likelihood, abs=1e-8)  # R has the same likelihood
    for (estimate, error), key in zip(ours, ("(Intercept)", "cov", name), strict=True):
        assert error == pytest.approx(theirs[key].error, rel=0.005)
        if case == "SLD":
            assert estimate == pytest.approx(theirs[key].estimate, abs=1e-4)
        else:
            assert estimate == pytest.approx(theirs[key].estimate, abs=0.01 * error)
    assert at_ours > at_theirs + 1e-6 if case == "UQTunknown" else at_ours > at_theirs - 1e-8


@pytest.mark.parametrize("case", ["CDM", "CDMsym"])
def test_rrreg_does_not_reach_the_maximum_with_cheaters(case: str) -> None:
    """Its regression has no standard errors; its nuisance is β of its shares, not γ; ours is far more likely.

    R models the share π(x) of those who do not cheat and have the trait, β = 1 − π(x) − γ: a likelihood of its own,
    whose maximum is found here by another solver, and lies above R's too.
    """
    from scipy.optimize import minimize

    fit, theirs, shares = fitted(case, "response ~ cov"), answers(case, "RRlog"), answers(case, "RRuni")
    assert all(np.isnan(answer.error) for answer in theirs.values())
    assert theirs["gamma"].estimate == pytest.approx(shares["beta"].estimate, abs=1e-12)
    point = [theirs[name].estimate for name in ("(Intercept)", "cov", "gamma")]
    assert fit.log_likelihood > max(log_likelihood(case, *point), theirs["cov"].log_likelihood) + 10
    data, design = survey(case), GROUPED[case][0]
    said, x = np.array(data["response"]), np.array(data["cov"])
    chances = np.stack([channel.matrix[1, [0, 2]] for channel in design.arms.values()])
    told_no, told_yes = chances[np.array(data["group"], dtype=np.int64) - 1].T

    def of_r(theta: Any) -> float:
        pi = 1 / (1 + np.exp(-theta[0] - theta[1] * x))
        q = np.clip(pi * told_yes + (1 - pi - theta[2]) * told_no, 1e-12, 1 - 1e-12)
        return float(-np.log(np.where(said == 1, q, 1 - q)).sum())

    best = minimize(of_r, [-1.0, 0.3, 0.2], method="Nelder-Mead", options={"maxiter": 2000})
    assert -best.fun > max(-of_r(point), theirs["cov"].log_likelihood) + 10
    # The two models differ little here, in what they say of the slope and in how likely they are.
    assert fit.log_likelihood == pytest.approx(-best.fun, abs=2)
    assert best.x[2] == pytest.approx(fit.shares("cheats").estimate[1], abs=0.01)


def test_randomised_beside_direct() -> None:
    """Warner's design where the group is 1, a direct question where it is 0; x is the group as −1 and 1."""
    columns = survey("RRvsDQ", "r_designs_other.csv.gz")
    names = {"response": "response", "response2_or_group": "group", "x": "RRd", "z": "z"}
    data = {name: columns[column] for column, name in names.items()}
    designs = {1: Warner("1/6"), 0: Direct(["no", "yes"])}
    fit = regress("response ~ RRd * z", data, designs, arm="group", method="marginal", covariance="observed")
    theirs = answers("RRvsDQ", "RRlog")
    assert fit.parameter_names == ("Intercept", *list(theirs)[1:])
    for ours, answer in zip(zip(fit.theta, fit.standard_errors, strict=True), theirs.values(), strict=True):
        assert_as_in_r(ours, answer)
    assert fit.log_likelihood == pytest.approx(theirs["z"].log_likelihood, abs=1e-6)
