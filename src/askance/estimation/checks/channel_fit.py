"""Does the channel fit the reports? Frequencies that no truth could have produced betray a wrong design."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from askance._arrays import AnyArray, FloatArray
from askance._checks import require_generator, shown
from askance.channels.finite import FiniteChannel
from askance.channels.statistics.reports import Reports
from askance.errors import EmptyDataError, InputError
from askance.estimation.checks.surprise import IMPOSSIBLE, Surprise, TestedEvidence, in_words, surprise
from askance.estimation.problems.simplex import closest_distribution
from askance.evidence.together import Together, whole_of
from askance.tables import Column, Table, Tabulated


@dataclass(frozen=True)
class ChannelTest(Tabulated):
    """A test that the reports can have come through the channel.

    Attributes:
        statistic: n times the squared distance (in units of variance) between the observed frequencies and the closest
            ones that the channel can produce; 0 when it can produce the observed ones. Without simulated surveys:
            −log of the p-value.
        p_value: share of simulated surveys, drawn from the closest possible frequencies, with a statistic as large;
            the reports themselves count as one of them, so that it is never 0. Without simulated surveys: `bound`.
        message: the result in words.
        p_value_is_bound: whether the p-value is at most `p_value`, as no simulated survey came as far off or none was
            drawn.
        bound: reports through the channel are as far off with at most this probability: proved, whatever the truth and
            however few they are, but larger than need be.
        worst: what is furthest off, in words; empty where nothing is.
        comparisons: how many shares were compared for that.
        observed: q̂, shape (k,); empty without simulated surveys.
        possible: the closest frequencies S p, shape (k,); empty likewise.
        shares: the p behind them, shape (m,); empty likewise.
    """

    statistic: float
    p_value: float
    message: str
    p_value_is_bound: bool
    bound: float
    worst: str
    comparisons: int
    observed: FloatArray = field(default_factory=lambda: np.empty(0))
    possible: FloatArray = field(default_factory=lambda: np.empty(0))
    shares: FloatArray = field(default_factory=lambda: np.empty(0))

    @property
    def shown_p_value(self) -> str:
        """The p-value for people: "p = 0.012", or "p ≤ 0.001" where no simulated survey came as far off."""
        return f"p {'≤' if self.p_value_is_bound else '='} {self.p_value:.3g}"

    def table(self) -> Table:
        """The statistic, its p-value and the proved bound; below, what they mean."""
        statistic = (
            Column("statistic", "ratio"),
            Column("P", "p-value", "p_value"),
            Column("P at most", "p-value", "bound"),
        )
        row = (self.statistic, self.p_value, self.bound)
        title, notes = "Fit of the design to the reports", [self.message, *([self.worst] if self.worst else [])]
        return Table((Column("test"), *statistic), [("reports through this design", *row)], title=title, notes=notes)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        fields = ("statistic", "p_value", "p_value_is_bound", "bound", "worst", "comparisons", "message")
        arrays = {"observed": self.observed, "possible": self.possible}
        return {name: getattr(self, name) for name in fields} | {
            name: values.tolist() for name, values in arrays.items() if values.size
        }


def channel_fit_test(
    evidence: TestedEvidence, *, replicates: int = 999, rng: np.random.Generator | None = None
) -> ChannelTest:
    """Test whether reports can have come through their channel, whatever the truth.

    Through a forced response with a forced yes of 1/6, at least a sixth say yes whatever the truth; fewer can only be
    chance, or a device that was not used as told. Two tests look for it:

    - a bound on the probability of what was counted, of any channel: answers, bits, codes, drawn coordinates and
      tables, each against the smallest and largest share that truths can bring about (`bound`). It is proved for every
      number of reports. Estimates call reports impossible where it is below 10⁻⁶;
    - of answers, simulated surveys (`p_value`). The closest possible frequencies q̃ = S p̃ minimise
      Σ_o (q̂_o − (S p)_o)² / q̂_o over all distributions p of the outputs, and the p-value is simulated from q̃: exact up
      to the number of replicates at the least favourable point of the hypothesis.

    Covariates do not matter, because the average over respondents of p(y|x) is a distribution too.

    Args:
        evidence: tallies, sums of noised statistics, or reports, with covariates or without (sampling weights are not
            used).
        replicates: number of simulated surveys; 0 for the bound alone, as always for noised statistics.
        rng: their generator (default: a fixed one, so that results repeat).

    >>> from askance import ForcedResponse, PerValue, Tally
    >>> result = channel_fit_test(Tally(ForcedResponse("2/3", "1/6"), [930, 70]))
    >>> result.shown_p_value, result.shares.round(2).tolist()
    ('p ≤ 0.001', [1.0, 0.0])
    >>> all_ones = channel_fit_test(Tally(PerValue(128, 4, l1_norm=1), [5] * 128, 5))
    >>> all_ones.worst, all_ones.bound
    ('all bits together: 100 % of them are set, where the channel gives 12.5 %', 1e-300)
    """
    if isinstance(replicates, bool) or not isinstance(replicates, int) or (replicates < 99 and replicates != 0):
        raise InputError(
            f"replicates is {shown(replicates)}; allowed: at least 99, or 0 for none.", remedy="The default is 999."
        )
    evidence = whole_of(evidence)
    doubt = surprise(evidence)
    n = len(evidence) if isinstance(evidence, Reports) else evidence.n_observations
    if n == 0:
        raise EmptyDataError("there are no reports.", remedy="Add reports before testing.")
    counted = None if isinstance(evidence, (Reports, Together)) or len(evidence.channels) > 1 else evidence
    channel = None if counted is None else counted.channel
    if not replicates or counted is None or not isinstance(channel, FiniteChannel) or not channel.has_law:
        words = _bound_in_words(doubt)
        return ChannelTest(
            -math.log(doubt.bound), doubt.bound, words, True, doubt.bound, doubt.worst, doubt.comparisons
        )
    counts = counted.sums.astype(np.float64)
    generator = np.random.default_rng(0) if rng is None else require_generator(rng)
    shares = _distance(channel, counts)[1]
    possible = channel.apply(shares)
    statistic = float(_statistics(channel, counts[None])[0])
    if statistic < 1e-9:
        as_far = replicates
    else:
        draws = generator.multinomial(n, possible / possible.sum(), size=replicates)
        as_far = int((_statistics(channel, draws) >= statistic).sum())
    p_value = (1 + as_far) / (1 + replicates)
    proved = (doubt.bound, doubt.worst, doubt.comparisons)
    words = _in_words(statistic, p_value)
    return ChannelTest(statistic, p_value, words, as_far == 0, *proved, counts / n, possible, shares)


def _bound_in_words(doubt: Surprise) -> str:
    if doubt.bound < IMPOSSIBLE:
        return in_words(doubt)
    if doubt.bound < 0.01:
        return (
            f"the channel can hardly have produced these reports ({doubt.worst}): were devices made for it, and are "
            "its probabilities the real ones?"
        )
    return "the channel can produce such reports, or chance explains the difference; that does not confirm it"


def _statistics(channel: FiniteChannel, counts: AnyArray) -> FloatArray:
    """The statistic of several surveys of one size, counts of shape (surveys, k); shape (surveys,).

    With two kinds of reports the possible frequencies of the second are an interval, and the closest one is its nearer
    end. That is a hundred times quicker, and nearly all designs of surveys are of that kind.
    """
    if counts.shape[1] != 2:
        return np.array([_distance(channel, row)[0] for row in counts])
    n = counts[0].sum()
    second, reach = counts[:, 1] / n, channel.matrix[1]
    gap = second - second.clip(reach.min(), reach.max())
    return np.asarray(n * gap**2 * ((n + 1) / (counts + 0.5)).sum(axis=1))


def _distance(channel: FiniteChannel, counts: FloatArray) -> tuple[float, FloatArray]:
    """The statistic and the closest distribution of outputs."""
    n = counts.sum()
    frequencies = counts / n
    scale = 1.0 / np.sqrt((counts + 0.5) / (n + 0.5 * len(counts)))
    shares = closest_distribution(channel.matrix * scale[:, None], frequencies * scale)
    residual = (frequencies - channel.apply(shares)) * scale
    return float(n * residual @ residual), shares


def _in_words(statistic: float, p_value: float) -> str:
    if statistic < 1e-9:
        return (
            "the design can produce these frequencies; that does not confirm it, for with few kinds of reports it can "
            "produce nearly any"
        )
    if p_value < 0.01:
        return (
            "the channel can hardly have produced these frequencies: was the device used as told, and are its "
            "probabilities the real ones?"
        )
    if p_value < 0.05:
        return (
            "the channel cannot produce these frequencies exactly; chance could explain the difference, but seldom "
            "does: look whether the device was used as told"
        )
    return "the channel cannot produce these frequencies exactly, but chance could explain the difference"
