"""Differences and ratios of shares, with errors from the covariance of all of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from askance._arrays import FloatArray
from askance._checks import one_of, shorten
from askance.errors import InputError
from askance.estimation.freedom import normal_quantile, quantile, two_sided
from askance.estimation.results.result_tables import contrasts_table
from askance.estimation.results.results import Prevalence, Result
from askance.tables import Table, Tabulated


@dataclass(frozen=True, eq=False)
class Contrasts(Result, Tabulated):
    """Shares against each other; arrays of shape (pairs, columns).

    Attributes:
        pairs: what is compared: the first minus the second of each, or the first over the second.
        between: "groups" or "answers".
        columns: the answers, where groups are compared; the groups, where answers are.
        ratio: whether shares were divided.
        estimate: the difference or the ratio.
        standard_error: of the estimate.
        p_value: two-sided, of a difference of 0 or a ratio of 1.
        lower: lower ends of the intervals.
        upper: upper ends.
        confidence: of the intervals.
        population: whether the sampling of x is part of the errors.
        by: the name of the column that made the groups, where it has one.
        degrees_of_freedom: the lesser ones of the two shares, where errors come from few clusters; None: normal.

    >>> from askance import ForcedResponse, regress
    >>> rng = np.random.default_rng(2)
    >>> sex = rng.choice(["men", "women"], 4000)
    >>> truth = np.where(rng.random(4000) < np.where(sex == "men", 0.2, 0.4), "yes", "no")
    >>> design = ForcedResponse("2/3", "1/6")
    >>> fit = regress("said ~ C(sex)", {"said": design.simulate(truth, rng), "sex": sex}, design)
    >>> print(fit.prevalence(by="sex").contrasts("men"))
    Difference of shares of yes, in percentage points
    <BLANKLINE>
    sex          points  std. error   P>|z|  2.5 %  97.5 %
    ------------------------------------------------------
    women − men   +20.6         2.3  <0.001  +16.1   +25.0
    ------------------------------------------------------
    """

    pairs: tuple[tuple[Any, Any], ...]
    between: str
    columns: tuple[Any, ...]
    ratio: bool
    estimate: FloatArray
    standard_error: FloatArray
    p_value: FloatArray
    lower: FloatArray
    upper: FloatArray
    confidence: float
    population: bool
    by: str | None = None
    degrees_of_freedom: FloatArray | None = None

    def table(self) -> Table:
        """Every pair: between groups of two answers the second alone, of more all."""
        return contrasts_table(self)


def contrasts_of(
    shares: Prevalence, reference: Any, between: str | None, *, ratio: bool, confidence: float | None
) -> Contrasts:
    """See `Prevalence.contrasts`."""
    level = shares.confidence if confidence is None else confidence
    normal_quantile(level)  # refused before anything else
    kind = one_of(between or ("groups" if len(shares.groups) > 1 else "answers"), ("groups", "answers"), "between", "")
    covariance = shares.covariance
    if covariance is None:
        raise InputError(
            f"there are {shares.estimate.size} shares whose covariance is not known; allowed: at most 500 of them.",
            remedy="Form fewer groups.",
        )
    estimate = shares.estimate
    if kind == "answers":
        estimate, covariance = estimate.T, np.transpose(covariance, (1, 0, 3, 2))
    labels, columns = (shares.groups, shares.outputs) if kind == "groups" else (shares.outputs, shares.groups)
    places = _pairs(labels, reference, kind)
    first, second = np.array(places).T
    freedom = shares.degrees_of_freedom
    if freedom is not None:
        freedom = freedom if kind == "groups" else freedom.T
        freedom = np.minimum(freedom[first], freedom[second])
    nu = np.inf if freedom is None else freedom
    z = quantile(level, nu)
    a, b = estimate[first], estimate[second]
    # Gradients of a − b, or of log a − log b, with respect to the two shares.
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = (1 / a, -1 / b) if ratio else (np.ones_like(a), -np.ones_like(b))
        middle = np.log(a) - np.log(b) if ratio else a - b
        own = np.einsum("gcgc->gc", covariance)
        shared = np.array([np.diag(covariance[i, :, j, :]) for i, j in places])
        variance = slopes[0] ** 2 * own[first] + slopes[1] ** 2 * own[second] + 2 * slopes[0] * slopes[1] * shared
        error = np.sqrt(np.maximum(variance, 0.0))
        p_value = two_sided(middle / error, nu)
        ends = (middle - z * error, middle + z * error)
        if ratio:
            middle, error, ends = np.exp(middle), np.exp(middle) * error, (np.exp(ends[0]), np.exp(ends[1]))
    names = tuple((labels[i], labels[j]) for i, j in places)
    return Contrasts(
        names, kind, tuple(columns), ratio, middle, error, p_value, *ends, level, shares.population, shares.by, freedom
    )


def _pairs(labels: tuple[Any, ...], reference: Any, kind: str) -> list[tuple[int, int]]:
    """Places of what is compared: later ones against earlier ones, or all others against the reference."""
    if len(labels) < 2:
        raise InputError(
            f"there is one of the {kind} only, {shorten(labels)}; allowed: at least 2.",
            remedy="Form groups: prevalence(by=…).",
        )
    if reference is None:
        return [(j, i) for i, j in combinations(range(len(labels)), 2)]
    place = labels.index(one_of(reference, labels, "reference", f"Name one of the {kind}."))
    return [(i, place) for i in range(len(labels)) if i != place]
