"""Averages over respondents with delta-method errors: prevalence and marginal effects.

Notation: P the probabilities of a row, shape (m,), w its weight, W = Σ w. The derivative of P_y with respect to the
logit of output b is P_y (1[y = b] − P_b), and the logit of b is x·θ_b, so that every gradient below is a sum
Σ w V_yb x for some V of the row.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from askance._arrays import AnyArray, FloatArray, IntArray
from askance.errors import AskanceWarning, InputError
from askance.estimation.freedom import KnownTo, freedom_of, normal_quantile, quantile, two_sided
from askance.estimation.problems.basis import Basis, BasisEstimate
from askance.estimation.problems.cluster_spread import MOST_CLUSTERS, mean_spread
from askance.estimation.problems.sample import BlockCodes, Piece, Sample, column_of, groups_of
from askance.estimation.results.results import MarginalEffects, Prevalence
from askance.estimation.results.share_intervals import share_interval
from askance.evidence.replication import Replication
from askance.models.softmax import Covariates, Softmax

# The covariance of more shares than this is not kept.
_MOST_JOINT = 500
# Columns times coefficients: more take too long.
_MOST_SLOPES = 1_000_000
# A variance below this share of the terms it is a sum of may be nothing but their rounding.
_LOST = 2.0**12 * np.finfo(np.float64).eps


class Again(NamedTuple):
    """θ̂ and respondents with every set of replicate weights, and how their spread counts."""

    replication: Replication
    estimates: tuple[tuple[FloatArray, Sample], ...]

    def covariance(self, model: Softmax, codes: IntArray | BlockCodes, size: int) -> FloatArray:
        """Of the shares of all groups, shape (g, m, g, m); NaN of groups that some replicate does not have."""
        with np.errstate(invalid="ignore"):
            shares = [group_means(model, theta, sample, codes, size)[0] for theta, sample in self.estimates]
        flat = np.stack([share.ravel() for share in shares])
        return self.replication.covariance(flat).reshape(size, -1, size, flat.shape[1] // size)


def prevalence(
    model: Softmax,
    at: BasisEstimate,
    sample: Sample,
    groups: tuple[tuple[object, ...], IntArray | BlockCodes],
    by: str | None = None,
    *,
    confidence: float,
    population: bool,
    again: Again | None = None,
) -> Prevalence:
    """Mean of p_θ(y | x) over the respondents of every group; `again` brings the errors in a population by itself."""
    normal_quantile(confidence)  # refused before anything is summed
    names, codes = groups
    size = len(names)
    mean, slope, n_respondents = group_means(model, at.theta, sample, codes, size)
    variance, joint = _variance(slope, at.covariance), _joint_covariance(slope, at.covariance)
    freedom = freedom_of(at.freedom, slope)
    if again is not None:
        whole = again.covariance(model, codes, size)
        variance = np.einsum("gaga->ga", whole)
        joint = joint if joint is None else whole
    elif population:
        sampling = Sampling.of(model, at.theta, sample, codes, mean)
        freedom = _of_both(variance, freedom, sampling.variances, sampling.freedom[:, None])
        variance = variance + sampling.variances
        joint = joint if joint is None else joint + sampling.joint()
    errors = np.sqrt(variance)
    lower, upper = share_interval(mean, errors, quantile(confidence, freedom), n_respondents[:, None])
    outputs = tuple(model.outputs.labels)
    return Prevalence(
        names, outputs, n_respondents, mean, errors, lower, upper, confidence, population, by, joint, _few(freedom)
    )


def _few(freedom: FloatArray) -> FloatArray | None:
    """Degrees of freedom; None where all are infinite."""
    return None if np.isinf(freedom).all() else freedom


def _joint_covariance(slope: FloatArray, covariance: FloatArray) -> FloatArray | None:
    """G Σ Gᵀ of all shares, shape (g, m, g, m), from their gradients (g, m, d); None where they are too many."""
    size, m, _ = slope.shape
    if size * m > _MOST_JOINT:
        return None
    if not is_known(covariance):
        return np.full((size, m, size, m), np.nan)
    flat = slope.reshape(size * m, -1)
    return np.asarray((flat @ covariance @ flat.T).reshape(size, m, size, m))


def group_means(
    model: Softmax, theta: FloatArray, sample: Sample, codes: IntArray | BlockCodes, size: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean probabilities (g, m), their gradients (g, m, d) and the number of respondents (g,) of every group."""
    at = _At(model, theta, sample.basis)
    sizes, slope = sample.total(partial(_means_of, at=at, codes=codes, size=size))
    weight, counted, mean = sizes[:, 0], sizes[:, 1], sizes[:, 2:]
    slopes = (slope / weight[:, None, None, None]).reshape(size, len(model.outputs), -1)
    return mean / weight[:, None], slopes, counted


@dataclass(frozen=True)
class _At:
    """A model at θ, in the basis that θ is about: what sums over rows take along."""

    model: Softmax
    theta: FloatArray
    basis: Basis | None

    def covariates(self, block: Piece) -> Covariates:
        return block.x if self.basis is None else self.basis.covariates(block.x)

    def probabilities(self, block: Piece) -> FloatArray:
        return self.model.probabilities(self.theta, self.covariates(block))


def _means_of(block: Piece, place: slice, at: _At, codes: IntArray | BlockCodes, size: int) -> tuple[FloatArray, ...]:
    """Of every group: Σ w, respondents and Σ w P, shape (g, 2 + m), and Σ w ∂P, shape (g, m, K, p)."""
    group, x, w, P = groups_of(codes, block, place), at.covariates(block), block.total, at.probabilities(block)
    m = P.shape[1]
    slope = np.empty((size, m, m - 1, x.shape[1]))
    for y in range(m):
        for b in range(1, m):
            slope[:, y, b - 1] = _group_sums(w * P[:, y] * ((y == b) - P[:, b]), x, group, size)
    return _by_group(np.column_stack([w, block.count, w[:, None] * P]), group, size), slope


def _by_group(values: FloatArray, group: IntArray, size: int) -> FloatArray:
    """Σ of values (n, m) over the rows of every group, shape (g, m)."""
    columns = [np.bincount(group, weights=column, minlength=size) for column in values.T]
    return np.asarray(np.stack(columns, axis=1), dtype=np.float64)


def _variance(slope: FloatArray, covariance: FloatArray) -> FloatArray:
    """Delta method: gᵀ Σ g for every gradient along the last axis; NaN where Σ is not known."""
    if not is_known(covariance):
        return np.full(slope.shape[:-1], np.nan)
    flat = slope.reshape(-1, slope.shape[-1])
    return with_digits(quadratic(flat, covariance), quadratic(abs(flat), abs(covariance))).reshape(slope.shape[:-1])


def quadratic(rows: Covariates, matrix: FloatArray) -> FloatArray:
    """gᵀ M g of every row g, shape (n,)."""
    half = rows @ matrix
    if isinstance(rows, np.ndarray):
        return np.asarray(np.einsum("ri,ri->r", half, rows))
    return np.asarray(rows.multiply(half).sum(axis=1)).ravel()


def with_digits(variances: FloatArray, sizes: FloatArray) -> FloatArray:
    """Variances, or NaN where they are lost in the rounding of sums of such sizes; with a warning.

    Variances of the coefficients of covariates far from 0 nearly cancel. A fit at hand has others (`in_basis`).
    """
    lost = variances < _LOST * sizes
    if lost.any():
        warnings.warn(
            "some standard errors are not given: the covariates are so far from 0 that a covariance of coefficients "
            "has no digits left for them. Fit again, or count the covariates from a number among them.",
            AskanceWarning,
            stacklevel=5,
        )
    return np.where(lost, np.nan, variances)


def is_known(covariance: FloatArray) -> bool:
    """Whether there is a covariance; looks at its diagonal only, because of large fits that have none."""
    return not bool(np.isnan(np.diagonal(covariance)).any())


def _group_sums(v: FloatArray, x: Covariates, group: IntArray, size: int) -> FloatArray:
    """Σ v x over the rows of every group, shape (g, p)."""
    if size == 1:
        return np.asarray(x.T @ v)[None, :]
    from scipy.sparse import csr_array

    sums = csr_array((v, (group, np.arange(len(v)))), shape=(size, len(v))) @ x
    return np.asarray(sums if isinstance(sums, np.ndarray) else sums.toarray())


def _of_both(one: FloatArray, its: FloatArray, other: FloatArray, others: FloatArray) -> FloatArray:
    """Degrees of freedom of the sum of two independent variances (Satterthwaite)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        small = np.where(np.isinf(its), 0.0, one**2 / its) + np.where(np.isinf(others), 0.0, other**2 / others)
        return np.where(small == 0, np.inf, (one + other) ** 2 / small)


@dataclass(frozen=True)
class Sampling:
    """How weighted means of P vary over samples of respondents, or of whole clusters.

    Attributes:
        within: covariances of the answers of every group, shape (g, m, m).
        parts: where there are clusters, what each adds to the means, shape (clusters, g, m); None elsewhere: then
            groups share nobody.
        freedom: degrees of freedom of the variances of every group, shape (g,).
    """

    within: FloatArray
    parts: FloatArray | None
    freedom: FloatArray

    @classmethod
    def of(
        cls, model: Softmax, theta: FloatArray, sample: Sample, codes: IntArray | BlockCodes, mean: FloatArray
    ) -> Sampling:
        """Of means (g, m) of the rows with these codes of groups."""
        size, m = mean.shape
        own: dict[str, Any] = {"at": _At(model, theta, sample.basis), "codes": codes, "mean": mean}
        if not sample.has_clusters:
            (sizes,) = sample.total(partial(_alone, **own))
            weight, units, squares = sizes[:, 0], sizes[:, 1], sizes[:, 2:].reshape(size, m, m)
            return cls(squares * (_correction(units) / weight**2)[:, None, None], None, np.full(size, np.inf))
        clusters = sample.total(partial(_in_clusters, **own), by=partial(_cluster_in_group, codes=codes, size=size))
        home = clusters.keys % size
        sizes = _by_group(np.column_stack([clusters.sums[:, -1:], np.ones(len(home))]), home, size)
        if sample.strata is not None:
            sums = np.zeros((len(sample.strata.place), size, m))
            sums[clusters.keys // size, home] = clusters.sums[:, :-1] / sizes[home, :1]
            parts = sample.strata.apart(sums)
            within = np.einsum("cga,cgb->gab", parts, parts)
            return cls(within, parts if size * m <= _MOST_JOINT else None, np.full(size, sample.strata.freedom))
        factors, freedom = np.sqrt(_correction(sizes[:, 1]))[home], np.full(size, np.inf)
        if len(np.unique(clusters.keys // size)) <= MOST_CLUSTERS:
            for group in range(size):
                factors[home == group], freedom[group] = mean_spread(clusters.sums[home == group, -1])
        scaled = clusters.sums[:, :-1] * (factors / sizes[home, 0])[:, None]
        products = (scaled[:, :, None] * scaled[:, None, :]).reshape(-1, m * m)
        within = _by_group(products, home, size).reshape(size, m, m)
        if size * m > _MOST_JOINT:
            return cls(within, None, freedom)
        names, place = np.unique(clusters.keys // size, return_inverse=True)
        parts = np.zeros((len(names), size, m))
        parts[place.reshape(-1), home] = scaled
        return cls(within, parts, freedom)

    @property
    def variances(self) -> FloatArray:
        """Of all means, shape (g, m)."""
        return np.asarray(np.einsum("gaa->ga", self.within))

    def joint(self) -> FloatArray:
        """Covariances of all means, shape (g, m, g, m)."""
        if self.parts is not None:
            return np.asarray(np.einsum("cga,chb->gahb", self.parts, self.parts, optimize=True))
        return np.asarray(np.einsum("gh,gab->gahb", np.eye(len(self.within)), self.within))


def _residuals(block: Piece, place: slice, at: _At, codes: IntArray | BlockCodes, mean: FloatArray) -> FloatArray:
    """Weighted P less the mean of the group, shape (n, m)."""
    return np.asarray(block.weight[:, None] * (at.probabilities(block) - mean[groups_of(codes, block, place)]))


def _alone(
    block: Piece, place: slice, at: _At, codes: IntArray | BlockCodes, mean: FloatArray
) -> tuple[FloatArray, ...]:
    """Of every group: weights, respondents, and squares of residuals, shape (g, 2 + m²)."""
    r, (size, m) = _residuals(block, place, at, codes, mean), mean.shape
    squares = (block.count[:, None, None] * r[:, :, None] * r[:, None, :]).reshape(len(r), m * m)
    sums = np.column_stack([block.total, block.count, squares])
    return (_by_group(sums, groups_of(codes, block, place), size),)


def _in_clusters(block: Piece, place: slice, at: _At, codes: IntArray | BlockCodes, mean: FloatArray) -> FloatArray:
    """Residuals and weights of rows, shape (n, m + 1)."""
    return np.column_stack([block.count[:, None] * _residuals(block, place, at, codes, mean), block.total])


def _cluster_in_group(block: Piece, place: slice, codes: IntArray | BlockCodes, size: int) -> IntArray:
    assert block.clusters is not None
    return np.asarray(block.clusters * size + groups_of(codes, block, place))


def _correction(units: FloatArray) -> FloatArray:
    """k / (k − 1) of k respondents or clusters; NaN of one."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(units > 1, units / (units - 1), np.nan)


def marginal_effects(
    model: Softmax, at: BasisEstimate, sample: Sample, reference: Sample, columns: list[int], *, confidence: float
) -> MarginalEffects:
    """Mean effect of every given column; `reference` decides which ones are binary."""
    if len(columns) * model.dimension > _MOST_SLOPES:
        raise InputError(
            f"there are {len(columns)} columns to compute effects of, in a model of {model.dimension} coefficients.",
            remedy="Name the terms of interest: marginal_effects(terms=[…]).",
        )
    binary = [bool(reference.ranges[2][j]) for j in columns]
    estimate = np.zeros((len(columns), len(model.outputs)))
    slope = np.zeros((len(columns), len(model.outputs), model.dimension))
    for i, (j, changes) in enumerate(zip(columns, binary, strict=True)):
        estimate[i], slope[i] = (
            change(model, at.theta, sample, j) if changes else derivative(model, at.theta, sample, sample.direction(j))
        )
    terms, kinds = (model.terms[j] for j in columns), ("0 → 1" if changes else "slope" for changes in binary)
    outputs = tuple(model.outputs.labels)
    return effects_of(tuple(terms), tuple(kinds), outputs, estimate, slope, at.covariance, confidence, at.freedom)


def effects_of(
    terms: tuple[str, ...],
    kinds: tuple[str, ...],
    outputs: tuple[Any, ...],
    estimate: FloatArray,
    slope: FloatArray,
    covariance: FloatArray,
    confidence: float,
    known: KnownTo = None,
) -> MarginalEffects:
    """Effects (terms, m) with errors from their gradients (terms, m, d)."""
    errors, freedom = np.sqrt(_variance(slope, covariance)), freedom_of(known, slope)
    reach = quantile(confidence, freedom) * errors
    with np.errstate(divide="ignore", invalid="ignore"):
        p_value = two_sided(estimate / errors, freedom)
    return MarginalEffects(
        terms,
        kinds,
        outputs,
        estimate,
        errors,
        p_value,
        estimate - reach,
        estimate + reach,
        confidence,
        _few(freedom),
    )


def derivative(model: Softmax, theta: FloatArray, sample: Sample, rate: Covariates) -> tuple[FloatArray, FloatArray]:
    """Mean of ∂P_y/∂v = P_y (c_y − Σ_b P_b c_b) with c_b = x′·θ_b, shape (m,), and its gradient (m, d).

    Args:
        model: of the probabilities.
        theta: its parameters.
        sample: those who are averaged over.
        rate: x′, how covariates change with v: that of all rows, shape (p,), or of each, shape (n, p).
    """
    weight, value, slope = sample.total(partial(_derivatives, at=_At(model, theta, sample.basis), rate=rate))
    return value / weight, slope.reshape(len(model.outputs), -1) / weight


def _derivatives(block: Piece, place: slice, at: _At, rate: Covariates) -> tuple[FloatArray, ...]:
    """Σ w, Σ w ∂P/∂v, shape (m,), and its gradient, shape (m, K, p)."""
    alike = rate.ndim == 1
    w, x, along = block.total, at.covariates(block), rate if alike else rate[place]
    P, c = at.probabilities(block), np.asarray(along @ at.model.blocks(at.theta).T)
    m = P.shape[1]
    c = np.concatenate([np.zeros((*c.shape[:-1], 1)), c], axis=-1)
    away = c - (P * c).sum(axis=1)[:, None]  # c_y − Σ_b P_b c_b, shape (n, m)
    slope = np.empty((m, m - 1, x.shape[1]))
    for y in range(m):
        for b in range(1, m):
            moved = (y == b) - P[:, b]
            through_x = w * P[:, y] * (moved * away[:, y] - P[:, b] * away[:, b])
            through_c = w * P[:, y] * moved
            slope[y, b - 1] = x.T @ through_x + (along * through_c.sum() if alike else along.T @ through_c)
    return np.asarray(w.sum()), w @ (P * away), slope


def change(model: Softmax, theta: FloatArray, sample: Sample, j: int) -> tuple[FloatArray, FloatArray]:
    """Mean of P_y at x_j = 1 minus P_y at x_j = 0, shape (m,), and its gradient (m, d)."""
    at = _At(model, theta, sample.basis)
    weight, value, slope = sample.total(partial(_changes, at=at, j=j, along=sample.direction(j)))
    return value / weight, slope.reshape(len(model.outputs), -1) / weight


def _changes(block: Piece, place: slice, at: _At, j: int, along: FloatArray) -> tuple[FloatArray, ...]:
    """Σ w, Σ w of the change, shape (m,), and its gradient, shape (m, K, p)."""
    coefficient = np.concatenate([[0.0], at.model.blocks(at.theta) @ along])
    w, x, own, m = block.total, at.covariates(block), column_of(block.x, j), len(coefficient)
    without = at.model.logits(at.theta, x) - own[:, None] * coefficient
    value, slope = np.zeros(m), np.zeros((m, m - 1, len(along)))
    for sign, level in ((1.0, 1.0), (-1.0, 0.0)):
        P = _normalised(without + level * coefficient)
        value += sign * (w @ P)
        for y in range(m):
            for b in range(1, m):
                v = w * P[:, y] * ((y == b) - P[:, b])
                slope[y, b - 1] += sign * (x.T @ v + along * ((level - own) @ v))
    return np.asarray(w.sum()), value, slope


def _normalised(scores: FloatArray) -> FloatArray:
    e: AnyArray = np.exp(scores - scores.max(axis=1)[:, None])
    return np.asarray(e / e.sum(axis=1)[:, None])
