"""Reports that cannot have come through their channel: found for every channel, and never where they can have."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import askance.survey
from askance import (
    BallRelease,
    CliqueRelease,
    CoordinateRelease,
    Enumerated,
    ForcedResponse,
    Hybrid,
    Hypercube,
    LinearModel,
    MatrixChannel,
    PerValue,
    QuadraticRelease,
    RandomField,
    RandomizedResponse,
    Responses,
    Softmax,
    SubsetSelection,
    Tally,
    TripleRelease,
    channel_fit_test,
    combine_means,
    estimate,
    estimate_field,
    estimate_linear,
    estimate_mean,
    load,
    pool,
    regression_release,
    save,
)
from askance.channels import StatisticsChannel
from askance.errors import EmptyDataError, ImpossibleReportsWarning, InputError, RepairWarning
from askance.estimation.checks.surprise import IMPOSSIBLE, surprise
from askance.formats.field_fit_file import read_field_fit
from tests.statistics_families import CHANNELS, enumerated_probabilities, enumerated_reports, truths_for
from tests.test_cli import call, parsed

DESIGN = ForcedResponse("2/3", "1/6")
LABELS = PerValue(128, 1, l1_norm=1)


def all_ones(n: int) -> Tally[StatisticsChannel]:
    return Tally(LABELS, np.full(128, n), n)


# -- never where they can have -----------------------------------------------------------------------------------------


def law_of_sums(laws: list[dict[tuple[int, ...], float]]) -> dict[tuple[int, ...], float]:
    """The law of a sum of independent vectors."""
    total: dict[tuple[int, ...], float] = {(0,) * len(next(iter(laws[0]))): 1.0}
    for law in laws:
        more: dict[tuple[int, ...], float] = defaultdict(float)
        for before, p in total.items():
            for step, q in law.items():
                more[tuple(a + b for a, b in zip(before, step, strict=True))] += p * q
        total = more
    return total


def assert_bounds_hold(law: dict[tuple[int, ...], float], bound_of: Callable[[tuple[int, ...]], float]) -> None:
    """P(bound ≤ b) ≤ b for every b, exactly."""
    found = sorted((bound_of(sums), p) for sums, p in law.items())
    below = 0.0
    for bound, p in found:
        below += p
        assert below <= bound * (1 + 1e-9)


ANSWERS = {
    "forced": (DESIGN, 30),
    "three answers": (RandomizedResponse("1/2", outputs=3), 9),
    "pairs": (MatrixChannel([[0.4, 0.1], [0.4, 0.1], [0.1, 0.4], [0.1, 0.4]]), 7),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_bounds_hold_whatever_the_answers_are(name: str) -> None:
    """For some mixtures of true answers the law of all counts is written out."""
    channel, n = ANSWERS[name]
    kinds, outputs = channel.matrix.shape
    unit = [tuple(int(i == o) for i in range(kinds)) for o in range(kinds)]
    laws = [dict(zip(unit, channel.matrix[:, y].tolist(), strict=True)) for y in range(outputs)]
    for cut in (0, n // 3, n):
        truth = [0] * cut + [outputs - 1] * (n - cut)
        assert_bounds_hold(law_of_sums([laws[y] for y in truth]), lambda counts: surprise(Tally(channel, counts)).bound)


SUMS = {
    "bits": (PerValue(2, 3, l1_norm=1), 8),
    "labels": (SubsetSelection(3, 2), 8),
    "coordinates": (CoordinateRelease(2, 3), 7),
    "signs": (Hypercube(2, 3), 8),
    "codes": (Hybrid(1, "1/2"), 8),
    "tables": (CliqueRelease([2, 2], [[0], [1]], 3), 6),
    "triples": (TripleRelease(2, 4), 4),
}


@pytest.mark.parametrize("name", SUMS)
def test_bounds_hold_whatever_the_statistics_are(name: str) -> None:
    channel, n = SUMS[name]
    reports, probabilities = enumerated_reports(channel), enumerated_probabilities(channel)
    each = [tuple(channel.sums(reports[i : i + 1]).tolist()) for i in range(len(reports))]
    truths = range(probabilities.shape[1])
    for first, second in [*combinations_with_replacement(truths, 2)][:4]:
        laws = []
        for truth in [first] * (n // 2) + [second] * (n - n // 2):
            law: dict[tuple[int, ...], float] = defaultdict(float)
            for step, p in zip(each, probabilities[:, truth].tolist(), strict=True):
                law[step] += p
            laws.append(law)
        assert_bounds_hold(law_of_sums(laws), lambda sums: surprise(Tally(channel, sums, n)).bound)


@pytest.mark.parametrize("name", CHANNELS)
def test_honest_reports_raise_no_alarm(name: str) -> None:
    """False alarms: at most 1e-6 each, as is proved."""
    channel, rng = CHANNELS[name], np.random.default_rng(11)
    for truth in (truths_for(channel, 2000, rng), np.repeat(truths_for(channel, 1, rng), 2000, axis=0)):
        tally = Tally(channel).add(channel.simulate(truth, rng))
        result = channel_fit_test(tally)
        assert result.bound >= IMPOSSIBLE
        assert result.p_value == result.bound
        assert result.p_value_is_bound
    assert surprise(Tally(channel)).bound == 1


# -- found for every channel -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [100, 1000])
def test_reports_of_ones_alone(n: int) -> None:
    with pytest.warns(ImpossibleReportsWarning, match="all bits together: 100 % of them are set"):
        found = estimate_mean(all_ones(n))
    assert found.summary().startswith("ALARM: these reports cannot have come through this channel")
    assert found.to_json()["messages"] == [found.alarm]
    with pytest.warns(ImpossibleReportsWarning):
        fit = estimate(Enumerated.saturated(128), all_ones(n))
    assert fit.alarm == found.alarm


def _unit(n: int) -> Any:
    return np.tile([1.0, 0.0, 0.0], (n, 1))


# Devices had the first channel, the state names the second; and the truths of so many respondents.
SWAPPED: dict[str, tuple[StatisticsChannel, StatisticsChannel, Callable[[int], Any], int]] = {
    "per-value": (PerValue(16, 2, l1_norm=1), PerValue(16, 1, l1_norm=1), lambda n: np.eye(16)[np.arange(n) % 16], 200),
    "per-value, at most": (
        PerValue(16, 2, max_l1_norm=2),
        PerValue(16, 1, max_l1_norm=2),
        lambda n: np.eye(16)[np.arange(n) % 16],
        1000,
    ),
    "coordinate-release": (CoordinateRelease(4, 2), CoordinateRelease(4, 1), lambda n: np.ones((n, 4)), 2000),
    "coordinate-release, drawn otherwise": (
        CoordinateRelease(2, 1, release_distribution=["3/4", "1/4"]),
        CoordinateRelease(2, 1),
        lambda n: np.full((n, 2), 0.5),
        500,
    ),
    "subset-selection": (
        SubsetSelection(9, 2, subset_size=2),
        SubsetSelection(9, 1, subset_size=2),
        lambda n: np.zeros(n, dtype=int),
        500,
    ),
    "hypercube": (Hypercube(4, 2), Hypercube(4, 1), lambda n: np.ones((n, 4)), 5000),
    "hybrid": (Hybrid(2, 1, sampled=2), Hybrid(2, "1/2", sampled=2), lambda n: np.ones((n, 2)), 5000),
    "clique-release": (
        CliqueRelease([2, 3], [[0, 1]], 3),
        CliqueRelease([2, 3], [[0, 1]], 2),
        lambda n: np.zeros((n, 2), dtype=int),
        2000,
    ),
    "triple-release": (TripleRelease(3, 4), TripleRelease(3, 1), lambda n: np.zeros((n, 3)), 2000),
    "ball-release": (BallRelease(3, 2, candidates=64), BallRelease(3, 1, candidates=64), _unit, 2000),
    "quadratic-release": (QuadraticRelease(3, 4, candidates=64), QuadraticRelease(3, 1, candidates=64), _unit, 500),
}


@pytest.mark.parametrize("name", SWAPPED)
def test_other_probabilities_than_the_stated_ones(name: str) -> None:
    real, stated, truth_of, n = SWAPPED[name]
    sums = real.sums(real.simulate(truth_of(n), np.random.default_rng(7)))
    result = channel_fit_test(Tally(stated, sums, n))
    assert result.bound < IMPOSSIBLE
    assert result.worst
    assert result.worst in result.message
    assert json.loads(json.dumps(result.to_json()))["worst"] == result.worst


def test_shares_that_do_not_go_together() -> None:
    """Each share is possible, and the first two are always the same."""
    channel = MatrixChannel([[0.4, 0.1], [0.4, 0.1], [0.1, 0.4], [0.1, 0.4]])
    found = surprise(Tally(channel, [80, 20, 80, 20]))
    assert found.bound < IMPOSSIBLE
    assert found.worst == "the shares of the reports, taken together"
    assert surprise(Tally(channel, [55, 55, 45, 45])).bound == 1


def test_pooled_tallies_are_tested_part_by_part() -> None:
    strict, lax = RandomizedResponse("1/2", outputs=2), RandomizedResponse("9/10", outputs=2)
    both = pool([Tally(strict, [100, 0]), Tally(lax, [5000, 5000])])
    assert surprise(both).bound < IMPOSSIBLE
    assert surprise(pool([Tally(strict, [70, 30]), Tally(lax, [5000, 5000])])).bound > 0.01


def test_the_same_function_in_both_places_and_two_kinds_of_p_values() -> None:
    assert askance.survey.channel_fit_test is channel_fit_test
    tally = Tally(DESIGN, [930, 70])
    simulated, proved = channel_fit_test(tally), channel_fit_test(tally, replicates=0)
    assert (simulated.p_value, simulated.bound) == (0.001, proved.p_value)
    assert proved.bound < 1e-15
    assert proved.worst == "'no': 93 % of reports, where the channel gives 16.7 % to 83.3 %"
    assert proved.observed.size == 0
    assert channel_fit_test(Tally(DESIGN, [500, 500]), replicates=0).message.startswith("the channel can produce")
    assert "can hardly" in channel_fit_test(Tally(DESIGN, [92, 4]), replicates=0).message
    with pytest.raises(InputError, match=r"replicates is 5; allowed: at least 99, or 0"):
        channel_fit_test(tally, replicates=5)
    with pytest.raises(InputError, match="evidence is 3"):
        channel_fit_test(3)  # type: ignore[arg-type]
    for empty in (Tally(DESIGN), Responses(DESIGN), Tally(LABELS)):
        with pytest.raises(EmptyDataError):
            channel_fit_test(empty)
    reports = LABELS.simulate(np.eye(128), np.random.default_rng(0))
    assert channel_fit_test(reports).bound == channel_fit_test(Tally(LABELS).add(reports)).bound


# -- estimates say so first --------------------------------------------------------------------------------------------


def test_estimates_from_answers(tmp_path: Path) -> None:
    tally = Tally(DESIGN, [930, 70])
    with pytest.warns((ImpossibleReportsWarning, RepairWarning)) as caught:
        fit = estimate(Enumerated.saturated(DESIGN.outputs), tally)
    assert caught[0].category is ImpossibleReportsWarning
    assert fit.summary().startswith("ALARM: these reports cannot")
    save(fit, tmp_path / "a.fit")
    again = load(tmp_path / "a.fit")
    assert again.alarm == fit.alarm  # type: ignore[union-attr]
    with pytest.warns(ImpossibleReportsWarning):
        shares = estimate_mean(tally)
    assert shares.alarm == fit.alarm
    assert combine_means([shares, shares]).alarm == fit.alarm


def test_estimates_with_covariates() -> None:
    rng = np.random.default_rng(2)
    x = np.column_stack([np.ones(1000), rng.normal(size=1000)])
    reports = np.array(["no", "yes"])[(rng.random(1000) < 0.05).astype(int)]
    evidence = Responses(DESIGN).add(x, reports)
    with pytest.warns((ImpossibleReportsWarning, RepairWarning)) as caught:
        fit = estimate(Softmax(["no", "yes"], ["Intercept", "x"]), evidence, "moments")
    assert caught[0].category is ImpossibleReportsWarning
    assert fit.summary().startswith("ALARM: these reports cannot")


def test_estimates_of_fields(tmp_path: Path) -> None:
    """Devices that never draw the second table."""
    field, rng = RandomField([2, 2], [[0], [1]]), np.random.default_rng(2)
    channel = CliqueRelease(field.sizes, field.cliques, 2)
    reports = channel.simulate(np.zeros((400, 2), dtype=int), rng)
    biased = Tally(channel).add(reports).sums.copy()
    biased[:2], biased[2:] = [300, 95], [3, 2, 395, 5]
    tally = Tally(channel, biased, 400)
    with pytest.warns(ImpossibleReportsWarning, match="clique 0: 98.8 % of reports"):
        fit = estimate_field(field, tally)
    assert fit.summary().startswith("ALARM")
    assert fit.to_json()["messages"][0] == fit.alarm
    save(fit, tmp_path / "a.field")
    assert read_field_fit(tmp_path / "a.field").alarm == fit.alarm


def test_estimates_of_fields_with_covariates() -> None:
    field = RandomField([2, 2], [[0, 1]], covariates=["age"])
    real, stated = (CliqueRelease(field.sizes, field.cliques, level) for level in (4, 2))
    rng = np.random.default_rng(4)
    reports = real.simulate(np.zeros((500, 2), dtype=int), rng)
    same = type(reports)(stated, reports.columns)
    evidence = Responses(stated).add(rng.normal(size=(500, 1)), same)
    with pytest.warns((ImpossibleReportsWarning, RepairWarning)) as caught:
        fit = estimate_field(field, evidence)
    assert caught[0].category is ImpossibleReportsWarning
    assert fit.messages[0] == fit.alarm
    assert fit.summary().startswith("ALARM")


def test_estimates_of_private_regressions() -> None:
    field = LinearModel(1, x_bounds=(-2, 2), y_bounds=(-2, 2), scales=([0, 0], [1, 1]))
    release = regression_release(field, 1, channel="quadratic", share_within=1)
    devices = QuadraticRelease(release.channel.truth_width, 8, candidates=release.channel.parameters()["candidates"])
    vectors = np.tile([1.0, 0.0, 0.0], (2000, 1))
    sums = devices.sums(devices.simulate(vectors, np.random.default_rng(1)))
    with pytest.warns((ImpossibleReportsWarning, RepairWarning)) as caught:
        fit = estimate_linear(release, Tally(release.channel, sums, 2000))
    assert caught[0].category is ImpossibleReportsWarning
    assert fit.summary().startswith("ALARM")
    assert fit.to_json()["messages"][0] == fit.alarm


@pytest.mark.parametrize(
    ("tally", "options"),
    [
        (all_ones(1000), []),
        (Tally(DESIGN, [930, 70]), []),
        (Tally(DESIGN, [930, 70]), ["--method", "unbiased"]),
    ],
    ids=["statistics", "answers", "unbiased"],
)
def test_the_command_says_so_first(tally: Tally[Any], options: list[str], tmp_path: Path) -> None:
    save(tally, tmp_path / "a.state")
    command = ["estimate", str(tmp_path / "a.state"), *options]
    plain = call(*command)
    assert plain.code == 0
    assert plain.out.startswith("ALARM: these reports cannot have come through this channel")
    assert plain.err.startswith("askance: warning: these reports cannot")
    content = json.loads(call(*command, "--json").out)
    assert content["messages"][0].startswith("these reports cannot")
    assert content["warnings"][0].startswith("these reports cannot")
    assert content["channel_test"]["bound"] < IMPOSSIBLE


def test_the_command_shows_a_doubtful_fit(tmp_path: Path) -> None:
    save(Tally(DESIGN, [92, 4]), tmp_path / "a.state")
    command = ["estimate", str(tmp_path / "a.state"), "--method", "unbiased"]
    shown = call(*command)
    assert "fit of the channel: p ≤ 0.00" in shown.out
    assert "ALARM" not in shown.out
    content = parsed(call(*command, "--json"))
    assert IMPOSSIBLE < content["channel_test"]["p_value"] < 0.01
    assert content["warnings"] == []
