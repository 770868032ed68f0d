"""What one answer at a privacy level costs: respondents that do the work of one who is asked directly, by channel."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from askance import Enumerated, plan

LEVELS = (0.5, 1, 2, 4, 8)
STYLES = {
    "randomized-response": ("#0072b2", "o-"),
    "subset-selection": ("#d55e00", "s-"),
    "per-value, one-hot": ("#009e73", "^-"),
    "coordinate-release": ("#e69f00", "v-"),
    "optimal": ("#777777", "--"),
}


def _panel(axis: Axes, title: str, model: Enumerated, names: Sequence[str], target: str | None) -> None:
    theta = np.zeros(model.dimension)
    plans = [plan(model, list(names), theta, privacy_level=level, target=target, n=10**6) for level in LEVELS]
    for number, name in enumerate(names):
        colour, style = STYLES[name]
        prices = [found.designs[number].price for found in plans]
        axis.plot(LEVELS, prices, style, color=colour, markersize=4, label=name)
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    axis.set_xticks(LEVELS, [f"{level:g}" for level in LEVELS])
    axis.yaxis.set_major_formatter("{x:,.0f}")
    axis.minorticks_off()
    axis.set(xlabel="privacy level", ylim=(0.8, 2e4))
    axis.set_title(title, fontsize=10, loc="left")
    axis.spines[["top", "right"]].set_visible(False)


def draw() -> Figure:
    """Shares of 4 answers, shares of 64, and the trend along a scale of ten."""
    figure = Figure(figsize=(7, 3.6), layout="constrained")
    left, middle, right = figure.subplots(1, 3, sharey=True)
    three = ("randomized-response", "subset-selection", "per-value, one-hot")
    _panel(left, "shares of 4 answers", Enumerated.saturated(4), (*three, "optimal"), "shares")
    _panel(middle, "shares of 64 answers", Enumerated.saturated(64), three, "shares")
    scale = Enumerated([list(range(10))], parameter_names=["trend"])
    _panel(right, "trend on a scale 0–9", scale, ("randomized-response", "coordinate-release", "optimal"), "trend")
    left.set_ylabel("respondents for one\nwho is asked directly")
    shown = {
        name: line
        for axis in (left, middle, right)
        for line, name in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    figure.legend(shown.values(), shown.keys(), loc="outside lower center", ncols=3, frameon=False, fontsize=10)
    return figure
