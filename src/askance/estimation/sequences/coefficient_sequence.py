"""Coefficients of regressions while reports come in: intervals that hold at all looks at once, once there is enough.

θ̂ is nearly normal where there is enough information, and nearly at all later looks at once: in the limit the estimates
of all looks are a Brownian motion, on which bets are placed as on a mean (Robbins' mixtures; asymptotic confidence
sequences of Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas 2024). The interval reaches r(n) standard errors, where r
is that of `Stakes.reach`.

What is enough: log-odds η = xᵀθ are curved in the shares that reports tell of, and a normal law fits only where they
are known to a fraction of themselves. With Σ the covariance of θ̂, respondent i has the variance v_i = x_iᵀ Σ x_i and
tells (Σ x_i)_j² of coefficient j, up to a factor. Asked is that

    Σ_i (Σ x_i)_j² v_i / Σ_i (Σ x_i)_j² ≤ 0.35²:

the log-odds of those who tell of a coefficient are known, on average, to a standard error of 0.35. That does not depend
on the units or the origin of covariates, and a small group is asked for reports of its own.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from askance._arrays import FloatArray
from askance._checks import instance, shorten
from askance._threads import one_thread
from askance.errors import InputError
from askance.estimation.problems.basis import BasisEstimate
from askance.estimation.results.regression_fit import RegressionFit, basis_estimate
from askance.estimation.sequences.confidence_sequence import ConfidenceSequence
from askance.estimation.sequences.stakes import Stakes

#: From clusters that give fewer degrees of freedom, standard errors are not known well enough.
LEAST_FREEDOM = 30
#: Log-odds that are known to this standard error are known well enough.
LARGEST_ERROR = 0.35


def coefficient_sequence(
    fit: RegressionFit, planned: int, *, first: int | None = None, confidence: float = 0.95
) -> ConfidenceSequence:
    """Every coefficient, with an interval that holds at all looks at once; NaN where it is too early to tell.

    Intervals of shares are proved for every n; these hold in the limit, as all errors of regressions do, and are shown
    only where there is enough information (`askance.estimation.sequences.coefficient_sequence` says how much). At other
    looks the notes say what is missing.

    Args:
        fit: of the reports so far.
        planned: number of reports at which the intervals are meant to be narrow.
        first: number of reports at the first look; default: a fiftieth of `planned`.
        confidence: of all looks together, for every coefficient by itself.

    >>> import askance as ak
    >>> rng = np.random.default_rng(5)
    >>> age, design = rng.uniform(20, 60, 3000), ak.ForcedResponse("2/3", "1/6")
    >>> truth = np.where(rng.random(3000) < 1 / (1 + np.exp(3 - age / 20)), "yes", "no")
    >>> table = {"said": design.simulate(truth, rng), "age": age / 10}
    >>> print(coefficient_sequence(ak.regress("said ~ age", table, design), 5000).summary())
    3,000 of 5,000 planned reports
    <BLANKLINE>
    parameter  coefficient    2.5 %   97.5 %
    ----------------------------------------
    Intercept      -2.6487  -3.4778  -1.8196
    age             0.4375   0.2524   0.6227
    ----------------------------------------
    95 % intervals that hold at all looks at once
    >>> few = {name: column[:100] for name, column in table.items()}
    >>> coefficient_sequence(ak.regress("said ~ age", few, design), 5000).lower
    array([nan, nan])
    """
    instance(fit, RegressionFit, "fit", "a RegressionFit", "Fit with regress(formula, data, design).")
    stakes, errors = Stakes(planned, first, confidence), log_odds_errors(fit)
    few = ~(fit.degrees_of_freedom >= LEAST_FREEDOM)
    early = ~(errors <= LARGEST_ERROR) | few | bool(fit.repaired) | (not fit.converged)
    reach = np.where(early, np.nan, stakes.reach(fit.n_observations) * fit.standard_errors)
    return ConfidenceSequence(
        "coefficient",
        fit.parameter_names,
        fit.theta,
        fit.standard_errors,
        fit.theta - reach,
        fit.theta + reach,
        fit.n_observations,
        planned,
        stakes.first_look,
        confidence,
        _missing(fit, errors, early, few),
        fit.alarms,
    )


@one_thread
def log_odds_errors(fit: RegressionFit) -> FloatArray:
    """Standard errors of the log-odds of those who tell of every coefficient, on average, shape (d,)."""
    if fit.evidence is None:
        raise InputError("the fit has no evidence: it was loaded.", remedy="Fit again to the data.")
    at, terms = basis_estimate(fit), len(fit.model.terms)
    if not np.isfinite(at.covariance).all():
        return np.full(len(fit.theta), np.inf)
    told, weighed = fit.evidence.total(partial(_told, at=at, terms=terms))
    return np.asarray(np.sqrt(weighed / told))


def _told(rows: Any, at: BasisEstimate, terms: int) -> tuple[FloatArray, FloatArray]:
    """Σ (Σ x)_j² and Σ (Σ x)_j² v over rows, of every coefficient, shape (d,) each."""
    x = rows.x if isinstance(rows.x, np.ndarray) else rows.x.toarray()
    x, back = (x, np.eye(terms)) if at.basis is None else (at.basis.covariates(x), at.basis.to_terms)
    count = np.ones(len(x)) if rows.multiplicity is None else rows.multiplicity
    told, weighed = [], []
    for start in range(0, len(at.theta), terms):
        block = slice(start, start + terms)
        slopes = x @ at.covariance[block, block]
        square = (slopes @ back.T) ** 2
        told.append(count @ square)
        weighed.append((count * (slopes * x).sum(axis=1)) @ square)
    return np.concatenate(told), np.concatenate(weighed)


def _missing(fit: RegressionFit, errors: FloatArray, early: Any, few: Any) -> tuple[str, ...]:
    """What is missing where it is too early."""
    if not early.any():
        return ()
    if fit.repaired or not fit.converged:
        return ("too early: the reports alone do not fix the coefficients yet",)
    if few.any():
        freedom = float(np.nan_to_num(fit.degrees_of_freedom).min())
        return (f"too early: clusters give {freedom:.3g} degrees of freedom; wanted: at least {LEAST_FREEDOM}",)
    names = [name for name, waits in zip(fit.parameter_names, early, strict=True) if waits]
    worst = float(errors.max())
    more = f", about {fit.n_observations * (worst / LARGEST_ERROR) ** 2:,.0f} reports" if np.isfinite(worst) else ""
    return (
        f"too early for {shorten(names)}: the log-odds of those who tell of it have a standard error of {worst:.3g}; "
        f"wanted: at most {LARGEST_ERROR:g}{more}",
    )
