"""Shares of 64 answers at level 1: the error by number of people, noised on devices, by a curator, and not at all."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from askance import Enumerated, plan

ANSWERS, LEVEL = 64, 1


def draw() -> Figure:
    """Standard error of one share of 1/64 against n, three ways, and the share itself."""
    model = Enumerated.saturated(ANSWERS)
    found = plan(model, "subset-selection", np.zeros(63), privacy_level=LEVEL, target="shares", n=10**6)
    n = np.logspace(3, 7, 60)
    direct = found.direct.unit_error / np.sqrt(n)
    central = np.hypot(direct, np.sqrt(2) * 2 / (n * LEVEL))
    local = found.designs[0].unit_error / np.sqrt(n)
    figure = Figure(figsize=(7, 3.5), layout="constrained")
    axis = figure.subplots()
    axis.axhline(1 / ANSWERS, color="#777777", linewidth=0.8, linestyle=":")
    axis.text(1e7, 1.15 / ANSWERS, "the share itself, 1/64", color="#777777", fontsize=10, ha="right", va="bottom")
    for values, colour, style, name in (
        (local, "#d55e00", "-", "noised on devices"),
        (central, "#0072b2", "-", "noised by a curator"),
        (direct, "#009e73", "--", "not private"),
    ):
        axis.loglog(n, values, style, color=colour, label=name)
    axis.set(xlim=(1e3, 1.3e7), xlabel="people", ylabel="standard error of one share")
    axis.legend(frameon=False, fontsize=10, loc="lower left")
    axis.spines[["top", "right"]].set_visible(False)
    axis.minorticks_off()
    axis.set_xticks([10**k for k in range(3, 8)], ["1,000", "10,000", "100,000", "1 million", "10 million"])
    axis.set_yticks([1e-4, 1e-3, 1e-2, 1e-1], ["0.0001", "0.001", "0.01", "0.1"])
    return figure
