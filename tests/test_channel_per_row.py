"""Evidence of several channels: every row says which it came through, and every chunk has one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from askance import (
    CliqueRelease,
    Crosswise,
    Direct,
    ForcedResponse,
    RandomField,
    Responses,
    Softmax,
    Warner,
    channel_fit_test,
    estimate,
    estimate_field,
)
from askance.channels import Reports
from askance.errors import IncompatibleEvidenceError, InputError, LabelError, ShapeError

DICE, DIRECT, CROSSWISE = ForcedResponse("2/3", "1/6"), Direct(["no", "yes"]), Crosswise("1/5")
ARMS = {"dice": DICE, "direct": DIRECT, "crosswise": CROSSWISE}
X = np.column_stack([np.ones(6), np.arange(6.0)])
ARM = ["dice", "direct", "crosswise", "dice", "direct", "direct"]
SAME, DIFFERENT = CROSSWISE.observations.labels
SAID = ["yes", "no", SAME, "no", "yes", "no"]


def seen(**options: Any) -> Responses:
    return Responses(ARMS).add(X, SAID, arm=ARM, **options)


def test_rows_of_a_channel_are_chunks_of_their_own() -> None:
    evidence = seen(weights=np.arange(1.0, 7.0), clusters=list("abcabc"))
    assert evidence.channels == (DICE, DIRECT, CROSSWISE)
    assert evidence.n_observations == 6
    assert [chunk.channel for chunk in evidence.chunks] == [DICE, DIRECT, CROSSWISE]
    for chunk, rows in zip(evidence.chunks, ([0, 3], [1, 4, 5], [2]), strict=True):
        assert chunk.channel.observations.decode(chunk.codes).tolist() == [SAID[row] for row in rows]
        assert np.array_equal(chunk.x, X[rows])
        assert chunk.weights is not None
        assert chunk.weights.tolist() == [row + 1 for row in rows]
        assert np.asarray(chunk.clusters).tolist() == ["abcabc"[row] for row in rows]


def test_arms_one_by_one_are_the_same_as_all_at_once() -> None:
    one_by_one = Responses(ARMS)
    for arm in ARMS:
        rows = [row for row in range(6) if ARM[row] == arm]
        one_by_one = one_by_one.add(X[rows], [SAID[row] for row in rows], arm=arm)
    for mine, other in zip(one_by_one.chunks, seen().chunks, strict=True):
        assert mine.channel == other.channel
        assert np.array_equal(mine.x, other.x)
        assert np.array_equal(mine.codes, other.codes)


def test_reports_know_their_channel() -> None:
    codes = Reports(DIRECT, {"answer": np.array([1, 0])})
    evidence = Responses(ARMS).add(X[:2], codes)
    assert [chunk.channel for chunk in evidence.chunks] == [DIRECT]
    with pytest.raises(InputError, match="arm is given with Reports"):
        Responses(ARMS).add(X[:2], codes, arm="direct")
    with pytest.raises(IncompatibleEvidenceError, match="another channel"):
        Responses(ARMS).add(X[:2], Reports(Warner("2/3"), codes.columns))


def test_equal_rows_fold_within_their_channel() -> None:
    n = 40
    rows = np.ones((n, 1))
    arms = ["dice", "direct"] * (n // 2)
    folded = Responses({"dice": DICE, "direct": DIRECT}).add(rows, ["yes"] * n, arm=arms).collapse()
    assert [(chunk.channel, len(chunk), chunk.n_observations) for chunk in folded.chunks] == [
        (DICE, 1, n // 2),
        (DIRECT, 1, n // 2),
    ]


def test_evidence_of_the_same_arms_merges_and_takes_a_purpose() -> None:
    both = (seen() + seen()).for_purpose("smokes")
    assert both.n_observations == 12
    assert {channel.purpose for channel in both.channels} == {"smokes"}
    assert {chunk.channel.purpose for chunk in both.chunks} == {"smokes"}
    with pytest.raises(
        IncompatibleEvidenceError, match=r"different channels.*Give each row its channel, Responses\(\{"
    ):
        Responses(DICE).merge(Responses(DIRECT))
    with pytest.raises(IncompatibleEvidenceError, match="different channels"):
        seen().merge(Responses(DICE))
    assert Responses(DICE).merge(Responses({"dice": DICE})).channel == DICE


def test_the_loop_over_rows_meets_one_channel_at_a_time() -> None:
    (total,) = seen().total(lambda rows: (rows.x.sum(axis=0) * len(rows.channel.kind),))
    by_hand = sum(X[row] * len(ARMS[ARM[row]].kind) for row in range(6))
    assert np.array_equal(total, by_hand)


def test_what_needs_one_channel_refuses_several() -> None:
    said = "came through 3 channels .*allowed here: one channel"
    with pytest.raises(InputError, match=said):
        _ = seen().channel
    assert channel_fit_test(seen()).bound <= 1


def test_evidence_of_another_kind_of_model_is_refused() -> None:
    tables = CliqueRelease([2, 2], [[0, 1]], 1)
    of_tables = Responses(tables).add([[1.0]], tables.simulate([[0, 1]], np.random.default_rng(0)))
    with pytest.raises(InputError, match=r"through CliqueRelease.*allowed with Softmax: Responses"):
        estimate(Softmax(["no", "yes"], ["x"]), of_tables)  # type: ignore[arg-type]
    answers = Responses(DICE).add([[1.0]], ["yes"])
    with pytest.raises(InputError, match=r"through ForcedResponse.*allowed with RandomField"):
        estimate_field(RandomField([2, 2], [[0, 1]], covariates=1), answers)  # type: ignore[arg-type]
    weighted = Responses(tables).add([[1.0]], of_tables.chunks[0].reports, weights=[2.0])
    with pytest.raises(InputError, match="weights or clusters"):
        estimate_field(RandomField([2, 2], [[0, 1]], covariates=1), weighted)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(IncompatibleEvidenceError, match=r"'a' is about .*no.*'b' about .*nein"):
        Responses({"a": DICE, "b": Direct(["nein", "ja"])})
    with pytest.raises(IncompatibleEvidenceError, match="'a' is for the purpose 'smokes', 'b' for None"):
        Responses({"a": DICE.for_purpose("smokes"), "b": DIRECT})
    with pytest.raises(InputError, match="channel 'b' is 3; allowed with covariates"):
        Responses({"a": DICE, "b": 3})  # type: ignore[type-var]
    with pytest.raises(InputError, match="at least one channel"):
        Responses({})
    with pytest.raises(LabelError, match=r"arm\[1\] is 'phone'; allowed: 'dice', 'direct', 'crosswise'"):
        Responses(ARMS).add(X[:2], SAID[:2], arm=["dice", "phone"])
    with pytest.raises(ShapeError, match="arm has 2 rows for 6 reports"):
        Responses(ARMS).add(X, SAID, arm=ARM[:2])
    with pytest.raises(InputError, match="arm is None, and the evidence has 3 channels"):
        Responses(ARMS).add(X, SAID)
    with pytest.raises(InputError, match="arm is 'dice', and the evidence has 1 channels"):
        Responses(DICE).add(X[:1], SAID[:1], arm="dice")
    with pytest.raises(LabelError, match=r"observed\[3\] is 'maybe'"):
        Responses(ARMS).add(X, [*SAID[:3], "maybe", *SAID[4:]], arm=ARM)
