"""Options that several channels share, read once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Literal, TypeAlias, cast

from askance._checks import Number, as_distribution, as_many, one_of
from askance.channels.registry import CHOICE_OF_CALIBRATION, COUNT, LEVEL, NUMBERS, Parameter
from askance.errors import InputError

#: How means are taken where a channel first draws what to release: "within" what was drawn (better, the default), or as
#: "printed" in the paper, over everybody with weights 1/probability. Where nothing is drawn the two are the same.
Averaging: TypeAlias = Literal["within", "printed"]
#: The stated level is spent exactly, or as the paper prints it (and the level it really has is reported).
Calibration: TypeAlias = Literal["exact", "paper"]

#: Parameters of the registry that several channels have.
DIM = Parameter("dim", COUNT, "number of statistics")
SPENT = Parameter("privacy_level", LEVEL, "the level to spend")
CALIBRATION = Parameter(
    "calibration", CHOICE_OF_CALIBRATION, "spend the level exactly, or as the paper prints", "exact"
)
BOUNDS = (
    Parameter("lower", NUMBERS, "smallest value of the statistics", 0),
    Parameter("statistic_bound", NUMBERS, "largest minus smallest value", 1),
)


def require_choice(value: object, name: str, allowed: Sequence[str]) -> str:
    """One of a few words."""
    return one_of(value, allowed, name, f"The default is {allowed[0]}.")


def require_calibration(value: object) -> Calibration:
    """How the stated level is spent."""
    return cast(Calibration, require_choice(value, "calibration", ("exact", "paper")))


def require_averaging(value: object) -> Averaging:
    """How means are taken where a channel draws what to release."""
    return cast(Averaging, require_choice(value, "averaging", ("within", "printed")))


def as_draw_distribution(shares: Iterable[Number] | None, name: str, count: int, what: str) -> list[Fraction] | None:
    """How often each of `count` things is drawn: one probability for each, all above 0; None where none are given.

    >>> as_draw_distribution(["1/2", "1/2"], "release_distribution", 2, "statistic")
    [Fraction(1, 2), Fraction(1, 2)]
    """
    if shares is None:
        return None
    probabilities = as_distribution(shares, name)
    as_many(probabilities, count, name, f"entries for {count} {what}s", f"Give one per {what}.")
    if min(probabilities) == 0:
        raise InputError(
            f"{name}[{probabilities.index(Fraction(0))}] is 0; allowed: above 0.",
            remedy=f"Give every {what} some probability, or leave it out.",
        )
    return probabilities
