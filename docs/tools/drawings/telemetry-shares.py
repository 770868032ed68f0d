"""What devices sent, what askance makes of it, and the truth: the example of start/telemetry.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib import pyplot as plt

from askance import Enumerated, RandomizedResponse, Tally, estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AIDS = ["none", "large text", "high contrast", "captions", "screen reader"]
SHARES = [0.70, 0.12, 0.08, 0.06, 0.04]


def draw() -> Figure:
    """Bars of the reports' frequencies, dots with 95 % intervals of the estimates, and lines at the true shares."""
    channel, rng = RandomizedResponse.for_privacy_level(1, outputs=AIDS), np.random.default_rng(1)
    truth = rng.choice(AIDS, 50_000, p=SHARES)
    tally = Tally(channel).add(channel.simulate(truth, rng))
    shares = estimate(Enumerated.saturated(AIDS), tally).probabilities()
    exact = np.array([np.mean(truth == aid) for aid in AIDS])
    places = np.arange(len(AIDS))
    reach = np.abs(np.stack([shares.lower, shares.upper]) - shares.estimate)
    with plt.rc_context({"font.size": 10.5, "axes.spines.top": False, "axes.spines.right": False}):
        figure, axes = plt.subplots(figsize=(7, 3.3), layout="constrained", facecolor="white")
        axes.bar(places, 100 * tally.frequencies, 0.6, color="#777777", alpha=0.35, label="sent by devices")
        axes.hlines(100 * exact, places - 0.3, places + 0.3, color="#d55e00", lw=2, label="true share")
        axes.errorbar(
            places,
            100 * shares.estimate,
            100 * reach,
            fmt="o",
            ms=5,
            color="#0072b2",
            capsize=4,
            label="estimate, 95 % interval",
        )
        axes.set_xticks(places, AIDS)
        axes.set_ylabel("share of devices in %")
        axes.set_ylim(0, 80)
        axes.legend(frameon=False, loc="upper right")
    plt.close(figure)
    return figure
