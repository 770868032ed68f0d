"""The S that the paper prints for its two pictures, and the models that are seen through it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from askance._arrays import FloatArray
from askance.channels.matrix import MatrixChannel
from askance.models.enumerated import Enumerated

#: Statistics by rows, and a channel by rows, its probabilities as texts: as a config has them.
Rows: TypeAlias = Sequence[Sequence[float]]
Texts: TypeAlias = Sequence[Sequence[str]]
#: S by rows: S[o][y] = P(o | y).
PRINTED_CHANNEL = [["1/3", "1/6", "1/4"], ["1/3", "1/6", "1/2"], ["1/3", "2/3", "1/4"]]


def printed_pair(statistics: Rows, channel: Texts) -> tuple[Enumerated, MatrixChannel]:
    """A model with one statistic φ over the outputs 1, 2, 3, and the channel on them.

    >>> model, channel = printed_pair([[5, -1, 0]], PRINTED_CHANNEL)
    >>> model.parameter_names, channel.matrix.shape
    (('φ',), (3, 3))
    """
    outputs = [str(y + 1) for y in range(len(statistics[0]))]
    return Enumerated(statistics, outputs=outputs, parameter_names=["φ"]), MatrixChannel(channel, outputs=outputs)


def report_frequencies(model: Enumerated, channel: MatrixChannel, theta: Sequence[float]) -> FloatArray:
    """How often every report is made at θ, S p_θ, with sum 1 to the last digit."""
    q = channel.apply(model.probabilities(theta))
    return np.asarray(q / q.sum())
