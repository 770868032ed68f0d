"""The estimated share, if some respondents did not do what the die told them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw() -> Figure:
    """One tally, read with 0 to 20 % who always say no, answer at random, or ignore the die and tell the truth."""
    import numpy as np
    from matplotlib.figure import Figure

    from askance import Enumerated, ForcedResponse, Tally, estimate
    from askance.survey import with_noncompliance

    design = ForcedResponse("2/3", "1/6")
    shares = np.arange(0, 21, 1)
    counts = [2_185, 815]
    figure = Figure(figsize=(7, 3.4), layout="constrained")
    axis = figure.subplots()
    for behaviour, words, colour in (
        ("refuse", "always say “no”", "#d55e00"),
        ("truth", "tell the truth", "#0072b2"),
        ("random", "answer at random", "#009e73"),
    ):
        found = []
        for percent in shares:
            reread = Tally(with_noncompliance(design, f"{percent}/100", behaviour), counts)  # type: ignore[arg-type]
            found.append(estimate(Enumerated.saturated(design.outputs), reread).probabilities().estimate[1])
        axis.plot(shares, 100 * np.array(found), color=colour, linewidth=2)
        axis.text(20.3, 100 * found[-1], words, color=colour, va="center")
    axis.set_xlim(0, 20)
    axis.set_ylim(0, 28)
    axis.set_xticks([0, 5, 10, 15, 20], ["0 %", "5 %", "10 %", "15 %", "20 %"])
    ticks = [0, 10, 20]
    axis.set_yticks(ticks, [f"{tick} %" for tick in ticks])
    axis.set_xlabel("respondents who ignored the die")
    axis.set_ylabel("estimated share of yes")
    axis.grid(color="#e5e5e5", linewidth=0.8)
    axis.spines[["top", "right"]].set_visible(False)
    return figure
