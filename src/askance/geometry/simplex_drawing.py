"""Draw the simplex."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from askance._arrays import FloatArray
from askance.geometry import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

_FIELDS = ("outputs", "statistic", "statistics", "n_observations", "family", "moment_lines", "points")
_CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
# The sheet reaches so far beyond the triangle; for S†q̂ it is widened by so much at most.
_MARGIN, _FARTHEST = 0.21, 0.5
# Behind words: lines beyond the simplex do not run through them.
_PAPER: dict[str, Any] = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
_TICKS = (0.2, 0.4, 0.6, 0.8)
_LINES = {
    "observed": (style.GREEN, r"$\{p : \mathrm{E}_p\,\varphi = \hat\mu\}$"),
    "projection": (style.PURPLE, r"$\{p : \mathrm{E}_p\,\varphi = \mathrm{E}_{\hat r}\,\varphi\}$"),
    "truth": (style.DARK, r"$\{p : \mathrm{E}_p\,\varphi = \mu(\theta)\}$"),
}
# Marker, size and colour of each point, and its words, in the order of the key. Sizes differ so that points on top of
# each other can all be seen.
_POINTS = {
    "truth": ("*", 20, style.DARK, r"truth $p_\theta$"),
    "unconstrained": ("X", 10, style.VERMILION, r"unconstrained $S^\dagger\hat q$"),
    "projection": ("o", 15, style.PURPLE, r"$\hat r$, closest distribution"),
    "family_projection": ("D", 9, style.ORANGE, r"$\hat p$, member with the moment of $\hat r$"),
    "moment_estimate": ("s", 13, style.GREEN, "moment estimate"),
    "maximum_likelihood": ("^", 9, style.SKY, "maximum likelihood"),
}
# These are drawn as outlines, for others to show through.
_HOLLOW = ("projection", "moment_estimate")


def draw_simplex(data: Mapping[str, Any]) -> Figure:
    """The figure of `simplex_picture(…).data`."""
    style.require_fields(data, "simplex", _FIELDS)
    figure = style.new_figure(10, 6.4)
    axis, key = figure.subplots(1, 2, width_ratios=(1.75, 1))
    key.set_axis_off()
    axis.set_axis_off()
    axis.set_aspect("equal")
    _set_limits(axis, data["points"]["unconstrained"])
    _draw_triangle(axis, data)
    limits = data["family"]["limits"]
    curve = _on_sheet([limits[0], *data["family"]["probabilities"], limits[1]])
    axis.plot(*curve.T, color=style.BLUE, lw=2.4, label=r"family $\{p_\theta\}$", zorder=3)
    axis.plot(*_on_sheet(limits).T, "o", color=style.BLUE, ms=5, mfc="white", zorder=3, label="its limits")
    for line in data["moment_lines"]:
        _draw_line(axis, line)
    for name, look in _POINTS.items():
        point = data["points"][name]
        if point is not None and not (name == "unconstrained" and point["inside"]):
            _draw_point(axis, name, point, look)
    handles, labels = axis.get_legend_handles_labels()
    key.legend(handles, labels, loc="center left", frameon=False, fontsize=10, labelspacing=1.1, borderaxespad=0)
    reports = data["n_observations"]
    words = "" if reports is None else f", {style.reports_text(reports)}"
    phi = style.label_text(data["statistic"])
    figure.suptitle(
        f"The family of “{phi}” = {style.vector_text(data['statistics'])} in the simplex{words}", fontsize=12
    )
    return figure


def _on_sheet(probabilities: Sequence[Sequence[float]] | FloatArray) -> FloatArray:
    """Where distributions (t, 3) lie on the sheet, shape (t, 2); what does not sum to 1 is shifted until it does."""
    p = np.asarray(probabilities, dtype=np.float64)
    return np.asarray((p + (1 - p.sum(axis=1, keepdims=True)) / 3) @ _CORNERS)


def _set_limits(axis: Axes, free: Mapping[str, Any] | None) -> None:
    """The triangle with a margin; S†q̂ too where it is not far."""
    low, high = _CORNERS.min(axis=0) - _MARGIN, _CORNERS.max(axis=0) + _MARGIN
    if free is not None and not free["inside"]:
        place = _on_sheet([free["probabilities"]])[0]
        least, most = np.minimum(low, place - 0.05), np.maximum(high, place + 0.05)
        if max((low - least).max(), (most - high).max()) <= _FARTHEST:
            low, high = least, most
    axis.set_xlim(float(low[0]), float(high[0]))
    axis.set_ylim(float(low[1]), float(high[1]))


def _draw_triangle(axis: Axes, data: Mapping[str, Any]) -> None:
    """Edges, a grid of equal probabilities with its numbers, and the outputs at the corners."""
    axis.fill(*_CORNERS.T, facecolor="#fafafa", edgecolor=style.DARK, lw=1.2, zorder=0)
    for y in range(3):
        onward, back = (y + 1) % 3, (y + 2) % 3
        for share in _TICKS:
            ends = np.zeros((2, 3))
            ends[:, y] = share
            ends[0, onward] = ends[1, back] = 1 - share
            a, b = _on_sheet(ends)
            axis.plot([a[0], b[0]], [a[1], b[1]], color=style.FAINT, lw=0.7, zorder=1)
            _write(axis, a + 0.035 * (a - b) / np.linalg.norm(a - b), f"{share:g}", 8)
        middle, outside = (_CORNERS[y] + _CORNERS[onward]) / 2, _CORNERS.mean(axis=0) - _CORNERS[back]
        name = f"p({style.label_text(data['outputs'][y])})"
        _write(axis, middle + 0.085 * outside / np.linalg.norm(outside), name, 10, (0, -60, 60)[y]).set_bbox(_PAPER)
    places = (("left", "top", (-0.1, -0.12)), ("right", "top", (0.1, -0.12)), ("center", "bottom", (0, 0.04)))
    for corner, label, phi, (across, up, shift) in zip(
        _CORNERS, data["outputs"], data["statistics"], places, strict=True
    ):
        text = f"{style.label_text(label)}\n$\\varphi$ = {style.number_text(phi)}"
        x, y = corner + shift
        axis.text(x, y, text, fontsize=11, ha=across, va=up, color=style.DARK, bbox=_PAPER, zorder=2.5)


def _write(axis: Axes, place: FloatArray, text: str, size: int, rotation: int = 0) -> Text:
    """A grey text around a place."""
    x, y = place
    written = axis.text(x, y, text, fontsize=size, rotation=rotation, color="#777777", zorder=2.5)
    written.set(ha="center", va="center")
    return written


def _draw_line(axis: Axes, line: Mapping[str, Any]) -> None:
    """Dashed within the simplex, faint beyond it."""
    colour, words = _LINES[line["of"]]
    through = _on_sheet(line["through"])
    axis.axline(tuple(through[0]), tuple(through[1]), color=colour, lw=0.8, ls=":", alpha=0.6, zorder=2)
    label = f"{words}\n= {style.number_text(line['moment'])}"
    segment = _on_sheet(line["segment"]) if line["segment"] else np.empty((0, 2))
    if not line["segment"]:
        label += ", passes the simplex by"
    axis.plot(*segment.T, "--", color=colour, lw=1.8, zorder=2, label=label)


def _draw_point(axis: Axes, name: str, point: Mapping[str, Any], look: tuple[str, int, str, str]) -> None:
    """A marker with its probabilities in the key; an arrow at the border where it lies far outside."""
    marker, size, colour, words = look
    label = f"{words}\n{style.vector_text(point['probabilities'])}"
    if "theta" in point:
        label += ", at a limit" if point["theta"] is None else f", $\\theta$ = {style.vector_text(point['theta'])}"
    if point.get("repaired"):
        label += " (weak prior)"
    place = _on_sheet([point["probabilities"]])[0]
    (left, right), (bottom, top) = axis.get_xlim(), axis.get_ylim()
    if not (left <= place[0] <= right and bottom <= place[1] <= top):
        label += ", beyond the sheet"
        centre = _CORNERS.mean(axis=0)
        away = place - centre
        edges = np.where(away > 0, (right, top), (left, bottom))
        # The arrow stops at the first border it meets.
        share = min((edges - centre)[away != 0] / away[away != 0])
        tip = centre + 0.97 * share * away
        start = tip - 0.12 * away / np.linalg.norm(away)
        axis.annotate("", tuple(tip), tuple(start), arrowprops={"arrowstyle": "-|>", "color": colour, "lw": 2.2})
        place = start
    fill = "none" if name in _HOLLOW else colour
    edge = colour if name in _HOLLOW else "white"
    width = 2.0 if name in _HOLLOW else 0.8
    axis.plot(*place, marker, ms=size, mfc=fill, mec=edge, mew=width, ls="none", label=label, zorder=5, clip_on=False)
