"""A wide family of estimates is what it was when it was recorded."""

from __future__ import annotations

import pytest

from tests.frozen.family import frozen, members
from tests.frozen.record import RECORD, difference, read

MEMBERS = members()
BEFORE = read(RECORD)


def test_the_record_is_of_this_family() -> None:
    assert BEFORE.keys() == MEMBERS.keys()


@pytest.mark.parametrize("name", MEMBERS)
def test_an_estimate_is_as_it_was(name: str) -> None:
    assert difference(frozen(MEMBERS[name]), BEFORE[name]) == []
