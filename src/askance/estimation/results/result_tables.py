"""Shares, effects and predictions as tables for people: at most 100 columns wide."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from askance._arrays import FloatArray
from askance.estimation.results.regression_summary import WIDTH, p_value_text

if TYPE_CHECKING:
    from askance.estimation.results.results import MarginalEffects, Predictions, Prevalence

# Of longer tables the first so many rows are shown.
_MOST_ROWS = 200


def prevalence_summary(shares: Prevalence) -> str:
    """One line per answer, or a table of the groups; of two answers the second, as in the regression."""
    ends = _ends(shares.confidence)
    note = (
        "for the population that the respondents were drawn from"
        if shares.population
        else "for these respondents as they are; population=True for those they were drawn from"
    )
    if shares.groups == ("all",):
        names = [f"share of {output!s}" for output in shares.outputs]
        width = max(len(names[j]) for j in _shown_outputs(shares.outputs))
        intervals = [_share_and_interval(shares, j) for j in range(len(names))]
        lines = [f"{names[j]:<{width}}  {intervals[j]}" for j in _shown_outputs(shares.outputs)]
        return "\n".join([*lines, note])
    rows = [
        (str(group), f"{count:,.0f}", *(percent(table[g, j]) for table in _figures(shares)))
        for j in _shown_outputs(shares.outputs)
        for g, (group, count) in enumerate(zip(shares.groups, shares.n_respondents, strict=True))
    ]
    columns = [shares.by or "group", "respondents", "share", "std. error", *ends]
    title = _title("Share of {}", "Shares of {} answers", shares.outputs)
    table = text_table(columns, *_by_answer(shares.outputs, rows))
    return "\n".join([title, "", *table, f"{100 * shares.confidence:g} % intervals, {note}"])


def effects_summary(effects: MarginalEffects) -> str:
    """Changes of the share of every answer in percentage points; of two answers the second."""
    rows = []
    for j in _shown_outputs(effects.outputs):
        for i, (term, kind) in enumerate(zip(effects.terms, effects.kinds, strict=True)):
            change, error, low, high = (100 * table[i, j] for table in _figures(effects))
            # One decimal, or two digits of small errors: effects of a single year or euro.
            digits = 1 - math.floor(math.log10(error)) if 1e-8 < error < 0.1 else 1
            figures = [_points(value, digits) for value in (change, low, high)]
            spread = _points(error, digits).lstrip("+")
            rows.append((term, kind, figures[0], spread, p_value_text(effects.p_value[i, j]), *figures[1:]))
    columns = ["term", "change", "points", "std. error", "P>|z|", *_ends(effects.confidence)]
    title = _title("Average change of the share of {}", "Average changes of the shares of {} answers", effects.outputs)
    return "\n".join([f"{title}, in percentage points", "", *text_table(columns, *_by_answer(effects.outputs, rows))])


def predictions_summary(predictions: Predictions) -> str:
    """The probabilities of every row, counted from 0; of two answers the second."""
    rows = [
        (str(i), *(percent(table[i, j]) for table in _figures(predictions)))
        for j in _shown_outputs(predictions.outputs)
        for i in range(len(predictions.estimate))
    ]
    columns = ["row", "probability", "std. error", *_ends(predictions.confidence)]
    title = _title("Probability of {}", "Probabilities of {} answers", predictions.outputs)
    return "\n".join([title, "", *text_table(columns, *_by_answer(predictions.outputs, rows))])


def text_table(columns: Sequence[str], rows: Sequence[Sequence[str]], headings: dict[int, str]) -> list[str]:
    """Lines of a table: the first column to the left, the others to the right; long names are cut.

    Args:
        columns: their names.
        rows: of texts.
        headings: {number of a row: the line that stands above it}.

    >>> print("\\n".join(text_table(["region", "share"], [("north", "12 %"), ("south", "9 %")], {})))
    region  share
    -------------
    north    12 %
    south     9 %
    -------------
    """
    widths = [max(len(row[i]) for row in (columns, *rows)) for i in range(len(columns))]
    widths[0] = min(widths[0], max(8, WIDTH - sum(widths[1:]) - 2 * len(widths[1:])))

    def line(cells: Sequence[str]) -> str:
        name = cells[0] if len(cells[0]) <= widths[0] else cells[0][: widths[0] - 1] + "…"
        return f"{name:<{widths[0]}}" + "".join(f"  {c:>{w}}" for c, w in zip(cells[1:], widths[1:], strict=True))

    rule = "-" * (sum(widths) + 2 * len(widths[1:]))
    lines = [line(columns), rule]
    for i, row in enumerate(rows[:_MOST_ROWS]):
        if i in headings:
            lines += ([""] if i else []) + [headings[i]]
        lines.append(line(row))
    if len(rows) > _MOST_ROWS:
        lines.append(f"… and {len(rows) - _MOST_ROWS:,} more rows")
    return [*lines, rule]


def percent(value: float) -> str:
    """A share in percent, with more digits where one decimal says nothing.

    >>> percent(0.2814), percent(0.00012), percent(float("nan"))
    ('28.1 %', '0.012 %', '–')
    """
    if math.isnan(value):
        return "–"
    return f"{100 * value:.1f} %" if value == 0 or abs(value) >= 5e-4 else f"{100 * value:.2g} %"


def _share_and_interval(shares: Prevalence, j: int) -> str:
    estimate, _, low, high = (float(table[0, j]) for table in _figures(shares))
    if math.isnan(low):
        return f"{percent(estimate)} (no valid interval is known)"
    return f"{percent(estimate)} ({100 * shares.confidence:g} % interval {percent(low)} to {percent(high)})"


def _figures(
    table: Prevalence | MarginalEffects | Predictions,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    return table.estimate, table.standard_error, table.lower, table.upper


def _shown_outputs(outputs: Sequence[Any]) -> range:
    """All answers, but of two only the second: the first is what remains."""
    return range(1 if len(outputs) == 2 else 0, len(outputs))


def _by_answer(outputs: Sequence[Any], rows: list[tuple[str, ...]]) -> tuple[list[tuple[str, ...]], dict[int, str]]:
    """The rows, and where each of several answers begins."""
    shown = _shown_outputs(outputs)
    each = len(rows) // len(shown)
    return rows, {} if len(shown) == 1 else {i * each: str(outputs[j]) for i, j in enumerate(shown)}


def _ends(confidence: float) -> list[str]:
    return [f"{50 * (1 - confidence):g} %", f"{50 * (1 + confidence):g} %"]


def _points(value: float, digits: int) -> str:
    return "–" if np.isnan(value) else f"{value:+.{digits}f}"


def _title(of_two: str, of_more: str, outputs: Sequence[Any]) -> str:
    text = of_two.format(outputs[1]) if len(outputs) == 2 else of_more.format(len(outputs))
    return textwrap.shorten(text, WIDTH - 25, placeholder=" …")
