"""Plans for any model and channel: error, width or power ↔ respondents ↔ privacy level."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from askance._arrays import ArrayLike
from askance._checks import Number, as_positive_level, shown
from askance._threads import one_thread
from askance._words import Argument, Either, words
from askance.channels.finite import FiniteChannel
from askance.channels.statistics.base import StatisticsChannel
from askance.channels.statistics.moment_release import MomentRelease
from askance.design.optimum import OptimalChannel, Prior
from askance.design.optimum.prior import HasEstimate
from askance.errors import AskanceError, InputError
from askance.models.enumerated import Enumerated
from askance.models.linear import LinearModel
from askance.models.random_field import RandomField
from askance.models.softmax import Covariates, Softmax
from askance.planning.answers import OPTIMAL, AnswersSubject
from askance.planning.field import FieldSubject
from askance.planning.goals import Goal, read_goal
from askance.planning.guesses import read_guesses
from askance.planning.levels import smallest_level
from askance.planning.regression import RegressionSubject, read_linear_guesses
from askance.planning.result import OtherShares, Plan, PlannedDesign, is_tuned, rank
from askance.planning.subject import AnyDesign, Builder, Limit, PlannedMethod, Subject
from askance.planning.targets import Share

# Where predicted log-odds are off by more than this (root mean square), the normal approximation behind all figures is
# rough. For direct questions it is the rule of ten cases of the rarer answer per parameter.
_ROUGH = 1 / 3
# Stands for the logarithm of an error without bounds.
_NOT_BUILT = 700.0


@one_thread
def plan(
    model: Enumerated | Softmax | RandomField | LinearModel,
    channels: Iterable[str | AnyDesign] | str | AnyDesign | None = None,
    theta: ArrayLike | None = None,
    x: Covariates | None = None,
    *,
    prior: ArrayLike | Prior | None = None,
    fit: HasEstimate | None = None,
    privacy_level: Number | None = None,
    target: str | Share | Mapping[str, Any] | None = None,
    n: int | None = None,
    standard_error: float | None = None,
    interval_width: float | None = None,
    power: float | None = None,
    effect: float | None = None,
    method: PlannedMethod = "best",
    confidence: float = 0.95,
    weights: ArrayLike | None = None,
) -> Plan:
    """What n respondents at a privacy level are worth, through every channel that fits the model; or n, or the level.

    Of privacy level, respondents and precision give two, and the third is worked out. With σ² = n · Var of the target's
    estimate (the limit, at θ), z = z_{(1 + confidence)/2}:

    - level and n: s = σ/√n, width 2 z s, power = Φ(|effect|/s − z) + Φ(−|effect|/s − z) of the two-sided Wald test;
    - level and a goal: n = ⌈σ²/s²⌉, where s is the goal itself, width/2z, or |effect|/(z + z_power);
    - n and a goal: the smallest level at which each channel has σ²(level) ≤ n s², to 10⁻⁴ and up to 20.

    Errors are predicted at `theta`; with `prior` or `fit` variances are averaged over what may be true, and the worst
    is shown beside them. They are about what an estimate tends to: where that is not the target (regressions whose
    devices shrink far-out values) `PlannedDesign.bias` says by how much.

    Args:
        model: what is to be learned; `Softmax` and `LinearModel` (linear regression) need x.
        channels: channels, or names of those that are built at the level, such as "randomized-response", "optimal" or
            "coordinate-release, tuned" (for fields "cliques", "records", and "optimal", which takes long; for
            regressions encodings such as "quadratic"); default: all that fit, but for what takes long.
        theta: a guess, shape (d,). Of a linear regression: intercept, coefficients, and the deviation of what they
            leave unexplained, shape (p + 2,).
        x: a sample of the covariates, shape (rows, p): who will be asked.
        prior: guesses that may be true, shape (K, d), or a `Prior`.
        fit: of a pilot; its respondents are not counted.
        privacy_level: at which named channels are built.
        target: the name of a parameter, `Share(output)`, "shares" (root mean square over all outputs); of a field a
            cell, by its name or as {variable: label, …}, or "tables" (root mean square over the cells of its cliques,
            the default); default otherwise: root mean square over all parameters, √(tr Σ/d).
        n: respondents.
        standard_error: a goal.
        interval_width: a goal, from end to end.
        power: a goal: the probability of detecting the effect.
        effect: the difference to detect (default: a parameter's guess, against 0).
        method: "best" (by the likelihood where the library has it, else by moments), "one-step", "marginal", "moments".
        confidence: of intervals; the test has size 1 − confidence.
        weights: how much each row of x counts.

    Raises:
        InputError: what is asked for is impossible; with the nearest that is not.
        NotIdentifiedError: no number of respondents would do.

    >>> model = Enumerated([[0, 0, 1, 1], [0, 1, 0, 1]])
    >>> found = plan(model, ["optimal", "coordinate-release"], [5, -1], privacy_level=1, standard_error=0.1)
    >>> [(row.design, f"{row.n:.4g}") for row in found.designs]
    [('optimal', '1.095e+06'), ('coordinate-release', '2.101e+06')]
    >>> found = plan(model, "optimal", [5, -1], n=500_000, standard_error=0.1)
    >>> round(found.designs[0].privacy_level, 4)
    1.423
    """
    subject = _subject(model, theta, x, prior, fit, target, method, weights)
    goal = read_goal(subject, n, standard_error, interval_width, power, effect, confidence)
    level = None if privacy_level is None else as_positive_level(privacy_level)
    return solve(Request(subject, goal, method, n, level), read_channels(channels))


def _subject(
    model: object,
    theta: ArrayLike | None,
    x: Covariates | None,
    prior: ArrayLike | Prior | None,
    fit: HasEstimate | None,
    target: str | Share | Mapping[str, Any] | None,
    method: PlannedMethod,
    weights: ArrayLike | None,
) -> Subject:
    if isinstance(model, (Enumerated, Softmax)):
        if isinstance(target, Mapping):
            raise InputError(
                argument="target", got=shown(target), allowed="a name or Share(output)", remedy="Give a name."
            )
        guesses = read_guesses(model.dimension, theta, prior, fit, model)
        return AnswersSubject(model, guesses, x, weights, target, method)
    if isinstance(model, RandomField):
        if x is not None or weights is not None:
            raise InputError("x or weights are given for a field.", remedy="Plan it without covariates.")
        return FieldSubject(model, read_guesses(model.dimension, theta, prior, fit, model), target, method)
    if isinstance(model, LinearModel):
        return RegressionSubject(model, read_linear_guesses(model, theta, prior, fit), x, weights, target, method)
    raise InputError(
        f"model is {shown(model)}; allowed: Enumerated, Softmax, RandomField, LinearModel.",
        remedy="Give the model first: plan(model, …).",
    )


def read_channels(channels: object) -> list[str | AnyDesign] | None:
    """Channels and names of them; a single one becomes a list, None stays.

    >>> read_channels("optimal")
    ['optimal']
    """
    if channels is None:
        return None
    designs = (str, FiniteChannel, StatisticsChannel, MomentRelease)
    listed = [channels] if isinstance(channels, designs) or not isinstance(channels, Iterable) else list(channels)
    if not listed:
        raise InputError("is empty", argument="channels", remedy="Leave it out to compare all that fit the model.")
    known: list[str | AnyDesign] = []
    for channel in listed:
        if not isinstance(channel, designs):
            is_number = isinstance(channel, (int, float, np.generic))
            raise InputError(
                f"a channel is {shown(channel)}; allowed: channels and names.",
                remedy="A guess is given as theta=[…]." if is_number else 'Give its name, such as "optimal".',
            )
        known.append(channel)
    return known


@dataclass(frozen=True)
class Request:
    """What is asked of every channel alike.

    Attributes:
        subject: model, guesses and target.
        goal: how precise.
        method: the estimator that was asked for.
        n: respondents; None where they are sought.
        level: at which named channels are built; None where it is sought, or all channels are given.
    """

    subject: Subject
    goal: Goal
    method: str
    n: int | None
    level: Fraction | None

    @property
    def unknown(self) -> str:
        """What is solved for."""
        if self.goal.name == "n":
            return "precision"
        return "n" if self.n is None else "privacy_level"

    def row(self, name: str, design: AnyDesign | None, limit: Limit, direct_variance: float) -> PlannedDesign:
        """Turn σ² into respondents, or respondents into precision."""
        variance = self.subject.mean(limit.variances)
        sigma = math.sqrt(variance)
        n = self.goal.respondents(sigma, name) if self.n is None else self.n
        error = sigma / math.sqrt(n)
        parameters, level = self._described(design)
        return PlannedDesign(
            design=name,
            parameters=parameters,
            privacy_level=level,
            unit_error=sigma,
            n=int(n),
            standard_error=error,
            interval_width=2 * self.goal.quantile * error,
            power=self.goal.power(error),
            price=variance / direct_variance,
            rough=limit.roughness / math.sqrt(n) > _ROUGH,
            method=limit.method,
            worst_error=math.sqrt(float(limit.variances.max()) / n),
            bias=limit.bias,
            tends_to=limit.tends_to,
            channel=design,
        )

    def _described(self, design: AnyDesign | None) -> tuple[dict[str, Any], float]:
        if design is None:
            return dict(self.subject.direct_parameters), math.inf
        channel = design.channel if isinstance(design, MomentRelease) else design
        return channel.parameters(), channel.privacy_level

    def at_level(self, name: str, build: Builder, direct: float) -> PlannedDesign:
        """The channel of a family at the level, or at the smallest that reaches the goal."""
        if self.unknown != "privacy_level":
            assert self.level is not None
            design = build(self.level)
            return self.row(name, design, self.subject.limit(design), direct)
        assert self.n is not None
        allowed, known = self.n * self.goal.error**2, dict[Fraction, tuple[AnyDesign, Limit]]()
        told = dict[Fraction, list[warnings.WarningMessage]]()  # of the channels on the way nobody hears

        def excess(level: Fraction) -> float:
            try:
                with warnings.catch_warnings(record=True) as told[level]:
                    warnings.simplefilter("always")
                    design = build(level)
                    known[level] = design, self.subject.limit(design)
            except AskanceError:
                if not known:
                    raise
                return _NOT_BUILT  # some channels cannot be built at large levels
            variance = self.subject.mean(known[level][1].variances)
            return math.log(variance / allowed) - 1e-11  # the last digits cost no step of the level

        level = smallest_level(excess)
        if level is None or level not in known:
            largest = max(known)
            error = math.sqrt(self.subject.mean(known[largest][1].variances) / self.n)
            raise OutOfReachError(
                f"even at level {float(largest):g} {self.n:,} respondents have {self.goal.shown(error)}.",
                remedy="Take another channel, or more respondents.",
            )
        for warning in told[level]:
            warnings.warn(warning.message, warning.category, stacklevel=2)
        return self.row(name, *known[level], direct)


class OutOfReachError(InputError):
    """No privacy level takes a channel to the goal."""


def solve(request: Request, channels: list[str | AnyDesign] | None) -> Plan:
    """Every channel's row beside that of the direct question."""
    _require_one_unknown(request, channels)
    subject, goal = request.subject, request.goal
    limit = subject.direct()
    variance = subject.mean(limit.variances)
    if not variance > 0:
        raise InputError(
            f"at this guess direct answers leave no error of the {subject.label}: there is nothing to compare with.",
            remedy="Guess that something varies: of a regression, a residual deviation above 0.",
        )
    if request.unknown == "privacy_level":
        assert request.n is not None
        goal.refuse_beyond_direct(math.sqrt(variance), request.n)
    direct = request.row("direct", None, limit, variance)
    skipped: dict[str, str] = {}
    designs = list(_rows(request, channels, variance, skipped))
    if not designs:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in skipped.items())
        raise OutOfReachError(
            words("no channel reaches {0} {1}: {2}", Argument(goal.name), f"{goal.wanted:g}", reasons),
            remedy="Take more respondents, a larger privacy level or other channels.",
        )
    if channels is None:
        designs.sort(key=lambda row: rank(row, request.unknown))
    return Plan(
        target=subject.label,
        value=subject.value,
        unknown=request.unknown,
        goal=goal.name,
        wanted=goal.wanted,
        method=request.method,
        confidence=goal.confidence,
        effect=goal.effect,
        guesses=len(subject.shares),
        direct=direct,
        designs=tuple(designs),
        skipped=skipped,
        others=_others(request, designs, subject.families() if channels is None else channels),
    )


def _rows(
    request: Request, channels: list[str | AnyDesign] | None, direct: float, skipped: dict[str, str]
) -> Iterator[PlannedDesign]:
    """One row per channel; what does not fit is skipped unless it was asked for, what is out of reach always."""
    subject = request.subject
    for channel in subject.families() if channels is None else channels:
        if not isinstance(channel, str):
            yield request.row(_name_of(channel), channel, subject.limit(channel), direct)
            continue
        build = subject.builder(channel)
        try:
            yield request.at_level(channel, build, direct)
        except OutOfReachError as error:
            skipped[channel] = error.message
        except AskanceError as error:
            if channels is not None:
                raise
            skipped[channel] = error.message
    if channels is None:
        skipped.update(subject.unfit())


def _name_of(design: AnyDesign) -> str:
    """What a channel that was given is called in the table."""
    if isinstance(design, MomentRelease):
        return design.encoding
    return OPTIMAL if isinstance(design, OptimalChannel) else design.kind


def _others(request: Request, designs: list[PlannedDesign], named: Iterable[object]) -> OtherShares | None:
    """What the best of the designs that were made for one number tells about the rest; None where there are none."""
    names = {name for name in named if isinstance(name, str)}
    made = [row for row in designs if row.design in names and is_tuned(row.design) and row.channel is not None]
    if not made or request.subject.value is None:
        return None
    best = min(made, key=lambda row: rank(row, request.unknown))
    assert best.channel is not None
    error = request.subject.largest_other_error(best.channel)
    return None if error is None else OtherShares(best.design, error / math.sqrt(best.n))


def _require_one_unknown(request: Request, channels: list[str | AnyDesign] | None) -> None:
    """Of privacy level, respondents and precision two are given; channels that are given have their own level."""
    built = [channel for channel in channels or [] if not isinstance(channel, str)]
    named = channels is None or len(built) < len(channels)
    if request.goal.name == "n" and request.n is None:
        raise InputError(
            "neither respondents nor a goal are given.",
            remedy=words("Give {n}, or one of {standard_error}, {interval_width} and {power}."),
        )
    if request.unknown == "privacy_level" and (request.level is not None or built):
        own = "".join(f"the channel {shown(channel)}, which has its level," for channel in built[:1])
        what = own if request.level is None else Argument("privacy_level")
        raise InputError(
            words("{0}, {n} and {1} are all given: nothing is left to work out.", what, Argument(request.goal.name)),
            remedy=words("Leave one of them out{0}.", Either("; for the smallest level give channels by name", "")),
        )
    if request.unknown != "privacy_level" and request.level is None and named:
        raise InputError(
            words("is not given, and neither are both {n} and a goal, from which it would follow"),
            argument="privacy_level",
            remedy=words(
                "Give {privacy_level}, such as 1; or {n} and a goal{0}.", Either("; or channels that have a level", "")
            ),
        )
    if request.level is not None and not named:
        raise InputError(
            f"is {shown(request.level)}, but all channels are given, and have their own",
            argument="privacy_level",
            remedy="Leave it out, or give names of channels.",
        )
