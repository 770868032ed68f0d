"""A plan as a picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from askance.formats.figure_file import new_figure, write_figure
from askance.planning.plan_table import equal_groups, listed, title_of
from askance.planning.result import Plan, PlannedDesign

_COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"]
# When all colours are used up.
_STYLES = ["-", "-.", ":"]
# More lines than this are named beside the picture, not in it.
_MOST_INSIDE = 6


def plot_plan(plan: Plan, path: Path) -> None:
    """Draw respondents against the standard error they give, both on log scales: a line a design.

    Dots are what the plan says: the respondents each design needs, or the error that the given respondents buy. Where
    privacy levels were sought, they are drawn as bars instead.
    """
    if plan.unknown == "privacy_level":
        _plot_levels(plan, path)
        return
    from matplotlib.ticker import FuncFormatter, LogLocator

    groups = [[plan.direct], *equal_groups(plan)]
    errors = [group[0].standard_error for group in groups]
    s = np.geomspace(min(errors) / 4, max(errors) * 4, 200)
    many = len(groups) > _MOST_INSIDE
    figure = new_figure(11 if many else 8, 5)
    axis = figure.subplots()
    for i, group in enumerate(groups):
        first = group[0]
        colour = "#555555" if i == 0 else _COLOURS[(i - 1) % len(_COLOURS)]
        style = "--" if i == 0 else _STYLES[(i - 1) // len(_COLOURS) % len(_STYLES)]
        axis.loglog(s, (first.unit_error / s) ** 2, style, color=colour, lw=1.8, label=_label(group, plan.goal))
        axis.plot(first.standard_error, first.n, "o", color=colour, ms=7, zorder=3)
    axis.set_xlabel(f"standard error of the {plan.target}")
    axis.set_ylabel("respondents")
    axis.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}"))
    axis.minorticks_off()
    axis.grid(which="major", color="#dddddd", lw=0.7)
    axis.spines[["top", "right"]].set_visible(False)
    if many:
        figure.legend(frameon=False, fontsize=9, loc="outside right upper")
    else:
        axis.legend(frameon=False, fontsize=9)
    guess = "" if plan.value is None else f" (guess {plan.value:.3g})"
    axis.set_title(f"{plan.target}{guess}, {plan.method}: respondents and precision", fontsize=11)
    write_figure(path, figure)


def _plot_levels(plan: Plan, path: Path) -> None:
    """A bar a design, the smallest level on top."""
    designs = sorted(listed(plan)[1:], key=lambda design: -design.privacy_level)
    figure = new_figure(8, 1.5 + 0.4 * len(designs))
    axis = figure.subplots()
    bars = axis.barh([design.design for design in designs], [design.privacy_level for design in designs], height=0.6)
    axis.bar_label(bars, fmt="%.4g", padding=4)
    axis.set_xlabel("smallest privacy level that reaches the goal")
    axis.spines[["top", "right"]].set_visible(False)
    axis.set_title(title_of(plan), fontsize=10)
    write_figure(path, figure)


def _label(group: list[PlannedDesign], goal: str) -> str:
    first = group[0]
    names = [design.design for design in group]
    text = ";\n".join("; ".join(names[i : i + 2]) for i in range(0, len(names), 2))
    levels = sorted({f"{design.privacy_level:.3g}" for design in group})
    privacy = "no privacy" if levels == ["inf"] else f"level {' and '.join(levels)}"
    planned = f"s.e. {first.standard_error:.3g}" if goal == "n" else f"{first.n:,}"
    return f"{text} ({privacy}): {planned}"
