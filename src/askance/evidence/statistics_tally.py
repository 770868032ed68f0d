"""Integer sums of reports through a statistics channel: all that estimating mean statistics needs."""

from __future__ import annotations

import copy
from typing import Self

import numpy as np

from askance._arrays import ArrayLike, FloatArray, IntArray
from askance._checks import as_array, as_count, shown
from askance.channels.statistics.base import Averaging, StatisticsChannel
from askance.channels.statistics.reports import Reports
from askance.errors import EmptyDataError, InputError, ShapeError
from askance.evidence.sources import Sources, joined


class StatisticsTally:
    """What n reports through a statistics channel add up to.

    Tallies are values: `add` and `merge` return a new one. Sums are integers, so every order and every split of the
    reports gives the same bits, and memory does not grow with their number.

    Attributes:
        channel: how statistics were seen.
        n_observations: n, the number of reports.
        sums: what the channel sums over reports, integers.
        sources: digests of the files of reports that were summed, where they are known; as of `Tally`.

    >>> from askance import PerValue
    >>> channel = PerValue(3, 2, l1_norm=1)
    >>> rng = np.random.default_rng(0)
    >>> here = StatisticsTally(channel).add(channel.simulate(np.eye(3), rng))
    >>> there = StatisticsTally(channel).add(channel.simulate(np.eye(3), rng))
    >>> (here + there).n_observations
    6
    """

    def __init__(
        self,
        channel: StatisticsChannel,
        sums: ArrayLike | None = None,
        n_observations: int = 0,
        *,
        sources: Sources = frozenset(),
    ) -> None:
        if not isinstance(channel, StatisticsChannel):
            raise InputError(
                f"channel is {shown(channel)}; allowed: a channel on statistics.",
                remedy="Build one, such as PerValue(8, 1), or count answers with Tally.",
            )
        given = np.zeros(channel.sums_size, dtype=np.int64) if sums is None else as_array(sums, "sums")
        if given.shape != (channel.sums_size,) or given.dtype.kind not in "iu":
            raise ShapeError(
                f"sums are {given.dtype} of shape {given.shape}; allowed: integers of shape ({channel.sums_size},).",
                remedy="Sum with StatisticsTally(channel).add(reports).",
            )
        self.channel, self.sources = channel, sources
        self.n_observations = as_count(n_observations, "n_observations", maximum=channel.most_reports)
        self.sums: IntArray = given.astype(np.int64)
        self.sums.flags.writeable = False
        wrong = channel.sum_law.violation(self.sums, self.n_observations)
        if wrong is not None:
            raise InputError(
                f"no {self.n_observations} reports of {channel.kind} have these sums: {wrong}.",
                remedy="Sum with StatisticsTally(channel).add(reports).",
            )

    def add(self, reports: Reports) -> Self:
        """This tally and more reports."""
        return self._with(self.channel.sums(reports), len(reports), self.sources)

    def for_purpose(self, purpose: str) -> Self:
        """This tally, of that question: where nothing says of which it is; refused where it is of another."""
        other = copy.copy(self)
        other.channel = self.channel.named(purpose)
        return other

    def _with(self, sums: IntArray, n: int, sources: Sources) -> Self:
        """This tally and the sums of n more reports; what is possible stays so when it is added up."""
        other = copy.copy(self)
        other.n_observations = as_count(self.n_observations + n, "n_observations", maximum=self.channel.most_reports)
        other.sums = self.sums + sums
        other.sums.flags.writeable = False
        other.sources = sources
        return other

    def merge(self, other: Self) -> Self:
        """The tally of both; refused when the channels differ, or files of reports would count twice."""
        if not isinstance(other, StatisticsTally):
            raise InputError(
                f"other is {shown(other)}; allowed: a StatisticsTally.",
                remedy="Sum with StatisticsTally(channel).add(reports) first.",
            )
        self.channel.require_same(other.channel)
        return self._with(other.sums, other.n_observations, joined(self.sources, other.sources))

    def mean(self, averaging: Averaging = "within") -> FloatArray:
        """μ̂, unbiased, shape (d,)."""
        self._require_reports()
        return self.channel.mean(self.sums, self.n_observations, averaging)

    def standard_errors(self, averaging: Averaging = "within") -> FloatArray:
        """Of μ̂, from the reports alone, shape (d,)."""
        self._require_reports()
        variances = self.channel.variances(self.sums, self.n_observations, averaging)
        return np.asarray(np.sqrt(variances / self.n_observations))

    def _require_reports(self) -> None:
        if not self.n_observations:
            raise EmptyDataError("there are no reports.", remedy="Add reports before estimating.")

    def __add__(self, other: Self) -> Self:
        return self.merge(other) if isinstance(other, StatisticsTally) else NotImplemented

    def __radd__(self, other: int) -> Self:
        """0 + tally, so that sum(tallies) works."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, StatisticsTally)
            and self.channel.fingerprint == other.channel.fingerprint
            and self.n_observations == other.n_observations
            and np.array_equal(self.sums, other.sums)
        )

    def __hash__(self) -> int:
        return hash((self.channel.fingerprint, self.n_observations, self.sums.tobytes()))

    def __repr__(self) -> str:
        return f"StatisticsTally({self.n_observations} reports through {self.channel!r})"
