"""What is told while answers come in."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import askance as ak
from askance.collect.findings import counted
from askance.collect.live import LiveEstimates, live_estimates
from askance.errors import InputError

FORCED = ak.ForcedResponse("2/3", "1/6")
DIRECT = ak.Direct(["no", "yes"])


def kinds(now: LiveEstimates) -> list[tuple[str, str, bool]]:
    return [(finding.question, finding.kind, finding.alarm) for finding in now.findings]


def test_shares_are_those_of_the_sequence() -> None:
    tally = ak.Tally(FORCED, [700, 300])
    now, at = live_estimates({"a": tally}, 5000), ak.share_sequence(tally, 5000)
    assert now.shares["a"].to_json() == at.to_json()
    told = json.loads(json.dumps(now.to_json(), allow_nan=False))
    yes = told["questions"]["a"]["shares"][1]
    assert (yes["name"], yes["lower"], yes["upper"]) == ("yes", at.lower[1], at.upper[1])
    assert (told["questions"]["a"]["n"], told["questions"]["a"]["progress"], told["planned"]) == (1000, 0.2, 5000)
    assert told["questions"]["a"]["if_n_was_fixed_beforehand"] is None
    assert told["findings"] == []


def test_of_two_answers_one_is_told_and_of_two_statistics_both() -> None:
    channel = ak.PerValue(2, 2)
    reports = channel.simulate(np.tile([[1, 0], [1, 1]], (300, 1)), np.random.default_rng(0))
    now = live_estimates({"a": ak.Tally(FORCED, [700, 300]), "b": ak.Tally(channel).add(reports)}, 5000)
    first, second = now.shares["b"].names
    assert [row[1] for row in now.table().rows] == ["yes", first, second]
    assert [sentence.count("the share of") for sentence in now.sentences] == [1, 2]


def test_what_is_expected_at_the_planned_n_comes_true_where_shares_stay() -> None:
    now = live_estimates({"a": ak.Tally(FORCED, [700, 300])}, 5000)
    then = live_estimates({"a": ak.Tally(FORCED, [3500, 1500])}, 5000).shares["a"]
    assert now.shares["a"].expected_reach[1] == pytest.approx((then.upper[1] - then.lower[1]) / 2, rel=0.01)
    assert "at 5,000 it will be known to about ± 3.1 points" in now.sentences[0]


def test_a_question_without_reports_is_there_and_says_nothing() -> None:
    now = live_estimates({"a": ak.Tally(FORCED), "b": {"dice": ak.Tally(FORCED), "direct": ak.Tally(DIRECT)}}, 100)
    assert (dict(now.n), now.shares, now.findings, now.sentences) == ({"a": 0, "b": 0}, {}, (), ())
    assert now.summary().startswith("0 of 100 planned reports")


def test_the_interval_of_a_fixed_n_comes_at_the_end_with_its_label() -> None:
    tally = ak.Tally(FORCED, [700, 300])
    assert live_estimates({"a": tally}, 1001).fixed == {}
    now = live_estimates({"a": tally}, 1000)
    plain = ak.estimate(ak.Enumerated.saturated(["no", "yes"]), tally).probabilities()
    np.testing.assert_array_equal(now.fixed["a"].lower, plain.lower)
    assert "valid only if it was decided beforehand to stop at this n (95 %)" in now.summary()
    assert "will be known" not in now.sentences[0]


def test_alpha_is_split_where_a_part_is_kept_for_the_end() -> None:
    now = live_estimates({"a": ak.Tally(FORCED, [700, 300])}, 1000, kept_for_end=0.4)
    assert now.confidence == pytest.approx(0.97)
    assert now.shares["a"].confidence == now.confidence
    assert now.fixed["a"].confidence == pytest.approx(0.98)
    with pytest.raises(InputError, match="kept_for_end is 1"):
        live_estimates({}, 1000, kept_for_end=1.0)


def test_ways_of_asking_are_put_together_and_compared() -> None:
    agreeing = {"dice": ak.Tally(FORCED, [600, 300]), "direct": ak.Tally(DIRECT, [720, 180])}
    now = live_estimates({"a": agreeing}, 5000)
    assert now.n["a"] == 1800
    assert now.shares["a"].to_json() == ak.share_sequence(agreeing, 5000).to_json()
    assert kinds(now) == []
    told = now.to_json()["questions"]["a"]["ways"]
    assert {way: own["n"] for way, own in told.items()} == {"dice": 900, "direct": 900}
    alone = ak.share_sequence(agreeing["direct"], 5000, confidence=0.975)  # two intervals, 95 % together
    assert told["direct"]["shares"][1]["upper"] == pytest.approx(alone.upper[1])
    apart = live_estimates({"a": {**agreeing, "direct": ak.Tally(DIRECT, [890, 10])}}, 5000)
    assert kinds(apart) == [("a", "arms", True)]
    assert "direct and dice do not tell the same" in apart.findings[0].text
    assert "ALARM" in apart.summary()


def test_reports_that_did_not_come_through_the_channel_are_an_alarm() -> None:
    impossible = live_estimates({"a": ak.Tally(FORCED, [990, 10]), "b": ak.Tally(FORCED, [700, 300])}, 1000)
    assert kinds(impossible) == [("a", "impossible", True)]
    assert "cannot have come through this channel" in impossible.findings[0].text
    beyond = live_estimates({"a": ak.Tally(FORCED, [890, 110])}, 1000)  # 95 %, and no one in a million
    assert kinds(beyond) == [("a", "impossible", False)]
    assert "no share of 'no', 'yes' fits these reports at 95 % confidence" in beyond.findings[0].text
    assert kinds(live_estimates({"a": ak.Tally(FORCED, [830, 170])}, 1000)) == []


def test_declines_and_duplicates_are_counted() -> None:
    tallies = {"a": ak.Tally(FORCED, [60, 30]), "b": ak.Tally(FORCED, [70, 30])}
    now = live_estimates(tallies, 1000, declined={"a": 10, "b": 0}, duplicates=3, conflicts=1)
    assert kinds(now) == [("a", "declined", False), ("", "duplicates", False), ("", "conflicts", False)]
    assert now.findings[0].text.startswith("a: 10 people (10.0 %) gave no answer")
    (alone,) = counted({"a": 90}, {"a": 1}, 0, 0)
    assert alone.text.startswith("a: 1 person (1.1 %) gave no answer")


def test_what_has_no_sequence_is_said() -> None:
    channel = ak.BallRelease(2, 1)
    tally = ak.Tally(channel).add(channel.simulate(np.full((10, 2), 0.1), np.random.default_rng(0)))
    now = live_estimates({"a": tally}, 1000)
    assert kinds(now) == [("a", "not told", False)]
    assert now.to_json()["questions"]["a"]["shares"] == []


def regression(n: int, *, liars: float = 0.0) -> tuple[ak.RegressionFit, dict[str, ak.Tally]]:
    """Two ways of asking, in one of which some who would say yes do not."""
    rng = np.random.default_rng(4)
    age, version = rng.uniform(-2, 2, n), np.where(np.arange(n) % 2, "dice", "direct")
    truth = rng.random(n) < 1 / (1 + np.exp(0.8 - 0.4 * age))
    told = truth & ~((version == "direct") & (rng.random(n) < liars))
    labels = np.where(told, "yes", "no")
    said = np.where(version == "dice", FORCED.simulate(labels, rng), labels)
    designs = {"dice": FORCED, "direct": DIRECT}
    fit = ak.regress("said ~ age", {"said": said, "age": age, "version": version}, designs, arm="version")
    return fit, {way: ak.Tally(designs[way]).add(said[version == way]) for way in designs}


def test_coefficients_stand_beside_shares() -> None:
    fit, tallies = regression(3000)
    now = live_estimates({"a": tallies}, 6000, fits={"a": fit})
    assert now.coefficients["a"].to_json() == ak.coefficient_sequence(fit, 6000).to_json()
    assert [row["name"] for row in now.to_json()["questions"]["a"]["coefficients"]] == ["Intercept", "age"]
    assert kinds(now) == []
    assert [row[1] for row in now.table().rows] == ["yes", "Intercept", "age"]


def test_arms_of_a_regression_that_disagree_are_an_alarm() -> None:
    fit, _ = regression(3000, liars=0.6)
    now = live_estimates({}, 6000, fits={"a": fit})
    assert kinds(now) == [("a", "arms", True)]
    assert "direct and dice do not tell the same" in now.findings[0].text


def test_too_early_is_said() -> None:
    fit, _ = regression(120)
    now = live_estimates({}, 6000, fits={"a": fit})
    assert np.isnan(now.coefficients["a"].lower).any()
    assert "too early" in now.summary()
    assert now.findings == ()


def test_importing_live_estimates_loads_no_server() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in Path(ak.__file__).parent.glob("collect/*.py"))
    assert "live_estimates" in text
    assert not [name for name in ("starlette", "uvicorn", "psycopg") if f"\nimport {name}" in text]
