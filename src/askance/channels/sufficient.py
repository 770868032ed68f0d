"""A channel on the sufficient statistics in place of a channel on the outputs."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from askance._arrays import IntArray
from askance.channels.finite import FiniteChannel, require_channel
from askance.channels.matrix import MatrixChannel
from askance.models.enumerated import Enumerated


@dataclass(frozen=True)
class SufficientChannel:
    """S′(o | φ), and the model of φ that goes with it.

    Attributes:
        channel: S′, whose outputs are the distinct values of φ.
        model: the law of φ(y) under the given model, with the same θ.
        fibre: which output of `channel` each output y belongs to, shape (m,).
    """

    channel: MatrixChannel
    model: Enumerated
    fibre: IntArray


def sufficient_channel(model: Enumerated, channel: FiniteChannel) -> SufficientChannel:
    """S′(o | φ) = Σ_y Q(y | φ) S(o | y), with Q the model's law of y given φ(y): h normalised on each fibre.

    S′ depends on y through φ(y) alone, leaves the law of o unchanged for every θ of the model, and is at least as
    private as S, since each of its columns is an average of columns of S. The law of o is kept exactly when the true
    p(y) follows h within fibres, as it does under the model.

    >>> from askance import Enumerated, RandomizedResponse
    >>> model = Enumerated([[0, 1, 1]])
    >>> reduced = sufficient_channel(model, RandomizedResponse("1/2", outputs=3))
    >>> reduced.channel.matrix.round(4)
    array([[0.6667, 0.1667],
           [0.1667, 0.4167],
           [0.1667, 0.4167]])
    """
    require_channel(channel).require_outputs_of(model)
    values, fibre = np.unique(model.table.T, axis=0, return_inverse=True)
    fibre = fibre.reshape(-1)
    # The base measure within a fibre, relative to its largest member: no fibre can underflow as a whole.
    tops = np.array([model.log_base_measure[fibre == value].max() for value in range(len(values))])
    relative = np.exp(model.log_base_measure - tops[fibre])
    shares = [Fraction(share) for share in relative]
    weights = channel.integer_weights
    columns = []
    for value in range(len(values)):
        members = np.flatnonzero(fibre == value)
        total = sum(shares[y] for y in members)
        mixed = [sum((shares[y] * int(weights[o, y]) for y in members), Fraction(0)) for o in range(len(weights))]
        columns.append([weight / (total * (1 << 62)) for weight in mixed])
    labels = [f"φ = ({', '.join(repr(float(x)) for x in value)})" for value in values]
    reduced = MatrixChannel(
        [list(row) for row in zip(*columns, strict=True)], outputs=labels, observations=channel.observations
    ).for_purpose(channel.purpose)
    log_sizes = tops + np.log(np.bincount(fibre, weights=relative))
    law = Enumerated(
        values.T, outputs=reduced.outputs, parameter_names=model.parameter_names, log_base_measure=log_sizes
    )
    return SufficientChannel(reduced, law, fibre.astype(np.int64))
