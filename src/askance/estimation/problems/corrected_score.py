"""Outcomes of hidden causes without a model of the causes: scores that have the right mean whatever was reported.

Let β_h(o) be unbiased indicators of what is hidden, E[β_h(o) | h*] = 1[h = h*]. Then Σ_h β_h(o) s_h(y, x; γ) has, given
y and x, the mean of the score s_h* of who was asked: setting its sum to 0 is a regression on rows stacked over h, with
weights β_h that may be negative. It needs reports to be independent of the outcome given what is hidden, and no law of
what is hidden given x; nor do laws of the outcome matter beyond its mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from askance._arrays import FloatArray
from askance.design.covariances import invert_information
from askance.estimation.parameter_scale import Standard
from askance.estimation.problems.conditional import Block, weighted
from askance.estimation.problems.hidden_problem import HiddenPass, HiddenProblem
from askance.models.enumerated import Enumerated


@dataclass(frozen=True)
class StackedOutcomes:
    """f(γ) = −Ê Σ_h w_h(o) log p_γ(y | x, h), with γ the parameters of outcomes, in units of the problem.

    Attributes:
        problem: model and evidence.
        weights: w of every channel, shape (k, H).
    """

    problem: HiddenProblem
    weights: tuple[FloatArray, ...]

    @classmethod
    def corrected(cls, problem: HiddenProblem) -> StackedOutcomes:
        """With w = β; refused where a channel has none."""
        model = Enumerated.saturated(problem.model.outputs)
        tables = []
        for channel, shares in zip(problem.channels, problem.frequencies, strict=True):
            rest = channel.observation_function(model, shares).coefficients.T
            tables.append(np.column_stack([1.0 - rest.sum(axis=1), rest]))
        return cls(problem, tuple(tables))

    def unaware(self) -> StackedOutcomes:
        """With the same weight for all h: convex, with effects of what is hidden at 0, and a point to start from."""
        return StackedOutcomes(self.problem, tuple(np.full_like(table, 1 / table.shape[1]) for table in self.weights))

    @cached_property
    def place(self) -> slice:
        """Where γ stands in θ."""
        model = self.problem.model
        return slice(model.blocks[len(model.factors)].start, model.dimension)

    @cached_property
    def standard(self) -> Standard:
        """Coordinates of γ."""
        whole, place = self.problem.standard, self.place
        return Standard(whole.matrix[place, place], whole.inverse[place, place])

    def _at(self, block: Block, gamma: FloatArray) -> tuple[HiddenPass, FloatArray]:
        theta = np.concatenate([np.zeros(self.place.start), gamma])
        return HiddenPass(self.problem.model, theta, block.x), self.weights[block.part][block.codes]

    def value(self, gamma: FloatArray) -> float:
        """f(γ)."""

        def sums(block: Block) -> tuple[FloatArray, ...]:
            at, w = self._at(block, gamma)
            return (np.asarray(weighted(block, -(w * at.log_outcomes).sum(axis=1)).sum()),)

        rows = self.problem.rows
        return float(rows.total(sums)[0] / rows.total_weight)

    def gradient(self, gamma: FloatArray) -> FloatArray:
        """∇f(γ)."""
        rows = self.problem.rows
        (total,) = rows.total(lambda block: (weighted(block, self.scores(block, gamma)).sum(axis=0),))
        return np.asarray(-total / rows.total_weight)

    def hessian(self, gamma: FloatArray) -> FloatArray:
        """∇²f(γ)."""

        rows = self.problem.rows
        return np.asarray(rows.total(lambda block: (self.slopes(block, gamma),))[0] / rows.total_weight)

    def slopes(self, block: Block, gamma: FloatArray) -> FloatArray:
        """Minus the slopes of the scores of a block, with weights, shape (d_γ, d_γ)."""
        at, w = self._at(block, gamma)
        return at.complete_information(weighted(block, w))[self.place, self.place]

    def scores(self, block: Block, gamma: FloatArray) -> FloatArray:
        """Σ_h w_h(o) ∇ log p_γ(y | x, h) of every row of a block, shape (n, d_γ)."""
        at, w = self._at(block, gamma)
        return at.scores(w)[:, self.place]

    def bread(self, gamma: FloatArray) -> FloatArray:
        """The inverse of ∇²f(γ): what moves γ̂ by a mean of scores."""
        names = self.problem.parameter_names[self.place]
        return invert_information(self.hessian(gamma), names, "the corrected score")
