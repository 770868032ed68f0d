"""Draw a likelihood."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from askance._arrays import FloatArray
from askance.geometry import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_FIELDS = (
    *("parameters", "n_observations", "axes", "average_log_likelihood", "maxima", "limits", "higher_at_infinity"),
    *("moment_estimate", "one_step", "truth", "em"),
)
_HEIGHT_LABEL = r"average log-likelihood  $\hat{\mathrm{E}}\,\log \sum_y S(o|y)\,p_\theta(y)$"
_LEVELS = 14


def draw_likelihood(data: Mapping[str, Any]) -> Figure:
    """The figure of `likelihood_picture(…).data`."""
    style.require_fields(data, "likelihood", _FIELDS)
    is_curve = len(data["axes"]) == 1
    with_panel = is_curve and bool(data["em"])
    figure = style.new_figure(10, 7.2 if with_panel else 6.0)
    if with_panel:
        axis, panel = figure.subplots(2, 1, sharex=True, height_ratios=(1.6, 1))
    else:
        axis, panel = figure.subplots(), None
    bottom = axis if panel is None else panel
    if is_curve:
        _draw_curve(axis, data)
    else:
        _draw_contours(figure, axis, data)
    _draw_marks(axis, data, is_curve=is_curve)
    if is_curve:
        _draw_starts(axis, data)
    if panel is not None:
        _draw_iterations(panel, data)
    elif not is_curve:
        _draw_paths(axis, data)
    bottom.set_xlabel(_axis_label(data["parameters"][0]))
    # Beside the axes: on them the key would hide a maximum sooner or later.
    if is_curve:
        axis.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize=9)
    else:
        figure.legend(loc="outside right upper", frameon=False, fontsize=9)
    count = len(data["maxima"])
    maxima = "1 maximum" if count == 1 else f"{count or 'no'} maxima"
    maxima += ", higher still at infinity" if data["higher_at_infinity"] else ""
    figure.suptitle(f"Marginal likelihood of {style.reports_text(data['n_observations'])}: {maxima}", fontsize=12)
    return figure


def _axis_label(name: str) -> str:
    return f"$\\theta$ of “{style.label_text(name)}”"


def _heights(values: Any) -> FloatArray:
    """Heights as numbers; None is where the likelihood is −∞, and nothing is drawn."""
    return np.asarray(values, dtype=np.float64)


def _draw_curve(axis: Axes, data: Mapping[str, Any]) -> None:
    """The likelihood over one parameter, and what becomes of it at infinity."""
    theta, heights = np.asarray(data["axes"][0]), _heights(data["average_log_likelihood"])
    axis.plot(theta, heights, color=style.BLUE, lw=2.2, label="log-likelihood", zorder=2)
    axis.set_xlim(float(theta[0]), float(theta[-1]))
    for limit in data["limits"]:
        if limit["rises"]:
            toward = r"$\theta \to +\infty$" if limit["sign"] > 0 else r"$\theta \to -\infty$"
            words = f"limit {style.number_text(limit['average_log_likelihood'])},\nrises as {toward}"
            axis.axhline(limit["average_log_likelihood"], color=style.NOWHERE, ls=":", lw=1.2, label=words, zorder=1)
    axis.set_ylabel(_HEIGHT_LABEL)
    axis.grid(color=style.FAINT, lw=0.7)
    axis.spines[["top", "right"]].set_visible(False)


def _draw_contours(figure: Figure, axis: Axes, data: Mapping[str, Any]) -> None:
    """The likelihood over two parameters: levels closer together near the top, where the maxima are."""
    heights = np.ma.masked_invalid(_heights(data["average_log_likelihood"]))
    a, b = (np.asarray(values) for values in data["axes"])
    top, bottom = float(heights.max()), float(heights.min())
    if top > bottom:
        levels = top - (top - bottom) * np.linspace(1, 0, _LEVELS) ** 2.5
        filled = axis.contourf(a, b, heights, levels=levels, cmap="cividis")
        axis.contour(a, b, heights, levels=levels, colors="white", linewidths=0.4, linestyles="solid", alpha=0.6)
        bar = figure.colorbar(filled, ax=axis, shrink=0.9, pad=0.02, format="%.3f")
        bar.set_label(_HEIGHT_LABEL)
    axis.set_xlim(float(a[0]), float(a[-1]))
    axis.set_ylim(float(b[0]), float(b[-1]))
    axis.set_ylabel(_axis_label(data["parameters"][1]))


def _draw_marks(axis: Axes, data: Mapping[str, Any], *, is_curve: bool) -> None:
    """Maxima, the estimates and the truth."""

    def mark(point: Mapping[str, Any], words: str, marker: str, size: int, colour: str, *, hollow: bool) -> None:
        place = (point["theta"][0], point["average_log_likelihood"]) if is_curve else tuple(point["theta"])
        if None in place:
            return
        prior = " (weak prior)" if point.get("repaired") else ""
        fill, edge, width = ("none", colour, 2.2) if hollow else (colour, "white", 0.8)
        label = f"{words}{prior}\n$\\theta$ = {style.vector_text(point['theta'])}"
        axis.plot(*place, marker, ms=size, mfc=fill, mec=edge, mew=width, ls="none", label=label, zorder=5)

    if data["truth"] is not None and is_curve:
        words = f"truth\n$\\theta$ = {style.vector_text(data['truth']['theta'])}"
        axis.axvline(data["truth"]["theta"][0], color=style.DARK, ls="--", lw=1.4, label=words, zorder=1)
    elif data["truth"] is not None:
        mark(data["truth"], "truth", "*", 17, style.DARK, hollow=False)
    for i, maximum in enumerate(data["maxima"]):
        words = "highest maximum" if i == 0 and len(data["maxima"]) > 1 else "maximum"
        mark(maximum, words, "^", 11, _colour(i), hollow=False)
    if data["moment_estimate"] is not None:
        mark(data["moment_estimate"], "moment estimate", "s", 15, style.GREEN, hollow=True)
    if data["one_step"] is not None:
        mark(data["one_step"], "one-step estimate", "o", 20, style.SKY, hollow=True)


def _colour(maximum: int | None) -> str:
    return style.NOWHERE if maximum is None else style.MAXIMUM_COLOURS[maximum % len(style.MAXIMUM_COLOURS)]


def _draw_starts(axis: Axes, data: Mapping[str, Any]) -> None:
    """Where EM begins, on the curve."""
    for path in data["em"]:
        if path["average_log_likelihood"][0] is not None:
            place = (path["iterates"][0][0], path["average_log_likelihood"][0])
            axis.plot(*place, "o", color="white", mec=_colour(path["maximum"]), mew=1.8, ms=7, zorder=4)


def _draw_iterations(panel: Axes, data: Mapping[str, Any]) -> None:
    """EM below the curve: θ across, iterations downwards, in the colour of the maximum each path ends at."""
    for path, colour, label in _named_paths(data):
        theta = [iterate[0] for iterate in path["iterates"]]
        panel.plot(theta, range(len(theta)), "o-", color=colour, ms=2.5, lw=1.0, label=label)
    for i, maximum in enumerate(data["maxima"]):
        panel.axvline(maximum["theta"][0], color=_colour(i), ls=":", lw=1.2, zorder=1)
    panel.invert_yaxis()
    panel.set_ylabel("EM iteration")
    panel.grid(color=style.FAINT, lw=0.7)
    panel.spines[["top", "right"]].set_visible(False)
    panel.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize=9)


def _draw_paths(axis: Axes, data: Mapping[str, Any]) -> None:
    """EM on the contours."""
    for path, colour, label in _named_paths(data):
        a, b = np.asarray(path["iterates"]).T
        axis.plot(a, b, "o-", color=colour, ms=3.5, lw=1.4, label=label, zorder=4)
        axis.plot(a[0], b[0], "o", color="white", mec=colour, mew=1.6, ms=7, zorder=4)


def _named_paths(data: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], str, str | None]]:
    """Paths of EM with the colour of where each ends; the first that ends there has words for the key."""
    words = {None: "EM, ends at no maximum"} | {
        i: f"EM, ends at\n$\\theta$ = {style.vector_text(maximum['theta'])}" for i, maximum in enumerate(data["maxima"])
    }
    for path in data["em"]:
        yield path, _colour(path["maximum"]), words.pop(path["maximum"], None)
