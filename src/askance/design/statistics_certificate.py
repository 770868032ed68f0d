"""Certificates of channels on statistics: by enumeration where they are small, by structure where they are wide."""

from __future__ import annotations

from fractions import Fraction

from askance.channels.statistics.base import Enumeration, StatisticsChannel
from askance.design.proof import Certificate
from askance.errors import InputError


def certify_statistics(channel: StatisticsChannel) -> Certificate:
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
        _check_columns(exact)
        ratios = [Fraction(max(row), min(row)) if min(row) else None for row in exact.weights if max(row)]
        if None in ratios or max(r for r in ratios if r is not None) != structural:
            raise InputError(
                f"the structure of {channel.kind} says a level of {level:.12g}, its entries another one.",
                remedy="The thresholds of this channel are broken; rebuild it from its parameters.",
            )
        pairs = zip(exact.observations, ratios, strict=True)
        unbiased, worst = _is_unbiased(exact), tuple(label for label, ratio in pairs if ratio == structural)
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


def _check_columns(exact: Enumeration) -> None:
    for number, column in enumerate(zip(*exact.weights, strict=True)):
        if sum(column) != exact.total or min(column) < 0:
            raise InputError(
                f"the probabilities of statistics {number} sum to {float(Fraction(sum(column), exact.total)):.17g} (or "
                "one is negative); allowed: exactly 1.",
                remedy="The thresholds of this channel are broken; rebuild it from its parameters.",
            )


def _is_unbiased(exact: Enumeration) -> bool:
    """Whether Σ_o β(o) S(o | φ) = φ for all enumerated φ, as an equation between whole numbers."""
    scale = exact.beta_scale * exact.total
    columns = list(zip(*exact.weights, strict=True))
    return all(
        sum(b * w for b, w in zip(beta, column, strict=True)) == value * scale
        for beta, values in zip(exact.beta, exact.statistics, strict=True)
        for column, value in zip(columns, values, strict=True)
    )
