"""Random fields from noised tables: against maximum likelihood, against each other, and with bad input."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest

from askance import CliqueRelease, CoordinateRelease, PerValue, Tally
from askance.channels.statistics import Hypercube
from askance.channels.statistics.base import StatisticsChannel
from askance.errors import AskanceError, EmptyDataError, IncompatibleEvidenceError, InputError, RepairWarning
from askance.estimation.field import estimate_field
from askance.estimation.parameter_scale import Standard
from askance.estimation.problems.field_evidence import BlockMatrix, NoisyTables
from askance.estimation.problems.field_likelihood import GaussianLoss, ReportLoss, TableLoss
from askance.estimation.problems.field_problem import FieldMethod
from askance.estimation.problems.field_tables import MeasuredField, free_parameters
from askance.estimation.problems.matching import MomentMatching
from askance.estimation.results.field_fit import FieldFit
from askance.estimation.solvers.newton import newton
from askance.models.enumerated import Enumerated
from askance.models.random_field import RandomField

NAMES = {"sex": ["f", "m"], "age": ["young", "middle", "old"], "ill": ["no", "yes"]}
LOOP = RandomField(NAMES, [["sex", "age"], ["age", "ill"], ["ill", "sex"]])
FIELDS = {
    "loop": LOOP,
    "tree": RandomField([3, 2, 2, 3], [[0, 1], [1, 2], [1, 3]]),
    "apart": RandomField([2, 2, 3], [[0, 1], [2]]),
    "all pairs": RandomField([3] * 4, list(combinations(range(4), 2))),
    "with nodes": RandomField([2, 3, 2], [[0], [1], [0, 1], [1, 2]]),
}


def _records(field: RandomField, n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return field.sample(0.5 * rng.normal(size=field.dimension), n, rng)


def _tally(field: RandomField, level: float, n: int, seed: int = 0) -> Tally[StatisticsChannel]:
    channel = CliqueRelease(field.sizes, field.cliques, level)
    return Tally(channel).add(channel.simulate(_records(field, n, seed), np.random.default_rng(seed + 1)))


# -- without noise -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("field", FIELDS.values(), ids=FIELDS)
@pytest.mark.parametrize("prior_scale", [1.0, np.inf])
def test_without_noise_the_fit_is_maximum_likelihood(field: RandomField, prior_scale: float) -> None:
    means = field.statistics(_records(field, 3000)).mean(axis=0)
    fit = estimate_field(field, NoisyTables(means, 1e-7, 3000), prior_scale=prior_scale)
    assert fit.converged
    assert np.abs(fit.statistics - means).max() < 1e-9
    # Newton on the list of all records, in parameters that are not redundant.
    listed = field.enumerated()
    values, vectors = np.linalg.eigh(listed.fisher_information(np.zeros(listed.dimension)))
    basis = vectors[:, values > 1e-9]
    assert basis.shape[1] == free_parameters(field)
    reduced = Enumerated(basis.T @ listed.table, outputs=listed.outputs)
    best = newton(
        MomentMatching(reduced, basis.T @ means),
        np.zeros(reduced.dimension),
        Standard.of_ranges(reduced.statistic_ranges),
    )
    assert best.converged
    everything = field.marginal(fit.theta, range(len(field.sizes)))
    np.testing.assert_allclose(everything.ravel(), reduced.probabilities(best.theta), atol=1e-6)


def test_with_few_negative_cells_nothing_explodes() -> None:
    tally = _tally(FIELDS["all pairs"], 0.5, 2000)
    assert (tally.mean() < 0).any()
    fit = estimate_field(FIELDS["all pairs"], tally)
    assert fit.converged
    assert fit.diagnostics.repaired
    assert fit.diagnostics.negative_cells >= 1
    assert np.abs(fit.theta).max() < 5
    assert (fit.statistics > 0).all()
    assert any("no probabilities" in message for message in fit.diagnostics.messages)
    assert any("describe the posterior" in message for message in fit.diagnostics.messages)


# -- with noise --------------------------------------------------------------------------------------------------------


def test_errors_shrink_and_repairs_stop_with_the_number_of_reports() -> None:
    fits = [estimate_field(LOOP, _tally(LOOP, 2, n)) for n in (2_000, 400_000)]
    assert fits[1].marginal(["sex"]).standard_error.max() < fits[0].marginal(["sex"]).standard_error.max() / 10
    assert not fits[1].diagnostics.repaired
    assert fits[1].diagnostics.effective_parameters > 0.95 * fits[1].diagnostics.parameters


@pytest.mark.parametrize("level", [0.8, 4])
def test_methods_agree_where_there_are_many_reports(level: float) -> None:
    channel = CliqueRelease(LOOP.sizes, LOOP.cliques, level)
    reports = channel.simulate(_records(LOOP, 100_000), np.random.default_rng(4))
    methods: tuple[FieldMethod, ...] = ("moments", "ridge", "one-step", "marginal")
    fits = {method: estimate_field(LOOP, reports, method) for method in methods}
    best = fits["marginal"]
    errors = np.concatenate([table.standard_error.ravel() for table in best.tables().values()])
    for method, fit in fits.items():
        limit = {"one-step": 0.05, "moments": 1.5, "ridge": 4.0, "marginal": 0.0}[method]
        assert (np.abs(fit.statistics - best.statistics) / errors).max() <= limit, method
    assert np.isfinite(best.log_likelihood)
    assert best.log_likelihood >= fits["one-step"].log_likelihood - 1e-3  # the prior has its say too
    assert fits["moments"].log_likelihood == -np.inf


def test_the_likelihood_of_sums_is_that_of_reports_where_subsets_have_one_cell() -> None:
    channel = CliqueRelease(LOOP.sizes, LOOP.cliques, 4)
    reports = channel.simulate(_records(LOOP, 5000), np.random.default_rng(4))
    tally = Tally(channel).add(reports)
    here, there = (estimate_field(LOOP, each, "marginal") for each in (reports, tally))
    np.testing.assert_allclose(here.statistics, there.statistics, atol=1e-6)
    assert here.log_likelihood == pytest.approx(there.log_likelihood)


def test_the_likelihood_is_that_of_the_channel() -> None:
    channel = CliqueRelease(LOOP.sizes, LOOP.cliques, 0.7)
    reports = channel.simulate(_records(LOOP, 50), np.random.default_rng(4))
    theta = 0.3 * np.random.default_rng(1).normal(size=LOOP.dimension)
    records = np.stack(np.unravel_index(np.arange(12), LOOP.sizes), axis=1)
    expected = np.log(np.exp(channel.log_likelihood(reports, records)) @ np.exp(LOOP.log_probability(theta, records)))
    drawn = np.log(channel.clique_probabilities)[reports.columns["clique"]]
    found = ReportLoss.of_reports(reports).value(LOOP.mean_statistics(theta))
    assert -found == pytest.approx(float((expected - drawn).sum()))


@pytest.mark.parametrize("kind", ["gaussian", "reports"])
def test_losses_have_the_derivatives_they_say(kind: str) -> None:
    channel = CliqueRelease(LOOP.sizes, LOOP.cliques, 0.7)
    reports = channel.simulate(_records(LOOP, 200), np.random.default_rng(4))
    mean = LOOP.mean_statistics(np.zeros(LOOP.dimension))
    noise = np.random.default_rng(2).normal(size=(LOOP.dimension, LOOP.dimension))
    loss: TableLoss = (
        ReportLoss.of_reports(reports)
        if kind == "reports"
        else GaussianLoss(mean + 0.1, BlockMatrix([noise @ noise.T]))
    )
    step = 1e-5 * np.eye(len(mean))
    slopes = [(loss.value(mean + h) - loss.value(mean - h)) / 2e-5 for h in step]
    np.testing.assert_allclose(loss.gradient(mean), slopes, rtol=1e-5, atol=1e-5)
    curvatures = [(loss.gradient(mean + h) - loss.gradient(mean - h)) / 2e-5 for h in step]
    np.testing.assert_allclose(loss.curvature(mean) @ np.eye(len(mean)), curvatures, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("channel", [
    PerValue(LOOP.dimension, 4, l1_norm=3),
    PerValue(LOOP.dimension, 4, l1_norm=3, calibration="paper"),
    CoordinateRelease(LOOP.dimension, 4),
], ids=lambda channel: f"{channel.kind}, {channel.calibration}")  # fmt: skip
def test_bits_of_all_cells_serve_as_well(channel: PerValue | CoordinateRelease) -> None:
    records = _records(LOOP, 60_000)
    bits = LOOP.statistics(records).astype(np.uint8)
    tally = Tally(channel).add(channel.simulate(bits, np.random.default_rng(3)))
    fit = estimate_field(LOOP, tally)
    errors = np.concatenate([table.standard_error.ravel() for table in fit.tables().values()])
    # 16 normal deviates beyond 5.5: once in a million times.
    assert (np.abs(fit.statistics - bits.mean(axis=0)) < 5.5 * errors + 0.01).all()
    assert fit.diagnostics.p_value > 1e-6


def test_the_distance_has_its_degrees_of_freedom() -> None:
    found = [estimate_field(LOOP, _tally(LOOP, 3, 50_000, seed)).diagnostics for seed in range(0, 60, 2)]
    distances = np.array([each.distance for each in found])
    freedom = np.mean([each.degrees_of_freedom for each in found])
    # The mean of 30 χ² of about 4 degrees lies within 5 of its standard errors.
    assert abs(distances.mean() - freedom) < 5 * np.sqrt(2 * freedom / len(found))


def test_a_wrong_model_is_noticed() -> None:
    rng = np.random.default_rng(0)
    same = rng.integers(0, 3, 40_000)
    records = np.stack([same, rng.integers(0, 2, 40_000), same % 2], axis=1)
    channel = CliqueRelease([3, 2, 2], [[0, 1], [1, 2], [0, 2]], 3)
    tally = Tally(channel).add(channel.simulate(records, rng))
    tree = RandomField([3, 2, 2], [[0, 1], [1, 2]])
    fit = estimate_field(tree, tally)
    assert fit.diagnostics.p_value < 1e-6
    assert any("more ways" in message for message in fit.diagnostics.messages)
    assert fit.measured == (("0", "1"), ("1", "2"), ("0", "2"))


# -- tables ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fit() -> FieldFit:
    return estimate_field(LOOP, _tally(LOOP, 3, 20_000))


def test_tables_and_marginals_agree(fit: FieldFit) -> None:
    tables = fit.tables()
    assert list(tables) == [("sex", "age"), ("age", "ill"), ("ill", "sex")]
    for names, table in tables.items():
        other = fit.marginal(names[::-1])
        np.testing.assert_allclose(table.estimate, other.estimate.T, atol=1e-12)
        np.testing.assert_allclose(table.standard_error, other.standard_error.T, atol=1e-10)
        assert (table.lower < table.estimate).all()
        assert (table.estimate < table.upper).all()
        assert fit.raw_tables[names].shape == table.estimate.shape
        assert fit.raw_tables[names].sum() == pytest.approx(1)
    everything, one = fit.marginal(["sex", "age", "ill"]), fit.marginal([1])
    np.testing.assert_allclose(everything.estimate.sum(axis=(0, 2)), one.estimate)
    assert one.labels == (("young", "middle", "old"),)
    assert one.standard_error.sum() < everything.standard_error.sum()


def test_errors_of_marginals_are_those_of_the_delta_method(fit: FieldFit) -> None:
    wanted, step = ["age", "sex"], 1e-5 * np.eye(LOOP.dimension)
    slopes = np.array([
        (LOOP.marginal(fit.theta + h, wanted) - LOOP.marginal(fit.theta - h, wanted)).ravel() / 2e-5 for h in step
    ]).T  # fmt: skip
    errors = np.sqrt(np.einsum("ij,jk,ik->i", slopes, fit.covariance, slopes))
    np.testing.assert_allclose(fit.marginal(wanted).standard_error.ravel(), errors, rtol=1e-5)


def test_tables_of_other_cliques_than_the_fields_own() -> None:
    chain = RandomField([2, 2, 2], [[0, 1], [1, 2]])
    theta = np.random.default_rng(3).normal(size=8)
    seen = MeasuredField(chain, [(2, 0), (1, 0), (2,)])
    parts = [chain.marginal(theta, clique).ravel() for clique in ((2, 0), (1, 0), (2,))]
    np.testing.assert_allclose(seen.mean(theta), np.concatenate(parts))
    step = 1e-6 * np.eye(8)
    slopes = np.array([(seen.mean(theta + h) - seen.mean(theta - h)) / 2e-6 for h in step]).T
    np.testing.assert_allclose(seen.jacobian(theta), slopes, atol=1e-8)
    direction = np.arange(10.0)
    np.testing.assert_allclose(seen.pull_back(theta, direction), slopes.T @ direction, atol=1e-7)


def test_structural_zeros_stay_zeros() -> None:
    field = RandomField(
        {"sex": ["m", "f"], "pregnant": ["no", "yes"]},
        [["sex", "pregnant"]],
        impossible=[{"sex": "m", "pregnant": "yes"}],
    )
    records = np.repeat([[0, 0], [1, 0], [1, 1]], [5000, 4000, 1000], axis=0)
    channel = CliqueRelease(field.sizes, field.cliques, 2)
    tally = Tally(channel).add(channel.simulate(records, np.random.default_rng(0)))
    fit = estimate_field(field, tally)
    table = fit.tables()["sex", "pregnant"]
    assert table.estimate[0, 1] == table.lower[0, 1] == table.upper[0, 1] == 0
    assert set(zip(*(fit.sample(500, np.random.default_rng(1))[name] for name in field.variables), strict=True)) <= {
        ("m", "no"),
        ("f", "no"),
        ("f", "yes"),
    }


def test_synthetic_records_follow_the_fitted_tables(fit: FieldFit) -> None:
    records = fit.sample(50_000, np.random.default_rng(5))
    assert list(records) == list(NAMES)
    shares = LOOP.statistics(records).mean(axis=0)
    assert np.abs(shares - fit.statistics).max() < 5.5 * np.sqrt(0.25 / 50_000)


def test_summary_and_json(fit: FieldFit) -> None:
    text = fit.summary()
    assert "middle, yes" in text
    assert "note: " in text
    assert "unbiased" in text
    content = fit.to_json()
    assert content["tables"][0]["variables"] == ["sex", "age"]
    assert content["diagnostics"]["repaired"] in (True, False)
    assert content["n"] == 20_000
    lower, upper = fit.confidence_interval()
    assert (lower < fit.theta).all()
    assert (fit.theta < upper).all()


def test_without_covariance_there_are_no_intervals() -> None:
    fit = estimate_field(LOOP, _tally(LOOP, 3, 2000), covariance=False)
    assert np.isnan(fit.marginal(["age"]).standard_error).all()
    assert np.isnan(fit.tables()["sex", "age"].lower).all()
    assert "no intervals" in " ".join(fit.diagnostics.messages)


# -- bad input ---------------------------------------------------------------------------------------------------------


def test_too_few_reports_are_named_with_the_number_that_would_do() -> None:
    with pytest.warns(RepairWarning, match=r"next to nothing .* reports would determine half"):
        fit = estimate_field(FIELDS["all pairs"], _tally(FIELDS["all pairs"], 0.3, 60))
    assert fit.diagnostics.enough_reports > 1000


BAD: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "no field": (lambda: estimate_field("field", _tally(LOOP, 1, 10)), InputError, "RandomField"),  # type: ignore[call-overload]
    "no evidence": (lambda: estimate_field(LOOP, [1, 2]), InputError, "Tally"),  # type: ignore[call-overload]
    "no reports": (
        lambda: estimate_field(LOOP, Tally(CliqueRelease(LOOP.sizes, LOOP.cliques, 1))),
        EmptyDataError,
        "no reports",
    ),
    "a method": (lambda: estimate_field(LOOP, _tally(LOOP, 1, 99), "moment"), InputError, "moments"),  # type: ignore[call-overload]
    "a prior": (lambda: estimate_field(LOOP, _tally(LOOP, 1, 99), prior_scale=0), InputError, "above 0"),
    "other sizes": (
        lambda: estimate_field(RandomField([2, 2], [[0, 1]]), _tally(LOOP, 1, 99)),
        IncompatibleEvidenceError,
        "same variables",
    ),
    "other cells": (
        lambda: estimate_field(LOOP, NoisyTables([0.5, 0.5], 0.1, 10)),
        IncompatibleEvidenceError,
        "16 cells",
    ),
    "other channel": (
        lambda: estimate_field(LOOP, Hypercube(16, 1).simulate(np.zeros((5, 16)), np.random.default_rng(0))),
        IncompatibleEvidenceError,
        "zeros and ones",
    ),
    "sums of subsets": (lambda: estimate_field(LOOP, _tally(LOOP, 0.3, 999), "marginal"), InputError, "Reports"),
    "tables have no reports": (
        lambda: estimate_field(LOOP, NoisyTables(np.full(16, 0.1), 0.1, 10), "one-step"),
        InputError,
        "no likelihood",
    ),
    "errors below 0": (lambda: NoisyTables([0.5, 0.5], -1, 10), InputError, "above 0"),
    "tables of tables": (lambda: NoisyTables([[0.5, 0.5]], 0.1, 10), InputError, "shape"),
    "covariates": (
        lambda: estimate_field(RandomField([2, 2], [[0, 1]], covariates=1), _tally(LOOP, 1, 99)),
        InputError,
        "covariates",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_named(case: str) -> None:
    make, kind, text = BAD[case]
    with pytest.raises(kind, match=text) as caught:
        make()
    assert isinstance(caught.value, AskanceError)
    assert caught.value.remedy
