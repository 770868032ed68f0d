"""Shares of hidden answers while reports come in: intervals that hold at all looks at once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from askance._arrays import FloatArray
from askance._checks import shorten
from askance.channels.finite import FiniteChannel
from askance.errors import EmptyDataError
from askance.estimation.checks.surprise import IMPOSSIBLE
from askance.estimation.sequences.bounded_values import values_of
from askance.estimation.sequences.confidence_sequence import ConfidenceSequence
from askance.estimation.sequences.stakes import Stakes
from askance.evidence.responses import Responses
from askance.evidence.tally import Tally, of_statistics


def share_sequence(
    evidence: Tally[Any] | Mapping[Any, Tally[FiniteChannel]] | Responses[FiniteChannel],
    planned: int,
    *,
    first: int | None = None,
    confidence: float = 0.95,
    largest_weight: float | None = None,
) -> ConfidenceSequence:
    """The share of every answer, with an interval that holds at all looks at once.

    An interval of a fixed n holds at that n. Who looks at one again and again while answers come in, and stops when it
    says what was hoped for, is misled far more often than it says. These intervals hold at every look with probability
    `confidence`, for any n and any rule to stop, and are about 1.6 times as wide. They are proved for every number of
    reports: bets on the bounded β of the channel, see `askance.estimation.sequences.bets`; counts are all they need.

    Respondents must come in an order that has nothing to do with their answers, and `planned`, `first` and
    `largest_weight` must be fixed before the first answer is seen.

    Args:
        evidence: counts of answers, or of noised bits and labels; where people were asked in several ways,
            {way: counts}, with all ways from the first look on; or rows, also of several arms and with sampling
            weights, but not in clusters, whose answers may depend on each other.
        planned: number of reports at which the intervals are meant to be narrow.
        first: number of reports at the first look; default: a fiftieth of `planned`.
        confidence: of all looks together, for every answer by itself; of k answers together it is 1 − α where
            1 − α/k is asked for.
        largest_weight: no sampling weight is larger, in units in which weights are 1 on average.

    Returns:
        shares with their intervals; of noised statistics that are counted in bits, the mean on a scale from the
        smallest (0) to the largest value (1).

    >>> from askance import ForcedResponse, Tally
    >>> print(share_sequence(Tally(ForcedResponse("2/3", "1/6"), [700, 300]), 5000).summary())
    1,000 of 5,000 planned reports
    <BLANKLINE>
    answer   share   2.5 %  97.5 %
    ------------------------------
    no      0.8000  0.7323  0.8637
    yes     0.2000  0.1363  0.2677
    ------------------------------
    95 % intervals that hold at all looks at once
    """
    stakes = Stakes(planned, first, confidence)
    names, values = zip(*values_of(evidence, largest_weight), strict=True)
    tallies = evidence.values() if isinstance(evidence, Mapping) else [evidence]
    n = sum(tally.n_observations for tally in tallies)
    if n == 0:
        raise EmptyDataError("there are no reports.", remedy="Add reports before estimating.")
    shares, errors = np.array([own.estimate for own in values]).T
    lower, upper, doubts = (np.array(ends) for ends in zip(*(own.bounds(stakes) for own in values), strict=True))
    return ConfidenceSequence(
        "share",
        names,
        shares,
        errors,
        lower,
        upper,
        n,
        planned,
        stakes.first_look,
        confidence,
        notes=_contradicted(names, doubts, stakes),
        alarms=_alarms(names, doubts),
        are_answers=not of_statistics(evidence),
    )


def _contradicted(names: tuple[Any, ...], doubts: FloatArray, stakes: Stakes) -> tuple[str, ...]:
    """Where no share is left: an interval of one point would pass for certainty."""
    against = [name for name, doubt in zip(names, doubts, strict=True) if doubt >= stakes.log_win]
    if not against:
        return ()
    return (
        f"no share of {shorten(against)} fits these reports at {100 * stakes.confidence:g} % confidence: ends that are "
        "equal are the closest share there is, not a precise one",
    )


def _alarms(names: tuple[Any, ...], doubts: FloatArray) -> tuple[str, ...]:
    """Where every share is impossible, for all looks and answers together: as seldom wrong as other alarms."""
    if doubts.max() < math.log(2 * len(names) / IMPOSSIBLE):
        return ()
    name = names[int(np.argmax(doubts))]
    return (
        f"no share of {name!r} brings about such reports: whatever it is, chance does that with "
        f"probability {IMPOSSIBLE:.0e} at most, at all looks together; devices had other probabilities, or reports are "
        "forged or of another question",
    )
