"""Outputs that depend on covariates: multinomial logistic regression; with two outputs, logistic regression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from askance._arrays import ArrayLike, FloatArray
from askance._checks import as_parameter
from askance.categories import Categories, LabelSet
from askance.errors import InputError, ShapeError
from askance.models.enumerated import Enumerated

#: Covariates: a dense array or a SciPy sparse matrix, shape (n, p).
Covariates: TypeAlias = Any


class Softmax:
    """p_θ(y | x) ∝ exp(x·θ_y), with θ = 0 for the first output, which is the reference.

    φ(x, y) is x in the block of output y, and 0 elsewhere; d = (m − 1) p. Parameters are ordered by output, then term,
    and named `term` for two outputs and `output:term` for more. An intercept is a column of ones among the covariates.

    Args:
        outputs: labels of the m outputs.
        terms: names of the p columns of x.

    >>> model = Softmax(["no", "yes"], ["Intercept", "age"])
    >>> model.probabilities([0.5, -1.0], np.array([[1.0, 0.0], [1.0, 2.0]])).round(4)
    array([[0.3775, 0.6225],
           [0.8176, 0.1824]])
    """

    def __init__(self, outputs: LabelSet, terms: Sequence[str]) -> None:
        self.outputs = Categories.of(outputs)
        self.terms = tuple(str(term) for term in terms)
        if not self.terms or len(set(self.terms)) != len(self.terms):
            raise InputError(
                f"are {list(self.terms)}",
                argument="terms",
                allowed="at least one, all different",
                remedy="Name every column once.",
            )
        self.dimension = (len(self.outputs) - 1) * len(self.terms)
        if len(self.outputs) == 2:
            self.parameter_names = self.terms
        else:
            labels = self.outputs.labels[1:]
            self.parameter_names = tuple(f"{label}:{term}" for label in labels for term in self.terms)

    def blocks(self, theta: ArrayLike) -> FloatArray:
        """θ as one row per output but the first, shape (m − 1, p)."""
        return as_parameter(theta, self.dimension).reshape(len(self.outputs) - 1, len(self.terms))

    def logits(self, theta: ArrayLike, x: Covariates) -> FloatArray:
        """x·θ_y of every row and output, 0 for the first output; shape (n, m)."""
        if x is None:
            raise ShapeError(
                "is missing", argument="x", remedy=f"Give a table with the columns {', '.join(self.terms)}."
            )
        if x.shape[1] != len(self.terms):
            raise ShapeError(
                f"has {x.shape[1]} columns",
                argument="x",
                allowed=f"{len(self.terms)} ({', '.join(self.terms)})",
                remedy="Give one column per term, in this order.",
            )
        scores = np.zeros((x.shape[0], len(self.outputs)))
        scores[:, 1:] = x @ self.blocks(theta).T
        return scores

    def log_partition(self, theta: ArrayLike, x: Covariates = None) -> FloatArray:
        """A(θ; x), shape (n,)."""
        return log_sum_exp(self.logits(theta, x))

    def log_probabilities(self, theta: ArrayLike, x: Covariates) -> FloatArray:
        """Log p_θ(y | x), shape (n, m)."""
        scores = self.logits(theta, x)
        return np.asarray(scores - log_sum_exp(scores)[:, None])

    def probabilities(self, theta: ArrayLike, x: Covariates) -> FloatArray:
        """p_θ(y | x), shape (n, m)."""
        return np.asarray(np.exp(self.log_probabilities(theta, x)))

    def statistics(self, y: ArrayLike, x: Covariates = None) -> FloatArray:
        """φ(x, y), shape (n, d)."""
        codes = self.outputs.encode(y, "y", secret=True)
        return self._spread(np.eye(len(self.outputs))[codes], x)

    def mean_statistics(self, theta: ArrayLike, x: Covariates = None) -> FloatArray:
        """∇A(θ; x) = E φ(x, y), shape (n, d)."""
        return self._spread(self.probabilities(theta, x), x)

    def _spread(self, weights: FloatArray, x: Covariates) -> FloatArray:
        dense = np.asarray(x if isinstance(x, np.ndarray) else x.toarray())
        return np.asarray((weights[:, 1:, None] * dense[:, None, :]).reshape(len(dense), -1))

    def fisher_information(self, theta: ArrayLike, x: Covariates = None) -> FloatArray:
        """∇²A(θ; x) = Cov φ(x, y) of every row, shape (n, d, d): for few rows; fits sum it without forming it."""
        dense = np.asarray(x if isinstance(x, np.ndarray) else x.toarray())
        p = self.probabilities(theta, x)[:, 1:]
        within = np.eye(p.shape[1]) * p[:, None, :] - p[:, :, None] * p[:, None, :]
        blocks = np.einsum("nab,ni,nj->naibj", within, dense, dense)
        return np.asarray(blocks.reshape(len(dense), self.dimension, self.dimension))

    def at(self, x: ArrayLike) -> Enumerated:
        """The model of one respondent with covariates x (p,), as a table: the reference that tests compare with."""
        row = np.asarray(x, dtype=np.float64)
        table = np.kron(np.eye(len(self.outputs))[:, 1:].T, row[:, None])
        return Enumerated(table, outputs=self.outputs, parameter_names=self.parameter_names)

    def __repr__(self) -> str:
        return f"Softmax({list(self.outputs.labels)!r}, {list(self.terms)!r})"


def log_sum_exp(scores: FloatArray) -> FloatArray:
    """Log Σ exp of every row, shape (n,)."""
    top = scores.max(axis=1)
    return np.asarray(top + np.log(np.exp(scores - top[:, None]).sum(axis=1)))
