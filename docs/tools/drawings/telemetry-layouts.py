"""Estimated shares of the layouts that seem most used: the example of tutorials/private-telemetry.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib import pyplot as plt

from askance import SubsetSelection, Tally, estimate_mean

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LAYOUTS = [f"layout {i:02d}" for i in range(1, 65)]
FREQUENCY = 1 / np.arange(1, 65) ** 1.1


def draw() -> Figure:
    """Ranks 2 to 25: dots, plain 95 % intervals, those that hold for all 64 at once, and the true shares."""
    channel, rng = SubsetSelection(LAYOUTS, 1), np.random.default_rng(5)
    layout = rng.choice(LAYOUTS, 100_000, p=FREQUENCY / FREQUENCY.sum())
    # The page draws minutes and persons before it simulates; the reports come after them.
    rng.gamma([1.5, 1.2, 1, 0.6], [30, 20, 12, 10], (100_000, 4))
    rng.choice(9, 100_000, p=np.array([30, 3, 1, 32, 8, 2, 12, 9, 3]) / 100)
    means = estimate_mean(Tally(channel).add(channel.simulate(layout, rng)))
    shown = np.argsort(-means.mean)[1:25]
    places, estimates, errors = np.arange(len(shown)), means.mean[shown], means.standard_errors[shown]
    simultaneous = (means.confidence_interval(1 - 0.05 / 64).upper - means.mean)[shown]
    exact = np.array([np.mean(layout == LAYOUTS[j]) for j in shown])
    with plt.rc_context({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False}):
        figure, axes = plt.subplots(figsize=(7.2, 3.4), layout="constrained", facecolor="white")
        axes.axhline(0, color="#777777", lw=0.8)
        for reach, width, depth, label in (
            (simultaneous, 1, 1, "95 % for all 64 at once"),
            (1.96 * errors, 4, 0.45, "95 % for each alone"),
        ):
            low, high = 100 * (estimates - reach), 100 * (estimates + reach)
            axes.vlines(places, low, high, color="#0072b2", lw=width, alpha=depth, label=label)
        axes.plot(places, 100 * estimates, "o", ms=4.5, color="#0072b2", label="estimate")
        axes.plot(places, 100 * exact, "_", ms=10, mew=2.2, color="#d55e00", label="true share")
        axes.set_xticks(places, [LAYOUTS[j].removeprefix("layout ") for j in shown])
        axes.set(xlabel="layout, in the order of the estimates, from the second on", ylabel="share of devices in %")
        axes.legend(frameon=False)
    plt.close(figure)
    return figure
