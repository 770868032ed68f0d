"""Lists beside a direct question: exact frequencies, the combined estimator by hand, and its placebo tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from askance import ListExperiment, regress
from askance.errors import InputError

from .test_list_methods import ITEMS, exact_fit, hidden_shares

SHARE, HONEST = 0.4, 0.25


def survey(n: int = 4000) -> dict[str, Any]:
    """As many as the design says in both groups: nobody else admits."""
    design = ListExperiment(3, direct="asked")
    p = hidden_shares(design, trait=[1 - SHARE, SHARE], items=ITEMS, honest=[1 - HONEST, HONEST])
    rows = []
    for group, channel in design.arms.items():
        for label, share in zip(channel.observations.labels, channel.matrix @ p, strict=True):
            said, count = str(label).split(" & ")
            rows += [(group, said, int(count))] * round(n * share)
    group_, said_, count_ = zip(*rows, strict=True)
    return {"treated": list(group_), "asked": list(said_), "n": list(count_)}


def test_trait_and_honesty() -> None:
    design = ListExperiment(3, direct="asked")
    fit = exact_fit(design, hidden_shares(design, trait=[0.6, 0.4], items=ITEMS, honest=[0.75, 0.25]), n=4000)
    assert fit.shares("trait").estimate[1] == pytest.approx(SHARE, abs=1e-7)
    assert fit.shares("honest").estimate[1] == pytest.approx(HONEST, abs=1e-7)
    read = regress("n ~ 1", survey(), design, arm="treated")
    np.testing.assert_allclose(read.theta, fit.theta, atol=1e-7)
    alone = exact_fit(ListExperiment(3), hidden_shares(ListExperiment(3), trait=[0.6, 0.4], items=ITEMS), n=4000)
    assert read.shares("trait").standard_error[1] < alone.shares("trait").standard_error[1]


def test_the_combined_estimator() -> None:
    """Among 1 − d who deny, 30/90 are carriers; errors by the delta method from the four means."""
    data, design = survey(), ListExperiment(3, direct="asked")
    fit = regress("n ~ 1", data, design, arm="treated", method="moments")
    share = fit.shares("trait")
    assert share.estimate[1] == pytest.approx(SHARE, abs=1e-9)
    d = SHARE * HONEST
    tau = SHARE * (1 - HONEST) / (1 - d)
    treated, asked, n = (np.array(data[key]) for key in ("treated", "asked", "n"))
    variances = [n[(asked == "no") & (treated == t)].var() / ((asked == "no") & (treated == t)).sum() for t in (0, 1)]
    expected = (1 - tau) ** 2 * d * (1 - d) / len(n) + (1 - d) ** 2 * sum(variances)
    assert share.standard_error[1] ** 2 == pytest.approx(expected * len(n) / (len(n) - 1), rel=1e-9)
    weighted = regress("n ~ 1", {**data, "w": np.ones(len(n)), "id": np.arange(len(n))}, design, arm="treated",
                       method="moments", weights="w", cluster="id")  # fmt: skip
    assert weighted.shares("trait").standard_error[1] == pytest.approx(share.standard_error[1], rel=1e-9)


def test_placebo_tests() -> None:
    fit = regress("n ~ 1", survey(), ListExperiment(3, direct="asked"), arm="treated")
    told = [message for message in fit.messages if message.startswith("placebo")]
    assert len(told) == 2
    assert "adds 1.000" in told[0]
    assert "by 0.000" in told[1]
    assert not any("fails" in message for message in told)
    data = survey()
    rows = [i for i, (t, said) in enumerate(zip(data["treated"], data["asked"], strict=True)) if t and said == "yes"]
    for i in rows:  # who admits says one item less on the list
        data["n"][i] -= 1
    lying = regress("n ~ 1", data, ListExperiment(3, direct="asked"), arm="treated", method="moments")
    assert any("adds 0.000" in message and "fails" in message for message in lying.messages)


def placebo(admitting: int, spread: int, **more: Any) -> list[str]:
    """Of 60 per group so many admit; their counts are 1, or 2 if treated, and up to `spread` more."""
    counts, said = np.arange(60) % 3, np.where(np.arange(60) < admitting, "yes", "no")
    counts = np.where(said == "yes", 1 + np.arange(60) % (1 + spread), counts)
    data = {"n": [*counts, *(counts + (said == "yes"))], "asked": [*said, *said], "treated": [0] * 60 + [1] * 60}
    fit = regress("n ~ 1", {**data, "w": 0.5 + np.arange(120) % 7 / 3}, ListExperiment(3, direct="asked"),
                  arm="treated", method="moments", **more)  # fmt: skip
    return [message for message in fit.messages if message.startswith("placebo")]


@pytest.mark.parametrize("admitting", [0, 1, 4])
def test_no_placebo_test_of_few(admitting: int) -> None:
    """Nor their figures, which would show what they said."""
    told = placebo(admitting, 1)
    assert len(told) == 2
    assert all(message.endswith("cannot be told: too few admit it") for message in told)
    assert not any("P =" in message or "." in message for message in told)
    assert all(message.endswith("too few deny it") for message in placebo(60 - 4, 1))


def test_no_placebo_test_of_rounding() -> None:
    """Who admits and says the same as others of the group has an error of 0, up to the last bits of weights."""
    assert "adds 1.000" in placebo(6, 1)[0]
    among, changes = placebo(6, 0, weights="w")
    assert among.endswith("cannot be told: answers do not vary within groups")
    assert "P =" in changes


def test_direct_lists_with_covariates_have_a_likelihood_alone() -> None:
    data = survey()
    data["old"] = np.arange(len(data["n"])) % 2
    design = ListExperiment(3, direct="asked")
    assert "honest:old" in regress("n ~ old", data, design, arm="treated").parameter_names
    with pytest.raises(InputError, match="moments without covariates"):
        regress("n ~ old", data, design, arm="treated", method="moments")
    with pytest.raises(InputError, match="nothing"):
        regress("n ~ old", {**data, "asked": data["asked"]}, ListExperiment(3, direct="nothing"), arm="treated")
