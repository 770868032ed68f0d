"""What a test is to decide: a null value, the guess, which side counts, at which level, and by which rule."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Literal, TypeAlias

from askance._checks import as_count, as_float, as_fraction, one_of
from askance._words import words
from askance.errors import InputError
from askance.planning.subject import Subject

Alternative: TypeAlias = Literal["two-sided", "greater", "less"]
#: Rules: "score" (errors under the null), "wald" (errors as estimated), "exact" (the binomial law of yes reports).
Rule: TypeAlias = Literal["score", "wald", "exact"]
ALTERNATIVES: tuple[Alternative, ...] = ("two-sided", "greater", "less")
RULES: tuple[Rule, ...] = ("score", "wald", "exact")
# Values that differ by this part of themselves are the same: the last digits of a guess are not worth detecting.
_DIGITS = 1e-12


@dataclass(frozen=True)
class Hypothesis:
    """A test of "the target is `null`", planned for a truth of `value`.

    Attributes:
        null: the target under the null hypothesis.
        value: the target at the guess.
        alternative: "two-sided", "greater" or "less" than the null.
        level: α, nominal, of this one test.
        rule: when it rejects.
        hypotheses: how many tests share a level, of which this one has its part.

    >>> test = Hypothesis(0.0, 0.2, "greater", 0.01, "score")
    >>> round(test.power(0.0486111, 0.0395285), 5)  # errors at the guess and under the null
    0.98688
    """

    null: float
    value: float
    alternative: Alternative
    level: float
    rule: Rule
    hypotheses: int = 1

    @property
    def effect(self) -> float:
        """How far the guess lies from the null."""
        return self.value - self.null

    @property
    def side_level(self) -> float:
        """α of each side on which it rejects."""
        return self.level / 2 if self.alternative == "two-sided" else self.level

    @cached_property
    def quantile(self) -> float:
        """z of a side."""
        from scipy.special import ndtri

        return -float(ndtri(self.side_level))

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "value"}

    def power(self, error: float, null_error: float) -> float:
        """Φ((|d| − z s₀)/s) + Φ((−|d| − z s₀)/s), of which one-sided tests have the first; d is the effect.

        The estimate has error s at the guess, and is compared with z s₀: the error under the null for score tests, s
        itself for Wald tests.
        """
        from scipy.special import ndtr

        distance, border = abs(self.effect), self.quantile * null_error
        first = float(ndtr((distance - border) / error))
        return first + float(ndtr((-distance - border) / error)) if self.alternative == "two-sided" else first

    def respondents(self, power: float, sigma: float, null_sigma: float) -> float:
        """((z σ₀ + z_power σ)/d)²: where the formula of the nearer side has that power; not rounded."""
        from scipy.special import ndtri

        return (max(0.0, self.quantile * null_sigma + float(ndtri(power)) * sigma) / self.effect) ** 2


def read_hypothesis(
    subject: Subject,
    goal: str,
    confidence: float,
    *,
    null: float | None,
    effect: float | None,
    alternative: str,
    rule: str | None,
    hypotheses: int,
) -> Hypothesis | None:
    """The test that is planned; None where there is none.

    Args:
        subject: with the target at the guess.
        goal: its name.
        confidence: 1 − α of all tests together.
        null: the value that is tested; default: as `effect` says, or 0 for what is no share.
        effect: the distance of the guess from the null, instead of it.
        alternative: which side counts.
        rule: when it rejects; default: as `Subject.usual_test` says.
        hypotheses: how many tests share α.
    """
    side: Alternative = one_of(alternative, ALTERNATIVES, "alternative")
    tests = as_count(hypotheses, "hypotheses", minimum=1, maximum=10**6)
    level = float((1 - as_fraction(confidence, "confidence")) / tests)
    if subject.value is None:
        if goal == "power" or effect is not None or null is not None:
            raise InputError(
                f"is about one number, but the target is: {subject.label}",
                argument="power",
                remedy=words("Give a target that is one number, as in {Share(output)}."),
            )
        return None
    if null is None and effect is None and (subject.is_share or not (subject.value or goal == "power")):
        if goal != "power":
            return None
        raise InputError(
            f"the goal is power for {subject.label}, but no effect is given, nor a null value.",
            remedy=words(
                "Say with {effect} which difference is to be detected, or with {null} from what; or give another goal."
            ),
        )
    tested = Hypothesis(_null(subject, null, effect, side), subject.value, side, level, _rule(subject, rule), tests)
    _check_direction(tested, subject)
    return tested


def _rule(subject: Subject, rule: str | None) -> Rule:
    if rule is None:
        return subject.usual_test
    checked = one_of(rule, RULES, "test")
    if checked == "wald" or subject.has_null:
        return checked
    raise InputError(
        f"is {checked}, but errors under the null are not known for the {subject.label}",
        argument="test",
        remedy=words("Plan with {test=wald}."),
    )


def _null(subject: Subject, null: float | None, effect: float | None, side: Alternative) -> float:
    """The null value as it was given, or as far from the guess as the effect is large."""
    if null is not None and effect is not None:
        raise InputError(
            words("{null} and {effect} are both given; allowed: one of them."),
            remedy="The effect is the distance of the guess from the null value.",
        )
    if effect is not None:
        return _null_at(subject, as_float(effect, "effect"), side)
    value = 0.0 if null is None else as_float(null, "null")
    if subject.is_share and not 0 <= value <= 1:
        raise InputError(argument="null", got=f"{value:g}", allowed="a share, 0 to 1", remedy="0.1 is ten per cent.")
    return value


def _null_at(subject: Subject, effect: float, side: Alternative) -> float:
    """Towards 0 from a coefficient. Else below the guess for "greater", above it for "less", or as its sign says."""
    assert subject.value is not None
    if effect == 0 or not math.isfinite(effect):
        raise _nothing_to_detect(subject, effect)
    sign = math.copysign(1.0, effect)
    signs = {"greater": [1.0], "less": [-1.0], "two-sided": [sign, -sign]}[side]
    if subject.value and not subject.is_share:
        signs = [math.copysign(1.0, subject.value)]
    nulls = [subject.value - s * abs(effect) for s in signs]
    allowed = [null for null in nulls if not subject.is_share or 0 < null < 1]
    if not allowed:
        most = {"greater": subject.value, "less": 1 - subject.value}.get(side, max(subject.value, 1 - subject.value))
        raise InputError(
            f"is {effect:g}, but no share differs from {subject.label} = {subject.value:.4g} by that much",
            argument="effect",
            remedy=f"Give a difference below {most:.4g}.",
        )
    return allowed[0]


def _nothing_to_detect(subject: Subject, effect: float) -> InputError:
    return InputError(
        f"the effect on {subject.label} to be detected is {effect:g}: no number of respondents detects that.",
        remedy=words("Give the smallest effect worth detecting ({effect=…}), or plan for a standard error instead."),
    )


def _check_direction(tested: Hypothesis, subject: Subject) -> None:
    """Refuse a guess that is the null itself, or lies on the side that does not count."""
    if not _DIGITS * max(abs(tested.value), abs(tested.null)) < abs(tested.effect) < math.inf:
        raise _nothing_to_detect(subject, 0.0)
    if tested.alternative != "two-sided" and (tested.effect > 0) != (tested.alternative == "greater"):
        raise InputError(
            f"is {tested.alternative}, but the guessed {subject.label}, {tested.value:.4g}, is not "
            f"{tested.alternative} than the null value {tested.null:.4g}",
            argument="alternative",
            remedy=words("Plan for the other side, for {alternative=two-sided}, or with another guess."),
        )
