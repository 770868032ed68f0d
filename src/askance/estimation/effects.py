"""Averages over respondents with delta-method errors: prevalence and marginal effects.

Notation: P the probabilities of a row, shape (m,), w its weight, W = Σ w. The derivative of P_y with respect to the
logit of output b is P_y (1[y = b] − P_b), and the logit of b is x·θ_b, so that every gradient below is a sum
Σ w V_yb x for some V of the row.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from askance._arrays import AnyArray, FloatArray, IntArray
from askance.errors import InputError
from askance.estimation.fit import normal_quantile
from askance.estimation.results import MarginalEffects, Prevalence
from askance.estimation.sample import Piece, Sample, column_of, is_binary
from askance.estimation.share_intervals import share_interval
from askance.models.softmax import Covariates, Softmax

# Columns times coefficients: more take too long.
_MOST_SLOPES = 1_000_000


def prevalence(
    model: Softmax,
    theta: FloatArray,
    covariance: FloatArray,
    sample: Sample,
    groups: tuple[tuple[object, ...], IntArray],
    by: str | None = None,
    *,
    confidence: float,
    population: bool,
) -> Prevalence:
    """Mean of p_θ(y | x) over the respondents of every group."""
    z = normal_quantile(confidence)
    names, codes = groups
    size = len(names)
    mean, slope, n_respondents = group_means(model, theta, sample, codes, size)
    variance = _variance(slope, covariance)
    if population:
        variance = variance + _sampling_variance(model, theta, sample, codes, mean)
    errors = np.sqrt(variance)
    lower, upper = share_interval(mean, errors, z, n_respondents[:, None])
    outputs = tuple(model.outputs.labels)
    return Prevalence(names, outputs, n_respondents, mean, errors, lower, upper, confidence, population, by)


def group_means(
    model: Softmax, theta: FloatArray, sample: Sample, codes: IntArray, size: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean probabilities (g, m), their gradients (g, m, d) and the number of respondents (g,) of every group."""
    m, p = len(model.outputs), len(model.terms)
    weight, mean, counted = np.zeros(size), np.zeros((size, m)), np.zeros(size)
    slope = np.zeros((size, m, m - 1, p))
    for block, place in sample.blocks():
        group = codes[place]
        P = model.probabilities(theta, block.x)
        w = block.total
        weight += np.bincount(group, weights=w, minlength=size)
        counted += np.bincount(group, weights=block.count, minlength=size)
        for y in range(m):
            mean[:, y] += np.bincount(group, weights=w * P[:, y], minlength=size)
            for b in range(1, m):
                slope[:, y, b - 1] += _group_sums(w * P[:, y] * ((y == b) - P[:, b]), block.x, group, size)
    return mean / weight[:, None], (slope / weight[:, None, None, None]).reshape(size, m, -1), counted


def _variance(slope: FloatArray, covariance: FloatArray) -> FloatArray:
    """Delta method: gᵀ Σ g for every gradient along the last axis; NaN where Σ is not known."""
    if not is_known(covariance):
        return np.full(slope.shape[:-1], np.nan)
    flat = slope.reshape(-1, slope.shape[-1])
    return np.asarray(np.einsum("ri,ri->r", flat @ covariance, flat).reshape(slope.shape[:-1]))


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


def _sampling_variance(
    model: Softmax, theta: FloatArray, sample: Sample, codes: IntArray, mean: FloatArray
) -> FloatArray:
    """Variance of the weighted mean of P over samples of respondents (or of whole clusters), shape (g, m)."""
    size, m = mean.shape
    clustered = sample.pieces[0].clusters is not None
    squares, weight, units = np.zeros((size, m)), np.zeros(size), np.zeros(size)
    unit_codes, unit_sums = [], []
    for block, place in sample.blocks():
        group = codes[place]
        residual = block.weight[:, None] * (model.probabilities(theta, block.x) - mean[group])
        weight += np.bincount(group, weights=block.total, minlength=size)
        if block.clusters is not None:
            unit_codes.append(block.clusters * size + group)
            unit_sums.append(block.count[:, None] * residual)
            continue
        units += np.bincount(group, weights=block.count, minlength=size)
        for y in range(m):
            squares[:, y] += np.bincount(group, weights=block.count * residual[:, y] ** 2, minlength=size)
    if clustered:
        found, place_of = np.unique(np.concatenate(unit_codes), return_inverse=True)
        sums, home = np.concatenate(unit_sums), found % size
        units = np.bincount(home, minlength=size).astype(np.float64)
        for y in range(m):
            total = np.bincount(place_of.reshape(-1), weights=sums[:, y])
            squares[:, y] = np.bincount(home, weights=total**2, minlength=size)
    with np.errstate(divide="ignore", invalid="ignore"):
        correction = np.where(units > 1, units / (units - 1), np.nan)
    return np.asarray(squares * (correction / weight**2)[:, None])


def marginal_effects(
    model: Softmax,
    theta: FloatArray,
    covariance: FloatArray,
    sample: Sample,
    reference: Sample,
    columns: list[int],
    *,
    confidence: float,
) -> MarginalEffects:
    """Mean effect of every given column; `reference` decides which ones are binary."""
    from scipy.special import erfc

    z = normal_quantile(confidence)
    if len(columns) * model.dimension > _MOST_SLOPES:
        raise InputError(
            f"there are {len(columns)} columns to compute effects of, in a model of {model.dimension} coefficients.",
            remedy="Name the terms of interest: marginal_effects(terms=[…]).",
        )
    binary = [is_binary(reference.column(j)) for j in columns]
    estimate = np.zeros((len(columns), len(model.outputs)))
    slope = np.zeros((len(columns), len(model.outputs), model.dimension))
    for i, (j, changes) in enumerate(zip(columns, binary, strict=True)):
        estimate[i], slope[i] = (change if changes else derivative)(model, theta, sample, j)
    errors = np.sqrt(_variance(slope, covariance))
    with np.errstate(divide="ignore", invalid="ignore"):
        p_value = np.asarray(erfc(np.abs(estimate / errors) / math.sqrt(2)))
    return MarginalEffects(
        tuple(model.terms[j] for j in columns),
        tuple("0 → 1" if changes else "slope" for changes in binary),
        tuple(model.outputs.labels),
        estimate,
        errors,
        p_value,
        estimate - z * errors,
        estimate + z * errors,
        confidence,
    )


def derivative(model: Softmax, theta: FloatArray, sample: Sample, j: int) -> tuple[FloatArray, FloatArray]:
    """Mean of ∂P_y/∂x_j = P_y (θ_yj − Σ_b P_b θ_bj), shape (m,), and its gradient (m, d)."""
    m, p = len(model.outputs), len(model.terms)
    coefficient = np.concatenate([[0.0], model.blocks(theta)[:, j]])
    total, value, slope = 0.0, np.zeros(m), np.zeros((m, m - 1, p))
    for block, w, P in _weighted_probabilities(model, theta, sample):
        total += float(w.sum())
        away = coefficient - (P @ coefficient)[:, None]  # θ_yj − Σ_b P_b θ_bj, shape (n, m)
        value += w @ (P * away)
        for y in range(m):
            for b in range(1, m):
                moved = (y == b) - P[:, b]
                through_x = w * P[:, y] * (moved * away[:, y] - P[:, b] * away[:, b])
                slope[y, b - 1] += block.x.T @ through_x
                slope[y, b - 1, j] += w @ (P[:, y] * moved)
    return value / total, slope.reshape(m, -1) / total


def change(model: Softmax, theta: FloatArray, sample: Sample, j: int) -> tuple[FloatArray, FloatArray]:
    """Mean of P_y at x_j = 1 minus P_y at x_j = 0, shape (m,), and its gradient (m, d)."""
    m, p = len(model.outputs), len(model.terms)
    coefficient = np.concatenate([[0.0], model.blocks(theta)[:, j]])
    total, value, slope = 0.0, np.zeros(m), np.zeros((m, m - 1, p))
    for block, _ in sample.blocks():
        w = block.total
        total += float(w.sum())
        without = model.logits(theta, block.x) - column_of(block.x, j)[:, None] * coefficient
        for sign, level in ((1.0, 1.0), (-1.0, 0.0)):
            P = _normalised(without + level * coefficient)
            value += sign * (w @ P)
            for y in range(m):
                for b in range(1, m):
                    v = w * P[:, y] * ((y == b) - P[:, b])
                    part = np.asarray(block.x.T @ v)
                    part[j] = level * v.sum()
                    slope[y, b - 1] += sign * part
    return value / total, slope.reshape(m, -1) / total


def _weighted_probabilities(
    model: Softmax, theta: FloatArray, sample: Sample
) -> Iterator[tuple[Piece, FloatArray, FloatArray]]:
    for block, _ in sample.blocks():
        yield block, block.total, model.probabilities(theta, block.x)


def _normalised(scores: FloatArray) -> FloatArray:
    e: AnyArray = np.exp(scores - scores.max(axis=1)[:, None])
    return np.asarray(e / e.sum(axis=1)[:, None])
