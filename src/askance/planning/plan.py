"""Plans for any model and channel: error, width or power ↔ respondents ↔ privacy level."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
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
from askance.planning.comparison import ComparedSubject, OtherArm, compared
from askance.planning.field import FieldSubject
from askance.planning.goals import read_goal
from askance.planning.guessed_design import GuessedDesign
from askance.planning.guesses import read_guesses
from askance.planning.hypothesis import Alternative, Rule
from askance.planning.regression import RegressionSubject, read_linear_guesses
from askance.planning.request import OutOfReachError, Request
from askance.planning.result import OtherShares, Plan, PlannedDesign, is_tuned, rank
from askance.planning.subject import AnyDesign, PlannedMethod, Subject
from askance.planning.targets import Share


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
    null: float | None = None,
    alternative: Alternative = "two-sided",
    test: Rule | None = None,
    hypotheses: int = 1,
    against: OtherArm | Number | None = None,
    method: PlannedMethod = "best",
    confidence: float = 0.95,
    weights: ArrayLike | None = None,
) -> Plan:
    """What n respondents at a privacy level are worth, through every channel that fits the model; or n, or the level.

    Of privacy level, respondents and precision give two, and the third is worked out. With σ² = n · Var of the target's
    estimate (the limit, at θ), σ₀² the same where the target has its null value, z = z_{(1 + confidence)/2}:

    - level and n: s = σ/√n, width 2 z s, power = Φ((|d| − z s₀)/s) + Φ((−|d| − z s₀)/s) for d = target − null;
    - level and a goal: n = ⌈σ²/s²⌉, where s is the goal itself or width/2z; ⌈(z σ₀ + z_power σ)²/d²⌉ for power;
    - n and a goal: the smallest level at which n is enough for each channel, to 10⁻⁴ and up to 20.

    A test compares the estimate with its error under the null, s₀ ("score", the default for shares and differences of
    shares; good for likelihood-ratio tests of coefficients, too), or as estimated, s₀ = s ("wald", the default for
    coefficients: the test that fits print). z is z_{1−α} of one-sided tests, α = (1 − confidence)/hypotheses.

    Where a share is learned from the number of yes reports (two outputs, two reports, no covariates), power and size
    are also summed exactly over the binomial law of that number (`PlannedDesign.counted`), and n for a power is the
    smallest from which on the exact power is never below it. "exact" is the test whose sides have at most their level
    under that law.

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
        effect: the difference to detect: the distance of the guess from the null, instead of `null`.
        null: the value that is tested (default: as `effect` says; of parameters and differences 0).
        alternative: "two-sided", or whether "greater" or "less" than the null counts.
        test: "score", "wald" or "exact".
        hypotheses: how many tests are planned: each has the level (1 − confidence)/hypotheses, which is safe for
            Bonferroni's and Holm's corrections.
        against: the share in another group or arm (`OtherArm` says how it is asked): the target is the difference.
        method: "best" (by the likelihood where the library has it, else by moments), "one-step", "marginal", "moments".
        confidence: of intervals; tests have level 1 − confidence, all hypotheses together.
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
    subject = compared(_subject(model, theta, x, prior, fit, target, method, weights), against)
    tests = {"null": null, "effect": effect, "alternative": alternative, "rule": test, "hypotheses": hypotheses}
    goal = read_goal(subject, n, standard_error, interval_width, power, confidence, **tests)
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
    designs = (str, FiniteChannel, StatisticsChannel, MomentRelease, GuessedDesign)
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
        goal.refuse_beyond_direct(*request.sigmas(None, limit), request.n)
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
        effect=None if goal.test is None else goal.test.effect,
        guesses=len(subject.shares),
        direct=direct,
        designs=tuple(designs),
        skipped=skipped,
        others=_others(request, designs, subject.families() if channels is None else channels),
        test=goal.test,
        against=subject.against if isinstance(subject, ComparedSubject) else None,
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
