"""A plan as a table for people."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from askance.planning.result import Plan, PlannedDesign

# Parameters that are the same for all channels of a model, or too long for a table.
_HIDDEN = (
    "outputs",
    "observations",
    "matrix",
    "sizes",
    "cliques",
    "columns",
    "lower",
    "statistic_bound",
    "privacy_level",
    "support",
)
_LONGEST = 40
# Biases below this share of the standard error are not worth mentioning.
_NOTICEABLE = 0.25


def title_of(plan: Plan) -> str:
    """What was asked, on one line."""
    percent = f"{100 * plan.confidence:g} %"
    goals = {
        "n": "",
        "standard_error": f"a standard error of {plan.wanted:g}",
        "interval_width": f"a {percent} interval {plan.wanted:g} wide",
        "power": f"power {plan.wanted:g}",
    }
    what = {
        "precision": f"what {plan.direct.n:,} respondents buy",
        "n": f"respondents for {goals[plan.goal]}",
        "privacy_level": f"smallest privacy level for {goals[plan.goal]} with {plan.direct.n:,} respondents",
    }
    return f"{what[plan.unknown]}: {plan.target}"


def guess_of(plan: Plan, where: str = "") -> str:
    """What was guessed, and the test."""
    parts = [] if plan.value is None else [f"guessed {plan.value:.4g} {where}".rstrip()]
    if plan.guesses > 1:
        parts.append(f"averaged over {plan.guesses} guesses")
    parts.append(plan.designs[0].method if _same_estimator(plan) else f"{plan.method} estimator for each design")
    if plan.effect is not None:
        parts.append(f"{100 * (1 - plan.confidence):.3g} % test of a difference of {plan.effect:g}")
    return "; ".join(parts)


def _same_estimator(plan: Plan) -> bool:
    return len({design.method for design in plan.designs}) == 1


def columns_of(plan: Plan) -> list[str]:
    """The names of the columns."""
    bought = ["s.e.", "width", *(["power"] if plan.effect is not None else [])]
    found = {"precision": bought, "n": ["respondents"], "privacy_level": ["s.e."]}[plan.unknown]
    return [
        "design",
        "parameters",
        "level",
        *found,
        *(["worst s.e."] if plan.guesses > 1 else []),
        "price",
        *([] if _same_estimator(plan) else ["by"]),
    ]


def rows_of(plan: Plan) -> list[list[str]]:
    """One row for the direct question, one for every design."""
    return [_row(design, plan) for design in (plan.direct, *plan.designs)]


def notes_of(plan: Plan) -> list[str]:
    """What a reader should know."""
    rows = (plan.direct, *plan.designs)
    notes = ["level: privacy level; price: respondents who do the work of one who is asked directly"]
    if not _same_estimator(plan):
        notes[0] += "; by: the estimator"
    if plan.unknown == "precision":
        notes.append(f"s.e.: standard error; width: of the {100 * plan.confidence:g} % interval")
    if any(design.rough for design in rows):
        notes.append("≈: too few respondents for these figures to be more than rough; take more, or simulate")
    biased = [design for design in plan.designs if design.bias > _NOTICEABLE * design.standard_error]
    if biased:
        values = ", ".join(f"{design.design} by {design.bias:.3g}" for design in biased)
        notes.append(f"devices shrink or clip far-out values, which biases estimates: {values}")
    errors = [design.unit_error for design in plan.designs]
    if len(errors) > 1 and max(errors) / min(errors) - 1 < 1e-6:
        notes.append("these designs tell equally much: they differ in how they feel to respondents")
    reasons: dict[str, list[str]] = {}
    for name, reason in plan.skipped.items():
        reasons.setdefault(reason, []).append(name)
    return [*notes, *(f"left out: {'; '.join(names)}: {reason}" for reason, names in reasons.items())]


def as_text(plan: Plan) -> str:
    """The table as plain text."""
    lines = [columns_of(plan), *rows_of(plan)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    table = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    return "\n".join([title_of(plan), guess_of(plan), *table, *notes_of(plan)])


def _row(design: PlannedDesign, plan: Plan) -> list[str]:
    level = "none" if math.isinf(design.privacy_level) else f"{design.privacy_level:.4g}"
    mark = "≈" if design.rough else ""
    if plan.unknown == "precision":
        cells = [f"{mark}{design.standard_error:.3g}", f"{mark}{design.interval_width:.3g}"]
        cells += [] if design.power is None else [f"{mark}{design.power:.1%}"]
    elif plan.unknown == "n":
        cells = [f"{mark}{design.n:,}"]
    else:
        cells = [f"{mark}{design.standard_error:.3g}"]
    if plan.guesses > 1:
        cells.append(f"{mark}{design.worst_error:.3g}")
    return [
        design.design,
        _parameters(design),
        level,
        *cells,
        f"{design.price:.2f}",
        *([] if _same_estimator(plan) else [design.method]),
    ]


def _parameters(design: PlannedDesign) -> str:
    """Those that tell designs of one level apart."""
    given = {name: value for name, value in design.parameters.items() if name not in _HIDDEN and value is not None}
    text = ", ".join(f"{name} {_short(value)}" for name, value in given.items() if not isinstance(value, (list, dict)))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _short(value: Any) -> str:
    """A fraction as it is, a long one as a decimal."""
    text = str(value)
    if len(text) <= 8 or not isinstance(value, str):
        return text
    try:
        return f"{float(Fraction(text)):.4f}"
    except ValueError:
        return text
