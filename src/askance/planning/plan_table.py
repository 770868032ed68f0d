"""A plan as a table for people."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

from askance.planning.result import Plan, PlannedDesign, is_tuned
from askance.tables import Column, Table

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
PARAMETERS = "parameters"
_BETWEEN = "  "
# Designs whose errors agree to this share tell equally much.
_SAME = 1e-6
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
    parts.append(plan.designs[-1].method if _same_estimator(plan) else f"{plan.method} estimator for each design")
    if plan.effect is not None:
        parts.append(f"{_test(plan)}, a difference of {abs(plan.effect):g}")
    return "; ".join(parts)


def _test(plan: Plan) -> str:
    """Side, level, rule and null value."""
    assert plan.test is not None
    side = "two-sided" if plan.test.alternative == "two-sided" else f"one-sided ({plan.test.alternative})"
    return f"{side} {100 * plan.test.level:.3g} % {plan.test.rule} test against {plan.test.null:.4g}"


def _same_estimator(plan: Plan) -> bool:
    return len({design.method for design in listed(plan)[1:] or plan.designs}) == 1


def listed(plan: Plan) -> tuple[PlannedDesign, ...]:
    """The yardstick and the designs; the direct question is not listed twice where it is among them."""
    return (plan.direct, *(design for design in plan.designs if design.design != plan.direct.design))


def equal_groups(plan: Plan) -> list[list[PlannedDesign]]:
    """The designs, but for the direct question, in groups that tell equally much.

    Where levels were sought all have the same error, and those of one level tell equally much.
    """
    groups: list[list[PlannedDesign]] = []
    for design in listed(plan)[1:]:
        for group in groups:
            first = group[0]
            same_level = plan.unknown != "privacy_level" or abs(design.privacy_level / first.privacy_level - 1) < _SAME
            if same_level and abs(design.unit_error / first.unit_error - 1) < _SAME:
                group.append(design)
                break
        else:
            groups.append([design])
    return groups


def _columns(plan: Plan) -> dict[str, Callable[[PlannedDesign], str]]:
    """The names of the columns, and what stands in each for a design."""
    columns: dict[str, Callable[[PlannedDesign], str]] = {
        "design": lambda design: design.design,
        PARAMETERS: parameters_of,
        "level": lambda design: "none" if math.isinf(design.privacy_level) else f"{design.privacy_level:.4g}",
    }
    if plan.unknown == "n":
        columns["respondents"] = lambda design: f"{_mark(design)}{design.n:,}"
    else:
        columns["s.e."] = lambda design: f"{_mark(design)}{design.standard_error:.3g}"
    if plan.unknown == "precision":
        columns["width"] = lambda design: f"{_mark(design)}{design.interval_width:.3g}"
        if plan.effect is not None:
            columns["power"] = lambda design: f"{_mark(design)}{design.power:.1%}"
    if _is_counted(plan):
        columns["exact"] = lambda design: "–" if design.counted is None else f"{design.counted.power:.1%}"
        columns["size"] = lambda design: "–" if design.counted is None else f"{design.counted.size:.2%}"
    if plan.guesses > 1:
        columns["worst"] = lambda design: f"{_mark(design)}{design.worst_error:.3g}"
    if _is_biased(plan):
        columns["bias"] = lambda design: f"{design.bias:.3g}"
    if _has_price(plan):
        columns["price"] = lambda design: f"{design.price:.2f}"
    if not _same_estimator(plan):
        columns["by"] = lambda design: design.method
    return columns


def columns_of(plan: Plan) -> list[str]:
    """The names of the columns."""
    return list(_columns(plan))


def rows_of(plan: Plan) -> list[list[str]]:
    """One row for the direct question, one for every design."""
    columns = _columns(plan).values()
    return [[cell(design) for cell in columns] for design in listed(plan)]


def _mark(design: PlannedDesign) -> str:
    return "≈" if design.rough else ""


def _has_price(plan: Plan) -> bool:
    """Where levels are sought all designs have the same error, and with it the same price."""
    return plan.unknown != "privacy_level"


def _is_biased(plan: Plan) -> bool:
    """Whether some design tends to something else, by enough to be worth a column."""
    return any(design.bias > _NOTICEABLE * design.standard_error for design in plan.designs)


def _is_counted(plan: Plan) -> bool:
    """Whether exact power and size of a test are known."""
    return any(design.counted is not None for design in listed(plan))


def has_parameters(plan: Plan) -> bool:
    """Whether any design has parameters to show."""
    return any(parameters_of(design) for design in listed(plan))


def table_within(plan: Plan, width: int) -> tuple[list[list[str]], list[str]]:
    """Names of columns and rows; and lines for below them, of the parameters where these make it wider than `width`."""
    lines = [columns_of(plan), *rows_of(plan)]
    place = lines[0].index(PARAMETERS)
    wide = sum(max(len(line[i]) for line in lines) + len(_BETWEEN) for i in range(len(lines[0])))
    if has_parameters(plan) and wide <= width:
        return lines, []
    below = [f"{line[0]}: {line[place]}" for line in lines[1:] if line[place]]
    return [[*line[:place], *line[place + 1 :]] for line in lines], below


def notes_of(plan: Plan) -> list[str]:
    """What a reader should know."""
    rows = listed(plan)
    notes = ["level: privacy level"]
    if _has_price(plan):
        notes[0] += "; price: respondents who do the work of one who is asked directly"
    if not _same_estimator(plan):
        notes[0] += "; by: the estimator"
    if plan.unknown != "n":
        notes.append("s.e.: standard error")
        if plan.unknown == "precision":
            notes[-1] += f"; width: of the {100 * plan.confidence:g} % interval"
    if plan.guesses > 1:
        notes.append("worst: the standard error at the worst of the guesses")
    if _is_counted(plan):
        notes.append("exact: power, summed over the binomial number of yes reports; size: the true level, likewise")
        if plan.unknown == "n" and plan.goal == "power":
            notes.append("from so many respondents on the exact power stays at the goal; with fewer it may be below")
        elif plan.effect is not None:
            notes.append("power: by the normal approximation")
        if any(design.counted is None for design in rows):
            notes.append("–: nothing to count, or too many respondents to be counted out: by the normal approximation")
    if plan.effect is not None and plan.target.startswith("share"):
        notes.append("the test is against a fixed number; two groups or two ways of asking are planned as a difference")
    if plan.against is not None:
        notes.append(f"respondents: of both arms together; {float(plan.against.part):.4g} of them in the other arm")
    if any(design.rough for design in rows):
        notes.append("≈: too few respondents for these figures to be more than rough; take more, or simulate")
    if _is_biased(plan):
        notes.append("bias: how far off estimates stay however many answer, for devices shrink or clip far-out values")
    notes += [*_notes_on_equals(plan), *_notes_on_others(plan)]
    reasons: dict[str, list[str]] = {}
    for name, reason in plan.skipped.items():
        reasons.setdefault(reason, []).append(name)
    return [*notes, *(f"left out: {'; '.join(names)}: {reason}" for reason, names in reasons.items())]


def _notes_on_equals(plan: Plan) -> list[str]:
    groups = [group for group in equal_groups(plan) if len(group) > 1]
    if len(groups) == 1 and len(groups[0]) == len(listed(plan)) - 1:
        return ["these designs tell equally much: they differ in how they feel to respondents"]
    return [f"{_enumeration(design.design for design in group)} tell equally much" for group in groups]


def _notes_on_others(plan: Plan) -> list[str]:
    """Designs that were made for one number say less about the others."""
    if plan.others is None:
        return []
    made = _enumeration(dict.fromkeys(_family(design.design) for design in plan.designs if is_tuned(design.design)))
    return [
        f"{made} designs are made for the {plan.target} alone and tell the rest worse: with {plan.others.design}, "
        f"shares of other outputs have standard errors of up to {plan.others.standard_error:.3g}"
    ]


def _family(name: str) -> str:
    return name.rpartition(", ")[2]


def _enumeration(names: Iterable[str]) -> str:
    """In words; names that hold a comma are quoted.

    >>> _enumeration(["a", "b, tuned", "c"])
    'a, "b, tuned" and c'
    """
    quoted = [f'"{name}"' if "," in name else name for name in names]
    return " and ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)


def table_of(plan: Plan) -> Table:
    """All figures of all designs, for papers and programs."""
    columns = {
        Column("design"): [design.design for design in listed(plan)],
        Column(PARAMETERS): [parameters_of(design) for design in listed(plan)],
        Column("level", "significant", "privacy_level"): [_finite(design.privacy_level) for design in listed(plan)],
        Column("respondents", "count", "n"): [design.n for design in listed(plan)],
        Column("s.e.", "significant", "std_error", digits=3): [design.standard_error for design in listed(plan)],
        Column("width", "significant", "interval_width", digits=3): [d.interval_width for d in listed(plan)],
        Column("power", "percent"): [design.power for design in listed(plan)],
        Column("exact", "percent", "exact_power"): [d.counted and d.counted.power for d in listed(plan)],
        Column("size", "percent"): [d.counted and d.counted.size for d in listed(plan)],
        Column("bias", "significant", digits=3): [design.bias for design in listed(plan)],
        Column("price", "decimal", digits=2): [design.price for design in listed(plan)],
        Column("by", key="method"): [design.method for design in listed(plan)],
    }
    rows = list(zip(*columns.values(), strict=True))
    return Table(list(columns), rows, title=f"{title_of(plan)}; {guess_of(plan)}", notes=notes_of(plan))


def _finite(level: float) -> float | None:
    return None if math.isinf(level) else level


def as_text(plan: Plan) -> str:
    """The table as plain text."""
    lines, _ = table_within(plan, sys.maxsize)
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    table = [
        _BETWEEN.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    ]
    return "\n".join([title_of(plan), guess_of(plan), *table, *notes_of(plan)])


def parameters_of(design: PlannedDesign) -> str:
    """Those that tell designs of one level apart."""
    shown = {name: value for name, value in design.parameters.items() if name not in _HIDDEN and value is not None}
    return ", ".join(f"{name} {_short(value)}" for name, value in shown.items() if not isinstance(value, (list, dict)))


def _short(value: Any) -> str:
    """A fraction as it is, a long one as a decimal."""
    text = str(value)
    if len(text) <= 8 or not isinstance(value, str):
        return text
    try:
        return f"{float(Fraction(text)):.4f}"
    except ValueError:
        return text
