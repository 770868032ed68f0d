"""Fitting a random field with public covariates to noised tables: p_θ(y | x) with x open and y private."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from askance._arrays import FloatArray
from askance._checks import shown
from askance.channels.statistics.clique_release import CliqueRelease
from askance.errors import (
    ConvergenceWarning,
    IncompatibleEvidenceError,
    InputError,
    NotIdentifiedError,
    RepairWarning,
    ShapeError,
)
from askance.estimation.problems.conditional_losses import FieldMoments, MomentLoss, RowLoss, ScoreLoss
from askance.estimation.problems.field_design import CONSTANT, CliqueRows, FieldDesign, rows_by_clique
from askance.estimation.problems.field_tables import free_parameters
from askance.estimation.problems.tilted_field import TiltedField
from askance.estimation.results.conditional_field_fit import ConditionalFieldFit
from askance.estimation.results.field_fit import FieldDiagnostics, enough_reports
from askance.estimation.solvers.field_descent import descend
from askance.evidence.responses import FieldResponses
from askance.models.covariate_sizes import require_size
from askance.models.random_field import RandomField

# Matrices (d, d) are made; beyond this many parameters a fit takes too long.
_MOST_PARAMETERS = 2000
# The solver begins with, and takes the curvature from, at most so many rows per clique; intervals take all of them.
_GUIDING_ROWS = 500
# How often the solver looks at the curvature anew, and its steps in between: curvature from few rows costs no more than
# a step.
_ROUNDS, _STEPS = 50, 4
# Where a gradient is below this many posterior standard deviations, the solver has arrived; or is near.
_ARRIVED, _NEAR = 0.01, 0.5
# Eigenvalues of a curvature below this share of the largest are 0.
_ROUNDING = 1e-12
# Below this share of determined parameters, the reports say next to nothing.
_SCARCE = 0.1


def estimate_conditional_field(
    field: RandomField, evidence: FieldResponses, method: str, prior_scale: float, covariance: bool
) -> ConditionalFieldFit:
    """Fit a field with covariates; see `estimate_field`, which checks method and prior.

    "moments" minimises ½ Σ_c r_cᵀC_c⁺r_c + ½ ‖η‖²/prior_scale² over parameters η of standardised covariates (see
    `conditional_losses` for r, `field_design` for η). Convex matching of averages, A − μ̂ᵀθ + ½ λ‖θ‖², was the
    alternative; it weighs the cliques that hold a variable by one number each, and takes the x of all respondents
    for those of a clique's. The Gaussian likelihood of r weighs every moment by its noise, and its λ is known: effects
    of covariates had errors of 0.050 instead of 0.060 at level 3 (simulated trees of four variables, 20,000 reports),
    and 0.20 either way at level 1, where the prior decides. "marginal" had 0.039 and 0.14: under much noise, those
    whose x leaves little open tell little, and only the likelihood gives them less weight.
    """
    problem = _read(field, evidence, prior_scale)
    found = problem.moments(_NEAR if method == "marginal" else _ARRIVED)
    scores: ScoreLoss | None = None
    if method != "moments":
        scores = ScoreLoss(problem.tilted, problem.rows)
        found = problem.step(scores, found) if method == "one-step" else problem.solve(scores, found)
    if not found.converged:
        warnings.warn(f"{method}: the fit of the field did not converge.", ConvergenceWarning, stacklevel=3)
    return _fit(problem, found, method, scores, covariance)


def _read(field: RandomField, evidence: FieldResponses, prior_scale: float) -> _Problem:
    channel = evidence.channel
    if channel.tables.sizes != field.sizes:
        raise IncompatibleEvidenceError(
            f"the field has variables of {shown(list(field.sizes))} values, the channel of "
            f"{shown(list(channel.tables.sizes))}.",
            remedy="Build both from the same variables, in the same order.",
        )
    measured = {v for clique in channel.tables.cliques for v in clique}
    missing = [name for v, name in enumerate(field.variables) if v not in measured]
    if missing:
        raise NotIdentifiedError(
            f"no clique of the channel has {shown(missing[0])}: nothing is known of its covariates' effects.",
            remedy="Collect with a clique that has it, or leave the variable out of the field.",
        )
    x, reports = evidence.joined()
    if x.shape[1] != len(field.terms):
        raise ShapeError(
            f"x has {x.shape[1]} columns; allowed: {len(field.terms)}, one for each of {', '.join(field.terms)}.",
            remedy="Give one column per covariate of the field, in this order.",
        )
    if evidence.terms is not None and evidence.terms != tuple(field.terms):
        if set(evidence.terms) != set(field.terms):
            raise ShapeError(
                f"x has the columns {shown(list(evidence.terms))}; allowed: {shown(list(field.terms))}.",
                remedy="Give the covariates of the field.",
            )
        x = x[:, [evidence.terms.index(name) for name in field.terms]]
    if field.dimension > _MOST_PARAMETERS:
        raise InputError(
            f"the field has {field.dimension:,} parameters; allowed with covariates: at most {_MOST_PARAMETERS:,}.",
            remedy="Take fewer covariates or cliques, or coarser categories.",
        )
    _require_varying(field, x)
    design = FieldDesign.of(field, x)
    rows = rows_by_clique(channel, design, x, reports)
    return _Problem(field, channel, design, rows, x, prior_scale)


@dataclass(frozen=True)
class _Found:
    """Where the solver ended, and what it cost; η belongs to standardised covariates."""

    eta: FloatArray
    converged: bool
    evaluations: int


class _Problem:
    """Field, reports and prior, in standardised covariates."""

    def __init__(
        self,
        field: RandomField,
        channel: CliqueRelease,
        design: FieldDesign,
        rows: list[CliqueRows],
        x: FloatArray,
        prior_scale: float,
    ) -> None:
        self.field, self.channel, self.design, self.rows, self.x = field, channel, design, rows, x
        self.prior_scale, self.precision = prior_scale, 1 / prior_scale**2
        self.tilted = TiltedField(field, channel.tables.cliques)
        self.field_moments = FieldMoments(self.tilted, rows, channel.tables.shapes)

    @property
    def n_observations(self) -> int:
        """The number of reports."""
        return len(self.x)

    def moments(self, tolerance: float = _ARRIVED) -> _Found:
        """The mode of a few rows; about that of all, with the noise there; that of all, with the noise there."""
        found = _Found(np.zeros(self.field.dimension), True, 0)
        few = FieldMoments(self.tilted, [own.thinned(_GUIDING_ROWS) for own in self.rows], self.channel.tables.shapes)
        for moments, each in ((few, _NEAR), (self.field_moments, _NEAR), (self.field_moments, tolerance)):
            found = self.solve(MomentLoss(moments, found.eta, _GUIDING_ROWS), found, each)
        return found

    def with_prior(self, loss: RowLoss) -> Callable[[FloatArray], tuple[float, FloatArray]]:
        """Value and gradient of the loss and ½ ‖η‖²/prior_scale²."""

        def value_and_gradient(eta: FloatArray) -> tuple[float, FloatArray]:
            value, gradient = loss.value_and_gradient(eta)
            return value + 0.5 * self.precision * float(eta @ eta), gradient + self.precision * eta

        return value_and_gradient

    def solve(self, loss: RowLoss, start: _Found, tolerance: float = _ARRIVED) -> _Found:
        """The posterior mode, by L-BFGS in coordinates in which the posterior is about a unit sphere."""
        eta, evaluations, function = start.eta, start.evaluations, self.with_prior(loss)
        for _ in range(_ROUNDS):
            root, origin = self._root(loss, eta), eta

            def rounded(
                z: FloatArray, root: FloatArray = root, origin: FloatArray = origin
            ) -> tuple[float, FloatArray]:
                value, gradient = function(origin + root @ z)
                return value, root.T @ gradient

            found = descend(rounded, np.zeros(len(eta)), tolerance, _STEPS)
            eta, evaluations = origin + root @ found.point, evaluations + found.evaluations
            if found.slope <= tolerance:
                return _Found(eta, True, evaluations)
        return _Found(eta, False, evaluations)

    def _root(self, loss: RowLoss, eta: FloatArray) -> FloatArray:
        """R with R Rᵀ = H⁻¹, H the curvature with the prior, shape (d, d)."""
        values, vectors = np.linalg.eigh(loss.curvature(eta))
        # Without a prior, tables overlap in directions that change nothing: no steps along them.
        floor = max(self.precision, _ROUNDING * float(values[-1]))
        return np.asarray(vectors / np.sqrt(np.maximum(values, 0) + floor))

    def step(self, loss: RowLoss, start: _Found) -> _Found:
        """One scoring step from the start, halved until the posterior rises."""
        function, root = self.with_prior(loss), self._root(loss, start.eta)
        value, gradient = function(start.eta)
        direction, share = -root @ (root.T @ gradient), 1.0
        while share > 1e-6:
            trial = start.eta + share * direction
            if loss.value(trial) + 0.5 * self.precision * float(trial @ trial) <= value:
                return _Found(trial, start.converged, start.evaluations + 1)
            share /= 2
        return _Found(start.eta, start.converged, start.evaluations + 1)

    def parameters(self) -> int:
        """How many numbers decide p(y | x): those of the tables, and of every independent column of x per value."""
        in_tables = {v for clique in self.field.cliques for v in clique}
        standardised = self.design.standardised(self.x)
        alone = int(np.linalg.matrix_rank(standardised.T @ standardised, hermitian=True))
        with_one = np.column_stack([np.ones(len(self.x)), standardised])
        beside = int(np.linalg.matrix_rank(with_one.T @ with_one, hermitian=True)) - 1
        nodes = sum((size - 1) * (beside if v in in_tables else alone) for v, size in enumerate(self.field.sizes))
        return free_parameters(self.field) + nodes


# -- what is known of the result ---------------------------------------------------------------------------------------


def _fit(problem: _Problem, found: _Found, method: str, scores: ScoreLoss | None, wanted: bool) -> ConditionalFieldFit:
    field, channel = problem.field, problem.channel
    raw, errors = _raw_tables(problem)
    covariance = np.broadcast_to(np.float64(np.nan), (field.dimension, field.dimension))  # no memory behind it
    diagnostics = FieldDiagnostics(
        negative_cells=int(np.count_nonzero((raw < 0) | (raw > 1))),
        parameters=problem.parameters(),
        iterations=found.evaluations,
    )
    transform, factor = problem.design.to_theta, None
    if wanted:
        own, diagnostics = _posterior(problem, found.eta, scores, diagnostics)
        covariance = np.asarray(transform @ own @ transform.T)
        values, vectors = np.linalg.eigh((own + own.T) / 2)
        factor = np.asarray(transform @ (vectors * np.sqrt(values.clip(0.0))))
    return ConditionalFieldFit(
        field=field,
        theta=np.asarray(transform @ found.eta),
        covariance=covariance,
        x=field.distinct_rows(problem.x),
        method=method,
        prior_scale=problem.prior_scale,
        n_observations=problem.n_observations,
        converged=found.converged,
        log_likelihood=-math.inf if scores is None else -scores.value(found.eta),
        measured=tuple(tuple(field.variables[v] for v in clique) for clique in channel.tables.cliques),
        raw_statistics=raw,
        raw_standard_errors=errors,
        channel=channel.specification(),
        privacy_level=channel.privacy_level,
        diagnostics=diagnostics,
        factor=factor,
    )


def _raw_tables(problem: _Problem) -> tuple[FloatArray, FloatArray]:
    """The unbiased cells of all cliques and their errors, shape (m,) each; NaN where a clique was never drawn."""
    offsets = problem.channel.tables.offsets
    raw, errors = np.full((2, offsets[-1]), np.nan)
    for rows, statistics in zip(problem.rows, problem.field_moments.statistics, strict=True):
        part = slice(offsets[rows.clique], offsets[rows.clique + 1])
        raw[part] = statistics[: rows.release.cells]
        sent = np.clip(rows.release.sent(raw[part]), 0.5 / rows.n_observations, 1.0)
        errors[part] = np.sqrt(rows.release.variances(sent) / rows.n_observations)
    return raw, errors


def _posterior(
    problem: _Problem, eta: FloatArray, scores: ScoreLoss | None, before: FieldDiagnostics
) -> tuple[FloatArray, FieldDiagnostics]:
    """The covariance of η, and what it says about the part of the prior.

    Of moments the sandwich H⁻¹ (Σ JᵀC⁺ĈC⁺J + Λ) H⁻¹, H = Σ JᵀC⁺J + Λ, with Ĉ from the reports themselves and Λ the
    prior's precision; of the likelihood (Σ s sᵀ + Λ)⁻¹.
    """
    from scipy.special import chdtrc

    moments, precision = problem.field_moments, problem.precision
    loss, slopes = MomentLoss(moments, eta), moments.jacobians(eta)
    pairs = list(zip(slopes, loss.weights, strict=True))
    curvature = sum(slope.T @ weight @ slope for slope, weight in pairs) if scores is None else scores.curvature(eta)
    informed, vectors = np.linalg.eigh(curvature)
    informed[informed <= _ROUNDING * informed[-1]] = 0.0
    # Without a prior, directions that change nothing have no finite variance; a very large one will do.
    floor = max(precision, _ROUNDING * float(informed[-1]))
    inverse = covariance = np.asarray((vectors / (informed + floor)) @ vectors.T)
    if scores is None:
        leverage = [inverse @ slope.T @ weight for slope, weight in pairs]
        empirical = moments.empirical_covariances(eta)
        meat = sum(own @ spread @ own.T for own, spread in zip(leverage, empirical, strict=True))
        covariance = np.asarray(meat + floor * inverse @ inverse)
    effective = float(np.sum(informed / (informed + floor)))
    distance, rank = 2 * loss.value(eta), sum(int(np.linalg.matrix_rank(w, hermitian=True)) for w in loss.weights)
    # What the distance is on average: the fit has taken away tr(C⁺ J Cov(η̂) Jᵀ) of its rank.
    taken = sum(float(np.sum((weight @ slope @ inverse) * slope)) for slope, weight in pairs)
    freedom = max(rank - taken, 0.0)
    looked_at = np.concatenate([*slopes, _contrasts(problem.field, problem.design)])
    shift = np.abs(looked_at @ (inverse @ (precision * eta)))
    errors = np.sqrt(np.einsum("ij,jk,ik->i", looked_at, covariance, looked_at).clip(0))
    moved = errors > 1e-12
    diagnostics = replace(
        before,
        distance=distance,
        degrees_of_freedom=freedom,
        p_value=float(chdtrc(freedom, distance)) if freedom >= 0.5 else 1.0,
        effective_parameters=effective,
        prior_pull=float(np.max(shift[moved] / errors[moved], initial=0.0)),
        enough_reports=enough_reports(informed, precision, before.parameters, problem.n_observations),
    )
    if effective < _SCARCE * before.parameters:
        warnings.warn(
            f"{problem.n_observations:,} reports say next to nothing about this field: {effective:.1f} of its "
            f"{before.parameters} parameters are determined by them, the others by the prior; about "
            f"{diagnostics.enough_reports:,} reports would determine half of them.",
            RepairWarning,
            stacklevel=5,
        )
    return covariance, diagnostics


def _contrasts(field: RandomField, design: FieldDesign) -> FloatArray:
    """Effects of covariates that vary on log-odds against the first value, as rows of a matrix on η (…, d)."""
    unit, rows = np.eye(field.dimension), []
    for v in range(len(field.sizes)):
        blocks = field.coefficients(np.arange(field.dimension), v).astype(np.int64)[design.varying]
        rows.append((unit[blocks[:, 1:]] - unit[blocks[:, :1]]).reshape(-1, field.dimension))
    return np.concatenate(rows)


def _require_varying(field: RandomField, x: FloatArray) -> None:
    """Refuse covariates whose effects cannot be told apart; one constant column (of ones) may be among them."""
    size = np.abs(x).max(axis=0)
    for term, value in zip(field.terms, size, strict=True):
        require_size(f"covariate {term!r}", value)
    centred = x - x.mean(axis=0)
    spread = centred.std(axis=0)
    constant = np.flatnonzero(spread <= CONSTANT * size)
    if len(constant) > 1 or (len(constant) and not size[constant[0]]):
        raise NotIdentifiedError(
            f"the covariate {shown(field.terms[constant[-1]])} does not vary.", remedy="Leave it out of the field."
        )
    varying = np.setdiff1d(np.arange(x.shape[1]), constant)
    if len(varying) < 2:
        return
    _, values, directions = np.linalg.svd(centred[:, varying] / spread[varying] / np.sqrt(len(x)), full_matrices=False)
    if values[-1] < 1e-7 * values[0]:
        joined = [field.terms[varying[j]] for j in np.flatnonzero(np.abs(directions[-1]) > 0.1)]
        raise NotIdentifiedError(
            f"the covariates {', '.join(joined)} are linearly dependent: their effects cannot be told apart.",
            remedy="Leave one of them out of the field.",
        )
