"""Noised statistics and a model without covariates, as a problem to solve."""

from __future__ import annotations

import math

import numpy as np

from askance._arrays import FloatArray
from askance.channels.statistics.base import Averaging, StatisticsChannel
from askance.design.covariances import Weighting, invert_information
from askance.design.statistics_covariances import truths_of
from askance.estimation.problems.tally_problem import DistributionMoments, DistributionProblem
from askance.estimation.protocols import CovarianceKind
from askance.evidence.tally import Tally
from askance.models.enumerated import Enumerated


class StatisticsProblem(DistributionProblem[StatisticsChannel]):
    """An `Enumerated` model with a `Tally` of its statistics, or of the indicators of its outputs.

    The sums of reports give μ̂ but not the spread of β − μ over respondents, so covariances are those of the model
    ("expected"): n Cov(μ̂) of the channel when outputs follow p_θ.
    """

    def __init__(self, model: Enumerated, evidence: Tally[StatisticsChannel]) -> None:
        super().__init__(model, evidence, ("expected",))
        self.truths = truths_of(model, evidence.channel)

    def moments(self, weighting: Weighting) -> DistributionMoments:
        """The moment equations; "plain" takes averages as printed, "best" within what was drawn."""
        return StatisticsMoments(self, "within" if weighting == "best" else "printed")

    def log_likelihood(self, theta: FloatArray) -> float:
        """Sums of reports have none."""
        return -math.inf


class StatisticsMoments(DistributionMoments):
    """μ̂ from the sums of reports, and the fit to it."""

    def __init__(self, problem: StatisticsProblem, averaging: Averaging) -> None:
        super().__init__(problem.model, problem.standard)
        self._evidence, self._truths, self._averaging = problem.evidence, problem.truths, averaging
        self.statistics = self._truths.directions @ self._evidence.mean(averaging) + self._truths.offset

    def noise(self, theta: FloatArray) -> FloatArray:
        """Cov(μ̂) when outputs follow p_θ, shape (d, d)."""
        shares, outer = self._model.probabilities(theta), self._truths.directions
        spread = self._evidence.channel.mean_covariance(self._truths.rows, shares, self._averaging)
        return np.asarray(outer @ spread @ outer.T / self._evidence.n_observations)

    def covariance(self, theta: FloatArray, kind: CovarianceKind) -> FloatArray:
        """I⁻¹ Cov(μ̂) I⁻¹ under the model."""
        model = self._model
        inverse = invert_information(model.fisher_information(theta), model.parameter_names, "the model")
        return np.asarray(inverse @ self.noise(theta) @ inverse)
