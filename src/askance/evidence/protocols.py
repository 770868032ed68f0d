"""What estimators take, and how it is collected."""

from __future__ import annotations

from typing import Protocol, Self, TypeVar, runtime_checkable

from askance.channels.finite import FiniteChannel

O = TypeVar("O", contravariant=True)  # noqa: E741 - the paper's letter for an observation


@runtime_checkable
class Evidence(Protocol):
    """What was observed, through which channel."""

    @property
    def channel(self) -> FiniteChannel:
        """How outputs were seen."""

    @property
    def n_observations(self) -> int:
        """How many reports there are."""


@runtime_checkable
class Accumulator(Protocol[O]):
    """A commutative monoid: an empty one, `add`, and `merge`; any split of the data gives the same result."""

    def add(self, observed: O) -> Self:
        """This evidence and more observations."""

    def merge(self, other: Self) -> Self:
        """The evidence of both."""
