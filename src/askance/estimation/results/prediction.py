"""Probabilities of single respondents with intervals on the log-odds scale: before and after hearing their report."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from askance._arrays import ArrayLike, FloatArray
from askance.channels.finite import FiniteChannel
from askance.errors import InputError, ShapeError
from askance.estimation.freedom import KnownTo, normal_quantile, quantile
from askance.estimation.problems.basis import BasisEstimate
from askance.estimation.results.effects import is_known, quadratic, with_digits
from askance.estimation.results.results import POSTERIOR_WARNING, Posteriors, Predictions
from askance.models.softmax import Covariates, Softmax


def predict(model: Softmax, at: BasisEstimate, x: Covariates, confidence: float) -> Predictions:
    """p_θ(y | x) of every row."""
    spread = _spread_of_logits(at.covariance, x, len(model.outputs) - 1)
    table = _with_intervals(model.logits(at.theta, x), spread, partial(_quantiles, confidence, at.freedom, x))
    return Predictions(tuple(model.outputs.labels), *table, confidence)


def posterior(
    model: Softmax,
    at: BasisEstimate,
    x: Covariates,
    observed: ArrayLike,
    channel: FiniteChannel,
    confidence: float,
) -> Posteriors:
    """P(y | x, o) ∝ p_θ(y | x) S(o | y) of every row."""
    likelihood = channel.log_likelihood(observed)
    if len(likelihood) != x.shape[0]:
        raise ShapeError(
            f"there are {len(likelihood)} reports for {x.shape[0]} rows of x.", remedy="Give one report per row."
        )
    impossible = np.isneginf(likelihood).all(axis=1)
    if impossible.any():
        first = int(np.argmax(impossible))
        raise InputError(
            f"observed[{first}] is {np.atleast_1d(np.asarray(observed))[first]!r}, which this design never produces.",
            remedy="Check the design, and how its reports are coded.",
        )
    prior = model.probabilities(at.theta, x)
    spread = _spread_of_logits(at.covariance, x, len(model.outputs) - 1)
    scores = model.logits(at.theta, x) + likelihood
    table = _with_intervals(scores, spread, partial(_quantiles, confidence, at.freedom, x))
    level = channel.privacy_level
    return Posteriors(tuple(model.outputs.labels), *table, confidence, prior, level, _message(level))


def _message(level: float) -> str:
    if math.isinf(level):
        return (
            f"{POSTERIOR_WARNING} This design gives no guarantee: some reports reveal the answer, or rule answers out."
        )
    return (
        f"{POSTERIOR_WARNING} The design keeps the odds of any two answers within a factor of e^{level:.4g} = "
        f"{math.exp(level):.4g} of what the covariates alone say (`prior`)."
    )


def _spread_of_logits(covariance: FloatArray, x: Covariates, n_free: int) -> FloatArray:
    """Cov of the logits x·θ_b, x·θ_c of every row, shape (n, K, K)."""
    p = x.shape[1]
    if not is_known(covariance):
        return np.full((x.shape[0], n_free, n_free), np.nan)
    blocks = covariance.reshape(n_free, p, n_free, p)
    spread = np.empty((x.shape[0], n_free, n_free))
    for b in range(n_free):
        for c in range(n_free):
            spread[:, b, c] = quadratic(x, blocks[b, :, c, :])
        spread[:, b, b] = with_digits(spread[:, b, b], quadratic(abs(x), abs(blocks[b, :, b, :])))
    return spread


def _quantiles(confidence: float, known: KnownTo, x: Covariates, slope: FloatArray) -> FloatArray:
    """Of Σ_b slope_b x·θ_b, for slopes of shape (n, K): those of the normal distribution, or of t; (n,)."""
    if known is None:
        return np.full(len(slope), normal_quantile(confidence))
    dense = x if isinstance(x, np.ndarray) else x.toarray()
    contrasts = (slope[:, :, None] * dense[:, None, :]).reshape(len(slope), -1)
    return quantile(confidence, known.of(contrasts))


def _with_intervals(
    scores: FloatArray, spread: FloatArray, quantiles: Callable[[FloatArray], FloatArray]
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Softmax of the scores (n, m), with standard errors and ends of intervals computed on the log-odds scale.

    The log-odds of output y are s_y − log Σ_{b≠y} exp s_b, with derivative 1 at b = y and minus the share of b among
    the others elsewhere: no difference of nearly equal numbers, however sure the prediction.
    """
    n, m = scores.shape
    estimate, error, lower, upper = (np.empty((n, m)) for _ in range(4))
    for y in range(m):
        others = np.delete(scores, y, axis=1)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            top = others.max(axis=1)
            e = np.exp(others - np.where(np.isneginf(top), 0.0, top)[:, None])
            odds = scores[:, y] - (top + np.log(e.sum(axis=1)))
            shares = np.where(e.sum(axis=1)[:, None] > 0, e / e.sum(axis=1)[:, None], 0.0)
            slope = np.insert(-shares, y, 1.0, axis=1)[:, 1:]
            # An output that the report excludes, or leaves alone, has no uncertainty.
            deviation = np.sqrt(np.einsum("nb,nbc,nc->n", slope, spread, slope))
            deviation = np.where(np.isinf(odds), 0.0, deviation)
            z = quantiles(slope)
            p = 1 / (1 + np.exp(-odds))
            estimate[:, y] = p
            error[:, y] = p / (1 + np.exp(odds)) * deviation
            lower[:, y] = 1 / (1 + np.exp(z * deviation - odds))
            upper[:, y] = 1 / (1 + np.exp(-z * deviation - odds))
    return estimate, error, lower, upper
