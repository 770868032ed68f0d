"""Reports with covariates and a softmax model, as a problem to solve."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np

from askance._arrays import AnyArray, FloatArray
from askance._checks import shown
from askance._kernels.softmax_pass import EXPECTED, OF_MODEL, PRIOR, SQUARED, TARGET
from askance.channels.finite import FiniteChannel
from askance.channels.labels import Direct
from askance.design.covariances import Weighting, invert_information
from askance.errors import (
    AskanceWarning,
    EmptyDataError,
    IncompatibleEvidenceError,
    InputError,
    NotIdentifiedError,
    ShapeError,
)
from askance.estimation.freedom import Freedom
from askance.estimation.outcome import Notice
from askance.estimation.parameter_scale import Standard
from askance.estimation.problems.basis import Basis
from askance.estimation.problems.cluster_spread import MOST_CLUSTERS, ClusterSpread, cluster_spread
from askance.estimation.problems.conditional import (
    Block,
    RowCurvature,
    Rows,
    clusters_of,
    gram,
    logits,
    moment,
    plain_sums,
    posterior,
    residuals,
    softmax,
    some_rows,
    weighted,
)
from askance.estimation.problems.conditional_likelihood import ConditionalLikelihood
from askance.estimation.problems.conditional_moments import (
    THINNED_FROM,
    THINNED_TO,
    WIDE_FROM,
    ConditionalMatching,
    ConditionalMoments,
)
from askance.estimation.problems.covariate_scale import find_basis, standardise
from askance.estimation.problems.tally_problem import covariance_kinds
from askance.estimation.protocols import CovarianceKind
from askance.evidence.responses import Responses

# What stays with the process that fits: rows, and what was found from them or holds them.
_AT_HOME = {"evidence", "tested", "rows", "counts", "_moments", "_likelihood", "_last_clusters", "standard"}


class ResponsesProblem:
    """A `Softmax` model with `Responses`; refuses empty evidence, other outputs and collinear covariates.

    Where covariates are far from 0 or nearly collinear (a year and its square), the problem is about covariates in
    another `Basis`, and about their θ̃; `inward` leads into it, and the basis out of it.

    Args:
        model: what to fit.
        evidence: what was seen.
        basis_of: a problem whose basis is to be taken; default: a basis is looked for.
    """

    model: Any  # a `Softmax` here, others in the classes below

    #: With more clusters their spread is taken as it is.
    most_clusters = MOST_CLUSTERS

    #: From so many rows on, maxima are looked for among so many of them.
    thinned_from, thinned_to = THINNED_FROM, THINNED_TO

    def __init__(self, model: Any, evidence: Responses, basis_of: ResponsesProblem | None = None) -> None:
        outputs = evidence.channels[0].outputs
        if model.outputs != outputs:
            raise IncompatibleEvidenceError(
                f"the model is about {model.outputs!r}, the channel about {outputs!r}.",
                remedy="Build both from the same labels, in the same order.",
            )
        if not evidence.n_observations:
            raise EmptyDataError("there are no reports.", remedy="Add reports before estimating.")
        if evidence.head.x.shape[1] != len(model.terms):
            raise ShapeError(
                f"x has {evidence.head.x.shape[1]} columns, the model {len(model.terms)} terms.",
                remedy="Give one column per term, in the order of the model.",
            )
        self.model, self.evidence = model, evidence.used().collapse()
        self.channels = self.evidence.channels
        self.parameter_names = model.parameter_names
        self.n_observations = evidence.n_observations
        self.rows = Rows(self.evidence, len(model.outputs))
        sizes = tuple(len(channel.observations) for channel in self.channels)
        self.counts = self.rows.total(partial(_counted, sizes=sizes))
        for channel, counts in zip(self.channels, self.counts, strict=True):
            channel.refuse_never_observed((counts > 0).astype(np.int64))
        first = self.evidence.head
        self.has_weights, self.has_clusters = first.weights is not None, first.clusters is not None
        special = self.has_weights or self.has_clusters
        self.covariance_kinds: tuple[CovarianceKind, ...] = ("robust",) if special else covariance_kinds(self.channels)
        self._moments: dict[str, ConditionalMoments] = {}
        if basis_of is not None:
            self.rows = self.rows.in_basis(basis_of.rows.basis)
            self.rows.compiled = basis_of.rows.compiled
        elif model.dimension <= WIDE_FROM and (basis := self._basis()) is not None:
            self.rows = self.rows.in_basis(basis)
        self.log_shares, self.tested = 0.0, self.evidence
        self._information_at_zero: FloatArray | None = None
        self._last_clusters: tuple[Rows, tuple[bytes, int], ClusterSpread] | None = None

    def _basis(self) -> Basis | None:
        """For covariates as they are: collinear ones are refused before anything is fitted."""
        return find_basis(self.rows, self.model)

    def __getstate__(self) -> dict[str, Any]:
        """To where rows are, a problem travels without them."""
        return {name: value for name, value in vars(self).items() if name not in _AT_HOME}

    @cached_property
    def standard(self) -> Standard:
        """Coordinates of standardised covariates."""
        return standardise(self.rows, self.model)

    @property
    def frequencies(self) -> list[FloatArray]:
        """q̂ of every channel: the (weighted) share of each observation, smoothed so that none is 0, shape (k,)."""
        return [np.asarray((counts + 0.5) / (counts.sum() + 0.5 * len(counts))) for counts in self.counts]

    @property
    def channel(self) -> FiniteChannel:
        """How outputs were seen; refused where there are several ways."""
        return self.evidence.channel

    def moments(self, weighting: Weighting) -> ConditionalMoments:
        """The moment equations, always the same ones: those of several designs have a pilot to solve."""
        if str(weighting) not in self._moments:
            self._moments[str(weighting)] = ConditionalMoments(self, weighting)
        return self._moments[str(weighting)]

    def likelihood(self, precision: FloatArray | None = None) -> ConditionalLikelihood:
        """The marginal likelihood; without a prior always the same one, which remembers its last pass."""
        return self._likelihood if precision is None else ConditionalLikelihood(self, precision)

    @cached_property
    def _likelihood(self) -> ConditionalLikelihood:
        return ConditionalLikelihood(self, None)

    def exploration(self) -> ResponsesProblem:
        """The problem of a thinned sample, where there are many rows."""
        if self.rows.n_rows < self.thinned_from:
            return self
        try:
            sample = type(self)(self.model, self.evidence.thinned(self.rows.n_rows // self.thinned_to), self)
            _ = sample.standard
            return sample
        except NotIdentifiedError:  # a rare category may be missing from the sample
            return self

    def expected_statistics(self, theta: FloatArray) -> FloatArray:
        """E-step: Ê r ⊗ x with r the posterior of the output given the report."""
        (sums,) = self.rows.total(partial(_expected, coefficients=self.model.blocks(theta)))
        return np.asarray(sums.ravel() / self.rows.total_weight)

    def match(self, statistics: FloatArray) -> ConditionalMatching:
        """The convex objective of the M-step."""
        return ConditionalMatching(self, statistics)

    def information(self, theta: FloatArray) -> FloatArray:
        """Ê Cov[φ | x] under the model, per report, shape (d, d)."""
        if self._information_at_zero is not None and not theta.any():
            return self._information_at_zero
        d, sums = self.model.dimension, self.rows.sums(self.model.blocks(theta), PRIOR, OF_MODEL)
        result = np.asarray(sums[2].reshape(d, d) / self.rows.total_weight)
        if not theta.any():
            self._information_at_zero = result
        return result

    def curvature(self, rows: Rows, theta: FloatArray, of_row: RowCurvature) -> FloatArray:
        """Σ V ⊗ x xᵀ over the total weight, with V = of_row(block, P), shape (d, d)."""
        d = self.model.dimension
        (curved,) = rows.total(partial(_curved, coefficients=self.model.blocks(theta), of_row=of_row))
        return np.asarray(curved.reshape(d, d) / rows.total_weight)

    def ran_off(self, theta: FloatArray) -> bool:
        """Whether θ has run off to infinity."""
        return self.standard.ran_off(theta, self.information)

    def distance(self, a: FloatArray, b: FloatArray) -> float:
        """The largest difference between predicted probabilities, over the first rows of every design."""
        largest = 0.0
        for block in self.rows.first_blocks:
            p, _ = softmax(logits(block, self.model.blocks(a)))
            q, _ = softmax(logits(block, self.model.blocks(b)))
            largest = max(largest, float(np.abs(p - q).max()))
        return largest

    def is_direct(self) -> bool:
        """Whether the outputs themselves were seen."""
        return all(channel.for_purpose("") == Direct(channel.outputs) for channel in self.channels)

    def score_covariance(self, rows: Rows, theta: FloatArray, against: int) -> FloatArray:
        """n · Cov of the mean of (P − T) ⊗ x at θ, with weights and clusters, shape (d, d); `softmax_pass` has T."""
        if self.has_clusters:
            squares = self._clustered(rows, theta, against).squares
            return np.asarray(squares * (self.n_observations / rows.total_weight**2))
        d = self.model.dimension
        squares = rows.sums(self.model.blocks(theta), against, SQUARED)[2]
        return np.asarray(squares.reshape(d, d) * (self.n_observations / rows.total_weight**2))

    @property
    def robust_notices(self) -> tuple[Notice, ...]:
        """That clusters are few."""
        return self.few_clusters(self.rows)

    def few_clusters(self, rows: Rows) -> tuple[Notice, ...]:
        """That these rows have few clusters."""
        d = self.model.dimension
        if not self.has_clusters:
            return ()
        count = len(rows.clusters)
        if count > d:
            return ()
        few = f"{count} clusters for {d} parameters"
        return (Notice(AskanceWarning, f"{few}: cluster-robust standard errors are not to be trusted"),)

    def freedom(self, rows: Rows, theta: FloatArray, against: int) -> Freedom | None:
        """Of contrasts of θ̂ under the covariance that `score_covariance` gives; None: normal quantiles."""
        return self._clustered(rows, theta, against).freedom if self.has_clusters else None

    def _clustered(self, rows: Rows, theta: FloatArray, against: int) -> ClusterSpread:
        """Σ s sᵀ over clusters, the last one found is remembered: CR2, or with many clusters as they are."""
        asked = theta.tobytes(), against
        if self._last_clusters is None or self._last_clusters[0] is not rows or self._last_clusters[1] != asked:
            scores = partial(self.scores, theta=theta, against=against)
            self._last_clusters = rows, asked, self.clustered(rows, scores, self.working(theta, against))
        return self._last_clusters[2]

    def clustered(
        self,
        rows: Rows,
        scores: Callable[[Block], FloatArray],
        working: Callable[[Block], tuple[FloatArray, ...]] | None = None,
    ) -> ClusterSpread:
        """Σ s sᵀ over clusters, within strata where they were drawn from them.

        Args:
            rows: of the clusters.
            scores: weighted, of every row of a block, shape (n, q).
            working: J of the rows of a block, and the slopes A where s is no score (`cluster_spread`), shape (q, q)
                each; None, and with many clusters: their sums are taken as they are.
        """
        keys, sums = rows.total(scores, by=clusters_of)
        count = len(sums)
        if count < 2:
            only = shown(keys.tolist()[0])
            raise InputError(
                f"there is one cluster, {only}, which says nothing of how clusters differ; allowed: at least 2.",
                remedy="Name another column, or leave clusters out.",
            )
        if self.evidence.strata is not None:
            strata = self.evidence.strata.of(keys)
            apart = strata.apart(sums)
            return ClusterSpread(np.asarray(apart.T @ apart), Freedom(strata.freedom))
        if working is None or count > self.most_clusters:
            centred = sums - sums.mean(axis=0)
            freedom = None if count > self.most_clusters else Freedom(count - 1.0)
            return ClusterSpread(np.asarray(centred.T @ centred * (count / (count - 1))), freedom)
        known = rows.total(partial(_informations, keys=keys, working=working))
        if sums.shape[1] == self.model.dimension:
            invert_information(known[0].sum(axis=0) / rows.total_weight, self.parameter_names, "the channel")
        return cluster_spread(sums, *known)

    def working(self, theta: FloatArray, against: int) -> Callable[[Block], tuple[FloatArray, ...]]:
        """What `clustered` is to know of blocks beside their scores."""
        return partial(self._working, theta=theta, against=against)

    def _working(self, block: Block, theta: FloatArray, against: int) -> tuple[FloatArray, ...]:
        return (self.row_information(block, theta, against),)

    def row_information(self, block: Block, theta: FloatArray, against: int) -> FloatArray:
        """Σ of the expected information of the rows of a block; of moments, of what they are matched to; (d, d)."""
        d = self.model.dimension
        curvature = OF_MODEL if against == TARGET else EXPECTED
        return plain_sums(block, self.model.blocks(theta), against, curvature)[2].reshape(d, d)

    def scores(self, block: Block, theta: FloatArray, against: int) -> FloatArray:
        """Weighted (P − T) ⊗ x of every row of a block, shape (n, d)."""
        coefficients = self.model.blocks(theta)
        s = weighted(block, residuals(block, coefficients, against)).reshape(len(block.codes), len(coefficients))
        dense = block.x if isinstance(block.x, np.ndarray) else block.x.toarray()
        return np.asarray((s[:, :, None] * dense[:, None, :]).reshape(len(s), theta.size))

    def inward(self, theta: FloatArray) -> FloatArray:
        """Parameters of the covariates as they were given, in the coordinates of the problem."""
        return theta if self.rows.basis is None else self.rows.basis.inward(theta)

    @property
    def n_terms(self) -> int:
        """How many covariates a row has."""
        return self.rows.n_terms

    def guesses(self) -> list[FloatArray]:
        """None: what is hidden is explained by what is known."""
        return []

    def log_likelihood(self, theta: FloatArray) -> float:
        """Σ log P(o | x) over the reports, in the proportions of their weights."""
        return -self.rows.total_weight * self.likelihood().value(theta)


def _counted(block: Block, sizes: tuple[int, ...]) -> tuple[FloatArray, ...]:
    """How often every observation of every channel was reported in a block, (k,) each."""
    counts = tuple(map(np.zeros, sizes))
    own = counts[block.part]
    own += np.bincount(block.codes, weights=block.weights, minlength=len(own))
    return counts


def _informations(
    block: Block, keys: AnyArray, working: Callable[[Block], tuple[FloatArray, ...]]
) -> tuple[FloatArray, ...]:
    """What `working` says of the rows of every cluster, shape (clusters, q, q) each."""
    of = np.searchsorted(keys, clusters_of(block))
    own = {key: working(some_rows(block, np.flatnonzero(of == key))) for key in np.unique(of).tolist()}
    own = own or {0: working(block)}  # without rows there are sums of nothing
    first = next(iter(own.values()))
    known = tuple(np.zeros((len(keys), *part.shape)) for part in first)
    for key, parts in own.items():
        for sums, part in zip(known, parts, strict=True):
            sums[key] = part
    return known


def _expected(block: Block, coefficients: FloatArray) -> tuple[FloatArray, ...]:
    """Σ r ⊗ x with r the posterior of the output."""
    p, A = softmax(logits(block, coefficients))
    return (moment(block.x, weighted(block, posterior(block, p, A)[0])),)


def _curved(block: Block, coefficients: FloatArray, of_row: RowCurvature) -> tuple[FloatArray, ...]:
    """Σ V ⊗ x xᵀ with V = of_row(block, P)."""
    share, _ = softmax(logits(block, coefficients))
    return (gram(block.x, of_row(block, share)),)
