"""How well rates of miscounts are known: standard errors from the curvature of the likelihood."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from askance._arrays import FloatArray
from askance.errors import AskanceWarning
from askance.text.counts.miscounts import Miscounts

# Rates move by this share of themselves where the curvature is looked at.
_MOVE = 0.02
# Rates closer than this to a bound have no curvature there that would be an error.
_BOUND = 1e-4
# How far such rates move.
_OFF_BOUND = 0.002
# A standard error above this is worth a warning: the interval is then some 20 points wide.
_WIDE = 0.05
# Of two rates: a maximum lower by less than half of the 95 % quantile of χ² with 2 degrees of freedom is not rejected.
_REJECTED, _Z = 2.996, 1.96
# What a rate at the highest that is taken for miscounts tells.
_AT_BOUND = {
    "missed": "half of the words or more would have been missed ({names}), the most that is taken for miscounts: have "
    "words none of the tags that were counted? Then read the sheets again, with a name for them: askance questions "
    '--read … --rest other, or read_sheet(paths, rest="other").',
    "extra": "half of the counts or more would be one too high ({names}), the most that is taken for miscounts: were "
    "other words counted than those of the stretches, or words with two tags twice?",
}


@dataclass(frozen=True, eq=False)
class EstimatedMiscounts(Miscounts):
    """Rates that were estimated, with their standard errors; equal to any `Miscounts` of the same rates.

    Attributes:
        missed_error: standard error of `missed`, NaN where the estimate is at 0 or 0.5 and nothing else is as likely.
        extra_error: standard error of `extra`, likewise.

    >>> EstimatedMiscounts(0.1, 0.02, 0.01, 0.005) == Miscounts(0.1, 0.02)
    True
    """

    missed_error: float = math.nan
    extra_error: float = math.nan

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Miscounts) and (self.missed, self.extra) == (other.missed, other.extra)

    def __hash__(self) -> int:
        return hash((self.missed, self.extra))


def standard_errors(gradient: Callable[[FloatArray], FloatArray], rates: FloatArray) -> FloatArray:
    """Square roots of the diagonal of (−∂²ℓ/∂rates²)⁻¹ by differences of the gradient; NaN for rates at a bound.

    Rates at a bound have no error of their own, but are not known to be there: misses of one are hardly told from
    extras of another, and errors of the others that take a rate of 0 for granted are too small. Away from the bound
    ℓ falls by g a unit, g its gradient: as if the rate were exponential with variance 1/g², which g² in the diagonal
    stands for.

    Args:
        gradient: ∂ℓ/∂rates of the log-likelihood ℓ, shape as rates.
        rates: where ℓ is highest, within 0 to 0.5, any shape.

    Returns:
        Standard errors, shape as rates; infinite where ℓ is flat.

    >>> missed, of = np.array([20.0]), 100.0  # a binomial share: the error is √(p (1 − p) / n) = 0.04
    >>> standard_errors(lambda p: missed / p - (of - missed) / (1 - p), missed / of).round(3)
    array([0.04])
    """
    errors, here = np.full(rates.shape, np.nan), gradient(rates)
    free = (rates.ravel() > _BOUND) & (rates.ravel() < 0.5 - _BOUND)
    curvature = np.empty((rates.size, rates.size))
    for place, rate in enumerate(rates.ravel().tolist()):
        inwards = -_MOVE * rate if free[place] else _OFF_BOUND if rate < 0.25 else -_OFF_BOUND
        step = np.zeros_like(rates)
        step.flat[place] = inwards
        curvature[place] = (here - gradient(rates + step)).ravel() / inwards
        if not free[place]:
            curvature[place, place] += here.flat[place] ** 2
    used = np.flatnonzero(free | curvature.any(axis=1))  # nobody reported anything of the others
    curvature = curvature[np.ix_(used, used)]
    try:
        variance = np.diag(np.linalg.inv((curvature + curvature.T) / 2))
    except np.linalg.LinAlgError:  # nothing tells some rates apart
        variance = np.full(len(used), np.inf)
    # Where the likelihood has no maximum nothing is known.
    own = np.sqrt(np.where(variance > 0, variance, np.inf))
    errors.flat[used[free[used]]] = own[free[used]]
    return errors


def reach_other(errors: FloatArray, rates: FloatArray, other: FloatArray, lower: float) -> FloatArray:
    """Errors with which 95 % intervals hold the rates of another maximum as well, where that is not rejected.

    Args:
        errors: standard errors of the rates, NaN at a bound.
        rates: where the likelihood is highest, of the same shape.
        other: where else it has a maximum, of the same shape.
        lower: by how much that is lower, in log-likelihood.

    >>> reach_other(np.array([0.03]), np.array([0.02]), np.array([0.12]), 1.8).round(3)
    array([0.059])
    >>> reach_other(np.array([0.03]), np.array([0.02]), np.array([0.12]), 4.0)
    array([0.03])
    """
    if lower > _REJECTED:
        return errors
    apart = np.abs(other - rates) / _Z
    return np.where(np.isnan(errors) & (apart > _BOUND), apart, np.hypot(errors, apart))


def warn_of_wide(estimates: Mapping[str, EstimatedMiscounts]) -> None:
    """Say whose rates are hardly known; the warning stands where the caller of the caller is."""
    wide = {name: float(np.fmax(rates.missed_error, rates.extra_error)) for name, rates in sorted(estimates.items())}
    wide = {name: error for name, error in wide.items() if error > _WIDE}
    if wide:
        listed = ", ".join(f"{name or 'all'} ± {100 * 1.96 * error:.0f}" for name, error in wide.items())
        warnings.warn(
            f"rates of miscounts are hardly known (in points of per cent: {listed}); let more stretches be counted "
            "twice, with the same tags asked.",
            AskanceWarning,
            stacklevel=3,
        )


def warn_of_bound(estimates: Mapping[str, EstimatedMiscounts]) -> None:
    """Say whose rates end at 0.5, where miscounts explain nothing; it stands where the caller of the caller is."""
    for rate, message in _AT_BOUND.items():
        at_bound = [name for name in sorted(estimates) if getattr(estimates[name], rate) >= 0.5 - _BOUND]
        names = [name or "regions without an annotator" for name in at_bound]
        if names:
            warnings.warn(message.format(names=", ".join(names)), AskanceWarning, stacklevel=3)
