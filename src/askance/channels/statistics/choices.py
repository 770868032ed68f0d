"""Options that several channels share, read once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import cast

from askance._checks import Number, as_distribution, one_of
from askance.channels.statistics.base import Averaging, Calibration
from askance.errors import InputError, ShapeError


def require_choice(value: object, name: str, allowed: Sequence[str]) -> str:
    """One of a few words."""
    return one_of(value, allowed, name, f"The default is {allowed[0]}.")


def require_calibration(value: object) -> Calibration:
    """How the stated level is spent."""
    return cast(Calibration, require_choice(value, "calibration", ("exact", "paper")))


def require_averaging(value: object) -> Averaging:
    """How means are taken where a channel draws what to release."""
    return cast(Averaging, require_choice(value, "averaging", ("within", "printed")))


def as_draw_distribution(given: Iterable[Number] | None, name: str, count: int, what: str) -> list[Fraction] | None:
    """How often each of `count` things is drawn: one probability for each, all above 0; None where none are given.

    >>> as_draw_distribution(["1/2", "1/2"], "release_distribution", 2, "statistic")
    [Fraction(1, 2), Fraction(1, 2)]
    """
    if given is None:
        return None
    probabilities = as_distribution(given, name)
    if len(probabilities) != count:
        raise ShapeError(
            f"has {len(probabilities)} entries for {count} {what}s", argument=name, remedy=f"Give one per {what}."
        )
    if min(probabilities) == 0:
        raise InputError(
            f"{name}[{probabilities.index(Fraction(0))}] is 0; allowed: above 0.",
            remedy=f"Give every {what} some probability, or leave it out.",
        )
    return probabilities
