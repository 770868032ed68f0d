"""People who did not answer: bounds that hold whatever is true of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm, t

from askance import Enumerated, ForcedResponse, ListExperiment, RandomizedResponse, Tally, estimate, regress
from askance.errors import InputError
from askance.survey import nonresponse_bounds
from askance.survey.nonresponse import shares_of

from .test_cli import assert_one_line, call, parsed

DESIGN = ForcedResponse("2/3", "1/6")


def fitted(counts: Any = (640, 360)) -> Any:
    return estimate(Enumerated.saturated(DESIGN.outputs), Tally(DESIGN, list(counts)))


def test_bounds_are_what_refusers_could_add() -> None:
    fit = fitted()
    share = fit.probabilities().estimate[1]
    bounds = nonresponse_bounds(fit, 250, between=("1/4", "1/2"))
    np.testing.assert_allclose(bounds.lowest[:, 1], [share, 0.8 * share + 0.05, 0.8 * share], rtol=1e-12)
    np.testing.assert_allclose(bounds.highest[:, 1], [share, 0.8 * share + 0.1, 0.8 * share + 0.2], rtol=1e-12)
    np.testing.assert_allclose(bounds.lowest + bounds.highest[:, ::-1], 1, rtol=1e-12)
    np.testing.assert_allclose(bounds.lower + bounds.upper[:, ::-1], 1, rtol=1e-9)
    assert bounds.readings == ("as those who answered", "25 % to 50 % of them", "anything")
    assert nonresponse_bounds(fit, 250).readings == ("as those who answered", "anything")


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_intervals_hold_wherever_the_share_is(confidence: float) -> None:
    """With normal errors of known size, by integration: the coverage at either end, and between, is at least stated."""
    fit = fitted((64_000, 36_000))
    table = shares_of(fit)
    assert table is not None
    for missing in (0, 10, 1000, 50_000):
        bounds = nonresponse_bounds(fit, missing, confidence=confidence)
        m = missing / (100_000 + missing)
        share, error = table.estimate[1], table.standard_error[1]
        spread = m * (1 - m) / (100_000 + missing)
        low, high = (np.sqrt(((1 - m) * error) ** 2 + (r - share) ** 2 * spread) for r in (0, 1))
        below = (bounds.lowest[-1, 1] - bounds.lower[-1, 1]) / low  # c, at both ends
        assert (bounds.upper[-1, 1] - bounds.highest[-1, 1]) / high == pytest.approx(below, rel=1e-6)
        covered = norm.cdf(below + m / max(low, high)) - norm.cdf(-below)
        assert covered == pytest.approx(confidence, abs=1e-9)
        for place in (0.0, 0.3, 1.0):  # where in the bounds the share is
            truth = bounds.lowest[-1, 1] + place * m
            inside = norm.cdf((truth - bounds.lower[-1, 1]) / low) - norm.cdf((truth - bounds.upper[-1, 1]) / high)
            assert inside >= confidence - 1e-6


def test_few_clusters_have_the_quantiles_of_t() -> None:
    """Where everybody answered the interval is that of the share, of nine clusters."""
    rng = np.random.default_rng(2)
    village = np.repeat(np.arange(9), 60)
    said = DESIGN.simulate(np.where(rng.random(540) < 0.25 + 0.2 * (village % 3 == 0), "yes", "no"), rng)
    fit: Any = regress("said ~ 1", {"said": said, "village": village}, DESIGN, cluster="village")
    table = fit.prevalence(population=True)
    reach = t.ppf(0.975, table.degrees_of_freedom[0, 1]) * table.standard_error[0, 1]
    bounds = nonresponse_bounds(fit, 0)
    assert bounds.upper[0, 1] == pytest.approx(table.estimate[0, 1] + reach, rel=1e-9)
    assert bounds.upper[1, 1] == pytest.approx(bounds.upper[0, 1], rel=1e-6)
    # The share who did not answer is known better than that: its part adds to the degrees of freedom.
    errors = bounds.upper[1, 1] - bounds.highest[1, 1]
    assert errors > norm.ppf(0.975) * table.standard_error[0, 1]


def test_the_missing_count_by_their_weights() -> None:
    rng = np.random.default_rng(3)
    data = {"said": DESIGN.simulate(np.where(np.arange(400) % 4 == 0, "yes", "no"), rng), "w": 1.0 + np.arange(400) % 2}
    fit: Any = regress("said ~ 1", data, DESIGN, weights="w")
    table = shares_of(fit)
    assert table is not None
    missing = np.repeat([1.0, 5.0], 50)  # 300 of 900
    share, (low, high) = table.estimate[1], (0.0, 1.0)
    bounds = nonresponse_bounds(fit, missing)
    assert bounds.missing == 100
    np.testing.assert_allclose([bounds.lowest[1, 1], bounds.highest[1, 1]], [2 / 3 * share, 2 / 3 * share + 1 / 3])
    every = np.concatenate([data["w"], missing])
    gone = np.arange(500) >= 400
    variance = (every**2 * (gone - 1 / 3) ** 2).sum() / 900**2
    errors = [np.sqrt((2 / 3 * table.standard_error[1]) ** 2 + (r - share) ** 2 * variance) for r in (low, high)]
    below, above = bounds.lowest[1, 1] - bounds.lower[1, 1], bounds.upper[1, 1] - bounds.highest[1, 1]
    assert below / errors[0] == pytest.approx(above / errors[1], rel=1e-9)
    assert norm.cdf(below / errors[0] + 1 / 3 / max(errors)) - norm.cdf(-below / errors[0]) == pytest.approx(0.95)
    # A number: they weigh as much as those who answered, 1.5 on average.
    plain = nonresponse_bounds(fit, 100)
    assert plain.highest[1, 1] - plain.lowest[1, 1] == pytest.approx(0.2)
    with pytest.raises(InputError, match="weights of a fit without any"):
        nonresponse_bounds(fitted(), [1.0, 2.0])


def test_nobody_refused() -> None:
    bounds = nonresponse_bounds(fitted(), 0)
    np.testing.assert_allclose(bounds.lowest, bounds.highest)
    np.testing.assert_allclose(bounds.lower[0], bounds.lower[1], rtol=1e-6)


def test_several_answers_and_other_fits() -> None:
    answers = RandomizedResponse("1/2", outputs=["a", "b", "c"])
    fit = estimate(Enumerated.saturated(answers.outputs), Tally(answers, [500, 300, 200]))
    bounds = nonresponse_bounds(fit, 100, between=(0.1, 0.4))
    assert bounds.lowest.shape == (3, 3)
    assert len(bounds.table().rows) == 9
    rng = np.random.default_rng(2)
    treated, trait = rng.integers(0, 2, 2000), rng.random(2000) < 0.3
    data = {"count": rng.binomial(2, 0.5, 2000) + treated * trait, "treated": treated, "age": rng.normal(size=2000)}
    listed = regress("count ~ 1", data, ListExperiment(2), arm="treated")
    width = nonresponse_bounds(listed, 500).highest[-1, 1] - nonresponse_bounds(listed, 500).lowest[-1, 1]
    assert width == pytest.approx(0.2)
    said = DESIGN.simulate(np.where(trait, "yes", "no"), rng)
    regression = regress("said ~ age", {"said": said, "age": data["age"]}, DESIGN)
    share = regression.prevalence(population=True).estimate[0, 1]
    assert nonresponse_bounds(regression, 500).lowest[-1, 1] == pytest.approx(0.8 * share, rel=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"missing": -1}, "missing"),
        ({"missing": 3, "between": (0.5, 0.2)}, "between is .* allowed: the lower limit first"),
        ({"missing": 3, "between": (0.5, 20)}, "between is 20"),
        ({"missing": 3, "confidence": 95}, "confidence is 95"),
    ],
)
def test_what_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        nonresponse_bounds(fitted(), **options)


def test_the_command(tmp_path: Path) -> None:
    pd.DataFrame({"said": ["yes"] * 360 + ["no"] * 640}).to_csv(tmp_path / "a.csv", index=False)
    common = ["sensitivity", str(tmp_path / "a.csv"), "--formula", "said ~ 1", "--design", "forced-response"]
    common += ["--truth", "2/3", "--yes", "1/6", "--share", "0.1"]
    text = call(*common, "--refused", "250", "--refused-share", "1/4,1/2").out
    assert "Share of all who were asked: 250 of 1,250 did not answer" in text
    assert "25 % to 50 % of them" in text
    told = parsed(call(*common, "--refused", "250", "--json"))["nonresponse"]
    assert told["highest"][1][1] - told["lowest"][1][1] == pytest.approx(0.2)
    assert "nonresponse" not in parsed(call(*common, "--json"))
    assert_one_line(call(*common, "--refused-share", "0.1,0.2"), ("--refused",))
    assert_one_line(call(*common, "--refused", "3", "--refused-share", "0.1"), ("two shares",))
    for limits in ("30,60", "0.6,0.3"):
        refused = call(*common, "--refused", "3", "--refused-share", limits)
        assert_one_line(refused, (f"--refused-share is '{limits}'; allowed: two shares from 0 to 1, the lower",))
