"""The log-likelihood of the paper's example with its two maxima, and EM from three starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from askance import Enumerated, MatrixChannel, Tally
from askance.geometry import likelihood_picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw() -> Figure:
    """As on the page about geometry."""
    channel = MatrixChannel([["1/3", "1/6", "1/4"], ["1/3", "1/6", "1/2"], ["1/3", "2/3", "1/4"]])
    observed = Tally(channel, [237_182, 410_351, 352_468])
    model = Enumerated([[2, 1, 0]])
    return likelihood_picture(model, channel, observed, theta=[-1.1], em_starts=[-3, 0, 3]).figure
