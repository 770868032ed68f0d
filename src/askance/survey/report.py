"""A report on a fit: one HTML file that needs nothing else, to be attached to a paper."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from askance._checks import shorten
from askance._version import __version__
from askance.channels import registry
from askance.channels.finite import FiniteChannel
from askance.errors import AskanceError
from askance.estimation.problems.sample import INTERCEPT_NAMES
from askance.estimation.results.fit import Fit
from askance.estimation.results.fit_table import describe_channel, notes_of
from askance.evidence.candidates import seen_through
from askance.formats.disk import write_whole
from askance.formats.html_page import html_document, table_html
from askance.models.hidden import BETWEEN, HiddenVariables
from askance.survey.coefficient_figure import MOST_ROWS, coefficient_figure, in_words
from askance.tables import Column, Kind, Table

_ABOUT = (
    "What was estimated from reports that went through a survey design: the design and its probabilities, estimates "
    "with their errors, shares, and what was checked. The report was made from a fit; it holds no answers of single "
    "respondents."
)
_METHODS = {
    "one-step": "scoring steps on the likelihood of the reports from unbiased averages: as precise as the likelihood",
    "marginal": "maximum likelihood of the reports, summed over what is hidden",
    "moments": "unbiased averages of functions of the reports, matched to the model",
    "supervised": "maximum likelihood; the answers themselves were seen",
}
_ERRORS = {
    "expected": "from the expected information; they trust the model",
    "observed": "from the curvature of the likelihood; they trust the model",
    "robust": "from the spread of the scores; they hold also where the model is wrong",
    "cluster-robust": "from the spread of the scores of whole clusters, whose answers may depend on each other",
    "stratified": "from the spread of the scores of whole clusters within strata",
    "replicates": "from the spread of the estimates with every set of replicate weights",
    "posterior": "of the posterior under a weak prior, because the data left something open",
    "none": "not known for so many coefficients",
}
# Designs with more reports or truths are described by their parameters alone.
_LARGEST_DESIGN = 12


def report_page(fit: Fit, title: str = "", confidence: float = 0.95) -> str:
    """The whole document.

    Args:
        fit: of a regression or of hidden variables; what `with_tables` keeps is shown too.
        title: of the page; default: the formula.
        confidence: of the intervals.

    >>> from askance import ForcedResponse, regress
    >>> data = {"said": ["yes", "no", "no"] * 40, "age": list(range(120))}
    >>> fit = regress("said ~ I(age / 10)", data, ForcedResponse("2/3", "1/6"))
    >>> page = report_page(fit.with_tables(fit.prevalence()))
    >>> "<svg" in page, "http" in page, page.count("<table>")
    (True, False, 3)
    """
    formula = getattr(fit.design, "formula", "") if hasattr(fit, "design") else ""
    heading = title or (f"Report on {formula}" if formula else "Report on a fit")
    table = fit.table(confidence)
    estimates = [table_html(_without_figures_above(table)), *_figure(fit, confidence)]
    kept = [table_html(printed) for printed in fit.kept_tables]
    parts = [
        *(f'<p class="alarm" role="alert"><strong>Alarm:</strong> {escape(alarm)}</p>' for alarm in fit.alarms),
        _section("In short", [_facts(fit, formula, confidence)]),
        _section("The design", list(_design(fit))),
        _section("Estimates", estimates),
        *([_section("Shares, effects and tests", kept)] if kept else []),
        _section("What was checked, and what to know", list(_checks(fit))),
        f'<p class="soft">Made with askance {escape(__version__)}.</p>',
    ]
    return html_document(heading, _ABOUT, parts)


def write_report(fit: Fit, path: str | Path, title: str = "", confidence: float = 0.95) -> None:
    """Write `report_page` to a file, whole or not at all."""
    write_whole(path, report_page(fit, title, confidence).encode())


def _section(title: str, parts: Sequence[str]) -> str:
    return "\n".join(["<section>", f"<h2>{escape(title)}</h2>", *parts, "</section>"])


def _without_figures_above(table: Table) -> Table:
    """The coefficients; alarms, notes and how the fit came about stand elsewhere on the page."""
    title = table.title if table.head else "Parameters with their errors"
    return Table(table.columns, table.rows, title=title, most_rows=len(table.rows))


def _facts(fit: Fit, formula: str, confidence: float) -> str:
    """Names and values, as a list that screen readers know as such."""
    facts: dict[str, str] = {
        "formula": formula,
        "hidden": _hidden(fit.model),
        "reports": f"{fit.n_observations:,}",
        "design": describe_channel(fit.channel),
        "privacy level": _level(fit.privacy_level),
        "method": f"{fit.method}: {_METHODS[fit.method]}" if fit.method in _METHODS else fit.method,
        "standard errors": f"{fit.covariance_kind}: {_ERRORS[fit.covariance_kind]}"
        if fit.covariance_kind in _ERRORS
        else fit.covariance_kind,
        "intervals": f"{100 * confidence:g} %",
        "log-likelihood": f"{fit.log_likelihood:.3f}" if math.isfinite(fit.log_likelihood) else "",
        "AIC": _number(getattr(fit, "aic", math.nan)),
        "BIC": _number(getattr(fit, "bic", math.nan)),
    }
    items = (f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts.items() if value)
    return f"<dl>{''.join(items)}</dl>"


def _hidden(model: Any) -> str:
    """What is hidden, and its values; of several variables each with its own."""
    if isinstance(model, HiddenVariables):
        return "; ".join(f"{factor.name} ({shorten(factor.outputs.labels)})" for factor in model.factors)
    return shorten(model.outputs.labels) if hasattr(model, "outputs") else ""


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.3f}"


def _level(level: float) -> str:
    if math.isinf(level):
        return "none: some reports rule answers out, so that there is no guarantee"
    return (
        f"{level:.4g}: no report is more than e^{level:.4g} = {math.exp(level):.3g} times as likely under one truth as "
        "under another"
    )


def _design(fit: Fit) -> Iterator[str]:
    """Every way of asking: its parameters in words, and what is reported given the truth."""
    specification = fit.channel
    parts: Sequence[Mapping[str, Any]] = specification.get("parts", [specification])
    whole: Mapping[str, Any] = specification.get("design", {})
    yield from (f"<p>{escape(text)}</p>" for text in (_in_words(whole) if whole else []))
    groups = whole.get("groups") or ()
    names = [repr(group) for group in groups] if len(groups) == len(parts) else [str(i + 1) for i in range(len(parts))]
    for place, part in enumerate(parts, start=1):
        if len(parts) > 1:
            yield f"<h3>{escape(f'Group {names[place - 1]}' if whole else f'{place}. {describe_channel(part)}')}</h3>"
        yield from (f"<p>{escape(text)}</p>" for text in ([] if whole else _in_words(part)))
        channel = _channel(part)
        if channel is not None and max(channel.matrix.shape) <= _LARGEST_DESIGN:
            yield table_html(_probabilities(channel, fit.model))


def _in_words(specification: Mapping[str, Any]) -> list[str]:
    """What is known of such a design, and its parameters."""
    entries = {entry.kind: entry for entry in (*registry.designs(), *registry.entries("statistics"))}
    entry = entries.get(str(specification.get("kind")))
    if entry is None:
        return [describe_channel(specification)]
    meanings = {parameter.name: parameter.description for parameter in entry.parameters}
    told = [
        f"{name.replace('_', ' ')} {_written(value)}: {meanings[name]}"
        for name, value in specification.items()
        if name in meanings and isinstance(value, str | int | float | list) and value not in ([], False, "")
    ]
    return [f"{entry.kind}: {entry.summary}", *([f"Parameters: {'; '.join(told)}."] if told else [])]


def _written(value: Any) -> str:
    return ", ".join(map(_written, value)) if isinstance(value, list) else str(value)


def _channel(specification: Mapping[str, Any]) -> FiniteChannel | None:
    """The channel on answers that a fit describes; None where it is another, or of another version."""
    try:
        return seen_through(specification)
    except (AskanceError, KeyError, TypeError):
        return None


def _probabilities(channel: FiniteChannel, model: Any) -> Table:
    """S, with the truth in columns: of several hidden variables their values, in the order that the title names."""
    factors = model.factors if isinstance(model, HiddenVariables) else ()
    truth = BETWEEN.join(factor.name for factor in factors) if len(factors) > 1 else "the truth"
    kind: Kind = "count" if bool(np.isin(channel.matrix, (0, 1)).all()) else "decimal"
    truths = [Column(str(label), kind, key=f"truth {label}") for label in channel.outputs.labels]
    rows = [(str(o), *row) for o, row in zip(channel.observations.labels, channel.matrix.tolist(), strict=True)]
    return Table([Column("report"), *truths], rows, title=f"Probability of every report, by {truth} (in columns)")


def _figure(fit: Fit, confidence: float) -> Iterator[str]:
    """The coefficients but the intercepts, drawn; nothing where there are none, or too many."""
    names = fit.parameter_names
    shown = [j for j, name in enumerate(names) if name.rpartition(":")[2].lower() not in INTERCEPT_NAMES]
    if not 0 < len(shown) <= MOST_ROWS or not np.isfinite(fit.theta[shown]).all():
        return
    lower, upper = (end[shown] for end in fit.confidence_interval(confidence))
    chosen = [names[j] for j in shown]
    caption = f"Coefficients with {100 * confidence:g} % intervals, in the units of the table; the dashed line is 0."
    drawn = coefficient_figure(chosen, fit.theta[shown], lower, upper, caption, in_words(chosen, lower, upper))
    yield f"<figure>{drawn}<figcaption>{escape(caption)}</figcaption></figure>"


def _checks(fit: Fit) -> Iterator[str]:
    """Whether the solver converged, whether anything beside the data decided, and the messages of the fit."""
    converged = "The solver converged." if fit.converged else "The solver did NOT converge: do not rely on this."
    acted = (
        "Something beside the data decided (a weak prior or a ridge), because they lead outside the model."
        if fit.repaired
        else "Nothing beside the data decided: no prior and no ridge acted."
    )
    notes = [note.removeprefix("note: ") for note in notes_of(fit)]
    items = [converged, acted, *(f"{note[:1].upper()}{note[1:]}" for note in notes)]
    yield f"<ul>{''.join(f'<li>{escape(item)}</li>' for item in items)}</ul>"
    yield (
        "<p>Estimates are right if respondents followed the instructions of the design. How much they would change if "
        "some did not is what <code>askance sensitivity</code> shows.</p>"
    )
