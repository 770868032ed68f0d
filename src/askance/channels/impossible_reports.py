"""Reports that no respondent could have sent."""

from __future__ import annotations

from askance._words import Place
from askance.errors import InputError


def impossible_report(row: int, what: str, allowed: str = "") -> InputError:
    """The refusal of one, by its place among those that are looked at.

    >>> print(impossible_report(3, "2 labels in column 'subset'", "exactly 1"))
    report 3 has 2 labels in column 'subset'; allowed: exactly 1. It was made by another channel, or damaged; ...
    """
    remedy = "It was made by another channel, or damaged; leave it out."
    return InputError(f"has {what}", argument=Place("report", row), allowed=allowed, remedy=remedy)
