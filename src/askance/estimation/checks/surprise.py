"""How surprising reports are, whatever the truth: bounds that hold for every number of reports.

Truths may be anything, one for every respondent; given them, reports are independent, and of everything that is counted
the expected share μ lies between two numbers that the channel knows (`Trials`). For X₁, …, X_n independent between 0
and 1, with means of at most μ on average and variances of at most v, Hoeffding (1963, theorems 1 and 3) has

    P(mean ≥ x) ≤ exp(−n KL(x ‖ μ)),    P(mean ≥ μ + t) ≤ exp(−n KL((v + t)/(1 + v) ‖ v/(1 + v))),

KL that of two coins. The probability that any of c such comparisons is as far off is at most c times that.

Of few kinds of answers it is also seen whether their shares q̂ go together. Whatever they are,
P(q̂) ≤ exp(−n min_p KL(q̂ ‖ S p)), since log E e^a is concave in the law of a report, and there are no more than
(n + k − 1 choose k − 1) kinds of q̂.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from askance._arrays import AnyArray, FloatArray
from askance._checks import shown
from askance.channels.finite import FiniteChannel
from askance.channels.statistics.reports import Reports
from askance.channels.trials import Trials
from askance.errors import ImpossibleReportsWarning, InputError
from askance.estimation.outcome import Notice
from askance.estimation.problems.simplex import likeliest_distribution
from askance.evidence.pooled import PooledChannel, taken_apart
from askance.evidence.responses import Responses
from askance.evidence.tally import Tally

#: What a channel and reports through it are tested with.
TestedEvidence: TypeAlias = Tally[Any] | Responses[Any] | Reports

#: Reports of which this is more than their probability, whatever the truth, are called impossible.
IMPOSSIBLE = 1e-6
# Shares are seen together up to this many kinds of reports, of so many answers: beyond, the bound says nothing.
_FEW_REPORTS, _FEW_OUTPUTS = 32, 256
_STEPS = (4, 200)
_SMALLEST = 1e-300


@dataclass(frozen=True)
class Surprise:
    """How far off reports are.

    Attributes:
        bound: reports through the channel are as far off with at most this probability, whatever the truth.
        worst: what is furthest off, in words; empty where nothing is off.
        comparisons: how many shares were compared with what the channel can bring about.
    """

    bound: float
    worst: str
    comparisons: int


def surprise(evidence: TestedEvidence) -> Surprise:
    """Compare all that evidence counts with what its channel can bring about."""
    exponent, worst, comparisons = 0.0, "", 0
    for trials in _trials(evidence):
        above = _exponents(trials, above=True)
        below = _exponents(trials, above=False)
        comparisons += int(np.count_nonzero(trials.high < 1) + np.count_nonzero(trials.low > 0))
        for side in (above, below):
            if side.max(initial=0.0) > exponent:
                exponent, worst = float(side.max()), _in_words(trials, int(np.argmax(side)))
    alone = _product(comparisons, exponent)
    few = [(part.channel, counts) for part in _by_channel(evidence) if (counts := _few_counts(part)) is not None]
    if not few:
        return Surprise(alone, worst, comparisons)
    # Of two bounds the smaller one, twice; the second is not needed where the first says all.
    joints = [] if alone < IMPOSSIBLE**2 else [_bound_together(channel, counts) for channel, counts in few]
    joint = min(1.0, len(few) * min(joints, default=1.0))
    furthest = worst if alone <= joint else "the shares of the reports, taken together"
    return Surprise(min(1.0, 2 * alone, 2 * joint), furthest, comparisons + len(few))


def _by_channel(evidence: TestedEvidence) -> Sequence[Any]:
    """What was seen through each channel."""
    if isinstance(evidence, Responses):
        return [evidence.of_channel(channel) for channel in evidence.channels]
    return taken_apart(evidence) if isinstance(evidence, Tally) else [evidence]


def alarms_of(evidence: TestedEvidence) -> tuple[Notice, ...]:
    """Why reports cannot have come through their channel; empty where they can.

    >>> from askance import PerValue, Tally
    >>> alarm, = alarms_of(Tally(PerValue(4, 1, l1_norm=1), [100] * 4, 100))
    >>> alarm.text.split(":")[0]
    'these reports cannot have come through this channel'
    """
    doubt = surprise(evidence)
    return () if doubt.bound >= IMPOSSIBLE else (Notice(ImpossibleReportsWarning, in_words(doubt)),)


def in_words(doubt: Surprise) -> str:
    """What is impossible about reports, and what may be behind it."""
    return (
        f"these reports cannot have come through this channel: {doubt.worst}; whatever the truth, chance does that "
        f"with probability {doubt.bound:.1g} at most: devices had other probabilities, or reports are forged or of "
        "another question, and what follows is not to be trusted"
    )


# -- what is counted ---------------------------------------------------------------------------------------------------


def _trials(evidence: TestedEvidence) -> Iterator[Trials]:
    if isinstance(evidence, (Tally, Responses)):
        for part in _by_channel(evidence):
            yield from part.channel.sum_law.trials(part.sums, part.n_observations)
    elif isinstance(evidence, Reports):
        yield from _trials(Tally(evidence.channel).add(evidence))
    else:
        raise InputError(
            f"evidence is {shown(evidence)}; allowed: a Tally, Responses or Reports.",
            remedy="Collect reports with Tally(channel).add(reports), or Responses(channel).add(x, reports).",
        )


# -- bounds ------------------------------------------------------------------------------------------------------------


def _exponents(trials: Trials, *, above: bool) -> FloatArray:
    """−log P(mean as far above `high`, or below `low`) at least, shape (e,)."""
    from scipy.special import rel_entr

    of = np.asarray(trials.of, dtype=np.float64)
    shares = np.clip(trials.hits / np.maximum(of, 1), 0.0, 1.0)
    means = trials.high if above else trials.low
    x, mean = (shares, means) if above else (1 - shares, 1 - means)
    if trials.variance is not None:
        x, mean = (trials.variance + (x - mean)) / (1 + trials.variance), trials.variance / (1 + trials.variance)
    x = np.where(of > 0, np.maximum(x, mean), mean)  # what is on the right side is no surprise
    return np.asarray(np.maximum(of, 1) * (rel_entr(x, mean) + rel_entr(1 - x, 1 - mean)))


def _product(comparisons: int, exponent: float) -> float:
    """Comparisons times e^−exponent, at most 1; what floats hardly tell from 0 is stated as the smallest bound."""
    return max(math.exp(min(math.log(max(comparisons, 1)) - exponent, 0.0)), _SMALLEST)


def _few_counts(evidence: TestedEvidence) -> AnyArray | None:
    """The counts of answers whose shares are seen together; None where they are too many, or nothing is added by it."""
    if not isinstance(evidence.channel, FiniteChannel) or isinstance(evidence.channel, PooledChannel):
        return None
    if not 2 < len(evidence.channel.observations) <= _FEW_REPORTS or len(evidence.channel.outputs) > _FEW_OUTPUTS:
        return None
    return evidence.sums if isinstance(evidence, (Tally, Responses)) else None


def _bound_together(channel: FiniteChannel, counts: AnyArray) -> float:
    """A bound on the probability of shares of answers as far from all S p.

    With r near the p of least KL, the least is at most KL(q̂ ‖ S r), which mostly says enough after a few steps, and at
    least KL(q̂ ‖ S r) − log max_y (Sᵀ(q̂/Sr))(y), by Jensen.
    """
    n, kinds = float(counts.sum()), len(counts)
    types = math.lgamma(n + kinds) - math.lgamma(n + 1) - math.lgamma(kinds)
    q, seen, least = counts / max(n, 1), counts > 0, 0.0
    for steps in _STEPS:
        r, _ = likeliest_distribution(channel, q, tolerance=1e-6, max_iterations=steps)
        ratios = np.where(seen, q / np.where(seen, channel.apply(r), 1.0), 0.0)
        reached = float(q[seen] @ np.log(ratios[seen]))
        if n * reached <= types:
            return 1.0
        least = reached - math.log(float(channel.apply_transposed(ratios).max()))
    return math.exp(min(types - n * max(least, 0.0), 0.0))


def _in_words(trials: Trials, entry: int) -> str:
    share = float(trials.hits[entry] / trials.of[entry])
    low, high = (f"{100 * float(end[entry]):.3g} %" for end in (trials.low, trials.high))
    range_of = low if low == high else f"{low} to {high}"
    return f"{trials.name(entry)}: {100 * share:.3g} % {trials.unit}, where the channel gives {range_of}"
