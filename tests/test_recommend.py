"""Recommendations: everything that fits, at exactly the level, the cheapest first."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askance import CoordinateRelease, Enumerated, PerValue, asymptotics, build_channel, certify
from askance.design import Recommendation, recommend
from askance.design.recommend import BUILDERS
from askance.errors import InputError, NotIdentifiedError, ShapeError

PAPER = Enumerated([[0, 0, 1, 1], [0, 1, 0, 1]])
STRONG = [5.0, -1.0]


def by_name(found: Recommendation) -> dict[str, Any]:
    return {row.name: row for row in found.channels}


def test_the_strong_signal_is_learned_best_by_tuned_coordinate_release() -> None:
    found = recommend(PAPER, 1, STRONG)
    assert found.best.name == "coordinate-release, tuned"
    assert found.best.trace == pytest.approx(22_568.1, rel=3e-6)
    assert found.best.channel == CoordinateRelease.for_model(PAPER, 1, STRONG)
    rows = by_name(found)
    assert rows["coordinate-release"].trace == pytest.approx(42_021, rel=1e-5)
    assert rows["randomized-response"].likelihood == pytest.approx(50_263, rel=1e-5)
    assert rows["randomized-response"].moments == pytest.approx(57_210, rel=1e-5)
    assert rows["randomized-response"].method == "likelihood"
    assert rows["subset-selection"].trace == pytest.approx(57_210, rel=1e-5)
    assert rows["per-value"].trace == pytest.approx(88_899, rel=1e-5)
    assert set(rows) == set(BUILDERS)
    assert found.skipped == {}


def test_moments_can_be_compared_with_moments() -> None:
    found = recommend(PAPER, 1, STRONG, ranked_by="moments")
    assert {row.method for row in found.channels} == {"moments"}
    assert by_name(found)["randomized-response"].trace == pytest.approx(57_210, rel=1e-5)
    assert found.best.name == "coordinate-release, tuned"


def test_shares_can_be_what_matters() -> None:
    """The trace is the error of all shares, standard errors are theirs, and the ranking is another one."""
    shares = np.array([0.9, 0.06, 0.03, 0.01])
    model, theta = Enumerated.saturated(4), np.log(shares[1:] / shares[0])
    found, plain = (recommend(model, 1, theta, 10_000, weights=weights) for weights in ("shares", None))
    slopes = np.diag(shares)[:, 1:] - np.outer(shares, shares[1:])
    for row in found.channels:
        limit = asymptotics(model, row.channel, theta)
        sigma = limit.moments if row.method == "moments" else limit.marginal
        expected = slopes @ sigma @ slopes.T
        assert row.trace == pytest.approx(np.trace(expected), rel=1e-9)
        assert row.standard_errors == pytest.approx(np.sqrt(np.diag(expected) / 10_000), rel=1e-9)
    assert [row.name for row in found.channels] != [row.name for row in plain.channels]
    assert (found.of, plain.of) == ("shares", "θ")
    assert "error of the shares, summed over all outputs" in found.summary()
    assert "error of θ, summed over the parameters" in plain.summary()
    assert json.loads(json.dumps(found.to_json()))["of"] == "shares"
    with pytest.raises(InputError, match="weights are 'share'"):
        recommend(model, 1, weights="share")


def test_one_hot_bits_come_in_both_forms() -> None:
    """Symmetric flips (SUE) and flips by density; for many rare answers the latter are better."""
    rows = by_name(recommend(Enumerated.saturated(30), 1, weights="shares"))
    assert rows["per-value, one-hot symmetric"].channel == PerValue(30, 1, l1_norm=1)
    assert rows["per-value, one-hot"].trace < rows["per-value, one-hot symmetric"].trace


@pytest.mark.parametrize("level", [0.5, 1, 2, 4])
def test_every_channel_has_exactly_the_level(level: float) -> None:
    for row in recommend(PAPER, level).channels:
        assert 0.99 * level <= row.privacy_level <= level
        assert row.privacy_level == certify(row.channel).privacy_level
        assert build_channel(row.channel.specification()) == row.channel


@st.composite
def models(draw: st.DrawFn) -> Enumerated:
    size, dimension = draw(st.integers(3, 6)), draw(st.integers(1, 2))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    table = (
        rng.integers(0, 2, (dimension, size)) if draw(st.booleans()) else rng.normal(size=(dimension, size)).round(2)
    )
    spread = np.eye(dimension, size)  # statistics that can be told apart
    return Enumerated(table + 3 * spread)


@given(models(), st.sampled_from([0.5, 1.0, 3.0]), st.floats(-1, 1))
@settings(max_examples=12, deadline=None, derandomize=True)
def test_the_best_is_never_worse_than_any_other(model: Enumerated, level: float, tilt: float) -> None:
    theta = np.full(model.dimension, tilt)
    found = recommend(model, level, theta)
    traces = [row.trace for row in found.channels]
    assert len(traces) + len(found.skipped) == len(BUILDERS)
    assert all(found.best.trace <= trace * (1 + 1e-8) for trace in traces)
    assert traces == pytest.approx(sorted(traces), rel=1e-8)
    assert [row.ratio for row in found.channels] == pytest.approx([trace / traces[0] for trace in traces])
    rows = by_name(found)
    assert rows["coordinate-release, tuned"].trace <= rows["coordinate-release"].trace * (1 + 1e-6)
    for row in found.channels:
        assert row.privacy_level <= level
        if row.likelihood is not None and row.moments is not None:
            assert row.likelihood <= row.moments * (1 + 1e-9)


def test_many_outputs_ask_for_subsets_and_few_for_the_answer() -> None:
    assert recommend(Enumerated.saturated(32), 1).best.name == "subset-selection"
    assert recommend(Enumerated.saturated(3), 3).best.name == "randomized-response"


def test_standard_errors_are_those_of_n_respondents() -> None:
    found = recommend(PAPER, 1, STRONG, n=100_000)
    assert found.best.standard_errors is not None
    sigma = asymptotics(PAPER, CoordinateRelease.for_model(PAPER, 1, STRONG), STRONG).moments
    np.testing.assert_allclose(found.best.standard_errors, np.sqrt(np.diag(sigma) / 100_000))
    assert recommend(PAPER, 1, STRONG).best.standard_errors is None


def test_weights_say_what_matters() -> None:
    """All weight on the second statistic: it is released nearly always, and its error is all that counts."""
    plain, weighted = recommend(PAPER, 1, STRONG), recommend(PAPER, 1, STRONG, weights=[0.0, 1.0])
    rows, plain_rows = by_name(weighted), by_name(plain)
    for name, row in rows.items():
        if not name.endswith("tuned"):
            sigma = asymptotics(PAPER, row.channel, STRONG)
            used = sigma.marginal if row.method == "likelihood" else sigma.moments
            assert row.trace == pytest.approx(used[1, 1], rel=1e-9)
    tuned = rows["coordinate-release, tuned"]
    assert tuned.trace <= rows["coordinate-release"].trace
    shares = [each.channel.release_probabilities[1] for each in (plain_rows["coordinate-release, tuned"], tuned)]
    assert shares[1] > 10 * shares[0]
    matrix = recommend(PAPER, 1, STRONG, weights=np.diag([0.0, 1.0]))
    assert [row.trace for row in matrix.channels] == [row.trace for row in weighted.channels]


def test_the_short_way_to_per_value_release_has_the_level_of_the_long_one() -> None:
    """By norm where the norm says as much as the list of outputs, by the list elsewhere."""
    for model, by_norm in (
        (Enumerated.saturated(5), True),
        (Enumerated([[0, 0, 1], [0, 1, 0]]), True),
        (Enumerated([[-1, -1, 3, 3], [0, 2, 0, 2]]), True),
        (Enumerated([[0, 1, 1, 0], [0, 1, 0, 1], [0, 0, 1, 1]]), False),  # norm at most 2, but no two differ in 3
        (Enumerated([[0.0, 0.5, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]]), False),
    ):
        rows = by_name(recommend(model, 1))
        for name, tuned in (("per-value", False), ("per-value, tuned", True)):
            channel = rows[name].channel
            assert ("possible" in channel.parameters()) is not by_norm
            long_way = PerValue.for_model(model, 1, tuned=tuned)
            assert channel.flips.keep / 2**62 == pytest.approx(long_way.flips.keep / 2**62, rel=1e-6)
            assert channel.privacy_level == pytest.approx(long_way.privacy_level, abs=1e-12)


def test_what_does_not_fit_is_left_out_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(case: object) -> Any:
        raise InputError("too many outputs.", remedy="Use fewer.")

    monkeypatch.setitem(BUILDERS, "hypercube", refuse)
    found = recommend(PAPER, 1)
    assert found.skipped == {"hypercube": "too many outputs."}
    assert "left out: hypercube: too many outputs." in str(found)
    for name in BUILDERS:
        monkeypatch.setitem(BUILDERS, name, refuse)
    with pytest.raises(NotIdentifiedError, match="no channel fits"):
        recommend(PAPER, 1)


def test_what_would_take_minutes_is_left_out() -> None:
    model = Enumerated(np.random.default_rng(3).random((2, 100)).round(3))
    found = recommend(model, 1)
    assert set(found.skipped) == {"per-value, tuned"}
    assert "100 different statistics" in found.skipped["per-value, tuned"]


def test_it_can_be_read_by_people_and_programs() -> None:
    found = recommend(PAPER, 1, STRONG, n=1000)
    lines = str(found).splitlines()
    assert lines[0] == "privacy level 1, θ = [5.0, -1.0], 1,000 respondents"
    assert lines[2].startswith("coordinate-release, tuned")
    assert "22,568.1" in lines[2]
    assert found.summary() == str(found)
    content = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert content["channels"][0]["ratio"] == 1
    assert build_channel(content["channels"][0]["channel"]) == found.best.channel
    assert content["theta"] == STRONG


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ({"privacy_level": 0}, InputError, "privacy_level is 0"),
        ({"theta": [1.0]}, ShapeError, r"allowed: \(2,\)"),
        ({"n": 0}, InputError, "n is 0"),
        ({"weights": [1.0]}, InputError, "2 numbers"),
        ({"weights": [1.0, -1.0]}, InputError, "at least 0"),
        ({"weights": [0.0, 0.0]}, InputError, "not all 0"),
        ({"ranked_by": "luck"}, InputError, "ranked_by is 'luck'"),
        ({"model": Enumerated([[0, 1], [0, 1]])}, NotIdentifiedError, "the model"),
    ],
)
def test_what_is_refused(arguments: dict[str, Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        recommend(**{"model": PAPER, "privacy_level": 1, **arguments})
