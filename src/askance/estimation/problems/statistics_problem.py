"""Noised statistics and a model without covariates, as a problem to solve."""

from __future__ import annotations

import math

import numpy as np

from askance._arrays import FloatArray
from askance.channels.statistics.base import Averaging
from askance.design.covariances import Weighting, invert_information
from askance.design.statistics_covariances import truths_of
from askance.errors import EmptyDataError
from askance.estimation.outcome import Notice
from askance.estimation.parameter_scale import Standard
from askance.estimation.problems.matching import MomentMatching, is_outside
from askance.estimation.problems.tally_problem import third_moments
from askance.estimation.protocols import CovarianceKind
from askance.estimation.solvers.noisy import NoisyMoments
from askance.evidence.tally import StatisticsTally
from askance.models.enumerated import Enumerated


class StatisticsProblem:
    """An `Enumerated` model with a `StatisticsTally` of its statistics, or of the indicators of its outputs.

    The sums of reports give μ̂ but not the spread of β − μ over respondents, so covariances are those of the model
    ("expected"): n Cov(μ̂) of the channel when outputs follow p_θ.
    """

    def __init__(self, model: Enumerated, evidence: StatisticsTally) -> None:
        if not evidence.n_observations:
            raise EmptyDataError("there are no reports.", remedy="Add reports to the tally before estimating.")
        self.model, self.evidence, self.channel = model, evidence, evidence.channel
        self.tested = evidence
        self.truths = truths_of(model, evidence.channel)
        self.parameter_names = model.parameter_names
        self.n_observations = evidence.n_observations
        self.covariance_kinds: tuple[CovarianceKind, ...] = ("expected",)
        self.robust_notices: tuple[Notice, ...] = ()
        information = model.fisher_information(np.zeros(model.dimension))
        invert_information(information, model.parameter_names, "the model")
        self.standard = Standard.of_model(model.statistic_ranges, information)

    def moments(self, weighting: Weighting) -> StatisticsMoments:
        """The moment equations; "plain" takes averages as printed, "best" within what was drawn."""
        return StatisticsMoments(self, "within" if weighting == "best" else "printed")

    def log_likelihood(self, theta: FloatArray) -> float:
        """Sums of reports have none."""
        return -math.inf


class StatisticsMoments:
    """μ̂ from the sums of reports, and the fit to it."""

    def __init__(self, problem: StatisticsProblem, averaging: Averaging) -> None:
        self._problem, self._averaging = problem, averaging
        truths = problem.truths
        self.statistics: FloatArray = truths.directions @ problem.evidence.mean(averaging) + truths.offset

    def start(self) -> FloatArray:
        """θ = 0."""
        return np.zeros(self._problem.model.dimension)

    def matching(self, precision: FloatArray | None = None) -> MomentMatching:
        """A(θ) − μ̂ᵀθ, with or without a ridge."""
        return MomentMatching(self._problem.model, self.statistics, precision)

    def is_outside(self, theta: FloatArray) -> bool:
        """Whether μ̂ᵀθ ≥ max_y φ(y)ᵀθ, up to a hair, or θ has run off."""
        return is_outside(self._problem.model, self.statistics, theta, self._problem.standard)

    def _noise(self, theta: FloatArray) -> FloatArray:
        """Cov(μ̂) when outputs follow p_θ, shape (d, d)."""
        problem = self._problem
        spread = problem.evidence.channel.mean_covariance(
            problem.truths.rows, problem.model.probabilities(theta), self._averaging
        )
        outer = problem.truths.directions
        return np.asarray(outer @ spread @ outer.T / problem.n_observations)

    def noisy(self, theta: FloatArray, precision: FloatArray) -> NoisyMoments:
        """μ̂ is Gaussian around μ(θ) with the covariance it has near `theta`."""
        model = self._problem.model
        return NoisyMoments(
            self.statistics,
            self._noise(theta),
            precision,
            model.mean_statistics,
            model.fisher_information,
            lambda at, direction: third_moments(model, at, direction),
            self._problem.standard,
        )

    def covariance(self, theta: FloatArray, kind: CovarianceKind) -> FloatArray:
        """I⁻¹ Cov(μ̂) I⁻¹ under the model."""
        model = self._problem.model
        inverse = invert_information(model.fisher_information(theta), model.parameter_names, "the model")
        return np.asarray(inverse @ self._noise(theta) @ inverse)
