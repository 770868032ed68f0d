"""Coordinates in which parameters of different units are comparable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from askance._arrays import FloatArray

#: Standard deviation of the weak prior, in log-odds: across the range of a statistic, or per standard deviation of a
#: covariate. It may well change the odds a hundredfold.
PRIOR_SCALE = 5.0
#: Of the prior on every cell of every table of parameters of a random field, in log-odds.
FIELD_PRIOR_SCALE = 1.0

# θ has run off to infinity when the information in some direction is below this share of that at θ = 0: some outputs
# have then become impossible for all that fewer than 10⁸ reports can tell. Looked at only where θ is large.
_VANISHED = 1e-8
_LARGE = 10.0


@dataclass(frozen=True)
class Standard:
    """θ̃ = T θ: the linear map to standardised parameters, for steps, priors and limits that do not depend on units.

    Attributes:
        matrix: T, shape (d, d).
        inverse: T⁻¹, shape (d, d).
        unit: Λ of the weak prior of scale 1, in θ̃, shape (d, d); None: the identity.
    """

    matrix: FloatArray
    inverse: FloatArray
    unit: FloatArray | None = None

    @classmethod
    def of_ranges(cls, ranges: FloatArray) -> Standard:
        """Each parameter times the range of its statistic."""
        return cls(np.diag(ranges), np.diag(1.0 / ranges))

    @classmethod
    def of_model(cls, ranges: FloatArray, information: FloatArray) -> Standard:
        """As `of_ranges`, with a prior that says as much as a share of one answer: Λ = 4 I(0) / prior_scale².

        For a statistic of two values this is one standard deviation per prior scale. It does not depend on how outputs
        are coded, and it stays weak where they are many: parameters independently so wide would hold it next to
        impossible that the first of many outputs, from which all are counted, has most of the mass, and together
        would lift the many that nobody chose.

        Args:
            ranges: of the statistics, shape (d,).
            information: I(0), the Fisher information of one answer at θ = 0, shape (d, d).
        """
        return cls(np.diag(ranges), np.diag(1.0 / ranges), 4 * information / np.outer(ranges, ranges))

    def gradient(self, gradient: FloatArray) -> FloatArray:
        """∇f with respect to θ̃."""
        return np.asarray(self.inverse.T @ gradient)

    def hessian(self, hessian: FloatArray) -> FloatArray:
        """∇²f with respect to θ̃."""
        return np.asarray(self.inverse.T @ hessian @ self.inverse)

    def to_parameters(self, standardised: FloatArray) -> FloatArray:
        """θ = T⁻¹ θ̃."""
        return np.asarray(self.inverse @ standardised)

    def size(self, theta: FloatArray) -> float:
        """The largest standardised parameter."""
        return float(np.abs(self.matrix @ theta).max())

    def ran_off(self, theta: FloatArray, information: Callable[[FloatArray], FloatArray]) -> bool:
        """Whether θ has run off to infinity: the model's information in some direction has vanished.

        Unlike a limit on θ itself this does not depend on how statistics are coded, nor mistake strong but opposite
        effects of similar statistics for an escape.
        """
        if self.size(theta) < _LARGE:
            return False
        lower = np.linalg.cholesky(information(np.zeros(len(theta))))
        relative = np.linalg.solve(lower, np.linalg.solve(lower, information(theta)).T)
        return bool(np.linalg.eigvalsh(relative).min() < _VANISHED)

    def prior_precision(self, prior_scale: float) -> FloatArray:
        """Λ of the weak prior of that scale, shape (d, d)."""
        scaled = self.matrix if self.unit is None else self.unit @ self.matrix
        return np.asarray(self.matrix.T @ scaled / prior_scale**2)
