"""The family of the paper's figure in the triangle of distributions, with 1,000 reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from askance import Enumerated, MatrixChannel, Tally
from askance.geometry import simplex_picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw() -> Figure:
    """As on the page about geometry."""
    channel = MatrixChannel([["1/3", "1/6", "1/4"], ["1/3", "1/6", "1/2"], ["1/3", "2/3", "1/4"]])
    return simplex_picture(Enumerated([[5, -1, 0]]), channel, Tally(channel, [280, 320, 400]), theta=[0.1]).figure
