"""Regression on noised answers: against enumeration, against other codings of the same data, against known optima."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import sparse

from askance import (
    Coarsened,
    Crosswise,
    Direct,
    Enumerated,
    ForcedResponse,
    MatrixChannel,
    RandomizedResponse,
    Responses,
    Softmax,
    Tally,
    estimate,
)
from askance._arrays import FloatArray
from askance.channels import FiniteChannel
from askance.design.covariances import marginal_information
from askance.errors import (
    AskanceWarning,
    IncompatibleEvidenceError,
    InputError,
    NotIdentifiedError,
    RepairWarning,
    ShapeError,
)
from askance.estimation.methods.wide import fit_wide
from askance.estimation.problems.responses_problem import ResponsesProblem
from askance.estimation.protocols import Objective
from askance.estimation.solvers.newton import newton
from tests.test_estimation import check_derivatives


@dataclass(frozen=True)
class Survey:
    model: Softmax
    channel: FiniteChannel
    theta: FloatArray
    x: FloatArray
    reports: FloatArray

    @property
    def evidence(self) -> Responses:
        return Responses(self.channel).add(self.x, self.reports)


def make(channel: FiniteChannel, n: int = 400, seed: int = 0, *, discrete: bool = False) -> Survey:
    rng = np.random.default_rng(seed)
    draws = rng.integers(0, 3, n).astype(float) if discrete else rng.normal(2.0, 3.0, n)
    x = np.column_stack([np.ones(n), draws, rng.integers(0, 2, n)])
    model = Softmax(channel.outputs, ["Intercept", "age", "female"])
    theta = rng.normal(size=model.dimension) * np.tile([0.5, 0.2, 0.5], len(channel.outputs) - 1)
    p = model.probabilities(theta, x)
    truth = (rng.random(n)[:, None] > p.cumsum(axis=1)).sum(axis=1)
    return Survey(model, channel, theta, x, channel.simulate(channel.outputs.decode(truth), rng))


CHANNELS: dict[str, FiniteChannel] = {
    "forced response": ForcedResponse("2/3", "1/6"),
    "crosswise": Crosswise("1/5"),
    "three observations of two outputs": MatrixChannel([[0.7, 0.1], [0.2, 0.3], [0.1, 0.6]]),
    "four categories": RandomizedResponse.for_privacy_level(3, outputs=4),
    "three categories": RandomizedResponse("3/4", ["1/2", "1/4", "1/4"], outputs=["a", "b", "c"]),
}
every_channel = pytest.mark.parametrize("channel", CHANNELS.values(), ids=CHANNELS.keys())


@every_channel
@pytest.mark.parametrize("weighted", [False, True])
def test_derivatives_agree_with_finite_differences(channel: FiniteChannel, weighted: bool) -> None:
    survey = make(channel, 60)
    weights = np.random.default_rng(1).uniform(0.5, 3, 60) if weighted else None
    problem = ResponsesProblem(survey.model, Responses(channel).add(survey.x, survey.reports, weights=weights))
    precision = problem.standard.prior_precision(2.0)
    equations = problem.moments("best")
    objectives: list[Objective] = [
        problem.likelihood(),
        problem.likelihood(precision),
        equations.matching(),
        equations.matching(precision),
        equations.noisy(survey.theta, precision),
    ]
    for objective in objectives:
        check_derivatives(objective, survey.theta)


@every_channel
def test_information_equals_the_sum_of_enumerations(channel: FiniteChannel) -> None:
    survey = make(channel, 25)
    problem = ResponsesProblem(survey.model, survey.evidence)
    tables = [survey.model.at(x) for x in survey.x]
    expected = np.mean([marginal_information(table, channel, survey.theta) for table in tables], axis=0)
    np.testing.assert_allclose(problem.likelihood().expected_information(survey.theta), expected, atol=1e-12)
    full = np.mean([table.fisher_information(survey.theta) for table in tables], axis=0)
    np.testing.assert_allclose(problem.information(survey.theta), full, atol=1e-12)


@every_channel
def test_likelihood_equals_the_sum_of_enumerations(channel: FiniteChannel) -> None:
    survey = make(channel, 25)
    codes = channel.observations.encode(survey.reports)
    expected = -np.mean(
        [
            np.log(channel.apply(survey.model.at(x).probabilities(survey.theta))[o])
            for x, o in zip(survey.x, codes, strict=True)
        ]
    )
    value = ResponsesProblem(survey.model, survey.evidence).likelihood().value(survey.theta)
    assert value == pytest.approx(expected, rel=1e-13)


@every_channel
def test_moment_covariance_equals_enumeration(channel: FiniteChannel) -> None:
    """Expected: I⁻¹ Ê Cov[β|x]⊗xxᵀ I⁻¹; robust: the spread of β − μ(θ; x) over the reports, not of β."""
    survey = make(channel, 40)
    problem = ResponsesProblem(survey.model, survey.evidence)
    equations = problem.moments("best")
    (beta,) = equations.betas
    assert beta is not None
    R, codes, n = beta.coefficients, channel.observations.encode(survey.reports), 40
    inverse = np.linalg.inv(problem.information(survey.theta))
    noise = np.zeros_like(inverse)
    spread = np.zeros_like(inverse)
    for x, o in zip(survey.x, codes, strict=True):
        p = survey.model.at(x).probabilities(survey.theta)
        q = channel.apply(p)
        noise += np.kron((R * q) @ R.T - np.outer(p[1:], p[1:]), np.outer(x, x)) / n
        score = np.kron(R[:, o] - p[1:], x)
        spread += np.outer(score, score) / n
    np.testing.assert_allclose(equations.covariance(survey.theta, "expected"), inverse @ noise @ inverse / n, rtol=1e-9)
    np.testing.assert_allclose(equations.covariance(survey.theta, "robust"), inverse @ spread @ inverse / n, rtol=1e-9)


@every_channel
@pytest.mark.parametrize("method", ["moments", "one-step", "marginal"])
def test_collapsed_equals_uncollapsed(channel: FiniteChannel, method: str) -> None:
    survey = make(channel, 3000, discrete=True)
    collapsed = survey.evidence.collapse()
    assert len(collapsed.chunks[0].codes) <= 6 * len(channel.observations)
    assert collapsed.n_observations == 3000
    jitter = survey.x + np.arange(3000)[:, None] * np.array([0, 1e-13, 0])  # all rows different, nothing collapses
    plain = Responses(channel).add(jitter, survey.reports)
    assert plain.collapse() is plain
    for covariance in ("robust", "expected"):
        left = estimate(survey.model, collapsed, method, covariance=covariance)
        right = estimate(survey.model, plain, method, covariance=covariance)
        np.testing.assert_allclose(left.theta, right.theta, atol=1e-7)
        np.testing.assert_allclose(left.covariance, right.covariance, rtol=1e-6)
        assert left.log_likelihood == pytest.approx(right.log_likelihood)
        assert left.n_observations == right.n_observations


@every_channel
def test_chunks_and_order_do_not_matter(channel: FiniteChannel) -> None:
    survey = make(channel, 900)
    order = np.random.default_rng(3).permutation(900)
    parts = [Responses(channel).add(survey.x[i], survey.reports[i]) for i in np.array_split(order, 4)]
    whole, split = (
        estimate(survey.model, survey.evidence),
        estimate(survey.model, parts[2] + parts[0] + parts[3] + parts[1]),
    )
    np.testing.assert_allclose(split.theta, whole.theta, atol=1e-10)
    np.testing.assert_allclose(split.covariance, whole.covariance, rtol=1e-9)


@pytest.mark.parametrize("method", ["moments", "one-step", "marginal"])
def test_sparse_equals_dense(method: str) -> None:
    survey = make(CHANNELS["four categories"], 3000)
    thin = Responses(survey.channel).add(sparse.csr_matrix(survey.x), survey.reports)
    dense, found = estimate(survey.model, survey.evidence, method), estimate(survey.model, thin, method)
    np.testing.assert_allclose(found.theta, dense.theta, atol=1e-9)
    np.testing.assert_allclose(found.covariance, dense.covariance, rtol=1e-8)


@pytest.mark.parametrize("method", ["moments", "one-step", "marginal"])
def test_whole_weights_are_repetitions(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ResponsesProblem, "most_clusters", 100)  # more are taken as they are
    survey = make(CHANNELS["forced response"], 700)
    times = np.random.default_rng(5).integers(1, 4, 700)
    weighted = Responses(survey.channel).add(survey.x, survey.reports, weights=times.astype(float))
    repeated = Responses(survey.channel).add(
        np.repeat(survey.x, times, axis=0), np.repeat(survey.reports, times), clusters=np.repeat(np.arange(700), times)
    )
    left, right = estimate(survey.model, weighted, method), estimate(survey.model, repeated, method)
    np.testing.assert_allclose(left.theta, right.theta, atol=1e-9)
    # Repetitions of one person are one cluster: the cluster-robust covariance is that of the weights, times C/(C − 1).
    np.testing.assert_allclose(right.covariance, left.covariance * 700 / 699, rtol=1e-4)
    assert right.covariance_kind == "cluster-robust"
    assert left.covariance_kind == "robust"


def test_many_clusters_of_one_are_no_clusters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ResponsesProblem, "most_clusters", 100)
    survey = make(CHANNELS["forced response"], 700)
    clustered = Responses(survey.channel).add(survey.x, survey.reports, clusters=np.arange(700).astype(str))
    left = estimate(survey.model, clustered, "moments")
    right = estimate(survey.model, survey.evidence, "moments", covariance="robust")
    np.testing.assert_allclose(left.covariance, right.covariance * 700 / 699, rtol=1e-9)


@every_channel
def test_an_intercept_alone_is_the_model_without_covariates(channel: FiniteChannel) -> None:
    survey = make(channel, 4000)
    model = Softmax(channel.outputs, ["Intercept"])
    for method in ("moments", "one-step", "marginal"):
        conditional = estimate(model, Responses(channel).add(survey.x[:, :1], survey.reports), method)
        plain = estimate(Enumerated.saturated(channel.outputs), Tally(channel).add(survey.reports), method)
        np.testing.assert_allclose(conditional.theta, plain.theta, atol=1e-8)
        np.testing.assert_allclose(conditional.covariance, plain.covariance, rtol=1e-6)


def test_supervised_fits_solve_the_score_equations() -> None:
    survey = make(Direct(3), 2000)
    fit = estimate(survey.model, survey.evidence, "supervised")
    residual = survey.model.statistics(survey.reports, survey.x) - survey.model.mean_statistics(fit.theta, survey.x)
    assert np.abs(residual.mean(axis=0)).max() < 1e-10
    information = survey.model.fisher_information(fit.theta, survey.x).sum(axis=0)
    np.testing.assert_allclose(fit.covariance, np.linalg.inv(information), rtol=1e-9)


def test_units_of_covariates_do_not_matter() -> None:
    survey = make(CHANNELS["forced response"], 2000)
    shifted = survey.x * [1, 1000, 1] + [0, 2000, 0]  # a year, say, far from zero
    for method in ("moments", "one-step", "marginal"):
        left = estimate(survey.model, survey.evidence, method)
        right = estimate(survey.model, Responses(survey.channel).add(shifted, survey.reports), method)
        assert right.converged
        assert right.theta[1] * 1000 == pytest.approx(left.theta[1], rel=1e-6)
        assert right.theta[2] == pytest.approx(left.theta[2], rel=1e-6)
        np.testing.assert_allclose(right.standard_errors[1:] * [1000, 1], left.standard_errors[1:], rtol=1e-6)


def test_estimates_are_near_the_truth() -> None:
    """n = 100,000, six standard errors: false-alarm rate 2e-9 per coefficient."""
    for channel in CHANNELS.values():
        survey = make(channel, 100_000, seed=9)
        for method in ("moments", "one-step", "marginal"):
            fit = estimate(survey.model, survey.evidence, method)
            assert (np.abs(fit.theta - survey.theta) < 6 * fit.standard_errors).all()


@pytest.mark.parametrize("method", ["moments", "marginal"])
@pytest.mark.parametrize("thin", [False, True])
def test_wide_fits_reach_the_optimum_of_the_penalised_objective(method: str, thin: bool) -> None:
    """The solver for thousands of coefficients, on a problem small enough for Newton."""
    survey = make(CHANNELS["four categories"], 2000)
    x = sparse.csr_matrix(survey.x) if thin else survey.x
    problem = ResponsesProblem(survey.model, Responses(survey.channel).add(x, survey.reports))
    fit = fit_wide(problem, method, ridge=3.0, tolerance=1e-8)
    assert fit.converged
    precision = np.diag(np.tile([0.0, 3.0, 3.0], 3)) / 2000  # the intercept is not penalised
    objective = problem.moments("best").matching(precision) if method == "moments" else problem.likelihood(precision)
    exact = newton(objective, fit.theta, problem.standard)
    np.testing.assert_allclose(fit.theta, exact.theta, atol=1e-5)
    assert np.isnan(fit.covariance).all()


def test_wide_models_take_the_wide_way_and_say_what_they_lack() -> None:
    rng = np.random.default_rng(2)
    levels = rng.integers(0, 2100, 30_000)
    x = sparse.csr_matrix((np.ones(30_000), (np.arange(30_000), levels)), shape=(30_000, 2100))
    channel = CHANNELS["forced response"]
    model = Softmax(channel.outputs, [f"level {j}" for j in range(2100)])
    evidence = Responses(channel).add(x, channel.simulate(np.where(levels < 1050, "no", "yes"), rng))
    fit = estimate(model, evidence, "moments", ridge=0.5)
    assert fit.theta[1050:].mean() - fit.theta[:1050].mean() > 1
    assert "without standard errors" in fit.diagnostics.messages[0]
    with pytest.raises(InputError, match="allowed for 2100 coefficients: moments, marginal"):
        estimate(model, evidence, "one-step")
    with pytest.raises(InputError, match="no option 'starts'"):
        estimate(model, evidence, "marginal", starts=3)


def test_merging_commutes_whatever_was_collapsed() -> None:
    channel = CHANNELS["forced response"]
    first, second = make(channel, 3000, seed=1, discrete=True), make(channel, 3000, seed=2, discrete=True)
    fits = [
        estimate(first.model, evidence, "moments")
        for evidence in (
            first.evidence + second.evidence,
            first.evidence.collapse() + second.evidence,
            second.evidence + first.evidence.collapse(),
            first.evidence.collapse() + second.evidence.collapse(),
        )
    ]
    for fit in fits[1:]:
        np.testing.assert_allclose(fit.theta, fits[0].theta, atol=1e-9)
        np.testing.assert_allclose(fit.covariance, fits[0].covariance, rtol=1e-8)
    weighted = Responses(channel).add(first.x, first.reports, weights=np.ones(3000))
    for pair in ((first.evidence, weighted), (weighted, first.evidence)):
        with pytest.raises(InputError, match="for all or for none"):
            pair[0] + pair[1]


def test_the_scale_of_sampling_weights_does_not_matter() -> None:
    survey = make(CHANNELS["three observations of two outputs"], 900)
    weights = np.random.default_rng(3).uniform(0.5, 2, 900)
    fits = [
        estimate(survey.model, Responses(survey.channel).add(survey.x, survey.reports, weights=scale * weights))
        for scale in (1.0, 1e-6, 1e200)
    ]
    for fit in fits[1:]:
        np.testing.assert_allclose(fit.theta, fits[0].theta, rtol=1e-9)
        np.testing.assert_allclose(fit.covariance, fits[0].covariance, rtol=1e-9)


def test_bad_clusters_are_refused() -> None:
    survey = make(CHANNELS["forced response"], 200)
    with pytest.raises(InputError, match="one cluster"):
        estimate(survey.model, Responses(survey.channel).add(survey.x, survey.reports, clusters=["a"] * 200))
    with pytest.raises(InputError, match=r"clusters\[3\] is missing"):
        Responses(survey.channel).add(survey.x, survey.reports, clusters=np.where(np.arange(200) == 3, np.nan, 1.0))
    with pytest.warns(AskanceWarning, match="3 clusters for 3 parameters"):
        estimate(survey.model, Responses(survey.channel).add(survey.x, survey.reports, clusters=np.arange(200) % 3))


@pytest.mark.parametrize("channel", [Direct(["no", "yes"]), ForcedResponse("2/3", "1/3")], ids=["direct", "one-sided"])
def test_extreme_covariates_do_not_break_the_likelihood(channel: FiniteChannel) -> None:
    """One respondent far out: log-odds beyond 37, where 1 − p is 0 in floating point."""
    survey = make(channel, 2000)
    x = survey.x.copy()
    x[0, 1] = 400.0
    for method in ("moments", "one-step", "marginal"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RepairWarning)
            fit = estimate(survey.model, Responses(channel).add(x, survey.reports), method)
        assert np.isfinite(fit.theta).all()
        assert np.isfinite(fit.log_likelihood)


def test_the_origin_of_a_covariate_does_not_matter() -> None:
    """A year and its square are nearly collinear counted from 0, and ordinary counted from 1950: the same model."""
    channel = CHANNELS["forced response"]
    rng = np.random.default_rng(12)
    year = rng.integers(1930, 2000, 3000).astype(float)
    truth = np.where(rng.random(3000) < 1 / (1 + np.exp(0.5 - 0.03 * (year - 1965))), "yes", "no")
    reports = channel.simulate(truth, rng)
    model = Softmax(channel.outputs, ["Intercept", "year", "year squared"])
    for method in ("moments", "one-step", "marginal"):
        fits = [
            estimate(model, Responses(channel).add(np.column_stack([np.ones(3000), t, t**2]), reports), method)
            for t in (year - 1965, (year - 1965) / 10, year)
        ]
        for fit in fits:
            assert not fit.diagnostics.repaired
            assert fit.log_likelihood == pytest.approx(fits[0].log_likelihood, abs=1e-3)
            assert fit.theta[2] / fit.standard_errors[2] == pytest.approx(
                fits[0].theta[2] / fits[0].standard_errors[2], rel=1e-2
            )


def test_heavy_tails_take_more_steps_and_reach_the_maximum() -> None:
    channel = CHANNELS["forced response"]
    rng = np.random.default_rng(8)
    x = np.column_stack([np.ones(2000), np.exp(1.8 * rng.normal(size=2000))])
    truth = np.where(rng.random(2000) < 1 / (1 + np.exp(1 - 0.3 * x[:, 1])), "yes", "no")
    evidence = Responses(channel).add(x, channel.simulate(truth, rng))
    model = Softmax(channel.outputs, ["Intercept", "income"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RepairWarning)
        fit = estimate(model, evidence)
    best = estimate(model, evidence, "marginal")
    if not fit.diagnostics.repaired:
        assert (np.abs(fit.theta - best.theta) < 0.15 * best.standard_errors).all()
    assert any("steps" in message or "step" in message for message in fit.diagnostics.messages)


def test_alternating_columns_survive_the_thinned_search_for_maxima() -> None:
    n = 120_000
    x = np.column_stack([np.ones(n), np.arange(n) % 2, np.arange(n) < 60])
    channel = CHANNELS["forced response"]
    rng = np.random.default_rng(0)
    reports = channel.simulate(np.where(rng.random(n) < 0.3 + 0.2 * x[:, 1], "yes", "no"), rng)
    jitter = x + np.arange(n)[:, None] * np.array([0, 1e-14, 0])  # nothing to collapse
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AskanceWarning)
        fit = estimate(
            Softmax(channel.outputs, ["Intercept", "half", "rare"]), Responses(channel).add(jitter, reports), "marginal"
        )
    assert fit.theta[1] > 0.5


def test_separation_is_repaired_and_said_to_be() -> None:
    x = np.column_stack([np.ones(200), np.repeat([0.0, 1.0], 100)])
    evidence = Responses(Direct(2)).add(x, np.repeat([0, 1], 100))
    with pytest.warns(RepairWarning, match="no distribution"):
        fit = estimate(Softmax(2, ["Intercept", "group"]), evidence, "supervised")
    assert np.isfinite(fit.theta).all()
    assert fit.theta[1] > 5


def test_collinear_columns_are_named() -> None:
    survey = make(CHANNELS["forced response"], 100)
    x = np.column_stack([survey.x, survey.x[:, 1] * 2 + 3])
    model = Softmax(survey.channel.outputs, ["Intercept", "age", "female", "age in months"])
    with pytest.raises(NotIdentifiedError, match=r"'age'.*'age in months'.*collinear") as caught:
        estimate(model, Responses(survey.channel).add(x, survey.reports))
    assert "female" not in str(caught.value)


def test_a_channel_that_cannot_see_the_outputs_is_refused() -> None:
    channel = Coarsened([["a", "b"], ["c"]])
    survey = make(channel, 300)
    with pytest.raises(NotIdentifiedError, match="rank 2 for 3 outputs"):
        estimate(survey.model, survey.evidence, "moments")


def test_bad_evidence_is_refused() -> None:
    channel = CHANNELS["forced response"]
    model, x, said = Softmax(channel.outputs, ["Intercept"]), np.ones((3, 1)), ["yes", "no", "no"]
    with pytest.raises(InputError, match="no reports"):
        estimate(model, Responses(channel))
    with pytest.raises(ShapeError, match="3 rows for 2 reports"):
        Responses(channel).add(x, said[:2])
    with pytest.raises(InputError, match="nan"):
        Responses(channel).add(np.array([[1.0], [np.nan], [1.0]]), said)
    with pytest.raises(InputError, match="above 0"):
        Responses(channel).add(x, said, weights=[1, 0, 1])
    with pytest.raises(InputError, match="for all or for none"):
        Responses(channel).add(x, said).add(x, said, weights=[1, 1, 1])
    with pytest.raises(IncompatibleEvidenceError, match="different channels"):
        Responses(channel) + Responses(Crosswise("1/5"))
    with pytest.raises(InputError, match="allowed here: robust"):
        estimate(model, Responses(channel).add(x, said, weights=[1, 1, 1]), covariance="expected")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(IncompatibleEvidenceError, match="covariates"):
            estimate(model, Responses(channel).add(x, said), "projection")
