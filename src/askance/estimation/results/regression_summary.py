"""The table of a regression, for people: at most 100 columns wide."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from askance.estimation.results.regression_fit import RegressionFit

WIDTH = 100
# Six columns of figures, each with two blanks before it.
_FIGURES = (10, 10, 8, 7, 10, 10)
# Of longer lists the first half of this many is shown.
_MOST_TERMS = 200
_LONGEST_NAME = WIDTH - sum(_FIGURES) - 2 * len(_FIGURES)


def regression_summary(fit: RegressionFit, confidence: float) -> str:
    """What was fitted to what and how; the coefficients, in a block per output when there are several; notes."""
    alarms = [line for alarm in fit.alarms for line in (*textwrap.wrap(f"ALARM: {alarm}", WIDTH), "")]
    lines = [*alarms, *_heading(fit), ""]
    lower, upper = fit.confidence_interval(confidence)
    with np.errstate(divide="ignore", invalid="ignore"):
        z, p_values = fit.theta / fit.standard_errors, fit.p_values
    figures = np.stack([fit.theta, fit.standard_errors, z, p_values, lower, upper], axis=1)
    terms, labels = fit.model.terms, fit.model.outputs.labels
    shown = len(terms) if len(terms) <= _MOST_TERMS else _MOST_TERMS // 2
    width = min(_LONGEST_NAME, max(len("term"), *(len(term) for term in terms[:shown])))
    ends = [f"{50 * (1 - confidence):g} %", f"{50 * (1 + confidence):g} %"]
    names = ["estimate", "std. error", "z", "P>|z|", *ends]
    rule = "-" * (width + sum(_FIGURES) + 2 * len(_FIGURES))
    lines += [_row("term", names, width), rule]
    for block, label in enumerate(labels[1:]):
        if len(labels) > 2:
            lines += ([""] if block else []) + textwrap.wrap(f"{label} (against {labels[0]})", WIDTH)
        for j, term in enumerate(terms[:shown]):
            estimate, error, ratio, p, low, high = figures[block * len(terms) + j]
            texts = [_number(estimate), _number(error), _ratio(ratio), p_value_text(p), _number(low), _number(high)]
            if len(term) > width:
                lines += textwrap.wrap(term, WIDTH)
                term = ""
            lines.append(_row(term, texts, width))
        if shown < len(terms):
            lines.append(f"… and {len(terms) - shown:,} more terms")
    notes = _notes(fit)
    return "\n".join([*lines, rule, *notes])


def _heading(fit: RegressionFit) -> list[str]:
    level = "none (no guarantee)" if math.isinf(fit.privacy_level) else f"{fit.privacy_level:.4g}"
    labels = fit.model.outputs.labels
    left = [
        ("reports", f"{fit.n_observations:,}"),
        ("privacy level", level),
        ("method", fit.method),
        ("covariance", fit.covariance_kind),
    ]
    right = [("log-likelihood", f"{fit.log_likelihood:.3f}"), ("converged", "yes" if fit.converged else "NO")]
    if not math.isnan(fit.aic):
        right[1:1] = [("AIC", f"{fit.aic:.3f}"), ("BIC", f"{fit.bic:.3f}")]
    title = (
        f"Regression of {labels[1]!s} against {labels[0]!s}"
        if len(labels) == 2
        else (f"Regression of {len(labels)} outputs, reference {labels[0]!s}")
    )
    lines = [textwrap.shorten(title, WIDTH, placeholder=" …"), ""]
    lines += textwrap.wrap(f"{'design':<15}{describe_channel(fit.channel)}", WIDTH, subsequent_indent=" " * 15)
    for i in range(max(len(left), len(right))):
        first = f"{left[i][0]:<15}{left[i][1]:<30}" if i < len(left) else " " * 45
        second = f"{right[i][0]:<16}{right[i][1]:>16}" if i < len(right) else ""
        lines.append(f"{first}{second}".rstrip())
    return lines


def describe_channel(specification: Mapping[str, Any]) -> str:
    """A channel in a few words.

    >>> describe_channel({"kind": "forced-response", "truth": "2/3", "yes": "1/6", "outputs": ["no", "yes"]})
    'forced-response: truth 2/3, yes 1/6'
    """
    parts = [
        f"{name.replace('_', ' ')} {_brief(value)}"
        for name, value in specification.items()
        if name not in ("kind", "outputs", "observations") and value is not None
    ]
    kind = str(specification.get("kind", "unknown"))
    return f"{kind}: {', '.join(parts)}" if parts else kind


def _brief(value: Any) -> str:
    """A parameter in a few characters: long fractions as decimals, tables by their size."""
    if isinstance(value, list | tuple):
        if value and all(isinstance(row, list | tuple) for row in value):
            sizes = {len(row) for row in value}
            return f"({len(value)} × {sizes.pop()})" if len(sizes) == 1 else f"({len(value)} groups)"
        text = "(" + ", ".join(_brief(item) for item in value) + ")"
        return text if len(text) <= 40 else f"({len(value)} values)"
    text = str(value)
    if len(text) <= 12:
        return text
    try:
        return f"{float(Fraction(text)):.6g}"
    except (ValueError, ZeroDivisionError):
        return textwrap.shorten(text, 30, placeholder="…")


def _notes(fit: RegressionFit) -> list[str]:
    notes = list(fit.diagnostics.messages)
    if _has_weights(fit) and not any(note.startswith("weighted by ") for note in notes):
        notes.append("weighted by sampling weights")
    if fit.covariance_kind == "posterior":
        notes.append("standard errors and intervals describe the posterior under the weak prior")
    if np.isnan(fit.standard_errors).any() and not any("standard errors" in note for note in notes):
        notes.append("no valid covariance is known for this fit")
    if not fit.converged:
        notes.append("the solver did not converge: do not rely on these numbers")
    return [
        line for note in notes for line in textwrap.wrap(f"note: {note}", WIDTH, subsequent_indent=" " * len("note: "))
    ]


def _has_weights(fit: RegressionFit) -> bool:
    return fit.evidence is not None and any(chunk.weights is not None for chunk in fit.evidence.chunks)


def _row(name: str, texts: list[str], width: int) -> str:
    return f"{name:<{width}}" + "".join(f"  {text:>{size}}" for text, size in zip(texts, _FIGURES, strict=True))


def _number(value: float) -> str:
    """Four decimals, or three digits and an exponent where these say nothing."""
    if math.isnan(value):
        return "–"
    return f"{value:.4f}" if value == 0 or 1e-3 <= abs(value) < 1e4 else f"{value:.2e}"


def _ratio(value: float) -> str:
    if math.isnan(value):
        return "–"
    return f"{value:.2f}" if abs(value) < 1e4 else f"{value:.1e}"


def p_value_text(value: float) -> str:
    """Three decimals, or that it is smaller.

    >>> p_value_text(0.0251), p_value_text(1e-9)
    ('0.025', '<0.001')
    """
    if math.isnan(value):
        return "–"
    return "<0.001" if value < 5e-4 else f"{value:.3f}"
