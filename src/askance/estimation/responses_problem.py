"""Reports with covariates and a softmax model, as a problem to solve."""

from __future__ import annotations

import warnings
from functools import cached_property

import numpy as np

from askance._arrays import FloatArray
from askance.channels.labels import Direct
from askance.design.covariances import Weighting
from askance.errors import (
    AskanceWarning,
    EmptyDataError,
    IncompatibleEvidenceError,
    InputError,
    NotIdentifiedError,
    ShapeError,
)
from askance.estimation.conditional import (
    RowCurvature,
    Rows,
    RowScore,
    add_gram,
    add_moment,
    logits,
    multinomial_curvature,
    outer,
    softmax,
    times,
    weighted,
)
from askance.estimation.conditional_likelihood import ConditionalLikelihood
from askance.estimation.conditional_moments import THINNED_FROM, THINNED_TO, ConditionalMatching, ConditionalMoments
from askance.estimation.fit import Outcome
from askance.estimation.possible import require_possible
from askance.estimation.protocols import CovarianceKind
from askance.estimation.regression_fit import RegressionFit
from askance.estimation.standard import Standard
from askance.estimation.standardise import standardise
from askance.evidence.responses import Responses
from askance.models.softmax import Softmax

#: With more parameters than this their covariance is not formed and Newton steps are too expensive.
WIDE_FROM = 2000


class ResponsesProblem:
    """A `Softmax` model with `Responses`; refuses empty evidence, other outputs and collinear covariates."""

    def __init__(self, model: Softmax, evidence: Responses) -> None:
        channel = evidence.channel
        if model.outputs != channel.outputs:
            raise IncompatibleEvidenceError(
                f"the model is about {model.outputs!r}, the channel about {channel.outputs!r}.",
                remedy="Build both from the same labels, in the same order.",
            )
        if not evidence.n_observations:
            raise EmptyDataError("there are no reports.", remedy="Add reports before estimating.")
        if evidence.chunks[0].x.shape[1] != len(model.terms):
            raise ShapeError(
                f"x has {evidence.chunks[0].x.shape[1]} columns, the model {len(model.terms)} terms.",
                remedy="Give one column per term, in the order of the model.",
            )
        self.model, self.evidence, self.channel = model, evidence.collapse(), channel
        self.parameter_names = model.parameter_names
        self.n_observations = evidence.n_observations
        self.rows = Rows(self.evidence, len(model.outputs))
        size = len(channel.observations)
        self.counts = np.zeros(size)
        for block in self.rows.blocks():
            self.counts += np.bincount(block.codes, weights=block.weights, minlength=size)
        require_possible(channel, (self.counts > 0).astype(np.int64))
        first = self.evidence.chunks[0]
        self.has_weights, self.has_clusters = first.weights is not None, first.clusters is not None
        special = self.has_weights or self.has_clusters
        self.covariance_kinds: tuple[CovarianceKind, ...] = (
            ("robust",) if special else ("expected", "observed", "robust")
        )
        if model.dimension <= WIDE_FROM:
            _ = self.standard  # collinear covariates are refused before anything is fitted
        self._information_at_zero: FloatArray | None = None

    @cached_property
    def standard(self) -> Standard:
        """Coordinates of standardised covariates."""
        return standardise(self.rows, self.model)

    @property
    def frequencies(self) -> FloatArray:
        """q̂: the (weighted) share of each observation, smoothed so that none is 0, shape (k,)."""
        return np.asarray((self.counts + 0.5) / (self.counts.sum() + 0.5 * len(self.counts)))

    def moments(self, weighting: Weighting) -> ConditionalMoments:
        """The moment equations."""
        return ConditionalMoments(self, weighting)

    def likelihood(self, precision: FloatArray | None = None) -> ConditionalLikelihood:
        """The marginal likelihood."""
        return ConditionalLikelihood(self, precision)

    def exploration(self) -> ResponsesProblem:
        """The problem of a thinned sample, where there are many rows."""
        if self.rows.n_rows < THINNED_FROM:
            return self
        try:
            return ResponsesProblem(self.model, self.evidence.thinned(self.rows.n_rows // THINNED_TO))
        except NotIdentifiedError:  # a rare category may be missing from the sample
            return self

    def expected_statistics(self, theta: FloatArray) -> FloatArray:
        """E-step: Ê r ⊗ x with r the posterior of the output given the report."""
        likelihood = self.likelihood()
        total = np.zeros((self.rows.n_free, self.rows.n_terms))
        for block in self.rows.blocks():
            p, A = softmax(logits(block, self.model.blocks(theta)))
            add_moment(total, block.x, weighted(block, likelihood.posterior(block, p, A)[0]))
        return total.ravel() / self.rows.total_weight

    def match(self, statistics: FloatArray) -> ConditionalMatching:
        """The convex objective of the M-step."""
        return ConditionalMatching(self, statistics)

    def information(self, theta: FloatArray) -> FloatArray:
        """Ê Cov[φ | x] under the model, per report, shape (d, d)."""
        if self._information_at_zero is not None and not theta.any():
            return self._information_at_zero
        result = self.curvature(theta, lambda block, p: multinomial_curvature(p))
        if not theta.any():
            self._information_at_zero = result
        return result

    def curvature(self, theta: FloatArray, of_row: RowCurvature) -> FloatArray:
        """Ê V ⊗ x xᵀ with V = of_row(block, P), shape (d, d)."""
        k, p = self.rows.n_free, self.rows.n_terms
        total = np.zeros((k, p, k, p))
        coefficients = self.model.blocks(theta)
        for block in self.rows.blocks():
            share, _ = softmax(logits(block, coefficients))
            add_gram(total, block.x, weighted(block, of_row(block, share)))
        return np.asarray(total.reshape(k * p, k * p) / self.rows.total_weight)

    def ran_off(self, theta: FloatArray) -> bool:
        """Whether θ has run off to infinity."""
        return self.standard.ran_off(theta, self.information)

    def distance(self, a: FloatArray, b: FloatArray) -> float:
        """The largest difference between predicted probabilities, over the first rows."""
        block = next(self.rows.blocks())
        p, _ = softmax(logits(block, self.model.blocks(a)))
        q, _ = softmax(logits(block, self.model.blocks(b)))
        return float(np.abs(p - q).max())

    def is_direct(self) -> bool:
        """Whether the outputs themselves were seen."""
        return self.channel.for_purpose("") == Direct(self.channel.outputs)

    def score_covariance(self, score: RowScore) -> FloatArray:
        """n · Cov of the mean of score(block) ⊗ x, (n,) or (n, K) a block, with weights and clusters; shape (d, d)."""
        k, p = self.rows.n_free, self.rows.n_terms
        if self.has_clusters:
            return self._clustered(score)
        total = np.zeros((k, p, k, p))
        for block in self.rows.blocks():
            add_gram(total, block.x, times(outer(score(block)), block.squares))
        scale = self.n_observations / self.rows.total_weight**2
        return np.asarray(total.reshape(k * p, k * p) * scale)

    def _clustered(self, score: RowScore) -> FloatArray:
        labels = np.concatenate([np.asarray(chunk.clusters) for chunk in self.evidence.chunks])
        names, place = np.unique(labels, return_inverse=True)
        count, d = len(names), self.model.dimension
        if count < 2:
            raise InputError(
                f"there is one cluster, {names[0]!r}, which says nothing of how clusters differ; allowed: at least 2.",
                remedy="Name another column, or leave clusters out.",
            )
        if count <= d:
            warnings.warn(
                f"{count} clusters for {d} parameters: cluster-robust standard errors are not to be trusted.",
                AskanceWarning,
                stacklevel=2,
            )
        sums = np.zeros((count, d))
        for block in self.rows.blocks():
            s = weighted(block, score(block)).reshape(len(block.codes), -1)
            dense = block.x if isinstance(block.x, np.ndarray) else block.x.toarray()
            parts = (s[:, :, None] * dense[:, None, :]).reshape(len(s), d)
            order = place[block.rows]
            for j in range(d):
                sums[:, j] += np.bincount(order, weights=parts[:, j], minlength=count)
        centred = sums - sums.mean(axis=0)
        # The usual correction for few clusters.
        scale = self.n_observations / self.rows.total_weight**2 * count / max(count - 1, 1)
        return np.asarray(centred.T @ centred * scale)

    def fit(self, outcome: Outcome) -> RegressionFit:
        """Put a result together."""
        clustered = outcome.covariance_kind == "robust" and self.has_clusters
        return RegressionFit(
            model=self.model,
            theta=outcome.theta,
            covariance=outcome.covariance,
            n_observations=self.n_observations,
            method=outcome.method,
            covariance_kind="cluster-robust" if clustered else outcome.covariance_kind,
            converged=outcome.converged,
            log_likelihood=-self.rows.total_weight * self.likelihood().value(outcome.theta),
            raw_statistics=outcome.raw_statistics,
            channel=self.channel.specification(),
            privacy_level=self.channel.privacy_level,
            diagnostics=outcome.diagnostics,
            evidence=self.evidence,
        )
