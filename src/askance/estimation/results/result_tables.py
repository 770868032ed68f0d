"""Shares, effects and predictions as tables."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from askance.tables import (
    WIDTH,
    Column,
    Kind,
    Table,
    error_column,
    estimate_columns,
    interval_columns,
    p_value_column,
    shown_value,
)

if TYPE_CHECKING:
    from askance.estimation.results.contrasts import Contrasts
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
        notes=[f"{100 * shares.confidence:g} % intervals, {_about(shares)}", *shares.notes],
    )


def one_share_text(shares: Prevalence) -> str:
    """One line per answer; of two answers the second."""
    names = {f"share of {output}": j for output, j in _shown_outputs(shares.outputs)}
    width = max(map(len, names))
    return "\n".join(
        [
            *(f"{name:<{width}}  {_share_and_interval(shares, j)}" for name, j in names.items()),
            _about(shares),
            *(line for note in shares.notes for line in textwrap.wrap(note, WIDTH)),
        ]
    )


def effects_table(effects: MarginalEffects) -> Table:
    """Changes of the share of every answer in percentage points; of two answers the second; or of a mean."""
    shares = len(effects.outputs) > 1
    kind: Kind = "points" if shares else "number"
    digits: Any = "error" if shares else 4
    lower, upper = interval_columns(effects.confidence, kind, digits=digits)
    columns = (
        Column("term"),
        Column("change", align="right"),
        Column("points" if shares else "of the mean", kind, "estimate", digits=digits),
        error_column("spread" if shares else kind, digits=digits),
        p_value_column(of=_tested_by(effects)),
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
    title = f"{title}, in percentage points" if shares else f"Average change of the mean of {effects.outputs[0]}"
    return Table(*_by_answer(columns, rows, effects.outputs), title=title)


def _tested_by(table: MarginalEffects | Contrasts) -> str:
    return "z" if table.degrees_of_freedom is None else "t"


def contrasts_table(contrasts: Contrasts) -> Table:
    """Differences in percentage points, or ratios; under a heading where there are several answers or groups."""
    digits: Any = 3 if contrasts.ratio else "error"
    sign, name = ("/", "ratio") if contrasts.ratio else ("−", "points")
    lower, upper = interval_columns(contrasts.confidence, "decimal" if contrasts.ratio else "points", digits=digits)
    kinds: tuple[Kind, Kind] = ("decimal", "decimal") if contrasts.ratio else ("points", "spread")
    columns = (
        Column(contrasts.by or contrasts.between, key="contrast"),
        Column(name, kinds[0], "estimate", digits=digits),
        error_column(kinds[1], digits=digits),
        p_value_column(of=_tested_by(contrasts)),
        lower,
        upper,
    )
    of_groups = contrasts.between == "groups"
    shown = list(
        _shown_outputs(contrasts.columns) if of_groups else ((column, j) for j, column in enumerate(contrasts.columns))
    )
    rows = [
        (heading, f"{first} {sign} {second}", *figures[:2], p, *figures[2:])
        for heading, j in shown
        for (first, second), p, figures in zip(
            contrasts.pairs, contrasts.p_value[:, j], _figures(contrasts, j), strict=True
        )
    ]
    several = len(shown) > 1
    what = "Ratio of shares" if contrasts.ratio else "Difference of shares"
    of = f" of {shown[0][0]}" if of_groups and not several else ""
    count = len(rows)
    notes = [f"{count} comparisons: p-values and intervals are not adjusted for their number"] if count > 1 else []
    return Table(
        (Column("answer" if of_groups else "group", "heading"), *columns) if several else columns,
        rows if several else [row[1:] for row in rows],
        title=f"{what}{of}" if contrasts.ratio else f"{what}{of}, in percentage points",
        notes=notes,
    )


def predictions_table(predictions: Predictions | Posteriors, condition: str = "", *notes: str) -> Table:
    """The probabilities of every row, counted from 0; of two answers the second."""
    shares = len(predictions.outputs) > 1
    kind: Kind = "percent" if shares else "number"
    figures = estimate_columns(predictions.confidence, "probability" if shares else "mean", kind)
    columns = (Column("row", align="left"), *figures)
    rows = [
        (output, i, *values)
        for output, j in _shown_outputs(predictions.outputs)
        for i, values in enumerate(_figures(predictions, j))
    ]
    title = _title("Probability of {}", "Probabilities of {} answers", predictions.outputs)
    title = title if shares else f"Mean of {predictions.outputs[0]}"
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


def _figures(
    table: Prevalence | MarginalEffects | Predictions | Posteriors | Contrasts, j: int
) -> list[tuple[float, ...]]:
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
    if len(outputs) <= 2:
        return columns, [row[1:] for row in rows]
    return (Column("answer", "heading"), *columns), rows


def _title(of_two: str, of_more: str, outputs: Sequence[Any]) -> str:
    text = of_two.format(outputs[1]) if len(outputs) == 2 else of_more.format(len(outputs))
    return textwrap.shorten(text, WIDTH - 25, placeholder=" …")
