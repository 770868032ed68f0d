"""Profile intervals: closed forms for shares, and boundaries."""

from __future__ import annotations

import numpy as np
import pytest

from askance import Direct, Responses, estimate
from askance.channels.hidden_designs import CheatingDetection
from askance.errors import RepairWarning
from askance.models.hidden import Factor, HiddenVariables

from .test_hidden_designs import fitted

Z2 = 3.841458820694124


def test_nobody_says_yes() -> None:
    """2 n log(1/(1 − p)) ≤ z², and no lower end."""
    model = HiddenVariables([Factor("trait", ["no", "yes"], ["Intercept"])])
    evidence = Responses(Direct(["no", "yes"])).add(np.ones((50, 1)), ["no"] * 50)
    with pytest.warns(RepairWarning):
        fit = estimate(model, evidence)
    lower, upper = fit.profile_interval("trait:Intercept")
    share = 1 - np.exp(-Z2 / 100)
    assert lower == -np.inf
    assert upper == pytest.approx(np.log(share / (1 - share)), abs=1e-6)


def test_a_share_inside() -> None:
    """Both ends have the deviance z²."""
    model = HiddenVariables([Factor("trait", ["no", "yes"], ["Intercept"])])
    fit = estimate(model, Responses(Direct(["no", "yes"])).add(np.ones((50, 1)), ["no"] * 40 + ["yes"] * 10))
    for end in fit.profile_interval("trait:Intercept"):
        p = 1 / (1 + np.exp(-end))
        deviance = 2 * (10 * np.log(0.2 / p) + 40 * np.log(0.8 / (1 - p)))
        assert deviance == pytest.approx(Z2, abs=1e-5)


def test_nobody_cheats() -> None:
    """Frequencies of exactly no cheaters: the lower end is infinite, the upper one finite and small."""
    design = CheatingDetection(["1/5", "7/10"])
    with pytest.warns(RepairWarning):
        fit = fitted(design, {1: [560, 440], 2: [210, 790]})
    lower, upper = fit.profile_interval("cheats:Intercept")
    assert lower == -np.inf
    assert 1 / (1 + np.exp(-upper)) < 0.15
    for confidence in (0.05, 0.5):  # where a prior acted, θ̂ is not where the likelihood is highest
        assert fit.profile_interval("cheats:Intercept", confidence)[0] == -np.inf
        assert fit.profile_interval("cheats:Intercept", confidence)[1] < upper
    ends = fit.profile_interval("trait:Intercept")
    assert ends[0] < np.log(3 / 7) < ends[1]
