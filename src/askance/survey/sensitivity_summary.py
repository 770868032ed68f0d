"""The table of `sensitivity`, for people: at most 100 columns wide."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from askance.estimation.results.result_tables import percent
from askance.survey.alternative_channels import device_probabilities
from askance.tables import WIDTH, Column, Table, estimate_columns

if TYPE_CHECKING:
    from askance.survey.sensitivity import Scenario, Sensitivity

# What the marks mean of a reading that the reports contradict.
_IMPLAUSIBLE = (
    "†: reports like these would hardly come about under this reading; do not rely on its figures",
    "p: share of surveys that would come as far off by chance, if the reading were true",
)

_TITLE = "Other readings of the design"
# What stands in the two lines of one cell.
_Cell = tuple[str, str]


def marked_name(scenario: Scenario) -> str:
    """The name of a reading, with a mark where the reports contradict it."""
    return scenario.name if scenario.plausible else f"{scenario.name} †"


def sensitivity_summary(table: Sensitivity, confidence: float) -> str:
    """One block of two lines per reading: shares over their intervals, coefficients over their standard errors.

    Readings that the reports contradict are marked, with the p-value of their test of fit in the second line.
    Columns that do not fit into 100 characters follow in further tables.
    """
    names, columns = _columns(table, confidence)
    readings = [_reading(scenario) for scenario in table.scenarios]
    first = max(len("reading"), *(len(line) for cell in readings for line in cell))
    widths = [
        max(len(name), *(len(line) for cell in cells for line in cell))
        for name, cells in zip(names, columns, strict=True)
    ]
    lines = [_TITLE]
    for part in _fitting(widths, WIDTH - first):
        head = "".join(f"  {names[j]:>{widths[j]}}" for j in part)
        rule = "-" * (first + len(head))
        lines += ["", f"{'reading':<{first}}{head}", rule]
        for i, reading in enumerate(readings):
            for line in (0, 1):
                cells = "".join(f"  {columns[j][i][line]:>{widths[j]}}" for j in part)
                text = f"{reading[line]:<{first}}{cells}".rstrip()
                lines += [text] if text else []  # a reading without a fit has no second line
        lines.append(rule)
    lines.append(
        f"below shares: {100 * confidence:g} % intervals, for the population; below coefficients: standard errors"
    )
    return "\n".join([*lines, *_notes(table)])


def sensitivity_table(table: Sensitivity, confidence: float) -> Table:
    """Every share and coefficient of every reading in a row of its own; readings without a fit have none."""
    rows: list[tuple[Any, ...]] = []
    for scenario in table.scenarios:
        shares, fit, name = scenario.shares(confidence), scenario.fit, marked_name(scenario)
        if fit is None or shares is None:
            continue
        start = 1 if len(shares.labels) == 2 else 0
        quantities = [f"share of {label}" for label in shares.labels]
        columns = (quantities, shares.estimate, shares.standard_error, shares.lower, shares.upper)
        rows += [(name, *row) for row in list(zip(*columns, strict=True))[start:]]
        figures = (fit.theta, fit.standard_errors, *fit.confidence_interval(confidence))
        rows += [(name, *row) for row in zip(table.parameter_names, *figures, strict=True)]
    columns_of_rows = (Column("reading", "heading"), Column("quantity"), *estimate_columns(confidence))
    return Table(columns_of_rows, rows, title=_TITLE, notes=_notes(table), most_rows=len(rows))


def _notes(table: Sensitivity) -> list[str]:
    notes = []
    if any(scenario.fit is None for scenario in table.scenarios):
        notes.append("–: under this reading the reports tell nothing, or are impossible")
    if not all(scenario.plausible for scenario in table.scenarios):
        notes += _IMPLAUSIBLE
    return notes + [_device(scenario) for scenario in table.scenarios if scenario.bias]


def _reading(scenario: Scenario) -> _Cell:
    return marked_name(scenario), "" if scenario.plausible else f"  {scenario.test.shown_p_value}"


def _device(scenario: Scenario) -> str:
    """What all probabilities of a biased device are: the others may have had to make room."""
    found = device_probabilities(scenario.channel)
    return f"{scenario.name} means {', '.join(f'{name} {float(p):.4g}' for name, p in found.items())}"


def _columns(table: Sensitivity, confidence: float) -> tuple[list[str], list[list[_Cell]]]:
    """Names of the columns, and for each the cells of all readings."""
    rows = [_cells(scenario, confidence) for scenario in table.scenarios]
    planned = table.scenarios[0].shares(confidence)
    assert planned is not None
    outputs = planned.labels[1:] if len(planned.labels) == 2 else planned.labels
    names = [*(f"share of {output}" for output in outputs), *table.parameter_names]
    missing: _Cell = ("–", "")
    return names, [[row[j] if row else missing for row in rows] for j in range(len(names))]


def _cells(scenario: Scenario, confidence: float) -> list[_Cell]:
    shares = scenario.shares(confidence)
    if scenario.fit is None or shares is None:
        return []
    start = 1 if len(shares.labels) == 2 else 0
    of_shares = list(zip(shares.estimate, shares.lower, shares.upper, strict=True))[start:]
    cells: list[_Cell] = [(percent(p), _interval(low, high)) for p, low, high in of_shares]
    return cells + [
        (f"{value:z.4f}", "–" if math.isnan(error) else f"({error:.4f})")
        for value, error in zip(scenario.fit.theta, scenario.fit.standard_errors, strict=True)
    ]


def _interval(low: float, high: float) -> str:
    return "–" if math.isnan(low) else f"{percent(low)}–{percent(high)}".replace(" %", "")


def _fitting(widths: list[int], room: int) -> list[list[int]]:
    """Columns in as few tables as fit, in order; each has one at least.

    >>> _fitting([10, 10, 30, 5], 26)
    [[0, 1], [2], [3]]
    """
    parts: list[list[int]] = [[]]
    for j, width in enumerate(widths):
        if parts[-1] and sum(widths[i] + 2 for i in parts[-1]) + width + 2 > room:
            parts.append([])
        parts[-1].append(j)
    return parts
