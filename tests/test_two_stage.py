"""Two stages: the second channel is the optimum for what the pilot can tell, and all answers count."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.stats import chi2

from askance import Enumerated, MatrixChannel, RandomizedResponse, Tally, Warner, optimal_channel
from askance._arrays import FloatArray
from askance.channels import FiniteChannel
from askance.design import OptimalChannel
from askance.design.covariances import asymptotics, marginal_information
from askance.errors import EmptyDataError, IncompatibleEvidenceError, InputError, NotIdentifiedError, RepairWarning
from askance.estimation.two_stage import LARGEST_ERROR, Spread, TwoStage

PAPER = Enumerated([[0, 0, 1, 1], [0, 1, 0, 1]])
WEAK, STRONG = np.array([2.0, -1.0]), np.array([5.0, -1.0])
STAGES = TwoStage(PAPER, 1)
SPREADS: list[Spread] = ["estimate", "posterior"]


def expected_tally(channel: FiniteChannel, theta: FloatArray, n: int) -> Tally:
    """Counts as close to n S p_θ as whole numbers are."""
    return Tally(channel, np.rint(n * channel.apply(PAPER.probabilities(theta))).astype(np.int64))


def pilot_error(theta: FloatArray, n: int) -> float:
    """The largest standard error of the pilot in any direction; the statistics of the model have range 1."""
    information = n * marginal_information(PAPER, STAGES.pilot_channel, theta)
    return float(1 / np.sqrt(np.linalg.eigvalsh(information).min()))


# -- the pilot ---------------------------------------------------------------------------------------------------------


def test_the_default_pilot_has_the_least_moment_error_at_zero_and_an_unbiased_beta() -> None:
    best = optimal_channel(PAPER, 1, [0, 0], target="moments")
    assert STAGES.pilot_channel == best
    assert best.has_unbiased_beta
    assert best.privacy_level <= 1


def test_weights_and_level_reach_both_channels() -> None:
    stages = TwoStage(PAPER, "1/2", weights=[1.0, 9.0], target="moments")
    assert stages.pilot_channel == optimal_channel(PAPER, "1/2", [0, 0], target="moments", weights=[1, 9])
    second = stages.second_channel(expected_tally(stages.pilot_channel, WEAK, 10**8))
    assert (second.target, second.stated_level) == ("moments", 0.5)
    assert second.weights == pytest.approx(np.diag([1.0, 9.0]), rel=1e-6)
    assert second.has_unbiased_beta


@pytest.mark.parametrize(
    ("fraction", "n", "size"), [(0.1, 1000, 100), ("1/3", 100, 33), (0.001, 10, 1), (0.999, 10, 9), (0.5, 2, 1)]
)
def test_pilot_sizes_leave_people_for_both_stages(fraction: float | str, n: int, size: int) -> None:
    assert TwoStage(PAPER, 1, pilot_fraction=fraction).pilot_size(n) == size


# -- the guess ---------------------------------------------------------------------------------------------------------


def test_a_large_pilot_gives_the_optimum_without_a_word() -> None:
    pilot = expected_tally(STAGES.pilot_channel, STRONG, 10**10)
    guess = STAGES.guess(pilot)
    assert guess.prior.points == pytest.approx(STRONG[None], abs=1e-4)
    assert (guess.is_limited, guess.messages) == (False, ())
    found, best = STAGES.second_channel(pilot), optimal_channel(PAPER, 1, STRONG)
    assert np.trace(asymptotics(PAPER, found, STRONG).marginal) == pytest.approx(best.value, rel=1e-6)


@pytest.mark.parametrize("counts", [[1, 0, 0, 0], [2, 1, 1, 1]])
@pytest.mark.parametrize("spread", SPREADS)
def test_a_pilot_that_says_nothing_leaves_zero(counts: list[int], spread: Spread) -> None:
    stages = TwoStage(PAPER, 1, spread=spread)
    pilot = Tally(stages.pilot_channel, counts)
    with pytest.warns(RepairWarning, match="too small to tell θ that far out: .* taken back to 0"):
        channel = stages.second_channel(pilot)
    assert channel.points == pytest.approx(np.zeros_like(channel.points))
    assert np.trace(asymptotics(PAPER, channel, [0, 0]).marginal) == pytest.approx(
        optimal_channel(PAPER, 1, [0, 0]).value, rel=1e-6
    )


@pytest.mark.parametrize("n", [200, 1000, 20_000])
@pytest.mark.parametrize("theta", [STRONG, np.array([8.0, -6.0])])
def test_guesses_are_as_far_out_as_the_pilot_can_tell(n: int, theta: FloatArray) -> None:
    guess = STAGES.guess(expected_tally(STAGES.pilot_channel, theta, n))
    point, fitted = guess.prior.points[0], guess.fit.theta
    assert guess.is_limited
    assert pilot_error(fitted, n) > LARGEST_ERROR
    assert pilot_error(point, n) == pytest.approx(LARGEST_ERROR, rel=1e-6)
    # On the way from 0 to the estimate.
    assert point / np.linalg.norm(point) == pytest.approx(fitted / np.linalg.norm(fitted))
    assert "too small" in guess.messages[-1]


def test_a_pilot_outside_of_the_model_is_repaired_and_says_so() -> None:
    """Nobody said "2 or 3": a share below 0."""
    pilot = Tally(STAGES.pilot_channel, [0, 5000, 2600, 2400])
    guess = STAGES.guess(pilot)
    assert guess.fit.diagnostics.repaired
    assert any("belong to no distribution" in message for message in guess.messages)
    with pytest.warns(RepairWarning, match=r"two stages: in the pilot, .* no distribution"):
        channel = STAGES.second_channel(pilot)
    assert pilot_error(channel.points[0], 10_000) <= LARGEST_ERROR * (1 + 1e-9)


def test_the_posterior_is_what_the_pilot_leaves_open() -> None:
    stages = TwoStage(PAPER, 1, spread="posterior")
    pilot = expected_tally(stages.pilot_channel, WEAK, 100_000)
    guess = stages.guess(pilot)
    assert guess.prior.points.shape == (5, 2)
    centred = guess.prior.points - guess.prior.mean
    assert (centred.T * guess.prior.weights) @ centred == pytest.approx(guess.fit.covariance)
    assert stages.second_channel(pilot).points == pytest.approx(guess.prior.points)


def test_a_pilot_without_an_unbiased_beta_is_fitted_by_its_likelihood() -> None:
    channel = optimal_channel(PAPER, 1, WEAK)
    assert not channel.has_unbiased_beta
    stages = TwoStage(PAPER, 1, pilot_channel=channel)
    guess = stages.guess(expected_tally(channel, WEAK, 10**8))
    assert guess.fit.method == "marginal"
    assert guess.prior.points[0] == pytest.approx(WEAK, abs=1e-3)


# -- the estimate ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [None, "one-step", "moments", "marginal", "projection"])
def test_all_answers_are_in_one_estimate(method: str | None) -> None:
    pilot = expected_tally(STAGES.pilot_channel, WEAK, 10**9)
    channel = STAGES.second_channel(pilot)
    fit = STAGES.estimate(pilot, expected_tally(channel, WEAK, 9 * 10**9), method)
    assert fit.theta == pytest.approx(WEAK, abs=1e-5)
    assert fit.n_observations == pytest.approx(10**10, abs=10)
    assert fit.privacy_level == max(STAGES.pilot_channel.privacy_level, channel.privacy_level) <= 1


def test_covariances_are_those_of_both_stages() -> None:
    pilot = expected_tally(STAGES.pilot_channel, STRONG, 10**9)
    channel = STAGES.second_channel(pilot)
    fit = STAGES.estimate(pilot, expected_tally(channel, STRONG, 9 * 10**9))
    told = [marginal_information(PAPER, each, STRONG) for each in (STAGES.pilot_channel, channel)]
    assert 10**10 * fit.covariance == pytest.approx(np.linalg.inv(0.1 * told[0] + 0.9 * told[1]), rel=1e-3)


def test_before_the_second_stage_the_pilot_is_all_there_is() -> None:
    pilot = expected_tally(STAGES.pilot_channel, WEAK, 10**6)
    fit = STAGES.estimate(pilot, Tally(STAGES.second_channel(pilot)))
    assert fit.theta == pytest.approx(STAGES.guess(pilot).fit.theta)


def test_simulated_surveys_are_reproducible_and_tell_their_story() -> None:
    (fit, run), (again, _) = (STAGES.simulate(WEAK, 50_000, np.random.default_rng(3)) for _ in range(2))
    assert fit.theta.tolist() == again.theta.tolist()
    assert (run.pilot_tally.n_observations, run.second_tally.n_observations) == (5_000, 45_000)
    assert run.pilot_tally.channel == STAGES.pilot_channel
    assert run.second_tally.channel == run.second_channel == STAGES.second_channel(run.pilot_tally)
    assert STAGES.estimate(run.pilot_tally, run.second_tally).theta.tolist() == fit.theta.tolist()


def test_simulated_surveys_have_the_predicted_error() -> None:
    """n (θ̂ − θ)ᵀ (f J_pilot + (1 − f) J_opt) (θ̂ − θ) is χ² with 2 degrees; false alarms: 10⁻⁶ for a fresh seed."""
    rng, n, count = np.random.default_rng(17), 200_000, 40
    told = [marginal_information(PAPER, c, WEAK) for c in (STAGES.pilot_channel, optimal_channel(PAPER, 1, WEAK))]
    information = n * (0.1 * told[0] + 0.9 * told[1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        errors = np.array([STAGES.simulate(WEAK, n, rng)[0].theta - WEAK for _ in range(count)])
    total = float(np.einsum("ni,ij,nj->", errors, information, errors))
    low, high = chi2.ppf([5e-7, 1 - 5e-7], 2 * count)
    assert low < total < high


# -- refused -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fraction", [0, 1, -0.1, 1.5, "7/5"])
def test_fractions_outside_of_0_and_1_are_refused(fraction: float | str) -> None:
    with pytest.raises(InputError, match=r"pilot_fraction is .*; allowed: above 0, below 1"):
        TwoStage(PAPER, 1, pilot_fraction=fraction)


def test_pilots_above_the_level_are_refused() -> None:
    with pytest.raises(InputError, match=r"pilot_channel has privacy level 2\.0; allowed: at most 1\.0"):
        TwoStage(PAPER, 1, pilot_channel=RandomizedResponse.for_privacy_level(2, outputs=4))


@pytest.mark.parametrize("level", [1, 0.1, "1/3", "2/7", 3])
def test_pilots_that_spend_the_level_exactly_are_taken(level: float | str) -> None:
    channel = RandomizedResponse.for_privacy_level(level, outputs=4)
    assert TwoStage(PAPER, level, pilot_channel=channel).pilot_channel is channel


def test_pilots_about_other_outputs_or_none_are_refused() -> None:
    with pytest.raises(IncompatibleEvidenceError, match="the model is about"):
        TwoStage(PAPER, 2, pilot_channel=Warner("2/3"))
    with pytest.raises(InputError, match="channel is 'warner'; allowed: a channel"):
        TwoStage(PAPER, 2, pilot_channel="warner")  # type: ignore[arg-type]


def test_pilots_that_cannot_see_a_parameter_are_refused() -> None:
    blind = MatrixChannel([[0.6, 0.6, 0.4, 0.4], [0.4, 0.4, 0.6, 0.6]])
    with pytest.raises(NotIdentifiedError, match=r"the pilot channel gives no information on .*statistic 1"):
        TwoStage(PAPER, 1, pilot_channel=blind)


@pytest.mark.parametrize("model", [None, "model", Warner("2/3")])
def test_what_is_no_model_is_refused(model: object) -> None:
    with pytest.raises(InputError, match="allowed: an Enumerated model"):
        TwoStage(model, 1)  # type: ignore[arg-type]


def test_models_that_no_optimum_exists_for_are_refused_before_anybody_is_asked() -> None:
    wide = Enumerated(np.arange(65.0)[None])
    with pytest.raises(InputError, match="65 outputs; allowed: at most 64"):
        optimal_channel(wide, 1, [0.0])
    with pytest.raises(InputError, match="65 outputs; allowed: at most 64"):
        TwoStage(wide, 1, pilot_channel=RandomizedResponse.for_privacy_level(1, outputs=65))
    with pytest.raises(NotIdentifiedError):
        TwoStage(Enumerated([[0, 1, 0], [1, 1, 1]]), 1)


@pytest.mark.parametrize("name", ["target", "spread"])
def test_other_choices_are_refused(name: str) -> None:
    with pytest.raises(InputError, match=f"{name} is 'best'; allowed"):
        TwoStage(PAPER, 1, **{name: "best"})  # type: ignore[arg-type]


def test_pilot_tallies_that_are_none_are_refused() -> None:
    other = RandomizedResponse.for_privacy_level(1, outputs=4)
    with pytest.raises(EmptyDataError, match="the pilot has no reports"):
        STAGES.second_channel(Tally(STAGES.pilot_channel))
    with pytest.raises(IncompatibleEvidenceError, match=r"pilot_tally is of .*, the pilot channel is"):
        STAGES.second_channel(Tally(other, [1, 2, 3, 4]))
    with pytest.raises(InputError, match="allowed: a Tally"):
        STAGES.second_channel([1, 2, 3, 4])  # type: ignore[arg-type]


def test_second_tallies_above_the_level_are_refused() -> None:
    pilot, other = Tally(STAGES.pilot_channel, [5, 4, 5, 4]), RandomizedResponse.for_privacy_level(2, outputs=4)
    with pytest.raises(
        IncompatibleEvidenceError, match=r"the second channel has privacy level 2\.0; allowed: at most 1\.0"
    ):
        STAGES.estimate(pilot, Tally(other, [1, 2, 3, 4]))


@pytest.mark.parametrize("n", [0, 1, 1.5, True])
def test_surveys_of_less_than_two_people_are_refused(n: object) -> None:
    with pytest.raises(InputError, match=r"n is .*; allowed: a whole number, at least 2"):
        STAGES.simulate(WEAK, n, np.random.default_rng(0))  # type: ignore[arg-type]


def test_the_pilot_counts_once() -> None:
    design = TwoStage(PAPER, 1)
    pilot = expected_tally(design.pilot_channel, WEAK, 10_000)
    with pytest.raises(IncompatibleEvidenceError, match="the same tally: its reports would count twice"):
        design.estimate(pilot, pilot)


def test_shares_can_be_what_matters() -> None:
    design = TwoStage(Enumerated.saturated(3), 1, weights="shares")
    assert isinstance(design.pilot_channel, OptimalChannel)
    assert design.pilot_channel.weights == "shares"
    with pytest.raises(InputError, match='or "shares"'):
        TwoStage(Enumerated.saturated(3), 1, weights="all")
