"""Certificates: privacy level and unbiasedness proved in rational arithmetic from the sampler's own thresholds."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from askance._arrays import IntArray
from askance._kernels.draw import TOTAL
from askance.channels.finite import FiniteChannel, require_channel
from askance.channels.randomized_response import RandomizedResponse
from askance.channels.registry import AnyChannel
from askance.channels.statistics.base import StatisticsChannel
from askance.channels.thresholds import log_rounded_up
from askance.design.proof import Certificate
from askance.design.rational import has_full_column_rank, row_space_contains, to_integers
from askance.design.statistics_certificate import certify_statistics
from askance.errors import InputError, NotIdentifiedError
from askance.models.enumerated import Enumerated

# Observations whose ratio is within this share of the largest are listed with it: thresholds that stand for equal
# probabilities may differ by one unit of 2⁻⁶².
_TIE = Fraction(1, 10**12)
# Up to this many entries of S everything is enumerated; beyond, the structure of the channel is used.
_ENUMERATED_ENTRIES = 1 << 20
# Exact elimination of rank-deficient dense matrices is refused beyond this many outputs (2 s at this size).
_ELIMINATED_OUTPUTS = 64
# The bias of β is computed exactly up to this many products.
_EXACT_PRODUCTS = 1 << 21


def certify(channel: AnyChannel, model: Enumerated | None = None) -> Certificate:
    """Prove the privacy level of a channel, and that an unbiased β exists for the statistics of a model.

    Everything is computed from the integer thresholds that `randomize` compares random words with, in exact
    arithmetic. Without a model, unbiasedness is asked for the indicator of every output: then every statistic of
    every model can be estimated. A channel on statistics has its β built in, and takes no model.

    Raises:
        InputError: the columns of S do not sum to 1 (a broken channel), or S is too large and without structure.

    >>> from askance import RandomizedResponse
    >>> certificate = certify(RandomizedResponse("1/10", outputs=256))
    >>> round(certificate.privacy_level, 4), certificate.unbiased
    (3.3825, True)
    """
    if isinstance(channel, StatisticsChannel):
        if model is not None:
            raise InputError(
                f"a model is given with {channel.kind}, a channel on statistics.",
                remedy="Leave it out: β is that of the statistics themselves.",
            )
        return certify_statistics(channel)
    require_channel(channel)
    if model is not None:
        channel.require_outputs_of(model)
    enumerated = len(channel.outputs) * len(channel.observations) <= _ENUMERATED_ENTRIES
    if enumerated:
        weights = channel.integer_weights
        _check_columns(weights)
        largest, smallest = weights.max(axis=1), weights.min(axis=1)
    else:
        largest, smallest = channel.extreme_weights()
    ratio, worst = _worst(largest, smallest)
    unbiased = _is_unbiased(channel, model)
    try:
        rounding = _rounding(channel, model) if unbiased else None
    except NotIdentifiedError:
        # S has the rank only through units of 2⁻⁶² that apportioning moved: a β of that size serves nobody.
        unbiased, rounding = False, None
    return Certificate(
        privacy_level=math.inf if ratio is None else log_rounded_up(ratio),
        largest_ratio=ratio,
        unbiased=unbiased,
        rounding=rounding,
        worst_observations=tuple(channel.observations.labels[o] for o in worst),
        proved_by="enumeration" if enumerated else "structure",
    )


def _check_columns(weights: IntArray) -> None:
    # Sums of 64-bit integers could wrap around: high and low halves are added apart.
    high, low = (weights >> 31).sum(axis=0), (weights & (2**31 - 1)).sum(axis=0)
    broken = (high + (low >> 31) != TOTAL >> 31) | (low & (2**31 - 1) != 0) | (weights.min(axis=0) < 0)
    if broken.any():
        y = int(np.argmax(broken))
        raise InputError(
            f"column {y} of the channel sums to {sum(map(int, weights[:, y]))}/2⁶² (or has a negative entry); allowed: "
            "exactly 1.",
            remedy="The thresholds of this channel are broken; rebuild it from its parameters.",
        )


def _worst(largest: IntArray, smallest: IntArray) -> tuple[Fraction | None, list[int]]:
    """The largest ratio (None: infinite) and the observations that attain it; those that never occur do not count."""
    exclusive = [o for o in range(len(largest)) if smallest[o] == 0 and largest[o] > 0]
    if exclusive:
        return None, exclusive
    ratios = {o: Fraction(int(largest[o]), int(smallest[o])) for o in range(len(largest)) if largest[o] > 0}
    top = max(ratios.values())
    return top, [o for o, ratio in ratios.items() if ratio >= top * (1 - _TIE)]


def _is_unbiased(channel: FiniteChannel, model: Enumerated | None) -> bool:
    """Whether R S = Φ has an exact solution."""
    if isinstance(channel, RandomizedResponse):
        # S = ε I + b 1ᵀ with 1ᵀb = 1 − ε has eigenvalues ε and 1, so it is invertible exactly when ε > 0.
        return int(channel.extreme_weights()[0][0]) > int(channel.extreme_weights()[1][0])
    weights = channel.integer_weights
    if has_full_column_rank(weights):
        return True
    if len(channel.outputs) > _ELIMINATED_OUTPUTS:
        raise InputError(
            f"the channel has {len(channel.outputs)} outputs, is not of full column rank and has no structure that a "
            f"proof could use; allowed: at most {_ELIMINATED_OUTPUTS} outputs.",
            remedy="Certify the same design on fewer outputs.",
        )
    table = np.eye(len(channel.outputs)) if model is None else model.table
    targets = [[Fraction(float(value)) for value in row] for row in table]
    return row_space_contains([[int(w) for w in row] for row in weights], targets)


def _rounding(channel: FiniteChannel, model: Enumerated | None) -> float | None:
    """Largest |R S − Φ| for the R in use, computed without rounding."""
    size, dimension = len(channel.outputs), len(channel.outputs) if model is None else model.dimension
    structured = isinstance(channel, RandomizedResponse)
    if dimension * len(channel.observations) * (1 if structured else size) > _EXACT_PRODUCTS:
        return None
    if model is None:
        model = Enumerated(np.eye(size), outputs=channel.outputs)
    R = to_integers(channel.observation_function(model).coefficients)
    if isinstance(channel, RandomizedResponse):
        # R S = ε R + (R b) 1ᵀ
        largest, base = channel.extreme_weights()
        scaled = R.values * int(largest[0] - base[0]) + (R.values @ base.astype(object))[:, None]
    else:
        scaled = R.values @ channel.integer_weights.astype(object)
    phi = to_integers(model.table)
    difference = scaled * phi.scale - phi.values * (R.scale * TOTAL)
    worst = max(abs(value) for value in difference.flat)
    return float(Fraction(worst, R.scale * TOTAL * phi.scale))
