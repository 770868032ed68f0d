"""People who did not answer: what the share of all may be, whatever is true of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np

from askance._arrays import ArrayLike, FloatArray
from askance._checks import Number, as_count, as_floats, as_probability, number, shown
from askance.errors import InputError
from askance.estimation.freedom import quantile
from askance.estimation.results.fit import DistributionFit, Fit, ProbabilityTable
from askance.estimation.results.hidden_fit import HiddenFit
from askance.estimation.results.means_fit import MeansFit
from askance.estimation.results.regression_fit import RegressionFit
from askance.tables import Column, Table, Tabulated, as_json, interval_columns


def shares_of(fit: Fit | None, confidence: float = 0.95) -> ProbabilityTable | None:
    """Share of every answer with its interval, for the population where the fit knows it; None where it has none."""
    if isinstance(fit, RegressionFit):
        table = fit.prevalence(confidence=confidence, population=True)
        estimate, error, lower, upper = (
            column[0] for column in (table.estimate, table.standard_error, table.lower, table.upper)
        )
        freedom = None if table.degrees_of_freedom is None else table.degrees_of_freedom[0]
        return ProbabilityTable(table.outputs, estimate, error, lower, upper, confidence, degrees_of_freedom=freedom)
    if isinstance(fit, HiddenFit | MeansFit):
        return fit.shares(fit.variables[0], confidence=confidence)
    return fit.probabilities(confidence) if isinstance(fit, DistributionFit) else None


@dataclass(frozen=True)
class NonresponseBounds(Tabulated):
    """Shares of all who were asked; arrays of shape (assumptions, answers).

    Attributes:
        labels: the answers.
        missing: how many did not answer.
        n: how many did.
        between: limits of the share among those who did not answer, where some were given.
        lowest: the smallest share that goes with the answers.
        highest: the largest.
        lower: lower end of an interval that holds the share of all, wherever it is between the two.
        upper: its upper end.
        confidence: of the interval.
    """

    labels: tuple[Any, ...]
    missing: int
    n: int
    between: tuple[float, float] | None
    lowest: FloatArray
    highest: FloatArray
    lower: FloatArray
    upper: FloatArray
    confidence: float = 0.95

    @property
    def readings(self) -> tuple[str, ...]:
        """What is assumed of those who did not answer."""
        limits = "" if self.between is None else "{:g} % to {:g} % of them".format(*(100 * end for end in self.between))
        return tuple(filter(None, ("as those who answered", limits, "anything")))

    def table(self) -> Table:
        """Every answer (of two, the second) under every assumption, the strongest first."""
        shown_labels = range(len(self.labels) == 2, len(self.labels))
        rows = [
            (
                reading,
                self.labels[j],
                *(float(ends[i, j]) for ends in (self.lowest, self.highest, self.lower, self.upper)),
            )
            for i, reading in enumerate(self.readings)
            for j in shown_labels
        ]
        columns = (
            Column("those who did not answer"),
            Column("answer"),
            Column("from", "percent", "lowest"),
            Column("to", "percent", "highest"),
            *interval_columns(self.confidence, "percent"),
        )
        title = f"Share of all who were asked: {self.missing:,} of {self.n + self.missing:,} did not answer"
        note = f"{100 * self.confidence:g} % intervals hold the share of all, wherever it is between the two"
        return Table(columns, rows, title=title, notes=[note], most_rows=len(rows))

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        ends = {name: as_json(getattr(self, name)) for name in ("lowest", "highest", "lower", "upper")}
        return {
            "answers": as_json(list(self.labels)),
            "missing": self.missing,
            "n": self.n,
            "confidence": self.confidence,
            "between": as_json(self.between),
            "assumptions": list(self.readings),
            **ends,
        }


def nonresponse_bounds(
    fit: Fit, missing: int | ArrayLike, *, between: tuple[Number, Number] | None = None, confidence: float = 0.95
) -> NonresponseBounds:
    """Bounds of the share of all who were asked, of whom some did not answer.

    With π̂ the share among those who answered, m the share of those who did not, and r the share among them, that of all
    is (1 − m) π̂ + m r. r is not known: it may be π̂ (they are as the others), within limits that a researcher argues
    for, or anything from 0 to 1 (Manski 1990). Intervals hold the share of all wherever in the bounds it is (Imbens and
    Manski 2004), with the degrees of freedom of π̂ where there are few clusters, and know that m too is of a sample, of
    people who were drawn one by one.

    Args:
        fit: to those who answered.
        missing: how many were asked and did not answer; of a fit with sampling weights also their weights, one for
            each: a number says that they weigh as much as those who answered.
        between: limits of r, the share among those who did not answer, that somebody argues for; of two
            answers, that of the second (yes).
        confidence: of the intervals.

    >>> from askance import Enumerated, ForcedResponse, Tally, estimate
    >>> design = ForcedResponse("2/3", "1/6")
    >>> fit = estimate(Enumerated.saturated(design.outputs), Tally(design, [640, 360]))
    >>> print(nonresponse_bounds(fit, 250, between=("1/4", "1/2")).summary())
    Share of all who were asked: 250 of 1,250 did not answer
    <BLANKLINE>
    those who did not answer  answer    from      to   2.5 %  97.5 %
    ----------------------------------------------------------------
    as those who answered     yes     29.0 %  29.0 %  24.5 %  33.5 %
    25 % to 50 % of them      yes     28.2 %  33.2 %  25.2 %  36.2 %
    anything                  yes     23.2 %  43.2 %  20.2 %  46.5 %
    ----------------------------------------------------------------
    95 % intervals hold the share of all, wherever it is between the two
    """
    asked = _asked(fit, missing)
    chosen = None if between is None else _limits(between)
    if chosen is not None and chosen[0] > chosen[1]:
        raise InputError(
            f"is {shown(between)}", argument="between", allowed="the lower limit first", remedy="Swap them."
        )
    level = number(confidence, "confidence", 0, 1, open=True, remedy="0.95 is usual.")
    shares = shares_of(fit, level)
    if shares is None:
        raise InputError(
            f"a {type(fit).__name__} has no shares of answers; allowed: fits of an answer.",
            remedy="Fit the answer first.",
        )
    m, pi, error = asked.missing_share, shares.estimate, shares.standard_error
    freedom = np.full(len(pi), np.inf) if shares.degrees_of_freedom is None else shares.degrees_of_freedom
    # Refusers as others: the share among them is π̂ too, with its error.
    rows = [_ends(pi, pi, error, error, level, freedom)]
    for limits in filter(None, (chosen, (0.0, 1.0))):
        low, high = _of_every_answer(limits, len(pi))
        errors = [np.sqrt(((1 - m) * error) ** 2 + (r - pi) ** 2 * asked.variance) for r in (low, high)]
        # Satterthwaite's: the part of m is as good as known.
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.minimum(*errors) / ((1 - m) * error)
            known = np.where(np.isinf(freedom), np.inf, freedom * ratio**4)
        rows.append(_ends((1 - m) * pi + m * low, (1 - m) * pi + m * high, errors[0], errors[1], level, known))
    lowest, highest, lower, upper = (np.stack(column) for column in zip(*rows, strict=True))
    n = fit.n_observations
    return NonresponseBounds(shares.labels, asked.missing, n, chosen, lowest, highest, lower, upper, level)


class _Asked(NamedTuple):
    """How many did not answer, m with weights, and its variance."""

    missing: int
    missing_share: float
    variance: float


def _asked(fit: Fit, missing: int | ArrayLike) -> _Asked:
    """m = Σ w over those who did not answer, of Σ w over all; its variance is Σ w² (1[missing] − m)² / (Σ w)²."""
    n = fit.n_observations
    parts = [chunk.weights for chunk in getattr(getattr(fit, "evidence", None), "chunks", ())]
    parts = [part for part in parts if part is not None]
    there, there_squared = (sum(float((w**k).sum()) for w in parts) if parts else float(n) for k in (1, 2))
    if np.ndim(missing) == 0:
        count = as_count(missing, "missing", minimum=0)
        gone, gone_squared = count * there / n, count * there_squared / n
    else:
        own = as_floats(cast("ArrayLike", missing), "missing")
        count, gone, gone_squared = len(own), float(own.sum()), float((own**2).sum())
        if not parts or own.ndim != 1 or not (own > 0).all():
            raise InputError(
                "missing holds weights of a fit without any, or some that are not above 0; allowed: how many did not "
                "answer, or of a fit with weights, one weight for each of them.",
                remedy="Give their number.",
            )
    m = gone / (gone + there)
    return _Asked(count, m, ((1 - m) ** 2 * gone_squared + m**2 * there_squared) / (gone + there) ** 2)


def _limits(between: tuple[Number, Number]) -> tuple[float, float]:
    low, high = (float(as_probability(end, "between")) for end in between)
    return low, high


def _of_every_answer(limits: tuple[float, float], answers: int) -> tuple[FloatArray, FloatArray]:
    """Limits of the share of every answer; of two, they are about the second, and the first is the rest."""
    low, high = limits
    if answers != 2:
        return np.full(answers, low), np.full(answers, high)
    return np.array([1 - high, low]), np.array([1 - low, high])


def _ends(
    low: FloatArray,
    high: FloatArray,
    low_error: FloatArray,
    high_error: FloatArray,
    confidence: float,
    freedom: FloatArray,
) -> tuple[FloatArray, ...]:
    """The bounds, and the ends of the interval."""
    scale = np.maximum(low_error, high_error)
    gaps = [(b - a) / s if s > 0 else np.nan for a, b, s in zip(low, high, scale, strict=True)]
    c = np.array([_multiple(gap, confidence, nu) for gap, nu in zip(gaps, freedom.tolist(), strict=True)])
    return low, high, np.maximum(low - c * low_error, 0.0), np.minimum(high + c * high_error, 1.0)


def _multiple(width: float, confidence: float, freedom: float) -> float:
    """c with F(c + width) − F(−c) = confidence: one-sided where bounds are far apart, two-sided where they meet.

    F is the normal distribution function, or that of t.
    """
    from scipy.optimize import brentq
    from scipy.special import ndtr, stdtr

    if np.isnan(width) or np.isnan(freedom):
        return np.nan

    def excess(c: float) -> float:
        upper, lower = (ndtr(end) if np.isinf(freedom) else stdtr(freedom, end) for end in (c + width, -c))
        return float(upper - lower - confidence)

    most = float(quantile(confidence, freedom)) + 1e-9
    return 0.0 if excess(0.0) >= 0 else float(brentq(excess, 0.0, most))
