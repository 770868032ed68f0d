"""What an observer may believe after one report: the range that each privacy level allows, for three beliefs before."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure


def draw() -> Figure:
    """Bands of p e^±level / (1 − p + p e^±level) for p of 1, 10 and 50 percent."""
    figure = Figure(figsize=(7, 3.5), layout="constrained")
    axis = figure.subplots()
    levels = np.linspace(0, 8, 200)
    for before, colour in ((0.5, "#0072b2"), (0.1, "#d55e00"), (0.01, "#009e73")):
        odds = before / (1 - before) * np.exp(np.stack([-levels, levels]))
        low, high = odds / (1 + odds)
        axis.fill_between(levels, low, high, color=colour, alpha=0.12, linewidth=0)
        axis.plot(levels, high, color=colour)
        axis.plot(levels, low, color=colour, linewidth=0.8)
        axis.text(8.1, {0.5: 1.0, 0.1: 0.92, 0.01: 0.84}[before], f"{before:.0%} before", color=colour, fontsize=10)
    axis.set(xlim=(0, 9.6), ylim=(0, 1.03), xlabel="privacy level of the report", ylabel="belief after it")
    axis.set_xticks(range(9))
    axis.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axis.spines[["top", "right"]].set_visible(False)
    return figure
