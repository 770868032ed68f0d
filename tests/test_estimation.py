"""Estimators: derivatives, agreement of solvers and methods, repairs, warnings."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askance import (
    Coarsened,
    ComplementaryLabels,
    Direct,
    Enumerated,
    ForcedResponse,
    MatrixChannel,
    RandomizedResponse,
    Responses,
    Softmax,
    Tally,
    asymptotics,
    estimate,
)
from askance._arrays import FloatArray
from askance.channels import FiniteChannel
from askance.design.covariances import posterior_means
from askance.errors import (
    ImpossibleReportsWarning,
    IncompatibleEvidenceError,
    MultipleMaximaWarning,
    NotIdentifiedError,
    RepairWarning,
)
from askance.estimation.problems.likelihood import MarginalLikelihood
from askance.estimation.problems.matching import MomentMatching, match_moments
from askance.estimation.problems.tally_problem import TallyProblem
from askance.estimation.protocols import Objective
from askance.evidence.tally import Tally as TallyClass
from tests.families import CASES, Case

PAPER_MODEL = Enumerated([[0, 0, 1, 1], [0, 1, 0, 1]], parameter_names=["first", "second"])
THREE_MAXIMA_CHANNEL = MatrixChannel([["1/3", "1/6", "1/4"], ["1/3", "1/6", "1/2"], ["1/3", "2/3", "1/4"]])
identified_cases = [case for case in CASES if not isinstance(case.channel, Coarsened)]
every_identified_case = pytest.mark.parametrize("case", identified_cases, ids=[case.name for case in identified_cases])


def expected_tally(model: Enumerated, channel: FiniteChannel, theta: object, n: int) -> TallyClass:
    """Counts as close to n S p_θ as whole numbers allow."""
    return Tally(channel, np.round(n * channel.apply(model.probabilities(theta))).astype(int))  # type: ignore[arg-type]


def check_derivatives(objective: Objective, theta: FloatArray) -> None:
    step = 1e-5
    for j, unit in enumerate(np.eye(len(theta))):
        up, down = theta + step * unit, theta - step * unit
        slope = (objective.value(up) - objective.value(down)) / (2 * step)
        assert slope == pytest.approx(objective.gradient(theta)[j], abs=2e-8, rel=1e-6)
        bend = (objective.gradient(up) - objective.gradient(down)) / (2 * step)
        np.testing.assert_allclose(bend, objective.hessian(theta)[j], atol=1e-7, rtol=1e-6)


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_derivatives_agree_with_finite_differences(case: Case) -> None:
    rng = np.random.default_rng(1)
    frequencies = rng.dirichlet(np.ones(len(case.channel.observations)))
    precision = np.diag(rng.uniform(0.1, 1, case.model.dimension))
    check_derivatives(MarginalLikelihood(case.model, case.channel, frequencies), case.theta)
    check_derivatives(MarginalLikelihood(case.model, case.channel, frequencies, precision), case.theta)
    statistics = case.model.table @ rng.dirichlet(np.ones(len(case.model.outputs)))
    check_derivatives(MomentMatching(case.model, statistics, precision), case.theta)


@every_identified_case
def test_derivatives_of_the_noise_aware_fit(case: Case) -> None:
    counts = np.arange(1, len(case.channel.observations) + 1)
    problem = TallyProblem(case.model, Tally(case.channel, counts))
    precision = problem.standard.prior_precision(2.0)
    check_derivatives(problem.moments("best").noisy(case.theta, precision), case.theta)


@given(st.lists(st.floats(0.01, 1), min_size=4, max_size=4))
@settings(deadline=None)
def test_matching_recovers_any_inner_moments(weights: list[float]) -> None:
    p = np.array(weights) / sum(weights)
    model = Enumerated(np.array([[5, -1, 0, 2], [0, 1, 1, 0.5]]))
    solution = match_moments(model, model.table @ p)
    assert solution.converged
    np.testing.assert_allclose(model.mean_statistics(solution.theta), model.table @ p, atol=1e-11)


@given(st.floats(0.0, 3.0), st.integers(0, 3))
@settings(deadline=None)
def test_matching_proves_that_outer_moments_are_outside(excess: float, corner: int) -> None:
    """Points beyond a corner of the square, or on it, are moments of no member of the family."""
    vertex = PAPER_MODEL.table[:, corner]
    solution = match_moments(PAPER_MODEL, vertex + excess * (vertex - 0.5))
    assert solution.escaped
    assert not solution.converged


@every_identified_case
def test_every_method_finds_the_truth_in_exact_frequencies(case: Case) -> None:
    """With counts proportional to S p_θ all consistent estimators agree with θ, up to the rounding of counts."""
    tally = expected_tally(case.model, case.channel, case.theta, 10**15)
    for method in ("moments", "one-step", "marginal"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MultipleMaximaWarning)
            fit = estimate(case.model, tally, method)
        assert fit.converged
        assert not fit.diagnostics.repaired
        np.testing.assert_allclose(fit.theta, case.theta, atol=1e-6, rtol=1e-6)


@every_identified_case
def test_covariances_are_the_asymptotic_ones_over_n(case: Case) -> None:
    n = 10**15
    tally = expected_tally(case.model, case.channel, case.theta, n)
    limit = asymptotics(case.model, case.channel, case.theta)
    assert limit.moments is not None
    for kind in ("robust", "expected"):
        fit = estimate(case.model, tally, "moments", covariance=kind)
        np.testing.assert_allclose(n * fit.covariance, limit.moments, rtol=1e-4, atol=1e-4 * limit.moments.max())
    for kind in ("expected", "observed", "robust"):
        fit = estimate(case.model, tally, "one-step", covariance=kind)
        np.testing.assert_allclose(n * fit.covariance, limit.marginal, rtol=1e-4, atol=1e-4 * limit.marginal.max())


@given(st.lists(st.integers(150, 400), min_size=4, max_size=4))
@settings(max_examples=25, deadline=None)
def test_solvers_of_the_marginal_likelihood_agree(counts: list[int]) -> None:
    tally = Tally(RandomizedResponse("2/3", outputs=4), counts)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fits = [
            estimate(PAPER_MODEL, tally, "marginal", solver=solver, starts=[[0.0, 0.0]])
            for solver in ("newton", "em", "lbfgs")
        ]
    values = [fit.log_likelihood for fit in fits]
    if not any(fit.diagnostics.repaired for fit in fits):
        assert max(values) - min(values) < 1e-5
        np.testing.assert_allclose(fits[1].theta, fits[0].theta, atol=1e-4)
        np.testing.assert_allclose(fits[2].theta, fits[0].theta, atol=1e-3)


def test_saturated_fits_are_the_debiased_shares() -> None:
    """All methods then equal S⁻¹q̂, the estimator every survey text prints."""
    channel = RandomizedResponse("2/5", outputs=["a", "b", "c"])
    tally = Tally(channel, [400, 350, 250])
    shares = np.linalg.solve(channel.matrix, tally.frequencies)
    for method in ("moments", "one-step", "marginal", "projection"):
        fit = estimate(Enumerated.saturated(["a", "b", "c"]), tally, method)
        np.testing.assert_allclose(fit.model.probabilities(fit.theta), shares, atol=1e-9)


def test_supervised_equals_moments_through_the_identity_and_the_textbook() -> None:
    tally = Tally(Direct(4)).add([0] * 40 + [1] * 10 + [2] * 30 + [3] * 20)
    fit = estimate(PAPER_MODEL, tally, "supervised")
    np.testing.assert_allclose(fit.theta, np.log([0.5 / 0.5, 0.3 / 0.7]), atol=1e-10)
    np.testing.assert_allclose(fit.covariance, np.diag([1 / 25, 1 / 21]), atol=1e-10)
    np.testing.assert_allclose(estimate(PAPER_MODEL, tally, "moments").theta, fit.theta, atol=1e-12)


def test_two_maxima_are_found_and_warned_about() -> None:
    model = Enumerated([[2.0, 1.0, 0.0]])
    tally = expected_tally(model, THREE_MAXIMA_CHANNEL, [-1.1], 10**9)
    with pytest.warns(MultipleMaximaWarning, match="several maxima"):
        fit = estimate(model, tally, "marginal")
    places = [maximum.theta[0] for maximum in fit.diagnostics.maxima]
    assert places == pytest.approx([-1.1, 2.2646], abs=1e-3)
    assert fit.theta[0] == pytest.approx(-1.1, abs=1e-4)
    assert sum(maximum.starts for maximum in fit.diagnostics.maxima) == 10
    assert estimate(model, tally, "one-step").theta[0] == pytest.approx(-1.1, abs=1e-4)


def test_plateaus_are_no_maxima() -> None:
    """Shares of groups have one maximum each; far out the likelihood is flat, and some starts end there."""
    design, rng = ForcedResponse("2/3", "1/6"), np.random.default_rng(3)
    group = np.repeat(np.arange(20), 50)
    said = design.simulate(np.where(rng.random(len(group)) < 0.3, "yes", "no"), rng)
    x = np.eye(20)[group]
    x[:, 0] = 1
    model = Softmax(design.outputs, [f"group {number}" for number in range(20)])
    fit = estimate(model, Responses(design).add(x, said), "marginal")
    assert len(fit.diagnostics.maxima) == 1


def test_one_start_in_the_wrong_basin_is_led_astray() -> None:
    """Why several starts are the default."""
    model = Enumerated([[2.0, 1.0, 0.0]])
    tally = expected_tally(model, THREE_MAXIMA_CHANNEL, [-1.1], 10**9)
    fit = estimate(model, tally, "marginal", solver="em", starts=[[3.0]])
    assert fit.theta[0] == pytest.approx(2.2646, abs=1e-3)


@pytest.mark.parametrize("method", ["moments", "one-step"])
def test_moments_outside_the_polytope_are_repaired_and_said_to_be(method: str) -> None:
    channel = RandomizedResponse("1/4", outputs=4)
    tally = Tally(channel, [1, 1, 300, 300])  # far more than S can produce
    with pytest.warns(RepairWarning, match="belong to no distribution"), pytest.warns(ImpossibleReportsWarning):
        fit = estimate(PAPER_MODEL, tally, method)
    assert fit.alarm
    assert fit.diagnostics.repaired
    assert fit.covariance_kind == "posterior"
    assert fit.diagnostics.messages
    assert fit.raw_statistics is not None
    assert fit.raw_statistics[0] > 1  # the raw, unbiased, impossible share stays available
    assert 0.9 < fit.statistics[0] < 1
    assert np.isfinite(fit.standard_errors).all()
    assert np.linalg.eigvalsh(fit.covariance).min() > 0


def test_a_weaker_prior_lets_the_estimate_go_farther() -> None:
    tally = Tally(RandomizedResponse("1/4", outputs=4), [1, 1, 300, 300])
    with pytest.warns(RepairWarning), pytest.warns(ImpossibleReportsWarning):
        near, far = (estimate(PAPER_MODEL, tally, "moments", prior_scale=s).theta[0] for s in (2.0, 20.0))
    assert far > near > 0


def test_a_likelihood_without_a_finite_maximum_is_repaired() -> None:
    tally = Tally(RandomizedResponse("1/4", outputs=4), [1, 1, 300, 300])
    with pytest.warns(RepairWarning, match="runs off to infinity"), pytest.warns(ImpossibleReportsWarning):
        fit = estimate(PAPER_MODEL, tally, "marginal")
    assert fit.diagnostics.escaped_starts > 0
    assert np.isfinite(fit.theta).all()


@pytest.mark.filterwarnings("ignore::askance.errors.ImpossibleReportsWarning")
@pytest.mark.parametrize("method", ["moments", "one-step", "marginal"])
@pytest.mark.parametrize("counts", [[75, 25], [25, 75], [750_000, 250_000], [76, 24], [0, 100], [749, 251]])
def test_shares_on_or_near_the_boundary_are_repaired(method: str, counts: list[int]) -> None:
    """Exactly, nearly and far beyond what the channel gives when everybody says the same."""
    with pytest.warns(RepairWarning):
        fit = estimate(Enumerated.saturated(2), Tally(RandomizedResponse("1/2", outputs=2), counts), method)
    assert fit.diagnostics.repaired
    assert bool(fit.alarm) == (counts == [0, 100])
    assert 0.5 < fit.standard_errors[0] < 5.5
    assert 2 < abs(fit.theta[0]) < 20


def test_reports_that_the_channel_never_gives_are_refused() -> None:
    channel = MatrixChannel([[0.9, 0.2], [0.1, 0.8], [0, 0]], observations=["a", "b", "c"])
    for method in ("moments", "one-step", "marginal", "projection"):
        with pytest.raises(IncompatibleEvidenceError, match="'c' was reported 7 times"):
            estimate(Enumerated.saturated(2), Tally(channel, [50, 50, 7]), method)


def test_saddles_are_left_behind() -> None:
    """θ = 0 is a minimum of this likelihood between two maxima, and a small tally once ended on a saddle."""
    channel = MatrixChannel([[0.9, 0.9, 0.1], [0.1, 0.1, 0.9]])
    with pytest.warns(MultipleMaximaWarning):
        fit = estimate(Enumerated([[1, -1, 0]]), Tally(channel, [80, 20]), "marginal")
    assert len(fit.diagnostics.maxima) == 2
    assert all(abs(maximum.theta[0]) > 0.5 for maximum in fit.diagnostics.maxima)
    with pytest.warns(RepairWarning):
        small = estimate(Enumerated.saturated(5), Tally(RandomizedResponse(0.2, outputs=5), [0, 0, 4, 3, 3]), "moments")
    assert np.isfinite(small.standard_errors).all()


def test_one_step_is_damped_when_the_step_is_too_long() -> None:
    tally = Tally(RandomizedResponse("1/10", outputs=4), [6, 6, 6, 12])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RepairWarning)
        start, fit = (estimate(PAPER_MODEL, tally, method) for method in ("moments", "one-step"))
    assert np.abs(fit.theta - start.theta).max() <= 2.0 + 1e-9
    assert fit.log_likelihood >= start.log_likelihood - 1e-9


def test_likelihood_methods_work_where_no_beta_exists() -> None:
    model = Enumerated([[0.0, 1.0, 2.0]], outputs=["a", "b", "c"])
    channel = Coarsened([["a", "b"], ["c"]])
    tally = expected_tally(model, channel, [0.4], 10**9)
    assert estimate(model, tally, "marginal").theta[0] == pytest.approx(0.4, abs=1e-6)
    for method in ("moments", "one-step"):
        with pytest.raises(NotIdentifiedError):
            estimate(model, tally, method)


def test_negative_labels_train_as_well_as_their_number_allows() -> None:
    model, channel = Enumerated.saturated(3), ComplementaryLabels(3)
    rng = np.random.default_rng(4)
    truth = model.sample([0.5, -0.5], 200_000, rng)
    fit = estimate(model, Tally(channel).add(channel.simulate(truth, rng)))
    z = (fit.theta - [0.5, -0.5]) / fit.standard_errors
    assert np.abs(z).max() < 6  # false-alarm rate 4e-9


def test_posterior_means_average_to_the_prior_mean() -> None:
    for case in CASES:
        means, frequencies = posterior_means(case.model, case.channel, case.theta)
        np.testing.assert_allclose(means @ frequencies, case.model.mean_statistics(case.theta), atol=1e-10)


@pytest.mark.parametrize(
    "channel",
    [
        RandomizedResponse("1/4", outputs=["no", "yes"]),
        ForcedResponse("1/3", "1/3"),
        RandomizedResponse("1/3", outputs=["a", "b", "c"]),
    ],
    ids=["two", "forced", "three"],
)
@pytest.mark.parametrize("n", [100, 200, 400])
def test_one_step_ends_within_a_fiftieth_of_a_standard_error(channel: FiniteChannel, n: int) -> None:
    """Where information is thin, expected and observed curvature differ: by scoring alone up to 0.6 were left."""
    compared = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        x = np.column_stack([np.ones(n), rng.normal(size=n)])
        model = Softmax(channel.outputs, ["Intercept", "x"])
        below = model.probabilities(np.tile([-0.5, 0.7], len(channel.outputs) - 1), x).cumsum(axis=1)
        codes = (rng.random(n)[:, None] > below[:, :-1]).sum(axis=1)
        reports = channel.simulate(np.array(channel.outputs.labels)[codes], rng)
        evidence = Responses(channel).add(x, reports)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RepairWarning)
            fit = estimate(model, evidence)
            top = estimate(model, evidence, "marginal", starts=[fit.theta])
        if not fit.repaired and not top.repaired:
            away = fit.theta - top.theta
            assert away @ np.linalg.solve(top.covariance, away) < 0.02**2
            compared += 1
    assert compared >= 2
