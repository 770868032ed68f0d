"""Pictures on a sheet as narrow as a phone: panels one below the other, and the key below instead of beside."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from askance.geometry.style import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Inches; at the width of a phone, words of nine points can be read.
WIDTH = 5.2
# Of a panel among others, on a phone.
_HEIGHT = 2.9


def panels(count: int, height: float, *, narrow: bool, sharey: bool = False) -> tuple[Figure, list[Axes]]:
    """A new figure and its axes, side by side on a wide sheet of that height, or one below the other."""
    if narrow:
        figure = new_figure(WIDTH, _HEIGHT * count + 0.5)
        axes = figure.subplots(count, 1, sharey=sharey, squeeze=False)
    else:
        figure = new_figure(11, height)
        axes = figure.subplots(1, count, sharey=sharey, squeeze=False)
    return figure, list(axes.ravel())


def key_below(figure: Figure, axes: list[Axes], height: float) -> None:
    """Make a figure narrow, with one key of all axes below them.

    Args:
        figure: to change; its axes are kept, and their own keys taken away.
        axes: whose words are in the key; others of the figure are removed.
        height: inches.
    """
    from matplotlib.gridspec import GridSpec

    named = key_of(axes)
    for axis in list(figure.axes):
        if axis not in axes:
            axis.remove()
        elif (legend := axis.get_legend()) is not None:
            legend.remove()
    if len(axes) == 1:  # the place of what was beside it
        axes[0].set_subplotspec(GridSpec(1, 1, figure=figure)[0])
    figure.set_size_inches(WIDTH, height)
    add_key(figure, named, labelspacing=0.9)


def key_of(axes: Iterable[Axes]) -> dict[str, Any]:
    """What is drawn on some axes, by its words, each once."""
    return {text: line for axis in axes for line, text in zip(*axis.get_legend_handles_labels(), strict=True)}


def add_key(figure: Figure, named: Mapping[str, Any], size: float = 8.5, **options: Any) -> None:
    """One key below all axes."""
    usual: dict[str, Any] = {"loc": "outside lower center", "ncols": 2, "frameon": False, "columnspacing": 1.2}
    figure.legend(list(named.values()), list(named), fontsize=size, **(usual | options))


def finish(axis: Axes, title: str, size: float = 10, **options: Any) -> None:
    """A title, and no lines above and to the right."""
    axis.set_title(title, fontsize=size, **options)
    axis.spines[["top", "right"]].set_visible(False)
