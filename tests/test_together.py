"""Evidence of several designs about the same θ: one fit, the information of all, and weights that stay honest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from askance import (
    Crosswise,
    Direct,
    Enumerated,
    ForcedResponse,
    MatrixChannel,
    RegressionFit,
    Responses,
    Softmax,
    Tally,
    Together,
    Warner,
    channel_fit_test,
    estimate,
    load,
    pool,
    save,
)
from askance._arrays import AnyArray, FloatArray
from askance.channels import FiniteChannel
from askance.errors import AskanceWarning, EmptyDataError, IncompatibleEvidenceError, InputError, NotIdentifiedError
from askance.estimation import entry
from askance.estimation.checks.surprise import surprise
from askance.estimation.problems import conditional_moments
from askance.estimation.problems.pairs import problem_of
from askance.evidence.chunks import Chunk
from askance.survey import sensitivity

NO_YES = ["no", "yes"]
MODEL = Softmax(NO_YES, ["Intercept", "age", "female"])
THETA = np.array([-0.8, 0.3, -0.5])
CELLS = np.array([[1.0, age, sex] for age in (-2.0, -1.0, 0.0, 1.0, 2.0) for sex in (0.0, 1.0)])
DESIGNS: list[FiniteChannel] = [Direct(NO_YES), ForcedResponse("2/3", "1/6"), Crosswise("1/4")]


def expected(channel: FiniteChannel, n: int, model: Softmax = MODEL, theta: FloatArray = THETA) -> Responses:
    """n respondents of every cell whose reports come out exactly as often as they are expected to."""
    laws = np.array([channel.apply(p) for p in model.probabilities(theta, CELLS)])
    cell, code = np.indices(laws.shape).reshape(2, -1)
    return Responses(channel, (Chunk(CELLS[cell], code, n * laws.ravel()),))


def drawn(channel: FiniteChannel, n: int, seed: int) -> tuple[AnyArray, AnyArray]:
    rng = np.random.default_rng(seed)
    x = CELLS[rng.integers(len(CELLS), size=n)]
    truth = np.array(NO_YES)[(rng.random(n) < MODEL.probabilities(THETA, x)[:, 1]).astype(int)]
    return x, channel.simulate(truth, rng)


# -- the fit -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["moments", "one-step", "marginal"])
def test_reports_as_expected_give_the_truth(method: str) -> None:
    """Whatever the weights of the parts are, residuals have mean 0 at the truth."""
    fit = estimate(MODEL, Together(*(expected(design, 500) for design in DESIGNS)), method)
    np.testing.assert_allclose(fit.theta, THETA, atol=1e-8)


@pytest.mark.parametrize("method", ["one-step", "marginal"])
def test_informations_of_parts_add_up(method: str) -> None:
    parts = [expected(design, n) for design, n in zip(DESIGNS, (100, 400, 900), strict=True)]
    alone = [np.linalg.inv(estimate(MODEL, part, method).covariance) for part in parts]
    together = estimate(MODEL, Together(*parts), method)
    np.testing.assert_allclose(np.linalg.inv(together.covariance), sum(alone), rtol=1e-6)
    logs = [estimate(MODEL, part, method).log_likelihood for part in parts]
    assert together.log_likelihood == pytest.approx(sum(logs))
    assert together.n_observations == 14_000


def test_moments_are_more_precise_than_any_part_and_than_equal_weights() -> None:
    """One number per part is close to the best there is, and better than none."""
    parts = [expected(design, n) for design, n in zip(DESIGNS, (100, 400, 900), strict=True)]
    alone = np.array([estimate(MODEL, part, "moments").standard_errors for part in parts])
    together = estimate(MODEL, Together(*parts), "moments").standard_errors
    least = estimate(MODEL, Together(*parts), "marginal").standard_errors
    assert (together < alone.min(axis=0)).all()
    assert (together < 1.1 * least).all()
    # The same rows as one design whose report says through which it came: all residuals count alike there.
    bad, good = expected(Warner("0.55"), 1000), expected(Direct(NO_YES), 1000)
    of_good = estimate(MODEL, good, "moments").standard_errors
    assert (estimate(MODEL, Together(bad, good), "moments").standard_errors < of_good).all()


def test_one_part_is_that_part() -> None:
    part = expected(DESIGNS[1], 300)
    for method in ("moments", "one-step", "marginal"):
        one, same = estimate(MODEL, part, method), estimate(MODEL, Together(part), method)
        np.testing.assert_array_equal(one.theta, same.theta)
        np.testing.assert_array_equal(one.covariance, same.covariance)
        assert dict(one.channel) == dict(same.channel)


@pytest.mark.parametrize("method", ["moments", "one-step", "marginal"])
def test_how_rows_are_split_does_not_matter(method: str) -> None:
    """Parts, parts of parts, and an arm for every row are the same evidence."""
    rows = [drawn(design, 2000, seed) for seed, design in enumerate(DESIGNS)]
    parts = [Responses(design).add(x, said) for design, (x, said) in zip(DESIGNS, rows, strict=True)]
    arms = {"direct": DESIGNS[0], "dice": DESIGNS[1], "cards": DESIGNS[2]}
    mixed = Responses(arms).add(
        np.concatenate([x for x, _ in rows]),
        np.concatenate([said for _, said in rows]),
        arm=np.repeat(list(arms), 2000),
    )
    fits = [estimate(MODEL, evidence, method) for evidence in (
        Together(*parts), Together(Together(*parts[:2]), parts[2]), Together(*parts[::-1]), mixed
    )]  # fmt: skip
    for fit in fits[1:]:
        assert (np.abs(fit.theta - fits[0].theta) < 1e-6 * fits[0].standard_errors).all()
        np.testing.assert_allclose(fit.covariance, fits[0].covariance, rtol=1e-7)


def test_more_than_two_outputs_sparse_rows_and_odd_covariates() -> None:
    from scipy.sparse import csr_array

    model = Softmax(3, ["Intercept", "age", "female"])
    theta = np.array([0.2, -0.3, 0.4, -0.5, 0.2, 0.1])
    noisy = MatrixChannel([["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"], ["1/4", "1/4", "1/2"]])
    parts = [expected(channel, 2000, model, theta) for channel in (Direct(3), noisy)]
    for method in ("moments", "one-step", "marginal"):
        np.testing.assert_allclose(estimate(model, Together(*parts), method).theta, theta, atol=1e-7)

    def sparse(part: Responses, shift: float = 0.0) -> Responses:
        (chunk,) = part.chunks
        x = chunk.x + np.array([0.0, shift, 0.0])
        return Responses(part.channel, (Chunk(csr_array(x) if not shift else x, chunk.reports, chunk.multiplicity),))

    fit = estimate(model, Together(*map(sparse, parts)))
    np.testing.assert_allclose(fit.theta, theta, atol=1e-7)
    far = estimate(model, Together(*(sparse(part, 2000.0) for part in parts)))
    np.testing.assert_allclose(far.theta[[1, 2, 4, 5]], theta[[1, 2, 4, 5]], atol=1e-6)


def test_clusters_and_weights_span_the_parts() -> None:
    """A cluster that answered through two designs is one; weights are scaled over all."""
    rows = [drawn(design, 600, seed) for seed, design in enumerate(DESIGNS[:2])]
    villages = [np.arange(600) % 40, (np.arange(600) + 7) % 40]
    arms = {"direct": DESIGNS[0], "dice": DESIGNS[1]}

    def parts(**extra: Sequence[AnyArray]) -> list[Responses]:
        return [
            Responses(design).add(x, said, **{name: values[i] for name, values in extra.items()})
            for i, (design, (x, said)) in enumerate(zip(DESIGNS[:2], rows, strict=True))
        ]

    split = estimate(MODEL, Together(*parts(clusters=villages)))
    mixed = Responses(arms).add(
        np.concatenate([x for x, _ in rows]),
        np.concatenate([said for _, said in rows]),
        clusters=np.concatenate(villages),
        arm=np.repeat(list(arms), 600),
    )
    assert split.covariance_kind == "cluster-robust"
    np.testing.assert_allclose(split.covariance, estimate(MODEL, mixed).covariance, rtol=1e-8)
    heavy = estimate(MODEL, Together(*parts(weights=[np.full(600, 3.0), np.full(600, 1.0)])))
    light = estimate(MODEL, Together(*parts(weights=[np.full(600, 30.0), np.full(600, 10.0)])))
    np.testing.assert_allclose(heavy.theta, light.theta, rtol=1e-9)
    assert heavy.covariance_kind == "robust"


def test_tallies_together_are_pooled() -> None:
    model = Enumerated.saturated(NO_YES)
    tallies = [Tally(DESIGNS[1], [300, 200]), Tally(DESIGNS[2], [100, 150])]
    one, other = estimate(model, Together(*tallies)), estimate(model, pool(tallies))
    np.testing.assert_array_equal(one.theta, other.theta)
    assert Together(*tallies).n_observations == 750


def test_a_design_without_unbiased_indicators_still_informs() -> None:
    """Moments leave it out; the likelihood does not."""
    blurred = MatrixChannel([["1/2", "1/2", "0"], ["1/2", "1/2", "1"]])
    model, theta = Softmax(3, ["Intercept", "age", "female"]), np.array([0.2, -0.3, 0.4, -0.5, 0.2, 0.1])
    parts = [expected(channel, 2000, model, theta) for channel in (Direct(3), blurred)]
    alone = estimate(model, parts[0], "marginal")
    together = estimate(model, Together(*parts), "marginal")
    assert (together.standard_errors <= alone.standard_errors * (1 + 1e-9)).all()
    assert together.standard_errors.sum() < 0.99 * alone.standard_errors.sum()
    for method in ("moments", "one-step"):
        np.testing.assert_allclose(estimate(model, Together(*parts), method).theta, theta, atol=1e-7)


def test_designs_that_nobody_met_say_nothing() -> None:
    part, nobody = expected(DESIGNS[1], 300), Responses(Direct(NO_YES))
    one, same = estimate(MODEL, part), estimate(MODEL, Together(part, nobody))
    np.testing.assert_array_equal(one.theta, same.theta)
    assert (dict(one.channel), one.privacy_level) == (dict(same.channel), same.privacy_level)
    arms = {"direct": Direct(3), "flat": MatrixChannel([["1/2", "1/2", "0"], ["1/2", "1/2", "1"]])}
    model = Softmax(3, ["Intercept"])
    with pytest.raises(NotIdentifiedError, match="cannot see"):
        estimate(model, Responses(arms).add(np.ones((4, 1)), [0, 1, 1, 0], arm="flat"))


def test_what_only_designs_without_unbiased_indicators_tell_is_refused_with_a_way_out() -> None:
    """Rows with f = 1 say "a or not" or "c or not"; moments of the others know nothing of f."""
    first = MatrixChannel([["1", "0", "0"], ["0", "1", "1"]])
    last = MatrixChannel([["0", "0", "1"], ["1", "1", "0"]])
    model, theta, n = Softmax(3, ["Intercept", "f"]), np.array([0.2, -0.3, 0.4, 0.5]), 6000

    def asked(channel: FiniteChannel, f: float) -> Responses:
        x = np.array([[1.0, f]])
        law = channel.apply(model.probabilities(theta, x)[0])
        return Responses(channel, (Chunk(np.repeat(x, len(law), axis=0), np.arange(len(law)), n * law),))

    evidence = Together(asked(Direct(3), 0.0), asked(first, 1.0), asked(last, 1.0))
    for method in ("moments", "one-step"):
        with pytest.raises(NotIdentifiedError, match=r"no unbiased indicators.*method=\"marginal\""):
            estimate(model, evidence, method)
    np.testing.assert_allclose(estimate(model, evidence, "marginal").theta, theta, atol=1e-5)


def test_wide_models_match_the_rows_that_were_averaged(monkeypatch: pytest.MonkeyPatch) -> None:
    from scipy.sparse import csr_array

    monkeypatch.setattr(conditional_moments, "WIDE_FROM", 3)
    monkeypatch.setattr(entry, "WIDE_FROM", 3)
    rng, cells, n = np.random.default_rng(0), 20, 40_000
    cell = rng.integers(cells, size=n)
    direct = rng.random(n) < np.where(cell < cells // 2, 0.9, 0.1)
    truth = np.array(NO_YES)[(rng.random(n) < np.where(cell < cells // 2, 0.8, 0.2)).astype(int)]
    x = csr_array((np.ones(n), (np.arange(n), cell)), shape=(n, cells))
    model = Softmax(NO_YES, [f"c{i}" for i in range(cells)])
    parts = [
        Responses(channel).add(x[rows], channel.simulate(truth[rows], rng))
        for channel, rows in ((DESIGNS[0], np.flatnonzero(direct)), (DESIGNS[1], np.flatnonzero(~direct)))
    ]
    for method in ("moments", "marginal"):
        shares = model.probabilities(estimate(model, Together(*parts), method).theta, np.eye(cells))[:, 1]
        assert np.abs(shares[: cells // 2].mean() - 0.8) < 0.03  # more than six standard errors
        assert np.abs(shares[cells // 2 :].mean() - 0.2) < 0.03


def test_clusters_are_those_of_the_rows_in_use() -> None:
    """The second design has no part in moments, and neither have its clusters."""
    rng, blurred = np.random.default_rng(1), MatrixChannel([["1/2", "1/2", "0"], ["1/2", "1/2", "1"]])
    model, x = Softmax(3, ["Intercept"]), np.ones((300, 1))
    parts = [
        Responses(Direct(3)).add(x, rng.integers(0, 3, 300), clusters=np.zeros(300)),
        Responses(blurred).add(x, rng.integers(0, 2, 300), clusters=1 + np.arange(300) % 30),
    ]
    with pytest.raises(InputError, match=r"there is one cluster, 0\.0,"):
        estimate(model, Together(*parts), "moments")


def test_few_clusters_are_those_of_the_rows_in_use() -> None:
    """Moments have two clusters, the likelihood thirty more."""
    rng, blurred = np.random.default_rng(2), MatrixChannel([["1/2", "1/2", "0"], ["1/2", "1/2", "1"]])
    model, x = Softmax(3, ["Intercept"]), np.ones((300, 1))
    parts = [
        Responses(Direct(3)).add(x, rng.integers(0, 3, 300), clusters=np.arange(300) % 2),
        Responses(blurred).add(x, rng.integers(0, 2, 300), clusters=2 + np.arange(300) % 30),
    ]
    with pytest.warns(AskanceWarning, match="2 clusters for 2 parameters"):
        estimate(model, Together(*parts), "moments")
    for method in ("one-step", "marginal"):  # warnings are errors
        assert estimate(model, Together(*parts), method).covariance_kind == "cluster-robust"


def test_the_pilot_of_several_designs_is_solved_once() -> None:
    problem = problem_of(MODEL, Together(*(expected(design, 20) for design in DESIGNS)))
    assert problem.moments("best") is problem.moments("best")
    assert problem.moments("best") is not problem.moments("plain")


# -- what follows ------------------------------------------------------------------------------------------------------


def test_what_a_fit_of_several_designs_says_and_keeps(tmp_path_factory: pytest.TempPathFactory) -> None:
    fit = estimate(MODEL, Together(*(expected(design, 200) for design in DESIGNS)))
    said = fit.summary()
    assert all(design.kind in said for design in DESIGNS)
    assert fit.privacy_level == np.inf  # some told their answer itself
    assert fit.prevalence().estimate.shape == (1, 2)
    with pytest.raises(InputError, match="several channels"):
        fit.posterior(CELLS[:1], ["yes"])
    path = tmp_path_factory.mktemp("together") / "fit"
    save(fit, path)
    again = load(path)
    assert isinstance(again, RegressionFit)
    np.testing.assert_array_equal(again.theta, fit.theta)
    assert dict(again.channel) == dict(fit.channel)
    turned = estimate(Softmax(NO_YES, ["Intercept"]), Together(*(_intercept(expected(d, 200)) for d in DESIGNS[::-1])))
    assert fit.likelihood_ratio_test(turned).degrees_of_freedom == 2
    small = estimate(Softmax(NO_YES, ["Intercept"]), Together(*(_intercept(expected(d, 200)) for d in DESIGNS)))
    assert fit.likelihood_ratio_test(small).degrees_of_freedom == 2


def _intercept(part: Responses) -> Responses:
    (chunk,) = part.chunks
    return Responses(part.channel, (Chunk(chunk.x[:, :1], chunk.reports, chunk.multiplicity),))


def test_impossible_reports_of_one_part_are_told() -> None:
    good = Responses(Direct(NO_YES)).add(np.ones((500, 1)), ["yes", "no"] * 250)
    bad = Responses(ForcedResponse("2/3", "1/6")).add(np.ones((2000, 1)), ["yes"] * 2000)
    with pytest.warns(UserWarning, match="cannot have come through"):
        fit = estimate(Softmax(NO_YES, ["Intercept"]), Together(good, bad))
    assert fit.alarm
    assert channel_fit_test(Together(good, bad)).bound < 1e-6


def test_shares_that_only_together_are_impossible_are_told_of_every_part() -> None:
    """No single share is out of reach of the channel, all three are."""
    channel = MatrixChannel([["0.6", "0.1"], ["0.3", "0.3"], ["0.1", "0.6"]])
    bad = Responses(channel).add(np.ones((3000, 1)), [0, 0, 1, 2, 2] * 600)
    good = Responses(Direct(2)).add(np.ones((100, 1)), [0, 1] * 50)
    alone, both = surprise(bad), surprise(Together(bad, good).whole)
    assert alone.bound < 1e-6
    assert both.bound < 1e-6
    assert both.worst == alone.worst


def test_sensitivity_and_supervision_of_several_designs() -> None:
    tallies = Together(Tally(DESIGNS[1], [300, 200]), Tally(DESIGNS[2], [100, 150]))
    assert len(sensitivity(Enumerated.saturated(NO_YES), tallies).scenarios) > 1
    with pytest.raises(IncompatibleEvidenceError, match=r"supervised fits need the outputs.*one-step"):
        estimate(MODEL, Together(*(expected(design, 20) for design in DESIGNS)), "supervised")


def test_what_does_not_go_together() -> None:
    responses, tally = expected(DESIGNS[1], 10), Tally(DESIGNS[1], [3, 4])
    with pytest.raises(EmptyDataError, match="no evidence"):
        Together()
    with pytest.raises(InputError, match=r"parts\[1\] is 'yes'"):
        Together(responses, "yes")
    with pytest.raises(IncompatibleEvidenceError, match="covariates"):
        Together(responses, tally)
    others = Responses(Direct(["a", "b"])).add(np.ones((2, 3)), ["a", "b"])
    with pytest.raises(IncompatibleEvidenceError, match="about"):
        estimate(MODEL, Together(responses, others))
    named = Responses(DESIGNS[2].for_purpose("cheated")).add(np.ones((2, 3)), ["same", "different"])
    with pytest.raises(IncompatibleEvidenceError, match="purpose"):
        estimate(MODEL, Together(responses, named))
    narrow = Responses(DESIGNS[0]).add(np.ones((2, 2)), NO_YES)
    with pytest.raises(InputError, match="columns"):
        estimate(MODEL, Together(responses, narrow))
    assert problem_of(MODEL, Together(responses)).n_observations == responses.n_observations
