"""What askance is for: three kinds of truth that nobody sees, the known rule, the report, and what is learned."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BLUE, _RED, _GREEN, _GREY = "#0072b2", "#d55e00", "#009e73", "#777777"
_COLUMNS = {
    0.0: ("the truth,", "which nobody else sees"),
    2.0: ("a rule", "whose chances are known"),
    4.0: ("the report", "is all you get"),
    6.0: ("many reports", "teach you"),
}
_ROWS = {
    2.2: (
        _RED,
        "did you cheat\nin an exam?",
        "1 to 4: tell the truth\n5: say yes, 6: say no",
        "“yes”",
        "how many did, who\ndoes it more",
    ),
    1.1: (
        _BLUE,
        "which keyboard\nis in use",
        "the device flips\nsome bits",
        "0 1 1 0 0 1 0 …",
        "the share of\nevery keyboard",
    ),
    0.0: (
        _GREEN,
        "the tag of\nevery word",
        "an annotator counts\nin five words",
        "2 nouns, 1 verb, …",
        "a tagger of\nwords",
    ),
}


def draw() -> Figure:
    """One row per kind of user, one column per stage, arrows between them."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.8, 3.5), layout="constrained", facecolor="white")
    axis = figure.add_subplot()
    for x, (first, second) in _COLUMNS.items():
        axis.text(x + 0.8, 3.52, first, ha="center", va="center", fontsize=10.5, weight="bold", color="#222222")
        axis.text(x + 0.8, 3.29, second, ha="center", va="center", fontsize=9.5, color=_GREY)
    for y, (colour, *cells) in _ROWS.items():
        for x, words in zip(_COLUMNS, cells, strict=True):
            _box(axis, x, y, words, colour)
        for x in list(_COLUMNS)[1:]:
            arrow = {"arrowstyle": "->", "color": _GREY, "lw": 1.3}
            axis.annotate("", xy=(x, y + 0.425), xytext=(x - 0.38, y + 0.425), arrowprops=arrow)
    axis.set(xlim=(-0.02, 7.65), ylim=(-0.05, 3.7))
    axis.axis("off")
    return figure


def _box(axis: Axes, x: float, y: float, words: str, colour: str) -> None:
    from matplotlib.patches import FancyBboxPatch

    box = FancyBboxPatch((x, y), 1.62, 0.85, boxstyle="round,pad=0,rounding_size=0.08", facecolor=colour, alpha=0.12)
    axis.add_patch(box)
    axis.text(x + 0.81, y + 0.425, words, ha="center", va="center", fontsize=9.5, color="#222222")
