"""A model, a level and what is known of θ, as a design problem over staircase rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from askance._arrays import FloatArray, IntArray
from askance.design.covariances import invert_information
from askance.design.optimum.interior_point import Criterion
from askance.design.optimum.prior import Prior
from askance.design.optimum.staircase import Subsets, rows_of
from askance.models.enumerated import Enumerated, weighted_covariance

#: Which error is least: of the maximum of the marginal likelihood, or of moments with the best unbiased β.
Target: TypeAlias = Literal["likelihood", "moments"]


@dataclass(frozen=True)
class ChannelProblem:
    """Which rows x_A B_A leave the least tr W Σ.

    With q_A = B_A · p and J = Σ_A x_A g_A g_Aᵀ/q_A, g_A = Σ_y p(y) B_A(y) (φ(y) − μ), the likelihood has
    Σ_marg = J⁻¹. Moments with the best β have Σ_mom = I⁻¹ Φ̄ M⁻¹ Φ̄ᵀ I⁻¹, M = Σ_A x_A B_A B_Aᵀ/q_A, Φ̄ = Φ − μ1ᵀ
    (M p = 1 on the polytope, so that centring Φ takes off just μμᵀ).

    Outputs of equal statistics are told alike: given φ their probabilities do not depend on θ, so that telling them
    apart says nothing about θ. `groups` are the classes of outputs, m of them.

    Attributes:
        model: what is to be learned.
        ratio: e^α.
        prior: where, with which weights.
        target: whose error.
        weights: W at every point of the prior, positive definite, shape (K, d, d).
    """

    model: Enumerated
    ratio: float
    prior: Prior
    target: Target
    weights: FloatArray

    @cached_property
    def groups(self) -> IntArray:
        """The class of every output, shape (outputs,)."""
        _, inverse = np.unique(self.model.table, axis=1, return_inverse=True)
        # Numbered as they first appear, so that classes of single outputs keep the order of the outputs.
        first: dict[int, int] = {}
        return np.array([first.setdefault(int(i), len(first)) for i in inverse.ravel()], dtype=np.int64)

    @cached_property
    def table(self) -> FloatArray:
        """φ of every class, shape (d, m)."""
        first = np.array([int(np.argmax(self.groups == g)) for g in range(int(self.groups.max()) + 1)])
        return np.asarray(self.model.table[:, first])

    @property
    def outputs(self) -> int:
        """m, the number of classes."""
        return int(self.table.shape[1])

    def criteria(self, subsets: Subsets) -> list[Criterion]:
        """The error at every point of the prior, for rows of these subsets (m, N)."""
        B = rows_of(subsets, self.ratio)
        criteria = []
        for theta, weights in zip(self.prior.points, self.weights, strict=True):
            root: FloatArray = np.linalg.cholesky(weights).astype(np.float64)
            p: FloatArray = np.bincount(self.groups, self.model.probabilities(theta)).astype(np.float64)
            centred = self.table - (self.table @ p)[:, None]
            told = 1 / np.sqrt(p @ B)
            information = weighted_covariance(self.table, p)
            inverse = invert_information(information, self.model.parameter_names, "the model")
            if self.target == "likelihood":
                # In units in which full information is 1: scales of statistics then do not matter.
                unit = np.linalg.cholesky(inverse).T
                criteria.append(Criterion(unit @ ((centred * p) @ B) * told, unit @ root))
                continue
            # Both sides in units of √p, in which M is of moderate condition.
            unit = np.sqrt(p)[:, None]
            criteria.append(Criterion(unit * B * told, unit * (root.T @ inverse @ centred).T))
        return criteria
