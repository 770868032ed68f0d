"""Units in which numbers that were seen have mean 0 and standard deviation 1, and the parameters that go with them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from askance._arrays import FloatArray
from askance.errors import NotIdentifiedError
from askance.evidence.chunks import Chunk
from askance.evidence.responses import Responses
from askance.models.hidden import HiddenVariables
from askance.models.outcome import Outcome
from askance.models.softmax import Covariates


@dataclass(frozen=True)
class OutcomeUnits:
    """x̃ = (x − c) / s of outcomes that are numbers, and θ = a θ̃ + b.

    Attributes:
        centres: c of every column of x, shape (p,).
        scales: s of every column of x, shape (p,).
        factors: a, shape (d,).
        shifts: b, shape (d,).
    """

    centres: FloatArray
    scales: FloatArray
    factors: FloatArray
    shifts: FloatArray

    @classmethod
    def of(cls, model: HiddenVariables, evidence: Responses) -> OutcomeUnits:
        """From what was seen; refuses outcomes that never vary, and values that they cannot have."""
        p, d = len(model.terms), model.dimension
        units = cls(np.zeros(p), np.ones(p), np.ones(d), np.zeros(d))
        for variable, block in zip(model.variables, model.blocks, strict=True):
            if isinstance(variable, Outcome):
                y = np.concatenate([model.told(variable, chunk.x) for chunk in evidence.chunks])
                variable.check(y)
                if bool((y == y[0]).all()):
                    raise NotIdentifiedError(
                        f"outcome {variable.name!r} is the same in every row: there is nothing to explain.",
                        remedy="Check the column and the rows kept.",
                    )
                if variable.family == "number":
                    units._set(model, variable, block, y, evidence)
        return units

    def _set(self, model: HiddenVariables, outcome: Outcome, block: slice, y: FloatArray, evidence: Responses) -> None:
        place, spread = model.terms.index(outcome.name), float(y.std())
        self.scales[place] = spread
        self.factors[block], self.factors[block.stop - 1] = spread, 1.0
        self.shifts[block.stop - 1] = np.log(spread)
        for j, term in enumerate(outcome.terms):  # a mean can be taken out where there is a constant
            column = np.concatenate([_column(chunk.x, model.terms.index(term)) for chunk in evidence.chunks])
            if column[0] != 0 and bool((column == column[0]).all()):
                self.centres[place] = y.mean()
                self.shifts[block.start + j] = self.centres[place] / column[0]
                break

    @property
    def log_density(self) -> float:
        """What densities of x̃ have too much, in logarithms, per row."""
        return float(np.log(self.scales).sum())

    def outward(self, theta: FloatArray) -> FloatArray:
        """θ of θ̃."""
        return self.factors * theta + self.shifts

    def inward(self, theta: FloatArray) -> FloatArray:
        """θ̃ of θ."""
        return (theta - self.shifts) / self.factors

    def scaled(self, evidence: Responses) -> Responses:
        """Rows with x̃."""
        if not (self.scales != 1).any() and not self.centres.any():
            return evidence
        return Responses(evidence.arms, [self._of_chunk(chunk) for chunk in evidence.chunks], evidence.terms)

    def _of_chunk(self, chunk: Chunk) -> Chunk:
        dense = chunk.x if isinstance(chunk.x, np.ndarray) else chunk.x.toarray()
        return replace(chunk, x=(dense - self.centres) / self.scales)


def _column(x: Covariates, j: int) -> FloatArray:
    column = x[:, [j]]
    return np.asarray(column if isinstance(column, np.ndarray) else column.toarray(), dtype=np.float64)[:, 0]
