"""Regression from noised moments: unbiased moments, repair, intervals, pilot, and what is said on the way."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pytest

from askance import Tally, estimate
from askance.channels.statistics.moment_release import ENCODINGS, Encoding, MomentRelease
from askance.channels.statistics.scale_pilot import ScalePilot
from askance.design.regression_release import predicted_noise, regression_release
from askance.errors import AskanceError, EmptyDataError, IncompatibleEvidenceError, InputError, RepairWarning
from askance.estimation.linear import estimate_linear, fit_exact, simulate_linear
from askance.estimation.problems.moment_repair import repair_design
from askance.models.linear import LinearModel

every_encoding = pytest.mark.parametrize("encoding", ENCODINGS)
FIELD = LinearModel(2, x_bounds=(-2, 2), y_bounds=(-3, 3), scales=([0, 0, 0], [1, 1, 1]))
TRUE = np.array([0.3, 0.6, -0.4])
# All statistical tests of this file together raise a false alarm less than once in 1e5 runs of other seeds.
BOUND = 5.5


def people(n: int, rng: np.random.Generator) -> tuple[Any, Any]:
    x = rng.uniform(-1.7, 1.7, (n, 2))
    return x, TRUE[0] + x @ TRUE[1:] + rng.uniform(-1, 1, n)


def released(encoding: Encoding, level: float = 8, **options: Any) -> MomentRelease:
    if encoding in ("quadratic", "moments"):
        options = {"share_within": 1} | options
    return regression_release(FIELD, level, channel=encoding, **options)


# -- moments -----------------------------------------------------------------------------------------------------------


@every_encoding
def test_moments_are_unbiased(encoding: Encoding) -> None:
    rng = np.random.default_rng(1)
    x, y = people(6000, rng)
    release = released(encoding)
    tally = Tally(release.channel).add(release.simulate(x, y, rng))
    z = FIELD.standardise(x, y).z
    errors = np.maximum(release.standard_errors(tally), 1e-12)
    assert (np.abs(release.moments(tally) - FIELD.moments_of(z).mean(axis=0)) < BOUND * errors).all()
    assert release.gram(tally)[0, 0] == 1


def test_shrunk_respondents_are_weighted() -> None:
    rng = np.random.default_rng(2)
    x, y = people(8000, rng)
    release = regression_release(FIELD, 8, channel="quadratic", share_within="3/10")
    encoded = release.encode(x, y)
    assert encoded.shrunk > 2000
    assert "were shrunk to the radius" in encoded.message
    tally = Tally(release.channel).add(release.simulate(x, y, rng))
    wanted = (encoded.rows / release.weights).T @ (encoded.rows / release.weights) / len(x)
    errors = FIELD.gram(release.standard_errors(tally))
    assert (np.abs(release.gram(tally) - wanted) < BOUND * errors).all()
    assert release.gram(tally)[0, 0] < 1


@every_encoding
def test_covariances_have_the_variances_seen_and_are_those_of_a_vector(encoding: Encoding) -> None:
    rng = np.random.default_rng(3)
    release = released(encoding)
    tally = Tally(release.channel).add(release.simulate(*people(3000, rng), rng))
    covariance = release.covariance(tally)
    np.testing.assert_allclose(np.sqrt(np.diag(covariance)), release.standard_errors(tally), rtol=1e-9)
    assert np.linalg.eigvalsh(covariance).min() > -1e-9


def test_covariances_of_very_many_moments_are_diagonal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("askance.channels.statistics.moment_release._MOST_COVARIANCES", 5)
    rng = np.random.default_rng(3)
    release = released("coordinate-release")
    tally = Tally(release.channel).add(release.simulate(*people(2000, rng), rng))
    covariance = release.covariance(tally)
    assert np.count_nonzero(covariance - np.diag(np.diag(covariance))) == 0


@every_encoding
def test_a_release_can_be_written_down(encoding: Encoding) -> None:
    release = released(encoding, 2)
    again = MomentRelease.from_specification(json.loads(json.dumps(release.specification())))
    assert again.channel == release.channel
    assert again.specification() == release.specification()
    one = release.randomize_one([0.5, -0.5], 0.25)
    assert set(one) == {column.name for column in release.channel.columns}
    assert len(release.randomize([[0.5, -0.5]], [0.25])) == 1


def test_channels_of_another_size_are_refused() -> None:
    with pytest.raises(IncompatibleEvidenceError, match="needs 4"):
        MomentRelease(FIELD, regression_release(LinearModel(1, scales=(0, 1)), 1).channel, "quadratic")


# -- planning ----------------------------------------------------------------------------------------------------------


@every_encoding
def test_the_level_is_the_stated_one(encoding: Encoding) -> None:
    for level in (1, 4):
        assert 0.99 * level <= released(encoding, level).privacy_level <= level


def test_as_printed_the_level_is_another() -> None:
    for encoding in ENCODINGS[2:]:
        assert regression_release(FIELD, 4, channel=encoding, calibration="paper").privacy_level < 2.5


def test_more_respondents_are_shrunk_less() -> None:
    radii = [regression_release(FIELD, 1, n_respondents=n).specification()["channel"]["radius"] for n in (10**4, 10**6)]
    everybody = regression_release(FIELD, 8, n_respondents=10**9)
    assert radii[0] != radii[1]
    assert not everybody.shrinks
    assert regression_release(FIELD, 1, n_respondents=10**4).shrinks


def test_auto_is_quadratic_and_weighs_the_outcome_by_the_number_of_columns() -> None:
    for columns, weight in ((3, 1.0), (8, 1.5), (15, 2.0)):
        chosen = regression_release(LinearModel(columns, scales=(0, 1)), 2)
        assert (chosen.encoding, chosen.weights[-1]) == ("quadratic", weight)


def test_a_wider_radius_has_more_noise() -> None:
    field = LinearModel(8, scales=(0, 1))
    noise = [predicted_noise(regression_release(field, 1, share_within=share)) for share in ("1/4", "3/4", 1)]
    assert noise == sorted(noise)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"channel": "laplace"}, "channel is 'laplace'; allowed: auto, quadratic"),
        ({"privacy_level": 0}, "privacy_level is 0"),
        ({"calibration": "paper"}, "calibration is 'paper' with channel 'auto'"),
        ({"outcome_weight": 0}, "outcome_weight is 0"),
        ({"share_within": 2}, "share_within is 2"),
        ({"n_respondents": 0}, "n_respondents is 0"),
    ],
)
def test_plans_that_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        regression_release(FIELD, **({"privacy_level": 1} | given))


# -- repair and fit ----------------------------------------------------------------------------------------------------


def test_what_is_clear_of_noise_is_left_alone() -> None:
    design = np.diag([1.0, 0.5])
    assert repair_design(design, 0.05).repaired is design
    assert repair_design(design, 0.0, "lift").repaired is design
    assert repair_design(design, 0.3, "none").repaired is design
    assert repair_design(design, 0.3).acted


def test_lifting_acts_on_what_is_below_the_noise_and_ridge_on_all() -> None:
    design = np.diag([2.0, 1.0, -0.3])
    lifted, ridge = repair_design(design, 0.1, "lift"), repair_design(design, 0.1, "ridge")
    level = 1.5 * 0.1 * np.sqrt(2)
    np.testing.assert_allclose(np.diag(lifted.repaired), [np.hypot(2, level), np.hypot(1, level), level])
    np.testing.assert_allclose(np.diag(ridge.repaired), [2 + level, 1 + level, level])
    assert 1.9 < lifted.directions < 2
    assert "1 of 3 eigenvalues of the raw moments were negative" in lifted.messages[0]


@every_encoding
def test_coefficients_come_back_in_the_units_of_the_data(encoding: Encoding) -> None:
    rng = np.random.default_rng(5)
    x, y = people(30_000, rng)
    units, centres = np.array([100.0, 0.01, 1000.0]), np.array([7.0, -3.0, 50.0])
    field = LinearModel(
        2,
        x_bounds=(centres[:2] - 2 * units[:2], centres[:2] + 2 * units[:2]),
        y_bounds=(centres[2] - 4 * units[2], centres[2] + 4 * units[2]),
        scales=(centres, units),
    )
    options: dict[str, Any] = {"share_within": 1} if encoding in ("quadratic", "moments") else {}
    release = regression_release(field, 8, channel=encoding, **options)
    far = x * units[:2] + centres[:2]
    fit = estimate_linear(release, release.simulate(far, y * units[2] + centres[2], rng))
    true = fit_exact(field, far, y * units[2] + centres[2]).theta
    assert (np.abs(fit.theta - true) < BOUND * fit.standard_errors).all()
    lower, upper = fit.confidence_interval()
    np.testing.assert_allclose((upper - lower) / 2, 1.959964 * fit.standard_errors, rtol=1e-6)


def test_the_delta_method_agrees_with_differences() -> None:
    from askance.estimation.methods.linear_estimation import slopes_of

    rng = np.random.default_rng(6)
    z = FIELD.standardise(*people(500, rng)).z
    moments = FIELD.moments_of(z).mean(axis=0)
    gram = FIELD.gram(moments)
    slopes = slopes_of(FIELD, gram[:-1, :-1], FIELD.solve(gram))
    for j in range(len(moments)):
        step = np.zeros(len(moments))
        step[j] = 1e-6
        found = (FIELD.solve(FIELD.gram(moments + step)) - FIELD.solve(FIELD.gram(moments - step))) / 2e-6
        np.testing.assert_allclose(slopes[:, j], found, atol=1e-6)


def test_a_repair_says_that_it_acted_and_keeps_the_raw_moments() -> None:
    rng = np.random.default_rng(7)
    x, y = people(20_000, rng)
    x[:, 1] = x[:, 0] + 0.05 * x[:, 1]
    release = released("quadratic", 2)
    with pytest.warns(RepairWarning, match="some combination of x[01], x[01] varies no more than the noise hides"):
        fit = estimate_linear(release, release.simulate(x, y, rng))
    assert fit.repaired
    assert not fit.intervals_cover
    assert np.isfinite(fit.theta).all()
    assert not np.array_equal(fit.raw_moments, fit.repaired_moments)
    np.testing.assert_array_equal(fit.raw_moments[:, -1], fit.repaired_moments[:, -1])
    assert "do not cover at the nominal rate" in " ".join(fit.summary().split())
    assert json.loads(json.dumps(fit.to_json()))["repair"]["acted"] is True


def test_without_repair_intervals_cover_and_say_so() -> None:
    rng = np.random.default_rng(8)
    release = released("coordinate-release")
    tally = Tally(release.channel)
    for _ in range(3):
        tally = tally.add(release.simulate(*people(30_000, rng), rng))
    fit = estimate_linear(release, tally)
    assert not fit.repaired
    assert fit.intervals_cover
    assert fit.messages == ()
    assert "repaired no" in fit.summary()


def test_shrinking_is_mentioned() -> None:
    rng = np.random.default_rng(9)
    release = regression_release(FIELD, 8, share_within="1/2")
    fit = estimate_linear(release, release.simulate(*people(6000, rng), rng))
    assert fit.weighted
    assert not fit.intervals_cover
    assert any("pulled somewhat towards 0" in message for message in fit.messages)


def test_too_few_reports_are_said_to_be_too_few_with_the_number_that_would_do() -> None:
    rng = np.random.default_rng(10)
    release = released("quadratic", 1)
    x, y = people(200, rng)
    with pytest.warns(RepairWarning, match="200 reports are too few to say anything.*would do"):
        fit = estimate_linear(release, release.simulate(x, y, rng))
    needed = int(fit.messages[2].split("about ")[1].split(" ")[0].replace(",", ""))
    tally = Tally(release.channel).add(release.simulate(*people(needed, rng), rng))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*some combination of")  # about x, not about reports
        estimate_linear(release, tally)


@every_encoding
def test_a_model_alone_is_told_its_release_by_the_purpose_of_the_reports(encoding: Encoding) -> None:
    rng = np.random.default_rng(8)
    release = released(encoding)
    reports = release.simulate(*people(20_000, rng), rng)
    whole, alone = estimate(release, reports), estimate(FIELD, Tally(release.channel).add(reports))
    np.testing.assert_array_equal(alone.theta, whole.theta)
    np.testing.assert_array_equal(alone.covariance, whole.covariance)
    with pytest.raises(IncompatibleEvidenceError, match="of no release of") as refusal:
        estimate(FIELD.with_scales(([0, 0, 0], [1, 1, 2])), reports)
    assert "estimate(release, evidence)" in str(refusal.value)


def test_evidence_that_is_refused() -> None:
    release = released("quadratic", 1)
    with pytest.raises(EmptyDataError, match="no reports"):
        estimate_linear(release, Tally(release.channel))
    with pytest.raises(IncompatibleEvidenceError):
        estimate_linear(release, Tally(released("quadratic", 2).channel, np.zeros(20, dtype=int), 3))
    with pytest.raises(InputError, match="repair is 'magic'"):
        estimate_linear(release, Tally(release.channel), repair="magic")  # type: ignore[arg-type]


# -- the pilot ---------------------------------------------------------------------------------------------------------


def test_a_pilot_finds_centres_and_scales() -> None:
    rng = np.random.default_rng(11)
    field = LinearModel(2, x_bounds=([0, -1], [100, 1]), y_bounds=(0, 1000))
    x = np.column_stack([rng.normal(20, 6, 12_000), rng.normal(0.3, 0.2, 12_000)])
    y = rng.normal(600, 90, 12_000)
    pilot = ScalePilot(field, 2)
    assert pilot.channel.privacy_level == 2
    assert len(pilot.randomize(x[:5], y[:5])) == 5
    found = pilot.estimate(Tally(pilot.channel).add(pilot.simulate(x, y, rng)))
    centres, scales = np.array([20, 0.3, 600]), np.array([6, 0.2, 90])
    assert (np.abs(found.centres - centres) < 0.5 * scales).all()
    assert (np.abs(np.log(found.scales / scales)) < 0.5).all()
    assert field.with_scales((found.centres, found.scales)).low.tolist() == [0, -1, 0]


def test_a_pilot_needs_bounds_and_reports() -> None:
    with pytest.raises(InputError, match="finite x_bounds and y_bounds"):
        ScalePilot(LinearModel(1, scales=(0, 1)), 1)
    pilot = ScalePilot(LinearModel(1, x_bounds=(0, 1), y_bounds=(0, 1)), 1)
    with pytest.raises(EmptyDataError, match="no reports of the pilot"):
        pilot.estimate(Tally(pilot.channel))


def test_everybody_is_in_one_stage_only() -> None:
    rng = np.random.default_rng(12)
    x, y = people(10_001, rng)
    fit = simulate_linear(x, y, 8, rng, x_bounds=(-5, 5), y_bounds=(-9, 9), pilot_share="1/4")
    assert fit.n_observations + fit.pilot_observations == 10_001
    assert fit.pilot_observations == 2500
    assert "and 2,500 of a pilot" in fit.summary()
    assert np.abs(fit.theta - TRUE).max() < 0.35
    public = simulate_linear(x, y, 8, rng, scales=(np.zeros(3), np.ones(3)))
    assert public.pilot_observations == 0


def test_simulations_repeat() -> None:
    x, y = people(2000, np.random.default_rng(13))
    fits = [
        simulate_linear(x, y, 8, np.random.default_rng(1), x_bounds=(-5, 5), y_bounds=(-9, 9), strength=1.5)
        for _ in range(2)
    ]
    np.testing.assert_array_equal(fits[0].theta, fits[1].theta)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"pilot_share": 1}, "leave nobody after a pilot"),
        ({"pilot_share": 2}, "pilot_share is 2"),
        ({"x_bounds": None}, "x_bounds is missing"),
        ({"y": [0.0]}, "one number per row"),
    ],
)
def test_surveys_that_are_refused(given: dict[str, Any], said: str) -> None:
    rng = np.random.default_rng(14)
    x, y = people(50, rng)
    with pytest.raises(AskanceError, match=said):
        simulate_linear(**({"x": x, "y": y, "privacy_level": 1, "rng": rng} | _bounds() | given))


def _bounds() -> dict[str, Any]:
    return {"x_bounds": (-5, 5), "y_bounds": (-9, 9)}


# -- what belongs together ---------------------------------------------------------------------------------------------


def test_reports_of_another_release_are_refused() -> None:
    rng = np.random.default_rng(15)
    release = released("quadratic")
    tally = Tally(release.channel).add(release.simulate(*people(100, rng), rng))
    others = [
        FIELD.with_scales(([0, 0, 0], [1, 1, 1.1])),
        LinearModel(2, x_bounds=(-2, 2), y_bounds=(-3, 3), scales=([0, 0, 0], [1, 1, 1]), feature_names=["b", "a"]),
        LinearModel(2, x_bounds=(-2, 2.5), y_bounds=(-3, 3), scales=([0, 0, 0], [1, 1, 1])),
    ]
    for field in others:
        other = MomentRelease(field, release.channel, "quadratic", release.weights)
        assert other.channel != release.channel
        with pytest.raises(IncompatibleEvidenceError, match="another channel"):
            estimate_linear(other, tally)
    with pytest.raises(IncompatibleEvidenceError, match="needs 4 of quadratic-release"):
        MomentRelease(FIELD, released("triple-release").channel, "quadratic")


def test_a_pilot_of_other_columns_is_refused() -> None:
    here = LinearModel(1, x_bounds=(0, 1), y_bounds=(0, 1))
    there = LinearModel(1, x_bounds=(0, 2), y_bounds=(0, 1))
    tally = Tally(ScalePilot(here, 1).channel)
    assert ScalePilot.of_tally(here, tally).thresholds == 16
    with pytest.raises(IncompatibleEvidenceError, match="is not the pilot of 2 columns"):
        ScalePilot.of_tally(there, tally)


def test_data_frames_go_by_names() -> None:
    import pandas as pd

    field = LinearModel(2, x_bounds=(-2, 2), y_bounds=(-3, 3), feature_names=["a", "b"])
    frame = pd.DataFrame({"b": [1.0, 2.0], "other": ["x", "y"], "a": [0.0, -1.0]})
    np.testing.assert_array_equal(field.read_x(frame), [[0, 1], [-1, 2]])
    with pytest.raises(InputError, match=r"there is no column 'a'; found: \['b'\]"):
        field.read_x(frame[["b"]])
    assert LinearModel(2, x_bounds=(-2, 2), y_bounds=(-3, 3)).read_x(frame[["b", "a"]]).shape == (2, 2)


def test_clipping_within_the_bounds_is_said() -> None:
    rng = np.random.default_rng(16)
    field = LinearModel(1, x_bounds=(-9, 9), y_bounds=(-9, 9), scales=([0, 0], [1, 1]))
    release = regression_release(field, 8, share_within=1)
    x = rng.uniform(-2, 2, (4000, 1))
    fit = estimate_linear(release, release.simulate(x, x[:, 0], rng))
    assert "devices clip values at 3 scales (x0 -3 … 3, y -3 … 3)" in fit.messages[-1]
    with pytest.raises(InputError, match=r"x0 of row 2 would be clipped; allowed: -3 to 3\."):
        field.require_kept([[1.0], [4.0]], [0.0, 0.0])


def test_unrepaired_noise_does_not_claim_to_cover() -> None:
    rng = np.random.default_rng(17)
    release = released("quadratic", 1)
    with pytest.warns(RepairWarning, match="too few"):
        fit = estimate_linear(release, release.simulate(*people(2000, rng), rng), repair="none")
    assert not fit.repaired
    assert not fit.intervals_cover
