"""What a die does to the answers: of 600 people, who says yes, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# 600 people of whom 180 did it; 1 to 4 on the die: the truth, 5: yes, 6: no. Expected counts are whole numbers.
_ASKED, _DID = 600, 180
_YES, _NO, _FORCED = "#d55e00", "#0072b2", "#c9c9c9"


def draw() -> Figure:
    """Three bars: what is true, what the die tells them to do, what is said."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3.2), layout="constrained")
    axis = figure.subplots()
    did_not = _ASKED - _DID
    true_yes, true_no, forced = _DID * 4 // 6, did_not * 4 // 6, _ASKED // 6
    _bar(axis, 2, [(_DID, _YES, f"{_DID} did it"), (did_not, _NO, f"{did_not} did not")])
    _bar(
        axis,
        1,
        [
            (true_yes, _YES, f"{true_yes} did,\ntell so"),
            (forced, _FORCED, f"{forced} told to\nsay yes"),
            (forced, _FORCED, f"{forced} told to\nsay no"),
            (true_no, _NO, f"{true_no} did not,\ntell so"),
        ],
    )
    said_yes = true_yes + forced
    said_no = _ASKED - said_yes
    _bar(axis, 0, [(said_yes, "#777777", f"{said_yes} say “yes”"), (said_no, "#777777", f"{said_no} say “no”")])
    axis.set_yticks([2, 1, 0], ["the truth\n(nobody sees it)", "after the die\n(nobody sees it)", "what you see"])
    axis.set_ylim(-0.5, 2.5)
    axis.set_xlim(0, _ASKED)
    axis.set_xlabel(f"{_ASKED} people")
    axis.tick_params(axis="y", length=0)
    axis.spines[["top", "right", "left"]].set_visible(False)
    return figure


def _bar(axis: Axes, place: float, parts: list[tuple[int, str, str]]) -> None:
    """One bar of coloured parts, each with its words inside."""
    start = 0
    for size, colour, words in parts:
        axis.barh(place, size, left=start, height=0.72, color=colour, edgecolor="white", linewidth=2)
        ink = "#222222" if colour == _FORCED else "white"
        axis.text(start + size / 2, place, words, ha="center", va="center", color=ink, fontsize=10)
        start += size
