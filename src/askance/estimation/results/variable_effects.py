"""Average effects of variables, whatever columns of x they are in: age and its square, interactions, levels.

A variable v moves a row x(v) as a whole. Its slope is the mean of ∂P_y/∂v = P_y (c_y − Σ_b P_b c_b), c_b = x′(v)·θ_b;
a change from one value to another is the difference of two means of P. `x′` and the changed rows come from the formula,
which knows what every column is made of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from askance._arrays import FloatArray
from askance.estimation.problems.basis import BasisEstimate
from askance.estimation.problems.sample import Sample
from askance.estimation.results.effects import derivative, effects_of, group_means
from askance.estimation.results.results import MarginalEffects
from askance.models.softmax import Covariates, Softmax


@dataclass(frozen=True)
class Change:
    """How the rows of x move with a variable.

    Attributes:
        variable: its name.
        kind: "slope", or what it goes from and to.
        rate: ∂x/∂v of every row, shape (n, p), of a slope.
        before: x with the variable at its first value, shape (n, p), of a change.
        after: x with the variable at its second value.
    """

    variable: str
    kind: str
    rate: Covariates | None = None
    before: Covariates | None = None
    after: Covariates | None = None


def variable_effects(
    model: Softmax, at: BasisEstimate, sample: Sample, changes: Sequence[Change], *, confidence: float
) -> MarginalEffects:
    """Mean effect of every change, over the rows of the sample."""
    effects = [_effect(model, at.theta, sample, change) for change in changes]
    return effects_of(
        tuple(change.variable for change in changes),
        tuple(change.kind for change in changes),
        tuple(model.outputs.labels),
        np.array([value for value, _ in effects]),
        np.array([slope for _, slope in effects]),
        at.covariance,
        confidence,
        at.freedom,
    )


def _effect(model: Softmax, theta: FloatArray, sample: Sample, change: Change) -> tuple[FloatArray, FloatArray]:
    """The effect on every output, shape (m,), and its gradient (m, d)."""
    if change.rate is not None:
        # A constant column moves with nothing: the basis needs no origin.
        rate = change.rate if sample.basis is None else change.rate @ sample.basis.to_terms
        return derivative(model, theta, sample, rate)
    everybody = np.zeros(sample.n_rows, dtype=np.int64)
    ends = []
    for rows in (change.after, change.before):
        assert rows is not None
        ends.append(group_means(model, theta, _with_rows(sample, rows), everybody, 1))
    (after, slope_after, _), (before, slope_before, _) = ends
    return (after - before)[0], (slope_after - slope_before)[0]


def _with_rows(sample: Sample, x: Covariates) -> Sample:
    """The same respondents with other covariates."""
    starts = np.cumsum([0, *(len(piece.count) for piece in sample.pieces)])
    pieces = [
        replace(piece, x=x[start:stop])
        for piece, start, stop in zip(sample.pieces, starts[:-1], starts[1:], strict=True)
    ]
    return replace(sample, pieces=tuple(pieces))
