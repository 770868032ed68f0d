"""How two answers go together, where one or both are hidden: their table, correlation and odds ratio."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from askance._arrays import AnyArray, FloatArray
from askance._checks import instance, shorten
from askance._words import words
from askance.channels.armed_design import ArmedDesign
from askance.channels.finite import FiniteChannel
from askance.channels.labels import Direct
from askance.channels.product import product_channel
from askance.errors import InputError, NotIdentifiedError
from askance.estimation.entry import estimate
from askance.estimation.freedom import quantile
from askance.estimation.results.fit import ProbabilityTable, WaldTest
from askance.estimation.results.regression_fit import RegressionFit
from askance.estimation.results.share_intervals import share_interval
from askance.evidence.responses import Responses
from askance.models.enumerated import Enumerated
from askance.models.hidden import BETWEEN
from askance.models.softmax import Softmax
from askance.survey.answers import read_reports
from askance.survey.codebook import Codebook
from askance.survey.drawn import Drawn
from askance.survey.read_outcomes import ReadOutcome, read_outcome
from askance.survey.survey_rows import SurveyRows
from askance.survey.tables import Table
from askance.tables import Column, Tabulated, estimate_columns
from askance.tables import Table as ResultTable

_TWO = "Give two columns, such as {'cheats': design, 'lies': design}, and None for a column that was seen as it is."


@dataclass(frozen=True)
class Measure:
    """A number with its standard error, and an interval made on another scale, where it is nearly normal."""

    name: str
    estimate: float
    standard_error: float
    lower: float
    upper: float


@dataclass(frozen=True, eq=False)
class Association(Tabulated):
    """How two answers go together.

    Attributes:
        names: of the two columns.
        correlation: φ of two answers with two values each, or the correlation with a number; None for larger tables.
        odds_ratio: of two answers with two values each; None otherwise.
        independence: Wald test that the two do not go together; None where one is a number.
        fit: of the joint table, with its repair and its messages; None where one is a number.
        confidence: of the intervals.
        messages: what a reader should know.
        degrees_of_freedom: of intervals: those of clusters less one; infinite without clusters.
    """

    names: tuple[str, str]
    correlation: Measure | None
    odds_ratio: Measure | None
    independence: WaldTest | None
    fit: RegressionFit | None
    confidence: float
    messages: tuple[str, ...]
    degrees_of_freedom: float = np.inf

    @cached_property
    def shares(self) -> ProbabilityTable | None:
        """The joint table: the share of every pair of answers; None where one is a number."""
        if self.fit is None:
            return None
        p, spread = _shares(self.fit)
        errors = np.sqrt(np.diag(spread))
        ends = share_interval(p, errors, self._quantile, self.fit.n_observations)
        return ProbabilityTable(tuple(self.fit.model.outputs.labels), p, errors, *ends, self.confidence)

    @property
    def _quantile(self) -> float:
        return float(quantile(self.confidence, self.degrees_of_freedom))

    def table(self) -> ResultTable:
        """The shares of pairs, and what follows from them."""
        rows: list[tuple[Any, ...]] = []
        if self.shares is not None:
            pairs = self.shares
            figures = (pairs.estimate, pairs.standard_error, pairs.lower, pairs.upper)
            rows = list(zip(pairs.labels, *(values.tolist() for values in figures), strict=True))
        for one in (self.correlation, self.odds_ratio):
            if one is not None:
                rows.append((one.name, one.estimate, one.standard_error, one.lower, one.upper))
        notes = [f"{100 * self.confidence:g} % intervals", *(f"note: {message}" for message in self.messages)]
        if self.independence is not None:
            test = self.independence
            notes.append(f"test that the two are independent: {test.text}")
        columns = (Column("share or measure", key="name"), *estimate_columns(self.confidence))
        title = f"{self.names[0]} and {self.names[1]}"
        return ResultTable(columns, rows, title=title, notes=notes, alarms=() if self.fit is None else self.fit.alarms)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        test = self.independence
        return {
            "names": list(self.names),
            **self.table().to_json(),
            "independence": None if test is None else {"statistic": test.statistic, "p_value": test.p_value},
        }


def association(
    data: Table,
    designs: Mapping[str, FiniteChannel | None] | Sequence[str],
    *,
    codebook: Codebook | None = None,
    positive: Mapping[str, Any] | None = None,
    missing: Literal["error", "drop"] = "error",
    cluster: str | None = None,
    weights: str | None = None,
    outcome: str | None = None,
    confidence: float = 0.95,
) -> Association:
    """The joint table of two answers, their correlation and odds ratio, with errors.

    Of two answers that are hidden, or of one and a category that was seen, the table is that of reports through the
    product of both channels: unbiased where it is possible, and repaired, saying so, where it is not. The interval of
    a correlation is made for atanh of it (Fisher), that of an odds ratio for its logarithm.

    Args:
        data: the table.
        designs: two columns, each with the design its reports came through; None: it was seen as it is. With a
            codebook the names alone.
        codebook: of the study: says how the two were asked, which values and rows count, weights and clusters.
        positive: of a column, the value that means yes; see `regress`.
        missing: "error" or "drop" rows with a missing value.
        cluster: name of a column of groups whose answers may depend on each other.
        weights: name of a column of sampling weights.
        outcome: what a column that was seen is: "category" or "number"; default: what it holds.
        confidence: of the intervals.

    >>> from askance import Warner
    >>> rng, design = np.random.default_rng(0), Warner("4/5")
    >>> a = rng.random(5000) < 0.4
    >>> b = rng.random(5000) < np.where(a, 0.6, 0.3)
    >>> truth = {"a": np.where(a, "yes", "no"), "b": np.where(b, "yes", "no")}
    >>> said = {name: design.simulate(values, rng) for name, values in truth.items()}
    >>> result = association(said, {"a": design, "b": design})
    >>> phi = np.corrcoef(a, b)[0, 1]
    >>> bool(result.correlation.lower < phi < result.correlation.upper)
    True
    """
    drawn, said = Drawn(cluster=cluster, weights=weights), dict(positive or {})
    notes: tuple[str, ...] = ()
    asked: Any = designs
    if codebook is not None:
        asked, said = _asked(codebook, designs, said)
        data, drawn = codebook.table(data, " ".join(asked)), drawn.over(codebook.drawn)
        notes = (*data.notes, *_unused(drawn))
    names = _check_designs(asked)
    cluster, weights = drawn.cluster, drawn.weights
    drawn = Drawn(cluster=cluster, weights=weights)
    rows = SurveyRows.read(f"`{names[0]}` ~ 1", data, missing, drawn, other=names[1])
    shares = None if weights is None else rows.weights(weights)
    groups = None if cluster is None else rows.groups(cluster)
    freedom = np.inf if groups is None else float(groups.max())
    z = float(quantile(confidence, freedom))
    read = [_read(rows, name, asked[name], said, outcome) for name in names]
    told = [
        *notes,
        rows.on_dropped,
        *(note for _, _, note in read),
        "" if weights is None else f"weighted by {weights}",
        "" if cluster is None else f"standard errors clustered by {cluster}",
    ]
    if any(isinstance(values, ReadOutcome) for _, values, _ in read):
        (channel, reports, _), (_, seen, _) = sorted(read, key=lambda one: isinstance(one[1], ReadOutcome))
        measure = _with_number(channel, reports, seen.values, shares, groups, z)
        return Association(names, measure, None, None, None, confidence, tuple(filter(None, told)), freedom)
    channel = product_channel([read[0][0], read[1][0]])
    pairs = [BETWEEN.join(map(str, pair)) for pair in zip(*(values.tolist() for _, values, _ in read), strict=True)]
    evidence = Responses(channel).add(np.ones((len(rows), 1)), pairs, weights=shares, clusters=groups)
    fit = estimate(Softmax(channel.outputs, ["Intercept"]), evidence)
    result = _of_table(names, fit, [len(one.outputs) for one, _, _ in read], confidence, z)
    return replace(result, degrees_of_freedom=freedom, messages=tuple(filter(None, [*told, *fit.diagnostics.messages])))


def _asked(codebook: Codebook, names: Any, positive: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """How two columns were asked, and which of their values mean yes, by a codebook."""
    if isinstance(names, Mapping | str):
        raise InputError(
            argument="designs",
            got=repr(names) if isinstance(names, str) else "designs of columns, beside a codebook that says them",
            allowed="with a codebook, two names",
            remedy="Give their names alone, as in ['cheats', 'lies'].",
        )
    questions = {name: codebook.questions.get(name) for name in names}
    armed = [name for name, asked in questions.items() if asked and isinstance(asked.design, Mapping | ArmedDesign)]
    if armed:
        raise InputError(
            f"{armed[0]!r} was asked in several ways; allowed in an association: one design for all rows.",
            remedy="Leave one way in the table, and give its design in place of the codebook.",
        )
    said = {name: asked.positive for name, asked in questions.items() if asked and asked.positive is not None}
    return {name: asked.design if asked else None for name, asked in questions.items()}, {**said, **positive}


def _unused(drawn: Drawn) -> list[str]:
    """What is known of the sample and not used here; refuses replicate weights, without which errors mean nothing."""
    if drawn.replicates is not None:
        raise InputError(
            "the codebook has replicate weights; allowed in an association: weights and clusters.",
            remedy="Give the designs in place of the codebook, and the weights; name a column of clusters.",
        )
    names = [name for name in (drawn.strata, drawn.fpc) if name is not None]
    return [f"{' and '.join(names)} of the codebook not used: errors may be a little too large"] if names else []


def _check_designs(designs: Any) -> tuple[str, str]:
    if not isinstance(designs, Mapping) or len(designs) != 2 or all(design is None for design in designs.values()):
        got = f"{len(designs)} columns" if isinstance(designs, Mapping) else type(designs).__name__
        raise InputError(
            argument="designs", got=got, allowed="two columns, at least one of them with a design", remedy=_TWO
        )
    for name, design in designs.items():
        if design is not None:
            instance(design, FiniteChannel, f"the design of {name!r}", "a channel", _TWO)
    first, second = designs
    return first, second


def _read(rows: SurveyRows, name: str, design: FiniteChannel | None, positive: Any, outcome: str | None) -> Any:
    """Channel, reports and how they were read; a number has no channel."""
    if design is not None:
        labels, reading = read_reports(rows.as_written(name), design, positive.get(name))
        return design, labels, reading
    seen = read_outcome(rows.column(name), outcome)
    if seen.labels is None:
        return None, seen, ""
    names: AnyArray = np.array([str(label) for label in seen.labels], dtype=object)
    return Direct(names.tolist()), names[seen.values.astype(int)], seen.note


# -- a table of two answers --------------------------------------------------------------------------------------------


def _shares(fit: RegressionFit) -> tuple[FloatArray, FloatArray]:
    """p of every pair, shape (m,), and its covariance."""
    p = fit.model.probabilities(fit.theta, np.ones((1, 1)))[0]
    slopes = (np.diag(p) - np.outer(p, p))[:, 1:]
    return p, np.asarray(slopes @ fit.covariance @ slopes.T)


def _of_table(
    names: tuple[str, str], fit: RegressionFit, sizes: Sequence[int], confidence: float, z: float
) -> Association:
    p, spread = _shares(fit)
    contrasts = _log_odds_ratios(sizes)
    test = fit.wald_test(contrasts=contrasts)
    if list(sizes) != [2, 2]:
        return Association(names, None, None, test, fit, confidence, ())
    a, b = p[2] + p[3], p[1] + p[3]
    depth = np.sqrt(a * (1 - a) * b * (1 - b))
    phi = float((p[3] - a * b) / depth)
    by_a = -b / depth - phi * (1 - 2 * a) / (2 * a * (1 - a))
    by_b = -a / depth - phi * (1 - 2 * b) / (2 * b * (1 - b))
    slope = np.array([0.0, by_b, by_a, by_a + by_b + 1 / depth])
    log_ratio = float(contrasts[0] @ fit.theta)
    error = float(np.sqrt(contrasts[0] @ fit.covariance @ contrasts[0]))
    correlation = _correlation("φ", phi, float(np.sqrt(slope @ spread @ slope)), z)
    ratio = _transformed("odds ratio", log_ratio, error, np.exp, float(np.exp(log_ratio)), z)
    return Association(names, correlation, ratio, test, fit, confidence, ())


def _log_odds_ratios(sizes: Sequence[int]) -> FloatArray:
    """Of every pair of values but the first against the first ones, as contrasts of θ, shape (q, m − 1)."""
    ones = [np.eye(size)[1:] - np.eye(size)[0] for size in sizes]
    return np.asarray(np.kron(ones[0], ones[1])[:, 1:])


def _correlation(name: str, value: float, error: float, z: float) -> Measure:
    """With the interval of Fisher's z."""
    inside = float(np.clip(value, -1 + 1e-12, 1 - 1e-12))
    slope = 1 / (1 - inside**2)
    return _transformed(name, float(np.arctanh(inside)), error * slope, np.tanh, 1 / slope, z)


def _transformed(
    name: str, value: float, error: float, back: Callable[[float], Any], slope: float, z: float
) -> Measure:
    """From a scale where it is nearly normal, and back."""
    reach = z * error
    ends = float(back(value - reach)), float(back(value + reach))
    return Measure(name, float(back(value)), error * slope, *ends)


# -- an answer and a number --------------------------------------------------------------------------------------------


def _with_number(
    channel: FiniteChannel,
    reports: AnyArray,
    y: FloatArray,
    weights: FloatArray | None,
    groups: AnyArray | None,
    z: float,
) -> Measure:
    """(E ty − E t E y) / √(Var t Var y) with unbiased guesses of t, who has the second answer, and its square t."""
    if len(channel.outputs) != 2:
        raise InputError(
            f"the hidden answer has the values {shorten(list(channel.outputs.labels))}; allowed with a number: two.",
            remedy=words('Explain the number by it: regress("number ~ hidden(answer)", …).'),
        )
    w = np.ones(len(y)) if weights is None else weights
    y = (y - np.average(y, weights=w)) / np.sqrt(np.cov(y, aweights=w, ddof=0))
    beta = channel.observation_function(Enumerated.saturated(channel.outputs)).coefficients[0]
    t = beta[channel.observations.encode(reports, "observed")]
    terms = np.column_stack([t, t * y, y, y**2])
    mean = np.average(terms, axis=0, weights=w)
    share, product, middle, square = mean
    if not 0 < share < 1:
        raise NotIdentifiedError(
            f"the unbiased share of {channel.outputs.labels[1]!r} is {share:.4f}, which is none: with so few, a "
            "correlation cannot be told.",
            remedy="Check the design, or ask more people.",
        )
    variance = square - middle**2
    depth = np.sqrt(share * (1 - share) * variance)
    r = float((product - share * middle) / depth)
    slope = np.array(
        [
            -middle / depth - r * (1 - 2 * share) / (2 * share * (1 - share)),
            1 / depth,
            -share / depth + r * middle / variance,
            -r / (2 * variance),
        ]
    )
    moves = w * ((terms - mean) @ slope) / w.sum()
    sums = moves if groups is None else np.bincount(groups, weights=moves)
    error = float(np.sqrt(np.sum(sums**2) * len(sums) / (len(sums) - 1)))
    return _correlation("correlation", r, error, z)
