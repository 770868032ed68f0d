"""Fitting a random field to noised tables, so that noise does not make it explode."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args, overload

import numpy as np

from askance._arrays import FloatArray, IntArray
from askance._checks import did_you_mean, shown
from askance.channels.statistics.reports import Reports
from askance.errors import ConvergenceWarning, InputError, RepairWarning
from askance.estimation.field_descent import descend, inverse_root
from askance.estimation.field_evidence import NoisyTables, TableEvidence, read_evidence
from askance.estimation.field_fit import FieldDiagnostics, FieldFit, enough_reports
from askance.estimation.field_likelihood import GaussianLoss, ReportLoss, TableLoss
from askance.estimation.field_tables import MOST_PARAMETERS, MeasuredField, free_parameters
from askance.evidence.field_responses import FieldResponses
from askance.evidence.statistics_tally import StatisticsTally
from askance.models.random_field import RandomField
from askance.models.tree_inference import matrix_product

if TYPE_CHECKING:
    from askance.estimation.conditional_field_fit import ConditionalFieldFit

FieldMethod: TypeAlias = Literal["moments", "ridge", "one-step", "marginal"]

#: Standard deviation of the prior on every cell of every table of parameters, in log-odds.
FIELD_PRIOR_SCALE = 1.0
# The ridge of matching alone is this many times the deviation of the noise, over the prior's.
_RIDGE = 0.5
# Up to so many parameters times cells of the junction tree, a matrix of curvatures costs less than what it saves.
_CHEAP = 1 << 20
# How often the solver looks at the curvature anew, and its steps in between.
_ROUNDS, _STEPS = 20, 60
# Where a gradient is below this many posterior standard deviations, the solver has arrived.
_ARRIVED = 0.01
# Below this share of determined parameters, the reports say next to nothing.
_SCARCE = 0.1


@overload
def estimate_field(
    field: RandomField,
    evidence: StatisticsTally | Reports | NoisyTables,
    method: FieldMethod | None = None,
    *,
    prior_scale: float = FIELD_PRIOR_SCALE,
    covariance: bool = True,
) -> FieldFit: ...


@overload
def estimate_field(
    field: RandomField,
    evidence: FieldResponses,
    method: FieldMethod | None = None,
    *,
    prior_scale: float = FIELD_PRIOR_SCALE,
    covariance: bool = True,
) -> ConditionalFieldFit: ...


def estimate_field(
    field: RandomField,
    evidence: StatisticsTally | Reports | NoisyTables | FieldResponses,
    method: FieldMethod | None = None,
    *,
    prior_scale: float = FIELD_PRIOR_SCALE,
    covariance: bool = True,
) -> FieldFit | ConditionalFieldFit:
    """Fit a random field to reports about tables of its variables.

    Debiased tables have negative cells and contradict each other, so that no field has them; fitting them exactly
    drives θ to infinity. Here θ has the prior N(0, prior_scale²), weak unless there are few reports, and the tables are
    weighed by their known noise:

    - "moments": least ½ rᵀC⁺r + ½ ‖θ‖²/prior_scale², r = μ̂ − μ(θ), with C the covariance of μ̂ at the fitted field;
    - "ridge": least A(θ) − μ̂ᵀθ + ½ λ‖θ‖², with λ from the size of the noise: convex, quicker, somewhat less precise;
    - "marginal": most probable θ by the likelihood of the reports themselves (clique release);
    - "one-step": one safeguarded step from "moments" towards it.

    The likelihood needs `Reports`, but where all subsets have one cell (large levels, small tables) sums will do.

    A field with public covariates, p_θ(y | x), takes `FieldResponses`: reports with the x of who gave them. All methods
    but "ridge" are as above, with moments β(x, o) = (debiased table, x ⊗ debiased indicators of every variable) less
    what the field expects of the same respondents. "marginal" is then the default: it costs the same, and is the more
    precise.

    Args:
        field: what to fit.
        evidence: reports through `CliqueRelease` for any cliques of the field's variables, or of the cells of the
            field's cliques through `PerValue` or `CoordinateRelease`, or their sums, or `NoisyTables`; with covariates
            `FieldResponses`.
        method: as above; default "moments", with covariates "marginal".
        prior_scale: standard deviation of the prior, in log-odds (of covariates: per standard deviation); infinite for
            none.
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
    if method is None:
        method = "marginal" if isinstance(evidence, FieldResponses) else "moments"
    _check(field, evidence, method, prior_scale)
    if isinstance(evidence, FieldResponses):
        from askance.estimation.conditional_field import estimate_conditional_field

        return estimate_conditional_field(field, evidence, method, prior_scale, covariance)
    seen = read_evidence(field, evidence)
    measured = MeasuredField(field, seen.cliques)
    problem = _Problem(measured, seen, prior_scale, field.dimension <= MOST_PARAMETERS)
    start = problem.ridge(_ARRIVED) if method == "ridge" else problem.start()
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


def _check(field: object, evidence: object, method: object, prior_scale: object) -> None:
    if not isinstance(field, RandomField):
        raise InputError(
            f"field is {shown(field)}; allowed: a RandomField.",
            remedy="Give the field first, then the evidence: estimate_field(field, tally).",
        )
    with_covariates = isinstance(evidence, FieldResponses)
    if field.terms and not with_covariates:
        raise InputError(
            f"the field has covariates ({shown(list(field.terms))}), the evidence has none: {shown(evidence)}.",
            remedy="Give reports with their covariates: FieldResponses(channel).add(x, reports).",
        )
    if with_covariates and not field.terms:
        raise InputError(
            "the evidence has covariates, the field has none.",
            remedy="Build the field with covariates=…, or give the Reports alone.",
        )
    known = tuple(each for each in get_args(FieldMethod) if each != "ridge" or not with_covariates)
    if method not in known:
        raise InputError(
            f"method is {shown(method)}; allowed with a field: {', '.join(known)}.",
            remedy=did_you_mean(method, known, "Leave it out for the default."),
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

    # -- starting --------------------------------------------------------------------------------------------------

    def start(self) -> _Found:
        """Near the optimum: what has the measured tables where that is plain to see, else the ridge's."""
        theta = self._plain_start()
        return self.ridge(1.0) if theta is None else _Found(theta, True, 0)

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
            given = np.log(shaped / summed).transpose([clique.index(v) for v in field.cliques[own[group]]])
            theta[field.offsets[own[group]] : field.offsets[own[group] + 1]] = given.ravel()
        return theta

    def ridge(self, tolerance: float) -> _Found:
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

        found = descend(value_and_gradient, np.zeros(len(free)), tolerance * noise, 500)
        return _Found(theta_of(found.point), found.slope <= 10 * tolerance * noise, found.evaluations)

    def _root_at_zero(self, free: IntArray, ridge: float) -> FloatArray:
        """R with RᵀR = the inverse curvature at θ = 0, where it is cheap to have; elsewhere 1."""
        if self.dimension * self.measured.cells > _CHEAP:
            return np.ones(())
        curvature = self.measured.own_information(np.zeros(self.dimension))[np.ix_(free, free)]
        curvature.flat[:: len(free) + 1] += ridge
        return inverse_root(curvature)

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
            # Weights at the start are a guess, and so may be what they lead to.
            arrived = _ARRIVED if settled else 3 * _ARRIVED
            theta, steps, slope = self._round(loss, theta, root, arrived)
            evaluations += steps
            if slope > arrived:
                root = None  # the sphere was no good guide any more
                continue
            if settled:
                return _Found(theta, True, evaluations)
            settled = True
        return _Found(theta, False, evaluations)

    def _round(
        self, loss: TableLoss, origin: FloatArray, root: FloatArray, arrived: float
    ) -> tuple[FloatArray, int, float]:
        def value_and_gradient(z: FloatArray) -> tuple[float, FloatArray]:
            value, gradient = self.value_and_gradient(loss, origin + _times(root.T, z))
            return value, _times(root, gradient)

        found = descend(value_and_gradient, np.zeros(self.dimension), arrived, _STEPS)
        return origin + _times(root.T, found.point), found.evaluations, found.slope

    def _root(self, loss: TableLoss, theta: FloatArray) -> FloatArray:
        """R with RᵀR = H⁻¹, shape (d, d); of large fields a number, by a guess."""
        if not self.dense:
            return np.asarray(1 / math.sqrt(self.precision + self.evidence.n_observations))
        return inverse_root(self.hessian(loss, theta, self.measured.jacobian(theta)))

    def step(self, loss: TableLoss, start: _Found) -> _Found:
        """One scoring step from the start, halved until the posterior rises."""
        theta, root = start.theta, self._root(loss, start.theta)
        value, gradient = self.value_and_gradient(loss, theta)
        direction, share = -_times(root.T, _times(root, gradient)), 1.0
        while self.value(loss, theta + share * direction) > value and share > 1e-6:
            share /= 2
        return _Found(theta + share * direction, share > 1e-6, start.evaluations + 1)


def _times(matrix: FloatArray, vector: FloatArray) -> FloatArray:
    """The product with a matrix or number, by this thread alone: BLAS would call others, and wait for busy ones."""
    return np.asarray(np.einsum("ij,j->i", matrix, vector) if matrix.ndim else matrix * vector)


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
    fit = FieldFit(
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
    if problem.measured.whole is field:  # the solver ended with them; the field would plan its sums anew
        vars(fit)["statistics"] = problem.measured.own_mean(theta)
    return fit


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
        enough_reports=enough_reports(informed, problem.precision, before.parameters, evidence.n_observations),
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
