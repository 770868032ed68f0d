"""The table of `sensitivity`, for people: at most 100 columns wide."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from askance.estimation.results.hidden_fit import HiddenFit
from askance.estimation.results.means_fit import MeansFit
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
    figures, missing = _figures(table, confidence), ("–", "")
    names = [figure.quantity for figure in figures[0]]
    columns = [[row[j].cell if row else missing for row in figures] for j in range(len(names))]
    readings = [(marked_name(s), "" if s.plausible else f"  {s.test.shown_p_value}") for s in table.scenarios]
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
    hidden = any(isinstance(scenario.fit, HiddenFit | MeansFit) for scenario in table.scenarios)
    about = "given covariates" if hidden else "for the population"
    lines.append(f"below shares: {100 * confidence:g} % intervals, {about}; below coefficients: standard errors")
    return "\n".join([*lines, *_notes(table)])


def sensitivity_table(table: Sensitivity, confidence: float) -> Table:
    """Every share and coefficient of every reading in a row of its own; readings without a fit have none."""
    rows = [
        (marked_name(scenario), figure.quantity, *figure[2:])
        for scenario, figures in zip(table.scenarios, _figures(table, confidence), strict=True)
        for figure in figures
    ]
    columns = (Column("reading", "heading"), Column("quantity"), *estimate_columns(confidence))
    return Table(columns, rows, title=_TITLE, notes=_notes(table), most_rows=len(rows))


def _notes(table: Sensitivity) -> list[str]:
    notes = []
    if any(scenario.fit is None for scenario in table.scenarios):
        notes.append("–: under this reading the reports tell nothing, or are impossible")
    if not all(scenario.plausible for scenario in table.scenarios):
        notes += _IMPLAUSIBLE
    repaired = [s.name for s in table.scenarios if s.fit is not None and s.fit.repaired and s.plausible]
    if repaired:
        notes.append(f"at the edge of what is possible, where a weak prior decides: {', '.join(repaired)}")
    return notes + [_device(scenario) for scenario in table.scenarios if scenario.bias]


def _device(scenario: Scenario) -> str:
    """What all probabilities of a biased device are: the others may have had to make room."""
    told = []
    for arm, channel in scenario.arms.items():
        probabilities = device_probabilities(channel)
        if scenario.bias in probabilities:
            values = ", ".join(f"{name} {float(p):.4g}" for name, p in probabilities.items())
            told.append(values if len(scenario.arms) == 1 else f"{values} in arm {arm}")
    return f"{scenario.name} means {'; '.join(told)}"


class _Figure(NamedTuple):
    """A share or a coefficient under one reading."""

    quantity: str
    is_share: bool
    estimate: float
    error: float
    lower: float
    upper: float

    @property
    def cell(self) -> _Cell:
        """A share over its interval, a coefficient over its standard error."""
        if self.is_share:
            interval = f"{percent(self.lower)}–{percent(self.upper)}".replace(" %", "")
            return percent(self.estimate), "–" if math.isnan(self.lower) else interval
        return f"{self.estimate:z.4f}", "–" if math.isnan(self.error) else f"({self.error:.4f})"


def _figures(table: Sensitivity, confidence: float) -> list[list[_Figure]]:
    """Shares and coefficients of every reading; none of those without a fit. Of two shares, the second tells both."""
    readings = []
    for scenario in table.scenarios:
        shares, fit = scenario.shares(confidence), scenario.fit
        figures: list[_Figure] = []
        if fit is not None and shares is not None:
            columns = (shares.labels, shares.estimate, shares.standard_error, shares.lower, shares.upper)
            rows = list(zip(*columns, strict=True))[len(shares.labels) == 2 :]
            figures = [_Figure(f"share of {label}", True, *numbers) for label, *numbers in rows]
            columns = (table.parameter_names, fit.theta, fit.standard_errors, *fit.confidence_interval(confidence))
            figures += [_Figure(name, False, *numbers) for name, *numbers in zip(*columns, strict=True)]
        readings.append(figures)
    return readings


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
