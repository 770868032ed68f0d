"""What one answer can tell about one person: probability before and after hearing it, at an odds factor of 5."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw() -> Figure:
    """The two curves between which every guess about a respondent has to stay."""
    import numpy as np
    from matplotlib.figure import Figure

    from askance import ForcedResponse

    no, yes = ForcedResponse("2/3", "1/6").matrix
    before = np.linspace(0, 1, 201)
    after_yes, after_no = (row[1] * before / (row[0] * (1 - before) + row[1] * before) for row in (yes, no))
    figure = Figure(figsize=(7, 3.6), layout="constrained")
    axis = figure.subplots()
    axis.fill_between(before, after_no, after_yes, color="#eef3f8", linewidth=0)
    axis.plot(before, after_yes, color="#d55e00", linewidth=2)
    axis.plot(before, before, color="#777777", linewidth=1, linestyle=":")
    axis.plot(before, after_no, color="#0072b2", linewidth=2)
    axis.text(0.40, 0.90, "after hearing “yes”", color="#d55e00", ha="right")
    axis.text(0.60, 0.10, "after hearing “no”", color="#0072b2", ha="left")
    axis.text(0.62, 0.58, "without any answer", color="#777777", ha="left")
    chance = 0.2
    for curve, colour in ((after_yes, "#d55e00"), (after_no, "#0072b2")):
        reached = float(np.interp(chance, before, curve))
        axis.plot([chance], [reached], "o", color=colour, markersize=6)
        axis.annotate(
            f"{100 * reached:.0f} %",
            (chance, reached),
            xytext=(8, -4 if reached > chance else 6),
            textcoords="offset points",
            color=colour,
        )
    ticks = [0, 0.2, 0.4, 0.6, 0.8, 1]
    axis.set_xticks(ticks, [f"{100 * tick:g} %" for tick in ticks])
    axis.set_yticks(ticks, [f"{100 * tick:g} %" for tick in ticks])
    axis.set_xlabel("chance that this person did it, before the answer")
    axis.set_ylabel("… and after it")
    axis.set_xlim(0, 1)
    axis.set_ylim(0, 1)
    axis.spines[["top", "right"]].set_visible(False)
    return figure
