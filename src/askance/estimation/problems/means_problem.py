"""Counts whose means are modelled, and nothing else of them: least squares, group by group."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from askance._arrays import FloatArray
from askance.design.covariances import invert_information
from askance.errors import InputError, NotIdentifiedError
from askance.estimation.parameter_scale import Standard
from askance.estimation.problems.conditional import Block, Rows, times, weighted
from askance.estimation.problems.covariate_scale import decorrelated
from askance.estimation.problems.responses_problem import ResponsesProblem
from askance.evidence.responses import Responses
from askance.models.count_means import CountMeans

# Means so near to 0 or to their largest value, in log-odds of standardised covariates, are at it.
_FAR = 30.0
# Rows whose leverage is so near to 1 are fitted by parameters of their own: their errors are rounding.
_ALONE = 1e-8
# Parameters so correlated with the fitted value of such a row hang on it.
_LOADS = 1e-6
# A variance of counts below it is rounding.
_NO_SPREAD = 1e-12


class MeansProblem(ResponsesProblem):
    """`CountMeans` with `Responses` of counts, one channel per group of the model.

    Estimating equations: of the parameters θ_v of the variable that a group tells about,

        ψ_v = Σ over the rows of the group of w (o − m(x)) ∂m/∂θ_v,

    with the parameters of groups before it as they were found. Their error is part of the covariance.
    """

    model: CountMeans

    def __init__(self, model: CountMeans, evidence: Responses) -> None:
        super().__init__(model, evidence)
        if len(self.channels) != len(model.groups):
            raise NotIdentifiedError(
                f"there are reports of {len(self.channels)} groups, and means of {len(model.groups)}.",
                remedy="Add the reports of all groups.",
            )
        try:
            self._values = [np.array(c.observations.labels, dtype=np.float64) for c in self.channels]
        except ValueError:
            raise InputError("the reports are no counts.", remedy="Take the method marginal.") from None
        self.covariance_kinds = ("robust",)
        self.tested: Any = None
        self._last: tuple[bytes, list[FloatArray]] = b"", []  # of the inverses: θ, and what they are there

    def _basis(self) -> None:
        """None: variables have columns of their own, which their standard coordinates serve."""

    @cached_property
    def standard(self) -> Standard:
        """Of every variable its own covariates, standardised; refuses collinear ones."""
        matrix, inverse = np.zeros((2, self.model.dimension, self.model.dimension))
        first, second = self.rows.moments
        for name, terms in self.model.variables.items():
            places, block = [self.model.terms.index(term) for term in terms], self.model.blocks[name]
            A = decorrelated(first[places], second[np.ix_(places, places)], terms)
            matrix[block, block], inverse[block, block] = np.linalg.inv(A).T, A.T
        return Standard(matrix, inverse)

    def errors(self, block: Block, theta: FloatArray) -> FloatArray:
        """o − m(x) of the rows of a block, shape (n,)."""
        return np.asarray(self._values[block.part][block.codes] - self.model.mean(theta, block.x, block.part))

    def equations(self, block: Block, theta: FloatArray, *, spread: bool = False) -> FloatArray:
        """ψ of every row, without its weight, shape (n, d).

        For their `spread` a row of leverage h = 1 in its group, whose error is 0 whatever it says, is refused, and
        errors of a linear mean are divided by 1 − h (HC3); those of clusters are left to `cluster_spread`.
        """
        name = self.model.groups[block.part][-1]
        own, error = self.model.part(name, theta, block.x), self.errors(block, theta)
        if spread:
            counted = 1.0 if block.weights is None or block.squares is None else block.squares / block.weights
            inverse, z = self._inverses(theta)[block.part], own.slope[:, None] * own.z
            left = 1 - counted * ((z @ inverse) * z).sum(axis=1)
            if (left < _ALONE).any():
                raise self._alone(block.part, inverse, z[int(np.argmin(left))])
            error = error / left if self.model.link == "linear" and not self.has_clusters else error
        result = np.zeros((len(error), self.model.dimension))
        result[:, self.model.blocks[name]] = (error * own.slope)[:, None] * own.z
        return result

    def _alone(self, group: int, inverse: FloatArray, z: FloatArray) -> NotIdentifiedError:
        """That a row, with these columns, fits itself: which parameters of its group hang on it."""
        own = self.model.blocks[self.model.groups[group][-1]]
        loads = np.abs(inverse @ z) > _LOADS * np.sqrt(np.diag(inverse) * (z @ inverse @ z))
        names = [repr(name) for name, load in zip(self.parameter_names[own], loads, strict=True) if load]
        return NotIdentifiedError(
            f"one row alone tells of {', '.join(names)}: its error cannot be told.",
            remedy="Merge its category with another or leave it out, or take the method marginal.",
        )

    def _inverses(self, theta: FloatArray) -> list[FloatArray]:
        """(Σ w z zᵀ)⁻¹ of every group, of its own columns times the slopes of its mean."""
        known, inverses = self._last
        if known != theta.tobytes():
            whole = self.slopes(theta) * self.rows.total_weight
            blocks = [self.model.blocks[group[-1]] for group in self.model.groups]
            inverses = [np.asarray(np.linalg.pinv(whole[own, own])) for own in blocks]
            self._last = theta.tobytes(), inverses
        return inverses

    def slopes(self, theta: FloatArray) -> FloatArray:
        """−∂ψ/∂θ over the total weight, without what errors add, shape (d, d): triangular in blocks of variables."""
        return np.asarray(self.rows.total(lambda b: (self._slopes_of(b, theta),))[0] / self.rows.total_weight)

    def _slopes_of(self, block: Block, theta: FloatArray) -> FloatArray:
        result = np.zeros((self.model.dimension,) * 2)
        *_, last = names = self.model.groups[block.part]
        own = self.model.part(last, theta, block.x)
        outer = times(own.slope[:, None] * own.z, block.weights)
        for name in names:
            other = self.model.part(name, theta, block.x)
            result[self.model.blocks[last], self.model.blocks[name]] = outer.T @ (other.slope[:, None] * other.z)
        return result

    def working(self, theta: FloatArray, against: int) -> Callable[[Block], tuple[FloatArray, ...]]:
        """ψ of every block if errors of rows were independent, with one variance in every group; and its slopes."""

        def squared(block: Block) -> tuple[FloatArray, ...]:
            sums = np.zeros((len(self.model.groups), 2))
            ones = np.ones(len(block.codes)) if block.weights is None else block.weights
            sums[block.part] = ones @ self.errors(block, theta) ** 2, ones.sum()
            return (sums,)

        (sums,) = self.rows.total(squared)
        variances = sums[:, 0] / sums[:, 1]
        variances[variances < _NO_SPREAD] = 1.0  # where all say the same, ψ is 0 whatever its scale

        def of(block: Block) -> tuple[FloatArray, ...]:
            slopes, own = self._slopes_of(block, theta), self.model.blocks[self.model.groups[block.part][-1]]
            covariance = np.zeros_like(slopes)
            covariance[own, own] = variances[block.part] * slopes[own, own]
            return covariance, slopes

        return of

    def inverse(self, theta: FloatArray) -> FloatArray:
        """The inverse of `slopes`, shape (d, d); refused where the covariates of a group do not tell."""
        A = self.slopes(theta)
        diagonal = np.zeros_like(A)
        for own in self.model.blocks.values():
            diagonal[own, own] = A[own, own]
        invert_information(diagonal, self.parameter_names, "the groups")
        return np.asarray(np.linalg.inv(A))

    def scores(self, block: Block, theta: FloatArray, against: int) -> FloatArray:
        """ψ of every row of a block, with weights and the sign of a gradient, shape (n, d)."""
        return -weighted(block, self.equations(block, theta, spread=True))

    def score_covariance(self, rows: Rows, theta: FloatArray, against: int) -> FloatArray:
        """n · Cov of the mean of ψ, with weights and clusters, shape (d, d)."""
        if self.has_clusters:
            return super().score_covariance(rows, theta, against)

        def squared(block: Block) -> tuple[FloatArray, ...]:
            own = self.equations(block, theta, spread=True)
            return (own.T @ times(own, block.squares),)

        return np.asarray(rows.total(squared)[0] * (self.n_observations / rows.total_weight**2))

    def log_likelihood(self, theta: FloatArray) -> float:
        """−∞: means have none."""
        return -math.inf


@dataclass(eq=False)
class SquaredErrors:
    """½ Ê (o − m)² of one group, as a function of the parameters of the variable it tells about.

    Attributes:
        problem: model and evidence.
        group: its place.
        theta: parameters of groups before it, shape (d,).
    """

    problem: MeansProblem
    group: int
    theta: FloatArray

    @property
    def own(self) -> slice:
        """The parameters that vary."""
        model = self.problem.model
        return model.blocks[model.groups[self.group][-1]]

    @cached_property
    def standard(self) -> Standard:
        """Their coordinates."""
        whole = self.problem.standard
        return Standard(whole.matrix[self.own, self.own], whole.inverse[self.own, self.own])

    def whole(self, own: FloatArray) -> FloatArray:
        """θ with these parameters, shape (d,)."""
        theta = self.theta.copy()
        theta[self.own] = own
        return theta

    def ran_off(self, own: FloatArray) -> bool:
        """Whether a mean between 0 and its largest value has come to its end."""
        return self.problem.model.link == "logistic" and bool(np.abs(self.standard.matrix @ own).max() > _FAR)

    def value(self, own: FloatArray) -> float:
        """½ Σ w (o − m)² over the total weight."""
        return float(self._sums(own)[0])

    def gradient(self, own: FloatArray) -> FloatArray:
        """Of the value, shape (q,)."""
        return self._sums(own)[1]

    def hessian(self, own: FloatArray) -> FloatArray:
        """Of the value, shape (q, q)."""
        return self._sums(own)[2]

    def _sums(self, own: FloatArray) -> tuple[FloatArray, ...]:
        sums = self.problem.rows.total(partial(self._of, theta=self.whole(own)))
        return tuple(part / self.problem.rows.total_weight for part in sums)

    def _of(self, block: Block, theta: FloatArray) -> tuple[FloatArray, ...]:
        q = self.own.stop - self.own.start
        if block.part != self.group:
            return np.zeros(()), np.zeros(q), np.zeros((q, q))
        model = self.problem.model
        part, error = model.part(model.groups[self.group][-1], theta, block.x), self.problem.errors(block, theta)
        weights = np.ones(len(error)) if block.weights is None else block.weights
        curvature = weights * (part.slope**2 - error * part.bend)
        slope = -(part.z.T @ (weights * error * part.slope))
        return np.asarray(weights @ error**2 / 2), slope, part.z.T @ (curvature[:, None] * part.z)
