"""From sums of noised statistics to means and parameters."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askance import (
    CoordinateRelease,
    Enumerated,
    MatrixChannel,
    PerValue,
    RandomizedResponse,
    Tally,
    Warner,
    estimate,
    estimate_mean,
    load,
    save,
)
from askance.channels import StatisticsChannel
from askance.errors import EmptyDataError, IncompatibleEvidenceError, InputError, NotIdentifiedError, RepairWarning

from .test_cli import assert_one_line, call, parsed

MODEL = Enumerated([[0, 0, 1, 1], [0, 1, 0, 1]])
THETA = np.array([1.0, -0.5])
CHANNELS: dict[str, StatisticsChannel] = {
    "coordinate-release": CoordinateRelease(2, 1),
    "tuned": CoordinateRelease.for_model(MODEL, 1, THETA),
    "per-value": PerValue.for_model(MODEL, 1),
}


def tally_of(channel: StatisticsChannel, n: int, rng: np.random.Generator) -> Tally[StatisticsChannel]:
    truth = MODEL.statistics(MODEL.sample(THETA, n, rng))
    return Tally(channel).add(channel.simulate(truth, rng))


@pytest.mark.parametrize("name", CHANNELS)
@pytest.mark.parametrize("weighting", ["best", "plain"])
def test_theta_is_found_within_its_stated_error(name: str, weighting: str) -> None:
    """Two z-scores below 5.5 each: false alarm below 1e-7 per case."""
    rng = np.random.default_rng([len(name), len(weighting)])
    fit = estimate(MODEL, tally_of(CHANNELS[name], 200_000, rng), weighting=weighting)
    assert fit.method == "moments"
    assert fit.covariance_kind == "expected"
    assert (np.abs(fit.theta - THETA) < 5.5 * fit.standard_errors).all()
    assert fit.standard_errors.max() < 0.1


def test_averages_as_printed_are_wider() -> None:
    tally = tally_of(CHANNELS["coordinate-release"], 50_000, np.random.default_rng(1))
    best, plain = estimate(MODEL, tally), estimate(MODEL, tally, weighting="plain")
    assert np.trace(best.covariance) < np.trace(plain.covariance)


def test_moments_of_no_distribution_are_repaired_and_kept() -> None:
    channel = CHANNELS["coordinate-release"]
    # Most reports about coordinate 0 say that it is 1: a mean above 1.
    tally = Tally(channel, [6, 25, 36, 18], 85)
    with pytest.warns(RepairWarning):
        fit = estimate(MODEL, tally)
    assert fit.raw_statistics is not None
    assert fit.raw_statistics[0] > 1
    assert fit.diagnostics.repaired
    assert np.isfinite(fit.theta).all()
    assert 0 < fit.statistics[0] < 1


@pytest.mark.parametrize("method", ["one-step", "marginal", "supervised", "projection"])
def test_methods_that_need_a_likelihood_are_refused(method: str) -> None:
    with pytest.raises(InputError, match="moments"):
        estimate(MODEL, tally_of(CHANNELS["per-value"], 100, np.random.default_rng(0)), method)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(IncompatibleEvidenceError, match="estimates 3"):
        estimate(MODEL, Tally(CoordinateRelease(3, 1), [1] * 6, 6))
    with pytest.raises(EmptyDataError):
        estimate(MODEL, Tally(CoordinateRelease(2, 1)))
    with pytest.raises(InputError, match="Tally"):
        estimate_mean([1, 2])  # type: ignore[arg-type]
    with pytest.raises(EmptyDataError):
        estimate_mean(Tally(Warner("2/3")))


def test_means_are_the_tallys() -> None:
    tally = tally_of(CHANNELS["per-value"], 1000, np.random.default_rng(0))
    means = estimate_mean(tally)
    assert np.array_equal(means.mean, tally.mean())
    lower, upper = means.confidence_interval(0.9)
    assert np.allclose((upper - lower) / (2 * means.standard_errors), 1.6448536)
    assert "statistic 1" in means.summary()
    assert [row["name"] for row in means.to_json()["statistics"]] == ["statistic 0", "statistic 1"]


def test_a_fit_of_statistics_is_saved_and_loaded(tmp_path: Path) -> None:
    fit = estimate(MODEL, tally_of(CHANNELS["per-value"], 1000, np.random.default_rng(0)))
    save(fit, tmp_path / "a.fit")
    again = load(tmp_path / "a.fit")
    assert np.array_equal(again.theta, fit.theta)  # type: ignore[union-attr]
    assert again.log_likelihood == fit.log_likelihood == -math.inf  # type: ignore[union-attr]
    assert again.channel == fit.channel
    assert "log-likelihood" not in fit.summary()


def test_fit_of_a_state_of_statistics_prints_means(tmp_path: Path) -> None:
    tally = tally_of(CHANNELS["coordinate-release"], 1000, np.random.default_rng(0))
    save(tally, tmp_path / "a.state")
    content = parsed(call("estimate", str(tmp_path / "a.state"), "--json"))
    assert [row["mean"] for row in content["statistics"]] == tally.mean().tolist()
    assert content["privacy_level"] == 1.0
    assert "statistic 0" in call("estimate", str(tmp_path / "a.state")).out


def test_fit_of_a_state_of_answers_prints_shares(tmp_path: Path) -> None:
    tally = Tally(RandomizedResponse("1/2", outputs=["a", "b", "c"])).add(["a"] * 50 + ["b"] * 30 + ["c"] * 20)
    save(tally, tmp_path / "a.state")
    kept = tmp_path / "kept.fit"
    shares = parsed(call("estimate", str(tmp_path / "a.state"), "--json", "--save", str(kept)))["shares"]
    expected = estimate(Enumerated.saturated(["a", "b", "c"]), tally).probabilities()
    assert [row["share"] for row in shares] == expected.estimate.tolist()
    assert kept.exists()
    assert "interval" in call("estimate", str(tmp_path / "a.state")).out


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        (["--formula", "a ~ b"], "formula"),
        (["--design", "warner"], "design"),
        (["--method", "one-step"], "moments"),
        (["--plot", "a.png"], "plot"),
        (["--save", "a.fit"], "save"),
    ],
)
def test_options_that_make_no_sense_with_a_state_are_refused(tmp_path: Path, extra: list[str], words: str) -> None:
    save(tally_of(CHANNELS["per-value"], 100, np.random.default_rng(0)), tmp_path / "a.state")
    assert_one_line(call("estimate", str(tmp_path / "a.state"), *extra), (words,))
    assert not Path("a.fit").exists()


def test_unbiased_shares_of_a_state_of_answers(tmp_path: Path) -> None:
    channel = RandomizedResponse("1/2", outputs=["a", "b", "c"])
    save(Tally(channel, [650, 200, 150]), tmp_path / "a.state")
    state = ("estimate", str(tmp_path / "a.state"))
    found = parsed(call(*state, "--method", "unbiased", "--json"))
    assert found["method"] == "unbiased"
    assert [row["share"] for row in found["shares"]] == pytest.approx([0.65 * 2 - 1 / 3, 0.4 - 1 / 3, 0.3 - 1 / 3])
    assert found["shares"][2]["lower"] < found["shares"][2]["share"] < 0
    repaired = call(*state)
    assert "unbiased" in repaired.out
    assert "-0.0333" in repaired.out
    assert_one_line(call(*state, "--method", "unbiased", "--save", str(tmp_path / "kept")), ("--save", "no fit"))


def test_many_answers_are_not_fitted_unless_asked_for(tmp_path: Path) -> None:
    channel = RandomizedResponse.for_privacy_level(1, outputs=300)
    save(Tally(channel, [10] * 300), tmp_path / "a.state")
    outcome = call("estimate", str(tmp_path / "a.state"))
    assert (outcome.code, outcome.err) == (0, "")
    assert "method unbiased" in outcome.out
    assert "--method one-step" in outcome.out


def test_shares_that_nobody_can_tell_are_refused(tmp_path: Path) -> None:
    channel = MatrixChannel([["1/2", "1/2", "1/4"], ["1/2", "1/2", "3/4"]], outputs=["a", "b", "c"])
    with pytest.raises(NotIdentifiedError, match="not every answer has an unbiased share"):
        estimate_mean(Tally(channel, [50, 60]))
    save(Tally(channel, [50, 60]), tmp_path / "a.state")
    state = ("estimate", str(tmp_path / "a.state"), "--method", "unbiased")
    assert_one_line(call(*state), ("not every answer", "--model"))


def test_repaired_fits_keep_their_unbiased_shares_in_files(tmp_path: Path) -> None:
    channel = RandomizedResponse("1/2", outputs=3)
    with pytest.warns(RepairWarning):
        fit: Any = estimate(Enumerated.saturated(3), Tally(channel, [650, 200, 150]))
    save(fit, tmp_path / "a.fit")
    kept: Any = load(tmp_path / "a.fit")
    np.testing.assert_array_equal(kept.unbiased_shares, fit.unbiased_shares)
    np.testing.assert_array_equal(kept.probabilities().upper, fit.probabilities().upper)


def test_a_saved_fit_is_no_state(tmp_path: Path) -> None:
    save(estimate(Enumerated.saturated(2), Tally(Warner("2/3", outputs=2)).add([0, 1] * 500)), tmp_path / "a.fit")
    assert_one_line(call("estimate", str(tmp_path / "a.fit")), ("aggregate",))
