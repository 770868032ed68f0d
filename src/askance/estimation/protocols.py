"""The seam of estimation: methods are written once against these, for every kind of model and evidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias

import numpy as np

from askance._arrays import FloatArray
from askance.channels.finite import FiniteChannel
from askance.design.covariances import Weighting
from askance.estimation.freedom import Freedom
from askance.estimation.outcome import Notice
from askance.estimation.parameter_scale import Standard

#: Which covariance: from the model's expected information, from the observed curvature, or robust to a wrong model.
CovarianceKind: TypeAlias = Literal["expected", "observed", "robust"]


class Objective(Protocol):
    """A smooth function of θ, convex or not."""

    def value(self, theta: FloatArray) -> float:
        """f(θ)."""

    def gradient(self, theta: FloatArray) -> FloatArray:
        """∇f(θ), shape (d,)."""

    def hessian(self, theta: FloatArray) -> FloatArray:
        """∇²f(θ) or a positive approximation of it, shape (d, d)."""


class NoisyObjective(Objective, Protocol):
    """How badly θ fits moments that are known up to noise."""

    @property
    def covariance(self) -> FloatArray:
        """C, that of μ̂, shape (d, d)."""


class MomentEquations(Protocol):
    """The paper's two steps for given evidence: μ̂, and the convex fit to it."""

    @property
    def statistics(self) -> FloatArray:
        """μ̂ = mean of β, unbiased, shape (d,)."""

    def start(self) -> FloatArray:
        """Where to begin the convex fit, shape (d,)."""

    def matching(self, precision: FloatArray | None = None) -> Objective:
        """Ê A(θ; x) − μ̂ᵀθ + ½ θᵀΛθ: convex, per report."""

    def is_outside(self, theta: FloatArray) -> bool:
        """Whether θ proves that no finite parameter has these moments: μ̂ᵀθ ≥ Ê max_y φ(x, y)ᵀθ."""

    def noisy(self, theta: FloatArray, precision: FloatArray) -> NoisyObjective:
        """½ rᵀC⁻¹r + ½ θᵀΛθ with r = μ̂ − Ê μ(θ; x), and C the covariance of μ̂ as judged near `theta`."""

    def covariance(self, theta: FloatArray, kind: CovarianceKind) -> FloatArray:
        """Cov(θ̂) at the solution, shape (d, d)."""

    def freedom(self, theta: FloatArray) -> Freedom | None:
        """Of contrasts of θ̂ under the robust covariance; None: normal quantiles."""

    @property
    def robust_notices(self) -> tuple[Notice, ...]:
        """What is to be said of the robust covariance of the reports in use."""


class Likelihood(Objective, Protocol):
    """The negative average marginal log-likelihood, with or without a prior."""

    def expected_information(self, theta: FloatArray) -> FloatArray:
        """Of one report, without the prior, shape (d, d): asked for where a method wants it, and always positive.

        Of evidence whose law is not known (candidate sets) Ê s sᵀ with the scores s stands for it.
        """

    def score_covariance(self, theta: FloatArray) -> FloatArray:
        """n · Cov of the mean score over the reports (weights and clusters included), shape (d, d)."""

    def freedom(self, theta: FloatArray) -> Freedom | None:
        """Of contrasts of θ̂ under the robust covariance; None: normal quantiles."""


class MomentProblem(Protocol):
    """A model with evidence from which its statistics can be estimated."""

    @property
    def n_observations(self) -> int:
        """The number of reports."""

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """One name per parameter."""

    @property
    def standard(self) -> Standard:
        """Coordinates in which one unit is one log-odds."""

    @property
    def covariance_kinds(self) -> tuple[CovarianceKind, ...]:
        """The covariances that hold for this evidence (with weights or clusters only the robust one does)."""

    def moments(self, weighting: Weighting) -> MomentEquations:
        """The moment equations; refused where the channel has no unbiased β."""

    def log_likelihood(self, theta: FloatArray) -> float:
        """Σ log P(o | x) over the reports; −∞ where sums of reports have none."""


class Problem(MomentProblem, Protocol):
    """A model with evidence that has a likelihood."""

    @property
    def channels(self) -> Sequence[FiniteChannel]:
        """How outputs were seen: the different ways."""

    @property
    def robust_notices(self) -> tuple[Notice, ...]:
        """What is to be said of the robust covariance of this evidence."""

    @property
    def log_shares(self) -> float:
        """What n times the average log-likelihood has too much: of pooled tallies, who was asked in which way."""

    def inward(self, theta: FloatArray) -> FloatArray:
        """Parameters of the model in the coordinates of the problem, which may have another basis."""

    def likelihood(self, precision: FloatArray | None = None) -> Likelihood:
        """The marginal likelihood, with a prior of that precision (per report)."""

    @property
    def n_terms(self) -> int:
        """How many covariates a row has; 1 where there are none but the constant."""

    def guesses(self) -> Sequence[FloatArray]:
        """Points, beside the usual ones, from which a search for maxima is to start."""

    def exploration(self) -> Problem:
        """A smaller problem of the same kind, to look for maxima in; the problem itself where it is small."""

    def expected_statistics(self, theta: FloatArray) -> FloatArray:
        """E-step: Ê E_θ[φ | x, o], shape (d,)."""

    def match(self, statistics: FloatArray) -> Objective:
        """The convex objective of the M-step for given statistics."""

    def distance(self, a: FloatArray, b: FloatArray) -> float:
        """The largest difference between the output probabilities of two parameters."""

    def ran_off(self, theta: FloatArray) -> bool:
        """Whether θ has run off to infinity: some outputs have become impossible."""

    def is_direct(self) -> bool:
        """Whether the outputs themselves were seen."""


def zeros(problem: Problem) -> FloatArray:
    """θ = 0."""
    return np.zeros(len(problem.parameter_names))
