"""Two stages: a few people are asked through a safe channel, the others through the best one for what these said."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from askance._arrays import ArrayLike, FloatArray
from askance._checks import (
    Number,
    as_count,
    as_fraction,
    as_parameter,
    as_positive_level,
    number,
    require_generator,
    shown,
)
from askance._threads import one_thread
from askance.channels.finite import FiniteChannel, require_channel
from askance.channels.statistics.choices import require_choice
from askance.channels.thresholds import exceeds
from askance.design.covariances import invert_information, marginal_information
from askance.design.optimum import OptimalChannel, Prior, optimal_channel
from askance.design.optimum.channel import require_small_model
from askance.design.optimum.problem import Target
from askance.design.weights import Weights, read_weights, weights_at
from askance.errors import (
    EmptyDataError,
    IncompatibleEvidenceError,
    InputError,
    NotIdentifiedError,
    RepairWarning,
)
from askance.estimation.entry import estimate, solve
from askance.estimation.parameter_scale import Standard
from askance.estimation.results.fit import DistributionFit
from askance.evidence.pooled import pool
from askance.evidence.tally import Tally, of_answers
from askance.models.enumerated import Enumerated

#: What the second channel is made for: the estimate of the pilot, or the average over what the pilot leaves open.
Spread: TypeAlias = Literal["estimate", "posterior"]

#: The guess of θ is one at which the pilot has at most this standard error in any direction, in log-odds. A guess that
#: is too moderate costs some percent, one that is too extreme many times the optimum: a channel for θ = (5, −1) at
#: level 1 has 2 % more error than the best at (8, −1), one for (8, −1) has 37 % more at (5, −1) and 16 times as much at
#: (3, −1). With pilots of 100 simulated reports a limit of 2 had larger worst losses (2.8 against 2.3 times the
#: optimum), ½ left θ = 0; with 10,000 all limits did alike.
LARGEST_ERROR = 1.0
_HALVINGS = 40


@dataclass(frozen=True, eq=False)
class PilotGuess:
    """What a pilot says about θ, as far as a channel is made for it.

    Attributes:
        fit: the estimate from the pilot alone.
        prior: the θ the second channel is made for, with weights.
        is_limited: whether some of them were pulled towards 0, because the pilot is too small to tell θ that far out.
        messages: what was done, in plain words; empty where the estimate was taken as it is.
    """

    fit: DistributionFit
    prior: Prior
    is_limited: bool
    messages: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class TwoStageRun:
    """What a simulated survey in two stages went through; its result is the fit beside it.

    Attributes:
        pilot_tally: reports of the first people.
        guess: what was read from them.
        second_channel: made for the guess.
        second_tally: reports of the others.
    """

    pilot_tally: Tally
    guess: PilotGuess
    second_channel: OptimalChannel
    second_tally: Tally


class TwoStage:
    """Ask a share of the people through a safe channel, the others through the best one for what these said.

    The best channel depends on θ, which nobody knows before. With a share f in the pilot, n Cov(θ̂) goes to
    (f J_pilot + (1 − f) J_opt)⁻¹, because the second channel is found from the pilot and all reports are estimated
    from at once (`pool`). That the second channel depends on the pilot does not disturb the likelihood: given the
    channel, its reports have their usual law.

    Privacy: every person answers once, through one channel. The level of the whole is the larger of the two, so at
    most `privacy_level`; it does not add up. The second channel is computed from reports, not from answers, and so
    reveals nothing that the reports did not (post-processing). Nobody may be asked in both stages.

    The default pilot channel is the one of least tr W Σ_mom at θ = 0. It is safe in three ways: it has an unbiased β,
    so that estimates need no search and no good start, neither from the pilot nor from both stages; it favours no
    output, because at θ = 0 all weigh alike (by h where there is a base measure), so that the error of the statistics
    is least on average over what the truth may be; and it needs no guess.

    Args:
        model: what is to be learned, over at most 64 outputs.
        privacy_level: of every answer.
        pilot_channel: how the first people are asked; at most of the level.
        pilot_fraction: their share, between 0 and 1. A tenth loses little; less may do for large surveys.
        target: what the second channel is best for: "likelihood" or "moments", as in `optimal_channel`.
        spread: "estimate" makes the second channel for θ̂ of the pilot, "posterior" for the average error over what
            the pilot leaves open (`Prior.of_fit`).
        weights: how much every parameter matters, shape (d,) or (d, d); "shares" where the shares of outputs matter.

    >>> stages = TwoStage(Enumerated([[0, 0, 1, 1], [0, 1, 0, 1]]), 1)
    >>> stages.pilot_size(200_000)
    20000
    >>> fit, run = stages.simulate([2, -1], 200_000, np.random.default_rng(4))
    >>> fit.n_observations, fit.privacy_level <= 1, run.second_channel.privacy_level <= 1
    (200000, True, True)
    >>> bool(np.abs(fit.theta - [2, -1]).max() < 4 * fit.standard_errors.max())
    True
    """

    def __init__(
        self,
        model: Enumerated,
        privacy_level: Number,
        pilot_channel: FiniteChannel | None = None,
        pilot_fraction: Number = 0.1,
        target: Target = "likelihood",
        spread: Spread = "estimate",
        weights: Weights = None,
    ) -> None:
        self._level = as_positive_level(privacy_level)
        self.model, self.privacy_level = _require_model(model), float(self._level)
        fraction = as_fraction(pilot_fraction, "pilot_fraction")
        remedy = "Give the share of people in the pilot, such as 0.1; without a second stage there is estimate."
        self.pilot_fraction = number(fraction, "pilot_fraction", 0, 1, open=True, remedy=remedy)
        require_choice(target, "target", ("likelihood", "moments"))
        require_choice(spread, "spread", ("estimate", "posterior"))
        self.target, self.spread = target, spread
        weights_at(weights, model, np.zeros(model.dimension))  # refuses what is none
        self.weights: Weights = weights if isinstance(weights, str) else read_weights(weights, model.dimension)
        self._given = None if pilot_channel is None else self._require_pilot(pilot_channel)

    @cached_property
    def pilot_channel(self) -> FiniteChannel:
        """How the first people are asked."""
        if self._given is not None:
            return self._given
        centre = np.zeros(self.model.dimension)
        return optimal_channel(self.model, self._level, centre, target="moments", weights=self.weights)

    def pilot_size(self, n: int) -> int:
        """How many of n people are in the pilot: their share, but at least one in either stage."""
        people = as_count(n, "n", minimum=2)
        return min(max(round(self.pilot_fraction * people), 1), people - 1)

    # -- after the pilot ---------------------------------------------------------------------------------------------

    @one_thread
    def guess(self, pilot_tally: Tally) -> PilotGuess:
        """What the second channel is made for.

        θ̂ of the pilot (with a weak prior where the pilot alone leads out of the model), or the points of its
        posterior. Each is pulled towards 0 until the pilot would have a standard error of at most one log-odds there
        in any direction: further out the pilot could not tell one θ from another, and too moderate a guess costs far
        less than too extreme a one. A pilot that says nothing at all thus leaves θ = 0.
        """
        self._require_pilot_tally(pilot_tally)
        fit, messages = self._pilot_fit(pilot_tally)
        prior = Prior.of_fit(fit) if self.spread == "posterior" else Prior.of(fit.theta, dimension=self.model.dimension)
        n = pilot_tally.n_observations
        shares = [self._largest_share(theta, n) for theta in prior.points]
        is_limited = min(shares) < 1
        if is_limited:
            whose = "its estimate was" if self.spread == "estimate" else "points of its posterior were"
            extent = "0" if max(shares) == 0 else f"{min(shares):.2g} of the length"
            messages += (
                f"the pilot of {n:,} reports is too small to tell θ that far out: {whose} taken back to {extent}, "
                f"where standard errors are at most {LARGEST_ERROR:g} log-odds",
            )
        points = prior.points * np.array(shares)[:, None]
        return PilotGuess(fit, Prior(points, prior.weights), is_limited, messages)

    def second_channel(self, pilot_tally: Tally) -> OptimalChannel:
        """The channel for the people who are left, from what the pilot says.

        It has the least tr W Σ at the `guess`; `points` of it are the θ it was made for. Its purpose is that of the
        pilot: only so are both stages estimated together.

        Warns:
            RepairWarning: the pilot led out of the model, or its estimate was limited; the text says what was done.
        """
        guess = self.guess(pilot_tally)
        if guess.messages:
            warnings.warn(f"two stages: {'; '.join(guess.messages)}.", RepairWarning, stacklevel=2)
        return self._channel_for(guess).for_purpose(pilot_tally.channel.purpose)

    def estimate(
        self, pilot_tally: Tally, second_tally: Tally, method: str | None = None, **options: Any
    ) -> DistributionFit:
        """θ̂ from all reports of both stages, by any method of `estimate` (default: one-step)."""
        self._require_pilot_tally(pilot_tally)
        if second_tally is pilot_tally:
            raise IncompatibleEvidenceError(
                "pilot_tally and second_tally are the same tally: its reports would count twice.",
                remedy="Give the tally of the second stage, or estimate from the pilot alone with estimate.",
            )
        both = pool([pilot_tally, second_tally])
        above = second_tally.channel.privacy_level
        if exceeds(above, self._level):
            raise IncompatibleEvidenceError(
                f"the second channel has privacy level {above!r}; allowed: at most {self.privacy_level!r}.",
                remedy="Ask through second_channel(pilot_tally); pool takes tallies of any levels.",
            )
        return estimate(self.model, both, method, **options)

    def simulate(
        self, theta: ArrayLike, n: int, rng: np.random.Generator, method: str | None = None
    ) -> tuple[DistributionFit, TwoStageRun]:
        """A survey of n people whose answers follow p_θ: for planning and tests, not for people.

        Reports of a stage are independent with law S p_θ, so their counts are multinomial. These are drawn at once,
        which has the same law as drawing people one by one.
        """
        generator, first = require_generator(rng), self.pilot_size(n)
        p = self.model.probabilities(as_parameter(theta, self.model.dimension))
        pilot_tally = _drawn(self.pilot_channel, p, first, generator)
        guess = self.guess(pilot_tally)
        channel = self._channel_for(guess).for_purpose(pilot_tally.channel.purpose)
        second_tally = _drawn(channel, p, n - first, generator)
        fit = self.estimate(pilot_tally, second_tally, method)
        return fit, TwoStageRun(pilot_tally, guess, channel, second_tally)

    # -- parts ---------------------------------------------------------------------------------------------------------

    def _channel_for(self, guess: PilotGuess) -> OptimalChannel:
        return optimal_channel(self.model, self._level, prior=guess.prior, target=self.target, weights=self.weights)

    def _pilot_fit(self, tally: Tally) -> tuple[DistributionFit, tuple[str, ...]]:
        """The estimate from the pilot, and what it warned of; by the likelihood where there is no unbiased β."""
        try:
            fit, notices = solve(self.model, tally)
        except NotIdentifiedError:
            fit, notices = solve(self.model, tally, "marginal")
        return fit, tuple(f"in the pilot, {notice.text}" for notice in notices)

    def _pilot_error(self, theta: FloatArray, n: int) -> float:
        """The largest standard error of a pilot of n reports at θ over all directions, in log-odds."""
        information = marginal_information(self.model, self.pilot_channel, theta)
        try:
            covariance = invert_information(information, self.model.parameter_names, "the channel") / n
        except NotIdentifiedError:
            return math.inf
        scale = Standard.of_ranges(self.model.statistic_ranges).matrix
        return math.sqrt(float(np.linalg.eigvalsh(scale @ covariance @ scale.T).max()))

    def _largest_share(self, theta: FloatArray, n: int) -> float:
        """The largest t ≤ 1, by halving, with which the pilot can tell tθ; 0 where it can tell nothing."""
        if self._pilot_error(theta, n) <= LARGEST_ERROR:
            return 1.0
        low, high = 0.0, 1.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            if self._pilot_error(middle * theta, n) <= LARGEST_ERROR:
                low = middle
            else:
                high = middle
        return low if low > 2.0**-_HALVINGS else 0.0

    def _require_pilot(self, channel: FiniteChannel) -> FiniteChannel:
        """Refuse a pilot channel of other outputs, above the level, or that says nothing about some parameter."""
        require_channel(channel).require_outputs_of(self.model)
        if exceeds(channel.privacy_level, self._level):
            raise InputError(
                f"pilot_channel has privacy level {channel.privacy_level!r}; allowed: at most "
                f"{self.privacy_level!r}, the level of the whole.",
                remedy="Leave it out for the best safe one, or raise privacy_level.",
            )
        # At one θ the information may be singular by accident of symmetry.
        refusal: NotIdentifiedError | None = None
        for scale in (0.0, 0.5):
            theta = scale * np.random.default_rng(0).normal(size=self.model.dimension) / self.model.statistic_ranges
            information = marginal_information(self.model, channel, theta)
            try:
                invert_information(information, self.model.parameter_names, "the pilot channel")
            except NotIdentifiedError as error:
                refusal = error
            else:
                return channel
        assert refusal is not None
        raise refusal

    def _require_pilot_tally(self, tally: object) -> None:
        if not of_answers(tally):
            raise InputError(
                f"pilot_tally is {shown(tally)}; allowed: a Tally.",
                remedy="Count with Tally(stages.pilot_channel).add(reports).",
            )
        # Stages that were planned without a purpose get that of the pilot's reports.
        if tally.channel != self.pilot_channel.for_purpose(self.pilot_channel.purpose or tally.channel.purpose):
            raise IncompatibleEvidenceError(
                f"pilot_tally is of {shown(tally.channel)}, the pilot channel is {shown(self.pilot_channel)}.",
                remedy="Give the tally of the pilot first; build TwoStage with the pilot_channel that was used.",
            )
        if not tally.n_observations:
            raise EmptyDataError("the pilot has no reports.", remedy="Ask pilot_size(n) people first.")


def _require_model(model: object) -> Enumerated:
    small = require_small_model(model)
    invert_information(small.fisher_information(np.zeros(small.dimension)), small.parameter_names, "the model")
    return small


def _drawn(channel: FiniteChannel, probabilities: FloatArray, n: int, rng: np.random.Generator) -> Tally:
    """The tally of n reports when outputs have these probabilities."""
    frequencies = channel.apply(probabilities)
    return Tally(channel, rng.multinomial(n, frequencies / frequencies.sum()))
