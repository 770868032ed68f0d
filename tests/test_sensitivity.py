"""Other readings of the design, and the test that the reports fit it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from askance import Direct, Enumerated, ForcedResponse, MatrixChannel, RandomizedResponse, Responses, Softmax, Tally
from askance.errors import InputError
from askance.survey.misfit import channel_fit_test
from askance.survey.sensitivity import plot_sensitivity, sensitivity, with_bias, with_noncompliance

DESIGN = ForcedResponse("2/3", "1/6")


def test_noncompliance_mixes_two_channels_exactly() -> None:
    truth = with_noncompliance(DESIGN, "1/4", "truth")
    np.testing.assert_allclose(truth.matrix, 0.75 * DESIGN.matrix + 0.25 * np.eye(2), atol=1e-15)
    refuse = with_noncompliance(DESIGN, "1/4", "refuse")
    np.testing.assert_allclose(refuse.matrix, 0.75 * DESIGN.matrix + 0.25 * np.array([[1, 1], [0, 0]]), atol=1e-15)
    chance = with_noncompliance(DESIGN, "1/4", "random")
    np.testing.assert_allclose(chance.matrix, 0.75 * DESIGN.matrix + 0.125, atol=1e-15)
    assert with_noncompliance(DESIGN, 0, "truth").fingerprint == DESIGN.fingerprint


def test_a_biased_device_is_the_design_with_another_probability() -> None:
    assert with_bias(DESIGN, "truth", "1/12") == ForcedResponse("3/4", "1/6")
    assert with_bias(DESIGN, "yes", "-1/12") == ForcedResponse("2/3", "1/12")
    with pytest.raises(InputError, match="allowed: truth, yes, no"):
        with_bias(DESIGN, "outputs", 0.1)


def test_the_right_reading_recovers_the_truth_that_the_planned_one_misses() -> None:
    """Reports from a crowd of whom a tenth always say no: exact frequencies, so no noise."""
    real = with_noncompliance(DESIGN, "1/10", "refuse")
    counts = np.round(10**12 * real.apply(np.array([0.6, 0.4]))).astype(int)
    model = Enumerated.saturated(DESIGN.outputs)
    table = sensitivity(model, Tally(DESIGN, counts), shares=["1/10"], biases={"truth": ["0.05"]})
    names = [scenario.name for scenario in table.scenarios]
    assert names == ["as planned", "10 % truth", "10 % refuse", "10 % random", "truth +0.05"]
    shares = 1 / (1 + np.exp(-table.estimates()[:, 0]))
    assert shares[names.index("10 % refuse")] == pytest.approx(0.4, abs=1e-6)
    assert shares[0] < 0.36
    assert table.shifts()[0, 0] == 0
    assert table.to_json()["parameters"] == ["yes"]


def test_regressions_are_reread_too_and_drawn(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = np.column_stack([np.ones(2000), rng.normal(size=2000)])
    truth = np.where(rng.random(2000) < 1 / (1 + np.exp(1 - x[:, 1])), "yes", "no")
    evidence = Responses(DESIGN).add(x, DESIGN.simulate(truth, rng))
    table = sensitivity(Softmax(DESIGN.outputs, ["Intercept", "age"]), evidence, shares=[0.05])
    assert table.estimates().shape == (4, 2)
    plot_sensitivity(table, "age", str(tmp_path / "age.png"))
    assert (tmp_path / "age.png").stat().st_size > 5000
    with pytest.raises(InputError, match="no parameter 'sex'"):
        plot_sensitivity(table, "sex")


def test_scenarios_that_identify_nothing_are_shown_as_such() -> None:
    model = Enumerated.saturated(DESIGN.outputs)
    table = sensitivity(model, Tally(DESIGN, [600, 400]), shares=[1], behaviours=["random"])
    assert table.scenarios[1].fit is None
    assert np.isnan(table.estimates()[1]).all()


def test_frequencies_within_reach_give_no_reason_to_doubt() -> None:
    result = channel_fit_test(Tally(DESIGN, [640, 360]))
    assert result.statistic == pytest.approx(0, abs=1e-9)
    assert result.p_value == 1
    np.testing.assert_allclose(result.possible, result.observed)
    assert channel_fit_test(Tally(Direct(3), [5, 1, 0])).p_value == 1


def test_frequencies_out_of_reach_are_noticed() -> None:
    result = channel_fit_test(Tally(DESIGN, [930, 70]))
    assert result.p_value == pytest.approx(0.001)
    np.testing.assert_allclose(result.shares, [1, 0], atol=1e-9)
    assert "device" in result.message
    x = np.column_stack([np.ones(1000), np.arange(1000)])
    reports = ["no"] * 930 + ["yes"] * 70
    assert channel_fit_test(Responses(DESIGN).add(x, reports)).p_value == pytest.approx(0.001)


def test_overidentified_channels_are_tested_inside_too() -> None:
    """Three observations of two outputs: most frequencies are out of reach."""
    channel = MatrixChannel([[0.5, 0.25], [0.25, 0.5], [0.25, 0.25]])
    assert channel_fit_test(Tally(channel, [400, 350, 250])).p_value == 1
    assert channel_fit_test(Tally(channel, [300, 300, 400])).p_value == pytest.approx(0.001)


def test_the_level_of_the_test_holds() -> None:
    """At the boundary (nobody says yes) a 5 % test rejects at most 5 %: 400 surveys, false-alarm rate 1e-6."""
    rng = np.random.default_rng(1)
    channel = RandomizedResponse("1/2", outputs=3)
    rejections = 0
    for counts in rng.multinomial(500, channel.apply(np.array([0.5, 0.5, 0.0])), size=400):
        rejections += channel_fit_test(Tally(channel, counts), replicates=99, rng=rng).p_value <= 0.05
    assert binom.sf(rejections - 1, 400, 0.05) > 1e-6
