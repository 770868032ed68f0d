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
        with pytest.raises(NotIdentifiedError, match=r"cannot see 'statistic 1'.*rank 3 for 4 outputs.*'marginal'"):
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
    # So far out that one output has all the probability.
    refused(NotIdentifiedError, "'statistic 0'", theta=[800, 0])


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
