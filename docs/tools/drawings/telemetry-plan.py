"""Error of the shares of 64 layouts before anything is collected: against devices, and against the privacy level."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from matplotlib import pyplot as plt

from askance import PerValue, SubsetSelection

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from askance.channels import StatisticsChannel

LAYOUTS = 64
SHARES = 1 / np.arange(1, LAYOUTS + 1) ** 1.1
SHARES /= SHARES.sum()
COLOURS = ("#d55e00", "#0072b2", "#009e73", "#e69f00")


def error(channel: StatisticsChannel, devices: float) -> float:
    """Root mean square of the standard errors of all shares, in percentage points."""
    truth = np.arange(LAYOUTS) if isinstance(channel, SubsetSelection) else np.eye(LAYOUTS)
    variances = np.diag(channel.mean_covariance(truth, SHARES))
    return float(100 * np.sqrt(variances.mean() / devices))


def _against_devices(axes: Axes) -> None:
    devices = np.array([1e3, 1e7])
    for level, colour in zip((0.5, 1, 2, 4), COLOURS, strict=True):
        errors = [error(SubsetSelection(LAYOUTS, level), n) for n in devices]
        axes.loglog(devices, errors, color=colour, lw=2)
        axes.annotate(f"level {level}", (devices[1], errors[1]), (4, 0), textcoords="offset points", va="center")
    open_error = 100 * np.sqrt(np.mean(SHARES * (1 - SHARES)) / devices)
    axes.loglog(devices, open_error, color="#777777", ls="--")
    axes.annotate("open", (devices[1], open_error[1]), (4, 0), textcoords="offset points", va="center")
    axes.set(xlabel="devices that report", ylabel="standard error of a share,\npercentage points", xlim=(1e3, 1e7))
    axes.set_xticks([1e3, 1e5, 1e7], ["1,000", "100,000", "10 million"])
    axes.minorticks_off()
    axes.set_yticks([0.01, 0.1, 1, 10], ["0.01", "0.1", "1", "10"])


def _against_level(axes: Axes) -> None:
    levels = np.linspace(0.5, 6, 23).round(2).tolist()
    kinds: dict[str, tuple[Callable[[float], StatisticsChannel], str, str]] = {
        "randomized response": (lambda level: SubsetSelection(LAYOUTS, level, subset_size=1), "#d55e00", "-"),
        "one-hot bits (SUE)": (lambda level: PerValue(LAYOUTS, level, l1_norm=1), "#777777", "-"),
        "the same, tuned (OUE)": (lambda level: PerValue(LAYOUTS, level, l1_norm=1, density="1/64"), "#e69f00", "--"),
        "subset selection": (lambda level: SubsetSelection(LAYOUTS, level), "#0072b2", "-"),
    }
    for name, (build, colour, style) in kinds.items():
        errors = [error(build(level), 100_000) for level in levels]
        axes.semilogy(levels, errors, style, color=colour, lw=2, label=name)
    axes.set(xlabel="privacy level, with 100,000 devices", xticks=range(1, 7))
    axes.minorticks_off()
    axes.set_yticks([0.05, 0.1, 0.2, 0.5, 1, 2, 5], ["0.05", "0.1", "0.2", "0.5", "1", "2", "5"])
    axes.legend(frameon=False, fontsize=9)


def draw() -> Figure:
    """Two panels: subset selection at four levels, and four channels at all levels."""
    with plt.rc_context({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False}):
        figure, (left, right) = plt.subplots(1, 2, figsize=(7.4, 3.4), layout="constrained", facecolor="white")
        _against_devices(left)
        _against_level(right)
    plt.close(figure)
    return figure
