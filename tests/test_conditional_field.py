"""Random fields with public covariates: against lists of all records, against simpler fits, and with bad input."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from askance import CliqueRelease, PerValue, load, save
from askance._arrays import FloatArray, IntArray
from askance.channels.statistics.reports import Reports
from askance.errors import (
    AskanceError,
    EmptyDataError,
    IncompatibleEvidenceError,
    InputError,
    MissingValueError,
    NotIdentifiedError,
    RepairWarning,
    ShapeError,
)
from askance.estimation.field import estimate_field
from askance.estimation.problems.conditional_losses import FieldMoments, MomentLoss, RowLoss, ScoreLoss
from askance.estimation.problems.field_design import CliqueRows, FieldDesign, rows_by_clique
from askance.estimation.problems.field_problem import FieldMethod
from askance.estimation.problems.tilted_field import TiltedField
from askance.evidence.responses import Responses
from askance.models.random_field import RandomField

CHAIN = RandomField([2, 3, 2], [[0, 1], [1, 2]], covariates=["income", "age"])
FIELDS = {
    "chain": CHAIN,
    "ring": RandomField([2, 2, 3], [[0, 1], [1, 2], [2, 0]], covariates=2),
    "a variable alone": RandomField([2, 2, 3], [[0, 1]], covariates=2),
    "with zeros": RandomField([2, 3, 2], [[0], [0, 1], [1, 2]], impossible=[{0: 1, 1: 2}], covariates=2),
}
#: What devices report on: pairs in any order, not all of them the fields', and at this level subsets of two cells.
CLIQUES = [[1, 0], [0, 2], [2]]


def _x(n: int, rng: np.random.Generator) -> FloatArray:
    return np.column_stack([rng.normal(size=n), rng.gamma(2.0, size=n)])


def _evidence(
    field: RandomField, channel: CliqueRelease, theta: FloatArray, x: FloatArray, seed: int = 0
) -> Responses[CliqueRelease]:
    rng = np.random.default_rng(seed)
    return Responses(channel).add(x, channel.simulate(field.sample(theta, len(x), rng, x), rng))


def _problem(
    field: RandomField, n: int = 12
) -> tuple[TiltedField, list[CliqueRows], CliqueRelease, Reports, FloatArray]:
    """A few reports with x as it is: neither centred nor scaled."""
    rng = np.random.default_rng(5)
    x, channel = _x(n, rng), CliqueRelease(field.sizes, CLIQUES, 0.7)
    reports = channel.simulate(field.sample(0.5 * rng.normal(size=field.dimension), n, rng, x), rng)
    plain = FieldDesign(np.zeros(2), np.ones(2), np.ones(2, dtype=bool), np.eye(field.dimension))
    return TiltedField(field, channel.tables.cliques), rows_by_clique(channel, plain, x, reports), channel, reports, x


def _theta(field: RandomField, seed: int = 1, scale: float = 0.7) -> FloatArray:
    return scale * np.random.default_rng(seed).normal(size=field.dimension)


def _records(field: RandomField) -> IntArray:
    codes = np.stack(np.unravel_index(np.arange(np.prod(field.sizes)), field.sizes), axis=1)
    listed = field.enumerated(np.zeros(2))
    texts = {tuple(map(int, str(label).split(","))) for label in listed.outputs}
    return np.array([code for code in codes.tolist() if tuple(code) in texts])


def _numerical(function: Callable[[FloatArray], FloatArray], theta: FloatArray) -> FloatArray:
    """Central differences: (len(θ), …)."""
    step = 1e-5 * np.eye(len(theta))
    return np.array([(function(theta + h) - function(theta - h)) / 2e-5 for h in step])


# -- exact, by enumeration ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("field", FIELDS.values(), ids=FIELDS)
def test_tilting_gives_probabilities_and_covariances(field: RandomField) -> None:
    tilted, theta, x = TiltedField(field, [(1, 0), (0, 2)]), _theta(field), _x(5, np.random.default_rng(0))
    means = tilted.means(tilted.potentials(theta, x))
    np.testing.assert_allclose(tilted.statistics(means, x), field.mean_statistics(theta, x), atol=1e-12)
    np.testing.assert_allclose(tilted.total(means, x), field.mean_statistics(theta, x).sum(axis=0), atol=1e-12)
    weights = np.random.default_rng(1).normal(size=(5, 2))
    for number, clique in enumerate([(1, 0), (0, 2)]):
        own = field.marginal(theta, clique, x).reshape(5, -1)
        np.testing.assert_allclose(means[:, tilted.cells[number]], own, atol=1e-12)
        codes, shape = _records(field), [field.sizes[v] for v in clique]
        cells = np.eye(own.shape[1])[np.ravel_multi_index([codes[:, v] for v in clique], shape)]
        expected = np.zeros((2, own.shape[1], field.dimension))
        for row, weight in zip(x, weights, strict=True):
            p = field.enumerated(row).probabilities(theta)
            phi = field.statistics(codes, np.tile(row, (len(codes), 1)))
            covariance = (cells * p[:, None]).T @ phi - np.outer(p @ cells, p @ phi)
            expected += weight[:, None, None] * covariance
        np.testing.assert_allclose(tilted.slopes(theta, number, x, weights), expected, atol=1e-12)


@pytest.mark.parametrize("field", FIELDS.values(), ids=FIELDS)
def test_likelihood_and_scores_are_those_of_all_records(field: RandomField) -> None:
    tilted, rows, channel, reports, x = _problem(field)
    theta, codes = _theta(field), _records(field)
    drawn = np.log(channel.clique_probabilities)[reports.columns["clique"]]
    seen = np.exp(channel.log_likelihood(reports, codes))  # (n, records), with the probability of the clique
    value, scores = 0.0, []
    for row, likelihood in zip(x, seen, strict=True):
        p = field.enumerated(row).probabilities(theta)
        phi = field.statistics(codes, np.tile(row, (len(codes), 1)))
        value -= np.log(likelihood @ p)
        scores.append((likelihood * p / (likelihood @ p) - p) @ phi)
    loss = ScoreLoss(tilted, rows)
    assert loss.value(theta) == pytest.approx(value + drawn.sum(), abs=1e-10)
    found, gradient = loss.value_and_gradient(theta)
    assert found == pytest.approx(value + drawn.sum(), abs=1e-10)
    np.testing.assert_allclose(gradient, -np.sum(scores, axis=0), atol=1e-10)
    np.testing.assert_allclose(loss.curvature(theta), np.array(scores).T @ np.array(scores), atol=1e-10)


def test_debiased_moments_are_unbiased_for_every_record() -> None:
    field, x = CHAIN, np.array([[0.3, -2.0]])
    tilted, _, channel, _, _ = _problem(field)
    plain = FieldDesign(np.zeros(2), np.ones(2), np.ones(2, dtype=bool), np.eye(field.dimension))
    for record in _records(field):
        for number, release in enumerate(channel.releases):
            total, expected = 0.0, np.zeros(release.cells + 2 * sum(channel.tables.shapes[number]))
            for subset in release.subsets():
                word = np.array([[sum(bit << i for i, bit in enumerate(subset))]], dtype=np.uint64)
                report = Reports(channel, {"clique": np.array([number]), "subset": word})
                moments = FieldMoments(tilted, rows_by_clique(channel, plain, x, report), channel.tables.shapes)
                chance = np.exp(channel.log_likelihood(report, record[None]))[0, 0]
                total += chance
                expected += chance * moments.statistics[0]
            clique = channel.tables.cliques[number]
            cell = np.zeros(channel.tables.shapes[number])
            cell[tuple(record[list(clique)])] = 1
            nodes = np.concatenate([np.eye(field.sizes[v])[record[v]] for v in clique])
            wanted = np.concatenate([cell.ravel(), np.outer(x[0], nodes).ravel()])
            np.testing.assert_allclose(expected / total, wanted, atol=1e-9)


def test_noise_of_many_rows_is_that_of_each() -> None:
    release = CliqueRelease([2, 3], [[0, 1]], 0.7).releases[0]
    assert release.subset_size > 1
    shares = np.random.default_rng(0).dirichlet(np.ones(6), size=4)
    for own, found in zip(shares, release.covariance(shares), strict=True):
        np.testing.assert_allclose(found, release.covariance(own), atol=1e-12)


@pytest.mark.parametrize("field", FIELDS.values(), ids=FIELDS)
def test_gradients_are_derivatives(field: RandomField) -> None:
    tilted, rows, channel, _, _ = _problem(field, 40)
    moments, theta = FieldMoments(tilted, rows, channel.tables.shapes), _theta(field)
    losses: list[RowLoss] = [MomentLoss(moments, theta + 0.1), ScoreLoss(tilted, rows)]
    for loss in losses:
        value, gradient = loss.value_and_gradient(theta)
        assert loss.value(theta) == pytest.approx(value)
        numerical = _numerical(lambda t, loss=loss: np.array(loss.value(t)), theta)  # type: ignore[misc]
        np.testing.assert_allclose(gradient, numerical, atol=1e-5 * np.abs(gradient).max())
    for number, slope in enumerate(moments.jacobians(theta)):
        numerical = _numerical(lambda t, number=number: moments.residuals(t)[number], theta)  # type: ignore[misc]
        np.testing.assert_allclose(slope, -numerical.T, atol=1e-8)


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("field", FIELDS.values(), ids=FIELDS)
def test_standardised_covariates_describe_the_same_field(field: RandomField, constant: bool) -> None:
    x = _x(50, np.random.default_rng(0)) + np.array([0, 2016])
    if constant:
        x[:, 0] = 4.0
    design, eta = FieldDesign.of(field, x), _theta(field)
    standardised = design.standardised(x)
    if constant or field is not FIELDS["a variable alone"]:
        np.testing.assert_allclose(standardised[:, 1].mean(), 0, atol=1e-9)
        np.testing.assert_allclose(standardised[:, 1].std(), 1)
    everything = range(len(field.sizes))
    np.testing.assert_allclose(
        field.marginal(design.to_theta @ eta, everything, x), field.marginal(eta, everything, standardised), atol=1e-9
    )


def test_equal_rows_are_folded_and_count_as_often() -> None:
    rng = np.random.default_rng(2)
    x, channel = rng.integers(0, 2, (3000, 2)).astype(np.float64), CliqueRelease(CHAIN.sizes, CLIQUES, 0.7)
    reports = channel.simulate(CHAIN.sample(_theta(CHAIN), 3000, rng, x), rng)
    design, tilted = FieldDesign.of(CHAIN, x), TiltedField(CHAIN, channel.tables.cliques)
    folded = rows_by_clique(channel, design, x, reports)
    assert sum(len(own.x) for own in folded) < 200
    assert sum(own.n_observations for own in folded) == 3000
    unfolded = []
    for own in folded:
        times = own.counts.astype(np.int64)
        x, instruments, words = (np.repeat(each, times, axis=0) for each in (own.x, own.instruments, own.words))
        unfolded.append(CliqueRows(own.clique, own.release, x, instruments, words, np.ones(times.sum())))
    theta, shapes = _theta(CHAIN), channel.tables.shapes
    few, many = (FieldMoments(tilted, rows, shapes) for rows in (folded, unfolded))
    pairs: list[tuple[RowLoss, RowLoss]] = [
        (MomentLoss(few, theta + 0.1), MomentLoss(many, theta + 0.1)),
        (ScoreLoss(tilted, folded), ScoreLoss(tilted, unfolded)),
    ]
    for first, second in pairs:
        one, other = first.value_and_gradient(theta), second.value_and_gradient(theta)
        assert one[0] == pytest.approx(other[0])
        np.testing.assert_allclose(one[1], other[1], rtol=1e-6)
        np.testing.assert_allclose(first.curvature(theta), second.curvature(theta), rtol=1e-6, atol=1e-6)
    for spread, whole in zip(few.empirical_covariances(theta), many.empirical_covariances(theta), strict=True):
        np.testing.assert_allclose(spread, whole, atol=1e-12)


# -- against simpler fits ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["moments", "one-step", "marginal"])
def test_without_noise_it_is_logistic_regression(method: FieldMethod) -> None:
    field = RandomField({"a": ["no", "yes"], "b": ["x", "y", "z"]}, [["a"], ["b"]], covariates=["u", "v"])
    x, rng = _x(3000, np.random.default_rng(3)), np.random.default_rng(4)
    channel = CliqueRelease(field.sizes, field.cliques, 30)
    records = field.sample(_theta(field), len(x), rng, x)
    reports = channel.simulate(records, rng)
    fit = estimate_field(field, Responses(channel).add(x, reports), method, prior_scale=1000.0)
    for v in range(2):  # maximum likelihood: Σ (1, x) (1[y] − p) = 0 over those who reported v
        own = reports.columns["clique"] == v
        error = np.eye(field.sizes[v])[records[own, v]] - field.marginal(fit.theta, [v], x[own])
        design = np.column_stack([np.ones(own.sum()), x[own]])
        size = np.sqrt(np.sum(design**2, axis=0))[:, None]
        assert np.abs(design.T @ error / size).max() < 0.01
    names = field.parameter_names
    effects = fit.effects("a")
    assert (effects.reference, effects.labels, effects.terms) == ("no", ("yes",), ("u", "v"))
    assert effects.estimate[1, 0] == pytest.approx(fit.theta[names.index("a=yes:v")] - fit.theta[names.index("a=no:v")])


def test_covariates_that_say_nothing_change_nothing() -> None:
    plain = RandomField([2, 3, 2], [[0, 1], [1, 2]])
    theta, rng = _theta(plain, scale=0.4), np.random.default_rng(7)
    channel = CliqueRelease(plain.sizes, plain.cliques, 2)
    reports = channel.simulate(plain.sample(theta, 15_000, rng), rng)
    before = estimate_field(plain, reports, prior_scale=30.0)
    # A constant column: the same moments and no others.
    constant = RandomField(plain.sizes, plain.cliques, covariates=1)
    same = estimate_field(constant, Responses(channel).add(np.full((15_000, 1), 3.0), reports), prior_scale=30.0)
    assert same.diagnostics.parameters == before.diagnostics.parameters
    # Noise: further moments, which say little about the tables.
    noise = estimate_field(CHAIN, Responses(channel).add(rng.normal(size=(15_000, 2)), reports), prior_scale=30.0)
    for clique in plain.cliques:
        table = before.marginal(clique)
        found = same.marginal(clique)
        np.testing.assert_allclose(found.estimate, table.estimate, atol=0.03 * table.standard_error.min())
        np.testing.assert_allclose(found.standard_error, table.standard_error, rtol=0.03)
        assert np.abs(noise.marginal(clique).estimate - table.estimate).max() < 0.5 * table.standard_error.max()
    # Six effects of nothing: all within 4.5 standard errors, false alarms below 1 in 10,000.
    effects = [noise.effects(v) for v in range(3)]
    assert max(np.abs(each.estimate / each.standard_error).max() for each in effects) < 4.5


@pytest.mark.parametrize("method", ["moments", "marginal"])
def test_units_and_origin_of_covariates_do_not_matter(method: FieldMethod) -> None:
    x, channel = _x(4000, np.random.default_rng(8)), CliqueRelease(CHAIN.sizes, CHAIN.cliques, 3)
    seen = _evidence(CHAIN, channel, _theta(CHAIN, scale=0.5), x)
    moved = Responses(channel).add(x * np.array([100.0, 0.5]) + np.array([0.0, 2016.0]), seen.chunks[0].reports)
    first, second = estimate_field(CHAIN, seen, method), estimate_field(CHAIN, moved, method)
    np.testing.assert_allclose(second.effects(1).estimate, first.effects(1).estimate / [[100.0], [0.5]], rtol=1e-5)
    np.testing.assert_allclose(
        second.marginal([0, 1], [0.0, 2016.5]).upper, first.marginal([0, 1], [0.0, 1.0]).upper, atol=1e-6
    )


def test_methods_agree_and_likelihood_rises() -> None:
    field, rng = FIELDS["ring"], np.random.default_rng(9)
    theta, x = _theta(field, scale=0.4), _x(20_000, rng)
    channel = CliqueRelease(field.sizes, [[0, 1], [1, 2], [0, 2]], 2)
    seen = _evidence(field, channel, theta, x)
    fits = {method: estimate_field(field, seen, method) for method in ("moments", "one-step", "marginal")}
    best = fits["marginal"]
    assert best.converged
    assert best.log_likelihood >= fits["one-step"].log_likelihood > best.log_likelihood - 0.1
    for v in range(3):
        truth = field.coefficients(theta, v)
        for method, fit in fits.items():
            effects = fit.effects(v)
            gap = np.abs(effects.estimate - best.effects(v).estimate) / effects.standard_error
            assert gap.max() < (2.5 if method == "moments" else 0.1)
            # 24 effects within 5 standard errors: false alarms below 1 in 10,000.
            assert np.abs((effects.estimate - (truth[:, 1:] - truth[:, :1])) / effects.standard_error).max() < 5


def test_parts_merge_to_the_same_fit() -> None:
    x, channel = _x(2000, np.random.default_rng(10)), CliqueRelease(CHAIN.sizes, CHAIN.cliques, 3)
    whole = _evidence(CHAIN, channel, _theta(CHAIN), x)
    reports = whole.chunks[0].reports
    parts = [Responses(channel).add(x[i : i + 500], reports[i : i + 500]) for i in range(0, 2000, 500)]
    merged = sum(parts[1:], start=parts[0])
    assert merged.n_observations == 2000
    np.testing.assert_array_equal(estimate_field(CHAIN, merged).theta, estimate_field(CHAIN, whole).theta)


# -- results -----------------------------------------------------------------------------------------------------------


def test_tables_given_covariates_and_averages() -> None:
    field = FIELDS["with zeros"]
    x, channel = _x(3000, np.random.default_rng(11)), CliqueRelease(field.sizes, [[0, 1], [1, 2]], 3)
    fit = estimate_field(field, _evidence(field, channel, _theta(field, scale=0.4), x), "marginal")
    averaged = fit.marginal([2, 0])
    np.testing.assert_allclose(averaged.estimate, field.marginal(fit.theta, [2, 0], x).mean(axis=0))
    group = fit.marginal([2, 0], x[:7])
    np.testing.assert_allclose(group.estimate, field.marginal(fit.theta, [2, 0], x[:7]).mean(axis=0))
    slopes = _numerical(lambda t: field.marginal(t, [2, 0], x[:7]).mean(axis=0), fit.theta)
    variances = np.einsum("dab,de,eab->ab", slopes, fit.covariance, slopes)
    np.testing.assert_allclose(group.standard_error, np.sqrt(variances), rtol=1e-5)
    one = fit.tables(x[0])[("0", "1")]
    np.testing.assert_allclose(one.estimate, field.marginal(fit.theta, [0, 1], x[:1])[0])
    assert one.estimate[1, 2] == one.lower[1, 2] == one.upper[1, 2] == 0
    assert np.all((one.lower <= one.estimate) & (one.estimate <= one.upper))


def test_results_for_people_and_programs(tmp_path: Path) -> None:
    x, channel = _x(3000, np.random.default_rng(12)), CliqueRelease(CHAIN.sizes, CHAIN.cliques, 3)
    fit = estimate_field(CHAIN, _evidence(CHAIN, channel, _theta(CHAIN, scale=0.4), x))
    assert "1: income" in fit.summary()
    assert "3,000" in fit.summary()
    content = fit.to_json()
    assert content["parameters"]["0=1:age"] == pytest.approx(fit.theta[CHAIN.parameter_names.index("0=1:age")])
    assert content["messages"] == list(fit.messages)
    assert fit.raw_tables[("0", "1")].sum() == pytest.approx(1)
    drawn = fit.sample(x[:10], np.random.default_rng(0))
    assert sorted(drawn) == ["0", "1", "2"]
    assert len(drawn["0"]) == 10
    interval = fit.confidence_interval()
    assert np.all(interval.lower < fit.theta)
    save(fit, tmp_path / "fit")
    assert load(tmp_path / "fit").to_json() == content  # type: ignore[union-attr]
    bare = estimate_field(CHAIN, _evidence(CHAIN, channel, _theta(CHAIN), x[:500]), covariance=False)
    assert np.isnan(bare.covariance).all()
    assert np.isnan(bare.marginal([0]).standard_error).all()
    assert bare.messages


def test_few_reports_do_not_explode() -> None:
    x, channel = _x(60, np.random.default_rng(13)), CliqueRelease(CHAIN.sizes, CHAIN.cliques, 0.3)
    seen = _evidence(CHAIN, channel, _theta(CHAIN), x)
    for method in ("moments", "one-step", "marginal"):
        with pytest.warns(RepairWarning, match="next to nothing"):
            fit = estimate_field(CHAIN, seen, method)
        assert fit.converged
        assert np.abs(fit.theta).max() < 3
        assert fit.diagnostics.enough_reports > 60
        assert fit.diagnostics.effective_parameters < 0.1 * fit.diagnostics.parameters


def test_without_a_prior_what_is_not_determined_has_no_interval() -> None:
    field = RandomField([2, 3, 2], [[0, 1], [1, 2]], covariates=["age", "one"])
    rng = np.random.default_rng(15)
    x, channel = np.column_stack([rng.normal(size=3000), np.ones(3000)]), CliqueRelease(field.sizes, field.cliques, 3)
    seen = _evidence(field, channel, _theta(field, scale=0.4), x)
    free, weak = (estimate_field(field, seen, prior_scale=scale) for scale in (np.inf, 30.0))
    assert free.diagnostics.effective_parameters == pytest.approx(free.diagnostics.parameters)
    age, constant = free.effects(0).standard_error.ravel()  # a constant is in the tables already
    assert age == pytest.approx(weak.effects(0).standard_error[0, 0], rel=1e-2)
    assert constant > 100


def test_a_clique_that_nobody_drew_is_left_to_the_prior() -> None:
    channel = CliqueRelease(
        CHAIN.sizes, CHAIN.cliques, 3, clique_probabilities=["1/1000000000", "999999999/1000000000"]
    )
    x = _x(500, np.random.default_rng(14))
    fit = estimate_field(CHAIN, _evidence(CHAIN, channel, _theta(CHAIN), x))
    assert fit.diagnostics.repaired or fit.diagnostics.effective_parameters < fit.diagnostics.parameters - 2
    assert np.isnan(fit.raw_tables[("0", "1")]).all()


CHANNEL = CliqueRelease(CHAIN.sizes, CHAIN.cliques, 1)
REPORTS = CHANNEL.simulate(np.zeros((4, 3), dtype=np.int64), np.random.default_rng(0))
SEEN = Responses(CHANNEL).add(np.eye(4, 2), REPORTS)

BAD: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "another channel": (lambda: Responses(PerValue(3, 1)), InputError, "CliqueRelease"),
    "no reports": (lambda: SEEN.add(np.eye(4, 2), [1, 2, 3, 4]), InputError, "Reports"),
    "other reports": (
        lambda: Responses(CliqueRelease(CHAIN.sizes, CHAIN.cliques, 2)).add(np.eye(4, 2), REPORTS),
        AskanceError,
        "clique-release|channel",
    ),
    "other merge": (lambda: SEEN.merge(3), IncompatibleEvidenceError, "merge"),  # type: ignore[arg-type]
    "rows": (lambda: SEEN.add(np.eye(3, 2), REPORTS), ShapeError, "3 rows for 4 reports"),
    "columns": (lambda: SEEN.add(np.eye(4, 3), REPORTS), ShapeError, "3 columns"),
    "a vector": (lambda: SEEN.add(np.ones(4), REPORTS), ShapeError, "shape"),
    "missing": (lambda: SEEN.add([[1.0, 2], [0, 1], [0, None], [1, 1]], REPORTS), MissingValueError, "row 2"),
    "infinite": (lambda: SEEN.add(np.full((4, 2), np.inf), REPORTS), MissingValueError, "finite"),
    "texts": (lambda: SEEN.add([["a", "b"]] * 4, REPORTS), InputError, "numbers"),
    "empty": (lambda: estimate_field(CHAIN, Responses(CHANNEL)), EmptyDataError, "no reports"),
    "reports without x": (lambda: estimate_field(CHAIN, REPORTS), InputError, "Responses"),
    "a field without x": (
        lambda: estimate_field(RandomField(CHAIN.sizes, CHAIN.cliques), SEEN), InputError, "field has none",
    ),
    "ridge": (lambda: estimate_field(CHAIN, SEEN, "ridge"), InputError, "moments"),
    "other sizes": (
        lambda: estimate_field(RandomField([2, 2], [[0, 1]], covariates=2), SEEN), IncompatibleEvidenceError, "same",
    ),
    "other columns": (
        lambda: estimate_field(RandomField(CHAIN.sizes, CHAIN.cliques, covariates=3), SEEN), ShapeError, "3, one for",
    ),
    "an unseen variable": (
        lambda: estimate_field(
            CHAIN,
            Responses(CliqueRelease(CHAIN.sizes, [[0, 1]], 1)).add(
                np.ones((1, 2)), CliqueRelease(CHAIN.sizes, [[0, 1]], 1).simulate([[0, 0, 0]], np.random.default_rng(0))
            ),
        ),
        NotIdentifiedError,
        "no clique",
    ),
    "too many parameters": (
        lambda: estimate_field(
            RandomField(CHAIN.sizes, CHAIN.cliques, covariates=400),
            Responses(CHANNEL).add(np.ones((4, 400)), REPORTS),
        ),
        InputError,
        "at most 2,000",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_named(case: str) -> None:
    make, kind, text = BAD[case]
    with pytest.raises(kind, match=text) as caught:
        make()
    assert isinstance(caught.value, AskanceError)
    assert caught.value.remedy
