"""What many facts or numbers at a privacy level cost: respondents that do the work of one who is asked directly."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from askance import BallRelease, CoordinateRelease, Hybrid, Hypercube, PerValue
from askance._arrays import FloatArray
from askance.channels.statistics.base import StatisticsChannel

LEVELS = (0.5, 1, 2, 4, 8)
STYLES = {
    "per-value": ("#009e73", "^-"),
    "coordinate-release": ("#e69f00", "v-"),
    "hybrid": ("#0072b2", "o-"),
    "hypercube": ("#777777", "--"),
    "ball-release": ("#d55e00", "s-"),
}
Build = Callable[[float], StatisticsChannel]


def _panel(axis: Axes, title: str, cases: dict[str, tuple[Build, FloatArray]]) -> None:
    for name, (build, people) in cases.items():
        colour, style = STYLES[name]
        direct = people.var(axis=0).sum()
        prices = [float(build(level).mean_covariance(people).trace() / direct) for level in LEVELS]
        axis.plot(LEVELS, prices, style, color=colour, markersize=4, label=name)
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    axis.set_xticks(LEVELS, [f"{level:g}" for level in LEVELS])
    axis.yaxis.set_major_formatter("{x:,.0f}")
    axis.minorticks_off()
    axis.set(xlabel="privacy level", ylim=(1, 3e4))
    axis.set_title(title, fontsize=10, loc="left")
    axis.spines[["top", "right"]].set_visible(False)


def draw() -> Figure:
    """Sixteen facts of which half are true, 64 of which two are, and 32 numbers of length 1."""
    rng = np.random.default_rng(0)
    dense = (rng.random((1000, 16)) < 0.5).astype(float)
    sparse = np.zeros((1000, 64))
    for row in sparse:
        row[rng.choice(64, 2, replace=False)] = 1
    unit = rng.normal(size=(1000, 32))
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    figure = Figure(figsize=(7, 3.6), layout="constrained")
    left, middle, right = figure.subplots(1, 3, sharey=True)
    _panel(
        left,
        "16 facts, half true",
        {
            "per-value": (lambda level: PerValue(16, level), dense),
            "coordinate-release": (lambda level: CoordinateRelease(16, level), dense),
            "hybrid": (lambda level: Hybrid(16, level), dense),
            "hypercube": (lambda level: Hypercube(16, level), dense),
            "ball-release": (lambda level: BallRelease(16, level, radius=2), dense - 0.5),
        },
    )
    _panel(
        middle,
        "64 facts, 2 true",
        {
            "per-value": (lambda level: PerValue(64, level, max_l1_norm=2, density="1/32"), sparse),
            "coordinate-release": (lambda level: CoordinateRelease(64, level), sparse),
            "hybrid": (lambda level: Hybrid(64, level), sparse),
            "hypercube": (lambda level: Hypercube(64, level), sparse),
            "ball-release": (lambda level: BallRelease(64, level, radius="1.4143"), sparse),
        },
    )
    _panel(
        right,
        "32 numbers, length 1",
        {
            "coordinate-release": (lambda level: CoordinateRelease(32, level, lower=-1, statistic_bound=2), unit),
            "hybrid": (lambda level: Hybrid(32, level, lower=-1, statistic_bound=2), unit),
            "hypercube": (lambda level: Hypercube(32, level, lower=-1, statistic_bound=2), unit),
            "ball-release": (lambda level: BallRelease(32, level, radius="1.0001"), unit),
        },
    )
    left.set_ylabel("respondents for one\nwho is asked directly")
    lines, names = left.get_legend_handles_labels()
    figure.legend(lines, names, loc="outside lower center", ncols=3, frameon=False, fontsize=10)
    return figure
