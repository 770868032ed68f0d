"""Optimal channels in use: saved, sent, tallied and estimated from as any other channel; what is refused, and how."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askance import (
    Enumerated,
    MatrixChannel,
    Prior,
    RandomField,
    RandomizedResponse,
    Softmax,
    Tally,
    asymptotics,
    build_channel,
    certify,
    estimate,
    load,
    optimal_channel,
    save,
)
from askance.channels.finite import FiniteChannel
from askance.design.optimum import OptimalChannel
from askance.design.optimum.problem import Target
from askance.errors import AskanceError, InputError, MissingValueError, NotIdentifiedError, ShapeError
from askance.formats import channel_to_toml, read_channel

PAPER = Enumerated([[0, 0, 1, 1], [0, 1, 0, 1]], outputs=["a", "b", "c", "d"])
WEAK = np.array([2.0, -0.1])
CHANNELS: dict[Target, OptimalChannel] = {
    "likelihood": optimal_channel(PAPER, 1, WEAK),
    "moments": optimal_channel(PAPER, 1, WEAK, target="moments"),
}
every_channel = pytest.mark.parametrize("channel", CHANNELS.values(), ids=CHANNELS.keys())
SENT = 400_000


def tally_of(channel: OptimalChannel, n: int = SENT) -> Tally:
    """n answers in exactly the expected frequencies, up to rounding."""
    return Tally(channel, np.round(n * channel.matrix @ PAPER.probabilities(WEAK)).astype(int).tolist())


# -- an ordinary channel -----------------------------------------------------------------------------------------------


@every_channel
def test_it_is_written_and_read_back(channel: OptimalChannel, tmp_path: Path) -> None:
    path = tmp_path / "channel.toml"
    path.write_text(channel_to_toml(channel), encoding="utf-8", newline="\n")
    for again in (read_channel(path), build_channel(json.loads(json.dumps(channel.specification())))):
        assert isinstance(again, MatrixChannel)
        assert again == channel
        assert again.fingerprint == channel.fingerprint
        np.testing.assert_array_equal(again.integer_weights, channel.integer_weights)
        assert again.privacy_level == channel.privacy_level
        assert again.outputs == PAPER.outputs
        assert again.observations == channel.observations
    tally = tally_of(channel)
    save(tally, tmp_path / "answers.tally")
    loaded = load(tmp_path / "answers.tally")
    assert isinstance(loaded, Tally)
    np.testing.assert_array_equal(loaded.merge(tally).counts, 2 * tally.counts)


@every_channel
def test_answers_follow_the_matrix(channel: OptimalChannel) -> None:
    """5 standard deviations for 16 frequencies: one false alarm in 10⁵ runs, and the seed is fixed."""
    rng, n = np.random.default_rng(5), 50_000
    for y, label in enumerate(PAPER.outputs.labels):
        sent = channel.simulate(np.full(n, label), rng)
        counts = Tally(channel).add(sent).counts
        expected = channel.matrix[:, y]
        assert (np.abs(counts / n - expected) <= 5 * np.sqrt(expected * (1 - expected) / n)).all()
    assert set(channel.randomize(["a", "b", "c", "d"] * 5)) <= set(channel.observations.labels)
    assert channel.randomize_one("c") in channel.observations.labels


@every_channel
def test_every_method_it_names_finds_the_truth(channel: OptimalChannel) -> None:
    limit = asymptotics(PAPER, channel, WEAK)
    for method in channel.methods:
        fit = estimate(PAPER, tally_of(channel), method)
        assert fit.converged
        np.testing.assert_allclose(fit.theta, WEAK, rtol=0, atol=0.03 if method == "projection" else 1e-3)
        sigma = limit.moments if method == "moments" else limit.marginal
        if method != "projection":  # which has no standard errors
            assert sigma is not None
            np.testing.assert_allclose(fit.standard_errors, np.sqrt(np.diag(sigma) / SENT), rtol=0.01)


def test_moments_are_refused_where_no_beta_is_unbiased() -> None:
    channel = CHANNELS["likelihood"]
    assert not channel.has_unbiased_beta
    assert channel.methods == ("marginal",)
    for method in ("moments", "one-step"):
        with pytest.raises(NotIdentifiedError, match=r"cannot see 'statistic 1'.*rank 3 for 4 outputs.*\"marginal\""):
            estimate(PAPER, tally_of(channel), method)
    assert asymptotics(PAPER, channel, WEAK).moments is None
    assert set(CHANNELS["moments"].methods) == {"one-step", "moments", "marginal", "projection"}


@every_channel
def test_it_says_what_it_is(channel: OptimalChannel) -> None:
    plain = json.loads(json.dumps(channel.to_json()))
    assert plain["target"] == channel.target
    assert plain["value"] == channel.value
    assert plain["lower_bound"] <= plain["value"]
    assert plain["points"] == [WEAK.tolist()]
    assert plain["shares"] == [1.0]
    assert plain["methods"] == list(channel.methods)
    assert np.asarray(plain["weights"]) == pytest.approx(np.eye(2), abs=1e-8)
    assert build_channel(plain["channel"]) == channel
    summary = channel.summary()
    for label in channel.observations.labels:
        assert f"says {label}" in summary
    assert f"tr Σ = {channel.value:,.6g}" in summary
    assert f"{len(channel.observations)} observations of 4 outputs at privacy level 1" in summary
    assert f"Estimate with: {', '.join(channel.methods)}." in summary
    assert ("No unbiased β exists" in summary) == (channel.target == "likelihood")


def test_names_of_observations_are_sets_of_outputs() -> None:
    """Every name lists the outputs that are likelier by e^α, or those that are not."""
    for channel in CHANNELS.values():
        for label, row in zip(channel.observations.labels, channel.matrix, strict=True):
            inside = {name for name, p in zip("abcd", row, strict=True) if p > row.min() * 1.5}
            named = set(str(label).removeprefix("not ").split(" or "))
            assert named == (set("abcd") - inside if str(label).startswith("not ") else inside)


# -- certified ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", CHANNELS)
@pytest.mark.parametrize("level", [0.001, 0.05, 0.2, 0.5, 1, "3/2", 2, 4, 8, 12, 20, 30])
def test_the_level_is_certified_and_spent_whole(level: float | str, target: Target) -> None:
    for model, theta in ((PAPER, WEAK), (Enumerated.saturated(5), [0.5, -0.5, 1.0, 0.0])):
        channel = optimal_channel(model, level, theta, target=target)
        asked = float(Fraction(level))
        assert channel.stated_level == asked
        assert 0.99 * asked <= certify(channel).privacy_level <= asked
        assert certify(channel).privacy_level == channel.privacy_level
        assert [sum(map(int, column)) for column in channel.integer_weights.T] == [2**62] * len(model.outputs)
        if channel.has_unbiased_beta:
            beta = channel.observation_function(model).coefficients
            np.testing.assert_allclose(beta @ channel.matrix, model.table, rtol=0, atol=1e-9)


# -- what is refused ---------------------------------------------------------------------------------------------------


def refused(error: type[AskanceError], *received: str, model: Any = PAPER, level: Any = 1, **given: Any) -> None:
    """One error, whose message holds all that is given and whose remedy says what to do."""
    with pytest.raises(error) as caught:
        optimal_channel(model, level, **({"theta": [0, 0]} | given))
    for text in received:
        assert text in caught.value.message
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("level", "received"),
    [
        (0, ("is 0", "above 0, at most 30")),
        (-1, ("is -1", "above 0, at most 30")),
        (31, ("is 31", "above 0, at most 30")),
        (1e-8, ("is 1e-08", "0.0001 to 30")),
        (float("nan"), ("is nan", "finite")),
        ("abc", ("'abc'", "not a number")),
        (None, ("None", "not a number")),
        ([1], ("[1]", "not a number")),
    ],
)
def test_bad_levels(level: Any, received: tuple[str, ...]) -> None:
    refused(InputError, "privacy_level", *received, level=level)


def test_bad_guesses() -> None:
    refused(ShapeError, "theta has shape (1,)", "allowed: (2,)", theta=[1])
    refused(ShapeError, "theta has shape (1, 2)", "allowed: (2,)", theta=[[0, 0]])
    refused(MissingValueError, "theta contains nan", theta=[np.nan, 0])
    refused(InputError, "theta is 'abc'", theta="abc")
    refused(ShapeError, "prior[0] has shape (3,)", "allowed: (2,)", theta=None, prior=[[0, 0, 0]])
    refused(ShapeError, "points of shape (0, 2)", "K at least 1", theta=None, minimax=np.zeros((0, 2)))
    refused(MissingValueError, "minimax[1] contains inf", theta=None, minimax=[[0, 0], [0, np.inf]])
    wrong = Prior(np.zeros((1, 3)), np.ones(1))
    refused(ShapeError, "prior[0] has shape (3,)", theta=None, prior=wrong)


def test_exactly_one_of_theta_prior_and_minimax() -> None:
    refused(InputError, "given are theta, prior", "exactly one", prior=[[0, 0]])
    refused(InputError, "given are prior, minimax", "exactly one", theta=None, prior=[[0, 0]], minimax=[[0, 0]])
    refused(InputError, "given are none", "exactly one", theta=None)


def test_models_that_cannot_be_learned_or_are_of_another_kind() -> None:
    refused(NotIdentifiedError, "'statistic 0', 'statistic 1'", "rank 1", model=Enumerated([[0, 1, 2], [0, 2, 4]]))
    refused(NotIdentifiedError, "'statistic 0'", "rank 1", model=Enumerated([[1, 1, 1], [0, 2, 4]]))
    for model in (Softmax(2, ["age"]), RandomField([2, 2], [[0, 1]]), None, "abc"):
        name = repr(model) if not isinstance(model, RandomField) else "RandomField"
        refused(InputError, name, "allowed: an Enumerated model", model=model)
    refused(InputError, "65 outputs", "at most 64", model=Enumerated([np.arange(65.0)]), theta=[0])


@pytest.mark.parametrize("weights", [[1], [1, 2, 3], [-1, 1], [0, 0], np.eye(3), [[1, 2], [3, 4]], [[1, 2], [2, 1]]])
def test_bad_weights(weights: Any) -> None:
    shown = str(np.asarray(weights, dtype=float).tolist())
    refused(InputError, f"weights are {shown}", "2 numbers of at least 0", "(2, 2)", weights=weights)


def test_other_bad_input() -> None:
    refused(InputError, "target is 'mle'", "likelihood, moments", target="mle")
    refused(InputError, "weights are [nan, 1.0]", weights=[np.nan, 1])


BAD_PRIORS: dict[str, Callable[[], Prior]] = {
    "weights of prior are [-1.0]": lambda: Prior.weighted([[0, 0]], [-1], dimension=2),
    "not all 0": lambda: Prior.weighted([[0, 0]], [0], dimension=2),
    "weights of shape (2,)": lambda: Prior.weighted([[0, 0]], [1, 2], dimension=2),
    "covariance is [[1.0, 2.0], [2.0, 1.0]]": lambda: Prior.normal([0, 0], [[1, 2], [2, 1]]),
    "shape (2, 2)": lambda: Prior.normal([0, 0], [1, 2]),
    "fit is 'abc'": lambda: Prior.of_fit("abc"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize(("text", "build"), BAD_PRIORS.items(), ids=BAD_PRIORS.keys())
def test_bad_priors(text: str, build: Callable[[], Prior]) -> None:
    with pytest.raises(InputError) as caught:
        build()
    assert text in caught.value.message
    assert caught.value.remedy


def test_points_of_weight_zero_do_not_count() -> None:
    prior = Prior.weighted([[2.0, -0.1], [50.0, 50.0]], [3, 0], dimension=2)
    found = optimal_channel(PAPER, 1, prior=prior)
    assert found.value == pytest.approx(CHANNELS["likelihood"].value, rel=1e-9)
    assert found.points.tolist() == [[2.0, -0.1]]


# -- what matters ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shares", [[0.5, 0.2, 0.15, 0.1, 0.05], [0.6, 0.3, 0.1], [0.9, 0.08, 0.02]])
def test_channels_for_shares_have_the_least_error_of_shares(shares: list[float]) -> None:
    p = np.array(shares)
    model, theta = Enumerated.saturated(len(p)), np.log(p[1:] / p[0])
    slopes = np.array([p * (np.eye(len(p))[y] - p[y]) for y in range(1, len(p))]).T  # ∂p/∂θ, by hand
    found = optimal_channel(model, 1, theta, weights="shares")

    def error(channel: FiniteChannel) -> float:
        return float(np.trace(slopes @ asymptotics(model, channel, theta).marginal @ slopes.T))

    assert found.value == pytest.approx(error(found), rel=1e-6)
    assert found.gap < 1e-6
    assert found.weights == "shares"
    assert "of the shares of all outputs" in found.summary()
    usual = RandomizedResponse.for_privacy_level(1, outputs=model.outputs)
    for other in (usual, optimal_channel(model, 1, theta), optimal_channel(model, 1, theta, weights=slopes.T @ slopes)):
        assert error(other) >= found.lower_bound * (1 - 1e-8)
    several = optimal_channel(model, 1, prior=[theta, np.zeros(len(p) - 1)], weights="shares")
    assert several.value >= 0.5 * found.lower_bound


def test_a_guess_that_makes_outputs_impossible_is_refused() -> None:
    with pytest.raises(
        InputError, match=r"theta = \[500.0, 1.0\] output 0 has probability .*; allowed: at least 1e-08"
    ):
        optimal_channel(Enumerated([[0, 0, 1, 1], [0, 1, 0, 1]]), 1, [500, 1])
    with pytest.raises(InputError, match="weights are 'share'; allowed: numbers, a matrix, or \"shares\""):
        optimal_channel(Enumerated.saturated(3), 1, [0, 0], weights="share")


def test_priors_know_their_dimension() -> None:
    assert Prior.of([[0, 1], [2, 3]]).points.shape == (2, 2)
    assert Prior.weighted([[0, 1], [2, 3]], [1, 3]).weights.tolist() == [0.25, 0.75]
    with pytest.raises(ShapeError, match="K at least 1"):
        Prior.of([])


@pytest.mark.parametrize("constant", [3.0, 1.0, 0.1, 1e6])
def test_constant_statistics_are_found_whatever_rounding_makes_of_their_mean(constant: float) -> None:
    rng = np.random.default_rng(int(constant))
    for _ in range(20):
        model = Enumerated(np.stack([np.full(5, constant), rng.permutation(5)]))
        with pytest.raises(NotIdentifiedError, match="'statistic 0'"):
            optimal_channel(model, 1, rng.normal(size=2))


def test_what_does_not_matter_hardly_counts() -> None:
    """The error of the first parameter alone is nearly the value, and the value is tr WΣ of the W that was used."""
    channel = optimal_channel(PAPER, 1, [0, 5], weights=[1, 0])
    sigma = asymptotics(PAPER, channel, [0, 5]).marginal
    assert channel.value == pytest.approx(float(np.sum(channel.weights * sigma)), rel=1e-9)
    assert sigma[0, 0] == pytest.approx(channel.value, rel=1e-3)


def test_labels_that_hold_words_are_quoted() -> None:
    channel = optimal_channel(Enumerated.saturated(["a or b", "a", "b"]), 1, [0, 0])
    assert set(channel.observations.labels) <= {"'a or b'", "a", "b", "not 'a or b'", "not a", "not b"}


def test_scales_of_statistics_do_not_matter() -> None:
    small, large = Enumerated([[0, 1, 2, 3], [0, 1, 0, 1]]), Enumerated([[0, 1e6, 2e6, 3e6], [0, 1e-6, 0, 1e-6]])
    plain = optimal_channel(small, 1, [0, 0], weights=[1, 1])
    scaled = optimal_channel(large, 1, [0, 0], weights=[1e12, 1e-12])
    assert scaled.value == pytest.approx(plain.value, rel=1e-6)
