"""Goals of a plan: standard errors, widths of intervals, power; what each takes, and what cannot be reached."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from askance._checks import number, shown
from askance._words import words
from askance.errors import InputError
from askance.planning.hypothesis import Hypothesis, read_hypothesis
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
        confidence: of intervals.
        test: that is planned; None when there is none.
    """

    name: str
    wanted: float
    confidence: float
    test: Hypothesis | None = None

    @cached_property
    def quantile(self) -> float:
        """z_{(1 + confidence)/2}."""
        from scipy.special import ndtri

        return float(ndtri((1 + self.confidence) / 2))

    def needed(self, sigma: float, null_sigma: float) -> float:
        """How many respondents just meet the goal: σ²/s², σ²(2z/w)², or ((z σ₀ + z_power σ)/effect)²; not rounded."""
        if self.name == "power":
            return math.inf if self.test is None else self.test.respondents(self.wanted, sigma, null_sigma)
        return (sigma / (self.wanted if self.name == "standard_error" else self.wanted / (2 * self.quantile))) ** 2

    def respondents(self, sigma: float, null_sigma: float, design: str) -> int:
        """`needed`, rounded up."""
        value = self.needed(sigma, null_sigma)
        if not value < _TOO_MANY:
            raise InputError(
                f"{self.wanted:g} would take more than 9·10¹⁵ respondents through {design}",
                argument=self.name,
                remedy=f"The nearest that is possible: a million respondents give a standard error of "
                f"{sigma / 1e3:.3g}.",
            )
        return max(1, math.ceil(value * (1 - _DIGITS)))

    def power(self, error: float, null_error: float) -> float | None:
        """Of the test, by the normal approximation; None without one."""
        return None if self.test is None else self.test.power(error, null_error)

    def shown(self, error: float, null_error: float) -> str:
        """What a standard error means for this goal, in words.

        >>> Goal("interval_width", 0.1, 0.95).shown(0.05, 0.05)
        'a 95 % interval 0.196 wide'
        """
        if self.name == "interval_width":
            return f"a {100 * self.confidence:g} % interval {2 * self.quantile * error:.3g} wide"
        power = self.power(error, null_error)
        if self.name == "power" and power is not None:
            return f"power {power:.3g}"
        return f"a standard error of {error:.3g}"

    def refuse_beyond_direct(self, sigma: float, null_sigma: float, n: int) -> None:
        """Refuse what even direct answers of n respondents do not reach; no privacy level would help."""
        if self.needed(sigma, null_sigma) * (1 - _DIGITS) <= n:
            return
        needed = self.respondents(sigma, null_sigma, "direct answers")
        raise InputError(
            f"{self.wanted:g} is out of reach: with {n:,} respondents even direct answers have "
            f"{self.shown(sigma / math.sqrt(n), null_sigma / math.sqrt(n))}; {needed:,} would do, and more of them "
            "at any privacy level",
            argument=self.name,
            remedy=f"Ask more than {needed:,} respondents, or give a goal that is easier to reach.",
        )


def read_goal(
    subject: Subject,
    n: int | None,
    standard_error: float | None,
    interval_width: float | None,
    power: float | None,
    confidence: float,
    **test: Any,
) -> Goal:
    """The one goal that was given ("n" where there is none but respondents), and the test, as `read_hypothesis`."""
    named = {"standard_error": standard_error, "interval_width": interval_width, "power": power}
    goals = {name: _as_number(value, name) for name, value in named.items() if value is not None}
    confidence = _as_number(confidence, "confidence")
    require_one_goal(goals)
    _check_respondents(n)
    allowed = f"{_LEAST_CONFIDENCE:g} to 1 − {_LEAST_CONFIDENCE:g}"
    least, most = _LEAST_CONFIDENCE, 1 - _LEAST_CONFIDENCE
    number(confidence, "confidence", least, most, allowed=allowed, remedy="0.95 is usual.")
    name, wanted = next(iter(goals.items()), ("n", float(n or 0)))
    if name not in ("n", "power") and not (wanted > 0 and math.isfinite(wanted)):
        raise InputError(
            argument=name,
            got=f"{wanted:g}",
            allowed="above 0, finite: no number of respondents makes an estimate exact",
            remedy="Give the largest error you can live with.",
        )
    tested = read_hypothesis(subject, name, confidence, **test)
    if name == "power" and tested is not None:
        _check_power(wanted, tested.level)
    return Goal(name, wanted, confidence, tested)


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


def _check_power(power: float, level: float) -> None:
    if not level < power < 1:
        raise InputError(
            argument="power",
            got=f"{power:g}",
            allowed=f"above {level:.4g}, which a test of that level has without any effect, and below 1, "
            "which no number of respondents reaches",
            remedy="0.8 or 0.9 is usual.",
        )
