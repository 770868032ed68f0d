"""Figures as files: whole or not at all, equal figures as equal bytes."""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING

from askance._checks import shown
from askance.errors import InputError
from askance.formats.disk import as_path, write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# No dates in the files: equal numbers give equal bytes.
_METADATA: dict[str, dict[str, None]] = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
_DOTS_PER_INCH = 150


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of so many inches, with a canvas of its own: no window, no global state."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def write_figure(path: str | os.PathLike[str], figure: Figure) -> None:
    """Write a figure; the ending of the path says the format: .png, .svg or .pdf."""
    ending = as_path(path).suffix.lower().removeprefix(".")
    if ending not in _METADATA:
        raise InputError(
            f"path ends in {shown(as_path(path).suffix)}; allowed: {', '.join(f'.{kind}' for kind in _METADATA)}.",
            remedy='Choose a name such as "picture.png".',
        )
    write_whole(path, figure_bytes(figure, ending))


def figure_bytes(figure: Figure, ending: str) -> bytes:
    """What is in the file of a figure; `ending` is png, svg or pdf."""
    from matplotlib import rc_context

    buffer = io.BytesIO()
    # The names that SVG files give to their parts are drawn at random unless they are salted.
    with rc_context({"svg.hashsalt": "askance"}):
        figure.savefig(buffer, format=ending, dpi=_DOTS_PER_INCH, metadata=_METADATA[ending])
    return buffer.getvalue()
