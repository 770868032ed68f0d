"""Plans for models of one answer: `Enumerated`, and with covariates `Softmax`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np

from askance._arrays import ArrayLike, FloatArray
from askance._checks import shown
from askance._words import words
from askance.channels.finite import FiniteChannel
from askance.channels.labels import Direct
from askance.channels.randomized_response import RandomizedResponse
from askance.channels.statistics.base import StatisticsChannel
from askance.design.conditional_covariances import conditional_asymptotics
from askance.design.covariances import Asymptotics, Weighting, asymptotics
from askance.design.optimum import Prior, optimal_channel
from askance.design.optimum.problem import Target
from askance.design.recommend import BUILDERS, ChannelCase
from askance.design.statistics_covariances import StatisticsAsymptotics
from askance.design.weights import share_slopes
from askance.errors import InputError, NotIdentifiedError
from askance.models.enumerated import Enumerated
from askance.models.softmax import Covariates, Softmax
from askance.planning.guessed_design import GuessedDesign
from askance.planning.subject import AnyDesign, Builder, Limit, PlannedMethod, Subject, require_method
from askance.planning.targets import Asked, Share, ask
from askance.planning.yes_no import design_at_level, yes_no_kinds
from askance.planning.yes_reports import YesReports

#: The optimal channel is looked for where the model has at most this many different statistics: it takes a second.
MOST_STATISTICS = 12
OPTIMAL = "optimal"
# What all parameters together weigh in channels that are tuned for one number, beside it.
_OTHERS = 1e-3
# Shares under a null hypothesis are kept so far from 0 and 1, and looked for within so many log-odds of the guess.
_LEAST_SHARE, _FARTHEST = 1e-6, 60.0
# From a guess to a null value of a coefficient.
_STEPS = 8
_NEEDS_STATISTICS = (
    "it noises statistics of a respondent; with covariates estimates are made from answers, one per respondent."
)


class AnswersSubject(Subject):
    """One answer of every respondent, with or without covariates.

    Args:
        model: `Enumerated`, or `Softmax` with a sample of x.
        guesses: of θ.
        x: the sample, shape (rows, p); None without covariates.
        weights: how much each row counts.
        target: as in `ask`.
        method: how estimates will be made.
        weighting: which β "moments" uses where several are unbiased.

    >>> model = Enumerated.saturated(["no", "yes"])
    >>> subject = AnswersSubject(model, Prior.of([0.0], dimension=1), None, None, Share("yes"))
    >>> subject.direct().variances
    array([0.25])
    >>> subject.limit(design_at_level("warner", "1.0986122886681098")).variances.round(9)
    array([1.])
    """

    def __init__(
        self,
        model: Enumerated | Softmax,
        guesses: Prior,
        x: Covariates | None,
        weights: ArrayLike | None,
        target: str | Share | None,
        method: PlannedMethod = "best",
        weighting: Weighting = "best",
    ) -> None:
        require_method(method)
        self.model, self.guesses, self.method, self.weighting = model, guesses, method, weighting
        self._sample = x, weights
        self.asked: list[Asked] = [ask(model, theta, x, weights, target) for theta in guesses.points]
        self.shares, self._target = guesses.weights, target
        first = self.asked[0]
        self.label, self.is_share = first.label, first.is_share
        values = [asked.value for asked in self.asked]
        self.value = None if first.value is None else self.mean(np.array(values, dtype=np.float64))

    @property
    def direct_parameters(self) -> Mapping[str, Any]:
        """The labels of the outputs, or their number."""
        labels = self.model.outputs.labels
        return {"outputs": len(labels) if isinstance(labels, range) else list(labels)}

    # -- errors ----------------------------------------------------------------------------------------------------

    def direct(self) -> Limit:
        """Σ_full = I⁻¹."""
        plain = Direct(self.model.outputs)
        return self._limit([self._asymptotics(plain, asked).full for asked in self.asked], "likelihood")

    def limit(self, design: AnyDesign) -> Limit:
        """Σ_marg or Σ_mom, by the method."""
        if isinstance(design, GuessedDesign):
            return self._limit_of_groups(design)
        self._require_design(design)
        limits = [self._asymptotics(design, asked) for asked in self.asked]
        covariances, methods = zip(*(self._chosen(limit, design) for limit in limits), strict=True)
        linear = isinstance(design, StatisticsChannel) and self._shares_are_means
        return self._limit(list(covariances), methods[0], linear=linear)

    def largest_other_error(self, design: AnyDesign) -> float | None:
        """Over the shares of all outputs but the target."""
        if self.value is None or isinstance(self.model, Softmax) or self.model.dimension == 1:
            return None
        variances = np.zeros(len(self.model.outputs))
        for share, asked in zip(self.shares, self.asked, strict=True):
            sigma, _ = self._chosen(self._asymptotics(design, asked), design)
            slopes = share_slopes(self.model, asked.theta)
            variances += share * np.einsum("yd,de,ye->y", slopes, sigma, slopes)
        if isinstance(self._target, Share):
            variances[self.model.outputs.code(self._target.output, "target")] = 0.0
        return math.sqrt(float(variances.max()))

    @cached_property
    def _shares_are_means(self) -> bool:
        """Whether the target is a share that is a linear function of the mean statistics, E 1[y] = a + bᵀμ.

        `estimate_mean` then has the predicted variance for every n, however rare the output: errors are rough only
        where they are large for a share, not where they are large for its log-odds.
        """
        if not self.is_share or not isinstance(self.model, Enumerated):
            return False
        outputs = np.eye(len(self.model.outputs))
        if isinstance(self._target, Share):
            outputs = outputs[[self.model.outputs.code(self._target.output, "target")]]
        rows = np.vstack([np.ones(len(self.model.outputs)), self.model.table])
        return bool(np.linalg.matrix_rank(np.vstack([rows, outputs])) == np.linalg.matrix_rank(rows))

    def _limit(self, covariances: list[FloatArray], method: str, *, linear: bool = False) -> Limit:
        pairs = list(zip(self.asked, covariances, strict=True))
        variances = np.array([asked.variance(sigma) for asked, sigma in pairs])
        errors = [asked.largest_error(sigma) if linear else asked.log_odds_error(sigma) for asked, sigma in pairs]
        return Limit(variances, self.root_mean_square(errors), method)

    def _limit_of_groups(self, design: GuessedDesign) -> Limit:
        """By the likelihood of what is hidden; or by the difference in means, linear in the reports."""
        samples = [self._rows(asked) for asked in self.asked]
        if self.method != "moments":
            return self._limit([design.covariance(*sample) for sample in samples], "marginal")
        if not isinstance(self._target, Share):
            raise InputError(
                f"is moments, but they tell of {design.kind} the share alone, not the {self.label}",
                argument="method",
                remedy=words("Plan with {method=best}."),
            )
        variances = np.array([design.difference_in_means(*sample) for sample in samples])
        return Limit(variances, math.sqrt(float(variances.max())), "moments")

    def _rows(self, asked: Asked) -> tuple[FloatArray, FloatArray, FloatArray, Sequence[str]]:
        """θ of a yes/no answer, x with its weights, and the names of its columns."""
        model = self.model
        is_yes_no = len(model.outputs) == 2 and (isinstance(model, Softmax) or np.array_equal(model.table, [[0, 1]]))
        if not is_yes_no:
            raise InputError(
                f"the model has outputs {shown(list(model.outputs.labels))}; allowed with designs with groups: no and "
                "yes.",
                remedy="Plan with Softmax, or Enumerated.saturated, of two outputs.",
            )
        if isinstance(model, Enumerated) or asked.x is None or asked.shares is None:
            return asked.theta, np.ones((1, 1)), np.ones(1), ("Intercept",)
        return asked.theta, asked.x, asked.shares, model.terms

    def _asymptotics(self, design: Any, asked: Asked) -> Asymptotics | StatisticsAsymptotics:
        if isinstance(self.model, Softmax):
            return conditional_asymptotics(
                self.model, design, asked.theta, asked.x, asked.shares, weighting=self.weighting
            )
        limit: Asymptotics | StatisticsAsymptotics = asymptotics(
            self.model, design, asked.theta, weighting=self.weighting
        )
        return limit

    def _chosen(self, limit: Asymptotics | StatisticsAsymptotics, design: AnyDesign) -> tuple[FloatArray, str]:
        """The covariance of the estimator that will be used, and its name."""
        kind = design.kind if isinstance(design, (FiniteChannel, StatisticsChannel)) else ""
        if isinstance(limit, StatisticsAsymptotics):
            if self.method in ("one-step", "marginal"):
                raise InputError(
                    f"is {self.method}, but reports of {kind}, which noises statistics, are estimated by moments",
                    argument="method",
                    remedy=words("Plan with {method=best} or {method=moments}."),
                )
            return limit.moments, "moments"
        if self.method != "moments":
            # One step needs moments to start from.
            works = self.method if self.method != "best" else "one-step"
            return limit.marginal, works if limit.moments is not None else "marginal"
        if limit.moments is None:
            raise NotIdentifiedError(
                f"through {kind} no unbiased β exists for this model, so moments reach the goal with no number of "
                "respondents.",
                remedy=words("Plan with {method=one-step}, or with another design."),
            )
        return limit.moments, "moments"

    def _require_design(self, design: AnyDesign) -> None:
        allowed = (FiniteChannel,) if isinstance(self.model, Softmax) else (FiniteChannel, StatisticsChannel)
        if not isinstance(design, allowed):
            what = "on answers" if isinstance(self.model, Softmax) else "on answers or statistics"
            raise InputError(
                f"a channel is {shown(design)}; allowed for this model: channels {what}.",
                remedy="Give channels of the registry, or their names.",
            )

    # -- tests -----------------------------------------------------------------------------------------------------

    @property
    def usual_test(self) -> Literal["score", "wald"]:
        """For shares by errors under the null; for coefficients as fits print them."""
        return "score" if self.is_share else "wald"

    @property
    def has_null(self) -> bool:
        """Where the target is one number."""
        return self.value is not None

    def at(self, value: float) -> AnswersSubject:
        """Every guess moved along I⁻¹∇g until g = value: what changes nothing else.

        Of shares that is a shift of the intercept, or the other outputs in the proportions they had. Along I⁻¹ of a
        coefficient the mean statistics of all others stay, so that the share of yes is the same without an effect.
        Shares of 0 and 1 become 10⁻⁶ and 1 − 10⁻⁶.
        """
        points = np.array([self._moved(asked, value) for asked in self.asked])
        x, weights = self._sample
        guesses = Prior(points, self.guesses.weights)
        return AnswersSubject(self.model, guesses, x, weights, self._target, self.method, self.weighting)

    def _direction(self, asked: Asked) -> FloatArray:
        """I⁻¹∇g/∇gᵀI⁻¹∇g, along which g grows by 1."""
        gradient = asked.gradients[0]
        direction = self._asymptotics(Direct(self.model.outputs), asked).full @ gradient
        return np.asarray(direction / float(gradient @ direction))

    def _moved(self, asked: Asked, value: float) -> FloatArray:
        from scipy.optimize import brentq

        assert asked.value is not None
        if not self.is_share:
            return self._along(asked, value)
        direction = self._direction(asked)
        direction /= np.abs(direction).max()
        wanted = min(max(value, _LEAST_SHARE), 1 - _LEAST_SHARE)

        def excess(t: float) -> float:
            return self._share(asked, asked.theta + t * direction) - wanted

        reach = math.copysign(_FARTHEST, wanted - asked.value)
        if excess(0.0) * excess(reach) > 0:
            raise InputError(
                f"is {value:g}, which no model near the guess has as {self.label}",
                argument="null",
                remedy="Give a value nearer to the guess.",
            )
        return np.asarray(asked.theta + float(brentq(excess, 0.0, reach, xtol=1e-12)) * direction)

    def _along(self, asked: Asked, value: float) -> FloatArray:
        """The direction turns as θ moves: a few steps, each along that of its middle, the last of which ends there."""
        theta, gradient = asked.theta, asked.gradients[0]
        for left in range(_STEPS, 0, -1):
            step = (value - float(gradient @ theta)) / left
            middle = theta + step / 2 * self._direction(asked)
            theta = theta + step * self._direction(replace(asked, theta=middle))
            asked = replace(asked, theta=theta)
        return theta

    def _share(self, asked: Asked, theta: FloatArray) -> float:
        assert isinstance(self._target, Share)
        y = self.model.outputs.code(self._target.output, "target")
        if isinstance(self.model, Enumerated):
            return float(self.model.probabilities(theta)[y])
        assert asked.x is not None
        assert asked.shares is not None
        return float(asked.shares @ self.model.probabilities(theta, asked.x)[:, y])

    def yes_reports(self, design: AnyDesign | None) -> YesReports | None:
        """Of designs with two reports for two outputs, where nothing but a share is to be learned."""
        channel = Direct(self.model.outputs) if design is None else design
        if not isinstance(channel, FiniteChannel) or not self._is_plain or channel.matrix.shape != (2, 2):
            return None
        assert isinstance(self._target, Share)
        y = self.model.outputs.code(self._target.output, "target")
        rates = channel.matrix[:, y], channel.matrix[:, 1 - y]
        report = int(np.argmax(rates[0] - rates[1]))
        slope = float(rates[0][report] - rates[1][report])
        return YesReports(channel.observations.labels[report], float(rates[1][report]), slope) if slope > 0 else None

    @cached_property
    def _is_plain(self) -> bool:
        """Whether one share is guessed once, of two outputs that depend on nothing."""
        varies = any(asked.x is not None and bool(np.ptp(asked.x, axis=0).any()) for asked in self.asked)
        return isinstance(self._target, Share) and len(self.asked) == 1 and len(self.model.outputs) == 2 and not varies

    # -- channels --------------------------------------------------------------------------------------------------

    def families(self) -> dict[str, Builder]:
        """Those of `recommend`, the yes/no designs for two outputs, and the optimal channel."""
        model = self.model
        builders: dict[str, Builder] = {}
        if isinstance(model, Enumerated):
            if self._has_few_statistics():
                builders[OPTIMAL] = self._optimal
            builders |= {name: self._recommended(build) for name, build in BUILDERS.items()}
        else:
            builders["randomized-response"] = lambda level: RandomizedResponse.for_privacy_level(
                level, outputs=model.outputs
            )
        if len(model.outputs) == 2:
            builders |= {kind: _yes_no(kind, model) for kind in yes_no_kinds()}
        return builders

    def unfit(self) -> dict[str, str]:
        """Why the others are none."""
        reasons: dict[str, str] = {}
        if isinstance(self.model, Softmax):
            reasons = {name: _NEEDS_STATISTICS for name in BUILDERS if name != "randomized-response"}
            reasons[OPTIMAL] = "it is found for models without covariates."
        elif not self._has_few_statistics():
            reasons[OPTIMAL] = f"the model has more than {MOST_STATISTICS} different statistics; see optimal_channel."
        if len(self.model.outputs) != 2:
            reasons |= {
                kind: f"it asks for yes or no; there are {len(self.model.outputs)} outputs." for kind in yes_no_kinds()
            }
        return reasons

    def _has_few_statistics(self) -> bool:
        return isinstance(self.model, Enumerated) and len(np.unique(self.model.table, axis=1).T) <= MOST_STATISTICS

    @cached_property
    def _weights(self) -> FloatArray:
        """W that channels are tuned for, shape (d, d): tr W Σ = σ² on average over the guesses, and a little for all.

        A channel for one number alone says next to nothing about the others, and estimates of all together settle down
        only after millions of reports. With a thousandth of the weight on the others (scaled by the information, so
        that units do not matter) the error of the target is larger by about 1 %, and the limit is reached much sooner.
        """
        assert isinstance(self.model, Enumerated)
        pairs = list(zip(self.shares, self.asked, strict=True))
        own = np.asarray(sum(share * asked.weights for share, asked in pairs))
        if len(self.asked[0].gradients) > 1 or self.model.dimension == 1:
            return own
        information = sum(share * self.model.fisher_information(asked.theta) for share, asked in pairs)
        scale = float(np.trace(np.linalg.solve(information, own))) / self.model.dimension
        total = own + _OTHERS * scale * information
        return np.asarray((total + total.T) / 2)

    def _optimal(self, level: Fraction) -> FiniteChannel:
        """Of least error of the target; moments and one step need an unbiased β."""
        assert isinstance(self.model, Enumerated)
        target: Target = "moments" if self.method in ("moments", "one-step") else "likelihood"
        return optimal_channel(self.model, level, prior=self.guesses, target=target, weights=self._weights)

    def _recommended(self, build: Callable[[ChannelCase], AnyDesign]) -> Builder:
        assert isinstance(self.model, Enumerated)
        model, weights, centre = self.model, self._weights, self.guesses.mean
        return lambda level: build(ChannelCase(model, level, centre, weights))


def _yes_no(kind: str, model: Enumerated | Softmax) -> Builder:
    return lambda level: design_at_level(kind, level, model.outputs)
