"""Integer sums of reports: all that estimation without covariates needs."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Generic, Self

import numpy as np

from askance._arrays import ArrayLike, FloatArray, IntArray
from askance._checks import as_array, as_count, shorten, shown
from askance.channels.finite import FiniteChannel
from askance.channels.statistics.base import Averaging, StatisticsChannel
from askance.channels.statistics.reports import Reports
from askance.errors import EmptyDataError, InputError, ShapeError
from askance.evidence.sources import NO_SOURCES, Sources

if TYPE_CHECKING:
    from typing_extensions import TypeIs, TypeVar

    #: The family of the channel; that of answers where nothing is said.
    C = TypeVar("C", bound=FiniteChannel | StatisticsChannel, default=FiniteChannel, covariant=True)
else:  # what a type is where nothing is said is known to Python from 3.13 on
    from typing import TypeVar

    C = TypeVar("C")


class Tally(Generic[C]):
    """What n reports through one channel add up to: counts of answers, or sums of noised statistics.

    Tallies are values: `add` and `merge` return a new one. Sums are integers, so every order and every split of the
    reports gives the same bits, and memory does not grow with their number; what depends on the data in other ways
    (β, weights) is computed after merging.

    Args:
        channel: how outputs, or statistics, were seen.
        sums: what the channel sums over reports: of answers one count per observation, shape (k,).
        n_observations: the number of reports; counts tell it themselves.
        sources: which files of reports were added up, where that is known. They are no part of the
            value (equal sums are equal), but no file counts twice.

    >>> from askance import PerValue, RandomizedResponse
    >>> channel = RandomizedResponse("1/2", outputs=["no", "yes"])
    >>> here, there = Tally(channel).add(["yes", "no", "no"]), Tally(channel).add(["yes"])
    >>> (here + there).counts
    array([2, 2])
    >>> bits = PerValue(3, 2, l1_norm=1)
    >>> Tally(bits).add(bits.simulate(np.eye(3), np.random.default_rng(0))).n_observations
    3
    """

    #: The number of reports.
    n_observations: int = 0

    def __init__(
        self,
        channel: C,
        sums: ArrayLike | None = None,
        n_observations: int | None = None,
        *,
        sources: Sources = NO_SOURCES,
    ) -> None:
        if not isinstance(channel, (FiniteChannel, StatisticsChannel)):
            raise InputError(
                f"channel is {shown(channel)}; allowed: a channel.",
                remedy="Build one, such as RandomizedResponse(0.5, outputs=2) or PerValue(8, 1); `askance channels` "
                "lists all.",
            )
        name, size = channel.sums_name, channel.sums_size
        integers = np.zeros(size, dtype=np.int64) if sums is None else as_array(sums, name)
        if integers.shape != (size,) or integers.dtype.kind not in "iu":
            wrong = f"are {shorten(integers.tolist())} ({integers.dtype}); allowed: whole numbers, as integers"
            if integers.shape != (size,):
                wrong = f"has shape {integers.shape}; allowed: ({size},)"
            raise ShapeError(f"{name} {wrong}.", remedy="Add reports up with Tally(channel).add(reports).")
        n = n_observations if n_observations is not None else channel.n_told_by(integers) or 0
        if n_observations is None and n > channel.most_reports:
            raise InputError(
                f"are {shorten(integers.tolist())}",
                argument=name,
                allowed="whole numbers of at least 0, below 2⁶² in all",
                remedy="Add reports up with Tally(channel).add(reports).",
            )
        self.channel, self.sources = channel, sources
        self.n_observations = as_count(n, "n_observations", maximum=channel.most_reports)
        self.sums: IntArray = integers.astype(np.int64)
        self.sums.flags.writeable = False
        if sums is not None or n:  # nothing is possible of every channel
            channel.require_possible(self.sums, self.n_observations)

    @property
    def channels(self) -> tuple[C, ...]:
        """The channel, as evidence that may have several has them."""
        return (self.channel,)

    def add(self, reports: ArrayLike | Reports[Any]) -> Self:
        """This tally and more reports: labels out of the channel's observations, or `Reports`."""
        sums = self.channel.sums(reports)  # type: ignore[arg-type]
        told = self.channel.n_told_by(sums)
        return self._with(sums, len(reports) if told is None else told, self.sources)  # type: ignore[arg-type]

    def _with(self, sums: IntArray, n: int, sources: Sources) -> Self:
        """This tally and the sums of n more reports; what is possible stays so when it is added up."""
        other = object.__new__(type(self))  # reports may come one by one: `copy` takes longer than adding up
        other.channel = self.channel
        other.n_observations = as_count(self.n_observations + n, "n_observations", maximum=self.channel.most_reports)
        other.sums = self.sums + sums
        other.sums.flags.writeable = False
        other.sources = sources
        return other

    def for_purpose(self, purpose: str) -> Self:
        """This tally, of that question: where nothing says of which it is; refused where it is of another."""
        other = copy.copy(self)
        other.channel = self.channel.named(purpose)  # type: ignore[assignment]
        return other

    def from_sources(self, sources: Sources) -> Self:
        """This tally, added up from those files of reports."""
        other = copy.copy(self)
        other.sources = sources
        return other

    def merge(self, other: Tally[Any]) -> Self:
        """The tally of both; refused when the channels differ, or files of reports would count twice."""
        if not isinstance(other, Tally):
            raise InputError(
                f"other is {shown(other)}; allowed: a Tally.", remedy="Add up with Tally(channel).add(reports) first."
            )
        self.channel.require_same(other.channel)
        parts = [part for part in (self, other) if part.n_observations or part.sources != NO_SOURCES]
        sources = parts[0].sources.joined(parts[1].sources) if len(parts) == 2 else (parts or [self])[0].sources
        return self._with(other.sums, other.n_observations, sources)

    # -- counts of answers -----------------------------------------------------------------------------------------

    @property
    def counts(self: Tally[FiniteChannel]) -> IntArray:
        """How often each observation was reported, shape (k,)."""
        if not isinstance(self.channel, FiniteChannel):
            raise InputError(
                f"the reports come from {shown(self.channel)} and are no answers to be counted.",
                remedy="Take sums, n_observations and mean().",
            )
        return self.sums

    @property
    def frequencies(self: Tally[FiniteChannel]) -> FloatArray:
        """q̂: the share of each observation, shape (k,)."""
        self._require_reports()
        return np.asarray(self.counts / self.n_observations)

    @property
    def smoothed_frequencies(self: Tally[FiniteChannel]) -> FloatArray:
        """(counts + ½) / (n + k/2): positive everywhere; for weights and covariances, never for means."""
        return np.asarray((self.counts + 0.5) / (self.n_observations + 0.5 * len(self.counts)))

    # -- means of statistics ---------------------------------------------------------------------------------------

    def mean(self: Tally[StatisticsChannel], averaging: Averaging = "within") -> FloatArray:
        """μ̂, unbiased, shape (d,)."""
        return self._statistics().mean(self.sums, self.n_observations, averaging)

    def standard_errors(self: Tally[StatisticsChannel], averaging: Averaging = "within") -> FloatArray:
        """Of μ̂, from the reports alone, shape (d,)."""
        variances = self._statistics().variances(self.sums, self.n_observations, averaging)
        return np.asarray(np.sqrt(variances / self.n_observations))

    def _statistics(self: Tally[StatisticsChannel]) -> StatisticsChannel:
        """The channel on statistics of which there are means; refused without reports, and of answers."""
        if not isinstance(self.channel, StatisticsChannel):
            raise InputError(
                f"the reports come from {shown(self.channel)} and are answers, not statistics.",
                remedy="Take counts and frequencies, or estimate_mean(tally).",
            )
        self._require_reports()
        return self.channel

    def _require_reports(self) -> None:
        if not self.n_observations:
            raise EmptyDataError("there are no reports.", remedy="Add reports before estimating.")

    # -- values ----------------------------------------------------------------------------------------------------

    def __add__(self, other: Tally[Any]) -> Self:
        return self.merge(other) if isinstance(other, Tally) else NotImplemented

    def __radd__(self, other: int) -> Self:
        """0 + tally, so that sum(tallies) works."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Tally)
            and self.channel.fingerprint == other.channel.fingerprint
            and self.n_observations == other.n_observations
            and np.array_equal(self.sums, other.sums)
        )

    def __hash__(self) -> int:
        return hash((self.channel.fingerprint, self.n_observations, self.sums.tobytes()))

    def __repr__(self) -> str:
        return f"Tally({self.n_observations} reports through {self.channel!r})"


def of_answers(evidence: object) -> TypeIs[Tally[FiniteChannel]]:
    """Whether evidence is a tally of noised answers."""
    return isinstance(evidence, Tally) and isinstance(evidence.channel, FiniteChannel)


def of_statistics(evidence: object) -> TypeIs[Tally[StatisticsChannel]]:
    """Whether evidence is a tally of noised statistics."""
    return isinstance(evidence, Tally) and isinstance(evidence.channel, StatisticsChannel)
