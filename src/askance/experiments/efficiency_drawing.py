"""Draw the efficiency of moments, and what channels of one privacy level cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from askance.experiments.experiment import Plain
from askance.experiments.narrow import add_key, finish, key_of
from askance.geometry import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIGNALS = ("weak", "strong")
# Colour and marker of each channel and estimator.
_CHANNELS = {
    "coordinate release, as printed": (style.ORANGE, "v"),
    "randomized response, moments": (style.BLUE, "s"),
    "randomized response, one-step": (style.VERMILION, "o"),
    "coordinate release": (style.GREEN, "D"),
    "optimal channel": (style.PURPLE, "^"),
}


def _panels(result: Mapping[str, Plain], x: str, y: str) -> tuple[Figure, Sequence[Axes]]:
    """A figure with a panel for each signal, which say what is on their axes."""
    figure = style.new_figure(4.7, 6.2)
    panels = figure.subplots(2, 1, sharex=True, sharey=True)
    for axis, signal in zip(panels, _SIGNALS, strict=True):
        axis.grid(color=style.FAINT, lw=0.7)
        finish(axis, f"{signal} signal, $\\theta$ = {style.vector_text(result['signals'][signal])}", color=style.DARK)
        axis.set_ylabel(y)
    panels[-1].set_xlabel(x)
    return figure, panels


def draw_efficiency(result: Mapping[str, Plain]) -> Figure:
    """Efficiency against the reveal probability, a panel for each signal; simulated surveys with 95 % bars."""
    figure, panels = _panels(result, "reveal probability", "efficiency  tr($\\Sigma_{marg}\\,\\Sigma^{-1}$) / d")
    for axis, signal in zip(panels, _SIGNALS, strict=True):
        axis.axhline(1, color=style.VERMILION, lw=1.6, ls="--", label="one-step, in the limit", zorder=2)
        axis.plot(
            result["reveal_probability"], result["curves"][signal]["efficiency"], color=style.BLUE, lw=2.2, zorder=3,
            label="moments, in the limit",
        )  # fmt: skip
        for method, colour, marker, shift in (
            ("moments", style.BLUE, "s", -0.008),
            ("one-step", style.VERMILION, "o", 0.008),
        ):
            points = result["simulated"][signal]
            axis.errorbar(
                [point["reveal_probability"] + shift for point in points],
                [point[method]["efficiency"] for point in points],
                yerr=[1.96 * point[method]["standard_error"] for point in points],
                fmt=marker, ms=5, capsize=3, lw=1.2, color=colour, mec="white", zorder=4,
                label=f"{method}, simulated",
            )  # fmt: skip
    add_key(figure, key_of(panels[:1]), 9, columnspacing=2.0)
    figure.suptitle("Randomized response: share of the best precision reached", fontsize=11)
    return figure


def draw_channels(result: Mapping[str, Plain]) -> Figure:
    """tr Σ of channels against the privacy level, in units of the optimal channel's; a panel for each signal."""
    figure, panels = _panels(result, "privacy level", "variance / optimal variance")
    for axis, signal in zip(panels, _SIGNALS, strict=True):
        rows = result["channels"][signal]
        levels = [row["privacy_level"] for row in rows]
        for name, (colour, marker) in _CHANNELS.items():
            costs = [row["errors"][name] / row["errors"]["optimal channel"] for row in rows]
            axis.plot(levels, costs, marker=marker, ms=5, lw=1.6, color=colour, label=name)
        axis.set_yscale("log")
    ticks = [tick for tick in (1, 2, 3, 5, 10, 20, 50, 100) if tick <= panels[0].get_ylim()[1]]
    panels[0].set_yticks(ticks, [style.number_text(tick) for tick in ticks])
    panels[0].set_yticks([], minor=True)
    add_key(figure, key_of(panels[:1]), 9)
    figure.suptitle("What a channel costs at one privacy level", fontsize=11)
    return figure
