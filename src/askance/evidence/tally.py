"""Integer tallies of observations: all that estimation without covariates needs."""

from __future__ import annotations

from typing import Self

import numpy as np

from askance._arrays import ArrayLike, FloatArray, IntArray
from askance._checks import as_array, as_column, shorten, shown
from askance.channels.differences import differences, way_out
from askance.channels.finite import FiniteChannel, require_channel
from askance.errors import EmptyDataError, IncompatibleEvidenceError, InputError, ShapeError
from askance.evidence.possible import require_possible
from askance.evidence.sources import Sources, joined

# Pieces of this many reports stay in the processor's cache while they are converted and counted.
_CHUNK = 1 << 15
# Two tallies below this add up without leaving 64 bits.
_MOST_REPORTS = 2.0**62


class Tally:
    """How often each observation was reported through one channel.

    Tallies are values: `add` and `merge` return a new one. Counts are integers, so every order and every split of the
    reports gives the same bits; what depends on the data in other ways (β, weights) is computed after merging.

    Attributes:
        channel: how outputs were seen.
        counts: one count per observation, shape (k,).
        sources: digests of the files of reports that were counted, where they are known. They are no part of the value
            (equal counts are equal), but no file is counted twice.

    >>> from askance import RandomizedResponse
    >>> channel = RandomizedResponse("1/2", outputs=["no", "yes"])
    >>> here, there = Tally(channel).add(["yes", "no", "no"]), Tally(channel).add(["yes"])
    >>> (here + there).counts
    array([2, 2])
    """

    def __init__(
        self, channel: FiniteChannel, counts: ArrayLike | None = None, *, sources: Sources = frozenset()
    ) -> None:
        size = len(require_channel(channel).observations)
        given = np.zeros(size, dtype=np.int64) if counts is None else as_array(counts, "counts")
        if given.shape != (size,):
            raise ShapeError(
                f"counts has shape {given.shape}; allowed: ({size},), one per observation of the channel.",
                remedy="Count with Tally(channel).add(reports).",
            )
        if given.dtype.kind not in "iu" or (given < 0).any() or given.sum(dtype=np.float64) >= _MOST_REPORTS:
            raise InputError(
                f"counts are {shorten(given.tolist())}; allowed: whole numbers of at least 0, below 2⁶² in all.",
                remedy="Count with Tally(channel).add(reports).",
            )
        self.channel, self.sources = channel, sources
        self.counts: IntArray = given.astype(np.int64)
        self.counts.flags.writeable = False
        require_possible(channel, self.counts)

    @property
    def n_observations(self) -> int:
        """The number of reports."""
        return int(self.counts.sum())

    @property
    def frequencies(self) -> FloatArray:
        """q̂: the share of each observation, shape (k,)."""
        if not self.n_observations:
            raise EmptyDataError("there are no reports.", remedy="Add observations before estimating.")
        return np.asarray(self.counts / self.n_observations)

    @property
    def smoothed_frequencies(self) -> FloatArray:
        """(counts + ½) / (n + k/2): positive everywhere; for weights and covariances, never for means."""
        return np.asarray((self.counts + 0.5) / (self.n_observations + 0.5 * len(self.counts)))

    def add(self, observed: ArrayLike) -> Self:
        """This tally and more reports, as labels out of the channel's observations."""
        reports = as_column(observed, "observed")
        size = len(self.counts)
        counts = self.counts.copy()
        for start in range(0, reports.size, _CHUNK):
            codes = self.channel.observations.encode(reports[start : start + _CHUNK], "observed", start)
            counts += np.bincount(codes.astype(np.intp, copy=False), minlength=size)
        return type(self)(self.channel, counts, sources=self.sources)

    def for_purpose(self, purpose: str) -> Self:
        """This tally, of that question: where nothing says of which it is; refused where it is of another."""
        return type(self)(self.channel.named(purpose), self.counts, sources=self.sources)

    def merge(self, other: Self) -> Self:
        """The tally of both; refused when the channels differ, or files of reports would count twice."""
        if not isinstance(other, Tally):
            raise InputError(
                f"other is {shown(other)}; allowed: a Tally.", remedy="Count with Tally(channel).add(reports) first."
            )
        if self.channel.fingerprint != other.channel.fingerprint:
            raise IncompatibleEvidenceError(
                f"cannot merge tallies of different channels: {self.channel!r} ({self.channel.fingerprint[:12]}…) "
                f"and {other.channel!r} ({other.channel.fingerprint[:12]}…). "
                f"{differences(self.channel, other.channel)}",
                remedy=way_out(self.channel, other.channel) or "Keep one tally per channel.",
            )
        return type(self)(self.channel, self.counts + other.counts, sources=joined(self.sources, other.sources))

    def __add__(self, other: Self) -> Self:
        return self.merge(other) if isinstance(other, Tally) else NotImplemented

    def __radd__(self, other: int) -> Self:
        """0 + tally, so that sum(tallies) works."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Tally)
            and self.channel.fingerprint == other.channel.fingerprint
            and np.array_equal(self.counts, other.counts)
        )

    def __hash__(self) -> int:
        return hash((self.channel.fingerprint, self.counts.tobytes()))

    def __repr__(self) -> str:
        return f"Tally({self.n_observations} reports through {self.channel!r})"
