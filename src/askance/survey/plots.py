"""Pictures of regressions."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from askance._arrays import AnyArray, FloatArray
from askance.errors import InputError
from askance.estimation.problems.sample import INTERCEPT_NAMES, find_terms
from askance.estimation.results.regression_fit import RegressionFit
from askance.formats.figure_file import new_figure, write_figure
from askance.models.softmax import Softmax

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Colours that stay apart for colour-blind readers and in grey print.
_POINT, _FAINT, _LINE = "#1f4e79", "#8fb0cc", "#555555"
# Names take at most three lines of so many characters; longer ones lose their middle.
_NAME_WIDTH, _NAME_LINES = 38, 3
_MOST_TERMS = 200
# Where a name may be broken: after a blank or a sign, before a bracket.
_BREAKS = re.compile(r"(?<=[ _:*)\]])(?![ _:*)\]])|(?=\[)")


def plot_coefficients(
    fit: RegressionFit,
    path: str | Path | None = None,
    confidence: float = 0.95,
    *,
    intercept: bool = False,
    terms: Sequence[str] | None = None,
) -> Figure:
    """Point and interval of every coefficient, with a line at 0; one panel per output when there are several.

    Intervals that contain 0 are drawn faint. Coefficients are log-odds per unit of their column, so columns of
    different units are not comparable by eye.

    Args:
        fit: a regression.
        path: where to save the picture; the ending says the format: .png, .svg or .pdf. Default: it is not saved.
        confidence: of the intervals.
        intercept: whether to show the intercept, which is often far from the rest.
        terms: which terms to show, in which order; default: all.

    >>> from askance import ForcedResponse, Responses, Softmax, estimate
    >>> x = np.array([[1.0, 0.0], [1.0, 1.0]]).repeat(50, axis=0)
    >>> reports = ["no"] * 30 + ["yes"] * 20 + ["no"] * 20 + ["yes"] * 30
    >>> evidence = Responses(ForcedResponse("2/3", "1/6")).add(x, reports)
    >>> fit = estimate(Softmax(["no", "yes"], ["Intercept", "age"]), evidence)
    >>> figure = plot_coefficients(fit)
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
    ['age']
    """
    shown = _chosen(fit.model, intercept, terms)
    labels = fit.model.outputs.labels
    panels = len(labels) - 1
    names = _names([fit.model.terms[j] for j in shown])
    columns = panels if panels <= 3 else 2 if panels == 4 else 3
    figure, axes = _empty_panels(names, -(-panels // columns), columns)
    lower, upper = (end.reshape(panels, -1)[:, shown] for end in fit.confidence_interval(confidence))
    middle = fit.theta.reshape(panels, -1)[:, shown]
    for panel, axis in enumerate(axes):
        if panel >= panels:
            axis.set_visible(False)
            continue
        _draw(axis, middle[panel], lower[panel], upper[panel])
        title = f"{labels[panel + 1]!s} against {labels[0]!s}"
        axis.set_title(textwrap.fill(title, 60 if columns == 1 else 36), fontsize=10, loc="left")
        axis.tick_params(labelbottom=panel + columns >= panels)
    axes[0].set_yticks(range(len(names)), names)
    axes[0].set_ylim(len(names) - 0.4, -0.6)
    text = f"log-odds, with {100 * confidence:g} % intervals"
    if columns == 1:
        axes[-1].set_xlabel(text, fontsize=9)
    else:
        figure.supxlabel(text, fontsize=9)
    if path is not None:
        write_figure(path, figure)
    return figure


def _chosen(model: Softmax, intercept: bool, terms: Sequence[str] | None) -> list[int]:
    """The columns to show."""
    if terms is not None:
        shown = find_terms(model, terms)
    else:
        shown = [j for j, term in enumerate(model.terms) if intercept or term.lower() not in INTERCEPT_NAMES]
    if not shown:
        raise InputError("there is nothing but an intercept to show.", remedy="Pass intercept=True.")
    if len(shown) > _MOST_TERMS:
        raise InputError(
            f"there are {len(shown)} terms to show; allowed: at most {_MOST_TERMS}.", remedy="Choose some: terms=[…]."
        )
    return shown


def _empty_panels(names: list[str], rows: int, columns: int) -> tuple[Figure, AnyArray]:
    """A figure with room for the names beside rows × columns panels, and its axes, shape (rows · columns,)."""
    line_height = (0.29, 0.36, 0.48)[max(name.count("\n") for name in names)]
    name_width = 0.075 * max(len(line) for name in names for line in name.split("\n"))
    width = name_width + 0.4 + (4.6 if columns == 1 else 2.9 * columns)
    figure = new_figure(width, rows * (0.65 + line_height * len(names)) + 0.4)
    return figure, figure.subplots(rows, columns, sharey=True, sharex=True, squeeze=False).ravel()


def _draw(axis: Axes, middle: FloatArray, lower: FloatArray, upper: FloatArray) -> None:
    """One panel: first term on top."""
    place = np.arange(len(middle))
    clear = (lower > 0) | (upper < 0)
    colours = np.where(clear, _POINT, _FAINT)
    for y in place[::2]:
        axis.axhspan(y - 0.5, y + 0.5, color="#f4f5f7", zorder=0, linewidth=0)
    axis.axvline(0, color=_LINE, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)
    axis.hlines(place, lower, upper, colors=list(colours), linewidth=2.0, zorder=2)
    axis.scatter(middle, place, c=list(colours), s=30, edgecolors="white", linewidths=0.8, zorder=3)
    axis.margins(x=0.06)
    axis.locator_params(axis="x", nbins=6)
    axis.tick_params(axis="y", length=0)
    axis.tick_params(labelsize=9)
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)


def _names(terms: list[str]) -> list[str]:
    """The names in few lines; those that became equal get a number."""
    names = [_wrapped(term) for term in terms]
    return [f"{name} ({i + 1})" if names.count(name) > 1 else name for i, name in enumerate(names)]


def _wrapped(name: str) -> str:
    """A name in at most three lines; of what is too long the ends stay, which tell levels of one variable apart.

    >>> _wrapped("C(region_of_birth_and_residence)[T.North-West and around]")
    'C(region_of_birth_and_residence)\\n[T.North-West and around]'
    """
    longest = _NAME_LINES * (_NAME_WIDTH - 6)
    if len(name) > longest:
        name = f"{name[: longest // 2].rstrip()}…{name[-(longest // 2) :].lstrip()}"
    lines = [""]
    for part in _BREAKS.split(name):
        if lines[-1] and len(lines[-1]) + len(part.rstrip()) > _NAME_WIDTH:
            lines.append("")
        lines[-1] += part
    if len(lines) > _NAME_LINES or max(map(len, lines)) > _NAME_WIDTH + 2:  # few places to break at: anywhere, then
        lines = textwrap.wrap(name, _NAME_WIDTH)
    # A dollar sign would start a formula.
    return "\n".join(line.strip() for line in lines).replace("$", r"\$")
