"""Differences of a share between two arms: two groups asked alike, or a split ballot with another design in one arm."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from askance._checks import Number, as_probability, number
from askance._words import words
from askance.channels.finite import FiniteChannel
from askance.errors import InputError
from askance.planning.answers import AnswersSubject
from askance.planning.guessed_design import GuessedDesign
from askance.planning.subject import AnyDesign, Builder, Limit, Subject


@dataclass(frozen=True)
class OtherArm:
    """The arm or group that the planned share is compared with.

    Attributes:
        share: guessed there, of the same output.
        design: how its people are asked; None: through the same design as the others.
        part: of all respondents who are in it.

    >>> from askance import Direct
    >>> OtherArm(0.12, Direct(["no", "yes"]), "1/3").part
    Fraction(1, 3)
    """

    share: Number
    design: FiniteChannel | GuessedDesign | None = None
    part: Number = "1/2"

    def __post_init__(self) -> None:
        """Read what was given."""
        part = number(as_probability(self.part, "part"), "part", 0, 1, open=True, remedy="1/2 is usual.")
        object.__setattr__(self, "share", float(as_probability(self.share, "against")))
        object.__setattr__(self, "part", part)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        design = None if self.design is None else {"design": self.design.kind, **self.design.parameters()}
        return {"share": self.share, "design": design, "part": float(self.part)}


def compared(subject: Subject, against: OtherArm | Number | None) -> Subject:
    """The difference from the other arm, or from another share; the subject itself without one."""
    if against is None:
        return subject
    if not isinstance(against, OtherArm):
        against = OtherArm(against)
    if not isinstance(subject, AnswersSubject) or subject.value is None or not subject.is_share:
        raise InputError(
            f"is a share, but the target is: {subject.label}",
            argument="against",
            remedy=words("Plan for a share, as in {Share(output)}; the effect of a group is also a coefficient."),
        )
    return ComparedSubject(subject, subject.at(float(against.share)), against)


def _difference(first: float, other: float) -> float:
    """Of two shares; 0 where their last digits differ."""
    return 0.0 if math.isclose(first, other, rel_tol=1e-12) else first - other


class ComparedSubject(Subject):
    """π₁ − π₂ with σ² = σ₁²/(1 − w) + σ₂²/w, where w is the part of all respondents in the other arm.

    Args:
        first: the arm that is asked through the designs that are compared.
        other: the other one.
        against: how that is asked, and how large it is.
    """

    def __init__(self, first: AnswersSubject, other: AnswersSubject, against: OtherArm) -> None:
        assert first.value is not None
        assert other.value is not None
        self.first, self.other, self.against = first, other, against
        self.label, self.is_share = f"difference of the {first.label} from the other arm", False
        self.value, self.shares = _difference(first.value, float(against.share)), first.shares

    @property
    def direct_parameters(self) -> Mapping[str, Any]:
        """As of the first arm."""
        return self.first.direct_parameters

    @property
    def usual_test(self) -> Literal["score", "wald"]:
        """As for shares."""
        return "score"

    @property
    def has_null(self) -> bool:
        """Always."""
        return True

    def at(self, value: float) -> Subject:
        """Shares that differ by so much, and have the mean over both arms that the guesses have."""
        assert self.first.value is not None
        part, share = float(self.against.part), float(self.against.share)
        mean = (1 - part) * self.first.value + part * share
        shares = mean + part * value, mean - (1 - part) * value
        if not all(0 <= share <= 1 for share in shares):
            raise InputError(
                f"is {value:g}, but no two shares with the mean {mean:.4g} differ by that much",
                argument="null",
                remedy="0 is usual.",
            )
        return ComparedSubject(self.first.at(shares[0]), self.first.at(shares[1]), self.against)

    def direct(self) -> Limit:
        """Both arms asked directly."""
        return self._together(self.first.direct(), self.other.direct())

    def limit(self, design: AnyDesign) -> Limit:
        """The first arm through the design, the other as it is asked."""
        return self._together(self.first.limit(design), self.other.limit(self.against.design or design))

    def _together(self, first: Limit, other: Limit) -> Limit:
        part = float(self.against.part)
        variances = first.variances / (1 - part) + other.variances / part
        roughness = float(np.hypot(first.roughness / np.sqrt(1 - part), other.roughness / np.sqrt(part)))
        return Limit(variances, roughness, first.method)

    def families(self) -> dict[str, Builder]:
        """As for the first arm alone."""
        return self.first.families()

    def unfit(self) -> dict[str, str]:
        """As for the first arm alone."""
        return self.first.unfit()
