"""Tallies and a model without covariates, as a problem to solve."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, TypeVar

import numpy as np

from askance._arrays import FloatArray
from askance.channels.finite import FiniteChannel
from askance.channels.labels import Direct
from askance.channels.observation import ObservationFunction
from askance.channels.statistics.base import StatisticsChannel
from askance.design.covariances import Weighting, invert_information, observation_function
from askance.errors import EmptyDataError
from askance.estimation.freedom import Freedom
from askance.estimation.outcome import Notice
from askance.estimation.parameter_scale import Standard
from askance.estimation.problems.likelihood import MarginalLikelihood
from askance.estimation.problems.matching import MomentMatching, is_outside
from askance.estimation.protocols import CovarianceKind, MomentEquations
from askance.estimation.solvers.noisy import NoisyMoments
from askance.evidence.pooled import PooledChannel
from askance.evidence.tally import Tally
from askance.models.enumerated import Enumerated

C = TypeVar("C", bound=FiniteChannel | StatisticsChannel)


def covariance_kinds(channels: Sequence[FiniteChannel]) -> tuple[CovarianceKind, ...]:
    """Of a likelihood; expected ones where the law of all reports is known, which that of candidate sets is not."""
    known = all(channel.has_law for channel in channels)
    return ("expected", "observed", "robust") if known else ("observed", "robust")


class DistributionProblem(ABC, Generic[C]):
    """An `Enumerated` model with a tally of answers or of statistics; refuses empty tallies and redundant statistics.

    Args:
        model: what to fit.
        evidence: what was seen.
        kinds: the covariances that hold for it.
    """

    #: What is to be said of the robust covariance.
    robust_notices: tuple[Notice, ...] = ()

    def __init__(self, model: Enumerated, evidence: Tally[C], kinds: tuple[CovarianceKind, ...]) -> None:
        if not evidence.n_observations:
            raise EmptyDataError("there are no reports.", remedy="Add reports to the tally before estimating.")
        self.model, self.evidence, self.tested, self.channel = model, evidence, evidence, evidence.channel
        self.channels = evidence.channels
        self.parameter_names, self.n_observations = model.parameter_names, evidence.n_observations
        self.covariance_kinds = kinds
        information = model.fisher_information(np.zeros(model.dimension))
        invert_information(information, model.parameter_names, "the model")
        self.standard = Standard.of_model(model.statistic_ranges, information)

    @abstractmethod
    def moments(self, weighting: Weighting) -> MomentEquations:
        """The moment equations."""

    @abstractmethod
    def log_likelihood(self, theta: FloatArray) -> float:
        """Σ log P(o) over the reports, each through the channel it came through; −∞ where sums have none."""


class TallyProblem(DistributionProblem[FiniteChannel]):
    """An `Enumerated` model with counts of answers; refuses other outputs."""

    n_terms = 1

    def guesses(self) -> list[FloatArray]:
        """None beside the usual ones."""
        return []

    def __init__(self, model: Enumerated, evidence: Tally) -> None:
        evidence.channel.require_outputs_of(model)
        super().__init__(model, evidence, covariance_kinds(evidence.channels))
        # The stacked channel of a pooled tally also says who was asked through which part, Σ n_i log f_i: no report.
        sizes = self.channel.sizes if isinstance(self.channel, PooledChannel) else (self.n_observations,)
        self.log_shares = sum(size * math.log(size / self.n_observations) for size in sizes)

    def moments(self, weighting: Weighting) -> DistributionMoments:
        """The moment equations."""
        return TallyMoments(self, weighting)

    def likelihood(self, precision: FloatArray | None = None) -> MarginalLikelihood:
        """The marginal likelihood."""
        return MarginalLikelihood(self.model, self.evidence.channel, self.evidence.frequencies, precision)

    def exploration(self) -> TallyProblem:
        """Itself: tallies are small."""
        return self

    def expected_statistics(self, theta: FloatArray) -> FloatArray:
        """Φ times the expected distribution of outputs given the reports."""
        expected = self.likelihood().expected_outputs(theta)
        return np.asarray(self.model.table @ (expected / expected.sum()))

    def match(self, statistics: FloatArray) -> MomentMatching:
        """The convex objective of the M-step."""
        return MomentMatching(self.model, statistics)

    def distance(self, a: FloatArray, b: FloatArray) -> float:
        """The largest difference between the probabilities of an output."""
        return float(np.abs(self.model.probabilities(a) - self.model.probabilities(b)).max())

    def ran_off(self, theta: FloatArray) -> bool:
        """Whether θ has run off to infinity."""
        return self.standard.ran_off(theta, self.model.fisher_information)

    def inward(self, theta: FloatArray) -> FloatArray:
        """θ as it is."""
        return theta

    def is_direct(self) -> bool:
        """Whether the outputs themselves were tallied."""
        return self.evidence.channel.for_purpose("") == Direct(self.evidence.channel.outputs)

    def log_likelihood(self, theta: FloatArray) -> float:
        """Σ log P(o) over the reports."""
        return -self.n_observations * self.likelihood().value(theta) - self.log_shares


class DistributionMoments(ABC):
    """μ̂ of a model without covariates, and the fit to it.

    Attributes:
        statistics: μ̂, shape (d,).
    """

    statistics: FloatArray
    #: Tallies have no clusters.
    robust_notices: tuple[Notice, ...] = ()

    def __init__(self, model: Enumerated, standard: Standard) -> None:
        self._model, self._standard = model, standard

    @abstractmethod
    def noise(self, theta: FloatArray) -> FloatArray:
        """Cov(μ̂) as judged near θ, shape (d, d)."""

    @abstractmethod
    def covariance(self, theta: FloatArray, kind: CovarianceKind) -> FloatArray:
        """Cov(θ̂) at the solution, shape (d, d)."""

    def freedom(self, theta: FloatArray) -> Freedom | None:
        """None: tallies have no clusters."""
        return None

    def start(self) -> FloatArray:
        """θ = 0."""
        return np.zeros(self._model.dimension)

    def matching(self, precision: FloatArray | None = None) -> MomentMatching:
        """A(θ) − μ̂ᵀθ, with or without a ridge."""
        return MomentMatching(self._model, self.statistics, precision)

    def is_outside(self, theta: FloatArray) -> bool:
        """Whether μ̂ᵀθ ≥ max_y φ(y)ᵀθ, up to a hair, or θ has run off."""
        return is_outside(self._model, self.statistics, theta, self._standard)

    def noisy(self, theta: FloatArray, precision: FloatArray) -> NoisyMoments:
        """μ̂ is Gaussian around μ(θ) with the covariance it has near `theta`."""
        model = self._model
        return NoisyMoments(
            self.statistics,
            self.noise(theta),
            precision,
            model.mean_statistics,
            model.fisher_information,
            lambda at, direction: third_moments(model, at, direction),
            self._standard,
        )


class TallyMoments(DistributionMoments):
    """μ̂ = R q̂ and the fit to it."""

    def __init__(self, problem: TallyProblem, weighting: Weighting) -> None:
        super().__init__(problem.model, problem.standard)
        self._evidence = evidence = problem.evidence
        self.beta: ObservationFunction = observation_function(
            problem.model, evidence.channel, evidence.smoothed_frequencies, weighting
        )
        self.statistics = self.beta.mean(evidence.frequencies)

    def noise(self, theta: FloatArray) -> FloatArray:
        """The covariance of the mean of β over the (smoothed) reports."""
        return np.asarray(self.beta.covariance(self._evidence.smoothed_frequencies) / self._evidence.n_observations)

    def covariance(self, theta: FloatArray, kind: CovarianceKind) -> FloatArray:
        """I⁻¹ Cov(β) I⁻¹ / n, with β over the reports (robust) or under the model (expected)."""
        model, evidence = self._model, self._evidence
        frequencies = evidence.frequencies if kind == "robust" else evidence.channel.apply(model.probabilities(theta))
        inverse = invert_information(model.fisher_information(theta), model.parameter_names, "the model")
        return np.asarray(inverse @ self.beta.covariance(frequencies) @ inverse / evidence.n_observations)


def third_moments(model: Enumerated, theta: FloatArray, direction: FloatArray) -> FloatArray:
    """The derivative of I(θ) along a direction: E[(φ − μ)(φ − μ)ᵀ (φ − μ)ᵀv], shape (d, d)."""
    centred = model.table - model.mean_statistics(theta)[:, None]
    return np.asarray((centred * (model.probabilities(theta) * (direction @ centred))) @ centred.T)
