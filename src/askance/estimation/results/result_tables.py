"""Shares, effects and predictions as tables."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from askance.tables import (
    WIDTH,
    Column,
    Table,
    error_column,
    estimate_columns,
    interval_columns,
    p_value_column,
    shown_value,
)

if TYPE_CHECKING:
    from askance.estimation.results.results import MarginalEffects, Posteriors, Predictions, Prevalence


def prevalence_table(shares: Prevalence) -> Table:
    """The share of every answer in every group; of two answers the second, as in the regression."""
    columns = (
        Column(shares.by or "group", key="group"),
        Column("respondents", "count"),
        *estimate_columns(shares.confidence, "share", "percent"),
    )
    rows = [
        (output, group, count, *figures)
        for output, j in _shown_outputs(shares.outputs)
        for group, count, figures in zip(shares.groups, shares.n_respondents, _figures(shares, j), strict=True)
    ]
    return Table(
        *_by_answer(columns, rows, shares.outputs),
        title=_title("Share of {}", "Shares of {} answers", shares.outputs),
        notes=[f"{100 * shares.confidence:g} % intervals, {_about(shares)}"],
    )


def one_share_text(shares: Prevalence) -> str:
    """One line per answer; of two answers the second."""
    names = {f"share of {output}": j for output, j in _shown_outputs(shares.outputs)}
    width = max(map(len, names))
    return "\n".join(
        [*(f"{name:<{width}}  {_share_and_interval(shares, j)}" for name, j in names.items()), _about(shares)]
    )


def effects_table(effects: MarginalEffects) -> Table:
    """Changes of the share of every answer in percentage points; of two answers the second."""
    lower, upper = interval_columns(effects.confidence, "points", digits="error")
    columns = (
        Column("term"),
        Column("change", align="right"),
        Column("points", "points", "estimate", digits="error"),
        error_column("spread", digits="error"),
        p_value_column(),
        lower,
        upper,
    )
    rows = [
        (output, term, kind, change, error, p, low, high)
        for output, j in _shown_outputs(effects.outputs)
        for term, kind, p, (change, error, low, high) in zip(
            effects.terms, effects.kinds, effects.p_value[:, j], _figures(effects, j), strict=True
        )
    ]
    title = _title("Average change of the share of {}", "Average changes of the shares of {} answers", effects.outputs)
    return Table(*_by_answer(columns, rows, effects.outputs), title=f"{title}, in percentage points")


def predictions_table(predictions: Predictions | Posteriors, condition: str = "", *notes: str) -> Table:
    """The probabilities of every row, counted from 0; of two answers the second."""
    columns = (Column("row", align="left"), *estimate_columns(predictions.confidence, "probability", "percent"))
    rows = [
        (output, i, *figures)
        for output, j in _shown_outputs(predictions.outputs)
        for i, figures in enumerate(_figures(predictions, j))
    ]
    title = _title("Probability of {}", "Probabilities of {} answers", predictions.outputs)
    return Table(
        *_by_answer(columns, rows, predictions.outputs),
        title=f"{title}, {condition}" if condition else title,
        notes=notes,
    )


def _about(shares: Prevalence) -> str:
    if shares.population:
        return "for the population that the respondents were drawn from"
    return "for these respondents as they are; population=True for those they were drawn from"


def _share_and_interval(shares: Prevalence, j: int) -> str:
    (estimate, _, low, high) = _figures(shares, j)[0]
    if math.isnan(low):
        return f"{percent(estimate)} (no valid interval is known)"
    return f"{percent(estimate)} ({100 * shares.confidence:g} % interval {percent(low)} to {percent(high)})"


def percent(share: float) -> str:
    """A share in percent, with more digits where one decimal says nothing."""
    return shown_value(share, "percent")


def _figures(table: Prevalence | MarginalEffects | Predictions | Posteriors, j: int) -> list[tuple[float, ...]]:
    """Estimate, error, and ends of the interval of answer j, row by row."""
    arrays = (table.estimate, table.standard_error, table.lower, table.upper)
    return list(zip(*(array[:, j].tolist() for array in arrays), strict=True))


def _shown_outputs(outputs: Sequence[Any]) -> Iterator[tuple[Any, int]]:
    """All answers and their places, but of two only the second: the first is what remains."""
    first = 1 if len(outputs) == 2 else 0
    return ((output, j) for j, output in enumerate(outputs) if j >= first)


def _by_answer(
    columns: Sequence[Column], rows: list[tuple[Any, ...]], outputs: Sequence[Any]
) -> tuple[Sequence[Column], list[tuple[Any, ...]]]:
    """Columns and rows, under a heading where there are several answers."""
    if len(outputs) == 2:
        return columns, [row[1:] for row in rows]
    return (Column("answer", "heading"), *columns), rows


def _title(of_two: str, of_more: str, outputs: Sequence[Any]) -> str:
    text = of_two.format(outputs[1]) if len(outputs) == 2 else of_more.format(len(outputs))
    return textwrap.shorten(text, WIDTH - 25, placeholder=" …")
