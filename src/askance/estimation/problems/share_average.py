"""The average share of some values of hidden variables, as a function of θ with its derivatives."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from askance._arrays import AnyArray, FloatArray
from askance.estimation.problems.hidden_problem import HiddenPass
from askance.estimation.problems.sample import Sample
from askance.estimation.solvers.function_profile import Curved
from askance.models.hidden import HiddenVariables


@dataclass
class ShareAverage:
    """g(θ) = Σ w p_θ(h in A | x) / Σ w over respondents.

    Attributes:
        model: of the variables that A is about.
        block: where their parameters stand in θ.
        sample: respondents, with the covariates of `model`.
        rows: which of them are averaged over, shape (n,).
        members: which combinations are in A, shape (H,).
    """

    model: HiddenVariables
    block: slice
    sample: Sample
    rows: AnyArray
    members: AnyArray
    _last: tuple[bytes, Curved] | None = field(default=None, init=False)

    @property
    def place(self) -> tuple[HiddenVariables, slice, Sample, AnyArray]:
        """All but the members."""
        return self.model, self.block, self.sample, self.rows

    def __call__(self, theta: FloatArray) -> Curved:
        """g, ∇g and ∇²g, the last ones remembered."""
        if self._last is None or self._last[0] != theta.tobytes():
            self._last = theta.tobytes(), self._at(theta)
        return self._last[1]

    def _at(self, theta: FloatArray) -> Curved:
        total, value, d = 0.0, 0.0, len(theta)
        gradient, hessian = np.zeros(d), np.zeros((d, d))
        for piece, place in self.sample.blocks():
            at, w = HiddenPass(self.model, theta[self.block], piece.x, outcomes=False), piece.total * self.rows[place]
            inside = w[:, None] * at.probabilities * self.members
            total, value = total + float(w.sum()), value + float(inside.sum())
            gradient[self.block] += at.scores(inside).sum(axis=0)
            # ∇² p_h = p_h (s_h s_hᵀ − the complete information of h).
            hessian[self.block, self.block] += at.squares(inside) - at.complete_information(inside)
        return Curved(value / total, gradient / total, hessian / total)
