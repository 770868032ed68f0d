"""Several answers at once, each through a channel of its own."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from itertools import product

from askance._kernels.draw import TOTAL
from askance.channels.finite import FiniteChannel
from askance.channels.matrix import MatrixChannel
from askance.models.hidden import BETWEEN


def product_channel(channels: Sequence[FiniteChannel]) -> MatrixChannel:
    """S = S₁ ⊗ S₂ ⊗ …: answers that are noised apart, as one channel about their combinations.

    Labels of combinations join those of the answers by " & ", the last varying fastest, as in `HiddenVariables`.

    >>> from askance import Warner
    >>> both = product_channel([Warner("3/4"), Warner("2/3")])
    >>> list(both.outputs.labels)
    ['no & no', 'no & yes', 'yes & no', 'yes & yes']
    >>> both.matrix[0].round(4)  # P("no & no" | …)
    array([0.5   , 0.25  , 0.1667, 0.0833])
    """
    tables = [[[Fraction(int(w), TOTAL) for w in row] for row in c.integer_weights.tolist()] for c in channels]
    return MatrixChannel(
        reduce(_kronecker, tables),
        outputs=joined([channel.outputs.labels for channel in channels]),
        observations=joined([channel.observations.labels for channel in channels]),
    )


def joined(labels: Sequence[Sequence[object]]) -> list[str]:
    """Labels of all combinations."""
    return [BETWEEN.join(map(str, row)) for row in product(*labels)]


def _kronecker(one: list[list[Fraction]], other: list[list[Fraction]]) -> list[list[Fraction]]:
    return [[a * b for a in row for b in line] for row in one for line in other]
