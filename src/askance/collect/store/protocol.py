"""What a store promises: acknowledged means durable, an entry counts once, and tallies are those of the entries."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import NamedTuple, Protocol, Self, TypeAlias

from askance._arrays import IntArray
from askance.collect.store.entry import Entry, Verdict
from askance.errors import AskanceError

#: What an entry of this content adds to the tallies: `Entry.sums`.
SumsOf: TypeAlias = Callable[[bytes], Mapping[str, IntArray]]


class StoreUnavailableError(AskanceError):
    """The database does not answer, or its disk is full. What was acknowledged is safe; send the rest again."""


class BusyError(AskanceError):
    """Too much waits to be written. Nothing of it was stored; send it again a little later."""


class Sums(NamedTuple):
    """The tally of a question in a window: sums over its reports, and their number."""

    sums: IntArray
    n: int


class TokenCount(NamedTuple):
    """How many tokens were issued, and how many of them are spent."""

    issued: int
    spent: int


class Store(Protocol):
    """Entries, their tallies, and tokens apart from both. One thread at a time uses a store; others open their own.

    Every method that changes something is one transaction: all of it holds, durably, when it returns, or nothing does.
    Whatever keeps it from that (no answer, no room) is a `StoreUnavailableError`, after which the store is closed and
    opened again.

    Attributes:
        fingerprint: of the campaign whose entries are brought; b"": not said. A store of another one takes nothing.
    """

    fingerprint: bytes

    def take(self, entries: Sequence[Entry]) -> list[Verdict]:
        """Store a group of entries in one transaction, tallies and tokens included; a verdict for each, in order.

        Whether the campaign is closed, and which one it is, is read in this transaction: what is taken was taken before
        it was closed.
        """

    def tallies(self) -> dict[tuple[str, int], Sums]:
        """By question and window, what the entries add up to."""

    def entries(self, window: int | None = None) -> Iterator[tuple[bytes, int, bytes]]:
        """Id, window and content of all entries, or of one window, by id.

        They are read in pages, so that nobody waits meanwhile: what is taken in the meantime may be among them or not.
        """

    def count(self) -> int:
        """The number of entries."""

    def meta(self) -> dict[str, bytes]:
        """What is known of the campaign: fingerprint, text, salt, the hash of the administrator's secret."""

    def set_meta(self, name: str, value: bytes) -> None:
        """Remember something of the campaign. Its "campaign", "fingerprint" and "salt" are fixed by the first answer.

        Raises:
            InputError: one of these three is there already, with another value, and so are answers.
        """

    def set_first(self, name: str, value: bytes) -> bytes:
        """Remember something of the campaign unless somebody else did before; what is remembered."""

    def add_people(self, hashes: Iterable[bytes]) -> None:
        """Let people count, by the `token_hash` of their tokens, which are never spent ("people" among `meta`)."""

    def add_tokens(self, hashes: Iterable[bytes]) -> None:
        """Issue tokens, by their `token_hash`; those that were issued before stay as they are."""

    def token_count(self) -> TokenCount:
        """How many tokens were issued, and how many are spent."""

    def delete(self, ids: Iterable[bytes], sums_of: SumsOf) -> int:
        """Delete entries and take what they added off the tallies; how many there were. Their tokens stay spent.

        How many were deleted in all is counted in the same transaction ("withdrawn" among `meta`).
        """

    def delete_windows_before(self, window: int) -> int:
        """Delete all entries of earlier windows, and their tallies; how many there were."""

    def backup(self, path: str | os.PathLike[str]) -> int:
        """Write all of one moment to a SQLite file, whose bytes depend on what is stored alone; how many entries."""

    def tidy(self, *, wait: bool = False) -> bool:
        """Remove what tells in which order entries came, also from the log; called by the writer every so often.

        Args:
            wait: for others who read what is in the log, such as a backup; else it is left to the next time.

        Returns:
            Whether it is gone.
        """

    def close(self) -> None:
        """End the connection; what was acknowledged is safe without it."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
