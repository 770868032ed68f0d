"""A random field and its noised tables as a problem to solve: where to start, and the posterior mode."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal, NamedTuple, Self, TypeAlias

import numpy as np

from askance._arrays import FloatArray, IntArray
from askance._checks import shown
from askance.channels.statistics.base import StatisticsChannel
from askance.channels.statistics.reports import Reports
from askance.errors import InputError
from askance.estimation.parameter_scale import FIELD_PRIOR_SCALE
from askance.estimation.problems.field_evidence import FromChannel, NoisyTables, TableEvidence, read_evidence
from askance.estimation.problems.field_likelihood import GaussianLoss, ReportLoss, TableLoss
from askance.estimation.problems.field_tables import MOST_PARAMETERS, MeasuredField, free_parameters
from askance.estimation.solvers.inverse_root import inverse_root
from askance.estimation.solvers.lbfgs import minimise
from askance.evidence.tally import Tally
from askance.models.random_field import RandomField
from askance.models.table_maps import matrix_product

FieldMethod: TypeAlias = Literal["moments", "ridge", "one-step", "marginal"]

#: Where a gradient is below this many posterior standard deviations, the solver has arrived.
ARRIVED = 0.01
# The ridge of matching alone is this many times the deviation of the noise, over the prior's.
_RIDGE = 0.5
# Up to so many parameters times cells of the junction tree, a matrix of curvatures costs less than what it saves.
_CHEAP = 1 << 20
# How often the solver looks at the curvature anew, and its steps in between.
_ROUNDS, _STEPS = 20, 60


@dataclass(frozen=True)
class FieldOptimum:
    """Where the solver ended, and what it cost."""

    theta: FloatArray
    converged: bool
    evaluations: int


class FieldPosterior(NamedTuple):
    """What is known of θ around its mode.

    Attributes:
        covariance: of θ, shape (d, d).
        informed: what the reports add to the prior's precision, in directions that do not mix, shape (d,).
        effective: how many parameters the reports determine.
        distance: rᵀC⁺r, how far the tables are from the fitted ones, in units of their noise.
        freedom: what the distance is on average where the model is right.
        pull: the largest shift by the prior, in standard errors.
    """

    covariance: FloatArray
    informed: FloatArray
    effective: float
    distance: float
    freedom: float
    pull: float


class FieldProblem:
    """Field, evidence and prior: θ has the posterior ∝ exp −(g(μ(θ)) + ½ ‖θ‖²/prior_scale²), with g a `TableLoss`.

    Args:
        measured: the field, and the tables that were measured.
        evidence: these tables, with their noise.
        prior_scale: standard deviation of the prior on every parameter.
        dense: whether matrices (d, d) are used.
        source: what the tables come from.
    """

    def __init__(
        self,
        measured: MeasuredField,
        evidence: TableEvidence,
        prior_scale: float,
        dense: bool,
        source: Tally[StatisticsChannel] | Reports | None = None,
    ) -> None:
        self.measured, self.evidence, self.dense, self._source = measured, evidence, dense, source
        self.prior_scale, self.precision = prior_scale, 1 / prior_scale**2
        self.dimension = measured.field.dimension
        self.tested = evidence.tally if isinstance(evidence, FromChannel) else None

    @classmethod
    def of(cls, field: RandomField, evidence: Tally[StatisticsChannel] | Reports | NoisyTables) -> Self:
        """The problem of a field without covariates and evidence about its tables."""
        if field.terms:
            raise InputError(
                f"the field has covariates ({shown(list(field.terms))}), the evidence has none: {shown(evidence)}.",
                remedy="Give reports with their covariates: Responses(channel).add(x, reports).",
            )
        seen = read_evidence(field, evidence)
        dense, source = field.dimension <= MOST_PARAMETERS, None if isinstance(evidence, NoisyTables) else evidence
        return cls(MeasuredField(field, seen.cliques), seen, FIELD_PRIOR_SCALE, dense, source)

    def with_prior_scale(self, prior_scale: float) -> FieldProblem:
        """The same under another prior."""
        return FieldProblem(self.measured, self.evidence, prior_scale, self.dense, self._source)

    def likelihood(self) -> ReportLoss:
        """The likelihood of the reports themselves; refused where there is none."""
        if isinstance(self._source, Reports):
            return ReportLoss.of_reports(self._source)
        if self._source is None:
            raise InputError("tables have no likelihood of reports.", remedy="Leave the method out, or take 'ridge'.")
        return ReportLoss.of_sums(self._source)

    def gaussian(self, theta: FloatArray) -> GaussianLoss:
        """The loss of the debiased tables, with the noise they have near θ."""
        measured = self.measured
        weights = self.evidence.precision(measured.mean(theta), lambda: measured.covariance(theta))
        return GaussianLoss(self.evidence.statistics, weights)

    def hessian(self, loss: TableLoss, theta: FloatArray, slopes: FloatArray) -> FloatArray:
        """Jᵀ∇²g J + Λ: the curvature, but for what vanishes with the residual; shape (d, d)."""
        curvature = loss.curvature(self.measured.mean(theta))
        matrix = matrix_product(slopes.T, curvature @ slopes)
        matrix.flat[:: len(matrix) + 1] += self.precision
        return matrix

    def value(self, loss: TableLoss, theta: FloatArray) -> float:
        """g(μ(θ)) + ½ θᵀΛθ."""
        return loss.value(self.measured.mean(theta)) + 0.5 * self.precision * float(theta @ theta)

    def value_and_gradient(self, loss: TableLoss, theta: FloatArray) -> tuple[float, FloatArray]:
        """And Jᵀ∇g + Λθ, shape (d,)."""
        mean = self.measured.mean(theta)
        gradient = self.measured.pull_back(theta, loss.gradient(mean)) + self.precision * theta
        return loss.value(mean) + 0.5 * self.precision * float(theta @ theta), gradient

    @property
    def n_observations(self) -> int:
        """The number of reports."""
        return self.evidence.n_observations

    @property
    def raw_tables(self) -> tuple[FloatArray, FloatArray]:
        """The unbiased cells of all measured tables and their errors, shape (m,) each."""
        return self.evidence.statistics, self.evidence.standard_errors

    def parameters(self) -> int:
        """How many numbers decide the distribution."""
        return free_parameters(self.measured.field)

    # -- starting --------------------------------------------------------------------------------------------------

    def start(self) -> FieldOptimum:
        """Near the optimum: what has the measured tables where that is plain to see, else the ridge's."""
        theta = self._plain_start()
        return self.ridge(1.0) if theta is None else FieldOptimum(theta, True, 0)

    def _plain_start(self) -> FloatArray | None:
        """θ = log p(residual | separator), where every table of the junction tree is a clique that was measured.

        The field then has the measured tables, as far as they agree, but that cells below their noise are lifted to it.
        """
        field, theta = self.measured.field, np.zeros(self.dimension)
        seen = {frozenset(clique): number for number, clique in enumerate(self.evidence.cliques)}
        own = {frozenset(clique): number for number, clique in enumerate(field.cliques)}
        ends = [0, *accumulate(math.prod(field.sizes[v] for v in clique) for clique in self.evidence.cliques)]
        for table in field.tree.tables:
            group = frozenset(table.variables)
            if group not in seen or group not in own:
                return None
            clique, part = self.evidence.cliques[seen[group]], slice(ends[seen[group]], ends[seen[group] + 1])
            noise = math.sqrt(float(np.mean(self.evidence.standard_errors[part] ** 2)))
            shares = np.maximum(self.evidence.statistics[part], max(noise, 1e-12))
            shaped = shares.reshape([field.sizes[v] for v in clique])
            summed = shaped.sum(axis=tuple(clique.index(v) for v in table.residual), keepdims=True)
            conditional = np.log(shaped / summed).transpose([clique.index(v) for v in field.cliques[own[group]]])
            theta[field.offsets[own[group]] : field.offsets[own[group] + 1]] = conditional.ravel()
        return theta

    def ridge(self, tolerance: float) -> FieldOptimum:
        """Least A(θ) − μ̂ᵀθ + ½ λ‖θ‖², every table weighed alike; the tolerance is in deviations of the noise."""
        measured, evidence = self.measured, self.evidence
        noise = math.sqrt(float(np.mean(evidence.standard_errors**2)))
        ridge = max(_RIDGE * noise / self.prior_scale, 1e-12)
        target = measured.own_statistics(evidence.statistics)
        # Parameters of tables that nobody has measured stay at 0.
        free = np.flatnonzero(np.isfinite(target))
        target = np.where(np.isfinite(target), target, 0.0)
        root = self._root_at_zero(free, ridge)

        def theta_of(z: FloatArray) -> FloatArray:
            theta = np.zeros(self.dimension)
            theta[free] = _times(root.T, z)
            return theta

        def value_and_gradient(z: FloatArray) -> tuple[float, FloatArray]:
            theta = theta_of(z)
            gradient = (measured.own_mean(theta) - target + ridge * theta)[free]
            value = measured.log_partition(theta) - float(target @ theta) + 0.5 * ridge * float(theta @ theta)
            return value, _times(root, gradient)

        end = minimise(value_and_gradient, np.zeros(len(free)), flat=tolerance * noise, max_iterations=500)
        return FieldOptimum(theta_of(end.point), end.slope <= 10 * tolerance * noise, end.evaluations)

    def _root_at_zero(self, free: IntArray, ridge: float) -> FloatArray:
        """R with RᵀR = the inverse curvature at θ = 0, where it is cheap to have; elsewhere 1."""
        if self.dimension * self.measured.cells > _CHEAP:
            return np.ones(())
        curvature = self.measured.own_information(np.zeros(self.dimension))[np.ix_(free, free)]
        curvature.flat[:: len(free) + 1] += ridge
        return inverse_root(curvature)

    # -- solving ---------------------------------------------------------------------------------------------------

    def fitted(self, method: FieldMethod) -> tuple[FieldOptimum, ReportLoss | None]:
        """Where a method ends, and the likelihood of the reports if it has used it."""
        if method == "ridge":
            return self.ridge(ARRIVED), None
        start = self.start()
        if method == "moments":
            return self.solve(start, None), None
        loss = self.likelihood()
        return (self.step(loss, self.solve(start, None)) if method == "one-step" else self.solve(start, loss)), loss

    def log_likelihood(self, loss: ReportLoss, theta: FloatArray) -> float:
        """Σ log P(o) over the reports."""
        return -loss.value(self.measured.mean(theta))

    def solve(self, start: FieldOptimum, likelihood: TableLoss | None) -> FieldOptimum:
        """The posterior mode, by L-BFGS in coordinates in which the posterior is about a unit sphere.

        Without a loss it is the Gaussian one, whose weights are those at the start in the first round, and then those
        at what the first round found.
        """
        theta, evaluations, root, settled = start.theta, start.evaluations, None, likelihood is not None
        for _ in range(_ROUNDS):
            loss = likelihood if likelihood is not None else self.gaussian(theta)
            if root is None:
                root = self._root(loss, theta)
            # Weights at the start are a guess, and so may be what they lead to.
            arrived = ARRIVED if settled else 3 * ARRIVED
            theta, steps, slope = self._round(loss, theta, root, arrived)
            evaluations += steps
            if slope > arrived:
                root = None  # the sphere was no good guide any more
                continue
            if settled:
                return FieldOptimum(theta, True, evaluations)
            settled = True
        return FieldOptimum(theta, False, evaluations)

    def _round(
        self, loss: TableLoss, origin: FloatArray, root: FloatArray, arrived: float
    ) -> tuple[FloatArray, int, float]:
        def value_and_gradient(z: FloatArray) -> tuple[float, FloatArray]:
            value, gradient = self.value_and_gradient(loss, origin + _times(root.T, z))
            return value, _times(root, gradient)

        end = minimise(value_and_gradient, np.zeros(self.dimension), flat=arrived, max_iterations=_STEPS)
        return origin + _times(root.T, end.point), end.evaluations, end.slope

    def _root(self, loss: TableLoss, theta: FloatArray) -> FloatArray:
        """R with RᵀR = H⁻¹, shape (d, d); of large fields a number, by a guess."""
        if not self.dense:
            return np.asarray(1 / math.sqrt(self.precision + self.evidence.n_observations))
        return inverse_root(self.hessian(loss, theta, self.measured.jacobian(theta)))

    def step(self, loss: TableLoss, start: FieldOptimum) -> FieldOptimum:
        """One scoring step from the start, halved until the posterior rises."""
        theta, root = start.theta, self._root(loss, start.theta)
        value, gradient = self.value_and_gradient(loss, theta)
        direction, share = -_times(root.T, _times(root, gradient)), 1.0
        while self.value(loss, theta + share * direction) > value and share > 1e-6:
            share /= 2
        return FieldOptimum(theta + share * direction, share > 1e-6, start.evaluations + 1)

    def posterior(self, theta: FloatArray, loss: TableLoss | None) -> FieldPosterior:
        """H⁻¹, and what it says about the part of the prior."""
        gaussian, slopes, mean = self.gaussian(theta), self.measured.jacobian(theta), self.measured.mean(theta)
        values, vectors = np.linalg.eigh(self.hessian(loss or gaussian, theta, slopes))
        values = np.maximum(values, max(self.precision, 1e-14 * float(values[-1])))
        covariance = np.asarray((vectors / values) @ vectors.T)
        informed = np.maximum(values - self.precision, 0)
        effective = float(np.sum(informed / values))
        errors = np.sqrt(np.sum((slopes @ vectors / np.sqrt(values)) ** 2, axis=1))
        shift = np.abs(slopes @ (covariance @ (self.precision * theta)))
        pull = float(np.max(shift[errors > 0] / errors[errors > 0], initial=0.0))
        freedom = max(gaussian.curvature(mean).rank() - effective, 0.0)
        return FieldPosterior(covariance, informed, effective, 2 * gaussian.value(mean), freedom, pull)


def _times(matrix: FloatArray, vector: FloatArray) -> FloatArray:
    """The product with a matrix or number, by this thread alone: BLAS would call others, and wait for busy ones."""
    return np.asarray(np.einsum("ij,j->i", matrix, vector) if matrix.ndim else matrix * vector)
