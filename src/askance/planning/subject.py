"""What a plan asks of a model: the target's value and error through a channel, and which channels there are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from askance._arrays import FloatArray
from askance._checks import did_you_mean, one_of, shown
from askance._words import Either, words
from askance.channels import registry
from askance.channels.finite import FiniteChannel
from askance.channels.statistics.base import StatisticsChannel
from askance.channels.statistics.moment_release import MomentRelease
from askance.errors import InputError
from askance.planning.guessed_design import GuessedDesign
from askance.planning.yes_reports import YesReports

#: How estimates will be made. "best": by the likelihood where the library has it, otherwise by moments.
PlannedMethod: TypeAlias = Literal["best", "one-step", "marginal", "moments"]
METHODS: tuple[PlannedMethod, ...] = ("best", "one-step", "moments", "marginal")
#: What respondents are asked through.
AnyDesign: TypeAlias = FiniteChannel | StatisticsChannel | MomentRelease | GuessedDesign
Builder: TypeAlias = Callable[[Fraction], AnyDesign]
_BUILD = words(
    "{0}.",
    Either(
        "Build it with its parameters and give the channel itself",
        "Leave it out; `askance plan survey` takes yes/no designs with parameters: --design warner:question=2/3",
    ),
)


class Limit(NamedTuple):
    """What one respondent is worth, at every guess of θ.

    Attributes:
        variances: σ² = n · Var of the target's estimate, shape (K,) for K guesses.
        roughness: √n times the error on a scale where 1 is much (log-odds, standardised moments, or shares where the
            estimate is linear in the reports).
        method: the estimator.
        bias: how far from the target the estimate stays for ever, root mean square over guesses.
        tends_to: what the estimate tends to where that need not be the target itself; None where it is.
    """

    variances: FloatArray
    roughness: float
    method: str
    bias: float = 0.0
    tends_to: float | None = None


class Subject(ABC):
    """A model with guesses of its parameters and what is to be learned of it.

    Attributes:
        label: the target in words.
        value: the target at the guess, averaged over guesses; None where it is several numbers.
        is_share: whether it is a share.
        shares: how much each guess counts, shape (K,).
    """

    label: str
    value: float | None
    is_share: bool
    shares: FloatArray

    @abstractmethod
    def direct(self) -> Limit:
        """Of respondents who are asked directly."""

    @abstractmethod
    def limit(self, design: AnyDesign) -> Limit:
        """Of respondents who are asked through a channel."""

    @abstractmethod
    def families(self) -> dict[str, Builder]:
        """Every way to build a channel for this model at a level, by name."""

    @abstractmethod
    def unfit(self) -> dict[str, str]:
        """Channels that are not for this model at any level, and why."""

    def on_request(self) -> dict[str, Builder]:
        """More of them, which take long: built only where they are named."""
        return {}

    @property
    def usual_test(self) -> Literal["score", "wald"]:
        """Of the target, where none was asked for."""
        return "wald"

    @property
    def has_null(self) -> bool:
        """Whether errors are known where the target has another value (`at`)."""
        return False

    def at(self, value: float) -> Subject:
        """The same with guesses at which the target has another value, as under a null hypothesis."""
        raise NotImplementedError

    def yes_reports(self, design: AnyDesign | None) -> YesReports | None:
        """The report whose number tells all about a share; None where it takes more. A design of None is direct."""
        return None

    def largest_other_error(self, design: AnyDesign) -> float | None:
        """√n times the largest standard error of shares other than the target; None where there are none, or several
        numbers are the target."""
        return None

    @property
    @abstractmethod
    def direct_parameters(self) -> Mapping[str, Any]:
        """What describes the direct question."""

    def builder(self, name: str) -> Builder:
        """The family of a name; refused where it is none, with the reason."""
        builders = {**self.families(), **self.on_request()}
        if name in builders:
            return builders[name]
        reasons = self.unfit()
        if name in reasons:
            raise InputError(f"{name} does not fit this model: {reasons[name]}", remedy="Leave it out.")
        kinds = [entry.kind for entry in registry.entries()]
        if name in kinds:
            raise InputError(
                f"{name} is not built from a privacy level; allowed: {'; '.join(builders)}.",
                remedy=_BUILD,
            )
        raise InputError(
            f"there is no channel {shown(name)}; allowed: {'; '.join(builders)}.",
            remedy=did_you_mean(name, [*builders, *kinds], words("Leave {channels} out to compare all that fit.")),
        )

    def mean(self, values: FloatArray) -> float:
        """Averaged over the guesses."""
        return float(self.shares @ values)

    def root_mean_square(self, values: list[float]) -> float:
        """Averaged over the guesses as variances are."""
        return float(np.sqrt(self.shares @ np.square(values)))


def require_method(method: object, allowed: tuple[str, ...] = METHODS) -> None:
    """Refuse an unknown estimator."""
    one_of(method, allowed, "method")
