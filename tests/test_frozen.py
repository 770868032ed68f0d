"""A wide family of estimates is what it was when it was recorded."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.frozen.family import frozen, members
from tests.frozen.record import RECORD, difference, moved, read

MEMBERS = members()
BEFORE = read(RECORD)


def test_the_record_is_of_this_family() -> None:
    assert BEFORE.keys() == MEMBERS.keys()


@pytest.mark.parametrize("name", MEMBERS)
def test_an_estimate_is_as_it_was(name: str) -> None:
    assert difference(frozen(MEMBERS[name]), BEFORE[name]) == []


def test_a_new_record_leaves_the_lines_of_fits_that_did_not_move() -> None:
    """Otherwise hardly a line stays on another processor, and nobody sees which fits a change moved."""
    first, second = "tally mangat-0-trend one-step", "tally mangat-0-trend moments"
    kept, other = BEFORE[first], BEFORE[second]
    digits = {key: value * (1 + 1e-14) for key, value in kept.numbers.items()}
    shifted = {key: value + 1.0 for key, value in other.numbers.items()}
    now = {"new": kept, second: replace(other, numbers=shifted), first: replace(kept, numbers=digits)}
    recorded = moved(now, BEFORE)
    assert list(recorded) == [first, second, "new"]
    assert recorded[first] is kept
    assert recorded[second] is now[second]
    assert recorded["new"] is kept
