"""Certificates: privacy level and unbiasedness proved in rational arithmetic from the sampler's own thresholds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from askance._arrays import IntArray
from askance._kernels.draw import TOTAL
from askance.categories import Label
from askance.channels.finite import FiniteChannel, require_channel
from askance.channels.randomized_response import RandomizedResponse
from askance.channels.registry import AnyChannel
from askance.channels.statistics.base import Enumeration, StatisticsChannel
from askance.channels.thresholds import exceeds, log_rounded_up
from askance.design.rational import has_full_column_rank, row_space_contains, to_integers
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
# In bits: 4,300 digits are what Python reads and writes.
_LONGEST_RATIO = 14_000


@dataclass(frozen=True)
class Certificate:
    """What was proved about a channel.

    Attributes:
        privacy_level: the exact level, rounded up to a float; infinite when some observation excludes some output.
        largest_ratio: e^level as an exact fraction; None when infinite.
        unbiased: whether some linear β has E[β(o) | y] = φ(y) exactly (or up to `bias_bound`), for every output y.
        rounding: largest |E[β(o) | y] − φ(y)| of the floating-point β that is really used, from exact arithmetic;
            None when there is no β, when there are too many products to form, and for channels on statistics.
        worst_observations: the observations at which the level is attained.
        proved_by: how: "enumeration" or "structure".
        stated_level: the level that was asked for, where the channel keeps it.
        complete: whether all worst observations are listed, or only examples.
        bias_bound: share of φ by which β may miss it; 0 unless a channel's directions are only nearly Gaussian.
    """

    privacy_level: float
    largest_ratio: Fraction | None
    unbiased: bool
    rounding: float | None
    worst_observations: tuple[Label, ...]
    proved_by: str
    stated_level: float | None = None
    bias_bound: float = 0.0
    complete: bool = True

    @property
    def holds(self) -> bool:
        """Whether the channel is as private as it was asked to be (always, where nothing was stated)."""
        return self.stated_level is None or not exceeds(self.privacy_level, self.stated_level)

    def to_json(self) -> dict[str, Any]:
        """Plain values; an infinite level is None, and so is a ratio of more digits than Python reads back."""
        stated = {"stated_level": self.stated_level, "holds": self.holds, "bias_bound": self.bias_bound}
        return {
            "privacy_level": None if math.isinf(self.privacy_level) else self.privacy_level,
            "largest_ratio": _as_text(self.largest_ratio),
            "unbiased": self.unbiased,
            "rounding": self.rounding,
            "worst_observations": list(self.worst_observations),
            "worst_observations_complete": self.complete,
            "proved_by": self.proved_by,
        } | ({} if self.stated_level is None else stated)


def _as_text(ratio: Fraction | None) -> str | None:
    return None if ratio is None or ratio.numerator.bit_length() > _LONGEST_RATIO else str(ratio)


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
        return _certify_statistics(channel)
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


# -- channels on statistics --------------------------------------------------------------------------------------------


def _certify_statistics(channel: StatisticsChannel) -> Certificate:
    """Prove the level of a channel on statistics, and that its β is unbiased.

    Where the channel can be written out, every entry is looked at: columns sum to 1, the level is the largest ratio,
    and Σ_o β(o) S(o | φ) = φ holds as an equation between fractions. The result must agree with what the structure of
    the channel says, or it is broken. Where it cannot be written out, the structure is the proof.
    """
    level, structural = channel.exact_level()
    exact = channel.enumerate_exactly()
    if exact is None:
        unbiased, worst = channel.is_unbiased(), channel.worst_observations()
    else:
        _check_enumerated(exact)
        ratios = [Fraction(max(row), min(row)) if min(row) else None for row in exact.weights if max(row)]
        if None in ratios or max(r for r in ratios if r is not None) != structural:
            raise InputError(
                f"the structure of {channel.kind} says a level of {level:.12g}, its entries another one.",
                remedy="The thresholds of this channel are broken; rebuild it from its parameters.",
            )
        pairs = zip(exact.observations, ratios, strict=True)
        unbiased, worst = _is_unbiased_exactly(exact), tuple(label for label, ratio in pairs if ratio == structural)
    return Certificate(
        privacy_level=level,
        largest_ratio=structural,
        unbiased=unbiased,
        rounding=None,
        worst_observations=worst,
        proved_by="structure" if exact is None else "enumeration",
        complete=exact is not None,
        stated_level=channel.stated_level,
        bias_bound=channel.bias_bound,
    )


def _check_enumerated(exact: Enumeration) -> None:
    for number, column in enumerate(zip(*exact.weights, strict=True)):
        if sum(column) != exact.total or min(column) < 0:
            raise InputError(
                f"the probabilities of statistics {number} sum to {float(Fraction(sum(column), exact.total)):.17g} (or "
                "one is negative); allowed: exactly 1.",
                remedy="The thresholds of this channel are broken; rebuild it from its parameters.",
            )


def _is_unbiased_exactly(exact: Enumeration) -> bool:
    """Whether Σ_o β(o) S(o | φ) = φ for all enumerated φ, as an equation between whole numbers."""
    scale = exact.beta_scale * exact.total
    columns = list(zip(*exact.weights, strict=True))
    return all(
        sum(b * w for b, w in zip(beta, column, strict=True)) == value * scale
        for beta, values in zip(exact.beta, exact.statistics, strict=True)
        for column, value in zip(columns, values, strict=True)
    )
