"""What stands above and below the figures of a fit: how it came about, and what a reader should know."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from askance.tables import WIDTH, Column, Table

if TYPE_CHECKING:
    from askance.estimation.results.fit import Fit
    from askance.estimation.results.regression_fit import RegressionFit

# Of longer lists the first half of this many is shown.
_MOST_TERMS = 200


def fit_line(fit: Fit, what: str = "") -> str:
    """How a fit came about, in one line."""
    height = f"log-likelihood {fit.log_likelihood:.2f}" if math.isfinite(fit.log_likelihood) else ""
    parts = (
        what,
        f"method {fit.method}",
        f"reports {fit.n_observations:,}",
        f"privacy level {level_text(fit.privacy_level)}",
        height,
        f"converged {'yes' if fit.converged else 'NO'}",
    )
    return "   ".join(filter(None, parts))


def level_text(level: float) -> str:
    """A privacy level in a few characters."""
    return "none" if math.isinf(level) else f"{level:.4g}"


def fit_notes(fit: Fit, confidence: float) -> list[str]:
    """What the intervals are, and the notes."""
    return [f"{100 * confidence:g} % intervals; covariance: {fit.covariance_kind}", *notes_of(fit)]


def notes_of(fit: Fit) -> list[str]:
    """The messages of a fit, and what its covariance and its solver give reason to say."""
    notes = list(fit.diagnostics.messages)
    if fit.covariance_kind == "posterior" and fit.repaired and not any("posterior" in note for note in notes):
        notes.append("standard errors and intervals describe the posterior under the weak prior")
    if np.isnan(fit.standard_errors).any() and not any("standard errors" in note for note in notes):
        notes.append("no valid covariance is known for this fit")
    if not fit.converged:
        notes.append("the solver did not converge: do not rely on these numbers")
    return [f"note: {note}" for note in notes]


def regression_table(fit: RegressionFit, confidence: float) -> Table:
    """The coefficients, in a block per output when there are several; what was fitted to what and how; notes."""
    terms, labels = fit.model.terms, [str(label) for label in fit.model.outputs.labels]
    columns: tuple[Column, ...] = (Column("term"), *fit.coefficient_columns(confidence))
    names: list[Sequence[str]] = [terms * (len(labels) - 1)]
    title = f"Regression of {labels[1]} against {labels[0]}"
    if len(labels) > 2:
        columns = (Column("output", "heading"), *columns)
        names.insert(0, [f"{label} (against {labels[0]})" for label in labels[1:] for _ in terms])
        title = f"Regression of {len(labels)} outputs, reference {labels[0]}"
    notes = notes_of(fit)
    if _has_weights(fit) and not any(note.startswith("note: weighted by ") for note in notes):
        notes.append("note: weighted by sampling weights")
    return Table(
        columns,
        fit.coefficient_rows(confidence, *names),
        title=textwrap.shorten(title, WIDTH, placeholder=" …"),
        head=_head(fit),
        notes=notes,
        alarms=fit.alarms,
        most_rows=_MOST_TERMS if len(terms) <= _MOST_TERMS else _MOST_TERMS // 2,
        rows_are="terms",
    )


def _head(fit: RegressionFit) -> list[str]:
    level = "none (no guarantee)" if math.isinf(fit.privacy_level) else f"{fit.privacy_level:.4g}"
    left = [
        ("reports", f"{fit.n_observations:,}"),
        ("privacy level", level),
        ("method", fit.method),
        ("covariance", fit.covariance_kind),
    ]
    right = [("log-likelihood", f"{fit.log_likelihood:.3f}"), ("converged", "yes" if fit.converged else "NO")]
    if not math.isnan(fit.aic):
        right[1:1] = [("AIC", f"{fit.aic:.3f}"), ("BIC", f"{fit.bic:.3f}")]
    lines = textwrap.wrap(f"{'design':<15}{describe_channel(fit.channel)}", WIDTH, subsequent_indent=" " * 15)
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
    if "design" in specification:  # of groups that are asked in different ways
        return describe_channel(specification["design"])
    if "parts" in specification:
        return "; ".join(describe_channel(part) for part in specification["parts"])
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


def _has_weights(fit: RegressionFit) -> bool:
    return fit.evidence is not None and fit.evidence.head.weights is not None
