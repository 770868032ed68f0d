"""Draw R² against the privacy level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from askance.experiments.experiment import Plain
from askance.experiments.narrow import add_key, key_of
from askance.geometry.style import BLUE, DARK, FAINT, GREEN, NOWHERE, ORANGE, VERMILION, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: What is compared, in the order of the key: words, colour, marker and line of each.
SCHEMES = {
    "printed": ("as printed", VERMILION, "s", "-"),
    "exact": ("exactly calibrated", ORANGE, "^", "-"),
    "repaired": ("exactly calibrated, repaired", GREEN, "D", "--"),
    "askance": ("the channel askance chooses", BLUE, "o", "-"),
}
# Where the axes of both kinds of R² begin.
_LOWEST = {"centred": -0.25, "uncentred": 0.0}


def draw_data_set(data_set: Mapping[str, Plain], result: Mapping[str, Plain]) -> Figure:
    """Two panels of one data set: centred R², and the uncentred one below.

    Args:
        data_set: one of those of the result.
        result: of the experiment, for its levels.
    """
    figure = new_figure(4.7, 6.2)
    panels = figure.subplots(2, 1, sharex=True, height_ratios=(1.7, 1))
    for panel, kind in zip(panels, _LOWEST, strict=True):
        _draw_panel(panel, data_set, result["levels"], kind)
        panel.set_ylabel(f"R², {kind}", fontsize=9)
    panels[-1].set_xlabel("privacy level, as stated")
    alone = data_set["mean_only"]["uncentred"]["median"]
    # Where a year is predicted all lines are one: the number says why.
    panels[-1].set_title(f"uncentred, the mean alone has {alone:.{3 if alone < 0.999 else 5}f}", fontsize=9)
    add_key(figure, key_of(panels[:1]))
    label = "" if data_set["source"] == "real" else f" – {data_set['source'].upper()}"
    figure.suptitle(f"{data_set['title']}{label}, {data_set['train']:,} people", fontsize=11)
    return figure


def _draw_panel(axis: Axes, data_set: Mapping[str, Plain], levels: Sequence[float], kind: str) -> None:
    best, lowest = data_set["no_noise"][kind]["median"], _LOWEST[kind]
    axis.axhline(best, color=DARK, ls="--", lw=1.2, label="least squares without noise")
    axis.axhline(data_set["mean_only"][kind]["median"], color=NOWHERE, ls=":", lw=1.5, label="the mean alone")
    for order, (name, (words, colour, marker, line)) in enumerate(SCHEMES.items()):
        rows = [
            (level, row[kind]) for level, row in zip(levels, data_set["schemes"][name], strict=True) if row is not None
        ]
        at = np.array([level for level, _ in rows])
        middle, low, high = (np.array([row[part] for _, row in rows]) for part in ("median", "low", "high"))
        axis.fill_between(at, np.maximum(low, lowest - 1), np.maximum(high, lowest - 1), color=colour, alpha=0.18, lw=0)
        axis.plot(at, np.maximum(middle, lowest - 1), marker=marker, ms=5, ls=line, color=colour, label=words)
        # Side by side, so that those of several schemes are seen.
        below = at[middle < lowest] * 1.12 ** (order - 1)
        if len(below):
            axis.plot(below, np.full(len(below), lowest), "v", ms=7, color=colour, clip_on=False, zorder=5)
    axis.set_xscale("log")
    axis.set_xlim(levels[0] / 1.5, levels[-1] * 1.5)
    axis.set_xticks(levels, [f"{level:g}" for level in levels], fontsize=9)
    axis.minorticks_off()
    axis.set_ylim(lowest, best + 0.12 if kind == "centred" else 1.03)
    axis.grid(axis="y", color=FAINT, lw=0.7)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)
