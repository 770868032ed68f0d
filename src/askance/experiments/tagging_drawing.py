"""Draw the accuracy of taggers from counts, over passes or over seconds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from askance.experiments.experiment import Plain
from askance.experiments.narrow import add_key, finish, key_of
from askance.experiments.tagging_estimators import ESTIMATORS, Estimator
from askance.geometry.style import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: The name of regions that are whole sentences.
SENTENCE = "sentence"
# Where the axis of passes ends.
_MOST_PASSES = 150


def draw_curves(result: Mapping[str, Plain], over: str) -> Figure:
    """A panel for each size of regions, one below the other; `over` names what the curves have on their axis."""
    curves = result["curves"]
    figure = new_figure(4.7, 1.5 + 2.0 * len(curves))
    panels = figure.subplots(len(curves), 1, sharex=True, sharey=True, squeeze=False).ravel().tolist()
    finals = [curve["final"]["test"] for own in curves.values() for curve in own.values()]
    for panel, (size, own) in zip(panels, curves.items(), strict=True):
        for key, curve in own.items():
            _draw_curve(panel, ESTIMATORS[key], curve, over)
        finish(panel, "regions: whole sentences" if size == SENTENCE else f"regions of {size} words")
        panel.grid(color="#e8e8e8", linewidth=0.6)
        panel.set_ylabel("accuracy", fontsize=9)
        panel.tick_params(labelsize=9)
    if over == "passes":
        panels[-1].set_xscale("symlog", linthresh=1, linscale=0.4)
        panels[-1].set_xticks([0, 1, 3, 10, 30, 100], ["0", "1", "3", "10", "30", "100"])
        panels[-1].set_xlim(-0.15, _MOST_PASSES)
    else:
        panels[-1].set_xscale("log")
        panels[-1].xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    panels[-1].minorticks_off()
    panels[-1].set_xlabel("passes over the regions" if over == "passes" else "processor seconds (measured)", fontsize=9)
    # The first passes may be far below: they are cut off, so that the ends can be told apart.
    panels[0].set_ylim(max(0.0, min(finals) - 0.05), 1.0)
    named = key_of(panels)
    ordered = {estimator.name: named[estimator.name] for estimator in ESTIMATORS.values() if estimator.name in named}
    add_key(figure, ordered, title="test sentences solid, training sentences broken", title_fontsize=9)
    return figure


def _draw_curve(panel: Axes, estimator: Estimator, curve: Mapping[str, Plain], over: str) -> None:
    """Test accuracy solid, training accuracy broken; what is solved directly is a level over passes."""
    places, train, test = curve[over], curve["train"], curve["test"]
    is_level = over == "passes" and places[-1] is None
    if is_level:
        places, train, test = [0, _MOST_PASSES], train * 2, test * 2
    hollow = estimator.marker if len(places) == 1 else None  # a single point has no line
    panel.plot(
        places, train, color=estimator.colour, linewidth=1.2, linestyle="--", alpha=0.6, marker=hollow, fillstyle="none"
    )
    panel.plot(
        places,
        test,
        color=estimator.colour,
        linewidth=1.4,
        marker=None if is_level else estimator.marker,
        markersize=4,
        label=estimator.name,
    )
