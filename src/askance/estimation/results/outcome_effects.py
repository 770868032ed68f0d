"""What a hidden answer changes of an outcome, and what outcomes are to be expected: means with delta-method errors.

The mean of an outcome given x is Σ_h q(h | x) E[y | x, h], the probability of every category, or the mean of a count or
a number. With q = p_θ(h | x) it is a prediction. With one hidden variable set to a value, and the others as they are,
two such means differ by the effect of that variable.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from askance._arrays import FloatArray
from askance._checks import one_of
from askance.errors import InputError
from askance.estimation.freedom import freedom_of, quantile
from askance.estimation.problems.sample import Sample, is_matrix, without_covariates
from askance.estimation.results.effects import effects_of, quadratic
from askance.estimation.results.results import MarginalEffects, Predictions
from askance.estimation.results.share_intervals import share_interval
from askance.models.hidden import HiddenVariables
from askance.models.outcome import Outcome
from askance.models.softmax import Covariates

if TYPE_CHECKING:
    from askance.estimation.results.hidden_fit import HiddenFit

# Slopes are differences over this part of a standard error to both sides: off by its square.
_STEP = 1e-4


def outcome_effects(fit: HiddenFit, x: Any, name: str | None, confidence: float) -> MarginalEffects:
    """See `HiddenFit.outcome_effects`."""
    outcome = _outcome(fit.model, name)
    rows, weight = _respondents(fit, x)
    factors = [(i, factor) for i, factor in enumerate(fit.model.factors) if factor.name in outcome.after]
    changes = [(i, factor, value) for i, factor in factors for value in range(1, len(factor.outputs))]

    def averages(theta: FloatArray) -> FloatArray:
        at = {(i, v): _mean(fit.model, outcome, theta, rows, (i, v)) for i, f in factors for v in range(len(f.outputs))}
        return np.array([weight @ (at[i, value] - at[i, 0]) for i, _, value in changes])

    names = tuple(factor.name for _, factor, _ in changes)
    kinds = tuple(f"{factor.outputs.labels[0]} → {factor.outputs.labels[value]}" for _, factor, value in changes)
    slopes = _slopes(averages, fit)
    return effects_of(
        names, kinds, _labels(outcome), averages(fit.theta), slopes, fit.covariance, confidence, fit.freedom
    )


def predict_outcome(fit: HiddenFit, x: Any, name: str | None, confidence: float) -> Predictions:
    """See `HiddenFit.predict_outcome`."""
    outcome = _outcome(fit.model, name)
    rows = _covariates(fit, x)

    def means(theta: FloatArray) -> FloatArray:
        return _mean(fit.model, outcome, theta, rows, None)

    mean, slopes = means(fit.theta), _slopes(means, fit)
    errors: FloatArray = np.sqrt(quadratic(slopes.reshape(-1, len(fit.theta)), fit.covariance)).reshape(mean.shape)
    z = quantile(confidence, freedom_of(fit.freedom, slopes))
    if outcome.family == "category":
        ends = share_interval(mean, errors, z, fit.n_observations)
    elif outcome.family == "count":  # on the scale of logarithms, which keeps them above 0
        reach = np.exp(z * errors / mean)
        ends = mean / reach, mean * reach
    else:
        ends = mean - z * errors, mean + z * errors
    return Predictions(_labels(outcome), mean, errors, *ends, confidence)


def _outcome(model: HiddenVariables, name: str | None) -> Outcome:
    if not model.outcomes:
        raise InputError(
            "the fit has no outcome that hidden variables explain.", remedy="Fit one: outcome ~ … + hidden(column)."
        )
    names = [outcome.name for outcome in model.outcomes]
    return model.outcomes[0 if name is None else names.index(one_of(name, names, "outcome", "Name an outcome."))]


def _labels(outcome: Outcome) -> tuple[Any, ...]:
    """Of the columns of a mean: name and category, or the name alone."""
    if outcome.outputs is None:
        return (outcome.name,)
    return tuple(f"{outcome.name} = {label}" for label in outcome.outputs.labels)


def _respondents(fit: HiddenFit, x: Any) -> tuple[Covariates, FloatArray]:
    """Rows, and the weight of each, which add up to 1."""
    if x is not None:
        rows = _covariates(fit, x)
        return rows, np.full(rows.shape[0], 1 / rows.shape[0])
    if fit.evidence is None:
        raise without_covariates("outcome_effects", fit.model, fit.design)
    pieces = Sample.of_evidence(fit.evidence).pieces
    weight = np.concatenate([piece.total for piece in pieces])
    return np.concatenate([np.asarray(piece.x) for piece in pieces]), weight / weight.sum()


def _covariates(fit: HiddenFit, x: Any) -> Covariates:
    """Rows with a column of zeros in place of every outcome, which nobody knows yet."""
    own = np.asarray(x if is_matrix(x) or fit.design is None else fit.design.matrix(x), dtype=np.float64)
    if own.ndim != 2 or own.shape[1] != len(fit.model.covariates) or not np.isfinite(own).all():
        raise InputError(
            f"x has shape {own.shape}, or holds what is no number; allowed: columns {', '.join(fit.model.covariates)}.",
            remedy="Give a table with the columns of the formula.",
        )
    return np.column_stack([own, np.zeros((len(own), len(fit.model.outcomes)))])


def _mean(
    model: HiddenVariables, outcome: Outcome, theta: FloatArray, x: Covariates, fixed: tuple[int, int] | None
) -> FloatArray:
    """E[y | x], shape (n, m): of everybody, or with a hidden variable, by its place, at a value."""
    q = model.probabilities(theta, x)
    if fixed is not None:
        place, value = fixed
        moved = model.values.copy()
        moved[place] = value
        home = np.ravel_multi_index(tuple(moved), [len(factor.outputs) for factor in model.factors])
        q = q @ np.eye(q.shape[1])[home]
    where = model.variables.index(outcome)
    own = theta[model.blocks[where]]
    parts = (
        q[:, part.members].sum(axis=1, keepdims=True) * outcome.mean(model.columns(outcome, x, part.indicators), own)
        for part in model.conditionals[where]
    )
    return np.asarray(sum(parts))


def _slopes(value: Callable[[FloatArray], FloatArray], fit: HiddenFit) -> FloatArray:
    """The gradient of a function of θ, behind its own axes, by differences in proportion to standard errors."""
    errors = fit.standard_errors
    steps = np.where(np.isfinite(errors) & (errors > 0), _STEP * errors, _STEP)
    along = (np.eye(len(steps))[j] * step for j, step in enumerate(steps))
    parts = [value(fit.theta + move) - value(fit.theta - move) for move in along]
    return np.asarray(np.stack(parts, axis=-1) / (2 * steps))
