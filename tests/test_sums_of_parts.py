"""Noised statistics and tables of several releases in one fit."""

from __future__ import annotations

import numpy as np
import pytest

from askance import (
    Candidates,
    CliqueRelease,
    CoordinateRelease,
    Direct,
    DistributionFit,
    Enumerated,
    FieldFit,
    LinearModel,
    PerValue,
    RandomField,
    Responses,
    ScalePilot,
    Tally,
    Together,
    channel_fit_test,
    estimate,
    load,
    save,
)
from askance.errors import (
    EmptyDataError,
    ImpossibleReportsWarning,
    IncompatibleEvidenceError,
    InputError,
    RepairWarning,
)
from askance.estimation.problems.conditional_losses import MomentLoss, ScoreLoss
from askance.estimation.problems.field_evidence import NoisyTables
from askance.estimation.problems.pairs import problem_of

MODEL = Enumerated([[0, 0, 1, 1], [0, 1, 0, 1]])
TRUTH = np.array([0.8, -0.5])
BITS, DRAWN = PerValue(2, 2), CoordinateRelease(2, 1)
FIELD = RandomField([2, 3, 2], [[0, 1], [1, 2]])


def statistics_of(n: int, seed: int) -> np.ndarray:
    return MODEL.table.T[np.random.default_rng(seed).choice(4, size=n, p=MODEL.probabilities(TRUTH))]


def sums_of(channel: PerValue | CoordinateRelease, n: int, seed: int) -> Tally[PerValue | CoordinateRelease]:
    return Tally(channel).add(channel.simulate(statistics_of(n, seed), np.random.default_rng(seed + 100)))


# -- statistics --------------------------------------------------------------------------------------------------------


def test_moments_of_a_sum_match_an_average_with_one_weight_per_part() -> None:
    parts = [sums_of(BITS, 3000, 1), sums_of(DRAWN, 5000, 2)]
    alone = [estimate(MODEL, part) for part in parts]
    fit = estimate(MODEL, Together(*parts))
    means = np.array([part.mean() for part in parts])
    raw = np.asarray(fit.raw_statistics)
    share = (raw - means[1]) / (means[0] - means[1])
    assert 0 < share[0] < 1
    assert share[0] == pytest.approx(share[1], rel=1e-8)  # one number for all statistics
    np.testing.assert_allclose(MODEL.mean_statistics(fit.theta), raw, atol=1e-8)
    # The weight is that of the traces at a pilot, which is near the fit.
    information = MODEL.fisher_information(fit.theta)
    traces = []
    for part in parts:
        noise = problem_of(MODEL, part).moments("best").noise(fit.theta)
        traces.append(1 / np.trace(np.linalg.solve(information, noise)))
    assert share[0] == pytest.approx(traces[0] / sum(traces), rel=0.01)
    spread = sum(
        w**2 * problem_of(MODEL, part).moments("best").covariance(fit.theta, "expected")
        for w, part in zip((share[0], 1 - share[0]), parts, strict=True)
    )
    np.testing.assert_allclose(fit.covariance, spread, rtol=1e-8)
    assert all((fit.standard_errors < one.standard_errors).all() for one in alone)
    assert fit.n_observations == 8000
    assert [part["kind"] for part in fit.channel["parts"]] == [BITS.kind, DRAWN.kind]


def test_parts_of_one_channel_add_up_and_one_part_is_that_part() -> None:
    halves = [sums_of(BITS, 700, 3), sums_of(BITS, 900, 4)]
    whole = estimate(MODEL, halves[0] + halves[1])
    nobody = Tally(Direct(4))
    for evidence in (Together(*halves), Together(halves[0] + halves[1], Tally(DRAWN)), Together(nobody, *halves)):
        fit = estimate(MODEL, evidence)
        np.testing.assert_array_equal(fit.theta, whole.theta)
        assert dict(fit.channel) == dict(whole.channel)
    with pytest.raises(EmptyDataError, match="no reports"):
        estimate(MODEL, Together(Tally(BITS), Tally(DRAWN)))


def test_answers_and_statistics_in_one_fit(tmp_path_factory: pytest.TempPathFactory) -> None:
    rng = np.random.default_rng(5)
    told = Tally(Direct(4)).add(rng.choice(4, size=400, p=MODEL.probabilities(TRUTH)))
    both = Together(told, sums_of(BITS, 3000, 6))
    fit = estimate(MODEL, both)
    assert fit.method == "moments"
    assert (fit.standard_errors < estimate(MODEL, told).standard_errors).all()
    path = tmp_path_factory.mktemp("sums") / "fit"
    save(fit, path)
    again = load(path)
    assert isinstance(again, DistributionFit)
    np.testing.assert_array_equal(again.theta, fit.theta)
    with pytest.raises(InputError, match=r"allowed with sums of noised statistics: moments"):
        estimate(MODEL, both, "marginal")
    sets = Candidates(4).add(None, [[0, 1], 2, 3])
    with pytest.raises(IncompatibleEvidenceError, match=r"no method takes both.*alone"):
        estimate(MODEL, Together(both, sets))
    with pytest.raises(IncompatibleEvidenceError, match="purpose"):
        estimate(MODEL, Together(told, Tally(BITS.for_purpose("ages"), [5, 5], 9)))
    pilot = ScalePilot(LinearModel(1, x_bounds=(-2, 2), y_bounds=(-2, 2)), 2)
    with pytest.raises(InputError, match=r"allowed with ScalePilot.*every part alone"):
        estimate(pilot, both)  # type: ignore[call-overload]


def test_alarms_name_the_channel() -> None:
    good, bad = sums_of(DRAWN, 500, 7), Tally(BITS, [900, 900], 900)
    named = r"cannot have come through PerValue\("
    with pytest.warns(RepairWarning), pytest.warns(ImpossibleReportsWarning, match=named):
        fit = estimate(MODEL, Together(good, bad))
    assert "PerValue" in fit.alarm
    assert channel_fit_test(Together(good, bad)).bound < 1e-6


# -- fields ------------------------------------------------------------------------------------------------------------


def records_of(n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    theta = np.random.default_rng(0).normal(scale=0.7, size=FIELD.dimension)
    return FIELD.sample(theta, n, rng)


def test_measured_tables_together_are_those_of_their_precisions() -> None:
    """Gaussian errors: two measurements of a cell are one, of the summed precision."""
    truth = FIELD.mean_statistics(np.random.default_rng(1).normal(scale=0.5, size=FIELD.dimension))
    rng = np.random.default_rng(2)
    one, other = truth + rng.normal(scale=0.01, size=truth.size), truth + rng.normal(scale=0.02, size=truth.size)
    share, error = 0.8, (1e4 + 2.5e3) ** -0.5
    whole = NoisyTables(share * one + (1 - share) * other, error, 1000)
    both = Together(NoisyTables(one, 0.01, 600), NoisyTables(other, 0.02, 400))
    for method in ("moments", "ridge"):
        fit, wanted = estimate(FIELD, both, method), estimate(FIELD, whole, method)
        assert isinstance(fit, FieldFit)
        np.testing.assert_allclose(fit.theta, wanted.theta, atol=3e-3 * wanted.standard_errors.max())
        np.testing.assert_allclose(fit.raw_statistics, wanted.raw_statistics, rtol=1e-12)
        np.testing.assert_allclose(fit.raw_standard_errors, wanted.raw_standard_errors, rtol=1e-12)
    assert fit.n_observations == 1000
    assert fit.measured == wanted.measured
    with pytest.raises(InputError, match="no likelihood of reports"):
        estimate(FIELD, both, "marginal")


def test_reports_in_parts_have_the_likelihood_of_all() -> None:
    channel = CliqueRelease(FIELD.sizes, FIELD.cliques, 2)
    reports = channel.simulate(records_of(4000, 3), np.random.default_rng(4))
    whole = estimate(FIELD, reports, "marginal")
    parts = estimate(FIELD, Together(reports[:1500], reports[1500:]), "marginal")
    assert parts.log_likelihood == pytest.approx(whole.log_likelihood, abs=1e-3)
    assert (np.abs(parts.theta - whole.theta) < 0.03 * whole.standard_errors).all()
    np.testing.assert_allclose(parts.covariance, whole.covariance, rtol=0.02, atol=1e-4)


def test_releases_of_other_cliques_and_kinds_about_one_field() -> None:
    """Tables of the same variables in another order, tables that the field has no parameters for, bits of all cells."""
    first = CliqueRelease(FIELD.sizes, FIELD.cliques, 3)
    second = CliqueRelease(FIELD.sizes, [[1, 0], [0, 2]], 2)
    third = CliqueRelease(FIELD.sizes, [[0, 2], [2, 1]], 4)
    bits = PerValue(FIELD.dimension, 3, l1_norm=2)
    rng = np.random.default_rng(5)
    parts = [
        Tally(channel).add(channel.simulate(records_of(3000, i), rng))
        for i, channel in enumerate((first, second, third))
    ]
    told = Tally(bits).add(bits.simulate(FIELD.statistics(records_of(3000, 9)), rng))
    fit = estimate(FIELD, Together(*parts, told))
    assert isinstance(fit, FieldFit)
    assert fit.n_observations == 12_000
    assert fit.privacy_level == max(channel.privacy_level for channel in (first, second, third, bits))
    wanted = {frozenset(FIELD.variables[v] for v in clique) for clique in ((0, 1), (1, 2), (0, 2))}
    assert {frozenset(names) for names in fit.measured} == wanted
    assert len(fit.measured) == 3
    assert fit.diagnostics.p_value > 1e-6
    alone = estimate(FIELD, parts[0])
    assert np.trace(fit.covariance) < np.trace(alone.covariance)
    assert fit.raw_errors[fit.measured[0]].mean() < alone.raw_errors[fit.measured[0]].mean()
    # At the mode the gradient of all residuals and of the prior vanishes.
    problem = problem_of(FIELD, Together(*parts, told))
    loss = problem.gaussian(fit.theta)
    step = 1e-5
    for j in (0, 4, 9):
        unit = step * np.eye(FIELD.dimension)[j]
        slope = (problem.value(loss, fit.theta + unit) - problem.value(loss, fit.theta - unit)) / (2 * step)
        _, gradient = problem.value_and_gradient(loss, fit.theta)
        assert gradient[j] == pytest.approx(slope, abs=1e-3)
    with pytest.raises(InputError, match="known for clique release"):
        estimate(FIELD, Together(*parts, told), "marginal")
    with pytest.raises(IncompatibleEvidenceError, match="values"):
        estimate(
            FIELD,
            Together(
                parts[0],
                Tally(CliqueRelease([2, 2], [[0, 1]], 1), None).add(
                    CliqueRelease([2, 2], [[0, 1]], 1).simulate([[0, 1]], rng)
                ),
            ),
        )


def test_fields_with_covariates_take_several_releases() -> None:
    field = RandomField([2, 2], [[0, 1]], covariates=["age"])
    releases = CliqueRelease(field.sizes, [[0, 1]], 3), CliqueRelease(field.sizes, [[1, 0], [0]], 2)
    rng = np.random.default_rng(6)
    x = [rng.normal(size=(1500, 1)), rng.normal(size=(1000, 1))]
    theta = np.array([0.2, -0.1, 0.3, -0.4, 0.5, -0.5, -0.3, 0.3])
    seen = []
    for channel, own in zip(releases, x, strict=True):
        seen.append(Responses(channel).add(own, channel.simulate(field.sample(theta, len(own), rng, x=own), rng)))
    both = problem_of(field, Together(*seen))
    assert [rows.clique for rows in both.rows] == [0, 1, 2]
    eta = 0.3 * rng.normal(size=field.dimension)
    # The likelihood of the whole is the sum of those of its parts, all in the covariates of the whole.
    ends = [ScoreLoss(both.tilted, [rows]).value(eta) for rows in both.rows]
    assert ScoreLoss(both.tilted, both.rows).value(eta) == pytest.approx(sum(ends))
    for loss in (ScoreLoss(both.tilted, both.rows), MomentLoss(both.field_moments, eta)):
        value, gradient = loss.value_and_gradient(eta)
        assert value == pytest.approx(loss.value(eta))
        for j in range(field.dimension):
            unit = 1e-5 * np.eye(field.dimension)[j]
            slope = (loss.value(eta + unit) - loss.value(eta - unit)) / 2e-5
            assert gradient[j] == pytest.approx(slope, abs=1e-4 * max(1.0, abs(slope)))
    fits = [estimate(field, part) for part in seen]
    for method in ("moments", "one-step", "marginal"):
        fit = estimate(field, Together(*seen), method)
        assert fit.n_observations == 2500
        assert all(np.trace(fit.covariance) < np.trace(one.covariance) for one in fits)
        assert [part["kind"] for part in fit.channel["parts"]] == ["clique-release"] * 2
        assert [set(names) for names in fit.measured] == [set(field.variables), {field.variables[0]}]
