"""Audits: sound channels pass whatever is drawn, leaking ones are caught, and the bound says something."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta, binom

from askance import CoordinateRelease, MatrixChannel, PerValue, RandomizedResponse, Warner, certify
from askance._arrays import AnyArray, CodeArray, WordArray
from askance._kernels import bits
from askance._kernels.draw import TOTAL
from askance.channels import AnyChannel, entries
from askance.channels.randomness import WordSource
from askance.channels.statistics import Column
from askance.channels.statistics.calibration import calibrate
from askance.channels.statistics.domains import BinaryDomain
from askance.cli.devices import audit as audit_command
from askance.design import Audit, audit
from askance.design.audit import DEFAULT_TRIALS, log_ratio_bound
from askance.design.audit_events import Anatomy, Counts, best_choice, stated_score
from askance.errors import InputError
from askance.formats import channel_to_toml
from tests.test_cli import call

EXAMPLES = [
    pytest.param(entry.build(example), id=f"{entry.kind}-{number}")
    for entry in entries(None)
    for number, example in enumerate(entry.examples)
]
# Of one audit. All audits of sound channels in this file (below 100) together: 1e-5.
FALSE_ALARM = 1e-7


def seeded(channel: AnyChannel, trials: int = 100_000, confidence: float = 0.999, **given: Any) -> Audit:
    return audit(channel, trials, confidence, np.random.default_rng(7), **given)


# -- sound channels ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("channel", EXAMPLES)
def test_no_sound_channel_is_accused(channel: AnyChannel) -> None:
    """By the real sampler, which takes no seed; false-alarm rate as declared above."""
    found = audit(channel, 60_000, 1 - FALSE_ALARM)
    assert found.holds
    assert found.lower_bound <= found.privacy_level
    assert found.privacy_level == channel.privacy_level
    assert 59_000 < found.trials <= 60_000


@pytest.mark.parametrize("channel", EXAMPLES)
def test_the_bound_is_not_trivially_small(channel: AnyChannel) -> None:
    """200,000 seeded reports find at least half of the level of every small channel."""
    found = seeded(channel, 200_000)
    assert found.lower_bound >= min(found.privacy_level, 10) / 2
    assert found.frequencies[0] > found.frequencies[1]


def test_more_trials_come_closer() -> None:
    channel = RandomizedResponse.for_privacy_level(1, outputs=4)
    bounds = [seeded(channel, trials).lower_bound for trials in (2_000, 20_000, 200_000, 2_000_000)]
    assert bounds == sorted(bounds)
    assert 0.98 < bounds[-1] < 1


def test_wide_and_many_valued_channels_are_audited_too() -> None:
    assert 1.8 < seeded(PerValue(300, 2, l1_norm=1)).lower_bound < 2
    assert 1.8 < seeded(CoordinateRelease(4_000, 2), 12_000).lower_bound < 2
    assert 3 < seeded(RandomizedResponse.for_privacy_level(4, outputs=1_000), 200_000).lower_bound < 4


def test_pieces_of_reports_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    channel = PerValue(6, 1, max_l1_norm=2)
    expected = seeded(channel)
    monkeypatch.setattr("askance.design.audit_events._AT_A_TIME", 1000)
    assert seeded(channel) == expected


def test_without_a_level_there_is_no_promise_to_break() -> None:
    found = seeded(MatrixChannel([[1, "1/2"], [0, "1/2"]]))
    assert math.isinf(found.stated_level)
    assert found.holds
    assert found.lower_bound > 5
    assert json.loads(json.dumps(found.to_json(), allow_nan=False))["stated_level"] is None


# -- the bound ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("a", "n", "b", "m"), [(900, 1000, 100, 2000), (1, 10, 0, 10), (10, 10, 3, 7)])
def test_the_bound_is_that_of_clopper_and_pearson(a: int, n: int, b: int, m: int) -> None:
    tail = 0.025
    expected = math.log(beta.ppf(tail, a, n - a + 1) / beta.isf(tail, b + 1, m - b))
    assert log_ratio_bound((a, b), (n, m), 0.95) == pytest.approx(max(expected, 0), abs=1e-12)


def test_hopeless_counts_give_nothing() -> None:
    assert log_ratio_bound((0, 5), (10, 10), 0.95) == 0
    assert log_ratio_bound((9, 10), (10, 10), 0.95) == 0


@pytest.mark.parametrize(
    ("hits", "drawn", "confidence", "message"),
    [
        ((11, 0), (10, 10), 0.95, "hits is 11; allowed: a whole number, at least 0 and at most 10"),
        ((1, 0), (10, 0), 0.95, "drawn is 0"),
        ((1, 0), (10, 10), 95, "confidence is 95"),
    ],
)
def test_impossible_counts_are_refused(
    hits: tuple[int, int], drawn: tuple[int, int], confidence: float, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        log_ratio_bound(hits, drawn, confidence)


def test_the_bound_covers_exactly() -> None:
    """Enumerated over all counts: P(bound > truth) is at most 1 − confidence."""
    n, p, q, confidence = 25, 0.6, 0.2, 0.9
    wrong = sum(
        binom.pmf(a, n, p) * binom.pmf(b, n, q)
        for a in range(n + 1)
        for b in range(n + 1)
        if log_ratio_bound((a, b), (n, n), confidence) > math.log(p / q)
    )
    assert 0 < wrong <= 1 - confidence


# -- leaks -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "channel",
    [PerValue(6, 1, max_l1_norm=2), CoordinateRelease(4, 1), PerValue(5, 2, l1_norm=1, density="1/5")],
    ids=str,
)
def test_wrong_thresholds_are_caught_by_certificate_and_audit(channel: PerValue | CoordinateRelease) -> None:
    assert certify(channel).holds
    channel.flips = calibrate(BinaryDomain(1, 0), 2 * channel._level)
    certificate = certify(channel)
    assert not certificate.holds
    found = seeded(channel, 200_000)
    assert not found.holds
    assert found.stated_level == channel.stated_level < found.lower_bound <= certificate.privacy_level


def test_a_tampered_table_is_caught_by_certificate_and_audit() -> None:
    channel = MatrixChannel([["3/4", "1/4"], ["1/4", "3/4"]])
    promised = channel.privacy_level
    weights = channel.integer_weights.copy()
    weights[:, 0] += np.array([TOTAL // 8, -(TOTAL // 8)])
    channel._weights = weights
    assert certify(channel).privacy_level > promised
    found = seeded(channel)
    assert not found.holds
    assert found.stated_level == promised < found.lower_bound <= certify(channel).privacy_level
    weights[0, 0] += 1  # a column that no longer sums to 1 is refused
    with pytest.raises(InputError, match="column 0"):
        certify(channel)


def test_a_promise_made_elsewhere_can_be_held_against_a_channel() -> None:
    channel = Warner("4/5")
    assert seeded(channel).holds
    assert not seeded(channel, stated_level=1.0).holds


def test_a_sampler_of_answers_that_reveals_more_is_caught_by_the_audit_alone() -> None:
    class Leaking(RandomizedResponse):
        """Tells the truth about output 5, in one draw of ten, behind the back of its thresholds."""

        def _draw(self, truth: CodeArray, words: WordArray, out: CodeArray, *, compiled: bool) -> None:
            super()._draw(truth, words, out, compiled=compiled)
            out[(truth == 5) & (words % np.uint64(10) == 0)] = 5

    channel = Leaking.for_privacy_level("1/4", outputs=8)
    assert certify(channel).privacy_level <= 0.25
    found = seeded(channel)
    assert not found.holds
    assert (found.likelier, found.event) == ("5", "seen: 5")


class LeakingBits(PerValue):
    """Sends its bit 3 as it is."""

    def _draw(self, encoded: AnyArray, source: WordSource, out: Mapping[str, AnyArray], *, compiled: bool) -> None:
        super()._draw(encoded, source, out, compiled=compiled)
        eight = np.uint64(8)
        out["bits"][:, 0] = out["bits"][:, 0] & ~eight | encoded[:, 0] & eight


@pytest.mark.parametrize("dimension", [6, 200])
def test_a_bit_that_is_not_noised_is_caught_by_the_audit_alone(dimension: int) -> None:
    channel = LeakingBits(dimension, 1, max_l1_norm=4)
    assert certify(channel).holds
    found = seeded(channel)
    assert not found.holds
    assert found.lower_bound > 5
    if dimension == 200:
        assert "bit 3 of bits is" in found.event


def test_a_coordinate_that_depends_on_the_truth_is_caught_by_the_audit_alone() -> None:
    """The likelihood says that the drawn coordinate tells nothing: only what was learned from reports can see it."""

    class Leaking(CoordinateRelease):
        def _draw(self, encoded: AnyArray, source: WordSource, out: Mapping[str, AnyArray], *, compiled: bool) -> None:
            super()._draw(encoded, source, out, compiled=compiled)
            out["coordinate"][encoded[:, 0] == 1] = 0

    for dimension in (4, 2100):
        channel = Leaking(dimension, 1)
        assert certify(channel).holds
        found = seeded(channel, 12_000)
        assert not found.holds
        assert "coordinate = " in found.event
        assert found.lower_bound > 5


def test_a_weak_leak_is_found_with_enough_trials() -> None:
    class Leaking(CoordinateRelease):
        def _draw(self, encoded: AnyArray, source: WordSource, out: Mapping[str, AnyArray], *, compiled: bool) -> None:
            super()._draw(encoded, source, out, compiled=compiled)
            told = source(len(encoded)) % np.uint64(5) == 0
            out["bit"][told] = encoded[told, 0]

    channel = Leaking(3, 1)  # the level is log (0.2 + 0.8 q)/(0.8 (1 − q)) = 1.29
    assert seeded(channel, 1_000).holds
    found = seeded(channel, 400_000)
    assert not found.holds
    assert 1.2 < found.lower_bound < 1.29


# -- events ------------------------------------------------------------------------------------------------------------


def test_reports_are_taken_apart_by_what_can_be_counted() -> None:
    small = Anatomy.of(PerValue(6, 1))
    assert [cells.size for cells in small.cells] == [64]
    assert small.cells[0].describe(5) == "bits = 101000"
    wide = Anatomy.of(PerValue(100, 1, l1_norm=1))
    assert (wide.cells, [column.width for column in wide.bit_columns]) == ((), [100])
    both = Anatomy.of(CoordinateRelease(20_000, 1))
    assert [cells.size for cells in both.cells] == [40_000]
    assert both.cells[0].describe(7) == "coordinate = 3, bit = 1"
    apart = Anatomy.of(CoordinateRelease(50_000, 1))
    assert [cells.size for cells in apart.cells] == [50_000, 2]


def test_columns_of_every_kind_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    channel = CoordinateRelease(4, 1)
    columns = (
        Column("seed", "seed"),
        Column("several", "integers", width=3, limit=4),
        Column("bits", "bits", width=70),
    )
    monkeypatch.setattr(channel, "columns", columns)
    anatomy = Anatomy.of(channel)
    assert [cells.describe(2) for cells in anatomy.cells] == ["several[0] = 2", "several[1] = 2", "several[2] = 2"]
    assert anatomy.bit_columns == (columns[2],)


def test_counts_of_chunks_add_up() -> None:
    channel = PerValue(100, 1, l1_norm=1)
    reports = channel.simulate(np.eye(100), np.random.default_rng(1))
    anatomy = Anatomy.of(channel)
    whole, parts = Counts.of(anatomy, [reports]), Counts.of(anatomy, [reports[:30], reports[30:]])
    assert whole.n == parts.n == 100
    assert np.array_equal(whole.ones[0], parts.ones[0])
    assert np.array_equal(whole.ones[0], bits.unpack(reports.columns["bits"], 100).sum(axis=0))


def test_the_best_threshold_is_found_in_both_orders() -> None:
    low, high = np.zeros(1000), np.concatenate([np.ones(500), np.zeros(500)])
    choice = best_choice([low], [high], 3.0)
    assert (choice.threshold, choice.above, choice.swapped) == (1.0, True, True)
    choice = best_choice([low, -high], [low, -low], 3.0)
    assert (choice.number, choice.threshold, choice.above, choice.swapped) == (1, -1.0, False, False)


def test_without_a_likelihood_beta_is_the_score(monkeypatch: pytest.MonkeyPatch) -> None:
    channel = CoordinateRelease(2, 1)
    assert "likelihood" in stated_score(channel, channel.worst_pair()).name
    monkeypatch.setattr("askance.design.audit_events.HasReportLikelihood", type("Nothing", (), {}))
    candidate = stated_score(channel, channel.worst_pair())
    assert "β" in candidate.name
    reports = channel.simulate(np.tile([1.0, 0.0], (50, 1)), np.random.default_rng(2))
    assert np.allclose(candidate.score(reports), channel.debias(reports).sum(axis=1))
    assert 0.9 < seeded(channel).lower_bound < 1


# -- arguments and the command -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"trials": 10}, "trials is 10"),
        ({"trials": 1.5}, "trials is 1.5"),
        ({"confidence": 1.0}, "confidence is 1.0"),
        ({"confidence": 0.1}, "confidence is 0.1"),
        ({"confidence": math.nan}, "confidence is nan"),
        ({"rng": 3}, "rng is 3"),
        ({"stated_level": -1.0}, "stated_level is -1"),
        ({"channel": "warner"}, "channel is 'warner'"),
    ],
)
def test_arguments_that_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        audit(**{"channel": Warner("2/3"), **given})


def test_progress_is_told_a_few_times() -> None:
    told: list[str] = []
    audit(CoordinateRelease(2, 1), 1_000_000, rng=np.random.default_rng(0), progress=told.append)
    assert 5 <= len(told) <= 20
    assert told[0].endswith("of 1,000,000 reports")


def test_the_command_says_what_python_says(tmp_path: Path) -> None:
    channel = PerValue(5, 2, l1_norm=1)
    path = tmp_path / "channel.toml"
    path.write_text(channel_to_toml(channel), encoding="utf-8")
    for arguments in (["per-value", "--dim", "5", "--privacy-level", "2", "--l1-norm", "1"], ["file", str(path)]):
        outcome = call("audit", *arguments, "--trials", "30000", "--confidence", "0.9999999", "--json")
        assert (outcome.code, outcome.err) == (0, "")
        said = json.loads(outcome.out)
        assert said["channel"] == channel.specification()
        assert (said["trials"], said["confidence"], said["holds"]) == (30_000, 0.9999999, True)
        assert 1 < said["lower_bound"] <= 2
    table = call("audit", "warner", "--question", "2/3", "--confidence", "0.9999999")
    assert table.code == 0
    assert "nothing found against it" in table.out


def test_the_command_has_every_channel_and_the_default_of_python() -> None:
    assert sorted(audit_command.audit_group.commands) == sorted([*(entry.kind for entry in entries(None)), "file"])
    assert audit_command._DEFAULT_TRIALS == DEFAULT_TRIALS


def test_a_broken_promise_ends_with_code_1(monkeypatch: pytest.MonkeyPatch) -> None:
    noised = PerValue._draw

    def leaking(self: PerValue, encoded: AnyArray, source: WordSource, out: Any, *, compiled: bool) -> None:
        noised(self, encoded, source, out, compiled=compiled)
        out["bits"][:] = encoded

    monkeypatch.setattr(PerValue, "_draw", leaking)
    outcome = call("audit", "per-value", "--dim", "6", "--privacy-level", "1")
    assert outcome.code == 1
    assert "stated level" in outcome.out
    assert "EXCEEDED" in outcome.out
    assert outcome.err.startswith("askance: the sampler of per-value is less private than stated")
    assert outcome.err.count("\n") == 1
    machine = call("audit", "per-value", "--dim", "6", "--privacy-level", "1", "--json")
    assert (machine.code, json.loads(machine.out)["holds"]) == (1, False)


def test_the_command_refuses_in_one_line() -> None:
    outcome = call("audit", "warner", "--question", "2/3", "--trials", "3")
    assert outcome.code == 2
    assert outcome.err.startswith("askance: --trials is 3")
