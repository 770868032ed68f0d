"""A random field with public covariates as a problem to solve: p_θ(y | x) with x open and y private."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Self

import numpy as np

from askance._arrays import FloatArray
from askance._checks import shown
from askance.channels.statistics.clique_release import CliqueRelease
from askance.errors import InputError, NotIdentifiedError, ShapeError
from askance.estimation.parameter_scale import FIELD_PRIOR_SCALE
from askance.estimation.problems.conditional_losses import FieldMoments, MomentLoss, RowLoss, ScoreLoss
from askance.estimation.problems.field_design import CONSTANT, CliqueRows, FieldDesign, rows_by_clique
from askance.estimation.problems.field_evidence import require_sizes
from askance.estimation.problems.field_problem import ARRIVED, FieldMethod, FieldOptimum, FieldPosterior
from askance.estimation.problems.field_tables import free_parameters
from askance.estimation.problems.tilted_field import TiltedField
from askance.estimation.solvers.lbfgs import minimise
from askance.evidence.responses import Responses
from askance.models.covariate_sizes import require_size
from askance.models.random_field import RandomField

# Matrices (d, d) are made; beyond this many parameters a fit takes too long.
_MOST_PARAMETERS = 2000
# The solver begins with, and takes the curvature from, at most so many rows per clique; intervals take all of them.
_GUIDING_ROWS = 500
# How often the solver looks at the curvature anew, and its steps in between: curvature from few rows costs no more than
# a step.
_ROUNDS, _STEPS = 50, 4
# Where a gradient is below this many posterior standard deviations, the solver is near.
_NEAR = 0.5
# Eigenvalues of a curvature below this share of the largest are 0.
_ROUNDING = 1e-12


class ConditionalFieldProblem:
    """Field, reports and prior, in standardised covariates."""

    #: Matrices (d, d) are used.
    dense = True

    def __init__(
        self,
        field: RandomField,
        channel: CliqueRelease,
        design: FieldDesign,
        rows: list[CliqueRows],
        x: FloatArray,
        tested: Responses[CliqueRelease],
    ) -> None:
        self.dimension = field.dimension
        self.field, self.channel, self.design, self.rows, self.x = field, channel, design, rows, x
        self.tested, self.prior_scale, self.precision = tested, FIELD_PRIOR_SCALE, FIELD_PRIOR_SCALE**-2
        self.tilted = TiltedField(field, channel.tables.cliques)
        self.field_moments = FieldMoments(self.tilted, rows, channel.tables.shapes)

    @classmethod
    def of(cls, field: RandomField, evidence: Responses[CliqueRelease]) -> Self:
        """The problem of a field with covariates and reports with theirs; refused where they do not fit."""
        if not field.terms:
            raise InputError(
                "the evidence has covariates, the field has none.",
                remedy="Build the field with covariates=…, or give the Reports alone.",
            )
        channel = evidence.channel
        require_sizes(field, channel)
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
        return cls(field, channel, design, rows, x, evidence)

    def with_prior_scale(self, prior_scale: float) -> Self:
        """The same under another prior."""
        other = copy(self)
        other.prior_scale, other.precision = prior_scale, 1 / prior_scale**2
        return other

    @property
    def n_observations(self) -> int:
        """The number of reports."""
        return len(self.x)

    def moments(self, tolerance: float = ARRIVED) -> FieldOptimum:
        """The mode of a few rows; about that of all, with the noise there; that of all, with the noise there."""
        optimum = FieldOptimum(np.zeros(self.field.dimension), True, 0)
        few = FieldMoments(self.tilted, [own.thinned(_GUIDING_ROWS) for own in self.rows], self.channel.tables.shapes)
        for moments, near in ((few, _NEAR), (self.field_moments, _NEAR), (self.field_moments, tolerance)):
            optimum = self.solve(MomentLoss(moments, optimum.theta, _GUIDING_ROWS), optimum, near)
        return optimum

    def penalised(self, loss: RowLoss) -> Callable[[FloatArray], tuple[float, FloatArray]]:
        """Value and gradient of the loss and ½ ‖η‖²/prior_scale²."""

        def value_and_gradient(eta: FloatArray) -> tuple[float, FloatArray]:
            value, gradient = loss.value_and_gradient(eta)
            return value + 0.5 * self.precision * float(eta @ eta), gradient + self.precision * eta

        return value_and_gradient

    def solve(self, loss: RowLoss, start: FieldOptimum, tolerance: float = ARRIVED) -> FieldOptimum:
        """The posterior mode, by L-BFGS in coordinates in which the posterior is about a unit sphere."""
        eta, evaluations, function = start.theta, start.evaluations, self.penalised(loss)
        for _ in range(_ROUNDS):
            root, origin = self._root(loss, eta), eta

            def rounded(
                z: FloatArray, root: FloatArray = root, origin: FloatArray = origin
            ) -> tuple[float, FloatArray]:
                value, gradient = function(origin + root @ z)
                return value, root.T @ gradient

            end = minimise(rounded, np.zeros(len(eta)), flat=tolerance, max_iterations=_STEPS)
            eta, evaluations = origin + root @ end.point, evaluations + end.evaluations
            if end.converged:
                return FieldOptimum(eta, True, evaluations)
        return FieldOptimum(eta, False, evaluations)

    def _root(self, loss: RowLoss, eta: FloatArray) -> FloatArray:
        """R with R Rᵀ = H⁻¹, H the curvature with the prior, shape (d, d)."""
        values, vectors = np.linalg.eigh(loss.curvature(eta))
        # Without a prior, tables overlap in directions that change nothing: no steps along them.
        floor = max(self.precision, _ROUNDING * float(values[-1]))
        return np.asarray(vectors / np.sqrt(np.maximum(values, 0) + floor))

    def step(self, loss: RowLoss, start: FieldOptimum) -> FieldOptimum:
        """One scoring step from the start, halved until the posterior rises."""
        function, root = self.penalised(loss), self._root(loss, start.theta)
        value, gradient = function(start.theta)
        direction, share = -root @ (root.T @ gradient), 1.0
        while share > 1e-6:
            trial = start.theta + share * direction
            if loss.value(trial) + 0.5 * self.precision * float(trial @ trial) <= value:
                return FieldOptimum(trial, start.converged, start.evaluations + 1)
            share /= 2
        return FieldOptimum(start.theta, start.converged, start.evaluations + 1)

    def parameters(self) -> int:
        """How many numbers decide p(y | x): those of the tables, and of every independent column of x per value."""
        in_tables = {v for clique in self.field.cliques for v in clique}
        standardised = self.design.standardised(self.x)
        alone = int(np.linalg.matrix_rank(standardised.T @ standardised, hermitian=True))
        with_one = np.column_stack([np.ones(len(self.x)), standardised])
        beside = int(np.linalg.matrix_rank(with_one.T @ with_one, hermitian=True)) - 1
        nodes = sum((size - 1) * (beside if v in in_tables else alone) for v, size in enumerate(self.field.sizes))
        return free_parameters(self.field) + nodes

    def fitted(self, method: FieldMethod) -> tuple[FieldOptimum, ScoreLoss | None]:
        """Where a method ends, and the likelihood of the reports if it has used it.

        "moments" minimises ½ Σ_c r_cᵀC_c⁺r_c + ½ ‖η‖²/prior_scale² over parameters η of standardised covariates (see
        `conditional_losses` for r, `field_design` for η). Convex matching of averages, A − μ̂ᵀθ + ½ λ‖θ‖², was the
        alternative; it weighs the cliques that hold a variable by one number each, and takes the x of all respondents
        for those of a clique's. The Gaussian likelihood of r weighs every moment by its noise, and its λ is known:
        effects of covariates had errors of 0.050 instead of 0.060 at level 3 (simulated trees of four variables, 20,000
        reports), and 0.20 either way at level 1, where the prior decides. "marginal" had 0.039 and 0.14: under much
        noise, those whose x leaves little open tell little, and only the likelihood gives them less weight.
        """
        optimum = self.moments(_NEAR if method == "marginal" else ARRIVED)
        if method == "moments":
            return optimum, None
        scores = ScoreLoss(self.tilted, self.rows)
        return (self.step(scores, optimum) if method == "one-step" else self.solve(scores, optimum)), scores

    def log_likelihood(self, scores: ScoreLoss, eta: FloatArray) -> float:
        """Σ log P(o | x) over the reports."""
        return -scores.value(eta)

    def posterior(self, eta: FloatArray, scores: ScoreLoss | None) -> FieldPosterior:
        """The covariance of η, and what it says about the part of the prior.

        Of moments the sandwich H⁻¹ (Σ JᵀC⁺ĈC⁺J + Λ) H⁻¹, H = Σ JᵀC⁺J + Λ, with Ĉ from the reports themselves and Λ the
        prior's precision; of the likelihood (Σ s sᵀ + Λ)⁻¹.
        """
        moments, precision = self.field_moments, self.precision
        loss, slopes = MomentLoss(moments, eta), moments.jacobians(eta)
        pairs = list(zip(slopes, loss.weights, strict=True))
        curvature = (
            sum(slope.T @ weight @ slope for slope, weight in pairs) if scores is None else scores.curvature(eta)
        )
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
        rank = sum(int(np.linalg.matrix_rank(weight, hermitian=True)) for weight in loss.weights)
        # What the distance is on average: the fit has taken away tr(C⁺ J Cov(η̂) Jᵀ) of its rank.
        taken = sum(float(np.sum((weight @ slope @ inverse) * slope)) for slope, weight in pairs)
        looked_at = np.concatenate([*slopes, _contrasts(self.field, self.design)])
        shift = np.abs(looked_at @ (inverse @ (precision * eta)))
        errors = np.sqrt(np.einsum("ij,jk,ik->i", looked_at, covariance, looked_at).clip(0))
        moved = errors > 1e-12
        return FieldPosterior(
            covariance,
            informed,
            effective=float(np.sum(informed / (informed + floor))),
            distance=2 * loss.value(eta),
            freedom=max(rank - taken, 0.0),
            pull=float(np.max(shift[moved] / errors[moved], initial=0.0)),
        )

    @property
    def raw_tables(self) -> tuple[FloatArray, FloatArray]:
        """The unbiased cells of all cliques and their errors, shape (m,) each; NaN where a clique was never drawn."""
        offsets = self.channel.tables.offsets
        raw, errors = np.full((2, offsets[-1]), np.nan)
        for rows, statistics in zip(self.rows, self.field_moments.statistics, strict=True):
            part = slice(offsets[rows.clique], offsets[rows.clique + 1])
            raw[part] = statistics[: rows.release.cells]
            sent = np.clip(rows.release.sent(raw[part]), 0.5 / rows.n_observations, 1.0)
            errors[part] = np.sqrt(rows.release.variances(sent) / rows.n_observations)
        return raw, errors


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
