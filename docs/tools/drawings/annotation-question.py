"""What an annotator sees and says: five words in a frame, and how many of each tag are among them."""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

WORDS = ("the", "old", "painter", "called", "the", "cook", "behind", "the", "farm", ".")
FIRST, LAST = 1, 5  # of the frame
COUNTS = (("ADJ", 1), ("DET", 1), ("NOUN", 2), ("VERB", 1))
BLUE, VERMILION, GREY = "#0072b2", "#d55e00", "#777777"
# Widths of a letter and of what stands around a word, in units of the axis.
_LETTER, _AROUND, _GAP = 0.11, 0.28, 0.14


def draw() -> Figure:
    """One line of words, a frame around five, and the counts below."""
    figure = Figure(figsize=(7, 2.2), facecolor="white", layout="constrained")
    axis = figure.subplots()
    axis.axis("off")
    left = 0.0
    edges: list[tuple[float, float]] = []
    for number, word in enumerate(WORDS):
        width = _LETTER * len(word) + _AROUND
        inside = FIRST <= number <= LAST
        box = FancyBboxPatch(
            (left, 1.0),
            width,
            0.5,
            boxstyle="round,pad=0,rounding_size=0.06",
            facecolor="#e6f1f8" if inside else "#f4f4f4",
            edgecolor="none",
        )
        axis.add_patch(box)
        colour = "black" if inside else GREY
        axis.text(left + width / 2, 1.24, word, ha="center", va="center", fontsize=11, color=colour)
        edges.append((left, left + width))
        left += width + _GAP
    start, end = edges[FIRST][0] - 0.07, edges[LAST][1] + 0.07
    frame = FancyBboxPatch(
        (start, 0.92),
        end - start,
        0.66,
        boxstyle="round,pad=0,rounding_size=0.08",
        facecolor="none",
        edgecolor=BLUE,
        linewidth=1.6,
    )
    axis.add_patch(frame)
    middle = (start + end) / 2
    axis.text(middle, 1.86, "“How many of each tag are in the frame?”", ha="center", fontsize=11, color=BLUE)
    axis.annotate(
        "", xy=(middle, 0.52), xytext=(middle, 0.88), arrowprops={"arrowstyle": "-|>", "color": VERMILION, "lw": 1.4}
    )
    told = " · ".join(f"{count} {tag}" for tag, count in COUNTS)
    axis.text(middle, 0.24, told, ha="center", va="center", fontsize=11, color=VERMILION, weight="bold")
    axis.set_xlim(-0.1, left)
    axis.set_ylim(0.0, 2.1)
    return figure
