"""Evidence of several kinds about a model without covariates: the sum of its parts, as a problem to solve."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from askance._arrays import FloatArray
from askance.categories import Categories
from askance.channels.finite import FiniteChannel
from askance.channels.table import TableChannel
from askance.design.covariances import Weighting
from askance.errors import IncompatibleEvidenceError, NotIdentifiedError
from askance.estimation.outcome import Notice
from askance.estimation.parameter_scale import Standard
from askance.estimation.problems.likelihood import MarginalLikelihood
from askance.estimation.problems.matching import MomentMatching
from askance.estimation.problems.statistics_problem import StatisticsProblem
from askance.estimation.problems.tally_problem import DistributionMoments, TallyProblem
from askance.estimation.protocols import CovarianceKind
from askance.estimation.solvers.newton import newton
from askance.evidence.together import Together
from askance.models.enumerated import Enumerated


class _OfParts:
    """What problems of several parts share; the model and its coordinates are those of any part."""

    def __init__(
        self, model: Enumerated, evidence: Together, parts: Sequence[TallyProblem | StatisticsProblem]
    ) -> None:
        self.model, self.parts = model, tuple(parts)
        self.evidence: Any = evidence
        self.tested: Any = evidence
        self.parameter_names, self.standard = model.parameter_names, parts[0].standard
        self.n_observations = sum(part.n_observations for part in parts)
        self.channels: Any = tuple(channel for part in parts for channel in part.channels)
        self.covariance_kinds: tuple[CovarianceKind, ...] = tuple(
            kind for kind in parts[0].covariance_kinds if all(kind in part.covariance_kinds for part in parts)
        )
        self.robust_notices: tuple[Notice, ...] = ()

    def moments(self, weighting: Weighting) -> DistributionMoments:
        """The moment equations of the parts that have an unbiased β; refused where none has."""
        equations: list[tuple[int, DistributionMoments]] = []
        refusal: NotIdentifiedError | None = None
        for part in self.parts:
            try:
                equations.append((part.n_observations, part.moments(weighting)))
            except NotIdentifiedError as error:
                refusal = error
        if not equations:
            assert refusal is not None
            raise refusal
        return SumMoments(self.model, self.standard, equations)


class TallySum(_OfParts, TallyProblem):
    """Parts that have a likelihood: tallies of answers, and candidate sets."""

    def __init__(self, model: Enumerated, evidence: Together, parts: Sequence[TallyProblem]) -> None:
        super().__init__(model, evidence, parts)
        self._tallies = tuple(parts)
        self.log_shares = sum(part.log_shares for part in parts)

    @cached_property
    def _stacked(self) -> tuple[FiniteChannel, FloatArray]:
        """The rows S(o | ·) of all parts one below the other, which are no law of reports, and shares of reports."""
        weights = np.concatenate([channel.integer_weights for channel in self.channels])
        stacked = TableChannel(weights, self.model.outputs, Categories(len(weights)))
        stacked.has_law = False
        counts = np.concatenate([part.evidence.counts for part in self._tallies])
        return stacked, counts / self.n_observations

    def likelihood(self, precision: FloatArray | None = None) -> MarginalLikelihood:
        """The marginal likelihood of all parts."""
        return MarginalLikelihood(self.model, *self._stacked, precision)

    def is_direct(self) -> bool:
        """Whether the outputs themselves were tallied."""
        return all(part.is_direct() for part in self._tallies)


class StatisticsSum(_OfParts, StatisticsProblem):
    """Parts of which some are sums of noised statistics: these have means and no likelihood."""

    def __init__(
        self, model: Enumerated, evidence: Together, parts: Sequence[TallyProblem | StatisticsProblem]
    ) -> None:
        super().__init__(model, evidence, parts)
        if not all(getattr(channel, "has_law", True) for channel in self.channels):
            raise IncompatibleEvidenceError(
                "sums of noised statistics have means and no likelihood, candidate sets a likelihood and no means: no "
                "method takes both.",
                remedy="Estimate from the candidate sets and from the other parts alone.",
            )


class SumMoments(DistributionMoments):
    """μ̂ = Σ λ_g μ̂_g, Σ λ_g = 1: one positive number per part, so that the fit to it is convex.

        λ_g ∝ 1 / tr(I⁻¹ C_g),   C_g = Cov(μ̂_g),

    at a pilot θ (the fit with λ_g ∝ n_g). Every residual μ̂_g − μ(θ) has mean 0 at the truth, whatever λ is.

    Args:
        model: p_θ.
        standard: coordinates of the steps.
        parts: of every part the number of reports, and its moment equations.
    """

    def __init__(self, model: Enumerated, standard: Standard, parts: Sequence[tuple[int, DistributionMoments]]) -> None:
        super().__init__(model, standard)
        self._parts = [equations for _, equations in parts]
        sizes = np.array([float(n) for n, _ in parts])
        self._shares = sizes / sizes.sum()
        if len(parts) > 1:
            end = newton(
                MomentMatching(model, self._averaged()), self.start(), standard, tolerance=1e-4, max_iterations=20
            )
            pilot = end.theta if end.converged else self.start()
            information = standard.hessian(model.fisher_information(pilot))
            noises = [standard.hessian(part.noise(pilot)) for part in self._parts]
            precise = np.array([1 / float(np.trace(np.linalg.solve(information, noise))) for noise in noises])
            self._shares = precise / precise.sum()
        self.statistics = self._averaged()

    def _averaged(self) -> FloatArray:
        return np.asarray(self._shares @ np.array([part.statistics for part in self._parts]))

    def noise(self, theta: FloatArray) -> FloatArray:
        """Σ λ² C_g: everybody is in one part."""
        return np.asarray(sum(s**2 * part.noise(theta) for s, part in zip(self._shares, self._parts, strict=True)))

    def covariance(self, theta: FloatArray, kind: CovarianceKind) -> FloatArray:
        """Σ λ² I⁻¹ C_g I⁻¹."""
        spreads = (part.covariance(theta, kind) for part in self._parts)
        return np.asarray(sum(s**2 * spread for s, spread in zip(self._shares, spreads, strict=True)))
