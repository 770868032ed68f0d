"""Candidate sets: the likelihood by enumeration, what is refused, and one fit with evidence of other kinds."""

from __future__ import annotations

import numpy as np
import pytest

from askance import (
    Candidates,
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
    save,
)
from askance._arrays import FloatArray
from askance.channels import FiniteChannel
from askance.errors import IncompatibleEvidenceError, InputError, LabelError, NotIdentifiedError
from askance.estimation.problems import conditional
from askance.estimation.problems.conditional import Rows
from askance.estimation.problems.pairs import problem_of
from askance.evidence.candidates import CandidateSets
from askance.evidence.chunks import Chunk
from askance.survey import sensitivity
from tests.cr2 import adjusted_squares, by_cluster

OUTPUTS = ["no", "maybe", "yes"]
MODEL = Softmax(OUTPUTS, ["Intercept", "age"])
THETA = np.array([0.3, -0.4, -0.5, 0.6])
CELLS = np.array([[1.0, age] for age in (-2.0, -1.0, 0.0, 1.0, 2.0)])
NOISED = MatrixChannel(
    [["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"], ["1/4", "1/4", "1/2"]], outputs=OUTPUTS, observations=OUTPUTS
)
#: How often each set is told, of whichever of its outputs: every output is in sets that add up to 1.
TOLD = {(0,): 0.3, (1,): 0.1, (2,): 0.5, (0, 1): 0.4, (1, 2): 0.2, (0, 1, 2): 0.3}
SETS: list[object] = ["no", ["no", "maybe"], ("maybe", "yes"), {"no", "maybe", "yes"}, ["yes"], "maybe", ["yes", "no"]]


def rows(n: int, seed: int = 0) -> tuple[FloatArray, list[object]]:
    rng = np.random.default_rng(seed)
    x = np.column_stack([np.ones(n), rng.normal(size=n)])
    return x, [SETS[i] for i in rng.integers(len(SETS), size=n)]


def codes_of(told: object) -> list[int]:
    labels = [told] if isinstance(told, str) else list(told)  # type: ignore[call-overload]
    return sorted(OUTPUTS.index(label) for label in labels)


def enumerated(theta: FloatArray, x: FloatArray, told: list[object]) -> tuple[float, FloatArray, FloatArray]:
    """Value, scores (n, d) and Hessian of −Σ log P(set | x), by going through all outputs."""
    value, scores, hessian = 0.0, [], np.zeros((4, 4))
    for row, seen in zip(x, told, strict=True):
        phi = np.stack([np.zeros(4), np.concatenate([row, [0, 0]]), np.concatenate([[0, 0], row])])
        p = np.exp(phi @ theta)
        p /= p.sum()
        inside = np.isin(np.arange(3), codes_of(seen)) * p
        value -= np.log(inside.sum())
        posterior = inside / inside.sum()
        scores.append((posterior - p) @ phi)
        prior, given = ((w[:, None] * phi).T @ phi - np.outer(w @ phi, w @ phi) for w in (p, posterior))
        hessian += prior - given
    return value, np.array(scores), hessian


def expected(n: float) -> Responses:
    """n respondents of every cell, who tell each set exactly as often as `TOLD` says."""
    channel = CandidateSets(OUTPUTS, TOLD)
    inside = MODEL.probabilities(THETA, CELLS) @ channel.matrix.T  # P(y in set | x)
    laws = inside * np.array([TOLD[codes] for codes in channel.sets])
    cell, code = np.indices(laws.shape).reshape(2, -1)
    return Responses(channel, (Chunk(CELLS[cell], code, n * laws.ravel()),))


def as_expected(channel: FiniteChannel, n: float) -> Responses:
    laws = np.array([channel.apply(p) for p in MODEL.probabilities(THETA, CELLS)])
    cell, code = np.indices(laws.shape).reshape(2, -1)
    return Responses(channel, (Chunk(CELLS[cell], code, n * laws.ravel()),))


# -- by enumeration ----------------------------------------------------------------------------------------------------


def test_value_gradient_and_hessian_are_those_of_an_enumeration() -> None:
    x, told = rows(60)
    problem = problem_of(MODEL, Candidates(OUTPUTS).add(x[:25], told[:25]).add(x[25:], told[25:]))
    likelihood = problem.likelihood()
    for theta in (np.zeros(4), THETA, 3 * THETA):
        value, scores, hessian = enumerated(theta, x, told)
        assert likelihood.value(theta) == pytest.approx(value / 60, rel=1e-12)
        np.testing.assert_allclose(likelihood.gradient(theta), -scores.mean(axis=0), atol=1e-12)
        np.testing.assert_allclose(likelihood.hessian(theta), hessian / 60, atol=1e-12)
        np.testing.assert_allclose(likelihood.expected_information(theta), scores.T @ scores / 60, atol=1e-12)
        assert problem.log_likelihood(theta) == pytest.approx(-value, rel=1e-12)


def test_covariances_are_those_of_an_enumeration() -> None:
    x, told = rows(400, seed=1)
    clusters = np.arange(400) % 23
    evidence = Candidates(OUTPUTS).add(x, told)
    for kind in ("observed", "robust"):
        fit = estimate(MODEL, evidence, "marginal", covariance=kind)
        _, scores, hessian = enumerated(fit.theta, x, told)
        np.testing.assert_allclose(scores.sum(axis=0), 0, atol=1e-6)
        bread = np.linalg.inv(hessian)
        wanted = bread if kind == "observed" else bread @ (scores.T @ scores) @ bread
        np.testing.assert_allclose(fit.covariance, wanted, rtol=1e-6)
    grouped = estimate(MODEL, Candidates(OUTPUTS).add(x, told, clusters=clusters), "marginal")
    _, scores, hessian = enumerated(grouped.theta, x, told)
    products = by_cluster(scores[:, :, None] * scores[:, None, :], clusters)  # sets have no expected information
    wanted = np.linalg.inv(hessian) @ adjusted_squares(by_cluster(scores, clusters), products) @ np.linalg.inv(hessian)
    assert grouped.covariance_kind == "cluster-robust"
    np.testing.assert_allclose(grouped.covariance, wanted, rtol=1e-6)


def test_many_sets_are_summed_without_compiled_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where sets say nothing of an effect, that shows only where rounding is left out."""
    monkeypatch.setattr(conditional, "COMPILED_FROM", 10)
    x = np.column_stack([np.ones(60), np.arange(60) % 2])
    told = [["no"], ["no", "yes"], ["yes"], ["no", "yes"]] * 15
    with pytest.raises(NotIdentifiedError, match="'odd'"):
        estimate(Softmax(["no", "yes"], ["Intercept", "odd"]), Candidates(["no", "yes"]).add(x, told), "marginal")
    answers = Responses(Direct(["no", "yes"])).add(x, ["no", "yes", "yes"] * 20)
    assert not Rows(Candidates(["no", "yes"]).add(x, told), 2).compiled
    assert Rows(answers, 2).compiled


def test_without_covariates_the_likelihood_is_that_of_an_enumeration() -> None:
    model = Enumerated([[0.0, 1.0, 2.0]], outputs=OUTPUTS)
    evidence = Candidates(OUTPUTS).add(None, SETS * 20)
    likelihood = problem_of(model, evidence).likelihood()
    for theta in (-0.7, 0.0, 1.3):
        p = np.exp(theta * np.arange(3))
        p /= p.sum()
        value, slope, curvature = 0.0, 0.0, 0.0
        for told in SETS:
            inside = np.isin(np.arange(3), codes_of(told)) * p
            q = inside / inside.sum()
            phi = np.arange(3)
            value -= np.log(inside.sum()) / len(SETS)
            slope += (p @ phi - q @ phi) / len(SETS)
            curvature += (p @ phi**2 - (p @ phi) ** 2 - q @ phi**2 + (q @ phi) ** 2) / len(SETS)
        at = np.array([theta])
        assert likelihood.value(at) == pytest.approx(value)
        assert likelihood.gradient(at)[0] == pytest.approx(slope)
        assert likelihood.hessian(at)[0, 0] == pytest.approx(curvature)
    fit = estimate(model, evidence, "marginal")
    assert fit.covariance_kind == "observed"
    assert fit.covariance[0, 0] == pytest.approx(1 / (140 * likelihood.hessian(fit.theta)[0, 0]))


# -- sets of one, sets of all ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["moments", "one-step", "marginal", "supervised"])
def test_sets_of_single_outputs_are_direct_answers(method: str) -> None:
    x, _ = rows(200)
    said = [OUTPUTS[i] for i in np.random.default_rng(2).integers(3, size=200)]
    told = estimate(MODEL, Candidates(OUTPUTS).add(x, [[label] for label in said]), method)
    direct = estimate(MODEL, Responses(Direct(OUTPUTS)).add(x, said), method)
    np.testing.assert_array_equal(told.theta, direct.theta)
    np.testing.assert_array_equal(told.covariance, direct.covariance)
    assert dict(told.channel) == dict(direct.channel)
    shares = Enumerated.saturated(OUTPUTS)
    one = estimate(shares, Candidates(OUTPUTS).add(None, said), method)
    other = estimate(shares, Tally(Direct(OUTPUTS)).add(said), method)
    np.testing.assert_array_equal(one.theta, other.theta)


def test_a_set_of_all_outputs_adds_nothing() -> None:
    x, _ = rows(300)
    noised = as_expected(NOISED, 500)
    nothing = Candidates(OUTPUTS).add(x[:100], [OUTPUTS] * 100)
    alone = estimate(MODEL, noised, "marginal", covariance="observed")
    both = estimate(MODEL, Together(noised, nothing), "marginal")
    np.testing.assert_allclose(both.theta, alone.theta, atol=1e-6)
    np.testing.assert_allclose(both.covariance, alone.covariance, rtol=1e-6)
    assert both.log_likelihood == pytest.approx(alone.log_likelihood)
    with pytest.raises(NotIdentifiedError, match="no information"):
        estimate(MODEL, nothing, "marginal")
    with pytest.raises(NotIdentifiedError, match="no information"):
        estimate(Enumerated.saturated(OUTPUTS), Candidates(OUTPUTS).add(None, [OUTPUTS] * 9), "marginal")


# -- with other evidence -----------------------------------------------------------------------------------------------


def test_told_as_expected_gives_the_truth_and_informations_add_up() -> None:
    parts = [as_expected(Direct(OUTPUTS), 60), as_expected(NOISED, 900), expected(400)]
    alone = [estimate(MODEL, part, "marginal", covariance="observed") for part in parts]
    for method in ("marginal", "one-step"):
        fit = estimate(MODEL, Together(*parts), method)
        assert fit.covariance_kind == "observed"
        np.testing.assert_allclose(fit.theta, THETA, atol=1e-7)
        information = sum(np.linalg.inv(one.covariance) for one in alone)
        np.testing.assert_allclose(np.linalg.inv(fit.covariance), information, rtol=1e-5)
        assert fit.log_likelihood == pytest.approx(sum(one.log_likelihood for one in alone))
    moments = estimate(MODEL, Together(*parts), "moments")
    without = estimate(MODEL, Together(*parts[:2]), "moments")
    np.testing.assert_allclose(moments.theta, without.theta, atol=1e-9)
    np.testing.assert_allclose(moments.covariance, without.covariance, rtol=1e-6)


def test_clusters_span_reports_and_sets() -> None:
    x, told = rows(300, seed=5)
    said = NOISED.simulate([OUTPUTS[i % 3] for i in range(300)], np.random.default_rng(6))
    village = np.arange(300) % 29
    both = Together(
        Responses(NOISED).add(x, said, clusters=village), Candidates(OUTPUTS).add(x, told, clusters=village[::-1])
    )
    fit = estimate(MODEL, both, "marginal")
    _, scores, hessian = enumerated(fit.theta, x, told)
    p = MODEL.probabilities(fit.theta, x)
    joint = NOISED.matrix[NOISED.observations.encode(said)] * p
    posterior = joint / joint.sum(axis=1)[:, None]
    own = np.concatenate([(posterior - p)[:, [k]] * x for k in (1, 2)], axis=1)
    for row, before, after in zip(x, p[:, 1:], posterior[:, 1:], strict=True):
        spreads = [np.diag(w) - np.outer(w, w) for w in (before, after)]
        hessian += np.kron(spreads[0] - spreads[1], np.outer(row, row))
    sums = np.array([own[village == v].sum(axis=0) + scores[village[::-1] == v].sum(axis=0) for v in range(29)])
    informations = by_cluster(scores[:, :, None] * scores[:, None, :], village[::-1])
    slopes = p[:, 1:, None] * (np.eye(3)[1:] - p[:, None, :])  # ∂p/∂logits, (n, 2, 3)
    pulled = slopes @ NOISED.matrix.T  # ∂q/∂logits, (n, 2, k)
    told = np.einsum("nak,nbk,nk->nab", pulled, pulled, 1 / (p @ NOISED.matrix.T))
    informations += by_cluster(np.array([np.kron(V, np.outer(r, r)) for V, r in zip(told, x, strict=True)]), village)
    wanted = np.linalg.inv(hessian) @ adjusted_squares(sums, informations) @ np.linalg.inv(hessian)
    np.testing.assert_allclose(fit.covariance, wanted, rtol=1e-5)


def test_without_covariates_beside_tallies() -> None:
    """Shares of a saturated model are those of a regression on a constant."""
    shares, constant = Enumerated.saturated(OUTPUTS), Softmax(OUTPUTS, ["Intercept"])
    said = [OUTPUTS[i % 3] for i in (0, 1, 2, 2, 1, 2) * 30]
    tallies = Together(
        Tally(NOISED).add(said), Tally(Direct(OUTPUTS)).add(said[:31]), Candidates(OUTPUTS).add(None, SETS)
    )
    ones = np.ones((180, 1))
    regressed = Together(
        Responses(NOISED).add(ones, said),
        Responses(Direct(OUTPUTS)).add(ones[:31], said[:31]),
        Candidates(OUTPUTS).add(ones[: len(SETS)], SETS),
    )
    for covariance in ("observed", "robust"):
        one = estimate(shares, tallies, "marginal", covariance=covariance)
        other = estimate(constant, regressed, "marginal", covariance=covariance)
        np.testing.assert_allclose(one.theta, other.theta, atol=1e-7)
        assert one.log_likelihood == pytest.approx(other.log_likelihood)
        if covariance == "observed":
            np.testing.assert_allclose(one.covariance, other.covariance, rtol=1e-6)
    em = estimate(shares, tallies, "marginal", solver="em")
    np.testing.assert_allclose(em.theta, estimate(shares, tallies, "marginal").theta, atol=1e-6)
    assert estimate(shares, tallies).n_observations == 180 + 31 + len(SETS)
    with pytest.raises(IncompatibleEvidenceError, match="projection"):
        estimate(shares, tallies, "projection")


# -- what follows, and what is refused ---------------------------------------------------------------------------------


def test_what_a_fit_says_and_keeps(tmp_path_factory: pytest.TempPathFactory) -> None:
    x, told = rows(300, seed=7)
    evidence = Candidates(OUTPUTS).add(x, told)
    fit = estimate(MODEL, evidence, "marginal")
    assert "candidate-sets" in fit.summary()
    assert fit.privacy_level == np.inf
    given = fit.posterior(x[:1], ["no or maybe"]).estimate[0]
    prior = MODEL.probabilities(fit.theta, x[:1])[0]
    np.testing.assert_allclose(given, [*(prior[:2] / prior[:2].sum()), 0.0])
    path = tmp_path_factory.mktemp("candidates") / "fit"
    save(fit, path)
    again = load(path)
    assert isinstance(again, RegressionFit)
    np.testing.assert_allclose(again.posterior(x[:1], ["no or maybe"]).estimate[0], given)
    order = np.random.default_rng(0).permutation(300)
    turned = Candidates(OUTPUTS).add(x[order][:, :1], [told[i] for i in order])
    small = estimate(Softmax(OUTPUTS, ["Intercept"]), turned, "marginal")
    assert fit.likelihood_ratio_test(small).degrees_of_freedom == 2
    assert not fit.alarm
    assert channel_fit_test(evidence).bound == 1


def test_rows_come_in_any_order_and_in_pieces() -> None:
    x, told = rows(40)
    whole = Candidates(OUTPUTS).for_purpose("smokes").add(x, told)
    pieces = [Candidates(OUTPUTS).for_purpose("smokes").add(x[i::3], told[i::3]) for i in range(3)]
    merged = sum(pieces)
    assert isinstance(merged, Candidates)
    assert merged.channel == whole.channel
    np.testing.assert_array_equal(merged.sums, whole.sums)
    assert repr(whole) == "Candidates(40 rows, 4 sets of ['no', 'maybe', 'yes'])"
    with pytest.raises(IncompatibleEvidenceError, match="different channels"):
        whole.merge(Responses(NOISED))
    with pytest.raises(IncompatibleEvidenceError, match="purpose"):
        whole.merge(Candidates(OUTPUTS).add(x, told))
    blurred = Candidates(["a", "b", "a or b"]).add(None, [["a", "b"], "a or b"])
    assert blurred.channel.observations.labels[3] == "1: a or b"
    many = Candidates(8).add(None, [range(8), np.arange(7)][1:])
    assert many.channel.observations.labels[8] == "0 or … or 6 (7 outputs)"


def test_what_needs_the_law_of_sets_is_refused_with_a_way_out() -> None:
    x, told = rows(50)
    evidence = Candidates(OUTPUTS).add(x, told)
    for method in ("moments", "one-step", None):
        with pytest.raises(NotIdentifiedError, match=r"no unbiased indicators.*method=\"marginal\""):
            estimate(MODEL, evidence, method)
    with pytest.raises(InputError, match="covariance is 'expected'; allowed here: observed, robust"):
        estimate(MODEL, evidence, "marginal", covariance="expected")
    with pytest.raises(InputError, match="not how often each set is told"):
        evidence.channel.randomize(["no"])
    with pytest.raises(InputError, match=r"through channels.*leave candidate sets out"):
        sensitivity(MODEL, evidence)
    with pytest.raises(IncompatibleEvidenceError, match=r"supervised fits need"):
        estimate(MODEL, evidence, "supervised")


def test_what_is_no_set_is_refused() -> None:
    empty = Candidates(OUTPUTS)
    with pytest.raises(InputError, match=r"sets\[1\] is empty; allowed: at least one output"):
        empty.add(None, ["no", []])
    with pytest.raises(LabelError, match=r"sets\[0\]\[1\] is 'perhaps'"):
        empty.add(None, [["no", "perhaps"]])
    with pytest.raises(InputError, match=r"sets\[1\]"):
        empty.add(None, ["no", None])
    with pytest.raises(InputError, match=r"sets\[0\]"):
        empty.add(None, [["no", ["maybe"]]])
    with pytest.raises(InputError, match="sets is 'no'; allowed: a list"):
        empty.add(None, "no")
    with pytest.raises(InputError, match="weights or clusters and no covariates"):
        empty.add(None, ["no"], weights=[2.0])
    with pytest.raises(IncompatibleEvidenceError, match="some rows have covariates"):
        empty.add(None, ["no"]).add([[1.0]], ["no"])
    with pytest.raises(IncompatibleEvidenceError, match="some rows have covariates"):
        empty.add(None, ["no"]).merge(empty.add([[1.0]], ["no"]))
    with pytest.raises(InputError, match="2 rows for 1 reports"):
        empty.add([[1.0], [2.0]], ["no"])
    with pytest.raises(IncompatibleEvidenceError, match="covariates"):
        Together(empty.add(None, ["no"]), Responses(Direct(OUTPUTS)).add([[1.0]], ["no"]))
    other = Together(Candidates(["no", "yes"]).add(None, ["no", ["no", "yes"]]), Tally(Warner("2/3"), [3, 4]))
    with pytest.raises(IncompatibleEvidenceError, match="about"):
        estimate(Enumerated.saturated(OUTPUTS), other, "marginal")
    named = Candidates(["no", "yes"]).for_purpose("smokes").add(None, [["no", "yes"]])
    with pytest.raises(IncompatibleEvidenceError, match="purpose"):
        estimate(Enumerated.saturated(["no", "yes"]), Together(named, Tally(ForcedResponse("2/3", "1/6"), [3, 4])))
