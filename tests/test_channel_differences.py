"""What is said of two channels whose reports may not be mixed: the parameters that differ, however long their reprs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from askance import (
    CoordinateRelease,
    MatrixChannel,
    PerValue,
    RandomizedResponse,
    SubsetSelection,
    Tally,
    Warner,
    save,
)
from askance.channels.described import Described
from askance.channels.differences import differences
from askance.errors import IncompatibleEvidenceError
from askance.evidence.responses import Responses
from askance.formats import aggregate

LABELS = [f"a rather long label, number {i}" for i in range(40)]


def of_bound(bound: int) -> CoordinateRelease:
    """A channel whose repr is cut before its bound."""
    shares = [f"{i + 1}/1830" for i in range(60)]
    return CoordinateRelease(60, 1, release_distribution=shares, statistic_bound=bound)


CASES: dict[str, tuple[Described, Described, str]] = {
    "level": (PerValue(3, 1), PerValue(3, 2), "privacy_level ('1', not '2')"),
    "behind the cut": (of_bound(2), of_bound(3), "statistic_bound (2.0, not 3.0)"),
    "a place of a list": (
        SubsetSelection(LABELS, 1),
        SubsetSelection([*LABELS[:-1], "another"], 1),
        "outputs[39] ('a rather long label, number 39', not 'another')",
    ),
    "a place of a table": (
        MatrixChannel([["3/4", "1/4"], ["1/4", "3/4"]]),
        MatrixChannel([["3/4", "1/5"], ["1/4", "4/5"]]),
        "matrix[0][1] ('1/4', not '1/5')",
    ),
    "more or fewer": (PerValue(3, 1), PerValue(4, 1), "dim (3, not 4)"),
    "given here only": (PerValue(3, 1, lower=1), PerValue(3, 1), "lower (1.0, which is not given there)"),
    "given there only": (PerValue(3, 1), PerValue(3, 1, lower=1), "lower (not given, and 1.0 there)"),
    "purpose": (
        PerValue(3, 1).for_purpose("ages"),
        PerValue(3, 1).for_purpose("sizes"),
        "purpose ('ages', not 'sizes')",
    ),
    "kind": (Warner("2/3"), RandomizedResponse("1/3", outputs=["no", "yes"]), "kind (warner, not randomized-response)"),
}


@pytest.mark.parametrize(("other", "expected", "told"), CASES.values(), ids=CASES.keys())
def test_the_first_difference_is_named(other: Described, expected: Described, told: str) -> None:
    assert f"They differ in {told}" in differences(other, expected)
    assert len(differences(other, expected)) < 400


def test_many_differences_are_counted() -> None:
    one = PerValue(3, 1, lower=[1, 2, 3], statistic_bound=2, max_l1_norm=1, statistics="binary")
    other = PerValue(5, 2, density="1/5", l1_norm=2)
    text = differences(one, other)
    assert text.count("(") == 4
    assert text.endswith(" more.")


def test_every_refusal_says_it(tmp_path: Path) -> None:
    """Merging sums, tallies, evidence with covariates, and states on disk; reports of another channel."""
    rng = np.random.default_rng(1)
    first, second = of_bound(2), of_bound(3)
    assert repr(first) == repr(second)
    told = r"They differ in statistic_bound \(3\.0, not 2\.0\)"
    with pytest.raises(IncompatibleEvidenceError, match=told):
        Tally(first).merge(Tally(second))
    with pytest.raises(IncompatibleEvidenceError, match=told):
        first.sums(second.simulate(np.zeros((2, 60)), rng))
    answers = [RandomizedResponse(p, outputs=LABELS) for p in ("1/2", "1/4")]
    told = r"They differ in reveal_probability \("
    with pytest.raises(IncompatibleEvidenceError, match=told):
        Tally(answers[0]).merge(Tally(answers[1]))
    with pytest.raises(IncompatibleEvidenceError, match=told):
        Responses(answers[0]).merge(Responses(answers[1]))
    for name, channel in zip("ab", answers, strict=True):
        save(Tally(channel).add(LABELS[:1]), tmp_path / name)
    with pytest.raises(IncompatibleEvidenceError, match=told):
        aggregate([tmp_path / "a", tmp_path / "b"])
