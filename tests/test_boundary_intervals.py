"""Shares of hidden variables: as regressions by themselves, and with intervals that hold at 0 and 1."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from askance import (
    CheatingDetection,
    Direct,
    HiddenFit,
    ListExperiment,
    Responses,
    StochasticLieDetector,
    estimate,
    regress,
)
from askance._arrays import AnyArray, FloatArray
from askance.errors import InputError
from askance.estimation.problems.cluster_spread import mean_spread
from askance.estimation.problems.conditional import Block
from askance.estimation.problems.hidden_problem import HiddenProblem
from askance.estimation.problems.sample import Sample
from askance.estimation.problems.share_average import ShareAverage
from askance.estimation.results.boundary_intervals import _ratio_at_end
from askance.models.hidden import Factor, HiddenVariables
from askance.models.softmax import Softmax

from .cr2 import by_cluster

CDM, Z = CheatingDetection(["1/5", "7/10"]), 1.959964


def counted(design: Any, counts: dict[Any, list[int]], **options: Any) -> HiddenFit:
    """A fit of so many reports of every group; nobody warns of boundaries."""
    evidence = Responses(design.arms)
    for group, own in counts.items():
        said = np.repeat(design.arms[group].observations.labels, own)
        more = {name: np.tile(values, len(said))[: len(said)] for name, values in options.items()}
        evidence = evidence.add(np.ones((len(said), 1)), said, arm=group, **more)
    fit: HiddenFit = quiet(lambda: estimate(design.model(["Intercept"]), evidence))
    return fit


def quiet(make: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make()


def survey(n: int = 1200) -> dict[str, Any]:
    """Nobody lies; the trait depends on age and region."""
    rng = np.random.default_rng(5)
    design = StochasticLieDetector(["1/5", "4/5"])
    age, north, group = rng.normal(size=n), rng.random(n) < 0.4, rng.integers(1, 3, n)
    trait = np.where(rng.random(n) < 1 / (1 + np.exp(1.0 - 0.7 * age - 0.5 * north)), "yes", "no")
    pairs: AnyArray = np.array(design.combinations(trait, np.where(rng.random(n) < 0.8, "yes", "no")))
    said = np.where(group == 1, design.arms[1].simulate(pairs, rng), design.arms[2].simulate(pairs, rng))
    region, weight = np.where(north, "north", "south"), rng.uniform(1, 3, n)
    return {"said": said, "age": age, "region": region, "group": group, "weight": weight}


LIES = StochasticLieDetector(["1/5", "4/5"])


@pytest.mark.parametrize("yes", [0, 3])
def test_shares_that_are_seen_have_the_interval_of_the_binomial_likelihood(yes: int) -> None:
    """2 n KL(p̂ ‖ p) ≤ z²; with nobody, −2 n log(1 − p) ≤ z²."""
    model, n = HiddenVariables([Factor("trait", ["no", "yes"], ["Intercept"])]), 50
    said = ["no"] * (n - yes) + ["yes"] * yes
    fit = quiet(lambda: estimate(model, Responses(Direct(["no", "yes"])).add(np.ones((n, 1)), said)))
    share = fit.shares("trait")
    ends = np.array([share.lower[1], share.upper[1]])
    counts: AnyArray = np.array([n - yes, yes])
    with np.errstate(divide="ignore", invalid="ignore"):
        height = [np.nansum(counts * np.log([1 - p, p])) for p in ends]
    top = np.nansum(counts * np.log(np.maximum(counts, 1) / n))
    if yes:
        np.testing.assert_allclose(2 * (top - np.array(height)), Z**2, rtol=3e-4)
    else:
        assert ends == pytest.approx([0.0, 1 - np.exp(-(Z**2) / (2 * n))], rel=3e-4)
    np.testing.assert_allclose([share.lower[0], share.upper[0]], 1 - ends[::-1], rtol=1e-12)
    assert "hold every share that the likelihood does not reject" in share.summary()


def test_without_covariates_the_profile_is_that_of_the_parameter() -> None:
    fit = counted(CDM, {1: [285, 215], 2: [120, 380]})
    low, high = fit.profile_interval("cheats:Intercept")
    share = fit.shares("cheats")
    assert (share.lower[1], share.upper[1]) == pytest.approx(
        (1 / (1 + np.exp(-low)), 1 / (1 + np.exp(-high))), abs=1e-5
    )


def test_shares_far_from_their_ends_have_the_usual_interval() -> None:
    share = counted(CDM, {1: [30_000, 20_000], 2: [20_000, 30_000]}).shares()
    assert share.notes == ("answers are those of trait & cheats",)
    assert "profile" not in share.summary()


def test_the_profile_of_an_average_is_a_constrained_maximum() -> None:
    """With covariates: against a solver that knows constraints."""
    from scipy.optimize import minimize

    data = survey(300)
    fit = quiet(lambda: regress("said ~ age", data, LIES, arm="group"))
    assert fit.evidence is not None
    share, problem = fit.shares("honest"), HiddenProblem(fit.model, fit.evidence)
    likelihood, n = problem.likelihood(), 300
    sample = Sample.of_evidence(fit.evidence)
    members: AnyArray = fit.model.values[1] == 1
    average = ShareAverage(fit.model, slice(None), sample, np.ones(sample.n_rows, dtype=bool), members)
    assert share.notes
    top = minimize(likelihood.value, np.append(fit.theta[:2], 12.0), jac=likelihood.gradient, tol=1e-12).fun
    end = minimize(
        lambda theta: average(theta).value,
        fit.theta,
        jac=lambda theta: average(theta).gradient,
        constraints={
            "type": "ineq",
            "fun": lambda theta: Z**2 - 2 * n * (likelihood.value(theta) - top),
            "jac": lambda theta: -2 * n * likelihood.gradient(theta),
        },
        method="SLSQP",
        options={"maxiter": 300},
    )
    assert share.lower[1] == pytest.approx(float(end.fun), abs=2e-3)


def test_a_nuisance_that_was_at_its_end_can_come_back_from_there() -> None:
    """A larger share of the trait needs cheaters, of whom the highest likelihood has none: compared with a search."""
    from scipy.optimize import minimize

    seen = {1: {0.0: [265, 235], 1.0: [217, 283]}, 2: {0.0: [88, 412], 1.0: [73, 427]}}
    evidence, tables = Responses(CDM.arms), {group: channel.matrix for group, channel in CDM.arms.items()}
    for group, cells in seen.items():
        for female, counts in cells.items():
            said = np.repeat(CDM.arms[group].observations.labels, counts)
            evidence = evidence.add(np.tile([1.0, female], (len(said), 1)), said, arm=group)
    fit: HiddenFit = quiet(lambda: estimate(CDM.model(["Intercept", "female"]), evidence))

    def fall(shares: AnyArray) -> float:
        """−ℓ of shares of the trait among men and women, and of cheaters."""
        total = 0.0
        for female in (0, 1):
            law = np.outer([1 - shares[female], shares[female]], [1 - shares[2], shares[2]]).ravel()
            total -= sum(float(np.array(seen[group][female]) @ np.log(tables[group] @ law)) for group in seen)
        return float(total)

    def least(**options: Any) -> float:
        starts = [[0.3, 0.5, 0.01], [0.4, 0.6, 0.05], [0.5, 0.5, 0.1]]
        bounds = [(1e-6, 1 - 1e-6)] * 2 + [(1e-12, 0.5)]
        return min(float(minimize(fall, start, bounds=bounds, method="SLSQP", **options).fun) for start in starts)

    upper = float(fit.shares("trait").upper[1])
    at_end = least(constraints={"type": "ineq", "fun": lambda shares: (shares[0] + shares[1]) / 2 - upper})
    assert 2 * (at_end - least()) == pytest.approx(Z**2, abs=0.02)


def test_derivatives_of_an_average() -> None:
    rng = np.random.default_rng(2)
    model = HiddenVariables(
        [Factor("trait", ["no", "yes"], ["Intercept", "age"]), Factor("civic", 3, ["Intercept"], after=["trait"])]
    )
    x = np.column_stack([np.ones(7), rng.normal(size=7)])
    rows: AnyArray = np.array([True, False, True, True, False, True, True])
    average = ShareAverage(model, slice(None), Sample.of_matrix(x), rows, model.values[1] == 2)
    theta, step = rng.normal(size=model.dimension), 1e-6
    at = average(theta)
    assert at.value == pytest.approx(model.probabilities(theta, x)[rows][:, model.values[1] == 2].sum() / rows.sum())
    for i, unit in enumerate(np.eye(model.dimension) * step):
        up, down = average(theta + unit), average(theta - unit)
        assert (up.value - down.value) / (2 * step) == pytest.approx(at.gradient[i], abs=1e-8)
        np.testing.assert_allclose((up.gradient - down.gradient) / (2 * step), at.hessian[i], atol=1e-8)


def test_clusters_widen_the_profile() -> None:
    """Everybody counted twice, as clusters of two: the interval of everybody once, to within sampling of variances."""
    once = counted(CDM, {1: [280, 220], 2: [125, 375]})
    evidence = Responses(CDM.arms)
    for group, own in {1: [280, 220], 2: [125, 375]}.items():
        said = np.repeat(np.repeat(["no", "yes"], own), 2)
        names = [f"{group}-{place // 2}" for place in range(len(said))]
        evidence = evidence.add(np.ones((len(said), 1)), said, arm=group, clusters=names)
    twice = quiet(lambda: estimate(CDM.model(["Intercept"]), evidence))
    assert twice.shares("cheats").upper[1] == pytest.approx(once.shares("cheats").upper[1], rel=0.03)
    assert twice.shares("cheats").lower[1] == pytest.approx(once.shares("cheats").lower[1], abs=1e-3)


def clustered_at_end(repeats: int, clusters: int | None) -> HiddenFit:
    """More say yes than if nobody cheats; everybody so many times, all copies in one cluster."""
    evidence = Responses(CDM.arms)
    for group, own in {1: [270, 230], 2: [90, 410]}.items():
        said = np.repeat(np.repeat(["no", "yes"], own), repeats)
        person = np.random.default_rng(group).permutation(500).repeat(repeats) + (0 if clusters else 500 * group)
        names = None if repeats == 1 and not clusters else person % clusters if clusters else person
        evidence = evidence.add(np.ones((len(said), 1)), said, arm=group, clusters=names)
    fit: HiddenFit = quiet(lambda: estimate(CDM.model(["Intercept"]), evidence))
    assert fit.repaired
    return fit


def test_clusters_widen_the_profile_at_an_end() -> None:
    """Everybody twice, as clusters of two, is everybody once, but for the quantile of t and 1000/999."""
    once, twice = clustered_at_end(1, None), clustered_at_end(2, None)
    for name in ("trait", "cheats"):
        assert twice.shares(name).upper[1] == pytest.approx(once.shares(name).upper[1], rel=3e-3)
    # Twelve clusters of people who have nothing in common are about as wide, with t of 11 degrees of freedom.
    few = clustered_at_end(1, 12)
    assert few.evidence is not None
    problem, along = HiddenProblem(few.model, few.evidence), np.array([0.3, 1.0])
    ratio, freedom = _ratio_at_end(problem, few.theta, along)
    parts: list[FloatArray] = []

    def kept(block: Block) -> tuple[FloatArray, ...]:
        parts.append(problem.scores(block, few.theta, 0) @ along)
        return (np.zeros(1),)

    problem.rows.total(kept)
    scores = np.concatenate(parts)
    names: AnyArray = np.concatenate([np.asarray(chunk.clusters) for chunk in problem.evidence.chunks])
    apart, sizes = by_cluster(scores - scores.mean(), names), by_cluster(np.ones(1000), names)
    assert ratio == pytest.approx(float((apart**2 / (1 - sizes / 1000)).sum()) / scores.var() / 1000, rel=1e-6)
    assert freedom == pytest.approx(mean_spread(sizes)[1], rel=1e-9)


def test_few_clusters_of_nobody_alike_leave_the_profile_about_as_wide() -> None:
    """The ratio of variances is that at θ̂: elsewhere scores of clusters do not add up to 0, and the end would be 1."""
    rng = np.random.default_rng(3)
    n = 1200
    arm, items, trait = rng.integers(0, 2, n), rng.binomial(3, 0.5, n), rng.random(n) < 0.06
    data = {"said": items + arm * trait, "arm": arm, "place": np.arange(n) % 5}
    fit = quiet(lambda: regress("said ~ 1", data, ListExperiment(3), arm="arm", cluster="place"))
    share = fit.shares(fit.variables[0])
    assert share.notes
    low, high = float(share.lower[1]), float(share.upper[1])
    wide = 2.776 * float(share.standard_error[1])  # Student's quantile for 5 clusters
    assert 0 < low < share.estimate[1] < high < share.estimate[1] + 2 * wide


@pytest.mark.parametrize("more", ["weights", "cluster"])
def test_a_share_of_0_has_an_end_with_weights_and_clusters(more: str) -> None:
    """Both variances vanish there, and their ratio is none: the interval is about that of the same reports alone."""
    rng = np.random.default_rng(8)
    n = 900
    arm, region = rng.integers(0, 2, n), rng.choice(["a", "b"], n)
    trait = rng.random(n) < np.where(region == "a", 0.02, 0.5)
    data = {"said": rng.binomial(3, 0.5, n) + arm * trait, "arm": arm, "region": region}
    data |= {"cluster": np.arange(n) % 6, "weights": rng.uniform(0.3, 2, n)}
    alone, special = (
        quiet(lambda own=own: regress("said ~ C(region)", data, ListExperiment(3), arm="arm", **own).trait)
        for own in ({}, {more: more})
    )
    upper, plain = (quiet(lambda fit=fit: fit.prevalence(by="region")).upper[0, 1] for fit in (special, alone))
    assert 0.5 * plain < upper < 3 * plain


# -- a variable as a regression ----------------------------------------------------------------------------------------


def test_the_trait_is_a_regression_of_its_own() -> None:
    data = survey()
    fit = quiet(lambda: regress("said ~ age + C(region)", data, LIES, arm="group"))
    trait = fit.trait
    assert trait.model.parameter_names == ("Intercept", "age", "C(region)[T.south]")
    np.testing.assert_array_equal(trait.covariance, fit.covariance[:3, :3])
    new = {"age": [0.0, 1.0], "region": ["north", "south"]}
    x = fit.design.matrix(new)
    np.testing.assert_allclose(trait.predict(new).estimate, fit.model.share(fit.theta, x, "trait"), rtol=1e-12)
    shares, alone = fit.shares("trait"), trait.prevalence()
    np.testing.assert_allclose(alone.estimate[0], shares.estimate, rtol=1e-12)
    np.testing.assert_allclose(alone.standard_error[0], shares.standard_error, rtol=1e-9)
    np.testing.assert_allclose(alone.upper[0], shares.upper, atol=1e-3)
    assert (trait.prevalence(population=True).standard_error > alone.standard_error).all()
    by = trait.prevalence(by="region")
    p = fit.model.share(fit.theta, fit.design.matrix(data), "trait")
    for place, name in enumerate(by.groups):
        np.testing.assert_allclose(by.estimate[place], p[data["region"] == name].mean(axis=0), rtol=1e-10)
    effects = trait.marginal_effects()
    assert np.isfinite(effects.standard_error).all()
    assert np.isnan(trait.aic)
    assert trait.summary().startswith("Regression of yes against no")


def test_a_nuisance_is_a_regression_on_its_own_terms() -> None:
    fit = quiet(lambda: regress("said ~ age", survey(), LIES, arm="group", weights="weight"))
    honest = fit.variable("honest")
    assert isinstance(honest.model, Softmax)
    assert honest.model.terms == ("Intercept",)
    np.testing.assert_allclose(honest.prevalence().estimate[0], fit.shares("honest").estimate, rtol=1e-12)
    assert honest.predict({"age": [0.0]}).estimate.shape == (1, 2)


def test_what_a_view_refuses() -> None:
    fit = counted(CDM, {1: [280, 220], 2: [125, 375]})
    with pytest.raises(InputError, match="Compare the whole fits"):
        fit.trait.likelihood_ratio_test(fit.trait)
    with pytest.raises(InputError, match="all hidden variables at once"):
        fit.trait.posterior([[1.0]], ["yes"])
    with pytest.raises(InputError, match="variable is 'lies'"):
        fit.variable("lies")
    listed = counted(ListExperiment(2, control_law="binomial"), {0: [100, 200, 100], 1: [88, 187, 113, 12]})
    with pytest.raises(InputError, match="'items' is no regression by itself: it depends on a law of its own"):
        listed.variable("items")


def test_nested_fits_are_compared() -> None:
    data = survey()
    full, less = (regress(formula, data, LIES, arm="group") for formula in ("said ~ age + C(region)", "said ~ age"))
    test = full.likelihood_ratio_test(less)
    assert test.statistic == pytest.approx(2 * (full.log_likelihood - less.log_likelihood))
    assert (test.degrees_of_freedom, test.dropped) == (1, ("trait:C(region)[T.south]",))
    assert full.aic == pytest.approx(8 - 2 * full.log_likelihood)
    with pytest.raises(InputError, match="not nested"):
        less.likelihood_ratio_test(full)
