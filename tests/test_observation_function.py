"""β built from the channel, and the asymptotics that follow, against brute force over all (y, o)."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest

from askance import Coarsened, Direct, Enumerated, MatrixChannel, Tally, asymptotics, certify, estimate
from askance._arrays import FloatArray
from askance.design.covariances import marginal_information, observation_function
from askance.errors import ImpossibleReportsWarning, NotIdentifiedError, RepairWarning
from tests.families import CASES, Case

every_case = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])


def brute_force(case: Case, beta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """E[β|y] as (d, m), and E Cov[β|y], by summing over every pair."""
    S, p = case.channel.matrix, case.model.probabilities(case.theta)
    mean = np.zeros((case.model.dimension, len(p)))
    excess = np.zeros((case.model.dimension, case.model.dimension))
    for y in range(len(p)):
        for o in range(len(S)):
            mean[:, y] += S[o, y] * beta[:, o]
        for o in range(len(S)):
            residual = beta[:, o] - mean[:, y]
            excess += p[y] * S[o, y] * np.outer(residual, residual)
    return mean, excess


@every_case
@pytest.mark.parametrize("weighting", ["best", "plain"])
def test_beta_is_unbiased_and_its_covariance_is_the_formula(case: Case, weighting: str) -> None:
    frequencies = case.channel.apply(case.model.probabilities(case.theta))
    if not certify(case.channel, case.model).unbiased:
        with pytest.raises(NotIdentifiedError, match="rank"):
            observation_function(case.model, case.channel, frequencies, weighting)  # type: ignore[arg-type]
        return
    beta = observation_function(case.model, case.channel, frequencies, weighting)  # type: ignore[arg-type]
    mean, excess = brute_force(case, beta.coefficients)
    scale = np.abs(case.model.table).max() * np.abs(beta.coefficients).max()
    np.testing.assert_allclose(mean, case.model.table, atol=1e-11 * scale)
    result = asymptotics(case.model, case.channel, case.theta, weighting=weighting)  # type: ignore[call-overload]
    assert result.excess_covariance is not None
    assert result.moments is not None
    np.testing.assert_allclose(result.excess_covariance, excess, atol=1e-9 * max(1.0, np.abs(excess).max()))
    full = np.linalg.inv(case.model.fisher_information(case.theta))
    printed = full + full @ excess @ full
    np.testing.assert_allclose(result.moments, printed, rtol=1e-8, atol=1e-8 * np.abs(printed).max())


@every_case
def test_marginal_information_is_the_printed_formula(case: Case) -> None:
    """Σ_marg = (I − E Cov[φ|o])⁻¹, summing over every pair."""
    S, p, phi = case.channel.matrix, case.model.probabilities(case.theta), case.model.table
    within = np.zeros((case.model.dimension, case.model.dimension))
    for o in range(len(S)):
        q = S[o] @ p
        if q > 0:
            posterior = S[o] * p / q
            centred = phi - (phi @ posterior)[:, None]
            within += q * (centred * posterior) @ centred.T
    expected = case.model.fisher_information(case.theta) - within
    found = marginal_information(case.model, case.channel, case.theta)
    np.testing.assert_allclose(found, expected, atol=1e-11 * np.abs(case.model.fisher_information(case.theta)).max())


@every_case
def test_likelihood_is_never_worse_than_moments_nor_better_than_full_supervision(case: Case) -> None:
    """Σ_full ⪯ Σ_marg ⪯ Σ_mom(best) ⪯ Σ_mom(plain), where they exist."""
    try:
        best = asymptotics(case.model, case.channel, case.theta)
    except NotIdentifiedError:
        assert not certify(case.channel, case.model).unbiased
        return
    plain = asymptotics(case.model, case.channel, case.theta, weighting="plain")
    chain = [best.full, best.marginal, best.moments, plain.moments]
    for smaller, larger in pairwise(chain):
        if smaller is not None and larger is not None:
            gap = np.linalg.eigvalsh(larger - smaller).min()
            assert gap >= -1e-8 * np.abs(larger).max()
    assert best.efficiency <= 1 + 1e-8


def test_best_beta_beats_the_plain_one_where_it_is_not_unique() -> None:
    """A coin decides which of two questions is asked: one precise, one nearly useless."""
    channel = MatrixChannel([[0.45, 0.05], [0.05, 0.45], [0.3, 0.2], [0.2, 0.3]])
    model = Enumerated.saturated(2)
    best = asymptotics(model, channel, [1.0])
    plain = asymptotics(model, channel, [1.0], weighting="plain")
    assert best.moments is not None
    assert plain.moments is not None
    assert np.trace(best.moments) < 0.95 * np.trace(plain.moments)


@pytest.mark.parametrize("weighting", ["best", "plain"])
@pytest.mark.parametrize("counts", [[400, 360, 240], [300, 300, 400], [10, 900, 90]])
def test_the_coding_of_a_statistic_does_not_matter(weighting: str, counts: list[int]) -> None:
    """With more observations than outputs q̂ is not of the form S p; a shifted or mirrored φ gives the same fit."""
    tally = Tally(MatrixChannel([["1/2", "1/4"], ["1/4", "1/2"], ["1/4", "1/4"]]), counts)
    shares = []
    for table in ([[0, 1]], [[1, 0]], [[100, 101]], [[-3, 4]]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RepairWarning)
            warnings.simplefilter("ignore", ImpossibleReportsWarning)
            fit = estimate(Enumerated(table), tally, "moments", weighting=weighting)
        assert fit.raw_statistics is not None
        shares.append((fit.raw_statistics[0] - table[0][0]) / (table[0][1] - table[0][0]))
    np.testing.assert_allclose(shares, shares[0], rtol=1e-9)


def test_refusal_names_the_statistic_and_the_rank() -> None:
    channel = Coarsened([["a", "b"], ["c"]])
    model = Enumerated([[1, 0, 0], [0, 0, 1]], outputs=["a", "b", "c"], parameter_names=["is a", "is c"])
    with pytest.raises(NotIdentifiedError, match=r"'is a'.*rank 2 for 3 outputs") as caught:
        channel.observation_function(model)
    assert "'is c'" not in str(caught.value)
    certificate = certify(channel, model)
    assert not certificate.unbiased
    assert certify(channel, Enumerated([[0, 0, 1]], outputs=["a", "b", "c"])).unbiased


def test_an_offset_does_not_hide_that_a_statistic_is_unseen() -> None:
    channel = Coarsened([[0, 1], [2]])
    for offset in (0.0, 1e6):
        with pytest.raises(NotIdentifiedError, match="rank 2"):
            channel.observation_function(Enumerated([[offset, offset + 1, offset + 2]]))


def test_extreme_parameters_do_not_make_a_good_channel_blind() -> None:
    result = asymptotics(Enumerated.saturated(3), Direct(3), [-20.0, 0.0])
    assert result.efficiency == pytest.approx(1, rel=1e-6)


def test_a_rank_that_only_rounding_gives_is_no_rank() -> None:
    """The third column is the mean of the others; apportioned to 2⁶² it is so only up to a unit."""
    thirds = [["1/3", "1/7", "5/21"], ["1/3", "2/7", "13/42"], ["1/3", "4/7", "19/42"]]
    assert not certify(MatrixChannel(thirds)).unbiased


def test_likelihood_identifies_what_no_beta_can() -> None:
    """A trend seen through groups: θ enters the group shares, though no unbiased β exists."""
    channel = Coarsened([["a", "b"], ["c"]])
    model = Enumerated([[0.0, 1.0, 2.0]], outputs=["a", "b", "c"])
    result = asymptotics(model, channel, [0.3])
    assert result.moments is None
    assert result.efficiency == 0
    assert np.isfinite(result.marginal).all()
