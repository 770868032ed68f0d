"""Goals of a plan: standard errors, widths of intervals, power; what each takes, and what cannot be reached."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

from askance._checks import number, shown
from askance._words import words
from askance.errors import InputError
from askance.planning.subject import Subject

# More respondents than floats can count one by one.
_TOO_MANY = 2.0**53
# Of intervals, from either end of (0, 1).
_LEAST_CONFIDENCE = 1e-9
# Rounding errors of the last digits do not cost a respondent, nor a step of the privacy level.
_DIGITS = 1e-12


@dataclass(frozen=True)
class Goal:
    """How precise the target is to be.

    Attributes:
        name: "standard_error", "interval_width" or "power"; "n" where the precision itself is asked for.
        wanted: how much of it.
        confidence: of intervals; 1 − confidence is the size of the test.
        effect: the difference the test is to detect; None when no test is planned.
    """

    name: str
    wanted: float
    confidence: float
    effect: float | None

    @cached_property
    def quantile(self) -> float:
        """z_{(1 + confidence)/2}."""
        from scipy.special import ndtri

        return float(ndtri((1 + self.confidence) / 2))

    @property
    def error(self) -> float:
        """The standard error that just meets the goal: s, w/2z, or |effect|/(z + z_power)."""
        from scipy.special import ndtri

        if self.name == "standard_error":
            return self.wanted
        if self.name == "interval_width":
            return self.wanted / (2 * self.quantile)
        return abs(self.effect or math.nan) / (self.quantile + float(ndtri(self.wanted)))

    def respondents(self, sigma: float, design: str) -> int:
        """⌈σ²/s²⌉."""
        value = (sigma / self.error) ** 2
        if not value < _TOO_MANY:
            raise InputError(
                f"{self.wanted:g} would take more than 9·10¹⁵ respondents through {design}",
                argument=self.name,
                remedy=f"The nearest that is possible: a million respondents give a standard error of "
                f"{sigma / 1e3:.3g}.",
            )
        return max(1, math.ceil(value * (1 - _DIGITS)))

    def is_met(self, sigma: float, n: int) -> bool:
        """Whether σ/√n is small enough."""
        return sigma * (1 - _DIGITS) <= self.error * math.sqrt(n)

    def power(self, error: float) -> float | None:
        """Of the two-sided Wald test: Φ(|effect|/s − z) + Φ(−|effect|/s − z); None without an effect."""
        from scipy.special import ndtr

        if self.effect is None:
            return None
        ratio = abs(self.effect) / error
        return float(ndtr(ratio - self.quantile) + ndtr(-ratio - self.quantile))

    def shown(self, error: float) -> str:
        """What a standard error means for this goal, in words.

        >>> Goal("interval_width", 0.1, 0.95, None).shown(0.05)
        'a 95 % interval 0.196 wide'
        """
        if self.name == "interval_width":
            return f"a {100 * self.confidence:g} % interval {2 * self.quantile * error:.3g} wide"
        power = self.power(error)
        if self.name == "power" and power is not None:
            return f"power {power:.3g}"
        return f"a standard error of {error:.3g}"

    def refuse_beyond_direct(self, sigma: float, n: int) -> None:
        """Refuse what even direct answers of n respondents do not reach; no privacy level would help."""
        if self.is_met(sigma, n):
            return
        needed = self.respondents(sigma, "direct answers")
        raise InputError(
            f"{self.wanted:g} is out of reach: with {n:,} respondents even direct answers have "
            f"{self.shown(sigma / math.sqrt(n))}; {needed:,} would do, and more of them at any privacy level",
            argument=self.name,
            remedy=f"Ask more than {needed:,} respondents, or give a goal that is easier to reach.",
        )


def read_goal(
    subject: Subject,
    n: int | None,
    standard_error: float | None,
    interval_width: float | None,
    power: float | None,
    effect: float | None,
    confidence: float,
) -> Goal:
    """The one goal that was given; "n" where there is none but respondents."""
    named = {"standard_error": standard_error, "interval_width": interval_width, "power": power}
    goals = {name: _as_number(value, name) for name, value in named.items() if value is not None}
    confidence = _as_number(confidence, "confidence")
    require_one_goal(goals)
    _check_respondents(n)
    allowed = f"{_LEAST_CONFIDENCE:g} to 1 − {_LEAST_CONFIDENCE:g}"
    least, most = _LEAST_CONFIDENCE, 1 - _LEAST_CONFIDENCE
    number(confidence, "confidence", least, most, allowed=allowed, remedy="0.95 is usual.")
    name, wanted = next(iter(goals.items()), ("n", float(n or 0)))
    if name == "power":
        _check_power(wanted, confidence)
    elif name != "n" and not (wanted > 0 and math.isfinite(wanted)):
        raise InputError(
            argument=name,
            got=f"{wanted:g}",
            allowed="above 0, finite: no number of respondents makes an estimate exact",
            remedy="Give the largest error you can live with.",
        )
    return Goal(name, wanted, confidence, _read_effect(effect, subject, name))


def require_one_goal(goals: Collection[str]) -> None:
    """Refuse several goals at once."""
    if len(goals) > 1:
        raise InputError(
            words(f"goals given: {', '.join(f'{{{name}}}' for name in goals)}; allowed: one of them."),
            remedy="Plan once for each and take the larger number of respondents.",
        )


def _as_number(value: object, name: str) -> float:
    """A float; texts, lists and the like are refused by name."""
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise InputError(argument=name, got=shown(value), allowed="a number", remedy="Write it as in 0.05.") from None


def _check_respondents(n: int | None) -> None:
    if n is None:
        return
    value = _as_number(n, "n")
    if not (value >= 1 and value == math.floor(value) and value < _TOO_MANY):
        raise InputError(argument="n", got=n, allowed="a whole number, at least 1", remedy="1000 is a usual survey.")


def _check_power(power: float, confidence: float) -> None:
    if not 1 - confidence < power < 1:
        raise InputError(
            argument="power",
            got=f"{power:g}",
            allowed=f"above {1 - confidence:.4g}, which a test of that level has without any effect, and below 1, "
            "which no number of respondents reaches",
            remedy="0.8 or 0.9 is usual.",
        )


def _read_effect(effect: float | None, subject: Subject, goal: str) -> float | None:
    """The difference to detect; None where no test is planned."""
    if subject.value is None:
        if goal == "power" or effect is not None:
            raise InputError(
                f"is about one number, but the target is: {subject.label}",
                argument="power",
                remedy=words("Give a target that is one number, as in {Share(output)}."),
            )
        return None
    if effect is None and not subject.is_share and (subject.value or goal == "power"):
        effect = subject.value
    if effect is None:
        if goal != "power":
            return None
        raise InputError(
            f"the goal is power for {subject.label}, but no effect is given.",
            remedy=words(
                "Say with {effect} which difference from a reference share is to be detected, or give another goal."
            ),
        )
    effect = _as_number(effect, "effect")
    if effect == 0 or not math.isfinite(effect):
        raise InputError(
            f"the effect on {subject.label} to be detected is {effect:g}: no number of respondents detects that.",
            remedy=words(
                "Give the smallest effect worth detecting ({effect=…}), or plan for a standard error instead."
            ),
        )
    if subject.is_share and abs(effect) >= (most := max(subject.value, 1 - subject.value)):
        raise InputError(
            f"is {effect:g}, but no share differs from {subject.label} = {subject.value:.4g} by that much",
            argument="effect",
            remedy=f"Give a difference below {most:.4g}.",
        )
    return effect
