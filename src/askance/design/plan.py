"""How many respondents a survey needs, and what a number of respondents buys, design by design."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from askance._arrays import ArrayLike
from askance.categories import Label
from askance.channels.finite import FiniteChannel
from askance.design.asked import Asked, Share, ask
from askance.design.conditional_covariances import conditional_asymptotics
from askance.design.covariances import Asymptotics, Weighting, asymptotics
from askance.errors import InputError, NotIdentifiedError
from askance.models.enumerated import Enumerated
from askance.models.softmax import Covariates, Softmax

#: The estimator that is planned for: "marginal" has the limit of "one-step".
PlannedMethod: TypeAlias = Literal["one-step", "moments", "marginal"]

# Where predicted log-odds are off by more than this (root mean square), the normal approximation behind all figures is
# rough. For direct questions it is the rule of ten cases of the rarer answer per parameter.
_ROUGH = 1 / 3
# More respondents than floats can count one by one.
_TOO_MANY = 2.0**53


@dataclass(frozen=True)
class PlannedDesign:
    """What one design needs or buys.

    Attributes:
        design: its name in the registry.
        parameters: what builds it there.
        privacy_level: the smallest valid level; infinite when there is no guarantee.
        unit_error: σ, the standard error times √n.
        n: respondents: needed for the goal, or as given.
        standard_error: σ/√n.
        interval_width: 2 z σ/√n.
        power: of the two-sided Wald test against `Plan.effect`; None without an effect.
        price: σ² over that of the direct question: how many respondents do the work of one who is asked directly.
        rough: whether n is so small that the normal approximation cannot be trusted.
    """

    design: str
    parameters: dict[str, Any]
    privacy_level: float
    unit_error: float
    n: int
    standard_error: float
    interval_width: float
    power: float | None
    price: float
    rough: bool

    def to_json(self) -> dict[str, Any]:
        """Plain values; an infinite level is None."""
        level = None if math.isinf(self.privacy_level) else self.privacy_level
        return {**self.__dict__, "privacy_level": level}


@dataclass(frozen=True)
class Plan:
    """A plan: the direct question as the yardstick, and every design beside it.

    Attributes:
        target: what is to be learned, in words.
        value: its value at the guess of θ.
        goal: what was asked for: "n", "standard_error", "interval_width" or "power".
        wanted: how much of it.
        method: the estimator.
        confidence: of intervals; 1 − confidence is the level of the test.
        effect: the difference the test is to detect; None when no test is planned.
        direct: the direct question.
        designs: one entry per channel, in the order given.
    """

    target: str
    value: float
    goal: str
    wanted: float
    method: str
    confidence: float
    effect: float | None
    direct: PlannedDesign
    designs: tuple[PlannedDesign, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        rows = [design.to_json() for design in self.designs]
        return {**self.__dict__, "direct": self.direct.to_json(), "designs": rows}


def plan_survey(
    model: Softmax | Enumerated,
    channels: Sequence[FiniteChannel],
    theta: ArrayLike,
    x: Covariates | None = None,
    *,
    target: str | Share,
    method: PlannedMethod = "one-step",
    confidence: float = 0.95,
    power: float = 0.8,
    n: int | None = None,
    standard_error: float | None = None,
    interval_width: float | None = None,
    effect: float | None = None,
    weights: ArrayLike | None = None,
    weighting: Weighting = "best",
) -> Plan:
    """Respondents needed for a goal, or what n respondents buy, through every channel and by the direct question.

    With σ² = n · Var of the target's estimate (the limit, at θ), z = z_{(1 + confidence)/2}:

    - standard error s: n = ⌈σ²/s²⌉;  interval width w: n = ⌈(2 z σ/w)²⌉;
    - power: n = ⌈((z + z_power)/effect)² σ²⌉ for the two-sided Wald test;
    - n given: s = σ/√n, w = 2 z s, power = Φ(|effect|/s − z) + Φ(−|effect|/s − z).

    Give at most one of `n`, `standard_error` and `interval_width`; with none of them the goal is `power`.

    Args:
        model: with covariates (`Softmax`, then x is needed) or without (`Enumerated`).
        channels: the designs to compare, over the outputs of the model.
        theta: the guess, shape (d,).
        x: a sample of the covariates, shape (rows, p): who will be asked.
        target: the name of a coefficient, or `Share(output)`: its share among those whom x is a sample of.
        method: "one-step" (and "marginal", of the same limit) or "moments".
        confidence: of intervals; the test has level 1 − confidence.
        power: probability of detecting the effect.
        n: respondents.
        standard_error: the goal, above 0.
        interval_width: the goal, from end to end, above 0.
        effect: the difference to detect: of the coefficient from 0 (default: its guess), of a share from some
            reference value.
        weights: how much each row of x counts.
        weighting: which β "moments" uses where several are unbiased.

    Raises:
        InputError: the goal is impossible (an effect of 0, for example).
        NotIdentifiedError: no number of respondents would do: collinear x, or a channel without information.

    >>> from askance import Enumerated, Warner
    >>> yes_no = Enumerated.saturated(["no", "yes"])
    >>> plan = plan_survey(yes_no, [Warner("3/4")], [-1.0986123], target=Share("yes"), standard_error=0.02)
    >>> plan.direct.n, plan.designs[0].n, round(plan.designs[0].price, 6)
    (469, 2344, 5.0)
    """
    asked = ask(model, theta, x, weights, target)
    goal, wanted = _goal(n, standard_error, interval_width, power)
    _check_test(confidence, power)
    effect = _read_effect(effect, asked, goal)
    if not channels:
        raise InputError("channels is empty.", remedy="Give at least one design to compare with the direct question.")
    limits = [_limit(model, channel, asked, weighting) for channel in channels]
    question = _Question(asked, confidence, goal, wanted, effect, asked.variance(limits[0].full))
    outputs = {"outputs": _labels(model.outputs.labels)}
    direct = question.answer("direct", outputs, math.inf, limits[0].full)
    designs = tuple(
        question.answer(channel.kind, channel.parameters(), channel.privacy_level, _covariance(limit, channel, method))
        for channel, limit in zip(channels, limits, strict=True)
    )
    return Plan(asked.label, asked.value, goal, wanted, method, confidence, effect, direct, designs)


@dataclass(frozen=True)
class _Question:
    """What is asked of every design alike."""

    asked: Asked
    confidence: float
    goal: str
    wanted: float
    effect: float | None
    direct_variance: float

    def answer(self, design: str, parameters: dict[str, Any], level: float, covariance: Any) -> PlannedDesign:
        """Turn Σ into respondents, or respondents into precision."""
        from scipy.special import ndtr, ndtri

        variance = self.asked.variance(covariance)
        sigma, z = math.sqrt(variance), float(ndtri((1 + self.confidence) / 2))
        reach = {
            "n": lambda: self.wanted,
            "standard_error": lambda: (sigma / self.wanted) ** 2,
            "interval_width": lambda: (2 * z * sigma / self.wanted) ** 2,
            "power": lambda: ((z + float(ndtri(self.wanted))) / (self.effect or math.nan) * sigma) ** 2,
        }
        n = _whole(reach[self.goal](), self.goal, self.wanted, design, sigma)
        error = sigma / math.sqrt(n)
        power = None
        if self.effect is not None:
            ratio = abs(self.effect) / error
            power = float(ndtr(ratio - z) + ndtr(-ratio - z))
        return PlannedDesign(
            design=design,
            parameters=parameters,
            privacy_level=level,
            unit_error=sigma,
            n=n,
            standard_error=error,
            interval_width=2 * z * error,
            power=power,
            price=variance / self.direct_variance,
            rough=self.asked.log_odds_error(covariance) / math.sqrt(n) > _ROUGH,
        )


def _limit(model: Softmax | Enumerated, channel: FiniteChannel, asked: Asked, weighting: Weighting) -> Asymptotics:
    if isinstance(model, Softmax):
        return conditional_asymptotics(model, channel, asked.theta, asked.x, asked.shares, weighting=weighting)
    return asymptotics(model, channel, asked.theta, weighting=weighting)


def _covariance(limit: Asymptotics, channel: FiniteChannel, method: str) -> Any:
    if method in ("one-step", "marginal"):
        return limit.marginal
    if method != "moments":
        raise InputError(
            f"method is {method!r}; allowed: one-step, moments, marginal.", remedy="The default is one-step."
        )
    if limit.moments is None:
        raise NotIdentifiedError(
            f"through {channel.kind} no unbiased β exists for this model, so moments reach the goal with no number of "
            "respondents.",
            remedy="Plan with method='one-step', or with another design.",
        )
    return limit.moments


def _goal(n: int | None, standard_error: float | None, interval_width: float | None, power: float) -> tuple[str, float]:
    given = {
        name: float(value)
        for name, value in (("n", n), ("standard_error", standard_error), ("interval_width", interval_width))
        if value is not None
    }
    if len(given) > 1:
        raise InputError(
            f"goals given: {', '.join(given)}; allowed: one of them.",
            remedy="Plan once for each and take the larger n.",
        )
    if not given:
        return "power", power
    ((name, value),) = given.items()
    if name == "n" and not (value >= 1 and value == math.floor(value) and value < _TOO_MANY):
        raise InputError(f"n is {n}; allowed: a whole number, at least 1.", remedy="1000 is a usual survey.")
    if not (value > 0 and math.isfinite(value)):
        raise InputError(
            f"{name} is {value:g}; allowed: above 0, finite: no number of respondents makes an estimate exact.",
            remedy="Give the largest error you can live with.",
        )
    return name, value


def _check_test(confidence: float, power: float) -> None:
    if not 0 < confidence < 1:
        raise InputError(f"confidence is {confidence:g}; allowed: above 0, below 1.", remedy="0.95 is usual.")
    if not 1 - confidence < power < 1:
        raise InputError(
            f"power is {power:g}; allowed: above {1 - confidence:.4g}, which a test of that level has without any "
            "effect, and below 1, which no number of respondents reaches.",
            remedy="0.8 or 0.9 is usual.",
        )


def _read_effect(effect: float | None, asked: Asked, goal: str) -> float | None:
    """The difference to detect; None where no test is planned."""
    if effect is None and not asked.is_share and (asked.value or goal == "power"):
        effect = asked.value
    if effect is None:
        if goal != "power":
            return None
        raise InputError(
            f"the goal is power for {asked.label}, but no effect is given.",
            remedy="Say which difference from a reference share is to be detected, or give another goal.",
        )
    effect = float(effect)
    if effect == 0 or not math.isfinite(effect):
        raise InputError(
            f"the effect on {asked.label} to be detected is {effect:g}: no number of respondents detects that.",
            remedy="Give the smallest effect worth detecting (effect=…), or plan for a standard error instead.",
        )
    if asked.is_share and abs(effect) >= (most := max(asked.value, 1 - asked.value)):
        raise InputError(
            f"effect is {effect:g}, but no share differs from {asked.label} = {asked.value:.4g} by that much.",
            remedy=f"Give a difference below {most:.4g}.",
        )
    return effect


def _whole(value: float, goal: str, wanted: float, design: str, sigma: float) -> int:
    """The next whole number of respondents; rounding errors of the last digits do not cost a respondent."""
    if not value < _TOO_MANY:
        raise InputError(
            f"{goal} {wanted:g} would take more than 9·10¹⁵ respondents through {design}.",
            remedy=f"The nearest that is possible: a million respondents give a standard error of {sigma / 1e3:.3g}.",
        )
    return max(1, math.ceil(value * (1 - 1e-12)))


def _labels(labels: Sequence[Label]) -> int | list[Label]:
    return len(labels) if isinstance(labels, range) else list(labels)
