"""The way of the data: what stays with a person, what is sent, and which folder does what."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BLUE, _RED, _GREEN, _GREY = "#0072b2", "#d55e00", "#009e73", "#777777"


def draw() -> Figure:
    """Boxes from left to right, the person's side and yours; below them what is decided before, and what is kept."""
    from matplotlib.figure import Figure
    from matplotlib.patches import FancyBboxPatch

    figure = Figure(figsize=(11, 4.4), layout="constrained", facecolor="white")
    axis = figure.add_subplot()
    for x, width, words, colour in (
        (0.05, 3.6, "with the person, on their device", _RED),
        (4.65, 7.3, "with you", _BLUE),
    ):
        frame = FancyBboxPatch((x, 2.45), width, 2.05, boxstyle="round,pad=0,rounding_size=0.1", fill=False, ls="--")
        frame.set(edgecolor=colour, lw=1.2)
        axis.add_patch(frame)
        axis.text(x + 0.15, 4.2, words, color=colour, fontsize=10)
    top = {
        0.2: ("the truth y", "nobody else sees it", _RED),
        2.0: ("channel S(o | y)", "channels/\nrandomize", _RED),
        4.8: ("evidence", "evidence/\nadds up, merges", _BLUE),
        6.6: ("moments of β", "E[β | y] = φ(y)\nunbiased, linear", _BLUE),
        8.4: ("fit θ̂", "estimation/\none convex problem", _BLUE),
        10.2: ("answers", "survey/ text/\nintervals, tags", _BLUE),
    }
    for x, (title, words, colour) in top.items():
        _box(axis, x, 2.65, title, words, colour, width=1.6)
    for x, following in pairwise(top):
        _arrow(axis, (x + 1.6, 3.25), (following, 3.25))
    axis.text(4.15, 3.36, "report o", ha="center", fontsize=10, color=_GREY)
    _box(axis, 1.4, 0.5, "before the data", "design/ planning/\ncertify, plan, optimal_channel", _GREEN, width=2.8)
    _box(axis, 5.3, 0.5, "the model φ(y)", "models/\nwhat is to be learned", _GREEN, width=2.2)
    _box(axis, 8.9, 0.5, "files", "formats/\nreports, states, fits", _GREEN, width=2.2)
    _arrow(axis, (2.8, 1.62), (2.8, 2.62))
    _arrow(axis, (5.25, 1.1), (4.25, 1.1))
    _arrow(axis, (7.0, 1.62), (7.4, 2.62))
    _arrow(axis, (9.4, 1.62), (5.7, 2.62), both=True)
    _arrow(axis, (9.8, 1.62), (9.2, 2.62), both=True)
    words = "cli/ and sklearn.py call what stands here; experiments/ puts it beside the paper"
    axis.text(6, 0.12, words, ha="center", fontsize=9, color=_GREY)
    axis.set(xlim=(0, 12), ylim=(0, 4.55))
    axis.axis("off")
    return figure


def _box(axis: Axes, x: float, y: float, title: str, words: str, colour: str, width: float) -> None:
    from matplotlib.patches import FancyBboxPatch

    box = FancyBboxPatch((x, y), width, 1.1, boxstyle="round,pad=0,rounding_size=0.08", facecolor=colour, alpha=0.12)
    axis.add_patch(box)
    axis.text(x + width / 2, y + 0.86, title, ha="center", va="center", fontsize=10.5, weight="bold", color=colour)
    axis.text(x + width / 2, y + 0.38, words, ha="center", va="center", fontsize=8.6, color="#222222")


def _arrow(axis: Axes, start: tuple[float, float], end: tuple[float, float], *, both: bool = False) -> None:
    style = {"arrowstyle": "<->" if both else "->", "color": _GREY, "lw": 1.3}
    axis.annotate("", xy=end, xytext=start, arrowprops=style)
