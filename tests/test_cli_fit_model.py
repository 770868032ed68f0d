"""`askance estimate … [--model …]`: several states as one, and models of one's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askance import (
    Enumerated,
    PerValue,
    RandomizedResponse,
    Tally,
    estimate,
    estimate_mean,
    load,
    optimal_channel,
    pool,
    save,
)
from askance.channels.finite import FiniteChannel
from askance.estimation.results.fit import DistributionFit
from askance.formats import channel_to_toml, read_answer_channel

from .test_cli import assert_one_line, call, parsed

TABLE = [[0, 0, 1, 1], [0, 1, 0, 1]]
MODEL = Enumerated(TABLE, parameter_names=["first", "second"])
LAX, STRICT = (RandomizedResponse.for_privacy_level(level, outputs=4) for level in (2, 1))
BEST = optimal_channel(MODEL, 1, [2.0, -1.0])


def tally(channel: FiniteChannel, seed: int, n: int = 20_000) -> Tally:
    rng = np.random.default_rng(seed)
    return Tally(channel).add(channel.simulate(MODEL.sample([1.0, -1.0], n, rng), rng))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """States, and the model, in the current folder."""
    monkeypatch.chdir(tmp_path)
    described = {"kind": "enumerated", "table": TABLE, "parameter_names": ["first", "second"]}
    Path("model.json").write_text(json.dumps(described), encoding="utf-8")
    save(tally(LAX, 1), "lax.state")
    save(tally(STRICT, 2), "strict.state")
    return tmp_path


def numbers(rows: list[dict[str, Any]], field: str) -> list[float]:
    return [row[field] for row in rows]


def expect(content: dict[str, Any], fit: DistributionFit, confidence: float = 0.95) -> None:
    """What was printed is the fit."""
    assert content["method"] == fit.method
    assert content["n"] == fit.n_observations
    assert numbers(content["parameters"], "estimate") == fit.theta.tolist()
    assert numbers(content["parameters"], "std_error") == fit.standard_errors.tolist()
    assert numbers(content["parameters"], "lower") == fit.confidence_interval(confidence).lower.tolist()
    shares = fit.probabilities(confidence)
    assert numbers(content["shares"], "share") == shares.estimate.tolist()
    assert numbers(content["shares"], "upper") == shares.upper.tolist()


# -- several states ----------------------------------------------------------------------------------------------------


def test_tallies_of_several_channels_are_pooled() -> None:
    both = pool([tally(LAX, 1), tally(STRICT, 2)])
    content = parsed(call("estimate", "lax.state", "strict.state", "--json"))
    expected = estimate(Enumerated.saturated(4), both)
    assert content["n"] == 40_000
    assert content["privacy_level"] == 2.0
    assert numbers(content["shares"], "share") == expected.probabilities().estimate.tolist()
    text = call("estimate", "lax.state", "strict.state").out
    assert "40,000 reports through 2 channels" in " ".join(text.split())


def test_tallies_of_one_channel_are_added() -> None:
    save(tally(LAX, 3), "more.state")
    content = parsed(call("estimate", "lax.state", "more.state", "--json"))
    expected = estimate(Enumerated.saturated(4), tally(LAX, 1) + tally(LAX, 3))
    assert numbers(content["shares"], "std_error") == expected.probabilities().standard_error.tolist()
    assert content["channel"]["kind"] == "randomized-response"


def test_sums_of_one_channel_are_added_and_others_refused() -> None:
    channel, rng = PerValue(2, 2), np.random.default_rng(0)
    parts = [Tally(channel).add(channel.simulate(rng.integers(0, 2, (50, 2)), rng)) for _ in range(2)]
    for name, part in zip(("a.state", "b.state"), parts, strict=True):
        save(part, name)
    content = parsed(call("estimate", "a.state", "b.state", "--json"))
    assert numbers(content["statistics"], "mean") == estimate_mean(parts[0] + parts[1]).mean.tolist()
    save(Tally(PerValue(2, 1)), "c.state")
    assert_one_line(call("estimate", "a.state", "c.state"), ("c.state", "another channel", "a.state"))
    assert_one_line(call("estimate", "lax.state", "a.state"), ("lax.state counts answers", "a.state"))


def test_states_that_do_not_belong_together_are_refused() -> None:
    save(Tally(RandomizedResponse("1/2", outputs=["no", "yes"]), [5, 6]), "other.state")
    assert_one_line(
        call("estimate", "lax.state", "other.state"),
        ("lax.state is about 4 codes", "other.state about ['no', 'yes']"),
    )
    assert_one_line(call("estimate", "lax.state", "./lax.state"), ("given twice",))


# -- models ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["one-step", "moments", "marginal"])
def test_a_model_of_ones_own(method: str) -> None:
    arguments = ("--model", "model.json", "--method", method, "--confidence", "0.9", "--json")
    content = parsed(call("estimate", "lax.state", *arguments, "--save", "kept.fit"))
    fit = estimate(MODEL, tally(LAX, 1), method)
    expect(content, fit, 0.9)
    assert [row["name"] for row in content["parameters"]] == ["first", "second"]
    kept = load("kept.fit")
    assert isinstance(kept, DistributionFit)
    assert kept.theta.tolist() == fit.theta.tolist()
    assert kept.model.parameter_names == ("first", "second")


def test_a_model_of_several_states() -> None:
    content = parsed(call("estimate", "lax.state", "strict.state", "--model", "model.json", "--json"))
    expect(content, estimate(MODEL, pool([tally(LAX, 1), tally(STRICT, 2)])))


def test_the_likelihood_where_there_is_no_unbiased_beta() -> None:
    assert not BEST.has_unbiased_beta
    Path("best.toml").write_text(channel_to_toml(BEST), encoding="utf-8")
    reports = tally(read_answer_channel("best.toml"), 4)
    save(reports, "best.state")
    outcome = call("estimate", "best.state", "--model", "model.json", "--json")
    assert "no unbiased β" in outcome.err
    assert "--method marginal is taken" in outcome.err
    expect(json.loads(outcome.out), estimate(MODEL, reports, "marginal"))
    assert call("estimate", "best.state", "--model", "model.json", "--method", "marginal").err == ""
    assert_one_line(call("estimate", "best.state"), ("--model model.json",))
    one_step = call("estimate", "best.state", "--model", "model.json", "--method", "one-step")
    assert_one_line(one_step, ("cannot see",))


def test_a_model_of_noised_statistics() -> None:
    channel, rng = PerValue(2, 4), np.random.default_rng(0)
    y = MODEL.sample([1.0, -1.0], 5000, rng)
    sums = Tally(channel).add(channel.simulate(MODEL.statistics(y), rng))
    save(sums, "sums.state")
    expect(parsed(call("estimate", "sums.state", "--model", "model.json", "--json")), estimate(MODEL, sums))


def test_the_tables_for_people() -> None:
    text = call("estimate", "lax.state", "--model", "model.json").out
    for word in ("randomized-response: 20,000 reports", "parameter", "first", "second", "answer", "95 % interval"):
        assert word in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--model", "model.json"), ("STATE", "missing")),
        (("lax.state", "--model", "no.json"), ("no.json",)),
        (("lax.state", "--model", "model.json", "--names", "a,b"), ("--names is given with --model",)),
        (("lax.state", "--model", "model.json", "--field"), ("--model is given with --field",)),
        (("lax.state", "--model", "two.json"), ("the model is about", "4 codes")),
        (("lax.state", "--save", "no/kept.fit"), ("--save no/kept.fit", "no folder no")),
        (("lax.state", "--save", "."), ("--save . is a folder",)),
    ],
)
def test_refusals(arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    Path("two.json").write_text('{"kind": "saturated", "outputs": ["no", "yes"]}', encoding="utf-8")
    assert_one_line(call("estimate", *arguments), words)
    assert not list(Path().glob(".*"))


# -- how version 0.1 spelt it ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (("fit", "--state", "lax.state"), ("estimate", "lax.state")),
        (
            ("fit", "--json", "--state=lax.state", "--state", "strict.state"),
            ("estimate", "lax.state", "strict.state", "--json"),
        ),
        (("fit", "--state", "no.state"), ("estimate", "no.state")),
        (("fit", "--state", "lax.state", "--release", "no.json"), ("fit-linear", "lax.state", "--release", "no.json")),
    ],
)
def test_the_old_spelling_works_and_says_so(old: tuple[str, ...], new: tuple[str, ...]) -> None:
    before, after = call(*old), call(*new)
    assert (before.code, before.out) == (after.code, after.out)
    first, _, rest = before.err.partition("\n")
    assert rest == after.err
    assert (
        f"`askance fit --state STATE` is now `askance {new[0]} STATE`; the old spelling goes in askance 0.3." in first
    )
