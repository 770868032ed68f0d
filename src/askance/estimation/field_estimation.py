"""Fitting a random field to noised tables, so that noise does not make it explode."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from askance._arrays import FloatArray, IntArray
from askance._checks import did_you_mean, shown
from askance.channels.statistics.reports import Reports
from askance.errors import ConvergenceWarning, InputError, RepairWarning
from askance.estimation.field_descent import descend
from askance.estimation.field_evidence import NoisyTables, TableEvidence, read_evidence
from askance.estimation.field_fit import FieldDiagnostics, FieldFit
from askance.estimation.field_likelihood import GaussianLoss, ReportLoss, TableLoss
from askance.estimation.field_tables import MeasuredField, free_parameters
from askance.evidence.statistics_tally import StatisticsTally
from askance.models.random_field import RandomField

FieldMethod: TypeAlias = Literal["moments", "ridge", "one-step", "marginal"]

#: Standard deviation of the prior on every cell of every table of parameters, in log-odds.
FIELD_PRIOR_SCALE = 1.0
# The ridge of matching alone is this many times the deviation of the noise, over the prior's.
_RIDGE = 0.5
# No matrix of parameters is made beyond this many of them: the solver does without, and there are no intervals.
_MOST_PARAMETERS = 4000
# Up to so many parameters times cells of the junction tree, a matrix of curvatures costs less than what it saves.
_CHEAP = 1 << 20
# How often the solver looks at the curvature anew, and its steps in between.
_ROUNDS, _STEPS = 20, 60
# Where a gradient is below this many posterior standard deviations, the solver has arrived.
_ARRIVED = 0.01
# Below this share of determined parameters, the reports say next to nothing.
_SCARCE = 0.1


def estimate_field(
    field: RandomField,
    evidence: StatisticsTally | Reports | NoisyTables,
    method: FieldMethod = "moments",
    *,
    prior_scale: float = FIELD_PRIOR_SCALE,
    covariance: bool = True,
) -> FieldFit:
    """Fit a random field to reports about tables of its variables.

    Debiased tables have negative cells and contradict each other, so that no field has them; fitting them exactly
    drives θ to infinity. Here θ has the prior N(0, prior_scale²), weak unless there are few reports, and the tables are
    weighed by their known noise:

    - "moments": least ½ rᵀC⁺r + ½ ‖θ‖²/prior_scale², r = μ̂ − μ(θ), with C the covariance of μ̂ at the fitted field;
    - "ridge": least A(θ) − μ̂ᵀθ + ½ λ‖θ‖², with λ from the size of the noise: convex, quicker, somewhat less precise;
    - "marginal": most probable θ by the likelihood of the reports themselves (clique release);
    - "one-step": one safeguarded step from "moments" towards it.

    The likelihood needs `Reports`, but where all subsets have one cell (large levels, small tables) sums will do.

    Args:
        field: what to fit; without covariates.
        evidence: reports through `CliqueRelease` for any cliques of the field's variables, or of the cells of the
            field's cliques through `PerValue` or `CoordinateRelease`, or their sums, or `NoisyTables`.
        method: as above.
        prior_scale: standard deviation of the prior, in log-odds; infinite for none.
        covariance: whether to work out intervals and diagnostics; needs matrices (d, d).

    >>> from askance import CliqueRelease
    >>> field = RandomField({"smokes": ["no", "yes"], "ill": ["no", "yes"]}, [["smokes", "ill"]])
    >>> channel = CliqueRelease(field.sizes, field.cliques, 2)
    >>> records = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [5000, 1000, 2000, 2000], axis=0)
    >>> tally = StatisticsTally(channel).add(channel.simulate(records, np.random.default_rng(2)))
    >>> fit = estimate_field(field, tally)
    >>> fit.marginal(["smokes", "ill"]).estimate.round(2), fit.diagnostics.repaired
    (array([[0.5, 0.1],
           [0.2, 0.2]]), False)
    """
    _check(field, method, prior_scale)
    seen = read_evidence(field, evidence)
    measured = MeasuredField(field, seen.cliques)
    problem = _Problem(measured, seen, prior_scale, field.dimension <= _MOST_PARAMETERS)
    start = problem.ridge(_ARRIVED if method == "ridge" else 0.5)
    loss: TableLoss | None = None
    if method in ("one-step", "marginal"):
        loss = _likelihood(evidence)
    if method == "ridge":
        found = start
    elif method == "one-step":
        assert loss is not None
        found = problem.step(loss, problem.solve(start, None))
    else:
        found = problem.solve(start, loss)
    if not found.converged:
        warnings.warn(f"{method}: the fit of the field did not converge.", ConvergenceWarning, stacklevel=2)
    return _fit(problem, found, method, loss, covariance)


def _likelihood(evidence: StatisticsTally | Reports | NoisyTables) -> ReportLoss:
    if isinstance(evidence, Reports):
        return ReportLoss.of_reports(evidence)
    if isinstance(evidence, StatisticsTally):
        return ReportLoss.of_sums(evidence)
    raise InputError("tables have no likelihood of reports.", remedy="Leave the method out, or take 'ridge'.")


def _check(field: object, method: object, prior_scale: object) -> None:
    if not isinstance(field, RandomField):
        raise InputError(
            f"field is {shown(field)}; allowed: a RandomField.",
            remedy="Give the field first, then the evidence: estimate_field(field, tally).",
        )
    if field.terms:
        raise InputError(
            f"the field has covariates ({shown(list(field.terms))}); allowed: none.",
            remedy="Fit one field for every group of respondents, or add the covariates to the variables.",
        )
    known = get_args(FieldMethod)
    if method not in known:
        raise InputError(
            f"method is {shown(method)}; allowed with a field: {', '.join(known)}.",
            remedy=did_you_mean(method, known, "Leave it out for the default, moments."),
        )
    if isinstance(prior_scale, bool) or not isinstance(prior_scale, (int, float)) or not prior_scale > 0:
        raise InputError(
            f"prior_scale is {shown(prior_scale)}; allowed: above 0.", remedy="Leave it out: 1 suits most fields."
        )


@dataclass(frozen=True)
class _Found:
    """Where the solver ended, and what it cost."""

    theta: FloatArray
    converged: bool
    evaluations: int


class _Problem:
    """Field, evidence and prior."""

    def __init__(self, measured: MeasuredField, evidence: TableEvidence, prior_scale: float, dense: bool) -> None:
        self.measured, self.evidence, self.dense = measured, evidence, dense
        self.prior_scale, self.precision = prior_scale, 1 / prior_scale**2
        self.dimension = measured.field.dimension

    def gaussian(self, theta: FloatArray) -> GaussianLoss:
        """The loss of the debiased tables, with the noise they have near θ."""
        measured = self.measured
        weights = self.evidence.precision(measured.mean(theta), lambda: measured.covariance(theta))
        return GaussianLoss(self.evidence.statistics, weights)

    def hessian(self, loss: TableLoss, theta: FloatArray, slopes: FloatArray) -> FloatArray:
        """Jᵀ∇²g J + Λ: the curvature, but for what vanishes with the residual; shape (d, d)."""
        curvature = loss.curvature(self.measured.mean(theta))
        matrix = np.asarray(slopes.T @ (curvature @ slopes))
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

    # -- starting --------------------------------------------------------------------------------------------------

    def ridge(self, tolerance: float) -> _Found:
        """Least A(θ) − μ̂ᵀθ + ½ λ‖θ‖², every table weighed alike; the tolerance is in deviations of the noise."""
        measured, evidence = self.measured, self.evidence
        noise = math.sqrt(float(np.mean(evidence.standard_errors**2)))
        ridge = max(_RIDGE * noise / self.prior_scale, 1e-12)
        cells = np.zeros(measured.whole.dimension)
        cells[measured.index] = evidence.statistics
        target = cells[: self.dimension]
        # Parameters of tables that nobody has measured stay at 0.
        free = np.flatnonzero(np.isin(np.arange(self.dimension), measured.index))
        spread = self._spread_at_zero(free, ridge)

        def value_and_gradient(z: FloatArray) -> tuple[float, FloatArray]:
            theta = np.zeros(self.dimension)
            theta[free] = spread(z)
            gradient = measured.own_mean(theta) - target + ridge * theta
            value = measured.log_partition(theta) - float(target @ theta) + 0.5 * ridge * float(theta @ theta)
            return value, spread(gradient[free])

        found = descend(value_and_gradient, np.zeros(len(free)), tolerance * noise, 500)
        theta = np.zeros(self.dimension)
        theta[free] = spread(found.point)
        return _Found(theta, found.slope <= 10 * tolerance * noise, found.evaluations)

    def _spread_at_zero(self, free: IntArray, ridge: float) -> Callable[[FloatArray], FloatArray]:
        """The root of the inverse curvature at θ = 0, where it is cheap to have; elsewhere the identity."""
        if self.dimension * self.measured.cells > _CHEAP:
            return lambda z: z
        information = self.measured.own_information(np.zeros(self.dimension))[np.ix_(free, free)]
        values, vectors = np.linalg.eigh(information)
        root = np.asarray((vectors / np.sqrt(np.maximum(values, 0) + ridge)) @ vectors.T)
        return lambda z: _times(root, z)

    # -- solving ---------------------------------------------------------------------------------------------------

    def solve(self, start: _Found, given: TableLoss | None) -> _Found:
        """The posterior mode, by L-BFGS in coordinates in which the posterior is about a unit sphere.

        Without a loss it is the Gaussian one, whose weights are those at the start in the first round, and then those
        at what the first round found.
        """
        theta, evaluations, root, settled = start.theta, start.evaluations, None, given is not None
        for _ in range(_ROUNDS):
            loss = given if given is not None else self.gaussian(theta)
            if root is None:
                root = self._root(loss, theta)
            theta, steps, slope = self._round(loss, theta, root)
            evaluations += steps
            if slope > _ARRIVED:
                root = None  # the sphere was no good guide any more
                continue
            if settled:
                return _Found(theta, True, evaluations)
            settled = True
        return _Found(theta, False, evaluations)

    def _round(self, loss: TableLoss, origin: FloatArray, root: FloatArray) -> tuple[FloatArray, int, float]:
        def value_and_gradient(z: FloatArray) -> tuple[float, FloatArray]:
            value, gradient = self.value_and_gradient(loss, origin + _times(root.T, z))
            return value, _times(root, gradient)

        found = descend(value_and_gradient, np.zeros(len(root)), _ARRIVED, _STEPS)
        return origin + _times(root.T, found.point), found.evaluations, found.slope

    def _root(self, loss: TableLoss, theta: FloatArray) -> FloatArray:
        """R with RᵀR = H⁻¹, shape (d, d); of large fields a multiple of the identity, by a guess."""
        if not self.dense:
            return np.eye(self.dimension) / math.sqrt(self.precision + self.evidence.n_observations)
        hessian = self.hessian(loss, theta, self.measured.jacobian(theta))
        try:
            return np.asarray(np.linalg.inv(np.linalg.cholesky(hessian)))
        except np.linalg.LinAlgError:  # singular to all digits: without a prior, or without noise
            values, vectors = np.linalg.eigh(hessian)
            return np.asarray((vectors / np.sqrt(np.maximum(values, 1e-14 * values[-1]))).T)

    def step(self, loss: TableLoss, start: _Found) -> _Found:
        """One scoring step from the start, halved until the posterior rises."""
        theta, root = start.theta, self._root(loss, start.theta)
        value, gradient = self.value_and_gradient(loss, theta)
        direction, share = -(root @ gradient) @ root, 1.0
        while self.value(loss, theta + share * direction) > value and share > 1e-6:
            share /= 2
        return _Found(theta + share * direction, share > 1e-6, start.evaluations + 1)


def _times(matrix: FloatArray, vector: FloatArray) -> FloatArray:
    """The product, by this thread alone: BLAS would call others for it, and wait for them where they are busy."""
    return np.asarray(np.einsum("ij,j->i", matrix, vector))


# -- what is known of the result ---------------------------------------------------------------------------------------


def _fit(problem: _Problem, found: _Found, method: str, loss: TableLoss | None, wanted: bool) -> FieldFit:
    field, evidence, theta = problem.measured.field, problem.evidence, found.theta
    likelihood = -loss.value(problem.measured.mean(theta)) if isinstance(loss, ReportLoss) else -math.inf
    covariance = np.broadcast_to(np.float64(np.nan), (field.dimension, field.dimension))  # no memory behind it
    diagnostics = FieldDiagnostics(
        negative_cells=int(np.count_nonzero((evidence.statistics < 0) | (evidence.statistics > 1))),
        parameters=free_parameters(field),
        iterations=found.evaluations,
    )
    if wanted and problem.dense:
        covariance, diagnostics = _posterior(problem, theta, loss, diagnostics)
    return FieldFit(
        field=field,
        theta=theta,
        covariance=covariance,
        method=method,
        prior_scale=problem.prior_scale,
        n_observations=evidence.n_observations,
        converged=found.converged,
        log_likelihood=likelihood,
        measured=tuple(tuple(field.variables[v] for v in clique) for clique in evidence.cliques),
        raw_statistics=evidence.statistics,
        raw_standard_errors=evidence.standard_errors,
        channel=evidence.channel,
        privacy_level=evidence.privacy_level,
        diagnostics=diagnostics,
    )


def _posterior(
    problem: _Problem, theta: FloatArray, loss: TableLoss | None, before: FieldDiagnostics
) -> tuple[FloatArray, FieldDiagnostics]:
    """H⁻¹, and what it says about the part of the prior."""
    from scipy.special import chdtrc

    measured, evidence = problem.measured, problem.evidence
    gaussian, slopes = problem.gaussian(theta), measured.jacobian(theta)
    mean = measured.mean(theta)
    values, vectors = np.linalg.eigh(problem.hessian(loss or gaussian, theta, slopes))
    values = np.maximum(values, max(problem.precision, 1e-14 * float(values[-1])))
    covariance = np.asarray((vectors / values) @ vectors.T)
    informed = np.maximum(values - problem.precision, 0)  # what the reports add to the prior's precision
    effective = float(np.sum(informed / values))
    scaled = slopes @ vectors / np.sqrt(values)
    errors = np.sqrt(np.sum(scaled**2, axis=1))
    shift = np.abs(slopes @ (covariance @ (problem.precision * theta)))
    distance = 2 * gaussian.value(mean)
    freedom = max(gaussian.curvature(mean).rank() - effective, 0.0)
    diagnostics = FieldDiagnostics(
        negative_cells=before.negative_cells,
        distance=distance,
        degrees_of_freedom=freedom,
        p_value=float(chdtrc(freedom, distance)) if freedom >= 0.5 else 1.0,
        parameters=before.parameters,
        effective_parameters=effective,
        prior_pull=float(np.max(shift[errors > 0] / errors[errors > 0], initial=0.0)),
        enough_reports=_enough(informed, problem.precision, before.parameters, evidence.n_observations),
        iterations=before.iterations,
    )
    if effective < _SCARCE * before.parameters:
        warnings.warn(
            f"{evidence.n_observations:,} reports say next to nothing about this field: {effective:.1f} of its "
            f"{before.parameters} parameters are determined by them, the others by the prior; about "
            f"{diagnostics.enough_reports:,} reports would determine half of them.",
            RepairWarning,
            stacklevel=4,
        )
    return covariance, diagnostics


def _enough(informed: FloatArray, precision: float, parameters: int, n: int) -> int:
    """The number of reports at which half of the parameters are determined: precision grows in proportion to it."""
    low, high = -20.0, 60.0
    for _ in range(60):
        middle = (low + high) / 2
        precise = 2.0**middle * informed
        share = float(np.sum(precise / (precise + max(precision, 1e-300))))
        low, high = (low, middle) if share >= parameters / 2 else (middle, high)
    return int(min(math.ceil(n * 2.0**high), 1 << 62))
