"""The standard error that a number of respondents buys, design by design."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw() -> Figure:
    """Standard error of a share of 20 % against respondents, by design with its odds factor, and asked directly."""
    import numpy as np
    from matplotlib.figure import Figure

    from askance import Crosswise, Direct, ForcedResponse, UnrelatedQuestion, Warner

    share = 0.2
    lines = [
        (Warner("2/3"), "Warner, 2/3 (factor 2)", "#d55e00"),
        (Crosswise("1/4"), "crosswise, 1/4 (factor 3)", "#e69f00"),
        (ForcedResponse("2/3", "1/6"), "forced response, die (factor 5)", "#009e73"),
        (UnrelatedQuestion("3/4", "1/4"), "unrelated, 3/4 and 1/4 (factor 13)", "#0072b2"),
        (Direct(["no", "yes"]), "direct question (no protection)", "#777777"),
    ]
    respondents = np.geomspace(300, 10_000, 50)
    figure = Figure(figsize=(7, 3.6), layout="constrained")
    axis = figure.subplots()
    for channel, words, colour in lines:
        low, high = channel.matrix[1]
        said = low + (high - low) * share
        error = 100 * np.sqrt(said * (1 - said) / respondents) / abs(high - low)
        axis.plot(respondents, error, color=colour, linewidth=2, linestyle="--" if channel.kind == "direct" else "-")
        axis.text(respondents[-1] * 1.03, error[-1], words, color=colour, va="center")
    axis.set_xscale("log")
    axis.set_yscale("log")
    sizes = [300, 1000, 3000, 10_000]
    axis.set_xticks(sizes, [f"{size:,}" for size in sizes])
    points = [0.5, 1, 2, 5]
    axis.set_yticks(points, [f"{point:g} points" for point in points])
    axis.minorticks_off()
    axis.set_xlim(300, 10_000)
    axis.set_xlabel("respondents")
    axis.set_ylabel("standard error of a share of 20 %")
    axis.grid(color="#e5e5e5", linewidth=0.8)
    axis.spines[["top", "right"]].set_visible(False)
    return figure
